// test_sandbox.c - scripts that would run without end, take all memory, or reach out, do not.
#include "tests/runtime/hooks/script.h"

#define IN(body) "return { lr = function(ctx)\n" body "\nreturn 1 end }"

// Each fails with this text.
static void expect(const char *script, const char *says) {
  gr_hook_result r;
  gr_status e = script_call(script, GR_HOOK_LR, &r);
  CHECK(gr_status_code(e) == GR_ERR_HOOK, "no error: %s", script);
  CHECK(e && strstr(gr_status_text(e), says), "%s: %s", script, gr_status_text(e));
  gr_status_drop(e);
}

static void endless(void) {
  static const char *const all[] = {
      IN("while true do end"),
      IN("while true do pcall(function() while true do end end) end"),
      IN("local function f() while true do pcall(f) end end f()"),
      IN("for i = 1, math.huge do end"),
      IN("local t = setmetatable({}, { __index = function(t, k) while true do end end }) t.x = "
         "t.x"),
      IN("table.sort({ 3, 2, 1 }, function() while true do end end)"),
      IN("('x'):gsub('x', function() while true do end end)"),
      IN("local t = setmetatable({}, { __tostring = function() while true do end end }) print(t)"),
      "while true do end",
  };
  script_seconds = 0.2;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) expect(all[i], "longer than 0.2 s");
  script_seconds = SCRIPT_AMPLE;
}

// What would keep C busy without end is refused before it begins, so that the script's line is
// known.
static void endless_in_c(void) {
  static const struct {
    const char *script, *says;
  } all[] = {
      {IN("('a'):rep(5000):find('.-.-.-b')"), "could take too long"},
      {IN("('a'):rep(500):find('.-.-.-.-b')"), "could take too long"},
      {IN("('a'):rep(30):match(('a?'):rep(30) .. ('a'):rep(30))"), "could take too long"},
      {IN("('a'):rep(40):find(('a*'):rep(40) .. 'b')"), "could take too long"},
      {IN("('a'):rep(40):find(('a+'):rep(20) .. 'b')"), "could take too long"},
      {IN("('a'):rep(5000):gsub('%f[b].-%b()(a)%1', '')"), "could take too long"},
      {IN("string.match(('a'):rep(100000), '(a*)*b')"), "could take too long"},
      {IN("for _ in ('a'):rep(1e5):gmatch('.-.-b') do end"), "could take too long"},
      {IN("('a'):rep(100000):gsub(('a'):rep(50000) .. 'b', '')"), "could take too long"},
      {IN("local s = ('a'):rep(10000000) s:find(s:sub(1, 5000000) .. 'b', 1, true)"),
       "could take too long"},
      {IN("(''):rep(1e15)"), "too many repetitions"},
      {IN("('x'):rep(1 << 62)"), "too many repetitions"},
      {IN("table.insert(setmetatable({}, { __len = function() return 1 << 60 end }), 1, 1)"),
       "no metamethod __len"},
      {IN("local m = {} local t = setmetatable({}, m) m.__len = function() return 1 << 60 end "
          "table.insert(t, 1, 1)"),
       "without a metatable"},
      {IN("table.concat({}, '', 1, 1 << 60)"), "at index 1"},
      {IN("local t = { table.unpack({}, 1, 1e8) }"), "too many results"},
      {IN("setmetatable({}, { __gc = function() while true do end end })"), "no metamethod __gc"},
  };
  script_seconds = 2;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) expect(all[i].script, all[i].says);
  script_seconds = SCRIPT_AMPLE;
}

static void memory(void) {
  static const char *const all[] = {
      IN("local t = {} while true do t[#t + 1] = ('x'):rep(100000) end"),
      IN("local s = 'x' while true do s = s .. s end"),
      IN("local s = ('x'):rep(1 << 26)"),
      IN("local t = {} for i = 1, 1e8 do t[i] = i end"),
      IN("pcall(function() local s = 'x' while true do s = s .. s end end) local s = "
         "('x'):rep(67e6)"),
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) expect(all[i], "64 MiB");
  expect(IN("local function f() return 1 + f() end f()"), "64 MiB");
}

// After each of these the same hooks still work.
static void goes_on(void) {
  gr_hooks *h;
  gr_hook_result r;
  script_seconds = 0.5;
  MUST(
      script_open("return { lr = function(ctx) if ctx.step == 1 then while true do end end "
                  "if ctx.step == 2 then local s = 'x' while true do s = s .. s end end "
                  "return 0.5 end }",
                  &h));
  for (int s = 0; s < 6; s++) {
    gr_hook_context c = script_context(s % 3);
    gr_status e = gr_hooks_call(h, GR_HOOK_LR, &c, &r);
    CHECK((e != GR_OK) == (s % 3 != 0) && (e || r.lr == 0.5), "step %d: %s", s, gr_status_text(e));
    gr_status_drop(e);
  }
  gr_hooks_close(h);
  script_seconds = SCRIPT_AMPLE;
}

static void names(void) {
  static const char *const gone[] = {"io",     "os",         "load",           "loadfile",
                                     "dofile", "loadstring", "require",        "package",
                                     "debug",  "coroutine",  "collectgarbage", "xpcall",
                                     "next",   "_G",         "utf8",           "warn"};
  static const char *const fields[] = {"string.dump", "string.pack", "table.move",
                                       "math.randomseed", "graphrun.remove"};
  char text[256];
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
    snprintf(text, sizeof text, IN("local x = %s"), gone[i]);
    expect(text, "there is no global '");
  }
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    snprintf(text, sizeof text, IN("%s()"), fields[i]);
    expect(text, "a nil value");
  }
  expect(IN("getmetatable('').__index.rep = 1"), "attempt to index a boolean");
  expect(IN("local x = ('x').dump()"), "nil value");
}

static void bytecode(void) {
  static const char chunk[] = "\x1bLuaS\0\x19\x93\r\n\x1a\n";
  char path[300];
  gr_hooks *h;
  snprintf(path, sizeof path, "%s/b.lua", script_dir);
  scratch_write(path, chunk, sizeof chunk - 1);
  const char *paths[] = {path};
  gr_status e = script_open_all(paths, 1, NULL, 0, &h);
  CHECK(gr_status_code(e) == GR_ERR_HOOK && strstr(gr_status_text(e), "binary chunk"), "%s",
        gr_status_text(e));
  gr_status_drop(e);
}

static void files(void) {
  static const char *const bad[] = {"../a.csv", "/tmp/a.csv", "a/b.csv", ".a.csv",
                                    "",         "a",          "a.lua",   "metrics.jsonl",
                                    "run.log",  "a\\0.csv",   "..csv/",  "a b.csv"};
  char text[512], path[300];
  size_t len;
  gr_hook_result r;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    snprintf(text, sizeof text, IN("graphrun.append('%s', 'x')"), bad[i]);
    expect(text, "must be a plain name");
  }
  snprintf(path, sizeof path, "%s/link.csv", script_dir);
  CHECK(!symlink("/dev/null", path), "no link");
  expect(IN("graphrun.append('link.csv', 'x')"), "'link.csv' is a symbolic link");
  MUST(script_call(IN("graphrun.append('ok.csv', 'a') graphrun.append('ok.csv', 'b\\n')"),
                   GR_HOOK_LR, &r));
  snprintf(path, sizeof path, "%s/ok.csv", script_dir);
  char *got = scratch_read(path, &len);
  CHECK(got && !strcmp(got, "ab\n"), "%s", got);
  free(got);
}

static void allowed(void) {
  gr_hook_result r;
  MUST(script_call(
      IN("local t = { 'b', 'a' } table.sort(t)\n"
         "assert(table.concat(t, ',') == 'a,b' and select('#', table.unpack(t)) == 2)\n"
         "assert(('%5.2f'):format(3.14159) == ' 3.14' and ('x'):rep(3, '-') == 'x-x-x')\n"
         "assert(('key = value'):match('^(%w+)%s*=%s*(%w+)$') == 'key')\n"
         "assert(('a-b'):gsub('%-', '+') == 'a+b' and #('abc'):upper() == 3)\n"
         "local keys = '' for k in pairs({ z = 1, a = 2, [3] = 0, [1] = 0 }) do keys = keys .. k "
         "end\n"
         "assert(keys == '13az', keys)\n"
         "local ok, e = pcall(error, 'x') assert(not ok and e == 'x')\n"
         "local o = setmetatable({}, { __index = { f = 5 }, __call = function(_, x) return x end "
         "})\n"
         "assert(o.f == 5 and o(7) == 7 and math.type(3) == 'integer' and 7 // 2 == 3)\n"
         "for i, v in ipairs({ 5, 6 }) do assert(v == i + 4) end\n"
         "assert(tonumber('0x10') == 16 and tostring(1e15) == '1e+15' and math.floor(2.5) == 2)"),
      GR_HOOK_LR, &r));
}

int main(int argc, char **argv) {
  gr_hooks_enter(argc, argv);
  script_begin("sandbox");
  int bad = RUN(argc, argv, {"endless", endless}, {"endless_in_c", endless_in_c},
                {"memory", memory}, {"goes_on", goes_on}, {"names", names}, {"bytecode", bytecode},
                {"files", files}, {"allowed", allowed});
  script_end();
  return bad;
}
