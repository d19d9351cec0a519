// trials.h - a sweep that searches: what hydra.sweeper says of it, its parameters, and its trials,
// which are recorded in the folder of the sweep.
#pragma once
#include "base/json.h"
#include "compose/hydra/multirun.h"
#include "search/search.h"

// Lines of JSON, one for each trial that has ended, in the order of their numbers: "number",
// "params" (its arguments), "metric", "value", null for one that failed, and with a pruner "rungs",
// its values at those that it has reached.
#define GR_TRIALS_NAME "trials.jsonl"

typedef struct gr_trials {
  gr_arena *arena;
  const gr_sweep_axes *axes;
  const gr_sampler *sampler;
  gr_search search;
  int *axis_of;          // each parameter's
  int n;                 // trials to make
  int64_t n_jobs;        // of hydra.sweeper; 0: not given
  int at_once;           // trial k is proposed from the trials before k - at_once + 1
  const char *metric;    // "min loss": the end that is best, and what is measured
  const char *measured;  // the metric's name
  gr_halving halving;    // min_resource 0: no trial ends before the others
  double **reached;      // of each trial its values at the rungs; NaN: it has not reached it
  int n_rungs;
  const char ***lines;  // of each trial that is proposed: an argument for each axis
  gr_trial *all;        // of these their parameters, and the values of those that have ended
  bool *ended;
  const gr_json **record;  // of an earlier sweep in the folder, by number
  int n_record;
} gr_trials;

// Reads the sampler, its options and the number of trials. conf: the checked configuration of any
// trial, whose checkpoint.metric and checkpoint.mode are the value. GR_ERR_CONFIG with the place of
// what is wrong.
GR_MUST_USE gr_status gr_trials_open(gr_trials *, gr_arena *, const gr_sweep_axes *, gr_conf *conf);
// What of a sweep's arguments is searched, into trials->search.parameters. Part of gr_trials_open.
GR_MUST_USE gr_status gr_trials_space(gr_trials *);

// How many lists of arguments gr_trials_probe has.
int gr_trials_probes(const gr_sweep_axes *);
// Arguments, one for each axis, to check configurations with before any trial: number 0 has every
// parameter's least value or first choice, and the others change one parameter each.
const char **gr_trials_probe(gr_arena *, const gr_sweep_axes *, int number);

// hydra.sweeper.pruner, into trials->halving. Part of gr_trials_open, after the metric is known.
GR_MUST_USE gr_status gr_trials_pruner(gr_trials *, gr_conf *hydra);
// The argument that ends a trial where those that have ended were better; NULL: there is none.
const char *gr_trials_stop_unless(gr_trials *, int number);
// Reads what a trial's run in `dir` has reached at the rungs.
GR_MUST_USE gr_status gr_trials_reach(gr_trials *, const char *dir, int number);
// Adds `, "rungs": [...]` to the record of a trial; without a pruner nothing.
void gr_trials_put_rungs(gr_text *, const gr_trials *, int number);
// Takes the values at rungs of a trial's record.
void gr_trials_take_rungs(gr_trials *, const gr_json *record, int number);

// The arguments of a trial, proposed from the trials that have ended.
const char **gr_trials_propose(gr_trials *, int number);
// How many of the first trials need no other trial's value.
int gr_trials_known(const gr_trials *);

// Reads the record of an earlier sweep in the folder. GR_ERR_USAGE for a line that is none.
GR_MUST_USE gr_status gr_trials_read(gr_trials *, const char *dir);
// Whether the record has a trial, which has been proposed; then it has ended. GR_ERR_USAGE if the
// record has other arguments for it. dir NULL: there is no record.
GR_MUST_USE gr_status gr_trials_recorded(gr_trials *, const char *dir, int number, bool *out);
// Takes the value of a trial, NaN if it failed, and writes the record.
GR_MUST_USE gr_status gr_trials_end(gr_trials *, const char *dir, int number, double value);

void gr_trials_print(const gr_trials *);             // what is searched, before the first trial
void gr_trials_print_importance(const gr_trials *);  // of each parameter, after the last
