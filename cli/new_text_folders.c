// new_text_folders.c - see new_text_folders.h.
#include "cli/new_text_folders.h"
#include <string.h>
#include "base/port.h"
#include "base/work.h"
#include "runtime/data/encoding.h"
#include "runtime/data/file_list.h"

enum { MAX_TEXT = 1 << 24 };

// The texts of the classes of a folder.
typedef struct classes {
  gr_text lines;  // {"text": ..., "label": ...}
  uint32_t n, texts;
  uint64_t bytes;
} classes;

// 1.txt; or 51121, without an ending.
static bool is_text(const char *name) {
  size_t n = strlen(name);
  return gr_ends_in(name, ".txt") || (n && !strchr(name, '.') && strchr("0123456789", name[n - 1]));
}

static gr_status add_text(classes *c, const char *path, const char *label) {
  char *text;
  size_t n;
  gr_arena *scratch = gr_arena_create();
  const char *encoding = "";
  gr_status s = gr_file_read(scratch, path, MAX_TEXT, &text, &n);
  s = s ? s : gr_encoding_convert(scratch, path, &text, &n, &encoding);
  if (!s) {
    gr_text_put(&c->lines, "{\"text\": "), gr_text_json(&c->lines, text);
    gr_text_put(&c->lines, ", \"label\": "), gr_text_json(&c->lines, label);
    gr_text_put(&c->lines, "}\n");
    c->texts++, c->bytes += n;
  }
  return gr_arena_end(scratch, s);
}

// Adds the texts that are in the folders of a folder, those of each with its name; without those
// that the folder of the other split does not have, as IMDb's train/unsup. other: NULL: there is
// none.
static gr_status add_classes(gr_new_own *o, const char *dir, const char *other, classes *c) {
  gr_arena *a = o->arena;
  gr_names folders, files;
  GR_TRY(gr_file_list_folder(a, dir, &folders));
  for (int i = 0; i < folders.n; i++) {
    const char *inner = gr_arena_printf(a, "%s/%s", dir, folders.items[i]);
    uint32_t before = c->texts;
    if (!gr_is_dir(inner)) continue;
    if (other && !gr_is_dir(gr_arena_printf(a, "%s/%s", other, folders.items[i]))) {
      gr_text_printf(&o->said, "not used: '%s', which '%s' does not have\n", inner, other);
      continue;
    }
    GR_TRY(gr_file_list_folder(a, inner, &files));
    for (int k = 0; k < files.n; k++) {
      const char *path = gr_arena_printf(a, "%s/%s", inner, files.items[k]);
      if (!is_text(files.items[k]) || !gr_is_file(path)) continue;
      GR_TRY(gr_work_step(0));
      GR_TRY(add_text(c, path, folders.items[i]));
    }
    c->n += c->texts > before;
  }
  return GR_OK;
}

// The folder of a split in a folder; NULL: there is none.
static const char *split_in(gr_arena *a, const char *dir, gr_table_use use) {
  int n;
  const char **names = gr_list_dir(a, dir, &n);
  for (int i = 0; i < n; i++) {
    const char *inner = gr_arena_printf(a, "%s/%s", dir, names[i]);
    if (gr_file_list_use(names[i]) == use && gr_is_dir(inner)) return inner;
  }
  return NULL;
}

static void make_project(gr_new_own *o, const classes *train, const classes *validation) {
  const char *tokens = gr_arena_printf(
      o->arena, "%d", gr_new_tokens((double)train->bytes / (double)train->texts, 128));
  gr_new_begin(o, "texts", "path", "data.jsonl");
  gr_new_name(o, "text", "text"), gr_new_name(o, "label", "label");
  gr_new_set(o, "max_tokens", tokens);
  o->lines_file = "data.jsonl", o->lines = train->lines.chars;
  gr_text_printf(&o->said, "%u texts of %u classes", train->texts, train->n);
  if (validation->n) {
    o->validation = validation->lines.chars;
    gr_new_set_evaluation(o, "path", "validation.jsonl");
    gr_text_printf(&o->said, ", and %u for validation", validation->texts);
  }
  gr_text_put(&o->said, "\n");
  gr_new_set_classes(o, train->n);
}

gr_status gr_new_find_text_folders(gr_new_own *o, const char *path, bool *found) {
  classes train = {.lines = gr_text_make(o->arena)}, validation = {.lines = gr_text_make(o->arena)};
  const char *split = split_in(o->arena, path, GR_TABLE_TRAINS);
  const char *other = split ? split_in(o->arena, path, GR_TABLE_VALIDATES) : NULL;
  if (split && !other) other = split_in(o->arena, path, GR_TABLE_OTHER);
  if (split) GR_TRY(add_classes(o, split, other, &train));
  if (train.n < 2) {  // train and bus are classes
    train = (classes){.lines = gr_text_make(o->arena)}, other = NULL;
    GR_TRY(add_classes(o, path, NULL, &train));
  }
  *found = train.n > 1;
  if (!*found) return GR_OK;
  if (other) GR_TRY(add_classes(o, other, split, &validation));
  return make_project(o, &train, &validation), GR_OK;
}
