// import.c - `graphrun import FILE.onnx`: a model of another program in the graph language.
#include <stddef.h>
#include <string.h>
#include "base/output.h"
#include "cli/commands.h"
#include "compiler/onnx/onnx.h"
#include "job/model_file.h"
#include "runtime/checkpoint/safetensors.h"

static gr_status usage(const gr_args *args) {
  bool yaml = !args->out || gr_ends_in(args->out, ".yaml");
  if (args->config && gr_is_onnx_path(args->config) && !args->n_overrides && yaml) return GR_OK;
  gr_status s = !args->config ? gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no file is given to import")
                : !yaml ? gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' does not end in .yaml", args->out)
                : args->n_overrides
                    ? gr_fail(GR_ERR_USAGE, GR_NOWHERE, "one file is imported at a time")
                    : gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' does not end in .onnx", args->config);
  bool other = args->config && yaml && !args->n_overrides;
  s = gr_hint(s,
              "graphrun import FILE.onnx [-o GRAPH.yaml] [--flat]; with -o the weights are "
              "written beside it, as GRAPH.safetensors, which model.init_from takes; "
              "without, the graph is printed");
  if (!other) return s;
  return gr_hint(s,
                 "of PyTorch torch.onnx.export(MODEL, EXAMPLE, \"model.onnx\", dynamo=True) writes "
                 "such a file; weights alone are for model.init_from, as .safetensors");
}

static gr_status import(gr_arena *a, const gr_args *args) {
  gr_onnx_imported m;
  GR_TRY(usage(args));
  GR_TRY(gr_onnx_import(a, args->config, args->flat, &m));
  if (!args->out) {
    gr_print_lines(stdout, m.text);
    return GR_OK;
  }
  const char *weights =
      gr_arena_printf(a, "%.*s.safetensors", (int)strlen(args->out) - 5, args->out);
  GR_TRY(gr_output_write(NULL, args->out, m.text, strlen(m.text)));  // not over the user's graph
  GR_TRY(gr_safetensors_write(weights, gr_onnx_slices(a, &m), m.n_weights));
  printf("%s: the model of %s, %d nodes there\n%s: its %d weights, for model.init_from\n",
         args->out, args->config, m.n_nodes, weights, m.n_weights);
  return GR_OK;
}

static const gr_flag out_flags[] = {{"--out", "-o", "FILE", GR_FLAG_TEXT, offsetof(gr_args, out),
                                     "writes the graph to this file, and the weights beside it"},
                                    {"--flat", NULL, NULL, GR_FLAG_SET, offsetof(gr_args, flat),
                                     "writes what repeats as often as it is there"},
                                    {0}};

const gr_command gr_command_import = {
    .name = "import",
    .usage = "FILE.onnx [-o GRAPH.yaml] [--flat]",
    .doc = "a model of ONNX in the graph language, and its weights",
    .example = "graphrun import model.onnx -o graph.yaml",
    .keys = "model.graph model.inputs model.loss model.metrics model.init_from",
    .takes = {GR_ANY_FILE, GR_NO_OPERAND, false},
    .flags = {out_flags},
    .run = import,
};
