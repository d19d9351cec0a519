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
// gr_op.efforts of all three ops: products, and of each weight an exponential and a random number.
void gr_attention_efforts(const gr_op_call *, gr_efforts *);

// Operands of the forward ops and of the gradient. Lengths and the step number follow them.
enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_IN };
enum { ATTENTION_Y = ATTENTION_IN, ATTENTION_DY, ATTENTION_LSE, ATTENTION_GRAD_IN };

// A call on one rank.
typedef struct gr_attention {
  int64_t n, t, s, heads, d, e;
  double scale;            // never 0
  bool causal;             // a row does not see all keys: row i the keys 0 to i
  bool align_end;          // with causal: the last row sees all keys, each other one fewer
  const int32_t *lengths;  // of the keys, by sample; NULL: all are seen
  // Dropout of weights: weight i of the global value [n, h, t, s] is kept, and multiplied by
  // `keep`, if the random word i is at least `least`.
  bool drops;
  uint32_t least;
  double keep;
  gr_rng rng;
  int64_t first_sample, first_head, all_heads;  // where this rank's part begins in that value
} gr_attention;

// Reads the sizes and attributes of a launch of any of the three ops. Without the operands' memory
// (l->in is NULL), lengths and the step are left out.
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

// Writes the notation of the operands' and the results' axes, as gr_op's index_spec, for any of the
// three ops.
void gr_attention_index_spec(const gr_op_call *, char buf[128]);
// The number of the operand that is the lengths, or -1.
int gr_attention_lengths(const gr_op_call *);
// Checks what the three ops have in common: the number of operands, the dtypes of queries, keys,
// values, lengths and the step, and the attributes. Sets no type: sizes follow from the notation.
gr_status gr_attention_infer(gr_op_call *);
// Pairs of a row and a key that it may see, of all heads.
int64_t gr_attention_pairs(const gr_op_call *);

// ---- The reference kernels' view: a row of queries of one head ---------------------------------

typedef struct gr_attention_row {
  const gr_launch *l;
  gr_attention a;
  int64_t sample, head, i;
} gr_attention_row;
// The index of the row among all [n, t, h] of queries and results; their elements follow at d or e
// times it.
int64_t gr_attention_at_row(const gr_attention_row *);
// The index of key j of the row's sample and head among all [n, s, h] of keys and values.
int64_t gr_attention_at_key(const gr_attention_row *, int64_t j);
// The scaled product of the row's query with key j; 0 where the sample sees no key.
double gr_attention_score(const gr_attention_row *, int64_t j);
// What dropout multiplies weight j by: 1 without dropout, 0 if it is dropped, else 1 / (1 - p).
double gr_attention_kept(const gr_attention_row *, int64_t j);

// ---- Kernels -----------------------------------------------------------------------------------

// The forward ops in f32 on CPU threads, in tiles of rows and keys (attention_f32.c). The sums of
// exponentials are written only if the launch has that result.
gr_status gr_attention_f32(const gr_launch *);
// The gradients of queries, keys and values in f32; equal on any number of threads.
gr_status gr_attention_grad_f32(const gr_launch *);
// Bytes of working memory that gr_attention_f32 needs: the keys of all heads, packed by tiles.
size_t gr_attention_f32_scratch(const gr_op_call *);
// Bytes of working memory that gr_attention_grad_f32 needs: a part for each sample and head.
size_t gr_attention_grad_f32_scratch(const gr_op_call *);

// The forward ops on a GPU (attention_gpu.c): the vendor's library where it takes the call, else
// graphrun's kernel.
gr_status gr_attention_gpu(gr_gpu_call *);
// The gradients on a GPU: the library likewise, else a kernel each for the rows' sums, for the
// queries, and for keys and values.
gr_status gr_attention_grad_gpu(gr_gpu_call *);
