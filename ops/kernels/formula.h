// formula.h - ops that are statements on the elements of some operands and on scalars, with any
// number of results: what updates weights, averages and counters. As with pointwise.h, all kernels
// are made from one text: the reference, the vectorised one for f32, and the one for GPUs; and
// `graphrun ops` prints it.
//
//   GR_UPDATE(NAME, ATTRIBUTES,
//             (EACH(w), EACH(g), EACH(m), ONE(lr), ONE(scale), ONE(ok), PARAM(mu), PARAM(decay),
//              SHARED(keep, 1 - lr * decay)),
//             (w, m),
//             m = mu * m + g * scale; w = w * keep - lr * m;)
//
// NAME is the op's, ATTRIBUTES the type of its attributes, or `void`. The list names the operands
// in order, and then what else the statements use:
//
//   EACH(x)        an operand with as many elements as the results have: x is the element, which
//                  statements may assign to
//   ONE(x)         a scalar operand
//   PARAM(x)       an attribute, which the op may also take as a scalar operand: these are the last
//                  ones, all of them or none
//   SHARED(x, e)   an expression of the scalars, and of those shared before it, that is computed
//                  once, in double
//
// The results are the names that hold their elements after the statements. Statements are valid in
// C and in CUDA C++, for float and double alike, of which T is one: constants are exact or end in
// f, and exp, sqrt, ... are T's, as in pointwise.h. `l`, `i` and names with gr_ are taken.
//
// T is double in the reference kernel. In the fast one it is float, and scalars are rounded to it
// after the shared ones are computed. On a GPU it is double where an element asks for it (f64,
// integers), or where no operand is an EACH.
#pragma once
#include "ir/formula.h"
#include "ops/kernels/pointwise.h"

// An update: where the operand called ok is 0, the results are the operands of their names.
#define GR_UPDATE(name, attrs, list, results, ...)                                \
  GR_FORMULA_REFERENCE_(name, attrs, list, results, GR_PUT_IF_OK_, __VA_ARGS__)   \
  GR_FORMULA_FAST_(name, list, results, GR_COPY_UNLESS_OK_(results), __VA_ARGS__) \
  static const gr_formula name##_formula = {#list, #results, #__VA_ARGS__, true, name##_f32};
// Results that are always what the statements say; and those of scalars alone, with no EACH.
#define GR_FORMULA(name, attrs, list, results, ...)                       \
  GR_FORMULA_REFERENCE_(name, attrs, list, results, GR_PUT_, __VA_ARGS__) \
  GR_FORMULA_FAST_(name, list, results, , __VA_ARGS__)                    \
  static const gr_formula name##_formula = {#list, #results, #__VA_ARGS__, false, name##_f32};
#define GR_SCALARS(name, attrs, list, results, ...)                       \
  GR_FORMULA_REFERENCE_(name, attrs, list, results, GR_PUT_, __VA_ARGS__) \
  static const gr_formula name##_formula = {#list, #results, #__VA_ARGS__, false, NULL};

// In the descriptor. An op may have several formulas, which differ in the number of operands.
#define GR_FORMULA_FIELDS(name_)                                                 \
  .name = #name_, .formulas = GR_FORMULAS(&name_##_formula), .cpu = name_##_cpu, \
  .fast = gr_formula_fast
// Operands and results, as many as the formula names.
#define GR_FORMULA_OPERANDS .n_in = GR_ANY, .n_out = GR_ANY, .index_spec_of = gr_formula_index_spec
// Of an optimizer that is one node: uneven slices update as whole weights do.
#define GR_OPTIMIZER_FIELDS \
  GR_FORMULA_OPERANDS, .padding = GR_PADDING_PRESERVED, .multi_tensor = true
#define GR_FORMULAS(...) \
  (const gr_formula *const[]) { __VA_ARGS__, NULL }

// ---- Kernels ------------------------------------------------------------------------------------

// op->fast: the fast kernel of the formula, if all elements are f32.
gr_kernel gr_formula_fast(const gr_op_call *);
// What a part of the elements needs, as the argument of gr_part: the launch, and its scalars.
typedef struct gr_formula_work {
  const gr_launch *l;
  double scalar[GR_FORMULA_NAMES];
} gr_formula_work;
// Computes the scalars once by `scalars`, and runs `part` on all elements of the result, on all
// threads.
gr_status gr_formula_run(const gr_launch *, void (*scalars)(const gr_launch *, double *),
                         gr_part part);

// scalars: all that is not an EACH, in the order of the list.
#define GR_FORMULA_REFERENCE_(name, attrs, list, results, PUT, ...)         \
  static void name##_scalars(const gr_launch *l, double *gr_scalar) {       \
    const attrs *gr_given = l->attr;                                        \
    int gr_at = 0;                                                          \
    GR_OVER_(GR_SCALAR_, list)                                              \
    (void)gr_given, (void)gr_scalar, (void)gr_at;                           \
  }                                                                         \
  static gr_status name##_cpu(const gr_launch *l) {                         \
    typedef double T;                                                       \
    double gr_all[GR_FORMULA_NAMES];                                        \
    const double *gr_scalar = gr_all;                                       \
    int gr_at = 0;                                                          \
    name##_scalars(l, gr_all);                                              \
    GR_OVER_(GR_PLACE_, list)                                               \
    for (int64_t i = 0, gr_n = gr_type_count(l->out_type); i < gr_n; i++) { \
      int gr_k = 0;                                                         \
      GR_OVER_(GR_READ_, list)                                              \
      __VA_ARGS__                                                           \
      GR_OVER_(PUT, results)                                                \
    }                                                                       \
    (void)gr_scalar, (void)gr_at;                                           \
    return GR_OK;                                                           \
  }

#define GR_FORMULA_FAST_(name, list, results, UNLESS, ...)                \
  static void name##_part(void *gr_arg, int64_t gr_from, int64_t gr_to) { \
    typedef float T;                                                      \
    const gr_launch *l = ((const gr_formula_work *)gr_arg)->l;            \
    const double *gr_scalar = ((const gr_formula_work *)gr_arg)->scalar;  \
    int gr_at = 0, gr_k = 0;                                              \
    GR_OVER_(GR_POINT_, list)                                             \
    GR_OVER_(GR_POINT_TO_, results)                                       \
    (void)gr_scalar, (void)gr_at, (void)gr_k;                             \
    UNLESS                                                                \
    GR_VECTOR for (int64_t i = gr_from; i < gr_to; i++) {                 \
      GR_OVER_(GR_LOAD_, list)                                            \
      __VA_ARGS__                                                         \
      GR_OVER_(GR_STORE_, results)                                        \
    }                                                                     \
  }                                                                       \
  static gr_status name##_f32(const gr_launch *l) {                       \
    return gr_formula_run(l, name##_scalars, name##_part);                \
  }

// What the kernels do with each kind of name. gr_at: the operand it is.
#define GR_SCALAR_(item) GR_SCALAR_##item
#define GR_SCALAR_EACH(x) gr_at++;
#define GR_SCALAR_ONE(x)                        \
  const double x = *gr_scalar++ = IN(gr_at, 0); \
  (void)x, gr_at++;
#define GR_SCALAR_PARAM(x)                                                              \
  const double x = *gr_scalar++ = gr_at < l->n_in ? IN(gr_at, 0) : (double)gr_given->x; \
  (void)x, gr_at++;
#define GR_SCALAR_SHARED(x, ...)                 \
  const double x = *gr_scalar++ = (__VA_ARGS__); \
  (void)x;

#define GR_PLACE_(item) GR_PLACE_##item
#define GR_PLACE_EACH(x) const int gr_at_##x = gr_at++;
#define GR_PLACE_ONE(x)        \
  const T x = (T)*gr_scalar++; \
  (void)x, gr_at++;
#define GR_PLACE_PARAM(x) GR_PLACE_ONE(x)
#define GR_PLACE_SHARED(x, ...) GR_PLACE_ONE(x)
#define GR_READ_(item) GR_READ_##item
#define GR_READ_EACH(x)   \
  T x = IN(gr_at_##x, i); \
  const T gr_was_##x = x; \
  (void)gr_was_##x;
#define GR_READ_ONE(x)
#define GR_READ_PARAM(x)
#define GR_READ_SHARED(x, ...)
#define GR_PUT_(x) \
  OUT(gr_k, i, x); \
  gr_k++;
#define GR_PUT_IF_OK_(x)                  \
  OUT(gr_k, i, ok != 0 ? x : gr_was_##x); \
  gr_k++;

#define GR_POINT_(item) GR_POINT_##item
#define GR_POINT_EACH(x) const float *const gr_at_##x = l->in[gr_at++];
#define GR_POINT_ONE(x) GR_PLACE_ONE(x)
#define GR_POINT_PARAM(x) GR_PLACE_ONE(x)
#define GR_POINT_SHARED(x, ...) GR_PLACE_ONE(x)
#define GR_POINT_TO_(x) float *const gr_to_##x = l->out[gr_k++];
#define GR_LOAD_(item) GR_LOAD_##item
#define GR_LOAD_EACH(x) T x = gr_at_##x[i];
#define GR_LOAD_ONE(x)
#define GR_LOAD_PARAM(x)
#define GR_LOAD_SHARED(x, ...)
#define GR_STORE_(x) gr_to_##x[i] = x;
#define GR_COPY_UNLESS_OK_(results)     \
  if (ok == 0) {                        \
    GR_OVER_(GR_COPY_, results) return; \
  }
#define GR_COPY_(x) \
  memmove(gr_to_##x + gr_from, gr_at_##x + gr_from, sizeof(float) * (size_t)(gr_to - gr_from));

// F(a) F(b) ... for the list (a, b, ...) of at most GR_FORMULA_NAMES.
#define GR_OVER_(F, list) GR_OVER_ALL_(F, GR_ITEMS_ list)
#define GR_ITEMS_(...) __VA_ARGS__
#define GR_OVER_ALL_(F, ...)                                                                       \
  GR_OVER_NTH_(__VA_ARGS__, GR_OVER_24_, GR_OVER_23_, GR_OVER_22_, GR_OVER_21_, GR_OVER_20_,       \
               GR_OVER_19_, GR_OVER_18_, GR_OVER_17_, GR_OVER_16_, GR_OVER_15_, GR_OVER_14_,       \
               GR_OVER_13_, GR_OVER_12_, GR_OVER_11_, GR_OVER_10_, GR_OVER_9_, GR_OVER_8_,         \
               GR_OVER_7_, GR_OVER_6_, GR_OVER_5_, GR_OVER_4_, GR_OVER_3_, GR_OVER_2_, GR_OVER_1_, \
               0)                                                                                  \
  (F, __VA_ARGS__)
#define GR_OVER_NTH_(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, \
                     x18, x19, x20, x21, x22, x23, x24, nth, ...)                                \
  nth
#define GR_OVER_1_(F, x) F(x)
#define GR_OVER_2_(F, x, ...) F(x) GR_OVER_1_(F, __VA_ARGS__)
#define GR_OVER_3_(F, x, ...) F(x) GR_OVER_2_(F, __VA_ARGS__)
#define GR_OVER_4_(F, x, ...) F(x) GR_OVER_3_(F, __VA_ARGS__)
#define GR_OVER_5_(F, x, ...) F(x) GR_OVER_4_(F, __VA_ARGS__)
#define GR_OVER_6_(F, x, ...) F(x) GR_OVER_5_(F, __VA_ARGS__)
#define GR_OVER_7_(F, x, ...) F(x) GR_OVER_6_(F, __VA_ARGS__)
#define GR_OVER_8_(F, x, ...) F(x) GR_OVER_7_(F, __VA_ARGS__)
#define GR_OVER_9_(F, x, ...) F(x) GR_OVER_8_(F, __VA_ARGS__)
#define GR_OVER_10_(F, x, ...) F(x) GR_OVER_9_(F, __VA_ARGS__)
#define GR_OVER_11_(F, x, ...) F(x) GR_OVER_10_(F, __VA_ARGS__)
#define GR_OVER_12_(F, x, ...) F(x) GR_OVER_11_(F, __VA_ARGS__)
#define GR_OVER_13_(F, x, ...) F(x) GR_OVER_12_(F, __VA_ARGS__)
#define GR_OVER_14_(F, x, ...) F(x) GR_OVER_13_(F, __VA_ARGS__)
#define GR_OVER_15_(F, x, ...) F(x) GR_OVER_14_(F, __VA_ARGS__)
#define GR_OVER_16_(F, x, ...) F(x) GR_OVER_15_(F, __VA_ARGS__)
#define GR_OVER_17_(F, x, ...) F(x) GR_OVER_16_(F, __VA_ARGS__)
#define GR_OVER_18_(F, x, ...) F(x) GR_OVER_17_(F, __VA_ARGS__)
#define GR_OVER_19_(F, x, ...) F(x) GR_OVER_18_(F, __VA_ARGS__)
#define GR_OVER_20_(F, x, ...) F(x) GR_OVER_19_(F, __VA_ARGS__)
#define GR_OVER_21_(F, x, ...) F(x) GR_OVER_20_(F, __VA_ARGS__)
#define GR_OVER_22_(F, x, ...) F(x) GR_OVER_21_(F, __VA_ARGS__)
#define GR_OVER_23_(F, x, ...) F(x) GR_OVER_22_(F, __VA_ARGS__)
#define GR_OVER_24_(F, x, ...) F(x) GR_OVER_23_(F, __VA_ARGS__)
