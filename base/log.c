// log.c - see log.h.
#include "base/log.h"
#include <pthread.h>

static struct {
  gr_level least;
  int rank, ranks;
  FILE *copy;
  char progress[256];  // the line in place, or ""
  pthread_mutex_t lock;
} state = {.least = GR_INFO, .ranks = 1, .lock = PTHREAD_MUTEX_INITIALIZER};

void gr_log_open(gr_level least, int rank, int ranks) {
  state.least = least, state.rank = rank, state.ranks = ranks;
}

void gr_log_copy_to(FILE *f) {
  pthread_mutex_lock(&state.lock);
  state.copy = f;
  pthread_mutex_unlock(&state.lock);
}

void gr_log_progress(const char *line) {
  pthread_mutex_lock(&state.lock);
  if (!line && *state.progress) fputc('\n', stderr);
  snprintf(state.progress, sizeof state.progress, "%s", line ? line : "");
  if (line) fprintf(stderr, "\r%s\033[K", state.progress);
  fflush(stderr);
  pthread_mutex_unlock(&state.lock);
}

int gr_log_rank(void) { return state.rank; }

static void write_line(FILE *f, gr_level level, const char *text) {
  static const char *const mark[] = {"", "warning: ", "error: "};
  if (state.ranks > 1)
    fprintf(f, "[rank %d] %s%s\n", state.rank, mark[level], text);
  else
    fprintf(f, "%s%s\n", mark[level], text);
  fflush(f);
}

void gr_log(gr_level level, const char *fmt, ...) {
  if (level < state.least || (level < GR_WARN && state.rank)) return;
  char text[2048];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  pthread_mutex_lock(&state.lock);
  if (*state.progress) fputs("\r\033[K", stderr);
  write_line(stderr, level, text);
  if (*state.progress) fputs(state.progress, stderr), fflush(stderr);
  if (state.copy) write_line(state.copy, level, text);
  pthread_mutex_unlock(&state.lock);
}
