// attention.h - what the kernels of attention share: sizes, masks, and the random words of dropout.
//
//   q [n, t, h, d], k [n, s, h, d], v [n, s, h, e] -> y [n, t, h, e], lse [n, h, t]
//
// A head's rows are thus strided: no operand is transposed on its way from and to [n, t, h d].
#pragma once
#include "base/rng.h"
#include "ops/kernels/gpu.h"

struct attention {
  double scale;
  int64_t causal;
  double p;
  int64_t seed;
  uint64_t stream;
  int64_t align;  // ATTENTION_START, ATTENTION_END
};
enum { ATTENTION_START, ATTENTION_END };
extern const gr_attr gr_attention_attrs[];

// Operands of the forward ops and of the gradient. Lengths and the step number follow them.
enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_IN };
enum { ATTENTION_Y = ATTENTION_IN, ATTENTION_DY, ATTENTION_LSE, ATTENTION_GRAD_IN };

// A call on one rank.
typedef struct gr_attention {
  int64_t n, t, s, heads, d, e;
  double scale;  // never 0
  bool causal,
      align_end;  // row i sees keys 0 to i; or as many fewer than the last row as precede it
  const int32_t *lengths;  // of the keys, by sample; NULL: all are seen
  // Dropout of weights: weight i of the global value [n, h, t, s] is kept, and multiplied by
  // `keep`, if the random word i is at least `least`.
  bool drops;
  uint32_t least;
  double keep;
  gr_rng rng;
  int64_t first_sample, first_head, all_heads;  // where this rank's part begins in that value
} gr_attention;

// Without the operands' memory (l->in is NULL), lengths and the step are left out.
gr_attention gr_attention_of(const gr_launch *l);

// A sample without any key to see weighs all keys alike, with scores of 0 that have no gradient.
bool gr_attention_is_uniform(const gr_attention *, int64_t sample);
// How many keys row i of a sample sees: the first ones, at least one.
int64_t gr_attention_seen(const gr_attention *, int64_t sample, int64_t i);
// The first row that sees a key; at or after the last one if none does.
int64_t gr_attention_first_row(const gr_attention *, int64_t sample, int64_t key);
// The index of a row's first weight in the global value.
static inline uint64_t gr_attention_index(const gr_attention *a, int64_t sample, int64_t head,
                                          int64_t i) {
  int64_t row = (a->first_sample + sample) * a->all_heads + a->first_head + head;
  return (uint64_t)((row * a->t + i) * a->s);
}

// The notation and the checks of operands, of all three ops.
void gr_attention_index_spec(const gr_op_call *, char buf[128]);
// The number of the operand that is the lengths, or -1.
int gr_attention_lengths(const gr_op_call *);
gr_status gr_attention_infer(gr_op_call *);
// Pairs of a row and a key that it may see, of all heads.
int64_t gr_attention_pairs(const gr_op_call *);

// ---- The reference kernels' view: a row of queries of one head ---------------------------------

typedef struct gr_attention_row {
  const gr_launch *l;
  gr_attention a;
  int64_t sample, head, i;
} gr_attention_row;
// The number of the row among those of queries and results, and of key j among those of keys and
// values; the product with key j, scaled; and what dropout multiplies weight j by.
int64_t gr_attention_at_row(const gr_attention_row *);
int64_t gr_attention_at_key(const gr_attention_row *, int64_t j);
double gr_attention_score(const gr_attention_row *, int64_t j);
double gr_attention_kept(const gr_attention_row *, int64_t j);

// ---- Kernels -----------------------------------------------------------------------------------

// For f32 (attention_f32.c), and the bytes of working memory that these need.
gr_status gr_attention_f32(const gr_launch *);
gr_status gr_attention_grad_f32(const gr_launch *);
size_t gr_attention_f32_scratch(const gr_op_call *);
size_t gr_attention_grad_f32_scratch(const gr_op_call *);

// The launches on a GPU (attention_gpu.c).
gr_status gr_attention_gpu(gr_gpu_call *);
gr_status gr_attention_grad_gpu(gr_gpu_call *);
