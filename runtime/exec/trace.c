// trace.c - see trace.h.
#include "runtime/exec/trace.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/output.h"
#include "base/port.h"

typedef struct span {
  gr_trace_lane lane;
  const char *name;
  gr_trace_args args;
  const void *what;
  int64_t began, lasts;  // in nanoseconds
} span;

struct gr_trace {
  char *dir, *name;
  int rank;
  span *spans;
  size_t n, room, left_out;
  bool used[GR_TRACE_LANES];
  int64_t base;  // in seconds
};

static const char *const lanes[GR_TRACE_LANES] = {
    [GR_TRACE_STEPS] = "steps",
    [GR_TRACE_DATA] = "data",
    [GR_TRACE_COPIES] = "copies",
    [GR_TRACE_COMPUTE] = "compute",
    [GR_TRACE_COMMUNICATION] = "communication",
    [GR_TRACE_HOOKS] = "hooks",
    [GR_TRACE_CHECKPOINTS] = "checkpoints",
    [GR_TRACE_GPU] = "GPU: compute",
    [GR_TRACE_GPU_COPIES] = "GPU: uploads and downloads",
    [GR_TRACE_GPU_GATHERS] = "GPU: collectives that gather",
    [GR_TRACE_GPU_SUMS] = "GPU: collectives that sum",
};

static void release(gr_trace *t) {
  if (t) free(t->dir), free(t->name), free(t->spans);
  free(t);
}

gr_status gr_trace_open(const char *dir, const char *name, int rank, gr_trace **out) {
  *out = calloc(1, sizeof **out);
  if (*out) (*out)->dir = strdup(dir), (*out)->name = strdup(name), (*out)->rank = rank;
  if (*out) (*out)->base = (int64_t)gr_wall_seconds() & ~(int64_t)4194303;
  if (*out && (*out)->dir && (*out)->name) return GR_OK;
  release(*out);
  *out = NULL;
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a trace");
}

double gr_trace_now(void) { return gr_wall_seconds(); }

void gr_trace_add(gr_trace *t, gr_trace_lane lane, const char *name, gr_trace_args args,
                  const void *what, double began) {
  double lasts = gr_trace_now() - began;
  gr_trace_put(t, lane, name, args, what, (int64_t)(1e9 * began), (int64_t)(1e9 * lasts));
}

void gr_trace_put(gr_trace *t, gr_trace_lane lane, const char *name, gr_trace_args args,
                  const void *what, int64_t began, int64_t lasts) {
  if (t->n == t->room) {
    size_t room = t->room ? 2 * t->room : 4096;
    span *more = realloc(t->spans, room * sizeof *more);
    if (!more) {
      t->left_out++;
      return;
    }
    t->spans = more, t->room = room;
  }
  t->used[lane] = true;
  t->spans[t->n++] = (span){lane, name, args, what, began, lasts};
}

// ---- The file -----------------------------------------------------------------------------------

static void put_metadata(FILE *f, const gr_trace *t) {
  fprintf(f, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"rank %d\"}}",
          t->rank, t->rank);
  for (int lane = 0; lane < GR_TRACE_LANES; lane++) {
    if (!t->used[lane]) continue;
    fprintf(f,
            ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,"
            "\"args\":{\"name\":\"%s\"}},\n{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":%d,"
            "\"tid\":%d,\"args\":{\"sort_index\":%d}}",
            t->rank, lane, lanes[lane], t->rank, lane, lane);
  }
}

static void put_span(FILE *f, gr_arena *arena, const gr_trace *t, const span *s) {
  gr_text text = gr_text_make(arena);
  gr_text_put(&text, ",\n{\"name\":");
  gr_text_json(&text, s->name);
  gr_text_printf(&text, ",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f", t->rank,
                 s->lane, 1e-3 * (double)(s->began - t->base * 1000000000),
                 1e-3 * (double)s->lasts);
  if (s->args) {
    gr_text_put(&text, ",\"args\":{");
    s->args(&text, s->what);
    gr_text_put(&text, "}");
  }
  gr_text_put(&text, "}");
  fputs(text.chars, f);
}

static void put_all(FILE *f, const gr_trace *t) {
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", f);
  put_metadata(f, t);
  for (size_t i = 0; i < t->n; i++) {
    gr_arena *arena = gr_arena_create();
    put_span(f, arena, t, &t->spans[i]);
    gr_arena_destroy(arena);
  }
  fprintf(f, "\n],\"otherData\":{\"spans_left_out\":%zu,\"base_time_seconds\":%" PRId64 "}}\n",
          t->left_out, t->base);
}

gr_status gr_trace_close(gr_trace *t) {
  if (!t) return GR_OK;
  gr_output *out;
  gr_status s = gr_output_open(t->dir, t->name, &out);
  if (out) put_all(gr_output_stream(out), t);
  s = gr_output_close(out, s);
  release(t);
  return s;
}
