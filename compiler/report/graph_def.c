// graph_def.c - writes a program's graph as a tensorflow.GraphDef, which TensorBoard draws. Field
// numbers are those of tensorflow/core/framework: graph.proto, node_def.proto, attr_value.proto.
#include <string.h>
#include "base/proto.h"
#include "compiler/report/explain.h"
#include "ir/text.h"

// The name of a node is its scope in the model, its op and its number: equal scopes are drawn as
// one box, and characters that TensorFlow does not allow are replaced.
static const char *name_of(gr_arena *a, const char *scope, const char *what, uint32_t number) {
  char *name = gr_arena_printf(a, "%s%s%s_%u", scope ? scope : "", scope ? "/" : "", what, number);
  for (char *c = name; *c; c++) {
    bool word = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
    if (*c == '.') *c = '/';
    if (!word && *c != '/' && *c != '_') *c = '_';
  }
  return name;
}

// AttrValue of a text, in the map `attr` of a node.
static void put_attr(gr_text *node, const char *name, const char *value) {
  gr_text v = gr_text_make(node->arena), entry = gr_text_make(node->arena);
  gr_proto_text(&v, 2, value);  // AttrValue.s
  gr_proto_text(&entry, 1, name);
  gr_proto_message(&entry, 2, &v);
  gr_proto_message(node, 5, &entry);  // NodeDef.attr
}

static gr_text begin_node(gr_arena *a, const char *name, const char *op) {
  gr_text node = gr_text_make(a);
  gr_proto_text(&node, 1, name);
  gr_proto_text(&node, 2, op);
  return node;
}

// names: by value, the node that makes it.
static void put_leaf(gr_text *out, const gr_graph *g, uint32_t value, const char **names) {
  const gr_value *v = &g->values[value];
  char type[96];
  const char *dot = strrchr(v->name, '.');
  size_t scope = dot ? (size_t)(dot - v->name) : 0;
  names[value] = name_of(out->arena, scope ? gr_arena_strndup(out->arena, v->name, scope) : NULL,
                         scope ? dot + 1 : v->name, value);
  gr_text node = begin_node(out->arena, names[value], gr_leaf_word(v));
  put_attr(&node, "type", gr_type_text(&v->type, type));
  gr_proto_message(out, 1, &node);  // GraphDef.node
}

static void put_node(gr_text *out, const gr_graph *g, const gr_node *n, const char **names) {
  char type[96];
  const char *name = name_of(out->arena, n->scope, n->op->name, n->out.id);
  gr_text node = begin_node(out->arena, name, n->op->name);
  for (int i = 0; i < n->n_in; i++)
    if (names[n->in[i].id]) gr_proto_text(&node, 3, names[n->in[i].id]);  // NodeDef.input
  for (int i = 0; i < n->n_out; i++) names[gr_out(n, i).id] = name;
  put_attr(&node, "type", gr_type_text(&gr_at(g, n->out)->type, type));
  put_attr(&node, "pass", n->created_by);
  if (n->loc.file)
    put_attr(&node, "from", gr_arena_printf(out->arena, "%s:%d", n->loc.file, n->loc.line));
  gr_proto_message(out, 1, &node);
}

const gr_program *gr_plan_drawn(const gr_plan *p) {
  for (uint32_t i = 0; i < p->n_programs; i++)
    if (strcmp(p->programs[i].kind, "eval")) return &p->programs[i];  // training comes before
  return NULL;
}

void gr_plan_graph_def(gr_text *out, const gr_program *p) {
  const gr_graph *g = p->frame.g;
  const char **names = GR_NEW(out->arena, const char *, g->n_values + 1);
  gr_text versions = gr_text_make(out->arena);
  uint32_t leaves = gr_graph_leaves(g);
  for (uint32_t i = 1; i <= leaves; i++) put_leaf(out, g, i, names);
  for (uint32_t i = 0; i < g->n_nodes; i++) put_node(out, g, &g->nodes[i], names);
  gr_proto_int(&versions, 1, 22);  // VersionDef.producer
  gr_proto_message(out, 4, &versions);
}
