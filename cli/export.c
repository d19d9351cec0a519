// export.c - `graphrun export RUN FILE`: writes a checkpoint for other programs.
#include <stddef.h>
#include "cli/commands.h"
#include "cli/export_onnx.h"
#include "job/kept.h"

typedef struct options {
  bool optimizer;
  const char *program;
} options;

static gr_status usage(const gr_args *args) {
  const options *flags = args->options;
  bool onnx = args->n_words == 1 && gr_is_onnx_file(args->words[0]);
  if (args->n_words != 1 || (args->n_overrides && !onnx))
    return gr_hint(
        gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                "graphrun export RUN FILE.safetensors|FILE.npz|FILE.onnx"),
        "RUN is a run's folder, its checkpoints/, or one checkpoint; of .onnx a run's folder, and "
        "key=value change its configuration");
  if (onnx && flags->optimizer)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--optimizer: a file of ONNX has no such states");
  if (!onnx && flags->program)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--program: only a FILE.onnx has a program");
  return onnx ? GR_OK : gr_checkpoint_exportable(args->words[0]);
}

static gr_status export(gr_arena *arena, const gr_args *args) {
  const options *flags = args->options;
  gr_checkpoint *c = NULL;
  gr_checkpoint_exported done;
  gr_export what = flags->optimizer ? GR_EXPORT_EVERYTHING
                   : args->no_ema   ? GR_EXPORT_TRAINED
                                    : GR_EXPORT_WEIGHTS;
  GR_TRY(usage(args));
  if (gr_is_onnx_file(args->words[0])) return gr_export_onnx(arena, args, flags->program);
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

static gr_status export_run(int argc, char **argv) {
  return gr_command_parsed(&gr_command_export, argc, argv, export);
}

static const gr_flag own_flags[] = {
    {"--optimizer", NULL, NULL, GR_FLAG_SET, offsetof(options, optimizer),
     "also writes the states of the optimizer"},
    {"--program", NULL, "NAME", GR_FLAG_TEXT, offsetof(options, program),
     "of a FILE.onnx: a program of the model that has inputs: of its own"},
    {0}};

const gr_command gr_command_export = {
    .name = "export",
    .usage =
        "RUN FILE.safetensors|FILE.npz|FILE.onnx [--which=best|last|STEP] [--optimizer] "
        "[--program=NAME]",
    .doc = "writes the weights of a checkpoint, or the model with them, for other programs",
    .example = "graphrun export outputs/2026-01-01/10-00-00 model.safetensors",
    .keys = "",
    .takes = {GR_FOLDER, GR_ANY_FILE, true, .operands = 2},
    .kind = GR_RUN_EVAL,
    .flags = {gr_flags_kept},
    .own_flags = own_flags,
    .options = sizeof(options),
    .run = export_run,
};
