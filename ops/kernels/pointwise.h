// pointwise.h - ops that are one scalar formula: the reference kernel, the vectorised f32 kernel
// and the text that `graphrun ops` prints are generated from it.
//
//   GR_POINTWISE2(mul, x0 * x1)      and in the descriptor:  GR_POINTWISE_FIELDS(mul)
//
// A formula is an expression of x0, x1, x2 (the operands' elements) and the attributes by name,
// valid in C and in CUDA C, for float and double alike: constants are exact or end in f. An op
// with attributes defines GR_LOCALS(T, attr) to declare them. As <tgmath.h> does, exp, tanh, ...
// mean the function for the operand's type; for floats, that of fastmath.h.
#pragma once
#include <math.h>
#include "ops/kernels/cpu.h"
#include "ops/kernels/fastmath.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

// infer of an op whose operands have one dtype, which is the result's: GR_ERR_TYPE otherwise.
gr_status gr_pointwise_infer(gr_op_call *);
// infer of such an op for floats only: GR_ERR_TYPE otherwise.
gr_status gr_pointwise_infer_float(gr_op_call *);
bool gr_pointwise_f32(const gr_op_call *);   // all operands and the result are
bool gr_pointwise_fast(const gr_op_call *);  // or all are bf16 or f16, as f32 in tiles
// Runs the tile function over all elements of n_x operands, on all threads.
gr_status gr_pointwise_run(const gr_launch *, gr_tile, int n_x);
void gr_grad_zero(const gr_grad *);  // the rule of ops that are flat where they have a slope
// The rule of ops whose result is the last operand times what the others decide, which have no slope
// there: the gradients of relu, abs, max.
void gr_grad_of_last(const gr_grad *);
// Cases of ops that take any one float, and of gradients of an operand, or a result, and dy.
extern const gr_case gr_float_cases[], gr_gradient_cases[];

#define GR_OF(f, x) _Generic((x), float : gr_##f##_f32, default : f)(x)
#define exp(x) GR_OF(exp, x)
#define tanh(x) GR_OF(tanh, x)
#define erf(x) GR_OF(erf, x)
#define log(x) GR_OF(log, x)
#define log1p(x) GR_OF(log1p, x)
#define sqrt(x) _Generic((x), float : sqrtf, default : sqrt)(x)
#define sin(x) GR_OF(sin, x)
#define cos(x) GR_OF(cos, x)
#define pow(x, y) _Generic((x), float : powf, default : pow)(x, y)
#define fabs(x) _Generic((x), float : fabsf, default : fabs)(x)
#define ceil(x) _Generic((x), float : ceilf, default : ceil)(x)

#define GR_LOCALS(T, attr) (void)(attr);

#define GR_POINTWISE_(name, N, TEXT, ...)                                                 \
  static const char name##_spec[] = GR_SPEC##N;                                           \
  static const char name##_formula[] = TEXT;                                              \
  static gr_status name##_cpu(const gr_launch *l) {                                       \
    GR_LOCALS(double, l->attr)                                                            \
    for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {                     \
      GR_READ##N(double, GR_FROM_ANY) OUT(0, i, (__VA_ARGS__));                           \
    }                                                                                     \
    return GR_OK;                                                                         \
  }                                                                                       \
  static void name##_tile(const float *const *x, float *y, int64_t n, const void *attr) { \
    GR_LOCALS(float, attr)                                                                \
    GR_VECTOR for (int64_t i = 0; i < n; i++) {                                           \
      GR_READ##N(float, GR_FROM_F32) y[i] = (__VA_ARGS__);                                \
    }                                                                                     \
  }                                                                                       \
  static gr_status name##_quick(const gr_launch *l) {                                     \
    return gr_pointwise_run(l, name##_tile, N);                                           \
  }                                                                                       \
  static gr_kernel name##_fast(const gr_op_call *s) {                                     \
    return gr_pointwise_fast(s) ? name##_quick : NULL;                                    \
  }
#define GR_SPEC1 "...->..."
#define GR_SPEC2 "...,...->..."
#define GR_SPEC3 "...,...,...->..."
#define GR_FROM_ANY(k) IN(k, i)
#define GR_FROM_F32(k) x[k][i]
#define GR_READ1(T, read) const T x0 = read(0);
#define GR_READ2(T, read) const T x0 = read(0), x1 = read(1);
#define GR_READ3(T, read) const T x0 = read(0), x1 = read(1), x2 = read(2);
#define GR_POINTWISE1(name, ...) GR_POINTWISE_(name, 1, #__VA_ARGS__, __VA_ARGS__)
#define GR_POINTWISE2(name, ...) GR_POINTWISE_(name, 2, #__VA_ARGS__, __VA_ARGS__)
#define GR_POINTWISE3(name, ...) GR_POINTWISE_(name, 3, #__VA_ARGS__, __VA_ARGS__)

#define GR_POINTWISE_FIELDS(name_)                                                        \
  .name = #name_, .index_spec = name_##_spec, .inplace = {1}, .formula = name_##_formula, \
  .cpu = name_##_cpu, .fast = name_##_fast, .tile = name_##_tile
