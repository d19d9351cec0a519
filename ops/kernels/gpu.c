// gpu.c - see gpu.h.
#include "ops/kernels/gpu.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "base/arena.h"

static gr_gpu_launch *append(gr_gpu_call *g, gr_gpu_kind kind) {
  assert(g->n < GR_GPU_LAUNCHES);
  gr_gpu_launch *l = &g->launch[g->n++];
  memset(l, 0, sizeof *l);
  l->kind = kind;
  return l;
}

gr_gpu_kernel *gr_gpu_kernel_add(gr_gpu_call *g, const char *source, const char *entry,
                                 int64_t items, int threads) {
  assert(source && entry);
  gr_gpu_kernel *k = &append(g, GR_GPU_KERNEL)->kernel;
  int64_t blocks = (items + threads - 1) / threads;
  if (blocks < 1) blocks = 1;
  if (blocks > INT32_MAX) blocks = INT32_MAX;
  *k = (gr_gpu_kernel){.source = source, .entry = entry, .blocks = blocks, .threads = threads};
  return k;
}

static void number(gr_gpu_kernel *k, gr_gpu_number n) {
  assert(k->n_numbers < GR_GPU_NUMBERS);
  k->number[k->n_numbers++] = n;
}

void gr_gpu_int(gr_gpu_kernel *k, int64_t i) { number(k, (gr_gpu_number){.i = i}); }

void gr_gpu_real(gr_gpu_kernel *k, double r) { number(k, (gr_gpu_number){.real = true, .r = r}); }

// A part's elements form runs that are contiguous in the global value. Runs are at equal distances;
// so are groups of runs, once for each further dimension that is sharded.
static void put_global(const gr_gpu_call *g, gr_gpu_kernel *kernel, const gr_type *t, int k) {
  const gr_launch *w = g->where;
  int axes = w && w->out_layout && w->mesh ? w->mesh->n_axes : 0, n = 0;
  int64_t size[GR_MAX_MESH + 1] = {1, 1, 1, 1}, step[GR_MAX_MESH + 1] = {1, 1, 1, 1};
  int64_t base = 0, stride = 1;
  for (int d = t->rank; d--;) {
    if (stride == size[n] * step[n])
      size[n] *= t->dim[d];
    else
      size[++n] = t->dim[d], step[n] = stride;
    int64_t whole = t->dim[d];
    for (int a = axes; a--;) {  // the order of gr_global_index
      if (w->out_layout[k].placement[a] != d) continue;
      base += w->coord[a] * whole * stride;
      whole *= w->mesh->axis[a].size;
    }
    stride *= whole;
  }
  const int64_t number[] = {base, size[0], size[1], step[1], size[2], step[2], step[3]};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++) gr_gpu_int(kernel, number[i]);
}

void gr_gpu_global(const gr_gpu_call *g, gr_gpu_kernel *kernel, int k) {
  put_global(g, kernel, &g->call->out[k], k);
}

void gr_gpu_global_of(const gr_gpu_call *g, gr_gpu_kernel *kernel, const gr_type *t) {
  put_global(g, kernel, t, 0);
}

void gr_gpu_define(gr_gpu_call *g, gr_gpu_kernel *k, const char *name, const char *format, ...) {
  char value[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(value, sizeof value, format, args);
  va_end(args);
  k->defines =
      gr_arena_printf(g->arena, "%s#define %s %s\n", k->defines ? k->defines : "", name, value);
}

void gr_gpu_gemm_add(gr_gpu_call *g, const gr_gpu_gemm *gemm) {
  append(g, GR_GPU_GEMM)->gemm = *gemm;
}

void gr_gpu_conv_add(gr_gpu_call *g, const gr_gpu_conv *conv) {
  append(g, GR_GPU_CONVOLUTION)->conv = *conv;
}

static int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

int64_t gr_gpu_mask_pitch(int64_t s) {
  enum { ROW = 8 };  // rows begin at multiples of 16 bytes
  return rounded_up(s, ROW);
}

int64_t gr_gpu_mask_bytes(const gr_gpu_attention *a, int64_t samples, int64_t heads) {
  enum { LINE = 256 };
  int64_t size = (int64_t)gr_dtypes[a->dtype].size;
  if (!a->arrays[GR_GPU_MASK].space) return 0;
  return rounded_up(samples * heads * a->t * gr_gpu_mask_pitch(a->s) * size, LINE);
}

int64_t gr_gpu_attention_bytes(const gr_gpu_attention *a, int64_t samples, int64_t heads) {
  enum { TILE = 64 };
  int64_t scores = rounded_up(a->t, TILE) * rounded_up(a->s, TILE);
  int64_t size = a->gradient ? (int64_t)gr_dtypes[a->dtype].size : 0;
  return gr_gpu_mask_bytes(a, samples, heads) + samples * heads * scores * size;
}

void gr_gpu_attention_add(gr_gpu_call *g, const gr_gpu_attention *attention) {
  append(g, GR_GPU_ATTENTION)->attention = *attention;
}

void gr_gpu_copy_add(gr_gpu_call *g, gr_gpu_ref target, gr_gpu_ref source, size_t bytes) {
  append(g, GR_GPU_COPY)->copy = (gr_gpu_copy){target, source, bytes};
}
