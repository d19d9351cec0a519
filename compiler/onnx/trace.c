// trace.c - writes the graph of what a model predicts, node by node, as a graph of ONNX. See
// onnx.h.
#include <string.h>
#include "base/grow.h"
#include "compiler/onnx/sizes.h"

// A size that may change, and the value that has it.
typedef struct known_size {
  gr_onnx_graph *graph;  // that the value is in
  const char *name;
  int axis;
  const int64_t *size;  // by choice
  const char *vector;   // the node that reads it; NULL: none yet
} known_size;

typedef struct tracer {
  gr_onnx_writer writer;  // the first, so that a writer is its tracer
  gr_arena *arena;
  const gr_onnx_choices *choices;
  gr_onnx_graph *main;
  known_size *known;
  int n_known, cap_known;
} tracer;

// A graph that is written: the model's, or the body of one of its loops.
typedef struct level {
  const gr_graph *graph[GR_ONNX_CHOICES];
  gr_onnx_graph *to;
  const char **name;  // by value
} level;

// ---- Sizes --------------------------------------------------------------------------------------

static bool is_fixed(const tracer *t, const int64_t *size) {
  for (int i = 1; i < t->choices->n; i++)
    if (size[i] != size[0]) return false;
  return true;
}

static int64_t *sizes_of(const tracer *t, const level *l, uint32_t v, int axis) {
  int64_t *size = GR_NEW(t->arena, int64_t, GR_ONNX_CHOICES);
  for (int i = 0; i < t->choices->n; i++) size[i] = l->graph[i]->values[v].type.dim[axis];
  return size;
}

static void learn(tracer *t, const level *l, uint32_t v) {
  for (int d = 0; d < l->graph[0]->values[v].type.rank; d++) {
    const int64_t *size = sizes_of(t, l, v, d);
    if (is_fixed(t, size)) continue;
    GR_GROW(t->arena, t->known, t->n_known, t->cap_known);
    t->known[t->n_known++] = (known_size){l->to, l->name[v], d, size, NULL};
  }
}

// Whether the sizes are factor * known + term, with whole numbers.
static bool follows(const tracer *t, const int64_t *size, const int64_t *known, int64_t *factor,
                    int64_t *term) {
  int i = 1;
  while (i < t->choices->n && known[i] == known[0]) i++;
  if (i == t->choices->n || (size[i] - size[0]) % (known[i] - known[0])) return false;
  *factor = (size[i] - size[0]) / (known[i] - known[0]);
  *term = size[0] - *factor * known[0];
  for (i = 0; i < t->choices->n; i++)
    if (size[i] != *factor * known[i] + *term) return false;
  return *factor != 0;
}

static const char *read_size(known_size *k, gr_onnx_call *c) {
  if (k->vector) return k->vector;
  gr_onnx_call there = *c;
  there.graph = k->graph;
  k->vector = GR_ONNX(&there, "Shape", k->name);
  gr_onnx_int(&there, "start", k->axis);
  gr_onnx_int(&there, "end", k->axis + 1);
  return k->vector;
}

// The first value that has the size; else the first of whose size it is a multiple, plus a number.
static const char *find_size(const gr_onnx_writer *w, gr_onnx_call *c, const int64_t *size) {
  tracer *t = (tracer *)w;
  int64_t factor, term;
  for (int exact = 1; exact >= 0; exact--)
    for (int i = 0; i < t->n_known; i++) {
      if (!follows(t, size, t->known[i].size, &factor, &term)) continue;
      if (exact && (factor != 1 || term)) continue;
      const char *x = read_size(&t->known[i], c);
      if (factor != 1) x = GR_ONNX(c, "Mul", x, gr_onnx_vector(c, 1, &factor));
      if (term) x = GR_ONNX(c, "Add", x, gr_onnx_vector(c, 1, &term));
      return x;
    }
  return NULL;
}

// ---- Nodes --------------------------------------------------------------------------------------

static gr_status write_node(tracer *t, level *l, uint32_t i, gr_op_call *calls) {
  const gr_node *n = &l->graph[0]->nodes[i];
  const gr_op_call *call[GR_ONNX_CHOICES];
  const char *in[GR_MAX_ARGS], *out[GR_MAX_ARGS] = {0};
  for (int k = 0; k < t->choices->n; k++) {
    gr_op_call_of(l->graph[k], &l->graph[k]->nodes[i], &calls[k]);
    call[k] = &calls[k];
  }
  for (int k = 0; k < n->n_in; k++) in[k] = l->name[n->in[k].id];
  gr_onnx_call c = {.graph = l->to,
                    .scope = n->scope,
                    .call = call,
                    .n_calls = t->choices->n,
                    .in = in,
                    .out = out,
                    .writer = &t->writer};
  gr_status s = gr_onnx_write_call(&c);
  if (s) return n->scope ? gr_note(s, GR_NOWHERE, "in '%s' of the model", n->scope) : s;
  for (int k = 0; k < n->n_out; k++) {
    l->name[gr_out(n, k).id] = out[k];
    learn(t, l, gr_out(n, k).id);
  }
  return GR_OK;
}

static gr_status write_nodes(tracer *t, level *l) {
  gr_op_call *calls = GR_NEW(t->arena, gr_op_call, t->choices->n);
  for (uint32_t i = 0; i < l->graph[0]->n_nodes; i++) GR_TRY(write_node(t, l, i, calls));
  return GR_OK;
}

static const gr_graph *body_of(const gr_op_call *c) {
  for (const gr_attr *a = c->op->attrs; a && a->name; a++)
    if (a->kind == GR_ATTR_GRAPH) return gr_attr_graph(c->attr, a);
  return NULL;
}

// What is in a body is known in it alone.
static const char **write_body(const gr_onnx_writer *w, gr_onnx_call *c, gr_onnx_graph *to,
                               const char *const *leaf) {
  tracer *t = (tracer *)w;
  level l = {.to = to};
  int known = t->n_known;
  for (int i = 0; i < t->choices->n; i++) l.graph[i] = body_of(c->call[i]);
  l.name = GR_NEW(t->arena, const char *, l.graph[0]->n_values);
  for (uint32_t v = 1; v <= gr_graph_leaves(l.graph[0]); v++) {
    l.name[v] = leaf[v];
    learn(t, &l, v);
  }
  if (!c->err) c->err = write_nodes(t, &l);
  t->n_known = known;
  return l.name;
}

// ---- Leaves and results -------------------------------------------------------------------------

// Sets the sizes that may change, and the letters that they are called by.
static void name_sizes(const tracer *t, const level *l, uint32_t v, gr_onnx_value *to) {
  const gr_onnx_choices *c = t->choices;
  for (int d = 0; d < to->type.rank; d++) {
    const int64_t *size = sizes_of(t, l, v, d);
    if (is_fixed(t, size)) continue;
    to->type.dim[d] = -1;
    for (int k = 0; k < c->n_letters && !to->letter[d]; k++)
      if (!memcmp(c->letter[k].size, size, sizeof *size * (size_t)c->n))
        to->letter[d] = c->letter[k].name;
  }
}

static void write_leaves(tracer *t, level *l) {
  const gr_graph *g = l->graph[0];
  const bool *live = gr_graph_live(g);
  for (uint32_t v = 1; v < g->n_values; v++) {
    const gr_value *value = &g->values[v];
    if (value->role == GR_TEMP || !live[v]) continue;
    l->name[v] = value->name;
    if (value->role == GR_STATE) {
      gr_onnx_tensor_add(t->main, value->name, &value->type, NULL);
      t->main->last_tensor->state = value;
      continue;
    }
    name_sizes(t, l, v, gr_onnx_input(t->main, value->name, &value->type));
    learn(t, l, v);
  }
}

// A result has its own name, or NAME_out if an input or a weight is called NAME. No node has it.
static const char **name_results(tracer *t, const gr_graph *g) {
  const char **name = GR_NEW(t->arena, const char *, g->n_results + 1);
  for (uint32_t i = 0; i < g->n_results; i++) {
    name[i] = strchr(g->result_names[i], '.') + 1;
    while (gr_map_find(t->main->taken, name[i], NULL))
      name[i] = gr_arena_printf(t->arena, "%s_out", name[i]);
    gr_map_put(t->main->taken, name[i], 1);
  }
  return name;
}

static gr_status write_results(tracer *t, level *l, const char **names) {
  const gr_graph *g = l->graph[0];
  gr_onnx_call c = {.graph = t->main, .writer = &t->writer};
  for (uint32_t i = 0; i < g->n_results; i++) {
    GR_ONNX(&c, "Identity", l->name[g->results[i].id]);
    if (!c.err) t->main->last_node->out[0] = names[i];
    gr_type type = gr_at(g, g->results[i])->type;
    name_sizes(t, l, g->results[i].id, gr_onnx_output(t->main, names[i], &type));
  }
  return c.err;
}

gr_status gr_onnx_trace(gr_arena *arena, const gr_model_request *request, gr_onnx_graph **out) {
  gr_onnx_choices choices;
  GR_TRY(gr_onnx_choose(arena, request, &choices));
  tracer t = {.writer = {find_size, write_body},
              .arena = arena,
              .choices = &choices,
              .main = gr_onnx_graph_create(arena, NULL, "graphrun")};
  level l = {.to = t.main, .name = GR_NEW(arena, const char *, choices.graph[0]->n_values)};
  memcpy(l.graph, choices.graph, sizeof l.graph);
  write_leaves(&t, &l);
  const char **names = name_results(&t, choices.graph[0]);
  GR_TRY(write_nodes(&t, &l));
  GR_TRY(write_results(&t, &l, names));
  *out = t.main;
  return GR_OK;
}
