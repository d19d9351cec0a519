// init.c - loads initial weights that another run or program has written. See states.h.
#include <fnmatch.h>
#include <string.h>
#include "base/rename.h"
#include "runtime/train/saving/source.h"
#include "runtime/train/saving/states.h"

enum { SHOWN = 20, NAMED = 6 };  // mismatches that are listed; names in a line of the log

typedef struct entry {  // of model.init_from
  const gr_init_entry *set;
  const char *path;
  gr_tensor_source *source;
  // Its tensors, or the parts of them that a rename splits, and which tensor and part each is.
  gr_tensor_slice *tensors;
  int *whole, *part;
  int n;
  const char **names;  // of the tensors, in the model; NULL: left out
  gr_map by_name;      // tensors by these
} entry;

typedef struct loading {
  gr_rank *of;
  gr_arena *arena;
  entry *entries;
  int n;
  bool teacher;   // it is the teacher that is loaded
  gr_map wanted;  // states of the model that are loaded, by name
} loading;

typedef struct list {  // of mismatches
  const char *why[SHOWN];
  int n;
} list;

static bool is_wanted(const loading *l, const gr_plan_state *s) {
  bool taught = l->of->spec->set.model.teacher_graph && gr_is_of_teacher(s->name);
  return taught == l->teacher && (s->kind == GR_KIND_WEIGHT || s->kind == GR_KIND_BUFFER);
}

// A state's name in the model that is loaded: without the prefix of a teacher's.
static const char *in_model(const loading *l, const char *name) {
  return l->teacher ? strchr(name, '.') + 1 : name;
}

static bool matches(const gr_pattern *p, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (!fnmatch(p[i].text, name, 0)) return true;
  return false;
}

// The tensor that a state is loaded from: that of the last entry that has it.
static entry *find(const loading *l, const char *name, int *tensor) {
  uint32_t i;
  for (entry *e = l->entries + l->n; e-- > l->entries;)
    if (gr_map_find(&e->by_name, name, &i)) {
      *tensor = (int)i;
      return e;
    }
  return NULL;
}

// The same of a state, which may start as another one that is loaded.
static entry *find_state(const loading *l, const gr_plan_state *s, int *tensor) {
  entry *e = find(l, in_model(l, s->name), tensor);
  return e || !s->copies ? e : find(l, in_model(l, s->copies), tensor);
}

static const char *shape_of(gr_arena *a, const gr_tensor_slice *p) {
  gr_text t = gr_text_make(a);
  gr_text_printf(&t, "%s[", p->dtype);
  for (int d = 0; d < p->rank; d++)
    gr_text_printf(&t, "%s%lld", d ? "," : "", (long long)p->dims[d]);
  gr_text_put(&t, "]");
  return t.chars;
}

// ---- Names --------------------------------------------------------------------------------------

// A file of names has those of a model, before which PEFT writes a prefix for an adapter's.
static const char *without_prefix(const entry *e, const char *name) {
  size_t n = e->set->shares_names ? strlen(gr_peft_prefix) : 0;
  return strncmp(name, gr_peft_prefix, n) ? name : name + n;
}

static const gr_pattern *find_rename(gr_arena *a, const entry *e, const char *name) {
  return gr_pattern_of(a, e->set->rename, e->set->n_rename, without_prefix(e, name));
}

static const char *new_name(gr_arena *a, const entry *e, int i) {
  const char *name = e->tensors[i].name;
  const gr_pattern *p = find_rename(a, e, name);
  if (!p) return name;
  const char *to = p->n_parts ? p->parts[e->part[i]] : p->to;
  return to ? gr_renamed(a, p->text, to, without_prefix(e, name)) : NULL;
}

static gr_status add_tensor(gr_arena *a, entry *e, const gr_tensor_slice *t, int index) {
  const gr_pattern *p = find_rename(a, e, t->name);
  int n = p && p->n_parts ? p->n_parts : 1;
  if (n > 1 && (!t->rank || t->dims[0] % n))
    return gr_fail(GR_ERR_CHECKPOINT, p->loc,
                   "'%s' of '%s' cannot be split into %d equal parts: %s", t->name, e->path, n,
                   shape_of(a, t));
  for (int k = 0; k < n; k++, e->n++) {
    e->tensors[e->n] = *t, e->whole[e->n] = index, e->part[e->n] = k;
    if (n > 1) e->tensors[e->n].dims[0] = e->tensors[e->n].size[0] = t->dims[0] / n;
  }
  return GR_OK;
}

static gr_status list_tensors(gr_arena *a, entry *e) {
  int n, most = 1;
  const gr_tensor_slice *all = gr_tensor_source_tensors(e->source, &n);
  for (int i = 0; i < e->set->n_rename; i++)
    if (e->set->rename[i].n_parts > most) most = e->set->rename[i].n_parts;
  e->tensors = GR_NEW(a, gr_tensor_slice, n * most + 1);
  e->whole = GR_NEW(a, int, n *most + 1);
  e->part = GR_NEW(a, int, n *most + 1);
  gr_status s = GR_OK;
  for (int i = 0; i < n; i++) s = gr_also(s, add_tensor(a, e, &all[i], i));
  return s;
}

static gr_status name_tensors(gr_arena *a, entry *e) {
  GR_TRY(list_tensors(a, e));
  e->names = GR_NEW(a, const char *, e->n + 1);
  e->by_name = gr_map_make(a);
  for (int i = 0; i < e->n; i++) {
    uint32_t other;
    const char *name = e->names[i] = new_name(a, e, i);
    if (name && gr_map_find(&e->by_name, name, &other))
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, e->set->loc, "'%s' and '%s' of '%s' are both called '%s' then",
                  e->tensors[other].name, e->tensors[i].name, e->path, name),
          "rename: [{NAME: null}] leaves a tensor out; of several patterns the first that matches "
          "decides");
    if (name) gr_map_put(&e->by_name, name, (uint32_t)i);
  }
  return GR_OK;
}

// A name, or a pattern of those below a prefix, that resembles the pattern; NULL: none.
static const char *near_pattern(gr_arena *a, const char *pattern, const char *const *names, int n) {
  int most = n, k = 0;
  for (int i = 0; i < n; i++)
    for (const char *c = names[i]; *c; c++) most += *c == '.';
  const char **all = GR_NEW(a, const char *, most + 1);
  for (int i = 0; i < n; i++) {
    all[k++] = names[i];
    for (const char *c = strchr(names[i], '.'); c; c = strchr(c + 1, '.'))
      all[k++] = gr_arena_printf(a, "%.*s.*", (int)(c - names[i]), names[i]);
  }
  return gr_text_nearest(pattern, all, k);
}

static gr_status check_patterns(gr_arena *a, const gr_pattern *p, int n_patterns, const char *key,
                                const char *const *names, int n, const char *where) {
  gr_status all = GR_OK;
  for (int k = 0; k < n_patterns; k++) {
    int i = 0;
    bool rename = !strcmp(key, "rename");
    while (i < n && !(rename ? gr_renamed(a, p[k].text, p[k].text, names[i]) != NULL
                             : matches(&p[k], 1, names[i])))
      i++;
    if (i < n) continue;
    gr_status s = gr_fail(GR_ERR_CONFIG, p[k].loc, "'%s' of %s matches no tensor of %s", p[k].text,
                          key, where);
    const char *near = near_pattern(a, p[k].text, names, n);
    if (near) s = gr_hint(s, "did you mean '%s'?", near);
    all = gr_also(all, gr_hint(s, "a name there is, for example, '%s'; * matches anything",
                               n ? names[0] : ""));
  }
  return all;
}

static gr_status check_names(const loading *l, const entry *e) {
  const gr_init_entry *s = e->set;
  const char **there = GR_NEW(l->arena, const char *, e->n + 1);
  const char *where = gr_arena_printf(l->arena, "'%s'", e->path);
  for (int i = 0; i < e->n; i++) there[i] = e->tensors[i].name;
  int n_rename = s->shares_names ? 0 : s->n_rename;
  gr_status all = check_patterns(l->arena, s->rename, n_rename, "rename", there, e->n, where);
  all = gr_also(all, check_patterns(l->arena, s->allow_unused, s->n_allow_unused, "allow_unused",
                                    there, e->n, where));
  return gr_also(all,
                 check_patterns(l->arena, s->allow_missing, s->n_allow_missing, "allow_missing",
                                l->wanted.keys, (int)l->wanted.n, "the model"));
}

// ---- What fits ----------------------------------------------------------------------------------

// The bytes that both names end in, from a dot on.
static size_t common_end(const char *a, const char *b) {
  size_t n = strlen(a), m = strlen(b), same = 0, i = 0;
  for (; i < n && i < m && a[n - 1 - i] == b[m - 1 - i]; i++)
    if (a[n - 1 - i] == '.') same = i;
  bool whole_a = i == n && (i == m || b[m - 1 - i] == '.');
  bool whole_b = i == m && (i == n || a[n - 1 - i] == '.');
  return whole_a || whole_b ? i : same;
}

// A tensor that no weight takes, of the same shape and the most similar end, and how it is taken.
static const char *guess(const loading *l, const gr_tensor_slice *want) {
  const char *found = NULL;
  size_t best = 0;
  for (const entry *e = l->entries; e < l->entries + l->n; e++)
    for (int i = 0; i < e->n; i++) {
      const char *has = e->names[i];
      size_t same = has ? common_end(has, want->name) : 0;
      if (same <= best || gr_map_find(&l->wanted, has, NULL)) continue;
      if (!gr_tensor_slice_same_shape(&e->tensors[i], want)) continue;
      best = same;
      found = gr_arena_printf(l->arena, "; rename: [{\"%.*s*\": \"%.*s*\"}] takes '%s'",
                              (int)(strlen(has) - same), has, (int)(strlen(want->name) - same),
                              want->name, e->tensors[i].name);
    }
  for (const entry *e = l->entries; e < l->entries + l->n && !found; e++) {
    const char *near = gr_text_nearest(want->name, e->by_name.keys, (int)e->by_name.n);
    if (near) found = gr_arena_printf(l->arena, "; there is '%s'", near);
  }
  return found ? found : "";
}

static bool may_miss(const loading *l, const gr_plan_state *s) {
  // Other programs do not write constants, and weights without adapters are where these begin.
  bool may = s->kind == GR_KIND_BUFFER || gr_is_adapter_weight(s->name);
  for (const entry *e = l->entries; e < l->entries + l->n; e++)
    may |= matches(e->set->allow_missing, e->set->n_allow_missing, in_model(l, s->name));
  return may;
}

// Why a state cannot be loaded; NULL: it can, or may be missing.
static const char *misfit(const loading *l, const gr_plan_state *state, bool guesses) {
  gr_tensor_slice want = gr_run_tensor_slice(l->of, state, l->of->rank);
  want.name = in_model(l, state->name);
  int i = 0;
  const entry *e = find_state(l, state, &i);
  if (!e && may_miss(l, state)) return NULL;
  if (!e)
    return gr_arena_printf(l->arena, "%s %s is not there%s", state->name, shape_of(l->arena, &want),
                           guesses ? guess(l, &want) : "");
  const gr_tensor_slice *has = &e->tensors[i];
  if (gr_tensor_source_converts(e->source, e->whole[i], want.dtype) &&
      gr_tensor_slice_same_shape(has, &want))
    return NULL;
  const char *as =
      strcmp(has->name, want.name) ? gr_arena_printf(l->arena, ", called '%s',", has->name) : ",";
  return gr_arena_printf(l->arena, "%s is %s there%s and %s in the model", state->name,
                         shape_of(l->arena, has), as, shape_of(l->arena, &want));
}

static gr_status notes(gr_status s, const list *found) {
  for (int i = 0; i < found->n && i < SHOWN; i++) s = gr_note(s, GR_NOWHERE, "%s", found->why[i]);
  return found->n > SHOWN ? gr_note(s, GR_NOWHERE, "and %d more", found->n - SHOWN) : s;
}

static gr_status check_fit(const loading *l) {
  const gr_plan *p = l->of->spec->plan;
  list found = {.n = 0};
  for (uint32_t i = 0; i < p->n_states; i++) {
    const char *why =
        is_wanted(l, &p->states[i]) ? misfit(l, &p->states[i], found.n < SHOWN) : NULL;
    if (why && found.n++ < SHOWN) found.why[found.n - 1] = why;
  }
  if (!found.n) return GR_OK;
  gr_text paths = gr_text_make(l->arena);
  for (int i = 0; i < l->n; i++)
    gr_text_printf(&paths, "%s'%s'", i ? " and " : "", l->entries[i].path);
  gr_status s =
      gr_fail(GR_ERR_CHECKPOINT, l->entries[0].set->loc, "%d of the %s's %d weights do not fit %s",
              found.n, l->teacher ? "teacher" : "model", (int)l->wanted.n, paths.chars);
  return gr_hint(
      notes(s, &found),
      "weights go by name, which `rename:` of model.init_from changes; a layer of another size, as "
      "a new head, is left out by rename: [{\"head.*\": null}] and allow_missing: [\"head.*\"]");
}

static bool is_unused(const loading *l, const entry *e, int i) {
  return !e->names[i] || !gr_map_find(&l->wanted, e->names[i], NULL);
}

static gr_status check_unused(const loading *l, const entry *e) {
  list found = {.n = 0};
  for (int i = 0; i < e->n && !e->set->ignores_unused; i++) {
    const gr_tensor_slice *t = &e->tensors[i];
    bool allowed = !e->names[i] || matches(e->set->allow_unused, e->set->n_allow_unused, t->name);
    if (allowed || !is_unused(l, e, i) || found.n++ >= SHOWN) continue;
    const char *near = gr_text_nearest(e->names[i], l->wanted.keys, (int)l->wanted.n);
    const char *as = strcmp(e->names[i], t->name)
                         ? gr_arena_printf(l->arena, ", renamed '%s'", e->names[i])
                         : "";
    found.why[found.n - 1] =
        gr_arena_printf(l->arena, "%s %s%s%s%s%s", t->name, shape_of(l->arena, t), as,
                        near ? "; the model has '" : "", near ? near : "", near ? "'" : "");
  }
  if (!found.n) return GR_OK;
  gr_status s = gr_fail(GR_ERR_CHECKPOINT, e->set->loc,
                        "%d tensor%s of '%s' %s not used: the model has no weight of that name",
                        found.n, gr_text_s(found.n), e->path, found.n == 1 ? "is" : "are");
  return gr_hint(notes(s, &found), "allow_unused: [PATTERN] permits it, [\"*\"] for all");
}

// ---- Loading ------------------------------------------------------------------------------------

// A slice of a part is one of the whole, so many rows on.
static gr_status read_part(const entry *e, int i, gr_tensor_slice want) {
  int n;
  const gr_tensor_slice *whole = &gr_tensor_source_tensors(e->source, &n)[e->whole[i]];
  if (want.rank) want.offset[0] += e->part[i] * want.dims[0], want.dims[0] = whole->dims[0];
  return gr_tensor_source_read(e->source, e->whole[i], &want);
}

static gr_status load(const loading *l) {
  gr_rank *r = l->of;
  const gr_plan *p = r->spec->plan;
  for (uint32_t k = 0; k < p->n_states; k++) {
    int i = 0;
    entry *e = is_wanted(l, &p->states[k]) ? find_state(l, &p->states[k], &i) : NULL;
    if (!e) continue;
    gr_tensor_slice want = gr_run_tensor_slice(r, &p->states[k], r->rank);
    gr_exec_tensor t = gr_run_tensor_of(&want);
    want.data = gr_exec_target(r->exec, &t, r->staging);
    if (!t.bytes) continue;  // the last ranks' slices may be empty
    GR_TRY(read_part(e, i, want));
    GR_TRY(gr_exec_store(r->exec, &t, want.data));
  }
  return GR_OK;
}

static void put_name(gr_text *t, int k, const char *name) {
  if (k < NAMED) gr_text_printf(t, "%s%s", k ? ", " : ": ", name);
}

static void print_entry(const loading *l, const entry *e) {
  gr_text unused = gr_text_make(l->arena);
  int taken = 0, renamed = 0, left = 0;
  for (int i = 0; i < e->n; i++) {
    int k;
    bool none = is_unused(l, e, i);
    if (none) put_name(&unused, left, e->tensors[i].name);
    left += none;
    if (none || find(l, e->names[i], &k) != e) continue;  // else a later entry's is taken
    taken++, renamed += strcmp(e->names[i], e->tensors[i].name) != 0;
  }
  const char *also = renamed ? gr_arena_printf(l->arena, ", %d of them renamed", renamed) : "";
  int averages = gr_tensor_source_averages(e->source);
  if (averages)
    also = gr_arena_printf(l->arena, "%s; %d there are averages of weights", also, averages);
  gr_log(GR_INFO, "%d tensors are those of %s%s", taken, e->path, also);
  if (left)
    gr_log(GR_INFO, "  %d are left there%s%s", left, unused.chars, left > NAMED ? ", ..." : "");
}

static void print(const loading *l) {
  const gr_plan *p = l->of->spec->plan;
  gr_text missing = gr_text_make(l->arena);
  int n = 0, i;
  for (const entry *e = l->entries; e < l->entries + l->n; e++) print_entry(l, e);
  for (uint32_t k = 0; k < p->n_states; k++)
    if (is_wanted(l, &p->states[k]) && !find_state(l, &p->states[k], &i))
      put_name(&missing, n++, p->states[k].name);
  if (n)
    gr_log(GR_INFO, "  %d are missing and keep their initial values%s%s", n, missing.chars,
           n > NAMED ? ", ..." : "");
}

static gr_status open_entry(loading *l, entry *e) {
  if (e->set->given)
    e->source = gr_tensor_source_given(e->path, e->set->given, e->set->n_given);
  else
    GR_TRY(gr_note(gr_tensor_source_open(e->path, &e->source), e->set->loc,
                   "asked for by model.init_from"));
  return name_tensors(l->arena, e);
}

static gr_status run(loading *l) {
  gr_status s = GR_OK;
  for (int i = 0; i < l->n; i++) GR_TRY(open_entry(l, &l->entries[i]));
  for (int i = 0; i < l->n; i++) s = gr_also(s, check_names(l, &l->entries[i]));
  GR_TRY(s);
  s = check_fit(l);
  for (int i = 0; i < l->n; i++) s = gr_also(s, check_unused(l, &l->entries[i]));
  GR_TRY(s);
  GR_TRY(load(l));
  if (l->of->rank == 0) print(l);
  return GR_OK;
}

gr_status gr_run_init_from(gr_rank *r, const gr_init_entry *given, int n, bool teacher,
                           const char *const *path) {
  const gr_plan *p = r->spec->plan;
  loading l = {r, r->arena, GR_NEW(r->arena, entry, n + 1), n, teacher, gr_map_make(r->arena)};
  for (int i = 0; i < l.n; i++) l.entries[i] = (entry){.set = &given[i], .path = path[i]};
  for (uint32_t i = 0; i < p->n_states; i++)
    if (is_wanted(&l, &p->states[i])) gr_map_put(&l.wanted, in_model(&l, p->states[i].name), i);
  gr_status s = run(&l);
  for (int i = 0; i < l.n; i++) gr_tensor_source_close(l.entries[i].source);
  return s;
}
