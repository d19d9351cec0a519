// gemm_blas.c - OpenBLAS (the serial library), or none.
#include "ops/gemm.h"

#if GR_HAVE_BLAS
#include <cblas.h>

static void run(const gr_gemm *g, const float *a, const float *b, float *c) {
  cblas_sgemm(CblasRowMajor, g->ta ? CblasTrans : CblasNoTrans, g->tb ? CblasTrans : CblasNoTrans,
              (int)g->m, (int)g->n, (int)g->k, 1.0f, a, (int)g->lda, b, (int)g->ldb,
              g->add ? 1.0f : 0.0f, c, (int)g->ldc);
}

const gr_gemm_kernel gr_gemm_blas = run;
#else
const gr_gemm_kernel gr_gemm_blas = NULL;
#endif
