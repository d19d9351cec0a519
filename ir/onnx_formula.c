// onnx_formula.c - writes the formula of a pointwise op to ONNX: a recursive descent through the
// expression (ops/kernels/pointwise.h has its language), which emits a node for each operator.
//
//   x0 < 0 ? 0 : x0    Less(x0, 0), Where(that, 0, x0)
//
// Conditions are tensors of bool. Everything else has one dtype: that of the operands, or f32 for
// bf16 and f16, as kernels compute it; integers are divided and passed to functions in f64.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "ir/onnx.h"

typedef struct parser {
  gr_onnx_call *c;
  const char *text;
  gr_dtype dtype;  // in which it is computed
  const char *x[GR_MAX_ARGS];
} parser;

// A value of the expression: a tensor, or as long as nothing has been computed from it a number.
typedef struct term {
  const char *name;  // NULL: a number
  double number;
  bool truth;  // a tensor of bool
} term;

static term ternary(parser *p);

static bool take(parser *p, const char *token) {
  p->text += strspn(p->text, " ");
  size_t n = strlen(token);
  if (strncmp(p->text, token, n) != 0) return false;
  p->text += n;
  return true;
}

static void bad(parser *p) {
  gr_onnx_refuse(
      p->c, gr_arena_printf(p->c->graph->arena, "its formula is not understood at '%s'", p->text));
  p->text += strlen(p->text);
}

// ---- Terms --------------------------------------------------------------------------------------

static const char *tensor(parser *p, term t) {
  if (!t.name) return gr_onnx_number(p->c, p->dtype, t.number);
  return t.truth ? gr_onnx_cast(p->c, t.name, gr_onnx_dtype(p->dtype)) : t.name;
}

static const char *truth(parser *p, term t) {
  if (t.truth) return t.name;
  return GR_ONNX(p->c, "Not", GR_ONNX(p->c, "Equal", tensor(p, t), tensor(p, (term){0})));
}

static term of_tensor(const char *name) { return (term){.name = name}; }
static term of_truth(const char *name) { return (term){.name = name, .truth = true}; }

static term two(parser *p, const char *op, term a, term b) {
  return of_tensor(GR_ONNX(p->c, op, tensor(p, a), tensor(p, b)));
}

static term compared(parser *p, const char *op, term a, term b) {
  return of_truth(GR_ONNX(p->c, op, tensor(p, a), tensor(p, b)));
}

// ---- Primaries ----------------------------------------------------------------------------------

static const struct {
  const char *name, *op;  // log1p(x) is log(1 + x)
} functions[] = {{"exp", "Exp"},   {"tanh", "Tanh"}, {"erf", "Erf"},  {"log", "Log"},
                 {"log1p", "Log"}, {"sqrt", "Sqrt"}, {"sin", "Sin"},  {"cos", "Cos"},
                 {"pow", "Pow"},   {"fabs", "Abs"},  {"ceil", "Ceil"}};

static term call(parser *p, const char *word) {
  const char *op = NULL;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!strcmp(functions[i].name, word)) op = functions[i].op;
  term a = ternary(p);
  if (!strcmp(word, "log1p")) a = two(p, "Add", (term){.number = 1}, a);
  if (op && take(p, ","))
    a = two(p, op, a, ternary(p));
  else if (op)
    a = of_tensor(GR_ONNX(p->c, op, tensor(p, a)));
  if (!op || !take(p, ")")) bad(p);
  return a;
}

// x0, x1, ..., or an attribute by its name.
static term name(parser *p, const char *word) {
  const gr_op_call *call = p->c->call[0];
  if (*word == 'x' && isdigit((unsigned char)word[1]) && atoi(word + 1) < call->n_in)
    return of_tensor(p->x[atoi(word + 1)]);
  for (const gr_attr *a = call->op->attrs; a && a->name; a++)
    if (a->kind == GR_ATTR_FLOAT && !strcmp(a->name, word))
      return (term){.number = *(const double *)((const char *)call->attr + a->offset)};
  bad(p);
  return (term){0};
}

static term primary(parser *p) {
  char word[32] = "";
  size_t n = 0;
  p->text += strspn(p->text, " ");
  if (take(p, "(")) {
    term t = ternary(p);
    if (!take(p, ")")) bad(p);
    return t;
  }
  if (isdigit((unsigned char)*p->text)) {
    char *end;
    double v = strtod(p->text, &end);
    p->text = end + (*end == 'f');
    return (term){.number = v};
  }
  while (n + 1 < sizeof word && (isalnum((unsigned char)*p->text) || *p->text == '_'))
    word[n++] = *p->text++;
  return take(p, "(") ? call(p, word) : name(p, word);
}

static term unary(parser *p) {
  if (!take(p, "-")) return primary(p);
  term t = unary(p);
  if (!t.name) return (term){.number = -t.number};
  return of_tensor(GR_ONNX(p->c, "Neg", tensor(p, t)));
}

// ---- Operators, by how strongly they bind -------------------------------------------------------

enum { TRUTHS = 1, COMPARISONS, NUMBERS, HIGHEST };  // levels of binding: || and && are below
static term operators(parser *p, int level);

static term comparison(parser *p) {
  static const struct {
    const char *token, *op;
  } all[] = {{"<=", "LessOrEqual"}, {">=", "GreaterOrEqual"}, {"==", "Equal"}, {"!=", "Equal"},
             {"<", "Less"},         {">", "Greater"}};
  term a = operators(p, NUMBERS);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!take(p, all[i].token)) continue;
    a = compared(p, all[i].op, a, operators(p, NUMBERS));
    return *all[i].token == '!' ? of_truth(GR_ONNX(p->c, "Not", a.name)) : a;
  }
  return a;
}

// Those of a level, from the left.
static term operators(parser *p, int level) {
  static const struct {
    int level;
    const char *token, *op;
  } all[] = {{0, "||", "Or"},       {TRUTHS, "&&", "And"}, {NUMBERS, "+", "Add"},
             {NUMBERS, "-", "Sub"}, {HIGHEST, "*", "Mul"}, {HIGHEST, "/", "Div"}};
  if (level == COMPARISONS) return comparison(p);
  if (level > HIGHEST) return unary(p);
  term a = operators(p, level + 1);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i].level != level || !take(p, all[i].token)) continue;
    bool truths = level <= TRUTHS;
    const char *x = truths ? truth(p, a) : NULL;
    term b = operators(p, level + 1);
    a = truths ? of_truth(GR_ONNX(p->c, all[i].op, x, truth(p, b))) : two(p, all[i].op, a, b);
    i = (size_t)-1;  // from the first one again
  }
  return a;
}

static term ternary(parser *p) {
  term a = operators(p, 0);
  if (!take(p, "?")) return a;
  const char *x = truth(p, a);
  term b = ternary(p);
  if (!take(p, ":")) bad(p);
  term c = ternary(p);
  if (!b.name && !c.name && b.number == 1 && c.number == 0) return of_truth(x);
  const char *then = tensor(p, b);
  return of_tensor(GR_ONNX(p->c, "Where", x, then, tensor(p, c)));
}

// ---- Entry point --------------------------------------------------------------------------------

// Whether integers stay what they are: sums, products and choices of operands and whole numbers.
static bool is_whole(const gr_op_call *c, const char *formula) {
  bool calls = false;
  for (const char *p = formula; *p; p++)
    calls |= p > formula && *p == '(' && isalnum((unsigned char)p[-1]);
  return !c->op->attrs && !calls && !strpbrk(formula, "./");
}

static gr_dtype dtype_of(const gr_op_call *c, const char *formula) {
  gr_dtype d = c->in[0].dtype;
  if (gr_is_narrow(d)) return GR_F32;
  if (gr_dtypes[d].is_float || ((d == GR_I32 || d == GR_I64) && is_whole(c, formula))) return d;
  return GR_F64;
}

const char *gr_onnx_formula(gr_onnx_call *c, const char *formula) {
  const gr_op_call *call = c->call[0];
  parser p = {.c = c, .text = formula, .dtype = dtype_of(call, formula)};
  for (int k = 0; k < call->n_in; k++)
    p.x[k] =
        call->in[k].dtype == p.dtype ? c->in[k] : gr_onnx_cast(c, c->in[k], gr_onnx_dtype(p.dtype));
  term t = ternary(&p);
  if (*p.text) bad(&p);
  gr_dtype to = call->out[0].dtype;
  const char *y = t.truth ? gr_onnx_cast(c, t.name, gr_onnx_dtype(to)) : tensor(&p, t);
  return t.truth || to == p.dtype ? y : gr_onnx_cast(c, y, gr_onnx_dtype(to));
}
