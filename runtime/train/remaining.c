// remaining.c - what interrupts the steps that are left: evaluations and checkpoints. See run.h and
// runtime/report/eta.h.
#include "runtime/train/batches.h"
#include "runtime/train/run.h"

// How many batches an evaluation of a split has.
static double batches_of(const gr_rank *r, gr_split split) {
  if (!gr_run_can_eval(r, split)) return 0;
  gr_loader_spec spec = gr_run_eval_batches(r, split);
  return r->eval->takes_batch
             ? gr_contract_batches(r->spec->contract, split, spec.batch, spec.of_bucket)
             : 1;
}

// Those at the end of epochs, and one at the end of the run.
static int64_t evaluations_left(const gr_progress *p, int64_t every) {
  int64_t epochs = p->steps_per_epoch ? p->total_steps / p->steps_per_epoch : 0;
  bool whole = every && p->steps_per_epoch && p->total_steps % p->steps_per_epoch == 0;
  int64_t n = every ? epochs / every - p->epoch / every : 0;
  return n + (!whole || epochs % every);
}

gr_eta_rest gr_run_remaining(const gr_run *r) {
  const gr_settings *set = &r->me.spec->set;
  const gr_progress *p = &r->progress;
  int64_t every = set->saving.every_steps, done = p->step + 1;
  gr_eta_rest rest = {0};
  rest.units[GR_ETA_EVALUATION] =
      (double)evaluations_left(p, set->loop.eval_every) * batches_of(&r->me, GR_SPLIT_VALIDATION);
  if (set->loop.final_train_eval)
    rest.units[GR_ETA_EVALUATION] += batches_of(&r->me, GR_SPLIT_TRAIN);
  // A batch of an evaluation is one of a step's micro-batches, and goes forward only: a third.
  bool whole = set->options.sharding.shards_each;
  rest.unit_steps[GR_ETA_EVALUATION] = 1 / (3.0 * (whole ? 1 : set->options.batch.micro_batches));
  rest.units[GR_ETA_CHECKPOINT] = 1 + (double)(every ? p->total_steps / every - done / every : 0);
  return rest;
}

void gr_run_evaluated(gr_run *r, double seconds) {
  double batches = batches_of(&r->me, GR_SPLIT_VALIDATION);
  if (batches > 0) gr_report_interrupted(r->outputs.report, GR_ETA_EVALUATION, seconds, batches);
}
