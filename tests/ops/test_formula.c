// test_formula.c - statements on elements and scalars (ops/kernels/formula.h): their lists as data,
// and what ops with such formulas say elsewhere: notation, attributes, places of results.
#include <string.h>
#include "ops/kernels/formula.h"
#include "ops/kernels/gpu.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

// ---- A formula ----------------------------------------------------------------------------------

GR_UPDATE(follows, void, (EACH(w), ONE(ok), EACH(m), EACH(g)), (w, m), m = m + g; w = w - m;)
static const gr_op follows_op = {GR_FORMULA_FIELDS(follows)};

typedef struct made {
  double slope, bend;
} made;

GR_FORMULA(made, made,
           (EACH(x), ONE(by), EACH(y), PARAM(slope), PARAM(bend), SHARED(half, fmin(by, 8.0) / 2),
            SHARED(last, half + slope)),
           (x, sum),  // results
           x = x * slope;
           const T sum = (x + y) * half + last * bend;)

static const gr_attr attrs[] = {GR_ATTR(made, slope, GR_ATTR_FLOAT, "2.0", "a factor"),
                                GR_ATTR(made, bend, GR_ATTR_FLOAT, "3.0", "another"),
                                {0}};
static const gr_op made_op = {GR_FORMULA_FIELDS(made), .n_in = GR_ANY,
                              .n_out = GR_ANY,         .attr_size = sizeof(made),
                              .attrs = attrs,          .index_spec_of = gr_formula_index_spec};

static bool equals(const char *text, int n, const char *want) {
  return (size_t)n == strlen(want) && (!n || !strncmp(text, want, strlen(want)));
}

static void lists(void) {
  static const struct {
    gr_name_kind kind;
    const char *name, *expression;
  } want[] = {{GR_NAME_EACH, "x", ""},
              {GR_NAME_ONE, "by", ""},
              {GR_NAME_EACH, "y", ""},
              {GR_NAME_PARAM, "slope", ""},
              {GR_NAME_PARAM, "bend", ""},
              {GR_NAME_SHARED, "half", "fmin(by, 8.0) / 2"},
              {GR_NAME_SHARED, "last", "half + slope"}};
  gr_formula_name name[GR_FORMULA_NAMES];
  int n = gr_formula_list(&made_formula, name);
  CHECK(n == 7, "%d names", n);
  for (int k = 0; k < n && k < 7; k++)
    CHECK(name[k].kind == want[k].kind && equals(name[k].name, name[k].n_name, want[k].name) &&
              equals(name[k].expression, name[k].n_expression, want[k].expression),
          "name %d is '%.*s' = '%.*s'", k, name[k].n_name, name[k].name, name[k].n_expression,
          name[k].expression ? name[k].expression : "");
  n = gr_formula_results(&made_formula, name);
  CHECK(n == 2 && equals(name[0].name, name[0].n_name, "x") &&
            equals(name[1].name, name[1].n_name, "sum"),
        "%d results", n);
}

static void places(void) {
  CHECK(gr_op_inplace(&follows_op, 0) == 0 && gr_op_inplace(&follows_op, 1) == 2, "of an update");
  CHECK(gr_op_inplace(&follows_op, 2) == -1, "of a result that there is not");
  CHECK(gr_op_inplace(&made_op, 0) == -1, "of results that need not follow their operands");
}

static void numbers_of_operands(void) {
  static const char *const specs[] = {[3] = "...,,...->...,...", [5] = "...,,...,,->...,..."};
  char buf[128];
  for (int n = 0; n < 8; n++) {
    gr_op_call c = {.op = &made_op, .n_in = n};
    bool takes = n == 3 || n == 5;
    CHECK((gr_formula_of(&made_op, n) != NULL) == takes, "%d operands", n);
    gr_formula_index_spec(&c, buf);
    CHECK(!strcmp(buf, specs[n > 3 ? 5 : 3]), "%d operands: %s", n, buf);
    for (int k = 0; k < n; k++) c.in[k] = (gr_type){.dtype = GR_F32, .rank = k == 0 || k == 2};
    c.in[0].dim[0] = c.in[2].dim[0] = 4;
    gr_status s = gr_op_infer(&c);
    CHECK(!s == takes, "%d operands: %s", n, s ? gr_status_text(s) : "accepted");
    gr_status_drop(s);
  }
}

// Both kernels, with attributes and with operands in their place.
static void values(void) {
  float x[5] = {1, 2, 3, 4, 5}, y[5] = {0, 1, 0, 1, 0}, by = 20, out[2][5];
  double slope = 10, bend = 1;
  for (int way = 0; way < 4; way++) {
    bool set = way & 1, fast = way & 2;
    gr_type v = {.dtype = GR_F32, .rank = 1, .dim = {5}}, one = {.dtype = GR_F32},
            wide = {.dtype = GR_F64};
    gr_op_call c = {.op = &made_op, .attr = &(made){2, 3}, .n_in = set ? 5 : 3};
    memcpy(c.in, (gr_type[]){v, one, v, wide, wide}, sizeof(gr_type[5]));
    MUST(gr_op_infer(&c));
    gr_kernel kernel = fast ? gr_formula_fast(&c) : made_op.cpu;
    gr_launch l = {.attr = c.attr, .n_in = c.n_in, .n_out = 2, .in_type = c.in, .out_type = c.out};
    l.in = (const void *[]){x, &by, y, &slope, &bend}, l.out = (void *[]){out[0], out[1]};
    MUST(kernel(&l));
    double a = set ? slope : 2, b = set ? bend : 3;
    for (int i = 0; i < 5; i++) {
      double want = ((double)x[i] * a + (double)y[i]) * 4 + (4 + a) * b;
      CHECK((double)out[0][i] == (double)x[i] * a && (double)out[1][i] == want,
            "way %d: %g and %g, not %g and %g", way, (double)out[0][i], (double)out[1][i],
            (double)x[i] * a, want);
    }
    c.in[2].dtype = GR_F64;
    CHECK(!gr_formula_fast(&c), "a fast kernel for f64");
  }
}

// The text for GPUs has attributes as parameters, or reads them as operands.
static void text_for_gpus(void) {
  gr_arena *arena = gr_arena_create();
  for (int n = 3; n < 6; n += 2) {
    gr_type v = {.dtype = GR_F32, .rank = 1, .dim = {5}}, one = {.dtype = GR_F32};
    gr_op_call c = {.op = &made_op, .attr = &(made){2, 3}, .n_in = n, .n_out = 2, .out = {v, v}};
    memcpy(c.in, (gr_type[]){v, one, v, one, one}, sizeof(gr_type[5]));
    gr_gpu_call g = {.call = &c, .arena = arena};
    g.launch = GR_NEW(arena, gr_gpu_launch, GR_GPU_LAUNCHES);
    MUST(gr_gpu_describe(&g));
    const gr_gpu_kernel *k = &g.launch->kernel;
    CHECK(g.n == 1 && k->n_numbers == (n == 3 ? 3 : 1), "%d numbers", k->n_numbers);
    CHECK(k->number[0].i == 5 && (n == 5 || (k->number[1].r == 2 && k->number[2].r == 3)),
          "numbers are not the attributes");
    CHECK((strstr(k->source, "double set_slope") != NULL) == (n == 3) &&
              (strstr(k->source, "gr_get(in3, 0)") != NULL) == (n == 5) &&
              strstr(k->source, "const double half = fmin(by, 8.0) / 2;"),
          "%s", k->source);
    c.in[0].dtype = GR_I32;
    g.n = 0;
    MUST(gr_gpu_describe(&g));
    CHECK(strstr(g.launch->kernel.source, "typedef double T"), "elements that a float cannot hold");
  }
  gr_op_call wrong = {.op = &made_op, .n_in = 4};
  gr_status s = gr_gpu_describe(&(gr_gpu_call){.call = &wrong, .arena = arena});
  CHECK(gr_status_code(s) == GR_ERR_UNSUPPORTED, "a kernel for 4 operands");
  gr_status_drop(s);
  gr_arena_destroy(arena);
}

// ---- Ops ----------------------------------------------------------------------------------------

static bool has_attribute(const gr_op *op, const gr_formula_name *name) {
  for (const gr_attr *a = op->attrs; a && a->name; a++)
    if (strlen(a->name) == (size_t)name->n_name && !strncmp(a->name, name->name, strlen(a->name)))
      return true;
  return false;
}

// What a formula says of the operands of a case is what its notation says, and each result of an
// update follows an operand, whose memory it may take.
static void statement_case(gr_arena *work, const gr_op_call *c, const gr_formula *f) {
  gr_formula_name name[GR_FORMULA_NAMES], result[GR_FORMULA_NAMES];
  const char *op = c->op->name;
  int n = gr_formula_list(f, name), n_results = gr_formula_results(f, result);
  CHECK(n_results == c->n_out, "%s has %d results, not %d", op, c->n_out, n_results);
  for (int k = 0; k < n; k++) {
    bool each = name[k].kind == GR_NAME_EACH, param = name[k].kind == GR_NAME_PARAM;
    if (each) CHECK(k < c->n_in && c->in[k].rank == c->out[0].rank, "%s: operand %d", op, k);
    if (!each && k < c->n_in) CHECK(!c->in[k].rank, "%s: operand %d is no scalar", op, k);
    if (param) CHECK(has_attribute(c->op, &name[k]), "%s has no such attribute: %d", op, k);
  }
  for (int k = 0; f->if_ok && k < n_results; k++) {
    int place = gr_op_inplace(c->op, k);
    CHECK(place >= 0 && place < c->n_in && name[place].kind == GR_NAME_EACH &&
              equals(result[k].name, result[k].n_name,
                     gr_arena_printf(work, "%.*s", name[place].n_name, name[place].name)),
          "%s: result %d follows operand %d", op, k, place);
  }
}

static int count(const char *text, const char *word) {
  int n = 0;
  for (const char *p = strstr(text, word); p; p = strstr(p + 1, word)) n++;
  return n;
}

// An element of the kernel for GPUs is read once of each operand and written once of each result,
// 16 bytes of them at once: no kernel could move less.
static void moves_least(gr_arena *work, const gr_op_call *c, const gr_formula *f) {
  gr_formula_name name[GR_FORMULA_NAMES];
  gr_gpu_call g = {.call = c, .arena = work, .launch = GR_NEW(work, gr_gpu_launch, 8)};
  int each = 0;
  MUST(gr_gpu_describe(&g));
  const char *text = g.launch[g.n - 1].kernel.source;
  for (int k = 0, n = gr_formula_list(f, name); k < n; k++) each += name[k].kind == GR_NAME_EACH;
  int writes = each ? c->n_out : 0;
  CHECK(count(text, "= gr_load<") == each && count(text, "gr_store(") == writes,
        "%s loads %d packs of %d operands and stores %d of %d results", c->op->name,
        count(text, "= gr_load<"), each, count(text, "gr_store("), writes);
  CHECK(count(text, ".at, gr_e)") == each && count(text, ", i)") == 2 * each,
        "%s reads elements elsewhere:\n%s", c->op->name, text);
}

static void statements(void) {
  gr_arena *work = gr_arena_create();
  int n = 0;
  for (const gr_op *const *o = gr_ops; *o; o++) {
    if (!(*o)->formulas) continue;
    for (const gr_case *c = (*o)->cases; c->in[0]; c++) {
      use u;
      if (c->fails) continue;
      MUST(use_of_case(&u, *o, c, 1));
      const gr_formula *f = gr_formula_of(*o, u.call.n_in);
      CHECK(f, "%s has no formula for %d operands", (*o)->name, u.call.n_in);
      if (f) statement_case(work, &u.call, f), moves_least(work, &u.call, f), n++;
      use_free(&u);
    }
  }
  CHECK(n > 15, "only %d cases of formulas", n);
  gr_arena_destroy(work);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"lists", lists}, {"places", places},
             {"numbers_of_operands", numbers_of_operands}, {"values", values},
             {"text_for_gpus", text_for_gpus}, {"statements", statements});
}
