// edit_distance.c - the number of insertions, deletions and substitutions that turn one text into
// another (Levenshtein, 1966). Divided by the target's length it is the character or word error
// rate.
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/ops.h"

enum { SYMBOL, WORD };

struct edit_distance {
  int64_t unit;
  int64_t space;
};

enum { HYP, HYP_LENGTHS, TARGET, TARGET_LENGTHS };

static gr_status infer(gr_op_call *s) {
  static const char *const what[] = {"symbols", "lengths", "targets", "target lengths"};
  for (int k = 0; k < 4; k++) GR_TRY(gr_require_ints(s, k, what[k]));
  s->out[0].dtype = s->out[1].dtype = GR_F32;
  return GR_OK;
}

// A text divided into units: unit k is symbols starts[k] to ends[k] - 1.
typedef struct text {
  const int32_t *symbol;
  int32_t *starts, *ends;
  int64_t count;
} text;

// Words are separated by one or more spaces; spaces at the ends are ignored.
static text split(const int32_t *symbol, int64_t length, const struct edit_distance *a,
                  int32_t *memory, int64_t most) {
  text x = {.symbol = symbol, .starts = memory, .ends = memory + most};
  for (int64_t i = 0; i < length; i++) {
    bool space = a->unit == WORD && symbol[i] == a->space;
    bool more = a->unit == WORD && x.count && x.ends[x.count - 1] == i && !space;
    if (space) continue;
    if (!more) x.starts[x.count++] = (int32_t)i;
    x.ends[x.count - 1] = (int32_t)i + 1;
  }
  return x;
}

static bool same(const text *x, int64_t i, const text *y, int64_t j) {
  int64_t n = x->ends[i] - x->starts[i];
  return n == y->ends[j] - y->starts[j] &&
         !memcmp(x->symbol + x->starts[i], y->symbol + y->starts[j], sizeof(int32_t) * (size_t)n);
}

// Row i of the table: cost[j] turns the first i units of x into the first j of y.
static int64_t distance(const text *x, const text *y, int32_t *cost) {
  for (int32_t j = 0; j <= y->count; j++) cost[j] = j;
  for (int64_t i = 0; i < x->count; i++) {
    int32_t diagonal = cost[0];
    cost[0] = (int32_t)i + 1;
    for (int64_t j = 0; j < y->count; j++) {
      int32_t up = cost[j + 1], change = diagonal + !same(x, i, y, j);
      int32_t least = up < cost[j] ? up + 1 : cost[j] + 1;
      cost[j + 1] = change < least ? change : least;
      diagonal = up;
    }
  }
  return cost[y->count];
}

static int64_t sample_work(const gr_type *in) {
  return 2 * in[HYP].dim[1] + 3 * in[TARGET].dim[1] + 1;
}

static void samples(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t t = l->in_type[HYP].dim[1], u = l->in_type[TARGET].dim[1];
  for (int64_t i = begin; i < end; i++) {
    int32_t *memory = (int32_t *)l->scratch + i * sample_work(l->in_type);
    text x = split((const int32_t *)l->in[HYP] + i * t, gr_length(l, HYP_LENGTHS, i, t), l->attr,
                   memory, t);
    text y = split((const int32_t *)l->in[TARGET] + i * u, gr_length(l, TARGET_LENGTHS, i, u),
                   l->attr, memory + 2 * t, u);
    OUT(0, i, (double)distance(&x, &y, memory + 2 * t + 2 * u));
    OUT(1, i, (double)y.count);
  }
}

static gr_status edit_distance_cpu(const gr_launch *l) {
  gr_parallel(l, l->in_type[HYP].dim[0], 1, samples, (void *)l);
  return GR_OK;
}

static size_t scratch(const gr_op_call *s) {
  return sizeof(int32_t) * (size_t)(s->in[HYP].dim[0] * sample_work(s->in));
}

GR_CU(edit_distance);

static gr_status gpu(gr_gpu_call *g) {
  const struct edit_distance *a = g->call->attr;
  int64_t n = g->call->in[HYP].dim[0], t = g->call->in[HYP].dim[1], u = g->call->in[TARGET].dim[1];
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(g, gr_cu_edit_distance, "edit_distance", n * GR_GPU_BLOCK, GR_GPU_BLOCK);
  gr_gpu_int(k, t), gr_gpu_int(k, u), gr_gpu_int(k, a->unit == WORD), gr_gpu_int(k, a->space);
  g->scratch = sizeof(int32_t) * (size_t)(n * (2 * t + 2 * u + 3 * (u + 1)));
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_CHOICE(struct edit_distance, unit, "symbol|word", "symbol", "the unit of edits"),
    GR_ATTR(struct edit_distance, space, GR_ATTR_INT, "0", "the symbol that separates words"),
    {0}};
static const gr_case cases[] = {
    {{"i32[6,9]", "i32[6]", "i32[6,7]", "i32[6]"},
     .attr = &(struct edit_distance){SYMBOL, 0},
     .fill = "ilil"},
    {{"i32[6,9]", "i32[6]", "i32[6,7]", "i32[6]"},
     .attr = &(struct edit_distance){WORD, 1},
     .fill = "ilil"},
    {{"i32[6,9]", "i32[6]", "f32[6,7]", "i32[6]"},
     .attr = &(struct edit_distance){SYMBOL, 0},
     .fails = "targets of 'edit_distance' must be i32"},
    {{0}},
};

const gr_op gr_op_edit_distance = {
    .name = "edit_distance",
    .doc =
        "Per sample, the edit distance between symbols [n,t] of lengths [n] and targets [n,u] of "
        "target lengths [n], and the target's length in the same unit.",
    .effort = GR_EFFORT_SERIAL,
    .attr_size = sizeof(struct edit_distance),
    .attrs = attrs,
    .index_spec = "nT,n,nU,n->n,n",
    .infer = infer,
    .cpu = edit_distance_cpu,
    .scratch = scratch,
    .gpu = gpu,
    .cases = cases,
};
