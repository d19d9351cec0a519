// cumsum.c - running sums along an axis.
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

struct cumsum {
  int64_t axis, reverse;
};

static void index_spec_of(const gr_op_call *s, char buf[128]) {  // "aBc->aBc"
  const struct cumsum *a = s->attr;
  char x[GR_MAX_RANK + 1];
  gr_letters(x, "", s->in[0].rank);
  if (a->axis >= 0 && a->axis < s->in[0].rank) x[a->axis] = (char)(x[a->axis] - 'a' + 'A');
  snprintf(buf, 128, "%s->%s", x, x);
}

static gr_status infer(gr_op_call *s) {
  const struct cumsum *a = s->attr;
  if (a->axis >= 0 && a->axis < s->in[0].rank) return gr_require_float(s, 0, "the operand");
  return gr_fail(GR_ERR_TYPE, s->loc, "no axis %lld in a value of %d axes", (long long)a->axis,
                 s->in[0].rank);
}

static void grad(const gr_grad *g) {
  const struct cumsum *a = g->attr;
  g->dx[0] = GR_EMIT(g->b, &gr_op_cumsum, (&(struct cumsum){a->axis, !a->reverse}), g->dy[0]);
}

// A value as [lines / inner, n, inner]: line k is n elements at a distance of `inner`.
typedef struct lines {
  int64_t n, inner, count;
} lines;

static lines lines_of(const gr_op_call *s) {
  const gr_type *t = s->in;
  lines l = {t->dim[((const struct cumsum *)s->attr)->axis], 1, 0};
  for (int d = t->rank - 1; d > ((const struct cumsum *)s->attr)->axis; d--) l.inner *= t->dim[d];
  l.count = gr_type_count(t) / l.n;
  return l;
}

static gr_status cumsum_cpu(const gr_launch *l) {
  gr_op_call call = {.attr = l->attr, .in = {l->in_type[0]}};
  lines x = lines_of(&call);
  bool reverse = ((const struct cumsum *)l->attr)->reverse;
  for (int64_t k = 0; k < x.count; k++) {
    double sum = 0;
    for (int64_t i = 0; i < x.n; i++) {
      int64_t index =
          k / x.inner * x.n * x.inner + (reverse ? x.n - 1 - i : i) * x.inner + k % x.inner;
      OUT(0, index, sum += IN(0, index));
    }
  }
  return GR_OK;
}

// Some lines at a time, `apart` elements from each other; in double, as the reference.
enum { LINES = 16 };

static inline void sum_lines(const gr_launch *l, lines x, int64_t first, int64_t apart, int many) {
  bool reverse = ((const struct cumsum *)l->attr)->reverse;
  double sum[LINES] = {0};
  for (int64_t i = 0; i < x.n; i++) {
    int64_t begin = first + (reverse ? x.n - 1 - i : i) * x.inner;
    const float *terms = (const float *)l->in[0] + begin;
    float *sums = (float *)l->out[0] + begin;
    for (int k = 0; k < many; k++) sums[k * apart] = (float)(sum[k] += (double)terms[k * apart]);
  }
}

// Pieces of LINES lines that are neighbours: of all lines, or, of an axis that is not the last
// one, of those of each outer index.
static int64_t pieces_of(lines x) {
  return x.inner > 1 ? (x.inner + LINES - 1) / LINES : (x.count + LINES - 1) / LINES;
}

static void sum_pieces(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  gr_op_call call = {.attr = l->attr, .in = {l->in_type[0]}};
  lines x = lines_of(&call);
  int64_t all = x.inner > 1 ? x.inner : x.count, apart = x.inner > 1 ? 1 : x.n;
  for (int64_t p = begin, pieces = pieces_of(x); p < end; p++) {
    int64_t line = p % pieces * LINES, first = p / pieces * x.n * x.inner + line * apart;
    int many = (int)gr_min_i64(all - line, LINES);
    if (many == LINES && apart == 1)
      sum_lines(l, x, first, 1, LINES);  // these two are compiled to vectors
    else if (many == LINES)
      sum_lines(l, x, first, apart, LINES);
    else
      sum_lines(l, x, first, apart, many);
  }
}

static gr_status cumsum_f32(const gr_launch *l) {
  gr_op_call call = {.attr = l->attr, .in = {l->in_type[0]}};
  lines x = lines_of(&call);
  int64_t outer = x.inner > 1 ? x.count / x.inner : 1;
  gr_parallel(l, outer * pieces_of(x), 1 + 8192 / (LINES * x.n), sum_pieces, (void *)l);
  return GR_OK;
}

GR_CU(cumsum);

static gr_status gpu(gr_gpu_call *g) {
  lines x = lines_of(g->call);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_cumsum, "cumsum", gr_gpu_items(x.count), 128);
  k->warps = true;
  gr_gpu_int(k, x.count), gr_gpu_int(k, x.n), gr_gpu_int(k, x.inner);
  gr_gpu_int(k, ((const struct cumsum *)g->call->attr)->reverse);
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  const struct cumsum *a = c->call[0]->attr;
  c->out[0] = GR_ONNX(c, "CumSum", c->in[0], gr_onnx_number(c, GR_I64, (double)a->axis));
  gr_onnx_int(c, "reverse", a->reverse);
}

// Whole numbers are summed as f32, which has those below 2^24.
static void read_cumsum(gr_onnx_reading *r) {
  int64_t axis[1][GR_READ_CHOICES] = {{0}};
  int x = gr_read_in(r, 0, true);
  bool reverse = gr_read_int(r, "reverse", 0) != 0, exclusive = gr_read_int(r, "exclusive", 0) != 0;
  if (gr_read_numbers(r, gr_read_in(r, 1, true), 1, axis) != 1)
    gr_read_refuse(r, "has an axis that is no constant");
  if (r->err) return;
  bool is_float = gr_dtypes[gr_read_type(r, x)->dtype].is_float;
  int d = gr_read_axis(r, axis[0][0], gr_read_type(r, x)->rank), f = gr_read_cast(r, x, true);
  int y = GR_READ(r, &gr_op_cumsum, f, {"axis", gr_arena_printf(r->arena, "%d", d)},
                  {"reverse", reverse ? "true" : "false"});
  if (exclusive) y = GR_READ_TWO(r, &gr_op_sub, y, f);
  gr_read_out(r, 0, gr_read_cast(r, y, is_float), false);
}

static const gr_attr attrs[] = {
    GR_AXIS(struct cumsum, axis, GR_ATTR_INT, NULL, "the axis to sum along"),
    GR_ATTR(struct cumsum, reverse, GR_ATTR_BOOL, "false", "from the last element to the first"),
    {0}};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(struct cumsum){1, 0}},
    {{"f32[4,6]"}, .attr = &(struct cumsum){0, 1}},
    {{"f32[2,37,3]"}, .attr = &(struct cumsum){1, 1}},
    {{"f32[2,5,35]"}, .attr = &(struct cumsum){1, 0}},
    {{"f32[37,5]"}, .attr = &(struct cumsum){1, 1}},
    {{"i32[4]"}, .attr = &(struct cumsum){0, 0}, .fails = "must be a float"},
    {{"f32[4,6]"}, .attr = &(struct cumsum){2, 0}, .fails = "no axis 2 in a value of 2 axes"},
    {{0}},
};

const gr_op gr_op_cumsum = {
    .name = "cumsum",
    .doc = "The sum of all elements up to each along an axis, with the element itself.",
    .effort = GR_EFFORT_SERIAL,
    .n_in = 1,
    .attr_size = sizeof(struct cumsum),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .linear = true,
    .infer = infer,
    .grad = grad,
    .cpu = cumsum_cpu,
    .fast_f32 = cumsum_f32,
    .gpu = gpu,
    .inplace = {1},
    .amp = GR_AMP_WIDE,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"CumSum", read_cumsum}),
    .cases = cases,
};
