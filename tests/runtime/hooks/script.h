// script.h - opens hooks from text, for tests of the machine around them.
#pragma once
#include <math.h>
#include "base/arena.h"
#include "runtime/hooks/hooks.h"
#include "tests/runtime/checkpoint/scratch.h"

static const char *script_dir;  // of the test that runs
static gr_arena *script_arena;  // of paths
// Of processor time: more than any needs. ThreadSanitizer looks at every byte of a
// string.rep.
#define SCRIPT_AMPLE 200.0
static double script_seconds = SCRIPT_AMPLE;
// Whether a run stops while hooks work (gr_hooks_spec.stop); NULL: it does not.
static bool (*script_stop)(void);
static const gr_adjustable *script_adjust;  // of hooks that are opened from now on
static int script_n_adjust;

// Makes the folder of a test, by its name; script_end removes it.
static inline void script_begin(const char *name) {
  script_dir = scratch_dir(name);
  script_arena = gr_arena_create();
}
// Removes the folder, and frees paths.
static inline void script_end(void) {
  scratch_remove(script_dir);
  gr_arena_destroy(script_arena);
}

// Writes the text to NAME in the test's directory.
static inline const char *script_put(const char *name, const char *text) {
  const char *path = gr_arena_printf(script_arena, "%s/%s", script_dir, name);
  scratch_write(path, text, strlen(text));
  return path;
}

// Opens hooks of up to 8 files with the same parameters; fails as gr_hooks_open.
static inline gr_status script_open_all(const char *const *paths, int n, const gr_param *params,
                                        int n_params, gr_hooks **out) {
  static gr_hook_script s[8];
  for (int i = 0; i < n; i++)
    s[i] = (gr_hook_script){.path = paths[i], .params = params, .n_params = n_params};
  gr_hooks_spec spec = {.scripts = s,
                        .n_scripts = n,
                        .seed = 7,
                        .out_dir = script_dir,
                        .adjust = script_adjust,
                        .n_adjust = script_n_adjust,
                        .seconds = script_seconds,
                        .stop = script_stop};
  return gr_hooks_open(&spec, out);
}

// The same of one script's text.
static inline gr_status script_open(const char *text, gr_hooks **out) {
  const char *path = script_put("a.lua", text);
  return script_open_all(&path, 1, NULL, 0, out);
}

// What hooks are told at a step of one rank whose learning rate is 1.
static inline gr_hook_context script_context(int64_t step) {
  return (gr_hook_context){.step = step, .world_size = 1, .base_lr = 1, .lr = 1};
}

// Opens and calls one event of a script; the status of whichever fails.
static inline gr_status script_call(const char *text, gr_hook_event event, gr_hook_result *r) {
  gr_hooks *h;
  gr_hook_context c = script_context(3);
  GR_TRY(script_open(text, &h));
  gr_status e = gr_hooks_call(h, event, &c, r);
  gr_hooks_close(h);
  return e;
}

// Whether an error says that, or its hint does.
static inline bool script_says(gr_status e, const char *what) {
  const char *hint = gr_status_hint(e);
  return strstr(gr_status_text(e), what) || (hint && strstr(hint, what));
}

// The hook of that name that graphrun ships, at a step.
static inline double shipped_lr(gr_hooks *h, gr_hook_context c, int64_t step) {
  gr_hook_result r;
  c.step = step;
  MUST(gr_hooks_call(h, GR_HOOK_LR, &c, &r));
  return r.lr;
}
