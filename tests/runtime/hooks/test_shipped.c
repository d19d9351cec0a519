// test_shipped.c - the scripts in hooks/: their formulas, composed, and stopping and logging.
#include "tests/runtime/hooks/script.h"

static gr_hooks *ship(const char *const *names, int n, const gr_param *p, int n_p) {
  gr_hooks *h;
  const char *paths[8];
  for (int i = 0; i < n; i++)
    paths[i] = gr_arena_printf(script_arena, "%s/%s.lua", HOOKS_DIR, names[i]);
  MUST(script_open_all(paths, n, p, n_p, &h));
  return h;
}

static gr_hooks *ship_one(const char *name, const gr_param *p, int n) {
  return ship(&name, 1, p, n);
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-15 + 1e-12 * fabs(b); }

static void warmup(void) {
  gr_hooks *h = ship_one("warmup_linear", NULL, 0);
  gr_hook_context c = script_context(0);
  c.lr = 2e-3;
  CHECK(near(shipped_lr(h, c, 0), 2e-6), "step 0: %g", shipped_lr(h, c, 0));
  CHECK(near(shipped_lr(h, c, 499), 1e-3), "step 499: %g", shipped_lr(h, c, 499));
  CHECK(shipped_lr(h, c, 999) == 2e-3 && shipped_lr(h, c, 5000) == 2e-3, "after warm-up");
  gr_hooks_close(h);
  gr_param none = {"warmup_steps", GR_PARAM_INT, .i = 0};
  h = ship_one("warmup_linear", &none, 1);
  CHECK(shipped_lr(h, c, 0) == 2e-3, "none");
  gr_hooks_close(h);
}

static void step_decay(void) {
  gr_param p[] = {{"warmup_steps", GR_PARAM_INT, .i = 1000},
                  {"decay", GR_PARAM_FLOAT, .f = 0.96},
                  {"decay_steps", GR_PARAM_INT, .i = 10000}};
  gr_hook_context c = script_context(0);
  c.lr = 2e-3;
  for (int n = 0; n <= 3; n += 3) {  // the defaults are the same
    gr_hooks *h = ship_one("step_decay", p, n);
    for (int64_t s = 0; s < 60000; s = s * 2 + 1) {
      double want = s < 1000 ? 2e-3 * (double)(s + 1) / 1000
                             : 2e-3 * pow(0.96, floor((double)(s - 1000) / 10000));
      CHECK(near(shipped_lr(h, c, s), want), "step %d: %g, not %g", (int)s, shipped_lr(h, c, s),
            want);
    }
    CHECK(shipped_lr(h, c, 10999) == 2e-3, "before the first fall");
    CHECK(near(shipped_lr(h, c, 11000), 2e-3 * 0.96), "the first fall");
    gr_hooks_close(h);
  }
  gr_param most = {"max_lr", GR_PARAM_FLOAT, .f = 1};
  gr_hooks *h = ship_one("step_decay", &most, 1);
  CHECK(shipped_lr(h, c, 1000) == 1, "max_lr");
  gr_hooks_close(h);
}

static void scale(void) {
  gr_hook_context c = script_context(0);
  gr_param p[] = {{"scale", GR_PARAM_TEXT, .text = "linear"}, {"base", GR_PARAM_INT, .i = 2}};
  static const struct {
    const char *scale;
    int n;
    double want;
  } cases[] = {{"linear", 1, 8}, {"sqrt", 1, 2.8284271247461903}, {"none", 1, 1}, {"linear", 2, 4}};
  c.world_size = 8;
  for (int i = 0; i < 4; i++) {
    p[0].text = cases[i].scale;
    gr_hooks *h = ship_one("scale_lr", p, cases[i].n);
    CHECK(near(shipped_lr(h, c, 0), cases[i].want), "%s: %g", cases[i].scale, shipped_lr(h, c, 0));
    gr_hooks_close(h);
  }
  p[0].text = "cubic";
  gr_hooks *h = ship_one("scale_lr", p, 1);
  gr_hook_result r;
  gr_status e = gr_hooks_call(h, GR_HOOK_LR, &c, &r);
  CHECK(gr_status_code(e) == GR_ERR_HOOK && strstr(gr_status_text(e), "not cubic"), "%s",
        gr_status_text(e));
  CHECK(gr_status_loc(e).line == 18 && strstr(gr_status_loc(e).file, "scale_lr.lua"), "%s:%d",
        gr_status_loc(e).file, gr_status_loc(e).line);
  gr_status_drop(e);
  gr_hooks_close(h);
}

static void cosine(void) {
  gr_param p[] = {{"min_lr", GR_PARAM_FLOAT, .f = 0.1}, {"warmup_steps", GR_PARAM_INT, .i = 10}};
  gr_hook_context c = script_context(0);
  c.max_epochs = 11, c.steps_per_epoch = 10;
  gr_hooks *h = ship_one("cosine", p, 2);
  CHECK(near(shipped_lr(h, c, 0), 0.1) && near(shipped_lr(h, c, 9), 1), "warm-up");
  CHECK(near(shipped_lr(h, c, 10), 1) && near(shipped_lr(h, c, 60), 0.55), "%g",
        shipped_lr(h, c, 60));
  CHECK(near(shipped_lr(h, c, 110), 0.1) && near(shipped_lr(h, c, 500), 0.1), "the end");
  gr_hooks_close(h);
}

static void composed(void) {
  static const char *const names[] = {"scale_lr", "warmup_linear"};
  gr_hook_context c = script_context(0);
  c.world_size = 4, c.lr = 1e-3;
  gr_hooks *h = ship(names, 2, NULL, 0);
  CHECK(near(shipped_lr(h, c, 0), 4e-6) && near(shipped_lr(h, c, 2000), 4e-3), "%g",
        shipped_lr(h, c, 0));
  gr_hooks_close(h);
}

// Where the run stops when the metric is each of these in turn; -1: nowhere.
static int stops_at(const gr_param *p, int n, const double *values, int count) {
  gr_hooks *h = ship_one("early_stop", p, n);
  int stopped = -1;
  for (int i = 0; i < count && stopped < 0; i++) {
    gr_hook_result r;
    gr_named m = {"cer", values[i]};
    gr_hook_context c = script_context(i);
    c.metrics = &m, c.n_metrics = 1;
    MUST(gr_hooks_call(h, GR_HOOK_EVAL_END, &c, &r));
    if (r.stop) stopped = i;
    CHECK(!r.stop || strstr(r.reason, "cer has not improved on"), "%s", r.reason);
  }
  gr_hooks_close(h);
  return stopped;
}

static void early_stop(void) {
  gr_param p[] = {{"metric", GR_PARAM_TEXT, .text = "cer"},
                  {"patience", GR_PARAM_INT, .i = 2},
                  {"mode", GR_PARAM_TEXT, .text = "max"},
                  {"min_delta", GR_PARAM_FLOAT, .f = 0.1}};
  double falls[] = {0.9, 0.8, 0.8, 0.7, 0.71, 0.72, 0.6}, rises[] = {0.1, 0.3, 0.35, 0.39, 0.9};
  double gone[] = {(double)NAN, 0.5, 0.6, 0.4};
  CHECK(stops_at(p, 2, falls, 7) == 5, "min: %d", stops_at(p, 2, falls, 7));
  CHECK(stops_at(p, 4, rises, 5) == 3, "max: %d", stops_at(p, 4, rises, 5));
  CHECK(stops_at(p, 2, gone, 4) == -1, "a NaN is no best: %d", stops_at(p, 2, gone, 4));
  p[0].text = "wer";
  gr_hooks *h = ship_one("early_stop", p, 1);
  gr_hook_result r;
  gr_named m[] = {{"loss", 1}, {"cer", 1}};
  gr_hook_context c = script_context(0);
  c.metrics = m, c.n_metrics = 2;
  gr_status e = gr_hooks_call(h, GR_HOOK_EVAL_END, &c, &r);
  CHECK(e && strstr(gr_status_text(e), "no metric 'wer'; there are: cer, loss"), "%s",
        gr_status_text(e));
  gr_status_drop(e);
  gr_hooks_close(h);
}

// A loss that falls around the rate 1e-3 and grows beyond 0.1: the run ends there.
static double loss_at(double lr) {
  return 1 - 0.5 / (1 + pow(lr / 1e-3, -2)) + (lr > 0.1 ? 1000 * lr * lr : 0);
}

static void lr_find(void) {
  gr_param p[] = {{"find_steps", GR_PARAM_INT, .i = 200}, {"start_lr", GR_PARAM_FLOAT, .f = 1e-6}};
  gr_hooks *h = ship_one("lr_find", p, 2);
  gr_hook_result r = {0};
  int steps = 0;
  double lr = 0, rate = 0;
  for (; steps < 200 && !r.stop; steps++) {
    gr_hook_context c = script_context(steps);
    c.lr = c.base_lr = 0.5, lr = c.lr = shipped_lr(h, c, steps);
    CHECK(near(lr, 1e-6 * pow(1e6, steps / 199.0)), "step %d: %g", steps, lr);
    c.loss = loss_at(lr), c.has_loss = true, c.step = steps;
    MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  }
  CHECK(steps > 150 && steps < 200 && lr > 0.1, "ends after %d steps, at %g", steps, lr);
  CHECK(r.stop && sscanf(strstr(r.reason, "rate of"), "rate of %lf", &rate) == 1, "%s", r.reason);
  CHECK(rate > 1e-3 && rate < 0.1, "suggests %g", rate);
  gr_hook_context c = script_context(0);
  c.max_steps = 13;
  gr_status s = gr_hooks_call(h, GR_HOOK_START, &c, &r);
  CHECK(s && strstr(gr_status_text(s), "no rate is found in 12 steps"), "a run of 13 steps");
  gr_status_drop(s);
  // The rates of a short run are those of all its steps but one, before which it ends.
  c.max_steps = 101, c.has_loss = true, c.step = 99, c.loss = 0.5;
  CHECK(near(shipped_lr(h, c, 99), 1), "the last rate: %g", shipped_lr(h, c, 99));
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  CHECK(r.stop, "it ends before the last step");
  gr_hooks_close(h);
}

static void csv_steps(gr_hooks *h, int first, int end) {
  gr_hook_result r;
  gr_hook_context c = script_context(first);
  MUST(gr_hooks_call(h, GR_HOOK_START, &c, &r));
  for (int s = first; s < end; s++) {
    c = script_context(s);
    c.loss = 0.5 * s, c.has_loss = true;
    MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  }
}

// Killed after step 4, resumed from a checkpoint at step 3: the file is that of one whole run.
static void log_csv(void) {
  gr_arena *a = gr_arena_create();
  char *state, path[300];
  size_t len;
  gr_hooks *h = ship_one("log_csv", NULL, 0);
  snprintf(path, sizeof path, "%s/log.csv", script_dir);
  scratch_write(path, "of an older run\n", 16);
  csv_steps(h, 0, 3);
  MUST(gr_hooks_save(h, a, &state));
  csv_steps(h, 3, 5);
  gr_hooks_close(h);
  h = ship_one("log_csv", NULL, 0);
  MUST(gr_hooks_restore(h, state));
  csv_steps(h, 3, 5);
  gr_hooks_close(h);
  char *text = scratch_read(path, &len);
  CHECK(!strcmp(text, "step,epoch,loss,lr\n0,0,0,1\n1,0,0.5,1\n2,0,1,1\n3,0,1.5,1\n4,0,2,1\n"),
        "%s", text);
  free(text);
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  gr_hooks_enter(argc, argv);
  script_begin("shipped");
  int bad = RUN(argc, argv, {"warmup", warmup}, {"step_decay", step_decay}, {"scale", scale},
                {"cosine", cosine}, {"composed", composed}, {"early_stop", early_stop},
                {"log_csv", log_csv}, {"lr_find", lr_find});
  script_end();
  return bad;
}
