// dropout.c - zeroes elements at random and scales the rest (Srivastava et al., "Dropout", 2014).
// The mask depends only on (seed, stream, step, element index in the global value): it is the same
// on any number of ranks and threads, and is drawn again for the gradient instead of being saved.
#include "base/rng.h"
#include "ops/kernels/gpu.h"
#include "ops/kernels/onnx_read.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/widen.h"
#include "ops/ops.h"

struct dropout {
  double p;
  int64_t seed;
  uint64_t stream;
};

gr_val gr_dropout(gr_builder *b, gr_val x, gr_val step, double p, int64_t seed, uint64_t stream) {
  return GR_EMIT(b, &gr_op_dropout, (&(struct dropout){p, seed, stream}), x, step);
}

static gr_status infer(gr_op_call *s) {
  double p = ((const struct dropout *)s->attr)->p;
  GR_TRY(gr_require_float(s, 0, "the operand"));
  GR_TRY(gr_require_ints(s, 1, "steps"));
  if (p >= 0 && p < 1) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_TYPE, s->loc, "dropout with p %g is not possible", p),
                 "p is the probability that an element is dropped, at least 0 and below 1");
}

static void grad(const gr_grad *g) {
  g->dx[0] = GR_EMIT(g->b, &gr_op_dropout, g->attr, g->dy[0], g->x[1]);
}

static gr_rng rng_of(const gr_launch *l) {
  const struct dropout *a = l->attr;
  return (gr_rng){.seed = (uint64_t)a->seed,
                  .stream = a->stream,
                  .step = (uint64_t)(int64_t)gr_get(l->in[1], l->in_type[1].dtype, 0)};
}

// An element is kept if its random word is at least p 2^32.
static uint32_t threshold(double p) { return (uint32_t)(p * 4294967296.0); }

static gr_status dropout_cpu(const gr_launch *l) {
  double p = ((const struct dropout *)l->attr)->p;
  gr_rng rng = rng_of(l);
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) {
    uint32_t word = gr_rng_u32(&rng, (uint64_t)gr_global_index(l, 0, i));
    OUT(0, i, word >= threshold(p) ? IN(0, i) / (1 - p) : 0);
  }
  return GR_OK;
}

// The number of consecutive elements that are also contiguous in the global value.
static int64_t run_length(const gr_launch *l) {
  const gr_type *t = l->whole ? l->whole : l->out_type;
  int split = 0;
  for (int a = 0; l->out_layout && l->mesh && a < l->mesh->n_axes; a++)
    split = l->out_layout->placement[a] > split ? l->out_layout->placement[a] : split;
  int64_t n = 1;
  for (int d = split; d < t->rank; d++) n *= t->dim[d];
  return n;
}

enum { BLOCKS = 128 };  // random blocks of 4 words drawn at a time

// Applies the mask to n elements; index is the first one's index in the global value.
static void dropout_run(const gr_rng *rng, double p, uint64_t index, const float *x, float *y,
                        int64_t n) {
  uint32_t words[BLOCKS * 4], least = threshold(p);
  float scale = (float)(1 / (1 - p));
  while (n > 0) {
    int64_t skip = (int64_t)(index % 4), now = gr_min_i64(n, BLOCKS * 4 - skip);
    gr_rng_blocks(rng, index / 4, (skip + now + 3) / 4, words);
    for (int64_t i = 0; i < now; i++) y[i] = words[skip + i] >= least ? x[i] * scale : 0;
    x += now, y += now, n -= now, index += (uint64_t)now;
  }
}

static void part(void *arg, int64_t begin, int64_t until) {
  const gr_launch *l = arg;
  gr_rng rng = rng_of(l);
  int64_t length = run_length(l);
  while (begin < until) {
    int64_t end = ((l->first + begin) / length + 1) * length - l->first;
    int64_t now = gr_min_i64(until, end) - begin;
    dropout_run(&rng, ((const struct dropout *)l->attr)->p, (uint64_t)gr_global_index(l, 0, begin),
                (const float *)l->in[0] + begin, (float *)l->out[0] + begin, now);
    begin += now;
  }
}

static gr_status run_f32(const gr_launch *l) {
  gr_parallel(l, gr_type_count(l->out_type), BLOCKS * 64, part, (void *)l);
  return GR_OK;
}

static gr_status run_narrow(const gr_launch *l) { return gr_run_widened(l, gr_together, run_f32); }

static size_t scratch(const gr_op_call *s) { return gr_widened_scratch(s, gr_together, 0); }

GR_CU(dropout);

static uint64_t key(const struct dropout *a) {
  return gr_rng_key(&(gr_rng){.seed = (uint64_t)a->seed, .stream = a->stream});
}

static gr_status gpu(gr_gpu_call *g) {
  const struct dropout *a = g->call->attr;
  int64_t n = gr_type_count(g->call->out);
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(g, gr_cu_dropout, "dropout", gr_gpu_items((n + 3) / 4), GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_int(k, (int64_t)key(a)), gr_gpu_int(k, threshold(a->p));
  gr_gpu_real(k, 1 / (1 - a->p));
  gr_gpu_global(g, k, 0);
  return GR_OK;
}

static void row_of(const gr_op_call *s, char buf[GR_ROW_TEXT]) {
  const struct dropout *a = s->attr;
  snprintf(buf, GR_ROW_TEXT, "gr_drawn(draw, %lluull, at, x1) >= %uu ? x0 * (W)%.17g : 0",
           (unsigned long long)key(a), threshold(a->p), 1 / (1 - a->p));
}

static void read_identity(gr_onnx_reading *r) {
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  gr_read_out(r, 0, x, last);
}

static int dropped(gr_onnx_reading *r, int x, double p) {
  const gr_read_setting s = {"p", gr_arena_printf(r->arena, "%.8g", p)};
  x = gr_read_block(r, "dropout", NULL, x, r->vars[x].type, 1, &s, 0, NULL);
  if (!r->err)  // its random numbers depend on its name
    r->lines[r->n_lines - 1].path = gr_read_free_path(r, gr_read_node_path(r, "dropout"));
  return x;
}

static int ones_like(gr_onnx_reading *r, int x) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  int rank = gr_read_dims(r, x, 0, gr_read_type(r, x)->rank, sizes);
  const gr_read_setting s[] = {{"shape", .sizes = sizes, .n = rank, .list = true}, {"value", "1"}};
  return gr_read_emit(r, &gr_op_fill, 0, NULL, 2, s);
}

// Paths that are left out at random are multiplied by it, and divided by q: an evaluation, which
// draws nothing, has q.
int gr_read_chance(gr_onnx_reading *r, int x, int below) {
  int line = r->vars[x].line;
  double q;
  if (r->err || !line || strcmp(r->lines[line - 1].op, "sample_uniform") != 0) return 0;
  if (!gr_read_scalar(r, below, &q) || !(q > 0 && q <= 1)) return 0;
  return GR_READ(r, &gr_op_scale, dropped(r, ones_like(r, x), 1 - q),
                 {"by", gr_arena_printf(r->arena, "%.9g", q)});
}

// What was exported as it trains drops here, too, while it trains.
static void read_dropout(gr_onnx_reading *r) {
  double p = 0.5, trains = 0;
  int ratio = gr_read_in(r, 1, false), mode = gr_read_in(r, 2, false);
  bool last;
  int x = gr_read_as_is(r, 0, &last);
  gr_read_int(r, "seed", 0);
  if ((ratio && !gr_read_scalar(r, ratio, &p)) || (mode && !gr_read_scalar(r, mode, &trains)))
    gr_read_refuse(r, "has a ratio or a mode that is no constant");
  if (gr_read_needs(r, 1)) gr_read_refuse(r, "gives its mask");
  if (r->err) return;
  gr_read_out(r, 0, trains != 0 && p > 0 ? dropped(r, x, p) : x, last);
}

static const gr_attr attrs[] = {
    GR_ATTR(struct dropout, p, GR_ATTR_FLOAT, NULL, "probability that an element is dropped"),
    GR_ATTR(struct dropout, seed, GR_ATTR_INT, "0", "seed of the random numbers"),
    GR_ATTR(struct dropout, stream, GR_ATTR_STREAM, "dropout", "name of the random stream"),
    {0}};
static const gr_case cases[] = {
    {{"f32[4,6]", "i32[]"}, .attr = &(struct dropout){0.5, 1, 2}, .fill = "ni"},
    {{"f32[6,37,6]", "i32[]"}, .attr = &(struct dropout){0.1, 1, 2}, .fill = "ni"},
    {{"f32[4,6]", "i32[]"}, .attr = &(struct dropout){1, 1, 2}, .fails = "with p 1"},
    {{0}},
};

const gr_op gr_op_dropout = {
    .name = "dropout",
    .doc =
        "x with each element zeroed with probability p, at random in each step, and the rest "
        "divided by 1 - p.",
    .attr_size = sizeof(struct dropout),
    .attrs = attrs,
    .index_spec = "...,->...",
    .infer = infer,
    .random = true,
    .training_only = true,
    .grad = grad,
    .cpu = dropout_cpu,
    .fast_f32 = run_f32,
    .fast_narrow = run_narrow,
    .gpu = gpu,
    .row_of = row_of,
    .scratch = scratch,
    .inplace = {1},
    .from_onnx = GR_FROM_ONNX({"Dropout", read_dropout}, {"Identity", read_identity}),
    .cases = cases,
};
