// conv.cu - convolution over three axes and its gradients, as products of matrices that are read in
// place (tile.cu). Element f of x that tap k of window s reads is s stride - pad + k dilation, along
// each axis. Groups of channels are products of their own; o and c below count within a group.
//
//   FORWARD  y[(n s), o]   = sum over (k c) of x[n, f, c] w[o, c, k]
//   GRAD_X   dx[(n f), c]  = sum over (k o) of dy[n, s, o] w[o, c, k], for the s that read f by tap k
//   GRAD_W   dw[o, (k c)]  = sum over (n s) of dy[n, s, o] x[n, f, c]
//
// The last sum is long and its result small, so it is cut into parts, which are added in order.

typedef IN0 T;
typedef gr_wide<T> W;

#if defined(FORWARD) || defined(GRAD_X) || defined(GRAD_W)
struct three {
  long long a, b, c;
  __device__ long long all() const { return a * b * c; }
  // The index along each axis of element i of an array of these sizes.
  __device__ three of(long long i) const {
    if (a * b == 1) return three{0, 0, i};
    long long row = gr_div(i, c), box = gr_div(row, b);
    return three{box, row - box * b, i - row * c};
  }
};
struct sizes {
  long long n, c, out, groups;
  three in, windows, taps, stride, pad, dilation;
  __device__ long long cg() const { return gr_div(c, groups); }
  __device__ long long og() const { return gr_div(out, groups); }
};
#define THREE(x) long long x##0, long long x##1, long long x##2
#define SIZES                                                                                    \
  long long n, long long c, long long out, long long groups, THREE(in), THREE(windows),          \
      THREE(taps), THREE(stride), THREE(pad), THREE(dilation)
#define OF(x) \
  { x##0, x##1, x##2 }
#define THE_SIZES \
  { n, c, out, groups, OF(in), OF(windows), OF(taps), OF(stride), OF(pad), OF(dilation) }

// The first element that a window covers.
__device__ inline three begin(const sizes &z, three s) {
  return three{s.a * z.stride.a - z.pad.a, s.b * z.stride.b - z.pad.b, s.c * z.stride.c - z.pad.c};
}
// The element of a sample that tap k of the window that begins there reads; -1: padding.
__device__ inline long long element(const sizes &z, three first, three k) {
  long long a = first.a + k.a * z.dilation.a, b = first.b + k.b * z.dilation.b;
  long long c = first.c + k.c * z.dilation.c;
  bool inside = a >= 0 && a < z.in.a && b >= 0 && b < z.in.b && c >= 0 && c < z.in.c;
  return inside ? (a * z.in.b + b) * z.in.c + c : -1;
}
// Along one axis: the window of which tap k reads the element that is `at` after the first window's
// begin; -1: none.
__device__ inline long long window(long long at, long long k, long long dilation, long long stride,
                                   long long windows) {
  long long from = at - k * dilation;
  if (from < 0) return -1;
  long long s = gr_div(from, stride);
  return s * stride == from && s < windows ? s : -1;
}

// Rows (n s), k is (tap c): the patches of x.
struct patches {
  enum { along_k = 1 };
  struct row {
    const T *x;  // of the sample and group
    three first;
  };
  sizes z;
  const T *x;
  long long cg;
  __device__ row at(long long i) const {
    long long each = z.windows.all();
    if (i >= z.n * each) return row{nullptr, three{0, 0, 0}};
    long long sample = gr_div(i, each);
    return row{x + sample * z.in.all() * z.c, begin(z, z.windows.of(i - sample * each))};
  }
  __device__ W get(row r, long long k) const {
    long long tap = gr_div(k, cg), at = element(z, r.first, z.taps.of(tap));
    return r.x && at >= 0 ? gr_get(r.x, at * z.c + k - tap * cg) : (W)0;
  }
};

// Rows o, k is (tap c): the kernel.
struct kernels {
  enum { along_k = 1 };
  typedef const T *row;
  long long og, cg, taps;
  const T *w;
  __device__ row at(long long o) const { return o < og ? w + o * cg * taps : nullptr; }
  __device__ W get(row r, long long k) const {
    long long tap = gr_div(k, cg);
    return r ? gr_get(r, (k - tap * cg) * taps + tap) : (W)0;
  }
};

// Rows (n f), k is (tap o): what element f of x contributed to.
struct readers {
  enum { along_k = 1 };
  struct row {
    const T *dy;
    three at;  // after the begin of the first window
  };
  sizes z;
  const T *dy;
  long long og;
  __device__ row at(long long i) const {
    long long each = z.in.all();
    if (i >= z.n * each) return row{nullptr, three{0, 0, 0}};
    long long sample = gr_div(i, each);
    three f = z.in.of(i - sample * each);
    return row{dy + sample * z.windows.all() * z.out,
               three{f.a + z.pad.a, f.b + z.pad.b, f.c + z.pad.c}};
  }
  __device__ W get(row r, long long k) const {
    long long tap = gr_div(k, og);
    three t = z.taps.of(tap);
    long long a = window(r.at.a, t.a, z.dilation.a, z.stride.a, z.windows.a);
    long long b = window(r.at.b, t.b, z.dilation.b, z.stride.b, z.windows.b);
    long long c = window(r.at.c, t.c, z.dilation.c, z.stride.c, z.windows.c);
    if (!r.dy || a < 0 || b < 0 || c < 0) return 0;
    return gr_get(r.dy, ((a * z.windows.b + b) * z.windows.c + c) * z.out + k - tap * og);
  }
};

// Rows c, k is (tap o): the kernel, turned.
struct turned {
  enum { along_k = 0 };
  typedef const T *row;
  long long og, cg, taps;
  const T *w;
  __device__ row at(long long c) const { return c < cg ? w + c * taps : nullptr; }
  __device__ W get(row r, long long k) const {
    long long tap = gr_div(k, og);
    return r ? gr_get(r, (k - tap * og) * cg * taps + tap) : (W)0;
  }
};

// Rows o, k is (n s).
struct outputs {
  enum { along_k = 0 };
  typedef const T *row;
  sizes z;
  const T *dy;
  long long og;
  __device__ row at(long long o) const { return o < og ? dy + o : nullptr; }
  __device__ W get(row r, long long k) const { return r ? gr_get(r, k * z.out) : (W)0; }
};

// Rows (tap c), k is (n s): the patches of x, turned.
struct columns {
  enum { along_k = 0 };
  struct row {
    const T *x;
    three tap;
  };
  sizes z;
  const T *x;
  long long cg;
  __device__ row at(long long i) const {
    if (i >= z.taps.all() * cg) return row{nullptr, three{0, 0, 0}};
    long long tap = gr_div(i, cg);
    return row{x + i - tap * cg, z.taps.of(tap)};
  }
  __device__ W get(row r, long long k) const {
    long long each = z.windows.all(), sample = gr_div(k, each);
    long long at = element(z, begin(z, z.windows.of(k - sample * each)), r.tap);
    return r.x && at >= 0 ? gr_get(r.x, (sample * z.in.all() + at) * z.c) : (W)0;
  }
};

#endif

#ifdef SCRATCH
#define WORKING_MEMORY void *scratch,
#else
#define WORKING_MEMORY
#endif

#ifdef FORWARD
extern "C" __global__ void conv(const T *x, const T *w,
#ifdef IN2
                                const T *bias,
#endif
                                OUT0 *y, WORKING_MEMORY SIZES) {
  __shared__ W memory[2 * GR_SLAB * GR_TILE_PITCH];
  W sum[4][4] = {};
  sizes z = THE_SIZES;
  long long og = z.og(), cg = z.cg(), all = z.taps.all(), across = (og + GR_TILE - 1) / GR_TILE;
  long long tile = blockIdx.x / groups, group = blockIdx.x % groups;
  long long i = tile / across * GR_TILE, j = tile % across * GR_TILE;
  gr_tile(patches{z, x + group * cg, cg}, kernels{og, cg, all, w + group * og * cg * all}, i, j, 0,
          all * cg, memory, sum);
  for (int p = 0; p < 4; p++)
    for (int q = 0; q < 4; q++) {
      long long r = i + gr_tile_i(p), o = group * og + j + gr_tile_j(q);
      if (r >= n * z.windows.all() || j + gr_tile_j(q) >= og) continue;
#ifdef IN2
      sum[p][q] += gr_get(bias, o);
#endif
      gr_put(y, r * out + o, sum[p][q]);
    }
}
#endif

#ifdef GRAD_X
extern "C" __global__ void conv_grad_x(const T *w, const T *dy, OUT0 *dx, WORKING_MEMORY SIZES) {
  __shared__ W memory[2 * GR_SLAB * GR_TILE_PITCH];
  W sum[4][4] = {};
  sizes z = THE_SIZES;
  long long og = z.og(), cg = z.cg(), all = z.taps.all(), across = (cg + GR_TILE - 1) / GR_TILE;
  long long tile = blockIdx.x / groups, group = blockIdx.x % groups;
  long long i = tile / across * GR_TILE, j = tile % across * GR_TILE;
  gr_tile(readers{z, dy + group * og, og}, turned{og, cg, all, w + group * og * cg * all}, i, j, 0,
          all * og, memory, sum);
  for (int p = 0; p < 4; p++)
    for (int q = 0; q < 4; q++)
      if (i + gr_tile_i(p) < n * z.in.all() && j + gr_tile_j(q) < cg)
        gr_put(dx, (i + gr_tile_i(p)) * c + group * cg + j + gr_tile_j(q), sum[p][q]);
}
#endif

#ifdef GRAD_W
// scratch[part, o, (k c)], o of all groups: the sum over `share` of the windows (n s).
extern "C" __global__ void conv_grad_w(const T *x, const T *dy, OUT0 *dw, void *scratch, SIZES,
                                       long long share, long long parts) {
  __shared__ W memory[2 * GR_SLAB * GR_TILE_PITCH];
  W sum[4][4] = {};
  sizes z = THE_SIZES;
  long long og = z.og(), cg = z.cg(), wide = z.taps.all() * cg, rows = n * z.windows.all();
  long long across = (wide + GR_TILE - 1) / GR_TILE, tile = blockIdx.x / (parts * groups);
  long long part = blockIdx.x % parts, group = blockIdx.x / parts % groups, from = part * share;
  long long i = tile / across * GR_TILE, j = tile % across * GR_TILE;
  long long end = from + share < rows ? from + share : rows;
  gr_tile(outputs{z, dy + group * og, og}, columns{z, x + group * cg, cg}, i, j, from, end, memory,
          sum);
  for (int p = 0; p < 4; p++)
    for (int q = 0; q < 4; q++) {
      long long o = group * og + i + gr_tile_i(p), at = j + gr_tile_j(q);
      if (i + gr_tile_i(p) < og && at < wide)
        ((W *)scratch)[(part * out + o) * wide + at] = sum[p][q];
    }
}

extern "C" __global__ void conv_add_parts(const T *x, const T *dy, OUT0 *dw, void *scratch,
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

// ---- Around a library's call: the kernel [o, c, taps] as [o, taps, c] in working memory, and back ----

#ifdef REORDER
extern "C" __global__ void conv_reorder(const T *in0, const IN1 *in1,
#ifdef IN2
                                        const IN2 *in2,
#endif
                                        OUT0 *out0, void *scratch, long long out, long long c,
                                        long long taps) {
  T *rows = (T *)scratch;
  for (long long i = GR_FIRST; i < out * c * taps; i += GR_ALL) {
    long long at = gr_div(i, c), o = gr_div(at, taps), tap = at - o * taps;
    rows[i] = KERNEL[(o * c + i - at * c) * taps + tap];
  }
}
#endif

#ifdef RESTORE
extern "C" __global__ void conv_restore(const T *x, const IN1 *dy, OUT0 *dw, void *scratch,
                                        long long out, long long c, long long taps) {
  const T *rows = (const T *)scratch;
  for (long long i = GR_FIRST; i < out * c * taps; i += GR_ALL) {
    long long at = gr_div(i, taps), o = gr_div(at, c), channel = at - o * c;
    dw[i] = rows[(o * taps + i - at * taps) * c + channel];
  }
}
#endif

#ifdef ADD_BIAS
extern "C" __global__ void conv_add_bias(const T *x, const IN1 *w, const IN2 *bias, OUT0 *y,
                                         WORKING_MEMORY long long out, long long c, long long taps,
                                         long long n) {
  for (long long i = GR_FIRST; i < n; i += GR_ALL)
    gr_put(y, i, gr_get(y, i) + gr_get(bias, gr_mod(i, out)));
}
#endif
