// test_hooks.c - what scripts get and return, their state, and what they draw.
#include "base/log.h"
#include "tests/runtime/hooks/script.h"

static void context(void) {
  static const char *text =
      "return { on_step_end = function(ctx)\n"
      "  local t = {}\n"
      "  for k, v in pairs(ctx) do\n"
      "    if type(v) == 'table' then v = '{' .. #v .. '}' end\n"
      "    t[#t + 1] = k .. '=' .. tostring(v)\n"
      "  end\n"
      "  for k, v in pairs(ctx.params) do t[#t + 1] = k .. '=' .. tostring(v) end\n"
      "  graphrun.append('ctx.txt', table.concat(t, ' ') .. '\\n')\n"
      "  return { stop = 'over', save = true, evaluate = true, log = { cer = ctx.metrics.cer } }\n"
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
                       .has_best = true,
                       .best = 0.125,
                       .best_step = 7,
                       .skipped_steps = 1,
                       .global_batch = 96,
                       .samples_per_s = 64,
                       .elapsed = 1.5,
                       .output_dir = "out",
                       .last_checkpoint = "out/step-7",
                       .metrics = &m,
                       .n_metrics = 1};
  gr_hooks *h;
  gr_hook_result r;
  const char *path = script_put("ctx.lua", text);
  MUST(script_open_all(&path, 1, p, 4, &h));
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  CHECK(r.stop && r.save && r.evaluate && r.lr == 0.25, "%d %d %d %g", r.stop, r.save, r.evaluate,
        r.lr);
  static const char *want =
      "base_lr=0.5 best=0.125 best_step=7 elapsed=1.5 epoch=2 global_batch=96 "
      "last_checkpoint=out/step-7 lr=0.25 max_epochs=3 metrics={0} output_dir=out params={0} "
      "samples_per_s=64.0 set={0} skipped_steps=1 state={0} step=12 steps_per_epoch=5 "
      "total_steps=15 "
      "world_size=2 f=5.0 i=5 t=x z=true\n";
  size_t len;
  char *got = scratch_read(gr_arena_printf(script_arena, "%s/ctx.txt", script_dir), &len);
  CHECK(!strcmp(got, want), "%s", got);
  free(got);
  CHECK(!strcmp(r.reason, "over"), "%s", r.reason);
  CHECK(r.n_logs == 1 && !strcmp(r.logs[0].name, "cer") && r.logs[0].value == 0.25, "log");
  CHECK(gr_hooks_has(h, GR_HOOK_STEP_END) && !gr_hooks_has(h, GR_HOOK_LR), "has");
  gr_hooks_close(h);
}

// One script's "save" is enough, whichever it is; the first one's reason is that of the run.
static void votes(void) {
  static const char *const says[] = {"true", "false"};
  for (int i = 0; i < 4; i++) {
    char text[2][120];
    const char *paths[2];
    gr_hooks *h;
    gr_hook_result r;
    gr_hook_context c = script_context(0);
    for (int k = 0; k < 2; k++) {
      const char *say = says[i >> k & 1];
      snprintf(text[k], sizeof text[k],
               "return { on_step_end = function() return { save = %s, stop = %s } end }", say, say);
      paths[k] = script_put(k ? "two.lua" : "one.lua", text[k]);
    }
    MUST(script_open_all(paths, 2, NULL, 0, &h));
    MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
    CHECK(r.save == (i < 3) && r.stop == (i < 3), "%d: %d %d", i, r.save, r.stop);
    const char *why = i == 0 || i == 2 ? "requested by one.lua"
                      : i == 1         ? "requested by two.lua"
                                       : "";
    CHECK(!strcmp(r.reason, why), "%d: %s", i, r.reason);
    gr_hooks_close(h);
  }
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
  CHECK(r.stop && !strcmp(r.reason, "requested by one.lua") && r.n_logs == 3, "%s", r.reason);
  CHECK(!strcmp(r.logs[0].name, "a") && !strcmp(r.logs[2].name, "c"), "order");
  MUST(gr_hooks_call(h, GR_HOOK_STOP, &c, &r));
  CHECK(!r.stop && !r.save && !r.n_logs, "no script has it");
  gr_hooks_close(h);
}

// A loss that is not a number is known all the same, and prints without a sign.
static void loss(void) {
  gr_hooks *h;
  gr_hook_result r;
  gr_hook_context c = script_context(0);
  MUST(script_open(
      "return { on_step_end = function(ctx) return { stop = tostring(ctx.loss) } end }", &h));
  c.has_loss = true, c.loss = -(double)NAN;
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  CHECK(!strcmp(r.reason, "nan"), "%s", r.reason);
  c.loss = 0.5;
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  CHECK(!strcmp(r.reason, "0.5"), "%s", r.reason);
  c.has_loss = false;
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  CHECK(!strcmp(r.reason, "nil"), "%s", r.reason);
  gr_hooks_close(h);
}

static void missing(void) {
  gr_hook_script s = {.path = "nowhere/x.lua", .loc = {"run.yaml", 3, 5}};
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

// Draws depend on script, event and step alone: a resumed run's are those of one never stopped.
static const char *drawing =
    "local function draw(ctx) return { log = { a = math.random(), b = math.random() } } end\n"
    "return { lr = function() return math.random() end, on_step_end = draw, on_epoch_end = draw }";

static void draw(gr_hooks *h, int step, double out[2][7]) {
  static const gr_hook_event events[] = {GR_HOOK_LR, GR_HOOK_STEP_END, GR_HOOK_EPOCH_END};
  gr_hook_context c = script_context(step);
  gr_hook_result r[3];
  for (int e = 0; e < 3; e++) MUST(gr_hooks_call(h, events[e], &c, &r[e]));
  memset(out, 0, 2 * sizeof *out);
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 4; k++) {
      const gr_hook_result *of = &r[1 + k / 2];
      if (2 * i + k % 2 < of->n_logs) out[i][k] = of->logs[2 * i + k % 2].value;
    }
  out[0][4] = r[0].lr;
}

static void random_after_resume(void) {
  gr_arena *a = gr_arena_create();
  double straight[6][2][7], resumed[2][7];
  const char *paths[] = {script_put("one.lua", drawing), script_put("two.lua", drawing)};
  char *state;
  gr_hooks *h;
  MUST(script_open_all(paths, 2, NULL, 0, &h));
  for (int s = 0; s < 6; s++) draw(h, s, straight[s]);
  MUST(gr_hooks_save(h, a, &state));
  gr_hooks_close(h);
  MUST(script_open_all(paths, 2, NULL, 0, &h));
  MUST(gr_hooks_restore(h, state));
  for (int s = 3; s < 6; s++) {
    draw(h, s, resumed);
    CHECK(!memcmp(resumed, straight[s], sizeof resumed), "step %d draws others", s);
  }
  gr_hooks_close(h);
  const double *first = &straight[0][0][0];
  for (int i = 0; i < 2 * 7 * 6; i++)
    for (int k = 0; k < i; k++)
      CHECK(!first[i] || first[i] != first[k], "the same number is drawn twice: %g", first[i]);
  gr_arena_destroy(a);
}

// Every row of hooks.def is an event: a script may handle it, it is called by its name, its ctx
// has a reason if the row says so, and what it returns counts if the row says so.
static void events(void) {
  gr_named metrics[] = {{"cer", 0.5}};
  gr_text t = gr_text_make(script_arena);
  gr_hooks *h;
  gr_text_put(&t,
              "local function seen(ctx) return {log = {m = ctx.metrics.cer,"
              " r = ctx.reason and 1 or 0}} end\nreturn {\n");
  for (int e = 0; e < GR_HOOK_EVENTS; e++)
    if (gr_hook_events[e].returns != GR_HOOK_RATE)
      gr_text_printf(&t, "%s = seen,\n", gr_hook_events[e].name);
  gr_text_put(&t, "}\n");
  MUST(script_open(t.chars, &h));
  for (int e = 0; e < GR_HOOK_EVENTS; e++) {
    const gr_hook_row *row = &gr_hook_events[e];
    gr_hook_context c = script_context(3);
    gr_hook_result r;
    c.metrics = metrics, c.n_metrics = 1, c.reason = "over";
    bool rate = row->returns == GR_HOOK_RATE;
    CHECK(row->name && *row->when, "event %d has no name or no documentation", e);
    CHECK(gr_hooks_has(h, (gr_hook_event)e) == !rate, "%s is handled", row->name);
    if (rate) continue;
    MUST(gr_hooks_call(h, (gr_hook_event)e, &c, &r));
    CHECK(r.n_logs == (row->returns == GR_HOOK_CONTROLS ? 2 : 0), "%s: %d values", row->name,
          r.n_logs);
    if (r.n_logs < 2) continue;
    CHECK(r.logs[0].value == 0.5, "%s: cer is %g", row->name, r.logs[0].value);
    CHECK((r.logs[1].value != 0) == row->has_reason, "%s: reason %g", row->name, r.logs[1].value);
  }
  gr_hooks_close(h);
}

int main(int argc, char **argv) {
  gr_hooks_enter(argc, argv);
  script_begin("hooks");
  int bad = RUN(argc, argv, {"events", events}, {"context", context}, {"several", several},
                {"votes", votes}, {"loss", loss}, {"missing", missing}, {"state", state},
                {"state_damaged", state_damaged}, {"same_random", same_random},
                {"random_after_resume", random_after_resume});
  script_end();
  return bad;
}
