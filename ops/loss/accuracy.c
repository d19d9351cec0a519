// accuracy.c - the number of labels that are predicted correctly (top-1).
#include "ops/kernels/rows.h"
#include "ops/kernels/widen.h"
#include "ops/loss/score.h"
#include "ops/ops.h"

GR_CU(accuracy);

struct accuracy {
  int64_t ignore_index;
};

static void index_spec_of(const gr_op_call *s, char buf[128]) { gr_score_axes(s, buf, "->n,n"); }

static gr_status infer(gr_op_call *s) { return gr_score_infer(s); }

static gr_status check(const gr_launch *l) {
  return gr_check_labels(l, gr_last(l->in_type), ((const struct accuracy *)l->attr)->ignore_index);
}

static gr_status accuracy_cpu(const gr_launch *l) {
  const struct accuracy *a = l->attr;
  int64_t v = gr_last(l->in_type), n = l->in_type[0].dim[0], rows = gr_rows(l->in_type) / n;
  GR_TRY(check(l));
  for (int64_t s = 0; s < n; s++) {
    int64_t right = 0, count = 0;
    for (int64_t r = s * rows; r < (s + 1) * rows; r++) {
      int64_t y = (int64_t)IN(1, r), best = 0;
      if (y == a->ignore_index) continue;
      for (int64_t i = 1; i < v; i++)
        if (IN(0, r * v + i) > IN(0, r * v + best)) best = i;
      right += best == y, count++;
    }
    OUT(0, s, (double)right), OUT(1, s, (double)count);
  }
  return GR_OK;
}

static void samples_f32(void *arg, int64_t begin, int64_t end) {
  const gr_launch *l = arg;
  const struct accuracy *a = l->attr;
  int64_t v = gr_last(l->in_type), rows = gr_rows(l->in_type) / l->in_type[0].dim[0];
  for (int64_t s = begin; s < end; s++) {
    int64_t right = 0, count = 0;
    for (int64_t r = s * rows; r < (s + 1) * rows; r++) {
      int64_t y = ((const int32_t *)l->in[1])[r];
      if (y == a->ignore_index) continue;
      right += gr_first_top_f32((const float *)l->in[0] + r * v, v) == y, count++;
    }
    ((float *)l->out[0])[s] = (float)right, ((float *)l->out[1])[s] = (float)count;
  }
}

static gr_status run_f32(const gr_launch *l) {
  int64_t n = l->in_type[0].dim[0], sample = gr_type_count(l->in_type) / n;
  gr_parallel(l, n, gr_row_grain(sample), samples_f32, (void *)l);
  return GR_OK;
}

// Labels are checked here, where their numbers are the batch's.
static gr_status check_and_run(const gr_launch *l, bool narrow) {
  GR_TRY(check(l));
  return narrow ? gr_run_widened(l, gr_each, run_f32) : run_f32(l);
}
static gr_status run_wide(const gr_launch *l) { return check_and_run(l, false); }
static gr_status run_narrow(const gr_launch *l) { return check_and_run(l, true); }
static gr_status gpu(gr_gpu_call *g) {
  gr_gpu_kernel *k = gr_score_rows(g, gr_cu_accuracy, "accuracy");
  gr_gpu_int(k, ((const struct accuracy *)g->call->attr)->ignore_index);
  gr_score_sums(g, k, gr_rows(&g->call->in[0]));
  return GR_OK;
}

static const gr_attr attrs[] = {GR_ATTR(struct accuracy, ignore_index, GR_ATTR_INT, "-100",
                                        "labels with this value are not counted"),
                                {0}};
static const gr_case cases[] = {
    {{"f32[6,20]", "i32[6]"}, .attr = &(struct accuracy){-100}, .fill = "ni"},
    {{"f32[6,3,20]", "i32[6,3]"}, .attr = &(struct accuracy){1}, .fill = "ni"},
    {{0}},
};

const gr_op gr_op_accuracy = {
    .name = "accuracy",
    .doc =
        "Per sample, the number of labels whose logit is the largest (the first, if several are "
        "equal), and the number of labels.",
    .effort = GR_EFFORT_ROW,
    .n_in = 2,
    .attr_size = sizeof(struct accuracy),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .check = check,
    .cpu = accuracy_cpu,
    .fast_f32 = run_wide,
    .fast_narrow = run_narrow,
    .scratch = gr_each_scratch,
    .gpu = gpu,
    .amp = GR_AMP_FIRST,
    .cases = cases,
};
