// folder.c - see folder.h.
#include "runtime/page/folder.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "base/file.h"
#include "base/port.h"

enum { MAX_JSON = 256 << 20, MAX_TEXT = 16 << 20, LOG_BYTES = 12000 };

// ---- How it ended ---------------------------------------------------------------------------

// A run holds a lock on its folder while it lasts.
static bool is_running(gr_arena *a, const char *path) {
  int fd = open(gr_arena_printf(a, "%s/.run.lock", path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB);
  if (fd >= 0) close(fd);
  return held;
}

bool gr_folder_is_run(gr_arena *a, const char *path) {
  static const char *const files[] = {".hydra/config.yaml", "metrics.jsonl", "epochs.jsonl"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (gr_is_file(gr_arena_printf(a, "%s/%s", path, files[i]))) return true;
  return false;
}

// An object of a file; NULL: there is none. *why: the problem, if the file is there.
static const gr_json *read_object(gr_arena *a, const char *path, const char *name,
                                  const char **why) {
  const char *file = gr_arena_printf(a, "%s/%s", path, name);
  const gr_json *root = NULL;
  gr_json_error e = {.why = "expected an object"};
  char *text = NULL;
  size_t len = 0;
  *why = NULL;
  if (!gr_is_file(file)) return NULL;
  gr_status s = gr_file_read(a, file, MAX_JSON, &text, &len);
  if (!s && gr_json_read(a, text, len, &root, &e) && root->kind == GR_JSON_OBJECT) return root;
  *why = gr_arena_printf(a, "%s: %s", name, s ? gr_status_text(s) : e.why);
  gr_status_drop(s);
  return NULL;
}

static const char *status_of(const gr_json *results, bool running, const char *why) {
  const gr_json *ended = results ? gr_json_get(results, "ended", GR_JSON_TEXT) : NULL;
  if (running) return "running";
  if (ended) return ended->text;
  return results || why ? "unreadable results" : "unfinished";
}

const char *gr_folder_status(gr_arena *a, const char *path, int64_t *ranks) {
  const char *why = NULL;
  bool running = is_running(a, path);
  const gr_json *results = running ? NULL : read_object(a, path, "training_results.json", &why);
  const gr_json *of = gr_json_get(results, "ranks", GR_JSON_INT);
  *ranks = of ? of->i : 0;
  return status_of(results, running, why);
}

// ---- Reading --------------------------------------------------------------------------------

static const gr_json *read_into(gr_folder *f, const char *name) {
  const char *why;
  const gr_json *root = read_object(f->arena, f->path, name, &why);
  if (why) gr_text_printf(&f->problems, "%s\n", why);
  return root;
}

// The last two parts, which the folder's date and time are.
static const char *name_of(gr_arena *a, const char *path) {
  char *whole = realpath(path, NULL);
  const char *begin = whole ? whole : path, *part = begin + strlen(begin);
  for (int parts = 0; part > begin && parts < 2; parts += *part == '/') part--;
  const char *name = gr_arena_strdup(a, *part == '/' ? part + 1 : part);
  free(whole);
  return name;
}

// The last line of evals.jsonl; NULL: there is none.
static const gr_json *last_evaluation(gr_folder *f) {
  const gr_json *row = NULL;
  gr_json_error e;
  char *text = NULL;
  size_t n = 0;
  const char *path = gr_arena_printf(f->arena, "%s/evals.jsonl", f->path);
  if (!gr_is_file(path)) return NULL;
  gr_status s = gr_file_read(f->arena, path, MAX_JSON, &text, &n);
  if (s) {  // gr_series_read says why
    gr_status_drop(s);
    return NULL;
  }
  while (n && text[n - 1] != '\n') n--;  // one that is being written
  size_t end = n ? n - 1 : 0, begin = end;
  while (begin && text[begin - 1] != '\n') begin--;
  bool read = gr_json_read(f->arena, text + begin, end - begin, &row, &e);
  return read && row->kind == GR_JSON_OBJECT ? row : NULL;
}

// The end of run.log, from the beginning of a line.
static void read_log(gr_folder *f) {
  FILE *in;
  const char *path = gr_arena_printf(f->arena, "%s/run.log", f->path);
  if (!gr_is_file(path)) return;
  gr_status s = gr_file_stream(path, GR_ERR_IO, &in);
  if (s) {
    gr_status_drop(s);
    return;
  }
  char *text = gr_arena_alloc(f->arena, LOG_BYTES + 1);
  bool cut = !fseek(in, -(long)LOG_BYTES, SEEK_END);
  if (!cut) rewind(in);
  text[fread(text, 1, LOG_BYTES, in)] = 0;
  fclose(in);
  char *line = cut ? strchr(text, '\n') : NULL;
  f->log = line ? line + 1 : text;
}

// A file of text; NULL: there is none.
static const char *read_text(gr_folder *f, const char *name) {
  char *text = NULL;
  const char *path = gr_arena_printf(f->arena, "%s/%s", f->path, name);
  if (!gr_is_file(path)) return NULL;
  gr_status s = gr_file_read(f->arena, path, MAX_TEXT, &text, NULL);
  if (s) gr_text_printf(&f->problems, "%s: %s\n", name, gr_status_text(s));
  gr_status_drop(s);
  return text;
}

void gr_folder_read(gr_arena *a, const char *path, bool ended, gr_folder *f) {
  *f = (gr_folder){.arena = a, .path = path, .problems = gr_text_make(a)};
  bool running = !ended && is_running(a, path);
  f->name = name_of(a, path);
  f->results = read_into(f, "training_results.json");
  f->status = status_of(f->results, running, NULL);
  f->about = read_into(f, "about.json");
  f->plan = read_into(f, "plan.json");
  f->data = read_into(f, "data.json");
  gr_status s = gr_series_read(a, path, &f->series);
  if (s && gr_status_loc(s).file) gr_text_printf(&f->problems, "%s\n", gr_status_text(s));
  gr_status_drop(s);
  f->tables = gr_json_get(f->results, "tables", GR_JSON_OBJECT);
  if (!f->tables || !f->tables->n) f->tables = last_evaluation(f);
  read_log(f);
  f->samples = read_text(f, "samples.jsonl");
  f->mistakes = read_text(f, "mistakes.jsonl");
  f->picture = read_text(f, "plan.svg");
}
