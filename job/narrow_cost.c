// narrow_cost.c - see narrow_cost.h.
#include "job/narrow_cost.h"
#include "compiler/report/parts.h"
#include "job/figures.h"
#include "job/variants.h"

// The dtype that products are computed in, or "mixed precision", by rules alone; NULL: fp32.
static const char *asked_for(const gr_settings *s) {
  if (s->options.precision.precision == gr_precision_bf16) return "bf16";
  if (s->options.precision.precision == gr_precision_fp16) return "fp16";
  for (int i = 0; i < s->options.precision.n_rules; i++)
    if (gr_is_narrow(s->options.precision.rules[i].dtype)) return "mixed precision";
  return NULL;
}

static const char *unit_text(gr_bf16_unit unit) {
  if (unit == GR_BF16_AMX) return "which has AMX";
  return unit == GR_BF16_AVX512 ? "which has AVX512-BF16 but no AMX"
                                : "which has no instructions for bf16 (AMX or AVX512-BF16)";
}

static double bytes_of(const gr_plan *p) { return (double)gr_plan_bytes(p); }

static void put_memory(gr_text *t, const gr_plan *narrow, const gr_plan *wide) {
  char a[32], b[32];
  gr_text_printf(t, "%s of memory a rank, %.2f of the %s that fp32 plans",
                 gr_bytes_text(bytes_of(narrow), a), bytes_of(narrow) / bytes_of(wide),
                 gr_bytes_text(bytes_of(wide), b));
}

static double kernel_seconds(const gr_job *j, gr_bf16_unit unit) {
  gr_target here = gr_target_of(gr_chip_find("cpu"));
  here.unit = unit;
  return gr_job_count(j, &here, 1)->step[0].kernels;
}

// A time within NEAR of the other is no reason to change anything.
static void put_comparison(gr_text *t, const gr_job *j, const gr_job *other) {
  static const double near = 0.02;
  gr_bf16_unit unit = gr_gemm_bf16_unit();
  const gr_plan *narrow = j->spec.plan, *wide = other->spec.plan;
  double a = kernel_seconds(j, unit), b = kernel_seconds(other, unit);
  // no processor with AMX was measured
  bool known = unit != GR_BF16_AMX || a >= kernel_seconds(j, GR_BF16_NONE);
  gr_text_put(t, " takes ");
  put_memory(t, narrow, wide);
  if (known)
    gr_text_printf(t, ", and about %.2f of its time on this processor, %s", a / b, unit_text(unit));
  else
    gr_text_printf(t, "; its time was not measured on a processor like this, %s", unit_text(unit));
  bool faster = known && a > b * (1 + near), smaller = bytes_of(narrow) > bytes_of(wide);
  if (faster || smaller)
    gr_text_printf(t, ": training.precision=fp32 %s here",
                   faster && smaller ? "is faster and needs less"
                   : faster          ? "is faster"
                                     : "needs less");
}

bool gr_job_put_narrow_cost(gr_text *t, const gr_job *j, int ranks) {
  static const char *const fp32[] = {"training.precision=fp32", "training.precision_rules=[]"};
  const char *what = asked_for(&j->spec.set);
  if (!what || j->spec.plan->gpu || j->spec.kind != GR_RUN_TRAIN) return false;
  gr_job wide = {0};
  bool small = gr_job_plans_again(j);
  gr_status s = small ? gr_job_plan_with(j, fp32, 2, ranks, &wide) : GR_OK;
  gr_text_put(t, what);
  if (small && !s)
    put_comparison(t, j, &wide);
  else
    gr_text_printf(t,
                   " may be slower than fp32 on this processor, %s; %s, so that samples_per_s of "
                   "a run with training.precision=fp32 says more",
                   unit_text(gr_gemm_bf16_unit()),
                   s ? "fp32 could not be planned" : "the plan is too large to make two");
  gr_status_drop(s);
  gr_arena_destroy(wide.arena);
  return true;
}
