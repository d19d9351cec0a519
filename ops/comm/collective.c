// collective.c - the collectives that convert between layouts. Only the pass that shards the graph
// creates them. A collective takes any number of values and converts each of them independently,
// so that several collectives can be coalesced into one.
//
// Communicators transfer blocks of equal size in rank order. If the sharded axis is not the first,
// or its size is not divisible by the number of ranks, a rank's slice is not a contiguous block of
// the full value; the slices are then staged in scratch memory. Short slices are padded with zeros
// (ir/graph.h).
#include "ops/comm/collective.h"
#include <assert.h>
#include <string.h>
#include "ops/comm/comm.h"
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

enum { MAX_RANKS = 1 << 20 };  // the same limit as for a mesh (ir/parse.c)

static gr_status check(gr_op_call *s) {
  s->n_out = s->n_in;
  if (!s->n_in)
    return gr_fail(GR_ERR_TYPE, s->loc, "a collective takes at least one operand, got none");
  for (int k = 1; k < s->n_in; k++)
    if (s->in[k].dtype != s->in[0].dtype)
      return gr_fail(
          GR_ERR_TYPE, s->loc,
          "the operands of a collective have one dtype, but operand %d is %s and operand 0 is %s",
          k, gr_dtypes[s->in[k].dtype].name, gr_dtypes[s->in[0].dtype].name);
  for (int k = 0; k < s->n_in; k++) s->out[k] = s->in[k];
  return GR_OK;
}

static gr_status check_dims(const gr_op_call *s) {
  const struct gr_coll *a = s->attr;
  if (a->dim.n != s->n_in)
    return gr_fail(GR_ERR_TYPE, s->loc, "dim needs one entry per operand: expected %d, got %lld",
                   s->n_in, (long long)a->dim.n);
  for (int k = 0; k < s->n_in; k++)
    if (a->dim.items[k] < 0 || a->dim.items[k] >= s->in[k].rank || a->ranks < 1 ||
        a->ranks > MAX_RANKS)
      return gr_fail(GR_ERR_TYPE, s->loc, "axis %lld cannot be sharded over %lld ranks",
                     (long long)a->dim.items[k], (long long)a->ranks);
  return GR_OK;
}

static int64_t slice_size(int64_t size, int64_t ranks) { return (size + ranks - 1) / ranks; }

int64_t gr_coll_rows(int64_t size, int64_t ranks, int64_t rank, int64_t *first) {
  assert(ranks >= 1 && rank >= 0 && rank < ranks);
  int64_t most = slice_size(size, ranks);
  *first = rank * most < size ? rank * most : size;
  return size - *first < most ? size - *first : most;
}

static gr_status infer_slices(gr_op_call *s) {
  const struct gr_coll *a = s->attr;
  GR_TRY(check(s));
  GR_TRY(check_dims(s));
  for (int k = 0; k < s->n_in; k++) {
    int64_t *size = &s->out[k].dim[a->dim.items[k]];
    *size = slice_size(*size, a->ranks);
  }
  return GR_OK;
}

static gr_status infer_gathered(gr_op_call *s) {
  const struct gr_coll *a = s->attr;
  GR_TRY(check(s));
  GR_TRY(check_dims(s));
  if (a->size.n != s->n_in)
    return gr_fail(GR_ERR_TYPE, s->loc, "size needs one entry per operand: expected %d, got %lld",
                   s->n_in, (long long)a->size.n);
  for (int k = 0; k < s->n_in; k++) {
    int64_t *size = &s->out[k].dim[a->dim.items[k]], whole = a->size.items[k];
    if (whole < 1 || slice_size(whole, a->ranks) != *size)
      return gr_fail(GR_ERR_TYPE, s->loc,
                     "slices of size %lld on %lld ranks do not form an axis of size %lld",
                     (long long)*size, (long long)a->ranks, (long long)whole);
    *size = whole;
  }
  return GR_OK;
}

// How a full value is divided into slices along a dimension: `outer` blocks of `size` rows of `row`
// bytes. A slice has at most `most` rows of each block; the last slices may have fewer, or none.
typedef struct cut {
  size_t outer, size, row, most, ranks;
} cut;

static cut cut_of(const gr_type *whole, const struct gr_coll *a, int k) {
  cut c = {.outer = 1, .row = gr_dtypes[whole->dtype].size, .ranks = (size_t)a->ranks};
  int dim = (int)a->dim.items[k];
  for (int d = 0; d < dim; d++) c.outer *= (size_t)whole->dim[d];
  for (int d = dim + 1; d < whole->rank; d++) c.row *= (size_t)whole->dim[d];
  c.size = (size_t)whole->dim[dim], c.most = (c.size + c.ranks - 1) / c.ranks;
  return c;
}

static size_t slice_bytes(cut c) { return c.outer * c.most * c.row; }

// Returns the number of rows of slice r in each block; *from is the first of them.
static size_t rows_of(cut c, size_t r, size_t *first_row) {
  int64_t first, rows = gr_coll_rows((int64_t)c.size, (int64_t)c.ranks, (int64_t)r, &first);
  *first_row = (size_t)first;
  return (size_t)rows;
}

// Copies rows within one memory: the host's, or that of the device whose communicator this is.
static gr_status copy_rows(gr_comm *c, char *target, size_t to_stride, const char *source,
                           size_t from_stride, size_t width, size_t rows) {
  if (c && c->ops->copy_rows)
    return width && rows ? c->ops->copy_rows(c, target, to_stride, source, from_stride, width, rows)
                         : GR_OK;
  for (size_t o = 0; o < rows; o++) memcpy(target + o * to_stride, source + o * from_stride, width);
  return GR_OK;
}

// A short slice is stored densely and followed by zeros up to the common slice size.
static gr_status take_slice(gr_comm *comm, char *slice, const char *whole, cut c, size_t r) {
  size_t first, rows = rows_of(c, r, &first), bytes = rows * c.row;
  size_t used = c.outer * bytes, rest = slice_bytes(c) - used;
  GR_TRY(copy_rows(comm, slice, bytes, whole + first * c.row, c.size * c.row, bytes, c.outer));
  if (rest && comm && comm->ops->clear) return comm->ops->clear(comm, slice + used, rest);
  memset(slice + used, 0, rest);
  return GR_OK;
}

static gr_status put_slice(gr_comm *comm, char *whole, const char *slice, cut c, size_t r) {
  size_t first, rows = rows_of(c, r, &first), bytes = rows * c.row;
  return copy_rows(comm, whole + first * c.row, c.size * c.row, slice, bytes, bytes, c.outer);
}

static gr_status run_slice(const gr_launch *l) {
  const struct gr_coll *a = l->attr;
  return take_slice(NULL, l->out[0], l->in[0], cut_of(l->in_type, a, 0),
                    (size_t)l->coord[a->mesh_axis]);
}

static gr_comm *comm_of(const gr_launch *l) {
  return l->comm[((const struct gr_coll *)l->attr)->mesh_axis];
}

// Without a rank, while a plan is made, that of the first.
static gr_status gpu_slice(gr_gpu_call *g) {
  const struct gr_coll *a = g->call->attr;
  const gr_type *x = &g->call->in[0];
  int dim = (int)a->dim.items[0];
  int64_t first, rank = g->where ? g->where->coord[a->mesh_axis] : 0;
  int64_t rows = gr_coll_rows(x->dim[dim], a->ranks, rank, &first), outer = 1, row = 1;
  for (int d = 0; d < x->rank; d++)
    if (d != dim) *(d < dim ? &outer : &row) *= x->dim[d];
  // a rank beyond the last slice has no rows: all of its slice is zeros
  gr_gpu_copy_box(g, &(gr_gpu_box){.rows = outer,
                                   .columns = rows * row,
                                   .x_width = x->dim[dim] * row,
                                   .x_from = first * row,
                                   .y_width = gr_max_i64(1, rows * row)});
  return GR_OK;
}

// counted: the types whose element counts the communicator expects, either the operands' or the
// results'.
static gr_status collective_run(const gr_launch *l, gr_collective what, const gr_type *counted,
                                const void *const *in, void *const *out) {
  gr_comm *c = comm_of(l);
  c->tree = l->mesh && gr_mesh_virtual(l->mesh) >= 0;
  gr_comm_piece piece[GR_MAX_ARGS];
  for (int k = 0; k < l->n_in; k++)
    piece[k] = (gr_comm_piece){gr_type_count(&counted[k]), in[k], out[k]};
  return gr_comm_collect(c, what, counted->dtype, l->n_in, piece);
}

static gr_status run_reduce(const gr_launch *l) {
  return collective_run(l, GR_ALL_REDUCE, l->in_type, l->in, l->out);
}

// Bytes of scratch memory for staging; 0 if the slices, concatenated in rank order, are the full
// value.
static size_t staging_bytes(const gr_type *whole, const struct gr_coll *a, int k) {
  cut c = cut_of(whole, a, k);
  bool blocks = c.outer == 1 && c.most * c.ranks == c.size;
  return blocks ? 0 : (slice_bytes(c) * c.ranks + 63) / 64 * 64;
}

static gr_status run_gather(const gr_launch *l) {
  void *target[GR_MAX_ARGS];
  char *scratch = l->scratch;
  for (int k = 0; k < l->n_in; k++) {
    size_t bytes = staging_bytes(&l->out_type[k], l->attr, k);
    target[k] = bytes ? scratch : l->out[k];
    scratch += bytes;
  }
  GR_TRY(collective_run(l, GR_ALL_GATHER, l->in_type, l->in, target));
  for (int k = 0; k < l->n_in; k++) {
    cut c = cut_of(&l->out_type[k], l->attr, k);
    for (size_t r = 0; target[k] != l->out[k] && r < c.ranks; r++)
      GR_TRY(put_slice(comm_of(l), l->out[k], (const char *)target[k] + r * slice_bytes(c), c, r));
  }
  return GR_OK;
}

static gr_status run_scatter(const gr_launch *l) {
  const void *source[GR_MAX_ARGS];
  char *scratch = l->scratch;
  for (int k = 0; k < l->n_in; k++) {
    cut c = cut_of(&l->in_type[k], l->attr, k);
    size_t bytes = staging_bytes(&l->in_type[k], l->attr, k);
    for (size_t r = 0; bytes && r < c.ranks; r++)
      GR_TRY(take_slice(comm_of(l), scratch + r * slice_bytes(c), l->in[k], c, r));
    source[k] = bytes ? scratch : l->in[k];
    scratch += bytes;
  }
  return collective_run(l, GR_REDUCE_SCATTER, l->out_type, source, l->out);
}

static size_t scratch_of_inputs(const gr_op_call *s) {
  size_t sum = 0;
  for (int k = 0; k < s->n_in; k++) sum += staging_bytes(&s->in[k], s->attr, k);
  return sum;
}
static size_t scratch_of_outputs(const gr_op_call *s) {
  size_t sum = 0;
  for (int k = 0; k < s->n_out; k++) sum += staging_bytes(&s->out[k], s->attr, k);
  return sum;
}

static const gr_attr attrs[] = {
    GR_ATTR(struct gr_coll, mesh_axis, GR_ATTR_INT, NULL,
            "the mesh axis over which the ranks communicate"),
    GR_ATTR(struct gr_coll, ranks, GR_ATTR_INT, NULL, "the size of that mesh axis"),
    GR_ATTR(struct gr_coll, group, GR_ATTR_INT, "0",
            "collectives may be coalesced within one group; group 0 with any other"),
    GR_ATTR(struct gr_coll, dim, GR_ATTR_LIST, "[]", "for each value, the axis that is sharded"),
    GR_ATTR(struct gr_coll, size, GR_ATTR_LIST, "[]",
            "for each gathered slice, the full size of that axis"),
    {0}};
static const gr_case none[] = {{{0}}};

const gr_op gr_op_shard_slice = {
    .name = "shard_slice",
    .doc = "This rank's slice of a replicated value.",
    .attr_size = sizeof(struct gr_coll),
    .attrs = attrs,
    .index_spec = "...->...",
    .padding = GR_PADDING_ADDED,
    .infer = infer_slices,
    .cpu = run_slice,
    .gpu = gpu_slice,
    .multi_tensor = true,
    .cases = none,
};

const gr_op gr_op_all_reduce = {
    .name = "all_reduce",
    .doc = "The sum of the partial sums of all ranks, on every rank.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(struct gr_coll),
    .attrs = attrs,
    .padding = GR_PADDING_PRESERVED,
    .collective = true,
    .infer = check,
    .cpu = run_reduce,
    .inplace_each = true,
    .cases = none,
};

const gr_op gr_op_all_gather = {
    .name = "all_gather",
    .doc = "The concatenation of the slices of all ranks, on every rank.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(struct gr_coll),
    .attrs = attrs,
    .padding = GR_PADDING_REMOVED,
    .collective = true,
    .infer = infer_gathered,
    .cpu = run_gather,
    .scratch = scratch_of_outputs,
    .cases = none,
};

const gr_op gr_op_reduce_scatter = {
    .name = "reduce_scatter",
    .doc = "This rank's slice of the sum of the partial sums of all ranks.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(struct gr_coll),
    .attrs = attrs,
    .padding = GR_PADDING_ADDED,
    .collective = true,
    .infer = infer_slices,
    .cpu = run_scatter,
    .scratch = scratch_of_inputs,
    .cases = none,
};
