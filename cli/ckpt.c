// ckpt.c - `graphrun ckpt`: lists, shows and verifies checkpoints.
#include <string.h>
#include "base/base.h"
#include "cli/commands.h"
#include "runtime/checkpoint/checkpoint.h"

static int words(gr_arena *a, const char **out, int most) {
  (void)a;
  int n = 0;
  for (; gr_checkpoint_views[n] && n < most; n++) out[n] = gr_checkpoint_views[n];
  return n;
}

static gr_status print(gr_checkpoint_view view, const char *path, bool json) {
  if (json) return gr_checkpoint_print(stdout, view, true, path);
  gr_visible_out out;
  gr_status s = gr_checkpoint_print(gr_visible_begin(&out), view, false, path);
  gr_visible_end(&out);
  return s;
}

static gr_status choose(gr_arena *a, const gr_args *args) {
  bool known = !args->config;
  for (int i = 0; !known && gr_checkpoint_views[i]; i++)
    if ((known = !strcmp(args->config, gr_checkpoint_views[i])) && args->n_words == 1) {
      const char *inner = gr_arena_printf(a, "%s/checkpoints", args->words[0]);  // of a run
      return print((gr_checkpoint_view)i, gr_is_dir(inner) ? inner : args->words[0], args->json);
    }
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                         known ? "graphrun ckpt list|show|verify DIRECTORY [--json]"
                               : "graphrun ckpt cannot do '%s': it can list, show and verify",
                         args->config),
                 "graphrun ckpt list|show|verify DIRECTORY: a run's folder, its checkpoints/, or "
                 "one checkpoint");
}

const gr_command gr_command_ckpt = {
    .name = "ckpt",
    .usage = "list DIR | show DIR | verify DIR [--json]",
    .doc = "checkpoints",
    .example = "graphrun ckpt verify outputs/2026-01-01/10-00-00/checkpoints",
    .keys =
        "checkpoint.dir checkpoint.every_steps checkpoint.every_epochs checkpoint.keep_last "
        "checkpoint.keep_best checkpoint.metric checkpoint.resume",
    .takes = {GR_ANY_FILE, GR_FOLDER, false},
    .flags = {gr_flags_json},
    .words = words,
    .run = choose,
};
