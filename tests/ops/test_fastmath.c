// test_fastmath.c - the vectorised functions of ops/kernels/fastmath.h against the C library in
// double.
#include "ops/kernels/fastmath.h"
#include "tests/check.h"

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

// Every 97th float of both signs, from `least` on: the largest relative error.
static void sweep(const char *name, float (*fast)(float), double (*exact)(double), float least,
                  float most, double may) {
  double far = 0, worst_at = 0;
  for (uint32_t bits = gr_bits_of(least); bits < gr_bits_of(most); bits += 97)
    for (int sign = 0; sign < 2; sign++) {
      float x = sign ? -gr_float_of(bits) : gr_float_of(bits);
      if (exact == log && sign) continue;
      if (exact == log1p && x <= -1) continue;
      double want = exact((double)x), got = (double)fast(x);
      if (fabs(want) < 1.2e-38 || fabs(want) > 3.4e38) continue;  // not a normal float
      double d = fabs(got - want) / fabs(want);
      if (!(d <= far)) far = d, worst_at = (double)x;
    }
  printf("     %s: %.2g at %.9g\n", name, far, worst_at);
  CHECK(far <= may, "%s is off by %g at %.9g", name, far, worst_at);
}

static float fast_exp(float x) { return gr_exp_f32(x); }
static float fast_log(float x) { return gr_log_f32(x); }
static float fast_log1p(float x) { return gr_log1p_f32(x); }
static float fast_tanh(float x) { return gr_tanh_f32(x); }
static float fast_sigmoid(float x) { return gr_sigmoid_f32(x); }
static float fast_erf(float x) { return gr_erf_f32(x); }

static float fast_sin(float x) { return gr_sin_f32(x); }
static float fast_cos(float x) { return gr_cos_f32(x); }

static void accuracy(void) {
  sweep("exp", fast_exp, exp, 1e-30f, 100, 3e-7);
  sweep("log", fast_log, log, 1e-44f, 3.4e38f, 3e-7);
  sweep("log1p", fast_log1p, log1p, 1e-37f, 3.4e38f, 4e-7);
  sweep("tanh", fast_tanh, tanh, 1e-30f, 100, 4e-7);
  sweep("sigmoid", fast_sigmoid, sigmoid, 1e-30f, 100, 4e-7);
  sweep("erf", fast_erf, erf, 1e-30f, 100, 4e-7);
  sweep("sin", fast_sin, sin, 1e-30f, 1e6f, 4e-7);
  sweep("cos", fast_cos, cos, 1e-30f, 1e6f, 4e-7);
}

static void ends(void) {
  CHECK(gr_exp_f32(89) == INFINITY, "exp(89) is %g", (double)gr_exp_f32(89));
  CHECK(gr_exp_f32(INFINITY) == INFINITY, "exp(inf)");
  CHECK(gr_exp_f32(-INFINITY) == 0, "exp(-inf) is %g", (double)gr_exp_f32(-INFINITY));
  CHECK(gr_exp_f32(0) == 1, "exp(0) is %.9g", (double)gr_exp_f32(0));
  CHECK(gr_log_f32(0) == -INFINITY && gr_log_f32(INFINITY) == INFINITY, "log(0), log(inf)");
  CHECK(gr_log_f32(1) == 0 && isnan(gr_log_f32(-1)), "log(1), log(-1)");
  CHECK(gr_log1p_f32(-1) == -INFINITY && gr_log1p_f32(INFINITY) == INFINITY,
        "log1p(-1), log1p(inf)");
  CHECK(isnan(gr_log1p_f32(-1.5f)) && signbit(gr_log1p_f32(-0.0f)), "log1p(-1.5), log1p(-0)");
  CHECK(gr_tanh_f32(INFINITY) == 1 && gr_tanh_f32(-INFINITY) == -1, "tanh(inf)");
  CHECK(gr_sigmoid_f32(INFINITY) == 1 && gr_sigmoid_f32(-INFINITY) == 0, "sigmoid(inf)");
  CHECK(gr_erf_f32(INFINITY) == 1 && gr_erf_f32(-INFINITY) == -1, "erf(inf)");
  CHECK(isnan(gr_sin_f32(INFINITY)) && isnan(gr_cos_f32(-INFINITY)), "sin(inf), cos(-inf)");
  CHECK(gr_sin_f32(0) == 0 && gr_cos_f32(0) == 1, "sin(0), cos(0)");
  CHECK(signbit(gr_tanh_f32(-0.0f)) && signbit(gr_erf_f32(-0.0f)), "the sign of zero");
}

static void not_numbers(void) {
  CHECK(isnan(gr_exp_f32(NAN)), "exp(nan)");
  CHECK(isnan(gr_log_f32(NAN)), "log(nan)");
  CHECK(isnan(gr_log1p_f32(NAN)), "log1p(nan)");
  CHECK(isnan(gr_tanh_f32(NAN)), "tanh(nan)");
  CHECK(isnan(gr_sigmoid_f32(NAN)), "sigmoid(nan)");
  CHECK(isnan(gr_erf_f32(NAN)), "erf(nan)");
  CHECK(isnan(gr_sin_f32(NAN)) && isnan(gr_cos_f32(NAN)), "sin(nan), cos(nan)");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"accuracy", accuracy}, {"ends", ends}, {"not_numbers", not_numbers});
}
