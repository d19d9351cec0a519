// matmul.c - matrix product; either operand may be read transposed.
#include "ops/nn/matmul.h"
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu_tile.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"

static gr_val emit(gr_builder *b, gr_val x, gr_val y, bool ta, bool tb, bool sum) {
  return GR_EMIT(b, &gr_op_matmul, (&(struct matmul){ta, tb, sum, false}), x, y);
}

gr_val gr_matmul(gr_builder *b, gr_val x, gr_val y, bool ta, bool tb) {
  return emit(b, x, y, ta, tb, false);
}

// If only x has leading axes, they add rows: "...mk,kn->...mn". If both operands have them, they
// are batch axes. With `sum` they are summed over, "...km,...kn->mn": then the gradient with
// respect to weights that all steps or samples share is a single matmul, also when a loop's steps
// are stacked.
static void index_spec_of(const gr_op_call *s, char buf[128]) {
  const struct matmul *a = s->attr;
  bool lead_y = a->sum || s->in[1].rank > 2, lead_x = a->sum || s->in[0].rank > 2 || !lead_y;
  char *p = stpcpy(buf, lead_x ? "..." : "");
  p = stpcpy(stpcpy(p, a->ta ? "km," : "mk,"), lead_y ? "..." : "");
  stpcpy(stpcpy(p, a->tb ? "nk" : "kn"), a->sum ? "->mn" : "->...mn");
}

static gr_status infer(gr_op_call *s) {
  if (((const struct matmul *)s->attr)->wide && gr_is_narrow(s->out[0].dtype))
    s->out[0].dtype = GR_F32;
  return gr_require_float(s, 1, "the second operand");
}

static bool is_product(const gr_graph *g, gr_val z) {
  const gr_node *n = gr_maker(g, z);
  return n && n->op == &gr_op_matmul && gr_is_narrow(gr_at(g, z)->type.dtype);
}

// Whether a value adds up narrow products over rows, as the gradient of a weight that is used
// several times does, and no more than `left` of them: sums of sums that are read twice are of as
// many as there are ways to them. Sums of others are as large as activations, of which bytes count.
static bool adds_products(const gr_graph *g, gr_val z, int *left) {
  const gr_node *n = gr_maker(g, z);
  if (n && n->op == &gr_op_add)
    return adds_products(g, n->in[0], left) && adds_products(g, n->in[1], left);
  return --*left >= 0 && is_product(g, z) && ((const struct matmul *)n->attr)->sum;
}

static gr_val widened(gr_builder *b, gr_val z) {
  if (b->err) return GR_NONE;
  const gr_node *n = gr_maker(b->g, z);
  if (n->op == &gr_op_add) {
    gr_val y = n->in[1], x = widened(b, n->in[0]);
    return gr_add(b, x, widened(b, y));
  }
  struct matmul wide = *(const struct matmul *)n->attr;
  wide.wide = true;
  return GR_EMIT(b, &gr_op_matmul, &wide, n->in[0], n->in[1]);
}

gr_val gr_cast_product(gr_builder *b, gr_val z, gr_dtype to) {
  int left = 4096;
  if (b->err) return GR_NONE;
  bool products = to == GR_F32 && (is_product(b->g, z) || adds_products(b->g, z, &left));
  return products ? widened(b, z) : gr_cast(b, z, to);
}

// z = x y:  dx = dz y', dy = x' dz; the gradient of a transposed operand is the transposed product.
// If dz has leading axes that an operand lacks, its gradient is summed over them.
static void grad(const gr_grad *g) {
  const struct matmul *a = g->attr;
  if (g->b->err) return;
  gr_val x = g->x[0], y = g->x[1],
         dz = gr_cast(g->b, g->dy[0], gr_at(g->b->g, g->x[0])->type.dtype);
  if (g->b->err) return;
  int rank_x = gr_at(g->b->g, x)->type.rank, rank_y = gr_at(g->b->g, y)->type.rank;
  bool sum_x = !a->sum && rank_x == 2 && rank_y > 2, sum_y = !a->sum && rank_y == 2;
  if (g->want[0])
    g->dx[0] =
        a->ta ? emit(g->b, y, dz, a->tb, true, sum_x) : emit(g->b, dz, y, false, !a->tb, sum_x);
  if (g->want[1])
    g->dx[1] =
        a->tb ? emit(g->b, dz, x, true, a->ta, sum_y) : emit(g->b, x, dz, !a->ta, false, sum_y);
}

// ---- Kernels ----------------------------------------------------------------------------------

static gr_status matmul_cpu(const gr_launch *l) {
  const struct matmul *a = l->attr;
  gr_matmul_shape p = gr_matmul_shape_of(l->in_type, l->in_type + 1, a);
  gr_gemm g = p.g;
  int64_t inner = a->sum ? p.count : 1, ra = a->ta ? 1 : g.lda, ca = a->ta ? g.lda : 1;
  int64_t rb = a->tb ? 1 : g.ldb, cb = a->tb ? g.ldb : 1;
  for (int64_t o = 0; o < p.count / inner; o++)
    for (int64_t i = 0; i < g.m; i++)
      for (int64_t j = 0; j < g.n; j++) {
        double s = 0;
        for (int64_t b = o; b < o + inner; b++)
          for (int64_t k = 0; k < g.k; k++)
            s += IN(0, b * p.step.a + i * ra + k * ca) * IN(1, b * p.step.b + k * rb + j * cb);
        OUT(0, o * p.step.c + i * g.n + j, s);
      }
  return GR_OK;
}

static gr_status run_f32(const gr_launch *l) {
  const struct matmul *a = l->attr;
  const float *x = l->in[0], *y = l->in[1];
  gr_matmul_shape p = gr_matmul_shape_of(l->in_type, l->in_type + 1, a);
  p.g.scratch = l->scratch;
  if (!a->sum) gr_gemm_batch(l, &p.g, p.count, p.step, x, y, l->out[0]);
  for (int64_t i = 0; a->sum && i < p.count; i++, p.g.add = true)
    gr_gemm_run(l, &p.g, x + i * p.step.a, y + i * p.step.b, l->out[0]);
  return GR_OK;
}

static size_t scratch(const gr_op_call *s) {
  if (gr_is_narrow(s->in[0].dtype)) return gr_matmul_narrow_scratch(s);
  gr_matmul_shape p = gr_matmul_shape_of(s->in, s->in + 1, s->attr);
  return p.count == 1 || ((const struct matmul *)s->attr)->sum ? gr_gemm_scratch(&p.g) : 0;
}

// ---- On a GPU -----------------------------------------------------------------------------------

GR_CU(matmul);

// Products that add to one another and are not one product with more to sum: a kernel of our own.
static void add_sum(gr_gpu_call *g, const gr_matmul_shape *p, const struct matmul *a) {
  enum { LEAST = 256 };  // terms that a part sums
  int64_t size = p->g.m * p->g.n;
  gr_gpu_parts cut = gr_gpu_cut(1 + size / 4096, p->count * p->g.k, LEAST);
  gr_gpu_kernel *k = gr_gpu_tile_add(g, gr_cu_matmul, "matmul_sum", p->g.m, p->g.n, cut.parts);
  gr_gpu_define(g, k, "TA", "%d", a->ta != 0);
  gr_gpu_define(g, k, "TB", "%d", a->tb != 0);
  const int64_t number[] = {p->g.m, p->g.n, p->g.k, p->count, cut.share, cut.parts};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++) gr_gpu_int(k, number[i]);
  const char *source = k->source, *defines = k->defines;
  k = gr_gpu_kernel_add(g, source, "matmul_add_parts", gr_gpu_items(size), GR_GPU_BLOCK);
  k->defines = defines;
  gr_gpu_int(k, size), gr_gpu_int(k, cut.parts);
  g->scratch = gr_gpu_wide(g->call->in[0].dtype) * (size_t)(cut.parts * size);
}

gr_gpu_gemm gr_matmul_gpu(const gr_op_call *s, const gr_matmul_shape *p) {
  return (gr_gpu_gemm){.a = {GR_GPU_IN, 0, 0},
                       .b = {GR_GPU_IN, 1, 0},
                       .c = {GR_GPU_OUT, 0, 0},
                       .in = s->in[0].dtype,
                       .out = s->out[0].dtype,
                       .m = p->g.m,
                       .n = p->g.n,
                       .k = p->g.k,
                       .batch = p->count,
                       .lda = p->g.lda,
                       .ldb = p->g.ldb,
                       .ldc = p->g.ldc,
                       .stride_a = p->step.a,
                       .stride_b = p->step.b,
                       .stride_c = p->step.c,
                       .ta = p->g.ta,
                       .tb = p->g.tb};
}

static gr_status gpu(gr_gpu_call *g) {
  const gr_op_call *s = g->call;
  const struct matmul *a = s->attr;
  gr_matmul_shape p = gr_matmul_shape_of(s->in, s->in + 1, a);
  if (a->sum && p.count > 1) {
    add_sum(g, &p, a);
    return GR_OK;
  }
  gr_gpu_gemm gemm = gr_matmul_gpu(s, &p);
  gr_gpu_gemm_add(g, &gemm);
  return GR_OK;
}

static const char *turned(gr_onnx_call *c, int k, bool turn) {
  int rank = c->call[0]->in[k].rank;
  int64_t perm[GR_MAX_RANK];
  for (int d = 0; d < rank; d++) perm[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
  return turn ? gr_onnx_transpose(c, c->in[k], rank, perm) : c->in[k];
}

static void to_onnx(gr_onnx_call *c) {
  const gr_op_call *call = c->call[0];
  const struct matmul *a = call->attr;
  int rank = call->in[0].rank > call->in[1].rank ? call->in[0].rank : call->in[1].rank;
  int64_t lead[GR_MAX_RANK];
  for (int d = 0; d < rank - 2; d++) lead[d] = d;
  const char *x = turned(c, 0, a->ta), *z = GR_ONNX(c, "MatMul", x, turned(c, 1, a->tb));
  if (a->sum && rank > 2) {
    z = GR_ONNX(c, "ReduceSum", z, gr_onnx_vector(c, rank - 2, lead));
    gr_onnx_int(c, "keepdims", 0);
  }
  bool wide = call->out[0].dtype != call->in[0].dtype;
  c->out[0] = wide ? gr_onnx_cast(c, z, gr_onnx_dtype(call->out[0].dtype)) : z;
}

// x W^T + b, W being [out, in]: a layer with weights of its own where nothing else reads them.
static int read_linear(gr_onnx_reading *r, int x, int w, int b) {
  if (r->err) return 0;
  int y = gr_read_linear(r, x, w, b);
  if (y || r->err) return y;
  y = gr_read_emit(r, &gr_op_matmul, 2, (const int[]){x, w}, 1, &(gr_read_setting){"tb", "true"});
  return b ? GR_READ_TWO(r, &gr_op_add, y, b) : y;
}

// A weight [in, out] with a parameter's name, which no exporter has turned: its state dict has it
// so.
static bool is_in_out(gr_onnx_reading *r, int w) {
  return !r->err && gr_read_is_own(r, w) && gr_read_type(r, w)->rank == 2 && !r->vars[w].turned &&
         (r->vars[w].named || gr_read_path(r, w, "weight"));
}

static int read_turned(gr_onnx_reading *r, int x) {
  int rank = r->err || !x ? 0 : gr_read_type(r, x)->rank;
  int64_t perm[GR_MAX_RANK];
  if (rank < 2) gr_read_refuse(r, "has an operand of %d axes", rank);
  for (int d = 0; d < rank; d++) perm[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
  return r->err ? 0 : gr_read_transpose(r, x, perm);
}

static int times(gr_onnx_reading *r, int x, double by) {
  const char *text = gr_arena_printf(r->arena, "%.9g", by);
  return by == 1 ? x : GR_READ(r, &gr_op_scale, x, {"by", text});
}

static void read_gemm(gr_onnx_reading *r) {
  int x = gr_read_in(r, 0, true), w = gr_read_in(r, 1, true), b = gr_read_in(r, 2, false);
  if (gr_read_int(r, "transA", 0)) x = read_turned(r, x);
  bool turns = !gr_read_int(r, "transB", 0), keeps = turns && is_in_out(r, w);
  if (turns && !keeps) w = read_turned(r, w);
  double alpha = gr_read_float(r, "alpha", 1), beta = gr_read_float(r, "beta", 1);
  bool apart = keeps || alpha != 1 || beta != 1;  // the product, and what is added
  if (beta == 0) b = 0;
  int y = keeps ? gr_read_product(r, x, w) : read_linear(r, x, w, apart ? 0 : b);
  y = times(r, y, alpha);
  gr_read_out(r, 0, apart && b ? GR_READ_TWO(r, &gr_op_add, y, times(r, b, beta)) : y, false);
}

// One of two values of matrices in the other's leading axes, where those of its own are 1 or fewer.
static int spread(gr_onnx_reading *r, int x, int other) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  if (r->err) return 0;
  int rank = gr_read_type(r, x)->rank, n = gr_read_type(r, other)->rank;
  n = n > rank ? n : rank;
  for (int d = 0; d < n; d++)
    for (int c = 0; c < GR_READ_CHOICES; c++) {
      const gr_type *a = &r->vars[x].type[c], *b = &r->vars[other].type[c];
      int64_t of_x = d < n - rank ? 1 : a->dim[d - (n - rank)];
      bool lead = d < n - 2 && of_x == 1 && d >= n - b->rank;
      sizes[d][c] = lead ? b->dim[d - (n - b->rank)] : of_x;
    }
  return gr_read_expand(r, x, n, sizes);
}

// A vector is a matrix of one row or one column, whose axis the product is left without.
static int as_matrix(gr_onnx_reading *r, int x, bool column) {
  int64_t sizes[2][GR_READ_CHOICES];
  if (r->err || gr_read_type(r, x)->rank != 1) return x;
  gr_read_same(sizes[column], 1), gr_read_dims(r, x, 0, 1, &sizes[!column]);
  gr_read_keep(r, x);
  return gr_read_reshape(r, x, 2, sizes);
}

// W may have been turned before: [in, out] that nothing but this reads is kept as [out, in].
static void read_matmul(gr_onnx_reading *r) {
  bool keep[GR_MAX_RANK];
  int first = gr_read_in(r, 0, true), second = gr_read_in(r, 1, true);
  int x = as_matrix(r, first, false), w = as_matrix(r, second, true);
  bool row = x != first, column = w != second;
  if (r->err) return;
  if (gr_read_type(r, x)->rank < 2 || gr_read_type(r, w)->rank < 2)
    gr_read_refuse(r, "has an operand that is one number");
  if (!r->err && gr_read_type(r, x)->rank > 2 && gr_read_type(r, w)->rank > 2) {
    int wide = spread(r, x, w);
    w = spread(r, w, x), x = wide;
  }
  bool layer = !r->err && gr_read_type(r, w)->rank == 2 && gr_read_is_own(r, w);
  int y = layer && !is_in_out(r, w) ? read_linear(r, x, read_turned(r, w), 0)
                                    : GR_READ_TWO(r, &gr_op_matmul, x, w);
  if (r->err) return;
  for (int d = 0, n = gr_read_type(r, y)->rank; d < n; d++)
    keep[d] = !(d == n - 2 && row) && !(d == n - 1 && column);
  gr_read_out(r, 0, gr_read_squeeze(r, y, keep), false);
}

static const gr_attr attrs[] = {
    GR_ATTR(struct matmul, ta, GR_ATTR_BOOL, "false", "read x transposed"),
    GR_ATTR(struct matmul, tb, GR_ATTR_BOOL, "false", "read y transposed"),
    GR_ATTR(struct matmul, sum, GR_ATTR_BOOL, "false", "sum over the leading axes"),
    GR_ATTR(struct matmul, wide, GR_ATTR_BOOL, "false", "the result of bf16 or f16 is f32"),
    {0}};
#define WITH(...) .attr = (&(struct matmul){__VA_ARGS__})
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[6,8]"}, WITH(0)},
    {{"f32[6,4]", "f32[6,8]"}, WITH(1)},
    {{"f32[4,6]", "f32[8,6]"}, WITH(0, 1)},
    {{"f32[6,4]", "f32[8,6]"}, WITH(1, 1)},
    {{"f32[2,4,6]", "f32[6,8]"}, WITH(0)},
    {{"f32[2,4,6]", "f32[8,6]"}, WITH(0, 1)},
    {{"f32[2,6,4]", "f32[6,8]"}, WITH(1)},
    {{"f32[2,4,6]", "f32[2,6,8]"}, WITH(0)},
    {{"f32[2,3,4,6]", "f32[2,3,8,6]"}, WITH(0, 1)},
    {{"f32[2,6,4]", "f32[2,6,8]"}, WITH(1)},
    {{"f32[4,6]", "f32[2,6,8]"}, WITH(0)},
    {{"f32[2,6,4]", "f32[2,6,8]"}, WITH(1, 0, 1)},
    {{"f32[2,4,6]", "f32[2,8,6]"}, WITH(0, 1, 1)},
    {{"bf16[4,6]", "bf16[6,8]"}, WITH(0)},
    {{"bf16[2,6,4]", "bf16[2,6,8]"}, WITH(1, 0, 1)},
    {{"bf16[40,96]", "bf16[96,70]"}, WITH(0, 0, 0, 1)},
    {{"bf16[96,140]", "bf16[130,96]"}, WITH(1, 1)},
    {{"f16[96,140]", "f16[96,40]"}, WITH(1, 0, 0, 1)},
    {{"f32[19,37]", "f32[37,53]"}, WITH(0)},
    {{"f32[19,37]", "f32[53,37]"}, WITH(0, 1)},
    {{"f32[37,19]", "f32[37,53]"}, WITH(1)},
    {{"f32[4,6]", "f32[5,8]"}, WITH(0), .fails = "sizes 6 and 5 differ"},
    {{"f32[4,6]", "i32[6,8]"}, WITH(0), .fails = "must be a float type"},
    {{0}},
};

const gr_op gr_op_matmul = {
    .name = "matmul",
    .doc =
        "z = x y over the last two axes. Leading axes are batch axes; one operand may have none "
        "(weights).",
    .effort = GR_EFFORT_MATMUL,
    .n_in = 2,
    .attr_size = sizeof(struct matmul),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .grad = grad,
    .cpu = matmul_cpu,
    .fast_f32 = run_f32,
    .fast_narrow = gr_matmul_narrow,
    .scratch = scratch,
    .gpu = gpu,
    .amp = GR_AMP_NARROW,
    .to_onnx = to_onnx,
    .from_onnx =
        GR_FROM_ONNX({"Gemm", read_gemm}, {"MatMul", read_matmul}, {"Einsum", gr_einsum_read}),
    .cases = cases,
};
