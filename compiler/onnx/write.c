// write.c - writes and reads a file of ONNX by the module that has protobuf-c. See onnx.h.
#include "base/module.h"
#include "compiler/onnx/onnx.h"

#ifdef GR_HAVE_PROTOBUF
static gr_status open(const gr_onnx_module **out) { return gr_module_open("onnx", out); }
#else
static gr_status open(const gr_onnx_module **out) {
  *out = NULL;
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
              "this graphrun was built without protobuf-c, "
              "which writes and reads files of ONNX"),
      "install libprotobuf-c-dev and protobuf-c-compiler (tools/setup), and build again");
}
#endif

gr_status gr_onnx_available(void) {
  const gr_onnx_module *module;
  return open(&module);
}

gr_status gr_onnx_file(const gr_onnx_model *m, FILE *to) {
  const gr_onnx_module *module;
  GR_TRY(open(&module));
  gr_arena *a = gr_arena_create();
  return gr_arena_end(a, module->write(a, m, to));
}

enum { MAX_FILE = INT32_MAX };  // bytes, of any message of protocol buffers

bool gr_onnx_fits(const gr_onnx_graph *g) {
  enum { NODES = 1 << 25 };  // what is left for them, names and texts
  size_t bytes = NODES;
  for (const gr_onnx_tensor *x = g->tensors; x; x = x->next) bytes += gr_type_bytes(&x->type);
  return bytes <= MAX_FILE;
}

gr_status gr_onnx_load(gr_arena *a, const char *path, gr_onnx_graph **out) {
  const gr_onnx_module *module;
  char *bytes = NULL;
  size_t n = 0;
  GR_TRY(open(&module));
  gr_arena *work = gr_arena_create();
  gr_status s = gr_file_read(work, path, MAX_FILE, &bytes, &n);
  if (!s) s = module->read(a, path, bytes, n, out);
  return gr_arena_end(work, s);
}
