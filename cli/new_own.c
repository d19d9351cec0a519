// new_own.c - see new_own.h.
#include "cli/new_own.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/json.h"
#include "cli/new_archives.h"
#include "cli/new_arrays.h"
#include "cli/new_columns.h"
#include "cli/new_edit.h"
#include "cli/new_folders.h"
#include "cli/new_images.h"
#include "cli/new_lists.h"
#include "cli/new_recordings.h"
#include "cli/new_sounds.h"
#include "cli/new_symbols.h"
#include "cli/new_tables.h"
#include "cli/new_text_folders.h"
#include "cli/new_texts.h"
#include "job/paths.h"
#include "runtime/data/csv.h"
#include "runtime/data/file_list.h"
#include "runtime/data/mapping.h"
#include "runtime/data/source.h"

static bool is_of(const char *path, const char *ending) {
  const char *dot = strrchr(path, '.');
  return dot && !strcasecmp(dot, ending);
}

// ---- Series -----------------------------------------------------------------------------------

// Archives have a file of each split: X_TRAIN.ts and X_TEST.ts. Else a share is for validation.
static void set_validation(gr_new_own *o, const char *path) {
  static const char word[] = "_TRAIN.";
  const char *train = strstr(path, word), *test = NULL;
  if (train)
    test =
        gr_arena_printf(o->arena, "%.*s_TEST.%s", (int)(train - path), path, train + strlen(word));
  if (test && gr_is_file(test))
    gr_new_set_evaluation(o, "path", test);
  else
    gr_new_add(o, "source", "validation_fraction: 0.2   # of the series");
}

// window: 0: a row is a series.
static void make_series(gr_new_own *o, const gr_csv *t, int label, uint32_t window) {
  gr_new_begin(o, "series", "path", t->path);
  gr_new_name(o, "label", t->columns[label].name);
  gr_new_drop(o, "features"), gr_new_drop(o, "split"), gr_new_drop(o, "stride");
  if (window)
    gr_new_set(o, "series", "series"),
        gr_new_set(o, "window", gr_arena_printf(o->arena, "%u", window));
  else
    gr_new_drop(o, "series"), gr_new_drop(o, "window");
  gr_new_add(o, "label", gr_new_is_class);
  set_validation(o, t->path);
}

// The columns of .ts are always the same (runtime/data/csv_kinds.h).
static gr_status look_at_series(gr_new_own *o, const char *path) {
  gr_csv t = {0};
  GR_TRY(gr_csv_read(o->arena, path, &gr_csv_any, &t));
  int series = gr_csv_find(&t, "series"), label = gr_csv_find(&t, "class");
  if (label < 0)
    return gr_hint(gr_fail(GR_ERR_USAGE, ((gr_loc){path, 1, 1}),
                           "the series have no classes, and there is no project for others"),
                   "@classLabel true and the names of the classes, or a configuration of your own");
  make_series(o, &t, label, gr_new_series_rows(&t, series));
  uint32_t rows, n = gr_csv_distinct(&t, label, &rows);
  gr_text_printf(&o->said, "%lld series of %d channel%s, %u classes\n",
                 (long long)t.columns[series].ints[t.rows - 1], t.n_columns - 2,
                 gr_text_s(t.n_columns - 2), n);
  gr_new_set_classes(o, n);
  return GR_OK;
}

// ---- Recordings ---------------------------------------------------------------------------------

enum { MAX_MANIFEST = 1 << 28 };

// By CTC a recogniser says nothing for some hundred steps, however few recordings an epoch has.
static void set_epochs(gr_new_own *o, const char *manifest) {
  enum { BATCH = 16, EPOCHS = 40, STEPS = 800, EVALUATIONS = 8 };
  int n = 0;
  for (const char *c = manifest; (c = strchr(c, '\n')); c++) n++;
  int steps = (n * 4 / 5 + BATCH - 1) / BATCH, epochs = STEPS / (steps ? steps : 1);
  if (epochs <= EPOCHS) return;
  gr_new_set(o, "max_epochs", gr_arena_printf(o->arena, "%d", epochs));
  gr_new_set(o, "eval_every", gr_arena_printf(o->arena, "%d", epochs / EVALUATIONS));
}

// path: of the manifest, as the configuration names it; its text is changed.
static void make_speech(gr_new_own *o, const char *path, char *manifest) {
  gr_text vocab = gr_text_make(o->arena);
  gr_new_begin(o, "speech", "manifest", path);
  set_epochs(o, manifest);
  gr_new_put_symbols(o->arena, manifest, &vocab);
  gr_new_name(o, "vocab", vocab.chars);
  gr_new_add(o, "vocab",
             "text: {case: keep, spaces: \"\", drops: \"\"}   # transcripts as they are");
  gr_text_printf(&o->said, "; symbols: %s\n", gr_new_quoted(o, vocab.chars));
}

static void make_recordings(gr_new_own *o, const gr_new_recordings *r) {
  gr_text_printf(&o->said, "%d recordings with their texts", r->n);
  if (r->validation) gr_text_printf(&o->said, ", and %d for validation", r->n_validation);
  if (r->without_text) gr_text_printf(&o->said, ", %d without one left out", r->without_text);
  make_speech(o, "manifest.jsonl",
              gr_arena_printf(o->arena, "%s%s", r->manifest, r->validation ? r->validation : ""));
  o->lines_file = "manifest.jsonl", o->lines = r->manifest, o->validation = r->validation;
  gr_new_set_evaluation(o, "manifest", r->validation ? "validation.jsonl" : NULL);
  if (r->other) gr_text_printf(&o->said, "not used: '%s'\n", r->other);
}

// ---- Tables, of what they list ----------------------------------------------------------------

static gr_status look_at_table(gr_new_own *o, const char *path) {
  gr_csv t = {0};
  gr_new_recordings recordings = {0};
  int label, text;
  uint32_t classes;
  bool listed = false;
  char *manifest = NULL;
  GR_TRY(gr_new_read_table(o->arena, path, &t));
  if (gr_archive_named(path)) GR_TRY(gr_new_find_archive(o, &t, &listed, &manifest));
  if (manifest) make_speech(o, path, manifest);
  if (listed) return GR_OK;
  gr_new_index sounds = gr_new_index_of(o->arena, &gr_new_sound_files, &t);
  GR_TRY(gr_new_sound_list(o, &sounds, (gr_new_sheets){0}, &t, &listed));
  if (!listed) GR_TRY(gr_new_packed_images(o, &t, &listed));
  if (!listed) GR_TRY(gr_new_list(o, &t, &listed));
  if (listed) return GR_OK;
  if (!o->label) GR_TRY(gr_new_read_list(&sounds, &t, &recordings));
  if (recordings.n) return make_recordings(o, &recordings), GR_OK;
  if (!o->label) GR_TRY(gr_new_find_task(o, &t, &listed));
  if (listed) return GR_OK;
  text = gr_new_find_text(&t, o->label ? gr_csv_find(&t, o->label) : -1);
  GR_TRY(gr_new_find_label(&t, o->label ? o->label : o->untested, text, &label));
  bool value = gr_new_is_value(&t, label, &classes);
  if (classes < 2)
    return gr_hint(
        gr_fail(GR_ERR_USAGE, gr_csv_place(&t, 0),
                "the rows are of %s %s in '%s': there is nothing to tell apart",
                classes ? "one" : "no", value ? "value" : "class", t.columns[label].name),
        "--label=COLUMN predicts another column; cells that are empty, NA or null have "
        "no class");
  if (text >= 0 && text != label && !value) {
    gr_new_texts_of(o, &t, text, label);
  } else if (is_of(path, ".arff") && gr_new_is_series(&t, label) && !value) {
    make_series(o, &t, label, 0);
    gr_text_printf(&o->said, "%u series, %u classes\n", t.rows, classes);
    gr_new_set_classes(o, classes);
  } else {
    GR_TRY(gr_new_check_features(&t, label));
    gr_new_table_of(o, &t, label);
  }
  if (!o->label) gr_text_put(&o->said, "another column: --label=COLUMN\n");
  return GR_OK;
}

// ---- Manifests and folders of recordings ------------------------------------------------------

// *found: whether the folder has a table of recordings with classes.
static gr_status look_at_sounds(gr_new_own *o, const gr_new_index *x, bool *found) {
  gr_new_sheets sheets = {.all = gr_arena_printf(o->arena, "%s/metadata.csv", x->root)};
  gr_csv t;
  if (!gr_is_file(sheets.all)) GR_TRY(gr_new_find_sheets(x, &sheets));
  if (!sheets.all) return GR_OK;
  gr_status s = gr_new_read_table(o->arena, sheets.all, &t);
  bool good = !s;
  gr_status_drop(s);  // of others they may be texts
  return good ? gr_new_sound_list(o, x, sheets, &t, found) : GR_OK;
}

// *found: whether the folder has recordings with classes in a table, or with their texts.
static gr_status look_at_recordings(gr_new_own *o, const char *dir, bool *found) {
  gr_new_recordings r;
  gr_new_index x = gr_new_index_make(o->arena, &gr_new_sound_files, dir, GR_NEW_DEPTH);
  GR_TRY(look_at_sounds(o, &x, found));
  if (*found) return GR_OK;
  GR_TRY(gr_new_read_recordings(&x, &r));
  *found = r.n > 0;
  if (r.n) make_recordings(o, &r);
  return GR_OK;
}

// Whether the first line with something in it names a recording; *label: the key of its class, in
// place of a text; or NULL.
static bool is_manifest(const gr_new_own *o, const char *text, const char **label) {
  const gr_json *line;
  gr_json_error why;
  bool found = false, said = false;
  text += strspn(text, " \t\r\n");
  *label = o->label;
  if (!gr_json_read(o->arena, text, strcspn(text, "\n"), &line, &why)) return false;
  for (const gr_json *v = line->first; v; v = v->next) {
    if (!v->name) continue;
    found |= !strcmp(v->name, "audio_path");  // others are columns: audio_filepath of NeMo
    said |= !strcmp(v->name, "text");
    if (!o->label && !strcmp(v->name, "label")) *label = v->name;
  }
  if (said && !o->label) *label = NULL;
  return found;
}

// Only the first lines of a file are looked at, which may be gigabytes.
static gr_status look_at_line(const gr_new_own *o, const char *path, const char **label,
                              bool *manifest, bool *said) {
  enum { MOST = 1 << 20 };
  gr_mapping map;
  GR_TRY(gr_mapping_open(path, &map));
  size_t n = map.bytes < MOST ? map.bytes : MOST;
  const char *head = n ? (const char *)map.data : "";
  head = gr_arena_strndup(o->arena, head, n);
  *manifest = is_manifest(o, head, label);
  head += strspn(head, " \t\r\n");
  *said = gr_new_is_spoken(o->arena, head, strcspn(head, "\n"));
  return gr_mapping_end(&map, GR_OK);
}

static gr_status look_at_lines(gr_new_own *o, const char *path) {
  char *text;
  const char *label;
  bool manifest, said;
  GR_TRY(look_at_line(o, path, &label, &manifest, &said));
  if (said && !manifest && !o->label) return gr_new_make_spoken(o, path);
  if (!manifest) return look_at_table(o, path);
  GR_TRY(gr_file_read(o->arena, path, MAX_MANIFEST, &text, NULL));
  gr_text_put(&o->said, "a manifest of recordings");
  if (label) {
    gr_text_printf(&o->said, "; to predict: '%s'\n", label);
    return gr_new_sound_manifest(o, path, label);
  }
  make_speech(o, path, text);
  return GR_OK;
}

// ---- Folders ----------------------------------------------------------------------------------

// *found: the folder has tables.
static gr_status look_at_tables(gr_new_own *o, const char *dir, bool *found) {
  gr_folder_tables t;
  GR_TRY(gr_new_find_tables(o->arena, dir, &t, found));
  if (!*found) return GR_OK;
  if (is_of(t.all, ".ts")) return look_at_series(o, t.all);
  gr_text_printf(&o->said, "read: '%s'\n", t.all);
  if (t.other && !t.eval && gr_new_is_tested(t.all, t.other)) t.eval = t.other, t.other = NULL;
  if (t.other) o->untested = gr_new_find_untested(o->arena, t.all, t.other);
  GR_TRY(look_at_table(o, t.all));
  bool two = !strcmp(o->kind->name, "captions");  // each source would have its key
  const char *key = strstr(o->config, " manifest: ") ? "manifest" : "path";
  const char *unused = two ? t.eval : t.other;
  gr_new_set_evaluation(o, key, two ? NULL : t.eval);
  if (t.eval && !two) gr_text_printf(&o->said, "for validation: '%s'\n", t.eval);
  if (unused) gr_text_printf(&o->said, "not used: '%s'\n", unused);
  return GR_OK;
}

// Lists say better than folders what is to be predicted, where they do.
static gr_status look_at_images(gr_new_own *o, const char *path, bool *found) {
  GR_TRY(gr_new_find_lists(o, path, true, found));
  if (*found) return GR_OK;
  gr_status s = gr_new_find_classes(o, &gr_new_image_files, path, found);
  if (*found) return s;
  gr_status list = gr_new_find_lists(o, path, false, found);
  if (!list && !*found) return s;
  gr_status_drop(s);
  return list;
}

static gr_status look_at_folder(gr_new_own *o, const char *given) {
  bool images = false, recordings = false, masks;
  const char *files, *path = gr_new_unwrap(o->arena, given);
  GR_TRY(gr_new_check_readable(o->arena, path));
  GR_TRY(gr_new_find_masks(o, path, &masks));
  if (masks) return GR_OK;
  GR_TRY(look_at_images(o, path, &images));
  if (images) return GR_OK;
  GR_TRY(look_at_recordings(o, path, &recordings));
  if (recordings) return GR_OK;
  GR_TRY(gr_new_find_classes(o, &gr_new_sound_files, path, &recordings));
  if (recordings) return GR_OK;
  GR_TRY(gr_new_find_classes(o, &gr_new_video_files, path, &images));
  if (images) return GR_OK;
  GR_TRY(gr_new_find_text_folders(o, path, &images));
  if (images) return GR_OK;
  GR_TRY(look_at_tables(o, path, &recordings));
  if (recordings) return GR_OK;
  GR_TRY(gr_new_find_arrays(o, path, &recordings));
  if (!recordings) GR_TRY(gr_new_find_parallel(o, path, &recordings));
  if (!recordings) GR_TRY(gr_new_find_corpus(o, path, &recordings));
  if (recordings) return GR_OK;
  GR_TRY(gr_new_say_files(o->arena, path, &files));
  return gr_hint(
      gr_fail(
          GR_ERR_USAGE, GR_NOWHERE,
          "'%s' has no two folders of images, of recordings or of videos, one for each class, no "
          "recordings with their texts, and no tables: it has %s",
          path, files),
      "cats/1.png and dogs/1.png, or yes/1.wav and no/1.wav; images/1.png and masks/1.png, in a "
      "folder that is named, of the "
      "classes of pixels; 1.wav (or .flac) and 1.txt, or a table (.csv) with a column of "
      "recordings and one of their texts, or path and label; or the path of a table, a text or "
      "a manifest");
}

// metadata.csv is about the recordings beside it; else a table like others. wav.scp is Kaldi's.
static gr_status look_at_metadata(gr_new_own *o, const char *path, bool *found) {
  const char *name = strrchr(path, '/');
  if (strcmp(name, "/metadata.csv") != 0 && strcmp(name, "/wav.scp") != 0) return GR_OK;
  return look_at_recordings(o, gr_arena_strndup(o->arena, path, (size_t)(name - path)), found);
}

// Of a pattern its folder's; NULL: nothing is there.
static const char *real_path(gr_arena *a, const char *given) {
  char real[PATH_MAX];
  const char *slash = strrchr(given, '/'), *name = slash ? slash + 1 : given;
  if (realpath(given, real)) return gr_arena_strdup(a, real);
  const char *dir = slash ? gr_arena_strndup(a, given, (size_t)(name - given)) : ".";
  if (!gr_file_list_matches(given) || !realpath(dir, real)) return NULL;
  return gr_arena_printf(a, "%s/%s", real, name);
}

gr_status gr_new_look(gr_new_own *o, const char *given) {
  const char *path = real_path(o->arena, given);
  if (!path) {
    const char *near = gr_paths_nearest(o->arena, given);
    gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--from: there is no '%s'", given);
    return near ? gr_hint(s, "did you mean '%s'?", near)
                : gr_hint(
                      s, "the path of your data: a file, or a folder with a folder for each class");
  }
  bool found = false;
  if (gr_is_dir(path)) return look_at_folder(o, path);
  GR_TRY(look_at_metadata(o, path, &found));
  if (found) return GR_OK;
  if (gr_archive_named(path)) return look_at_table(o, path);
  if (gr_new_is_arrays(path)) return gr_new_find_arrays(o, path, &found);
  if (is_of(path, ".json")) GR_TRY(gr_new_unroll(o, path, &path));
  const gr_source_ending *ending;
  const gr_source_ops *source = gr_source_of_file(path, &ending);
  if (source && !ending->text && !is_of(path, ".parquet")) source = NULL;
  if (is_of(path, ".ts")) return look_at_series(o, path);
  if (source == &gr_source_table || (source == &gr_source_speech && !gr_is_file(path)))
    return look_at_table(o, path);
  if (source == &gr_source_speech) return look_at_lines(o, path);
  if (source == &gr_source_corpus && is_of(path, ".txt"))
    GR_TRY(gr_new_check_columns(o->arena, path));
  if (source == &gr_source_corpus && is_of(path, ".txt") && gr_new_is_table(o->arena, path))
    return look_at_table(o, path);
  if (source == &gr_source_corpus) {
    gr_new_begin(o, "text", "path", path);
    gr_text_put(&o->said, "a text\n");
    return GR_OK;
  }
  if (!source) GR_TRY(gr_new_find_parallel(o, path, &found));
  if (found) return GR_OK;
  if (!gr_source_of_file(path, NULL) && gr_new_is_table(o->arena, path))
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                           "--from: '%s' has the rows of a table, and is not called as one", given),
                   "give it a name that ends in .csv, or a copy: cp %s table.csv", path);
  return gr_hint(
      gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--from: it is not known what '%s' is", given),
      "its name says so, once it is unpacked: a table (.csv, .tsv, .jsonl, .arff, "
      ".parquet; of a spreadsheet "
      "its CSV), arrays (.npz, .npy), series (.ts), a folder with a folder of images or recordings "
      "for each "
      "class, a list of images, videos or recordings (.csv with path and label) or of "
      "recordings with their texts, a text (.txt, .md) or a manifest of recordings (.jsonl)");
}
