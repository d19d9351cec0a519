// new_texts.c - see new_texts.h.
#include "cli/new_texts.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "base/json.h"
#include "base/output.h"
#include "base/port.h"
#include "base/work.h"
#include "cli/new_tables.h"
#include "runtime/data/encoding.h"
#include "runtime/data/file_list.h"

enum { MAX_TEXT = 1 << 28 };

// As UTF-8, whatever it was.
static gr_status read_text(gr_arena *a, const char *path, char **text, size_t *n) {
  const char *encoding = "";
  GR_TRY(gr_work_step(0));
  GR_TRY(gr_file_read(a, path, MAX_TEXT, text, n));
  return gr_encoding_convert(a, path, text, n, &encoding);
}

// Writes a file of the project; *file is its path.
static gr_status put_file(gr_new_own *o, const char *name, const gr_text *t, const char **file) {
  *file = gr_arena_printf(o->arena, "%s/%s", o->dir, name);
  gr_text_printf(&o->said, "written: %s\n", name);
  return gr_output_write(o->dir, name, t->chars, t->len);
}

static void put_pair(gr_text *t, const char *text, const char *target) {
  gr_text_put(t, "{\"text\": "), gr_text_json(t, text);
  gr_text_put(t, ", \"target\": "), gr_text_json(t, target), gr_text_put(t, "}\n");
}

// A project of lines of put_pair.
static gr_status make_pairs(gr_new_own *o, const gr_text *lines) {
  const char *file;
  gr_csv t;
  GR_TRY(put_file(o, "pairs.jsonl", lines, &file));
  GR_TRY(gr_new_read_table(o->arena, file, &t));
  return gr_new_pairs_of(o, &t, gr_csv_find(&t, "text"), gr_csv_find(&t, "target")), GR_OK;
}

static gr_status make_text(gr_new_own *o, const gr_text *text) {
  const char *file;
  GR_TRY(put_file(o, "data.txt", text, &file));
  return gr_new_begin(o, "text", "path", file), GR_OK;
}

// ---- JSON ---------------------------------------------------------------------------------------

// What one of a conversation says, and whether it is the answer; NULL: it is no text.
static const char *said_in(const gr_json *message, bool *answer) {
  static const char *const keys[][2] = {{"role", "content"}, {"from", "value"}};
  for (int i = 0; i < 2; i++) {
    const gr_json *who = gr_json_get(message, keys[i][0], GR_JSON_TEXT);
    const gr_json *what = gr_json_get(message, keys[i][1], GR_JSON_TEXT);
    if (!who || !what) continue;
    *answer = !strcmp(who->text, "assistant") || !strcmp(who->text, "gpt");
    return what->text;
  }
  return NULL;
}

static const gr_json *messages_of(const gr_json *line) {
  const gr_json *m = gr_json_get(line, "messages", GR_JSON_ARRAY);
  return m ? m : gr_json_get(line, "conversations", GR_JSON_ARRAY);
}

static void put_messages(gr_arena *a, const gr_json *messages, gr_text *out) {
  gr_text before = gr_text_make(a);
  for (const gr_json *m = messages->first; m; m = m->next) {
    bool answer = false;
    const char *text = m->kind == GR_JSON_OBJECT ? said_in(m, &answer) : NULL;
    if (!text) continue;
    if (answer && before.len) put_pair(out, before.chars, text);
    gr_text_printf(&before, "%s%s", before.len ? "\n" : "", text);
  }
}

// Whether a line has a text, and beside it nothing but what describes it.
static const gr_json *text_alone(const gr_json *line) {
  const gr_json *text = gr_json_get(line, "text", GR_JSON_TEXT);
  for (const gr_json *v = line->first; v; v = v->next)
    if (v != text && v->kind != GR_JSON_OBJECT && v->kind != GR_JSON_NULL) return NULL;
  return text;
}

// Adds what a line has; *chat: it has a conversation. *good: it is that, or a text alone.
static gr_status add_line(gr_arena *a, const char *line, size_t n, gr_loc loc, gr_text *out,
                          bool *chat, bool *good) {
  const gr_json *v;
  gr_json_error why;
  *chat = *good = false;
  if (!gr_json_read(a, line, n, &v, &why)) {
    loc.col = why.col;
    return gr_hint(gr_fail(GR_ERR_DATA, loc, "%s, found %s", why.why, why.found),
                   "each line is an object of JSON: complete the line, or remove it");
  }
  if (v->kind != GR_JSON_OBJECT) return GR_OK;
  const gr_json *messages = messages_of(v), *text = text_alone(v);
  *chat = messages != NULL, *good = messages || text;
  if (messages)
    put_messages(a, messages, out);
  else if (text)
    gr_text_printf(out, "%s\n", text->text);
  return GR_OK;
}

bool gr_new_is_spoken(gr_arena *a, const char *line, size_t n) {
  bool chat, good;
  gr_text ignored = gr_text_make(a);
  gr_status_drop(add_line(a, line, n, GR_NOWHERE, &ignored, &chat, &good));
  return good;
}

gr_status gr_new_make_spoken(gr_new_own *o, const char *path) {
  char *text;
  size_t n;
  bool chat = false, all = false, any = false;
  gr_text out = gr_text_make(o->arena);
  gr_loc loc = {path, 0, 1};
  GR_TRY(read_text(o->arena, path, &text, &n));
  for (char *line = text, *next; *line; line = next) {
    size_t length = strcspn(line, "\n");
    bool good;
    next = line + length + (line[length] != 0), loc.line++;
    if (strspn(line, " \t\r") >= length) continue;
    gr_arena *scratch = gr_arena_create();
    GR_TRY(gr_arena_end(scratch, add_line(scratch, line, length, loc, &out, &chat, &good)));
    if (!any) all = chat, any = true;
    if (good && chat == all) continue;
    return gr_hint(gr_fail(GR_ERR_DATA, loc, "expected %s, as in the first line",
                           all ? "a list of messages" : "a text alone"),
                   "lines of one kind make a project; --label=COLUMN predicts a column");
  }
  return all ? make_pairs(o, &out) : make_text(o, &out);
}

// A line of an object, whose files of the folder have their paths.
static void put_object(gr_arena *a, const char *dir, const gr_json *object, gr_text *out) {
  gr_text_put(out, "{");
  for (const gr_json *v = object->first; v; v = v->next) {
    const char *file = v->kind == GR_JSON_TEXT ? gr_arena_printf(a, "%s/%s", dir, v->text) : "";
    gr_text_json_key(out, v->name);
    if (*file && *v->text && gr_is_file(file))
      gr_text_json(out, file);
    else
      gr_json_put(out, v);
  }
  gr_text_put(out, "}\n");
}

// JSON lines that are called .json, as NeMo's manifests are.
static gr_status unroll_lines(gr_new_own *o, const char *path, const char *dir, const char *text,
                              const char **file) {
  gr_text out = gr_text_make(o->arena);
  gr_loc loc = {path, 0, 1};
  for (const char *line = text; *line; line += *line == '\n') {
    const gr_json *v;
    gr_json_error why;
    size_t n = strcspn(line, "\n");
    bool empty = strspn(line, " \t\r") >= n;
    loc.line++;
    if (!empty && (!gr_json_read(o->arena, line, n, &v, &why) || v->kind != GR_JSON_OBJECT))
      return gr_hint(
          gr_fail(GR_ERR_DATA, loc, "expected an object of JSON, as in the lines before"),
          "each line is one, or the file is one list: [{...}, {...}]");
    if (!empty) put_object(o->arena, dir, v, &out);
    line += n;
  }
  return put_file(o, "data.jsonl", &out, file);
}

gr_status gr_new_unroll(gr_new_own *o, const char *path, const char **file) {
  char *text;
  size_t n;
  const gr_json *all;
  gr_json_error why;
  gr_text out = gr_text_make(o->arena);
  GR_TRY(read_text(o->arena, path, &text, &n));
  const char *dir = gr_arena_strndup(o->arena, path, (size_t)(strrchr(path, '/') - path));
  bool good = gr_json_read(o->arena, text, n, &all, &why);
  if (!good && *text == '{' && why.line > 1) return unroll_lines(o, path, dir, text, file);
  if (!good)
    return gr_hint(gr_fail(GR_ERR_DATA, ((gr_loc){path, why.line, why.col}), "%s, found %s",
                           why.why, why.found),
                   "a file of JSON lines has a name that ends in .jsonl");
  for (const gr_json *v = all->first; v && good; v = v->next) {
    good = all->kind == GR_JSON_ARRAY && v->kind == GR_JSON_OBJECT;
    if (good) put_object(o->arena, dir, v, &out);
  }
  if (!good || !all->first)
    return gr_hint(gr_fail(GR_ERR_USAGE, ((gr_loc){path, 1, 1}),
                           "this is no list of objects, which would be rows"),
                   "a line of .jsonl for each row: {\"text\": \"...\", \"label\": \"...\"}; for "
                   "each question and its answer {\"text\": \"...\", \"target\": \"...\"}");
  return put_file(o, "data.jsonl", &out, file);
}

// ---- Tasks --------------------------------------------------------------------------------------

// The columns of texts that are called by one of the words, in their order; returns how many.
static int find_columns(const gr_csv *t, const char *const *words, int out[2]) {
  int n = 0;
  for (; *words && n < 2; words++)
    for (int c = 0; c < t->n_columns && n < 2; c++)
      if (!strcasecmp(t->columns[c].name, *words) && t->columns[c].type == GR_COLUMN_TEXT)
        out[n++] = c;
  return n;
}

gr_status gr_new_find_task(gr_new_own *o, const gr_csv *t, bool *found) {
  static const char *const tasks[] = {"instruction", "prompt", "question",
                                      "context",     "input",  NULL};
  static const char *const written[] = {"output", "response", "completion", "answer", NULL};
  int task[2], target[2], n = find_columns(t, tasks, task);
  *found = n && find_columns(t, written, target) && gr_new_has_names(t, target[0]);
  if (!*found) return GR_OK;
  if (n == 1) return gr_new_pairs_of(o, t, task[0], target[0]), GR_OK;
  gr_text lines = gr_text_make(o->arena);
  for (uint32_t row = 0; row < t->rows; row++) {
    const char *more = gr_csv_missing(t, row, task[1]) ? "" : t->columns[task[1]].texts[row];
    if (gr_csv_missing(t, row, task[0]) || gr_csv_missing(t, row, target[0])) continue;
    const char *text = t->columns[task[0]].texts[row];
    put_pair(&lines, gr_arena_printf(o->arena, "%s%s%s", text, *more ? "\n" : "", more),
             t->columns[target[0]].texts[row]);
  }
  gr_text_printf(&o->said, "read: '%s' and '%s', as one text\n", t->columns[task[0]].name,
                 t->columns[task[1]].name);
  return make_pairs(o, &lines);
}

// ---- Parallel texts -----------------------------------------------------------------------------

// The language that an ending says: of 2 or 3 letters; NULL: none.
static const char *language_of(const char *name) {
  const char *dot = strrchr(name, '.');
  size_t n = dot ? strlen(dot + 1) : 0;
  for (size_t i = 0; i < n; i++)
    if (!islower((unsigned char)dot[1 + i])) return NULL;
  return dot > name && (n == 2 || n == 3) && strcmp(dot, ".txt") != 0 ? dot + 1 : NULL;
}

// Adds lines of both, which have as many. *good: they have.
static gr_status add_parallel(gr_arena *a, const char *path, const char *other, gr_text *out,
                              bool *good) {
  char *x, *y;
  size_t n, m;
  GR_TRY(read_text(a, path, &x, &n));
  GR_TRY(read_text(a, other, &y, &m));
  *good = strlen(x) == n && strlen(y) == m;  // they have no zero bytes
  while (*good && *x && *y) {
    size_t k = strcspn(x, "\r\n"), l = strcspn(y, "\r\n");
    if (k && l) put_pair(out, gr_arena_strndup(a, x, k), gr_arena_strndup(a, y, l));
    x += k, x += *x == '\r', x += *x == '\n';
    y += l, y += *y == '\r', y += *y == '\n';
  }
  *good = *good && !*x && !*y && out->len;
  return GR_OK;
}

// The file beside it that has another language.
static const char *beside(gr_arena *a, const char *dir, const gr_names *all, const char *name) {
  size_t stem = (size_t)(strrchr(name, '.') - name) + 1;
  for (int i = 0; i < all->n; i++)
    if (language_of(all->items[i]) && strcmp(all->items[i], name) != 0 &&
        !strncmp(all->items[i], name, stem) && !strchr(all->items[i] + stem, '.'))
      return gr_arena_printf(a, "%s/%s", dir, all->items[i]);
  return NULL;
}

// Adds the pairs of the files of a use in the folder, of the language that is read.
static gr_status add_uses(gr_arena *a, const char *dir, const gr_names *all, const char *language,
                          gr_table_use use, gr_text *out, bool *good) {
  *good = false;
  for (int i = 0; i < all->n; i++) {
    const char *name = all->items[i], *of = language_of(name), *other;
    if (!of || strcmp(of, language) != 0 || gr_file_list_use(name) != use) continue;
    if (!(other = beside(a, dir, all, name))) continue;
    GR_TRY(add_parallel(a, gr_arena_printf(a, "%s/%s", dir, name), other, out, good));
    if (!*good) return GR_OK;
  }
  return GR_OK;
}

gr_status gr_new_find_parallel(gr_new_own *o, const char *path, bool *found) {
  gr_arena *a = o->arena;
  gr_names all;
  bool good = false, is_dir = gr_is_dir(path);
  const char *dir = is_dir ? path : gr_arena_strndup(a, path, (size_t)(strrchr(path, '/') - path));
  const char *language = is_dir ? NULL : language_of(strrchr(path, '/') + 1), *file;
  gr_text lines = gr_text_make(a), validation = gr_text_make(a);
  *found = false;
  GR_TRY(gr_file_list_folder(a, dir, &all));
  for (int i = 0; i < all.n && is_dir && !language; i++)
    if (language_of(all.items[i]) && beside(a, dir, &all, all.items[i]))
      language = language_of(all.items[i]);
  if (!language) return GR_OK;
  GR_TRY(add_uses(a, dir, &all, language, GR_TABLE_TRAINS, &lines, found));
  if (!*found) GR_TRY(add_uses(a, dir, &all, language, GR_TABLE_ANY, &lines, found));
  if (!*found) return GR_OK;
  gr_text_printf(&o->said, "read: texts that end in .%s%s\n", language,
                 is_dir ? "; --from=FILE of the other ones reads these" : "");
  GR_TRY(make_pairs(o, &lines));
  GR_TRY(add_uses(a, dir, &all, language, GR_TABLE_VALIDATES, &validation, &good));
  if (!good) GR_TRY(add_uses(a, dir, &all, language, GR_TABLE_OTHER, &validation, &good));
  if (!good) return GR_OK;
  GR_TRY(put_file(o, "validation.jsonl", &validation, &file));
  return gr_new_set_evaluation(o, "path", file), GR_OK;
}

// ---- One text -----------------------------------------------------------------------------------

static gr_status add_texts(const gr_names *files, gr_table_use use, gr_text *out) {
  for (int i = 0; i < files->n; i++) {
    char *text;
    size_t n;
    const char *path = files->items[i];
    bool is_text = gr_ends_in(path, ".txt") || gr_ends_in(path, ".md");
    if (!is_text || gr_file_list_use(strrchr(path, '/')) != use) continue;
    gr_arena *scratch = gr_arena_create();
    gr_status s = read_text(scratch, path, &text, &n);
    if (!s) gr_text_printf(out, "%s%s", text, n && text[n - 1] == '\n' ? "" : "\n");
    GR_TRY(gr_arena_end(scratch, s));
    if (out->len > MAX_TEXT)
      return gr_hint(
          gr_fail(GR_ERR_USAGE, GR_NOWHERE, "the texts have more than %d MB", MAX_TEXT >> 20),
          "make one file of them, and give that: cat FOLDER/*.txt >data.txt");
  }
  return GR_OK;
}

gr_status gr_new_find_corpus(gr_new_own *o, const char *dir, bool *found) {
  gr_names files;
  const char *file;
  int n = 0;
  gr_text train = gr_text_make(o->arena), other = gr_text_make(o->arena);
  GR_TRY(gr_file_list_tree(o->arena, dir, &files));
  for (int i = 0; i < files.n; i++)
    n += gr_ends_in(files.items[i], ".txt") || gr_ends_in(files.items[i], ".md");
  *found = 2 * n > files.n;
  if (!*found) return GR_OK;
  GR_TRY(add_texts(&files, GR_TABLE_TRAINS, &train));
  if (train.len) GR_TRY(add_texts(&files, GR_TABLE_VALIDATES, &other));
  if (!train.len) GR_TRY(add_texts(&files, GR_TABLE_ANY, &train));
  *found = train.len > 0;
  if (!*found) return GR_OK;
  gr_text_printf(&o->said, "%d files, as one text of %zu bytes\n", n, train.len);
  GR_TRY(make_text(o, &train));
  if (!other.len) return GR_OK;
  GR_TRY(put_file(o, "validation.txt", &other, &file));
  return gr_new_set_evaluation(o, "path", file), GR_OK;
}
