// lookups.c - see lookups.h. Nodes between x and the ids only move numbers: run on an x whose
// elements are the numbers of their columns, they say which columns the ids are of.
#include "compiler/lookups.h"
#include "compiler/host_slice.h"
#include "ops/ops.h"

enum { TABLE, IDS };                                     // of an embedding
enum { MAX_COLUMNS = 1 << 16, MAX_ELEMENTS = 1 << 24 };  // elements of x

static bool moves(const gr_op *op) {
  const gr_op *const all[] = {&gr_op_cast,   &gr_op_slice,  &gr_op_reshape,  &gr_op_transpose,
                              &gr_op_select, &gr_op_concat, &gr_op_broadcast};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] == op) return true;
  return false;
}

static void number_columns(const gr_type *type, void *x) {
  int64_t columns = type->dim[type->rank - 1];
  for (int64_t i = 0; i < gr_type_count(type); i++) {
    if (type->dtype == GR_F32)
      ((float *)x)[i] = (float)(i % columns);
    else
      ((int32_t *)x)[i] = (int32_t)(i % columns);
  }
}

static gr_status note(gr_host_slice *s, const gr_node *n, gr_notes *notes) {
  const gr_type *x = &gr_at(s->g, s->leaf)->type, *ids = &gr_at(s->g, n->in[IDS])->type;
  gr_lookup l = {.loc = n->loc, .rows = gr_at(s->g, n->in[TABLE])->type.dim[0]};
  bool *seen = GR_NEW(s->arena, bool, MAX_COLUMNS);
  gr_host_slice_open(s);
  number_columns(x, s->data[s->leaf.id]);
  GR_TRY(gr_host_slice_run(s));
  int64_t columns = x->dim[x->rank - 1];
  l.columns = GR_NEW(notes->arena, int32_t, columns);
  const int32_t *column = s->data[n->in[IDS].id];
  for (int64_t i = 0; i < gr_type_count(ids); i++) seen[column[i]] = true;
  for (int32_t c = 0; c < columns; c++)
    if (seen[c]) l.columns[l.n++] = c;
  if (!notes->lookups) notes->lookups = GR_NEW(notes->arena, gr_lookup, GR_MAX_LOOKUPS);
  notes->lookups[notes->n_lookups++] = l;
  return GR_OK;
}

// Numbers of columns go through a narrower dtype as others.
static bool keeps_numbers(const gr_host_slice *s) {
  for (uint32_t i = 0; i < s->n_nodes; i++) {
    gr_dtype made = gr_at(s->g, s->nodes[i]->out)->type.dtype;
    if (made != GR_F32 && made != GR_I32) return false;
  }
  return true;
}

static bool is_looked_up(const gr_type *x) {
  return x->rank > 1 && (x->dtype == GR_F32 || x->dtype == GR_I32) &&
         x->dim[x->rank - 1] <= MAX_COLUMNS && gr_type_count(x) <= MAX_ELEMENTS;
}

gr_status gr_note_lookups(const gr_graph *g, gr_notes *notes) {
  gr_status failed = GR_OK;
  for (uint32_t i = 0; i < g->n_nodes && notes->n_lookups < GR_MAX_LOOKUPS && !failed; i++) {
    const gr_node *n = &g->nodes[i];
    if (n->op != &gr_op_embedding) continue;
    gr_host_slice s = {.g = g, .arena = gr_arena_create(), .input = "x"};
    if (gr_host_slice_find(&s, n->in[IDS], moves) && gr_is(s.leaf) &&
        is_looked_up(&gr_at(g, s.leaf)->type) && keeps_numbers(&s))
      failed = note(&s, n, notes);
    gr_arena_destroy(s.arena);
  }
  return failed;
}
