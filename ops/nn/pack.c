// pack.c - prepacked weights: if several matmuls share the right operand, it is copied once into
// panels of columns, so that a matmul with few rows reads memory sequentially. The width of a
// panel, and so the order of a packed matrix's elements, depends on the processor; its type does
// not. bf16 is packed in pairs along k (gemm_bf16.c); f16, for which processors have no products,
// as f32.
#include "ops/nn/matmul.h"

// ROUND is a common multiple of the widths of panels on all processors (gemm_tile.h), so that the
// type of a packed matrix is the same everywhere. Packing pays off for few rows, where a matmul is
// bound by reading the right operand, unless that is small enough to stay in the cache.
enum { ROUND = 96, FEW_ROWS = 32, MIN_ELEMENTS = 64 * 64 };

struct pack {
  int64_t transposed;  // the operand is [columns, k], else [k, columns]
};
struct packed {
  int64_t columns;
};

bool gr_matmul_packs(const gr_op_call *s) {
  const struct matmul *a = s->attr;
  if (s->op != &gr_op_matmul || a->ta || a->sum || s->in[0].rank != 2 || s->in[1].rank != 2)
    return false;
  bool pairs = s->in[0].dtype == GR_BF16 && gr_last(s->in) % 2 == 0;
  return (gr_is_f32(s) || pairs || s->in[0].dtype == GR_F16) && s->in[0].dim[0] <= FEW_ROWS &&
         gr_type_count(s->in + 1) >= MIN_ELEMENTS;
}

gr_val gr_pack(gr_builder *b, const gr_op_call *product, gr_val y) {
  const struct matmul *a = product->attr;
  if (product->in[1].dtype == GR_F16) y = gr_cast(b, y, GR_F32);
  return GR_EMIT(b, &gr_op_pack, (&(struct pack){a->tb}), y);
}

gr_val gr_matmul_packed(gr_builder *b, gr_val x, gr_val packed, int64_t columns) {
  if (b->err) return GR_NONE;
  gr_val like = gr_cast(b, x, gr_at(b->g, packed)->type.dtype);
  if (!b->err) gr_at(b->g, like)->layout = gr_at(b->g, x)->layout;
  return GR_EMIT(b, &gr_op_matmul_packed, (&(struct packed){columns}), like, packed);
}

// ---- pack ---------------------------------------------------------------------------------------

static int64_t rounded(int64_t n) { return (n + ROUND - 1) / ROUND * ROUND; }

static gr_status check_dtype(const gr_op_call *s, int64_t k) {
  if (gr_is_f32(s) || (s->in[0].dtype == GR_BF16 && k % 2 == 0)) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "only f32 can be packed, and bf16 with an even k");
}

static gr_status infer(gr_op_call *s) {
  int transposed = ((const struct pack *)s->attr)->transposed != 0;
  s->out[0].dim[0] = rounded(s->in[0].dim[!transposed]);
  s->out[0].dim[1] = s->in[0].dim[transposed];
  return check_dtype(s, s->out[0].dim[1]);
}

static gr_status pack_run(const gr_launch *l) {
  bool transposed = ((const struct pack *)l->attr)->transposed;
  const gr_type *t = l->in_type;
  gr_gemm g = gr_gemm_dense(false, transposed, 0, t->dim[!transposed], t->dim[transposed]);
  memset(l->out[0], 0, gr_type_bytes(l->out_type));
  if (t->dtype == GR_BF16)
    gr_gemm_bf16_pack(&g, l->in[0], l->out[0]);
  else
    gr_gemm_pack(&g, l->in[0], l->out[0]);
  return GR_OK;
}

static const gr_attr attrs[] = {GR_ATTR(struct pack, transposed, GR_ATTR_BOOL, "false",
                                        "the operand is [columns, k], as for matmul's tb"),
                                {0}};
static const gr_case cases[] = {
    {{"f32[6,8]"}, .attr = &(struct pack){0}},
    {{"f32[107,19]"}, .attr = &(struct pack){1}},
    {{"bf16[6,8]"}, .attr = &(struct pack){0}},
    {{"bf16[107,20]"}, .attr = &(struct pack){1}},
    {{"bf16[7,8]"}, .attr = &(struct pack){0}, .fails = "with an even k"},
    {{"f16[6,8]"}, .attr = &(struct pack){0}, .fails = "only f32"},
    {{0}},
};

static int64_t no_flops(const gr_op_call *s) {
  (void)s;
  return 0;
}

const gr_op gr_op_pack = {
    .name = "pack",
    .doc =
        "A matrix [k, columns] in the order that matmul_packed reads; columns are rounded up to a "
        "multiple of 96.",
    .effort = GR_EFFORT_PERMUTE,
    .attr_size = sizeof(struct pack),
    .attrs = attrs,
    .index_spec = "AB->__",
    .infer = infer,
    .flops = no_flops,
    .cpu_only = true,
    .cpu = pack_run,
    .cases = cases,
};

// ---- matmul_packed ------------------------------------------------------------------------------

static gr_status packed_infer(gr_op_call *s) {
  int64_t columns = ((const struct packed *)s->attr)->columns, k = gr_last(s->in);
  const gr_type *p = &s->in[1];
  s->out[0].dim[s->out[0].rank - 1] = columns;
  if (columns < 1 || p->dim[0] != rounded(columns) || p->dim[1] != k)
    return gr_fail(GR_ERR_TYPE, s->loc,
                   "operand 1 is not a packed matrix of %lld columns and %lld rows",
                   (long long)columns, (long long)k);
  s->out[0].dtype = GR_F32;
  GR_TRY(check_dtype(s, k));
  return gr_require_float(s, 1, "the packed matrix");
}

static gr_gemm product_of(const gr_launch *l) {
  return gr_gemm_dense(false, false, gr_rows(l->in_type), gr_last(l->out_type),
                       gr_last(l->in_type));
}

static gr_status packed_cpu(const gr_launch *l) {
  gr_gemm g = product_of(l);
  bool pairs = l->in_type->dtype == GR_BF16;
  for (int64_t i = 0; i < g.m; i++)
    for (int64_t j = 0; j < g.n; j++) {
      double sum = 0;
      for (int64_t p = 0; p < g.k; p++)
        sum += IN(0, i * g.k + p) *
               IN(1, (pairs ? gr_gemm_bf16_packed_at : gr_gemm_packed_at)(&g, j, p));
      OUT(0, i * g.n + j, sum);
    }
  return GR_OK;
}

static gr_status packed_run(const gr_launch *l) {
  gr_gemm g = product_of(l);
  if (l->in_type->dtype == GR_BF16)
    gr_gemm_bf16_by_packed(l, &g, l->in[0], l->in[1], l->out[0]);
  else
    gr_gemm_by_packed(l, &g, l->in[0], l->in[1], l->out[0]);
  return GR_OK;
}

static gr_kernel packed_fast(const gr_op_call *s) {
  (void)s;
  return packed_run;
}

static const gr_attr packed_attrs[] = {
    GR_ATTR(struct packed, columns, GR_ATTR_INT, NULL, "number of columns of the original matrix"),
    {0}};
static const gr_case packed_cases[] = {
    {{"f32[4,6]", "f32[96,6]"}, .attr = &(struct packed){8}},
    {{"f32[9,33]", "f32[192,33]"}, .attr = &(struct packed){107}},
    {{"bf16[4,6]", "bf16[96,6]"}, .attr = &(struct packed){8}},
    {{"bf16[13,34]", "bf16[192,34]"}, .attr = &(struct packed){107}},
    {{"f32[4,6]", "f32[96,6]"}, .attr = &(struct packed){97}, .fails = "not a packed matrix"},
    {{0}},
};

// The padding columns do not count.
static int64_t packed_flops(const gr_op_call *s) {
  return 2 * gr_type_count(s->out) * gr_last(s->in);
}

const gr_op gr_op_matmul_packed = {
    .name = "matmul_packed",
    .doc = "z = x y in f32, with y prepacked by pack.",
    .effort = GR_EFFORT_PACKED,
    .attr_size = sizeof(struct packed),
    .attrs = packed_attrs,
    .index_spec = "...mA,BA->...m_",
    .infer = packed_infer,
    .flops = packed_flops,
    .cpu_only = true,
    .cpu = packed_cpu,
    .fast = packed_fast,
    .cases = packed_cases,
};
