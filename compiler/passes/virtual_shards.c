// virtual_shards.c - canonical numerics: a rank runs a program once for each of its virtual shards.
//
// The batch is sharded over the mesh axis GR_VIRTUAL_AXIS too, which has no ranks: a rank has all
// of its coordinates, and runs the program for one after the other, in the same shapes on any
// number of ranks. So the sums over that axis are no collectives. In training the accumulators are
// these sums, added up as a binary tree (accumulate.c), and an evaluation adds up the results of
// its runs. Here they are dropped; what needs all shards before it can go on is refused.
//
// Sums over ranks continue the tree. What else is added up over ranks would depend on how many
// there are, and is refused: the norms of slices of gradients are sums of integers.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/comm/collective.h"

typedef struct shards {
  gr_rewrite *rw;
  int axis;
  bool *sum;  // by old value: what a program of a micro-batch, or an evaluation, may only return
  bool *complete;  // by old value: a sum over all shards of this rank
  bool *exact;     // by old value: of sums of integers, whose order does not matter
} shards;

static gr_status refuse(const gr_node *n, const char *why, const char *hint) {
  gr_status s = gr_fail(GR_ERR_UNSUPPORTED, n->loc, "training.numerics=canonical: %s%s'%s' %s",
                        n->scope ? n->scope : "", n->scope ? ": " : "", n->op->name, why);
  return gr_hint(s, "%s; or training.numerics=native", hint);
}

static gr_status refuse_batch(const gr_node *n) {
  return refuse(n,
                "needs all samples of a batch, of which each virtual shard is computed by itself",
                "distributed.sync_batchnorm=false, if it is a batch norm's: statistics are then "
                "those of each shard");
}

static bool is_sum(const gr_op *op) {
  return op == &gr_op_all_reduce || op == &gr_op_reduce_scatter;
}

static gr_status check_collective(const shards *s, const gr_node *n) {
  bool here = ((const struct gr_coll *)n->attr)->mesh_axis == s->axis;
  bool update = s->rw->opt->program.phase == GR_PHASE_UPDATE;
  if (here && n->op != &gr_op_all_reduce) return refuse_batch(n);
  if (here || !update || !is_sum(n->op)) return GR_OK;
  if (s->complete[n->in[0].id] || s->exact[n->in[0].id]) return GR_OK;
  return refuse(n, "adds up over the ranks, in an order that depends on how many there are",
                "distributed.strategy=ddp, or an optimizer that computes each element by itself");
}

// Sets what the results of a node are.
static gr_status follow(shards *s, const gr_node *n) {
  bool moves = n->op->collective || n->op == &gr_op_cast, sum = false, complete = moves;
  bool exact = n->op->collective || n->op == &gr_op_add;
  for (int k = 0; k < n->n_in; k++) {
    sum |= s->sum[n->in[k].id];
    complete &= s->complete[n->in[k].id];
    exact &= s->exact[n->in[k].id];
  }
  if (sum && !moves) return refuse_batch(n);
  s->sum[n->out.id] = sum, s->complete[n->out.id] = complete;
  s->exact[n->out.id] = exact || n->op == &gr_op_sum_squares_exact;
  return GR_OK;
}

static gr_status emit(shards *s, const gr_node *n) {
  const struct gr_coll *coll = n->attr;
  bool update = s->rw->opt->program.phase == GR_PHASE_UPDATE;
  if (n->op->collective) GR_TRY(check_collective(s, n));
  GR_TRY(follow(s, n));
  if (!n->op->collective || coll->mesh_axis != s->axis) return gr_copy_node(s->rw, n), GR_OK;
  s->rw->map[n->out.id] = s->rw->map[n->in[0].id];
  s->sum[n->out.id] = !update;
  return GR_OK;
}

gr_status gr_pass_virtual_shards(gr_rewrite *rw) {
  const gr_graph *old = rw->old;
  shards s = {.rw = rw,
              .axis = gr_mesh_virtual(&old->mesh),
              .sum = GR_NEW(old->tables, bool, old->n_values),
              .complete = GR_NEW(old->tables, bool, old->n_values),
              .exact = GR_NEW(old->tables, bool, old->n_values)};
  for (uint32_t i = 1; i < old->n_values; i++) {
    const gr_value *v = &old->values[i];
    s.complete[i] = v->kind == GR_KIND_GRAD_ACCUMULATOR && v->role == GR_STATE;
    if (v->role == GR_STATE && v->layout.placement[s.axis] >= 0)
      return gr_hint(
          gr_fail(GR_ERR_UNSUPPORTED, v->loc,
                  "'%s' has a row for each sample of a batch, of which training.numerics="
                  "canonical computes a virtual shard at a time",
                  v->name),
          "training.numerics=native");
  }
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < old->n_nodes && !rw->b.err; i++) GR_TRY(emit(&s, &old->nodes[i]));
  gr_copy_links(rw);
  for (uint32_t i = 1; i < rw->b.g->n_values; i++) {
    gr_axis_placement *p = &rw->b.g->values[i].layout.placement[s.axis];
    if (*p == GR_PARTIAL) *p = GR_REPLICATE;
  }
  return GR_OK;
}
