// new_own.c - see new_own.h.
#include "cli/new_own.h"
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/json.h"
#include "cli/new_columns.h"
#include "cli/new_edit.h"
#include "cli/new_recordings.h"
#include "runtime/data/csv.h"
#include "runtime/data/source.h"

// ---- Kinds ------------------------------------------------------------------------------------

static const gr_new_kind *kind_of(const char *name) {
  const gr_new_kind *k = gr_new_kinds;
  while (k->name && strcmp(k->name, name) != 0) k++;
  return k;
}

static void begin(const char *kind, gr_new_own *out) {
  out->kind = kind_of(kind);
  out->config = out->kind->texts[0];  // as gr_new_names
}

// ---- Tables -----------------------------------------------------------------------------------

// The format that the file can be read in, with most columns; the error of the usual one, else.
static gr_status read_table(gr_arena *a, const char *path, gr_csv_format *format, gr_csv *out) {
  gr_status first = GR_OK;
  bool found = false;
  for (const char *c = ",;\t|"; *c; c++)
    for (int header = 1; header >= 0; header--) {
      gr_csv_format f = {*c, header, "data.table"};
      gr_csv t;
      gr_status s = gr_csv_read(a, path, &f, &t);
      bool better = !s && t.n_columns > (found ? out->n_columns : 1);
      if (better) *out = t, *format = f, found = true;
      if (s && !first)
        first = s;
      else
        gr_status_drop(s);
      if (!s) break;  // without names it could be read, too
    }
  if (!found && !first)
    first = gr_fail(GR_ERR_DATA, ((gr_loc){path, 1, 1}),
                    "a table has a column to predict and others, between ',', ';', '|' or tabs");
  if (!found) return first;
  gr_status_drop(first);
  return GR_OK;
}

// Numbers are classes where there are few of them, and whole.
enum { MAX_CLASSES = 20 };
static bool is_value(const gr_csv *t, int label, uint32_t *distinct) {
  uint32_t rows;
  *distinct = gr_csv_distinct(t, label, &rows);
  gr_column_type type = t->columns[label].type;
  return type == GR_COLUMN_FLOAT || (type == GR_COLUMN_INT && *distinct > MAX_CLASSES);
}

// About how large the values are: the network computes numbers around 1.
static double scale_of(const gr_csv *t, int label) {
  const gr_column *c = &t->columns[label];
  double sum = 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < t->rows; i++) {
    if (gr_csv_missing(t, i, label)) continue;
    sum += fabs(c->type == GR_COLUMN_INT ? (double)c->ints[i] : c->floats[i]), n++;
  }
  double mean = n ? sum / n : 0;
  return mean > 0 && isfinite(mean) ? pow(10, round(log10(mean))) : 1;
}

static void set_format(gr_arena *a, const gr_csv_format *f, gr_new_own *out) {
  char delimiter[2] = {f->delimiter, 0};
  if (f->delimiter != ',')
    out->config = gr_new_add(
        a, out->config, "path",
        gr_arena_printf(a, "delimiter: %s   # between cells", gr_new_quoted(a, delimiter)));
  if (!f->header)
    out->config = gr_new_add(a, out->config, "path",
                             "header: false   # no line of names: columns are c0, c1, ...");
}

static void make_table(gr_arena *a, const gr_csv *t, const gr_csv_format *f, int label,
                       gr_new_own *out, gr_text *said) {
  uint32_t distinct;
  bool value = is_value(t, label, &distinct);
  begin(value ? "regression" : "table", out);
  out->config = gr_new_set(a, out->config, "path", gr_new_quoted(a, t->path));
  out->config = gr_new_set(a, out->config, "label", gr_new_quoted(a, t->columns[label].name));
  if (!value) out->config = gr_new_add(a, out->config, "label", "label_is: class   # not a number");
  if (value)
    out->config =
        gr_new_set(a, out->config, "params",
                   gr_arena_printf(a, "{width: 32, layers: 2, scale: %g}", scale_of(t, label)));
  set_format(a, f, out);
  uint32_t incomplete = gr_new_incomplete_rows(t, label);
  if (incomplete)
    out->config = gr_new_add(a, out->config, "source",
                             "skip_unreadable: true   # leaves out rows that lack a number");
  gr_text_printf(said, "%u rows of %d columns", t->rows, t->n_columns);
  if (incomplete) gr_text_printf(said, ", %u without a number left out", incomplete);
  gr_text_printf(said, "; to predict: '%s'", t->columns[label].name);
  if (value)
    gr_text_put(said, ", a number\n");
  else
    gr_text_printf(said, ", %u classes\n", distinct);
}

// Bytes, with room for texts that are twice as long as most.
static int64_t tokens_of(const gr_csv *t, int text) {
  enum { STEP = 128, MOST = 1024 };
  int64_t n = (int64_t)(2 * gr_new_mean_length(t, text)) / STEP * STEP + STEP;
  return n < MOST ? n : MOST;
}

static void make_texts(gr_arena *a, const gr_csv *t, const gr_csv_format *f, int text, int label,
                       gr_new_own *out, gr_text *said) {
  uint32_t rows, distinct = gr_csv_distinct(t, label, &rows);
  begin("texts", out);
  out->config = gr_new_set(a, out->config, "path", gr_new_quoted(a, t->path));
  out->config = gr_new_set(a, out->config, "text", gr_new_quoted(a, t->columns[text].name));
  out->config = gr_new_set(a, out->config, "label", gr_new_quoted(a, t->columns[label].name));
  out->config = gr_new_set(a, out->config, "max_tokens",
                           gr_arena_printf(a, "%lld", (long long)tokens_of(t, text)));
  set_format(a, f, out);
  gr_text_printf(said, "%u texts, in '%s'; to predict: '%s', %u classes\n", t->rows,
                 t->columns[text].name, t->columns[label].name, distinct);
}

// A list of files: the column path says of which kind.
static bool make_list(gr_arena *a, const gr_csv *t, const gr_csv_format *f, gr_new_own *out,
                      gr_text *said) {
  int path = gr_csv_find(t, "path");
  if (path < 0 || gr_csv_find(t, "label") < 0 || !t->rows || f->delimiter != ',') return false;
  if (t->columns[path].type != GR_COLUMN_TEXT) return false;
  const char *first = t->columns[path].texts[0];
  bool image = gr_source_of_file(first, NULL) == &gr_source_image;
  if (!image && !gr_source_reads(&gr_source_video, first)) return false;
  begin(image ? "image" : "video", out);
  out->config = gr_new_set(a, out->config, "path", gr_new_quoted(a, t->path));
  if (image) out->config = gr_new_set(a, out->config, "size", "64");
  gr_text_printf(said, "a list of %u %s\n", t->rows, image ? "images" : "videos");
  return true;
}

// ---- Series -----------------------------------------------------------------------------------

static bool ends_in(const char *path, const char *ending) {
  const char *dot = strrchr(path, '.');
  return dot && !strcasecmp(dot, ending);
}

// Archives have a file of each split: X_TRAIN.ts and X_TEST.ts. Else a share is for validation.
static void set_validation(gr_arena *a, const char *path, gr_new_own *out) {
  static const char word[] = "_TRAIN.";
  const char *train = strstr(path, word), *test = NULL;
  if (train)
    test = gr_arena_printf(a, "%.*s_TEST.%s", (int)(train - path), path, train + strlen(word));
  if (test && gr_is_file(test))
    out->config =
        gr_new_add(a, out->config, "path",
                   gr_arena_printf(a, "eval_path: %s   # validation", gr_new_quoted(a, test)));
  else
    out->config =
        gr_new_add(a, out->config, "source", "validation_fraction: 0.2   # of the series");
}

static void make_series(gr_arena *a, const gr_csv *t, int label, uint32_t window, gr_new_own *out) {
  begin("series", out);
  out->config = gr_new_set(a, out->config, "path", gr_new_quoted(a, t->path));
  out->config = gr_new_set(a, out->config, "label", gr_new_quoted(a, t->columns[label].name));
  out->config = gr_new_drop(a, gr_new_drop(a, out->config, "features"), "split");
  out->config = gr_new_drop(a, out->config, "stride");
  if (window) {
    out->config = gr_new_set(a, out->config, "series", "series");
    out->config = gr_new_set(a, out->config, "window", gr_arena_printf(a, "%u", window));
  } else {
    out->config = gr_new_drop(a, gr_new_drop(a, out->config, "series"), "window");
  }
  out->config = gr_new_add(a, out->config, "label", "label_is: class   # not a number");
  set_validation(a, t->path, out);
}

// The columns of .ts are always the same (runtime/data/csv_kinds.h).
static gr_status look_at_series(gr_arena *a, const char *path, gr_new_own *out, gr_text *said) {
  gr_csv t = {0};
  uint32_t rows;
  GR_TRY(gr_csv_read(a, path, &gr_csv_any, &t));
  int series = gr_csv_find(&t, "series"), label = gr_csv_find(&t, "class");
  if (label < 0)
    return gr_hint(gr_fail(GR_ERR_USAGE, ((gr_loc){path, 1, 1}),
                           "the series have no classes, and there is no project for others"),
                   "@classLabel true and the names of the classes, or a configuration of your own");
  make_series(a, &t, label, gr_new_series_rows(&t, series), out);
  gr_text_printf(said, "%lld series of %d channel%s, %u classes\n",
                 (long long)t.columns[series].ints[t.rows - 1], t.n_columns - 2,
                 gr_text_s(t.n_columns - 2), gr_csv_distinct(&t, label, &rows));
  return GR_OK;
}

static gr_status look_at_table(gr_arena *a, const char *path, const char *label, gr_new_own *out,
                               gr_text *said) {
  gr_csv_format format = {0};
  gr_csv t = {0};
  int column, text;
  uint32_t distinct;
  GR_TRY(read_table(a, path, &format, &t));
  if (!label && make_list(a, &t, &format, out, said)) return GR_OK;
  text = gr_new_find_text(&t, label ? gr_csv_find(&t, label) : -1);
  GR_TRY(gr_new_find_label(&t, label, text, &column));
  if (text >= 0 && text != column && !is_value(&t, column, &distinct))
    make_texts(a, &t, &format, text, column, out, said);
  else if (ends_in(path, ".arff") && gr_new_is_series(&t, column) &&
           !is_value(&t, column, &distinct))
    make_series(a, &t, column, 0, out),
        gr_text_printf(said, "%u series, %u classes\n", t.rows, distinct);
  else {
    GR_TRY(gr_new_check_features(&t, column));
    make_table(a, &t, &format, column, out, said);
  }
  if (!label) gr_text_put(said, "another column: --label=COLUMN\n");
  return GR_OK;
}

// ---- Texts and manifests ----------------------------------------------------------------------

enum { MAX_MANIFEST = 1 << 28 };

// path: of the manifest, as the configuration names it.
static void make_speech(gr_arena *a, const char *path, char *manifest, gr_new_own *out,
                        gr_text *said) {
  gr_text vocab = gr_text_make(a);
  gr_new_put_symbols(a, manifest, &vocab);
  begin("speech", out);
  out->config = gr_new_set(a, out->config, "manifest", gr_new_quoted(a, path));
  out->config = gr_new_set(a, out->config, "vocab", gr_new_quoted(a, vocab.chars));
  out->config =
      gr_new_add(a, out->config, "vocab",
                 "text: {case: keep, spaces: \"\", drops: \"\"}   # transcripts as they are");
  gr_text_printf(said, "; symbols: %s\n", gr_new_quoted(a, vocab.chars));
}

static gr_status look_at_manifest(gr_arena *a, const char *path, gr_new_own *out, gr_text *said) {
  char *text;
  size_t n;
  GR_TRY(gr_file_read(a, path, MAX_MANIFEST, &text, &n));
  gr_text_put(said, "a manifest of recordings");
  make_speech(a, path, text, out, said);
  return GR_OK;
}

// *found: whether the folder has recordings with their texts.
static gr_status look_at_recordings(gr_arena *a, const char *dir, bool *found, gr_new_own *out,
                                    gr_text *said) {
  gr_new_recordings r;
  GR_TRY(gr_new_read_recordings(a, dir, &r));
  *found = r.n > 0;
  if (!r.n) return GR_OK;
  gr_text_printf(said, "%d recordings with their texts", r.n);
  if (r.without_text) gr_text_printf(said, ", %d without one left out", r.without_text);
  make_speech(a, "manifest.jsonl", gr_arena_strdup(a, r.manifest), out, said);
  out->manifest = r.manifest;
  return GR_OK;
}

// Whether the first line with something in it names a recording.
static gr_status is_manifest(gr_arena *a, const char *path, bool *out) {
  char *text;
  size_t n;
  const gr_json *line;
  gr_json_error why;
  *out = false;
  GR_TRY(gr_file_read(a, path, MAX_MANIFEST, &text, &n));
  text += strspn(text, " \t\r\n");
  if (!gr_json_read(a, text, strcspn(text, "\n"), &line, &why)) return GR_OK;
  for (const gr_json *v = line->first; v; v = v->next)
    *out |= v->name && !strncmp(v->name, "audio", strlen("audio"));
  return GR_OK;
}

static gr_status look_at_lines(gr_arena *a, const char *path, const char *label, gr_new_own *out,
                               gr_text *said) {
  bool manifest;
  GR_TRY(is_manifest(a, path, &manifest));
  return manifest ? look_at_manifest(a, path, out, said) : look_at_table(a, path, label, out, said);
}

static gr_status look_at_text(gr_arena *a, const char *path, gr_new_own *out, gr_text *said) {
  begin("text", out);
  out->config = gr_new_set(a, out->config, "path", gr_new_quoted(a, path));
  gr_text_put(said, "a text\n");
  return GR_OK;
}

// ---- Folders ----------------------------------------------------------------------------------

static uint32_t count_images(const char *dir) {
  uint32_t n = 0;
  DIR *d = opendir(dir);
  for (const struct dirent *e; d && (e = readdir(d));)
    n += gr_source_of_file(e->d_name, NULL) == &gr_source_image;
  if (d) closedir(d);
  return n;
}

static gr_status look_at_folder(gr_arena *a, const char *path, gr_new_own *out, gr_text *said) {
  uint32_t classes = 0, n = 0;
  bool recordings = false;
  DIR *d = opendir(path);
  for (const struct dirent *e; d && (e = readdir(d));) {
    const char *inner = gr_arena_printf(a, "%s/%s", path, e->d_name);
    uint32_t here = *e->d_name != '.' && gr_is_dir(inner) ? count_images(inner) : 0;
    classes += here > 0, n += here;
  }
  if (d) closedir(d);
  if (classes < 2) GR_TRY(look_at_recordings(a, path, &recordings, out, said));
  if (recordings) return GR_OK;
  if (classes < 2)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                           "'%s' has no two folders of images, one for each class, and no "
                           "recordings with their texts",
                           path),
                   "cats/1.png and dogs/1.png; 1.wav and 1.txt, or metadata.csv with a line "
                   "NAME|TEXT for each recording; or the path of a table, a text or a manifest");
  begin("image", out);
  out->config = gr_new_set(a, out->config, "path", gr_new_quoted(a, path));
  out->config = gr_new_set(a, out->config, "size", "64");
  gr_text_printf(said, "%u images of %u classes\n", n, classes);
  return GR_OK;
}

// metadata.csv is about the recordings beside it; else a table like others.
static gr_status look_at_metadata(gr_arena *a, const char *path, bool *found, gr_new_own *out,
                                  gr_text *said) {
  const char *name = strrchr(path, '/');
  if (strcmp(name, "/metadata.csv") != 0) return GR_OK;
  return look_at_recordings(a, gr_arena_strndup(a, path, (size_t)(name - path)), found, out, said);
}

gr_status gr_new_look(gr_arena *a, const char *given, const char *label, gr_new_own *out,
                      gr_text *said) {
  char real[PATH_MAX];
  if (!realpath(given, real))
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--from: there is no '%s'", given),
                   "the path of your data: a file, or a folder with a folder for each class");
  const char *path = gr_arena_strdup(a, real);
  bool found = false;
  if (gr_is_dir(path)) return look_at_folder(a, path, out, said);
  GR_TRY(look_at_metadata(a, path, &found, out, said));
  if (found) return GR_OK;
  const gr_source_ending *ending;
  const gr_source_ops *source = gr_source_of_file(path, &ending);
  if (source && !ending->text) source = NULL;
  if (ends_in(path, ".ts")) return look_at_series(a, path, out, said);
  if (source == &gr_source_table) return look_at_table(a, path, label, out, said);
  if (source == &gr_source_speech) return look_at_lines(a, path, label, out, said);
  if (source == &gr_source_corpus) return look_at_text(a, path, out, said);
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--from: it is not known what '%s' is", given),
                 "a table (.csv, .tsv, .jsonl, .arff), series (.ts), a folder with a folder of "
                 "images for each class, a list of "
                 "images or videos (.csv with path and label), a text (.txt, .md) or a manifest of "
                 "recordings (.jsonl)");
}
