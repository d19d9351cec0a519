// cudnn_graph.c - cuDNN's backend API without a GPU: descriptors whose attributes are checked when
// they are set and when they are finalized, and heuristics. See cudnn.c.
#include <cuda.h>
#include "tests/gpu/standin/cudnn.h"

#define OP(x) CUDNN_ATTR_OPERATION_##x
#define KIND(x) CUDNN_BACKEND_##x##_DESCRIPTOR
#define VALUE CUDNN_TYPE_BACKEND_DESCRIPTOR, 1
enum { NEEDED = 1 };

// Which attributes a kind has, of which type, how many elements at most, and which it must have.
static const struct {
  int kind, name, type, most, needed;
} legal[] = {
    {KIND(TENSOR), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, NEEDED},
    {KIND(TENSOR), CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, NEEDED},
    {KIND(TENSOR), CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, NEEDED},
    {KIND(TENSOR), CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, RANKS, NEEDED},
    {KIND(TENSOR), CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, RANKS, NEEDED},
    {KIND(TENSOR), CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 0},
    {KIND(TENSOR), CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, 0},
    {KIND(POINTWISE), CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, NEEDED},
    {KIND(POINTWISE), CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, NEEDED},
    {KIND(POINTWISE), CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, 0},
    {KIND(OPERATION_POINTWISE), OP(POINTWISE_PW_DESCRIPTOR), VALUE, NEEDED},
    {KIND(OPERATION_POINTWISE), OP(POINTWISE_XDESC), VALUE, NEEDED},
    {KIND(OPERATION_POINTWISE), OP(POINTWISE_BDESC), VALUE, 0},
    {KIND(OPERATION_POINTWISE), OP(POINTWISE_TDESC), VALUE, 0},
    {KIND(OPERATION_POINTWISE), OP(POINTWISE_YDESC), VALUE, NEEDED},
    {KIND(REDUCTION), CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, NEEDED},
    {KIND(REDUCTION), CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, NEEDED},
    {KIND(OPERATION_REDUCTION), OP(REDUCTION_XDESC), VALUE, NEEDED},
    {KIND(OPERATION_REDUCTION), OP(REDUCTION_YDESC), VALUE, NEEDED},
    {KIND(OPERATION_REDUCTION), OP(REDUCTION_DESC), VALUE, NEEDED},
    {KIND(OPERATION_RESHAPE), OP(RESHAPE_XDESC), VALUE, NEEDED},
    {KIND(OPERATION_RESHAPE), OP(RESHAPE_YDESC), VALUE, NEEDED},
    {KIND(MATMUL), CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, NEEDED},
    {KIND(OPERATION_MATMUL), OP(MATMUL_ADESC), VALUE, NEEDED},
    {KIND(OPERATION_MATMUL), OP(MATMUL_BDESC), VALUE, NEEDED},
    {KIND(OPERATION_MATMUL), OP(MATMUL_CDESC), VALUE, NEEDED},
    {KIND(OPERATION_MATMUL), OP(MATMUL_DESC), VALUE, NEEDED},
    {KIND(OPERATION_MATMUL), OP(MATMUL_GEMM_M_OVERRIDE_DESC), VALUE, 0},
    {KIND(OPERATION_MATMUL), OP(MATMUL_GEMM_N_OVERRIDE_DESC), VALUE, 0},
    {KIND(OPERATION_MATMUL), OP(MATMUL_GEMM_K_OVERRIDE_DESC), VALUE, 0},
    {KIND(OPERATIONGRAPH), CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, MOST,
     NEEDED},
    {KIND(OPERATIONGRAPH), CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, NEEDED},
    {KIND(ENGINEHEUR), CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, VALUE, NEEDED},
    {KIND(ENGINEHEUR), CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, NEEDED},
    {KIND(EXECUTION_PLAN), CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, VALUE, NEEDED},
    {KIND(EXECUTION_PLAN), CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, NEEDED},
    {KIND(VARIANT_PACK), CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, MOST, NEEDED},
    {KIND(VARIANT_PACK), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, MOST, NEEDED},
    {KIND(VARIANT_PACK), CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, NEEDED},
};
enum { LEGAL = sizeof legal / sizeof *legal };

// ---- Attributes ---------------------------------------------------------------------------------

const attribute *si_attribute(const node *d, int name) {
  for (int i = 0; i < d->n; i++)
    if (d->of[i].name == name) return &d->of[i];
  return NULL;
}
int64_t si_number(const node *d, int name, int64_t otherwise) {
  const attribute *a = si_attribute(d, name);
  return a ? a->v[0] : otherwise;
}
node *si_node(const node *d, int name) { return (node *)(intptr_t)si_number(d, name, 0); }
const int64_t *si_dim(const node *t) { return si_attribute(t, CUDNN_ATTR_TENSOR_DIMENSIONS)->v; }
const int64_t *si_stride(const node *t) { return si_attribute(t, CUDNN_ATTR_TENSOR_STRIDES)->v; }
int64_t si_span(const node *t) {
  int64_t n = 1;
  for (int i = 0; i < RANKS; i++) n += (si_dim(t)[i] - 1) * si_stride(t)[i];
  return n;
}
int si_size(int type) {
  return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_INT32     ? 4
         : type == CUDNN_DATA_HALF || type == CUDNN_DATA_BFLOAT16 ? 2
                                                                  : 0;
}

static bool is_kind(int kind) {
  static const int without[] = {KIND(ENGINE), KIND(ENGINECFG)};
  for (int i = 0; i < LEGAL; i++)
    if (legal[i].kind == kind) return true;
  return kind == without[0] || kind == without[1];
}
static bool is_node(const node *d) { return d && d->magic == NODE; }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t kind,
                                           cudnnBackendDescriptor_t *out) {
  if (!is_kind((int)kind)) return si_bad("a kind of descriptor that is not stood in for");
  node *d = calloc(1, sizeof *d);
  d->magic = NODE, d->kind = (int)kind;
  return *out = d, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) {
  if (!is_node(d)) return si_bad("a destroyed descriptor is destroyed");
  return ((node *)d)->magic = GONE, CUDNN_STATUS_SUCCESS;  // kept, to notice its use
}

static int64_t element(int type, const void *values, int64_t i) {
  if (type == CUDNN_TYPE_BOOLEAN) return ((const bool *)values)[i];
  if (type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_HANDLE ||
      type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    return ((const int64_t *)values)[i];
  return ((const int *)values)[i];
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t to,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n,
                                       const void *values) {
  node *d = to;
  if (!is_node(d) || d->finished) return si_bad("an attribute of a descriptor that is finished");
  int i = 0;
  while (i < LEGAL && (legal[i].kind != d->kind || legal[i].name != (int)name)) i++;
  if (i == LEGAL || legal[i].type != (int)type || n < 1 || n > legal[i].most)
    return si_bad("an attribute that its descriptor has not, or of another type or size");
  if (si_attribute(d, (int)name) || d->n == ATTRIBUTES) return si_bad("an attribute is set twice");
  attribute *a = &d->of[d->n++];
  *a = (attribute){.name = (int)name, .type = (int)type, .n = (int)n};
  for (int64_t k = 0; k < n; k++) {
    a->v[k] = element((int)type, values, k);
    const node *v = type == CUDNN_TYPE_BACKEND_DESCRIPTOR ? (node *)(intptr_t)a->v[k] : NULL;
    if (v && (!is_node(v) || !v->finished)) return si_bad("a descriptor that is not finished");
  }
  return CUDNN_STATUS_SUCCESS;
}

// ---- Finishing ----------------------------------------------------------------------------------

static const char *check_tensor(const node *t) {
  int type = (int)si_number(t, CUDNN_ATTR_TENSOR_DATA_TYPE, 0);
  int64_t aligned = si_number(t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 0);
  bool is_virtual = si_number(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0);
  if (is_virtual && si_number(t, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0)) return "virtual and by value";
  if (!si_size(type) && !(is_virtual && type == CUDNN_DATA_BOOLEAN)) return "its type";
  if (aligned < 1 || aligned & (aligned - 1)) return "its alignment";
  for (int i = 0; i < RANKS; i++)
    if (si_dim(t)[i] < 1 || si_stride(t)[i] < 1) return "a size or stride";
  return NULL;
}

static bool broadcasts(const node *source, const node *target) {
  for (int i = 0; i < RANKS; i++)
    if (si_dim(source)[i] != 1 && si_dim(source)[i] != si_dim(target)[i]) return false;
  return true;
}
static int type_of(const node *t) { return (int)si_number(t, CUDNN_ATTR_TENSOR_DATA_TYPE, -1); }

static const char *check_pointwise(const node *d) {
  const node *x = si_node(d, OP(POINTWISE_XDESC)), *b = si_node(d, OP(POINTWISE_BDESC));
  const node *t = si_node(d, OP(POINTWISE_TDESC)), *y = si_node(d, OP(POINTWISE_YDESC));
  int mode = (int)si_number(si_node(d, OP(POINTWISE_PW_DESCRIPTOR)), CUDNN_ATTR_POINTWISE_MODE, 0);
  bool one = mode == CUDNN_POINTWISE_EXP || mode == CUDNN_POINTWISE_LOG ||
             mode == CUDNN_POINTWISE_GEN_INDEX;
  bool truth = mode == CUDNN_POINTWISE_CMP_LT || mode == CUDNN_POINTWISE_CMP_GE ||
               mode == CUDNN_POINTWISE_LOGICAL_AND;
  if (one == !!b || (mode == CUDNN_POINTWISE_BINARY_SELECT) == !t) return "its operands";
  if (!broadcasts(x, y) || (b && !broadcasts(b, y)) || (t && !broadcasts(t, y))) return "its sizes";
  if (truth != (type_of(y) == CUDNN_DATA_BOOLEAN) || (t && type_of(t) != CUDNN_DATA_BOOLEAN) ||
      (mode == CUDNN_POINTWISE_GEN_INDEX) != (type_of(y) == CUDNN_DATA_INT32))
    return "its types";
  return NULL;
}

// A reshape is another view of the same memory.
static const char *check_reshape(const node *d) {
  const node *x = si_node(d, OP(RESHAPE_XDESC)), *y = si_node(d, OP(RESHAPE_YDESC));
  for (int i = 0; i < RANKS; i++) {
    bool found = si_dim(x)[i] == 1;
    for (int k = 0; k < RANKS; k++)
      found |= si_dim(x)[i] == si_dim(y)[k] && si_stride(x)[i] == si_stride(y)[k];
    if (!found) return "a view of other elements";
  }
  return NULL;
}

static bool counts(const node *t, int64_t n) {
  return !t || (type_of(t) == CUDNN_DATA_INT32 && si_dim(t)[0] == n && si_span(t) == n);
}
static const char *check_matmul(const node *d) {
  const node *a = si_node(d, OP(MATMUL_ADESC)), *b = si_node(d, OP(MATMUL_BDESC));
  const node *c = si_node(d, OP(MATMUL_CDESC));
  for (int i = 0; i < 2; i++)
    if (si_dim(a)[i] != si_dim(c)[i] || si_dim(b)[i] != si_dim(c)[i]) return "its batches";
  if (si_dim(a)[2] != si_dim(c)[2] || si_dim(b)[3] != si_dim(c)[3] || si_dim(a)[3] != si_dim(b)[2])
    return "its sizes";
  if (type_of(a) != type_of(b) || si_size(type_of(a)) != 2) return "its types";
  for (int name = OP(MATMUL_GEMM_M_OVERRIDE_DESC); name <= OP(MATMUL_GEMM_K_OVERRIDE_DESC); name++)
    if (!counts(si_node(d, name), si_dim(c)[0])) return "its numbers of rows or columns";
  return NULL;
}

static const char *check_plan(node *p) {
  const node *config = si_node(p, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  p->config = config->config, p->needs = config->needs;
  return NULL;
}
static const char *check_pack(const node *p) {
  return si_attribute(p, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)->n ==
                 si_attribute(p, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->n
             ? NULL
             : "other numbers of ids and addresses";
}

enum { NONDETERMINISTIC, HUGE_ONE, REFUSED, GOOD, OTHER, CONFIGS };
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t of) {
  node *d = of;
  const char *wrong = NULL;
  if (!is_node(d) || d->finished) return si_bad("a descriptor is finished twice");
  for (int i = 0; i < LEGAL; i++)
    if (legal[i].kind == d->kind && legal[i].needed && !si_attribute(d, legal[i].name))
      return si_bad("an attribute is missing");
  if (d->kind == KIND(TENSOR)) wrong = check_tensor(d);
  if (d->kind == KIND(OPERATION_POINTWISE)) wrong = check_pointwise(d);
  if (d->kind == KIND(OPERATION_RESHAPE)) wrong = check_reshape(d);
  if (d->kind == KIND(OPERATION_MATMUL)) wrong = check_matmul(d);
  if (d->kind == KIND(EXECUTION_PLAN)) wrong = check_plan(d);
  if (d->kind == KIND(VARIANT_PACK)) wrong = check_pack(d);
  if (wrong) return si_bad(wrong);
  if (d->kind == KIND(EXECUTION_PLAN) && d->config == REFUSED) return CUDNN_STATUS_NOT_SUPPORTED;
  return d->finished = true, CUDNN_STATUS_SUCCESS;
}

// ---- What a test asks for
// -------------------------------------------------------------------------

bool si_asked(const char *what) {
  const char *setting = getenv("STANDIN_CUDNN"), *of = setting ? strchr(setting, '@') : NULL;
  size_t n = of ? (size_t)(of - setting) : setting ? strlen(setting) : 0;
  return n == strlen(what) && !strncmp(setting, what, n) &&
         (!of || standin_device() == atoi(of + 1));
}

// Whether a test wants this execution to fail. first: of what is proposed first, that suits; later
// ones are those after `most`, more than programs try when they are opened.
bool si_execution_fails(const char *which, bool first, int most) {
  static int executions;
  char text[32];
  snprintf(text, sizeof text, "%s-first", which);
  if (first && si_asked(text)) return true;
  snprintf(text, sizeof text, "%s-later", which);
  return si_asked(which) || (si_asked(text) && ++executions > most);
}

// ---- Heuristics ---------------------------------------------------------------------------------

// Of heads. Version 9.26 has gradients of more than 128 for compute capability 9.0, not for 8.0.
static int64_t most_columns(bool gradient) {
  int major = 0;
  cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  return gradient && major < 9 ? 128 : 256;
}

// Of attention: the bytes that it needs, or -1 where cuDNN does not have it.
static int64_t needs_of(const node *graph) {
  const attribute *ops = si_attribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  int64_t needs = -1, more = 0;
  bool gradient = false;
  for (int i = ops->n; i--;) {
    const node *op = (node *)(intptr_t)ops->v[i];
    gradient |= op->kind == KIND(OPERATION_RESHAPE);
    if (op->kind != KIND(OPERATION_MATMUL)) continue;
    const int64_t *a = si_dim(si_node(op, OP(MATMUL_ADESC)));
    const int64_t *c = si_dim(si_node(op, OP(MATMUL_CDESC)));
    needs = c[0] * c[1] * ((c[2] + 63) / 64) * ((c[3] + 63) / 64) * 8192 + 1024;
    if (a[3] % 8 || a[3] > most_columns(gradient)) needs = -1;
    if (si_asked("large")) more = c[0] * c[1] << 24;  // 16 MB for each head
    if (si_asked("tight")) more = c[0] * c[1] << 19;  // 0.5 MB
  }
  return needs < 0 ? -1 : more + (gradient ? needs : 256);
}

static int64_t propose(const node *ask, int64_t most, node *const *out) {
  const int64_t huge = (int64_t)1 << 40;
  const node *graph = si_node(ask, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  int64_t needs = needs_of(graph);
  if (needs < 0 || si_asked("none")) return 0;
  for (int i = 0; i < CONFIGS && i < most; i++) {
    if (!is_node(out[i]) || out[i]->kind != KIND(ENGINECFG)) return 0;
    *out[i] = (node){NODE, KIND(ENGINECFG), .config = i, .finished = true};
    out[i]->needs = i == HUGE_ONE ? huge : needs;
    out[i]->of[out[i]->n++] = (attribute){0, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {(intptr_t)graph}};
  }
  return CONFIGS < most ? CONFIGS : most;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const of,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t most, int64_t *n,
                                       void *to) {
  node *d = of;
  (void)type;
  if (!is_node(d) || !d->finished) return si_bad("a descriptor is read that is not finished");
  *n = 1;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    *n = propose(d, most, to);
  } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    node *engine = *(node **)to;
    engine->config = d->config, engine->finished = true;
  } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    int *note = to;
    note[0] = d->config == NONDETERMINISTIC ? CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC
                                            : CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *(int64_t *)to = d->needs;
  } else {
    return si_bad("an attribute that is not stood in for is read");
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t h, cudnnBackendDescriptor_t of,
                                  cudnnBackendDescriptor_t with) {
  const node *plan = of, *pack = with;
  if (!is_node(plan) || !plan->finished || plan->kind != KIND(EXECUTION_PLAN) || !is_node(pack) ||
      !pack->finished || pack->kind != KIND(VARIANT_PACK))
    return si_bad("a plan, or what it runs with, is not finished");
  if (plan->config < GOOD) return si_bad("a plan that is not deterministic, or too large");
  if (si_execution_fails("fail-graph", plan->config == GOOD, 8))
    return CUDNN_STATUS_EXECUTION_FAILED;
  const node *config = si_node(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  return si_run_graph(h, (node *)(intptr_t)config->of[0].v[0], pack, plan->needs);
}
