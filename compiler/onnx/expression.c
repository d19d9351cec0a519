// expression.c - words and sizes of a model that is read, as the graph language has them.
#include <string.h>
#include "compiler/onnx/print.h"

const char *gr_onnx_word(gr_arena *a, const char *name, const char *more, const char *otherwise) {
  gr_text t = gr_text_make(a);
  for (const char *p = name; *p && t.len < 200; p++) {
    bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
    bool digit = *p >= '0' && *p <= '9', other = *p && strchr(more, *p);
    if (letter || (t.len && (digit || other)))
      gr_text_putn(&t, p, 1);
    else if (t.len && t.chars[t.len - 1] != '_')
      gr_text_put(&t, "_");
    else if (digit)
      gr_text_printf(&t, "_%c", *p);
  }
  while (t.len && t.chars[t.len - 1] == '_') t.chars[--t.len] = 0;
  return t.len && *t.chars != '_' ? t.chars
         : t.len                  ? gr_arena_printf(a, "v%s", t.chars)
                                  : otherwise;
}

// c + sum of slopes times letters.
static const char *affine(gr_onnx_reading *r, const int64_t v[GR_READ_CHOICES]) {
  int64_t rest = v[0];
  gr_text t = gr_text_make(r->arena);
  for (int i = 0; i < r->n_choices - 1; i++) {
    int64_t size = r->letter_size[i][0], step = r->letter_size[i][i + 1] - size;
    int64_t slope = (v[i + 1] - v[0]) / step;
    if (slope * step != v[i + 1] - v[0]) return NULL;
    if (!slope) continue;
    gr_text_put(&t, t.len ? " + " : "");
    if (slope != 1) gr_text_printf(&t, "%lld * ", (long long)slope);
    gr_text_put(&t, r->letter[i]);
    rest -= slope * size;
  }
  if (rest || !t.len)
    gr_text_printf(&t, "%s%lld", t.len ? rest < 0 ? " - " : " + " : "",
                   (long long)(t.len && rest < 0 ? -rest : rest));
  return t.chars;
}

// A number times some letters.
static const char *product(gr_onnx_reading *r, const int64_t v[GR_READ_CHOICES]) {
  int64_t rest = v[0];
  gr_text t = gr_text_make(r->arena);
  for (int i = 0; i < r->n_choices - 1; i++) {
    if (v[i + 1] == v[0]) continue;
    if (v[i + 1] != 2 * v[0] || rest % r->letter_size[i][0]) return NULL;
    rest /= r->letter_size[i][0];
    gr_text_printf(&t, "%s%s", t.len ? " * " : "", r->letter[i]);
  }
  return rest == 1 ? t.chars : gr_arena_printf(r->arena, "%lld * %s", (long long)rest, t.chars);
}

const char *gr_onnx_expression(gr_onnx_reading *r, const int64_t v[GR_READ_CHOICES]) {
  int open = 0;
  for (int i = 1; i < r->n_choices; i++) open += v[i] != v[0];
  return open > 1 ? product(r, v) : affine(r, v);
}

// What op is between two operands, and nothing where it passes one on; NULL: it has no expression.
static const char *infix_of(const char *op) {
  static const char *const all[][2] = {{"less", "<"}, {"add", "+"}, {"sub", "-"},   {"mul", "*"},
                                       {"max", "or"}, {"cast", ""}, {"reshape", ""}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(op, all[i][0])) return all[i][1];
  return NULL;
}

// A known number as it is computed from sizes; sets whether it is from open ones. NULL: it is not
// known how.
static const char *computed(gr_onnx_reading *r, int var, bool *open) {
  const gr_read_var *v = &r->vars[var];
  const gr_read_line *l = v->made ? &r->lines[v->made - 1] : NULL;
  const char *infix = l ? infix_of(l->op) : NULL;
  int64_t n[1][GR_READ_CHOICES];
  double x;
  if (infix && !*infix) return computed(r, l->in[0], open);
  if (infix) {
    const char *a = computed(r, l->in[0], open), *b = computed(r, l->in[1], open);
    return a && b ? gr_arena_printf(r->arena, "(%s %s %s)", a, infix, b) : NULL;
  }
  if (gr_read_scalar(r, var, &x)) return gr_arena_printf(r->arena, "%.17g", x);
  *open = true;
  return gr_read_numbers(r, var, 1, n) == 1 ? gr_onnx_expression(r, n[0]) : NULL;
}

gr_status gr_onnx_put_checks(gr_onnx_reading *r, gr_text *to) {
  gr_map there = gr_map_make(r->arena);
  for (int i = 0; i < r->n_checks; i++) {
    const gr_read_check *c = &r->checks[i];
    bool open = false;
    const char *text = computed(r, c->var, &open);
    r->node = c->node;
    if (!text) gr_read_refuse(r, "has a condition of open sizes that is no sum and no product");
    if (r->err) return r->err;
    if (!c->truth) text = gr_arena_printf(r->arena, "not %s", text);
    if (!open || gr_map_find(&there, text, NULL)) continue;
    gr_text_printf(to,
                   "%s  \"%s\": \"another branch of the node %s (%s) is for such "
                   "sizes, and was left out\"\n",
                   there.n ? "" : "checks:\n", text,
                   gr_onnx_word(r->arena, c->node->name, "_./", "If"), c->node->op);
    gr_map_put(&there, text, 1);
  }
  return GR_OK;
}

const char *gr_onnx_free_word(gr_arena *a, gr_map *words, const char *word) {
  const char *name = word;
  for (int i = 2; gr_map_find(words, name, NULL); i++) name = gr_arena_printf(a, "%s_%d", word, i);
  gr_map_put(words, name, 1);
  return name;
}
