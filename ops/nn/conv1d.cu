// conv1d.cu - convolution along time and its gradients, as products of matrices that are read in
// place (tile.cu). f is the frame of x that tap k of frame s of y reads, s stride - pad + k dilation.
//
//   FORWARD  y[(n s), o]   = sum over (k c) of x[n, f, c] w[o, c, k]
//   GRAD_X   dx[(n t), c]  = sum over (k o) of dy[n, s, o] w[o, c, k], for the s whose f is t
//   GRAD_W   dw[o, (k c)]  = sum over (n s) of dy[n, s, o] x[n, f, c]
//
// The last sum is long and its result small, so it is cut into parts, which are added in order.

typedef IN0 T;
typedef gr_wide<T> W;

struct sizes {
  long long n, t, c, steps, out, taps, stride, pad, dilation;
};
#define SIZES                                                                                    \
  long long n, long long t, long long c, long long steps, long long out, long long taps,         \
      long long stride, long long pad, long long dilation
#define THE_SIZES \
  { n, t, c, steps, out, taps, stride, pad, dilation }

// Rows (n s), k is (tap c): the patches of x.
struct patches {
  enum { along_k = 1 };
  struct row {
    const T *x;  // of the sample
    long long frame;
  };
  sizes z;
  const T *x;
  __device__ row at(long long i) const {
    if (i >= z.n * z.steps) return row{nullptr, 0};
    long long sample = gr_div(i, z.steps);
    return row{x + sample * z.t * z.c, (i - sample * z.steps) * z.stride - z.pad};
  }
  __device__ W get(row r, long long k) const {
    long long tap = gr_div(k, z.c), f = r.frame + tap * z.dilation;
    return r.x && f >= 0 && f < z.t ? gr_get(r.x, f * z.c + k - tap * z.c) : (W)0;
  }
};

// Rows o, k is (tap c): the kernel.
struct kernels {
  enum { along_k = 1 };
  typedef const T *row;
  sizes z;
  const T *w;
  __device__ row at(long long o) const { return o < z.out ? w + o * z.c * z.taps : nullptr; }
  __device__ W get(row r, long long k) const {
    long long tap = gr_div(k, z.c);
    return r ? gr_get(r, (k - tap * z.c) * z.taps + tap) : (W)0;
  }
};

// Rows (n t), k is (tap o): what frame t of x contributed to.
struct readers {
  enum { along_k = 1 };
  struct row {
    const T *dy;
    long long frame;
  };
  sizes z;
  const T *dy;
  __device__ row at(long long i) const {
    if (i >= z.n * z.t) return row{nullptr, 0};
    long long sample = gr_div(i, z.t);
    return row{dy + sample * z.steps * z.out, i - sample * z.t + z.pad};
  }
  __device__ W get(row r, long long k) const {
    long long tap = gr_div(k, z.out), f = r.frame - tap * z.dilation;
    if (!r.dy || f < 0) return 0;
    long long s = gr_div(f, z.stride);
    return s * z.stride == f && s < z.steps ? gr_get(r.dy, s * z.out + k - tap * z.out) : (W)0;
  }
};

// Rows c, k is (tap o): the kernel, turned.
struct turned {
  enum { along_k = 0 };
  typedef const T *row;
  sizes z;
  const T *w;
  __device__ row at(long long c) const { return c < z.c ? w + c * z.taps : nullptr; }
  __device__ W get(row r, long long k) const {
    long long tap = gr_div(k, z.out);
    return r ? gr_get(r, (k - tap * z.out) * z.c * z.taps + tap) : (W)0;
  }
};

// Rows o, k is (n s).
struct outputs {
  enum { along_k = 0 };
  typedef const T *row;
  sizes z;
  const T *dy;
  __device__ row at(long long o) const { return o < z.out ? dy + o : nullptr; }
  __device__ W get(row r, long long k) const { return r ? gr_get(r, k * z.out) : (W)0; }
};

// Rows (tap c), k is (n s): the patches of x, turned.
struct columns {
  enum { along_k = 0 };
  struct row {
    const T *x;
    long long frame;  // of s = 0
  };
  sizes z;
  const T *x;
  __device__ row at(long long i) const {
    if (i >= z.taps * z.c) return row{nullptr, 0};
    long long tap = gr_div(i, z.c);
    return row{x + i - tap * z.c, tap * z.dilation - z.pad};
  }
  __device__ W get(row r, long long k) const {
    long long sample = gr_div(k, z.steps), f = r.frame + (k - sample * z.steps) * z.stride;
    return r.x && f >= 0 && f < z.t ? gr_get(r.x, (sample * z.t + f) * z.c) : (W)0;
  }
};

#ifdef FORWARD
extern "C" __global__ void conv1d(const T *x, const T *w,
#ifdef IN2
                                  const T *bias,
#endif
                                  OUT0 *y, SIZES) {
  __shared__ W memory[2 * GR_SLAB * GR_TILE_PITCH];
  W sum[4][4] = {};
  sizes z = THE_SIZES;
  long long across = (out + GR_TILE - 1) / GR_TILE;
  long long i = blockIdx.x / across * GR_TILE, j = blockIdx.x % across * GR_TILE;
  gr_tile(patches{z, x}, kernels{z, w}, i, j, 0, taps * c, memory, sum);
  for (int p = 0; p < 4; p++)
    for (int q = 0; q < 4; q++) {
      long long r = i + gr_tile_i(p), o = j + gr_tile_j(q);
      if (r >= n * steps || o >= out) continue;
#ifdef IN2
      sum[p][q] += gr_get(bias, o);
#endif
      gr_put(y, r * out + o, sum[p][q]);
    }
}
#endif

#ifdef GRAD_X
extern "C" __global__ void conv1d_grad_x(const T *w, const T *dy, OUT0 *dx, SIZES) {
  __shared__ W memory[2 * GR_SLAB * GR_TILE_PITCH];
  W sum[4][4] = {};
  sizes z = THE_SIZES;
  long long across = (c + GR_TILE - 1) / GR_TILE;
  long long i = blockIdx.x / across * GR_TILE, j = blockIdx.x % across * GR_TILE;
  gr_tile(readers{z, dy}, turned{z, w}, i, j, 0, taps * out, memory, sum);
  for (int p = 0; p < 4; p++)
    for (int q = 0; q < 4; q++)
      if (i + gr_tile_i(p) < n * t && j + gr_tile_j(q) < c)
        gr_put(dx, (i + gr_tile_i(p)) * c + j + gr_tile_j(q), sum[p][q]);
}
#endif

#ifdef GRAD_W
// scratch[part, o, (k c)]: the sum over `share` of the frames (n s).
extern "C" __global__ void conv1d_grad_w(const T *x, const T *dy, OUT0 *dw, void *scratch, SIZES,
                                         long long share, long long parts) {
  __shared__ W memory[2 * GR_SLAB * GR_TILE_PITCH];
  W sum[4][4] = {};
  sizes z = THE_SIZES;
  long long wide = taps * c, across = (wide + GR_TILE - 1) / GR_TILE, tile = blockIdx.x / parts;
  long long part = blockIdx.x % parts, frames = n * steps, from = part * share;
  long long i = tile / across * GR_TILE, j = tile % across * GR_TILE;
  long long end = from + share < frames ? from + share : frames;
  gr_tile(outputs{z, dy}, columns{z, x}, i, j, from, end, memory, sum);
  for (int p = 0; p < 4; p++)
    for (int q = 0; q < 4; q++)
      if (i + gr_tile_i(p) < out && j + gr_tile_j(q) < wide)
        ((W *)scratch)[(part * out + i + gr_tile_i(p)) * wide + j + gr_tile_j(q)] = sum[p][q];
}

extern "C" __global__ void conv1d_add_parts(const T *x, const T *dy, OUT0 *dw, void *scratch,
                                            long long out, long long c, long long taps,
                                            long long parts) {
  const W *part = (const W *)scratch;
  long long size = out * c * taps;
  for (long long at = GR_FIRST; at < size; at += GR_ALL) {
    W sum = 0;
    for (long long s = 0; s < parts; s++) sum += part[s * size + at];
    long long o = gr_div(at, taps * c), k = at - o * taps * c, tap = gr_div(k, c);
    gr_put(dw, (o * c + k - tap * c) * taps + tap, sum);
  }
}
#endif
