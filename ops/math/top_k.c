// top_k.c - the k largest elements of the last axis and their indices.
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/onnx.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

struct top_k {
  int64_t k;
};

static gr_status infer(gr_op_call *s) {
  int64_t k = ((const struct top_k *)s->attr)->k, n = gr_last(s->in);
  GR_TRY(gr_require_float(s, 0, "the operand"));
  if (k < 1 || k > n)
    return gr_fail(GR_ERR_TYPE, s->loc, "the %lld largest of %lld elements are not possible",
                   (long long)k, (long long)n);
  for (int o = 0; o < 2; o++) s->out[o].dim[s->out[o].rank - 1] = k;
  s->out[1].dtype = GR_I32;
  return GR_OK;
}

static void grad(const gr_grad *g) {
  gr_type x = gr_at(g->b->g, g->x[0])->type;
  if (gr_is(g->dy[0])) g->dx[0] = gr_scatter_add(g->b, g->dy[0], g->y[1], gr_last(&x));
}

// Elements are ordered by value, largest first, and then by index; NaN is last, as -infinity is.
static double key(const gr_launch *l, int64_t i) {
  double x = IN(0, i);
  return x == x ? x : -INFINITY;
}

// Insertion into a sorted list of at most k indices of the row's elements.
static void insert(const gr_launch *l, int64_t row, int32_t *best, int64_t count, int64_t k,
                   int64_t i) {
  int64_t slot = gr_min_i64(count, k - 1);
  if (count == k && key(l, row + i) <= key(l, row + best[slot])) return;
  for (; slot > 0 && key(l, row + i) > key(l, row + best[slot - 1]); slot--)
    best[slot] = best[slot - 1];
  best[slot] = (int32_t)i;
}

static gr_status top_k_cpu(const gr_launch *l) {
  int64_t n = gr_last(l->in_type), k = gr_last(l->out_type);
  for (int64_t r = 0, rows = gr_rows(l->in_type); r < rows; r++) {
    int32_t *best = (int32_t *)l->out[1] + r * k;
    for (int64_t i = 0; i < n; i++) insert(l, r * n, best, gr_min_i64(i, k), k, i);
    for (int64_t j = 0; j < k; j++) OUT(0, r * k + j, IN(0, r * n + best[j]));
  }
  return GR_OK;
}

// ---- In f32: a heap of the k best elements of a row so far, the worst of them first -------------

typedef struct heap {
  float *x;        // the elements
  int32_t *index;  // and where they are in the row
} heap;
typedef struct entry {
  float x;
  int32_t index;
} entry;

// What orders elements, as `key`.
static inline float rank_of(float x) { return x == x ? x : -INFINITY; }

static inline bool is_worse(entry a, entry b) {
  float x = rank_of(a.x), y = rank_of(b.x);
  return x < y || (x == y && a.index > b.index);
}

static inline entry entry_of(heap h, int64_t i) { return (entry){h.x[i], h.index[i]}; }
static inline void put(heap h, int64_t i, entry e) { h.x[i] = e.x, h.index[i] = e.index; }

// Puts an element where the heap of k has a gap at `place`, or below it.
static inline void sink(heap h, int64_t k, int64_t place, entry e) {
  for (int64_t child; (child = 2 * place + 1) < k; place = child) {
    child += child + 1 < k && is_worse(entry_of(h, child + 1), entry_of(h, child));
    if (is_worse(e, entry_of(h, child))) break;
    put(h, place, entry_of(h, child));
  }
  put(h, place, e);
}

static void top_of_row(const float *x, int64_t n, int64_t k, heap h) {
  for (int64_t i = 0; i < k; i++) put(h, i, (entry){x[i], (int32_t)i});
  for (int64_t i = k / 2; i--;) sink(h, k, i, entry_of(h, i));
  float worst = rank_of(h.x[0]);
  for (int64_t i = k; i < n; i++)
    if (x[i] > worst) sink(h, k, 0, (entry){x[i], (int32_t)i}), worst = rank_of(h.x[0]);
  for (int64_t left = k - 1; left > 0; left--) {  // the worst to the end
    entry last = entry_of(h, left);
    put(h, left, entry_of(h, 0));
    sink(h, left, 0, last);
  }
}

// ---- Many of a row: all of it is sorted, digit by digit of what orders elements -----------------

enum { DIGITS = 4, VALUES = 256, LONG = 256, MANY = 8, PARTS = 16 };

// An element: a number that is the smaller the larger the element, and its index.
typedef struct item {
  uint32_t order, index;
} item;

static bool sorts(int64_t n, int64_t k) { return n >= LONG && k * MANY >= n; }

// The bits of a float, below 0 turned around; of 0 and -0, which are equal, the same.
static inline uint32_t order_of(float x) {
  float from_zero = rank_of(x) + 0.0F;
  uint32_t bits;
  memcpy(&bits, &from_zero, sizeof bits);
  return bits >> 31 ? bits : ~(bits | 1U << 31);
}

static void sort_by_digit(const item *x, item *y, int64_t n, int digit) {
  int64_t place[VALUES] = {0}, sum = 0;
  for (int64_t i = 0; i < n; i++) place[x[i].order >> 8 * digit & (VALUES - 1)]++;
  for (int v = 0; v < VALUES; v++) {
    int64_t many = place[v];
    place[v] = sum, sum += many;
  }
  for (int64_t i = 0; i < n; i++) y[place[x[i].order >> 8 * digit & (VALUES - 1)]++] = x[i];
}

// room: of 2 n items. Equal elements stay in order.
static void sort_row(const float *x, int64_t n, int64_t k, heap h, item *room) {
  for (int64_t i = 0; i < n; i++) room[i] = (item){order_of(x[i]), (uint32_t)i};
  for (int d = 0; d < DIGITS; d++) sort_by_digit(room + d % 2 * n, room + (d + 1) % 2 * n, n, d);
  for (int64_t i = 0; i < k; i++) put(h, i, (entry){x[room[i].index], (int32_t)room[i].index});
}

// ---- On all threads -----------------------------------------------------------------------------

static void top_of_rows(const gr_launch *l, int64_t begin, int64_t end, item *room) {
  int64_t n = gr_last(l->in_type), k = gr_last(l->out_type);
  for (int64_t r = begin; r < end; r++) {
    const float *x = (const float *)l->in[0] + r * n;
    heap h = {(float *)l->out[0] + r * k, (int32_t *)l->out[1] + r * k};
    if (room)
      sort_row(x, n, k, h, room);
    else
      top_of_row(x, n, k, h);
  }
}

static void top_of_piece(void *arg, int64_t begin, int64_t end) {
  top_of_rows(arg, begin, end, NULL);
}

static int64_t parts_of(const gr_type *x) { return gr_min_i64(gr_rows(x), PARTS); }

// Part i of the rows, which has working memory of its own.
static void sort_parts(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t rows = gr_rows(l->in_type), parts = parts_of(l->in_type);
  int64_t each = (rows + parts - 1) / parts;
  for (int64_t i = begin; i < end; i++)
    top_of_rows(l, gr_min_i64(rows, i * each), gr_min_i64(rows, (i + 1) * each),
                (item *)l->scratch + i * 2 * gr_last(l->in_type));
}

static size_t room_of(const gr_type *x, int64_t k) {
  int64_t n = gr_last(x);
  return sorts(n, k) ? sizeof(item) * (size_t)(parts_of(x) * 2 * n) : 0;
}

static gr_status top_k_f32(const gr_launch *l) {
  int64_t n = gr_last(l->in_type);
  if (sorts(n, gr_last(l->out_type)))
    gr_parallel(l, parts_of(l->in_type), 1, sort_parts, (void *)l);
  else
    gr_parallel(l, gr_rows(l->in_type), 1 + 4096 / n, top_of_piece, (void *)l);
  return GR_OK;
}

static gr_status top_k_narrow(const gr_launch *l) {
  return gr_run_widened(l, gr_samples_of_rows(l->in_type), top_k_f32);
}

static size_t scratch(const gr_op_call *s) {
  return gr_widened_scratch(s, gr_samples_of_rows(s->in), room_of(s->in, gr_last(s->out)));
}

GR_CU(top_k);

static gr_status gpu(gr_gpu_call *g) {
  int64_t rows = gr_rows(g->call->in), n = gr_last(g->call->in);
  gr_gpu_kernel *k = gr_gpu_rows(g, gr_cu_top_k, "top_k", g->call->in[0].dtype, rows, n, 1024);
  gr_gpu_int(k, rows), gr_gpu_int(k, n), gr_gpu_int(k, gr_last(g->call->out));
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  const char *in[] = {c->in[0], gr_onnx_vector(c, 1, &((const struct top_k *)c->call[0]->attr)->k)};
  gr_onnx_results(c, "TopK", 2, in, 2, c->out);
  gr_onnx_int(c, "axis", -1);
  c->out[1] = gr_onnx_cast(c, c->out[1], gr_onnx_dtype(GR_I32));
}

// Other axes are moved to the end and back; the least are the largest of -x.
static void read(gr_onnx_reading *r) {
  int64_t k[1][GR_READ_CHOICES];
  int x = gr_read_in(r, 0, true);
  bool least = !gr_read_int(r, "largest", 1);
  gr_read_int(r, "sorted", 1);  // without it any order will do
  if (gr_read_numbers(r, gr_read_in(r, 1, true), 1, k) != 1)
    gr_read_refuse(r, "has a number of elements that the data decide");
  if (!r->err && (gr_read_is_known(r, x) || !gr_dtypes[gr_read_type(r, x)->dtype].is_float))
    gr_read_refuse(r, "is of constants or whole numbers; cast them to floats");
  if (r->err) return;
  int axis = gr_read_axis(r, gr_read_int(r, "axis", -1), gr_read_type(r, x)->rank);
  x = gr_read_swap_last(r, least ? GR_READ_ONE(r, &gr_op_neg, x) : x, axis);
  int y = GR_READ(r, &gr_op_top_k, x, GR_READ_NUMBER("k", k));
  if (r->err) return;
  gr_read_out(r, 1, gr_read_swap_last(r, y + 1, axis), false);
  y = gr_read_swap_last(r, least ? GR_READ_ONE(r, &gr_op_neg, y) : y, axis);
  gr_read_out(r, 0, y, false);
}

static const gr_attr attrs[] = {GR_ATTR(struct top_k, k, GR_ATTR_INT, NULL, "how many"), {0}};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(struct top_k){2}},
    {{"f32[2,3,37]"}, .attr = &(struct top_k){5}},
    {{"f32[4,6]"}, .attr = &(struct top_k){6}},
    {{"f32[3,200]"}, .attr = &(struct top_k){40}},
    {{"f32[2,9,260]"}, .attr = &(struct top_k){260}},
    {{"f32[12]"}, .attr = &(struct top_k){5}},
    {{"f32[4,6]"}, .attr = &(struct top_k){7}, .fails = "the 7 largest of 6 elements"},
    {{"i32[4,6]"}, .attr = &(struct top_k){2}, .fails = "must be a float"},
    {{0}},
};

const gr_op gr_op_top_k = {
    .name = "top_k",
    .doc =
        "The k largest elements of the last axis, largest first, and their indices; of equal "
        "elements the first comes first.",
    .effort = GR_EFFORT_SERIAL,
    .attr_size = sizeof(struct top_k),
    .attrs = attrs,
    .index_spec = "...V->..._,..._",
    .infer = infer,
    .grad = grad,
    .cpu = top_k_cpu,
    .fast_f32 = top_k_f32,
    .fast_narrow = top_k_narrow,
    .scratch = scratch,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX({"TopK", read}),
    .cases = cases,
};
