// gemm.h - products of row-major f32 matrices (SGEMM): chooses between oneDNN and the kernels of
// this folder. The choice depends only on the shape, never on timings, so that the same graph gives
// the same bytes on every run and on any number of threads.
#pragma once
#include "ir/op.h"

typedef struct gr_gemm {  // c = op(a) op(b), or c += op(a) op(b)
  int64_t m, n, k;        // c is [m,n]; op(a) is [m,k]; op(b) is [k,n]
  bool ta, tb;            // a is stored [k,m]; b is stored [n,k]
  bool add;
  int64_t lda, ldb, ldc;  // leading dimensions: distance of stored rows, in elements
  void *scratch;          // gr_gemm_scratch bytes, 64-byte aligned; NULL: none
} gr_gemm;

// Loads oneDNN if the build found it; does nothing without. Call it before the first product: until
// then the kernels of this folder are used for every shape, and they round differently. Fails with
// GR_ERR_LAUNCH (base/module.h).
GR_MUST_USE gr_status gr_gemm_open(void);

// A product of dense operands without scratch memory: leading dimensions follow from the sizes.
gr_gemm gr_gemm_dense(bool ta, bool tb, int64_t m, int64_t n, int64_t k);

// Bytes of scratch memory in which one product packs b once for all blocks; without it each block
// packs b again. Depends on the shape alone; 0: no block packs b, or it is packed elsewhere.
size_t gr_gemm_scratch(const gr_gemm *);

// One product, on all threads of the launch. c does not overlap a or b.
void gr_gemm_run(const gr_launch *, const gr_gemm *, const float *a, const float *b, float *c);

// Elements from one product's operand to the next product's; 0: they share it.
typedef struct gr_gemm_steps {
  int64_t a, b, c;
} gr_gemm_steps;
// `count` products of one shape, on all threads of the launch. No c overlaps an a or b.
void gr_gemm_batch(const gr_launch *, const gr_gemm *, int64_t count, gr_gemm_steps, const float *a,
                   const float *b, float *c);

// Packs b into panels of columns, k * n elements in total: the layout that multiplies few rows of a
// fastest.
void gr_gemm_pack(const gr_gemm *, const float *b, float *packed);
// The index of element [p,j] of b in the packed one.
int64_t gr_gemm_packed_at(const gr_gemm *, int64_t j, int64_t p);
// Multiplies a by a packed b, on all threads of the launch.
void gr_gemm_by_packed(const gr_launch *, const gr_gemm *, const float *a, const float *packed,
                       float *c);

// ---- bf16, accumulated in f32 (gemm_bf16.c) ------------------------------------------------
// What a processor multiplies bf16 with; without a unit the kernels convert to f32.
typedef enum gr_bf16_unit { GR_BF16_NONE, GR_BF16_AVX512, GR_BF16_AMX } gr_bf16_unit;
// The best unit of this processor that the system lets the process use.
gr_bf16_unit gr_gemm_bf16_unit(void);
// Whether a product of that shape is faster in bf16 than converted to f32, with any unit.
bool gr_gemm_bf16_suits(const gr_gemm *);
// As gr_gemm_batch. False, and nothing done: the shape does not suit, or there is no unit or no
// library.
bool gr_gemm_bf16_batch(const gr_launch *, const gr_gemm *, int64_t count, gr_gemm_steps,
                        const uint16_t *a, const uint16_t *b, float *c);
// Packs b as gr_gemm_pack does for f32, for even k; the packed matrix has zeros in the columns up
// to a multiple of 48.
void gr_gemm_bf16_pack(const gr_gemm *, const uint16_t *b, uint16_t *packed);
// The index of element [p,j] of b in that packed one.
int64_t gr_gemm_bf16_packed_at(const gr_gemm *, int64_t j, int64_t p);
// Multiplies a by such a packed b into f32, on all threads of the launch, by the best unit.
void gr_gemm_bf16_by_packed(const gr_launch *, const gr_gemm *, const uint16_t *a,
                            const uint16_t *packed, float *c);
// The same as processors without a unit compute it.
void gr_gemm_bf16_by_packed_plain(const gr_launch *, const gr_gemm *, const uint16_t *a,
                                  const uint16_t *packed, float *c);

// One product, on the calling thread.
void gr_gemm_one(const gr_gemm *, const float *a, const float *b, float *c);

// ---- gemm_amx.c
// Whether the processor has AMX tiles of bf16, and the system lets this process use them.
bool gr_gemm_amx(void);
// The product for panels `begin` to `end` - 1 of a packed matrix on AMX tiles, on the calling
// thread. Only where gr_gemm_amx returns true.
void gr_gemm_amx_panels(const gr_gemm *, const uint16_t *a, const uint16_t *packed, float *c,
                        int64_t begin, int64_t end);

// ---- The kernels that the functions above choose from, for tests and benchmarks -----------
typedef void (*gr_gemm_kernel)(const gr_gemm *, const float *a, const float *b, float *c);
// Single-threaded, except gr_gemm_packed_by; gr_gemm_onednn is NULL before gr_gemm_open.
void gr_gemm_plain(const gr_gemm *, const float *a, const float *b, float *c);  // gemm_plain.c
// Whether b is transposed, and its rows are few numbers.
bool gr_gemm_is_short(const gr_gemm *);
// Only where gr_gemm_is_short returns true.
void gr_gemm_turned(const gr_gemm *, const float *a, const float *b, float *c);  // gemm_plain.c
void gr_gemm_packed(const gr_gemm *, const float *a, const float *b, float *c);  // gemm_packed.c
void gr_gemm_packed_by(const gr_launch *, const gr_gemm *, const float *a, const float *b,
                       float *c);     // on all threads of the launch
gr_gemm_kernel gr_gemm_onednn(void);  // NULL too if the build did not find it
typedef void (*gr_gemm_bf16_kernel)(const gr_gemm *, const uint16_t *a, const uint16_t *b,
                                    float *c);
// oneDNN's product of bf16; NULL before gr_gemm_open, or if there is none.
gr_gemm_bf16_kernel gr_gemm_onednn_bf16(void);
// The product term by term, for tests and for where a library fails.
void gr_gemm_bf16_plain(const gr_gemm *, const uint16_t *a, const uint16_t *b, float *c);

// The library's products by a packed b, on the calling thread; the layout is its own. Several
// threads may multiply by one packed b at once.
typedef struct gr_gemm_packs {
  // Bytes of a packed b for products of that shape or of fewer rows; 0: it is not worth packing.
  size_t (*bytes)(const gr_gemm *);
  bool (*pack)(const gr_gemm *, const float *b, void *packed);  // false: the library fails
  // False: the library fails, and c is untouched.
  bool (*run)(const gr_gemm *, const float *a, const void *packed, float *c);
} gr_gemm_packs;
const gr_gemm_packs *gr_gemm_onednn_packs(void);  // NULL before gr_gemm_open, or if there are none

// The library's convolutions (onednn.h).
typedef struct gr_onednn_convs gr_onednn_convs;
// Their table; NULL before gr_gemm_open, or if there are none.
const gr_onednn_convs *gr_gemm_onednn_convs(void);

// The table of module "onednn" (base/module.h): gemm_onednn.c.
typedef struct gr_gemm_module {
  gr_gemm_kernel run;
  gr_gemm_bf16_kernel (*bf16)(void);    // NULL: the library has none
  const gr_gemm_packs *(*packs)(void);  // likewise
  const gr_onednn_convs *const *convs;
} gr_gemm_module;
