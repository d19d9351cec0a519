// group_norm_read.c - reads a GroupNormalization or an InstanceNormalization of ONNX as the block
// group_norm. PyTorch writes the former as one of the latter over [n, groups, rest], too, which is
// found here.
#include <string.h>
#include "ops/kernels/onnx_read.h"
#include "ops/ops.h"

// The block over all places of x, which is channels-last.
static int normalise(gr_onnx_reading *r, int x, int64_t groups, const gr_read_part parts[2]) {
  int64_t flat[3][GR_READ_CHOICES], whole[GR_MAX_RANK][GR_READ_CHOICES];
  gr_type type[GR_READ_CHOICES];
  if (r->err) return 0;
  int rank = gr_read_type(r, x)->rank;
  gr_read_dims(r, x, 0, rank, whole), gr_read_dims(r, x, 0, 1, flat);
  gr_read_count(r, x, 1, rank - 1, flat[1]), gr_read_dims(r, x, rank - 1, rank, &flat[2]);
  for (int c = 0; c < GR_READ_CHOICES; c++)
    type[c] = (gr_type){
        .dtype = gr_read_type(r, x)->dtype, .rank = 3, .dim = {flat[0][c], flat[1][c], flat[2][c]}};
  const gr_read_setting s[] = {
      {"groups", gr_arena_printf(r->arena, "%lld", (long long)groups)},
      {"eps", gr_arena_printf(r->arena, "%.7g", gr_read_float(r, "epsilon", 1e-5))},
      {"affine", parts ? NULL : "false"}};
  x = gr_read_reshape(r, x, 3, flat);
  const char *path = parts ? gr_read_path(r, parts[0].var, "weight") : NULL;
  x = gr_read_block(r, "group_norm", path, x, type, 3, s, parts ? 2 : 0, parts);
  return gr_read_reshape(r, x, rank, whole);
}

static bool is_all(const gr_onnx_reading *r, int v, float value) {
  const gr_read_var *x = &r->vars[v];
  if (!v || !x->data[0] || x->weight || x->type[0].dtype != GR_F32) return false;
  for (int64_t i = 0, n = gr_type_count(&x->type[0]); i < n; i++)
    if (((const float *)x->data[0])[i] != value) return false;
  return true;
}

// x, channels-last, in groups, with weights of operands 1 and 2.
static void read(gr_onnx_reading *r, int64_t groups) {
  int x = gr_read_in_last(r, 0), w = gr_read_in(r, 1, true), b = gr_read_in(r, 2, true);
  if (r->err) return;
  const gr_type *t = gr_read_type(r, x);
  int64_t c = t->dim[t->rank - 1];
  if (groups < 1 || c % groups || !gr_read_is_vector(r, w, c) || !gr_read_is_vector(r, b, c))
    gr_read_refuse(r, "has %lld groups of %lld channels, or weights of another number",
                   (long long)groups, (long long)c);
  const gr_read_part parts[] = {{"weight", w}, {"bias", b}};
  bool alone = gr_read_is_own(r, w) && gr_read_is_own(r, b);
  x = normalise(r, x, groups, alone ? parts : NULL);
  if (!alone && !is_all(r, w, 1)) x = GR_READ_TWO(r, &gr_op_mul, x, w);
  if (!alone && !is_all(r, b, 0)) x = GR_READ_TWO(r, &gr_op_add, x, b);
  gr_read_out(r, 0, x, true);
}

void gr_group_norm_read(gr_onnx_reading *r) {
  gr_read_int(r, "stash_type", 1);
  read(r, gr_read_int(r, "num_groups", 1));
}

// The channels-last value whose groups of channels are the rows of operand 0, [n, groups, rest].
static int in_groups(gr_onnx_reading *r, int64_t *groups) {
  int x = gr_read_in(r, 0, true), i = x ? r->vars[x].line : 0;
  if (!i || strcmp(r->lines[i - 1].op, "reshape") != 0) return 0;
  int source = gr_read_source(r, r->lines[i - 1].in[0]);
  const gr_type *t = gr_read_type(r, x), *whole = source ? gr_read_type(r, source) : NULL;
  if (!whole || t->rank != 3 || t->dim[0] != whole->dim[0]) return 0;
  *groups = t->dim[1];
  return whole->dim[whole->rank - 1] % *groups ? 0 : source;
}

void gr_instance_norm_read(gr_onnx_reading *r) {
  int64_t groups = 0, sizes[3][GR_READ_CHOICES], perm[GR_MAX_RANK];
  int grouped = gr_read_is_last(r, 0) ? 0 : in_groups(r, &groups);
  int w = gr_read_in(r, 1, true), b = gr_read_in(r, 2, true);
  if (!grouped || !is_all(r, w, 1) || !is_all(r, b, 0)) {
    int x = gr_read_in_last(r, 0);
    read(r, r->err ? 0 : gr_read_type(r, x)->dim[gr_read_type(r, x)->rank - 1]);
    return;
  }
  int y = normalise(r, grouped, groups, NULL), rank = gr_read_type(r, grouped)->rank;
  for (int d = 0; d < rank; d++) perm[d] = gr_read_place(d, rank, true);
  gr_read_dims(r, gr_read_in(r, 0, true), 0, 3, sizes);
  y = gr_read_transpose(r, y, perm);
  gr_read_out(r, 0, gr_read_reshape(r, y, 3, sizes), false);
}
