// test_process.c - scripts that Lua's own hook cannot end, and the process that they run in.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/log.h"
#include "base/port.h"
#include "tests/runtime/hooks/script.h"

#if defined(__SANITIZE_THREAD__)
static const bool sanitised = true;  // handlers of signals wait for the next call of a library
#else
static const bool sanitised = false;
#endif

#define IN(body) "return { lr = function(ctx)\n" body "\nreturn ctx.lr end }"
#define LONG(c) "local a = string.rep(" c ", 1 << 23) local x, y = a .. 'x', a .. 'y'\n"
// Strings of 1 MiB and of 100 bytes less, made in few steps.
#define MEBI "(('x'):rep(1 << 10)):rep(1 << 10)"
#define LESS "(('x'):rep(12)):rep(87373)"
#define SORT "local t = {} for i = 1, 1e5 do t[i] = i % 2 == 0 and x or y end\ntable.sort(t)"

// -- Functions of C that take long -------------------------------------------------------

// Each is ended, and the line named: that of the call, also where C does not return.
static const struct {
  const char *script;
  int line;
} slow[] = {
    {IN(LONG("'a'") SORT), 4},
    {IN(LONG("'\\0'") SORT), 4},
    {IN(LONG("'\\0'") "for i = 1, 1e9 do\n local z = x < y end"), 4},
    {IN("local s = string.rep('a', 1 << 22)\nfor i = 1, 1e9 do\n s:gsub('a', 'b') end"), 4},
    {IN("local s = string.rep('\\0', 1 << 22)\nfor i = 1, 1e9 do\n string.format('%q', s) end"), 4},
    {IN("for i = 1, 1e9 do\n string.rep('', 1 << 26) end"), 3},
    {"local s = string.rep('a', 1 << 22)\nfor i = 1, 1e9 do s:gsub('a', 'b') end", 2},
};

static void ends_slow(void) {
  script_seconds = 0.2;
  for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
    gr_hook_result r;
    double began = gr_thread_seconds();
    gr_status e = script_call(slow[i].script, GR_HOOK_LR, &r);
    CHECK(gr_status_code(e) == GR_ERR_HOOK && strstr(gr_status_text(e), "longer than 0.2 s"),
          "%s: %s", slow[i].script, gr_status_text(e));
    CHECK(e && gr_status_hint(e) && strstr(gr_status_hint(e), "hooks_seconds"), "no hint");
    gr_loc loc = gr_status_loc(e);
    CHECK(loc.file && strstr(loc.file, "/a.lua") && (loc.line == slow[i].line || sanitised),
          "%s: line %d", slow[i].script, loc.line);
    CHECK(gr_thread_seconds() - began < 1, "the run waits by turning");
    gr_status_drop(e);
  }
  script_seconds = SCRIPT_AMPLE;
}

// A metamethod that is refused cannot be slipped in while it is looked for.
static void late_metamethods(void) {
  gr_hook_result r;
  MUST(script_call(IN("local mt, armed = {}, true\n"
                      "setmetatable(mt, { __index = function(t, k)\n"
                      "  if k == '__mode' and armed then armed = false\n"
                      "    rawset(t, '__gc', function() while true do end end) end end })\n"
                      "setmetatable({}, mt)\n"
                      "for i = 1, 1e5 do local t = {} end"),
                   GR_HOOK_LR, &r));
  CHECK(r.lr == 1, "%g", r.lr);
  gr_status e = script_call(IN("setmetatable({}, { __gc = print })"), GR_HOOK_LR, &r);
  CHECK(e && strstr(gr_status_text(e), "no metamethod __gc"), "%s", gr_status_text(e));
  gr_status_drop(e);
}

// A long call within its limit ends normally.
static void lets_long_end(void) {
  gr_hook_result r;
  MUST(script_call(IN("local s = 0 for i = 1, 2e7 do s = s + i end ctx.state.s = s"), GR_HOOK_LR,
                   &r));
}

// -- Stopping ----------------------------------------------------------------------------

static double stop_at;  // by gr_seconds; 0: never
static bool stops(void) { return stop_at && gr_seconds() >= stop_at; }

static void stop_cuts_off(void) {
  static const char *const all[] = {IN("while true do end"), IN(LONG("'a'") SORT)};
  script_stop = stops, script_seconds = 1000;
  for (int i = 0; i < 2; i++) {
    gr_hooks *h;
    gr_hook_result r;
    gr_hook_context c = script_context(3);
    MUST(script_open(all[i], &h));
    stop_at = gr_seconds();
    gr_status e = gr_hooks_call(h, GR_HOOK_LR, &c, &r);
    CHECK(gr_status_code(e) == GR_ERR_STOPPED, "%s: %s", all[i], gr_status_text(e));
    CHECK(gr_status_loc(e).line == (i ? 4 : 2) || sanitised, "line %d", gr_status_loc(e).line);
    gr_status_drop(e);
    stop_at = 0;
    gr_hooks_close(h);
  }
  // One that ends soon is waited for, and counts.
  gr_hook_result r;
  stop_at = gr_seconds();
  MUST(
      script_call("return { lr = function() local s = 0 for i = 1, 1e5 do s = s + 1 end return s "
                  "end }",
                  GR_HOOK_LR, &r));
  CHECK(r.lr == 1e5, "%g", r.lr);
  stop_at = 0, script_stop = NULL, script_seconds = SCRIPT_AMPLE;
}

// -- The process -------------------------------------------------------------------------

// The child of this process; 0: there is none.
static int child(void) {
  DIR *d = opendir("/proc");
  int found = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[300], text[600] = "";
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%.200s/stat", e->d_name);
    FILE *f = *e->d_name >= '1' && *e->d_name <= '9' ? fopen(path, "r") : NULL;
    if (!f) continue;
    const char *after = fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
    fclose(f);
    if (after && sscanf(after + 4, "%d", &parent) == 1 && parent == getpid())
      found = atoi(e->d_name);
  }
  closedir(d);
  return found;
}

static bool none_left(void) { return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD; }

static gr_status call_once(gr_hooks *h, double *lr) {
  gr_hook_result r;
  gr_hook_context c = script_context(3);
  gr_status e = gr_hooks_call(h, GR_HOOK_LR, &c, &r);
  *lr = r.lr;
  return e;
}

// What a terminal or a batch system sends to all is not for it; a fault is reported, and survived.
static void signals(void) {
  static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
  gr_hooks *h;
  double lr;
  MUST(
      script_open("return { lr = function(ctx) ctx.state.n = (ctx.state.n or 0) + 1 return "
                  "ctx.state.n end }",
                  &h));
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) {
    int pid = child();
    CHECK(pid > 0 && !kill(pid, ignored[i]), "no process");
    MUST(call_once(h, &lr));
    CHECK(child() == pid && lr == (double)i + 1, "signal %d: %g", ignored[i], lr);
  }
  kill(child(), SIGKILL);
  gr_status e = call_once(h, &lr);
  CHECK(gr_status_code(e) == GR_ERR_HOOK && strstr(gr_status_text(e), "killed by signal 9"), "%s",
        gr_status_text(e));
  gr_status_drop(e);
  CHECK(none_left(), "a zombie is left");
  MUST(call_once(h, &lr));
  CHECK(lr == 7, "the state is another: %g", lr);
  gr_hooks_close(h);
  CHECK(none_left(), "a process is left");
}

// It has its socket, its pipe and the standard files, whatever the run has open.
static void files(void) {
  gr_hooks *h;
  char path[64];
  int open_here = fcntl(STDERR_FILENO, F_DUPFD, 40), count = 0;  // every child inherits it
  MUST(script_open("return { lr = function(ctx) return 1 end }", &h));
  snprintf(path, sizeof path, "/proc/%d/fd", child());
  DIR *d = opendir(path);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (*e->d_name == '.') continue;
    count++;
    CHECK(atoi(e->d_name) < 5, "it has file %s", e->d_name);
  }
  if (d) closedir(d);
  CHECK(count == 5, "it has %d files", count);
  close(open_here);
  gr_hooks_close(h);
}

// The same call by hand, without a run, ends at once.
static void by_hand(void) {
  int status = 0;
  pid_t pid = fork();
  if (!pid) {
    execl("/proc/self/exe", "x", "--hooks-process", "1", (char *)NULL);
    _exit(99);
  }
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1, "status %d", status);
}

// -- Memory ------------------------------------------------------------------------------

// What is freed is given back to the account, and what is kept is on it, to the megabyte.
static void memory(void) {
  static const struct {
    const char *script;
    bool fits;
  } all[] = {
      {IN("for i = 1, 400 do local s = " MEBI " .. i end"), true},
      {IN("for i = 1, 200 do local t = {} for k = 1, 10000 do t[k] = k end end"), true},
      {IN("for i = 1, 50 do local t = {} for k = 1, 1000 do t[k] = { k } end end"), true},
      {IN("local t = {} for i = 1, 40 do t[i] = " LESS " .. i end"), true},
      {IN("local t = {} for i = 1, 64 do t[i] = " LESS " .. i end"), false},
      {IN("for i = 1, 2e6 do local f = function() return i end end\n"
          "local t = {} for i = 1, 70 do t[i] = " LESS " .. i end"),
       false},
      {IN("local t = {} for i = 1, 64 do\nlocal ok = pcall(function() t[i] = " MEBI " .. i end)\n"
          "t[i] = ok or nil end\nlocal s = " MEBI),
       true},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    gr_hook_result r;
    gr_status e = script_call(all[i].script, GR_HOOK_LR, &r);
    CHECK((e == GR_OK) == all[i].fits, "%s: %s", all[i].script, gr_status_text(e));
    CHECK(!e || strstr(gr_status_text(e), "64 MiB"), "%s", gr_status_text(e));
    gr_status_drop(e);
  }
  static const char *half =
      "local t = ('x'):rep(24 << 20) return { lr = function() return #t end }";
  const char *paths[] = {script_put("one.lua", half), script_put("two.lua", half)};
  gr_hooks *h;
  gr_status e = script_open_all(paths, 2, NULL, 0, &h);
  CHECK(e && strstr(gr_status_loc(e).file, "two.lua"), "each has its own: %s", gr_status_text(e));
  gr_status_drop(e);
}

// -- The log -----------------------------------------------------------------------------

// Calls `lr` so many times; *out is the log, which the caller frees.
static void log_of(const char *script, int calls, char **out, size_t *n) {
  gr_hooks *h;
  gr_hook_context c = script_context(3);
  FILE *copy = open_memstream(out, n);
  int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
  CHECK(dup2(null, STDERR_FILENO) >= 0, "standard error");  // megabytes
  gr_log_open(GR_INFO, 0, 1);
  gr_log_copy_to(copy);
  MUST(script_open(script, &h));
  for (int i = 0; i < calls; i++) {
    gr_hook_result r;
    MUST(gr_hooks_call(h, GR_HOOK_LR, &c, &r));
  }
  gr_hooks_close(h);
  dup2(saved, STDERR_FILENO), close(saved), close(null);
  gr_log_copy_to(NULL);
  gr_log_open(GR_ERROR, 0, 1);
  fclose(copy);
}

static int count_of(const char *text, const char *what) {
  int n = 0;
  for (const char *cursor = text; (cursor = strstr(cursor, what)); cursor++) n++;
  return n;
}

// What a script prints in a loop is cut, call by call, and each cut is reported once.
static void prints_for_ever(void) {
  char *text;
  size_t n;
  log_of(IN("for i = 1, 1e4 do print(('x'):rep(99)) end"), 2, &text, &n);
  size_t most = 2 * (GR_HOOK_CALL_LOG + 4096);
  CHECK(n > GR_HOOK_CALL_LOG && n < most, "%zu bytes of log", n);
  CHECK(count_of(text, "64 KiB to the log in one call") == 2, "%.300s", text + n - 300);
  CHECK(count_of(text, "MiB") == 0, "lines that are left out count");
  free(text);
  log_of(IN("for i = 1, 30 do print(('x'):rep(2000)) end"), 300, &text, &n);
  CHECK(n > GR_HOOK_RUN_LOG - 4096 && n < GR_HOOK_RUN_LOG + (2 << 20), "%zu bytes of log", n);
  CHECK(count_of(text, "16 MiB to the log; the lines that follow") == 1, "%.300s", text + n - 300);
  free(text);
}

int main(int argc, char **argv) {
  gr_hooks_enter(argc, argv);
  script_begin("process");
  int bad = RUN(argc, argv, {"ends_slow", ends_slow}, {"late_metamethods", late_metamethods},
                {"lets_long_end", lets_long_end}, {"stop_cuts_off", stop_cuts_off},
                {"signals", signals}, {"files", files}, {"by_hand", by_hand}, {"memory", memory},
                {"prints_for_ever", prints_for_ever});
  script_end();
  return bad;
}
