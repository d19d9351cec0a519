// source.c - see source.h.
#include "ops/kernels/source.h"
#include "base/work.h"
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"

gr_status gr_source_shape(gr_op_call *s, const gr_ints *shape, gr_dtype dtype) {
  s->out[0] = (gr_type){.dtype = dtype, .rank = (int)shape->n};
  for (int d = 0; d < s->out[0].rank; d++) s->out[0].dim[d] = shape->items[d];
  return GR_OK;
}

typedef struct work {
  const gr_launch *l;
  const gr_rng *rng;
  gr_draw draw;
  gr_draw_f32 draw_f32;  // instead, straight to the result
  int64_t run;  // the number of consecutive elements that are also contiguous in the global value
  gr_work *phase;
  int64_t bytes;  // of an element
} work;

static bool is_split(const gr_launch *l, int d) {
  for (int a = 0; l->out_layout && l->mesh && a < l->mesh->n_axes; a++)
    if (l->out_layout->placement[a] == d) return true;
  return false;
}

static int64_t run_of(const gr_launch *l) {
  int64_t run = 1;
  for (int d = l->out_type->rank; d--;) {
    run *= l->out_type->dim[d];
    if (is_split(l, d)) break;
  }
  return run;
}

static void part(void *arg, int64_t begin, int64_t end) {
  enum { MAX_DRAW = 512 };
  const work *w = arg;
  const gr_launch *l = w->l;
  double x[MAX_DRAW];
  for (int64_t i = begin, n; i < end && !gr_stop_due(); i += n) {
    n = gr_min_i64(gr_min_i64(MAX_DRAW, end - i), w->run - i % w->run);
    uint64_t first = (uint64_t)gr_global_index(l, 0, i);
    if (w->draw_f32)
      w->draw_f32(w->rng, first, n, (float *)l->out[0] + i);
    else
      w->draw(w->rng, l->attr, first, n, x);
    for (int64_t k = 0; !w->draw_f32 && k < n; k++) OUT(0, i + k, x[k]);
    gr_work_add(w->phase, n * w->bytes);
  }
}

static gr_status run(work *w) {
  const gr_launch *l = w->l;
  gr_type one = {.dtype = l->out_type->dtype};
  w->run = run_of(l), w->phase = gr_work_current(), w->bytes = (int64_t)gr_type_bytes(&one);
  gr_parallel(l, gr_type_count(l->out_type), 4096, part, w);
  return gr_stop_check();
}

gr_status gr_source_draw(const gr_launch *l, const gr_rng *rng, gr_draw draw) {
  return run(&(work){.l = l, .rng = rng, .draw = draw});
}

gr_status gr_source_draw_f32(const gr_launch *l, const gr_rng *rng, gr_draw_f32 draw) {
  return run(&(work){.l = l, .rng = rng, .draw_f32 = draw});
}

// ---- Initial values -----------------------------------------------------------------------------

gr_status gr_init_infer(gr_op_call *s) {
  return gr_source_shape(s, &((const gr_init *)s->attr)->shape, GR_F32);
}

static gr_rng rng_of(const gr_init *a) {
  return (gr_rng){.seed = (uint64_t)a->seed, .stream = a->stream};
}

gr_status gr_init_draw(const gr_launch *l, gr_draw draw) {
  gr_rng rng = rng_of(l->attr);
  return gr_source_draw(l, &rng, draw);
}

GR_CU(init);

gr_status gr_init_gpu(gr_gpu_call *g) {
  const gr_init *a = g->call->attr;
  gr_rng rng = rng_of(a);
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(g, gr_cu_init, g->call->op->name, gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_int(k, (int64_t)gr_rng_key(&rng));
  gr_gpu_real(k, a->first), gr_gpu_real(k, a->second);
  gr_gpu_global(g, k, 0);
  return GR_OK;
}
