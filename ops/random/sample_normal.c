// sample_normal.c - random numbers of a value's shape, from the standard normal distribution.
#include "ops/kernels/pointwise.h"
#include "ops/kernels/sample.h"
#include "ops/ops.h"

static void draw(const gr_rng *rng, const void *attr, uint64_t first, int64_t n, double *out) {
  (void)attr;
  gr_rng_normals(rng, first, n, out);
}

static gr_status sample_normal_cpu(const gr_launch *l) {
  gr_rng rng = gr_sample_rng(l);
  return gr_source_draw(l, &rng, draw);
}

static gr_status run_f32(const gr_launch *l) {
  gr_rng rng = gr_sample_rng(l);
  return gr_source_draw_f32(l, &rng, gr_rng_normals_f32);
}

static void read(gr_onnx_reading *r) {
  double mean = gr_read_float(r, "mean", 0);
  gr_sample_read(r, mean, gr_read_float(r, "scale", 1));
}

const gr_op gr_op_sample_normal = {
    GR_SAMPLE_FIELDS(sample_normal),
    .doc =
        "Random numbers of mean 0 and deviation 1, other ones in each step, in the shape of x, "
        "whose elements do not matter. In a loop each of its steps gets others.",
    .from_onnx = GR_FROM_ONNX({"RandomNormalLike", read}),
};
