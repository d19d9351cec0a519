// bucket.c - collectives joined: the ranks meet once for many values.
//
// Most weights are small, and at each meeting all wait for whoever is late. So a collective whose
// result nobody reads yet waits for others of its kind, over the same axis of the mesh, until
// one of their results is read or they are of so many bytes. The joined values stay where they
// are in memory, each in its place: nothing is packed.
//
// What waits keeps its operand alive. A term that is summed in place would be there anyway;
// scattered terms and parts to be gathered would not, so fewer of them wait.
#include <string.h>
#include "compiler/pass.h"
#include "compiler/passes.h"
#include "ops/collective.h"

static const size_t most_sums = 25 << 20, most_parts = 4 << 20;  // bytes

typedef struct bucket {
  const gr_node *node[GR_MAX_ARGS];  // of the old graph, in its order; of one kind
  int n;
  size_t bytes;
} bucket;

typedef struct join {
  gr_rewrite *rw;
  bucket *all;
  uint32_t n;
  uint32_t *waits;  // by old value: 1 + the bucket its maker waits in; 0: it is made
} join;

static size_t bytes_of(const gr_graph *g, const gr_node *n) {
  size_t in = gr_type_bytes(&gr_at(g, n->in[0])->type);
  size_t out = gr_type_bytes(&gr_at(g, n->out)->type);
  return in > out ? in : out;
}

static bool alike(const gr_graph *g, const gr_node *a, const gr_node *b) {
  return a->op == b->op && !memcmp(a->attr, b->attr, sizeof(struct gr_coll)) &&
         gr_at(g, a->out)->type.dtype == gr_at(g, b->out)->type.dtype;
}

// Where there is but one, it stays what it was.
static void emit(join *j, bucket *b) {
  gr_rewrite *rw = j->rw;
  gr_val in[GR_MAX_ARGS];
  if (b->n == 1) gr_copy_node(rw, b->node[0]);
  rw->b.loc = b->n ? b->node[0]->loc : GR_NOWHERE, rw->b.scope = NULL;
  for (int k = 0; k < b->n; k++) in[k] = rw->map[b->node[k]->in[0].id];
  gr_val out = b->n > 1 ? gr_emit(&rw->b, b->node[0]->op, b->node[0]->attr, b->n, in) : GR_NONE;
  for (int k = 0; k < b->n; k++) {
    uint32_t was = b->node[k]->out.id;
    j->waits[was] = 0;
    if (!gr_is(out)) continue;
    rw->map[was] = (gr_val){out.id + (uint32_t)k};
    gr_at(rw->b.g, rw->map[was])->layout = rw->old->values[was].layout;
  }
  b->n = 0, b->bytes = 0;
}

// The bucket for n: the one of its kind, or a new or empty one.
static uint32_t find(join *j, const gr_node *n) {
  uint32_t empty = j->n;
  for (uint32_t i = 0; i < j->n; i++) {
    if (!j->all[i].n && empty == j->n) empty = i;
    if (j->all[i].n && alike(j->rw->old, j->all[i].node[0], n)) return i;
  }
  j->n += empty == j->n;
  return empty;
}

static size_t limit_of(const join *j, const gr_node *n) {
  if (j->rw->opt->joined) return j->rw->opt->joined;
  return n->op == &gr_op_all_reduce ? most_sums : most_parts;
}

// What is large goes at once: others gain little by its company, and it would push them out.
static void put(join *j, const gr_node *n) {
  size_t limit = limit_of(j, n), bytes = bytes_of(j->rw->old, n);
  if (bytes > limit / 2) {
    gr_copy_node(j->rw, n);
    return;
  }
  bucket *b = &j->all[find(j, n)];
  if (b->n == GR_MAX_ARGS || b->bytes + bytes > limit) emit(j, b);
  b->node[b->n++] = n, b->bytes += bytes;
  j->waits[n->out.id] = 1 + (uint32_t)(b - j->all);
}

gr_status gr_pass_bucket(gr_rewrite *rw) {
  const gr_graph *old = rw->old;
  join j = {.rw = rw, .all = GR_NEW(old->arena, bucket, old->n_nodes + 1)};
  j.waits = GR_NEW(old->arena, uint32_t, old->n_values);
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < old->n_nodes && !rw->b.err; i++) {
    const gr_node *n = &old->nodes[i];
    for (int k = 0; k < n->n_in; k++)
      if (j.waits[n->in[k].id]) emit(&j, &j.all[j.waits[n->in[k].id] - 1]);
    if (n->op->collective && n->n_in == 1)
      put(&j, n);
    else
      gr_copy_node(rw, n);
  }
  for (uint32_t i = 0; i < j.n; i++) emit(&j, &j.all[i]);
  gr_copy_links(rw);
  return GR_OK;
}
