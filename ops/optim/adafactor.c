// adafactor.c - Adafactor (Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear
// Memory Cost", 2018) as torch.optim.Adafactor (PyTorch 2.5 and later) defines it: for a matrix,
// only the row and column means of the squared gradients are stored, and their outer product
// approximates the second moment.
//
//   row, col    means of (g scale)^2 over columns and over rows, with decay 1 - t^beta2_decay
//   V           row col / max(mean of row, eps1); for a vector, the mean of (g scale)^2 itself
//   U           g scale / max(sqrt(V), eps1)
//   w'          w (1 - lr weight_decay) - max(eps2, RMS(w)) min(lr, 1/sqrt(t)) U / max(1, RMS(U)/d)
//
// A matrix is the last two dimensions of a weight. Three sums span more than one row; they are
// separate ops, so that any dimension of the weight may be sharded.
#include "ops/optim/adafactor.h"
#include <float.h>
#include <math.h>
#include "ops/kernels/gpu.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

// ---- The update -------------------------------------------------------------------------------

typedef struct adafactor {
  double beta2_decay, eps1, eps2, d, weight_decay;
  int64_t rows, count;  // rows of a matrix, 0 for a vector; elements of the weight
} adafactor;

// The operands of both ops below: g, then v (or row, col and the sum of row), then scalars.
enum { FACTORS = 3 };

// What computing max(sqrt(V), eps1) needs.
typedef struct variance {
  const gr_launch *l;
  int operand;  // the index of operand v, or of row
  bool factored;
  int64_t rows, columns;  // of this rank's slice of a matrix
  double eps1, mean_of;
} variance;

static variance variance_of(const gr_launch *l, int g, int scalars) {
  const adafactor *a = l->attr;
  const gr_type *t = &l->in_type[g];
  variance v = {.l = l, .operand = g + 1, .columns = gr_last(t), .rows = 1};
  v.factored = l->n_in - (g + 1) - scalars == FACTORS;
  v.eps1 = a->eps1, v.mean_of = (double)a->rows;
  if (v.factored) v.rows = t->dim[t->rank - 2];
  return v;
}

// row / max(mean of row, eps1), for one row of all matrices.
static double row_share(const variance *v, int64_t row) {
  const gr_launch *l = v->l;
  double mean = fmax(IN(v->operand + 2, row / v->rows) / v->mean_of, v->eps1);
  return IN(v->operand, row) / mean;
}

static double root(const variance *v, int64_t row, int64_t c) {
  const gr_launch *l = v->l;
  double squared = v->factored
                       ? row_share(v, row) * IN(v->operand + 1, row / v->rows * v->columns + c)
                       : IN(v->operand, row * v->columns + c);
  return fmax(sqrt(squared), v->eps1);
}

// One row in f32: V[c] = result * (*of)[c].
static float row_f32(const variance *v, int64_t row, const float **of) {
  const gr_launch *l = v->l;
  const float *second = l->in[v->operand + v->factored];
  *of = second + (v->factored ? row / v->rows : row) * v->columns;
  return v->factored ? (float)row_share(v, row) : 1;
}

GR_CU(adafactor);

// A kernel of adafactor.cu for operand g, which is followed by v, or row, col and the sum of row.
static gr_gpu_kernel *kernel(gr_gpu_call *call, const char *entry, int g, bool factored,
                             int64_t items) {
  const adafactor *a = call->call->attr;
  const gr_type *t = &call->call->in[g];
  gr_gpu_kernel *k = gr_gpu_kernel_add(call, gr_cu_adafactor, entry, items, GR_GPU_BLOCK);
  if (factored) gr_gpu_define(call, k, "MATRIX", "1");
  gr_gpu_real(k, a->eps1), gr_gpu_real(k, (double)a->rows);
  gr_gpu_int(k, factored ? t->dim[t->rank - 2] : 1), gr_gpu_int(k, gr_last(t));
  gr_gpu_int(k, gr_type_count(t));
  return k;
}

static gr_status infer_floats(gr_op_call *c) {
  for (int k = 0; k < c->n_in; k++)
    if (c->in[k].rank && c->in[k].dtype != c->in[0].dtype)
      return gr_fail(GR_ERR_TYPE, c->loc, "operand %d is %s, not %s", k + 1,
                     gr_dtypes[c->in[k].dtype].name, gr_dtypes[c->in[0].dtype].name);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_PARAM(adafactor, beta2_decay, "-0.8", "<= 0",
             "exponent c of the second moment's decay at step t, 1 - t^c"),
    GR_PARAM(adafactor, eps1, "1.1920928955078125e-07", "> 0",
             "lower bound of the second moment's root and of the mean of rows"),
    GR_PARAM(adafactor, eps2, "1e-3", ">= 0",
             "lower bound of a weight's root mean square in the step size"),
    GR_PARAM(adafactor, d, "1", ">= 1",
             "updates with a larger root mean square are clipped to this"),
    GR_PARAM(adafactor, weight_decay, "0", ">= 0",
             "decoupled: the weight is multiplied by 1 - lr weight_decay"),
    GR_ATTR(adafactor, rows, GR_ATTR_INT, NULL,
            "rows of each matrix of the global weight; 0: a vector"),
    GR_ATTR(adafactor, count, GR_ATTR_INT, NULL, "elements of the global weight"),
    {0}};
static const adafactor matrix = {-0.8, FLT_EPSILON, 1e-3, 1, 0.01, 4, 24},
                       batch = {-0.8, FLT_EPSILON, 1e-3, 1, 0.01, 3, 30},
                       vector = {-0.8, FLT_EPSILON, 1e-3, 1, 0.01, 0, 24};

// ---- The sum of the squares of U ----------------------------------------------------------------

static void norm_spec(const gr_op_call *c, char buf[128]) {
  snprintf(buf, 128, "%s", c->n_in == 5 ? "...rc,...r,...c,...,->" : "...,...,->");
}

static gr_status norm_cpu(const gr_launch *l) {
  variance v = variance_of(l, 0, 1);
  double sum = 0, scale = IN(l->n_in - 1, 0);
  for (int64_t r = 0, n = gr_rows(l->in_type); r < n; r++)
    for (int64_t c = 0; c < v.columns; c++) {
      double u = IN(0, r * v.columns + c) * scale / root(&v, r, c);
      sum += u * u;
    }
  OUT(0, 0, sum);
  return GR_OK;
}

static void norm_rows(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  variance v = variance_of(l, 0, 1);
  float scale = (float)IN(l->n_in - 1, 0), eps = (float)v.eps1;
  for (int64_t r = begin; r < end; r++) {
    const float *g = (const float *)l->in[0] + r * v.columns, *of;
    float share = row_f32(&v, r, &of), sum[GR_LANES] = {0};
    double total = 0;
    int64_t c = 0;
    for (; c + GR_LANES <= v.columns; c += GR_LANES)
      for (int e = 0; e < GR_LANES; e++) {
        float root_v = sqrtf(share * of[c + e]);
        float u = g[c + e] * scale / (root_v > eps ? root_v : eps);
        sum[e] += u * u;
      }
    for (int e = 0; e < GR_LANES; e++) total += (double)sum[e];
    for (; c < v.columns; c++) {
      float root_v = sqrtf(share * of[c]), u = g[c] * scale / (root_v > eps ? root_v : eps);
      total += (double)u * (double)u;
    }
    ((double *)l->scratch)[r] = total;
  }
}

static gr_status norm_f32(const gr_launch *l) {
  int64_t n = gr_rows(l->in_type);
  double sum = 0;
  gr_parallel(l, n, gr_row_grain(gr_last(l->in_type)), norm_rows, (void *)l);
  for (int64_t r = 0; r < n; r++) sum += ((double *)l->scratch)[r];
  *(float *)l->out[0] = (float)sum;
  return GR_OK;
}

static size_t norm_scratch(const gr_op_call *c) {
  return gr_is_f32(c) ? sizeof(double) * (size_t)gr_rows(&c->in[0]) : 0;
}

static gr_status norm_gpu(gr_gpu_call *g) {
  int64_t items = gr_gpu_items(gr_type_count(g->call->in));
  bool factored = g->call->n_in == 1 + FACTORS + 1;
  gr_gpu_kernel *k = kernel(g, "adafactor_norm", 0, factored, items);
  gr_gpu_define(g, k, "NORM", "1");
  int64_t blocks = k->blocks;
  const char *defines = k->defines;
  k = gr_gpu_kernel_add(g, gr_cu_adafactor, "adafactor_norm_sum", 1, GR_GPU_BLOCK);
  k->defines = defines;
  gr_gpu_int(k, blocks);
  g->scratch = gr_gpu_wide(g->call->in[0].dtype) * (size_t)blocks;
  return GR_OK;
}

static const gr_case norm_cases[] = {
    {{"f32[4,6]", "f32[4]", "f32[6]", "f32[]", "f32[]"}, &matrix, .fill = "npppp"},
    {{"f32[2,3,37]", "f32[2,3]", "f32[2,37]", "f32[2]", "f32[]"}, &batch, .fill = "npppp"},
    {{"f32[24]", "f32[24]", "f32[]"}, &vector, .fill = "npp"},
    {{"f32[]", "f32[]", "f32[]"}, &vector, .fill = "npp"},
    {{"f32[4,6]", "f32[4]", "f32[5]", "f32[]", "f32[]"}, &matrix, .fails = "sizes 6 and 5 differ"},
    {{0}}};

const gr_op gr_op_adafactor_norm = {
    .name = "adafactor_norm",
    .doc =
        "The sum of the squares of Adafactor's update, from g, v (or row, col and the sum of "
        "row), gradient scale.",
    .n_in = GR_ANY,
    .attr_size = sizeof(adafactor),
    .attrs = attrs,
    .index_spec_of = norm_spec,
    .infer = infer_floats,
    .padding = GR_PADDING_ROWS,
    .cpu = norm_cpu,
    .fast_f32 = norm_f32,
    .scratch = norm_scratch,
    .gpu = norm_gpu,
    .cases = norm_cases,
};

// ---- The next weight --------------------------------------------------------------------------

enum { LR, STEP, SCALE, OK, SUM_W, SUM_U, SCALARS };  // after the tensor operands

// w' = keep w - step g / max(sqrt(V), eps1)
typedef struct rates {
  double keep, step;
  bool ok;
} rates;

static rates rates_of(const gr_launch *l) {
  const adafactor *a = l->attr;
  int scalars = l->n_in - SCALARS;
  double lr = IN(scalars + LR, 0), n = (double)a->count;
  double rho = fmin(lr, 1 / sqrt(IN(scalars + STEP, 0) + 1));
  double alpha = fmax(a->eps2, sqrt(IN(scalars + SUM_W, 0) / n)) * rho;
  double clip = fmax(1, sqrt(IN(scalars + SUM_U, 0) / n) / a->d);
  return (rates){.keep = 1 - lr * a->weight_decay,
                 .step = alpha / clip * IN(scalars + SCALE, 0),
                 .ok = IN(scalars + OK, 0) != 0};
}

static gr_status adafactor_cpu(const gr_launch *l) {
  variance v = variance_of(l, 1, SCALARS);
  rates k = rates_of(l);
  for (int64_t r = 0, n = gr_rows(l->in_type); r < n; r++)
    for (int64_t c = 0; c < v.columns; c++) {
      int64_t i = r * v.columns + c;
      double w = IN(0, i);
      OUT(0, i, k.ok ? w * k.keep - k.step * IN(1, i) / root(&v, r, c) : w);
    }
  return GR_OK;
}

static void update_rows(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  variance v = variance_of(l, 1, SCALARS);
  rates k = rates_of(l);
  float keep = (float)k.keep, step = (float)k.step, eps = (float)v.eps1;
  for (int64_t r = begin; r < end; r++) {
    const float *w = (const float *)l->in[0] + r * v.columns, *of;
    const float *g = (const float *)l->in[1] + r * v.columns;
    float *out = (float *)l->out[0] + r * v.columns, share = row_f32(&v, r, &of);
    GR_VECTOR for (int64_t c = 0; c < v.columns; c++) {
      float root_v = sqrtf(share * of[c]), u = g[c] / (root_v > eps ? root_v : eps);
      out[c] = k.ok ? w[c] * keep - step * u : w[c];
    }
  }
}

static gr_status update_f32(const gr_launch *l) { return gr_run_rows(l, update_rows); }

static gr_status gpu(gr_gpu_call *g) {
  const adafactor *a = g->call->attr;
  bool factored = g->call->n_in == 2 + FACTORS + SCALARS;
  gr_gpu_kernel *k = kernel(g, "adafactor", 1, factored, gr_gpu_items(gr_type_count(g->call->out)));
  gr_gpu_real(k, (double)a->count);
  gr_gpu_real(k, a->eps2), gr_gpu_real(k, a->d), gr_gpu_real(k, a->weight_decay);
  return GR_OK;
}

static void index_spec_of(const gr_op_call *c, char buf[128]) {
  bool factored = c->n_in == 2 + FACTORS + SCALARS;
  snprintf(buf, 128, "%s",
           factored ? "...rc,...rc,...r,...c,...,,,,,,->...rc" : "...,...,...,,,,,,->...");
}

// A matrix has the states row and col; a vector has v.
static void emit(gr_optim_update *u) {
  enum { ROW, COL, V };
  gr_builder *b = u->b;
  gr_type t = gr_at(b->g, u->w)->type;
  adafactor a = *(const adafactor *)u->attr;
  bool factored = gr_is(u->state[ROW]);
  gr_val norm, sum_w = gr_sum_squares(b, u->w);
  a.count = gr_type_count(&t), a.rows = factored ? t.dim[t.rank - 2] : 0;
  if (factored) {
    gr_adafactor_moment of_row = {a.beta2_decay, gr_last(&t)}, of_col = {a.beta2_decay, a.rows};
    gr_val rows = GR_EMIT(b, &gr_op_adafactor_squares, NULL, u->g), columns = {rows.id + 1};
    gr_val row =
        GR_EMIT(b, &gr_op_adafactor_moment, &of_row, u->state[ROW], rows, u->step, u->scale, u->ok);
    gr_val col = GR_EMIT(b, &gr_op_adafactor_moment, &of_col, u->state[COL], columns, u->step,
                         u->scale, u->ok);
    gr_val sum = gr_sum(b, row, t.rank - 2);
    norm = GR_EMIT(b, &gr_op_adafactor_norm, &a, u->g, row, col, sum, u->scale);
    u->next_w = GR_EMIT(b, u->op, &a, u->w, u->g, row, col, sum, u->lr, u->step, u->scale, u->ok,
                        sum_w, norm);
    u->next_state[ROW] = row, u->next_state[COL] = col;
  } else {
    gr_adafactor_moment of_v = {a.beta2_decay, 0};
    gr_val v =
        GR_EMIT(b, &gr_op_adafactor_moment, &of_v, u->state[V], u->g, u->step, u->scale, u->ok);
    norm = GR_EMIT(b, &gr_op_adafactor_norm, &a, u->g, v, u->scale);
    u->next_w = GR_EMIT(b, u->op, &a, u->w, u->g, v, u->lr, u->step, u->scale, u->ok, sum_w, norm);
    u->next_state[V] = v;
  }
}

static const gr_optimizer optimizer = {
    .states = {{"row", "mean of each row's squared gradients", GR_OPTIM_ROWS, GR_OPTIM_MATRICES},
               {"col", "mean of each column's squared gradients", GR_OPTIM_COLUMNS,
                GR_OPTIM_MATRICES},
               {"v", "mean of squared gradients", GR_OPTIM_SAME, GR_OPTIM_VECTORS}},
    .emit = emit,
};
#define SCALARS_OF "f32[]", "i32[]", "f32[]", "f32[]", "f32[]", "f32[]"
static const gr_case cases[] = {
    {{"f32[4,6]", "f32[4,6]", "f32[4]", "f32[6]", "f32[]", SCALARS_OF},
     &matrix,
     .fill = "nnpppsis1pp"},
    {{"f32[2,3,5]", "f32[2,3,5]", "f32[2,3]", "f32[2,5]", "f32[2]", SCALARS_OF},
     &batch,
     .fill = "nnpppsis1pp"},
    {{"f32[24]", "f32[24]", "f32[24]", SCALARS_OF}, &vector, .fill = "nnpsis1pp"},
    {{"f32[]", "f32[]", "f32[]", SCALARS_OF}, &vector, .fill = "nnpsis1pp"},
    {{"f32[24]", "f32[24]", "f32[24]", SCALARS_OF}, &vector, .fill = "nnpsiszpp"},
    {{"f32[24]", "f32[20]", "f32[24]", SCALARS_OF}, &vector, .fails = "sizes 24 and 20 differ"},
    {{0}}};

const gr_op gr_op_adafactor = {
    .name = "adafactor",
    .doc =
        "w' from w, gradient, v (or row, col and the sum of row), lr, step, gradient scale, ok, "
        "and the sums of the squares of w and of the update: Adafactor. lr is the largest relative "
        "step; PyTorch's default is 1e-2.",
    .n_in = GR_ANY,
    .attr_size = sizeof(adafactor),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = infer_floats,
    .padding = GR_PADDING_ROWS,
    .optimizer = &optimizer,
    .cpu = adafactor_cpu,
    .fast_f32 = update_f32,
    .gpu = gpu,
    .inplace = {1},
    .cases = cases,
};
