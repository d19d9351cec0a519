// copy.c - copies of graphs in another arena (gr_graph_copy, gr_graph_settled).
#include <assert.h>
#include <string.h>
#include "base/map.h"
#include "ir/op.h"

typedef struct copier {
  gr_arena *arena;
  bool deep;         // attributes, names and scopes, too
  gr_map texts;      // interns names and scopes
  const char *last;  // consecutive nodes usually share their scope
  const char *last_copy;
} copier;

static const char *copy_text(copier *c, const char *text) {
  uint32_t i = c->texts.n;
  if (!c->deep) return text;
  if (!text || text == c->last) return text ? c->last_copy : NULL;
  if (!gr_map_find(&c->texts, text, &i)) gr_map_put(&c->texts, gr_arena_strdup(c->arena, text), i);
  c->last = text;
  return c->last_copy = c->texts.keys[i];
}

static gr_graph *copy_graph(copier *c, const gr_graph *g);

static const void *copy_attr(copier *c, const gr_op *op, const void *attr) {
  if (!op->attr_size || !c->deep) return attr;
  char *copy = memcpy(gr_arena_take(c->arena, op->attr_size), attr, op->attr_size);
  for (const gr_attr *f = op->attrs; f && f->name; f++)
    if (f->kind == GR_ATTR_GRAPH) {
      const gr_graph *body = copy_graph(c, gr_attr_graph(attr, f));
      memcpy(copy + f->offset, &body, sizeof(const gr_graph *));
    }
  return copy;
}

// Into memory that is reserved.
static void copy_nodes(copier *c, const gr_graph *g, gr_graph *out) {
  size_t n_in = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) n_in += (size_t)g->nodes[i].n_in;
  gr_val *in = GR_TAKE(c->arena, gr_val, n_in + 1);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    gr_node *n = &out->nodes[i];
    *n = g->nodes[i];
    for (int k = 0; k < n->n_in; k++) in[k] = n->in[k];
    n->in = in, in += n->n_in;
    n->attr = copy_attr(c, n->op, n->attr);
    n->scope = copy_text(c, n->scope);
  }
}

static void copy_values(copier *c, const gr_graph *g, gr_graph *out) {
  out->values = GR_TAKE(c->arena, gr_value, g->n_values);
  out->cap_values = g->n_values;
  memcpy(out->values, g->values, sizeof *g->values * g->n_values);
  memset(out->leaves, 0, sizeof out->leaves);
  out->n_indexed = 0;
  for (uint32_t i = 1; i < g->n_values; i++) out->values[i].name = copy_text(c, g->values[i].name);
  for (uint32_t i = 1; i < g->leaves_end; i++)
    out->values[i].copies = copy_text(c, g->values[i].copies);
  if (c->deep) gr_graph_index_leaves(out);
}

static void copy_results(copier *c, const gr_graph *g, gr_graph *out) {
  gr_val *results = GR_NEW(c->arena, gr_val, 2 * g->n_results + 1);  // the room gr_result expects
  const char **names = GR_NEW(c->arena, const char *, 2 * g->n_results + 1);
  for (uint32_t i = 0; i < g->n_results; i++) {
    results[i] = g->results[i];
    if (g->result_names) names[i] = copy_text(c, g->result_names[i]);
  }
  out->results = results;
  out->result_names = g->result_names ? names : NULL;
}

static gr_graph *copy_graph(copier *c, const gr_graph *g) {
  gr_graph *out = GR_NEW(c->arena, gr_graph, 1);
  *out = *g;
  out->arena = out->tables = c->arena;
  out->nodes = GR_TAKE(c->arena, gr_node, g->n_nodes + 1);
  out->cap_nodes = g->n_nodes;
  copy_nodes(c, g, out);
  copy_values(c, g, out);
  copy_results(c, g, out);
  out->hash_slots = NULL, out->n_hash_slots = 0;
  return out;
}

gr_graph *gr_graph_copy(gr_arena *arena, const gr_graph *g) {
  assert(arena && g);
  copier c = {.arena = arena, .deep = true, .texts = gr_map_make(arena)};
  return copy_graph(&c, g);
}

const gr_graph *gr_graph_settled(const gr_graph *g) {
  assert(g);
  copier c = {.arena = g->arena};
  return g->tables == g->arena ? g : copy_graph(&c, g);
}

bool gr_graph_take_nodes(gr_graph *g, const gr_graph *of) {
  assert(g && of);
  uint32_t leaves = g->n_values;
  if (g->arena != of->arena || g->n_nodes || gr_graph_leaves(of) + 1 != leaves ||
      g->cap_values < of->n_values || g->cap_nodes < of->n_nodes)
    return false;
  for (uint32_t i = leaves; i < of->n_values; i++)
    if (of->values[i].role != GR_TEMP) return false;
  copier c = {.arena = g->tables};
  copy_nodes(&c, of, g);
  memcpy(g->values + leaves, of->values + leaves, sizeof *g->values * (of->n_values - leaves));
  g->n_nodes = of->n_nodes, g->n_values = of->n_values;
  return true;
}
