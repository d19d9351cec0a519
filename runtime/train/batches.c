// batches.c - see batches.h.
#include "runtime/train/batches.h"

static bool phase_takes_data(const gr_rank *r, const gr_phase *p) {
  bool takes = p->program >= 0 && r->programs[p->program].takes_batch;
  for (int i = 0; i < p->n; i++) takes |= phase_takes_data(r, &p->list[i]);
  return takes;
}

bool gr_run_takes_data(const gr_rank *r) { return phase_takes_data(r, &r->spec->loop); }

gr_loader_spec gr_run_train_batches(const gr_rank *r, const gr_progress *p) {
  const gr_settings *s = &r->spec->set;
  const gr_dataset_options *o = gr_dataset_settings(r->spec->data);
  const gr_sharding_settings *sharding = &s->options.sharding;
  return (gr_loader_spec){.split = GR_SPLIT_TRAIN,
                          .batch = s->options.batch.global,
                          .of_bucket = s->options.batch.global_of,
                          .micro = s->options.batch.micro_batches,
                          .rank = r->share,
                          .ranks = r->shares,
                          .interleaved = sharding->shards_each && sharding->scatter,
                          .seed = (uint64_t)s->loop.seed,
                          .shuffle = true,
                          .augment = true,
                          .epoch = (uint32_t)(r->spec->looped ? p->data_epoch : p->epoch),
                          .first = (uint32_t)(r->spec->looped ? p->data_batch : p->batch),
                          .workers = o->workers,
                          .prefetch = o->prefetch};
}

gr_loader_spec gr_run_eval_batches(const gr_rank *r, gr_split split) {
  const gr_settings *s = &r->spec->set;
  const gr_dataset_options *o = gr_dataset_settings(r->spec->data);
  int each = s->options.sharding.shards_each;  // which the ranks compute together, one by one
  int steps = each ? 1 : s->options.batch.micro_batches;
  return (gr_loader_spec){.split = split,
                          .batch = (s->options.batch.global + steps - 1) / steps,
                          .micro = each,
                          .interleaved = each > 0,
                          .of_bucket = s->options.batch.micro_of,
                          .rank = r->share,
                          .ranks = r->shares,
                          .seed = (uint64_t)s->loop.seed,
                          .epochs = 1,
                          .workers = o->workers,
                          .prefetch = o->prefetch};
}

gr_status gr_run_take_batch(gr_loader *loader, const gr_batch **out) {
  gr_status s = gr_loader_next(loader, out);
  if (gr_status_code(s) != GR_ERR_STOPPED) return s;
  gr_status_drop(s);
  return GR_OK;
}

// ---- The first ones -----------------------------------------------------------------------------

// Whether a checkpoint may be read, and with it what transforms know of all samples. Computing that
// for nothing is the worst that a wrong answer does.
static bool may_resume(const gr_rank *r) {
  const gr_settings *s = &r->spec->set;
  const char *dir = s->outputs.dir ? s->outputs.dir : r->spec->run_dir;
  if (r->spec->kind != GR_RUN_TRAIN || s->saving.resume == gr_resume_text) return true;
  if (s->saving.resume == gr_resume_none || (!s->saving.dir && !dir)) return false;
  return gr_is_dir(s->saving.dir ? s->saving.dir
                                 : gr_arena_printf(r->arena, "%s/checkpoints", dir));
}

static bool evaluates(const gr_rank *r, gr_split split) {
  const gr_weights_spec *w = &r->spec->weights;
  bool wanted = split == GR_SPLIT_VALIDATION;
  if (r->spec->kind == GR_RUN_EVAL) wanted = wanted ? w->validation : w->train;
  return wanted && gr_run_can_eval(r, split) && r->eval->takes_batch;
}

static gr_status try_batches(gr_rank *r, const gr_progress *p) {
  gr_dataset *d = r->spec->data;
  bool fit = !may_resume(r), trains = r->spec->kind == GR_RUN_TRAIN && gr_run_takes_data(r);
  gr_loader_spec spec = gr_run_train_batches(r, p);
  if (trains && gr_dataset_count(d, GR_SPLIT_TRAIN)) GR_TRY(gr_loader_try(d, &spec, fit));
  for (int split = 0; split < 2; split++) {
    spec = gr_run_eval_batches(r, (gr_split)split);
    if (evaluates(r, (gr_split)split)) GR_TRY(gr_loader_try(d, &spec, fit));
  }
  return GR_OK;
}

gr_status gr_run_try_batches(gr_rank *r, const gr_progress *p) {
  gr_work work;
  if (gr_dataset_settings(r->spec->data)->skip_unreadable) return GR_OK;
  gr_work_begin(&work, gr_run_work_shown(r), "making the first batches", 0);
  gr_status s = try_batches(r, p);
  gr_work_end(&work);
  if (gr_status_code(s) == GR_ERR_STOPPED) return s;  // others may still be at theirs
  return gr_comm_all_ok(r->world, s);
}
