// attr.c - parses and prints op attributes, for YAML, IR text and docs (op.h).
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ir/op.h"

static bool parse_int(const char *p, int64_t *out) {
  char *end;
  errno = 0;
  *out = strtoll(p, &end, 10);
  return end != p && !*end && !errno;
}

static bool parse_float(const char *p, double *out) {
  static const struct {
    const char *text;
    double value;
  } named[] = {{".inf", INFINITY},  {"-.inf", -INFINITY},   {"inf", INFINITY},
               {"-inf", -INFINITY}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
  for (size_t i = 0; i < sizeof named / sizeof *named; i++)
    if (!strcmp(p, named[i].text)) return *out = named[i].value, true;
  char *end;
  *out = strtod(p, &end);
  return end != p && !*end && isfinite(*out);
}

static bool parse_bool(const char *p, int64_t *out) {
  *out = !strcmp(p, "true") || !strcmp(p, "1");
  return *out || !strcmp(p, "false") || !strcmp(p, "0");
}

static bool parse_dtype(const char *p, int64_t *out) {
  for (*out = 0; *out < GR_DTYPE_COUNT; ++*out)
    if (!strcmp(gr_dtypes[*out].name, p)) return true;
  return false;
}

// Parses "[0, 2, 1]", "[]", or one number without brackets into items[0] to items[*n - 1] and
// clears the rest.
static bool parse_ints(const char *p, int most, int64_t *n, int64_t *items) {
  memset(items, 0, sizeof *items * (size_t)most);
  *n = 0;
  if (*p != '[') return *n = 1, parse_int(p, items);
  p += 1 + strspn(p + 1, " ");
  while (*p != ']') {
    char *end;
    errno = 0;
    if (*n == most) return false;
    items[(*n)++] = strtoll(p, &end, 10);
    if (end == p || errno) return false;
    p = end + strspn(end, " ");
    if (*p == ',')
      p += 1 + strspn(p + 1, " ");
    else if (*p != ']')
      return false;
  }
  return !p[1];
}

static bool parse_choice(const char *p, const char *choices, int64_t *out) {
  size_t len = strlen(p);
  *out = 0;
  for (const char *c = choices; c; c = strchr(c, '|'), c = c ? c + 1 : NULL, ++*out)
    if (strcspn(c, "|") == len && !strncmp(c, p, len)) return true;
  return false;
}

static bool parse_stream(const char *p, uint64_t *out) {
  char *end;
  *out = strtoull(p, &end, 16);
  if (strncmp(p, "0x", 2) || *end) *out = gr_hash_text(p);
  return *p != 0;
}

static const char *kinds[] = {
    [GR_ATTR_INT] = "an integer",
    [GR_ATTR_FLOAT] = "a number",
    [GR_ATTR_BOOL] = "true or false",
    [GR_ATTR_DTYPE] = "a dtype (f32, f64, bf16, f16, i32, i64, u8)",
    [GR_ATTR_INTS] = "a list of at most 6 integers, [0, 2, 1]",
    [GR_ATTR_LIST] = "a list of at most 128 integers, [4, 1]",
    [GR_ATTR_CHOICE] = "one of",
    [GR_ATTR_STREAM] = "the name of a random stream",
    [GR_ATTR_GRAPH] = "a graph",
};

gr_status gr_attr_parse(const gr_op *op, const gr_attr *a, const char *text, gr_loc loc,
                        void *attr) {
  assert(a && text);
  void *to = (char *)attr + a->offset;
  bool good = false;
  switch (a->kind) {
    case GR_ATTR_INT:
      good = parse_int(text, to);
      break;
    case GR_ATTR_FLOAT:
      good = parse_float(text, to);
      break;
    case GR_ATTR_BOOL:
      good = parse_bool(text, to);
      break;
    case GR_ATTR_DTYPE:
      good = parse_dtype(text, to);
      break;
    case GR_ATTR_INTS:
      good = parse_ints(text, GR_MAX_RANK, &((gr_ints *)to)->n, ((gr_ints *)to)->items);
      break;
    case GR_ATTR_LIST:
      good = parse_ints(text, GR_MAX_ARGS, &((gr_list *)to)->n, ((gr_list *)to)->items);
      break;
    case GR_ATTR_CHOICE:
      good = parse_choice(text, a->choices, to);
      break;
    case GR_ATTR_STREAM:
      good = parse_stream(text, to);
      break;
    case GR_ATTR_GRAPH:
      break;
  }
  if (good) return GR_OK;
  gr_status s =
      gr_fail(GR_ERR_CONFIG, loc, "'%s' of op '%s' is %s%s%s, not '%s'", a->name, op->name,
              kinds[a->kind], a->choices ? " " : "", a->choices ? a->choices : "", text);
  return gr_hint(s, "%s: %s", a->name, a->doc);
}

static void read_defaults(const gr_op *op, void *attr) {
  memset(attr, 0, op->attr_size);
  for (const gr_attr *a = op->attrs; a && a->name; a++) {
    gr_status bad =
        a->default_value ? gr_attr_parse(op, a, a->default_value, GR_NOWHERE, attr) : GR_OK;
    if (bad) gr_status_print(stderr, bad), abort();  // a wrong descriptor: every test run fails
  }
}

// Asked for with every node of a model and every state; the last answers are kept.
void gr_attr_defaults(const gr_op *op, void *attr) {
  enum { KNOWN = 16, MOST = 512 };
  static _Thread_local struct {
    const gr_op *op;
    const gr_attr *attrs;
    _Alignas(16) char attr[MOST];
  } known[KNOWN], *k;
  if (!op->attr_size) return;
  if (op->attr_size > MOST) {
    read_defaults(op, attr);
    return;
  }
  k = &known[(uintptr_t)op / sizeof *op % KNOWN];
  if (k->op != op || k->attrs != op->attrs)
    k->op = op, k->attrs = op->attrs, read_defaults(op, k->attr);
  memcpy(attr, k->attr, op->attr_size);
}

static void put_choice(gr_text *t, const char *choices, int64_t index) {
  const char *c = choices;
  while (index-- > 0 && c) c = strchr(c, '|'), c = c ? c + 1 : NULL;
  if (c) gr_text_putn(t, c, strcspn(c, "|"));
}

static void put_ints(gr_text *t, int64_t n, const int64_t *items) {
  gr_text_put(t, "[");
  for (int64_t i = 0; i < n; i++) gr_text_put(t, i ? "," : ""), gr_text_put_int(t, items[i]);
  gr_text_put(t, "]");
}

static void put_float(gr_text *t, double x) {
  if (isinf(x))
    gr_text_put(t, x > 0 ? "inf" : "-inf");
  else
    gr_text_json_float(t, x);
}

void gr_attr_text(gr_text *t, const gr_attr *a, const void *attr) {
  assert(a && attr);
  const void *value = (const char *)attr + a->offset;
  int64_t i = 0;
  const gr_ints *ints = value;
  const gr_list *list = value;
  if (a->kind != GR_ATTR_GRAPH) memcpy(&i, value, sizeof i);
  switch (a->kind) {
    case GR_ATTR_INT:
      gr_text_put_int(t, i);
      break;
    case GR_ATTR_FLOAT:
      put_float(t, *(const double *)value);
      break;
    case GR_ATTR_BOOL:
      gr_text_put(t, i ? "true" : "false");
      break;
    case GR_ATTR_DTYPE:
      gr_text_put(t, gr_dtypes[i].name);
      break;
    case GR_ATTR_INTS:
      put_ints(t, ints->n, ints->items);
      break;
    case GR_ATTR_LIST:
      put_ints(t, list->n, list->items);
      break;
    case GR_ATTR_CHOICE:
      put_choice(t, a->choices, i);
      break;
    case GR_ATTR_STREAM:
      gr_text_printf(t, "0x%016llx", (unsigned long long)i);
      break;
    case GR_ATTR_GRAPH:
      break;
  }
}
