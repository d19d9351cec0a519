// gemm_onednn.c - oneDNN's products of f32 and bf16 on the calling thread; module "onednn".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <dnnl.h>
#include "ops/kernels/gemm.h"
#include "ops/kernels/onednn.h"

// In most distributions oneDNN uses OpenMP and would start an OpenMP team from each worker thread.
// The team size is a setting of the calling thread; a oneDNN without OpenMP lacks the symbol and
// does not need it.
void gr_onednn_use_one_thread(void) {
  static _Thread_local bool done;
  if (done) return;
  union {
    void *symbol;
    void (*set_threads)(int);
  } omp = {.symbol = dlsym(RTLD_DEFAULT, "omp_set_num_threads")};
  if (omp.symbol) omp.set_threads(1);
  done = true;
}

static void run(const gr_gemm *g, const float *a, const float *b, float *c) {
  gr_onednn_use_one_thread();
  dnnl_status_t s = dnnl_sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', g->m, g->n, g->k, 1.0f, a,
                               g->lda, b, g->ldb, g->add ? 1.0f : 0.0f, c, g->ldc);
  if (s != dnnl_success) gr_gemm_plain(g, a, b, c);  // on an error, oneDNN leaves c untouched
}

// oneDNN exports this function, with sgemm's arguments, but declares it in no header.
dnnl_status_t dnnl_gemm_bf16bf16f32(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n,
                                    dnnl_dim_t k, float alpha, const uint16_t *a, dnnl_dim_t lda,
                                    const uint16_t *b, dnnl_dim_t ldb, float beta, float *c,
                                    dnnl_dim_t ldc) __attribute__((weak));

static void run_bf16(const gr_gemm *g, const uint16_t *a, const uint16_t *b, float *c) {
  gr_onednn_use_one_thread();
  dnnl_status_t s =
      dnnl_gemm_bf16bf16f32(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', g->m, g->n, g->k, 1.0f, a, g->lda,
                            b, g->ldb, g->add ? 1.0f : 0.0f, c, g->ldc);
  if (s != dnnl_success) gr_gemm_bf16_plain(g, a, b, c);
}

static gr_gemm_bf16_kernel bf16(void) { return dnnl_gemm_bf16bf16f32 ? run_bf16 : NULL; }

const gr_gemm_module gr_module = {run, bf16, &gr_onednn_conv_table};
