// gemm.c - matrix products by cuBLASLt. It is column-major: a row-major c = a b is c' = b' a',
// where a row-major matrix is the transposed column-major one, so that the operands change places
// and nothing is moved.
#include <math.h>
#include "runtime/device/cuda/parts.h"

enum { ALIGNED = 16 };

static const struct {
  bool there;
  cudaDataType_t type;
} types[GR_DTYPE_COUNT] = {[GR_F32] = {true, CUDA_R_32F},
                           [GR_F64] = {true, CUDA_R_64F},
                           [GR_BF16] = {true, CUDA_R_16BF},
                           [GR_F16] = {true, CUDA_R_16F}};

static gr_status set_batch(cublasLtMatrixLayout_t l, int64_t batch, int64_t stride) {
  int32_t n = (int32_t)batch;
  LT_TRY(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n, sizeof n));
  LT_TRY(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                          sizeof stride));
  return GR_OK;
}

// A row-major matrix as it is stored.
static gr_status layout(cublasLtMatrixLayout_t *out, gr_dtype d, int64_t rows, int64_t cols,
                        int64_t ld, int64_t batch, int64_t stride) {
  LT_TRY(cublasLtMatrixLayoutCreate(out, types[d].type, (uint64_t)cols, (uint64_t)rows, ld));
  return batch > 1 ? set_batch(*out, batch, stride) : GR_OK;
}

static gr_status open_layouts(gr_product *p) {
  const gr_gpu_gemm *g = &p->gemm;
  GR_TRY(layout(&p->a, g->in, g->tb ? g->n : g->k, g->tb ? g->k : g->n, g->ldb, g->batch,
                g->stride_b));
  GR_TRY(layout(&p->b, g->in, g->ta ? g->k : g->m, g->ta ? g->m : g->k, g->lda, g->batch,
                g->stride_a));
  return layout(&p->c, g->out, g->m, g->n, g->ldc, g->batch, g->stride_c);
}

static cublasComputeType_t arithmetic(const gr_cuda *c, gr_dtype d) {
  if (d == GR_F64) return CUBLAS_COMPUTE_64F;
  return c->tf32 && d == GR_F32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

static gr_status open_desc(const gr_cuda *c, gr_product *p) {
  static const cublasLtEpilogue_t epilogues[] = {[GR_GPU_PLAIN] = CUBLASLT_EPILOGUE_DEFAULT,
                                                 [GR_GPU_BIAS] = CUBLASLT_EPILOGUE_BIAS,
                                                 [GR_GPU_BIAS_RELU] = CUBLASLT_EPILOGUE_RELU_BIAS,
                                                 [GR_GPU_SUMS_OF_A] = CUBLASLT_EPILOGUE_BGRADB,
                                                 [GR_GPU_SUMS_OF_B] = CUBLASLT_EPILOGUE_BGRADA};
  const gr_gpu_gemm *g = &p->gemm;
  cublasOperation_t ta = g->tb ? CUBLAS_OP_T : CUBLAS_OP_N, tb = g->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
  LT_TRY(cublasLtMatmulDescCreate(&p->desc, arithmetic(c, g->in),
                                  g->in == GR_F64 ? CUDA_R_64F : CUDA_R_32F));
  LT_TRY(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta));
  LT_TRY(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb));
  if (g->epilogue == GR_GPU_PLAIN) return GR_OK;
  LT_TRY(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                        &epilogues[g->epilogue], sizeof *epilogues));
  return GR_OK;
}

static gr_status set_alignment(cublasLtMatmulPreference_t pref, uint32_t bytes) {
  static const cublasLtMatmulPreferenceAttributes_t each[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  for (int i = 0; i < 4; i++)
    LT_TRY(cublasLtMatmulPreferenceSetAttribute(pref, each[i], &bytes, sizeof bytes));
  return GR_OK;
}

// The library takes the alignment of a vector, which has no preference, from its address.
static gr_status set_bias(const gr_product *p, uintptr_t address) {
  if (p->gemm.epilogue == GR_GPU_PLAIN) return GR_OK;
  LT_TRY(cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &address,
                                        sizeof address));
  return GR_OK;
}

// Of what the library proposes, it may be unable to run some.
static int usable(cublasLtMatmulHeuristicResult_t *list, int n) {
  int good = 0;
  for (int i = 0; i < n; i++)
    if (list[i].state == CUBLAS_STATUS_SUCCESS) list[good++] = list[i];
  return good;
}

static gr_status ask(gr_cuda *c, gr_product *p, cublasLtMatmulPreference_t pref, int class,
                     cublasLtMatmulHeuristicResult_t *out, int *n) {
  size_t most = GR_CUDA_WORKSPACE;
  int want = *n;
  *n = 0;
  GR_TRY(set_alignment(pref, class ? gr_dtypes[p->gemm.in].size : ALIGNED));
  GR_TRY(set_bias(p, class ? gr_dtypes[p->gemm.out].size : ALIGNED));
  LT_TRY(cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                              sizeof most));
  cublasStatus_t s = gr_lt.cublasLtMatmulAlgoGetHeuristic(c->lt, p->desc, p->a, p->b, p->c, p->c,
                                                          pref, want, out, n);
  *n = s ? 0 : usable(out, *n);
  if (*n) return GR_OK;
  const gr_gpu_gemm *g = &p->gemm;
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                 "cuBLASLt has no algorithm for %lld products of %lld x %lld by %lld x %lld (%s)",
                 (long long)g->batch, (long long)g->m, (long long)g->k, (long long)g->k,
                 (long long)g->n, gr_dtypes[g->in].name);
}

gr_status gr_product_algorithms(gr_cuda *c, gr_product *p, int class,
                                cublasLtMatmulHeuristicResult_t *out, int *n) {
  cublasLtMatmulPreference_t pref;
  LT_TRY(cublasLtMatmulPreferenceCreate(&pref));
  gr_status s = ask(c, p, pref, class, out, n);
  gr_lt.cublasLtMatmulPreferenceDestroy(pref);
  return s;
}

static gr_status choose(gr_cuda *c, gr_product *p, int class) {
  cublasLtMatmulHeuristicResult_t list[GR_PRODUCT_ALGORITHMS];
  int n = GR_PRODUCT_ALGORITHMS;
  GR_TRY(gr_product_algorithms(c, p, class, list, &n));
  p->chosen[class] = list[0], p->known[class] = true;
  return GR_OK;
}

// The first algorithm that cuBLASLt proposes for a product.
static gr_status open_product(gr_cuda *c, const gr_gpu_gemm *g, gr_product *p) {
  *p = (gr_product){.gemm = *g};
  if (p->gemm.batch < 1) p->gemm.batch = 1;
  if (!types[g->in].there || !types[g->out].there || g->batch > INT32_MAX)
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "no product of %s", gr_dtypes[g->in].name);
  GR_TRY(open_desc(c, p));
  GR_TRY(open_layouts(p));
  return choose(c, p, 0);
}

static void close_product(const gr_product *p) {
  if (p->desc) gr_lt.cublasLtMatmulDescDestroy(p->desc);
  if (p->a) gr_lt.cublasLtMatrixLayoutDestroy(p->a);
  if (p->b) gr_lt.cublasLtMatrixLayoutDestroy(p->b);
  if (p->c) gr_lt.cublasLtMatrixLayoutDestroy(p->c);
}

gr_status gr_product_open(gr_cuda *c, const gr_gpu_gemm *g, gr_product **out) {
  gr_product *p = *out = GR_NEW(c->arena, gr_product, 1);
  gr_status s = open_product(c, g, p);
  p->next = c->products, c->products = p;
  return s;
}

bool gr_product_takes(void *device, const gr_gpu_gemm *g) {
  gr_cuda *c = device;
  gr_product p;
  if (g->epilogue == GR_GPU_BIAS_RELU && !c->relu_keeps_nan) return false;
  gr_status s = open_product(c, g, &p);
  close_product(&p);
  gr_status_drop(s);
  return !s;
}

// Products of NaN by 0, with relu. Whether cuBLASLt's relu is max(0, x), which may be 0 of NaN, is
// not documented; here NaN stays NaN, so that a step that is not finite is found.
static gr_status multiply_nan(gr_cuda *c, CUdeviceptr memory, gr_product *p, float *out) {
  enum { SIZE = 16, BYTES = SIZE * SIZE * sizeof(float) };
  const gr_gpu_gemm g = {.a = {GR_GPU_IN, 0, 0},
                         .b = {GR_GPU_IN, 0, BYTES},
                         .c = {GR_GPU_IN, 0, 2 * BYTES},
                         .bias = {GR_GPU_IN, 0, BYTES},
                         .m = SIZE,
                         .n = SIZE,
                         .k = SIZE,
                         .lda = SIZE,
                         .ldb = SIZE,
                         .ldc = SIZE,
                         .epilogue = GR_GPU_BIAS_RELU};
  const void *in = (const void *)memory;
  CUstream stream = c->stream[GR_QUEUE_COMPUTE];
  GR_TRY(open_product(c, &g, p));
  CU_TRY(cuMemsetD8Async(memory, 0xff, BYTES, stream));  // NaN
  CU_TRY(cuMemsetD8Async(memory + BYTES, 0, 2 * BYTES, stream));
  GR_TRY(gr_product_run(c, p, &(gr_launch){.n_in = 1, .in = &in}));
  CU_TRY(cuStreamSynchronize(stream));
  GR_TRY(gr_staging_download(c, (char *)out, memory + 2 * BYTES, sizeof *out));
  CU_TRY(cuStreamSynchronize(c->stream[GR_QUEUE_TRANSFER]));
  gr_staging_land(c);
  return GR_OK;
}

gr_status gr_products_probe(gr_cuda *c) {
  CUdeviceptr memory = 0;
  gr_product p = {0};
  float out = 0;
  CU_TRY(cuMemAlloc(&memory, 4096));
  gr_status s = multiply_nan(c, memory, &p, &out);
  close_product(&p);
  gr_cu.cuMemFree(memory);
  c->relu_keeps_nan = !s && isnan(out);
  if (gr_status_code(s) != GR_ERR_UNSUPPORTED) return s;
  gr_status_drop(s);
  return GR_OK;
}

void gr_products_close(gr_cuda *c) {
  for (gr_product *p = c->products; p; p = p->next) close_product(p);
}

gr_status gr_product_multiply(gr_cuda *c, const gr_product *p, const gr_operands *o,
                              const cublasLtMatmulHeuristicResult_t *h) {
  static const float one = 1, zero = 0;
  static const double wide_one = 1, wide_zero = 0;
  bool wide = p->gemm.in == GR_F64;
  GR_TRY(set_bias(p, o->bias));
  LT_TRY(cublasLtMatmul(c->lt, p->desc, wide ? (const void *)&wide_one : &one, (const void *)o->b,
                        p->a, (const void *)o->a, p->b, wide ? (const void *)&wide_zero : &zero,
                        (const void *)o->c, p->c, (void *)o->c, p->c, &h->algo,
                        (void *)c->workspace, h->workspaceSize,
                        (cudaStream_t)c->stream[GR_QUEUE_COMPUTE]));
  return GR_OK;
}

gr_status gr_product_run(gr_cuda *c, gr_product *p, const gr_launch *l) {
  gr_operands o = {.a = gr_ref_address(p->gemm.a, l),
                   .b = gr_ref_address(p->gemm.b, l),
                   .c = gr_ref_address(p->gemm.c, l)};
  if (p->gemm.epilogue != GR_GPU_PLAIN) o.bias = gr_ref_address(p->gemm.bias, l);
  int class = (o.a | o.b | o.c | o.bias) % ALIGNED != 0;
  if (!p->known[class]) GR_TRY(choose(c, p, class));
  return gr_product_multiply(c, p, &o, &p->chosen[class]);
}
