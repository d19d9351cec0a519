// log.c - log lines, their copy in a file, and the progress line (log.h).
#include "base/log.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/text.h"

static struct {
  gr_level least;
  int rank, ranks;
  FILE *copy;
  char progress[256];  // "": none
  int terminal;        // as given to gr_log_terminal, plus 1
  pthread_mutex_t lock;
} state = {.least = GR_INFO, .ranks = 1, .lock = PTHREAD_MUTEX_INITIALIZER};

gr_level gr_log_least(gr_level least) {
  gr_level previous = state.least;
  state.least = least;
  return previous;
}

void gr_log_open(gr_level least, int rank, int ranks) {
  assert(ranks >= 1 && rank >= 0 && rank < ranks);
  state.least = least, state.rank = rank, state.ranks = ranks;
}

void gr_log_copy_to(FILE *f) {
  pthread_mutex_lock(&state.lock);
  state.copy = f;
  pthread_mutex_unlock(&state.lock);
}

void gr_log_terminal(int fd) {
  pthread_mutex_lock(&state.lock);
  state.terminal = fd + 1;
  pthread_mutex_unlock(&state.lock);
}

// Columns of the terminal; 80 if they are not known. The progress line is cut to this width: a
// line that wraps cannot be erased with one carriage return.
static int columns(void) {
  struct winsize size;
  int fd = state.terminal ? state.terminal - 1 : STDERR_FILENO;
  return ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

static void put_progress(void) {
  if (*state.progress) fprintf(stderr, "\r%.*s\033[K", columns() - 1, state.progress);
}

// Must precede any other output to the terminal.
static void clear_progress(void) {
  if (*state.progress) fputs("\r\033[K", stderr), fflush(stderr);
}

void gr_log_progress(const char *line) {
  pthread_mutex_lock(&state.lock);
  if (!line) clear_progress();
  snprintf(state.progress, sizeof state.progress, "%s", line ? line : "");
  put_progress();
  fflush(stderr);
  pthread_mutex_unlock(&state.lock);
}

int gr_log_rank(void) { return state.rank; }

static void write_line(FILE *f, gr_level level, const char *text) {
  static const char *const mark[] = {"", "warning: ", "error: "};
  if (state.ranks > 1 && level > GR_INFO) fprintf(f, "[rank %d] ", state.rank);
  fputs(mark[level], f);
  gr_print_line(f, text, strlen(text));
  fputc('\n', f);
  fflush(f);
}

// Writes one line to `to`, and to the copy if the level is logged. If memory for a long line is
// exhausted, the line is cut.
static void write_formatted(FILE *to, gr_level level, const char *fmt, va_list ap) {
  char fixed[1024], *text = fixed;
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(fixed, sizeof fixed, fmt, ap);
  char *heap = n < (int)sizeof fixed ? NULL : malloc((size_t)n + 1);
  if (heap) vsnprintf(text = heap, (size_t)n + 1, fmt, again);
  va_end(again);
  pthread_mutex_lock(&state.lock);
  clear_progress();
  write_line(to, level, text);
  put_progress();
  fflush(stderr);
  if (state.copy && level >= state.least) write_line(state.copy, level, text);
  pthread_mutex_unlock(&state.lock);
  free(heap);
}

void gr_log(gr_level level, const char *fmt, ...) {
  assert(fmt);
  if (level < state.least || (level < GR_WARN && state.rank)) return;
  va_list ap;
  va_start(ap, fmt);
  write_formatted(stderr, level, fmt, ap);
  va_end(ap);
}

void gr_log_result(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  write_formatted(stdout, GR_INFO, fmt, ap);
  va_end(ap);
}

void gr_log_end(gr_status s) {
  pthread_mutex_lock(&state.lock);
  if (s && state.copy) gr_status_print(state.copy, s), fflush(state.copy);
  pthread_mutex_unlock(&state.lock);
}
