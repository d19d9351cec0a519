// fuzz_onnx.c - any bytes are a model of ONNX, whose text is one of the graph language, or an
// error. Tensors may be in the file `w` beside it.
#include "fuzz_folder.h"  // first, as it defines _GNU_SOURCE

#include "compiler/onnx/onnx.h"

const fuzz_budget fuzz_memory = {256 << 20, 20000};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const float weights[64] = {0.5f, -1, 2, 3};
  static bool beside;
  if (!beside) fuzz_put("w", weights, sizeof weights), beside = true;
  const char *path = fuzz_put("model.onnx", data, size);
  gr_arena *a = gr_arena_create();
  gr_onnx_imported m = {.text = NULL};
  gr_status s = gr_onnx_import(a, path, size & 1, &m);
  HOLDS(s ? 1 : m.text != NULL);
  if (!s) {
    gr_conf *graph = NULL;
    HOLDS(!gr_conf_parse(a, "graph", m.text, &graph) && graph->kind == GR_CONF_MAP);
  }
  fuzz_print(s);
  gr_arena_destroy(a);
  return 0;
}
