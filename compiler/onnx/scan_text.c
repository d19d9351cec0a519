// scan_text.c - writes a scan of a model that is read, whose body has lines of its own. See
// print.h.
#include <string.h>
#include "compiler/onnx/print.h"
#include "ops/kernels/cpu.h"

// A name for a value of a body. Other bodies may have it, so that equal scans have equal texts.
static const char *name_inside(gr_onnx_printing *p, const char *word, gr_onnx_use *u) {
  const char *name = word;
  for (int i = 2; gr_map_find(&u->names, name, NULL) ||
                  (gr_map_find(&p->words, name, NULL) && !gr_map_find(&p->inside, name, NULL));
       i++)
    name = gr_arena_printf(p->r->arena, "%s_%d", word, i);
  gr_map_put(&u->names, name, 1), gr_map_put(&p->inside, name, 1), gr_map_put(&p->words, name, 1);
  return name;
}

static bool is_zeros(const gr_onnx_reading *r, const gr_read_var *v) {
  int64_t n[GR_READ_CHOICES];
  bool equal;
  return v->data[0] && !v->line && !v->weight && v->type[0].dtype == GR_F32 && v->type[0].rank &&
         gr_onnx_has_pattern(r, v, &equal, n) && equal && gr_get(v->data[0], GR_F32, 0) == 0;
}

// The name that the body has, without a number that makes it another one than those of other
// bodies.
static const char *word_of_leaf(gr_onnx_printing *p, int leaf) {
  const char *all = p->r->vars[leaf].name, *slash = strrchr(all, '/');
  const char *name = gr_onnx_word(p->r->arena, slash ? slash + 1 : all, "_", "state");
  const char *end = strrchr(name, '_');
  return end && end > name && end[1] && !end[1 + strspn(end + 1, "0123456789")]
             ? gr_arena_strndup(p->r->arena, name, (size_t)(end - name))
             : name;
}

// over: and carry:, with a comma between those of one line.
static gr_status put_leaves(gr_onnx_printing *p, const gr_read_line *l, int indent,
                            gr_onnx_use *u) {
  const gr_read_scan *s = l->scan;
  gr_text_printf(&u->text, "%*sover: {", indent, "");
  for (int i = 0; i < s->n_seq; i++) {
    gr_text_put(&u->text, i ? ", " : "");
    GR_TRY(gr_onnx_put_operand(p, l, i, u));
    p->same[s->leaf[i]] = p->same[l->in[i]] ? p->same[l->in[i]] : l->in[i];
    gr_text_put(&u->text, s->axis ? ": t" : ": 0");
  }
  gr_text_put(&u->text, "}\n");
  if (s->n_carry) gr_text_printf(&u->text, "%*scarry: {", indent, "");
  for (int k = s->n_seq; k < s->n_seq + s->n_carry; k++) {
    const gr_read_var *start = &p->r->vars[l->in[k]];
    gr_read_var *leaf = &p->r->vars[s->leaf[k]];
    leaf->name = name_inside(p, word_of_leaf(p, s->leaf[k]), u);
    gr_text_printf(&u->text, "%s%s: ", k > s->n_seq ? ", " : "", leaf->name);
    if (is_zeros(p->r, start))
      gr_text_put(&u->text, gr_onnx_shape_text(p->r, start));
    else
      GR_TRY(gr_onnx_put_operand(p, l, k, u));
  }
  if (s->n_carry) gr_text_put(&u->text, "}\n");
  return GR_OK;
}

static gr_status put_ends(gr_onnx_printing *p, const gr_read_line *l, int indent, gr_onnx_use *u) {
  const gr_read_scan *s = l->scan;
  const int next = s->n_seq + s->n_carry, yield = next + s->n_carry, last = l->out + s->n_yield;
  for (int k = 0; k < s->n_carry; k++) {
    gr_text_put(&u->text, k ? ", " : gr_arena_printf(p->r->arena, "%*snext: {", indent, ""));
    gr_text_printf(&u->text, "%s: ", p->r->vars[s->leaf[s->n_seq + k]].name);
    GR_TRY(gr_onnx_put_operand(p, l, next + k, u));
  }
  gr_text_put(&u->text, s->n_carry ? "}\n" : "");
  const char *open = s->n_yield > 1 ? "[" : "", *close = s->n_yield > 1 ? "]" : "";
  for (int k = 0; k < s->n_yield; k++) {
    if (!k) gr_text_printf(&u->text, "%*syields: %s", indent, "", open);
    gr_text_put(&u->text, k ? ", " : "");
    GR_TRY(gr_onnx_put_operand(p, l, yield + k, u));
  }
  if (s->n_yield) gr_text_printf(&u->text, "%s\n", close);
  for (int k = 0; k < s->n_last; k++) {
    const gr_read_var *v = &p->r->vars[last + k];
    const char *result = v->depth ? v->name : gr_arena_printf(p->r->arena, "%c", GR_ONNX_RESULT);
    gr_text_put(&u->text, k ? ", " : gr_arena_printf(p->r->arena, "%*slast: {", indent, ""));
    gr_text_printf(&u->text, "%s: %s", result, p->r->vars[s->leaf[s->n_seq + s->last[k]]].name);
  }
  gr_text_put(&u->text, s->n_last ? "}\n" : "");
  if (s->reverse) gr_text_printf(&u->text, "%*sreverse: true\n", indent, "");
  return GR_OK;
}

static gr_status put_inside(gr_onnx_printing *p, const gr_read_line *l, int indent,
                            gr_onnx_use *u) {
  int named = l->scan ? l->scan->n_yield : l->n_out;
  const char *word = gr_onnx_word_of(p, l);
  gr_text_printf(&u->text, "%*s- ", indent, "");
  for (int k = 0; k < l->n_out; k++) {
    const char *name = p->r->vars[l->out + k].name = name_inside(p, word, u);
    if (k < named) gr_text_printf(&u->text, "%s%s", k ? ", " : "", name);
  }
  gr_text_printf(&u->text, "%s:%s", named ? "" : name_inside(p, word, u), l->scan ? "" : " ");
  if (l->scan) return gr_onnx_put_scan(p, l, indent, u);
  GR_TRY(gr_onnx_put_use(p, l, u));
  if (l->path)
    gr_text_printf(&u->text, ", name: \"%s\"", l->path + (u->path ? strlen(u->path) + 1 : 0));
  gr_text_put(&u->text, "}\n");
  return GR_OK;
}

const char *gr_onnx_scan_path(const gr_onnx_reading *r, const gr_read_line *l) {
  const char *path = NULL;
  size_t n = 0;
  for (const gr_read_line *b = &r->lines[l->scan->first]; b < l; b++) {
    if (!b->live || !b->path || r->vars[b->out].depth < l->scan->depth) continue;
    if (!path) path = b->path, n = strlen(path);
    size_t same = 0;
    while (same < n && path[same] == b->path[same]) same++;
    for (n = same; n && (path[n] != '.' || b->path[n] != '.');) n--;
  }
  return n ? gr_arena_strndup(r->arena, path, n) : NULL;
}

gr_status gr_onnx_put_scan(gr_onnx_printing *p, const gr_read_line *l, int indent, gr_onnx_use *u) {
  const gr_onnx_reading *r = p->r;
  bool any = false;
  gr_text_printf(&u->text, "\n%*sscan:\n", indent + 4, "");
  GR_TRY(put_leaves(p, l, indent + 6, u));
  gr_text_printf(&u->text, "%*snodes:", indent + 6, "");
  for (const gr_read_line *b = &r->lines[l->scan->first]; b < l; b++) {
    if (!b->live || r->vars[b->out].depth != l->scan->depth) continue;
    gr_text_put(&u->text, any ? "" : "\n");
    GR_TRY(put_inside(p, b, indent + 8, u));
    any = true;
  }
  gr_text_put(&u->text, any ? "" : " []\n");
  return put_ends(p, l, indent + 6, u);
}
