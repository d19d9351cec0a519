// new_recordings.c - see new_recordings.h.
#include "cli/new_recordings.h"
#include <string.h>
#include <strings.h>
#include "base/grow.h"
#include "base/map.h"
#include "base/port.h"
#include "base/work.h"
#include "cli/new_columns.h"
#include "cli/new_listed.h"
#include "runtime/data/file_list.h"
#include "runtime/data/source.h"

enum { MAX_TEXT = 1 << 16, MAX_METADATA = 1 << 28 };
typedef struct reading {
  gr_arena *arena;
  const char *dir;
  const gr_new_index *index;
  gr_text manifest, validation;
  bool validates;  // what is read is for validation
  bool whole;      // all rows of a table are for one split
  gr_map places;   // of wav.scp: from names
  const char **place;
  int n_places, room;
  gr_new_recordings *out;
} reading;

static reading begin(const gr_new_index *x, const char *dir, gr_new_recordings *out) {
  gr_arena *a = x->arena;
  *out = (gr_new_recordings){0};
  return (reading){.arena = a,
                   .dir = dir,
                   .index = x,
                   .manifest = gr_text_make(a),
                   .validation = gr_text_make(a),
                   .out = out};
}

// What is for validation alone is for both.
static void end(reading *r) {
  gr_new_recordings *out = r->out;
  if (!out->n) r->manifest = r->validation, out->n = out->n_validation, out->n_validation = 0;
  out->manifest = r->manifest.chars;
  out->validation = out->n_validation ? r->validation.chars : NULL;
}

static void put(reading *r, const char *path, const char *text) {
  gr_text *t = r->validates ? &r->validation : &r->manifest;
  gr_text_put(t, "{\"audio_path\": "), gr_text_json(t, path);
  gr_text_put(t, ", \"text\": "), gr_text_json(t, text), gr_text_put(t, "}\n");
  *(r->validates ? &r->out->n_validation : &r->out->n) += 1;
}

// ---- Lists ------------------------------------------------------------------------------------

// LJSpeech has its recordings in wavs, and names them without an ending; Common Voice has clips.
static gr_status find_recording(const reading *r, const char *name, gr_loc loc, const char **out) {
  static const char *const folders[] = {"", "wavs/", "clips/"}, *const endings[] = {
                                                                    "", ".wav", ".flac", ".mp3"};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++) {
      *out = gr_arena_printf(r->arena, "%s%s%s%s%s", *name == '/' ? "" : r->dir,
                             *name == '/' ? "" : "/", folders[i], name, endings[k]);
      if (gr_source_reads(&gr_source_speech, *out) && gr_is_file(*out)) return GR_OK;
    }
  *out = gr_new_index_find(r->index, name, GR_TABLE_ANY);
  if (*out) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, loc, "there is no recording '%s', nor '%s.wav'", name, name),
      "recordings are in the folder of their list, or in its folder wavs or clips; a list with "
      "classes has the columns path and label");
}

static gr_status read_line(reading *r, char *line, gr_loc loc) {
  const char *path;
  char *bar = strchr(line, '|'), *last = strrchr(line, '|');
  if (!bar)
    return gr_hint(gr_fail(GR_ERR_DATA, loc, "a line without a text"), "NAME|TEXT, as the first");
  *bar = 0;
  GR_TRY(find_recording(r, line, loc, &path));
  if (last > bar && !last[1]) last = bar, *strchr(bar + 1, '|') = 0;
  put(r, path, last + 1);
  return GR_OK;
}

static gr_status read_lines(reading *r, const char *file, char *text,
                            gr_status (*read)(reading *, char *line, gr_loc)) {
  int number = 1;
  for (char *line = text, *end; line; line = end, number++) {
    end = strchr(line, '\n');
    if (end) *end++ = 0;
    line[strcspn(line, "\r")] = 0;
    if (*line) GR_TRY(read(r, line, (gr_loc){file, number, 1}));
  }
  return GR_OK;
}

static bool is_recording(const char *name) {
  const gr_source_ending *ending = gr_source_reads(&gr_source_speech, name);
  return ending && ending->in_lists;
}

static bool is_text(const gr_csv *t, int column) {
  return t->columns[column].type == GR_COLUMN_TEXT;
}

static const char *const usual[] = {"transcription", "sentence", "text", "transcript", NULL};

bool gr_new_is_said(const char *name) {
  const char *const *word = usual;
  while (*word && strcasecmp(name, *word) != 0) word++;
  return *word != NULL;
}

// The column of the texts: one with a usual name, or the only other of text; -1: it is not known.
static int find_said(const gr_csv *t, int names) {
  int found = -1, n = 0;
  for (const char *const *word = usual; *word; word++)
    for (int c = 0; c < t->n_columns; c++)
      if (c != names && is_text(t, c) && !strcasecmp(t->columns[c].name, *word)) return c;
  for (int c = 0; c < t->n_columns; c++)
    if (c != names && is_text(t, c)) found = c, n++;
  return n == 1 ? found : -1;
}

static gr_status no_texts(const reading *r, const gr_csv *t, int name) {
  gr_text list = gr_text_make(r->arena);
  for (int c = 0; c < t->n_columns; c++)
    if (c != name) gr_text_printf(&list, "%s%s", list.len ? ", " : "", t->columns[c].name);
  return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){t->path, 1, 1},
                         "the column '%s' names recordings, and it is not clear which one has "
                         "their texts",
                         t->columns[name].name),
                 "call that one text; or of recordings with classes --label=COLUMN; there are: %s",
                 list.chars);
}

static gr_status read_rows(reading *r, const gr_csv *t, int name) {
  int text = find_said(t, name);
  if (text < 0) return no_texts(r, t, name);
  const gr_table_use *uses = r->whole ? NULL : gr_new_uses(r->index, t, name);
  const bool validates = r->validates;
  for (uint32_t i = 0; i < t->rows; i++) {
    const char *path, *cell = gr_new_cell(r->arena, t, i, name);
    GR_TRY(find_recording(r, cell, gr_csv_place(t, i), &path));
    if (uses && uses[i] == GR_TABLE_OTHER) {
      r->out->other = gr_arena_printf(r->arena, "%s, rows for a test", t->path);
      continue;
    }
    if (uses) r->validates = uses[i] == GR_TABLE_VALIDATES;
    put(r, path, t->columns[text].texts[i]);
  }
  return r->validates = validates, GR_OK;
}

// Names without an ending are in a column that is called so.
static gr_status read_columns(reading *r, const char *file) {
  gr_csv t;
  GR_TRY(gr_new_read_table(r->arena, file, &t));
  int name = gr_new_find_listed(r->index, &t);
  if (name < 0 && (name = gr_csv_find(&t, "file_name")) < 0) name = gr_csv_find(&t, "path");
  return name >= 0 ? read_rows(r, &t, name) : GR_OK;
}

gr_status gr_new_read_list(const gr_new_index *x, const gr_csv *t, gr_new_recordings *out) {
  const char *slash = strrchr(t->path, '/');
  const char *dir = slash ? gr_arena_strndup(x->arena, t->path, (size_t)(slash - t->path)) : ".";
  reading r = begin(x, dir, out);
  int name = gr_new_find_listed(x, t);
  if (name >= 0 && t->typed)
    return gr_hint(
        gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' has recordings in it", t->path),
        "--label=COLUMN makes a project of their classes; of transcripts `graphrun new NAME "
        "--data=speech` does, whose config.yaml takes the file as its manifest");
  if (name >= 0) GR_TRY(read_rows(&r, t, name));
  return end(&r), GR_OK;
}

static gr_status read_metadata(reading *r, const char *file) {
  char *text;
  size_t n;
  GR_TRY(gr_file_read(r->arena, file, MAX_METADATA, &text, &n));
  const char *bar = strchr(text, '|'), *end = strchr(text, '\n');
  return bar && (!end || bar < end) ? read_lines(r, file, text, read_line) : read_columns(r, file);
}

// ---- Transcripts of chapters, as LibriSpeech has them -------------------------------------------

static gr_status read_transcript(reading *r, char *line, gr_loc loc) {
  const char *path;
  char *blank = strchr(line, ' ');
  if (!blank)
    return gr_hint(gr_fail(GR_ERR_DATA, loc, "a line without a text"), "NAME TEXT, as the first");
  *blank = 0;
  GR_TRY(find_recording(r, line, loc, &path));
  put(r, path, blank + 1);
  return GR_OK;
}

// The first file of a folder and those above it that a path leads to: Kaldi's lists name recordings
// from where its recipe runs. NULL: there is none.
static const char *find_above(gr_arena *a, const char *dir, const char *path) {
  enum { ABOVE = 3 };
  for (int i = 0; i <= ABOVE; i++, dir = gr_arena_printf(a, "%s/..", dir)) {
    const char *file = *path == '/' ? path : gr_arena_printf(a, "%s/%s", dir, path);
    if (gr_is_file(file)) return file;
  }
  return NULL;
}

// Of wav.scp: a name, and the path of its recording.
static gr_status read_place(reading *r, char *line, gr_loc loc) {
  char *path = line + strcspn(line, " \t");
  if (*path) *path++ = 0;
  path += strspn(path, " \t");
  const char *file = *path ? find_above(r->arena, r->dir, path) : NULL;
  if (!file)
    return gr_hint(gr_fail(GR_ERR_DATA, loc, "'%s' is no path of a recording", path),
                   "NAME PATH, of a file; what a command writes (sph2pipe ... |) is to be made a "
                   "file before");
  gr_map_put(&r->places, line, (uint32_t)r->n_places);
  GR_GROW(r->arena, r->place, r->n_places, r->room);
  r->place[r->n_places++] = file;
  return GR_OK;
}

// Of text beside it: a name, and what is said.
static gr_status read_utterance(reading *r, char *line, gr_loc loc) {
  uint32_t place;
  char *text = line + strcspn(line, " \t");
  if (*text) *text++ = 0;
  if (!gr_map_find(&r->places, line, &place))
    return gr_hint(gr_fail(GR_ERR_DATA, loc, "wav.scp has no recording '%s'", line),
                   "texts of parts of recordings (segments) are not read: a file for each");
  if (!*text)
    r->out->without_text++;
  else
    put(r, r->place[place], text);
  return GR_OK;
}

// Whether what is in folders of these names is used: for validation, as they say, or for training.
static bool begin_split(reading *r, const char *folders, const char *path) {
  gr_table_use use = gr_file_list_use(folders);
  r->validates = use == GR_TABLE_VALIDATES;
  if (use == GR_TABLE_OTHER && !r->out->other) r->out->other = path;
  return use != GR_TABLE_OTHER;
}

// Those of a folder's folders train-clean-100 and dev-clean are for its splits.
static gr_status read_transcripts(reading *r) {
  gr_names files;
  const char *root = r->dir;
  GR_TRY(gr_file_list_tree(r->arena, root, &files));
  for (int i = 0; i < files.n; i++) {
    char *text;
    const char *path = files.items[i];
    if (!gr_ends_in(path, ".trans.txt")) continue;
    if (!begin_split(r, path + strlen(root) + 1, path)) continue;
    r->dir = gr_arena_strndup(r->arena, path, (size_t)(strrchr(path, '/') - path));
    GR_TRY(gr_file_read(r->arena, path, MAX_METADATA, &text, NULL));
    GR_TRY(read_lines(r, path, text, read_transcript));
  }
  return r->dir = root, GR_OK;
}

// A folder wav.scp and text, as Kaldi has them, of which folders train and dev are for its splits.
static gr_status read_kaldi(reading *r) {
  gr_names files;
  const char *root = r->dir;
  GR_TRY(gr_file_list_tree(r->arena, root, &files));
  for (int i = 0; i < files.n; i++) {
    char *text;
    const char *scp = files.items[i];
    if (!gr_ends_in(scp, "/wav.scp")) continue;
    r->dir = gr_arena_strndup(r->arena, scp, strlen(scp) - strlen("/wav.scp"));
    const char *said = gr_arena_printf(r->arena, "%s/text", r->dir);
    if (!gr_is_file(said) || !begin_split(r, r->dir + strlen(root), said)) continue;
    r->places = gr_map_make(r->arena);
    GR_TRY(gr_file_read(r->arena, scp, MAX_METADATA, &text, NULL));
    GR_TRY(read_lines(r, scp, text, read_place));
    GR_TRY(gr_file_read(r->arena, said, MAX_METADATA, &text, NULL));
    GR_TRY(read_lines(r, said, text, read_utterance));
  }
  return r->dir = root, GR_OK;
}

// ---- Texts beside recordings ------------------------------------------------------------------

// A text of the reading's folder that is called as part of a path within it; NULL: there is none.
static const char *try_text(const reading *r, const char *folder, const char *first,
                            const char *end) {
  static const char *const endings[] = {".txt", ".TXT"};
  for (int i = 0; i < 2; i++) {
    const char *text = gr_arena_printf(r->arena, "%s%s%.*s%s", r->dir, folder, (int)(end - first),
                                       first, endings[i]);
    if (gr_is_file(text)) return text;
  }
  return NULL;
}

// The text of a recording: beside it, or as VCTK has them in the folder txt of all in place of
// theirs, where its name may lack the last part of the recording's, a microphone. NULL: none.
static const char *find_text(const reading *r, const char *path) {
  const char *within = path + strlen(r->dir), *dot = strrchr(within, '.');
  const char *rest = strchr(within + 1, '/'), *part = strrchr(strrchr(within, '/'), '_');
  const char *text = try_text(r, "", within, dot);
  if (!text && rest) text = try_text(r, "/txt", rest, dot);
  if (!text && rest && part) text = try_text(r, "/txt", rest, part);
  return text;
}

// TIMIT's texts begin with the first sample and the last.
static const char *words_of(const char *text) {
  const char *digits = "0123456789", *end = text;
  for (int i = 0; i < 2; i++) {
    size_t n = strspn(end, digits);
    if (!n || end[n] != ' ' || (!i && (n > 1 || *end != '0'))) return text;
    end += n + 1;
  }
  return end;
}

static gr_status put_beside(reading *r, const char *path, const char *beside) {
  char *text;
  size_t n;
  r->out->without_text += !beside;
  if (!beside) return GR_OK;
  GR_TRY(gr_file_read(r->arena, beside, MAX_TEXT, &text, &n));
  while (n && strchr(" \t\r\n", text[n - 1])) text[--n] = 0;
  put(r, path, words_of(text + strspn(text, " \t\r\n")));
  return GR_OK;
}

static gr_status put_of_split(reading *r, const char *path, const char *text) {
  const char *within = path + strlen(r->dir), *name = strrchr(within, '/');
  const char *folders = gr_arena_strndup(r->arena, within, (size_t)(name - within));
  return begin_split(r, folders, path) ? put_beside(r, path, text) : GR_OK;
}

// In a tree recordings have texts where half of them have: else their folders may be classes.
static gr_status read_tree(reading *r, bool flat) {
  gr_names files;
  int n = 0, with = 0;
  GR_TRY(gr_file_list_tree(r->arena, r->dir, &files));
  const char **text = GR_NEW(r->arena, const char *, files.n + 1);
  for (int i = 0; i < files.n; i++) {
    GR_TRY(gr_work_step(0));
    if (!is_recording(files.items[i])) continue;
    text[i] = find_text(r, files.items[i]);
    n++, with += text[i] != NULL;
  }
  if (!flat && 2 * with < n) return GR_OK;
  for (int i = 0; i < files.n; i++)
    if (is_recording(files.items[i])) GR_TRY(put_of_split(r, files.items[i], text[i]));
  return GR_OK;
}

// Whether a folder has recordings, which its metadata.csv may be about.
static bool has_recordings(gr_arena *a, const char *dir) {
  int n;
  const char **names = gr_list_dir(a, dir, &n);
  for (int i = 0; i < n; i++)
    if (is_recording(names[i])) return true;
  return false;
}

static gr_status read_sheets(reading *r) {
  gr_new_sheets sheets;
  GR_TRY(gr_new_find_sheets(r->index, &sheets));
  r->whole = sheets.validation != NULL;
  if (sheets.all) GR_TRY(read_columns(r, sheets.all));
  r->validates = true;
  if (sheets.validation) GR_TRY(read_columns(r, sheets.validation));
  r->validates = false;
  if (sheets.other) r->out->other = sheets.other;
  return GR_OK;
}

gr_status gr_new_read_recordings(const gr_new_index *x, gr_new_recordings *out) {
  gr_arena *a = x->arena;
  const char *dir = x->root;
  reading r = begin(x, dir, out);
  const char *file = gr_arena_printf(a, "%s/metadata.csv", dir);
  bool here = has_recordings(a, dir) || has_recordings(a, gr_arena_printf(a, "%s/wavs", dir));
  GR_TRY(here && gr_is_file(file) ? read_metadata(&r, file) : read_sheets(&r));
  if (!out->n) GR_TRY(read_transcripts(&r));
  if (!out->n) GR_TRY(read_kaldi(&r));
  if (!out->n) GR_TRY(read_tree(&r, here));
  return end(&r), GR_OK;
}
