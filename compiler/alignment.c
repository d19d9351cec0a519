// alignment.c - see alignment.h. The nodes that the operand "lengths" of a ctc_loss is computed by
// are few and elementwise: their reference kernels run here, on every length that a sample can
// have.
#include "compiler/alignment.h"
#include <string.h>
#include "compiler/host_slice.h"
#include "ops/ops.h"

enum { LOGITS, TARGETS, LENGTHS, TARGET_LENGTHS };  // of ctc_loss

static bool is_input(const gr_graph *g, gr_val v, const char *name) {
  const gr_value *value = gr_at(g, v);
  return value->role == GR_INPUT && !strcmp(value->name, name);
}

// Elementwise, or a constant.
static bool is_plain(const gr_op *op) {
  bool pointwise = op->index_spec && op->index_spec[strspn(op->index_spec, ".,->")] == 0;
  return !op->random && !op->collective && (pointwise || !gr_op_operands(op));
}

// Runs the nodes on as many lengths at a time as there are rows.
static gr_status fill(gr_host_slice *s, gr_val lengths, gr_alignment *a) {
  int32_t rows = (int32_t)gr_at(s->g, lengths)->type.dim[0];
  gr_host_slice_open(s);
  for (int32_t first = 0; first <= a->longest; first += rows) {
    int32_t n = a->longest + 1 - first, *in = s->data[s->leaf.id];
    for (int64_t k = 0; gr_is(s->leaf) && k < gr_type_count(&gr_at(s->g, s->leaf)->type); k++)
      in[k] = first + (int32_t)k;
    GR_TRY(gr_host_slice_run(s));
    memcpy(a->frames + first, s->data[lengths.id], (size_t)(n < rows ? n : rows) * sizeof *in);
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
  gr_host_slice s = {.g = g, .arena = scratch, .input = "lengths"};
  gr_alignment a = {.loc = n->loc,
                    .longest = (int32_t)longest,
                    .room = (int32_t)gr_at(g, n->in[LOGITS])->type.dim[1],
                    .leaves_out = leaves_out(n),
                    .frames = GR_NEW(notes->arena, int32_t, longest + 1)};
  bool known = gr_host_slice_find(&s, n->in[LENGTHS], is_plain);
  gr_status failed = known ? fill(&s, n->in[LENGTHS], &a) : GR_OK;
  gr_arena_destroy(scratch);
  if (!notes->aligned) notes->aligned = GR_NEW(notes->arena, gr_alignment, GR_MAX_ALIGNMENTS);
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
