// attention_mask.cu - which weights dropout keeps, of a part of a library's attention: 1 or 0 for
// each pair of a row and a key, [samples, heads, t, s] in rows of `pitch`, as IN0. It is put after
// attention_tile.cu. A thread writes 8 elements at once.

extern "C" __global__ void attention_mask(const IN0 *q, const IN1 *k, const IN2 *v,
#ifdef OUT2
                                          const IN3 *y, const IN4 *dy, const IN5 *lse,
                                          LENGTHS_OPERAND STEP_OPERAND OUT0 *dq, OUT1 *dk, OUT2 *dv,
#else
                                          LENGTHS_OPERAND STEP_OPERAND OUT0 *y,
#ifdef OUT1
                                          OUT1 *lse,
#endif
#endif
                                          void *scratch, NUMBERS, long long at, long long pitch,
                                          long long sample, long long number, long long samples,
                                          long long numbers) {
  enum { PACK = 8 };
  IN0 *mask = (IN0 *)((char *)scratch + at);
  const long long packs = pitch / PACK, n = samples * numbers * t * packs;
  for (long long p = GR_FIRST; p < n; p += (long long)gridDim.x * blockDim.x) {
    const long long row = gr_div(p, packs), first = (p - row * packs) * PACK;
    const long long box = gr_div(row, t), i = row - box * t, part = gr_div(box, numbers);
    const head h = HEAD((sample + part) * heads + number + box - part * numbers);
    const long long seen = h.seen(i);  // what is beyond has weight 0
    unsigned word[4];
    long long drawn = -1;
    gr_pack<IN0, PACK> kept;
#pragma unroll
    for (int c = 0; c < PACK; c++)
      gr_put(kept.at, c, first + c < seen && h.kept(i, first + c, word, &drawn) > 0 ? 1.0f : 0.0f);
    gr_store(mask, p * PACK, kept);
  }
}
