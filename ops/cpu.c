// cpu.c - what CPU kernels share. See cpu.h.
#include "ops/cpu.h"

int64_t gr_global_index(const gr_launch *l, int k, int64_t i) {
  const gr_type *t = &l->out_type[k];
  int64_t index = 0, stride = 1;
  for (int d = t->rank; d--;) {
    int64_t at = i % t->dim[d], size = t->dim[d];
    i /= t->dim[d];
    for (int a = l->out_layout && l->mesh ? l->mesh->n_axes : 0; a--;) {  // the last is inmost
      if (l->out_layout[k].at[a] != d) continue;
      at += l->coord[a] * size;
      size *= l->mesh->axis[a].size;
    }
    index += at * stride;
    stride *= size;
  }
  return index;
}

void gr_parallel(const gr_launch *l, int64_t n, int64_t grain, gr_part part, void *arg) {
  gr_cpu *cpu = l->device;
  if (n <= 0) return;
  if (!cpu || cpu->threads < 2 || n <= grain)
    part(arg, 0, n);
  else
    cpu->parallel(cpu, n, grain, part, arg);
}
