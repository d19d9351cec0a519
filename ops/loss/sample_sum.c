// sample_sum.c - the score of a loss that is spelled out: per sample the sum of all elements, and
// their number.
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/reduce.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"

static void index_spec_of(const gr_op_call *s, char buf[128]) {  // "nab->n,n"
  char x[GR_MAX_RANK + 1];
  gr_letters(x, "n", s->in[0].rank);
  snprintf(buf, 128, "%s->n,n", x);
}

static gr_status infer(gr_op_call *s) {
  if (s->in[0].rank) return gr_require_float(s, 0, "the operand");
  return gr_fail(GR_ERR_TYPE, s->loc,
                 "'sample_sum' takes an operand of at least one axis, the samples, got a scalar");
}

static void grad(const gr_grad *g) {
  gr_type x = gr_at(g->b->g, g->x[0])->type;
  gr_reduce_axes rest = {.axes.n = x.rank - 1};
  for (int d = 1; d < x.rank; d++) rest.axes.items[d - 1] = d;
  if (gr_is(g->dy[0])) g->dx[0] = gr_reduce_broadcast_back(g->b, &rest, g->dy[0], &x);
}

static gr_status sample_sum_cpu(const gr_launch *l) {
  int64_t n = l->in_type[0].dim[0], per = gr_type_count(l->in_type) / n;
  for (int64_t s = 0; s < n; s++) {
    double sum = 0;
    for (int64_t i = s * per; i < (s + 1) * per; i++) sum += IN(0, i);
    OUT(0, s, sum), OUT(1, s, (double)per);
  }
  return GR_OK;
}

static void samples_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t per = gr_type_count(l->in_type) / l->in_type[0].dim[0];
  for (int64_t s = begin; s < end; s++) {
    ((float *)l->out[0])[s] = gr_sum_f32((const float *)l->in[0] + s * per, per);
    ((float *)l->out[1])[s] = (float)per;
  }
}

static gr_status run_f32(const gr_launch *l) { return gr_run_samples(l, samples_f32); }

GR_CU(sample_sum);

static gr_status gpu(gr_gpu_call *g) {
  int64_t n = g->call->in[0].dim[0], per = gr_type_count(g->call->in) / n;
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_sample_sum, "sample_sum", n * 256, 256);
  gr_gpu_int(k, per);
  return GR_OK;
}

static const gr_case cases[] = {{{"f32[6]"}},
                                {{"f32[6,3,4]"}},
                                {{"f32[3,401]"}},
                                {{"f32[]"}, .fails = "at least one axis"},
                                {{0}}};

const gr_op gr_op_sample_sum = {
    .name = "sample_sum",
    .doc =
        "Per sample, the sum of the elements of x, and their number: the score of an elementwise "
        "loss.",
    .n_in = 1,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .grad = grad,
    .cpu = sample_sum_cpu,
    .fast_f32 = run_f32,
    .gpu = gpu,
    .amp = GR_AMP_WIDE,
    .cases = cases,
};
