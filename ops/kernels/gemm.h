// gemm.h - products of row-major f32 matrices: the one place that knows which library, or which
// kernel of ours, does which shape. The choice is a rule of the shape alone, never a timing, so
// that the same graph gives the same bytes on every run and on any number of threads.
#pragma once
#include "ir/op.h"

typedef struct gr_gemm {  // c = op(a) op(b), or c += op(a) op(b)
  int64_t m, n, k;        // c is [m,n]; op(a) is [m,k]; op(b) is [k,n]
  bool ta, tb;            // a is stored [k,m]; b is stored [n,k]
  bool add;
  int64_t lda, ldb, ldc;  // from one row as stored to the next, in elements
} gr_gemm;

// Loads oneDNN, where the build found it. To be called before the first product: until then all of
// them are ours, and have other bytes.
GR_MUST_USE gr_status gr_gemm_open(void);

// Dense operands: leading dimensions from the sizes.
gr_gemm gr_gemm_dense(bool ta, bool tb, int64_t m, int64_t n, int64_t k);

// One product, on all threads of the launch.
void gr_gemm_run(const gr_launch *, const gr_gemm *, const float *a, const float *b, float *c);

// `count` products; from one to the next operands lie `step` elements apart (0: the same one).
typedef struct gr_gemm_steps {
  int64_t a, b, c;
} gr_gemm_steps;
void gr_gemm_batch(const gr_launch *, const gr_gemm *, int64_t count, gr_gemm_steps, const float *a,
                   const float *b, float *c);

// b copied into panels of columns, g->k x g->n elements in all: what few rows of a are multiplied
// by fastest. gr_gemm_packed_at: where its element [p,j] is.
void gr_gemm_pack(const gr_gemm *, const float *b, float *packed);
int64_t gr_gemm_packed_at(const gr_gemm *, int64_t j, int64_t p);
void gr_gemm_by_packed(const gr_launch *, const gr_gemm *, const float *a, const float *packed,
                       float *c);

// On the calling thread.
void gr_gemm_one(const gr_gemm *, const float *a, const float *b, float *c);

// ---- The candidates (tests and timings name them; programs call the above) ---------------
typedef void (*gr_gemm_kernel)(const gr_gemm *, const float *a, const float *b, float *c);
void gr_gemm_plain(const gr_gemm *, const float *a, const float *b, float *c);   // gemm_plain.c
void gr_gemm_packed(const gr_gemm *, const float *a, const float *b, float *c);  // gemm_packed.c
void gr_gemm_packed_by(const gr_launch *, const gr_gemm *, const float *a, const float *b,
                       float *c);     // the same, on all threads
gr_gemm_kernel gr_gemm_onednn(void);  // NULL: the build did not find it, or it is not open

// The table of module "onednn" (base/module.h): gemm_onednn.c.
typedef struct gr_gemm_module {
  gr_gemm_kernel run;
} gr_gemm_module;
