// new_archives.c - see new_archives.h.
#include "cli/new_archives.h"
#include "cli/new_columns.h"
#include "cli/new_images.h"
#include "cli/new_sounds.h"
#include "runtime/data/archive.h"
#include "runtime/data/file_list.h"
#include "runtime/data/source.h"

// The source of the first sample with a file; NULL: none has one.
static const gr_source_ops *source_of(const gr_csv *t, int path) {
  for (uint32_t i = 0; path >= 0 && i < t->rows; i++)
    if (!gr_csv_missing(t, i, path)) return gr_source_of_file(t->columns[path].texts[i], NULL);
  return NULL;
}

static gr_status read_manifest(gr_new_own *o, const char *path, char **out) {
  gr_names files;
  gr_text all = gr_text_make(o->arena);
  GR_TRY(gr_file_list_match(o->arena, path, &files));
  for (int i = 0; i < files.n; i++) {
    char *lines;
    size_t n;
    GR_TRY(gr_archive_lines(o->arena, files.items[i], "audio_path", &lines, &n));
    gr_text_putn(&all, lines, n);
  }
  return *out = all.chars, GR_OK;
}

// Texts are what is said, where a label is not asked for.
static gr_status recordings_of(gr_new_own *o, const gr_csv *t, char **manifest) {
  bool texts = gr_csv_find(t, "text") >= 0 && !o->label;
  int label = -1;
  uint32_t rows;
  gr_text_printf(&o->said, "archives of %u recordings", t->rows);
  if (texts) return read_manifest(o, t->path, manifest);
  GR_TRY(gr_new_find_label(t, o->label ? o->label : "label", -1, &label));
  uint32_t classes = gr_csv_distinct(t, label, &rows);
  gr_text_printf(&o->said, "; to predict: '%s', %u classes\n", t->columns[label].name, classes);
  GR_TRY(gr_new_sound_manifest(o, t->path, t->columns[label].name));
  return gr_new_set_classes(o, classes), GR_OK;
}

gr_status gr_new_find_archive(gr_new_own *o, const gr_csv *t, bool *found, char **manifest) {
  int path = gr_csv_find(t, "path"), mask = gr_csv_find(t, "mask");
  const gr_source_ops *source = source_of(t, path);
  *manifest = NULL, *found = source != NULL;
  if (!source) return GR_OK;
  if (source == &gr_source_speech) return recordings_of(o, t, manifest);
  if (source == &gr_source_image && (mask < 0 || o->label)) return gr_new_images_of(o, t, path);
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no project for archives of %s",
                         source == &gr_source_image ? "images with masks" : "videos"),
                 "unpack them, tar -xf FILE, and give their folder");
}
