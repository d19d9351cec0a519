// edit_distance.cu - see edit_distance.c. A block per sample: units are found in parallel, and the
// table is filled by anti-diagonals, of which a cell needs the last two.
//
// scratch, per sample: where each unit of both texts starts and ends, and three diagonals by column.

struct text {
  const int *symbol;
  int *from, *to, count;
};

__device__ bool is_space(const int *symbol, long long i, long long words, long long space) {
  return words && symbol[i] == space;
}

// A unit starts at a symbol that is no space, after a space or, if units are symbols, anywhere.
// The k-th start and the k-th end belong together.
__device__ text split(const int *symbol, int length, long long words, long long space, int *memory,
                      long long most) {
  __shared__ int in_warp[2][32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, starts = 0,
      ends = 0;
  int *from = memory, *to = memory + most;
  for (int first = 0; first < length; first += blockDim.x) {
    int i = first + threadIdx.x;
    bool is = i < length && !is_space(symbol, i, words, space);
    bool start = is && (!words || i == 0 || is_space(symbol, i - 1, words, space));
    bool end = is && (!words || i + 1 == length || is_space(symbol, i + 1, words, space));
    unsigned mask[2] = {__ballot_sync(0xffffffffu, start), __ballot_sync(0xffffffffu, end)};
    if (lane < 2) in_warp[lane][warp] = __popc(lane ? mask[1] : mask[0]);
    __syncthreads();
    int before[2] = {starts, ends};
    for (int w = 0; w < warps; w++) {
      if (w < warp) before[0] += in_warp[0][w], before[1] += in_warp[1][w];
      starts += in_warp[0][w], ends += in_warp[1][w];
    }
    unsigned earlier = (1u << lane) - 1;
    if (start) from[before[0] + __popc(mask[0] & earlier)] = i;
    if (end) to[before[1] + __popc(mask[1] & earlier)] = i + 1;
    __syncthreads();
  }
  return text{symbol, from, to, starts};
}

__device__ bool same(const text &x, int i, const text &y, int j) {
  int n = x.to[i] - x.from[i];
  bool is = n == y.to[j] - y.from[j];
  for (int k = 0; is && k < n; k++) is = x.symbol[x.from[i] + k] == y.symbol[y.from[j] + k];
  return is;
}

extern "C" __global__ void edit_distance(const IN0 *x, const IN1 *x_lengths, const IN2 *y,
                                         const IN3 *y_lengths, OUT0 *distance, OUT1 *count,
                                         void *scratch, long long t, long long u, long long words,
                                         long long space) {
  long long i = blockIdx.x;
  int *memory = (int *)scratch + i * (2 * t + 2 * u + 3 * (u + 1));
  int nx = x_lengths[i] < 0 ? 0 : x_lengths[i] > t ? t : x_lengths[i];
  int ny = y_lengths[i] < 0 ? 0 : y_lengths[i] > u ? u : y_lengths[i];
  text a = split(x + i * t, nx, words, space, memory, t);
  text b = split(y + i * u, ny, words, space, memory + 2 * t, u);
  int *before = memory + 2 * t + 2 * u, *last = before + u + 1, *now = last + u + 1;
  for (int d = 0; d <= a.count + b.count; d++) {  // cells (r, c) with r + c = d
    int first = d > a.count ? d - a.count : 0, end = d < b.count ? d : b.count;
    for (int c = first + threadIdx.x; c <= end; c += blockDim.x) {
      int r = d - c, least = r + c;
      if (r && c) {
        int change = before[c - 1] + !same(a, r - 1, b, c - 1);
        least = last[c] < last[c - 1] ? last[c] + 1 : last[c - 1] + 1;
        least = change < least ? change : least;
      }
      now[c] = least;
    }
    __syncthreads();
    int *swap = before;
    before = last, last = now, now = swap;
  }
  if (threadIdx.x == 0) {
    gr_put(distance, i, last[b.count]);
    gr_put(count, i, b.count);
  }
}
