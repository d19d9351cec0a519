// alignment.c - see alignment.h. The nodes that the operand "lengths" of a ctc_loss is computed by
// are few and elementwise: their reference kernels run here, on every length that a sample can
// have.
#include "compiler/alignment.h"
#include <string.h>
#include "ops/ops.h"

enum { LOGITS, TARGETS, LENGTHS, TARGET_LENGTHS };  // of ctc_loss

typedef struct slice {
  const gr_graph *g;
  gr_arena *arena;
  bool *wanted;  // by value
  void **data;   // by value
} slice;

static bool is_input(const gr_graph *g, gr_val v, const char *name) {
  const gr_value *value = gr_at(g, v);
  return value->role == GR_INPUT && !strcmp(value->name, name);
}

// Elementwise, or a constant.
static bool is_plain(const gr_op *op) {
  bool pointwise = op->index_spec && op->index_spec[strspn(op->index_spec, ".,->")] == 0;
  return op->cpu && !op->random && !op->collective && (pointwise || !op->n_in);
}

// Marks what the value is computed from. False: from more than lengths, or not row by row.
static bool mark(slice *s, gr_val v) {
  s->wanted[v.id] = true;
  for (uint32_t i = s->g->n_nodes; i--;) {
    const gr_node *n = &s->g->nodes[i];
    if (!gr_any_out(n, s->wanted)) continue;
    if (!is_plain(n->op)) return false;
    for (int k = 0; k < n->n_in; k++) s->wanted[n->in[k].id] = true;
  }
  for (uint32_t i = 1; i < s->g->n_values; i++)
    if (s->wanted[i] && s->g->values[i].role != GR_TEMP && !is_input(s->g, (gr_val){i}, "lengths"))
      return false;
  return true;
}

static gr_status run_node(slice *s, const gr_node *n) {
  const gr_mesh mesh = {0};
  const void *in[GR_MAX_ARGS];
  void *out[GR_MAX_ARGS];
  gr_layout layout[GR_MAX_ARGS];
  gr_op_call call;
  gr_op_call_of(s->g, n, &call);
  for (int k = 0; k < n->n_in; k++) in[k] = s->data[n->in[k].id];
  for (int k = 0; k < n->n_out; k++)
    out[k] = s->data[gr_out(n, k).id], layout[k] = gr_layout_replicated;
  gr_launch l = {.attr = n->attr, .n_in = n->n_in, .n_out = n->n_out, .in_type = call.in};
  l.out_type = call.out, l.out_layout = layout, l.mesh = &mesh, l.in = in, l.out = out;
  if (n->op->scratch) l.scratch = gr_arena_alloc(s->arena, n->op->scratch(&call) + 1);
  return n->op->cpu(&l);
}

// Runs the nodes on as many lengths as there are rows, from `first` on.
static gr_status run_rows(slice *s, int32_t first) {
  for (uint32_t i = 1; i < s->g->n_values; i++)
    if (s->wanted[i] && s->g->values[i].role == GR_INPUT)
      for (int64_t k = 0; k < gr_type_count(&s->g->values[i].type); k++)
        ((int32_t *)s->data[i])[k] = first + (int32_t)k;
  for (uint32_t i = 0; i < s->g->n_nodes; i++)
    if (gr_any_out(&s->g->nodes[i], s->wanted)) GR_TRY(run_node(s, &s->g->nodes[i]));
  return GR_OK;
}

static gr_status fill(slice *s, gr_val lengths, gr_alignment *a) {
  int32_t rows = (int32_t)gr_at(s->g, lengths)->type.dim[0];
  s->data = GR_NEW(s->arena, void *, s->g->n_values);
  for (uint32_t i = 1; i < s->g->n_values; i++)
    if (s->wanted[i])
      s->data[i] = gr_arena_alloc(s->arena, gr_type_bytes(&s->g->values[i].type) + 1);
  for (int32_t first = 0; first <= a->longest; first += rows) {
    int32_t n = a->longest + 1 - first;
    GR_TRY(run_rows(s, first));
    memcpy(a->frames + first, s->data[lengths.id], (size_t)(n < rows ? n : rows) * sizeof(int32_t));
  }
  return GR_OK;
}

static bool leaves_out(const gr_node *n) {
  for (const gr_attr *a = n->op->attrs; a->name; a++)
    if (!strcmp(a->name, "zero_infinity")) return *(int64_t *)((char *)n->attr + a->offset) != 0;
  return false;
}

static gr_status note(const gr_graph *g, const gr_node *n, int64_t longest, gr_notes *notes) {
  gr_arena *scratch = gr_arena_create();
  slice s = {.g = g, .arena = scratch, .wanted = GR_NEW(scratch, bool, g->n_values)};
  gr_alignment a = {.loc = n->loc,
                    .longest = (int32_t)longest,
                    .room = (int32_t)gr_at(g, n->in[LOGITS])->type.dim[1],
                    .leaves_out = leaves_out(n),
                    .frames = GR_NEW(notes->arena, int32_t, longest + 1)};
  bool known = mark(&s, n->in[LENGTHS]);
  gr_status failed = known ? fill(&s, n->in[LENGTHS], &a) : GR_OK;
  gr_arena_destroy(scratch);
  if (known && !failed) notes->aligned[notes->n_aligned++] = a;
  return failed;
}

gr_status gr_note_alignments(const gr_graph *g, gr_notes *notes) {
  enum { MOST = 1 << 20 };  // frames
  gr_val x = gr_graph_leaf(g, GR_INPUT, "x");
  const gr_type *type = gr_is(x) ? &gr_at(g, x)->type : NULL;
  if (!type || type->rank < 2 || type->dim[1] > MOST) return GR_OK;
  for (uint32_t i = 0; i < g->n_nodes && notes->n_aligned < GR_MAX_ALIGNMENTS; i++) {
    const gr_node *n = &g->nodes[i];
    if (n->op == &gr_op_ctc_loss && is_input(g, n->in[TARGETS], "targets") &&
        is_input(g, n->in[TARGET_LENGTHS], "target_lengths"))
      GR_TRY(note(g, n, type->dim[1], notes));
  }
  return GR_OK;
}
