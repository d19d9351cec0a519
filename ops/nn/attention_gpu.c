// attention_gpu.c - attention on a GPU: a library's, where it has it, or the kernels of
// attention.cu and attention_grad.cu.
//
// With lengths, the library's call is between two kernels (attention_lengths.cu): what one prepares
// from the lengths, and what the library leaves undone. With dropout, one writes which weights are
// kept (attention_mask.cu), before each part of the library's call.
#include "base/arena.h"
#include "ops/kernels/operands.h"
#include "ops/nn/attention.h"
#include "ops/ops.h"

GR_CU(tile);
GR_CU(attention);
GR_CU(attention_grad);
GR_CU(attention_lengths);
GR_CU(attention_mask);
GR_CU(attention_tile);

static gr_attention sizes_of(const gr_gpu_call *g) {
  const gr_op_call *s = g->call;
  gr_launch l = {.attr = s->attr, .n_in = s->n_in, .n_out = s->n_out};
  l.in_type = s->in, l.out_type = s->out;
  if (g->where) l.out_layout = g->where->out_layout, l.mesh = g->where->mesh;
  if (g->where) l.coord = g->where->coord;
  return gr_attention_of(&l);
}

// ---- By a library -------------------------------------------------------------------------------

enum { COLUMNS = 8, MAX_COLUMNS = 256 };

static bool fits(const gr_type *t) {
  int64_t width = gr_last(t), n = gr_type_count(t);
  return width % COLUMNS == 0 && width <= MAX_COLUMNS && n > 0 && n <= INT32_MAX;
}

// Whether a library can have the call, which the working memory depends on.
static bool suits(const gr_op_call *s) {
  const gr_type *q = &s->in[ATTENTION_Q];
  bool gradient = s->n_out == 3, all = gr_is_narrow(q->dtype);
  for (int i = 0; i < (gradient ? ATTENTION_LSE : ATTENTION_IN); i++)
    all &= s->in[i].dtype == q->dtype && fits(&s->in[i]);
  for (int i = 0; i < (gradient ? 3 : 1); i++) all &= s->out[i].dtype == q->dtype;
  const gr_type *lse = gradient ? &s->in[ATTENTION_LSE] : s->n_out > 1 ? &s->out[1] : NULL;
  const struct attention *a = s->attr;
  bool end = a->causal && a->align == ATTENTION_END;
  return all && (!lse || lse->dtype == GR_F32) && !end;
}

// Working memory: of gradients, numbers of rows; with lengths the numbers of rows and of keys; and
// what the library takes, where the device's own is little for that, or has to hold a mask.
typedef struct room {
  size_t delta, counts, library;  // bytes; counts: of each of the two
} room;
static size_t lined(size_t bytes) { return (bytes + 255) / 256 * 256; }

// The mask and the scores' gradients of all samples, but not more than the device's own memory for
// that or half of what the call reads and writes: the library then computes some samples or heads
// at a time.
static size_t library_bytes(const gr_op_call *s) {
  enum { SLACK = 1 << 20 };
  const gr_type *q = &s->in[ATTENTION_Q], *k = &s->in[ATTENTION_K];
  bool drops = ((const struct attention *)s->attr)->p > 0;
  gr_gpu_attention a = {
      .dtype = q->dtype, .gradient = s->n_out == 3, .t = q->dim[1], .s = k->dim[1]};
  if (drops) a.arrays[GR_GPU_MASK].space = GR_GPU_SCRATCH;
  int64_t all = gr_gpu_attention_bytes(&a, q->dim[0], q->dim[2]);
  size_t half = (gr_types_bytes(s->in, s->n_in) + gr_types_bytes(s->out, s->n_out)) / 2;
  int64_t most = gr_max_i64((int64_t)half, GR_GPU_LIBRARY_BYTES);
  if (drops)
    most = gr_min_i64(most, INT32_MAX);  // a library may count a mask's elements in 32 bits
  int64_t bytes = gr_min_i64(all, most);
  return drops || bytes > GR_GPU_LIBRARY_BYTES ? lined((size_t)bytes + SLACK) : 0;
}
static room room_of(const gr_op_call *s) {
  const gr_type *q = &s->in[ATTENTION_Q];
  room r = {0};
  if (s->n_out == 3) r.delta = lined(gr_gpu_wide(q->dtype) * (size_t)gr_rows(q));
  if (suits(s) && gr_attention_lengths(s) >= 0)
    r.counts = lined(sizeof(int32_t) * (size_t)q->dim[0]);
  if (suits(s)) r.library = library_bytes(s);
  return r;
}

static gr_gpu_attention describe(const gr_gpu_call *g, const gr_attention *a, room r) {
  bool gradient = g->call->n_out == 3;
  gr_gpu_attention l = {.dtype = g->call->in[ATTENTION_Q].dtype,
                        .gradient = gradient,
                        .causal = a->causal,
                        .n = a->n,
                        .t = a->t,
                        .s = a->s,
                        .heads = a->heads,
                        .d = a->d,
                        .e = a->e,
                        .scale = a->scale};
  static const int operands[] = {ATTENTION_Q, ATTENTION_K, ATTENTION_V};
  for (int i = 0; i < 3; i++) l.arrays[GR_GPU_Q + i] = (gr_gpu_ref){GR_GPU_IN, operands[i], 0};
  if (gradient) {
    l.arrays[GR_GPU_Y] = (gr_gpu_ref){GR_GPU_IN, ATTENTION_Y, 0};
    l.arrays[GR_GPU_DY] = (gr_gpu_ref){GR_GPU_IN, ATTENTION_DY, 0};
    l.arrays[GR_GPU_LSE] = (gr_gpu_ref){GR_GPU_IN, ATTENTION_LSE, 0};
    for (int i = 0; i < 3; i++) l.arrays[GR_GPU_DQ + i] = (gr_gpu_ref){GR_GPU_OUT, i, 0};
    l.arrays[GR_GPU_DELTA] = (gr_gpu_ref){GR_GPU_SCRATCH, 0, 0};
  } else {
    l.arrays[GR_GPU_Y] = (gr_gpu_ref){GR_GPU_OUT, 0, 0};
    if (g->call->n_out > 1) l.arrays[GR_GPU_LSE] = (gr_gpu_ref){GR_GPU_OUT, 1, 0};
  }
  l.room_bytes = (int64_t)r.library;
  l.keep = a->keep;
  if (r.library) l.room = (gr_gpu_ref){GR_GPU_SCRATCH, 0, r.delta + 2 * r.counts};
  if (a->drops) l.arrays[GR_GPU_MASK] = l.room;
  if (!r.counts) return l;
  l.arrays[GR_GPU_ROWS] = (gr_gpu_ref){GR_GPU_SCRATCH, 0, r.delta};
  l.arrays[GR_GPU_KEYS] = (gr_gpu_ref){GR_GPU_SCRATCH, 0, r.delta + r.counts};
  return l;
}

// Appends a kernel with threads for so many items, whose text follows attention_tile.cu, and its
// numbers up to those that are its own.
static gr_gpu_kernel *add_kernel(gr_gpu_call *g, const char *text, const char *entry, int64_t items,
                                 int64_t cols) {
  gr_attention a = sizes_of(g);
  text = gr_arena_join(g->arena, (const char *[]){gr_cu_tile, gr_cu_attention_tile, text}, 3);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, text, entry, items, GR_GPU_BLOCK);
  gr_gpu_define(g, k, "LENGTHS", "%d", gr_attention_lengths(g->call) >= 0);
  gr_gpu_define(g, k, "DROPS", "%d", a.drops);
  gr_gpu_define(g, k, "COLS", "%d", (int)cols);
  if (g->scratch) gr_gpu_define(g, k, "SCRATCH", "1");
  const int64_t sizes[] = {a.t, a.s, a.heads, a.d, a.e, a.causal + a.align_end};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) gr_gpu_int(k, sizes[i]);
  gr_gpu_real(k, a.scale);
  gr_gpu_int(k, (int64_t)gr_rng_key(&a.rng)), gr_gpu_int(k, a.least), gr_gpu_real(k, a.keep);
  gr_gpu_int(k, a.first_sample), gr_gpu_int(k, a.first_head), gr_gpu_int(k, a.all_heads);
  return k;
}

static void add_around(gr_gpu_call *g, int64_t n, room r, const char *entry, int64_t items) {
  gr_gpu_kernel *k = add_kernel(g, gr_cu_attention_lengths, entry, gr_gpu_items(items), 1);
  gr_gpu_int(k, (int64_t)r.delta), gr_gpu_int(k, (int64_t)r.counts), gr_gpu_int(k, n);
}

static void add_mask(gr_gpu_call *g, const gr_attention *a, size_t offset) {
  int64_t pitch = gr_gpu_mask_pitch(a->s), items = a->n * a->heads * a->t * pitch / 8;
  gr_gpu_kernel *k = add_kernel(g, gr_cu_attention_mask, "attention_mask", gr_gpu_items(items), 1);
  k->of_part = true;
  gr_gpu_int(k, (int64_t)offset), gr_gpu_int(k, pitch);
  const int64_t part[] = {0, 0, a->n, a->heads};
  for (size_t i = 0; i < sizeof part / sizeof *part; i++) gr_gpu_int(k, part[i]);
}

static gr_status by_library(gr_gpu_call *g, room r) {
  const gr_attention a = sizes_of(g);
  const gr_gpu_attention l = describe(g, &a, r);
  int64_t rows = a.n * a.t * a.heads, keys = a.n * a.s * a.heads;
  if (r.counts) add_around(g, a.n, r, "attention_counts", a.n);
  if (a.drops) add_mask(g, &a, l.room.offset);
  gr_gpu_attention_add(g, &l);
  if (r.counts && l.gradient)
    add_around(g, a.n, r, "attention_absent", gr_max_i64(rows * a.d, keys * gr_max_i64(a.d, a.e)));
  else if (r.counts)
    add_around(g, a.n, r, "attention_empty", rows * a.e);
  return GR_OK;
}

// ---- By kernels of our own ----------------------------------------------------------------------

enum { TILE = 64 };  // GR_TILE of tile.cu
static int64_t tiles(int64_t n) { return (n + TILE - 1) / TILE; }

// Appends one with a block for each tile of `rows` of each head, and for each part of `width`
// columns of results: a thread has sums of `most` times 64 columns in its registers, half as many
// of f64.
static void add_tiles(gr_gpu_call *g, const char *text, const char *entry, int64_t rows,
                      int64_t width, int64_t most) {
  const gr_type *q = &g->call->in[ATTENTION_Q];
  if (q->dtype == GR_F64) most /= 2;
  int64_t cols = gr_min_i64(most, tiles(width)), parts = (tiles(width) + cols - 1) / cols;
  gr_gpu_kernel *k =
      add_kernel(g, text, entry, q->dim[0] * q->dim[2] * tiles(rows) * parts * GR_GPU_BLOCK, cols);
  gr_gpu_int(k, tiles(rows)), gr_gpu_int(k, parts);
}

gr_status gr_attention_gpu(gr_gpu_call *g) {
  room r = room_of(g->call);
  g->scratch = 2 * r.counts + r.library;
  if (g->layers && suits(g->call)) return by_library(g, r);
  add_tiles(g, gr_cu_attention, "attention", g->call->in[ATTENTION_Q].dim[1],
            gr_last(&g->call->in[ATTENTION_V]), 4);
  return GR_OK;
}

gr_status gr_attention_grad_gpu(gr_gpu_call *g) {
  enum { WARPS = GR_GPU_BLOCK / 32 };
  const gr_type *q = &g->call->in[ATTENTION_Q], *v = &g->call->in[ATTENTION_V];
  int64_t rows = gr_rows(q);
  room r = room_of(g->call);
  g->scratch = r.delta + 2 * r.counts + r.library;
  if (g->layers && suits(g->call)) return by_library(g, r);
  gr_gpu_kernel *k = add_kernel(g, gr_cu_attention_grad, "attention_delta",
                                (rows + WARPS - 1) / WARPS * GR_GPU_BLOCK, 1);
  gr_gpu_int(k, rows);
  add_tiles(g, gr_cu_attention_grad, "attention_rows", q->dim[1], gr_last(q), 2);
  add_tiles(g, gr_cu_attention_grad, "attention_keys", v->dim[1],
            gr_max_i64(gr_last(q), gr_last(v)), 2);
  return GR_OK;
}
