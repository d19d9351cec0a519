// hydra.c - the hydra node of a composition. See hydra.h.
#include "compose/hydra/hydra.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/sort.h"

static gr_conf *text(gr_arena *a, const char *value) {
  return gr_conf_make_text(a, value, GR_NOWHERE);
}

static gr_conf *map_at(gr_conf *hydra, const char *path) {
  gr_conf *map = gr_conf_find(hydra, path);
  return map && map->kind == GR_CONF_MAP ? map : NULL;
}

static bool of_hydra(const gr_override *o) {
  return !strncmp(o->key, "hydra.", 6) || !strncmp(o->key, "hydra/", 6);
}

// ---- What Hydra fills in ---------------------------------------------------------

// The hydra node is taken out of the job's tree. Its own root contains it and the job's members, so
// that interpolations in it can still refer to them.
static void give_own_root(gr_composer *c, gr_conf *hydra) {
  gr_conf *root = gr_conf_make(c->arena, GR_CONF_MAP, c->root->loc);
  for (int i = 0; i < c->root->n; i++) {
    gr_conf *member = c->root->items[i];
    gr_conf_add(c->arena, root, c->root->keys[i], member);
    member->up = c->root;
  }
  gr_conf_add(c->arena, root, "hydra", hydra);
}

static void fill_overrides(gr_composer *c, gr_conf *lists) {
  gr_conf *task = gr_conf_member(lists, "task"), *hydra = gr_conf_member(lists, "hydra");
  for (int i = 0; i < c->n_overrides; i++) {
    gr_conf *list = of_hydra(&c->overrides[i]) ? hydra : task;
    if (list && list->kind == GR_CONF_LIST)
      gr_conf_append(c->arena, list, text(c->arena, c->overrides[i].line));
  }
}

static void add_source(gr_composer *c, gr_conf *list, const char *path, const char *schema,
                       const char *provider) {
  gr_conf *source = gr_conf_make(c->arena, GR_CONF_MAP, GR_NOWHERE);
  gr_conf_put(c->arena, source, "path", text(c->arena, path));
  gr_conf_put(c->arena, source, "schema", text(c->arena, schema));
  gr_conf_put(c->arena, source, "provider", text(c->arena, provider));
  gr_conf_append(c->arena, list, source);
}

// Where configurations are searched, as Hydra lists it: its own, the primary one's folder, and its
// structured ones.
static void fill_sources(gr_composer *c, gr_conf *runtime) {
  gr_conf *list = gr_conf_make(c->arena, GR_CONF_LIST, GR_NOWHERE);
  const char *slash = strrchr(c->path, '/'), *dir = ".";
  if (slash)
    dir = slash == c->path ? "/" : gr_arena_strndup(c->arena, c->path, (size_t)(slash - c->path));
  char *real = realpath(dir, NULL);
  add_source(c, list, "hydra.conf", "pkg", "hydra");
  add_source(c, list, real ? gr_arena_strdup(c->arena, real) : dir, "file", "main");
  add_source(c, list, "", "structured", "schema");
  gr_conf_put(c->arena, runtime, "config_sources", list);
  free(real);
}

static void fill_runtime(gr_composer *c, gr_conf *runtime) {
  char cwd[4096];
  gr_conf *choices = gr_conf_make(c->arena, GR_CONF_MAP, GR_NOWHERE);
  for (int i = 0; i < c->defaults.known.n; i++)
    gr_conf_put(c->arena, choices, c->defaults.known.items[i].key,
                gr_conf_copy(c->arena, c->defaults.known.items[i].value));
  gr_conf_put(c->arena, runtime, "choices", choices);
  if (getcwd(cwd, sizeof cwd))
    gr_conf_put(c->arena, runtime, "cwd", text(c->arena, gr_arena_strdup(c->arena, cwd)));
  fill_sources(c, runtime);
}

static bool excluded(const gr_conf *keys, const char *key) {
  for (int i = 0; keys && keys->kind == GR_CONF_LIST && i < keys->n; i++)
    if (gr_conf_says(keys->items[i], key)) return true;
  return false;
}

// "a=1,b=2": the task's arguments in alphabetical order.
static const char *override_dirname(gr_composer *c, gr_conf *job) {
  const char **lines = GR_NEW(c->arena, const char *, c->n_overrides + 1);
  const char *items = gr_conf_text_of(gr_conf_find(job, "config.override_dirname.item_sep"), ",");
  const char *equals = gr_conf_text_of(gr_conf_find(job, "config.override_dirname.kv_sep"), "=");
  const gr_conf *without = gr_conf_find(job, "config.override_dirname.exclude_keys");
  int n = 0;
  for (int i = 0; i < c->n_overrides; i++)
    if (!of_hydra(&c->overrides[i]) && !excluded(without, c->overrides[i].key))
      lines[n++] = c->overrides[i].line;
  if (n) qsort(lines, (size_t)n, sizeof *lines, gr_order_texts);
  gr_text t = gr_text_make(c->arena);
  for (int i = 0; i < n; i++) {
    if (i) gr_text_put(&t, items);
    for (const char *s = lines[i]; *s; s++)
      *s == '=' ? gr_text_put(&t, equals) : gr_text_putn(&t, s, 1);
  }
  return t.chars;
}

static void fill_job(gr_composer *c, gr_conf *job) {
  const gr_conf *name = gr_conf_member(job, "name");
  if (!name || name->kind == GR_CONF_MISSING)
    gr_conf_put(c->arena, job, "name", text(c->arena, "graphrun"));
  gr_conf_put(c->arena, job, "override_dirname", text(c->arena, override_dirname(c, job)));
  gr_conf_put(c->arena, job, "config_name", text(c->arena, c->primary));
}

// ---- The run's folder ------------------------------------------------------------

static gr_status path_of(gr_arena *a, gr_conf *hydra, gr_conf *node, const char **out) {
  gr_text t = gr_text_make(a);
  gr_resolver r = {.arena = a, .hydra = hydra};
  *out = NULL;
  if (node && node->kind == GR_CONF_INTERP) GR_TRY(gr_interp_value(&r, node, &node));
  if (!node || node->kind == GR_CONF_NULL || node->kind == GR_CONF_MISSING) return GR_OK;
  gr_conf_py_str(&t, node);
  *out = t.chars;
  return GR_OK;
}

gr_status gr_hydra_value(gr_arena *a, gr_conf *hydra, const char *path, gr_conf **out) {
  gr_resolver r = {.arena = a, .hydra = hydra};
  *out = gr_conf_find(hydra, path);
  if (*out && (*out)->kind == GR_CONF_INTERP) GR_TRY(gr_interp_value(&r, *out, out));
  if (*out && ((*out)->kind == GR_CONF_NULL || (*out)->kind == GR_CONF_MISSING)) *out = NULL;
  return GR_OK;
}

gr_status gr_hydra_sweep_dir(gr_arena *a, gr_conf *hydra, const char **out) {
  return path_of(a, hydra, gr_conf_find(hydra, "sweep.dir"), out);
}

gr_status gr_hydra_run_dir(gr_arena *a, gr_conf *hydra, const char **out) {
  const gr_conf *number = gr_conf_find(hydra, "job.num");
  const char *subdir = NULL;
  if (!number || number->kind != GR_CONF_INT)
    return path_of(a, hydra, gr_conf_find(hydra, "run.dir"), out);
  GR_TRY(gr_hydra_sweep_dir(a, hydra, out));
  GR_TRY(path_of(a, hydra, gr_conf_find(hydra, "sweep.subdir"), &subdir));
  if (*out && subdir) *out = gr_arena_printf(a, "%s/%s", *out, subdir);
  return GR_OK;
}

// An output folder that cannot be resolved stays ???, which is an error when it is used.
static void fill_output_dir(gr_composer *c, gr_conf *hydra, gr_conf *runtime) {
  const char *dir = NULL, *cwd = gr_conf_text_of(gr_conf_find(runtime, "cwd"), NULL);
  gr_status s = path_of(c->arena, hydra, gr_conf_find(c->root, "output.dir"), &dir);
  if (!s && !dir) s = gr_hydra_run_dir(c->arena, hydra, &dir);
  gr_status_drop(s);
  if (s || !dir) return;
  if (*dir != '/' && cwd) dir = gr_arena_printf(c->arena, "%s/%s", cwd, dir);
  gr_conf_put(c->arena, runtime, "output_dir", text(c->arena, dir));
}

void gr_hydra_fill(gr_composer *c, gr_conf *hydra) {
  give_own_root(c, hydra);
  if (hydra->kind != GR_CONF_MAP) return;
  gr_conf *lists = map_at(hydra, "overrides"), *job = map_at(hydra, "job");
  gr_conf *runtime = map_at(hydra, "runtime");
  if (lists) fill_overrides(c, lists);
  if (runtime) fill_runtime(c, runtime);
  if (job) fill_job(c, job);
  if (runtime) fill_output_dir(c, hydra, runtime);
}

bool gr_hydra_builtin(const gr_conf *c) {
  return !c->loc.file || !strncmp(c->loc.file, "built-in", 8);
}

bool gr_hydra_searches(gr_conf *hydra) {
  static const char name[] = "OptunaSweeper";
  const char *target = gr_conf_text_of(gr_conf_find(hydra, "sweeper._target_"), "");
  size_t n = strlen(target), m = sizeof name - 1;
  return n >= m && !strcmp(target + n - m, name);
}
