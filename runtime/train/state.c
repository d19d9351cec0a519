// state.c - saves a run's states to checkpoints and restores them. See run.h.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "ops/ops.h"
#include "runtime/train/run.h"

// Gradient accumulators are reset at the first micro-batch of a step, so checkpoints omit them.
static bool lasts(const gr_plan_state *s) {
  return s->kind != GR_KIND_GRAD_ACCUMULATOR && s->kind != GR_KIND_TABLE;
}

// Excludes padding: a rank's slice is dense and at the start of its memory.
gr_tensor_slice gr_run_tensor_slice(gr_run *r, const gr_plan_state *s, int rank) {
  gr_tensor_slice p = {.name = s->name,
                       .dtype = gr_dtypes[s->type.dtype].name,
                       .rank = s->type.rank,
                       .at = gr_exec_state(r->me.exec, s).at};
  for (int d = 0; d < s->type.rank; d++) p.dims[d] = s->global.dim[d];
  gr_layout_slice(&s->global, &s->layout, &r->me.spec->plan->mesh, rank, p.offset, p.size);
  return p;
}

// Among the ranks that hold the same slice, the one with coordinate 0 writes it.
static bool writes(gr_run *r, const gr_plan_state *s) {
  const gr_mesh *mesh = &r->me.spec->plan->mesh;
  for (int a = 0; a < mesh->n_axes; a++)
    if (s->layout.at[a] < 0 && gr_mesh_coord(mesh, r->me.rank, a)) return false;
  return true;
}

static void list_saved(gr_run *r) {
  const gr_plan *p = r->me.spec->plan;
  r->saved = GR_NEW(r->me.arena, gr_tensor_slice, p->n_states + 1);
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (gr_run_is_gathered(r, s) && !r->me.rank)
      r->saved[r->n_saved++] = gr_run_full_tensor_slice(r, s);
    if (gr_run_is_gathered(r, s) || !lasts(s) || !writes(r, s)) continue;
    r->saved[r->n_saved++] = gr_run_tensor_slice(r, s, r->me.rank);
  }
}

gr_exec_tensor gr_run_tensor_of(const gr_tensor_slice *s) {
  return (gr_exec_tensor){.at = s->at, .bytes = (size_t)gr_tensor_slice_bytes(s)};
}

gr_status gr_run_fetch(void *run, const gr_tensor_slice *s, void *to) {
  gr_run *r = run;
  gr_exec_tensor t = gr_run_tensor_of(s);
  const void *at = s->at;
  bool gathered = (uintptr_t)s->at - (uintptr_t)r->full < r->full_bytes;
  if (!gathered) GR_TRY(gr_exec_view(r->me.exec, &t, to, &at));
  if (at != to) memcpy(to, at, t.bytes);
  return GR_OK;
}

static gr_status all_ok(void *run, bool ok, bool *all_ok) {
  gr_run *r = run;
  return gr_run_all_ok(&r->me, ok, all_ok);
}

static gr_status open_saver(gr_run *r, const char *dir) {
  const gr_settings *set = &r->me.spec->set;
  gr_saver_spec spec = {.dir = dir,
                        .rank = r->me.rank,
                        .ranks = r->me.ranks,
                        .pieces = r->saved,
                        .n_pieces = r->n_saved,
                        .owner = gr_arena_printf(r->me.arena, "output.dir=%s", r->outputs.dir),
                        .patience = gr_run_patience(&r->me),
                        .keep_last = set->keep_last ? (int)set->keep_last : INT_MAX,
                        .keep_best = (int)set->keep_best,
                        .metric = set->metric,
                        .metric_measured = gr_run_metric_is_of_pass(r->me.spec),
                        .level = (int)set->zstd_level,
                        .metric_max = set->mode == gr_mode_max,
                        .exit_checkpoint = GR_RUN_EXIT_CHECKPOINT,
                        .fetch = gr_run_fetch,
                        .agree = all_ok,
                        .ctx = r};
  return gr_saver_open(&spec, &r->saver);
}

// ---- Starting -----------------------------------------------------------------------------

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

// Averages of weights are other states that a run may lack or add: those that a checkpoint lacks
// begin as its weights.
static bool has_emas(const gr_run *r) { return gr_plan_find(r->me.spec->plan, "ema", "") != NULL; }

// The slices of this rank's states that a checkpoint has, and others that must be there. Returns
// how many. adds: the run adds what is missing. *emas: averages of weights that are.
static int list_wanted(gr_run *r, gr_checkpoint *c, bool adds, gr_tensor_slice *want, int *emas) {
  const gr_plan *p = r->me.spec->plan;
  int n = 0, at = 0;
  *emas = 0;
  for (const gr_plan_state *s = p->states; s < p->states + p->n_states; s++) {
    if (!lasts(s)) continue;
    const gr_tensor_slice *piece = &r->pieces[at++];
    bool ema = adds && s->kind == GR_KIND_EMA;
    bool may_miss = ema || is_of_fp16(s->name);
    bool misses = may_miss && !gr_checkpoint_tensor(c, s->name);
    if (!misses) want[n++] = *piece;
    *emas += misses && ema;
  }
  return n;
}

// Adds what a checkpoint has and this run drops, which is not read.
static int add_dropped(const gr_run *r, gr_checkpoint *c, gr_tensor_slice *want, int n) {
  int all, emas = 0;
  const gr_tensor_slice *has = gr_checkpoint_tensors(c, &all);
  gr_map averages = gr_checkpoint_emas(r->me.arena, c), wanted = gr_map_make(r->me.arena);
  for (int i = 0; i < n; i++) gr_map_put(&wanted, want[i].name, (uint32_t)i);
  for (int i = 0; i < all; i++) {
    bool ema = gr_map_find(&averages, has[i].name, NULL);
    if (!(ema || is_of_fp16(has[i].name)) || gr_map_find(&wanted, has[i].name, NULL)) continue;
    emas += ema;
    want[n++] = has[i];
  }
  if (emas && !r->me.rank && r->me.spec->kind == GR_RUN_TRAIN)
    gr_log(GR_INFO, "'%s' has averages of %d weights, which this run drops (training.ema_decay)",
           gr_checkpoint_path(c), emas);
  return n;
}

// Loads n states of this rank, the first of `want`: directly into their memory, or through host
// memory. `all` of `want` are checked.
static gr_status read_wanted(gr_run *r, gr_checkpoint *c, gr_tensor_slice *want, int n, int all,
                             bool exact) {
  size_t bytes = 0, used = 0;
  gr_exec_tensor *to = GR_NEW(r->me.arena, gr_exec_tensor, n + 1);
  for (int i = 0; i < n; i++) {
    to[i] = gr_run_tensor_of(&want[i]);
    bytes += gr_exec_staging(r->me.exec, &to[i]);
  }
  char *staging = malloc(bytes + 1);
  if (!staging) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to read a checkpoint");
  for (int i = 0; i < n; i++) {
    want[i].at = gr_exec_target(r->me.exec, &to[i], staging + used);
    used += gr_exec_staging(r->me.exec, &to[i]);
  }
  gr_status s = gr_checkpoint_read_all(c, want, all, exact);
  for (int i = 0; i < n && !s; i++) s = gr_exec_store(r->me.exec, &to[i], want[i].at);
  free(staging);
  return s;
}

// All averages become their weights, and then what the checkpoint has of them.
static gr_status begin_emas(gr_run *r, gr_checkpoint *c, gr_tensor_slice *want, int n,
                            int missing) {
  int kept = 0;
  if (!r->me.rank)
    gr_log(GR_INFO, "'%s' has no average of %d weight%s: %s as the weight%s (training.ema_decay)",
           gr_checkpoint_path(c), missing, gr_text_s(missing),
           missing > 1 ? "they begin" : "it begins", gr_text_s(missing));
  GR_TRY(gr_exec_run(r->me.exec, gr_plan_find(r->me.spec->plan, "ema", "")));
  gr_map averages = gr_checkpoint_emas(r->me.arena, c);
  for (int i = 0; i < n; i++)
    if (gr_map_find(&averages, want[i].name, NULL)) want[kept++] = want[i];
  return read_wanted(r, c, want, kept, kept, false);
}

// exact: the run goes on from the checkpoint, so that it adds and drops states of its own.
gr_status gr_run_read_states(gr_run *r, gr_checkpoint *c, bool exact) {
  int emas, all;
  gr_checkpoint_tensors(c, &all);
  gr_tensor_slice *want = GR_NEW(r->me.arena, gr_tensor_slice, r->n_pieces + all + 1);
  int n = list_wanted(r, c, exact, want, &emas);
  GR_TRY(read_wanted(r, c, want, n, add_dropped(r, c, want, n), exact));
  return emas ? begin_emas(r, c, want, n, emas) : GR_OK;
}

// Sets the loss scale that a checkpoint lacks, before the other states are read over theirs.
static gr_status begin_loss_scale(gr_run *r, gr_checkpoint *c) {
  bool lacks = false;
  for (int i = 0; i < r->n_pieces; i++)
    lacks |= is_of_fp16(r->pieces[i].name) && !gr_checkpoint_tensor(c, r->pieces[i].name);
  if (!lacks) return GR_OK;
  if (!r->me.rank)
    gr_log(GR_INFO, "'%s' has no loss scale: it begins at training.loss_scale.init, %g",
           gr_checkpoint_path(c), r->me.spec->set.loss_scale_init);
  return gr_exec_run(r->me.exec, gr_plan_find(r->me.spec->plan, "init", ""));
}

static gr_status restore(gr_run *r, const char *path) {
  gr_checkpoint *c;
  gr_status opened = gr_checkpoint_open(path, &c);
  if (opened)
    return gr_hint(opened,
                   "checkpoint.resume is auto, none, or the folder of one step, such as "
                   "outputs/DATE/TIME/checkpoints/step-00001000");
  gr_status s = begin_loss_scale(r, c);
  s = s ? s : gr_run_contents_read(r, c);
  if (!s) r->resumed_from = gr_arena_strdup(r->me.arena, path), r->resumed_step = r->progress.step;
  if (!s) gr_run_set_resume_hint(&r->outputs, &r->me, true);
  if (!s && r->me.rank == 0)
    gr_log(GR_INFO, "resumed from %s: step %lld", path, (long long)r->progress.step);
  gr_checkpoint_close(c);
  return s;
}

// A folder of checkpoints means its newest checkpoint, and a run's folder means its checkpoints.
static gr_status choose_weights(gr_run *r, const gr_init_entry *entry, const char **out) {
  const char *from = entry->from, *inner = gr_arena_printf(r->me.arena, "%s/checkpoints", from);
  bool many =
      gr_is_dir(from) && !gr_is_file(gr_arena_printf(r->me.arena, "%s/manifest.json", from));
  if (many && gr_is_dir(inner)) from = inner;
  char path[2048];
  gr_resume what = many ? gr_resume_auto : gr_resume_text;
  GR_TRY(gr_note(gr_run_choose_checkpoint(r, what, from, from, path, sizeof path), entry->loc,
                 "asked for by model.init_from"));
  *out = gr_arena_strdup(r->me.arena, path);
  if (*path) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CHECKPOINT, entry->loc, "there is no checkpoint in the folder '%s'", from),
      "weights are in a run's folder, a folder of checkpoints, one of them, a safetensors file or "
      "an index of several (.index.json), or an .npz file");
}

static gr_status init_from(gr_run *r) {
  const gr_settings *s = &r->me.spec->set;
  const char **path = GR_NEW(r->me.arena, const char *, s->n_init_from + 1);
  for (int i = 0; i < s->n_init_from; i++) GR_TRY(choose_weights(r, &s->init_from[i], &path[i]));
  return s->n_init_from ? gr_run_init_from(r, path) : GR_OK;
}

void gr_run_list_pieces(gr_run *r) {
  const gr_plan *p = r->me.spec->plan;
  r->pieces = GR_NEW(r->me.arena, gr_tensor_slice, p->n_states + 1);
  for (uint32_t i = 0; i < p->n_states; i++)
    if (lasts(&p->states[i]))
      r->pieces[r->n_pieces++] = gr_run_tensor_slice(r, &p->states[i], r->me.rank);
}

// The bytes that the program draws at random, which takes nearly all of its time.
static double drawn_bytes(const gr_graph *g) {
  double bytes = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op->random) bytes += (double)gr_type_bytes(&gr_at(g, g->nodes[i].out)->type);
  return bytes;
}

// From a checkpoint; path NULL: to their initial values.
static gr_status set_states(gr_run *r, const char *path) {
  const gr_program *init = gr_plan_find(r->me.spec->plan, "init", "");
  gr_work work;
  double all = drawn_bytes(init->frame.g);
  if (path) all = 0;
  for (int i = 0; path && i < r->n_pieces; i++) all += (double)gr_tensor_slice_bytes(&r->pieces[i]);
  gr_work_begin(&work, gr_run_work_shown(&r->me),
                path ? "reading the checkpoint" : "drawing initial weights", all);
  gr_status s = path ? restore(r, path) : gr_exec_run(r->me.exec, init);
  gr_work_end(&work);
  return s;
}

gr_status gr_run_open_state(gr_run *r) {
  const gr_plan *p = r->me.spec->plan;
  bool dry = gr_run_is_dry(&r->me);
  gr_run_list_pieces(r);
  GR_TRY(gr_run_open_full(r));
  list_saved(r);
  if (!dry) GR_TRY(open_saver(r, r->ckpt_dir));
  if (r->start && r->me.rank == 0 && !dry)
    gr_run_log_config_changes(&r->me, r->outputs.dir, r->start);
  GR_TRY(set_states(r, r->start));
  GR_TRY(gr_run_load_tables(&r->me));
  if (r->start) return GR_OK;
  gr_work work;
  gr_work_begin(&work, gr_run_work_shown(&r->me), "reading weights", 0);
  gr_status s = init_from(r);
  gr_work_end(&work);
  GR_TRY(s);
  return has_emas(r) ? gr_exec_run(r->me.exec, gr_plan_find(p, "ema", "")) : GR_OK;
}
