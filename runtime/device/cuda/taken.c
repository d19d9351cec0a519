// taken.c - how much of the device's memory libraries have taken, measured.
#include "runtime/device/cuda/parts.h"

gr_status gr_cuda_taken(gr_cuda *c, gr_taker by) {
  size_t left, total;
  CU_TRY(cuMemGetInfo(&left, &total));
  if (left < c->left) c->taken[by] += c->left - left;
  c->left = left;
  return GR_OK;
}

// The plan has the working memory of libraries; what they keep besides is not known before.
void gr_cuda_taken_report(const gr_cuda *c, gr_text *t) {
  static const char *const who[GR_TAKERS] = {NULL,   "cuBLASLt", "cuDNN",
                                             "NCCL", "kernels",  "captured programs"};
  const double mb = 1e6, least = 0.05;
  double all = 0;
  for (int i = GR_TAKER_PLAN + 1; i < GR_TAKERS; i++) all += (double)c->taken[i] / mb;
  if (all < least) return;
  gr_text_printf(t, "; %.1f MB of its memory are not in the plan", all);
  for (int i = GR_TAKER_PLAN + 1, n = 0; i < GR_TAKERS; i++)
    if ((double)c->taken[i] / mb >= least)
      gr_text_printf(t, "%s %s %.1f", n++ ? "," : ":", who[i], (double)c->taken[i] / mb);
}
