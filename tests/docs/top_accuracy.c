// top_accuracy.c - the number of labels that are among the k classes with the largest logits.
#include "ops/loss/score.h"
#include "ops/ops.h"

GR_CU(top_accuracy);  // the text of top_accuracy.cu

typedef struct top_accuracy {
  int64_t k, ignore_index;
} top_accuracy;

static void index_spec_of(const gr_op_call *s, char buf[128]) { gr_score_axes(s, buf, "->n,n"); }

static gr_status infer(gr_op_call *s) { return gr_score_labels(s); }

// How many classes of a row of v come before class y: those with a larger logit, or an equal one
// and a smaller number.
static int64_t place_of(const gr_launch *l, int64_t row, int64_t v, int64_t y) {
  int64_t before = 0;
  for (int64_t i = 0; i < v; i++) {
    double x = IN(0, row * v + i), target = IN(0, row * v + y);
    before += x > target || (x == target && i < y);
  }
  return before;
}

static gr_status cpu(const gr_launch *l) {
  const top_accuracy *a = l->attr;
  int64_t v = gr_last(l->in_type), n = l->in_type[0].dim[0], rows = gr_rows(l->in_type) / n;
  GR_TRY(gr_check_labels(l, v, a->ignore_index));
  for (int64_t s = 0; s < n; s++) {
    int64_t right = 0, count = 0;
    for (int64_t r = s * rows; r < (s + 1) * rows; r++) {
      int64_t y = (int64_t)IN(1, r);
      if (y == a->ignore_index) continue;
      right += place_of(l, r, v, y) < a->k, count++;
    }
    OUT(0, s, (double)right), OUT(1, s, (double)count);
  }
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) {
  const gr_type *x = &g->call->in[0];
  const top_accuracy *a = g->call->attr;
  gr_gpu_kernel *kernel = gr_gpu_kernel_add(g, gr_cu_top_accuracy, "top_accuracy", x->dim[0], 128);
  gr_gpu_int(kernel, x->dim[0]), gr_gpu_int(kernel, gr_rows(x) / x->dim[0]);
  gr_gpu_int(kernel, gr_last(x)), gr_gpu_int(kernel, a->k), gr_gpu_int(kernel, a->ignore_index);
  return GR_OK;
}

static const gr_attr attrs[] = {GR_ATTR(top_accuracy, k, GR_ATTR_INT, "5",
                                        "a label counts if its logit is one of so many largest"),
                                GR_ATTR(top_accuracy, ignore_index, GR_ATTR_INT, "-100",
                                        "labels with this value are not counted"),
                                {0}};
static const gr_case cases[] = {
    {{"f32[6,20]", "i32[6]"}, .attr = &(top_accuracy){2, -100}, .fill = "ni"},
    {{"f32[6,3,20]", "i32[6,3]"}, .attr = &(top_accuracy){3, 1}, .fill = "ni"},
    {{"f32[40,3]", "i32[40]"}, .attr = &(top_accuracy){1, -100}, .fill = "mm"},  // equal logits
    {{0}},
};

const gr_op gr_op_top_accuracy = {
    .name = "top_accuracy",
    .doc =
        "Per sample, the number of labels whose logit is one of the k largest (of equal ones the "
        "first come first), and the number of labels.",
    .n_in = 2,
    .attr_size = sizeof(top_accuracy),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .infer = infer,
    .cpu = cpu,
    .gpu = gpu,
    .amp = GR_AMP_WIDE,
    .cases = cases,
};
