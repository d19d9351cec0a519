// whole_run.h - the report of a small run, for tests of what it leaves.
#pragma once
#include <math.h>
#include <string.h>
#include "base/arena.h"
#include "runtime/report/parts.h"
#include "tests/runtime/checkpoint/scratch.h"

// A file of a folder, as scratch_read.
static inline char *read_file(const char *dir, const char *name, size_t *len) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return scratch_read(path, len);
}

// Opens a report of 6 steps at a step and an epoch; epoch_open: that epoch is still to be reported.
static inline gr_report *start(const char *dir, int64_t step, int64_t epoch, bool epoch_open) {
  gr_report_spec spec = {.dir = dir,
                         .ranks = 2,
                         .resume_step = step,
                         .resume_epoch = epoch,
                         .epoch_open = epoch_open,
                         .eval_open = epoch_open,
                         .total_steps = 6,
                         .quiet = true};
  gr_report *r;
  MUST(gr_report_open(&spec, &r));
  return r;
}

// An evaluation and an epoch's row after a number of steps.
static inline void end_epoch(gr_report *r, int64_t done) {
  gr_named cer = {"cer", 0.75}, both[] = {{"cer", 0.5}, {"val", 0.75}};
  MUST(gr_report_eval(r, done, done / 3 - 1, &cer, 1, &(gr_tables){0}));
  MUST(gr_report_epoch(r, &(gr_report_epoch_row){.epoch = done / 3 - 1,
                                                 .steps = done,
                                                 .lr = 2e-3,
                                                 .train_loss = 0.1,
                                                 .seconds = 1,
                                                 .samples = 96,
                                                 .metrics = both,
                                                 .n_metrics = 2,
                                                 .n_train = 1}));
}

// Steps [from, to), three an epoch.
static inline void steps(gr_report *r, int64_t begin, int64_t end) {
  for (int64_t s = begin; s < end; s++) {
    gr_named more = {"gap", 0.1 * (double)s};
    gr_report_row row = {.step = s,
                         .epoch = s / 3,
                         .loss = 1.0 / (double)(s + 3),
                         .lr = 2e-3,
                         .grad_norm = 0.5,
                         .samples = 32,
                         .seconds = 0.25,
                         .more = &more,
                         .n_more = 1};
    MUST(gr_report_step(r, &row));
    if (s % 3 == 2) end_epoch(r, s + 1);
  }
}

// Writes the files of a run of 6 steps that ended well.
static inline void whole_run(const char *dir) {
  gr_report *r = start(dir, 0, 0, false);
  steps(r, 0, 6);
  gr_named m[] = {{"cer", 0.75}, {"wer", (double)NAN}};
  gr_results x = {.model = "lmu \"asr\"",
                  .ended = "done",
                  .backend = "mpi",
                  .device = "cpu",
                  .ranks = 2,
                  .parameters = 7157792,
                  .trainable = 7157792,
                  .epochs = 2,
                  .steps = 6,
                  .final_loss = 0.125,
                  .best_metric = "cer",
                  .best_value = 0.75,
                  .best_epoch = 1,
                  .best_checkpoint = "checkpoints/step-00000006",
                  .config_hash = "0123",
                  .exit_code = 3,
                  .metrics = m,
                  .n_metrics = 2,
                  .total_seconds = 90,
                  .config = "{\"a\": 1}"};
  MUST(gr_report_finish(r, &x));
  gr_report_close(r);
}
