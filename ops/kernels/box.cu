// box.cu - copies a box of x into y, with zeros around it. x and y are rows: `columns` columns of a
// row of x, from x_from on, go to that row of y, from y_from on. What follows the rows of y is
// zeros too. 16 bytes at once where all rows begin and end at multiples of that.

typedef struct {
  long long rows, columns, x_width, x_from, y_width, y_from;
} box;

template <int N>
__device__ void copy_box(const IN0 *x, OUT0 *y, long long n, box b) {
  for (long long i = GR_FIRST * N; i < n; i += GR_ALL * N) {
    const long long row = gr_div(i, b.y_width), column = i - row * b.y_width - b.y_from;
    gr_pack<OUT0, N> v = {};
    if (row < b.rows && column >= 0 && column < b.columns)
      v = gr_load<N>(x, row * b.x_width + b.x_from + column);
    gr_store(y, i, v);
  }
}

// n: the number of elements of y.
extern "C" __global__ void copy_rows(const IN0 *x, OUT0 *y, long long n, long long rows,
                                     long long columns, long long x_width, long long x_from,
                                     long long y_width, long long y_from) {
  constexpr int PACK = 16 / sizeof(OUT0);
  const box b = {rows, columns, x_width, x_from, y_width, y_from};
  const bool whole = (n | columns | x_width | x_from | y_width | y_from) % PACK == 0;
  if (whole && gr_aligned(x) && gr_aligned(y))
    copy_box<PACK>(x, y, n, b);
  else
    copy_box<1>(x, y, n, b);
}
