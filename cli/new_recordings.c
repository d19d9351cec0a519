// new_recordings.c - see new_recordings.h.
#include "cli/new_recordings.h"
#include <string.h>
#include <strings.h>
#include "base/json.h"
#include "cli/new_columns.h"
#include "runtime/data/source.h"

enum { MAX_TEXT = 1 << 16, MAX_METADATA = 1 << 28 };
typedef struct reading {
  gr_arena *arena;
  const char *dir;
  gr_text manifest;
  gr_new_recordings *out;
} reading;

static void put(reading *r, const char *path, const char *text) {
  gr_text *t = &r->manifest;
  gr_text_put(t, "{\"audio_path\": "), gr_text_json(t, path);
  gr_text_put(t, ", \"text\": "), gr_text_json(t, text), gr_text_put(t, "}\n");
  r->out->n++;
}

// ---- Lists ------------------------------------------------------------------------------------

// LJSpeech has its recordings in wavs, and names them without an ending; Common Voice has clips.
static gr_status find_recording(const reading *r, const char *name, gr_loc loc, const char **out) {
  static const char *const folders[] = {"", "wavs/", "clips/"}, *const endings[] = {
                                                                    "", ".wav", ".flac", ".mp3"};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++) {
      *out = gr_arena_printf(r->arena, "%s/%s%s%s", r->dir, folders[i], name, endings[k]);
      if (gr_source_reads(&gr_source_speech, *out) && gr_is_file(*out)) return GR_OK;
    }
  return gr_hint(gr_fail(GR_ERR_DATA, loc, "there is no recording '%s', nor '%s.wav'", name, name),
                 "recordings are in the folder of their list, or in its folder wavs or clips");
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

static gr_status read_lines(reading *r, const char *file, char *text) {
  int number = 1;
  for (char *line = text, *end; line; line = end, number++) {
    end = strchr(line, '\n');
    if (end) *end++ = 0;
    line[strcspn(line, "\r")] = 0;
    if (*line) GR_TRY(read_line(r, line, (gr_loc){file, number, 1}));
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

int gr_new_find_names(const gr_csv *t) {
  for (int c = 0; c < t->n_columns && t->rows; c++)
    if (is_text(t, c) && is_recording(t->columns[c].texts[0])) return c;
  return -1;
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

static gr_status read_rows(reading *r, const gr_csv *t, int name) {
  int text = find_said(t, name);
  if (text < 0)
    return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){t->path, 1, 1},
                           "the column '%s' names recordings, and it is not clear which one has "
                           "their texts",
                           t->columns[name].name),
                   "call that one text; or of recordings with classes --label=COLUMN");
  for (uint32_t i = 0; i < t->rows; i++) {
    const char *path;
    GR_TRY(find_recording(r, t->columns[name].texts[i], gr_csv_place(t, i), &path));
    put(r, path, t->columns[text].texts[i]);
  }
  return GR_OK;
}

// Names without an ending are in a column that is called so.
static gr_status read_columns(reading *r, const char *file) {
  gr_csv t;
  GR_TRY(gr_new_read_table(r->arena, file, &t));
  int name = gr_new_find_names(&t);
  if (name < 0 && (name = gr_csv_find(&t, "file_name")) < 0) name = gr_csv_find(&t, "path");
  return name >= 0 && is_text(&t, name) ? read_rows(r, &t, name) : GR_OK;
}

gr_status gr_new_read_list(gr_arena *a, const gr_csv *t, gr_new_recordings *out) {
  int name = gr_new_find_names(t);
  const char *slash = strrchr(t->path, '/');
  const char *dir = slash ? gr_arena_strndup(a, t->path, (size_t)(slash - t->path)) : ".";
  reading r = {a, dir, gr_text_make(a), out};
  *out = (gr_new_recordings){0};
  if (name >= 0 && t->typed)
    return gr_hint(
        gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' has recordings in it", t->path),
        "--label=COLUMN makes a project of their classes; of transcripts `graphrun new NAME "
        "--data=speech` does, whose config.yaml takes the file as its manifest");
  if (name >= 0) GR_TRY(read_rows(&r, t, name));
  out->manifest = r.manifest.chars;
  return GR_OK;
}

gr_status gr_new_find_list(gr_arena *a, const char *dir, const char **out) {
  int n;
  const char **names = gr_list_dir(a, dir, &n);
  *out = NULL;
  for (int i = 0; i < n; i++) {
    gr_csv t;
    const char *path = gr_arena_printf(a, "%s/%s", dir, names[i]);
    if (!gr_ends_in(path, ".csv") && !gr_ends_in(path, ".tsv")) continue;
    gr_status s = gr_new_read_table(a, path, &t);
    bool lists = !s && gr_new_find_names(&t) >= 0;
    gr_status_drop(s);
    if (lists && *out)
      return gr_hint(
          gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' and '%s' both name recordings", *out, path),
          "give one of them: --from=%s", *out);
    if (lists) *out = path;
  }
  return GR_OK;
}

static gr_status read_metadata(reading *r, const char *file) {
  char *text;
  size_t n;
  GR_TRY(gr_file_read(r->arena, file, MAX_METADATA, &text, &n));
  const char *bar = strchr(text, '|'), *end = strchr(text, '\n');
  return bar && (!end || bar < end) ? read_lines(r, file, text) : read_columns(r, file);
}

// ---- Texts beside recordings ------------------------------------------------------------------

static gr_status read_beside(reading *r, const char *name) {
  const char *dot = strrchr(name, '.'), *path = gr_arena_printf(r->arena, "%s/%s", r->dir, name);
  if (!is_recording(name)) return GR_OK;
  const char *beside = gr_arena_printf(r->arena, "%s/%.*s.txt", r->dir, (int)(dot - name), name);
  char *text;
  size_t n;
  r->out->without_text += !gr_is_file(beside);
  if (!gr_is_file(beside)) return GR_OK;
  GR_TRY(gr_file_read(r->arena, beside, MAX_TEXT, &text, &n));
  while (n && strchr(" \t\r\n", text[n - 1])) text[--n] = 0;
  put(r, path, text + strspn(text, " \t\r\n"));
  return GR_OK;
}

static gr_status read_folder(reading *r) {
  int n;
  const char **names = gr_list_dir(r->arena, r->dir, &n);
  for (int i = 0; i < n; i++) GR_TRY(read_beside(r, names[i]));
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

gr_status gr_new_read_recordings(gr_arena *a, const char *dir, gr_new_recordings *out) {
  reading r = {a, dir, gr_text_make(a), out};
  const char *file = gr_arena_printf(a, "%s/metadata.csv", dir), *list = NULL;
  bool here = has_recordings(a, dir) || has_recordings(a, gr_arena_printf(a, "%s/wavs", dir));
  *out = (gr_new_recordings){0};
  if (here && gr_is_file(file))
    GR_TRY(read_metadata(&r, file));
  else
    GR_TRY(gr_new_find_list(a, dir, &list));
  if (list) GR_TRY(read_columns(&r, list));
  if (here && !out->n) GR_TRY(read_folder(&r));
  out->manifest = r.manifest.chars;
  return GR_OK;
}

// ---- Symbols ----------------------------------------------------------------------------------

enum { MAX_SYMBOLS = 512 };
typedef struct symbols {
  uint32_t code[MAX_SYMBOLS];
  int n;
} symbols;

static void add_symbols(symbols *all, const char *text) {
  for (int len; *text && (len = gr_utf8_len(text)); text += len) {
    uint32_t code = gr_utf8_code(text, len);
    int i = 0;
    while (i < all->n && all->code[i] < code) i++;
    if ((i < all->n && all->code[i] == code) || all->n == MAX_SYMBOLS) continue;
    memmove(&all->code[i + 1], &all->code[i], sizeof *all->code * (size_t)(all->n - i));
    all->code[i] = code, all->n++;
  }
}

void gr_new_put_symbols(gr_arena *a, char *manifest, gr_text *out) {
  symbols all = {.n = 0};
  char *rest = NULL;
  for (char *line = strtok_r(manifest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    const gr_json *root;
    gr_json_error why;
    if (!gr_json_read(a, line, strlen(line), &root, &why) || root->kind != GR_JSON_OBJECT) continue;
    const gr_json *said = gr_json_get(root, "text", GR_JSON_TEXT);
    if (said) add_symbols(&all, said->text);
  }
  for (int i = 0; i < all.n; i++) gr_text_put_code(out, all.code[i]);
}
