// join_rows.c - opens the parts of a join and lists what all have of a row; see join.h.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/data/join.h"

// ---- Parts --------------------------------------------------------------------------------------

// Errors about keys of a part, whose section they do not say.
static gr_status about_part(const gr_join_part *p, gr_status s) {
  const char *about = gr_status_about(s) ? gr_status_about(s) : "path manifest";
  if (!s) return s;
  gr_arena *a = gr_arena_create();
  gr_text keys = gr_text_make(a);
  for (const char *key = about; *key; key += strspn(key, " ")) {
    int n = (int)strcspn(key, " ");
    gr_text_printf(&keys, "%s%s.%.*s %.*s", keys.len ? " " : "", p->ops->name, n, key, n, key);
    key += n;
  }
  s = gr_about(s, keys.chars);
  gr_arena_destroy(a);
  return s;
}

// Whether a part reads a file to predict: one of a single sample, or a list that another reads.
static bool reads(const gr_join *j, int part, const char *path) {
  const gr_source_ending *ending = gr_source_reads(j->part[part].ops, path);
  bool known = false;
  for (int k = 0; k < j->n; k++) {
    const gr_source_ending *e = gr_source_reads(j->part[k].ops, path);
    if (e && !e->in_lists) return true;
    known |= e != NULL;
  }
  return ending || (!known && !part);
}

static void take_inputs(const gr_join *j, int part, gr_source_request *r) {
  const char **inputs = GR_NEW(r->arena, const char *, r->n_inputs + 1);
  int n = 0;
  for (int i = 0; i < r->n_inputs; i++)
    if (reads(j, part, r->inputs[i])) inputs[n++] = r->inputs[i];
  r->inputs = inputs, r->n_inputs = n;
}

// The split is the first part's: a key of another that says one is of no use.
static gr_status refuse_split(const gr_join *j, int k, gr_conf *section) {
  const char *name = j->part[k].ops->name;
  gr_conf *split = k && section ? gr_conf_member(section, "split") : NULL;
  if (!split || split->is_default || split->kind == GR_CONF_NULL) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, split->loc,
                         "'data.%s.split' has no effect: the split is that of '%s', the first of "
                         "data.source",
                         name, j->part[0].ops->name),
                 "remove it, or name '%s' first", name);
}

// Only the first part counts what data.limit leaves out, and says the place of all samples.
static gr_status open_part(gr_join *j, gr_source_request *all, int k, gr_omitted *skipped) {
  gr_join_part *p = &j->part[k];
  gr_source_request r = *all;
  r.ops = p->ops, r.skipped = skipped;
  r.conf = all->conf ? gr_conf_find(all->conf, p->ops->name) : NULL;
  GR_TRY(refuse_split(j, k, r.conf));
  r.spec = all->spec ? ((const void *const *)all->spec)[k] : NULL;
  if (r.record) r.record = gr_json_get(r.record, p->ops->name, GR_JSON_OBJECT);
  r.cache_bytes = all->cache_bytes / (size_t)j->n;
  if (!p->ops->tokens) r.tokenizer = NULL;
  if (k != j->lengths) r.max_length = 0;
  if (k) r.limited = GR_NEW(r.arena, gr_omitted, 1);
  take_inputs(j, k, &r);
  GR_TRY(about_part(p, p->ops->open(&r, &p->self)));
  if (k == j->lengths) all->max_length = r.max_length;
  if (!k) all->place = r.place;
  return GR_OK;
}

static gr_status open_parts(gr_join *j, gr_source_request *r) {
  gr_omitted *skipped = r->skipped + GR_JOIN_REASONS;
  for (int k = 0; k < j->n; k++) {
    GR_TRY(open_part(j, r, k, skipped));
    for (const gr_skip_reason *s = j->part[k].ops->skips; s->why || s->of; s++) skipped++;
  }
  return GR_OK;
}

// Whether a part has a key that leaves out its classes.
static bool may_leave_out(const gr_source_request *r, const gr_join_part *p) {
  gr_conf *section = r->conf ? gr_conf_find(r->conf, p->ops->name) : NULL;
  return !section || gr_conf_member(section, "label");
}

static gr_status find_classes(gr_join *j, const gr_source_request *r) {
  for (int k = 0; k < j->n; k++) {
    const gr_join_part *p = &j->part[k];
    gr_classes *c = p->ops->classes ? p->ops->classes(p->self) : NULL;
    if (c && j->classes)
      return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                      "the sources '%s' and '%s' both have classes, and a sample "
                                      "is of one",
                                      j->part[j->classes_of].ops->name, p->ops->name),
                              "source"),
                     "data.%s.label=null leaves them out",
                     may_leave_out(r, p) ? p->ops->name : j->part[j->classes_of].ops->name);
    if (c) j->classes = c, j->classes_of = k;
  }
  return GR_OK;
}

// ---- Fields -------------------------------------------------------------------------------------

const char *gr_join_name(gr_arena *a, const gr_join_part *p, const char *name, bool taken) {
  return taken ? gr_arena_printf(a, "%s_%s", p->ops->name, name) : name;
}

// Names that the data set gives are taken, too.
static bool is_taken(const gr_join *j, const char *name) {
  bool taken = !strcmp(name, "weight");
  if (j->classes) taken |= !strcmp(name, "y") || !strcmp(name, "class_weight");
  for (int f = 0; f < j->n_fields; f++) taken |= !strcmp(name, j->field[f].name);
  return taken;
}

static gr_status too_many(const gr_join_part *p) {
  return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                  "with those of '%s' samples have more than %d fields",
                                  p->ops->name, GR_MAX_FIELDS),
                          "source"),
                 "join fewer sources, or leave out fields");
}

static gr_status add_fields(gr_join *j, int k) {
  gr_join_part *p = &j->part[k];
  gr_field_spec fields[GR_MAX_FIELDS];
  p->first = j->n_fields, p->n = p->ops->fields(p->self, fields);
  if (p->first + p->n + 1 + 2 * (j->classes != NULL) > GR_MAX_FIELDS) return too_many(p);
  for (int f = 0; f < p->n; f++) {
    gr_field_spec *s = &fields[f];
    s->name = gr_join_name(j->arena, p, s->name, is_taken(j, s->name));
    for (int d = 0; d < s->rank && k != j->lengths; d++)
      if (s->dim[d] == GR_DIM_LENGTH) s->dim[d] = GR_DIM_EXTENT, p->stretched = true;
  }
  memcpy(j->field + p->first, fields, (size_t)p->n * sizeof *fields);
  j->n_fields += p->n;
  return GR_OK;
}

// ---- Rows ---------------------------------------------------------------------------------------

// What became of a list's rows.
typedef struct list_use {
  gr_loc lacking;      // the first row that is no sample
  int lister, lacker;  // a part that has it, and one that has not
  bool used;           // a row is a sample
} list_use;

typedef struct listing {
  gr_join *join;
  gr_source_request *request;
  gr_arena *scratch;
  gr_map rows[GR_MAX_JOINED];  // places to samples
  gr_map files;                // names of files, each to the number of the first that is the same
  list_use *uses;              // of each number
} listing;

// The row of a sample; of a file to predict alone its path.
static gr_loc place_of(const gr_join_part *p, uint32_t sample) {
  gr_loc loc = p->ops->info(p->self, sample).loc;
  if (!loc.file && p->ops->file) loc = (gr_loc){p->ops->file(p->self, sample), 1, 1};
  return loc;
}

// The number of a file, which sources may name in other ways.
static uint32_t number_of(listing *l, const char *file) {
  uint32_t n;
  if (gr_map_find(&l->files, file, &n)) return n;
  char real[PATH_MAX];
  const char *name = realpath(file, real) ? gr_arena_strdup(l->scratch, real) : file;
  n = gr_map_find(&l->files, name, &n) ? n : l->files.n;
  gr_map_put(&l->files, name, n);
  gr_map_put(&l->files, file, n);
  return n;
}

static const char *key_of(listing *l, gr_loc loc) {
  return gr_arena_printf(l->scratch, "%d %u", loc.line, number_of(l, loc.file));
}

static gr_status no_row(const gr_join_part *p) {
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                                  "the samples of '%s' are not listed by rows, which join sources",
                                  p->ops->name),
                          "source"),
                 "a list (CSV, JSON lines or Parquet) with a row for each sample, which each of "
                 "the sources names");
}

static gr_status list_part(listing *l, int k) {
  const gr_join_part *p = &l->join->part[k];
  l->rows[k] = gr_map_make(l->scratch);
  for (uint32_t i = 0, n = p->ops->count(p->self); i < n; i++) {
    gr_loc loc = place_of(p, i);
    if (!loc.file || (!p->ops->info(p->self, i).loc.file && !l->request->n_inputs))
      return no_row(p);
    const char *key = key_of(l, loc);
    if (k && gr_map_find(&l->rows[k], key, NULL))
      return gr_hint(
          gr_fail(GR_ERR_DATA, loc, "'%s' has several samples of this row", p->ops->name),
          "name it first in data.source: of the other sources a row is one sample");
    gr_map_add(&l->rows[k], key, i);
  }
  return GR_OK;
}

// Adds a part's sample with those that the parts after it have of its row, unless one lacks it.
static void add_row(listing *l, int k, uint32_t sample) {
  gr_join *j = l->join;
  gr_loc loc = place_of(&j->part[k], sample);
  const char *key = key_of(l, loc);
  uint32_t *row = j->row + (size_t)j->count * (size_t)j->n;
  int lacker = -1;
  for (int m = 0; m < j->n; m++) {
    row[m] = m == k ? sample : GR_NO_ROW;
    bool there = m == k || gr_map_find(&l->rows[m], key, &row[m]);
    bool wanted = !l->request->n_inputs || reads(j, m, loc.file);
    if (m < k && there) return;  // it is that part's sample
    if (!there && wanted) lacker = m;
  }
  list_use *use = &l->uses[number_of(l, loc.file)];
  use->used |= lacker < 0;
  if (lacker >= 0 && !use->lacking.file) *use = (list_use){loc, k, lacker, use->used};
  if (lacker < 0)
    j->count++;
  else
    gr_omitted_add(j->arena, &l->request->skipped[GR_JOIN_LACKING], 1, loc, NULL);
}

// A list that one part reads and another does not, such as one for validation.
static gr_status check_lists(const listing *l) {
  for (uint32_t i = 0; i < l->files.n && !l->request->n_inputs; i++) {
    const list_use *use = &l->uses[i];
    const gr_source_ops *has = l->join->part[use->lister].ops;
    const gr_source_ops *lacks = l->join->part[use->lacker].ops;
    if (use->used || !use->lacking.file) continue;
    return gr_hint(
        gr_about(gr_fail(GR_ERR_DATA, (gr_loc){use->lacking.file, 1, 1},
                         "'%s' has rows for the source '%s', and none for '%s'", use->lacking.file,
                         has->name, lacks->name),
                 "source"),
        "data.%s.%s, or data.%s.eval_%s for validation, names it, too, where data.%s.%s or "
        "data.%s.eval_%s does",
        lacks->name, lacks->path_key, lacks->name, lacks->path_key, has->name, has->path_key,
        has->name, has->path_key);
  }
  return GR_OK;
}

// An error with the reason that a part has for the most of its rows; none without a reason.
static gr_status no_sample(const listing *l, int k) {
  const gr_source_ops *part = l->join->part[k].ops;
  const gr_omitted *skipped = l->request->skipped + GR_JOIN_REASONS;
  int most = 0;
  for (int m = 0; m < k; m++)
    for (const gr_skip_reason *s = l->join->part[m].ops->skips; s->why || s->of; s++) skipped++;
  for (int i = 0; part->skips[i].why || part->skips[i].of; i++)
    if (skipped[i].n > skipped[most].n) most = i;
  if (!skipped[most].n) return GR_OK;
  const gr_skip_reason *why = &part->skips[most];
  return gr_hint(
      gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "no row is a sample of '%s': %llu %s", part->name,
                       (unsigned long long)skipped[most].n, why->why ? why->why : "are left out"),
               "source"),
      "%s", why->hint ? why->hint : "the lines of the source say what it leaves out");
}

static gr_status list_rows(listing *l) {
  gr_join *j = l->join;
  uint64_t all = 0;
  for (int k = 0; k < j->n; k++) {
    GR_TRY(list_part(l, k));
    all += j->part[k].ops->count(j->part[k].self);
  }
  j->row = GR_NEW(j->arena, uint32_t, all * (uint64_t)j->n + 1);
  l->uses = GR_NEW(l->scratch, list_use, l->files.n + 1);
  for (int k = 0; k < j->n; k++)
    for (uint32_t i = 0, n = j->part[k].ops->count(j->part[k].self); i < n; i++) add_row(l, k, i);
  if (!all || gr_unreadable_count(l->request->unreadable)) return GR_OK;
  if (j->count) return check_lists(l);
  for (int k = 0; k < j->n; k++)
    if (!j->part[k].ops->count(j->part[k].self)) GR_TRY(no_sample(l, k));
  const gr_join_part *a = &j->part[0], *b = &j->part[1];
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                                  "no row has a sample of each of the joined sources"),
                          "source"),
                 "they name the same file: data.%s.%s and data.%s.%s", a->ops->name,
                 a->ops->path_key, b->ops->name, b->ops->path_key);
}

// What a part cannot read is counted as that, and lacks no more.
static void settle_lacking(gr_source_request *r) {
  gr_omitted *lacking = &r->skipped[GR_JOIN_LACKING];
  uint64_t unreadable = gr_unreadable_count(r->unreadable);
  lacking->n -= unreadable < lacking->n ? unreadable : lacking->n;
}

gr_status gr_join_open(gr_source_request *r, void **out) {
  gr_join *j = *out = GR_NEW(r->arena, gr_join, 1);
  j->arena = r->arena, j->lengths = -1;
  for (; j->n < r->ops->n_joined; j->n++) {
    j->part[j->n].ops = r->ops->joined[j->n];
    if (j->lengths < 0 && j->part[j->n].ops->unit) j->lengths = j->n;
  }
  GR_TRY(open_parts(j, r));
  GR_TRY(find_classes(j, r));
  for (int k = 0; k < j->n; k++) GR_TRY(add_fields(j, k));
  listing l = {.join = j, .request = r, .scratch = gr_arena_create()};
  l.files = gr_map_make(l.scratch);
  gr_status s = list_rows(&l);
  settle_lacking(r);
  return gr_arena_end(l.scratch, s);
}
