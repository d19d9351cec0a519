// cudnn.c - libcudnn.so.9 without a GPU: convolutions by plain loops, arguments checked strictly;
// cudnn_graph.c has graphs of operations. The heuristics put first what a caller must not take: an
// algorithm that is not deterministic, and one that needs more working memory than there is.
// STANDIN_CUDNN=none: they know none; =fail: every convolution fails; =fail-first: those by the
// first algorithm that a caller may take.
#include "tests/gpu/standin/cudnn.h"

enum { AXES = 3, RANK = 2 + AXES, ALIGNED = 16, HANDLE_BYTES = 2000000 };
static const size_t huge = (size_t)1 << 40, usual = 65536;
static const cudnnMathType_t converting = CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;

struct cudnnTensorStruct {
  int magic, type, rank, dim[RANK], stride[RANK];
};
struct cudnnFilterStruct {
  int magic, type, format, rank, dim[RANK];
};
struct cudnnConvolutionStruct {
  int magic, axes, pad[AXES], step[AXES], dilation[AXES], groups, math, compute;
};

cudnnStatus_t si_bad(const char *what) {
  standin_say("cudnn: %s", what);
  return CUDNN_STATUS_BAD_PARAM;
}
#define bad si_bad
#define NEED(h, kind) \
  if (!(h) || (h)->magic != (kind)) return bad("bad, or destroyed, " #kind)

size_t cudnnGetVersion(void) { return si_asked("old") ? 90100 : CUDNN_VERSION; }
const char *cudnnGetErrorString(cudnnStatus_t s) { return s ? "an error" : "CUDNN_STATUS_SUCCESS"; }
cudnnStatus_t cudnnCreate(cudnnHandle_t *h) {
  if (standin_device() < 0)
    return bad("cudnnCreate without a context"), CUDNN_STATUS_NOT_INITIALIZED;
  if (!standin_take(standin_device(), HANDLE_BYTES)) return CUDNN_STATUS_ALLOC_FAILED;
  *h = calloc(1, sizeof **h);
  **h = (struct cudnnContext){HANDLE, standin_device(), NULL};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t h) {
  NEED(h, HANDLE);
  standin_take(h->device, -HANDLE_BYTES);
  return h->magic = GONE, CUDNN_STATUS_SUCCESS;  // kept, to notice its use
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t s) {
  NEED(h, HANDLE);
  if (standin_stream_device(s) != h->device) return bad("the stream is of another device");
  return h->stream = s, CUDNN_STATUS_SUCCESS;
}

// ---- Descriptions -------------------------------------------------------------------------------

#define DESCRIPTOR(name, kind)                                                \
  cudnnStatus_t cudnnCreate##name##Descriptor(cudnn##name##Descriptor_t *d) { \
    *d = calloc(1, sizeof **d);                                               \
    return (*d)->magic = (kind), CUDNN_STATUS_SUCCESS;                        \
  }                                                                           \
  cudnnStatus_t cudnnDestroy##name##Descriptor(cudnn##name##Descriptor_t d) { \
    NEED(d, kind);                                                            \
    return d->magic = GONE, CUDNN_STATUS_SUCCESS;                             \
  }
DESCRIPTOR(Tensor, TENSOR)
DESCRIPTOR(Filter, FILTER)
DESCRIPTOR(Convolution, CONVOLUTION)

static bool is_type(int t) {
  return t == CUDNN_DATA_FLOAT || t == CUDNN_DATA_HALF || t == CUDNN_DATA_BFLOAT16;
}
static bool all_positive(int n, const int *v) {
  for (int i = 0; i < n; i++)
    if (v[i] < 1) return false;
  return true;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t d, cudnnDataType_t type, int rank,
                                         const int *dim, const int *stride) {
  NEED(d, TENSOR);
  if (!is_type(type) || rank < 4 || rank > RANK || !all_positive(rank, dim))
    return bad("a tensor's type, rank or size");
  int next = dim[1];  // of channels-last values without gaps: no other is stood in for
  bool dense = stride[1] == 1;
  for (int i = rank - 1; i > 1; next *= dim[i--]) dense &= stride[i] == next;
  if (!dense || stride[0] != next) return bad("a tensor is not channels-last, or has gaps");
  d->type = type, d->rank = rank;
  memcpy(d->dim, dim, sizeof *dim * (size_t)rank);
  memcpy(d->stride, stride, sizeof *dim * (size_t)rank);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int rank, const int *dim) {
  NEED(d, FILTER);
  if (!is_type(type) || rank < 4 || rank > RANK || !all_positive(rank, dim) ||
      format != CUDNN_TENSOR_NHWC)
    return bad("a filter's type, format, rank or size");
  d->type = type, d->rank = rank, d->format = format;
  memcpy(d->dim, dim, sizeof *dim * (size_t)rank);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t d, int axes,
                                              const int *pad, const int *stride,
                                              const int *dilation, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
  NEED(d, CONVOLUTION);
  if (axes < 2 || axes > AXES || !all_positive(axes, stride) || !all_positive(axes, dilation) ||
      mode != CUDNN_CROSS_CORRELATION || compute != CUDNN_DATA_FLOAT)
    return bad("a convolution's axes, strides, mode or arithmetic");
  for (int i = 0; i < axes; i++)
    if (pad[i] < 0) return bad("negative padding");
  d->axes = axes, d->compute = compute, d->groups = d->groups ? d->groups : 1;
  memcpy(d->pad, pad, sizeof *pad * (size_t)axes);
  memcpy(d->step, stride, sizeof *pad * (size_t)axes);
  memcpy(d->dilation, dilation, sizeof *pad * (size_t)axes);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t d, int groups) {
  NEED(d, CONVOLUTION);
  if (groups < 1) return bad("groups");
  return d->groups = groups, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t d, cudnnMathType_t math) {
  NEED(d, CONVOLUTION);
  return d->math = math, CUDNN_STATUS_SUCCESS;
}

// ---- One convolution ----------------------------------------------------------------------------

typedef struct {
  struct cudnnTensorStruct x, y;
  struct cudnnFilterStruct w;
  struct cudnnConvolutionStruct c;
  char *px, *py, *pw, *workspace;
  size_t workspace_size;
  int what;  // 0: y, 1: x, 2: w
  float alpha;
} work;

static cudnnStatus_t prepare(work *k, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
                             cudnnConvolutionDescriptor_t c, cudnnTensorDescriptor_t y) {
  NEED(x, TENSOR);
  NEED(y, TENSOR);
  NEED(w, FILTER);
  NEED(c, CONVOLUTION);
  if (!x->rank || x->rank != y->rank || x->rank != w->rank || x->rank != c->axes + 2)
    return bad("ranks do not agree");
  if (x->type != y->type || x->type != w->type) return bad("types do not agree");
  if (x->dim[0] != y->dim[0] || w->dim[0] != y->dim[1] || w->dim[1] * c->groups != x->dim[1] ||
      y->dim[1] % c->groups)
    return bad("samples, channels or groups do not agree");
  for (int i = 0; i < c->axes; i++) {
    int reach = c->dilation[i] * (w->dim[2 + i] - 1) + 1, room = x->dim[2 + i] + 2 * c->pad[i];
    if (room < reach || (room - reach) / c->step[i] + 1 != y->dim[2 + i])
      return bad("spatial sizes do not agree");
  }
  k->x = *x, k->y = *y, k->w = *w, k->c = *c;
  return CUDNN_STATUS_SUCCESS;
}

static float tf32(float f) {  // 10 bits of mantissa
  union {
    float f;
    uint32_t u;
  } v = {.f = f};
  v.u = (v.u + 0x1000) & ~0x1fffu;
  return v.f;
}
static double load(const work *k, const char *p, long i) {
  int type = k->x.type;
  return type == CUDNN_DATA_FLOAT && k->c.math != CUDNN_FMA_MATH ? tf32(((const float *)p)[i])
         : type == CUDNN_DATA_FLOAT                              ? ((const float *)p)[i]
         : type == CUDNN_DATA_HALF ? standin_f16(((const uint16_t *)p)[i])
                                   : standin_bf16(((const uint16_t *)p)[i]);
}
static void store(char *p, long i, int type, double v) {
  if (type == CUDNN_DATA_FLOAT)
    ((float *)p)[i] = (float)v;
  else
    ((uint16_t *)p)[i] =
        type == CUDNN_DATA_HALF ? standin_to_f16((float)v) : standin_to_bf16((float)v);
}

static long spatial(const int *dim, int rank) {
  long n = 1;
  for (int i = 2; i < rank; i++) n *= dim[i];
  return n;
}
// The element of x that tap t of window s reads; -1: padding.
static long element(const work *k, long s, long t) {
  long offset = 0, scale = 1;
  for (int i = k->c.axes; i-- > 0;) {
    long a =
        s % k->y.dim[2 + i] * k->c.step[i] - k->c.pad[i] + t % k->w.dim[2 + i] * k->c.dilation[i];
    if (a < 0 || a >= k->x.dim[2 + i]) return -1;
    offset += a * scale, scale *= k->x.dim[2 + i];
    s /= k->y.dim[2 + i], t /= k->w.dim[2 + i];
  }
  return offset;
}

// Calls f for every product x w that is a term of y, with the places of the three.
static void each_term(const work *k, float *sum,
                      void (*f)(const work *, float *sum, long x, long w, long y)) {
  long windows = spatial(k->y.dim, k->y.rank), taps = spatial(k->w.dim, k->w.rank);
  long in = spatial(k->x.dim, k->x.rank), cg = k->w.dim[1], og = k->y.dim[1] / k->c.groups;
  for (long r = 0; r < k->x.dim[0] * windows; r++)
    for (long t = 0; t < taps; t++) {
      long offset = element(k, r % windows, t);
      if (offset < 0) continue;
      for (long o = 0; o < k->y.dim[1]; o++)
        for (long c = 0; c < cg; c++)
          f(k, sum, (r / windows * in + offset) * k->x.dim[1] + o / og * cg + c,
            (o * taps + t) * cg + c, r * k->y.dim[1] + o);
    }
}
static void to_y(const work *k, float *sum, long x, long w, long y) {
  sum[y] += (float)(load(k, k->px, x) * load(k, k->pw, w));
}
static void to_x(const work *k, float *sum, long x, long w, long y) {
  sum[x] += (float)(load(k, k->py, y) * load(k, k->pw, w));
}
static void to_w(const work *k, float *sum, long x, long w, long y) {
  sum[w] += (float)(load(k, k->px, x) * load(k, k->py, y));
}

static long count(const int *dim, int rank) { return dim[0] * (long)dim[1] * spatial(dim, rank); }

static int convolve(void *arg) {
  const work *k = arg;
  const int *dim = k->what == 0 ? k->y.dim : k->what == 1 ? k->x.dim : k->w.dim;
  char *to = k->what == 0 ? k->py : k->what == 1 ? k->px : k->pw;
  long n = count(dim, k->x.rank);
  float *sum = calloc((size_t)n, sizeof *sum);
  if (k->workspace) memset(k->workspace, 0xee, k->workspace_size);
  each_term(k, sum, k->what == 0 ? to_y : k->what == 1 ? to_x : to_w);
  for (long i = 0; i < n; i++) store(to, i, k->x.type, k->alpha * sum[i]);
  free(sum);
  return 1;
}

static bool in_range(const char *p, long n, int type, bool writes, const char *what) {
  if ((uintptr_t)p % ALIGNED)
    return standin_say("cudnn: %s is not aligned to %d bytes", what, ALIGNED), false;
  size_t bytes = (size_t)n * (type == CUDNN_DATA_FLOAT ? 4 : 2);
  if (standin_range(p, bytes, standin_device(), what)) return false;
  return standin_uses(p, bytes, writes), true;
}

bool si_ready(const struct cudnnContext *h) {
  const char *what = !h || h->magic != HANDLE        ? "bad, or destroyed, HANDLE"
                     : h->device != standin_device() ? "the handle is of another device"
                     : !h->stream                    ? "no stream was set"
                                                     : NULL;
  return !what || (bad(what), false);
}

static cudnnStatus_t launch(cudnnHandle_t h, work *k, const void *alpha, const void *beta,
                            bool deterministic, bool first, size_t needs, const char *name) {
  if (!si_ready(h)) return CUDNN_STATUS_BAD_PARAM;
  if (*(const float *)beta != 0) return bad("beta is not stood in for");
  if (k->x.type == CUDNN_DATA_FLOAT && k->c.math == (int)converting)
    return bad("f32 would be computed in f16");
  if (!deterministic) return bad("the algorithm is not deterministic");
  if (k->x.type != CUDNN_DATA_FLOAT && k->c.math == CUDNN_TENSOR_OP_MATH)
    return bad("the algorithm was proposed for other arithmetic");
  if (k->workspace_size < needs) return bad("the workspace is too small for the algorithm");
  if (needs && standin_range(k->workspace, needs, standin_device(), "workspace"))
    return CUDNN_STATUS_BAD_PARAM;
  if (!in_range(k->px, count(k->x.dim, k->x.rank), k->x.type, k->what == 1, "x") ||
      !in_range(k->py, count(k->y.dim, k->y.rank), k->x.type, k->what == 0, "y") ||
      !in_range(k->pw, count(k->w.dim, k->w.rank), k->x.type, k->what == 2, "w"))
    return CUDNN_STATUS_BAD_PARAM;
  if (si_execution_fails("fail", first, 20)) return CUDNN_STATUS_EXECUTION_FAILED;
  k->alpha = *(const float *)alpha;
  if (k->workspace) standin_uses(k->workspace, k->workspace_size, 1);
  return standin_enqueue(h->stream, name, convolve, k, sizeof *k, NULL)
             ? CUDNN_STATUS_EXECUTION_FAILED
             : CUDNN_STATUS_SUCCESS;
}

// ---- Heuristics ---------------------------------------------------------------------------------

// The results of the three kinds differ in the type of `algo` alone.
typedef cudnnConvolutionFwdAlgoPerf_t candidate;
static candidate offer(int algo, size_t memory, cudnnDeterminism_t d, cudnnMathType_t math) {
  return (candidate){
      (cudnnConvolutionFwdAlgo_t)algo, CUDNN_STATUS_SUCCESS, 1, memory, d, math, {0}};
}
static cudnnStatus_t advise(cudnnHandle_t h, const work *k, const int algo[4], int most, int *found,
                            candidate *out) {
  NEED(h, HANDLE);
  *found = 0;
  if (si_asked("none")) return CUDNN_STATUS_NOT_SUPPORTED;
  cudnnMathType_t math = k->x.type == CUDNN_DATA_FLOAT ? k->c.math : CUDNN_FMA_MATH;
  const candidate all[] = {offer(algo[0], 0, CUDNN_NON_DETERMINISTIC, math),
                           offer(algo[1], huge, CUDNN_DETERMINISTIC, math),
                           offer(algo[2], usual, CUDNN_DETERMINISTIC, converting),
                           offer(algo[2], usual, CUDNN_DETERMINISTIC, math),
                           offer(algo[3], usual, CUDNN_DETERMINISTIC, math)};
  for (; *found < most && *found < 5; ++*found) out[*found] = all[*found];
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t h, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w,
                                                     cudnnConvolutionDescriptor_t c,
                                                     cudnnTensorDescriptor_t y, int most,
                                                     int *found,
                                                     cudnnConvolutionFwdAlgoPerf_t *out) {
  static const int algo[] = {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_FFT,
                             CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                             CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM};
  work k = {0};
  cudnnStatus_t s = prepare(&k, x, w, c, y);
  return s ? s : advise(h, &k, algo, most, found, out);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t h, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t y,
    cudnnConvolutionDescriptor_t c, cudnnTensorDescriptor_t x, int most, int *found,
    cudnnConvolutionBwdDataAlgoPerf_t *out) {
  static const int algo[] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT,
                             CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
                             CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD};
  work k = {0};
  cudnnStatus_t s = prepare(&k, x, w, c, y);
  return s ? s : advise(h, &k, algo, most, found, (candidate *)(void *)out);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t h, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y,
    cudnnConvolutionDescriptor_t c, cudnnFilterDescriptor_t w, int most, int *found,
    cudnnConvolutionBwdFilterAlgoPerf_t *out) {
  static const int algo[] = {
      CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT,
      CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED};
  work k = {0};
  cudnnStatus_t s = prepare(&k, x, w, c, y);
  return s ? s : advise(h, &k, algo, most, found, (candidate *)(void *)out);
}

// ---- Calls --------------------------------------------------------------------------------------

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t h, const void *alpha, cudnnTensorDescriptor_t x,
                                      const void *px, cudnnFilterDescriptor_t w, const void *pw,
                                      cudnnConvolutionDescriptor_t c,
                                      cudnnConvolutionFwdAlgo_t algo, void *workspace, size_t size,
                                      const void *beta, cudnnTensorDescriptor_t y, void *py) {
  work k = {.px = (char *)px,
            .pw = (char *)pw,
            .py = py,
            .workspace = workspace,
            .workspace_size = size,
            .what = 0};
  cudnnStatus_t s = prepare(&k, x, w, c, y);
  if (s) return s;
  return launch(h, &k, alpha, beta, algo != CUDNN_CONVOLUTION_FWD_ALGO_GEMM,
                algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                algo == CUDNN_CONVOLUTION_FWD_ALGO_FFT ? huge : usual, "cudnnConvolutionForward");
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t h, const void *alpha,
                                           cudnnFilterDescriptor_t w, const void *pw,
                                           cudnnTensorDescriptor_t y, const void *py,
                                           cudnnConvolutionDescriptor_t c,
                                           cudnnConvolutionBwdDataAlgo_t algo, void *workspace,
                                           size_t size, const void *beta, cudnnTensorDescriptor_t x,
                                           void *px) {
  work k = {.px = px,
            .pw = (char *)pw,
            .py = (char *)py,
            .workspace = workspace,
            .workspace_size = size,
            .what = 1};
  cudnnStatus_t s = prepare(&k, x, w, c, y);
  if (s) return s;
  return launch(h, &k, alpha, beta, algo != CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
                algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
                algo == CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT ? huge : usual,
                "cudnnConvolutionBackwardData");
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t h, const void *alpha,
                                             cudnnTensorDescriptor_t x, const void *px,
                                             cudnnTensorDescriptor_t y, const void *py,
                                             cudnnConvolutionDescriptor_t c,
                                             cudnnConvolutionBwdFilterAlgo_t algo, void *workspace,
                                             size_t size, const void *beta,
                                             cudnnFilterDescriptor_t w, void *pw) {
  work k = {.px = (char *)px,
            .pw = pw,
            .py = (char *)py,
            .workspace = workspace,
            .workspace_size = size,
            .what = 2};
  cudnnStatus_t s = prepare(&k, x, w, c, y);
  if (s) return s;
  return launch(
      h, &k, alpha, beta,
      algo != CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 && algo != CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3,
      algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
      algo == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT ? huge : usual,
      "cudnnConvolutionBackwardFilter");
}
