// score.c - see score.h.
#include "ops/loss/score.h"
#include <math.h>
#include "base/arena.h"

GR_CU(score);

void gr_score_axes(const gr_op_call *s, char buf[128], const char *rest) {
  char x[GR_MAX_RANK + 1], y[GR_MAX_RANK + 1];
  int rank = s->in[0].rank;
  gr_letters(x, "n", rank);
  gr_letters(y, "n", rank ? rank - 1 : 0);
  if (rank) x[rank - 1] = 'V';
  snprintf(buf, 128, "%s,%s%s", x, y, rest);
}

gr_status gr_score_labels(const gr_op_call *s) {
  GR_TRY(gr_require_float(s, 0, "logits"));
  GR_TRY(gr_require_ints(s, 1, "labels"));
  if (s->in[0].rank >= 2) return GR_OK;
  return gr_fail(GR_ERR_TYPE, s->loc, "logits of '%s' must be [n, ..., classes], got %d axes",
                 s->op->name, s->in[0].rank);
}

gr_status gr_score_infer(gr_op_call *s) {
  GR_TRY(gr_score_labels(s));
  for (int k = 0; k < s->n_out; k++) s->out[k].dtype = gr_widened(s->out[k].dtype);
  return GR_OK;
}

gr_status gr_check_labels(const gr_launch *l, int64_t v, int64_t ignore) {
  return gr_check_indices(l, 1, &(gr_indices){"label", "classes of the model", v, ignore});
}

double gr_log_sum_exp(const gr_launch *l, int64_t row, int64_t v) {
  double top = -INFINITY, s = 0;
  for (int64_t i = 0; i < v; i++) top = fmax(top, IN(0, row * v + i));
  for (int64_t i = 0; i < v; i++) s += exp(IN(0, row * v + i) - top);
  return top + log(s);
}

gr_gpu_kernel *gr_score_kernel(gr_gpu_call *g, gr_gpu_kernel *k, int64_t pairs) {
  gr_gpu_take_scratch(g, (size_t)pairs * 2 * gr_gpu_wide(g->call->in[0].dtype));
  k->source = gr_arena_printf(g->arena, "%s\n%s", k->source, gr_cu_score);
  return k;
}

gr_gpu_kernel *gr_score_rows(gr_gpu_call *g, const char *source, const char *entry) {
  int64_t rows = gr_rows(&g->call->in[0]), n = gr_last(&g->call->in[0]);
  gr_gpu_kernel *k =
      gr_score_kernel(g, gr_gpu_rows(g, source, entry, g->call->in[0].dtype, rows, n, 1024), rows);
  gr_gpu_int(k, rows), gr_gpu_int(k, n);
  return k;
}

void gr_score_sums(gr_gpu_call *g, const gr_gpu_kernel *first, int64_t pairs) {
  int64_t samples = g->call->in[0].dim[0];
  const char *source = first->source, *defines = first->defines;
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, source, "sum_pairs", samples * 32, 128);
  k->defines = defines;
  gr_gpu_int(k, samples), gr_gpu_int(k, pairs / samples);
}
