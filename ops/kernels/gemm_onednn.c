// gemm_onednn.c - oneDNN's sgemm on the calling thread; module "onednn".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <dnnl.h>
#include "ops/kernels/gemm.h"

// In most distributions oneDNN uses OpenMP and would start an OpenMP team from each worker thread.
// The team size is a setting of the calling thread; a oneDNN without OpenMP lacks the symbol and
// does not need it.
static void use_one_thread(void) {
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
  use_one_thread();
  dnnl_status_t s = dnnl_sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', g->m, g->n, g->k, 1.0f, a,
                               g->lda, b, g->ldb, g->add ? 1.0f : 0.0f, c, g->ldc);
  if (s != dnnl_success) gr_gemm_plain(g, a, b, c);  // on an error, oneDNN leaves c untouched
}

const gr_gemm_module gr_module = {run};
