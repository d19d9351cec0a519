// gemm_xsmm.c - libxsmm's kernels, made for the very shape at the first call, or none.
#include "ops/gemm.h"

#if GR_HAVE_XSMM
#include <libxsmm.h>

// libxsmm is column-major: c' = b' a'. It has no kernel for every combination.
static void run(const gr_gemm *g, const float *a, const float *b, float *c) {
  int flags = (g->tb ? LIBXSMM_GEMM_FLAG_TRANS_A : 0) | (g->ta ? LIBXSMM_GEMM_FLAG_TRANS_B : 0);
  int lda = (int)g->ldb, ldb = (int)g->lda, ldc = (int)g->ldc;
  float one = 1.0f, beta = g->add ? 1.0f : 0.0f;
  libxsmm_smmfunction f = libxsmm_smmdispatch((int)g->n, (int)g->m, (int)g->k, &lda, &ldb, &ldc,
                                              &one, &beta, &flags, NULL);
  if (f)
    f(b, a, c);
  else
    gr_gemm_plain(g, a, b, c);
}

const gr_gemm_kernel gr_gemm_xsmm = run;
#else
const gr_gemm_kernel gr_gemm_xsmm = NULL;
#endif
