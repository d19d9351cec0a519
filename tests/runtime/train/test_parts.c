// test_parts.c - the parts of a run by themselves: what each counts and keeps, and the order of the
// scalars that all of them have in a checkpoint, which must not change.
#include <math.h>
#include <string.h>
#include "runtime/train/control/control.h"
#include "runtime/train/evaluation/evaluation.h"
#include "runtime/train/outputs/outputs.h"
#include "runtime/train/saving/saving.h"
#include "tests/check.h"

// An epoch of four steps.
static gr_run_spec spec = {.loop = {.program = 0, .times = 4, .runs = 4, .steps = 4},
                           .set.saving = {.metric = "cer", .keep_best = 2, .every_steps = 3}};

static void step(gr_progress *p, bool ok) {
  gr_step_results now = {.metrics = {.items = {{"loss", 6, 2}}, .n = 1}, .loss_scale = 1, .ok = ok};
  gr_progress_add(p, &now.metrics, NULL);
  gr_progress_measure(p, &now, "loss", 1, 8);
  gr_progress_advance(p, true);
}

static void steps(void) {
  spec.set.loop.max_epochs = 3, spec.set.loop.max_steps = 6;
  gr_progress p = gr_progress_begin(&spec);
  CHECK(p.total_steps == 6 && !gr_run_epoch_open(&p) && isnan(p.loss), "at the beginning");
  for (int i = 0; i < 4; i++) step(&p, true);
  CHECK(gr_run_epoch_open(&p) && gr_run_last_epoch(&p) == 0 && p.loss == 3, "after four steps");
  CHECK(p.epoch_train.items[0].sum == 24, "the sums of the epoch: %g", p.epoch_train.items[0].sum);
  gr_progress_end_epoch(&p);
  CHECK(p.epoch == 1 && !p.batch && !p.epoch_train.n, "after the epoch");
  CHECK(gr_run_last_epoch(&p) == 0, "the last step was one of epoch 0");
  CHECK(!gr_run_is_done(&p, &spec.set.loop), "four steps are not six");
  step(&p, true), step(&p, true);
  CHECK(gr_run_is_done(&p, &spec.set.loop), "six steps");
  gr_progress other = gr_progress_at(&p, 4, 1, 0);
  CHECK(!gr_run_is_done(&other, &spec.set.loop) && p.step == 6, "another place changes none");
}

// Sums over virtual shards are those of floats, however many metrics there are beside each other.
static void metrics_as_a_tree(void) {
  static const float x[4] = {2.1278164f, 1.8756345f, 2.4038944f, 2.0168204f};
  volatile float left = x[0] + x[1], right = x[2] + x[3], want = left + right;
  for (int n = 1; n <= 9; n++) {
    gr_metrics levels[GR_SHARD_LEVELS];
    for (int k = 0; k < 4; k++) {
      gr_metrics now = {.n = n};
      for (int i = 0; i < n; i++) now.items[i] = (gr_metric){"loss", (double)x[k], (double)x[k]};
      gr_metrics_add_tree(levels, k, &now);
    }
    for (int i = 0; i < n; i++)
      CHECK(levels[2].items[i].sum == (double)want && levels[2].items[i].weight == (double)want,
            "%d of %d metrics: %.17g, not %.17g", i, n, levels[2].items[i].sum, (double)want);
  }
}

static void skipped_steps(void) {
  spec.set.loop.max_epochs = 100, spec.set.loop.max_steps = 0;
  gr_progress p = gr_progress_begin(&spec);
  int n = 0;
  for (; n < 100 && !gr_progress_is_lost(&p); n++) step(&p, false);
  CHECK(n == 10 && p.skipped == 10 && p.all_skipped == 10, "lost from the beginning: %d", n);
  p = gr_progress_begin(&spec);
  for (int i = 0; i < 10; i++) step(&p, true);
  for (n = 0; n < 100 && !gr_progress_is_lost(&p); n++) step(&p, false);
  CHECK(n == 51, "lost after ten good steps: %d", n);
  step(&p, true);
  CHECK(!p.skipped && !p.failing && p.all_skipped == 51 && !gr_progress_is_lost(&p), "a good step");
}

// A batch without a sample of any weight is passed over: it neither ends a run nor delays what is
// due, but a run that has nothing else has learned nothing.
static void empty_steps(void) {
  gr_progress p = gr_progress_begin(&spec);
  gr_step_results now = {.metrics = {.items = {{"loss", 0, 0}}, .n = 1}, .loss_scale = 1};
  gr_progress_measure(&p, &now, "loss", 1, 8), gr_progress_advance(&p, true);
  CHECK(p.failing == 1 && !gr_progress_is_sound(&p), "nothing was learned yet");
  step(&p, true);
  for (int i = 0; i < 60; i++)
    gr_progress_measure(&p, &now, "loss", 1, 8), gr_progress_advance(&p, true);
  CHECK(!p.skipped && p.all_skipped == 61 && gr_progress_is_sound(&p), "%d skipped",
        (int)p.skipped);
  now.metrics.items[0].sum = (double)NAN;
  gr_progress_measure(&p, &now, "loss", 1, 8);
  CHECK(p.failing == 1, "a sample of weight 0 that is NaN is a failure");
}

// A step that overflows while the loss scale of fp16 can shrink speaks against the scale alone, if
// its loss is finite.
static void sound_steps(void) {
  gr_progress p = gr_progress_begin(&spec);
  gr_step_results now = {.metrics = {.items = {{"loss", 6, 2}}, .n = 1}, .loss_scale = 4};
  gr_progress_measure(&p, &now, "loss", 1, 8);
  CHECK(p.skipped == 1 && !p.failing && gr_progress_is_sound(&p), "the scale is too large");
  now.loss_scale = 1;
  gr_progress_measure(&p, &now, "loss", 1, 8);
  CHECK(p.failing == 1 && !gr_progress_is_sound(&p), "the scale is the least");
  now.ok = true;
  gr_progress_measure(&p, &now, "loss", 1, 8);
  CHECK(gr_progress_is_sound(&p), "a good step");
  now.ok = false, now.loss_scale = 4, now.metrics.items[0].sum = (double)INFINITY;
  gr_progress_measure(&p, &now, "loss", 1, 8);
  CHECK(!p.failing && !gr_progress_is_sound(&p), "the loss is not finite");
}

static void the_best(void) {
  gr_rank r = {.spec = &spec, .arena = gr_arena_create()};
  const double values[] = {0.5, 0.7, 0.4, 0.4, (double)NAN, 0.45};
  const bool among[] = {true, true, true, true, false, false};
  gr_progress p = gr_progress_begin(&spec);
  gr_evaluation e = {.eval_step = -1, .pass_step = -1, .best = (double)NAN};
  for (int i = 0; i < 6; i++) {
    step(&p, true);
    gr_metrics m = {.items = {{"cer", values[i], 1}}, .n = 1};
    gr_evaluation_set(&e, &m, (gr_tables){0});
    CHECK(!gr_evaluation_is_of(&e, &p), "step %d is not evaluated yet", i + 1);
    gr_evaluation_count(&e, &r, &p);
    CHECK(gr_evaluation_is_among_best(&e, &p) == among[i], "evaluation %d", i);
  }
  CHECK(e.best == 0.4 && e.best_step == 3, "the best, and the earlier of two: %g", e.best);
  CHECK(e.n_bests == 2 && e.bests[0] == 0.4 && e.bests[1] == 0.4, "the best two");
  step(&p, false);
  gr_metrics m = {.items = {{"cer", 0.1, 1}}, .n = 1};
  gr_evaluation_set(&e, &m, (gr_tables){0});
  gr_evaluation_count(&e, &r, &p);
  CHECK(e.best == 0.4, "a step that was skipped is never the best");
  gr_arena_destroy(r.arena);
}

static void when_to_save(void) {
  gr_rank r = {.spec = &spec};
  gr_progress p = gr_progress_begin(&spec);
  gr_saving s = gr_saving_begin();
  s.states.rank = &r;
  CHECK(!gr_run_save_due(&s, &p, false) && gr_run_save_due(&s, &p, true), "before the first step");
  step(&p, true), step(&p, true);
  CHECK(!gr_run_save_due(&s, &p, false), "after two steps");
  step(&p, false);
  CHECK(gr_run_save_due(&s, &p, false), "after three");
  CHECK(gr_saving_owe(&s) && !gr_saving_owe(&s), "it is owed once");
  step(&p, true);
  CHECK(gr_run_save_due(&s, &p, false), "what is owed is due");
  gr_saving_pay(&s, &p);
  CHECK(!gr_run_save_due(&s, &p, false) && !gr_saving_has(&s, &p),
        "and no more when it is written");
}

static void requests(void) {
  gr_control c = gr_control_begin(&spec);
  gr_hook_result one = {.save = true, .n_logs = 1, .logs = {{"a", 1}}};
  gr_hook_result two = {.stop = true, .evaluate = true, .n_logs = 2, .logs = {{"a", 2}, {"b", 3}}};
  gr_hook_result three = {.stop = true};
  strcpy(two.reason, "two"), strcpy(three.reason, "three");
  two.is_set[1] = true, two.set[1] = 0.25;
  gr_control_ask(&c, &one, 2), gr_control_ask(&c, &two, 2), gr_control_ask(&c, &three, 2);
  CHECK(!strcmp(c.asked.reason, "two"), "the first reason stands: %s", c.asked.reason);
  CHECK(c.asked.n_logs == 2 && c.asked.logs[0].value == 2, "the last value of a name");
  CHECK(c.is_set[1] && c.values.set[1] == 0.25 && !c.is_set[0], "what is set");
  gr_step_controls k = gr_control_wanted(&c);
  CHECK(k.stop && k.save && k.evaluate && !k.failed, "what is wanted");
  gr_control_agreed(&c, &(gr_step_controls){.lr = 0.5, .evaluate = true});
  CHECK(!c.asked.save && c.asked.evaluate && c.asked.stop && c.values.lr == 0.5, "agreed");
  gr_control_evaluated(&c);
  CHECK(!c.asked.evaluate, "evaluated");
  gr_run_set_failure(&c, gr_fail(GR_ERR_IO, GR_NOWHERE, "one"));
  CHECK(gr_control_interrupted(&c).failed, "a failure interrupts");
  gr_status s = gr_control_take_failure(&c);
  CHECK(gr_status_code(s) == GR_ERR_IO && !c.failure, "and is taken once");
  gr_status_drop(s);
  CHECK(gr_control_except(&c) && !gr_control_except(&c), "on_exception is called once");
}

// Old checkpoints are read by these names; new ones have them in this order.
static void scalars(void) {
  static const char *const names[] = {"run.epoch",
                                      "run.batch",
                                      "run.total_steps",
                                      "run.best",
                                      "run.best_step",
                                      "run.best_epoch",
                                      "run.eval_step",
                                      "run.loss",
                                      "run.lr",
                                      "run.grad_norm",
                                      "run.has_grad_norm",
                                      "run.lr_step",
                                      "run.optimizer_step",
                                      "run.epoch_begun",
                                      "run.eval_begun",
                                      "run.skipped",
                                      "run.all_skipped",
                                      "run.failing",
                                      "run.finite",
                                      "run.owed",
                                      "run.bests",
                                      "cer",
                                      "epoch.loss.sum",
                                      "epoch.loss.weight",
                                      "step.loss",
                                      "run.stop",
                                      "log.a",
                                      "run.hooks",
                                      "run.passing"};
  enum { N = sizeof names / sizeof *names };
  gr_arena *a = gr_arena_create();
  gr_rank r = {.spec = &spec, .arena = a};
  gr_progress p = gr_progress_begin(&spec);
  gr_evaluation e = {.validation = {.items = {{"cer", 1, 2}}, .n = 1}};
  gr_saving s = gr_saving_begin();
  gr_control c = gr_control_begin(&spec);
  gr_outputs o = {0};
  gr_hook_result asked = {.stop = true, .n_logs = 1, .logs = {{"a", 1}}};
  step(&p, true);
  gr_control_ask(&c, &asked, 0);
  gr_scalar_table t = {.arena = a};
  gr_outputs_scalars(&o, &t), gr_control_scalars(&c, &t), gr_saving_scalars(&s, &t);
  gr_evaluation_scalars(&e, &t), gr_progress_scalars(&p, &t);
  gr_scalars_out out = {.rank = &r, .arena = a, .step = 1, .hooks = "{}", .exit_checkpoint = true};
  gr_scalar_table_write(&t, &out);
  CHECK(out.n == N, "%d scalars instead of %d", out.n, N);
  for (int i = 0; i < out.n && i < N; i++)
    CHECK(!strcmp(out.items[i].name, names[i]), "scalar %d is %s instead of %s", i,
          out.items[i].name, names[i]);
  for (int i = 1; i < t.n; i++)
    CHECK(t.rows[i - 1].place < t.rows[i].place, "%s has the place of another", t.rows[i].name);
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"steps", steps}, {"metrics_as_a_tree", metrics_as_a_tree},
             {"skipped_steps", skipped_steps}, {"empty_steps", empty_steps},
             {"sound_steps", sound_steps}, {"the_best", the_best}, {"when_to_save", when_to_save},
             {"requests", requests}, {"scalars", scalars});
}
