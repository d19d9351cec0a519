// test_errors.c - errors of scripts name the line and what to do.
#include "tests/runtime/hooks/script.h"

// One line of each error: text, and the line of the script.
static const struct {
  const char *script;
  gr_hook_event event;
  const char *says;
  int line;
} errors[] = {
    {"return {\n lr = function(ctx) return nil end }", GR_HOOK_LR, "but returned a nil", 2},
    {"return {\n lr = function(ctx) return 'x' end }", GR_HOOK_LR, "returned a string", 2},
    {"\nreturn { lr = function(ctx)\n return 0/0 end }", GR_HOOK_LR, "finite and not negative", 2},
    {"return { lr = function(ctx) return -1e-3 end }", GR_HOOK_LR, "finite and not negative", 1},
    {"return { lr = function(ctx) return math.huge end }", GR_HOOK_LR, "finite", 1},
    {"return { lr = function(ctx)\n\n return ctx.metrics.no * 2 end }", GR_HOOK_LR,
     "arithmetic on a nil", 3},
    {"return { lr = function(ctx)\n error('no good') end }", GR_HOOK_LR, "no good", 2},
    {"return { lr = function(ctx)\n error({}) end }", GR_HOOK_LR, "an error that is a table", 2},
    {"return { lr = function(ctx)\n local function f() error('deep', 0) end f() end }", GR_HOOK_LR,
     "deep", 2},
    {"return { lr = function(ctx)\n return 1 +\n end }", GR_HOOK_LR, "unexpected symbol near 'end'",
     3},
    {"\nreturn 5", GR_HOOK_LR, "a hook script must end with 'return {", 1},
    {"local x = 1", GR_HOOK_LR, "a hook script must end with 'return {", 1},
    {"return { on_stepend = function() end }", GR_HOOK_LR, "did you mean 'on_step_end'?", 1},
    {"return { lr = 5 }", GR_HOOK_LR, "'lr' must be a function, but is a number", 1},
    {"return { lr = function(ctx)\n best = 1 end }", GR_HOOK_LR, "'best' is not declared", 2},
    {"return { lr = function(ctx)\n return lrr end }", GR_HOOK_LR, "there is no global 'lrr'", 2},
    {"return { on_stop = function(ctx)\n return 5 end }", GR_HOOK_STOP, "on_stop returned a number",
     1},
    {"return { on_stop = function() return { lr = 5 } end }", GR_HOOK_STOP,
     "and lr(ctx) sets the learning rate", 1},
    {"return { on_stop = function() return { stop = 5 } end }", GR_HOOK_STOP,
     "'stop' must be true or a reason, but is a number", 1},
    {"return { on_stop = function() return { save = 5 } end }", GR_HOOK_STOP,
     "'save' must be true or false, but is a number", 1},
    {"return { on_stop = function() return { log = 5 } end }", GR_HOOK_STOP,
     "'log' must be { name = number }, but is a number", 1},
    {"return { on_stop = function() return { log = { a = 'x' } } end }", GR_HOOK_STOP,
     "must be { name = number }", 1},
    {"return { on_stop = function() return { log = { loss = 1 } } end }", GR_HOOK_STOP,
     "cannot set 'loss'", 1},
    {"return { on_stop = function(ctx) ctx.state = nil end }", GR_HOOK_STOP,
     "ctx.state cannot be a nil", 1},
    {"return { on_stop = function(ctx)\n graphrun.append('../x.csv', '') end }", GR_HOOK_STOP,
     "must be a plain name", 2},
    // What ctx has not, and what cannot be set.
    {"return { lr = function(ctx)\n return ctx.lss end }", GR_HOOK_LR, "did you mean 'loss'?", 2},
    {"return { lr = function(ctx)\n return ctx[1] end }", GR_HOOK_LR, "ctx has no field '1'", 2},
    {"return { lr = function(ctx)\n ctx.lr = 5 return 1 end }", GR_HOOK_LR,
     "the function lr(ctx) returns", 2},
    {"return { lr = function(ctx)\n ctx.step = 5 return 1 end }", GR_HOOK_LR,
     "ctx.step cannot be set", 2},
    {"return { lr = function(ctx)\n rawset(ctx, 'step', 5) return 1 end }", GR_HOOK_LR,
     "ctx.step cannot be set", 2},
    {"return { lr = function(ctx)\n ctx.bets = 5 return 1 end }", GR_HOOK_LR,
     "ctx has no field 'bets'", 2},
    {"return { lr = function(ctx)\n ctx.metrics.cer = 5 return 1 end }", GR_HOOK_LR,
     "ctx.metrics.cer cannot be set", 2},
    {"return { lr = function(ctx)\n ctx.params.every = 5 return 1 end }", GR_HOOK_LR,
     "ctx.params.every cannot be set", 2},
    {"return { on_stop = function() return { sav = true } end }", GR_HOOK_STOP, "did you mean save",
     1},
    // The script's own table.
    {"return { lr = print }", GR_HOOK_LR, "'lr' is one of Lua's own functions", 1},
    {"local t\nt = { lr = function(ctx)\n t.lr = print return 1 end }\nreturn t", GR_HOOK_LR,
     "'lr' cannot be set", 3},
    {"local t\nt = { lr = function(ctx)\n t.lr = nil return 1 end }\nreturn t", GR_HOOK_LR,
     "'lr' cannot be set", 3},
    {"local t\nt = { lr = function(ctx)\n t.on_stop = print return 1 end }\nreturn t", GR_HOOK_LR,
     "'on_stop' cannot be set", 3},
    {"return { { lr = function() end } }", GR_HOOK_LR, "a value without a key", 1},
    {"return setmetatable({}, {})", GR_HOOK_LR, "a table with a metatable", 1},
    {"function lr(ctx)\n return 1 end", GR_HOOK_LR, "'lr' must be in the table that", 1},
    {"return { lr = function()\n return ctx.lr end }", GR_HOOK_LR, "there is no global 'ctx'", 2},
    {"return { lr = function()\n return maths.pi end }", GR_HOOK_LR, "did you mean 'math'?", 2},
    {"local function f(n)\n return 1 + f(n) end\nreturn { lr = f }", GR_HOOK_LR,
     "nested too deeply", 2},
    // Memory, by the line that wanted it.
    {"return { lr = function(ctx)\n local t = {}\n for i = 1, 1e9 do t[i] = i end end }",
     GR_HOOK_LR, "more than 64 MiB", 3},
    {"local function big()\n return ('x'):rep(1 << 26) end\nreturn { lr = function() big() end }",
     GR_HOOK_LR, "more than 64 MiB", 2},
};

static void places(void) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
    gr_hook_result r;
    gr_status e = script_call(errors[i].script, errors[i].event, &r);
    CHECK(gr_status_code(e) == GR_ERR_HOOK && gr_status_exit(e) == 70, "no error: %s",
          errors[i].script);
    CHECK(e && script_says(e, errors[i].says), "%s: %s", errors[i].script, gr_status_text(e));
    gr_loc loc = gr_status_loc(e);
    CHECK(loc.file && strstr(loc.file, "/a.lua") && loc.line == errors[i].line,
          "%s: line %d, not %d", errors[i].script, loc.line, errors[i].line);
    CHECK(!strstr(gr_status_text(e), "a.lua:"), "the place is there twice: %s", gr_status_text(e));
    gr_status_drop(e);
  }
}

// What to do is a hint of its own; the cause has neither it nor a stack of one line.
static void hints(void) {
  static const struct {
    const char *script, *cause, *hint;
  } rows[] = {
      {"return { on_epoch_ends = print }", "there is no event 'on_epoch_ends'",
       "did you mean 'on_epoch_end'?"},
      {"return { zebra = print }", "there is no event 'zebra'", "the events are on_start"},
      {"def f(): pass", "syntax error near 'f'", "a hook is a script of Lua"},
      {"best = 1", "'best' is not declared", "write 'local best = ...'"},
      {"return { lr = function(ctx) return ctx.bets end }", "ctx has no field 'bets'",
       "did you mean 'best"},
      {"return { lr = function(ctx) foo() end }", "there is no global 'foo'", "declare it"},
      {"return { lr = function(ctx) return -1 end }", "lr(ctx) returned -1.0",
       "a learning rate is finite"},
      {"return { lr = function(ctx) error('mine\\nhint: yours') end }", "mine", "yours"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    gr_hook_result r;
    gr_status e = script_call(rows[i].script, GR_HOOK_LR, &r);
    CHECK(e && !strcmp(gr_status_text(e), rows[i].cause), "%s: %s", rows[i].script,
          gr_status_text(e));
    const char *hint = gr_status_hint(e);
    CHECK(hint && !strncmp(hint, rows[i].hint, strlen(rows[i].hint)), "%s: %s", rows[i].script,
          hint ? hint : "no hint");
    gr_status_drop(e);
  }
}

// Tables in tables: more than Lua can read is an error like any other.
static void deep(void) {
  char text[2100] = "return ";
  gr_hook_result r;
  for (int i = 0; i < 1000; i++) strcat(text, "{");
  for (int i = 0; i < 1000; i++) strcat(text, "}");
  gr_status e = script_call(text, GR_HOOK_LR, &r);
  CHECK(e && strstr(gr_status_text(e), "nested too deeply"), "%s", gr_status_text(e));
  CHECK(gr_status_loc(e).line == 1 && gr_status_hint(e), "place");
  gr_status_drop(e);
}

static void traceback(void) {
  gr_hook_result r;
  size_t len;
  gr_status e = script_call(
      "local function inner(x)\n  return x.params.y.z\nend\nreturn { lr = "
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
  CHECK(strstr(text, "2 |   return x.params.y.z"), "%s", text);
  CHECK(strstr(text, "a.lua:5: in function"), "%s", text);
  CHECK(strstr(text, "in hook 'lr' at step 3"), "%s", text);
  free(text);
  gr_status_drop(e);
}

// Fields that are legitimately nil cause no error; where they lead to one, its hint says so.
static void known_and_nil(void) {
  static const struct {
    const char *uses, *hint;
  } all[] = {{"ctx.loss * 2", "nil before the first step"},
             {"ctx.reason .. ''", "nil except in on_stop"},
             {"ctx.total_steps - 1", "nil when the run has no limit"}};
  gr_hook_result r;
  MUST(
      script_call("return { lr = function(ctx) assert(ctx.loss == nil and ctx.reason == nil and "
                  "ctx.max_steps == nil and ctx.metrics.cer == nil) return 1 end }",
                  GR_HOOK_LR, &r));
  for (int i = 0; i < 3; i++) {
    char text[200];
    snprintf(text, sizeof text, "return { lr = function(ctx) return %s end }", all[i].uses);
    gr_status e = script_call(text, GR_HOOK_LR, &r);
    CHECK(e && gr_status_hint(e) && strstr(gr_status_hint(e), all[i].hint), "%s: %s", all[i].uses,
          e && gr_status_hint(e) ? gr_status_hint(e) : "no hint");
    gr_status_drop(e);
  }
}

int main(int argc, char **argv) {
  gr_hooks_enter(argc, argv);
  script_begin("errors");
  int bad = RUN(argc, argv, {"places", places}, {"deep", deep}, {"traceback", traceback},
                {"known_and_nil", known_and_nil}, {"hints", hints});
  script_end();
  return bad;
}
