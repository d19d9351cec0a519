// join_lines.c - what is printed of joined sources: lines of their parts; see join.h.
#include <string.h>
#include "runtime/data/join.h"

static void join_name_of(const void *self, uint32_t sample, gr_text *out) {
  uint32_t row;
  const gr_join_part *p = gr_join_first(self, sample, &row);
  if (p->ops->name_of)
    p->ops->name_of(p->self, row, out);
  else
    gr_text_printf(out, "%s %u", p->ops->sample, row);
}

// The part whose outputs are printed: that of tokens, else of classes, else the first that can.
static const gr_join_part *printed(const gr_join *j) {
  const gr_join_part *found = NULL;
  for (int k = 0; k < j->n; k++) {
    const gr_join_part *p = &j->part[k];
    if (!p->ops->decode) continue;
    bool better = j->classes ? k == j->classes_of : p->ops->tokens;
    if (!found || better) found = p;
  }
  return found;
}

static void join_reference(const void *self, uint32_t sample, gr_text *out) {
  const gr_join *j = self;
  const gr_join_part *p = printed(j);
  uint32_t row = p ? gr_join_row(j, sample, (int)(p - j->part)) : GR_NO_ROW;
  if (row != GR_NO_ROW && p->ops->reference) p->ops->reference(p->self, row, out);
}

static void join_decode(const void *self, const int32_t *ids, int64_t n, gr_text *out) {
  const gr_join *j = self;
  const gr_join_part *p = printed(j);
  if (j->classes && !j->part[j->classes_of].ops->decode)
    gr_classes_decode(j->classes, ids, n, out);
  else if (p)
    p->ops->decode(p->self, ids, n, out);
}

static void join_summary(const void *self, const gr_sample *rows, uint32_t n, gr_split split,
                         gr_text *out) {
  const gr_join *j = self;
  for (int k = 0; k < j->n; k++) {
    uint32_t m;
    if (!j->part[k].ops->summary) continue;
    const gr_sample *samples = gr_join_samples(out->arena, j, k, rows, n, &m);
    j->part[k].ops->summary(j->part[k].self, samples, m, split, out);
  }
}

static void join_inspect(const void *self, const gr_sample *rows, uint32_t n, gr_text *out) {
  const gr_join *j = self;
  for (int k = 0; k < j->n; k++) {
    uint32_t m;
    if (!j->part[k].ops->inspect) continue;
    const gr_sample *samples = gr_join_samples(out->arena, j, k, rows, n, &m);
    j->part[k].ops->inspect(j->part[k].self, samples, m, out);
  }
}

static void join_notes(const void *self, gr_text *out) {
  const gr_join *j = self;
  for (int k = 0; k < j->n; k++) {
    gr_text lines = gr_text_make(out->arena);
    if (j->part[k].ops->notes) j->part[k].ops->notes(j->part[k].self, &lines);
    if (lines.len) gr_text_printf(out, "%s%s", out->len ? "\n" : "", lines.chars);
  }
}

// Which key of a part gives an input of that name, without the source's in front.
static const char *join_advice(const void *self, const char *field) {
  const gr_join *j = self;
  const char *advice = NULL;
  for (int k = 0; k < j->n && !advice; k++) {
    const gr_join_part *p = &j->part[k];
    size_t n = strlen(p->ops->name);
    bool named = !strncmp(field, p->ops->name, n) && field[n] == '_';
    if (p->ops->advice) advice = p->ops->advice(p->self, named ? field + n + 1 : field);
  }
  return advice;
}

static void join_preprocessing(const void *self, gr_text *out) {
  const gr_join *j = self;
  for (int k = 0; k < j->n; k++) {
    const gr_join_part *p = &j->part[k];
    gr_text line = gr_text_make(out->arena);
    if (p->ops->preprocessing) p->ops->preprocessing(p->self, &line);
    if (line.len && p->n)
      gr_text_printf(out, "%s%s: %s", out->len ? "; " : "", j->field[p->first].name, line.chars);
  }
}

void gr_join_print(gr_source_ops *ops) {
  ops->name_of = join_name_of, ops->reference = join_reference, ops->decode = join_decode;
  ops->summary = join_summary, ops->inspect = join_inspect, ops->notes = join_notes;
  ops->advice = join_advice, ops->preprocessing = join_preprocessing;
}
