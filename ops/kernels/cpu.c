// cpu.c - helpers of CPU kernels. See cpu.h.
#include "ops/kernels/cpu.h"
#include <assert.h>

int64_t gr_global_index(const gr_launch *l, int k, int64_t i) {
  assert(k >= 0 && i >= 0);
  const gr_type *t = l->whole ? l->whole : &l->out_type[k];
  int64_t index = 0, stride = 1;
  i += l->first;
  for (int d = t->rank; d--;) {
    int64_t coordinate = i % t->dim[d], size = t->dim[d];
    i /= t->dim[d];
    // of several mesh axes that shard one dimension, the last is innermost
    for (int a = l->out_layout && l->mesh ? l->mesh->n_axes : 0; a--;) {
      if (l->out_layout[k].placement[a] != d) continue;
      coordinate += l->coord[a] * size;
      size *= l->mesh->axis[a].size;
    }
    index += coordinate * stride;
    stride *= size;
  }
  return index;
}

void gr_parallel(const gr_launch *l, int64_t n, int64_t grain, gr_part part, void *arg) {
  assert(n >= 0 && part);
  gr_cpu *cpu = l->context;
  if (n <= 0) return;
  if (!cpu || cpu->threads < 2 || n <= grain)
    part(arg, 0, n);
  else
    cpu->parallel(cpu, n, grain, part, arg);
}

typedef struct copy {
  char *target;
  const char *source;
  int64_t to_step, from_step, bytes;
} copy;

static void copy_rows(void *arg, int64_t begin, int64_t end) {
  const copy *c = arg;
  for (int64_t i = begin; i < end; i++)
    memcpy(c->target + i * c->to_step, c->source + i * c->from_step, (size_t)c->bytes);
}

void gr_copy_rows(const gr_launch *l, void *target, int64_t to_step, const void *source,
                  int64_t from_step, int64_t bytes, int64_t rows) {
  assert(bytes >= 0 && rows >= 0);
  enum { PIECE = 1 << 16 };
  if (to_step == bytes && from_step == bytes && bytes * rows > PIECE) {  // contiguous: divide it
    int64_t whole = bytes * rows / PIECE * PIECE;
    gr_parallel(l, whole / PIECE, 1, copy_rows, &(copy){target, source, PIECE, PIECE, PIECE});
    memcpy((char *)target + whole, (const char *)source + whole, (size_t)(bytes * rows - whole));
    return;
  }
  gr_parallel(l, rows, 1 + PIECE / (bytes + 1), copy_rows,
              &(copy){target, source, to_step, from_step, bytes});
}

gr_status gr_copy_all(const gr_launch *l) {
  int64_t bytes = (int64_t)gr_type_bytes(l->out_type);
  if (l->out[0] != l->in[0]) gr_copy_rows(l, l->out[0], bytes, l->in[0], bytes, bytes, 1);
  return GR_OK;
}
