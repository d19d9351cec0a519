// attention_lengths.cu - around a library's attention with lengths: how many rows and keys each
// sample has, and what the library leaves undone. A sample of length 0 weighs all keys alike, with
// scores that have no gradient; the gradients of keys that a sample does not have are 0. It is put
// after attention_tile.cu.
#ifdef OUT2
#define OPERANDS                                                                         \
  const IN0 *q, const IN1 *k, const IN2 *v, const IN3 *y, const IN4 *dy, const IN5 *lse, \
      LENGTHS_OPERAND STEP_OPERAND OUT0 *dq, OUT1 *dk, OUT2 *dv
#elif defined OUT1
#define OPERANDS \
  const IN0 *q, const IN1 *k, const IN2 *v, LENGTHS_OPERAND STEP_OPERAND OUT0 *y, OUT1 *lse
#else
#define OPERANDS const IN0 *q, const IN1 *k, const IN2 *v, LENGTHS_OPERAND STEP_OPERAND OUT0 *y
#endif
#define PLACES long long at, long long apart, long long n
#define GRID ((long long)gridDim.x * blockDim.x)
#define KEPT(i, j) (DROPS ? h.kept(i, j, word, &drawn) : (W)1)

// A sample of length 0 has all keys, with a weight that is replaced.
extern "C" __global__ void attention_counts(OPERANDS, void *scratch, NUMBERS, PLACES) {
  int *rows = (int *)((char *)scratch + at), *keys = (int *)((char *)scratch + at + apart);
  for (long long i = GR_FIRST; i < n; i += GRID) {
    rows[i] = (int)t;
    keys[i] = lengths[i] <= 0 || lengths[i] > s ? (int)s : lengths[i];
  }
}

// A column of one head of a row, or of a key, of [n, count, heads, width].
struct place {
  long long column, head, sample, row;
};
__device__ inline place place_of(long long i, long long count, long long heads, long long width) {
  const long long box = gr_div(i, width), row = gr_div(box, heads), sample = gr_div(row, count);
  return {i - box * width, box - row * heads, sample, row - sample * count};
}

#ifndef OUT2
extern "C" __global__ void attention_empty(OPERANDS, void *scratch, NUMBERS, PLACES) {
  for (long long i = GR_FIRST; i < n * t * heads * e; i += GRID) {
    const place p = place_of(i, t, heads, e);
    if (lengths[p.sample] > 0) continue;
    const head h = HEAD(p.sample * heads + p.head);
    unsigned word[4];
    long long drawn = -1;
    W sum = 0;
    for (long long j = 0; j < s; j++)
      sum += KEPT(p.row, j) * gr_get(v, ((p.sample * s + j) * heads + p.head) * e + p.column);
    gr_put(y, i, sum / (W)s);
#ifdef OUT1
    if (!p.column) gr_put(lse, (p.sample * heads + p.head) * t + p.row, log((W)s));
#endif
  }
}
#else
extern "C" __global__ void attention_absent(OPERANDS, void *scratch, NUMBERS, PLACES) {
  const long long width = d > e ? d : e;
  for (long long i = GR_FIRST; i < n * t * heads * d; i += GRID)
    if (lengths[place_of(i, t, heads, d).sample] <= 0) gr_put(dq, i, (W)0);
  for (long long i = GR_FIRST; i < n * s * heads * width; i += GRID) {
    const place p = place_of(i, s, heads, width);
    const long long at_key = (p.sample * s + p.row) * heads + p.head;
    if (lengths[p.sample] > p.row) continue;
    const head h = HEAD(p.sample * heads + p.head);
    unsigned word[4];
    long long drawn = -1;
    W sum = 0;
    if (lengths[p.sample] <= 0 && p.column < e)
      for (long long r = 0; r < t; r++)
        sum += KEPT(r, p.row) * exp(-(W)gr_get(lse, (p.sample * heads + p.head) * t + r)) *
               (W)gr_get(dy, ((p.sample * t + r) * heads + p.head) * e + p.column);
    if (p.column < d) gr_put(dk, at_key * d + p.column, (W)0);
    if (p.column < e) gr_put(dv, at_key * e + p.column, sum);
  }
}
#endif
