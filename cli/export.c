// export.c - `graphrun export RUN FILE`: writes a checkpoint for other programs.
#include "cli/commands.h"
#include "cli/job/kept.h"

static gr_status usage(const gr_args *args) {
  if (args->n_words == 1 && !args->n_overrides) return gr_checkpoint_exportable(args->words[0]);
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "graphrun export RUN FILE.safetensors|FILE.npz"),
                 "RUN is a run's folder, its checkpoints/, or one checkpoint");
}

static gr_status export(gr_arena *arena, const gr_args *args) {
  gr_checkpoint *c = NULL;
  gr_checkpoint_exported done;
  gr_export what = args->optimizer ? GR_EXPORT_EVERYTHING
                   : args->no_ema  ? GR_EXPORT_TRAINED
                                   : GR_EXPORT_WEIGHTS;
  GR_TRY(usage(args));
  GR_TRY(gr_kept_checkpoint(arena, args->config, args->which, &c));
  gr_status s = gr_checkpoint_export(c, args->words[0], what, &done);
  const char *averages =
      done.averages ? gr_arena_printf(arena, " (%d of them averages of weights)", done.averages)
                    : "";
  if (!s)
    printf("%s: %d tensors%s, %lld bytes, of %s\n", args->words[0], done.tensors, averages,
           (long long)done.bytes, gr_checkpoint_path(c));
  gr_checkpoint_close(c);
  return s;
}

gr_status gr_cmd_export(int argc, char **argv) {
  gr_arena *arena = gr_arena_create();
  gr_args args;
  gr_status s = gr_args_parse(arena, argc, argv, gr_args_first(argc, argv), &args);
  s = s ? s : export(arena, &args);
  gr_arena_destroy(arena);
  return s;
}
