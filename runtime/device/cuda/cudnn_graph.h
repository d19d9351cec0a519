// cudnn_graph.h - graphs of operations for cuDNN's backend API, and plans that run them. A function
// that fails is remembered: what is added after it does nothing, and gr_dnn_plan_open returns its
// error.
#pragma once
#if GR_HAVE_CUDA && GR_HAVE_CUDNN
#include "ops/kernels/gpu.h"
#include "runtime/device/cuda/library.h"

typedef cudnnBackendDescriptor_t gr_dnn_value;
enum { GR_DNN_RANK = 4, GR_DNN_MADE = 192, GR_DNN_OPS = 40 };

typedef struct gr_dnn_graph {
  gr_dnn_value made[GR_DNN_MADE], op[GR_DNN_OPS];  // all descriptors; those that are operations
  int n_made, n_ops;
  int64_t n_virtual;
  gr_status failed;
} gr_dnn_graph;

// A value of four axes; strides are in elements.
typedef struct gr_dnn_shape {
  cudnnDataType_t type;
  int64_t dim[GR_DNN_RANK], stride[GR_DNN_RANK];
} gr_dnn_shape;
// Without gaps, in the order of the axes.
gr_dnn_shape gr_dnn_dense(cudnnDataType_t, int64_t, int64_t, int64_t, int64_t);
// The last two axes exchanged.
gr_dnn_shape gr_dnn_transposed(gr_dnn_shape);

// A value in the device's memory, at multiples of `aligned` bytes. id: by which a run names it,
// positive.
gr_dnn_value gr_dnn_memory(gr_dnn_graph *, int64_t id, const gr_dnn_shape *, int64_t aligned);
// An f32 in the host's memory, by its id.
gr_dnn_value gr_dnn_scalar(gr_dnn_graph *, int64_t id);
// A value between operations, which is never in memory.
gr_dnn_value gr_dnn_virtual(gr_dnn_graph *, const gr_dnn_shape *);

// These functions append an operation whose result is the last operand, and return that. This one
// is elementwise; operands b and t are NULL where the mode has none.
gr_dnn_value gr_dnn_pointwise(gr_dnn_graph *, cudnnPointwiseMode_t, cudnnDataType_t precision,
                              gr_dnn_value x, gr_dnn_value b, gr_dnn_value t, gr_dnn_value y);
// The index along an axis of each element.
gr_dnn_value gr_dnn_index(gr_dnn_graph *, int64_t axis, gr_dnn_value like, gr_dnn_value y);
// Reduces the axes in which y has size 1, in f32.
gr_dnn_value gr_dnn_reduce(gr_dnn_graph *, cudnnReduceTensorOp_t, gr_dnn_value x, gr_dnn_value y);
// y has the elements of x in another shape.
gr_dnn_value gr_dnn_reshape(gr_dnn_graph *, gr_dnn_value x, gr_dnn_value y);
// a [.., m, k] by b [.., k, n]; values of i32 say how much of m, n and k a sample has.
gr_dnn_value gr_dnn_matmul(gr_dnn_graph *, gr_dnn_value a, gr_dnn_value b, gr_dnn_value m,
                           gr_dnn_value n, gr_dnn_value k, gr_dnn_value c);

// Who runs a graph: a handle, or the description of a device that need not be there.
typedef struct gr_dnn_plan {
  gr_dnn_value plan;
  int64_t number;     // of what the heuristics propose, from 1
  int64_t workspace;  // bytes
} gr_dnn_plan;
typedef struct gr_dnn_target {
  cudnnHandle_t handle;
  gr_dnn_value device;
  gr_status (*run_once)(void *, const gr_dnn_plan *);  // NULL: what is planned is believed to run
  void *arg;
} gr_dnn_target;
// The first plan that cuDNN's heuristics propose for the target, that needs at most `most` bytes
// and that runs; of the graph, which stays. Nothing is measured. GR_ERR_UNSUPPORTED: there is none.
GR_MUST_USE gr_status gr_dnn_plan_open(gr_dnn_graph *, const gr_dnn_target *, int64_t most,
                                       gr_dnn_plan *out);
// Runs it with n values in memory or of the host's, by id.
GR_MUST_USE gr_status gr_dnn_plan_run(cudnnHandle_t, const gr_dnn_plan *, int n, const int64_t *id,
                                      void *const *address, void *workspace);
// Destroys the graph with its plans.
void gr_dnn_graph_close(gr_dnn_graph *);

// ---- Attention (cudnn_sdpa.c) -------------------------------------------------------------------
// The ids are gr_gpu_place + 1, and these of scalars: UNKEEP is 1 / KEEP, and 1 without dropout.
enum { GR_DNN_SCALE = 100, GR_DNN_HIDDEN, GR_DNN_KEEP, GR_DNN_UNKEEP };
// Builds the graph of so many samples and heads of a call.
void gr_dnn_attention(gr_dnn_graph *, const gr_gpu_attention *, int64_t samples, int64_t heads);
// Where a sample's head is in a value of a call, in bytes.
int64_t gr_dnn_attention_offset(const gr_gpu_attention *, gr_gpu_place, int64_t sample,
                                int64_t head);
#endif
