// score.c - see score.h.
#include "ops/loss/score.h"
#include <math.h>

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

gr_status gr_check_labels(const gr_launch *l, int64_t v, int64_t ignore) {
  const int32_t *label = l->in[1];
  for (int64_t i = 0, n = gr_type_count(l->in_type + 1); i < n; i++) {
    if ((label[i] >= 0 && label[i] < v) || label[i] == ignore) continue;
    gr_status s = gr_fail(GR_ERR_DATA, GR_NOWHERE,
                          "label %d, number %lld of this rank's batch, is "
                          "not one of the model's %lld classes",
                          label[i], (long long)i, (long long)v);
    return gr_hint(s, "labels must be 0 to %lld, or %lld to be ignored", (long long)v - 1,
                   (long long)ignore);
  }
  return GR_OK;
}

double gr_log_sum_exp(const gr_launch *l, int64_t row, int64_t v) {
  double top = -INFINITY, s = 0;
  for (int64_t i = 0; i < v; i++) top = fmax(top, IN(0, row * v + i));
  for (int64_t i = 0; i < v; i++) s += exp(IN(0, row * v + i) - top);
  return top + log(s);
}
