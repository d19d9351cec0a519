// test_schedules.c - the scripts in hooks/ that PyTorch or Transformers has a scheduler of, against
// its rates (tests/golden/schedules.py).
#include "tests/runtime/hooks/script.h"

enum { MAX_PARAMS = 16, MAX_RATES = 512 };

typedef struct schedule {
  char script[64];
  gr_param params[MAX_PARAMS];
  int n_params;
  bool per_epoch;
  gr_hook_context c;
  double rates[MAX_RATES], momentum[MAX_RATES], metric[MAX_RATES];
  int n, n_momentum, n_metric;
} schedule;

static const char *golden;
static int compared;

// ---- Reading a case ----------------------------------------------------------------------------

static void read_param(schedule *s, const char *key, const char *value) {
  char *end;
  gr_param *p = &s->params[s->n_params++];
  *p = (gr_param){.key = gr_arena_strdup(script_arena, key), .kind = GR_PARAM_INT};
  p->i = strtoll(value, &end, 10);
  if (!*end) return;
  p->kind = GR_PARAM_FLOAT, p->f = strtod(value, &end);
  if (!*end) return;
  if (!strcmp(value, "true")) {
    p->kind = GR_PARAM_BOOL, p->i = 1;
    return;
  }
  p->kind = GR_PARAM_TEXT, p->text = gr_arena_strdup(script_arena, value);
  s->per_epoch |= !strcmp(key, "per") && !strcmp(value, "epoch");
}

static void read_run(schedule *s, const char *key, const char *value) {
  if (!strcmp(key, "base_lr"))
    s->c.lr = s->c.base_lr = strtod(value, NULL);
  else if (!strcmp(key, "max_steps"))
    s->c.max_steps = strtoll(value, NULL, 10);
  else if (!strcmp(key, "max_epochs"))
    s->c.max_epochs = strtoll(value, NULL, 10);
  else if (!strcmp(key, "steps_per_epoch"))
    s->c.steps_per_epoch = strtoll(value, NULL, 10);
  else
    CHECK(0, "a case sets '%s'", key);
}

static int read_numbers(const char *cursor, double *out) {
  char *end;
  int n = 0;
  for (; n < MAX_RATES; n++, cursor = end) {
    out[n] = strtod(cursor, &end);
    if (end == cursor) break;
  }
  return n;
}

static bool read_case(FILE *f, schedule *s) {
  static char line[1 << 16], key[64], value[64];
  *s = (schedule){.c = script_context(0)};
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "param %63s %63s", key, value) == 2) read_param(s, key, value);
    if (sscanf(line, "run %63s %63s", key, value) == 2) read_run(s, key, value);
    if (!strncmp(line, "lr ", 3)) s->n = read_numbers(line + 3, s->rates);
    if (!strncmp(line, "momentum ", 9)) s->n_momentum = read_numbers(line + 9, s->momentum);
    if (!strncmp(line, "metric ", 7)) s->n_metric = read_numbers(line + 7, s->metric);
    sscanf(line, "case %63s", s->script);
    if (!strcmp(line, "end\n")) return true;
  }
  return false;
}

// ---- Comparing ---------------------------------------------------------------------------------

static bool near(double a, double b, double scale) {
  return fabs(a - b) <= 1e-12 * scale + 1e-9 * fabs(b);
}

static gr_hooks *open_schedule(const schedule *s) {
  static const gr_adjustable momenta[] = {
      {.key = "momentum", .initial = 0.9, .highest = 1},
      {.key = "momentum", .group = "head.*", .initial = 0.9, .highest = 1}};
  script_adjust = momenta, script_n_adjust = s->n_momentum ? 2 : 0;
  const char *path = gr_arena_printf(script_arena, "%s/%s.lua", HOOKS_DIR, s->script);
  gr_hooks *h;
  MUST(script_open_all(&path, 1, s->params, s->n_params, &h));
  return h;
}

// What the step's update has; each of the adjustable values is a momentum.
static void compare_momentum(const schedule *s, gr_hooks *h, gr_hook_context c, double want) {
  gr_hook_result r;
  MUST(gr_hooks_call(h, GR_HOOK_BEFORE_OPTIMIZER, &c, &r));
  for (int k = 0; k < script_n_adjust; k++)
    CHECK(r.is_set[k] && near(r.set[k], want, 1),
          "%s (case %d), step %d: momentum %.17g, not %.17g", s->script, compared, (int)c.step,
          r.set[k], want);
}

static void evaluate(gr_hooks *h, gr_hook_context c, double value) {
  gr_hook_result r;
  gr_named m = {"loss", value};
  c.metrics = &m, c.n_metrics = 1;
  MUST(gr_hooks_call(h, GR_HOOK_EVAL_END, &c, &r));
}

// All steps of an epoch have its rate.
static void compare(const schedule *s) {
  int64_t each = s->per_epoch ? s->c.steps_per_epoch : 1;
  gr_hooks *h = open_schedule(s);
  for (int64_t step = 0; step < s->n * each; step++) {
    gr_hook_context c = s->c;
    c.epoch = c.steps_per_epoch ? step / c.steps_per_epoch : 0;
    double want = s->rates[step / each], got = shipped_lr(h, c, step);
    CHECK(near(got, want, c.base_lr), "%s (case %d), step %d: %.17g, not %.17g", s->script,
          compared, (int)step, got, want);
    c.step = step;
    if (s->n_momentum) compare_momentum(s, h, c, s->momentum[step]);
    if (s->n_metric) evaluate(h, c, s->metric[step]);
  }
  gr_hooks_close(h);
}

static void rates(void) {
  static schedule s;
  FILE *f = fopen(golden, "r");
  CHECK(f, "no file '%s'", golden);
  for (; f && read_case(f, &s); compared++) {
    CHECK(s.n > 5, "%s (case %d): %d rates", s.script, compared, s.n);
    compare(&s);
  }
  if (f) fclose(f);
  CHECK(compared >= 34, "%d cases", compared);
}

// ---- Mistakes ----------------------------------------------------------------------------------

static void refuses(const char *script, const gr_param *p, int n, const char *why) {
  schedule s = {.n_params = n, .c = script_context(0)};
  snprintf(s.script, sizeof s.script, "%s", script);
  memcpy(s.params, p, sizeof *p * (size_t)n);
  gr_hooks *h = open_schedule(&s);
  gr_hook_result r;
  gr_named m = {"loss", 1};
  s.c.metrics = &m, s.c.n_metrics = 1;
  gr_status e = gr_hooks_call(h, GR_HOOK_LR, &s.c, &r);
  if (!e) e = gr_hooks_call(h, GR_HOOK_BEFORE_OPTIMIZER, &s.c, &r);
  if (!e) e = gr_hooks_call(h, GR_HOOK_EVAL_END, &s.c, &r);
  CHECK(gr_status_code(e) == GR_ERR_HOOK && strstr(gr_status_text(e), why), "%s: %s", script,
        gr_status_text(e));
  gr_status_drop(e);
  gr_hooks_close(h);
}

static void mistakes(void) {
  gr_param none = {"min_lr", GR_PARAM_INT, .i = 0}, per = {"per", GR_PARAM_TEXT, .text = "day"},
           t0 = {"T_0", GR_PARAM_INT, .i = 0},
           strategy = {"anneal_strategy", GR_PARAM_TEXT, .text = "sin"},
           mode = {"plateau_mode", GR_PARAM_TEXT, .text = "least"},
           metric = {"plateau_metric", GR_PARAM_TEXT, .text = "gain"},
           cycle = {"cycle_momentum", GR_PARAM_BOOL, .i = 1};
  gr_param linear = {"schedule", GR_PARAM_TEXT, .text = "linear"},
           day = {"schedule", GR_PARAM_TEXT, .text = "day"};
  refuses("transformers", &day, 1, "there is no schedule 'day'");
  refuses("transformers", &linear, 1, "the run has no end: set training.max_steps");
  refuses("cosine", &none, 1, "set params.total_steps");
  refuses("cosine", &per, 1, "per must be step or epoch, not day");
  refuses("cosine_restarts", &none, 1, "T_0 is not set");
  refuses("cosine_restarts", &per, 1, "per must be step or epoch, not day");
  refuses("one_cycle", &none, 1, "set params.total_steps");
  refuses("one_cycle", &strategy, 1, "anneal_strategy must be cos or linear, not sin");
  refuses("one_cycle", (gr_param[]){cycle, {"total_steps", GR_PARAM_INT, .i = 9}}, 2,
          "'set' needs training.adjustable=true");
  refuses("reduce_on_plateau", &mode, 1, "mode must be min or max");
  refuses("reduce_on_plateau", &metric, 1, "there is no metric 'gain'");
  gr_param factor = {"factor", GR_PARAM_INT, .i = 2}, every = {"decay_steps", GR_PARAM_INT, .i = 0},
           stop = {"mode", GR_PARAM_TEXT, .text = "most"},
           part[] = {{"pct_start", GR_PARAM_FLOAT, .f = 7}, {"total_steps", GR_PARAM_INT, .i = 9}};
  refuses("reduce_on_plateau", &factor, 1, "factor must be below 1, not 2");
  refuses("step_decay", &every, 1, "decay_steps must be above 0, not 0");
  refuses("early_stop", &stop, 1, "mode must be min or max, not most");
  refuses("one_cycle", part, 2, "pct_start must be from 0 to 1, not 7");
  refuses("cosine_restarts", &t0, 1, "T_0 and T_mult must be at least 1");
}

int main(int argc, char **argv) {
  gr_hooks_enter(argc, argv);
  golden = argc > 1 ? argv[1] : "";
  script_begin("schedules");
  int bad = RUN(1, argv, {"rates", rates}, {"mistakes", mistakes});
  script_end();
  return bad;
}
