// operands.c - see operands.h.
#include "ops/kernels/operands.h"
#include <math.h>
#include <string.h>
#include "ops/kernels/rows.h"

void gr_moves_result(const gr_op_call *s, gr_efforts *w) {
  w->of[GR_EFFORT_MOVE] = (double)gr_type_count(s->out);
  w->bytes = 2 * (double)gr_type_bytes(s->out);
}

void gr_softmax_efforts(const gr_op_call *s, gr_efforts *w) {
  w->of[GR_EFFORT_ROW] = w->of[GR_EFFORT_FUNCTION] = (double)gr_type_count(s->in);
}

void gr_count_runs(double elements, double run, gr_efforts *w) {
  w->of[GR_EFFORT_MOVE] += elements;
  w->of[GR_EFFORT_SERIAL] += elements / run;
}

gr_status gr_require_ints(const gr_op_call *s, int k, const char *what) {
  if (s->in[k].dtype == GR_I32) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "%s of '%s' must be i32, not %s", what, s->op->name,
                 gr_dtypes[s->in[k].dtype].name);
}

gr_status gr_require_number(const gr_op_call *s, gr_dtype dtype, double x) {
  if (gr_dtypes[dtype].is_float || (x == trunc(x) && x >= -0x1p31 && x < 0x1p31)) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_TYPE, s->loc, "%g is no number of the dtype %s", x, gr_dtypes[dtype].name),
      "write a whole number, or cast the operand to f32 first");
}

static gr_status require_dtype(const gr_op_call *s, int k, const char *what, gr_dtype expected,
                               const char *why) {
  if (!gr_dtypes[s->in[k].dtype].is_float)
    return gr_fail(GR_ERR_TYPE, s->loc, "%s of '%s' must be a float type, not %s", what,
                   s->op->name, gr_dtypes[s->in[k].dtype].name);
  if (s->in[k].dtype == expected) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "%s of '%s' must be %s %s, not %s", what, s->op->name,
                 gr_dtypes[expected].name, why, gr_dtypes[s->in[k].dtype].name);
}

gr_status gr_require_float(const gr_op_call *s, int k, const char *what) {
  return require_dtype(s, k, what, s->in[0].dtype, "like operand 1");
}

gr_status gr_require_wide(const gr_op_call *s, int k, const char *what) {
  gr_dtype wide = gr_widened(s->in[0].dtype);
  bool same = wide == s->in[0].dtype;
  return require_dtype(s, k, what, wide, same ? "like operand 1" : "where operand 1 is narrower");
}

gr_status gr_require_operands(const gr_op_call *s, int least, int most) {
  if (s->n_in >= least && s->n_in <= most) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "'%s' takes %d to %d operands, got %d", s->op->name, least,
                 most, s->n_in);
}

gr_status gr_check_indices(const gr_launch *l, int k, const gr_indices *x) {
  const int32_t *id = l->in[k];
  int64_t i = 0, n = gr_type_count(&l->in_type[k]);
  while (i < n && ((id[i] >= 0 && id[i] < x->size) || id[i] == x->ignored)) i++;
  if (i == n) return GR_OK;
  gr_status s = gr_fail(GR_ERR_DATA, GR_NOWHERE, "%s %d (number %lld) is not one of %lld %s",
                        x->what, id[i], (long long)i, (long long)x->size, x->of);
  if (x->hint) return gr_hint(s, "%s", x->hint);
  if (!x->ignored) return gr_hint(s, "they count from 0 to %lld", (long long)x->size - 1);
  return gr_hint(s, "they count from 0 to %lld, and %lld is for none", (long long)x->size - 1,
                 (long long)x->ignored);
}

void gr_letters(char buf[GR_MAX_RANK + 1], const char *first, int rank) {
  int n = 0;
  for (; n < rank && n < GR_MAX_RANK && first[n]; n++) buf[n] = first[n];
  for (char next = 'a'; n < rank && n < GR_MAX_RANK; n++) buf[n] = next++;
  buf[n] = 0;
}

gr_status gr_run_rows(const gr_launch *l, gr_part rows) {
  gr_parallel(l, gr_rows(l->in_type), gr_row_grain(gr_last(l->in_type)), rows, (void *)l);
  return GR_OK;
}

typedef struct two_sums {
  const gr_launch *l;
  gr_add_rows *add;
} two_sums;

static void add_chunks(void *arg, int64_t begin, int64_t end) {
  const two_sums *t = arg;
  const gr_launch *l = t->l;
  int64_t c = gr_last(l->in_type), rows = gr_rows(l->in_type), size = gr_chunk_rows(rows);
  for (int64_t k = begin; k < end; k++) {
    float *sums = (float *)l->scratch + k * 2 * c;
    memset(sums, 0, sizeof *sums * 2 * (size_t)c);
    t->add(l, k * size, gr_min_i64(rows, (k + 1) * size), sums, sums + c);
  }
}

gr_status gr_run_two_sums(const gr_launch *l, gr_add_rows *add) {
  int64_t c = gr_last(l->in_type), rows = gr_rows(l->in_type), chunks = gr_row_chunks(rows);
  float *first = l->out[1], *second = l->out[2], *sums = l->scratch;
  if (l->whole) {  // a tile
    add(l, 0, rows, first, second);
    return GR_OK;
  }
  gr_parallel(l, chunks, 1, add_chunks, &(two_sums){l, add});
  gr_add_chunks(sums, chunks, 2 * c);
  memcpy(first, sums, sizeof *sums * (size_t)c);
  memcpy(second, sums + c, sizeof *sums * (size_t)c);
  return GR_OK;
}

size_t gr_two_sums_scratch(const gr_op_call *s) {
  int64_t chunks = gr_row_chunks(gr_rows(s->in));
  return (size_t)(gr_last(s->in) * 2 * gr_max_i64(2, chunks)) * sizeof(float);
}

gr_status gr_run_samples(const gr_launch *l, gr_part samples) {
  int64_t n = l->in_type->dim[0];
  gr_parallel(l, n, gr_row_grain(gr_type_count(l->in_type) / n), samples, (void *)l);
  return GR_OK;
}
