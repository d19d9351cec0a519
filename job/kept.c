// kept.c - see kept.h.
#include "job/kept.h"
#include <string.h>
#include "compose/schema/schema.h"
#include "job/samples_given.h"
#include "runtime/train/run.h"

// A text of the run's .hydra/hydra.yaml, or NULL.
static const char *text_at(gr_conf *hydra, const char *path) {
  const gr_conf *c = hydra ? gr_conf_find(hydra, path) : NULL;
  return c && c->kind == GR_CONF_TEXT && *c->text ? c->text : NULL;
}

// A run searches its input files from its working directory, then from the folder of its
// configuration and the folders above that. Runs of other versions have not written them down.
static void find_dirs(gr_arena *a, const char *hydra_yaml, gr_kept_run *out) {
  gr_conf *hydra = NULL;
  gr_status s = gr_is_file(hydra_yaml) ? gr_conf_read(a, hydra_yaml, &hydra) : GR_OK;
  const char *cwd = s ? NULL : text_at(hydra, "hydra.runtime.cwd");
  const char *main = s ? NULL : text_at(hydra, "hydra.runtime.config_sources[1].path");
  if (cwd) out->dirs[out->n_dirs++] = cwd;
  for (int i = 0; main && i <= GR_FOLDERS_ABOVE; i++, main = gr_arena_printf(a, "%s/..", main))
    out->dirs[out->n_dirs++] = main;
  gr_status_drop(s);
}

static const char *find_tokenizer(gr_arena *a, const char *dir) {
  const char *json = gr_arena_printf(a, "%s/tokenizer.json", dir);
  const char *ranks = gr_arena_printf(a, "%s/tokenizer.tiktoken", dir);
  return gr_is_file(json) ? json : gr_is_file(ranks) ? ranks : NULL;
}

static bool is_run(gr_arena *a, const char *dir) {
  return gr_is_file(gr_arena_printf(a, "%s/.hydra/config.yaml", dir));
}

// A run's folder near one that is none: within it, the last by name, or up to two above.
static const char *run_near(gr_arena *a, const char *dir) {
  int n;
  const char **names = gr_list_dir(a, dir, &n);
  while (n-- > 0) {
    const char *within = gr_arena_printf(a, "%s/%s", dir, names[n]);
    if (is_run(a, within)) return within;
  }
  for (int up = 0; up < 2; up++) {
    const char *end = dir + strlen(dir);
    while (end > dir && end[-1] == '/') end--;
    while (end > dir && end[-1] != '/') end--;
    if (end == dir) return NULL;
    dir = gr_arena_strndup(a, dir, (size_t)(end - dir - 1));
    if (is_run(a, dir)) return dir;
  }
  return NULL;
}

gr_status gr_kept_find(gr_arena *a, const char *dir, gr_kept_run *out) {
  static const char hint[] =
      "the folder that a run printed as its output, such as outputs/DATE/TIME";
  char key[GR_SAMPLES_KEY];
  *out = (gr_kept_run){.dir = dir};
  if (!dir) return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no run is given"), hint);
  if (gr_is_file(dir) && gr_ends_in(dir, ".yaml"))
    return gr_hint(
        gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is a configuration, not the folder of a run", dir),
        "`graphrun %s` trains it, and prints that folder as its output", dir);
  if (gr_is_file(dir))
    return gr_hint(
        gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is a file, not the folder of a run", dir),
        "the folder comes first: `graphrun predict RUN %s`, `graphrun eval RUN %s=%s`", dir,
        gr_samples_key(dir, key) ? key : "KEY", dir);
  if (!gr_is_dir(dir))
    return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there is no folder '%s'", dir), hint);
  out->config = gr_arena_printf(a, "%s/.hydra/config.yaml", dir);
  if (!is_run(a, dir)) {
    const char *near = run_near(a, dir);
    gr_status s = gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                          "'%s' is not the folder of a run: it has no .hydra/config.yaml", dir);
    return near ? gr_hint(s, "did you mean '%s'?", near) : gr_hint(s, hint);
  }
  const char *model = gr_arena_printf(a, "%s/model.yaml", dir);
  if (gr_is_file(model)) out->model = model;
  out->tokenizer = find_tokenizer(a, dir);
  find_dirs(a, gr_arena_printf(a, "%s/.hydra/hydra.yaml", dir), out);
  return GR_OK;
}

// Whether the value is the run's, and not of an argument.
static bool is_kept(const gr_kept_run *k, const gr_conf *c) {
  return !c->loc.file || !strcmp(c->loc.file, k->config);
}

static void replace(gr_arena *a, const gr_kept_run *k, gr_conf *map, const char *key,
                    gr_conf_kind kind) {
  int index = map && map->kind == GR_CONF_MAP ? gr_conf_index(map, key) : -1;
  if (index >= 0 && is_kept(k, map->items[index]))
    gr_conf_put(a, map, key, gr_conf_make(a, kind, map->items[index]->loc));
}

static void remove_data(gr_arena *a, const gr_kept_run *k, gr_conf *conf) {
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *key = &gr_schema_keys[i];
    if (key->alias_of || strncmp(key->path, "data.", 5)) continue;
    if (!strcmp(key->path, "data.tokenizer")) continue;
    gr_conf *c = gr_schema_holds(a, key, GR_SCHEMA_PATH) ? gr_conf_find(conf, key->path) : NULL;
    if (c && is_kept(k, c)) c->kind = GR_CONF_NULL;
  }
}

// What the file that is kept says itself (job/model_file.h).
static const char *const in_model[] = {"inputs", "loss", "metrics", NULL};

void gr_kept_adjust(gr_arena *a, const gr_kept_run *k, bool inputs, gr_conf *conf) {
  if (inputs) remove_data(a, k, conf);
  if (inputs) replace(a, k, gr_conf_member(conf, "training"), "spelling", GR_CONF_NULL);
  replace(a, k, conf, "hooks", GR_CONF_LIST);
  replace(a, k, conf, "hooks_params", GR_CONF_MAP);
  replace(a, k, gr_conf_member(conf, "model"), "init_from", GR_CONF_NULL);
  gr_conf *teacher = gr_conf_find(conf, "model.teacher");
  replace(a, k, teacher, "graph", GR_CONF_NULL);
  replace(a, k, teacher, "init_from", GR_CONF_NULL);
}

void gr_kept_warn(const gr_kept_run *k, gr_conf *conf) {
  for (int i = 0; i < gr_schema_count; i++) {
    const char *path = gr_schema_keys[i].path;
    const gr_conf *c = gr_schema_is_for_training(path) ? gr_conf_find(conf, path) : NULL;
    if (c && !c->is_default && !is_kept(k, c))
      gr_log(GR_WARN, "%s:%d:%d: '%s' has no effect: nothing is trained", c->loc.file, c->loc.line,
             c->loc.col, path);
  }
}

void gr_kept_use_files(gr_arena *a, const gr_kept_run *k, bool no_ema, gr_conf *conf) {
  replace(a, k, gr_conf_member(conf, "profile"), "steps", GR_CONF_NULL);
  gr_conf *dir = gr_conf_find(conf, "checkpoint.dir");
  if (dir && dir->kind == GR_CONF_TEXT && *dir->text != '/' && is_kept(k, dir) && k->n_dirs) {
    const char *there = gr_arena_printf(a, "%s/%s", k->dirs[0], dir->text);
    if (gr_is_dir(there)) dir->text = there;
  }
  gr_conf *decay = no_ema ? gr_conf_find(conf, "training.ema_decay") : NULL;
  if (decay) decay->kind = GR_CONF_NULL;
  gr_conf *tokenizer = gr_conf_find(conf, "data.tokenizer");
  if (k->tokenizer && tokenizer && tokenizer->kind == GR_CONF_TEXT && is_kept(k, tokenizer))
    tokenizer->text = k->tokenizer;
  gr_conf *graph = gr_conf_find(conf, "model.graph");
  for (const char *const *key = in_model; k->model && *key; key++)
    replace(a, k, gr_conf_member(conf, "model"), *key, GR_CONF_NULL);
  if (k->model && graph && graph->kind == GR_CONF_TEXT && is_kept(k, graph)) graph->text = k->model;
}

// Where the run keeps its checkpoints: checkpoint.dir is relative to where it was started.
static const char *checkpoints_of(gr_arena *a, const gr_kept_run *k) {
  gr_conf *conf = NULL;
  gr_status s = gr_conf_read(a, k->config, &conf);
  const gr_conf *c = s ? NULL : gr_conf_find(conf, "checkpoint.dir");
  gr_status_drop(s);
  if (!c || c->kind != GR_CONF_TEXT) return gr_arena_printf(a, "%s/checkpoints", k->dir);
  if (*c->text == '/' || !k->n_dirs) return c->text;
  const char *there = gr_arena_printf(a, "%s/%s", k->dirs[0], c->text);
  return gr_is_dir(there) ? there : c->text;
}

gr_status gr_kept_checkpoint(gr_arena *a, const char *path, const char *which,
                             gr_checkpoint **out) {
  const char *dir = path, *found = NULL;
  gr_checkpoint_entry *entries;
  gr_kept_run kept;
  int n = 0;
  if (path && gr_is_file(gr_arena_printf(a, "%s/manifest.json", path)))
    return gr_checkpoint_open(path, out);
  if (path && gr_is_dir(path)) GR_TRY(gr_checkpoint_list(a, path, &entries, &n));
  if (!n) {
    GR_TRY(gr_kept_find(a, path, &kept));
    dir = checkpoints_of(a, &kept);
  }
  GR_TRY(gr_run_find_checkpoint(a, path, dir, which ? which : "best", &found));
  return gr_checkpoint_open(found, out);
}
