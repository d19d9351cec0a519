// formula.c - see formula.h.
#include "ir/formula.h"
#include <assert.h>
#include <string.h>

// ---- Lists --------------------------------------------------------------------------------------

static const struct {
  const char *word;
  gr_name_kind kind;
} kinds[] = {{"EACH(", GR_NAME_EACH},
             {"ONE(", GR_NAME_ONE},
             {"PARAM(", GR_NAME_PARAM},
             {"SHARED(", GR_NAME_SHARED}};

// The length of text up to a comma or a parenthesis that is not opened in it.
static size_t item_length(const char *text) {
  size_t n = 0;
  for (int open = 0; text[n] && (open || (text[n] != ',' && text[n] != ')')); n++)
    open += (text[n] == '(') - (text[n] == ')');
  return n;
}

// "SHARED(keep, 1 - lr * decay)", "EACH(w)", or a name alone.
static gr_formula_name read_item(const char *text) {
  gr_formula_name out = {.name = text};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (*text != *kinds[i].word) continue;
    size_t n = strlen(kinds[i].word);
    if (strncmp(text, kinds[i].word, n)) continue;
    out.kind = kinds[i].kind, out.name = text + n;
  }
  out.n_name = (int)item_length(out.name);
  if (out.kind != GR_NAME_SHARED) return out;
  out.expression = out.name + out.n_name + 1;
  out.expression += strspn(out.expression, " ");
  const char *p = out.expression;
  while (p += item_length(p), *p == ',') p++;  // a comma at this level is the expression's
  out.n_expression = (int)(p - out.expression);
  return out;
}

static int read_list(const char *text, gr_formula_name out[GR_FORMULA_NAMES]) {
  int n = 0;
  while (*text == '(' || (*text == ',' && n < GR_FORMULA_NAMES)) {
    do text++;
    while (*text == ' ');
    out[n++] = read_item(text);
    text += item_length(text);
  }
  return n;
}

// Asked for every weight that an optimizer updates: the last answer is kept.
int gr_formula_list(const gr_formula *f, gr_formula_name out[GR_FORMULA_NAMES]) {
  static _Thread_local struct {
    const char *list;
    int n;
    gr_formula_name name[GR_FORMULA_NAMES];
  } known;
  if (known.list != f->list) known.n = read_list(f->list, known.name), known.list = f->list;
  memcpy(out, known.name, sizeof *out * (size_t)known.n);
  return known.n;
}

int gr_formula_results(const gr_formula *f, gr_formula_name out[GR_FORMULA_NAMES]) {
  return read_list(f->results, out);
}

// ---- What they say of calls ---------------------------------------------------------------------

// The operands that the op always has, and attributes that may be operands too.
static void count(const gr_formula *f, int *always, int *params) {
  gr_formula_name name[GR_FORMULA_NAMES];
  *always = *params = 0;
  for (int k = 0, n = gr_formula_list(f, name); k < n; k++) {
    *always += name[k].kind == GR_NAME_EACH || name[k].kind == GR_NAME_ONE;
    *params += name[k].kind == GR_NAME_PARAM;
  }
}

const gr_formula *gr_formula_of(const gr_op *op, int n_in) {
  for (const gr_formula *const *f = op->formulas; f && *f; f++) {
    int always, params;
    count(*f, &always, &params);
    if (n_in == always || n_in == always + params) return *f;
  }
  return NULL;
}

const gr_formula *gr_formula_last(const gr_op *op) {
  const gr_formula *last = NULL;
  for (const gr_formula *const *f = op->formulas; f && *f; f++) last = *f;
  return last;
}

static int find_place(const gr_formula *f, int k) {
  gr_formula_name name[GR_FORMULA_NAMES], result[GR_FORMULA_NAMES];
  int n = gr_formula_list(f, name), n_results = gr_formula_results(f, result);
  for (int i = 0; i < n && k < n_results; i++)
    if (name[i].n_name == result[k].n_name &&
        !strncmp(name[i].name, result[k].name, (size_t)name[i].n_name))
      return i;
  return -1;
}

// Asked for every weight that an optimizer updates, as the notation is.
int gr_formula_place(const gr_formula *f, int k) {
  static _Thread_local struct {
    const gr_formula *f;
    int k, place;
  } known[8], *p;
  assert(k >= 0);
  p = &known[((uintptr_t)f / sizeof *f + (uintptr_t)k) % 8];
  if (p->f != f || p->k != k) p->f = f, p->k = k, p->place = find_place(f, k);
  return p->place;
}

// Inference asks for it, a hot path of compilation: no printf.
static int put(char buf[128], int length, const char *before, bool each) {
  for (; *before && length < 127; before++) buf[length++] = *before;
  for (int i = 0; each && i < 3 && length < 127; i++) buf[length++] = '.';
  buf[length] = 0;
  return length;
}

// With a wrong number of operands, that of some number, which inference then asks for.
static void write_index_spec(const gr_op *op, int given, char buf[128]) {
  gr_formula_name name[GR_FORMULA_NAMES];
  const gr_formula *f = gr_formula_of(op, given);
  int always, params, length = 0;
  if (!f) f = op->formulas[0];
  count(f, &always, &params);
  int n_in = given > always ? always + params : always, each = 0;
  gr_formula_list(f, name);
  for (int k = 0; k < n_in; k++) {
    bool repeats = name[k].kind == GR_NAME_EACH;
    length = put(buf, length, k ? "," : "", repeats);
    each += repeats;
  }
  for (int k = 0, n = gr_formula_results(f, name); k < n; k++)
    length = put(buf, length, k ? "," : "->", each > 0);
}

// Reading the list takes as long as the rest of inference, and an optimizer's op is inferred for
// every weight: the notations of a few ops are kept.
void gr_formula_index_spec(const gr_op_call *c, char buf[128]) {
  static _Thread_local struct {
    const gr_op *op;
    int n_in;
    char text[128];
  } known[8], *k;
  k = &known[((uintptr_t)c->op / sizeof *c->op + (uintptr_t)c->n_in) % 8];
  if (k->op != c->op || k->n_in != c->n_in) {
    write_index_spec(c->op, c->n_in, k->text);
    k->op = c->op, k->n_in = c->n_in;
  }
  memcpy(buf, k->text, sizeof k->text);
}

// ---- Text ---------------------------------------------------------------------------------------

void gr_formula_print(FILE *to, const gr_formula *f) {
  gr_formula_name name[GR_FORMULA_NAMES];
  const char *before = "  formula    ", *text = f->statements;
  for (int k = 0, n = gr_formula_list(f, name); k < n; k++) {
    if (name[k].kind != GR_NAME_SHARED) continue;
    fprintf(to, "%s%.*s = %.*s;\n", before, name[k].n_name, name[k].name, name[k].n_expression,
            name[k].expression);
    before = "             ";
  }
  for (size_t n; *text; text += n, text += strspn(text, " ")) {
    n = strcspn(text, ";"), n += text[n] == ';';
    fprintf(to, "%s%.*s\n", before, (int)n, text);
    before = "             ";
  }
}
