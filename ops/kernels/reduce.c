// reduce.c - see reduce.h.
#include "ops/kernels/reduce.h"
#include <assert.h>
#include "ir/onnx.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

bool gr_reduces_rows(const gr_op_call *s) {
  const gr_reduce_axes *a = s->attr;
  return a->axes.n == 1 && a->axes.items[0] == s->in[0].rank - 1;
}

void gr_reduce_index_spec(const gr_op_call *s, bool whole, char buf[128]) {
  const gr_reduce_axes *a = s->attr;
  char *p = buf;
  for (int d = 0; d < s->in[0].rank; d++)
    *p++ = (char)((whole && gr_reduce_axes_contains(a, d) ? 'A' : 'a') + d);
  *p++ = '-', *p++ = '>';
  for (int d = 0; d < s->in[0].rank; d++) {
    if (!gr_reduce_axes_contains(a, d)) *p++ = (char)('a' + d);
    if (gr_reduce_axes_contains(a, d) && a->keepdim) *p++ = '_';
  }
  *p = 0;
}

gr_status gr_reduce_infer(gr_op_call *s) {
  const gr_reduce_axes *a = s->attr;
  for (int64_t i = 0; i < a->axes.n; i++)
    if (a->axes.items[i] < 0 || a->axes.items[i] >= s->in[0].rank)
      return gr_fail(GR_ERR_TYPE, s->loc, "no axis %lld in a value of %d axes",
                     (long long)a->axes.items[i], s->in[0].rank);
  for (int d = 0; d < s->in[0].rank && a->keepdim; d++)
    if (gr_reduce_axes_contains(a, d)) s->out[0].dim[d] = 1;
  return GR_OK;
}

gr_val gr_reduce_broadcast_back(gr_builder *b, const gr_reduce_axes *a, gr_val y,
                                const gr_type *x) {
  for (int d = 0; d < x->rank; d++) {
    if (!gr_reduce_axes_contains(a, d)) continue;
    if (a->keepdim) y = gr_sum(b, y, d);
    y = gr_broadcast(b, y, d, x->dim[d]);
  }
  return y;
}

bool gr_reduce_block(const gr_reduce_axes *a, const gr_type *x, gr_block *out) {
  *out = (gr_block){1, 1, 1};
  for (int d = 0; d < x->rank; d++) {
    bool reduced = gr_reduce_axes_contains(a, d);
    if (reduced && out->inner > 1) return false;
    *(reduced ? &out->n : out->n > 1 ? &out->inner : &out->outer) *= x->dim[d];
  }
  return true;
}

// The outermost reduced axes that are neighbours, of more than one element, become 1 in *x; false:
// there are none.
static bool take_run(const gr_reduce_axes *a, gr_type *x, gr_block *out) {
  int d = 0;
  *out = (gr_block){1, 1, 1};
  for (; d < x->rank && !(gr_reduce_axes_contains(a, d) && x->dim[d] > 1); d++)
    out->outer *= x->dim[d];
  bool found = d < x->rank;
  for (; d < x->rank && (gr_reduce_axes_contains(a, d) || x->dim[d] == 1); d++)
    out->n *= x->dim[d], x->dim[d] = 1;
  for (; d < x->rank; d++) out->inner *= x->dim[d];
  return found;
}

// Those of the reducer, whichever run needs most.
static size_t first_scratch(const gr_reduce_axes *a, const gr_type *x, const gr_reducer *r) {
  gr_type left = *x;
  gr_block b;
  size_t most = 0;
  for (bool more = true; more && r->scratch;) {
    more = take_run(a, &left, &b);
    size_t bytes = r->scratch(b);
    most = bytes > most ? bytes : most;
  }
  return most;
}

size_t gr_reduce_scratch(const gr_reduce_axes *a, const gr_type *x, const gr_reducer *r) {
  gr_type left = *x;
  gr_block b, after;
  size_t between = 0;
  for (bool more = take_run(a, &left, &b); more; b = after) {
    more = take_run(a, &left, &after);
    if (more) between += sizeof(double) * (size_t)(b.outer * b.inner);
  }
  return first_scratch(a, x, r) + between;
}

size_t gr_sums_scratch(const gr_op_call *s) {
  return gr_is_up_to_f32(s) ? gr_reduce_scratch(s->attr, &s->in[0], &gr_sums) : 0;
}

void gr_reduce_runs(const gr_launch *l, const gr_reducer *r, double factor) {
  const gr_reduce_axes *a = l->attr;
  gr_type left = *l->in_type;
  gr_block after;
  double *between = (double *)((char *)l->scratch + first_scratch(a, &left, r));
  gr_reduce_run run = {.x = l->in[0], .is_first = true, .factor = 1, .dtype = l->in_type->dtype};
  take_run(a, &left, &run.b);
  while (!run.is_last) {
    run.is_last = !take_run(a, &left, &after);
    run.y = run.is_last ? l->out[0] : between;
    if (run.is_last) run.factor = factor;
    r->run(l, &run);
    between += run.b.outer * run.b.inner;
    run.x = run.y, run.b = after, run.is_first = false;
  }
}

int64_t gr_reduce_term(const gr_reduce_axes *a, const gr_type *x, int64_t o, int64_t k) {
  assert(o >= 0 && k >= 0);
  int64_t index = 0, stride = 1;
  for (int d = x->rank; d--; stride *= x->dim[d]) {
    int64_t *left = gr_reduce_axes_contains(a, d) ? &k : &o;
    index += stride * (*left % x->dim[d]);
    *left /= x->dim[d];
  }
  return index;
}

void gr_reduce(const gr_launch *l, double start, double (*fold)(double, double), double factor) {
  int64_t outs = gr_type_count(l->out_type), terms = gr_type_count(l->in_type) / outs;
  for (int64_t o = 0; o < outs; o++) {
    double sum = start;
    for (int64_t k = 0; k < terms; k++)
      sum = fold(sum, IN(0, gr_reduce_term(l->attr, l->in_type, o, k)));
    OUT(0, o, factor * sum);
  }
}

// ---- Fast sums ----------------------------------------------------------------------------
// x is divided into tasks: [outer, chunks of n] if inner is 1, else [outer, chunks of n, tiles of
// inner]. The partial sums of each task are stored in scratch memory and added in order at the end,
// so that the result does not depend on the number of threads.

enum { ROW = 1 << 15, TILE = 1024, LANES = 64, RUN = 64 };

typedef struct job {
  const gr_reduce_run *run;
  gr_block b;
  int64_t chunks, chunk, tiles;
  double *part;  // [outer, chunks, inner]
} job;

static int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

static job plan(gr_block b) {
  job j = {.b = b, .tiles = ceil_of(b.inner, TILE)};
  j.chunk = b.inner == 1 ? ROW : b.outer * j.tiles >= 32 ? b.n : ceil_of(b.n, 32);
  if (b.inner > 1 && j.chunk < RUN) j.chunk = RUN;
  j.chunks = ceil_of(b.n, j.chunk);
  return j;
}

size_t gr_sum_scratch(gr_block b) {
  return sizeof(double) * (size_t)(b.outer * plan(b).chunks * b.inner);
}

// n numbers of operand 0 as f32: where they are, or, of a narrow type, converted to `room`.
static inline const float *as_f32(const gr_reduce_run *r, int64_t first, int64_t n, float *room) {
  if (r->dtype == GR_F32) return (const float *)r->x + first;
  gr_widen(r->dtype, (const uint16_t *)r->x + first, room, n);
  return room;
}

// `total` and the sum of n numbers, at most LANES * RUN: LANES running sums in f32, which are added
// in double.
static double add_row(double total, const float *x, int64_t n) {
  int64_t i = 0;
  if (n >= LANES) {
    float lane[LANES] = {0};
    for (; n - i >= LANES; i += LANES)
      for (int k = 0; k < LANES; k++) lane[k] += x[i + k];
    for (int k = 0; k < LANES; k++) total += (double)lane[k];
  }
  for (; i < n; i++) total += (double)x[i];
  return total;
}

static void sum_rows(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  float room[LANES * RUN];
  for (int64_t p = begin; p < end; p++) {
    int64_t k = p % j->chunks * j->chunk, first = p / j->chunks * j->b.n + k;
    int64_t n = gr_min_i64(j->b.n - k, j->chunk);
    j->part[p] = 0;
    for (int64_t i = 0; i < n; i += LANES * RUN) {
      int64_t many = gr_min_i64(n - i, LANES * RUN);
      j->part[p] = add_row(j->part[p], as_f32(j->run, first + i, many, room), many);
    }
  }
}

// The sums of `width` columns over n rows, the first of which begins at that element.
static void sum_columns(const job *j, int64_t first, int64_t n, int64_t width, double *total) {
  float sum[TILE], room[TILE];
  for (int64_t c = 0; c < width; c++) total[c] = 0;
  for (int64_t i = 0; i < n;) {
    for (int64_t c = 0; c < width; c++) sum[c] = 0;
    for (int64_t end = gr_min_i64(n, i + RUN); i < end; i++) {
      const float *x = as_f32(j->run, first + i * j->b.inner, width, room);
      for (int64_t c = 0; c < width; c++) sum[c] += x[c];
    }
    for (int64_t c = 0; c < width; c++) total[c] += (double)sum[c];
  }
}

static void sum_tiles(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  for (int64_t p = begin; p < end; p++) {
    int64_t c = p % j->tiles * TILE, piece = p / j->tiles;
    int64_t k = piece % j->chunks * j->chunk, o = piece / j->chunks;
    sum_columns(j, (o * j->b.n + k) * j->b.inner + c, gr_min_i64(j->b.n - k, j->chunk),
                gr_min_i64(j->b.inner - c, TILE), j->part + piece * j->b.inner + c);
  }
}

// Stores n sums from element i on.
static void put(const gr_reduce_run *r, int64_t i, int64_t n, const double *sum) {
  float *y = (float *)r->y + i;
  double *wide = (double *)r->y + i;
  if (!r->is_last)
    for (int64_t e = 0; e < n; e++) wide[e] = sum[e] * r->factor;
  else if (r->dtype == GR_F32)
    for (int64_t e = 0; e < n; e++) y[e] = (float)(sum[e] * r->factor);
  else
    for (int64_t e = 0; e < n; e++) gr_put(r->y, r->dtype, i + e, sum[e] * r->factor);
}

// Adds the partial sums of n results from element i on; those of a result are `step` apart, and
// those of the next one `next` behind.
static void sum_parts_of(const job *j, int64_t i, int64_t n, const double *part, int64_t next,
                         int64_t step) {
  double sum[LANES];
  for (int64_t e = 0; e < n; e++) sum[e] = 0;
  for (int64_t k = 0; k < j->chunks; k++)
    for (int64_t e = 0; e < n; e++) sum[e] += part[e * next + k * step];
  put(j->run, i, n, sum);
}

static void sum_parts(void *arg, int64_t begin, int64_t end) {
  const job *j = arg;
  int64_t inner = j->b.inner, chunks = j->chunks;
  for (int64_t i = begin, n; i < end; i += n) {
    n = gr_min_i64(end - i, LANES);
    if (inner == 1) {
      sum_parts_of(j, i, n, j->part + i * chunks, chunks, 1);
    } else {
      int64_t o = i / inner, c = i % inner;
      n = gr_min_i64(n, inner - c);
      sum_parts_of(j, i, n, j->part + o * chunks * inner + c, 1, inner);
    }
  }
}

static void sum_first(const gr_launch *l, const gr_reduce_run *r) {
  gr_block b = r->b;
  if (b.n == 1 && r->is_last && r->factor == 1) {
    memcpy(r->y, r->x, gr_dtypes[r->dtype].size * (size_t)(b.outer * b.inner));
    return;
  }
  job j = plan(b);
  j.run = r, j.part = l->scratch;
  int64_t size = (b.inner == 1 ? 1 : gr_min_i64(b.inner, TILE)) * gr_min_i64(b.n, j.chunk);
  gr_parallel(l, b.outer * j.chunks * (b.inner == 1 ? 1 : j.tiles), 1 + ROW / (2 * size),
              b.inner == 1 ? sum_rows : sum_tiles, &j);
  gr_parallel(l, b.outer * b.inner, 1 + ROW / (2 * j.chunks), sum_parts, &j);
}

// Of what the run before has made.
static void sum_again(void *arg, int64_t begin, int64_t end) {
  const gr_reduce_run *r = arg;
  const double *x = r->x;
  for (int64_t i = begin; i < end; i++) {
    const double *terms = x + i / r->b.inner * r->b.n * r->b.inner + i % r->b.inner;
    double sum = 0;
    for (int64_t k = 0; k < r->b.n; k++) sum += terms[k * r->b.inner];
    put(r, i, 1, &sum);
  }
}

static void sum_run(const gr_launch *l, const gr_reduce_run *r) {
  if (r->is_first)
    sum_first(l, r);
  else
    gr_parallel(l, r->b.outer * r->b.inner, 1 + ROW / r->b.n, sum_again, (void *)r);
}

const gr_reducer gr_sums = {sum_run, gr_sum_scratch};

void gr_sum_block(const gr_launch *l, gr_block b, const float *x, float *y, double factor) {
  sum_first(l, &(gr_reduce_run){b, x, y, true, true, factor, GR_F32});
}

void gr_reduce_onnx(gr_onnx_call *c, const char *node) {
  const gr_reduce_axes *a = c->call[0]->attr;
  c->out[0] = GR_ONNX(c, node, c->in[0], gr_onnx_vector(c, (int)a->axes.n, a->axes.items));
  gr_onnx_int(c, "keepdims", a->keepdim);
  gr_onnx_int(c, "noop_with_empty_axes", 1);
}
