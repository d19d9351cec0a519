// equal.c - checks at the end of a run that replicated states are bitwise equal. See rank.h.
#include "base/hash.h"
#include "runtime/train/rank/rank.h"

// The mesh axes that a state is sharded over. Ranks with equal coordinates on these axes hold the
// same slice.
static unsigned split_over(const gr_mesh *mesh, const gr_plan_state *s) {
  unsigned axes = 0;
  for (int a = 0; a < mesh->n_axes; a++)
    if (s->layout.placement[a] >= 0 && mesh->axis[a].size > 1) axes |= 1u << a;
  return axes;
}

static bool same_part(const gr_mesh *mesh, unsigned axes, int rank, int other) {
  for (int a = 0; a < mesh->n_axes; a++)
    if ((axes >> a & 1) && gr_mesh_coord(mesh, rank, a) != gr_mesh_coord(mesh, other, a))
      return false;
  return true;
}

enum { PART = 16 << 20 };  // bytes between two looks at signals

static uint64_t hash_parts(uint64_t hash, const char *data, size_t bytes) {
  for (size_t i = 0; i < bytes && !gr_run_signalled(); i += PART)
    hash = gr_hash_bytes(hash, data + i, bytes - i < PART ? bytes - i : PART);
  return hash;
}

// Covers all states that are sharded over exactly these axes; sets their number. Without their
// hash where a rank is asked to stop.
static gr_status hash_states(gr_rank *r, unsigned axes, uint64_t *hash, uint32_t *n) {
  const gr_plan *p = r->spec->plan;
  const void *data;
  *n = 0, *hash = GR_HASH_START;
  for (const gr_plan_state *s = p->states; s < p->states + p->n_states; s++) {
    if (s->kind == GR_KIND_GRAD_ACCUMULATOR || split_over(&p->mesh, s) != axes) continue;
    ++*n;
    if (gr_run_signalled()) continue;
    gr_exec_tensor t = gr_exec_state(r->exec, s);
    GR_TRY(gr_exec_view(r->exec, &t, r->staging, &data));
    *hash = hash_parts(*hash, data, t.bytes);
  }
  return GR_OK;
}

static gr_status compare(gr_rank *r, unsigned axes, uint64_t hash) {
  gr_arena *scratch = gr_arena_create();
  int32_t words[2] = {(int32_t)(uint32_t)hash, (int32_t)(uint32_t)(hash >> 32)};
  int32_t *all = GR_NEW(scratch, int32_t, 2 * r->ranks);
  gr_status s = gr_comm_run(r->world, GR_ALL_GATHER, GR_I32, 2, words, all);
  for (int i = 0; !s && i < r->ranks; i++)
    for (int k = 0; !s && k < i; k++)
      if (same_part(&r->spec->plan->mesh, axes, i, k) &&
          (all[2 * i] != all[2 * k] || all[2 * i + 1] != all[2 * k + 1]))
        s = gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                            "the state after training of rank %d is not that of rank %d", i, k),
                    "every rank must see the same configuration, files and data, and have memory "
                    "that can be relied on");
  return gr_arena_end(scratch, s);
}

typedef struct counts {
  uint32_t whole, shared, single;  // states: on all ranks, on some, on one
  uint64_t hash;                   // of the first
} counts;

static void report(gr_rank *r, const counts *n) {
  gr_text t = gr_text_make(r->arena);
  gr_text_printf(&t, "%u state%s bit-equal on all %d ranks (hash %016llx)", n->whole,
                 n->whole == 1 ? " is" : "s are", r->ranks, (unsigned long long)n->hash);
  if (n->shared) gr_text_printf(&t, "; %u more on all ranks that hold the same part", n->shared);
  if (n->single) gr_text_printf(&t, "; %u split, with no second copy to compare", n->single);
  gr_log(GR_INFO, "%s", t.chars);
}

// A state that is sharded over every axis has no replicas to compare.
gr_status gr_run_weights_equal(gr_rank *r) {
  const gr_mesh *mesh = &r->spec->plan->mesh;
  counts n = {.hash = GR_HASH_START};
  uint64_t hash;
  unsigned all = 0;
  bool goes_on = true;
  for (int a = 0; a < mesh->n_axes; a++) all |= mesh->axis[a].size > 1 ? 1u << a : 0;
  for (unsigned axes = 0; r->ranks > 1 && axes <= all; axes++) {
    uint32_t these = 0;
    if (!(axes & ~all)) GR_TRY(hash_states(r, axes, &hash, &these));
    if (these) GR_TRY(gr_run_all_ok(r, !gr_run_signalled(), &goes_on));
    if (!goes_on) return GR_OK;
    if (these && axes != all) GR_TRY(compare(r, axes, hash));
    if (these && !axes) n.hash = hash;
    *(axes == all ? &n.single : axes ? &n.shared : &n.whole) += these;
  }
  if (!r->rank && r->ranks > 1) report(r, &n);
  return GR_OK;
}
