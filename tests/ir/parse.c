// parse.c - see parse.h. Line by line: each line is a leaf, a node, the mesh, the loss, a result,
// or the start or end of a body.
#include "tests/ir/parse.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "ir/text.h"

enum { MAX_ID = 1 << 20, MAX_DEPTH = 8 };

typedef struct reader {
  gr_arena *arena;
  op_finder find;
  const char *file, *line, *p;  // the current line without its note, and the position in it
  const char *rest;             // the text after it
  int number, depth;
} reader;

typedef struct later {  // a leaf's "next" or "grad": a forward reference
  gr_val leaf;
  bool grad;
  uint32_t id;
  gr_loc loc;
} later;

typedef struct scope {  // a graph while it is parsed
  gr_builder b;
  gr_val *map;  // values by their number in the text
  uint32_t n_map;
  later *later;
  uint32_t n_later;
} scope;

static gr_loc here(const reader *r) {
  size_t spaces = strspn(r->p, " \t");
  return (gr_loc){r->file, r->number, (int)(r->p + spaces - r->line) + 1};
}

static gr_status unexpected(const reader *r, const char *expected) {
  return gr_fail(GR_ERR_TYPE, here(r), "expected %s, found '%.24s'", expected,
                 r->p + strspn(r->p, " \t"));
}

// Length of a line without its note.
static size_t before_note(const char *line, size_t n) {
  bool quoted = false;
  for (size_t i = 0; i < n; i++) {
    if (line[i] == '"' && (!i || line[i - 1] != '\\')) quoted = !quoted;
    if (line[i] == '#' && !quoted) return i;
  }
  return n;
}

// Advances to the next line that is not empty; false at the end of the text.
static bool next_line(reader *r) {
  while (*r->rest) {
    size_t n = strcspn(r->rest, "\n"), used = before_note(r->rest, n);
    while (used && isspace((unsigned char)r->rest[used - 1])) used--;
    r->line = r->p = gr_arena_strndup(r->arena, r->rest, used);
    r->rest += n + (r->rest[n] == '\n');
    r->number++;
    r->p += strspn(r->p, " \t");
    if (*r->p) return true;
  }
  r->line = r->p = "";
  return false;
}

static bool take(reader *r, const char *what) {
  r->p += strspn(r->p, " \t");
  size_t n = strlen(what);
  if (strncmp(r->p, what, n)) return false;
  r->p += n;
  return true;
}

static gr_status take_id(reader *r, uint32_t *out) {
  char *end;
  if (!take(r, "%") || !isdigit((unsigned char)*r->p)) return unexpected(r, "a value, such as %3");
  unsigned long n = strtoul(r->p, &end, 10);
  if (n < 1 || n >= MAX_ID) return unexpected(r, "a value's number");
  r->p = end;
  *out = (uint32_t)n;
  return GR_OK;
}

static gr_status take_value(reader *r, scope *s, gr_val *out) {
  reader start = *r;
  uint32_t id = 0;
  GR_TRY(take_id(r, &id));
  *out = id < s->n_map ? s->map[id] : GR_NONE;
  if (!gr_is(*out))
    return gr_fail(GR_ERR_TYPE, here(&start), "%%%u is used before it is defined", id);
  return GR_OK;
}

static void name_value(reader *r, scope *s, uint32_t id, gr_val v) {
  if (id >= s->n_map) {
    gr_val *more = GR_NEW(r->arena, gr_val, 2 * id + 64);
    if (s->n_map) memcpy(more, s->map, sizeof *more * s->n_map);
    s->map = more, s->n_map = 2 * id + 64;
  }
  s->map[id] = v;
}

// Reads one character of a JSON string; bytes above 0x7f are copied.
static char unescape(const char **p) {
  static const char codes[] = "bfnrt", characters[] = "\b\f\n\r\t";
  if (**p != '\\' || !(*p)[1]) return *(*p)++;
  char c = (*p)[1];
  const char *escape = strchr(codes, c);
  *p += 2;
  if (c != 'u' || strlen(*p) < 4) return escape ? characters[escape - codes] : c;
  char hex[5] = {(*p)[0], (*p)[1], (*p)[2], (*p)[3], 0};
  *p += 4;
  return (char)strtol(hex, NULL, 16);
}

// A plain word, or a JSON string.
static gr_status take_name(reader *r, const char **out) {
  gr_text t = gr_text_make(r->arena);
  bool quoted = take(r, "\"");
  while (*r->p && !strchr(quoted ? "\"" : " \t{}:=,", *r->p)) {
    char c = quoted ? unescape(&r->p) : *r->p++;
    gr_text_putn(&t, &c, 1);
  }
  if (quoted && !take(r, "\"")) return unexpected(r, "the end of a name, \"");
  if (!quoted && !t.len) return unexpected(r, "a name");
  *out = t.chars;
  return GR_OK;
}

// "-2" after Shard(d): the total padding.
static gr_status take_pad(reader *r, int ranks, int32_t *out) {
  char *end;
  if (*r->p != '-') return GR_OK;
  long n = strtol(r->p + 1, &end, 10);
  if (end == r->p + 1 || n < 1 || n >= ranks)
    return unexpected(r, "padding, less than there are ranks");
  *out = (int32_t)n;
  r->p = end;
  return GR_OK;
}

static gr_status take_layout(reader *r, const gr_mesh *mesh, gr_layout *out) {
  const char *name;
  GR_TRY(take_name(r, &name));
  int a = gr_mesh_axis(mesh, name);
  if (a < 0) return gr_fail(GR_ERR_TYPE, here(r), "the mesh has no axis '%s'", name);
  if (take(r, ":P")) return out->placement[a] = GR_PARTIAL, GR_OK;
  if (!take(r, ":S") || !isdigit((unsigned char)*r->p)) return unexpected(r, "a layout, :P or :S0");
  out->placement[a] = (gr_axis_placement)(*r->p++ - '0');
  return take_pad(r, mesh->axis[a].size, &out->pad[a]);
}

// "f32[4,8] dp:S0"
static gr_status take_type(reader *r, const gr_mesh *mesh, gr_type *type, gr_layout *layout) {
  r->p += strspn(r->p, " \t");
  size_t n = strcspn(r->p, "]");
  n += r->p[n] == ']';
  const char *text = gr_arena_strndup(r->arena, r->p, n);
  gr_status s = gr_type_parse(text, type);
  if (s) gr_status_drop(s);
  if (s) return unexpected(r, "a type, such as f32[4,7]");
  r->p += n;
  *layout = gr_layout_replicated;
  for (;;) {
    r->p += strspn(r->p, " \t");
    size_t name = strcspn(r->p, " \t,:=");
    if (!name || r->p[name] != ':') return GR_OK;
    GR_TRY(take_layout(r, mesh, layout));
  }
}

// ---- Leaves ---------------------------------------------------------------------------------

static gr_status take_later(reader *r, scope *s, gr_val leaf, bool grad) {
  later l = {.leaf = leaf, .grad = grad, .loc = here(r)};
  GR_TRY(take_id(r, &l.id));
  if (!(s->n_later & (s->n_later - 1))) {  // room doubles at powers of two
    later *more = GR_NEW(r->arena, later, 2 * s->n_later + 1);
    if (s->n_later) memcpy(more, s->later, sizeof *more * s->n_later);
    s->later = more;
  }
  s->later[s->n_later++] = l;
  return GR_OK;
}

static gr_status read_leaf(reader *r, scope *s, uint32_t id, gr_role role, gr_kind kind) {
  const char *name = NULL;
  gr_type type;
  gr_layout layout;
  if (!take(r, ":")) {
    GR_TRY(take_name(r, &name));
    if (!take(r, ":")) return unexpected(r, "':' and a type");
  }
  GR_TRY(take_type(r, &s->b.g->mesh, &type, &layout));
  gr_val v = gr_leaf(&s->b, role, kind, name, type, layout);
  name_value(r, s, id, v);
  if (take(r, "next=")) GR_TRY(take_later(r, s, v, false));
  if (take(r, "grad=")) GR_TRY(take_later(r, s, v, true));
  return GR_OK;
}

static gr_status resolve_later(scope *s) {
  for (uint32_t i = 0; i < s->n_later; i++) {
    const later *l = &s->later[i];
    gr_val v = l->id < s->n_map ? s->map[l->id] : GR_NONE;
    if (!gr_is(v)) return gr_fail(GR_ERR_TYPE, l->loc, "there is no value %%%u", l->id);
    gr_value *leaf = gr_at(s->b.g, l->leaf);
    *(l->grad ? &leaf->grad : &leaf->next) = v;
  }
  return GR_OK;
}

// ---- Nodes ----------------------------------------------------------------------------------

static gr_status read_attr(reader *r, const gr_op *op, void *attr, uint64_t *seen) {
  const char *name;
  gr_loc loc = here(r);
  GR_TRY(take_name(r, &name));
  if (!take(r, "=")) return unexpected(r, "'=' and a value");
  for (const gr_attr *a = op->attrs; a && a->name; a++) {
    if (strcmp(a->name, name)) continue;
    size_t n = *r->p == '[' ? strcspn(r->p, "]") + 1 : strcspn(r->p, ",}");
    if (n > strlen(r->p)) return unexpected(r, "a list that ends with ]");
    loc = here(r);
    const char *text = gr_arena_strndup(r->arena, r->p, n);
    r->p += n;
    *seen |= UINT64_C(1) << (a - op->attrs);
    return gr_attr_parse(op, a, text, loc, attr);
  }
  return gr_fail(GR_ERR_TYPE, loc, "op '%s' has no attribute '%s'", op->name, name);
}

static gr_status read_attrs(reader *r, const gr_op *op, void *attr) {
  uint64_t seen = 0;
  if (op->attr_size) gr_attr_defaults(op, attr);
  for (bool more = take(r, "{"); more && !take(r, "}");) {
    GR_TRY(read_attr(r, op, attr, &seen));
    if (!take(r, ",") && *r->p != '}') return unexpected(r, "',' or '}'");
  }
  for (const gr_attr *a = op->attrs; a && a->name; a++)
    if (!a->default_value && a->kind != GR_ATTR_GRAPH && !(seen >> (a - op->attrs) & 1))
      return gr_fail(GR_ERR_TYPE, here(r), "op '%s' needs '%s', %s", op->name, a->name, a->doc);
  return GR_OK;
}

static gr_status read_graph(reader *r, const gr_mesh *mesh, gr_graph **out);

static gr_status read_bodies(reader *r, const gr_op *op, void *attr) {
  for (const gr_attr *a = op->attrs; a && a->name; a++) {
    if (a->kind != GR_ATTR_GRAPH) continue;
    if (!next_line(r) || !take(r, a->name) || !take(r, "{"))
      return unexpected(r, "a body, 'body {'");
    if (++r->depth > MAX_DEPTH)
      return gr_fail(GR_ERR_TYPE, here(r), "bodies are nested more than %d deep", MAX_DEPTH);
    gr_graph *body;
    GR_TRY(read_graph(r, NULL, &body));
    memcpy((char *)attr + a->offset, &body, sizeof(gr_graph *));
    r->depth--;
  }
  return GR_OK;
}

// The types in the text must be those of inference.
static gr_status check_results(const reader *r, scope *s, gr_val out, const uint32_t *ids, int n,
                               const gr_type *types, const gr_layout *layouts) {
  const gr_node *node = &s->b.g->nodes[gr_at(s->b.g, out)->node];
  if (n != node->n_out)
    return gr_fail(GR_ERR_TYPE, here(r), "'%s' has %d results, not %d", node->op->name, node->n_out,
                   n);
  for (int k = 0; k < n; k++) {
    gr_value *v = gr_at(s->b.g, gr_out(node, k));
    char inferred[96], stated[96];
    if (!gr_type_same(&v->type, &types[k]))
      return gr_fail(GR_ERR_TYPE, here(r), "%%%u is %s, not %s", ids[k],
                     gr_type_text(&v->type, inferred), gr_type_text(&types[k], stated));
    v->layout = layouts[k];
  }
  return GR_OK;
}

static gr_status read_operands(reader *r, scope *s, gr_val *in, int *n) {
  r->p += strspn(r->p, " \t");
  for (*n = 0; *r->p == '%'; r->p += strspn(r->p, " \t")) {
    if (*n == GR_MAX_ARGS) return unexpected(r, "fewer operands");
    GR_TRY(take_value(r, s, &in[(*n)++]));
  }
  return GR_OK;
}

static gr_status read_node(reader *r, scope *s, const gr_op *op, const uint32_t *ids, int n) {
  gr_val in[GR_MAX_ARGS];
  gr_type types[GR_MAX_ARGS];
  gr_layout layouts[GR_MAX_ARGS];
  int n_in, n_types = 0;
  void *attr = gr_arena_alloc(r->arena, op->attr_size + 1);
  s->b.loc = here(r);
  GR_TRY(read_operands(r, s, in, &n_in));
  GR_TRY(read_attrs(r, op, attr));
  for (bool more = take(r, ":"); more; more = take(r, ",")) {
    if (n_types == n) return unexpected(r, "as many types as results");
    GR_TRY(take_type(r, &s->b.g->mesh, &types[n_types], &layouts[n_types]));
    n_types++;
  }
  if (*r->p) return unexpected(r, "the end of the line");
  if (n_types != n) return unexpected(r, "a type for each result");
  GR_TRY(read_bodies(r, op, attr));
  gr_val out = gr_emit(&s->b, op, op->attr_size ? attr : NULL, n_in, in);
  if (s->b.err) return s->b.err;
  for (int k = 0; k < n; k++) name_value(r, s, ids[k], (gr_val){out.id + (uint32_t)k});
  return check_results(r, s, out, ids, n, types, layouts);
}

// False: the word is no leaf's.
static bool is_leaf_word(const char *word, gr_role *role, gr_kind *kind) {
  gr_value v = {.role = GR_INPUT};
  for (int k = 0; strcmp(word, gr_leaf_word(&v)) != 0; k++) {
    if (k == GR_KIND_COUNT) return false;
    v.role = GR_STATE, v.kind = (gr_kind)k;
  }
  return *role = v.role, *kind = v.kind, true;
}

// "%3 = ..." or "%3 %4 = ..."
static gr_status read_definition(reader *r, scope *s) {
  uint32_t ids[GR_MAX_ARGS];
  int n = 0;
  while (*r->p == '%' && n < GR_MAX_ARGS) {
    GR_TRY(take_id(r, &ids[n++]));
    r->p += strspn(r->p, " \t");
  }
  if (!take(r, "=")) return unexpected(r, "'='");
  const char *word;
  gr_role role;
  gr_kind kind;
  gr_loc loc = here(r);
  GR_TRY(take_name(r, &word));
  if (is_leaf_word(word, &role, &kind)) return read_leaf(r, s, ids[0], role, kind);
  const gr_op *op = r->find(word);
  if (!op) return gr_fail(GR_ERR_TYPE, loc, "there is no op '%s'", word);
  return read_node(r, s, op, ids, n);
}

// ---- Graphs ---------------------------------------------------------------------------------

static gr_status read_mesh(reader *r, gr_mesh *m) {
  for (r->p += strspn(r->p, " \t"); *r->p; r->p += strspn(r->p, " \t")) {
    if (m->n_axes == GR_MAX_MESH) return unexpected(r, "at most 3 axes of the mesh");
    GR_TRY(take_name(r, &m->axis[m->n_axes].name));
    char *end = NULL;
    long size = take(r, "=") ? strtol(r->p, &end, 10) : 0;
    if (size < 1 || size > 1 << 20) return unexpected(r, "an axis and its size, dp=2");
    r->p = end;
    m->axis[m->n_axes++].size = (int)size;
  }
  return GR_OK;
}

static gr_status read_result(reader *r, scope *s) {
  const char *name = NULL;
  gr_val v;
  r->p += strspn(r->p, " \t");
  if (*r->p != '%') GR_TRY(take_name(r, &name));
  GR_TRY(take_value(r, s, &v));
  gr_result(&s->b, name, v);
  return s->b.err;
}

static gr_status read_line(reader *r, scope *s) {
  if (*r->p == '%') return read_definition(r, s);
  if (take(r, "mesh ")) return read_mesh(r, &s->b.g->mesh);
  if (take(r, "result ")) return read_result(r, s);
  if (!take(r, "loss ")) return unexpected(r, "a value, mesh, loss or result");
  GR_TRY(take_value(r, s, &s->b.g->loss));
  return take(r, "/") ? take_value(r, s, &s->b.g->loss_denominator) : GR_OK;
}

static gr_status read_graph(reader *r, const gr_mesh *mesh, gr_graph **out) {
  scope s = {.b = {.g = gr_graph_create(r->arena, mesh), .created_by = "text"}};
  bool ended = false;
  while (!ended && next_line(r)) {
    ended = r->depth && *r->p == '}';
    if (ended && *++r->p) return unexpected(r, "the end of the line");
    if (ended) break;
    GR_TRY(read_line(r, &s));
    if (*r->p) return unexpected(r, "the end of the line");
  }
  if (r->depth && !ended) return unexpected(r, "'}', the end of the body");
  *out = s.b.g;
  return resolve_later(&s);
}

gr_status graph_parse(gr_arena *arena, op_finder find, const char *file, const char *text,
                      gr_graph **out) {
  reader r = {.arena = arena, .find = find, .file = file, .line = "", .p = "", .rest = text};
  return read_graph(&r, NULL, out);
}
