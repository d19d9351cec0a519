// write_slice.cu - y [rows, size, item] = x, but for `part` indices from *index on. In place nothing
// else is written.
extern "C" __global__ void write_slice(const IN0 *x, const IN1 *part_of, const int *index, OUT0 *y,
                                       long long rows, long long size, long long part,
                                       long long item) {
  const long long most = size - part, at = *index < 0 ? 0 : *index < most ? *index : most;
  for (long long i = GR_FIRST; i < rows * part * item; i += GR_ALL) {
    const long long row = gr_div(i, part * item);
    y[(row * size + at) * item + i - row * part * item] = part_of[i];
  }
  if ((const void *)x == (const void *)y) return;
  for (long long i = GR_FIRST; i < rows * size * item; i += GR_ALL) {
    const long long index_of = gr_mod(gr_div(i, item), size);
    if (index_of < at || index_of >= at + part) y[i] = x[i];
  }
}
