// golden.h - reads a file of an op's cases that another program has computed: a line
// `case OP attribute=value ...`, lines of a letter and numbers, a line `end`.
#pragma once
#include "tests/check.h"
#include "tests/ops/bench.h"

typedef struct golden_head {
  const char *file;
  int line;  // of the case
  const gr_op *op;
  double attr[160];  // room, and aligned
} golden_head;

// A value written as its type and its numbers.
static value golden_value(char *text, const golden_head *h, int line) {
  char *rest = text, *type = strtok_r(text, " \n", &rest);
  gr_type t;
  MUST(gr_type_parse(type, &t));
  value v = value_make(t);
  for (int64_t i = 0; i < value_count(&v); i++) {
    char *end;
    value_put(&v, i, strtod(rest, &end));
    CHECK(end != rest, "%s:%d: %lld numbers are too few", h->file, line, (long long)i);
    rest = end;
  }
  return v;
}

// Reads the op and the attributes of a line `case`; the test fails where they are not known.
static void golden_read_head(golden_head *h, char *text) {
  char *rest = text, *name = strtok_r(text, " \n", &rest);
  h->op = gr_op_find(name);
  CHECK(h->op, "%s:%d: there is no op '%s'", h->file, h->line, name);
  if (!h->op) check_leave();
  CHECK(h->op->attr_size <= sizeof h->attr, "%s: too many attributes", name);
  gr_attr_defaults(h->op, h->attr);
  for (char *pair; (pair = strtok_r(NULL, " \n", &rest));) {
    char *equals = strchr(pair, '=');
    const gr_attr *a = h->op->attrs;
    for (*equals = 0; a && a->name && strcmp(a->name, pair);) a++;
    CHECK(a && a->name, "%s:%d: '%s' has no '%s'", h->file, h->line, name, pair);
    MUST(gr_attr_parse(h->op, a, equals + 1, GR_NOWHERE, h->attr));
  }
}

// Reads each case into `golden`, of so many bytes, whose first member is its golden_head: cleared
// first, then line by line with `read`, and at its end replayed and freed by `finish`. Returns the
// number of cases.
static int golden_read(const char *file, void *golden, size_t bytes,
                       void (*read)(void *golden, char *text, int line),
                       void (*finish)(void *golden)) {
  golden_head *h = golden;
  FILE *f = fopen(file, "r");
  CHECK(f, "cannot open %s", file);
  char *text = NULL;
  size_t room = 0;
  int cases = 0;
  for (int line = 1; f && getline(&text, &room, f) > 0; line++) {
    if (!strncmp(text, "case ", 5)) {
      memset(golden, 0, bytes);
      h->file = file, h->line = line;
      golden_read_head(h, text + 5);
    } else if (strncmp(text, "end", 3)) {
      read(golden, text, line);
    } else {
      finish(golden), cases++;
    }
  }
  free(text);
  if (f) fclose(f);
  return cases;
}
