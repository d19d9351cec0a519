// new_recordings.c - see new_recordings.h.
#include "cli/new_recordings.h"
#include <string.h>
#include "base/json.h"
#include "runtime/data/csv.h"
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

// ---- metadata.csv -----------------------------------------------------------------------------

// LJSpeech has its recordings in wavs, and names them without an ending.
static gr_status find_recording(const reading *r, const char *name, gr_loc loc, const char **out) {
  static const char *const folders[] = {"", "wavs/"}, *const endings[] = {"", ".wav", ".flac"};
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 3; k++) {
      *out = gr_arena_printf(r->arena, "%s/%s%s%s", r->dir, folders[i], name, endings[k]);
      if (gr_source_reads(&gr_source_speech, *out) && gr_is_file(*out)) return GR_OK;
    }
  return gr_hint(gr_fail(GR_ERR_DATA, loc, "there is no recording '%s', nor '%s.wav'", name, name),
                 "recordings are in the folder of metadata.csv, or in its folder wavs");
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

static int find_column(const gr_csv *t, const char *const *names) {
  for (; *names; names++) {
    int k = gr_csv_find(t, *names);
    if (k >= 0 && t->columns[k].type == GR_COLUMN_TEXT) return k;
  }
  return -1;
}

static gr_status read_columns(reading *r, const char *file) {
  static const char *const names[] = {"file_name", "path", NULL}, *const texts[] = {"transcription",
                                                                                    "sentence",
                                                                                    "text", NULL};
  gr_csv t = {0};
  gr_csv_format format = {',', true, "data.table"};
  GR_TRY(gr_csv_read(r->arena, file, &format, &t));
  int name = find_column(&t, names), text = find_column(&t, texts);
  for (uint32_t i = 0; i < t.rows && name >= 0 && text >= 0; i++) {
    const char *path;
    GR_TRY(find_recording(r, t.columns[name].texts[i], gr_csv_place(&t, i), &path));
    put(r, path, t.columns[text].texts[i]);
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

static bool is_recording(const char *name) {
  const gr_source_ending *ending = gr_source_reads(&gr_source_speech, name);
  return ending && ending->in_lists;
}

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

// Whether a folder has recordings, of which its metadata.csv may be.
static bool has_recordings(gr_arena *a, const char *dir) {
  int n;
  const char **names = gr_list_dir(a, dir, &n);
  for (int i = 0; i < n; i++)
    if (is_recording(names[i])) return true;
  return false;
}

gr_status gr_new_read_recordings(gr_arena *a, const char *dir, gr_new_recordings *out) {
  reading r = {a, dir, gr_text_make(a), out};
  const char *file = gr_arena_printf(a, "%s/metadata.csv", dir);
  *out = (gr_new_recordings){0};
  if (!has_recordings(a, dir) && !has_recordings(a, gr_arena_printf(a, "%s/wavs", dir)))
    return GR_OK;
  GR_TRY(gr_is_file(file) ? read_metadata(&r, file) : read_folder(&r));
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
