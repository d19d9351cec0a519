// join_make.c - the table of functions of sources that are joined; see join.h.
#include <assert.h>
#include <string.h>
#include "runtime/data/join.h"

// Samples that a part leaves out are rows that it lacks: its reasons are lines of their own.
static void add_reasons(gr_arena *a, gr_source_ops *ops, int *n, const gr_source_ops *part) {
  for (const gr_skip_reason *s = part->skips; s->why || s->of; s++) {
    gr_skip_reason *to = &ops->skips[(*n)++];
    assert(*n < GR_MAX_SKIPS);
    *to = *s;
    if (s->of != GR_OMITTED_SKIPPED) continue;
    to->of = GR_OMITTED_OTHER, to->why = gr_arena_printf(a, "%ss %s", part->sample, s->why);
  }
}

static void add_part(gr_arena *a, gr_source_ops *ops, const gr_source_ops *part) {
  int n = 0;
  ops->name = ops->name ? gr_arena_printf(a, "%s+%s", ops->name, part->name) : part->name;
  if (!ops->unit) ops->unit = part->unit;
  if (part->inputs)
    ops->inputs =
        ops->inputs ? gr_arena_printf(a, "%s; %s", ops->inputs, part->inputs) : part->inputs;
  ops->tokens |= part->tokens;
  if (part->load) ops->load = gr_join_functions.load;
  if (part->alignment) ops->alignment = gr_join_functions.alignment;
  while (ops->endings[n].ending) n++;
  for (const gr_source_ending *e = part->endings; e->ending; e++) {
    bool known = false;
    for (int i = 0; i < n; i++) known |= !strcmp(ops->endings[i].ending, e->ending);
    assert(n + 1 < GR_MAX_ENDINGS);
    if (!known) ops->endings[n++] = *e;
  }
}

const gr_source_ops *gr_join_ops(gr_arena *a, const gr_source_ops *const *parts, int n) {
  gr_source_ops *ops = GR_NEW(a, gr_source_ops, 1);
  int reasons = GR_JOIN_REASONS;
  *ops = gr_join_functions;
  gr_join_print(ops);
  ops->joined = parts, ops->n_joined = n;
  ops->load = NULL, ops->alignment = NULL;  // unless a part has them
  if (!parts[0]->resize_back) ops->resize_back = NULL;
  if (!parts[0]->check_lookup) ops->check_lookup = NULL;
  ops->skips[GR_JOIN_LACKING] =
      (gr_skip_reason){.why = "that one of the joined sources has no sample of",
                       .hint = "the lines of each source say what it leaves out"};
  for (int k = 0; k < n; k++) {
    add_part(a, ops, parts[k]);
    add_reasons(a, ops, &reasons, parts[k]);
  }
  return ops;
}

static gr_status cannot_join(const gr_conf *name, const char *why) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, name->loc, "%s", why),
                 "data.source=[image,texts] joins the rows of one list: each source once, at most "
                 "%d of them",
                 GR_MAX_JOINED);
}

// A part that reads lists only, where its key leaves nothing to read of other files.
static const gr_source_ops *as_configured(gr_arena *a, gr_conf *data, const gr_source_ops *part) {
  gr_conf *section = part->file_key ? gr_conf_member(data, part->name) : NULL;
  const gr_conf *key = section ? gr_conf_member(section, part->file_key) : NULL;
  if (!key || key->kind != GR_CONF_NULL) return part;
  gr_source_ops *lists = GR_NEW(a, gr_source_ops, 1);
  int n = 0;
  *lists = *part, lists->inputs = NULL;
  for (const gr_source_ending *e = part->endings; e->ending; e++)
    if (!e->in_lists) lists->endings[n++] = *e;
  lists->endings[n] = (gr_source_ending){0};
  return lists;
}

gr_status gr_join_make(gr_arena *a, gr_conf *data, const gr_source_ops **out) {
  gr_conf *names = gr_conf_find(data, "source");
  const gr_source_ops **parts = GR_NEW(a, const gr_source_ops *, GR_MAX_JOINED);
  gr_conf_mark(names);
  if (names->n < 2 || names->n > GR_MAX_JOINED)
    return cannot_join(
        names, names->n < 2 ? "a list of sources has at least two" : "too many sources are joined");
  for (int i = 0; i < names->n; i++) {
    const gr_conf *name = names->items[i];
    parts[i] = gr_source_named(name->text);
    bool twice = false;
    for (int k = 0; k < i; k++) twice |= parts[k] == parts[i];
    if (!parts[i] || parts[i]->empty) return cannot_join(name, "this source cannot be joined");
    if (twice) return cannot_join(name, "a source cannot be joined with itself");
  }
  for (int i = 0; i < names->n; i++) parts[i] = as_configured(a, data, parts[i]);
  *out = gr_join_ops(a, parts, names->n);
  return GR_OK;
}
