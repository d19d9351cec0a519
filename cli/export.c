// export.c - `graphrun export RUN FILE`: writes a checkpoint for other programs.
#include <stddef.h>
#include "base/output.h"
#include "cli/commands.h"
#include "cli/export_onnx.h"
#include "job/kept.h"
#include "job/model_file.h"
#include "job/name_map.h"
#include "runtime/launch/launch.h"

typedef struct options {
  bool optimizer, lora, merge;
  const char *names;
  gr_onnx_export onnx;
  int64_t shard_mb;
} options;

enum { SHARD_MB = 5000 };  // the most of a file in a folder

static gr_status usage(const gr_args *args) {
  const options *flags = args->options;
  bool onnx = args->n_words == 1 && gr_is_onnx_path(args->words[0]);
  if (args->n_words != 1 || (args->n_overrides && !onnx))
    return gr_hint(
        args->n_overrides ? gr_fail(GR_ERR_USAGE, GR_NOWHERE, "key=value is only for a FILE.onnx")
                          : gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                                    args->n_words ? "%d files are given to write, not one"
                                                  : "no file is given to write",
                                    args->n_words),
        "graphrun export RUN FILE.safetensors|FILE.npz|FILE.onnx, or RUN FOLDER --lora or "
        "--names=FILE; RUN is a run's folder, its checkpoints/, or one checkpoint; of .onnx a "
        "run's folder");
  if (onnx && flags->optimizer)
    return gr_hint(
        gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--optimizer: a file of ONNX has no such states"),
        "without it, or FILE.safetensors or FILE.npz");
  if (onnx && flags->merge)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                   "--merge-lora: a file of ONNX has the adapters as layers of their own");
  if (!onnx && flags->onnx.program)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--program: only a FILE.onnx has a program");
  if (!onnx && flags->onnx.beside)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--external-data: only a FILE.onnx has such");
  if (flags->lora && (onnx || flags->optimizer || flags->merge))
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                   "--lora writes a folder for each adapter, and nothing else of the checkpoint");
  if (flags->names && (onnx || flags->optimizer))
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                   "--names writes a folder of safetensors, without the states of an optimizer");
  if (flags->shard_mb && (!flags->names || flags->lora))
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--shard-mb: only a folder by --names has shards");
  return onnx || flags->lora || flags->names ? GR_OK : gr_checkpoint_exportable(args->words[0]);
}

static gr_export what_of(const gr_args *args) {
  const options *flags = args->options;
  return flags->optimizer ? GR_EXPORT_EVERYTHING
         : args->no_ema   ? GR_EXPORT_TRAINED
                          : GR_EXPORT_WEIGHTS;
}

// A line of what has been written.
static void say(gr_text *t, const char *path, const gr_checkpoint_exported *done,
                const gr_checkpoint *c) {
  gr_text_printf(t, "%s: %d tensors", path, done->tensors);
  if (done->averages) gr_text_printf(t, " (%d of them averages of weights)", done->averages);
  gr_text_printf(t, ", %lld bytes, of %s\n", (long long)done->bytes, gr_checkpoint_path(c));
}

static gr_status no_adapters(const gr_checkpoint *c) {
  return gr_hint(
      gr_fail(GR_ERR_CHECKPOINT, GR_NOWHERE, "'%s' has no adapters", gr_checkpoint_path(c)),
      "a run with model.lora= trains them");
}

// What a folder is written of.
typedef struct contents {
  gr_arena *arena;
  const gr_args *args;
  gr_checkpoint *checkpoint;
  gr_export_request *request;
  const gr_checkpoint_adapter *adapters;
  int n_adapters;
  const gr_name_map *names;
  gr_text said;
} contents;

// An adapter without a name in the folder itself, others in folders of their names, as PEFT does.
static gr_status write_adapters(contents *x, const char *dir) {
  for (int i = 0; i < x->n_adapters; i++) {
    gr_checkpoint_exported done;
    const gr_checkpoint_adapter *p = x->request->adapter = &x->adapters[i];
    const char *below = *p->name ? gr_arena_printf(x->arena, "/%s", p->name) : "";
    const char *to = gr_arena_printf(x->arena, "%s%s", dir, below);
    GR_TRY(gr_checkpoint_export_adapter(x->checkpoint, to, x->request, &done));
    const char *shown = gr_arena_printf(x->arena, "%s%s", x->args->words[0], below);
    say(&x->said, shown, &done, x->checkpoint);
  }
  return GR_OK;
}

// Under another program's names, with its config.json where the file of names has one.
static gr_status write_weights(contents *x, const char *dir) {
  const options *flags = x->args->options;
  int64_t most = flags->shard_mb ? flags->shard_mb : SHARD_MB;
  gr_checkpoint_exported done;
  gr_text config = {0};
  if (x->names->config)
    GR_TRY(gr_name_map_config(x->arena, x->names, x->args->config, x->checkpoint, &config));
  GR_TRY(gr_checkpoint_export_folder(x->checkpoint, dir, x->request, most * 1000000, &done));
  if (x->names->config) GR_TRY(gr_output_write(dir, "config.json", config.chars, config.len));
  say(&x->said, x->args->words[0], &done, x->checkpoint);
  return GR_OK;
}

static gr_status export_folder(contents *x) {
  const options *flags = x->args->options;
  gr_output_folder *folder;
  x->said = gr_text_make(x->arena);
  GR_TRY(gr_output_folder_open(x->args->words[0], &folder));
  const char *dir = gr_output_folder_path(folder);
  gr_status s = flags->lora ? write_adapters(x, dir) : write_weights(x, dir);
  GR_TRY(gr_output_folder_close(folder, s));
  fputs(x->said.chars, stdout);
  return GR_OK;
}

static gr_status read_names(gr_arena *arena, const char *path, gr_name_map *out) {
  const char *installed = gr_is_file(path) ? NULL : gr_args_installed(arena, path);
  return gr_name_map_read(arena, installed ? installed : path, out);
}

static gr_status export_from(gr_arena *arena, const gr_args *args, gr_checkpoint *c) {
  const options *flags = args->options;
  gr_checkpoint_adapter *adapters = NULL;
  gr_checkpoint_exported done;
  gr_name_map names = {0};
  int n;
  GR_TRY(gr_checkpoint_adapters(arena, c, &adapters, &n));
  if ((flags->lora || flags->merge) && !n) return no_adapters(c);
  if (flags->names) GR_TRY(read_names(arena, flags->names, &names));
  gr_export_request request = {
      .what = what_of(args), .merge = flags->merge, .names = names.items, .n_names = names.n};
  contents x = {arena, args, c, &request, adapters, n, &names, {0}};
  if (flags->lora) return export_folder(&x);
  if (flags->names && n && !flags->merge)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                           "'%s' has adapters, for which --names has no "
                           "place beside the weights",
                           gr_checkpoint_path(c)),
                   "--merge-lora adds them to the weights, --lora writes them alone");
  if (flags->names) return export_folder(&x);
  GR_TRY(gr_checkpoint_export(c, args->words[0], &request, &done));
  x.said = gr_text_make(arena);
  say(&x.said, args->words[0], &done, c);
  fputs(x.said.chars, stdout);
  return GR_OK;
}

static gr_status export_weights(gr_arena *arena, const gr_args *args) {
  gr_checkpoint *c = NULL;
  GR_TRY(gr_kept_checkpoint(arena, args->config, args->which, &c));
  gr_work work;
  gr_work_begin(&work, gr_launch_work_shown(), "writing weights", 0);
  gr_status s = export_from(arena, args, c);
  gr_work_end(&work);
  gr_checkpoint_close(c);
  return s;
}

static gr_status export(gr_arena *arena, const gr_args *args) {
  const options *flags = args->options;
  GR_TRY(usage(args));
  return gr_is_onnx_path(args->words[0]) ? gr_export_onnx(arena, args, &flags->onnx)
                                         : export_weights(arena, args);
}

static const gr_flag own_flags[] = {
    {"--optimizer", NULL, NULL, GR_FLAG_SET, offsetof(options, optimizer),
     "also writes the states of the optimizer"},
    {"--lora", NULL, NULL, GR_FLAG_SET, offsetof(options, lora),
     "writes the adapters alone, each as a folder that PEFT reads"},
    {"--merge-lora", NULL, NULL, GR_FLAG_SET, offsetof(options, merge),
     "adds the adapters to the weights, which are written as those of a model without"},
    {"--names", NULL, "FILE", GR_FLAG_TEXT, offsetof(options, names),
     "writes a folder as Hugging Face's libraries do, under the names of this file"},
    {"--shard-mb", NULL, "N", GR_FLAG_NUMBER, offsetof(options, shard_mb),
     "of such a folder: the most megabytes of a file (5000)"},
    {"--program", NULL, "NAME", GR_FLAG_TEXT, offsetof(options, onnx.program),
     "of a FILE.onnx: a program of the model that has inputs: of its own"},
    {"--external-data", NULL, NULL, GR_FLAG_SET, offsetof(options, onnx.beside),
     "of a FILE.onnx: writes the weights to FILE.onnx.data, as it does beyond 2 GiB"},
    {0}};

const gr_command gr_command_export = {
    .name = "export",
    .usage =
        "RUN FILE.safetensors|FILE.npz|FILE.onnx|FOLDER [--which=best|last|STEP] [--optimizer] "
        "[--lora] [--merge-lora] [--names=FILE] [--shard-mb=N] [--program=NAME] [--external-data]",
    .doc = "writes the weights of a checkpoint, or the model with them, for other programs",
    .example = "graphrun export outputs/2026-01-01/10-00-00 model.safetensors",
    .keys = "",
    .takes = {GR_FOLDER, GR_ANY_FILE, true, .operands = 2},
    .uses_weights = true,
    .kind = GR_RUN_EVAL,
    .flags = {gr_flags_kept},
    .own_flags = own_flags,
    .options = sizeof(options),
    .run = export,
};
