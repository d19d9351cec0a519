// cudnn_run.c - runs a graph of operations, one after the other, in double. Values that are stored
// in 16 bits are rounded to them. What a product does not compute, as a sample has fewer rows, is
// NaN.
#include <math.h>
#include "tests/gpu/standin/cudnn.h"

#define OP(x) CUDNN_ATTR_OPERATION_##x
#define KIND(x) CUDNN_BACKEND_##x##_DESCRIPTOR
enum { VALUES = 96 };

typedef struct {
  int64_t id;
  const node *t;
  char *memory;  // in memory, or NULL
  double host;   // by value
  double *v;     // by the place in memory; NULL: not read, or made, yet
  bool made;     // by an operation
} value;
typedef struct {
  const node *graph;
  char *workspace;
  int64_t needs;
  int n;
  value of[VALUES];
} work;

static int64_t id_of(const node *t) { return si_number(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0); }
static bool is_virtual(const node *t) { return si_number(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0); }
static bool is_host(const node *t) { return si_number(t, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0); }
static int type_of(const node *t) { return (int)si_number(t, CUDNN_ATTR_TENSOR_DATA_TYPE, 0); }
static value *find(work *w, int64_t id) {
  for (int i = 0; i < w->n; i++)
    if (w->of[i].id == id) return &w->of[i];
  return NULL;
}

// ---- Elements -----------------------------------------------------------------------------------

// Read once for all elements, since a descriptor's attributes are searched for.
typedef struct {
  int64_t dim[RANKS], step[RANKS];  // step: 0 where the dimension is 1, which broadcasts
  int type;
} layout;
static layout layout_of(const node *t) {
  layout l = {.type = type_of(t)};
  for (int k = 0; k < RANKS; k++) {
    l.dim[k] = si_dim(t)[k];
    l.step[k] = l.dim[k] == 1 ? 0 : si_stride(t)[k];
  }
  return l;
}
static int64_t place(const layout *l, const int64_t index[RANKS]) {
  int64_t i = 0;
  for (int k = 0; k < RANKS; k++) i += index[k] * l->step[k];
  return i;
}
static bool next(const layout *l, int64_t index[RANKS]) {
  for (int k = RANKS; k--; index[k] = 0)
    if (++index[k] < l->dim[k]) return true;
  return false;
}
static double load(int type, const char *values, int64_t i) {
  return type == CUDNN_DATA_FLOAT   ? ((const float *)values)[i]
         : type == CUDNN_DATA_INT32 ? (float)((const int *)values)[i]
         : type == CUDNN_DATA_HALF  ? standin_f16(((const uint16_t *)values)[i])
                                    : standin_bf16(((const uint16_t *)values)[i]);
}
static double rounded(int type, double v) {
  return type == CUDNN_DATA_HALF       ? standin_f16(standin_to_f16((float)v))
         : type == CUDNN_DATA_BFLOAT16 ? standin_bf16(standin_to_bf16((float)v))
                                       : v;
}
static void store(int type, char *values, int64_t i, double v) {
  if (type == CUDNN_DATA_FLOAT)
    ((float *)values)[i] = (float)v;
  else
    ((uint16_t *)values)[i] =
        type == CUDNN_DATA_HALF ? standin_to_f16((float)v) : standin_to_bf16((float)v);
}

// The elements of an operand: those of memory are read when they are needed first. The same memory
// may be seen in several ways.
static const double *read(work *w, const node *t) {
  value *v = find(w, id_of(t));
  if (is_host(t)) return &v->host;
  if (v->v) return v->v;
  layout l = layout_of(t);
  int64_t index[RANKS] = {0};
  v->v = calloc((size_t)si_span(t), sizeof *v->v);
  do {
    int64_t i = place(&l, index);
    v->v[i] = load(l.type, v->memory, i);
  } while (next(&l, index));
  return v->v;
}
static value *result(work *w, const node *t) {
  value *v = find(w, id_of(t));
  if (!v->v) v->v = calloc((size_t)si_span(t), sizeof *v->v);
  return v;
}
static void put(value *to, int type, int64_t i, double v) {
  to->v[i] = rounded(type, v);
  if (to->memory) store(type, to->memory, i, v);
}

// ---- Operations ---------------------------------------------------------------------------------

static double pointwise(int mode, double x, double b, double t) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + b;
    case CUDNN_POINTWISE_SUB:
      return x - b;
    case CUDNN_POINTWISE_MUL:
      return x * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    case CUDNN_POINTWISE_EXP:
      return exp(x);
    case CUDNN_POINTWISE_LOG:
      return log(x);
    case CUDNN_POINTWISE_CMP_LT:
      return x < b;
    case CUDNN_POINTWISE_CMP_GE:
      return x >= b;
    case CUDNN_POINTWISE_LOGICAL_AND:
      return x != 0 && b != 0;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return t != 0 ? x : b;
    default:
      return NAN;
  }
}

static void run_pointwise(work *w, const node *d) {
  const node *how = si_node(d, OP(POINTWISE_PW_DESCRIPTOR)), *y = si_node(d, OP(POINTWISE_YDESC));
  const node *of[] = {si_node(d, OP(POINTWISE_XDESC)), si_node(d, OP(POINTWISE_BDESC)),
                      si_node(d, OP(POINTWISE_TDESC))};
  int mode = (int)si_number(how, CUDNN_ATTR_POINTWISE_MODE, 0);
  int64_t index[RANKS] = {0}, axis = si_number(how, CUDNN_ATTR_POINTWISE_AXIS, 0);
  const double *operand[3] = {0};
  layout in[3], out = layout_of(y);
  for (int i = 0; i < 3 && mode != CUDNN_POINTWISE_GEN_INDEX; i++)
    if (of[i]) operand[i] = read(w, of[i]), in[i] = layout_of(of[i]);
  value *to = result(w, y);
  do {
    double v[3] = {0};
    for (int i = 0; i < 3; i++)
      if (operand[i]) v[i] = operand[i][place(&in[i], index)];
    put(to, out.type, place(&out, index),
        mode == CUDNN_POINTWISE_GEN_INDEX ? (double)index[axis]
                                          : pointwise(mode, v[0], v[1], v[2]));
  } while (next(&out, index));
}

static void run_reduction(work *w, const node *d) {
  const node *x = si_node(d, OP(REDUCTION_XDESC)), *y = si_node(d, OP(REDUCTION_YDESC));
  bool top = si_number(si_node(d, OP(REDUCTION_DESC)), CUDNN_ATTR_REDUCTION_OPERATOR, 0) ==
             CUDNN_REDUCE_TENSOR_MAX;
  const double *operand = read(w, x);
  double *sum = result(w, y)->v;
  layout in = layout_of(x), out = layout_of(y);
  int64_t index[RANKS] = {0}, n = si_span(y);
  for (int64_t i = 0; i < n; i++) sum[i] = top ? -INFINITY : 0;
  do {
    double v = operand[place(&in, index)], *to = &sum[place(&out, index)];
    *to = top ? fmax(*to, v) : *to + v;
  } while (next(&in, index));
}

static void run_reshape(work *w, const node *d) {
  const node *x = si_node(d, OP(RESHAPE_XDESC)), *y = si_node(d, OP(RESHAPE_YDESC));
  const double *operand = read(w, x);
  double *to = result(w, y)->v;
  int64_t n = si_span(x);
  for (int64_t i = 0; i < n; i++) to[i] = rounded(type_of(y), operand[i]);
}

static int64_t count(work *w, const node *d, int name, int64_t sample, int64_t all) {
  const node *t = si_node(d, name);
  return t ? (int64_t)read(w, t)[sample] : all;
}
static void run_matmul(work *w, const node *d) {
  const node *a = si_node(d, OP(MATMUL_ADESC)), *b = si_node(d, OP(MATMUL_BDESC));
  const node *c = si_node(d, OP(MATMUL_CDESC));
  const double *x = read(w, a), *y = read(w, b);
  layout left = layout_of(a), right = layout_of(b), out = layout_of(c);
  value *to = result(w, c);
  int64_t index[RANKS] = {0}, m = 0, n = 0, k = 0;
  do {
    if (!index[1] && !index[2] && !index[3]) {  // of a sample
      m = count(w, d, OP(MATMUL_GEMM_M_OVERRIDE_DESC), index[0], out.dim[2]);
      n = count(w, d, OP(MATMUL_GEMM_N_OVERRIDE_DESC), index[0], out.dim[3]);
      k = count(w, d, OP(MATMUL_GEMM_K_OVERRIDE_DESC), index[0], left.dim[3]);
    }
    double sum = index[2] < m && index[3] < n ? 0 : NAN;
    for (int64_t i = 0; i < k && i < left.dim[3]; i++)
      sum += x[place(&left, (int64_t[]){index[0], index[1], index[2], i})] *
             y[place(&right, (int64_t[]){index[0], index[1], i, index[3]})];
    put(to, out.type, place(&out, index), sum);
  } while (next(&out, index));
}

static int run_all(void *arg) {
  work *w = arg;
  const attribute *ops = si_attribute(w->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (w->needs) memset(w->workspace, 0xee, (size_t)w->needs);
  for (int i = 0; i < ops->n; i++) {
    const node *d = (node *)(intptr_t)ops->v[i];
    if (d->kind == KIND(OPERATION_POINTWISE)) run_pointwise(w, d);
    if (d->kind == KIND(OPERATION_REDUCTION)) run_reduction(w, d);
    if (d->kind == KIND(OPERATION_RESHAPE)) run_reshape(w, d);
    if (d->kind == KIND(OPERATION_MATMUL)) run_matmul(w, d);
  }
  for (int i = 0; i < w->n; i++) free(w->of[i].v), w->of[i].v = NULL;  // it may run again
  return 1;
}

// ---- Checks -------------------------------------------------------------------------------------

// Where the call has a value; false: it has none, or a wrong address.
static bool locate(value *v, const node *pack) {
  const attribute *id = si_attribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const attribute *pointers = si_attribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  int64_t aligned = si_number(v->t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
  for (int i = 0; i < id->n; i++)
    if (id->v[i] == v->id) v->memory = (char *)(intptr_t)pointers->v[i];
  if (!v->memory) return si_bad("a value has no address"), false;
  if (is_host(v->t)) {
    v->host = *(const float *)(const void *)v->memory, v->memory = NULL;
    return true;
  }
  if ((intptr_t)v->memory % aligned)
    return si_bad("a value is not aligned as its tensor says"), false;
  size_t bytes = (size_t)(si_span(v->t) * si_size(type_of(v->t)));
  return !standin_range(v->memory, bytes, standin_device(), "a value of a graph");
}

static bool add(work *w, const node *t, const node *pack, bool makes) {
  value *v = find(w, id_of(t));
  if (!v) {
    if (w->n == VALUES) return si_bad("a graph with too many values"), false;
    v = &w->of[w->n++];
    *v = (value){.id = id_of(t), .t = t, .made = makes};
    if (is_virtual(t) ? !makes : !locate(v, pack))
      return si_bad("a value is read before it is made"), false;
  } else if (makes || si_span(v->t) != si_span(t) || type_of(v->t) != type_of(t)) {
    return si_bad("two values have one id"), false;
  }
  return true;
}

// The values of an operation, and last its result.
static bool add_op(work *w, const node *op, const node *pack) {
  static const struct {
    int kind, of[7], result;
  } each[] = {{KIND(OPERATION_POINTWISE),
               {OP(POINTWISE_XDESC), OP(POINTWISE_BDESC), OP(POINTWISE_TDESC)},
               OP(POINTWISE_YDESC)},
              {KIND(OPERATION_REDUCTION), {OP(REDUCTION_XDESC)}, OP(REDUCTION_YDESC)},
              {KIND(OPERATION_RESHAPE), {OP(RESHAPE_XDESC)}, OP(RESHAPE_YDESC)},
              {KIND(OPERATION_MATMUL),
               {OP(MATMUL_ADESC), OP(MATMUL_BDESC), OP(MATMUL_GEMM_M_OVERRIDE_DESC),
                OP(MATMUL_GEMM_N_OVERRIDE_DESC), OP(MATMUL_GEMM_K_OVERRIDE_DESC)},
               OP(MATMUL_CDESC)}};
  for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
    if (each[i].kind != op->kind) continue;
    for (int k = 0; each[i].of[k]; k++)
      if (si_node(op, each[i].of[k]) && !add(w, si_node(op, each[i].of[k]), pack, false))
        return false;
    return add(w, si_node(op, each[i].result), pack, true);
  }
  return si_bad("what is no operation in a graph"), false;
}

static void announce(const work *w) {
  for (int i = 0; i < w->n; i++)
    if (w->of[i].memory)
      standin_uses(w->of[i].memory, (size_t)(si_span(w->of[i].t) * si_size(type_of(w->of[i].t))),
                   w->of[i].made);
  if (w->needs) standin_uses(w->workspace, (size_t)w->needs, 1);
}

cudnnStatus_t si_run_graph(cudnnHandle_t h, const node *graph, const node *pack, int64_t needs) {
  work w = {.graph = graph, .needs = needs};
  const attribute *ops = si_attribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  if (!si_ready(h)) return CUDNN_STATUS_BAD_PARAM;
  for (int i = 0; i < ops->n; i++)
    if (!add_op(&w, (node *)(intptr_t)ops->v[i], pack)) return CUDNN_STATUS_BAD_PARAM;
  int placed = 0;
  for (int i = 0; i < w.n; i++) placed += !is_virtual(w.of[i].t);
  if (placed != si_attribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)->n)
    return si_bad("addresses of values that the graph has not");
  w.workspace = (char *)(intptr_t)si_number(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 0);
  if (standin_range(w.workspace, (size_t)needs, standin_device(), "workspace") ||
      (intptr_t)w.workspace % 256)
    return si_bad("a workspace that is too small, or not aligned");
  announce(&w);
  return standin_enqueue(h->stream, "cudnnBackendExecute", run_all, &w, sizeof w, NULL)
             ? CUDNN_STATUS_EXECUTION_FAILED
             : CUDNN_STATUS_SUCCESS;
}
