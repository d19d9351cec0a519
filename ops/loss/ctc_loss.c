// ctc_loss.c - the CTC loss of logits. If the gradient is needed, it is computed together with the
// loss, because both traverse the same lattice. See ctc.h.
#include <math.h>
#include "ops/kernels/gpu.h"
#include "ops/kernels/rows.h"
#include "ops/loss/ctc.h"
#include "ops/ops.h"

enum { TARGET_LENGTH, NONE };  // normalize

struct ctc_loss {
  int64_t blank;
  int64_t zero_infinity;
  int64_t normalize;
};

enum { LOGITS, TARGETS, LENGTHS, TARGET_LENGTHS };

static int64_t blank_of(const struct ctc_loss *a, int64_t classes) {
  return a->blank < 0 ? classes + a->blank : a->blank;
}

static gr_status infer(gr_op_call *s) {
  const struct ctc_loss *a = s->attr;
  GR_TRY(gr_require_float(s, LOGITS, "logits"));
  GR_TRY(gr_require_ints(s, TARGETS, "targets"));
  GR_TRY(gr_require_ints(s, LENGTHS, "lengths"));
  GR_TRY(gr_require_ints(s, TARGET_LENGTHS, "target lengths"));
  int64_t v = s->in[LOGITS].dim[2], blank = blank_of(a, v);
  if (blank >= 0 && blank < v) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "blank %lld is not one of %lld classes", (long long)a->blank,
                 (long long)v);
}

static gr_val save_for_backward(gr_builder *b, const gr_node *n, const gr_val *in,
                                const bool *want) {
  return gr_emit(b, want[LOGITS] ? &gr_op_ctc_loss_with_residuals : n->op, n->attr, n->n_in, in);
}

// The builder deduplicates nodes, so this returns the node that save_for_backward emitted.
static void grad(const gr_grad *g) {
  if (!g->want[LOGITS] || !gr_is(g->dy[0])) return;
  gr_val y = gr_emit(g->b, &gr_op_ctc_loss_with_residuals, g->attr, g->n_in, g->x);
  if (g->b->err) return;
  g->dx[LOGITS] = GR_EMIT(g->b, &gr_op_ctc_loss_grad, NULL, (gr_val){y.id + 2}, g->dy[0]);
}

// ---- The reference ----------------------------------------------------------------------------

static double log_add(double a, double b) {
  double top = fmax(a, b);
  return top == -INFINITY ? top : top + log(exp(a - top) + exp(b - top));
}

// The lattice of one sample, in log probabilities.
typedef struct lattice {
  const gr_launch *l;
  int64_t sample, places;
  gr_ctc c;
  double *alpha, *beta, *lse;
} lattice;

static double emit(const lattice *z, int64_t t, int64_t k) {
  const gr_launch *l = z->l;
  int64_t row = z->sample * l->in_type[LOGITS].dim[1] + t;
  return IN(LOGITS, row * z->c.classes + k) - z->lse[t];
}

static double forward(const lattice *z) {
  double *a = z->alpha;
  for (int64_t t = 0; t < z->c.frames; t++, a += z->places)
    for (int64_t s = 0; s < z->places; s++) {
      double sum = t || s > 1 ? -INFINITY : 0;
      if (t) sum = a[s - z->places];
      if (t && s > 0) sum = log_add(sum, a[s - 1 - z->places]);
      if (t && gr_ctc_skips(&z->c, s)) sum = log_add(sum, a[s - 2 - z->places]);
      a[s] = sum + emit(z, t, gr_ctc_class(&z->c, s));
    }
  if (!z->c.frames) return z->c.symbols ? -INFINITY : 0;
  return z->places > 1 ? log_add(a[-1], a[-2]) : a[-1];
}

// Replaces row t + 1 of beta by row t.
static void step_back(const lattice *z, int64_t t) {
  double *b = z->beta;
  for (int64_t s = 0; s < z->places; s++) {
    double sum = t == z->c.frames - 1 && s >= z->places - 2 ? 0 : -INFINITY;
    for (int64_t end = s; t < z->c.frames - 1 && end <= s + 2 && end < z->places; end++)
      if (end < s + 2 || gr_ctc_skips(&z->c, end))
        sum = log_add(sum, b[end] + emit(z, t + 1, gr_ctc_class(&z->c, end)));
    b[s] = sum;
  }
}

static void gradient(const lattice *z, double log_p) {
  const gr_launch *l = z->l;
  int64_t v = z->c.classes, first = z->sample * l->in_type[LOGITS].dim[1];
  for (int64_t t = z->c.frames; t--;) {
    step_back(z, t);
    for (int64_t k = 0; k < v; k++) {
      double share = 0;
      for (int64_t s = 0; s < z->places; s++)
        if (gr_ctc_class(&z->c, s) == k)
          share += exp(z->alpha[t * z->places + s] + z->beta[s] - log_p);
      double d = (exp(emit(z, t, k)) - share) * z->c.scale;
      bool never = log_p == -INFINITY;
      OUT(2, (first + t) * v + k, !never ? d : z->c.zero_infinity ? 0 : (double)NAN);
    }
  }
}

static gr_ctc sample_of(const gr_launch *l, int64_t i) {
  const struct ctc_loss *a = l->attr;
  const gr_type *x = &l->in_type[LOGITS];
  int64_t u = l->in_type[TARGETS].dim[1], symbols = gr_length(l, TARGET_LENGTHS, i, u);
  double scale = a->normalize == TARGET_LENGTH ? 1 / (double)gr_max_i64(1, symbols) : 1;
  return (gr_ctc){.frames = gr_length(l, LENGTHS, i, x->dim[1]),
                  .classes = x->dim[2],
                  .symbols = symbols,
                  .blank = blank_of(a, x->dim[2]),
                  .target = (const int32_t *)l->in[TARGETS] + i * u,
                  .scale = scale,
                  .zero_infinity = a->zero_infinity};
}

static gr_status check_targets(const gr_launch *l) {
  for (int64_t i = 0; i < l->in_type[TARGETS].dim[0]; i++) {
    gr_ctc c = sample_of(l, i);
    for (int64_t s = 0; s < c.symbols; s++) {
      if (c.target[s] >= 0 && c.target[s] < c.classes && c.target[s] != c.blank) continue;
      return gr_hint(
          gr_fail(GR_ERR_DATA, GR_NOWHERE,
                  "symbol %lld of a transcript is %d, which is not one of the model's %lld classes "
                  "or is its blank, %lld",
                  (long long)s, c.target[s], (long long)c.classes, (long long)c.blank),
          "the model needs one class per entry of the vocabulary, including the blank");
    }
  }
  return GR_OK;
}

// Frames beyond a sample's length have no gradient.
static void clear_rest(const gr_launch *l, int64_t i, int64_t frames) {
  int64_t t = l->in_type[LOGITS].dim[1], v = l->in_type[LOGITS].dim[2];
  size_t size = gr_dtypes[l->out_type[2].dtype].size;
  memset((char *)l->out[2] + (size_t)((i * t + frames) * v) * size, 0,
         (size_t)((t - frames) * v) * size);
}

static gr_status ctc_loss_cpu(const gr_launch *l) {
  GR_TRY(check_targets(l));
  for (int64_t i = 0; i < l->in_type[LOGITS].dim[0]; i++) {
    lattice z = {.l = l, .sample = i, .c = sample_of(l, i), .lse = l->scratch};
    z.places = gr_ctc_places(z.c.symbols);
    z.beta = z.lse + z.c.frames, z.alpha = z.beta + z.places;
    for (int64_t t = 0; t < z.c.frames; t++) {
      z.lse[t] = 0;
      double sum = -INFINITY;
      for (int64_t k = 0; k < z.c.classes; k++) sum = log_add(sum, emit(&z, t, k));
      z.lse[t] = sum;
    }
    double log_p = forward(&z);
    OUT(0, i, log_p == -INFINITY && z.c.zero_infinity ? 0 : -log_p * z.c.scale);
    OUT(1, i, 1);
    if (l->n_out < 3) continue;
    gradient(&z, log_p);
    clear_rest(l, i, z.c.frames);
  }
  return GR_OK;
}

// ---- f32 --------------------------------------------------------------------------------------

static size_t sample_work(const gr_type *x, const gr_type *target, bool kept) {
  size_t rows = gr_ctc_work(x->dim[1], target->dim[1], kept);
  return (rows + 7) / 8 * 8;
}

static void samples_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  const gr_type *x = &l->in_type[LOGITS];
  int64_t size = x->dim[1] * x->dim[2];
  bool kept = l->n_out == 3;
  for (int64_t i = begin; i < end; i++) {
    gr_ctc c = sample_of(l, i);
    double *work = (double *)l->scratch + (size_t)i * sample_work(x, &l->in_type[TARGETS], kept);
    ((float *)l->out[0])[i] = (float)gr_ctc_f32(&c, (const float *)l->in[LOGITS] + i * size,
                                                kept ? (float *)l->out[2] + i * size : NULL, work);
    ((float *)l->out[1])[i] = 1;
    if (kept) clear_rest(l, i, c.frames);
  }
}

static gr_status run_f32(const gr_launch *l) {
  GR_TRY(check_targets(l));
  gr_parallel(l, l->in_type[LOGITS].dim[0], 1, samples_f32, (void *)l);
  return GR_OK;
}

// Every sample has its own working memory; the reference needs the lattice of one sample.
static size_t scratch(const gr_op_call *s) {
  const gr_type *x = &s->in[LOGITS], *target = &s->in[TARGETS];
  size_t n = (size_t)x->dim[0],
         one = sample_work(x, target, s->op == &gr_op_ctc_loss_with_residuals);
  size_t whole = sample_work(x, target, true);
  return sizeof(double) * (n * one > whole ? n * one : whole);
}

// ---- On a GPU -----------------------------------------------------------------------------------

GR_CU(ctc_loss);
GR_CU(ctc_loss_grad);

static gr_gpu_kernel *kernel(gr_gpu_call *g, const char *entry, int64_t blocks, int threads) {
  const gr_op_call *s = g->call;
  const struct ctc_loss *a = s->attr;
  const gr_type *x = &s->in[LOGITS];
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_ctc_loss, entry, blocks * threads, threads);
  if (s->n_out == 3) gr_gpu_define(g, k, "RESIDUALS", "1");
  const int64_t number[] = {x->dim[0],
                            x->dim[1],
                            x->dim[2],
                            s->in[1].dim[1],
                            blank_of(a, x->dim[2]),
                            a->zero_infinity,
                            a->normalize == TARGET_LENGTH};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++) gr_gpu_int(k, number[i]);
  return k;
}

// The working memory that ctc_loss.cu lists, then rows of the lattices that shared memory cannot
// hold.
static gr_status gpu(gr_gpu_call *g) {
  enum { WARP = 32, SHARED = 48 << 10 };
  const gr_op_call *s = g->call;
  int64_t n = s->in[LOGITS].dim[0], t = s->in[LOGITS].dim[1], u = s->in[TARGETS].dim[1];
  int64_t places = gr_ctc_places(u), frames = (n * t * WARP + GR_GPU_BLOCK - 1) / GR_GPU_BLOCK;
  size_t row = sizeof(double) * (size_t)places;
  size_t rows = sizeof(double) * (size_t)(n * t) + (size_t)(n * (s->n_out == 3 ? t : 2)) * row +
                sizeof(int32_t) * (size_t)(n + n * u);
  rows = (rows + 7) / 8 * 8;
  bool fits = 2 * row <= SHARED;
  kernel(g, "ctc_frames", frames, GR_GPU_BLOCK);
  gr_gpu_kernel *k = kernel(g, "ctc_lattice", n, (int)gr_min_i64(512, (places + 31) / 32 * 32));
  k->shared = fits ? 2 * row : 0;
  gr_gpu_int(k, fits), gr_gpu_int(k, (int64_t)rows);
  if (s->n_out == 3) kernel(g, "ctc_gradient", frames, GR_GPU_BLOCK);
  g->scratch = rows + (fits ? 0 : (size_t)n * 2 * row);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(struct ctc_loss, blank, GR_ATTR_INT, "-1",
            "class index of the blank; -1 is the last class"),
    GR_ATTR(struct ctc_loss, zero_infinity, GR_ATTR_BOOL, "true",
            "a target too long for its frames has loss 0 instead of infinity"),
    GR_CHOICE(struct ctc_loss, normalize, "target_length|none", "target_length",
              "target_length: divide each loss by its target length"),
    {0}};
static const struct ctc_loss usual = {-1, 1, TARGET_LENGTH};
// The softmax of every frame, and two recursions of about three terms over 2 u + 1 states.
static int64_t flops(const gr_op_call *s) {
  int64_t frames = s->in[0].dim[0] * s->in[0].dim[1];
  return frames * (s->in[0].dim[2] + 6 * (2 * s->in[1].dim[1] + 1));
}

// The softmax, and two recursions, in which each frame follows from the one before it.
static void efforts(const gr_op_call *s, gr_efforts *w) {
  int64_t frames = s->in[0].dim[0] * s->in[0].dim[1], states = 2 * s->in[1].dim[1] + 1;
  w->of[GR_EFFORT_FUNCTION] = (double)(frames * s->in[0].dim[2]);
  w->of[GR_EFFORT_SERIAL] = (double)(2 * frames * states);
}

#define OPERANDS \
  { "f32[6,12,20]", "i32[6,4]", "i32[6]", "i32[6]" }
static const gr_case cases[] = {
    {OPERANDS, .attr = &usual, .fill = "nill"},
    {OPERANDS, .attr = &(struct ctc_loss){19, 1, NONE}, .fill = "nill"},
    {{"f32[6,12,20]", "f32[6,4]", "i32[6]", "i32[6]"}, .attr = &usual, .fails = "targets of"},
    {OPERANDS, .attr = &(struct ctc_loss){20, 1, NONE}, .fails = "blank 20 is not one of 20"},
    {{0}},
};

const gr_op gr_op_ctc_loss = {
    .name = "ctc_loss",
    .doc =
        "Per sample, -log of the probability that logits [n,t,v] of lengths [n] emit targets [n,u] "
        "of target lengths [n] (Graves et al., 2006); and 1.",
    .efforts = efforts,
    .attr_size = sizeof(struct ctc_loss),
    .attrs = attrs,
    .index_spec = "nTV,nU,n,n->n,n",
    .infer = infer,
    .flops = flops,
    .save_for_backward = save_for_backward,
    .grad = grad,
    .check = check_targets,
    .cpu = ctc_loss_cpu,
    .fast_f32 = run_f32,
    .scratch = scratch,
    .gpu = gpu,
    .amp = GR_AMP_WIDE,
    .cases = cases,
};

static const gr_case kept_cases[] = {{OPERANDS, .attr = &usual, .fill = "nill"}, {{0}}};

const gr_op gr_op_ctc_loss_with_residuals = {
    .name = "ctc_loss_with_residuals",
    .doc = "ctc_loss, and the gradient of its first result with respect to the logits.",
    .efforts = efforts,
    .attr_size = sizeof(struct ctc_loss),
    .attrs = attrs,
    .index_spec = "nTV,nU,n,n->n,n,nTV",
    .infer = infer,
    .flops = flops,
    .grad = grad,
    .check = check_targets,
    .cpu = ctc_loss_cpu,
    .fast_f32 = run_f32,
    .scratch = scratch,
    .gpu = gpu,
    .cases = kept_cases,
};

// ---- The gradient: the saved gradient times each sample's dy ------------------------------------

static gr_status grad_cpu(const gr_launch *l) {
  int64_t n = l->in_type[0].dim[0], size = gr_type_count(l->in_type) / n;
  for (int64_t i = 0; i < n * size; i++) {
    double dy = IN(1, i / size);
    OUT(0, i, dy == 0 ? 0 : IN(0, i) * dy);  // an ignored sample may have an infinite gradient
  }
  return GR_OK;
}

static void grad_samples(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t size = gr_type_count(l->in_type) / l->in_type[0].dim[0];
  for (int64_t i = begin; i < end; i++) {
    const float *x = (const float *)l->in[0] + i * size;
    float *dx = (float *)l->out[0] + i * size, dy = ((const float *)l->in[1])[i];
    GR_VECTOR for (int64_t k = 0; k < size; k++) dx[k] = dy == 0 ? 0 : x[k] * dy;
  }
}

static gr_status grad_run_f32(const gr_launch *l) {
  gr_parallel(l, l->in_type[0].dim[0], 1, grad_samples, (void *)l);
  return GR_OK;
}

static gr_status grad_gpu(gr_gpu_call *g) {
  int64_t n = gr_type_count(g->call->in);
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(g, gr_cu_ctc_loss_grad, "ctc_loss_grad", gr_gpu_items(n), GR_GPU_BLOCK);
  gr_gpu_int(k, n), gr_gpu_int(k, n / g->call->in[0].dim[0]);
  return GR_OK;
}

static const gr_case grad_cases[] = {{{"f32[6,3,20]", "f32[6]"}}, {{0}}};

const gr_op gr_op_ctc_loss_grad = {
    .name = "ctc_loss_grad",
    .doc = "Each sample of x times its element of dy.",
    .effort = GR_EFFORT_ELEMENT,
    .index_spec = "ntv,n->ntv",
    .cpu = grad_cpu,
    .fast_f32 = grad_run_f32,
    .gpu = grad_gpu,
    .inplace = {1},
    .cases = grad_cases,
};
