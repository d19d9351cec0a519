// sample_uniform.c - random numbers of a value's shape, from the uniform distribution on [0, 1).
#include "ops/kernels/pointwise.h"
#include "ops/kernels/sample.h"
#include "ops/ops.h"

static void draw(const gr_rng *rng, const void *attr, uint64_t first, int64_t n, double *out) {
  (void)attr;
  gr_rng_uniforms(rng, first, n, out);
}

static gr_status sample_uniform_cpu(const gr_launch *l) {
  gr_rng rng = gr_sample_rng(l);
  return gr_source_draw(l, &rng, draw);
}

static gr_status run_f32(const gr_launch *l) {
  gr_rng rng = gr_sample_rng(l);
  return gr_source_draw_f32(l, &rng, gr_rng_uniforms_f32);
}

static void read(gr_onnx_reading *r) {
  double low = gr_read_float(r, "low", 0);
  gr_sample_read(r, low, gr_read_float(r, "high", 1) - low);
}

const gr_op gr_op_sample_uniform = {
    GR_SAMPLE_FIELDS(sample_uniform),
    .doc =
        "Random numbers from 0 to 1, other ones in each step, in the shape of x, whose elements do "
        "not matter. In a loop each of its steps gets others.",
    .from_onnx = GR_FROM_ONNX({"RandomUniformLike", read}),
};
