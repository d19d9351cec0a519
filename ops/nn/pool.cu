// pool.cu - pooling over three axes and its gradients: a thread for each element of the result. A
// gradient is read from the windows that an element is in, in order, so that no two threads add to
// one number. ENTRY names the kernel; see pool.h for the windows.

typedef IN0 T;
typedef gr_wide<T> W;

struct range {
  long long from, to;
};
struct axis {
  long long in, out, size, stride, pad;
  // Elements of window s that are no padding.
  __device__ range elements(long long s) const {
    if (ADAPTIVE) return range{gr_div(s * in, out), gr_div((s + 1) * in + out - 1, out)};
    long long from = s * stride - pad, to = from + size;
    return range{from > 0 ? from : 0, to < in ? to : in};
  }
  // Windows that element i is in.
  __device__ range windows(long long i) const {
    if (ADAPTIVE) return range{gr_div(i * out, in), gr_div((i + 1) * out - 1, in) + 1};
    long long first = i + pad - size + 1, from = first <= 0 ? 0 : gr_div(first + stride - 1, stride);
    long long to = gr_div(i + pad, stride) + 1;
    return range{from, to < out ? to : out};
  }
};
__device__ inline long long count(range r) { return r.to - r.from; }
// What the sum of a window is divided by.
__device__ inline W divisor(const axis *x, range a, range b, range c) {
  return (W)(ADAPTIVE || !COUNT_PAD ? count(a) * count(b) * count(c)
                                    : x[0].size * x[1].size * x[2].size);
}

#define THREE(x) long long x##0, long long x##1, long long x##2
#define SIZES \
  long long n, long long c, THREE(in), THREE(out), THREE(size), THREE(stride), THREE(pad)
#define AXIS(i) \
  { in##i, out##i, size##i, stride##i, pad##i }
#define THE_AXES \
  { AXIS(0), AXIS(1), AXIS(2) }

// Where an element of an array [n, a, b, c, channels] is, by its number.
struct place {
  long long sample, a, b, c, channel;
};
__device__ inline place place_of(long long i, long long s0, long long s1, long long s2,
                                 long long channels) {
  place p;
  long long at = gr_div(i, channels), next = gr_div(at, s2);
  p.channel = i - at * channels, p.c = at - next * s2, at = next;
  next = gr_div(at, s1), p.b = at - next * s1, at = next;
  next = gr_div(at, s0), p.a = at - next * s0, p.sample = next;
  return p;
}
#define EACH(r0, r1, r2)                          \
  for (long long a = r0.from; a < r0.to; a++)     \
    for (long long b = r1.from; b < r1.to; b++)   \
      for (long long k = r2.from; k < r2.to; k++)
#define IN_AT (((p.sample * in0 + a) * in1 + b) * in2 + k) * c + p.channel
#define OUT_AT (((p.sample * out0 + a) * out1 + b) * out2 + k) * c + p.channel

#if defined(MAX) || defined(MEAN)
extern "C" __global__ void ENTRY(const T *x, OUT0 *y, SIZES) {
  const axis axes[] = THE_AXES;
  long long all = n * out0 * out1 * out2 * c;
  for (long long i = GR_FIRST; i < all; i += GR_ALL) {
    place p = place_of(i, out0, out1, out2, c);
    range r0 = axes[0].elements(p.a), r1 = axes[1].elements(p.b), r2 = axes[2].elements(p.c);
#ifdef MAX
    W most = -GR_INFINITY;
    EACH(r0, r1, r2) {
      W v = gr_get(x, IN_AT);
      most = most > v || most != most ? most : v;
    }
    gr_put(y, i, most);
#else
    W sum = 0;
    EACH(r0, r1, r2) sum += gr_get(x, IN_AT);
    gr_put(y, i, sum / divisor(axes, r0, r1, r2));
#endif
  }
}
#endif

#ifdef MAX_PICK
// What v is at the first element of each window that equals its maximum.
extern "C" __global__ void ENTRY(const T *x, const IN1 *y, const IN2 *v, OUT0 *z, SIZES) {
  const axis axes[] = THE_AXES;
  long long all = n * out0 * out1 * out2 * c;
  for (long long i = GR_FIRST; i < all; i += GR_ALL) {
    place p = place_of(i, out0, out1, out2, c);
    range r0 = axes[0].elements(p.a), r1 = axes[1].elements(p.b), r2 = axes[2].elements(p.c);
    W most = gr_get(y, i), picked = 0;
    bool found = false;
    EACH(r0, r1, r2) {
      W here = gr_get(x, IN_AT);
      if (found || !(here == most || (here != here && most != most))) continue;
      found = true, picked = gr_get(v, IN_AT);
    }
    gr_put(z, i, picked);
  }
}
#endif

#ifdef MAX_GRAD
// Whether element i of x is the first of the window that equals its maximum.
__device__ inline bool gives(const T *x, W most, const axis *axes, long long in0, long long in1,
                             long long in2, long long c, place p, place window, long long i) {
  W v = gr_get(x, i);
  if (!(v == most || (v != v && most != most))) return false;
  range r0 = axes[0].elements(window.a), r1 = axes[1].elements(window.b);
  range r2 = axes[2].elements(window.c);
  EACH(r0, r1, r2) {
    long long at = IN_AT;
    if (at >= i) return true;
    v = gr_get(x, at);
    if (v == most || (v != v && most != most)) return false;
  }
  return true;
}

extern "C" __global__ void ENTRY(const T *x, const IN1 *y, const IN2 *dy, OUT0 *dx, SIZES) {
  const axis axes[] = THE_AXES;
  long long all = n * in0 * in1 * in2 * c;
  for (long long i = GR_FIRST; i < all; i += GR_ALL) {
    place p = place_of(i, in0, in1, in2, c);
    range r0 = axes[0].windows(p.a), r1 = axes[1].windows(p.b), r2 = axes[2].windows(p.c);
    W sum = 0;
    EACH(r0, r1, r2) {
      long long at = OUT_AT;
      if (gives(x, gr_get(y, at), axes, in0, in1, in2, c, p, place{p.sample, a, b, k, p.channel}, i))
        sum += gr_get(dy, at);
    }
    gr_put(dx, i, sum);
  }
}
#endif

#ifdef MEAN_GRAD
extern "C" __global__ void ENTRY(const T *dy, OUT0 *dx, SIZES) {
  const axis axes[] = THE_AXES;
  long long all = n * in0 * in1 * in2 * c;
  for (long long i = GR_FIRST; i < all; i += GR_ALL) {
    place p = place_of(i, in0, in1, in2, c);
    range r0 = axes[0].windows(p.a), r1 = axes[1].windows(p.b), r2 = axes[2].windows(p.c);
    W sum = 0;
    EACH(r0, r1, r2)
    sum += gr_get(dy, OUT_AT) /
           divisor(axes, axes[0].elements(a), axes[1].elements(b), axes[2].elements(k));
    gr_put(dx, i, sum);
  }
}
#endif
