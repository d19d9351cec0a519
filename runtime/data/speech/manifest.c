// manifest.c - see manifest.h.
#include "runtime/data/speech/manifest.h"
#include <math.h>
#include <string.h>
#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "base/output.h"
#include "base/port.h"
#include "base/text.h"
#include "base/work.h"
#include "runtime/data/encoding.h"
#include "runtime/data/file_list.h"

enum { AUDIO, TEXT, DURATION, NAME, OFFSET, WHERE, BYTES, MEMBERS };
static const size_t MAX_BYTES = INT32_MAX;  // lines and columns are ints

static const char *audio_path(gr_arena *a, const char *manifest, const char *root,
                              const char *audio) {
  const char *slash = strrchr(manifest, '/');
  if (*audio != '/' && root) return gr_arena_printf(a, "%s/%s", root, audio);
  if (*audio == '/' || !slash) return audio;
  return gr_arena_printf(a, "%.*s/%s", (int)(slash - manifest), manifest, audio);
}

// One of the keys that a line may have: "audio_path" etc.
typedef struct member {
  const char *key;
  gr_json_kind kind;  // GR_JSON_NULL: text or a whole number
  const char *text;   // NULL: absent, or null
  double number;
  int col;     // of the value, 1-based; 0: absent
  bool named;  // the value is a text
} member;

// The lines of a manifest, while they are read.
typedef struct lines {
  gr_arena *arena;
  const gr_manifest_keys *keys;
  gr_loc loc;
  gr_map seen;  // names
  gr_manifest *out;
} lines;

static gr_loc at_col(gr_loc line, int col) { return (gr_loc){line.file, line.line, col ? col : 1}; }

static gr_status with_example(const lines *l, gr_status s) {
  const char *label = l->keys->label;
  return gr_hint(s,
                 "a line of a manifest is {\"audio_path\": \"a.wav\", \"%s\": \"%s\", "
                 "\"duration\": 1.2}",
                 label ? label : "text", label ? "yes" : "HELLO");
}

static bool is_of(const gr_json *v, gr_json_kind kind) {
  bool text = v->kind == GR_JSON_TEXT, whole = v->kind == GR_JSON_INT;
  return kind == GR_JSON_TEXT   ? text
         : kind == GR_JSON_NULL ? text || whole
                                : whole || v->kind == GR_JSON_FLOAT;
}

static gr_status read_member(const lines *l, const gr_json *v, member *m) {
  static const char *const expected[] = {[GR_JSON_NULL] = "text in double quotes or a whole number",
                                         [GR_JSON_TEXT] = "text in double quotes",
                                         [GR_JSON_FLOAT] = "a number"};
  m->col = v->offset + 1;
  if (v->kind == GR_JSON_NULL) return GR_OK;
  if (!is_of(v, m->kind))
    return with_example(
        l, gr_fail(GR_ERR_DATA, at_col(l->loc, m->col), "expected %s as the value of \"%s\"",
                   expected[m->kind], m->key));
  m->named = v->kind == GR_JSON_TEXT;
  if (m->kind == GR_JSON_FLOAT && !isfinite(v->f))
    return gr_fail(GR_ERR_DATA, at_col(l->loc, m->col),
                   "expected a number that a double can hold as the value of \"%s\"", m->key);
  if (m->kind != GR_JSON_FLOAT)
    m->text = m->named ? gr_arena_strdup(l->arena, v->text)
                       : gr_arena_printf(l->arena, "%lld", (long long)v->i);
  m->number = v->f;
  return GR_OK;
}

static gr_status find_member(const lines *l, const gr_json *line, member *m) {
  for (const gr_json *v = line->first; v; v = v->next)
    if (!strcmp(v->name, m->key)) GR_TRY(read_member(l, v, m));
  return GR_OK;
}

static gr_status check_members(const lines *l, const member *m) {
  const member *text = &m[TEXT];
  bool empty = l->keys->label && text->text && !*text->text;
  if (!m[AUDIO].text || !*m[AUDIO].text)
    return with_example(l, gr_fail(GR_ERR_DATA, at_col(l->loc, m[AUDIO].col),
                                   "the key \"audio_path\" is missing or empty"));
  if (!l->keys->inputs && (!text->text || empty))
    return gr_hint(
        with_example(l, gr_fail(GR_ERR_DATA, at_col(l->loc, text->col), "the key \"%s\" is %s",
                                text->key, empty ? "empty" : "missing")),
        l->keys->label ? "data.speech.label names the key of classes"
                       : "of recordings with classes data.speech.label names their key");
  if (m[DURATION].number < 0)
    return gr_hint(gr_fail(GR_ERR_DATA, at_col(l->loc, m[DURATION].col),
                           "a duration of %g seconds cannot be", m[DURATION].number),
                   "correct it, or leave \"duration\" out: it is then read from the recording");
  if (m[OFFSET].number != 0)
    return gr_hint(gr_fail(GR_ERR_DATA, at_col(l->loc, m[OFFSET].col),
                           "parts of recordings (\"offset\": %g) are not read", m[OFFSET].number),
                   "cut the recording into one file an utterance");
  return GR_OK;
}

static gr_status parse_line(const lines *l, gr_arena *scratch, const char *line, size_t len,
                            const gr_json **out) {
  gr_json_error why;
  if (!gr_json_read(scratch, line, len, out, &why))
    return with_example(
        l, gr_fail(GR_ERR_DATA, at_col(l->loc, why.col), "%s, found %s", why.why, why.found));
  if ((*out)->kind == GR_JSON_OBJECT) return GR_OK;
  return with_example(l, gr_fail(GR_ERR_DATA, at_col(l->loc, (*out)->offset + 1),
                                 "expected one JSON object on each line"));
}

static gr_status read_members(const lines *l, const char *line, size_t len, member *m) {
  gr_arena *scratch = gr_arena_create();
  const gr_json *object = NULL;
  gr_status s = parse_line(l, scratch, line, len, &object);
  for (int i = 0; i < MEMBERS && !s; i++) s = find_member(l, object, &m[i]);
  return gr_arena_end(scratch, s);
}

static gr_status read_line(lines *l, const char *line, size_t len) {
  const char *label = l->keys->label;
  gr_loc loc = l->loc;
  member m[MEMBERS] = {[AUDIO] = {"audio_path", GR_JSON_TEXT},
                       [TEXT] = {label ? label : "text", label ? GR_JSON_NULL : GR_JSON_TEXT},
                       [DURATION] = {"duration", GR_JSON_FLOAT},
                       [NAME] = {"name", GR_JSON_TEXT},
                       [OFFSET] = {"offset", GR_JSON_FLOAT},
                       [WHERE] = {"audio_path.offset", GR_JSON_FLOAT},
                       [BYTES] = {"audio_path.bytes", GR_JSON_FLOAT}};
  GR_TRY(read_members(l, line, len, m));
  GR_TRY(check_members(l, m));
  const member *named = m[NAME].text && *m[NAME].text ? &m[NAME] : &m[AUDIO];
  uint32_t before;
  if (gr_map_find(&l->seen, named->text, &before))
    return gr_hint(gr_fail(GR_ERR_DATA, at_col(loc, named->col),
                           "the utterance '%s' is already on line %u", named->text, before),
                   "give each its own \"name\"");
  gr_map_put(&l->seen, named->text, (uint32_t)loc.line);
  l->out->named |= m[TEXT].named;
  l->out->items[l->out->n++] =
      (gr_utterance){named->text,
                     audio_path(l->arena, loc.file, l->keys->root, m[AUDIO].text),
                     m[TEXT].text ? m[TEXT].text : "",
                     m[DURATION].number,
                     loc.line,
                     m[TEXT].col,
                     m[AUDIO].col,
                     m[DURATION].col,
                     loc.file,
                     NULL,
                     {0}};
  if (gr_archive_named(loc.file))
    l->out->items[l->out->n - 1].member =
        (gr_member){loc.file, (uint64_t)m[WHERE].number, (uint64_t)m[BYTES].number};
  return GR_OK;
}

static bool only_blanks(const char *p, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (!strchr(" \t\r", p[i]) || !p[i]) return false;
  return true;
}

// An upper bound of the number of recordings: one per line, with at least the bytes of its keys.
static size_t most_items(const char *p, const char *end) {
  enum { LEAST = sizeof "{\"audio_path\":\"\"}" };
  size_t n = 1, most = (size_t)(end - p) / LEAST + 1;
  for (; p < end; p++) n += *p == '\n';
  return n < most ? n : most;
}

// The text of a manifest, or the lines of an archive.
static gr_status read_text(gr_arena *a, const char *path, char **text, size_t *len) {
  const char *kind = gr_file_kind(path);
  if (kind)
    return gr_hint(
        gr_fail(GR_ERR_DATA, GR_NOWHERE, "cannot read the manifest '%s': it is %s", path, kind),
        "only regular files are read");
  if (!gr_is_file(path))
    return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no manifest '%s'", path),
                   "write one object a line, {\"audio_path\": ..., \"text\": ...}, or let "
                   "'graphrun data import' make it");
  if (gr_archive_named(path)) return gr_archive_lines(a, path, "audio_path", text, len);
  return gr_file_read(a, path, MAX_BYTES, text, len);
}

static gr_status read_lines(lines *l, const char *text, size_t len) {
  const char *end = text + len;
  size_t mark = 0;
  GR_TRY(gr_encoding_check(l->loc.file, text, len, &mark));
  for (const char *p = text + mark; p < end; l->loc.line++) {
    GR_TRY(gr_work_step(0));
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    if (!stop) stop = end;
    size_t n = (size_t)(stop - p);
    if (!only_blanks(p, n)) GR_TRY(read_line(l, p, n));
    p = stop + 1;
  }
  return GR_OK;
}

gr_status gr_manifest_read(gr_arena *a, const char *path, const gr_manifest_keys *keys,
                           gr_manifest *out) {
  static const gr_manifest_keys usual = {0};
  gr_names files = {.items = &path, .n = 1};
  if (gr_archive_named(path)) GR_TRY(gr_file_list_match(a, path, &files));
  char **text = GR_NEW(a, char *, files.n);
  size_t *len = GR_NEW(a, size_t, files.n), most = 0;
  for (int i = 0; i < files.n; i++) {
    GR_TRY(read_text(a, files.items[i], &text[i], &len[i]));
    most += most_items(text[i], text[i] + len[i]);
  }
  *out = (gr_manifest){.path = path, .items = GR_NEW(a, gr_utterance, most)};
  lines l = {a, keys ? keys : &usual, GR_NOWHERE, gr_map_make(a), out};
  for (int i = 0; i < files.n; i++) {
    l.loc = (gr_loc){files.items[i], 1, 1};
    GR_TRY(read_lines(&l, text[i], len[i]));
  }
  if (!out->n)
    return gr_fail(GR_ERR_DATA, (gr_loc){path, 1, 1}, "the manifest lists no recordings");
  return GR_OK;
}

static void put_items(FILE *f, const gr_utterance *items, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    gr_arena *a = gr_arena_create();
    gr_text t = gr_text_make(a);
    gr_text_put(&t, "{");
    gr_text_json_member(&t, "name", items[i].name);
    gr_text_json_member(&t, "audio_path", items[i].audio);
    gr_text_json_member(&t, "text", items[i].text);
    if (items[i].seconds > 0)
      gr_text_json_key(&t, "duration"), gr_text_json_float(&t, items[i].seconds);
    gr_text_put(&t, "}\n");
    fwrite(t.chars, 1, t.len, f);
    gr_arena_destroy(a);
  }
}

static gr_status make_folder(gr_arena *a, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return GR_OK;
  return gr_make_dirs(gr_arena_strndup(a, path, (size_t)(slash - path)));
}

gr_status gr_manifest_write(const char *path, const gr_utterance *items, uint32_t n) {
  gr_arena *a = gr_arena_create();
  gr_output *out = NULL;
  gr_status s = make_folder(a, path);
  if (!s) s = gr_output_open(NULL, path, &out);
  if (out) put_items(gr_output_stream(out), items, n);
  s = gr_output_close(out, s);
  return gr_arena_end(a, s);
}
