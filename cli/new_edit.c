// new_edit.c - see new_edit.h.
#include "cli/new_edit.h"
#include <string.h>

// The line of the first key of that name, at any depth; NULL: there is none.
static const char *find_key(const char *yaml, const char *key) {
  size_t n = strlen(key);
  for (const char *line = yaml; line; line = strchr(line, '\n')) {
    line += *line == '\n';
    const char *word = line + strspn(line, " ");
    if (!strncmp(word, key, n) && word[n] == ':') return line;
  }
  return NULL;
}

void gr_new_set(gr_new_own *o, const char *key, const char *value) {
  const char *line = find_key(o->config, key);
  if (!line) return;
  const char *colon = strchr(line, ':'), *end = line + strcspn(line, "\n#");
  int room = (int)(end - colon - 2 - (ptrdiff_t)strlen(value));  // to where the comment stood
  o->config = gr_arena_printf(o->arena, "%.*s: %s%*s%s", (int)(colon - o->config), o->config, value,
                              *end != '#' ? 0
                              : room > 0  ? room
                                          : 3,
                              "", end);
}

void gr_new_add(gr_new_own *o, const char *after, const char *line) {
  const char *anchor = find_key(o->config, after);
  if (!anchor) return;
  const char *end = anchor + strcspn(anchor, "\n");
  o->config = gr_arena_printf(o->arena, "%.*s\n%.*s%s%s", (int)(end - o->config), o->config,
                              (int)strspn(anchor, " "), anchor, line, end);
}

void gr_new_drop(gr_new_own *o, const char *key) {
  const char *line = find_key(o->config, key);
  if (!line) return;
  const char *end = line + strcspn(line, "\n");
  o->config =
      gr_arena_printf(o->arena, "%.*s%s", (int)(line - o->config), o->config, *end ? end + 1 : end);
}

// `text` without what is from the first `begin` to the next `end`, which stays; to the end where
// end is NULL.
static const char *without(gr_arena *a, const char *text, const char *begin, const char *end) {
  const char *first = strstr(text, begin), *rest = first && end ? strstr(first, end) : NULL;
  return first ? gr_arena_printf(a, "%.*s%s", (int)(first - text), text, rest ? rest : "") : text;
}

// The nodes that count are the last ones, and the report of their sums ends the file.
void gr_new_set_classes(gr_new_own *o, uint32_t classes) {
  enum { MOST = 1000 };
  if (classes <= MOST) return;
  o->graph = without(o->arena, o->kind->texts[1], "  - counts:", "train:");
  o->graph = without(o->arena, o->graph, "sums:", NULL);
  const char *metric = strstr(o->config, "f1_macro");
  if (metric)
    o->config = gr_arena_printf(o->arena, "%.*saccuracy%s", (int)(metric - o->config), o->config,
                                metric + strlen("f1_macro"));
  gr_text_printf(&o->said, "no confusion matrix and no F1: it would have %.1f million counts\n",
                 (double)classes * classes / 1e6);
}

const char *gr_new_quoted(gr_new_own *o, const char *text) {
  gr_text t = gr_text_make(o->arena);
  gr_text_json(&t, text);
  return t.chars;
}

void gr_new_name(gr_new_own *o, const char *key, const char *text) {
  gr_new_set(o, key, gr_new_quoted(o, text));
}

const char *gr_new_file(const gr_new_own *o, const char *key) {
  const char *line = find_key(o->config, key);
  const char *quote = line ? strchr(line, '"') : NULL,
             *end = line + (line ? strcspn(line, "\n") : 0);
  if (!quote || quote > end || quote[1] == '/') return NULL;
  return gr_arena_strndup(o->arena, quote + 1, strcspn(quote + 1, "\""));
}

static const char *in_project(const gr_new_own *o, const char *path) {
  size_t n = strlen(o->dir);
  return !strncmp(path, o->dir, n) && path[n] == '/' ? path + n + 1 : path;
}

gr_loc gr_new_place(const gr_new_own *o, gr_loc loc) {
  for (int i = 0; loc.file && i < GR_NEW_LISTS && o->lists[i].name; i++) {
    const gr_new_lines *l = &o->lists[i];
    if (!strcmp(in_project(o, loc.file), l->name) && loc.line > 0 && loc.line <= l->n)
      return (gr_loc){l->source, l->line[loc.line - 1], 1};
  }
  return loc;
}

void gr_new_put_cell(gr_text *t, const char *before, const char *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  gr_text_put(t, before);
  if (!text[strspn(text, plain)]) {
    gr_text_put(t, text);
    return;
  }
  gr_text_put(t, "\"");
  for (; *text; text++) gr_text_printf(t, *text == '"' ? "\"%c" : "%c", *text);
  gr_text_put(t, "\"");
}

void gr_new_begin(gr_new_own *o, const char *kind, const char *key, const char *path) {
  for (o->kind = gr_new_kinds; strcmp(o->kind->name, kind) != 0;) o->kind++;
  o->config = o->kind->texts[0];  // as gr_new_names
  gr_new_name(o, key, in_project(o, path));
}

void gr_new_set_format(gr_new_own *o, const gr_csv *t) {
  const gr_csv_format *f = &t->format;
  char delimiter[2] = {f->delimiter, 0};
  if (t->typed) return;
  if (f->delimiter != ',')
    gr_new_add(
        o, "path",
        gr_arena_printf(o->arena, "delimiter: %s   # between cells", gr_new_quoted(o, delimiter)));
  if (!f->header)
    gr_new_add(o, "path", "header: false   # no line of names: columns are c0, c1, ...");
}

void gr_new_set_one_hot(gr_new_own *o, const gr_csv *t, int label) {
  gr_text names = gr_text_make(o->arena);
  for (int c = 0; c < t->n_columns; c++)
    if (c != label && gr_new_is_one_hot(t, c))
      gr_text_printf(&names, "%s%s", names.len ? ", " : "", gr_new_quoted(o, t->columns[c].name));
  if (names.len)
    gr_new_add(o, "label",
               gr_arena_printf(o->arena, "one_hot: [%s]   # each text of these is a feature",
                               names.chars));
}

void gr_new_set_evaluation(gr_new_own *o, const char *key, const char *path) {
  if (!path) return;
  gr_new_drop(o, "validation_fraction");
  gr_new_add(o, key,
             gr_arena_printf(o->arena, "eval_%s: %s   # validation", key,
                             gr_new_quoted(o, in_project(o, path))));
}
