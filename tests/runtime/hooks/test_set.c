// test_set.c - values that scripts may set: how they are given, what scripts see, and mistakes.
#include "tests/runtime/hooks/script.h"

static const gr_adjustable table[] = {
    {.key = "weight_decay", .initial = 0.01, .highest = INFINITY},
    {.key = "beta1", .initial = 0.9, .highest = 1, .below_highest = true},
    {.key = "momentum", .highest = 1, .fixed = "there is no state for it"},
    {.key = "clip", .initial = 1, .highest = INFINITY},
    {.key = "lr_factor", .group = "head.*", .initial = 0.1, .highest = INFINITY},
    {.key = "clip", .group = "head.*", .initial = 2, .highest = INFINITY},
};
enum { N = sizeof table / sizeof *table };

static gr_status call_with(const char *text, int n, const double *set, gr_hook_result *r) {
  gr_hooks *h;
  gr_hook_context c = script_context(3);
  c.set = set;
  script_adjust = table, script_n_adjust = n;
  GR_TRY(script_open(text, &h));
  gr_status e = gr_hooks_call(h, GR_HOOK_STEP_END, &c, r);
  gr_hooks_close(h);
  return e;
}

// What is set comes out at its place in the table, and nothing else does.
static void sets(void) {
  double now[N] = {0.5, 0.25, 0, 3, 4, 5};
  gr_hook_result r;
  MUST(
      call_with("return { on_step_end = function(ctx)\n"
                "  local head = ctx.set.groups['head.*']\n"
                "  return { set = { weight_decay = ctx.set.weight_decay * 2, beta1 = 0,\n"
                "    groups = { ['head.*'] = { clip = head.clip + head.lr_factor } } } }\n"
                "end }",
                N, now, &r));
  static const double want[N] = {1, 0, NAN, NAN, NAN, 9};
  for (int i = 0; i < N; i++)
    CHECK(r.is_set[i] == !isnan(want[i]) && (isnan(want[i]) || r.set[i] == want[i]), "%d: %d %g", i,
          r.is_set[i], r.set[i]);
}

// Without values given, those of the configuration; the last script's word counts.
static void reads(void) {
  gr_hook_result r;
  MUST(
      call_with("return { on_step_end = function(ctx)\n"
                "  assert(ctx.set.weight_decay == 0.01 and ctx.set.nothing == nil)\n"
                "  local n = 0\n"
                "  for k, v in pairs(ctx.set) do n = n + 1 end\n"
                "  return { log = { n = n } }\n"
                "end }",
                N, NULL, &r));
  CHECK(r.logs[0].value == 5, "%g", r.logs[0].value);  // four values and the groups
  for (int i = 0; i < N; i++) CHECK(!r.is_set[i], "%d is set", i);
}

static void mistakes(void) {
  static const struct {
    const char *set, *says;
    int n;
  } all[] = {
      {"{ weight_decay = 'x' }", "'weight_decay' must be a number, not a string", N},
      {"{ weight_decay = true }", "'weight_decay' must be a number, not a boolean", N},
      {"{ weight_decay = 0/0 }", "'weight_decay' must be a finite number, not ", N},
      {"{ weight_decay = 1/0 }", "'weight_decay' must be a finite number, not inf", N},
      {"{ weight_decay = -1 }", "'weight_decay' must be >= 0", N},
      {"{ beta1 = 1 }", "'beta1' must be >= 0.0 < 1.0, not 1.0", N},
      {"{ momentum = 0.5 }", "'momentum' cannot be set: there is no state for it", N},
      {"{ weight_decya = 1 }", "did you mean 'weight_decay'?", N},
      {"{ something = 1 }", "what can is weight_decay, beta1, momentum, clip", N},
      {"{ lr = 1 }", "lr(ctx) returns the learning rate", N},
      {"{ [1] = 1 }", "'set' has a value without a name", N},
      {"5", "'set' must be { name = number }, but is a number", N},
      {"{ groups = 5 }", "'groups' must be { name = number }, but is a number", N},
      {"{ groups = { ['tail.*'] = { clip = 1 } } }", "training.groups has no group 'tail.*'", N},
      {"{ groups = { ['head.*'] = { clip = -1 } } }", "'clip' of group 'head.*' must be >= 0", N},
      {"{ groups = { ['head.*'] = { beta1 = 0 } } }", "'beta1' of group 'head.*' cannot be set", N},
      {"{ weight_decay = 1 }", "'set' needs training.adjustable=true", 0},
      {"{ groups = { ['head.*'] = { clip = 1 } } }", "'set' needs training.adjustable=true", 0},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    gr_hook_result r;
    gr_status e = call_with(
        gr_arena_printf(script_arena,
                        "return { on_step_end = function(ctx)\n return { set = %s } end }",
                        all[i].set),
        all[i].n, NULL, &r);
    CHECK(gr_status_code(e) == GR_ERR_HOOK && script_says(e, all[i].says), "%s: %s", all[i].set,
          gr_status_text(e));
    CHECK(e && strstr(gr_status_loc(e).file, "a.lua") && gr_status_loc(e).line == 1, "%s: line %d",
          all[i].set, gr_status_loc(e).line);
    for (int k = 0; k < N; k++) CHECK(!r.is_set[k], "%s: %d is set", all[i].set, k);
    gr_status_drop(e);
  }
}

static void read_only(void) {
  static const char *const tries[] = {"ctx.set.weight_decay = 1",
                                      "ctx.set.groups['head.*'].clip = 1", "ctx.set = {}",
                                      "ctx.set.groups = {}"};
  for (int i = 0; i < 4; i++) {
    gr_hook_result r;
    gr_status e = call_with(
        gr_arena_printf(script_arena, "return { on_step_end = function(ctx) %s end }", tries[i]), N,
        NULL, &r);
    CHECK(e && strstr(gr_status_text(e), "cannot be set"), "%s: %s", tries[i], gr_status_text(e));
    gr_status_drop(e);
  }
}

int main(int argc, char **argv) {
  gr_hooks_enter(argc, argv);
  script_begin("set");
  int bad = RUN(argc, argv, {"sets", sets}, {"reads", reads}, {"mistakes", mistakes},
                {"read_only", read_only});
  script_end();
  return bad;
}
