// test_params.c - values of hooks_params that no script reads are errors, before anything runs.
#include "tests/runtime/hooks/script.h"

static gr_status check(const char *text, const char *key) {
  gr_param p = {.key = key, .kind = GR_PARAM_INT, .from = {"run.yaml", 7, 9}};
  gr_hook_script s = {.path = script_put("p.lua", text)};
  return gr_hooks_check_params(&s, 1, &p, 1);
}

static void read_ones(void) {
  static const char *const all[] = {
      "local x = ctx.params.every",
      "local x = ctx.params.every or 5",
      "local p = ctx.params local x = p.every",
      "local a, p, b = 1, ctx.params, 2 x = p.every",
      "local x = ctx.params['every']",
      "local x = ctx.params[\"every\"]",
      "local x = ctx.params[ [[every]] ]",
      "local function get(p, name) return p[name] end get(ctx.params, 'every')",
      "local defaults = { every = 5 } for k, v in pairs(defaults) do end",
      "for k, v in pairs(ctx.params) do print(k, v) end",
      "local p = ctx.params for k, v in pairs(p) do print(k, v) end",
      "local function show(t) for k in pairs(t) do print(k) end end show(ctx.params)",
      "local name = 'ev' .. 'ery' local x = ctx.params[name]",
      "local p = ctx.params local x = p['ev' .. 'ery']",
      "--[==[ every ]] ]==] local x = ctx.params --[[ of ]] . every",
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    gr_status e = check(all[i], "every");
    CHECK(!e, "%s: %s", all[i], gr_status_text(e));
    gr_status_drop(e);
  }
}

static void unread_ones(void) {
  static const char *const all[] = {
      "",
      "local x = ctx.params.evry",
      "-- ctx.params.every\nlocal x = ctx.params.evry",
      "--[[ ctx.params.every ]] local x = ctx.params.evry",
      "--[=[ ]] ctx.params.every ]=] local x = ctx.params.evry",
      "local x = 'ctx.params.every'",
      "local every = ctx.params.evry",
      "local x = ctx.every",
      "local x = ctx.params.every_step",
      "for k, v in pairs(ctx.metrics) do end local x = ctx.metrics[k] .. ctx.params.evry",
      "local x = 'an end that is not there",
      "local x = [[ an end that is not there",
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    gr_status e = check(all[i], "every");
    CHECK(gr_status_code(e) == GR_ERR_CONFIG && strstr(gr_status_text(e), "hooks_params.every"),
          "passes: %s", all[i]);
    CHECK(gr_status_loc(e).line == 7 && gr_status_loc(e).col == 9, "place");
    gr_status_drop(e);
  }
}

static void guesses(void) {
  gr_status e =
      check("local p = ctx.params local x = p.warmup_steps + ctx.params.decay", "warmup_step");
  CHECK(e && strstr(gr_status_text(e), "did you mean 'warmup_steps'?"), "%s", gr_status_text(e));
  CHECK(
      e && strstr(gr_status_hint(e), "hooks read warmup_steps, decay; `~hooks_params.warmup_step`"),
      "%s", gr_status_hint(e));
  gr_status_drop(e);
  gr_param p = {.key = "every"};
  e = gr_hooks_check_params(NULL, 0, &p, 1);
  CHECK(e && strstr(gr_status_hint(e), "there are no hooks"), "%s", gr_status_text(e));
  gr_status_drop(e);
  MUST(gr_hooks_check_params(NULL, 0, NULL, 0));
}

// Each shipped script reads exactly the parameters that its head lists.
static void shipped(void) {
  static const struct {
    const char *name;
    const char *keys[6];
  } all[] = {{"warmup_linear", {"warmup_steps"}},
             {"step_decay", {"warmup_steps", "decay", "decay_steps", "max_lr"}},
             {"cosine", {"warmup_steps", "total_steps", "min_lr", "restart_steps", "restart_mult"}},
             {"scale_lr", {"scale", "base"}},
             {"early_stop", {"metric", "mode", "patience", "min_delta"}},
             {"log_csv", {"file", "every"}}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    gr_param p[6];
    int n = 0;
    for (; n < 6 && all[i].keys[n]; n++) p[n] = (gr_param){.key = all[i].keys[n]};
    gr_hook_script s = {.path = gr_arena_printf(script_arena, "%s/%s.lua", HOOKS_DIR, all[i].name)};
    MUST(gr_hooks_check_params(&s, 1, p, n));
    p[0].key = "nothing_of_the_kind";
    gr_status e = gr_hooks_check_params(&s, 1, p, n);
    CHECK(e, "%s reads anything", all[i].name);
    gr_status_drop(e);
  }
}

int main(int argc, char **argv) {
  script_begin("params");
  int bad = RUN(argc, argv, {"read_ones", read_ones}, {"unread_ones", unread_ones},
                {"guesses", guesses}, {"shipped", shipped});
  script_end();
  return bad;
}
