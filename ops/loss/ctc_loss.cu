// ctc_loss.cu - see ctc.h. Three kernels: the softmax's normalizer of every frame, the lattice of
// every sample, and, with residuals, the gradient of every frame.
//
// A block walks through a sample's lattice in time; the positions of the extended target are its
// threads'. Log probabilities are doubles; what log-sum-exp adds to its largest term is computed in
// the operand's type. A target's symbols are checked: a kernel cannot fail, so a symbol that is no
// class, or is the blank, gives a loss of NaN, as do logits that are not finite.
//
// scratch, of `frames` frames of `n` samples and targets of up to `u` symbols:
//   lse    [n, frames] doubles            log(sum(exp(x))) of a frame
//   share  [n, kept, 2 u + 1] doubles     alpha, then the posterior probabilities of the positions;
//                                         kept: frames, or 2, of which the loss alone needs alpha
//   state  [n] ints                       OK, IMPOSSIBLE or INVALID
//   next   [n, u] ints                    the next symbol of the target that equals this one, or u;
//                                         minus 1 and that for those which follow an equal one

typedef gr_wide<IN0> W;
enum { OK, IMPOSSIBLE, INVALID };
#define NEVER (-1e30)  // the log of probability 0: finite, so that differences are not NaN

#ifdef RESIDUALS
#define RESULTS OUT0 *loss, OUT1 *one, OUT2 *dx
#else
#define RESULTS OUT0 *loss, OUT1 *one
#endif
#define PARAMETERS                                                                             \
  const IN0 *x, const IN1 *targets, const IN2 *lengths, const IN3 *target_lengths, RESULTS,    \
      void *scratch, long long n, long long frames, long long v, long long u, long long blank, \
      long long zero_infinity, long long by_length

// What frame t gives to a position: the logit of its class and the frame's normalizer. They are
// loaded a frame before they are used, so that nothing waits for memory.
struct emission {
  W x;
  double lse;
  __device__ double log_p() const {
    double e = (double)x - lse;
    return e < NEVER ? NEVER : e;
  }
};

// A sample's part of everything.
struct sample {
  long long frames, v, symbols, blank;
  const IN0 *x;
  const IN1 *target;
  double scale, *lse, *share;
  int *state, *next;
  __device__ long long places() const { return 2 * symbols + 1; }
  __device__ long long class_of(long long s) const { return s % 2 ? target[s / 2] : blank; }
  __device__ bool skips(long long s) const {
    return s % 2 && s > 1 && target[s / 2] != target[s / 2 - 1];
  }
  __device__ emission emit(long long t, long long s) const {
    if (t < 0 || t >= frames || s >= places()) return emission{0, 0};
    return emission{gr_get(x, t * v + class_of(s)), lse[t]};
  }
};

__device__ long long length_of(const int *length, long long i, long long most) {
  return length[i] < 0 ? 0 : length[i] > most ? most : length[i];
}

#define SAMPLE(i)                                                                                 \
  sample_of(x, targets, lengths, target_lengths, scratch, n, frames, v, u, blank, by_length, i)
__device__ sample sample_of(const IN0 *x, const IN1 *targets, const IN2 *lengths,
                            const IN3 *target_lengths, void *scratch, long long n,
                            long long frames, long long v, long long u, long long blank,
                            long long by_length, long long i) {
#ifdef RESIDUALS
  long long kept = frames;
#else
  long long kept = 2;
#endif
  double *lse = (double *)scratch, *share = lse + n * frames;
  int *state = (int *)(share + n * kept * (2 * u + 1)), *next = state + n;
  long long symbols = length_of(target_lengths, i, u);
  return sample{length_of(lengths, i, frames),
                v,
                symbols,
                blank,
                x + i * frames * v,
                targets + i * u,
                by_length ? 1 / (double)(symbols > 1 ? symbols : 1) : 1,
                lse + i * frames,
                share + i * kept * (2 * u + 1),
                state + i,
                next + i * u};
}

// A warp per frame.
extern "C" __global__ void ctc_frames(PARAMETERS) {
  long long frame = GR_FIRST / 32;
  if (frame >= n * frames) return;
  const IN0 *row = x + frame * v;
  W top = -GR_INFINITY, sum = 0;
  for (long long k = threadIdx.x % 32; k < v; k += 32) {
    W a = gr_get(row, k);
    top = a > top ? a : top;
  }
  top = gr_warp_max(top);
  for (long long k = threadIdx.x % 32; k < v; k += 32) sum += exp(gr_get(row, k) - top);
  sum = gr_warp_sum(sum);
  if (threadIdx.x % 32 == 0) ((double *)scratch)[frame] = (double)top + log((double)sum);
}

// log(exp(a) + exp(b) + exp(c))
__device__ double log_add(double a, double b, double c) {
  double top = a > b ? a : b;
  top = c > top ? c : top;
  return top + (double)log(exp((W)(a - top)) + exp((W)(b - top)) + exp((W)(c - top)));
}

// OK, or INVALID; and the chains of equal symbols.
__device__ int prepare(const sample &z) {
  bool bad = false;
  for (long long k = threadIdx.x; k < z.symbols; k += blockDim.x) {
    bad |= z.target[k] < 0 || z.target[k] >= z.v || z.target[k] == z.blank;
    long long to = k + 1, from = k;
    while (to < z.symbols && z.target[to] != z.target[k]) to++;
    while (from && z.target[from - 1] != z.target[k]) from--;
    z.next[k] = (int)(from ? -1 - to : to);
  }
  for (long long t = threadIdx.x; t < z.frames; t += blockDim.x) bad |= !isfinite(z.lse[t]);
  return __syncthreads_or(bad) ? INVALID : OK;
}

// Alpha from the first frame to the last; returns log p. rows: two rows of memory.
__device__ double forward(const sample &z, double *rows) {
  long long places = z.places();
  double *old = rows, *now = rows + places;
  emission ahead = z.emit(0, threadIdx.x);
  for (long long t = 0; t < z.frames; t++) {
    emission e = ahead;
    ahead = z.emit(t + 1, threadIdx.x);
    for (long long s = threadIdx.x; s < places; s += blockDim.x) {
      if (s >= blockDim.x) e = z.emit(t, s);
      double a = t || s > 1 ? NEVER : 0;
      if (t)
        a = log_add(old[s], s > 0 ? old[s - 1] : NEVER, z.skips(s) ? old[s - 2] : NEVER);
      now[s] = a + e.log_p();
#ifdef RESIDUALS
      z.share[t * places + s] = now[s];
#endif
    }
    __syncthreads();
    double *swap = old;
    old = now, now = swap;
  }
  if (!z.frames) return z.symbols ? NEVER : 0;
  return places > 1 ? log_add(old[places - 1], old[places - 2], NEVER) : old[0];
}

#ifdef RESIDUALS
// Beta from the last frame to the first; it makes posterior probabilities of alpha.
__device__ void backward(const sample &z, double *rows, double log_p) {
  long long places = z.places();
  double *old = rows, *now = rows + places;  // beta and the emission of the frame after
  emission ahead = z.emit(z.frames - 1, threadIdx.x);
  for (long long t = z.frames; t--;) {
    emission e = ahead;
    ahead = z.emit(t - 1, threadIdx.x);
    for (long long s = threadIdx.x; s < places; s += blockDim.x) {
      if (s >= blockDim.x) e = z.emit(t, s);
      double b = t == z.frames - 1 ? (s >= places - 2 ? 0 : NEVER)
                                   : log_add(old[s], s + 1 < places ? old[s + 1] : NEVER,
                                             s + 2 < places && z.skips(s + 2) ? old[s + 2] : NEVER);
      now[s] = b + e.log_p();
      z.share[t * places + s] = (double)exp((W)(z.share[t * places + s] + b - log_p));
    }
    __syncthreads();
    double *swap = old;
    old = now, now = swap;
  }
}
#endif

// A block per sample. Rows of the lattice are in shared memory if they fit (`in_shared`), else at
// byte `rows` of the scratch memory.
extern "C" __global__ void ctc_lattice(PARAMETERS, long long in_shared, long long rows) {
  extern __shared__ double shared_rows[];
  long long i = blockIdx.x;
  sample z = SAMPLE(i);
  double *memory = in_shared ? shared_rows : (double *)((char *)scratch + rows) + i * (4 * u + 2);
  int state = prepare(z);
  double log_p = state == OK ? forward(z, memory) : 0;
  if (state == OK && log_p < NEVER / 10) state = IMPOSSIBLE;
  if (threadIdx.x == 0) {
    *z.state = state;
    double is = state == OK ? -log_p * z.scale : state == IMPOSSIBLE ? GR_INFINITY : GR_NAN;
    gr_put(loss, i, state == IMPOSSIBLE && zero_infinity ? 0 : is);
    gr_put(one, i, 1);
  }
#ifdef RESIDUALS
  __syncthreads();  // all have read log_p's rows
  if (state == OK) backward(z, memory, log_p);
#endif
}

#ifdef RESIDUALS
// A warp per frame: dx = scale (softmax(x) - posterior probability of the class). The probabilities
// of the positions of one class are added by one thread, in order.
extern "C" __global__ void ctc_gradient(PARAMETERS) {
  long long frame = GR_FIRST / 32, i = frame / frames, t = frame - i * frames;
  int lane = threadIdx.x % 32;
  if (i >= n) return;
  sample z = SAMPLE(i);
  int state = *z.state;
  if (t >= z.frames || state != OK) {
    bool zero = t >= z.frames || (state == IMPOSSIBLE && zero_infinity);
    for (long long k = lane; k < v; k += 32) gr_put(dx, frame * v + k, zero ? 0 : GR_NAN);
    return;
  }
  const double *share = z.share + t * z.places();
  W lse = (W)z.lse[t], scale = (W)z.scale, blanks = 0;
  for (long long k = lane; k < v; k += 32)
    gr_put(dx, frame * v + k, exp(gr_get(z.x, t * v + k) - lse) * scale);
  __syncwarp();
  for (long long k = lane; k < z.symbols; k += 32) {
    if (z.next[k] < 0) continue;
    W sum = 0;
    for (long long s = k; s < z.symbols; s = z.next[s] < 0 ? -1 - z.next[s] : z.next[s])
      sum += (W)share[2 * s + 1];
    long long at = z.target[k];
    gr_put(dx, frame * v + at, (exp(gr_get(z.x, t * v + at) - lse) - sum) * scale);
  }
  for (long long s = 2 * lane; s < z.places(); s += 64) blanks += (W)share[s];
  blanks = gr_warp_sum(blanks);
  if (lane == 0)
    gr_put(dx, frame * v + blank, (exp(gr_get(z.x, t * v + blank) - lse) - blanks) * scale);
}
#endif
