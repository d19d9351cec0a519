// test_conv.c - convolutions by oneDNN against those by products, over shapes of every kind: axes,
// strides, dilations, groups, samples in parts. Without oneDNN the products are tested by test_ops.
#include "ops/kernels/gemm.h"
#include "ops/kernels/onednn.h"
#include "ops/nn/conv.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

typedef struct shape {
  int axes;
  int64_t n, c, out, groups, in[GR_SPATIAL], taps[GR_SPATIAL], stride[GR_SPATIAL], pad[GR_SPATIAL],
      dilation[GR_SPATIAL];
} shape;
static const shape shapes[] = {
    {3, 8, 32, 64, 1, {4, 6, 5}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {3, 2, 3, 16, 1, {5, 9, 8}, {3, 2, 3}, {2, 1, 3}, {0, 1, 2}, {1, 2, 1}},
    {3, 34, 8, 16, 2, {3, 4, 4}, {2, 3, 1}, {1, 2, 1}, {1, 0, 0}, {1, 1, 1}},
    {2, 17, 16, 16, 1, {1, 9, 9}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 1, 1}},
    {2, 3, 24, 24, 24, {1, 7, 9}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},
    {2, 2, 20, 12, 4, {1, 8, 8}, {1, 3, 5}, {1, 1, 2}, {0, 2, 2}, {1, 2, 1}},
    {2, 4, 64, 32, 1, {1, 6, 6}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
    {1, 5, 32, 32, 32, {1, 1, 40}, {1, 1, 5}, {1, 1, 1}, {0, 0, 4}, {1, 1, 2}},
    {2, 10, 256, 8, 1, {1, 14, 14}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}},  // in 2 products
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static gr_conv_sizes sizes_of(const shape *s) {
  gr_conv_sizes v = {.n = s->n, .c = s->c, .out = s->out, .groups = s->groups};
  v.w.axes = s->axes;
  for (int i = 0; i < GR_SPATIAL; i++) {
    v.w.in[i] = s->in[i], v.w.size[i] = s->taps[i], v.w.stride[i] = s->stride[i];
    v.w.pad[i] = s->pad[i], v.w.dilation[i] = s->dilation[i];
    v.w.out[i] = gr_windows_fit(&v.w, i);
  }
  return v;
}

static value drawn(int64_t n, uint64_t seed) {
  value v = value_make((gr_type){GR_F32, 1, {n}});
  gr_rng r = gr_rng_make(seed, "conv", 0);
  for (int64_t i = 0; i < n; i++) value_put(&v, i, gr_rng_normal(&r, (uint64_t)i));
  return v;
}

// By products: 0; by oneDNN: 1. False if it does not do this one.
static bool run(const gr_launch *l, const gr_conv_sizes *v, value *of, int what, bool library) {
  float *x = of[0].data, *w = of[1].data, *y = of[2].data;
  if (library && what == GR_ONEDNN_FORWARD) return gr_conv_library_forward(l, v, x, w, y);
  if (library && what == GR_ONEDNN_GRAD_X) return gr_conv_library_grad_x(l, v, w, y, x);
  if (library) return gr_conv_library_grad_w(l, v, x, y, w);
  if (what == GR_ONEDNN_FORWARD) return gr_conv_products_forward(l, v, x, w, y), true;
  if (what == GR_ONEDNN_GRAD_X) return gr_conv_products_grad_x(l, v, w, y, x), true;
  return gr_conv_products_grad_w(l, v, x, y, w), true;
}

// Compares one kind of one shape; false if oneDNN does not do it.
static bool compare(const gr_conv_sizes *v, int number, int what) {
  static const int made_of[] = {2, 0, 1};
  int64_t n[] = {v->n * gr_conv_in(v) * v->c, v->out * gr_conv_taps(v) * gr_conv_c(v),
                 v->n * gr_conv_windows(v) * v->out};
  value a[3], b[3];
  for (int i = 0; i < 3; i++)
    a[i] = drawn(n[i], (uint64_t)(3 * number + i)), b[i] = value_copy(&a[i]);
  size_t bytes = gr_conv_scratch(v, what == GR_ONEDNN_GRAD_W);
  value scratch = drawn((int64_t)(bytes / sizeof(float)) + 1, 9);
  gr_launch l = {.scratch = scratch.data};
  bool done = run(&l, v, b, what, true);
  int64_t worst_at = 0;
  CHECK(run(&l, v, a, what, false), "products");
  double far = done ? worst(&b[made_of[what]], &a[made_of[what]], &worst_at) : 0;
  CHECK(far < 1e-4, "shape %d, kind %d: off by %g at %lld", number, what, far, (long long)worst_at);
  for (int i = 0; i < 3; i++) value_free(&a[i]), value_free(&b[i]);
  value_free(&scratch);
  return done;
}

static void as_products(void) {
  int done = 0;
  MUST(gr_gemm_open());
  if (!gr_gemm_onednn_convs()) SKIP("built without oneDNN 2");
  for (int i = 0; i < SHAPES; i++) {
    gr_conv_sizes v = sizes_of(&shapes[i]);
    for (int what = 0; what < 3; what++) done += compare(&v, i, what);
  }
  printf("  oneDNN does %d of %d\n", done, 3 * SHAPES);
  CHECK(done >= SHAPES, "oneDNN does %d of %d", done, 3 * SHAPES);
}

// A convolution is made once: when a program is opened, not when it runs.
static void made_once(void) {
  gr_conv_sizes v = sizes_of(&shapes[0]);
  MUST(gr_gemm_open());
  const gr_onednn_convs *lib = gr_gemm_onednn_convs();
  if (!lib) SKIP("built without oneDNN 2");
  gr_onednn_shape s = {
      .kind = GR_ONEDNN_FORWARD, .axes = 3, .n = 1, .c = v.c, .out = v.out, .groups = 1};
  for (int i = 0; i < GR_SPATIAL; i++) {
    s.in[i] = v.w.in[i], s.windows[i] = v.w.out[i], s.taps[i] = v.w.size[i];
    s.stride[i] = s.dilation[i] = s.pad[i] = 1;
  }
  const gr_onednn_conv *first = lib->find(&s);
  CHECK(first && first == lib->find(&s), "two convolutions of one shape");
  s.n = 2;
  CHECK(lib->find(&s) != first, "one convolution of two shapes");
}

// As few windows at a time as a thread may be given.
static void in_pieces(gr_cpu *cpu, int64_t n, int64_t grain, gr_part part, void *arg) {
  for (int64_t i = 0; i < n && cpu; i += grain) part(arg, i, gr_min_i64(n, i + grain));
}

// A thread's windows may begin and end within a line: depthwise convolutions go along these.
static void pieces(void) {
  static const shape s = {3, 2, 24, 24, 24, {3, 6, 8}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
  gr_conv_sizes v = sizes_of(&s);
  gr_cpu cpu = {.threads = 2, .parallel = in_pieces};
  int64_t windows = v.n * gr_conv_windows(&v) * v.out;
  value x = drawn(v.n * gr_conv_in(&v) * v.c, 1), w = drawn(v.out * gr_conv_taps(&v), 2);
  value a = drawn(windows, 3), b = drawn(windows, 4);
  value scratch = drawn((int64_t)(gr_conv_scratch(&v, false) / sizeof(float)) + 1, 5);
  gr_launch whole = {.scratch = scratch.data}, parts = {.scratch = scratch.data, .context = &cpu};
  gr_conv_products_forward(&whole, &v, x.data, w.data, a.data);
  gr_conv_products_forward(&parts, &v, x.data, w.data, b.data);
  CHECK(!memcmp(a.data, b.data, gr_type_bytes(&a.type)), "pieces give other numbers");
  value_free(&x), value_free(&w), value_free(&a), value_free(&b), value_free(&scratch);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"as_products", as_products}, {"made_once", made_once},
             {"pieces", pieces});
}
