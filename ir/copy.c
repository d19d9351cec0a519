// copy.c - deep copies of graphs (gr_graph_copy).
#include <assert.h>
#include <string.h>
#include "base/map.h"
#include "ir/op.h"

typedef struct copier {
  gr_arena *arena;
  gr_map texts;      // interns names and scopes
  const char *last;  // consecutive nodes usually share their scope
  const char *last_copy;
} copier;

static const char *copy_text(copier *c, const char *text) {
  uint32_t i = c->texts.n;
  if (!text || text == c->last) return text ? c->last_copy : NULL;
  if (!gr_map_find(&c->texts, text, &i)) gr_map_put(&c->texts, gr_arena_strdup(c->arena, text), i);
  c->last = text;
  return c->last_copy = c->texts.keys[i];
}

static gr_graph *copy_graph(copier *c, const gr_graph *g);

static const void *copy_attr(copier *c, const gr_op *op, const void *attr) {
  if (!op->attr_size) return NULL;
  char *copy = memcpy(gr_arena_alloc(c->arena, op->attr_size), attr, op->attr_size);
  for (const gr_attr *f = op->attrs; f && f->name; f++)
    if (f->kind == GR_ATTR_GRAPH) {
      const gr_graph *body = copy_graph(c, gr_attr_graph(attr, f));
      memcpy(copy + f->offset, &body, sizeof(const gr_graph *));
    }
  return copy;
}

static void copy_nodes(copier *c, const gr_graph *g, gr_graph *out) {
  out->nodes = GR_NEW(c->arena, gr_node, g->n_nodes + 1);
  out->n_nodes = out->cap_nodes = g->n_nodes;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    gr_node *n = &out->nodes[i];
    *n = g->nodes[i];
    gr_val *in = GR_NEW(c->arena, gr_val, n->n_in + 1);
    for (int k = 0; k < n->n_in; k++) in[k] = n->in[k];
    n->in = in;
    n->attr = copy_attr(c, n->op, n->attr);
    n->scope = copy_text(c, n->scope);
  }
}

static void copy_values(copier *c, const gr_graph *g, gr_graph *out) {
  out->values = GR_NEW(c->arena, gr_value, g->n_values);
  out->n_values = out->cap_values = g->n_values;
  memcpy(out->values, g->values, sizeof *g->values * g->n_values);
  memset(out->leaves, 0, sizeof out->leaves);
  for (uint32_t i = 1; i < g->n_values; i++) {
    out->values[i].name = copy_text(c, g->values[i].name);
    gr_graph_index_leaf(out, (gr_val){i});
  }
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
  out->arena = c->arena;
  copy_nodes(c, g, out);
  copy_values(c, g, out);
  copy_results(c, g, out);
  out->hash_slots = GR_NEW(c->arena, uint64_t, g->n_hash_slots);
  memcpy(out->hash_slots, g->hash_slots, sizeof *g->hash_slots * g->n_hash_slots);
  return out;
}

gr_graph *gr_graph_copy(gr_arena *arena, const gr_graph *g) {
  assert(arena && g);
  copier c = {.arena = arena, .texts = gr_map_make(arena)};
  return copy_graph(&c, g);
}
