// test_gradients.c - every op's gradient rule against central differences, in double: a graph
// loss = sum of weighted results, its backward graph, and the loss at points around; and the same
// of the sum of weighted gradients. All of it runs on reference kernels.
//   test_gradients [TEST [OP]]
#include <math.h>
#include "tests/check.h"
#include "tests/ops/bench.h"

static const char *only;

// By how much slopes may differ, relative to 1 + |slope|, and the step of the difference.
static const struct tolerance {
  const char *op;
  double most, step;
} tolerances[] = {
    {NULL, 1e-6, 1e-5},  // all that are not below
};

static struct tolerance tolerance_of(const gr_op_call *s) {
  for (int k = 0; k < s->n_out; k++)  // results in f32 whatever the operands: coarser steps
    if (s->out[k].dtype == GR_F32) return (struct tolerance){NULL, 1e-2, 1e-2};
  for (size_t i = 1; i < sizeof tolerances / sizeof *tolerances; i++)
    if (!strcmp(tolerances[i].op, s->op->name)) return tolerances[i];
  return tolerances[0];
}

// A gradient that takes operands for what follows from others: of these alone it is checked, in the
// test `second`.
static const char *const not_free[] = {"attention_grad"};
// Gradients that have none themselves, and why.
static const struct {
  const char *op, *why;
  int first, last;  // cases
} once[] = {
    {"ctc_loss", "its gradient is a recursion over frames", 0, 99},
    {"ctc_loss_with_residuals", "as that", 0, 99},
    {"attention", "causal rows are aligned with the last keys", 4, 5},
    {"attention_with_residuals", "as that", 4, 5},
};

static bool is_free(const gr_op *op) {
  bool free = true;
  for (size_t i = 0; i < sizeof not_free / sizeof *not_free; i++)
    free &= strcmp(not_free[i], op->name) != 0;
  return free;
}

static bool is_once(const gr_op *op, int at_case) {
  for (size_t i = 0; i < sizeof once / sizeof *once; i++)
    if (!strcmp(once[i].op, op->name)) return at_case >= once[i].first && at_case <= once[i].last;
  return false;
}

// The forward graph of a case, and with its gradients; of the second ones, what they are of is the
// forward graph. Operands are the first leaves.
typedef struct tape {
  gr_arena *arena;
  gr_graph *forward, *both;
  gr_val grad[GR_MAX_ARGS];  // in `both`, by operand
  int n_in;
} tape;

static gr_val weigh(gr_builder *b, gr_val y, const char *name, gr_val loss) {
  gr_type t = gr_at(b->g, y)->type;
  gr_val w = gr_leaf(b, GR_INPUT, 0, name, t, gr_layout_replicated);
  gr_val s = gr_mul(b, y, w);
  for (int d = t.rank; d-- && !b->err;) s = gr_sum(b, s, 0);
  s = gr_cast(b, s, GR_F64);
  return gr_is(loss) ? gr_add(b, loss, s) : s;
}

// How many results count: of "x_with_residuals", which x becomes for its gradient's sake, those of
// x.
static int results_of(const gr_op_call *s) {
  char name[64];
  size_t n = strlen(s->op->name);
  if (n < 16 || n >= sizeof name || strcmp(s->op->name + n - 15, "_with_residuals"))
    return s->n_out;
  snprintf(name, sizeof name, "%.*s", (int)n - 15, s->op->name);
  gr_op_call plain = *s;
  plain.op = gr_op_find(name);
  MUST(gr_op_infer(&plain));
  return plain.n_out;
}

static void write_forward(gr_builder *b, const use *u) {
  gr_val x[GR_MAX_ARGS];
  for (int k = 0; k < u->call.n_in; k++)
    x[k] = gr_leaf(b, GR_STATE, GR_KIND_WEIGHT, "x", u->in[k].type, gr_layout_replicated);
  gr_val y = gr_emit(b, u->call.op, u->call.attr, u->call.n_in, x);
  for (int k = 0; !b->err && k < results_of(&u->call); k++) {
    gr_val v = {y.id + (uint32_t)k};
    if (gr_dtypes[gr_at(b->g, v)->type.dtype].is_float)
      b->g->loss = weigh(b, v, k ? "w1" : "w0", b->g->loss);
  }
}

// As the autodiff pass does it: the forward part again, what is kept with it, then the rules.
static gr_status write_both(tape *t, const bool *wanted) {
  const gr_graph *g = t->forward;
  gr_builder b = {.g = t->both, .created_by = "test"};
  bool *want = GR_NEW(t->arena, bool, g->n_values);
  gr_val *here = GR_NEW(t->arena, gr_val, g->n_values);
  gr_val *grads = GR_NEW(t->arena, gr_val, g->n_values);
  for (int k = 0; k < t->n_in; k++) want[k + 1] = wanted[k];
  gr_mark_differentiable(g, want);
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    if (v->role != GR_TEMP) here[i] = gr_leaf(&b, v->role, 0, v->name, v->type, v->layout);
    if (v->role == GR_TEMP && g->nodes[v->node].out.id == i)
      gr_emit_with_residuals(&b, g, &g->nodes[v->node], here, want);
  }
  gr_type one = {.dtype = GR_F64};
  if (!b.err) grads[g->loss.id] = gr_fill(&b, &one, 1);
  gr_status s = b.err ? b.err : gr_backward(&b, &gr_op_add, g, here, want, grads);
  for (int k = 0; !s && k < t->n_in; k++) t->grad[k] = wanted[k] ? grads[k + 1] : GR_NONE;
  return s;
}

static gr_status tape_open(tape *t, const use *u, const bool *wanted) {
  *t = (tape){.arena = gr_arena_create(), .n_in = u->call.n_in};
  t->forward = gr_graph_create(t->arena, NULL);
  t->both = gr_graph_create(t->arena, NULL);
  gr_builder b = {.g = t->forward, .created_by = "test"};
  write_forward(&b, u);
  if (b.err) return b.err;
  if (!gr_is(t->forward->loss)) return GR_OK;
  return write_both(t, wanted);
}

// Operands and weights into a graph's leaves, in order.
static value *leaves(const gr_graph *g, const use *u) {
  value *v = calloc(g->n_values, sizeof *v);
  int k = 0;
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *leaf = &g->values[i];
    if (leaf->role == GR_STATE) v[i] = value_copy(&u->in[k++]);
    if (leaf->role != GR_INPUT) continue;
    gr_rng r = gr_rng_make(3, leaf->name, 0);
    v[i] = value_make(leaf->type);
    for (int64_t j = 0; j < value_count(&v[i]); j++)
      value_put(&v[i], j, 0.5 + gr_rng_uniform(&r, (uint64_t)j));
  }
  return v;
}

static double loss_at(const gr_graph *g, const use *u) {
  value *v = leaves(g, u);
  MUST(graph_run(g, v));
  double loss = value_get(&v[g->loss.id], 0);
  values_free(v, g->n_values);
  free(v);
  return loss;
}

// The slope of the loss along number i of operand k.
static double slope(const tape *t, use *u, int k, int64_t i, double step) {
  double original = value_get(&u->in[k], i);
  value_put(&u->in[k], i, original + step);
  double more = loss_at(t->forward, u);
  value_put(&u->in[k], i, original - step);
  double less = loss_at(t->forward, u);
  value_put(&u->in[k], i, original);
  return (more - less) / (2 * step);
}

static void check_operand(const tape *t, use *u, const value *grads, int k, const char *what) {
  struct tolerance tol = tolerance_of(&u->call);
  double far = 0, got = 0, want = 0;
  int64_t n = value_count(&u->in[k]), stride = n / 24 + 1, worst_at = 0;
  for (int64_t i = 0; i < n; i += stride) {
    double computed = gr_is(t->grad[k]) ? value_get(&grads[t->grad[k].id], i) : 0;
    double should = slope(t, u, k, i, tol.step), d = fabs(computed - should) / (1 + fabs(should));
    if (isnan(d) || d > far)
      far = isnan(d) ? INFINITY : d, worst_at = i, got = computed, want = should;
  }
  CHECK(far <= tol.most, "%s %s: gradient of operand %d, number %lld is %.9g, not %.9g",
        u->call.op->name, what, k, (long long)worst_at, got, want);
}

static void check_slopes(const tape *t, use *u, const bool *wanted, const char *what) {
  value *v = leaves(t->both, u);
  MUST(graph_run(t->both, v));
  for (int k = 0; k < u->call.n_in; k++)
    if (wanted[k]) check_operand(t, u, v, k, what);
  values_free(v, t->both->n_values);
  free(v);
}

static void check_grads(use *u, const bool *wanted, int at_case) {
  tape t;
  char what[32];
  snprintf(what, sizeof what, "case %d", at_case);
  gr_status s = tape_open(&t, u, wanted);
  CHECK(!s, "%s %s: %s", u->call.op->name, what, s ? gr_status_text(s) : "");
  if (!s && gr_is(t.forward->loss)) check_slopes(&t, u, wanted, what);
  if (s) gr_status_drop(s);
  gr_arena_destroy(t.arena);
}

// The gradients of the sum of all gradients, weighed.
static gr_status tape_again(tape *t, const bool *wanted) {
  static const char *const names[] = {"v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8"};
  gr_builder b = {.g = t->both, .created_by = "test"};
  t->both->loss = GR_NONE;
  for (int k = 0; k < t->n_in; k++)
    if (gr_is(t->grad[k])) t->both->loss = weigh(&b, t->grad[k], names[k], t->both->loss);
  if (b.err || !gr_is(t->both->loss)) return b.err;
  t->forward = t->both, t->both = gr_graph_create(t->arena, NULL);
  return write_both(t, wanted);
}

static void check_second(use *u, const bool *wanted, int at_case) {
  tape t;
  char what[32];
  snprintf(what, sizeof what, "case %d, second", at_case);
  gr_status s = tape_open(&t, u, wanted);
  bool any = !s && gr_is(t.forward->loss);
  if (any) s = tape_again(&t, wanted);
  bool refused = s && gr_status_code(s) == GR_ERR_UNSUPPORTED;
  CHECK(refused == (any && is_once(u->call.op, at_case)) && (refused || !s), "%s %s: %s",
        u->call.op->name, what, s ? gr_status_text(s) : "is there");
  if (!s && any && gr_is(t.forward->loss)) check_slopes(&t, u, wanted, what);
  if (s) gr_status_drop(s);
  gr_arena_destroy(t.arena);
}

// A case in double. Sets which operands have a gradient, and returns how many do.
static int use_of_doubles(use *u, const gr_op *op, const gr_case *c, int at_case,
                          bool wanted[GR_MAX_ARGS]) {
  int floats = 0;
  MUST(use_of_case(u, op, c, (uint64_t)at_case));
  for (int k = 0; k < u->call.n_in; k++) {
    bool is_float = gr_dtypes[u->in[k].type.dtype].is_float;
    char letter = c->fill && strlen(c->fill) > (size_t)k ? c->fill[k] : 'n';
    wanted[k] = is_float && letter != 'c' && letter != 'm';
    floats += wanted[k];
    if (!is_float) continue;
    value as = value_as(&u->in[k], GR_F64);
    value_free(&u->in[k]);
    u->in[k] = as, u->call.in[k] = as.type;
  }
  MUST(gr_op_infer(&u->call));
  return floats;
}

// All gradients at once, and each alone: rules look at what is wanted.
static void check_case(const gr_op *op, const gr_case *c, int at_case) {
  use u;
  bool wanted[GR_MAX_ARGS] = {0};
  int floats = use_of_doubles(&u, op, c, at_case, wanted);
  if (floats && is_free(op)) check_grads(&u, wanted, at_case);
  for (int k = 0; floats > 1 && is_free(op) && k < u.call.n_in; k++) {
    bool one[GR_MAX_ARGS] = {0};
    one[k] = wanted[k];
    if (one[k]) check_grads(&u, one, at_case);
  }
  use_free(&u);
}

// Rounded results have no slope that differences could see.
static bool rounds(const gr_op *op, const gr_case *c) {
  use u;
  if (use_of_case(&u, op, c, 0)) return true;
  bool low = false;
  for (int k = 0; k < u.call.n_out; k++)
    low |= gr_is_narrow(u.call.out[k].dtype) && u.call.in[0].dtype != u.call.out[k].dtype;
  use_free(&u);
  return low;
}

static void check_twice(const gr_op *op, const gr_case *c, int at_case) {
  use u;
  bool wanted[GR_MAX_ARGS] = {0};
  size_t n = strlen(op->name);
  if (n > 5 && !strcmp(op->name + n - 5, "_grad")) return;  // that is the first of what it is of
  if (use_of_doubles(&u, op, c, at_case, wanted)) check_second(&u, wanted, at_case);
  use_free(&u);
}

static void each_case(void (*check)(const gr_op *, const gr_case *, int)) {
  for (const gr_op *const *o = gr_ops; *o; o++) {
    if ((only && strcmp(only, (*o)->name)) || !(*o)->grad) continue;
    if ((*o)->collective || gr_op_has_body(*o)) continue;
    int i = 0;
    for (const gr_case *c = (*o)->cases; c && (c->in[0] || c->attr); c++, i++)
      if (!c->fails && !rounds(*o, c)) check(*o, c, i);
  }
}

static void gradients(void) { each_case(check_case); }
static void second(void) { each_case(check_twice); }

static void listed(void) {
  printf("     no gradient:");
  for (const gr_op *const *o = gr_ops; *o; o++)
    if (!(*o)->grad) printf(" %s", (*o)->name);
  printf("\n");
}

int main(int argc, char **argv) {
  only = argc > 2 ? argv[2] : NULL;
  return RUN(argc, argv, {"gradients", gradients}, {"second", second}, {"listed", listed});
}
