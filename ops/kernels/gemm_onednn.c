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

static void gemm_onednn_run(const gr_gemm *g, const float *a, const float *b, float *c) {
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

// ---- Products by a packed operand ---------------------------------------------------------------
// oneDNN exports these C++ functions for its own use and declares them in no header. They count
// matrices by columns: our b is their first operand, and m and n change places. A packed operand
// has 'P' for whether it is transposed.

dnnl_status_t sgemm_pack_get_size(
    const char *which, const char *transa, const char *transb, const dnnl_dim_t *m,
    const dnnl_dim_t *n, const dnnl_dim_t *k, const dnnl_dim_t *lda, const dnnl_dim_t *ldb,
    size_t *size,
    bool *worth) __asm__("_ZN4dnnl4impl3cpu19sgemm_pack_get_sizeEPKcS3_S3_PKlS5_S5_S5_S5_PmPb")
    __attribute__((weak));
dnnl_status_t sgemm_pack(
    const char *which, const char *transa, const char *transb, const dnnl_dim_t *m,
    const dnnl_dim_t *n, const dnnl_dim_t *k, const dnnl_dim_t *lda, const dnnl_dim_t *ldb,
    const float *source,
    float *target) __asm__("_ZN4dnnl4impl3cpu10sgemm_packEPKcS3_S3_PKlS5_S5_S5_S5_PKfPf")
    __attribute__((weak));
dnnl_status_t sgemm_compute(
    const char *transa, const char *transb, const dnnl_dim_t *m, const dnnl_dim_t *n,
    const dnnl_dim_t *k, const float *a, const dnnl_dim_t *lda, const float *b,
    const dnnl_dim_t *ldb, const float *beta, float *c,
    const dnnl_dim_t
        *ldc) __asm__("_ZN4dnnl4impl3cpu13sgemm_computeEPKcS3_PKlS5_S5_PKfS5_S7_S5_S7_PfS5_")
    __attribute__((weak));

static size_t packed_bytes(const gr_gemm *g) {
  size_t bytes = 0;
  bool worth = false;
  gr_onednn_use_one_thread();
  dnnl_status_t s = sgemm_pack_get_size("A", g->tb ? "T" : "N", g->ta ? "T" : "N", &g->n, &g->m,
                                        &g->k, &g->ldb, &g->lda, &bytes, &worth);
  return s == dnnl_success && worth ? bytes : 0;
}

static bool pack(const gr_gemm *g, const float *b, void *packed) {
  gr_onednn_use_one_thread();
  return sgemm_pack("A", g->tb ? "T" : "N", g->ta ? "T" : "N", &g->n, &g->m, &g->k, &g->ldb,
                    &g->lda, b, packed) == dnnl_success;
}

static bool by_packed(const gr_gemm *g, const float *a, const void *packed, float *c) {
  float beta = g->add ? 1.0f : 0.0f;
  gr_onednn_use_one_thread();
  return sgemm_compute("P", g->ta ? "T" : "N", &g->n, &g->m, &g->k, packed, &g->ldb, a, &g->lda,
                       &beta, c, &g->ldc) == dnnl_success;
}

static const gr_gemm_packs table = {packed_bytes, pack, by_packed};
static const gr_gemm_packs *packs(void) {
  return sgemm_pack_get_size && sgemm_pack && sgemm_compute ? &table : NULL;
}

const gr_gemm_module gr_module = {gemm_onednn_run, bf16, packs, &gr_onednn_conv_table};
