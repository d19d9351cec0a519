// cublaslt.c - libcublasLt.so.13 without a GPU: descriptors, algorithms, and arguments that are
// checked strictly. cublaslt_product.c multiplies.
#include "tests/gpu/standin/cublaslt.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/standin/standin.h"

// Descriptors and layouts are tables of attributes.
enum { ATTRIBUTES = 40, DESC = 0x4c540001, LAYOUT, PREFERENCE };
struct table {
  int magic;
  struct {
    int size;
    uint64_t v;
  } a[ATTRIBUTES];
};

static cublasStatus_t bad(const char *what) {
  standin_say("cublasLt: %s", what);
  return CUBLAS_STATUS_INVALID_VALUE;
}
static cublasStatus_t create(void *out, int magic) {
  struct table *t = calloc(1, sizeof *t);
  t->magic = magic;
  return memcpy(out, &t, sizeof t), CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t destroy(void *h) { return free(h), CUBLAS_STATUS_SUCCESS; }
static cublasStatus_t define(void *h, int attribute, uint64_t v, int size) {
  struct table *t = h;
  t->a[attribute].v = v, t->a[attribute].size = size;
  return CUBLAS_STATUS_SUCCESS;
}
static uint64_t get(const void *h, int attribute) {
  return ((const struct table *)h)->a[attribute].v;
}
static cublasStatus_t set_attr(void *h, int magic, int attribute, const void *v, size_t size) {
  struct table *t = h;
  if (!t || t->magic != magic) return bad("wrong kind of descriptor");
  if (attribute < 0 || attribute >= ATTRIBUTES || !t->a[attribute].size)
    return standin_say("cublasLt: attribute %d is not stood in for", attribute),
           CUBLAS_STATUS_NOT_SUPPORTED;
  if (size != (size_t)t->a[attribute].size) return bad("size of an attribute");
  return memcpy(&t->a[attribute].v, v, size), CUBLAS_STATUS_SUCCESS;
}
static cublasStatus_t get_attr(const void *h, int attribute, void *v, size_t size,
                               size_t *written) {
  const struct table *t = h;
  if (attribute < 0 || attribute >= ATTRIBUTES || size < (size_t)t->a[attribute].size)
    return bad("attribute");
  if (written) *written = (size_t)t->a[attribute].size;
  return memcpy(v, &t->a[attribute].v, (size_t)t->a[attribute].size), CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *h) {
  if (standin_device() < 0)
    return bad("cublasLtCreate without a context"), CUBLAS_STATUS_NOT_INITIALIZED;
  return *h = malloc(1), CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) { return destroy(h); }
size_t cublasLtGetVersion(void) { return CUBLAS_VERSION; }
const char *cublasLtGetStatusString(cublasStatus_t s) {
  return s ? "an error of the stand-in" : "CUBLAS_STATUS_SUCCESS";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  bool narrow =
      scale == CUDA_R_32F &&
      (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
       compute == CUBLAS_COMPUTE_32F_FAST_TF32 || compute == CUBLAS_COMPUTE_32F_FAST_16BF);
  if (!narrow && (scale != CUDA_R_64F || compute != CUBLAS_COMPUTE_64F))
    return bad("the kind of arithmetic is not stood in for"), CUBLAS_STATUS_NOT_SUPPORTED;
  create(d, DESC);
  const int four[] = {CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_MATMUL_DESC_TRANSA,
                      CUBLASLT_MATMUL_DESC_TRANSB, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET};
  for (int i = 0; i < 4; i++) define(*d, four[i], 0, 4);
  define(*d, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute, 4),
      define(*d, CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale, 4);
  define(*d, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT, 4),
      define(*d, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 0, 8);
  define(*d, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, 0, 8);
  return define(*d, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, (uint32_t)-1, 4);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return destroy(d); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t a, const void *v,
                                              size_t n) {
  return set_attr(d, DESC, a, v, n);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t d,
                                              cublasLtMatmulDescAttributes_t a, void *v, size_t n,
                                              size_t *w) {
  return get_attr(d, a, v, n, w);
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *l, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  create(l, LAYOUT);
  define(*l, CUBLASLT_MATRIX_LAYOUT_TYPE, type, 4),
      define(*l, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_ORDER_COL, 4);
  define(*l, CUBLASLT_MATRIX_LAYOUT_ROWS, rows, 8),
      define(*l, CUBLASLT_MATRIX_LAYOUT_COLS, cols, 8),
      define(*l, CUBLASLT_MATRIX_LAYOUT_LD, (uint64_t)ld, 8);
  return define(*l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1, 4),
         define(*l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0, 8);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l) { return destroy(l); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t a, const void *v,
                                                size_t n) {
  return set_attr(l, LAYOUT, a, v, n);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t l,
                                                cublasLtMatrixLayoutAttribute_t a, void *v,
                                                size_t n, size_t *w) {
  return get_attr(l, a, v, n, w);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p) {
  create(p, PREFERENCE);
  for (int a = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
       a <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES; a++)
    define(*p, a, 256, 4);
  return define(*p, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0, 8);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p) { return destroy(p); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                                    cublasLtMatmulPreferenceAttributes_t a,
                                                    const void *v, size_t n) {
  return set_attr(p, PREFERENCE, a, v, n);
}

// ---- what a product is ----

static int unpack(matrix *m, const void *layout, const void *p) {
  *m = (matrix){(char *)p,
                (int)get(layout, CUBLASLT_MATRIX_LAYOUT_TYPE),
                get(layout, CUBLASLT_MATRIX_LAYOUT_ORDER) == CUBLASLT_ORDER_ROW,
                (int64_t)get(layout, CUBLASLT_MATRIX_LAYOUT_ROWS),
                (int64_t)get(layout, CUBLASLT_MATRIX_LAYOUT_COLS),
                (int64_t)get(layout, CUBLASLT_MATRIX_LAYOUT_LD),
                (int64_t)get(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)};
  return product_size_of(m->type) &&
         get(layout, CUBLASLT_MATRIX_LAYOUT_ORDER) <= CUBLASLT_ORDER_ROW && m->rows > 0 &&
         m->cols > 0 && m->ld >= (m->row_major ? m->cols : m->rows);
}
static int in_range(const matrix *m, int batch, size_t align, const char *what) {
  if ((uintptr_t)m->p % align)
    return standin_say("cublasLt: %s is not aligned to %zu as the algorithm is", what, align), 0;
  size_t bytes = (size_t)(product_offset_of(m, m->rows - 1, m->cols - 1, batch - 1) + 1) *
                 product_size_of(m->type);
  if (standin_range(m->p, bytes, standin_device(), what)) return 0;
  return standin_uses(m->p, bytes, *what == 'D'), 1;
}
static cublasStatus_t prepare(product *p, cublasLtMatmulDesc_t d, const void *la, const void *lb,
                              const void *lc, const void *ld) {
  const void *layouts[] = {la, lb, lc, ld};
  if (!d || ((struct table *)d)->magic != DESC) return bad("no descriptor");
  for (int i = 0; i < 4; i++) {
    if (!layouts[i] || ((const struct table *)layouts[i])->magic != LAYOUT) return bad("no layout");
    if (!unpack(&(&p->a)[i], layouts[i], (&p->a)[i].p))
      return bad("layout: type, order, rows, columns or leading dimension");
    if (i && get(layouts[i], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) !=
                 get(la, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT))
      return bad("batch counts differ");
  }
  p->batch = (int)get(la, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  p->ta = get(d, CUBLASLT_MATMUL_DESC_TRANSA) != CUBLAS_OP_N,
  p->tb = get(d, CUBLASLT_MATMUL_DESC_TRANSB) != CUBLAS_OP_N;
  p->epilogue = (int)get(d, CUBLASLT_MATMUL_DESC_EPILOGUE),
  p->tf32 = get(d, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE) == CUBLAS_COMPUTE_32F_FAST_TF32;
  p->wide = get(d, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE) == CUBLAS_COMPUTE_64F;
  if (p->wide != (p->a.type == CUDA_R_64F)) return bad("the arithmetic does not fit the types");
  p->bias = (char *)(uintptr_t)get(d, CUBLASLT_MATMUL_DESC_BIAS_POINTER),
  p->bias_stride = (int64_t)get(d, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
  p->bias_type = (int)get(d, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE) < 0
                     ? p->d.type
                     : (int)get(d, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  int64_t m = p->ta ? p->a.cols : p->a.rows, ka = p->ta ? p->a.rows : p->a.cols,
          kb = p->tb ? p->b.cols : p->b.rows, n = p->tb ? p->b.rows : p->b.cols;
  if (m != p->d.rows || n != p->d.cols || ka != kb || p->c.rows != m || p->c.cols != n)
    return bad("shapes do not agree");
  if (p->a.type != p->b.type || p->c.type != p->d.type ||
      (p->d.type != p->a.type && p->d.type != CUDA_R_32F))
    return bad("types do not agree");
  const int known[] = {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS,
                       CUBLASLT_EPILOGUE_RELU,    CUBLASLT_EPILOGUE_RELU_BIAS,
                       CUBLASLT_EPILOGUE_GELU,    CUBLASLT_EPILOGUE_GELU_BIAS,
                       CUBLASLT_EPILOGUE_BGRADA,  CUBLASLT_EPILOGUE_BGRADB};
  const int n_known = sizeof known / sizeof *known;
  int ok = 0;
  const char *some = getenv("STANDIN_EPILOGUES");
  for (int i = 0; i < (some && !strcmp(some, "0") ? 1 : n_known); i++)
    ok |= p->epilogue == known[i];
  if (p->wide && p->epilogue != CUBLASLT_EPILOGUE_DEFAULT) ok = 0;  // as documented
  if (!ok || (p->d.row_major && p->epilogue != CUBLASLT_EPILOGUE_DEFAULT))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

// ---- its algorithms ----

enum { ALGORITHMS = 3 };
// STANDIN_ALGORITHM=WHAT:I: whether the I-th is so.
static bool is_algorithm(const char *what, uint64_t i) {
  const char *e = getenv("STANDIN_ALGORITHM");
  size_t n = strlen(what);
  return e && !strncmp(e, what, n) && e[n] == ':' && strtoul(e + n + 1, NULL, 10) == i;
}
// In ns of the device's clock: by far more than a slow host takes to put it in line.
static int64_t lasts(uint64_t i) {
  return !getenv("STANDIN_ALGORITHM") ? 50000
         : is_algorithm("fast", i)    ? 10000000000
                                      : 100000000000;
}
static uint64_t shape_of(const product *p) {
  return (uint64_t)((p->d.rows * 8191 + p->d.cols) * 8191 + (p->ta ? p->a.rows : p->a.cols)) * 2 +
         (uint64_t)p->tf32;
}
static cublasStatus_t check_algorithm(const product *p, const cublasLtMatmulAlgo_t *algo) {
  if (algo->data[0] != DESC || algo->data[3] >= ALGORITHMS)
    return bad("algorithm not from the heuristic");
  return algo->data[4] == shape_of(p) ? CUBLAS_STATUS_SUCCESS : bad("algorithm of another product");
}
// The first one takes all that it may have, as split sums do where there is much to sum; data[5].
static size_t workspace_of(uint64_t algorithm, uint64_t most) {
  size_t least = (size_t)(algorithm + 1) << 16;
  return algorithm || most < least ? least : (size_t)most;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t h, cublasLtMatmulDesc_t d,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t dd,
                                       const cublasLtMatmulAlgo_t *algo,
                                       cublasLtMatmulHeuristicResult_t *r) {
  product p = {0};
  cublasStatus_t s = !h || !algo || !r ? bad("algorithm") : prepare(&p, d, a, b, c, dd);
  if (!s) s = check_algorithm(&p, algo);
  *r = (cublasLtMatmulHeuristicResult_t){
      .workspaceSize = s ? 0 : workspace_of(algo->data[3], algo->data[5]),
      .state = s,
      .wavesCount = 1};
  return s;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t dd,
                                              cublasLtMatmulPreference_t pref, int want,
                                              cublasLtMatmulHeuristicResult_t *r, int *found) {
  product p = {0};
  *found = 0;
  cublasStatus_t s = !h || !pref || want < 1 ? bad("heuristic") : prepare(&p, d, a, b, c, dd);
  if (s) return s;
  uint64_t most = get(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  for (uint64_t i = 0; i < ALGORITHMS && *found < want && workspace_of(i, 0) <= most; i++) {
    uint64_t align = get(pref, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
    uint64_t vector = (uintptr_t)p.bias & -(uintptr_t)p.bias;  // its alignment; of NULL, any
    r[(*found)++] = (cublasLtMatmulHeuristicResult_t){
        .algo.data = {DESC, align, vector, i, shape_of(&p), most},
        .workspaceSize = workspace_of(i, most),
        .state = is_algorithm("unusable", i) ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS,
        .wavesCount = 1};
  }
  return *found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t la, const void *B,
                              cublasLtMatrixLayout_t lb, const void *beta, const void *C,
                              cublasLtMatrixLayout_t lc, void *D, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_size, cudaStream_t stream) {
  product p = {.a.p = (char *)A,
               .b.p = (char *)B,
               .c.p = (char *)C,
               .d.p = D,
               .workspace = workspace,
               .workspace_size = (int64_t)workspace_size};
  cublasStatus_t s = !h || !alpha || !beta ? bad("null argument") : prepare(&p, d, la, lb, lc, ld);
  if (s) return s;
  if (get(d, CUBLASLT_MATMUL_DESC_POINTER_MODE) != CUBLASLT_POINTER_MODE_HOST)
    return bad("only host scalars are stood in for"), CUBLAS_STATUS_NOT_SUPPORTED;
  if (algo && (s = check_algorithm(&p, algo))) return s;
  p.order = algo ? algo->data[3] : 0;
  if (is_algorithm("unusable", p.order)) return bad("algorithm that is not usable");
  if (is_algorithm("fail", p.order)) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (algo && workspace_size < workspace_of(p.order, algo->data[5]))
    return bad("too little workspace");
  p.alpha = p.wide ? *(const double *)alpha : *(const float *)alpha;
  p.beta = p.wide ? *(const double *)beta : *(const float *)beta;
  size_t align = algo ? (size_t)algo->data[1] : 16;
  if (!in_range(&p.a, p.batch, align, "A") || !in_range(&p.b, p.batch, align, "B") ||
      !in_range(&p.d, p.batch, align, "D") || (p.beta != 0 && !in_range(&p.c, p.batch, align, "C")))
    return CUBLAS_STATUS_INVALID_VALUE;
  int64_t n_bias = p.epilogue & CUBLASLT_EPILOGUE_BIAS ? p.d.rows : product_sums_of(&p);
  size_t bytes = (size_t)((p.batch - 1) * p.bias_stride + n_bias) * product_size_of(p.bias_type);
  if (n_bias && standin_range(p.bias, bytes, standin_device(), "bias"))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (n_bias) standin_uses(p.bias, bytes, !(p.epilogue & CUBLASLT_EPILOGUE_BIAS));
  if (n_bias && algo && (!algo->data[2] || (uintptr_t)p.bias % algo->data[2]))
    return bad("the algorithm is not for a vector that is aligned like this");
  if ((uintptr_t)workspace % 16) return bad("workspace that is not 16-byte aligned");
  if (workspace && standin_range(workspace, workspace_size, standin_device(), "workspace"))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (workspace) standin_uses(workspace, product_used_of(&p), 1);
  if (p.c.p == p.d.p && p.beta != 0 && memcmp(&p.c, &p.d, sizeof p.c))
    return bad("in place, but C and D are laid out differently");
  standin_lasts(lasts(p.order));
  return standin_enqueue(stream, "cublasLtMatmul", product_multiply, &p, sizeof p, NULL)
             ? CUBLAS_STATUS_EXECUTION_FAILED
             : CUBLAS_STATUS_SUCCESS;
}
