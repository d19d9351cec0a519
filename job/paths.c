// paths.c - resolves the paths in a configuration. See paths.h.
#include "job/paths.h"
#include <string.h>
#include "compose/override/override.h"
#include "compose/schema/schema.h"
#include "runtime/data/file_list.h"
#include "runtime/data/speech/shard.h"

#define SEARCHED                                                                                   \
  "searched: the current folder, the folder of the configuration that names it and the two above " \
  "it, and what is installed with graphrun"
static const char searched[] = SEARCHED;

#define WEIGHTS                                                                                \
  "weights are those of a run's folder, which must be trained first, of a checkpoint or of a " \
  "safetensors file; " SEARCHED
#define IMAGES \
  "a folder with a folder of images for each class, or a CSV file with the columns path and label"

#define VIDEOS \
  "a list is a CSV file with the columns path and label, and a folder has one for each class"
#define MASKS "a folder has a mask for each image, of its name: images/a.jpg and masks/a.png"
#define PATTERN "'*' in a path stands for any letters but '/'; " SEARCHED

static bool is_pattern(const char *path) { return gr_file_list_matches(path); }
static bool is_there(const char *path) { return gr_is_file(path) || gr_is_dir(path); }
static bool may_be_several(const char *path) {
  return gr_packed_named(path) || gr_archive_named(path);
}
// One file of lines, a folder, or Parquet files or archives.
static bool is_list(const char *path) {
  return is_there(path) || (may_be_several(path) && gr_file_list_matches(path));
}

static const struct named {
  const char *key;
  gr_code missing;
  const char *what, *hint;
  bool (*accepts)(const char *path);
  const char *member;  // of mappings in a list, which holds the path; or NULL
  bool inside;         // only such a member is one, not the value of the key
} named[] = {
    {"model.graph", GR_ERR_CONFIG, "model", searched, gr_is_file, NULL},
    {"model.init_from", GR_ERR_CHECKPOINT, "weights", WEIGHTS, is_there, "from"},
    {"model.teacher.graph", GR_ERR_CONFIG, "teacher", searched, gr_is_file, NULL},
    {"model.teacher.init_from", GR_ERR_CHECKPOINT, "teacher's weights", WEIGHTS, is_there, "from"},
    {"model.init_from", GR_ERR_CONFIG, "names", searched, gr_is_file, "rename", true},
    {"model.teacher.init_from", GR_ERR_CONFIG, "names", searched, gr_is_file, "rename", true},
    {"training.spelling", GR_ERR_CONFIG, "list of spellings", searched, gr_is_file, NULL},
    {"hooks", GR_ERR_CONFIG, "hook", searched, gr_is_file, NULL},
    {"data.speech.manifest", GR_ERR_DATA, "manifest",
     "a manifest has one {\"audio_path\": ..., \"text\": ..., \"duration\": ...} per line; "
     "recordings "
     "with classes may be in a folder",
     is_list, NULL},
    {"data.speech.eval_manifest", GR_ERR_DATA, "manifest", searched, is_list, NULL},
    {"data.image.path", GR_ERR_DATA, "images", IMAGES, is_list, NULL},
    {"data.image.eval_path", GR_ERR_DATA, "images", IMAGES, is_list, NULL},
    {"data.video.path", GR_ERR_DATA, "videos", VIDEOS, is_there, NULL},
    {"data.image.masks", GR_ERR_DATA, "folder", MASKS, gr_is_dir, NULL},
    {"data.image.eval_masks", GR_ERR_DATA, "folder", MASKS, gr_is_dir, NULL},
    {"data.table.path", GR_ERR_DATA, "file", PATTERN, is_pattern, NULL},
    {"data.table.eval_path", GR_ERR_DATA, "file", PATTERN, is_pattern, NULL},
    {"data.texts.path", GR_ERR_DATA, "file", PATTERN, is_pattern, NULL},
    {"data.texts.eval_path", GR_ERR_DATA, "file", PATTERN, is_pattern, NULL},
    {"data.speech.root", GR_ERR_DATA, "folder", searched, gr_is_dir, NULL},
    {"data.market.path", GR_ERR_DATA, "folder", "a folder has one CSV file for each ticker",
     gr_is_dir, NULL},
};
enum { N_NAMED = sizeof named / sizeof *named };

static const char *folder_of(gr_arena *a, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return ".";
  return slash == path ? "/" : gr_arena_strndup(a, path, (size_t)(slash - path));
}

static const char *folder_above(gr_arena *a, const char *dir) {
  size_t n = strlen(dir);
  bool has_above = strchr(dir, '/') && (n < 3 || strcmp(dir + n - 3, "/.."));
  return has_above ? folder_of(a, dir) : gr_arena_printf(a, "%s/..", dir);
}

typedef struct search {
  gr_arena *arena;
  const gr_kept_run *kept;  // or NULL
  const gr_conf *prepare;   // data.prepare; or NULL
  bool planned;
} search;

// Searches a path; NULL: not found. For a value from the command line there is no folder of a
// configuration to search.
static const char *look(const search *s, const gr_conf *c, bool (*accepts)(const char *path)) {
  gr_arena *a = s->arena;
  bool kept = s->kept && *c->text != '/' && c->loc.file && !strcmp(c->loc.file, s->kept->config);
  for (int i = 0; kept && i < s->kept->n_dirs; i++) {
    const char *there = gr_arena_printf(a, "%s/%s", s->kept->dirs[i], c->text);
    if (accepts(there)) return there;
  }
  if (accepts(c->text)) return c->text;
  const char *installed = accepts == gr_is_dir ? NULL : gr_args_installed(a, c->text);
  if (*c->text == '/' || !c->loc.file || !gr_is_file(c->loc.file)) return installed;
  const char *dir = folder_of(a, c->loc.file);
  for (int i = 0; i <= GR_FOLDERS_ABOVE; i++, dir = folder_above(a, dir)) {
    const char *there = gr_arena_printf(a, "%s/%s", dir, c->text);
    if (accepts(there)) return there;
  }
  return installed;
}

// data.prepare makes what the same file asks for, and not what a path given elsewhere names.
static bool is_prepared(const search *s, const struct named *n, const gr_conf *c) {
  const gr_conf *p = s->prepare;
  return n->missing == GR_ERR_DATA && p && p->kind == GR_CONF_TEXT && p->loc.file && c->loc.file &&
         !strcmp(p->loc.file, c->loc.file);
}

static const char *hint_of(const search *s, const struct named *n, const gr_conf *c) {
  gr_folder_tables tables;
  if (n->accepts == is_pattern && gr_file_list_tables(s->arena, c->text, &tables))
    return gr_arena_printf(s->arena, "files are read: those in it are '%s'", tables.all);
  if (gr_is_dir(c->text) && n->accepts != gr_is_dir && n->accepts != is_there)
    return "only regular files are read: name one in it";
  if (gr_file_kind(c->text) && n->accepts != gr_is_dir && n->accepts != is_there)
    return "only regular files are read";
  if (s->kept && n->missing == GR_ERR_DATA && !gr_override_is_place(c->loc))
    return gr_arena_printf(s->arena, "if it has moved: %s=PATH", n->key);
  bool one = n->accepts == gr_is_file || (n->accepts == is_list && !may_be_several(c->text));
  if (strpbrk(c->text, "*?") && one)
    return "a path is that of one file, in which '*' and '?' stand for themselves";
  if (!is_prepared(s, n, c)) return n->hint;
  return gr_arena_printf(s->arena, "`%s` makes it; %s", s->prepare->text, n->hint);
}

// Of the names with the same ending, which is not compared: what is before it says what a file is.
static const char *nearest_in(gr_arena *a, const char *dir, const char *name) {
  const char *dot = strrchr(name, '.'), *ending = dot && dot > name ? dot : "";
  int n, n_names = 0;
  const char **names = gr_list_dir(a, dir, &n);
  for (int i = 0; i < n; i++) {
    size_t most = strlen(names[i]), end = strlen(ending), stem = most > end ? most - end : 0;
    if (stem && !strcmp(names[i] + stem, ending))
      names[n_names++] = gr_arena_strndup(a, names[i], stem);
  }
  const char *word = gr_arena_strndup(a, name, strlen(name) - strlen(ending));
  const char *near = gr_text_nearest(word, names, n_names);
  bool here = !strcmp(dir, ".");
  return near ? gr_arena_printf(a, "%s%s%s%s", here ? "" : dir, here ? "" : "/", near, ending)
              : NULL;
}

const char *gr_paths_nearest(gr_arena *a, const char *path) {
  const char *slash = strrchr(path, '/');
  return nearest_in(a, folder_of(a, path), slash ? slash + 1 : path);
}

// What is spelt nearly so where the path is, or beside the configuration that names it.
static const char *nearest_to(gr_arena *a, const struct named *n, const gr_conf *c) {
  const char *near = gr_paths_nearest(a, c->text);
  if (near && n->accepts(near)) return near;
  const char *dir = c->loc.file && gr_is_file(c->loc.file) ? folder_of(a, c->loc.file) : ".";
  if (*c->text == '/' || !strcmp(dir, ".")) return NULL;
  near = gr_paths_nearest(a, gr_arena_printf(a, "%s/%s", dir, c->text));
  return near && n->accepts(near) ? near + strlen(dir) + 1 : NULL;
}

static gr_status find(const search *s, const struct named *n, gr_conf *c) {
  gr_arena *a = s->arena;
  if (!c) return GR_OK;
  if (c->kind == GR_CONF_LIST) {
    for (int i = 0; i < c->n; i++) GR_TRY(find(s, n, c->items[i]));
    return GR_OK;
  }
  if (c->kind != GR_CONF_MAP && n->inside) return GR_OK;
  if (c->kind == GR_CONF_MAP && n->member) c = gr_conf_member(c, n->member);
  if (!c || c->kind != GR_CONF_TEXT) return GR_OK;
  const char *path = look(s, c, n->accepts);
  if (path) {
    c->text = path;
    return GR_OK;
  }
  if (s->planned && n->missing != GR_ERR_CONFIG) return GR_OK;
  const char *kind = gr_file_kind(c->text);
  const char *why = kind                      ? gr_arena_printf(a, "it is %s", kind)
                    : gr_is_file(c->text)     ? "it is a file"
                    : n->accepts == gr_is_dir ? "there is no such folder"
                                              : "there is no such file";
  gr_status e = gr_fail(n->missing, c->loc, "cannot open the %s '%s': %s", n->what, c->text, why);
  const char *near = kind || gr_is_file(c->text) ? NULL : nearest_to(a, n, c);
  if (near) e = gr_hint(e, "did you mean '%s'?", near);
  return gr_hint(e, "%s", hint_of(s, n, c));
}

static bool is_named(const char *key) {
  for (int i = 0; i < N_NAMED; i++)
    if (!strcmp(named[i].key, key)) return true;
  return false;
}

// The paths among the keys of the sources of data are files that are read.
static gr_status find_data(const search *s, gr_conf *conf) {
  static const struct named file = {NULL, GR_ERR_DATA, "file", searched, gr_is_file, NULL};
  for (int i = 0; i < gr_schema_count; i++) {
    const gr_schema_key *k = &gr_schema_keys[i];
    if (k->alias_of || strncmp(k->path, "data.", 5) || is_named(k->path)) continue;
    if (gr_schema_holds(s->arena, k, GR_SCHEMA_PATH))
      GR_TRY(find(s, &file, gr_conf_find(conf, k->path)));
  }
  return GR_OK;
}

gr_status gr_paths_find(gr_arena *a, const gr_kept_run *kept, bool planned, gr_conf *conf) {
  const search s = {a, kept, gr_conf_find(conf, "data.prepare"), planned};
  for (int i = 0; i < N_NAMED; i++) GR_TRY(find(&s, &named[i], gr_conf_find(conf, named[i].key)));
  GR_TRY(find_data(&s, conf));
  gr_conf *vocab = gr_conf_find(conf, "data.speech.vocab");  // a path, or the symbols themselves
  const char *path = vocab && vocab->kind == GR_CONF_TEXT ? look(&s, vocab, gr_is_file) : NULL;
  if (path) vocab->text = path;
  return GR_OK;
}

gr_status gr_paths_no_config(gr_arena *a, const char *path) {
  const char *near = gr_paths_nearest(a, path), *dot = strrchr(path, '.');
  const char *yaml =
      gr_arena_printf(a, "%.*s.yaml", (int)(dot ? dot - path : (ptrdiff_t)strlen(path)), path);
  if (!near && gr_is_file(yaml)) near = yaml;
  gr_status s = gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there is no configuration file '%s'", path);
  return near ? gr_hint(s, "did you mean '%s'?", near)
              : gr_hint(s, "the path of a .yaml file, such as configs/multi_gpu.yaml");
}
