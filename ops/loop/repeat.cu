// repeat.cu - around the body of a loop that a captured program repeats (runtime/device/cuda/repeat.c).
// It needs nothing of the prelude.

struct slice {  // what is copied in a step: addresses of the first, and bytes from step to step
  char *to;
  const char *from;
  unsigned long long bytes;
  long long to_stride, from_stride;
};
struct slices {
  slice at[16];
};

// `parts` blocks for each slice.
extern "C" __global__ void loop_copy(slices s, long long parts, const long long *step) {
  const slice c = s.at[blockIdx.x / parts];
  char *to = c.to + *step * c.to_stride;
  const char *from = c.from + *step * c.from_stride;
  const bool wide = ((unsigned long long)to | (unsigned long long)from) % 16 == 0;
  const unsigned long long whole = wide ? c.bytes / 16 : 0, all = parts * blockDim.x;
  const unsigned long long first = blockIdx.x % parts * blockDim.x + threadIdx.x;
  for (unsigned long long i = first; i < whole; i += all)
    ((uint4 *)to)[i] = ((const uint4 *)from)[i];
  for (unsigned long long i = 16 * whole + first; i < c.bytes; i += all) to[i] = from[i];
}

extern "C" __global__ void loop_next(long long *step) { *step += 1; }

// A function of the driver: no header declares it to NVRTC, and no library need be linked.
extern "C" __device__ void cudaGraphSetConditional(unsigned long long loop, unsigned value);
// Ends after the last step, or when none of n elements of `bytes` bytes is 0; n is 0 without them.
extern "C" __global__ void loop_end(long long *step, long long steps, unsigned long long loop,
                                    const char *flags, long long n, long long bytes) {
  bool go_on = !n;
  for (long long i = 0; i < n && !go_on; i++) {
    bool set = false;
    for (long long k = 0; k < bytes; k++) set |= flags[i * bytes + k] != 0;
    go_on = !set;
  }
  *step += 1;
  cudaGraphSetConditional(loop, go_on && *step < steps);
}
