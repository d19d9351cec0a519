// open_state.c - sets the states of a run: from a checkpoint, from weights that another run has
// written, or to their initial values. See run.h.
#include "runtime/train/run.h"

static gr_status restore(gr_run *r, const char *path) {
  gr_checkpoint *c;
  gr_status opened = gr_checkpoint_open(path, &c);
  if (opened && gr_is_dir(gr_arena_printf(r->me.arena, "%s/checkpoints", path)))
    return gr_hint(opened, "it is the folder of a run, which output.dir=%s goes on with", path);
  if (opened)
    return gr_hint(opened,
                   "checkpoint.resume is auto, none, or the folder of one step, such as "
                   "outputs/DATE/TIME/checkpoints/step-00001000");
  gr_status s = gr_run_begin_loss_scale(&r->saving.states, c);
  s = s ? s : gr_run_contents_read(r, c);
  if (!s) gr_saving_resumed(&r->saving, gr_arena_strdup(r->me.arena, path), r->progress.step);
  if (!s) gr_run_set_resume_hint(&r->outputs, &r->me, true);
  if (!s && r->me.rank == 0)
    gr_log(GR_INFO, "resumed from %s: step %lld", path, (long long)r->progress.step);
  gr_checkpoint_close(c);
  return s;
}

// The weights in a folder as Hugging Face's libraries write it, by the names of their files; NULL:
// it is none.
static const char *find_in_folder(gr_arena *a, const char *folder) {
  static const char *const names[] = {"model.safetensors.index.json", "model.safetensors",
                                      "pytorch_model.bin", "pytorch_model.bin.index.json"};
  for (size_t i = 0; gr_is_dir(folder) && i < sizeof names / sizeof *names; i++) {
    const char *path = gr_arena_printf(a, "%s/%s", folder, names[i]);
    if (gr_is_file(path)) return i < 2 ? path : gr_arena_printf(a, "%s/%s", folder, names[2]);
  }
  return NULL;
}

// A folder of checkpoints means its newest checkpoint, and a run's folder means its checkpoints.
static gr_status choose_weights(gr_rank *r, const gr_init_entry *entry, const char **out) {
  *out = entry->path;
  if (entry->given) return GR_OK;
  const char *folder = entry->path, *inner = gr_arena_printf(r->arena, "%s/checkpoints", folder);
  bool many =
      gr_is_dir(folder) && !gr_is_file(gr_arena_printf(r->arena, "%s/manifest.json", folder));
  if (many && gr_is_dir(inner)) folder = inner;
  const char *path;
  gr_resume what = many ? gr_resume_auto : gr_resume_text;
  GR_TRY(gr_note(gr_run_choose_checkpoint(r, what, folder, folder, &path), entry->loc,
                 "asked for by model.init_from"));
  *out = *path ? path : find_in_folder(r->arena, folder);
  if (*out) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CHECKPOINT, entry->loc, "there is no checkpoint in the folder '%s'", folder),
      "weights are in a run's folder, a folder of checkpoints, one of them, a folder of Hugging "
      "Face (model.safetensors), a safetensors file or an index of several (.index.json), or an "
      ".npz file");
}

static gr_status load_entries(gr_rank *r, const gr_init_entry *entries, int n, bool teacher) {
  const char **path = GR_NEW(r->arena, const char *, n + 1);
  for (int i = 0; i < n; i++) GR_TRY(choose_weights(r, &entries[i], &path[i]));
  return n ? gr_run_init_from(r, entries, n, teacher, path) : GR_OK;
}

static gr_status init_from(gr_rank *r) {
  const gr_model_settings *m = &r->spec->set.model;
  GR_TRY(load_entries(r, m->init_from, m->n_init_from, false));
  return load_entries(r, m->teacher_init_from, m->n_teacher_init_from, true);
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
  const gr_states *states = &r->saving.states;
  gr_work work;
  double all = drawn_bytes(init->frame.g);
  if (path) all = 0;
  for (int i = 0; path && i < states->n_pieces; i++)
    all += (double)gr_tensor_slice_bytes(&states->pieces[i]);
  gr_work_begin(&work, gr_run_work_shown(&r->me),
                path ? "reading the checkpoint" : "drawing initial weights", all);
  gr_status s = path ? restore(r, path) : gr_exec_run(r->me.exec, init);
  gr_work_end(&work);
  return s;
}

gr_status gr_run_open_state(gr_run *r) {
  bool dry = !gr_run_writes(&r->me);  // no files are written
  gr_saving *s = &r->saving;
  GR_TRY(gr_states_open(&s->states, &r->me));
  if (!dry)
    GR_TRY(gr_saving_open(s, r->outputs.dir, gr_run_patience(&r->me),
                          gr_run_metric_is_of_pass(r->me.spec)));
  if (s->start && r->me.rank == 0 && !dry)
    gr_run_log_config_changes(&r->me, r->outputs.dir, s->start);
  GR_TRY(set_states(r, s->start));
  GR_TRY(gr_run_load_tables(&r->me));
  if (s->start) return GR_OK;
  gr_work work;
  gr_work_begin(&work, gr_run_work_shown(&r->me), "reading weights", 0);
  gr_status weights = init_from(&r->me);
  gr_work_end(&work);
  GR_TRY(weights);
  const gr_program *ema = gr_plan_find(r->me.spec->plan, "ema", "");
  return ema ? gr_exec_run(r->me.exec, ema) : GR_OK;
}
