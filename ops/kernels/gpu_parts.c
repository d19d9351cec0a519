// gpu_parts.c - see gpu_parts.h.
#include "ops/kernels/gpu_parts.h"
#include <assert.h>
#include "base/arena.h"
#include "ops/kernels/operands.h"

GR_CU(box);
GR_CU(rows);

size_t gr_gpu_take_scratch(gr_gpu_call *g, size_t bytes) {
  size_t offset = g->scratch;
  g->scratch += (bytes + 255) / 256 * 256;
  return offset;
}

static gr_gpu_ref place(gr_gpu_space space, int k, const gr_type *t, int64_t index) {
  return (gr_gpu_ref){space, k, (size_t)index * gr_dtypes[t->dtype].size};
}

gr_gpu_ref gr_gpu_in(const gr_gpu_call *g, int k, int64_t index) {
  assert(k >= 0 && k < g->call->n_in && index >= 0);
  return place(GR_GPU_IN, k, &g->call->in[k], index);
}

gr_gpu_ref gr_gpu_out(const gr_gpu_call *g, int k, int64_t index) {
  assert(k >= 0 && k < g->call->n_out && index >= 0);
  return place(GR_GPU_OUT, k, &g->call->out[k], index);
}

void gr_gpu_define_list(gr_gpu_call *g, gr_gpu_kernel *k, const char *name, int n) {
  gr_text list = gr_text_make(g->arena);
  for (int i = 0; i < n; i++) gr_text_printf(&list, "F(%d) ", i);
  gr_gpu_define(g, k, gr_arena_printf(g->arena, "%s(F)", name), "%s", n ? list.chars : "");
}

static int64_t pack_of(gr_dtype d) { return 16 / gr_dtypes[d].size; }

gr_gpu_kernel *gr_gpu_elements(gr_gpu_call *g, const char *source, const char *entry) {
  int64_t n = gr_type_count(&g->call->out[0]), pack = pack_of(g->call->out[0].dtype);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, source, entry, (n + pack - 1) / pack, 256);
  gr_gpu_int(k, n);
  return k;
}

void gr_gpu_copy_box(gr_gpu_call *g, const gr_gpu_box *b) {
  int64_t n = gr_type_count(&g->call->out[0]);
  bool joins = g->call->op->multi_tensor;               // as copies do not
  bool one = b->rows == 1 || b->x_width == b->columns;  // run of elements in x
  if (one && b->y_width == b->columns && b->rows * b->columns == n && !joins) {
    size_t bytes = gr_type_bytes(&g->call->out[0]);
    gr_gpu_copy_add(g, gr_gpu_out(g, 0, 0), gr_gpu_in(g, 0, b->x_from), bytes);
    return;
  }
  gr_gpu_kernel *k = gr_gpu_elements(g, gr_cu_box, "copy_rows");
  gr_gpu_int(k, b->rows), gr_gpu_int(k, b->columns);
  gr_gpu_int(k, b->x_width), gr_gpu_int(k, b->x_from);
  gr_gpu_int(k, b->y_width), gr_gpu_int(k, b->y_from);
}

// ---- Rows -----------------------------------------------------------------------------------

typedef struct team {
  int threads, held, pack;
} team;

// A warp for a row of up to 512 elements, else the smallest block whose threads keep few elements
// each: a thread has at most 64 registers where 1,024 share those of a processor. A kernel that
// keeps much for each element has fewer threads, and a warp for a row of up to 256.
static team team_of(gr_dtype d, int64_t n, int most) {
  int held = d == GR_F64 ? 4 : 8, in_warp = most == 1024 ? 2 * held : held, threads = 32;
  if (n <= in_warp * 32)
    held = in_warp;
  else
    for (threads = 128; threads < most && threads * held < n; threads *= 2) continue;
  if (threads * held < n) return (team){threads, 0, 1};
  team t = {threads, held, n % pack_of(d) ? 1 : (int)pack_of(d)};
  while (t.held / 2 >= t.pack && threads * t.held / 2 >= n) t.held /= 2;
  return t;
}

gr_gpu_kernel *gr_gpu_rows(gr_gpu_call *g, const char *source, const char *entry, gr_dtype widest,
                           int64_t teams, int64_t n, int most) {
  team t = team_of(widest, n, most);
  int threads = t.threads == 32 ? 128 : t.threads;
  source = gr_arena_join(g->arena, (const char *[]){gr_cu_rows, source}, 2);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, source, entry, teams * t.threads, threads);
  k->warps = t.threads == 32, k->declared = 8 * 32 * sizeof(double);
  gr_gpu_define(g, k, "TEAM", "%d", t.threads);
  gr_gpu_define(g, k, "THREADS", "%d", threads);
  gr_gpu_define(g, k, "HELD", "%d", t.held);
  gr_gpu_define(g, k, "PACK", "%d", t.pack);
  gr_gpu_define(g, k, "WIDEST", "%s", gr_gpu_type(widest));
  return k;
}

const char *gr_gpu_type(gr_dtype d) {
  switch (d) {
    case GR_F32:
      return "float";
    case GR_F64:
      return "double";
    case GR_BF16:
      return "bf16";
    case GR_F16:
      return "f16";
    case GR_I32:
      return "int";
    case GR_I64:
      return "long long";
    case GR_U8:
      return "unsigned char";
    case GR_DTYPE_COUNT:
      break;
  }
  return NULL;
}

gr_status gr_gpu_refuse(const gr_op_call *call) {
  char type[96];
  bool typed = call->n_in > 0;
  return gr_hint(
      gr_fail(GR_ERR_UNSUPPORTED, call->loc, "op '%s' has no kernel for the device 'cuda'%s%s",
              call->op->name, typed ? " on " : "", typed ? gr_type_text(&call->in[0], type) : ""),
      "device=cpu runs every op");
}

static void number(gr_text *out, double value) {
  char text[40];
  if (isnan(value))
    snprintf(text, sizeof text, "GR_NAN");
  else if (isinf(value))
    snprintf(text, sizeof text, "%sGR_INFINITY", value < 0 ? "-" : "");
  else
    snprintf(text, sizeof text, "%.17g", value);
  bool integer = !text[strcspn(text, ".eG")];  // in C; and -0 would be 0
  gr_text_printf(out, "%s%s", text, integer ? ".0" : "");
}

void gr_gpu_constants(gr_text *out, const gr_op_call *call) {
  for (const gr_attr *a = call->op->attrs; a && a->name; a++) {
    const char *field = (const char *)call->attr + a->offset;
    double value = 0;
    if (a->kind == GR_ATTR_FLOAT)
      memcpy(&value, field, sizeof value);
    else if (a->kind == GR_ATTR_INT || a->kind == GR_ATTR_BOOL)
      value = (double)*(const int64_t *)(const void *)field;
    else
      continue;
    gr_text_printf(out, "  const W %s = (W)", a->name);
    number(out, value);
    gr_text_put(out, ";\n");
  }
}

gr_status gr_gpu_copy_all(gr_gpu_call *g) {
  gr_gpu_copy_add(g, gr_gpu_out(g, 0, 0), gr_gpu_in(g, 0, 0), gr_type_bytes(&g->call->out[0]));
  return GR_OK;
}
