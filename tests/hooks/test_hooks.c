// test_hooks.c - what scripts get and return, their state, and errors with their places.
#include "base/log.h"
#include "tests/hooks/script.h"

static void context(void) {
  static const char *text =
      "return { on_step_end = function(ctx)\n"
      "  local t = {}\n"
      "  for k, v in pairs(ctx) do\n"
      "    if type(v) == 'table' then v = '{' .. #v .. '}' end\n"
      "    t[#t + 1] = k .. '=' .. tostring(v)\n"
      "  end\n"
      "  for k, v in pairs(ctx.params) do t[#t + 1] = k .. '=' .. tostring(v) end\n"
      "  return { stop = table.concat(t, ' '), save = true, log = { cer = ctx.metrics.cer } }\n"
      "end }";
  gr_param p[] = {{"z", GR_PARAM_BOOL, .i = 1},
                  {"i", GR_PARAM_INT, .i = 5},
                  {"f", GR_PARAM_FLOAT, .f = 5},
                  {"t", GR_PARAM_TEXT, .text = "x"}};
  gr_named m = {"cer", 0.25};
  gr_hook_context c = {.step = 12,
                       .epoch = 2,
                       .steps_per_epoch = 5,
                       .max_epochs = 3,
                       .world_size = 2,
                       .base_lr = 0.5,
                       .lr = 0.25,
                       .loss = (double)NAN,
                       .metrics = &m,
                       .n_metrics = 1};
  gr_hooks *h;
  gr_hook_result r;
  const char *path = script_put("ctx.lua", text);
  MUST(script_open_all(&path, 1, p, 4, &h));
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  CHECK(r.stop && r.save && r.lr == 0.25, "%d %d %g", r.stop, r.save, r.lr);
  static const char *want =
      "base_lr=0.5 epoch=2 lr=0.25 max_epochs=3 metrics={0} params={0} "
      "state={0} step=12 steps_per_epoch=5 total_steps=15 world_size=2 "
      "f=5.0 i=5 t=x z=true";
  CHECK(!strncmp(r.reason, want, GR_HOOK_REASON - 1), "%s", r.reason);
  CHECK(r.n_logs == 1 && !strcmp(r.logs[0].name, "cer") && r.logs[0].value == 0.25, "log");
  CHECK(gr_hooks_has(h, GR_HOOK_STEP_END) && !gr_hooks_has(h, GR_HOOK_LR), "has");
  gr_hooks_close(h);
}

static void several(void) {
  const char *paths[] = {
      script_put("one.lua",
                 "return { lr = function(c) return c.lr * 2 end, on_epoch_end = "
                 "function() return { stop = true, log = { a = 1, b = 2 } } end }"),
      script_put("two.lua",
                 "return { lr = function(c) return c.lr + 1 end, on_epoch_end = "
                 "function() return { stop = 'later', log = { c = 3 } } end }")};
  gr_hooks *h;
  gr_hook_result r;
  gr_hook_context c = script_context(0);
  c.lr = 5;
  MUST(script_open_all(paths, 2, NULL, 0, &h));
  MUST(gr_hooks_call(h, GR_HOOK_LR, &c, &r));
  CHECK(r.lr == 11, "%g", r.lr);
  MUST(gr_hooks_call(h, GR_HOOK_EPOCH_END, &c, &r));
  CHECK(r.stop && !strcmp(r.reason, "one.lua says so") && r.n_logs == 3, "%s", r.reason);
  CHECK(!strcmp(r.logs[0].name, "a") && !strcmp(r.logs[2].name, "c"), "order");
  MUST(gr_hooks_call(h, GR_HOOK_STOP, &c, &r));
  CHECK(!r.stop && !r.save && !r.n_logs, "no script has it");
  gr_hooks_close(h);
}

// One line of each error: text, and the line of the script.
static const struct {
  const char *script;
  gr_hook_event event;
  const char *says;
  int line;
} errors[] = {
    {"return {\n lr = function(ctx) return nil end }", GR_HOOK_LR, "lr(ctx) returned a nil", 2},
    {"return {\n lr = function(ctx) return 'x' end }", GR_HOOK_LR, "returned a string", 2},
    {"\nreturn { lr = function(ctx)\n return 0/0 end }", GR_HOOK_LR, "finite and not negative", 2},
    {"return { lr = function(ctx) return -1e-3 end }", GR_HOOK_LR, "finite and not negative", 1},
    {"return { lr = function(ctx) return math.huge end }", GR_HOOK_LR, "finite", 1},
    {"return { lr = function(ctx)\n\n return ctx.nothing * 2 end }", GR_HOOK_LR,
     "arithmetic on a nil", 3},
    {"return { lr = function(ctx)\n error('no good') end }", GR_HOOK_LR, "no good", 2},
    {"return { lr = function(ctx)\n error({}) end }", GR_HOOK_LR, "an error that is a table", 2},
    {"return { lr = function(ctx)\n local function f() error('deep', 0) end f() end }", GR_HOOK_LR,
     "deep", 2},
    {"return { lr = function(ctx)\n return 1 +\n end }", GR_HOOK_LR, "unexpected symbol near 'end'",
     3},
    {"\nreturn 5", GR_HOOK_LR, "a hook ends with 'return {", 1},
    {"local x = 1", GR_HOOK_LR, "a hook ends with 'return {", 1},
    {"return { on_stepend = function() end }", GR_HOOK_LR, "did you mean 'on_step_end'?", 1},
    {"return { lr = 5 }", GR_HOOK_LR, "'lr' is a number and must be a function", 1},
    {"return { lr = function(ctx)\n best = 1 end }", GR_HOOK_LR, "'best' is not local", 2},
    {"return { lr = function(ctx)\n return lrr end }", GR_HOOK_LR, "there is no 'lrr' here", 2},
    {"return { on_stop = function(ctx)\n return 5 end }", GR_HOOK_STOP, "on_stop returned a number",
     1},
    {"return { on_stop = function() return { lr = 5 } end }", GR_HOOK_STOP,
     "and lr(ctx) sets the learning rate", 1},
    {"return { on_stop = function() return { stop = 5 } end }", GR_HOOK_STOP, "'stop' is a number",
     1},
    {"return { on_stop = function() return { save = 5 } end }", GR_HOOK_STOP, "'save' is a number",
     1},
    {"return { on_stop = function() return { log = 5 } end }", GR_HOOK_STOP, "'log' is a number",
     1},
    {"return { on_stop = function() return { log = { a = 'x' } } end }", GR_HOOK_STOP,
     "must be { name = number }", 1},
    {"return { on_stop = function() return { log = { loss = 1 } } end }", GR_HOOK_STOP,
     "cannot set 'loss'", 1},
    {"return { on_stop = function(ctx) ctx.state = nil end }", GR_HOOK_STOP, "ctx.state to a nil",
     1},
    {"return { on_stop = function(ctx)\n graphrun.append('../x.csv', '') end }", GR_HOOK_STOP,
     "must be a plain name", 2},
};

static void places(void) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    gr_hook_result r;
    gr_status e = script_call(errors[i].script, errors[i].event, &r);
    CHECK(gr_status_code(e) == GR_ERR_HOOK && gr_status_exit(e) == 70, "no error: %s",
          errors[i].script);
    CHECK(e && strstr(gr_status_text(e), errors[i].says), "%s: %s", errors[i].script,
          gr_status_text(e));
    gr_loc at = gr_status_loc(e);
    CHECK(at.file && strstr(at.file, "/a.lua") && at.line == errors[i].line, "%s: line %d, not %d",
          errors[i].script, at.line, errors[i].line);
    CHECK(!strstr(gr_status_text(e), "a.lua:"), "the place is there twice: %s", gr_status_text(e));
    gr_status_drop(e);
  }
}

static void traceback(void) {
  gr_hook_result r;
  size_t len;
  gr_status e = script_call(
      "local function inner(x)\n  return x.y.z\nend\nreturn { lr = "
      "function(ctx)\n  return inner(ctx) + 1\nend }",
      GR_HOOK_LR, &r);
  char path[300];
  snprintf(path, sizeof path, "%s/printed", script_dir);
  FILE *f = fopen(path, "w");
  gr_status_print(f, e);
  fclose(f);
  char *text = scratch_read(path, &len);
  CHECK(strstr(text, "a.lua:2:1: hook error: attempt to index a nil value (field 'y')"), "%s",
        text);
  CHECK(strstr(text, "2 |   return x.y.z"), "%s", text);
  CHECK(strstr(text, "a.lua:5: in function"), "%s", text);
  CHECK(strstr(text, "in hook 'lr' at step 3"), "%s", text);
  free(text);
  gr_status_drop(e);
}

static void missing(void) {
  gr_hook_script s = {.path = "nowhere/x.lua", .from = {"run.yaml", 3, 5}};
  gr_hooks_spec spec = {.scripts = &s, .n_scripts = 1};
  gr_hooks *h;
  gr_status e = gr_hooks_open(&spec, &h);
  CHECK(gr_status_code(e) == GR_ERR_CONFIG && gr_status_loc(e).line == 3 && !h, "%s",
        gr_status_text(e));
  gr_status_drop(e);
}

// -- State -------------------------------------------------------------------------------

static const char *keeper =
    "return { on_step_end = function(ctx)\n"
    "  local s = ctx.state\n"
    "  s.n = (s.n or 0) + 1\n"
    "  s.list = s.list or { 1, 2.5, 'three', { deep = { true, false } } }\n"
    "  s.text = 'a\"\\\\\\n\\0\\200\\255z'\n"
    "  s[1.5], s[-3], s[true] = 0.1, math.mininteger, 1e300\n"
    "  s.inf, s.whole = -math.huge, 3.0\n"
    "  if s.n == 3 then return { stop = s.list[4].deep[1] and #s.text == 8 and\n"
    "    s.whole == 3 and math.type(s.whole) == 'float' and s[1.5] == 0.1 and\n"
    "    s.text == 'a\"\\\\\\n\\0\\200\\255z' and s.inf < -1e308 } end\n"
    "end }";

static void state(void) {
  gr_arena *a = gr_arena_create();
  gr_hooks *h, *again;
  gr_hook_result r;
  char *first, *second;
  gr_hook_context c = script_context(0);
  MUST(script_open(keeper, &h));
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  MUST(gr_hooks_save(h, a, &first));
  for (const char *p = first; *p; p++) CHECK(*p >= 32 && *p < 127, "byte %d", *p);
  MUST(script_open(keeper, &again));
  MUST(gr_hooks_restore(again, first));
  MUST(gr_hooks_save(again, a, &second));
  CHECK(!strcmp(first, second), "%s\n%s", first, second);
  MUST(gr_hooks_call(again, GR_HOOK_STEP_END, &c, &r));
  CHECK(r.stop, "the state is another: %s", second);
  CHECK(strstr(first, "[[-3,-9223372036854775808],[1.5,0.1],[\"inf\",-Infinity],[\"list\","), "%s",
        first);
  gr_hooks_close(h);
  gr_hooks_close(again);
  gr_arena_destroy(a);
}

static void state_refused(void) {
  static const struct {
    const char *set, *says;
  } all[] = {{"s.f = function() end", "holds a function"},
             {"s.s = s", "holds itself"},
             {"s[{}] = 1", "a table as a key"}};
  gr_arena *a = gr_arena_create();
  for (int i = 0; i < 3; i++) {
    char text[256], *out;
    gr_hooks *h;
    gr_hook_result r;
    gr_hook_context c = script_context(0);
    snprintf(text, sizeof text, "return { lr = function(c) local s = c.state %s return 1 end }",
             all[i].set);
    MUST(script_open(text, &h));
    MUST(gr_hooks_call(h, GR_HOOK_LR, &c, &r));
    gr_status e = gr_hooks_save(h, a, &out);
    CHECK(gr_status_code(e) == GR_ERR_HOOK && strstr(gr_status_text(e), all[i].says), "%s",
          gr_status_text(e));
    gr_status_drop(e);
    gr_hooks_close(h);
  }
  gr_arena_destroy(a);
}

static void state_damaged(void) {
  static const char *const bad[] = {"",
                                    "{}",
                                    "[]",
                                    "{\"scripts\":[],\"files\":1}",
                                    "{\"scripts\":[1],\"files\":[]}",
                                    "{\"scripts\":[[\"a.lua\",5]],\"files\":[]}",
                                    "{\"scripts\":[[\"a.lua\",[5]]],\"files\":[]}",
                                    "{\"scripts\":[[\"a.lua\",[[null,1]]]],\"files\":[]}",
                                    "{\"scripts\":[[\"a.lua\",[[NaN,1]]]],\"files\":[]}",
                                    "{\"scripts\":[[\"a.lua\",[[1,{}]]]],\"files\":[]}"};
  gr_hooks *h;
  MUST(script_open("return {}", &h));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    gr_status e = gr_hooks_restore(h, bad[i]);
    CHECK(e, "taken: %s", bad[i]);
    gr_status_drop(e);
  }
  gr_log_open(GR_ERROR, 0, 1);
  MUST(gr_hooks_restore(h, "{\"scripts\":[[\"gone.lua\",[]]],\"files\":[[\"../../x.csv\",0]]}"));
  gr_log_open(GR_INFO, 0, 1);
  gr_hooks_close(h);
}

static void same_random(void) {
  static const char *text =
      "return { lr = function() return math.random() + math.random(5) * 10 "
      "+ math.random(-3, 3) * 100 + 1000 end }";
  double got[2][3];
  for (int run = 0; run < 2; run++) {
    gr_hooks *h;
    MUST(script_open(text, &h));
    for (int s = 0; s < 3; s++) got[run][s] = shipped_lr(h, script_context(0), s);
    gr_hooks_close(h);
  }
  CHECK(got[0][0] == got[1][0] && got[0][2] == got[1][2], "runs differ");
  CHECK(got[0][0] != got[0][1] && got[0][1] != got[0][2], "steps do not");
  CHECK(got[0][0] >= 710 && got[0][0] < 1351, "%g", got[0][0]);
}

int main(int argc, char **argv) {
  script_begin("hooks");
  int bad = RUN(argc, argv, {"context", context}, {"several", several}, {"places", places},
                {"traceback", traceback}, {"missing", missing}, {"state", state},
                {"state_refused", state_refused}, {"state_damaged", state_damaged},
                {"same_random", same_random});
  script_end();
  return bad;
}
