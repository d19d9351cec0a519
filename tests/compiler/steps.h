// steps.h - a small classifier trained for a few steps: on ranks, which are threads of this
// process, by any strategy, in any number of micro-steps.
#pragma once
#include "compiler/compile.h"

enum { STEPS_NUMBERS = 256, STEPS_RANKS = 8 };

typedef struct way {
  const char *name;
  const char *zero;
  bool weights, scatter;
} way;
enum { STEPS_WAYS = 4 };
extern const way steps_ways[STEPS_WAYS];  // ddp, zero1, zero2, fsdp

typedef struct setup {
  const way *way;
  int batch, ranks, parts;
  const char *params;     // of the model, or NULL
  const char *optimizer;  // NULL: sgd
  const char *tuning;     // its attributes, "momentum=0.9", or NULL: their defaults
  float rate, clip, clip_value;
  int steps;
  bool alike;                // all samples are the same
  bool by_rank;              // the loss is the mean of ranks' means
  int first;                 // sample 0 of the batch is this one
  float bad;                 // what sample 0 holds in step 1, if not 0
  const char *model;         // NULL: the one with the states body and head
  const char *const *names;  // of the states in ran.weights, up to NULL; NULL: body's and head's
  bool by_rank_norm;         // batch norm has the statistics of each rank
  const gr_param_group *groups;
  int n_groups;
  const char *tuning_1d;  // as tuning, for vectors; NULL: the same
  bool has_eval;          // ran.eval_loss
  bool has_ema;           // weights have averages
  double ema_decay;
  int shards;     // virtual shards of a batch; parts is then shards / ranks. 0: none
  size_t joined;  // bytes of a coalesced collective; 0: as usual
} setup;

typedef struct ran {
  float weights[STEPS_NUMBERS];  // after all steps: the states, whole
  int n;
  double loss, accuracy, norm, ok;  // of the last step; ok: of step 1 if something is bad
  double eval_loss;                 // of evaluation after all steps, on the batch of step 0
} ran;

// Plans the training and evaluation of a setup, in the arena.
gr_status steps_plan(gr_arena *, const setup *, gr_plan **out);
// Of another model, in buckets.
gr_status steps_plan_of(gr_arena *, const setup *, const char *model, const gr_bucket *, int n,
                        gr_plan **out);
// Of any model: of its programs those that `only` names, or with NULL all, on 2 ranks with batches
// of 12 in a bucket "all".
gr_status steps_plan_programs(gr_arena *, const char *model, const char *only, gr_options,
                              gr_plan **out);
// Trains it on its ranks, evaluates where it asks for that, and reads the states of rank 0.
gr_status steps_run(const setup *, ran *out);
int steps_rows(const setup *);  // of a rank in a micro-step
