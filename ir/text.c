// text.c - prints graphs in the IR's text format (text.h).
#include "ir/text.h"
#include <ctype.h>
#include <string.h>

static const char *const kinds[GR_KIND_COUNT] = {"weight",  "buffer", "moment",          "average",
                                                 "counter", "table",  "grad_accumulator"};

const char *gr_leaf_word(const gr_value *v) {
  return v->role == GR_INPUT ? "input" : kinds[v->kind];
}

typedef struct writer {
  gr_text *t;
  const gr_graph *g;
  bool notes;
  int indent;
  uint64_t *hash;  // of the text, which is not kept then; or NULL
} writer;

// Plan hashes are hashes of this text, so printing is a hot path: no printf, and no call where
// there is room.
static inline void putn(const writer *w, const char *s, size_t n) {
  gr_text *t = w->t;
  if (t->len + n >= t->cap) {
    gr_text_putn(t, s, n);
    return;
  }
  memcpy(t->chars + t->len, s, n);
  t->chars[t->len += n] = 0;
}

static inline void put(const writer *w, const char *s) { putn(w, s, strlen(s)); }

static inline void put_ref(const writer *w, const char *before, gr_val v) {
  char digits[GR_DIGITS];
  put(w, before), put(w, "%");
  putn(w, digits, (size_t)(gr_put_int(digits, v.id) - digits));
}

static void put_indent(const writer *w) {
  for (int i = 0; i < w->indent; i++) put(w, " ");
}

// A plain name as it is, any other as a JSON string.
static void put_name(const writer *w, const char *name) {
  bool plain = *name && *name != '"';
  for (const char *p = name; *p; p++)
    plain &= isalnum((unsigned char)*p) || strchr("_.-/$", *p) != NULL;
  if (plain)
    put(w, name);
  else
    gr_text_json(w->t, name);
}

static void put_type(const writer *w, const gr_value *v) {
  char buf[96];
  put(w, gr_type_text(&v->type, buf));
  for (int a = 0; a < w->g->mesh.n_axes; a++) {
    gr_axis_placement placement = v->layout.placement[a];
    if (placement == GR_REPLICATE) continue;
    put(w, " "), put(w, w->g->mesh.axis[a].name);
    put(w, placement == GR_PARTIAL ? ":P" : ":S");
    if (placement >= 0) gr_text_put_int(w->t, placement);
    if (placement >= 0 && v->layout.pad[a]) put(w, "-"), gr_text_put_int(w->t, v->layout.pad[a]);
  }
}

static void put_place(const writer *w, const gr_loc *loc) {
  if (loc->file) gr_text_printf(w->t, " %s:%d:%d", loc->file, loc->line, loc->col);
}

static void put_leaf(const writer *w, uint32_t id) {
  const gr_value *v = &w->g->values[id];
  put_ref(w, "", (gr_val){id});
  put(w, " = "), put(w, gr_leaf_word(v));
  if (v->name) put(w, " "), put_name(w, v->name);
  put(w, " : ");
  put_type(w, v);
  if (gr_is(v->next)) put_ref(w, " next=", v->next);
  if (gr_is(v->grad)) put_ref(w, " grad=", v->grad);
  if (w->notes && v->loc.file) put(w, "  #"), put_place(w, &v->loc);
  put(w, "\n");
}

static void put_attrs(const writer *w, const gr_node *n) {
  const char *before = " {";
  for (const gr_attr *a = n->op->attrs; a && a->name; a++) {
    if (a->kind == GR_ATTR_GRAPH) continue;
    put(w, before), put(w, a->name), put(w, "=");
    gr_attr_text(w->t, a, n->attr);
    before = ", ";
  }
  if (*before == ',') put(w, "}");
}

static void put_graph(const writer *w);

static void put_bodies(const writer *w, const gr_node *n) {
  for (const gr_attr *a = n->op->attrs; a && a->name; a++) {
    if (a->kind != GR_ATTR_GRAPH) continue;
    writer in = {w->t, gr_attr_graph(n->attr, a), w->notes, w->indent + 2};
    put_indent(w);
    put(w, a->name), put(w, " {\n");
    put_graph(&in);
    put_indent(w);
    put(w, "}\n");
  }
}

static void put_node(const writer *w, const gr_node *n) {
  gr_text *t = w->t;
  for (int k = 0; k < n->n_out; k++) put_ref(w, k ? " " : "", gr_out(n, k));
  put(w, " = "), put(w, n->op->name);
  for (int k = 0; k < n->n_in; k++) put_ref(w, " ", n->in[k]);
  put_attrs(w, n);
  for (int k = 0; k < n->n_out; k++)
    put(w, k ? ", " : " : "), put_type(w, gr_at(w->g, gr_out(n, k)));
  if (w->notes) {
    gr_text_printf(t, "  # %s", n->created_by ? n->created_by : "");
    if (n->scope) gr_text_printf(t, " %s", n->scope);
    put_place(w, &n->loc);
  }
  put(w, "\n");
  put_bodies(w, n);
}

static void put_mesh(const writer *w) {
  if (!w->g->mesh.n_axes) return;
  put_indent(w);
  put(w, "mesh");
  for (int a = 0; a < w->g->mesh.n_axes; a++)
    gr_text_printf(w->t, " %s=%d", w->g->mesh.axis[a].name, w->g->mesh.axis[a].size);
  put(w, "\n");
}

static void put_ends(const writer *w) {
  const gr_graph *g = w->g;
  if (gr_is(g->loss)) {
    put_indent(w);
    put_ref(w, "loss ", g->loss);
    if (gr_is(g->loss_denominator)) put_ref(w, " / ", g->loss_denominator);
    put(w, "\n");
  }
  for (uint32_t i = 0; i < g->n_results; i++) {
    put_indent(w);
    put(w, "result ");
    if (g->result_names && g->result_names[i]) put_name(w, g->result_names[i]), put(w, " ");
    put_ref(w, "", g->results[i]);
    put(w, "\n");
  }
}

static void hash_line(const writer *w) {
  if (!w->hash) return;
  *w->hash = gr_hash_mixed(*w->hash ^ gr_hash_data(w->t->chars, w->t->len));
  w->t->len = 0;
}

static void put_graph(const writer *w) {
  const gr_graph *g = w->g;
  put_mesh(w);
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    bool first = v->role != GR_TEMP || g->nodes[v->node].out.id == i;
    if (first) put_indent(w);
    if (v->role != GR_TEMP)
      put_leaf(w, i);
    else if (first)
      put_node(w, &g->nodes[v->node]);
    hash_line(w);
  }
  put_ends(w);
  hash_line(w);
}

void gr_graph_text(gr_text *t, const gr_graph *g, bool notes) {
  put_graph(&(writer){t, g, notes, 0, NULL});
}

void gr_graph_print(FILE *f, const gr_graph *g) {
  gr_arena *arena = gr_arena_create();
  gr_text t = gr_text_make(arena);
  gr_graph_text(&t, g, true);
  fwrite(t.chars, 1, t.len, f);
  gr_arena_destroy(arena);
}

uint64_t gr_graph_hash(const gr_graph *g) {
  gr_arena *arena = gr_arena_create();
  gr_text t = gr_text_make(arena);
  uint64_t h = GR_HASH_START;
  put_graph(&(writer){&t, g, false, 0, &h});
  gr_arena_destroy(arena);
  return h;
}
