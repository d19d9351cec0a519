// adafactor_moment.c - Adafactor's second moments (adafactor.c): the row and column sums of squared
// gradients, and the update of their running means.
#include "ops/kernels/formula.h"
#include "ops/kernels/gpu_tile.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/rows.h"
#include "ops/optim/adafactor.h"

// ---- The row and column sums of a squared gradient --------------------------------------------

enum { CHUNK = 64 };  // columns summed at a time

static void squares_of(const gr_launch *l, int64_t m, int64_t begin, int64_t end) {
  const gr_type *t = l->in_type;
  int64_t rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
  for (int64_t c = begin; c < end; c++) {
    double sum = 0;
    for (int64_t r = 0; r < rows; r++) {
      double g = IN(0, (m * rows + r) * columns + c);
      sum += g * g;
    }
    OUT(1, m * columns + c, sum);
  }
}

static gr_status squares_cpu(const gr_launch *l) {
  const gr_type *t = l->in_type;
  int64_t rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
  for (int64_t r = 0, n = gr_rows(t); r < n; r++) {
    double sum = 0;
    for (int64_t c = 0; c < columns; c++) sum += IN(0, r * columns + c) * IN(0, r * columns + c);
    OUT(0, r, sum);
  }
  for (int64_t m = 0; m < gr_rows(t) / rows; m++) squares_of(l, m, 0, columns);
  return GR_OK;
}

static void squares_rows(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  int64_t columns = gr_last(l->in_type);
  const float *g = (const float *)l->in[0] + begin * columns;
  for (int64_t r = begin; r < end; r++, g += columns)
    ((float *)l->out[0])[r] = gr_dot_f32(g, g, columns);
}

// Each task is a chunk of columns of one matrix.
static void squares_columns(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  const gr_type *t = l->in_type;
  int64_t rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
  int64_t chunks = (columns + CHUNK - 1) / CHUNK;
  for (int64_t p = begin; p < end; p++) {
    int64_t m = p / chunks, c = p % chunks * CHUNK, n = gr_min_i64(columns - c, CHUNK);
    const float *g = (const float *)l->in[0] + m * rows * columns + c;
    float *out = (float *)l->out[1] + m * columns + c;
    double sum[CHUNK] = {0};
    for (int64_t r = 0; r < rows; r++, g += columns)
      for (int64_t i = 0; i < n; i++) sum[i] += (double)g[i] * (double)g[i];
    for (int64_t i = 0; i < n; i++) out[i] = (float)sum[i];
  }
}

static gr_status squares_f32(const gr_launch *l) {
  const gr_type *t = l->in_type;
  int64_t columns = gr_last(t), matrices = gr_rows(t) / t->dim[t->rank - 2];
  gr_parallel(l, gr_rows(t), gr_row_grain(columns), squares_rows, (void *)l);
  gr_parallel(l, (columns + CHUNK - 1) / CHUNK * matrices, 1, squares_columns, (void *)l);
  return GR_OK;
}

GR_CU(adafactor_moment);

static gr_gpu_kernel *kernel(gr_gpu_call *g, const char *entry, int64_t items) {
  return gr_gpu_kernel_add(g, gr_cu_adafactor_moment, entry, items, GR_GPU_BLOCK);
}

static gr_status squares_gpu(gr_gpu_call *g) {
  enum { WARP = 32, LEAST = 64 };  // rows that a part sums
  const gr_type *t = g->call->in;
  int64_t rows = t->dim[t->rank - 2], columns = gr_last(t), all = gr_rows(t), matrices = all / rows;
  gr_gpu_kernel *k = kernel(g, "adafactor_rows", gr_gpu_items(all * WARP));
  gr_gpu_int(k, all), gr_gpu_int(k, columns);
  int64_t blocks = matrices * ((columns + WARP - 1) / WARP);
  gr_gpu_parts cut = gr_gpu_cut(blocks, rows, LEAST);
  k = kernel(g, "adafactor_columns", blocks * cut.parts * GR_GPU_BLOCK);
  gr_gpu_int(k, matrices), gr_gpu_int(k, rows), gr_gpu_int(k, columns);
  gr_gpu_int(k, cut.share), gr_gpu_int(k, cut.parts);
  k = kernel(g, "adafactor_add_parts", gr_gpu_items(matrices * columns));
  gr_gpu_int(k, matrices * columns), gr_gpu_int(k, cut.parts);
  g->scratch = gr_gpu_wide(t->dtype) * (size_t)(cut.parts * matrices * columns);
  return GR_OK;
}

static const gr_case squares_cases[] = {{{"f32[4,6]"}},
                                        {{"f32[2,3,5]"}},
                                        {{"f32[33,130]"}},
                                        {{"f32[5]"}, .fails = "expected at least 2"},
                                        {{0}}};

const gr_op gr_op_adafactor_squares = {
    .name = "adafactor_squares",
    .doc = "The sums of the squares of each row and of each column of g.",
    .index_spec = "...rc->...r,...c",
    .padding = GR_PADDING_ROWS,
    .cpu = squares_cpu,
    .fast_f32 = squares_f32,
    .gpu = squares_gpu,
    .cases = squares_cases,
};

// ---- The running mean -------------------------------------------------------------------------

// The mean comes closer to x / count scale^2 by t^beta2_decay, as by PyTorch's lerp_.
GR_UPDATE(moment, gr_adafactor_moment,
          (EACH(s), EACH(x), ONE(step), ONE(scale), ONE(ok), PARAM(beta2_decay), PARAM(count),
           SHARED(fresh, pow(step + 1, beta2_decay))),
          (s),  // result
          x = x * scale;
          x = x * (count != 0 ? scale / count : x); s = s + fresh * (x - s);)

static const gr_attr moment_attrs[] = {
    GR_ATTR(gr_adafactor_moment, beta2_decay, GR_ATTR_FLOAT, "-0.8", "beta2 is 1 - t^beta2_decay"),
    GR_ATTR(gr_adafactor_moment, count, GR_ATTR_INT, NULL,
            "number of squares summed in each element of x; 0: x is the gradient itself"),
    {0}};
static const gr_case moment_cases[] = {{{"f32[6]", "f32[6]", "i32[]", "f32[]", "f32[]"},
                                        &(gr_adafactor_moment){-0.8, 7},
                                        .fill = "ppis1"},
                                       {{"f32[4,6]", "f32[4,6]", "i32[]", "f32[]", "f32[]"},
                                        &(gr_adafactor_moment){-0.8, 0},
                                        .fill = "pnis1"},
                                       {{"f32[6]", "f32[6]", "i32[]", "f32[]", "f32[]"},
                                        &(gr_adafactor_moment){-0.8, 7},
                                        .fill = "ppisz"},
                                       {{"f32[6]", "f32[5]", "i32[]", "f32[]", "f32[]"},
                                        &(gr_adafactor_moment){-0.8, 7},
                                        .fails = "sizes 6 and 5 differ"},
                                       {{0}}};

const gr_op gr_op_adafactor_moment = {
    .name = "adafactor_moment",
    .formulas = GR_FORMULAS(&moment_formula),
    .doc =
        "The next running mean of squared gradients, from the last one, sums of squares or a "
        "gradient, step, gradient scale, ok.",
    .attr_size = sizeof(gr_adafactor_moment),
    .attrs = moment_attrs,
    .index_spec = "...,...,,,->...",
    .padding = GR_PADDING_PRESERVED,
    .cpu = moment_cpu,  // and no other: means of rows, columns and vectors are short
    .cases = moment_cases,
};
