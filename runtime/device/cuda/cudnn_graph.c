// cudnn_graph.c - see cudnn_graph.h.
#include "runtime/device/cuda/cudnn_graph.h"
#if GR_HAVE_CUDA && GR_HAVE_CUDNN

// Returns the error of a call that fails.
#define TRY DNN_TRY

static gr_status set(gr_dnn_value of, cudnnBackendAttributeName_t name,
                     cudnnBackendAttributeType_t type, int64_t n, const void *to) {
  TRY(cudnnBackendSetAttribute(of, name, type, n, to));
  return GR_OK;
}
static gr_status create(gr_dnn_graph *g, cudnnBackendDescriptorType_t kind, gr_dnn_value *out) {
  if (g->n_made == GR_DNN_MADE || g->n_ops == GR_DNN_OPS)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a graph for cuDNN is too large");
  TRY(cudnnBackendCreateDescriptor(kind, &g->made[g->n_made]));
  *out = g->made[g->n_made++];
  return GR_OK;
}
static gr_status finish(gr_dnn_value v) {
  TRY(cudnnBackendFinalize(v));
  return GR_OK;
}

// The same for graphs, which remember that something failed.
static gr_dnn_value make(gr_dnn_graph *g, cudnnBackendDescriptorType_t kind) {
  gr_dnn_value v = NULL;
  if (!g->failed) g->failed = create(g, kind, &v);
  return v;
}
static void put(gr_dnn_graph *g, gr_dnn_value of, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t n, const void *to) {
  if (!g->failed) g->failed = set(of, name, type, n, to);
}
static void put_int(gr_dnn_graph *g, gr_dnn_value of, cudnnBackendAttributeName_t name, int64_t i) {
  put(g, of, name, CUDNN_TYPE_INT64, 1, &i);
}
static void put_type(gr_dnn_graph *g, gr_dnn_value of, cudnnBackendAttributeName_t name,
                     cudnnDataType_t type) {
  put(g, of, name, CUDNN_TYPE_DATA_TYPE, 1, &type);
}
static void put_value(gr_dnn_graph *g, gr_dnn_value of, cudnnBackendAttributeName_t name,
                      gr_dnn_value v) {
  if (v) put(g, of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &v);
}
static void end(gr_dnn_graph *g, gr_dnn_value v) {
  if (!g->failed) g->failed = finish(v);
}
static gr_dnn_value end_op(gr_dnn_graph *g, gr_dnn_value op, gr_dnn_value result) {
  end(g, op);
  if (!g->failed) g->op[g->n_ops++] = op;
  return result;
}

// ---- Values -------------------------------------------------------------------------------------

gr_dnn_shape gr_dnn_dense(cudnnDataType_t type, int64_t a, int64_t b, int64_t c, int64_t d) {
  return (gr_dnn_shape){type, {a, b, c, d}, {b * c * d, c * d, d, 1}};
}
gr_dnn_shape gr_dnn_transposed(gr_dnn_shape s) {
  gr_dnn_shape t = s;
  t.dim[2] = s.dim[3], t.dim[3] = s.dim[2];
  t.stride[2] = s.stride[3], t.stride[3] = s.stride[2];
  return t;
}

enum { FIRST_VIRTUAL = 1000, SCALAR_ALIGNED = 4, ALIGNED = 16 };
static gr_dnn_value tensor(gr_dnn_graph *g, int64_t id, const gr_dnn_shape *s, int64_t aligned,
                           bool is_virtual, bool by_value) {
  gr_dnn_value v = make(g, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  put_int(g, v, CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  put_type(g, v, CUDNN_ATTR_TENSOR_DATA_TYPE, s->type);
  put_int(g, v, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, aligned);
  put(g, v, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, GR_DNN_RANK, s->dim);
  put(g, v, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, GR_DNN_RANK, s->stride);
  put(g, v, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  put(g, v, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value);
  end(g, v);
  return v;
}
gr_dnn_value gr_dnn_memory(gr_dnn_graph *g, int64_t id, const gr_dnn_shape *s, int64_t aligned) {
  return tensor(g, id, s, aligned, false, false);
}
gr_dnn_value gr_dnn_scalar(gr_dnn_graph *g, int64_t id) {
  const gr_dnn_shape one = gr_dnn_dense(CUDNN_DATA_FLOAT, 1, 1, 1, 1);
  return tensor(g, id, &one, SCALAR_ALIGNED, false, true);
}
gr_dnn_value gr_dnn_virtual(gr_dnn_graph *g, const gr_dnn_shape *s) {
  return tensor(g, FIRST_VIRTUAL + g->n_virtual++, s, ALIGNED, true, false);
}

// ---- Operations ---------------------------------------------------------------------------------

static gr_dnn_value pointwise(gr_dnn_graph *g, gr_dnn_value how, gr_dnn_value x, gr_dnn_value b,
                              gr_dnn_value t, gr_dnn_value y) {
  end(g, how);
  gr_dnn_value op = make(g, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  put_value(g, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
  put_value(g, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  put_value(g, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
  put_value(g, op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t);
  put_value(g, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  return end_op(g, op, y);
}
static gr_dnn_value mode(gr_dnn_graph *g, cudnnPointwiseMode_t m, cudnnDataType_t precision) {
  gr_dnn_value how = make(g, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  put(g, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &m);
  put_type(g, how, CUDNN_ATTR_POINTWISE_MATH_PREC, precision);
  return how;
}
gr_dnn_value gr_dnn_pointwise(gr_dnn_graph *g, cudnnPointwiseMode_t m, cudnnDataType_t precision,
                              gr_dnn_value x, gr_dnn_value b, gr_dnn_value t, gr_dnn_value y) {
  return pointwise(g, mode(g, m, precision), x, b, t, y);
}
gr_dnn_value gr_dnn_index(gr_dnn_graph *g, int64_t axis, gr_dnn_value like, gr_dnn_value y) {
  gr_dnn_value how = mode(g, CUDNN_POINTWISE_GEN_INDEX, CUDNN_DATA_INT32);
  put_int(g, how, CUDNN_ATTR_POINTWISE_AXIS, axis);
  return pointwise(g, how, like, NULL, NULL, y);
}

gr_dnn_value gr_dnn_reduce(gr_dnn_graph *g, cudnnReduceTensorOp_t with, gr_dnn_value x,
                           gr_dnn_value y) {
  gr_dnn_value how = make(g, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  put(g, how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &with);
  put_type(g, how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  end(g, how);
  gr_dnn_value op = make(g, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  put_value(g, op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  put_value(g, op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  put_value(g, op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, how);
  return end_op(g, op, y);
}

gr_dnn_value gr_dnn_reshape(gr_dnn_graph *g, gr_dnn_value x, gr_dnn_value y) {
  gr_dnn_value op = make(g, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  put_value(g, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
  put_value(g, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
  return end_op(g, op, y);
}

gr_dnn_value gr_dnn_matmul(gr_dnn_graph *g, gr_dnn_value a, gr_dnn_value b, gr_dnn_value m,
                           gr_dnn_value n, gr_dnn_value k, gr_dnn_value c) {
  gr_dnn_value how = make(g, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  put_type(g, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  end(g, how);
  gr_dnn_value op = make(g, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  put_value(g, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
  put_value(g, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  put_value(g, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  put_value(g, op, CUDNN_ATTR_OPERATION_MATMUL_DESC, how);
  put_value(g, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, m);
  put_value(g, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, n);
  put_value(g, op, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, k);
  return end_op(g, op, c);
}

// ---- Plans --------------------------------------------------------------------------------------

enum { MAX_CONFIGS = 16 };

static gr_status finish_graph(gr_dnn_graph *g, const gr_dnn_target *on, gr_dnn_value *out) {
  GR_TRY(create(g, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, out));
  GR_TRY(set(*out, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, g->n_ops, g->op));
  if (on->handle)
    GR_TRY(set(*out, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &on->handle));
  return finish(*out);
}

static gr_status propose(gr_dnn_graph *g, const gr_dnn_target *on, gr_dnn_value graph,
                         gr_dnn_value config[MAX_CONFIGS], int64_t *n) {
  const cudnnBackendHeurMode_t how = CUDNN_HEUR_MODE_A;
  gr_dnn_value ask = NULL;
  GR_TRY(create(g, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, &ask));
  GR_TRY(set(ask, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph));
  GR_TRY(set(ask, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &how));
#if CUDNN_VERSION >= 90800
  if (on->device)
    GR_TRY(
        set(ask, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &on->device));
#endif
  GR_TRY(finish(ask));
  for (int i = 0; i < MAX_CONFIGS; i++)
    GR_TRY(create(g, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[i]));
  TRY(cudnnBackendGetAttribute(ask, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               MAX_CONFIGS, n, config));
  if (*n > MAX_CONFIGS) *n = MAX_CONFIGS;
  return GR_OK;
}

// Whether the engine of a configuration gives the same bits each time, by its own word.
static gr_status repeats(gr_dnn_graph *g, gr_dnn_value config, bool *out) {
  cudnnBackendNumericalNote_t note[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  gr_dnn_value engine = NULL;
  int64_t n = 0;
  GR_TRY(create(g, CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine));
  TRY(cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                               1, &n, &engine));
  TRY(cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                               CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, note));
  *out = true;
  for (int64_t i = 0; i < n; i++) *out &= note[i] != CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
  return GR_OK;
}

static gr_status open_config(gr_dnn_graph *g, const gr_dnn_target *on, gr_dnn_value config,
                             int64_t most, gr_dnn_plan *out) {
  bool same = false;
  int64_t n = 0;
  GR_TRY(repeats(g, config, &same));
  if (!same) return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "cuDNN has none that is deterministic");
  GR_TRY(create(g, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &out->plan));
  GR_TRY(set(out->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
             &config));
  if (on->handle)
    GR_TRY(set(out->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &on->handle));
#if CUDNN_VERSION >= 90800
  if (on->device)
    GR_TRY(set(out->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
               &on->device));
#endif
  GR_TRY(finish(out->plan));
  TRY(cudnnBackendGetAttribute(out->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                               CUDNN_TYPE_INT64, 1, &n, &out->workspace));
  if (out->workspace <= most) return GR_OK;
  return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "cuDNN needs more than %lld MB",
                 (long long)most >> 20);
}

gr_status gr_dnn_plan_open(gr_dnn_graph *g, const gr_dnn_target *on, int64_t most,
                           gr_dnn_plan *out) {
  gr_dnn_value graph = NULL, config[MAX_CONFIGS];
  int64_t n = 0;
  gr_status s = g->failed;
  g->failed = NULL;
  if (s) return s;
  GR_TRY(finish_graph(g, on, &graph));
  GR_TRY(propose(g, on, graph, config, &n));
  for (int64_t i = 0; i < n; i++) {
    gr_status_drop(s);
    out->number = i + 1;
    s = open_config(g, on, config[i], most, out);
    if (!s && on->run_once) s = on->run_once(on->arg, out);
    if (!s) return GR_OK;
  }
  return s ? s : gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "cuDNN has no plan for it");
}

static gr_status fill(gr_dnn_value pack, int n, const int64_t *id, void *const *address,
                      void *workspace) {
  GR_TRY(set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, id));
  GR_TRY(set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, address));
  GR_TRY(set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace));
  return finish(pack);
}

gr_status gr_dnn_plan_run(cudnnHandle_t handle, const gr_dnn_plan *p, int n, const int64_t *id,
                          void *const *address, void *workspace) {
  gr_dnn_value pack;
  TRY(cudnnBackendCreateDescriptor(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack));
  gr_status s = fill(pack, n, id, address, workspace);
  cudnnStatus_t code = s ? CUDNN_STATUS_SUCCESS : gr_dnn.cudnnBackendExecute(handle, p->plan, pack);
  cudnnStatus_t gone = gr_dnn.cudnnBackendDestroyDescriptor(pack);
  if (s) return s;
  if (code) return gr_cudnn_failed(code, "cudnnBackendExecute(");
  return gone ? gr_cudnn_failed(gone, "cudnnBackendDestroyDescriptor(") : GR_OK;
}

void gr_dnn_graph_close(gr_dnn_graph *g) {
  gr_status_drop(g->failed);
  for (int i = g->n_made; i--;) gr_dnn.cudnnBackendDestroyDescriptor(g->made[i]);
  *g = (gr_dnn_graph){0};
}
#endif
