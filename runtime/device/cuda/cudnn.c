// cudnn.c - convolutions by cuDNN: values are channels-last as they are, [n, spatial..., c] is its
// NHWC, and the kernel is [out, taps..., c]. A library that is missing, or that has no algorithm
// for a convolution, is no error: the op has a kernel of its own.
//
// An algorithm is what cuDNN's heuristics put first of those that are deterministic, that the
// device's working memory suffices for, and that run. They measure nothing, so that all ranks
// choose the same one.
#include "base/log.h"
#include "runtime/device/cuda/parts.h"

#if !GR_HAVE_CUDNN
gr_status gr_convolution_open(gr_cuda *c, const gr_gpu_conv *v, const gr_launch *where,
                              gr_chosen *chosen, gr_convolution **out) {
  (void)c, (void)v, (void)where, (void)chosen, (void)out;
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "graphrun was built without cuDNN's headers");
}
gr_status gr_convolution_run(gr_cuda *c, gr_convolution *v, const gr_launch *l) {
  (void)c, (void)v, (void)l;
  return GR_OK;
}
void gr_convolutions_close(gr_cuda *c) { (void)c; }
void gr_convolutions_report(const gr_cuda *c, gr_text *t) { (void)c, (void)t; }
#else

enum { MAX_ALGORITHMS = 16, MAX_AXES = 3, RANK = 2 + MAX_AXES };

struct gr_convolution {
  gr_convolution *next;
  gr_gpu_conv conv;
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t desc;
  gr_chosen *chosen;
  int algorithm;  // of the enum that belongs to conv.what
  size_t workspace;
  bool runs;  // cuDNN has an algorithm for it
};

static gr_status begin(gr_cuda *c) {
  GR_TRY(gr_cudnn_open());
  GR_TRY(gr_cuda_taken(c, GR_TAKER_KERNELS));
  DNN_TRY(cudnnCreate(&c->dnn));
  GR_TRY(gr_cuda_taken(c, GR_TAKER_CUDNN));
  DNN_TRY(cudnnSetStream(c->dnn, (cudaStream_t)c->stream[GR_QUEUE_COMPUTE]));
  return GR_OK;
}

static void end(gr_cuda *c) {
  if (c->dnn) gr_dnn.cudnnDestroy(c->dnn);
  c->dnn = NULL;
}

// And frees the status.
void gr_cudnn_own_kernels(gr_cuda *c, const char *which, gr_status why) {
  const char *hint = gr_status_hint(why);
  if (!c->dnn_refused)
    gr_log(GR_INFO, "%s run as kernels of graphrun's own, which are slower: %s%s%s", which,
           gr_status_text(why), hint ? "; " : "", hint ? hint : "");
  c->dnn_refused = true;
  gr_status_drop(why);
}

bool gr_cudnn_is_there(gr_cuda *c, const char *which) {
  if (!c->dnn_tried) {
    gr_status s = begin(c);
    if (s) end(c), gr_cudnn_own_kernels(c, which, s);
  }
  c->dnn_tried = true;
  return c->dnn != NULL;
}

// ---- Descriptions -------------------------------------------------------------------------------

// cuDNN has two spatial axes at least: one is the last of them.
static int axes_of(const gr_gpu_conv *v) { return v->spatial < 2 ? 2 : v->spatial; }
static void spatial(const gr_gpu_conv *v, const int64_t *source, int of_missing, int *to) {
  int missing = axes_of(v) - v->spatial;
  for (int i = 0; i < axes_of(v); i++) to[i] = i < missing ? of_missing : (int)source[i - missing];
}

static cudnnDataType_t type_of(gr_dtype d) {
  return d == GR_F32 ? CUDNN_DATA_FLOAT : d == GR_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
}

// dim is in the order n, c, spatial; stride is that of [n, spatial..., c].
static gr_status describe_value(const gr_gpu_conv *v, int64_t channels, const int64_t *size,
                                cudnnTensorDescriptor_t *out) {
  int dim[RANK] = {(int)v->n, (int)channels}, stride[RANK], axes = axes_of(v);
  spatial(v, size, 1, dim + 2);
  stride[1] = 1, stride[axes + 1] = (int)channels;
  for (int i = axes; i > 1; i--) stride[i] = stride[i + 1] * dim[i + 1];
  stride[0] = stride[2] * dim[2];
  DNN_TRY(cudnnCreateTensorDescriptor(out));
  DNN_TRY(cudnnSetTensorNdDescriptor(*out, type_of(v->dtype), axes + 2, dim, stride));
  return GR_OK;
}

static gr_status describe_kernel(const gr_gpu_conv *v, cudnnFilterDescriptor_t *out) {
  int dim[RANK] = {(int)v->out_c, (int)(v->c / v->groups)};
  spatial(v, v->kernel, 1, dim + 2);
  DNN_TRY(cudnnCreateFilterDescriptor(out));
  DNN_TRY(
      cudnnSetFilterNdDescriptor(*out, type_of(v->dtype), CUDNN_TENSOR_NHWC, axes_of(v) + 2, dim));
  return GR_OK;
}

// f32 is rounded to TF32 only where the run asks for it.
static cudnnMathType_t arithmetic(const gr_cuda *c, const gr_gpu_conv *v) {
  return v->dtype == GR_F32 && !c->tf32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
}

static gr_status describe(const gr_cuda *c, gr_convolution *p) {
  const gr_gpu_conv *v = &p->conv;
  int pad[MAX_AXES], stride[MAX_AXES], dilation[MAX_AXES];
  spatial(v, v->pad, 0, pad), spatial(v, v->stride, 1, stride);
  spatial(v, v->dilation, 1, dilation);
  GR_TRY(describe_value(v, v->c, v->in, &p->x));
  GR_TRY(describe_value(v, v->out_c, v->out, &p->y));
  GR_TRY(describe_kernel(v, &p->w));
  DNN_TRY(cudnnCreateConvolutionDescriptor(&p->desc));
  DNN_TRY(cudnnSetConvolutionNdDescriptor(p->desc, axes_of(v), pad, stride, dilation,
                                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
  DNN_TRY(cudnnSetConvolutionGroupCount(p->desc, (int)v->groups));
  DNN_TRY(cudnnSetConvolutionMathType(p->desc, arithmetic(c, v)));
  return GR_OK;
}

// ---- Choosing -----------------------------------------------------------------------------------

// The structures of the three kinds differ in the type of `algo` alone.
typedef cudnnConvolutionFwdAlgoPerf_t candidate;
_Static_assert(sizeof(candidate) == sizeof(cudnnConvolutionBwdDataAlgoPerf_t) &&
                   sizeof(candidate) == sizeof(cudnnConvolutionBwdFilterAlgoPerf_t),
               "candidates of all kinds are read as one type");

static cudnnStatus_t ask(const gr_cuda *c, const gr_convolution *p, int *n, candidate *out) {
  if (p->conv.what == GR_GPU_CONV)
    return gr_dnn.cudnnGetConvolutionForwardAlgorithm_v7(c->dnn, p->x, p->w, p->desc, p->y,
                                                         MAX_ALGORITHMS, n, out);
  if (p->conv.what == GR_GPU_CONV_GRAD_X)
    return gr_dnn.cudnnGetConvolutionBackwardDataAlgorithm_v7(c->dnn, p->w, p->y, p->desc, p->x,
                                                              MAX_ALGORITHMS, n, (void *)out);
  return gr_dnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(c->dnn, p->x, p->y, p->desc, p->w,
                                                              MAX_ALGORITHMS, n, (void *)out);
}

static bool suits(const gr_cuda *c, const gr_gpu_conv *v, const candidate *a) {
  bool exact = a->mathType == CUDNN_FMA_MATH ||
               (a->mathType == CUDNN_DEFAULT_MATH && c->arch < 80) ||
               (c->tf32 && a->mathType != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION);
  return a->status == CUDNN_STATUS_SUCCESS && a->determinism == CUDNN_DETERMINISTIC &&
         a->memory <= GR_CUDA_WORKSPACE && (v->dtype != GR_F32 || exact);
}

// Runs it once, for it may fail although it was proposed. In the body of a loop, where addresses
// are not known before, it is believed.
static gr_status try_algorithm(gr_cuda *c, gr_convolution *p, const candidate *a,
                               const gr_launch *where) {
  const gr_gpu_conv *v = &p->conv;
  p->algorithm = (int)a->algo, p->workspace = a->memory;
  DNN_TRY(cudnnSetConvolutionMathType(p->desc, a->mathType));
  if (!gr_ref_address(v->x, where) || !gr_ref_address(v->w, where) || !gr_ref_address(v->y, where))
    return GR_OK;
  GR_TRY(gr_convolution_run(c, p, where));
  GR_TRY(gr_cuda_wait_queue(c, GR_QUEUE_COMPUTE));
  return gr_cuda_taken(c, GR_TAKER_CUDNN);  // its kernels
}

static gr_status choose(gr_cuda *c, gr_convolution *p, const gr_launch *where) {
  candidate all[MAX_ALGORITHMS];
  int n = 0;
  gr_status failed = GR_OK;
  cudnnStatus_t s = ask(c, p, &n, all);
  if (s) return gr_cudnn_failed(s, "cudnnGetConvolutionAlgorithm(");
  for (int i = 0; i < n; i++) {
    if (!suits(c, &p->conv, &all[i])) continue;
    gr_status_drop(failed);
    failed = try_algorithm(c, p, &all[i], where);
    if (failed) gr_chosen_refused(c, p->chosen, i + 1, failed);
    if (failed) continue;
    p->chosen->by = (gr_proposal){(int64_t)gr_dnn.cudnnGetVersion(), i + 1, p->algorithm};
    return GR_OK;
  }
  if (failed) return failed;
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE,
                 "cuDNN has no deterministic algorithm that needs at most %d MB",
                 GR_CUDA_WORKSPACE >> 20);
}

gr_status gr_convolution_open(gr_cuda *c, const gr_gpu_conv *v, const gr_launch *where,
                              gr_chosen *chosen, gr_convolution **out) {
  if (!gr_cudnn_is_there(c, "convolutions"))
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "there is no cuDNN");
  gr_convolution *p = *out = GR_NEW(c->arena, gr_convolution, 1);
  p->conv = *v, p->chosen = chosen;
  p->next = c->convolutions, c->convolutions = p;
  gr_status s = describe(c, p);
  s = s ? s : choose(c, p, where);
  p->runs = !s;
  if (!s) return GR_OK;
  gr_cudnn_own_kernels(c, "some convolutions", s);
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "cuDNN does not have the convolution");
}

void gr_convolutions_close(gr_cuda *c) {
  for (gr_convolution *p = c->convolutions; p; p = p->next) {
    if (p->x) gr_dnn.cudnnDestroyTensorDescriptor(p->x);
    if (p->y) gr_dnn.cudnnDestroyTensorDescriptor(p->y);
    if (p->w) gr_dnn.cudnnDestroyFilterDescriptor(p->w);
    if (p->desc) gr_dnn.cudnnDestroyConvolutionDescriptor(p->desc);
  }
  end(c);
}

gr_status gr_convolution_run(gr_cuda *c, gr_convolution *p, const gr_launch *l) {
  static const float one = 1, zero = 0;
  const void *x = (const void *)gr_ref_address(p->conv.x, l);
  const void *w = (const void *)gr_ref_address(p->conv.w, l);
  const void *y = (const void *)gr_ref_address(p->conv.y, l);
  void *memory = (void *)c->workspace;
  if (p->conv.what == GR_GPU_CONV)
    DNN_TRY(cudnnConvolutionForward(c->dnn, &one, p->x, x, p->w, w, p->desc,
                                    (cudnnConvolutionFwdAlgo_t)p->algorithm, memory, p->workspace,
                                    &zero, p->y, (void *)y));
  else if (p->conv.what == GR_GPU_CONV_GRAD_X)
    DNN_TRY(cudnnConvolutionBackwardData(c->dnn, &one, p->w, w, p->y, y, p->desc,
                                         (cudnnConvolutionBwdDataAlgo_t)p->algorithm, memory,
                                         p->workspace, &zero, p->x, (void *)x));
  else
    DNN_TRY(cudnnConvolutionBackwardFilter(c->dnn, &one, p->x, x, p->y, y, p->desc,
                                           (cudnnConvolutionBwdFilterAlgo_t)p->algorithm, memory,
                                           p->workspace, &zero, p->w, (void *)w));
  return GR_OK;
}

void gr_convolutions_report(const gr_cuda *c, gr_text *t) {
  int n = 0;
  for (const gr_convolution *p = c->convolutions; p; p = p->next) n += p->runs;
  if (n) gr_text_printf(t, "; %d convolution%s by cuDNN", n, gr_text_s(n));
}
#endif
