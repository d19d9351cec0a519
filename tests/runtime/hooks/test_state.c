// test_state.c - ctx.state: what it may hold and take, whose it is, and how it comes back.
#include "base/log.h"
#include "tests/runtime/hooks/script.h"

// Calls on_step_end of a script n times, then drops it; the status of the first that fails.
static gr_status run_steps(const char *text, int n, gr_hook_result *r) {
  gr_hooks *h;
  gr_status e = GR_OK;
  GR_TRY(script_open(text, &h));
  for (int i = 0; i < n && !e; i++) {
    gr_hook_context c = script_context(i);
    e = gr_hooks_call(h, GR_HOOK_STEP_END, &c, r);
  }
  gr_hooks_close(h);
  return e;
}

#define STEP(body) "return { on_step_end = function(ctx)\n" body "\nend }"

// Each is an error at its line.
static const struct {
  const char *script, *says;
  int line;
} refused[] = {
    {STEP("ctx.state.f = function() end"), "holds a function", 2},
    {STEP("ctx.state.s = {}\n ctx.state.s.s = ctx.state.s"), "or contains itself", 1},
    {STEP("ctx.state.s = ctx.state"), "or contains itself", 1},
    {STEP("ctx.state[{}] = 1"), "a table as a key", 2},
    {STEP("local t = {}\nctx.state.t = t t[t] = 1"), "a table as a key", 1},
    {STEP("\nctx.state.s = ('\\0'):rep(1 << 24)"), "ctx.state.s is too large", 3},
    {STEP("local t = {}\n ctx.state.t = t\n t.s = ('x'):rep(1 << 20)"), "ctx.state.t is too large",
     1},
    {STEP("for i = 1, 3e5 do\n ctx.state['k' .. i] = i end"), "is too large", 3},
    {STEP("local t = {}\n for i = 1, 3e5 do t[i] = i end\n ctx.state.t = t"),
     "ctx.state.t is too large", 4},
    {STEP("for i = 1, 3e5 do\n table.insert(ctx.state, i) end"), "is too large", 1},
    {STEP("ctx.state.s = ('x'):rep(6e5)\n ctx.state.t = ('x'):rep(6e5)"), "ctx.state.t is too", 3},
    {STEP("rawset(ctx.state, 's', ('x'):rep(2e6))"), "ctx.state.s is too large", 2},
    {STEP("ctx.state = { s = ('x'):rep(2e6) }"), "ctx.state.s is too large", 1},
};

static void refuses(void) {
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    gr_hook_result r;
    gr_status e = run_steps(refused[i].script, 1, &r);
    CHECK(gr_status_code(e) == GR_ERR_HOOK, "no error: %s", refused[i].script);
    CHECK(e && strstr(gr_status_text(e), refused[i].says), "%s: %s", refused[i].script,
          gr_status_text(e));
    CHECK(gr_status_loc(e).line == refused[i].line, "%s: line %d", refused[i].script,
          gr_status_loc(e).line);
    gr_status_drop(e);
  }
}

// What is replaced or taken away no longer counts; what is set in another way than by a dot does
// all that it did to a plain table.
static void takes(void) {
  static const char *const all[] = {
      STEP("for i = 1, 1e5 do ctx.state.n = i end assert(ctx.state.n == 1e5)"),
      STEP("for i = 1, 40 do ctx.state.s = ('x'):rep(5e5) .. i end"),
      STEP("for i = 1, 1e5 do ctx.state[i] = i ctx.state[i - 1] = nil end"),
      STEP("ctx.state.list = ctx.state.list or {} for i = 1, 1000 do\n"
           "ctx.state.list[#ctx.state.list + 1] = ctx.step end\n"
           "assert(#ctx.state.list == 1000 * (ctx.step + 1))"),
      STEP("local s = ctx.state table.insert(s, 'b') table.insert(s, 1, 'a')\n"
           "assert(#s == 2 * ctx.step + 2 and s[1] == 'a' and rawlen(s) == #s)\n"
           "assert(table.concat(s):len() == #s and select('#', table.unpack(s)) == #s)\n"
           "local n = 0 for i, v in ipairs(s) do n = n + i end assert(n == #s * (#s + 1) / 2)\n"
           "local m = 0 for k in pairs(s) do m = m + 1 end assert(m == #s)"),
      STEP("setmetatable(ctx.state, { __index = { n = 5 } }) ctx.state.n = ctx.state.n + 1\n"
           "assert(ctx.state.n == 6 + ctx.step and rawget(ctx.state, 'n') == ctx.state.n)"),
      STEP("ctx.state = ctx.state ctx.state = { n = (ctx.state.n or 0) + 1 }\n"
           "assert(ctx.state.n == ctx.step + 1)"),
      STEP("ctx.state.metrics = ctx.metrics ctx.state.params = ctx.params"),
      "local mine\nreturn { on_step_end = function(ctx) mine = mine or ctx.state "
      "mine.n = (mine.n or 0) + 1 assert(ctx.state.n == ctx.step + 1) end }",
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    gr_hook_result r;
    gr_status e = run_steps(all[i], 3, &r);
    CHECK(!e, "%s: %s", all[i], gr_status_text(e));
    gr_status_drop(e);
  }
}

// The largest state that is allowed is restored: as many values and bytes, and as deep, as there
// may be.
static void largest(void) {
  static const char *const all[] = {
      "for i = 1, 32767 do s[i] = true end",
      "s.s = ('\\0'):rep(170000)",
      "s.s = ('\"'):rep(170000)",
      "local t = s for i = 1, 11 do t.t = {} t = t.t end t.n = 5",
      "for i = 1, 30000 do s[i * 0.1 + 1e-300] = 1 end",
  };
  gr_arena *a = gr_arena_create();
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char text[300], *first, *second;
    gr_hooks *h, *again;
    gr_hook_result r;
    gr_hook_context c = script_context(0);
    snprintf(text, sizeof text, "return { on_step_end = function(ctx) local s = ctx.state %s end }",
             all[i]);
    MUST(script_open(text, &h));
    MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
    MUST(gr_hooks_save(h, a, &first));
    CHECK(strlen(first) <= GR_HOOK_STATE_BYTES + 100, "%zu bytes", strlen(first));
    MUST(script_open(text, &again));
    MUST(gr_hooks_restore(again, first));
    MUST(gr_hooks_save(again, a, &second));
    CHECK(!strcmp(first, second), "%s comes back as another", all[i]);
    gr_hooks_close(h);
    gr_hooks_close(again);
  }
  gr_arena_destroy(a);
}

// All scripts together.
static void shared_limit(void) {
  static const char *text = STEP("ctx.state.s = ('x'):rep(6e5)");
  const char *paths[] = {script_put("one.lua", text), script_put("two.lua", text)};
  gr_hooks *h;
  gr_hook_result r;
  gr_hook_context c = script_context(0);
  MUST(script_open_all(paths, 2, NULL, 0, &h));
  gr_status e = gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r);
  CHECK(e && strstr(gr_status_loc(e).file, "two.lua"), "%s", gr_status_text(e));
  gr_status_drop(e);
  gr_hooks_close(h);
}

// -- Whose -------------------------------------------------------------------------------

static const char *counting =
    "return { on_step_end = function(ctx)\n"
    "  local by = ctx.step < 10 and 1 or 100\n"
    "  ctx.state.n = (ctx.state.n or ctx.params.from or 0) + by\n"
    "  return { log = { [ctx.state.name or 'n'] = ctx.state.n } }\n"
    "end }";

// Two files of one name in different folders are two scripts, before and after a resume.
static void one_name(void) {
  gr_arena *a = gr_arena_create();
  char path[2][300], *state;
  const char *paths[2] = {path[0], path[1]};
  static const char *texts[] = {
      STEP("ctx.state.n = (ctx.state.n or 0) + 1 return { log = { one = "
           "ctx.state.n, one_drew = math.random() } }"),
      STEP("ctx.state.n = (ctx.state.n or 100) + 1 return { log = { two = "
           "ctx.state.n, two_drew = math.random() } }")};
  for (int i = 0; i < 2; i++) {
    snprintf(path[i], sizeof path[i], "%s/%d", script_dir, i);
    mkdir(path[i], 0777);
    strcat(path[i], "/x.lua");
    scratch_write(path[i], texts[i], strlen(texts[i]));
  }
  gr_hooks *h;
  gr_hook_result r;
  gr_hook_context c = script_context(0);
  MUST(script_open_all(paths, 2, NULL, 0, &h));
  for (int resumed = 0; resumed < 2; resumed++) {
    MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
    CHECK(r.n_logs == 4 && r.logs[0].value == 1 + resumed && r.logs[2].value == 101 + resumed,
          "%g %g", r.logs[0].value, r.logs[2].value);
    CHECK(r.logs[1].value != r.logs[3].value, "both draw %g", r.logs[1].value);
    MUST(gr_hooks_save(h, a, &state));
    gr_hooks_close(h);
    MUST(script_open_all(paths, 2, NULL, 0, &h));
    MUST(gr_hooks_restore(h, state));
  }
  gr_hooks_close(h);
  gr_arena_destroy(a);
}

// A name is its bytes.
static void any_name(void) {
  gr_arena *a = gr_arena_create();
  const char *path = script_put("\xc3\xa9\"\\.lua", counting);
  char *state;
  gr_hooks *h;
  gr_hook_result r;
  gr_hook_context c = script_context(0);
  MUST(script_open_all(&path, 1, NULL, 0, &h));
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  MUST(gr_hooks_save(h, a, &state));
  for (const char *p = state; *p; p++) CHECK(*p >= 32 && *p < 127, "byte %d", *p);
  gr_hooks_close(h);
  MUST(script_open_all(&path, 1, NULL, 0, &h));
  MUST(gr_hooks_restore(h, state));
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  CHECK(r.logs[0].value == 2, "%g", r.logs[0].value);
  gr_hooks_close(h);
  gr_arena_destroy(a);
}

// -- A call that fails -------------------------------------------------------------------

// Nothing of the event stays: no state of any script, no lines; and scripts go on with the next.
static void reverts(void) {
  static const char *const fails[] = {
      "error('no')", "while true do end",
      "local a = ('a'):rep(1 << 23) local x, y = a .. 'x', a .. 'y' "
      "local t = {} for i = 1, 1e5 do t[i] = i % 2 == 0 and x or y "
      "end table.sort(t)"};
  for (int i = 0; i < 3; i++) {
    gr_arena *a = gr_arena_create();
    char text[500], *before, *after, path[300];
    size_t len;
    snprintf(text, sizeof text,
             "return { on_step_end = function(ctx) ctx.state.n = (ctx.state.n or 0) + 1\n"
             "graphrun.append('r%d.csv', ctx.step .. '\\n')\n"
             "if ctx.step == 2 then %s end return { log = { n = ctx.state.n } } end }",
             i, fails[i]);
    const char *paths[] = {script_put("one.lua", counting), script_put("two.lua", text)};
    gr_hooks *h;
    gr_hook_result r;
    script_seconds = 0.5;
    MUST(script_open_all(paths, 2, NULL, 0, &h));
    script_seconds = SCRIPT_AMPLE;
    for (int s = 0; s < 5; s++) {
      gr_hook_context c = script_context(s);
      if (s == 2) MUST(gr_hooks_save(h, a, &before));
      gr_status e = gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r);
      CHECK((e != GR_OK) == (s == 2), "step %d: %s", s, gr_status_text(e));
      gr_status_drop(e);
      if (s == 2) MUST(gr_hooks_save(h, a, &after));
      if (s == 2) CHECK(!strcmp(before, after), "%s\n%s", before, after);
    }
    CHECK(r.n_logs == 2 && r.logs[0].value == 4 && r.logs[1].value == 4, "%g %g", r.logs[0].value,
          r.logs[1].value);
    gr_hooks_close(h);
    snprintf(path, sizeof path, "%s/r%d.csv", script_dir, i);
    char *got = scratch_read(path, &len);
    CHECK(got && !strcmp(got, "0\n1\n3\n4\n"), "%s", got);
    free(got);
    gr_arena_destroy(a);
  }
}

// The text of a checkpoint, which later versions read: keys in order, whatever order they were set
// in.
static void saved_text(void) {
  static const char script[] = STEP(
      "local s = ctx.state s.z = 1 s.a = -2 s['a\\0b'] = 'q\"\\\\\\0\\255' s[2.5] = 0.1 s[2] = {} "
      "s[-3] = 1e300 s[1] = 3.0 s[true] = false s[false] = true s.t = { 10, 20, x = { y = -0.0 } } "
      "s[9007199254740993] = 'i' s[1e19] = 'f' s[-1e19] = 0/0 s.ab = 1/0 s[''] = ''");
  gr_hooks *h;
  gr_hook_result r;
  gr_hook_context c = script_context(0);
  char *text;
  gr_arena *a = gr_arena_create();
  MUST(script_open(script, &h));
  MUST(gr_hooks_call(h, GR_HOOK_STEP_END, &c, &r));
  MUST(gr_hooks_save(h, a, &text));
  gr_hooks_close(h);
  CHECK(!strcmp(text,
                "{\"scripts\":[[\"a.lua\",[[-1e+19,NaN],[-3,1e+300],[1,3.0],[2,[]],[2.5,0.1],[900"
                "7199254740993,\"i\"],[1e+19,\"f\"],[\"\",\"\"],[\"a\",-2],[\"a\\u0100b\",\"q\\u0"
                "022\\u005c\\u0100\\u00ff\"],[\"ab\",Infinity],[\"t\",[[1,10],[2,20],[\"x\",[[\"y"
                "\",-0.0]]]]],[\"z\",1],[false,true],[true,false]]]],\"files\":[]}"),
        "%s", text);
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  gr_hooks_enter(argc, argv);
  script_begin("state");
  int bad = RUN(argc, argv, {"refuses", refuses}, {"takes", takes}, {"largest", largest},
                {"shared_limit", shared_limit}, {"one_name", one_name}, {"any_name", any_name},
                {"reverts", reverts}, {"saved_text", saved_text});
  script_end();
  return bad;
}
