// bench_hooks.c - what a call of a hook costs a step: with nothing in it, with a state, by several.
//
//   bench_hooks [CALLS]
#include <stdlib.h>
#include "base/base.h"
#include "runtime/hooks/hooks.h"

static const struct script {
  const char *what, *text;
} scripts[] = {
    {"lr", "return { lr = function(ctx) return ctx.lr * 0.5 ^ (ctx.step // 1000) end }"},
    {"lr with a state of 3 values",
     "return { lr = function(ctx) local s = ctx.state s.n = (s.n or 0) + 1 "
     "s.sum = (s.sum or 0) + ctx.lr s.last = 'x' return ctx.lr end }"},
    {"lr with a state of 1000 numbers",
     "return { lr = function(ctx) local s = ctx.state if not s.t then s.t = {} "
     "for i = 1, 1000 do s.t[i] = i end end s.t[ctx.step % 1000 + 1] = 0.5 return ctx.lr end }"},
};
enum { N = sizeof scripts / sizeof *scripts };

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(gr_status_exit(s));
}

static void bench(const struct script *s, int calls) {
  char path[] = "/tmp/bench_hooks_XXXXXX";
  int fd = mkstemp(path);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
  if (!f || fputs(s->text, f) < 0 || fclose(f)) exit(74);
  gr_hook_script script = {.path = path};
  gr_hooks_spec spec = {.scripts = &script, .n_scripts = 1};
  gr_hooks *h;
  must(gr_hooks_open(&spec, &h));
  double began = gr_seconds();
  for (int i = 0; i < calls; i++) {
    gr_hook_context c = {.step = i, .world_size = 1, .base_lr = 1, .lr = 1};
    gr_hook_result r;
    must(gr_hooks_call(h, GR_HOOK_LR, &c, &r));
  }
  printf("%-32s %8.2f us a call\n", s->what, 1e6 * (gr_seconds() - began) / calls);
  gr_hooks_close(h);
  remove(path);
}

int main(int argc, char **argv) {
  gr_hooks_enter(argc, argv);
  int calls = argc > 1 ? atoi(argv[1]) : 20000;
  for (int i = 0; i < N; i++) bench(&scripts[i], calls);
  return 0;
}
