// transpose.c - permutes the axes. The fast kernel is in ops/kernels/permute.c.
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/permute.h"
#include "ops/ops.h"

GR_CU(transpose);

struct transpose {
  gr_ints perm;
};

gr_val gr_transpose(gr_builder *b, gr_val x, gr_ints perm) {
  return GR_EMIT(b, &gr_op_transpose, &(struct transpose){perm}, x);
}

// "abc->cab". Type inference rejects an invalid perm later, so its notation here does not matter.
static void index_spec_of(const gr_op_call *s, char buf[128]) {
  const gr_ints *perm = &((const struct transpose *)s->attr)->perm;
  char *p = buf;
  for (int d = 0; d < s->in[0].rank; d++) *p++ = (char)('a' + d);
  *p++ = '-', *p++ = '>';
  for (int64_t d = 0; d < perm->n; d++) *p++ = (char)('a' + (perm->items[d] & 15));
  *p = 0;
}

static gr_status infer(gr_op_call *s) {
  const gr_ints *perm = &((const struct transpose *)s->attr)->perm;
  bool seen[GR_MAX_RANK] = {0};
  if (perm->n != s->in[0].rank)
    return gr_fail(GR_ERR_TYPE, s->loc, "perm has %lld axes, but the operand has %d",
                   (long long)perm->n, s->in[0].rank);
  for (int64_t d = 0; d < perm->n; d++) {
    if (perm->items[d] < 0 || perm->items[d] >= perm->n || seen[perm->items[d]])
      return gr_fail(GR_ERR_TYPE, s->loc, "perm is not a permutation of 0 to %lld",
                     (long long)perm->n - 1);
    seen[perm->items[d]] = true;
  }
  return GR_OK;
}

static void grad(const gr_grad *g) {
  const gr_ints *perm = &((const struct transpose *)g->attr)->perm;
  gr_ints back = {.n = perm->n};
  for (int64_t d = 0; d < perm->n; d++) back.items[perm->items[d]] = d;
  g->dx[0] = gr_transpose(g->b, g->dy[0], back);
}

static gr_status transpose_cpu(const gr_launch *l) {
  const gr_ints *perm = &((const struct transpose *)l->attr)->perm;
  const gr_type *x = l->in_type, *y = l->out_type;
  int64_t stride[GR_MAX_RANK], n = 1;
  for (int d = x->rank; d--; n *= x->dim[d]) stride[d] = n;
  for (int64_t o = 0; o < n; o++) {
    int64_t i = 0, rest = o;
    for (int d = y->rank; d--; rest /= y->dim[d]) i += rest % y->dim[d] * stride[perm->items[d]];
    OUT(0, o, IN(0, i));
  }
  return GR_OK;
}

static gr_status run_fast(const gr_launch *l) {
  gr_permute(l, l->in_type, &((const struct transpose *)l->attr)->perm, l->in[0], l->out[0]);
  return GR_OK;
}

static gr_kernel fast(const gr_op_call *s) {
  size_t bytes = gr_dtypes[s->in[0].dtype].size;
  return bytes == 4 || bytes == 2 ? run_fast : NULL;
}

// ---- On a GPU: tiles of the matrices, or element after element if an axis is short --------------

static int64_t tile_of(const gr_op_call *c) { return gr_dtypes[c->in[0].dtype].size < 4 ? 64 : 32; }

static void define_axes(gr_gpu_call *g, gr_gpu_kernel *k, int n) {
  int64_t tile = tile_of(g->call);
  k->declared = (size_t)(tile * (tile + 1) * gr_dtypes[g->call->in[0].dtype].size);
  gr_gpu_define(g, k, "AXES", "%d", n);
  gr_gpu_define_list(g, k, "EACH_AXIS", n);
}

static void add_tiles(gr_gpu_call *g, const gr_permutation *p) {
  int last = p->rank - 1, n = 0;
  int64_t tile = tile_of(g->call);
  int64_t a = p->size[last], b = p->size[p->row];  // of x [a, b]
  int64_t tiles = ((a + tile - 1) / tile) * ((b + tile - 1) / tile);
  int64_t size[GR_MAX_RANK] = {1}, source[GR_MAX_RANK] = {0}, target[GR_MAX_RANK] = {0};
  for (int d = 0; d < last; d++) {
    if (d == p->row) continue;
    size[n] = p->size[d], source[n] = p->in_stride[d], target[n++] = p->out_stride[d];
    tiles *= p->size[d];
  }
  if (!n) n = 1;  // one matrix
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_transpose, "transpose", tiles * 256, 256);
  define_axes(g, k, n);
  gr_gpu_int(k, tiles), gr_gpu_int(k, a), gr_gpu_int(k, b);
  gr_gpu_int(k, p->in_stride[last]), gr_gpu_int(k, p->out_stride[p->row]);
  for (int i = 0; i < n; i++) gr_gpu_int(k, size[i]);
  for (int i = 0; i < n; i++) gr_gpu_int(k, source[i]);
  for (int i = 0; i < n; i++) gr_gpu_int(k, target[i]);
}

static gr_status gpu(gr_gpu_call *g) {
  enum { SHORT = 8 };
  gr_permutation p =
      gr_permutation_of(&g->call->in[0], &((const struct transpose *)g->call->attr)->perm);
  int last = p.rank - 1;
  if (p.row != last && p.size[last] > SHORT && p.size[p.row] > SHORT) {
    add_tiles(g, &p);
    return GR_OK;
  }
  gr_gpu_kernel *k = gr_gpu_elements(g, gr_cu_transpose, "permute");
  define_axes(g, k, p.rank);
  for (int d = 0; d < p.rank; d++) gr_gpu_int(k, p.size[d]);
  for (int d = 0; d < p.rank; d++) gr_gpu_int(k, p.in_stride[d]);
  return GR_OK;
}

static void read_transpose(gr_onnx_reading *r) {
  int x = gr_read_in(r, 0, true);
  int64_t perm[GR_MAX_RANK];
  if (r->err) return;
  int rank = gr_read_type(r, x)->rank, n = gr_read_ints(r, "perm", GR_MAX_RANK, perm, 0);
  if (n && n != rank) gr_read_refuse(r, "permutes %d axes of a value of %d", n, rank);
  for (int d = 0; d < rank && !n; d++) perm[d] = rank - 1 - d;
  for (int d = 0; d < rank && !r->err; d++) perm[d] = gr_read_axis(r, perm[d], rank);
  gr_read_out(r, 0, gr_read_transpose(r, x, perm), false);
}

// Of channels-last [n, h, w, c]: blocks of channels become blocks of places, or back.
static void move_blocks(gr_onnx_reading *r, bool back) {
  static const int64_t usual[] = {0, 1, 3, 2, 4, 5}, channels_first[] = {0, 1, 4, 2, 5, 3};
  int64_t parts[6][GR_READ_CHOICES], whole[4][GR_READ_CHOICES], b = gr_read_int(r, "blocksize", 0);
  bool crd = !back && !strcmp(gr_read_text(r, "mode", "DCR"), "CRD");
  int x = gr_read_in_last(r, 0);
  if (r->err) return;
  const gr_type *t = gr_read_type(r, x);
  if (t->rank != 4 || b < 1 || b > 1 << 15 || t->dim[3] % (back ? 1 : b * b))
    gr_read_refuse(r, "has blocks of %lld of another number of channels", (long long)b);
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    const int64_t *d = r->vars[x].type[c].dim;
    int64_t channels = back ? d[3] : d[3] / (b * b), h = back ? d[1] / b : d[1];
    int64_t w = back ? d[2] / b : d[2];
    const int64_t split[] = {
        d[0], h, back ? b : w, back ? w : crd ? channels : b, b, back || !crd ? channels : b};
    if (back && (d[1] % b || d[2] % b)) gr_read_refuse(r, "has blocks that do not fit");
    for (int k = 0; k < 6; k++) parts[k][c] = split[k];
    whole[0][c] = d[0], whole[1][c] = back ? h : h * b, whole[2][c] = back ? w : w * b;
    whole[3][c] = back ? channels * b * b : channels;
  }
  x = gr_read_reshape(r, x, 6, parts);
  x = gr_read_transpose(r, x, crd ? channels_first : usual);
  gr_read_out(r, 0, gr_read_reshape(r, x, 4, whole), true);
}

static void read_to_space(gr_onnx_reading *r) { move_blocks(r, false); }
static void read_to_depth(gr_onnx_reading *r) { move_blocks(r, true); }

static const gr_attr attrs[] = {GR_ATTR(struct transpose, perm, GR_ATTR_INTS, NULL,
                                        "for each axis of the result, the corresponding axis of x"),
                                {0}};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(struct transpose){{2, {1, 0}}}},
    {{"f32[6,4,3]"}, .attr = &(struct transpose){{3, {1, 0, 2}}}},
    {{"f32[6,4,3]"}, .attr = &(struct transpose){{3, {2, 0, 1}}}},
    {{"f32[2,3,4,6]"}, .attr = &(struct transpose){{4, {0, 2, 1, 3}}}},
    {{"f32[2,3,4,6]"}, .attr = &(struct transpose){{4, {3, 1, 0, 2}}}},
    {{"f32[2,3,4,6]"}, .attr = &(struct transpose){{4, {0, 1, 2, 3}}}},
    {{"f32[1,40,1,35]"}, .attr = &(struct transpose){{4, {3, 0, 1, 2}}}},
    {{"f32[3,40,19]"}, .attr = &(struct transpose){{3, {0, 2, 1}}}},
    {{"i32[20,17]"}, .attr = &(struct transpose){{2, {1, 0}}}, .fill = "i"},
    {{"bf16[4,6]"}, .attr = &(struct transpose){{2, {1, 0}}}},
    {{"bf16[3,140,70]"}, .attr = &(struct transpose){{3, {0, 2, 1}}}},
    {{"f16[2,3,4,20]"}, .attr = &(struct transpose){{4, {0, 2, 1, 3}}}},
    {{"f32[]"}, .attr = &(struct transpose){{0, {0}}}},
    {{"f32[4,6]"}, .attr = &(struct transpose){{1, {0}}}, .fails = "perm has 1 axes"},
    {{"f32[4,6]"},
     .attr = &(struct transpose){{2, {1, 1}}},
     .fails = "perm is not a permutation of 0 to 1"},
    {{"f32[4,6]"},
     .attr = &(struct transpose){{2, {0, -9}}},
     .fails = "perm is not a permutation of 0 to 1"},
    {{0}},
};

const gr_op gr_op_transpose = {
    .name = "transpose",
    .doc = "x with its axes permuted.",
    .effort = GR_EFFORT_PERMUTE,
    .n_in = 1,
    .attr_size = sizeof(struct transpose),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .linear = true,
    .infer = infer,
    .grad = grad,
    .cpu = transpose_cpu,
    .fast = fast,
    .gpu = gpu,
    .onnx = "Transpose perm=$perm",
    .from_onnx = GR_FROM_ONNX({"Transpose", read_transpose}, {"DepthToSpace", read_to_space},
                              {"SpaceToDepth", read_to_depth}),
    .cases = cases,
};
