// states.c - lists the slices of states, and reads them. See states.h.
#include "runtime/train/saving/states.h"
#include <stdlib.h>
#include <string.h>
#include "ops/ops.h"

// Gradient accumulators are reset at the first micro-batch of a step, so checkpoints omit them.
static bool lasts(const gr_plan_state *s) {
  return s->kind != GR_KIND_GRAD_ACCUMULATOR && s->kind != GR_KIND_TABLE;
}

// Among the ranks that hold the same slice, the one with coordinate 0 writes it.
static bool writes(gr_rank *r, const gr_plan_state *s) {
  const gr_mesh *mesh = &r->spec->plan->mesh;
  for (int a = 0; a < mesh->n_axes; a++)
    if (s->layout.placement[a] < 0 && gr_mesh_coord(mesh, r->rank, a)) return false;
  return true;
}

static void list_saved(gr_states *s) {
  gr_rank *r = s->rank;
  const gr_plan *p = r->spec->plan;
  s->saved = GR_NEW(r->arena, gr_tensor_slice, p->n_states + 1);
  for (const gr_plan_state *state = p->states; state < p->states + p->n_states; state++) {
    bool gathered = gr_run_is_gathered(r, state);
    if (gathered && !r->rank) s->saved[s->n_saved++] = gr_run_full_tensor_slice(s, state);
    if (gathered || !lasts(state) || !writes(r, state)) continue;
    s->saved[s->n_saved++] = gr_run_tensor_slice(r, state, r->rank);
  }
}

void gr_run_list_pieces(gr_states *s, gr_rank *r) {
  const gr_plan *p = r->spec->plan;
  *s = (gr_states){.rank = r, .pieces = GR_NEW(r->arena, gr_tensor_slice, p->n_states + 1)};
  for (uint32_t i = 0; i < p->n_states; i++)
    if (lasts(&p->states[i]))
      s->pieces[s->n_pieces++] = gr_run_tensor_slice(r, &p->states[i], r->rank);
}

gr_status gr_states_open(gr_states *s, gr_rank *r) {
  gr_run_list_pieces(s, r);
  GR_TRY(gr_run_open_full(s));
  list_saved(s);
  return GR_OK;
}

void gr_states_close(gr_states *s) { free(s->full); }

gr_exec_tensor gr_run_tensor_of(const gr_tensor_slice *s) {
  return (gr_exec_tensor){.address = s->data, .bytes = (size_t)gr_tensor_slice_bytes(s)};
}

gr_status gr_run_fetch(void *states, const gr_tensor_slice *s, void *to) {
  const gr_states *all = states;
  gr_exec_tensor t = gr_run_tensor_of(s);
  const void *data = s->data;
  bool gathered = (uintptr_t)s->data - (uintptr_t)all->full < all->full_bytes;
  if (!gathered) GR_TRY(gr_exec_view(all->rank->exec, &t, to, &data));
  if (data != to) memcpy(to, data, t.bytes);
  return GR_OK;
}

// ---- Reading -----------------------------------------------------------------------------------

// The loss scale and its count of good steps are states of fp16 alone. A run that goes on in fp16
// from a checkpoint without them begins with their first values; one that goes on without fp16
// drops them.
static const char *const of_fp16[] = {GR_LOSS_SCALE, GR_LOSS_SCALE_STEPS};
enum { OF_FP16 = sizeof of_fp16 / sizeof *of_fp16 };

static bool is_of_fp16(const char *name) {
  for (int i = 0; i < OF_FP16; i++)
    if (!strcmp(name, of_fp16[i])) return true;
  return false;
}

// The slices of this rank's states that a checkpoint has, and others that must be there. Returns
// how many. adds: the run adds what is missing. *emas: averages of weights that are; they are other
// states that a run may lack or add.
static int list_wanted(const gr_states *all, gr_checkpoint *c, bool adds, gr_tensor_slice *want,
                       int *emas) {
  const gr_plan *p = all->rank->spec->plan;
  int n = 0, next = 0;
  *emas = 0;
  for (const gr_plan_state *s = p->states; s < p->states + p->n_states; s++) {
    if (!lasts(s)) continue;
    const gr_tensor_slice *piece = &all->pieces[next++];
    bool ema = adds && s->kind == GR_KIND_EMA;
    bool may_miss = ema || is_of_fp16(s->name);
    bool misses = may_miss && !gr_checkpoint_tensor(c, s->name);
    if (!misses) want[n++] = *piece;
    *emas += misses && ema;
  }
  return n;
}

// Adds what a checkpoint has and this run drops, which is not read.
static int add_dropped(const gr_rank *r, gr_checkpoint *c, gr_tensor_slice *want, int n) {
  int all, emas = 0;
  const gr_tensor_slice *has = gr_checkpoint_tensors(c, &all);
  gr_map averages = gr_checkpoint_emas(r->arena, c), wanted = gr_map_make(r->arena);
  for (int i = 0; i < n; i++) gr_map_put(&wanted, want[i].name, (uint32_t)i);
  for (int i = 0; i < all; i++) {
    bool ema = gr_map_find(&averages, has[i].name, NULL);
    if (!(ema || is_of_fp16(has[i].name)) || gr_map_find(&wanted, has[i].name, NULL)) continue;
    emas += ema;
    want[n++] = has[i];
  }
  if (emas && !r->rank && r->spec->kind == GR_RUN_TRAIN)
    gr_log(GR_INFO, "'%s' has averages of %d weights, which this run drops (training.ema_decay)",
           gr_checkpoint_path(c), emas);
  return n;
}

// Loads n states of this rank, the first of `want`: directly into their memory, or through host
// memory. `all` of `want` are checked.
static gr_status read_wanted(gr_rank *r, gr_checkpoint *c, gr_tensor_slice *want, int n, int all,
                             bool exact) {
  size_t bytes = 0, used = 0;
  gr_exec_tensor *to = GR_NEW(r->arena, gr_exec_tensor, n + 1);
  for (int i = 0; i < n; i++) {
    to[i] = gr_run_tensor_of(&want[i]);
    bytes += gr_exec_staging(r->exec, &to[i]);
  }
  char *staging = malloc(bytes + 1);
  if (!staging) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to read a checkpoint");
  for (int i = 0; i < n; i++) {
    want[i].data = gr_exec_target(r->exec, &to[i], staging + used);
    used += gr_exec_staging(r->exec, &to[i]);
  }
  gr_status s = gr_checkpoint_read_all(c, want, all, exact);
  for (int i = 0; i < n && !s; i++) s = gr_exec_store(r->exec, &to[i], want[i].data);
  free(staging);
  return s;
}

// All averages become their weights, and then what the checkpoint has of them.
static gr_status begin_emas(gr_rank *r, gr_checkpoint *c, gr_tensor_slice *want, int n,
                            int missing) {
  int kept = 0;
  if (!r->rank)
    gr_log(GR_INFO, "'%s' has no average of %d weight%s: %s as the weight%s (training.ema_decay)",
           gr_checkpoint_path(c), missing, gr_text_s(missing),
           missing > 1 ? "they begin" : "it begins", gr_text_s(missing));
  GR_TRY(gr_exec_run(r->exec, gr_plan_find(r->spec->plan, "ema", "")));
  gr_map averages = gr_checkpoint_emas(r->arena, c);
  for (int i = 0; i < n; i++)
    if (gr_map_find(&averages, want[i].name, NULL)) want[kept++] = want[i];
  return read_wanted(r, c, want, kept, kept, false);
}

// exact: the run goes on from the checkpoint, so that it adds and drops states of its own.
gr_status gr_run_read_states(gr_states *s, gr_checkpoint *c, bool exact) {
  int emas, all;
  gr_rank *r = s->rank;
  gr_checkpoint_tensors(c, &all);
  gr_tensor_slice *want = GR_NEW(r->arena, gr_tensor_slice, s->n_pieces + all + 1);
  int n = list_wanted(s, c, exact, want, &emas);
  GR_TRY(read_wanted(r, c, want, n, add_dropped(r, c, want, n), exact));
  return emas ? begin_emas(r, c, want, n, emas) : GR_OK;
}

gr_status gr_run_begin_loss_scale(gr_states *s, gr_checkpoint *c) {
  gr_rank *r = s->rank;
  bool lacks = false;
  for (int i = 0; i < s->n_pieces; i++)
    lacks |= is_of_fp16(s->pieces[i].name) && !gr_checkpoint_tensor(c, s->pieces[i].name);
  if (!lacks) return GR_OK;
  if (!r->rank)
    gr_log(GR_INFO, "'%s' has no loss scale: it begins at training.loss_scale.init, %g",
           gr_checkpoint_path(c), r->spec->set.options.precision.loss_scale_init);
  return gr_exec_run(r->exec, gr_plan_find(r->spec->plan, "init", ""));
}
