// cublaslt_product.c - the products of the stand-in cuBLASLt, by plain loops.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "tests/gpu/standin/cublaslt.h"
#include "tests/gpu/standin/standin.h"

size_t product_size_of(int type) {
  return type == CUDA_R_64F                          ? 8
         : type == CUDA_R_32F                        ? 4
         : type == CUDA_R_16F || type == CUDA_R_16BF ? 2
                                                     : 0;
}
static double load(const char *p, int64_t i, int type) {
  return type == CUDA_R_64F   ? ((const double *)p)[i]
         : type == CUDA_R_32F ? ((const float *)p)[i]
         : type == CUDA_R_16F ? standin_f16(((const uint16_t *)p)[i])
                              : standin_bf16(((const uint16_t *)p)[i]);
}
static void store(char *p, int64_t i, int type, double v) {
  if (type == CUDA_R_64F)
    ((double *)p)[i] = v;
  else if (type == CUDA_R_32F)
    ((float *)p)[i] = (float)v;
  else
    ((uint16_t *)p)[i] = type == CUDA_R_16F ? standin_to_f16((float)v) : standin_to_bf16((float)v);
}
int64_t product_offset_of(const matrix *m, int64_t r, int64_t c, int batch) {
  return batch * m->stride + (m->row_major ? r * m->ld + c : r + c * m->ld);
}
static double rounded(const product *p, double v, int type) {
  union {
    float f;
    uint32_t u;
  } narrow = {.f = (float)v};
  if (!p->tf32 || type != CUDA_R_32F) return v;
  narrow.u = (narrow.u + 0x1000) & ~0x1fffu;  // 10 bits of mantissa
  return narrow.f;
}

// op(X): `across` rows of `along` values each
static double *pack(const product *p, const matrix *m, int swap, int64_t across, int64_t along,
                    int batch) {
  double *f = malloc((size_t)(across * along) * sizeof *f);
  for (int64_t i = 0; i < across; i++)
    for (int64_t l = 0; l < along; l++)
      f[i * along + l] = rounded(
          p,
          load(m->p, swap ? product_offset_of(m, l, i, batch) : product_offset_of(m, i, l, batch),
               m->type),
          m->type);
  return f;
}

static double dot(const product *p, const double *a, const double *b, int64_t k) {
  double wide = 0;
  float narrow = 0;
  for (int64_t l = 0; l < k && p->wide; l++) wide += a[l] * b[l];
  for (int64_t l = 0; l < k && !p->wide && !p->order; l++) narrow += (float)a[l] * (float)b[l];
  for (int64_t l = 0; l < k && !p->wide && p->order; l++) {
    int64_t i = p->order == 1 ? k - 1 - l : (l + k / 2) % k;
    narrow += (float)a[i] * (float)b[i];
  }
  return p->wide ? wide : narrow;
}

// STANDIN_RELU=max: relu of NaN is 0, as max(0, x) may be.
static bool drops_nan(void) {
  const char *relu = getenv("STANDIN_RELU");
  return relu && !strcmp(relu, "max");
}

static double finished(const product *p, double v, int64_t i, int batch) {
  if (p->epilogue & CUBLASLT_EPILOGUE_BIAS)
    v += load(p->bias, batch * p->bias_stride + i, p->bias_type);
  if (p->epilogue & CUBLASLT_EPILOGUE_RELU) v = v < 0 || (isnan(v) && drops_nan()) ? 0 : v;
  if (p->epilogue & CUBLASLT_EPILOGUE_GELU)
    v = 0.5 * v * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
  return v;
}

int64_t product_sums_of(const product *p) {
  return p->epilogue == CUBLASLT_EPILOGUE_BGRADA   ? p->d.rows
         : p->epilogue == CUBLASLT_EPILOGUE_BGRADB ? p->d.cols
                                                   : 0;
}

static void multiply_one(const product *p, int n) {
  int64_t k = p->ta ? p->a.rows : p->a.cols;
  double *a = pack(p, &p->a, p->ta, p->d.rows, k, n), *b = pack(p, &p->b, !p->tb, p->d.cols, k, n);
  for (int64_t j = 0; j < p->d.cols; j++)
    for (int64_t i = 0; i < p->d.rows; i++) {
      double v = p->alpha * dot(p, a + i * k, b + j * k, k);
      if (p->beta != 0) v += p->beta * load(p->c.p, product_offset_of(&p->c, i, j, n), p->c.type);
      store(p->d.p, product_offset_of(&p->d, i, j, n), p->d.type, finished(p, v, i, n));
    }
  const double *summed = p->epilogue == CUBLASLT_EPILOGUE_BGRADA ? a : b;
  for (int64_t j = 0; j < product_sums_of(p); j++) {
    double sum = 0;
    for (int64_t l = 0; l < k; l++) sum += summed[j * k + l];
    store(p->bias, n * p->bias_stride + j, p->bias_type, sum);
  }
  free(a), free(b);
}

size_t product_used_of(const product *p) {
  enum { MOST = 1 << 16 };
  return p->workspace_size < MOST ? (size_t)p->workspace_size : MOST;
}

int product_multiply(void *arg) {
  const product *p = arg;
  if (p->workspace) memset(p->workspace, 0xee, product_used_of(p));
  for (int n = 0; n < p->batch; n++) multiply_one(p, n);
  return 1;
}
