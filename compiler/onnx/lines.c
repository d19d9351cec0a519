// lines.c - writes the nodes of a model that is read, those that repeat as one. See print.h.
#include <string.h>
#include "compiler/onnx/print.h"

typedef struct writing {
  gr_onnx_reading *r;
  const gr_onnx_items *all;
  const int *last_use;
  gr_map *words;
  gr_text *to;
} writing;

static const char *new_word(const writing *w, const char *word) {
  return gr_onnx_free_word(w->r->arena, w->words, word);
}

// The use, in which operands have the names of these vars.
static void put_use(const writing *w, const gr_onnx_item *x, const int *in, const char *indent) {
  int out = x->out + x->n_out - x->n_inside;
  for (const char *c = x->text; *c; c++) {
    if (*c == GR_ONNX_OPERAND || *c == GR_ONNX_RESULT)
      gr_text_put(w->to, w->r->vars[*c == GR_ONNX_OPERAND ? *in++ : out++].name);
    else
      gr_text_putn(w->to, c, 1);
    if (*c == '\n' && c[1]) gr_text_put(w->to, indent);
  }
}

static void put_comment(const gr_onnx_item *x, gr_text *to) {
  gr_text_put(to, x->comment ? "  # " : "");
  for (const char *c = x->comment ? x->comment : ""; *c; c++)
    gr_text_putn(to, *c >= ' ' && *c < 127 ? c : "?", 1);
}

// Its text has lines of its own.
static bool is_scan(const gr_onnx_item *x) { return *x->text == '\n'; }

static void put_item(const writing *w, const gr_onnx_item *x, const int *in, const char *path,
                     const char *indent) {
  const bool lines = is_scan(x);
  gr_text_printf(w->to, "%s- ", indent);
  for (int k = 0; k < x->n_out; k++) {
    gr_read_var *v = &w->r->vars[x->out + k];
    if (!v->name) v->name = new_word(w, x->word);
    if (k < x->n_out - x->n_inside) gr_text_printf(w->to, "%s%s", k ? ", " : "", v->name);
  }
  if (x->n_inside == x->n_out) gr_text_put(w->to, new_word(w, x->word));
  gr_text_put(w->to, lines ? ":" : ": ");
  if (lines) put_comment(x, w->to);
  put_use(w, x, in, indent);
  if (lines && path) gr_text_printf(w->to, "%s    name: \"%s\"\n", indent, path);
  if (lines) return;
  if (path) gr_text_printf(w->to, ", name: \"%s\"", path);
  gr_text_put(w->to, "}");
  put_comment(x, w->to);
  gr_text_put(w->to, "\n");
}

// ---- Repeats ------------------------------------------------------------------------------------

// A name of the first time with $i in place of its number.
static const char *counted_path(const writing *w, const gr_onnx_run *run, int i,
                                gr_onnx_counted *c) {
  const gr_onnx_item *x = &w->all->items[i];
  if (!x->path) return NULL;
  gr_onnx_count(x->path, w->all->items[i + run->size].path, c);
  return gr_arena_printf(w->r->arena, "%.*s$i%s", (int)c->before, x->path, c->after);
}

// What the names of all items begin with, "layers.$i", if it is something of its own.
static const char *common_path(const writing *w, const gr_onnx_run *run) {
  const char *common = NULL;
  for (int i = run->begin; i < run->begin + run->size; i++) {
    gr_onnx_counted c;
    const char *path = counted_path(w, run, i, &c);
    if (path && *c.after != '.' && (*c.after || !is_scan(&w->all->items[i]))) return NULL;
    if (!path) continue;
    const char *first = gr_arena_strndup(w->r->arena, path, c.before + 2);
    if (common && strcmp(common, first) != 0) return NULL;
    common = first;
  }
  return common;
}

// Names what is carried as the value outside, if nothing else reads that any more, or makes the
// name a second one of it.
static void name_carried(const writing *w, const gr_onnx_run *run) {
  for (int i = 0; i < run->n_carried; i++) {
    const gr_onnx_carried *c = &run->carried[i];
    const gr_onnx_item *x = &w->all->items[run->begin];
    while (c->result < x->out || c->result >= x->out + x->n_out) x++;
    gr_read_var *outside = &w->r->vars[c->outside], *v = &w->r->vars[c->result];
    bool taken = outside->line < 1 || w->last_use[c->outside] > x - w->all->items;
    for (int k = 0; k < i; k++) taken |= run->carried[k].outside == c->outside;
    v->name = taken ? new_word(w, x->word) : outside->name;
    if (taken) gr_text_printf(w->to, "  - %s: %s\n", v->name, outside->name);
  }
}

// An item of the first time reads by the name of what the next one reads, where that is carried.
static void put_repeated(const writing *w, const gr_onnx_run *run, int i, const char *path) {
  const gr_onnx_item *x = &w->all->items[i], *next = &w->all->items[i + run->size];
  int *in = GR_NEW(w->r->arena, int, x->n_in + 1);
  for (int k = 0; k < x->n_in; k++) {
    in[k] = x->in[k];
    for (int c = 0; c < run->n_carried; c++)
      if (run->carried[c].result == next->in[k]) in[k] = next->in[k];
  }
  put_item(w, x, in, path, "      ");
}

static void put_run(const writing *w, const gr_onnx_run *run) {
  const char *common = common_path(w, run);
  for (int i = run->begin; i < run->begin + run->size * run->times; i++)
    for (int k = 0; k < w->all->items[i].n_out; k++)
      w->r->vars[w->all->items[i].out + k].name = NULL;
  name_carried(w, run);
  gr_text_printf(w->to, "  - repeat: %d\n", run->times);
  if (run->first) gr_text_printf(w->to, "    from: %lld\n", (long long)run->first);
  if (common) gr_text_printf(w->to, "    name: \"%s\"\n", common);
  gr_text_put(w->to, "    nodes:\n");
  for (int i = run->begin; i < run->begin + run->size; i++) {
    gr_onnx_counted c = {.after = ""};
    const char *path = counted_path(w, run, i, &c);
    const char *rest = *c.after ? c.after + 1 : NULL;  // none: a scan, whose weights are named so
    put_repeated(w, run, i, path && common ? rest : path);
  }
  for (int i = run->begin + run->size; i < run->begin + run->size * run->times; i++)
    for (int k = 0; k < w->all->items[i].n_out; k++)
      w->r->vars[w->all->items[i].out + k].name =
          w->r->vars[w->all->items[i - run->size].out + k].name;
}

void gr_onnx_lines(gr_onnx_reading *r, const gr_onnx_items *all, int n_runs,
                   const gr_onnx_run *runs, const int *last_use, gr_map *words, gr_text *to) {
  const writing w = {r, all, last_use, words, to};
  for (int i = 0; i < all->n;) {
    if (n_runs && runs->begin == i) {
      put_run(&w, runs);
      i += runs->size * runs->times;
      runs++, n_runs--;
    } else {
      put_item(&w, &all->items[i], all->items[i].in, all->items[i].path, "  ");
      i++;
    }
  }
}
