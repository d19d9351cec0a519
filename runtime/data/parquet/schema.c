// schema.c - the columns of a Parquet file: the leaves of its schema, with the types that they are
// read as (LogicalTypes.md of parquet-format). See parquet.h.
#include "base/text.h"
#include "runtime/data/parquet/parts.h"

enum { MAX_NESTED = 16, REQUIRED = 0, OPTIONAL = 1, REPEATED = 2 };

// Of the older names of types, ConvertedType.
enum {
  UTF8 = 0,
  MAP = 1,
  MAP_KEY_VALUE,
  LIST,
  ENUM,
  DECIMAL,
  UINT_8 = 11,
  UINT_64 = 14,
  JSON = 19
};
// Of LogicalType, a union: the number of its member.
enum {
  IS_STRING = 1,
  IS_MAP,
  IS_LIST,
  IS_ENUM,
  IS_DECIMAL,
  IS_INTEGER = 10,
  IS_JSON = 12,
  IS_HALF = 15
};

typedef struct element {
  gr_parquet_type type;
  int64_t width, repetition, children, converted, logical;
  bool is_unsigned;
  const char *name;
} element;

// A struct that is being read: the fields that are left of it.
typedef struct level {
  int64_t left;
  int definitions;
  const char *name;     // with a point, or ""
  const char *refused;  // of all within, which are called by the element that is
  const char *whole;    // its name
} level;

// IntType: 2: whether it is signed.
static void read_integer(gr_thrift *t, element *e) {
  gr_thrift_field f = {0};
  while (gr_thrift_next(t, &f))
    if (f.id == 2)
      e->is_unsigned = !gr_thrift_bool(t, f.type);
    else
      gr_thrift_skip(t, f.type);
}

static void read_logical(gr_thrift *t, gr_thrift_type type, element *e) {
  gr_thrift_field f = {0};
  if (type != GR_THRIFT_STRUCT) {
    gr_thrift_skip(t, type);
    return;
  }
  while (gr_thrift_next(t, &f)) {
    e->logical = f.id;
    if (f.id == IS_INTEGER && f.type == GR_THRIFT_STRUCT)
      read_integer(t, e);
    else
      gr_thrift_skip(t, f.type);
  }
}

static element read_element(gr_arena *a, gr_thrift *t) {
  element e = {.type = (gr_parquet_type)-1, .converted = -1, .name = ""};
  gr_thrift_field f = {0};
  const unsigned char *name;
  while (gr_thrift_next(t, &f)) {
    if (f.id == 4) {
      size_t n = gr_thrift_bytes(t, f.type, &name);
      e.name = gr_arena_strndup(a, (const char *)name, n);
    } else if (f.id == 10) {
      read_logical(t, f.type, &e);
    } else if (f.id == 1 || f.id == 2 || f.id == 3 || f.id == 5 || f.id == 6) {
      int64_t v = gr_thrift_int(t, f.type);
      if (f.id == 1)
        e.type = v >= 0 && v <= GR_PARQUET_FIXED ? (gr_parquet_type)v : (gr_parquet_type)-1;
      if (f.id == 2) e.width = v;
      if (f.id == 3) e.repetition = v;
      if (f.id == 5) e.children = v;
      if (f.id == 6) e.converted = v;
    } else {
      gr_thrift_skip(t, f.type);
    }
  }
  e.is_unsigned |= e.converted >= UINT_8 && e.converted <= UINT_64;
  return e;
}

// Why all within an element is not read.
static const char *refuse_nested(const element *e) {
  if (e->converted == MAP || e->converted == MAP_KEY_VALUE || e->logical == IS_MAP)
    return "is a map";
  if (e->repetition == REPEATED || e->converted == LIST || e->logical == IS_LIST)
    return "is a list";
  return NULL;
}

static const char *refuse_leaf(const element *e) {
  if (e->converted == DECIMAL || e->logical == IS_DECIMAL) return "has decimal numbers";
  return e->type == GR_PARQUET_INT96 ? "has times of 96 bits (INT96)" : NULL;
}

static void set_type(const element *e, gr_parquet_column *c) {
  static const gr_element elements[] = {[GR_PARQUET_INT32] = GR_ELEMENT_INT,
                                        [GR_PARQUET_INT64] = GR_ELEMENT_INT,
                                        [GR_PARQUET_FLOAT] = GR_ELEMENT_FLOAT,
                                        [GR_PARQUET_DOUBLE] = GR_ELEMENT_FLOAT,
                                        [GR_PARQUET_FIXED] = GR_ELEMENT_BYTES};
  static const unsigned char sizes[] = {1, 4, 8, 0, 4, 8, 0, 0};
  c->type = e->type, c->size = sizes[e->type];
  c->element = e->type == GR_PARQUET_BYTES ? GR_ELEMENT_BYTES : elements[e->type];
  if (c->element == GR_ELEMENT_INT && e->is_unsigned) c->element = GR_ELEMENT_UINT;
  c->width = e->type == GR_PARQUET_FIXED ? (size_t)e->width : 0;
  if (e->logical == IS_HALF && c->width == 2) c->element = GR_ELEMENT_FLOAT, c->size = 2;
  c->text = e->type == GR_PARQUET_BYTES &&
            (e->converted == UTF8 || e->converted == ENUM || e->converted == JSON ||
             e->logical == IS_STRING || e->logical == IS_ENUM || e->logical == IS_JSON);
}

static gr_status add_leaf(gr_parquet *p, const gr_thrift *t, const element *e, const level *in,
                          const char *name) {
  gr_parquet_column *c = &p->columns[p->n_columns++];
  uint64_t offset = (uint64_t)(t->next - p->map.data);
  if (e->type == (gr_parquet_type)-1)
    return gr_parquet_broken(p, offset, "a column has no type, or one that is not known");
  if (e->type == GR_PARQUET_FIXED && (e->width < 1 || e->width > INT32_MAX))
    return gr_parquet_broken(p, offset, "a column of values of one length has none");
  *c = (gr_parquet_column){.name = name};
  set_type(e, c);
  c->definitions = in->definitions + (e->repetition != REQUIRED);
  c->refused = in->refused ? in->refused : refuse_nested(e);
  if (!c->refused) c->refused = refuse_leaf(e);
  return GR_OK;
}

// An element within levels[depth - 1]: a leaf, or a struct, which becomes levels[*depth].
static gr_status add_element(gr_arena *a, gr_parquet *p, gr_thrift *t, level *levels, int *depth) {
  element e = read_element(a, t);
  level *in = &levels[*depth - 1];
  uint64_t offset = (uint64_t)(t->next - p->map.data);
  if (t->wrong) return gr_parquet_wrong(p, t);
  if (!gr_utf8_valid(e.name) || e.repetition < REQUIRED || e.repetition > REPEATED ||
      e.children < 0)
    return gr_parquet_broken(p, offset, "an element of the schema is damaged");
  in->left--;
  const char *name = gr_arena_printf(a, "%s%s", in->name, e.name);
  if (!e.children) return add_leaf(p, t, &e, in, in->refused ? in->whole : name);
  if (*depth == MAX_NESTED) return gr_parquet_broken(p, offset, "the schema is nested too deep");
  level *within = &levels[(*depth)++];
  *within = (level){.left = e.children,
                    .definitions = in->definitions + (e.repetition != REQUIRED),
                    .name = gr_arena_printf(a, "%s.", name),
                    .refused = in->refused ? in->refused : refuse_nested(&e),
                    .whole = in->refused ? in->whole : name};
  return GR_OK;
}

gr_status gr_parquet_schema(gr_arena *a, gr_parquet *p, gr_thrift *t, size_t elements) {
  level levels[MAX_NESTED] = {{.name = ""}};
  int depth = 1;
  p->columns = GR_NEW(a, gr_parquet_column, elements + 1);
  p->n_columns = 0;
  if (elements) levels[0].left = read_element(a, t).children;  // the root
  for (size_t i = 1; i < elements; i++) {
    while (depth && !levels[depth - 1].left) depth--;
    if (!depth)
      return gr_parquet_broken(p, (uint64_t)(t->next - p->map.data),
                               "the schema has more elements than it claims");
    GR_TRY(add_element(a, p, t, levels, &depth));
  }
  while (depth && !levels[depth - 1].left) depth--;
  if (t->wrong) return gr_parquet_wrong(p, t);
  if (!depth && p->n_columns) return GR_OK;
  return gr_parquet_broken(
      p, (uint64_t)(t->next - p->map.data),
      p->n_columns ? "the schema has fewer elements than it claims" : "the schema has no columns");
}
