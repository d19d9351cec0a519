// test_trace.c - traces are valid JSON whatever names there are, with every span in its lane; one
// that cannot be written is an error.
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"
#include "base/json.h"
#include "runtime/exec/trace.h"
#include "tests/check.h"

static char path[] = "/tmp/graphrun-trace-XXXXXX";

static void put_args(gr_text *t, const void *what) {
  gr_text_printf(t, "\"n\":%d", *(const int *)what);
}

static const gr_json *read_back(gr_arena *arena) {
  char *text = NULL;
  size_t len = 0;
  FILE *f = fopen(path, "r");
  CHECK(f && getdelim(&text, &len, 0, f) > 0, "no trace");
  const gr_json *all = NULL;
  gr_json_error why = {0};
  bool read = gr_json_read(arena, text, strlen(text), &all, &why);
  CHECK(read, "line %d: %s, found %s", why.line, why.why, why.found);
  if (f) fclose(f);
  free(text);
  return all;
}

static const gr_json *span_of(const gr_json *events, const char *name) {
  for (const gr_json *e = events->first; e; e = e->next) {
    const gr_json *ph = gr_json_get(e, "ph", GR_JSON_TEXT),
                  *n = gr_json_get(e, "name", GR_JSON_TEXT);
    if (ph && !strcmp(ph->text, "X") && n && !strcmp(n->text, name)) return e;
  }
  return NULL;
}

static void spans(void) {
  enum { MANY = 10000 };
  static const char odd[] = "a \"quoted\" \\ name\n\x01\xff";
  int n = 7;
  gr_trace *t;
  MUST(gr_trace_open("/", path + 1, 3, &t));
  double start = gr_trace_now();
  gr_trace_add(t, GR_TRACE_COMPUTE, "matmul", put_args, &n, start);
  gr_trace_add(t, GR_TRACE_HOOKS, odd, NULL, NULL, start);
  for (int i = 0; i < MANY; i++) gr_trace_add(t, GR_TRACE_DATA, "wait", NULL, NULL, start);
  MUST(gr_trace_close(t));
  gr_arena *arena = gr_arena_create();
  const gr_json *all = read_back(arena);
  const gr_json *events = all ? gr_json_get(all, "traceEvents", GR_JSON_ARRAY) : NULL;
  CHECK(events && events->n == MANY + 2 + 1 + 2 * 3, "%d events", events ? events->n : -1);
  const gr_json *m = events ? span_of(events, "matmul") : NULL;
  CHECK(m && gr_json_get(m, "tid", GR_JSON_INT)->i == GR_TRACE_COMPUTE, "no matmul in its lane");
  CHECK(m && gr_json_get(m, "pid", GR_JSON_INT)->i == 3, "of another rank");
  CHECK(m && gr_json_get(gr_json_get(m, "args", GR_JSON_OBJECT), "n", GR_JSON_INT)->i == 7, "args");
  CHECK(m && gr_json_get(m, "dur", GR_JSON_FLOAT)->f >= 0, "it ends before it begins");
  gr_arena_destroy(arena);
}

static void not_written(void) {
  gr_trace *t;
  MUST(gr_trace_open("/nowhere", "trace.json", 0, &t));
  gr_status s = gr_trace_close(t);
  CHECK(gr_status_code(s) == GR_ERR_IO && strstr(gr_status_text(s), "/nowhere/trace.json"),
        "no error");
  gr_status_drop(s);
  MUST(gr_trace_close(NULL));
}

int main(int argc, char **argv) {
  int fd = mkstemp(path);
  if (fd < 0) return 1;
  close(fd);
  int failed = RUN(argc, argv, {"spans", spans}, {"not_written", not_written});
  unlink(path);
  return failed;
}
