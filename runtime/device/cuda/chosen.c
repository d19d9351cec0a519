// chosen.c - which of cuDNN's proposals runs each call, and that ranks have taken the same. A
// proposal that fails when it is tried (cudnn.c, cudnn_attention.c) is passed over, and a rank that
// did so alone would compute other bits than the others of what they all have.
#include <string.h>
#include "base/hash.h"
#include "base/log.h"
#include "runtime/device/cuda/parts.h"

gr_chosen *gr_chosen_add(gr_cuda *c, const gr_op_call *call) {
  gr_chosen *o = GR_NEW(c->arena, gr_chosen, 1);
  *o = (gr_chosen){.next = c->chosen, .op = call->op, .loc = call->loc};
  c->n_chosen++;
  return c->chosen = o;
}

void gr_chosen_refused(gr_cuda *c, const gr_chosen *o, int64_t number, gr_status why) {
  gr_text t = gr_text_make(c->arena);
  if (c->refused++) return;
  gr_text_printf(&t, "cuDNN's proposal %lld for op '%s' fails when it is tried, and is passed over",
                 (long long)number, o->op->name);
  if (o->loc.file) gr_text_printf(&t, " (%s:%d:%d)", o->loc.file, o->loc.line, o->loc.col);
  gr_text_printf(&t, ": %s", gr_status_text(why));
  c->first_refused = t.chars;
  gr_log(GR_INFO, "%s", c->first_refused);
}

void gr_chosen_report(const gr_cuda *c, gr_text *t) {
  if (c->refused)
    gr_text_printf(t, "; %d of its proposals failed when %s tried", c->refused,
                   c->refused == 1 ? "it was" : "they were");
}

// ---- Comparing ----------------------------------------------------------------------------------

// Of a rank. GPUs of two kinds may be given different proposals.
typedef struct summary {
  int64_t arch, processors, n;
  uint64_t hash;  // of what it has taken
} summary;

static int first_alike(const summary *all, int rank) {
  int r = 0;
  while (all[r].arch != all[rank].arch || all[r].processors != all[rank].processors) r++;
  return r;
}

static gr_proposal *list(const gr_cuda *c, int64_t room) {
  gr_proposal *all = GR_NEW(c->arena, gr_proposal, room + 1);
  int64_t i = c->n_chosen;
  for (const gr_chosen *o = c->chosen; o; o = o->next) all[--i] = o->by;
  return all;
}

static const gr_chosen *call_of(const gr_cuda *c, int64_t i) {
  const gr_chosen *o = c->chosen;
  for (int64_t k = c->n_chosen; --k > i;) o = o->next;
  return o;
}

static const char *name_of(const gr_cuda *c, const gr_proposal *p) {
  enum { MAJOR = 10000, MINOR = 100 };
  gr_text t = gr_text_make(c->arena);
  int v = (int)p->version;
  if (!v) return "kernels of graphrun's own";
  gr_text_printf(&t, "proposal %lld of cuDNN %d.%d.%d", (long long)p->number, v / MAJOR,
                 v % MAJOR / MINOR, v % MINOR);
  if (p->samples)
    gr_text_printf(&t, " for %lld samples and %lld heads", (long long)p->samples,
                   (long long)p->heads);
  return t.chars;
}

static gr_status differ(const gr_cuda *c, int64_t call, const int rank[2],
                        const gr_proposal *const by[2]) {
  const gr_chosen *o = call_of(c, call);
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, o->loc,
              "op '%s' is run by %s on rank %d, and by %s on rank %d: they would compute "
              "different bits",
              o->op->name, name_of(c, by[0]), rank[0], name_of(c, by[1]), rank[1]),
      "give all ranks the same cuDNN; where it is, a warning says which rank could not "
      "run a proposal and why: another process may have memory of that GPU");
}

// Where the lists of all ranks, of `most` proposals each, differ first.
static gr_status compare(const gr_cuda *c, int ranks, const summary *all, int64_t most,
                         const gr_proposal *lists) {
  for (int r = 0; r < ranks; r++)
    for (int64_t i = 0, first = first_alike(all, r); i < most; i++) {
      const gr_proposal *const by[2] = {&lists[first * most + i], &lists[r * most + i]};
      if (memcmp(by[0], by[1], sizeof *by[0])) return differ(c, i, (int[2]){(int)first, r}, by);
    }
  return GR_OK;
}

gr_status gr_cuda_agree(gr_device *d, gr_comm *world) {
  gr_cuda *c = gr_cuda_of(d);
  const int64_t n = c->n_chosen, bytes = n * (int64_t)sizeof(gr_proposal);
  gr_proposal *taken = list(c, n);
  summary *all = GR_NEW(c->arena, summary, world->ranks);
  const summary of_this = {c->arch, c->processors, n,
                           gr_hash_bytes(GR_HASH_START, taken, (size_t)bytes)};
  bool same = true, kinds = false;
  GR_TRY(gr_comm_run(world, GR_ALL_GATHER, GR_U8, sizeof of_this, &of_this, all));
  for (int r = 0; r < world->ranks; r++) {
    same &= all[first_alike(all, r)].hash == all[r].hash;
    kinds |= first_alike(all, r) > 0;
    if (all[r].n != n) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "ranks have different programs");
  }
  if (kinds && !world->rank)
    gr_log(GR_WARN, "ranks have GPUs of different kinds: what they compute may differ in bits");
  if (same) return GR_OK;
  if (c->refused) gr_log(GR_WARN, "on rank %d %s", world->rank, c->first_refused);
  gr_proposal *lists = GR_NEW(c->arena, gr_proposal, n * world->ranks);
  GR_TRY(gr_comm_run(world, GR_ALL_GATHER, GR_U8, bytes, taken, lists));
  return compare(c, world->ranks, all, n, lists);
}
