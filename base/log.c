// log.c - log lines, their copy in a file, and the progress line (log.h).
#include "base/log.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/text.h"

static struct {
  gr_level least;
  int rank, ranks;
  bool all_ranks;
  FILE *copy;
  gr_progress_line progress;  // shown: there is one
  bool shown;
  int terminal;  // as given to gr_log_terminal, plus 1
  pthread_mutex_t lock;
} state = {.least = GR_INFO, .ranks = 1, .lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct { int rank, ranks; } thread;  // ranks is 0: the process's

gr_level gr_log_least(gr_level least) {
  gr_level previous = state.least;
  state.least = least;
  return previous;
}

void gr_log_open(gr_level least, int rank, int ranks) {
  assert(ranks >= 1 && rank >= 0 && rank < ranks);
  state.least = least, state.rank = rank, state.ranks = ranks;
}

void gr_log_all_ranks(void) { state.all_ranks = true; }

void gr_log_as_rank(int rank, int ranks) { thread.rank = rank, thread.ranks = ranks; }

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

static int terminal(void) { return state.terminal ? state.terminal - 1 : STDERR_FILENO; }

static void put_progress(void) {
  char line[GR_PROGRESS_LINE];
  if (!state.shown) return;
  gr_terminal look = gr_terminal_look(terminal());
  gr_progress_line_draw(&state.progress, &look, line);
  fprintf(stderr, "\r%s\033[K", line);
}

// Must precede any other output to the terminal.
static void clear_progress(void) {
  if (state.shown) fputs("\r\033[K", stderr), fflush(stderr);
}

void gr_log_progress(const gr_progress_line *line) {
  pthread_mutex_lock(&state.lock);
  if (!line) clear_progress();
  state.shown = line != NULL;
  if (line) state.progress = *line;
  put_progress();
  fflush(stderr);
  pthread_mutex_unlock(&state.lock);
}

int gr_log_rank(void) { return state.rank; }

// A result has no rank before it: it is of all.
static void write_line(FILE *f, gr_level level, bool result, const char *text) {
  static const char *const mark[] = {"", "warning: ", "error: "};
  int rank = thread.ranks ? thread.rank : state.rank;
  int ranks = thread.ranks ? thread.ranks : state.ranks;
  if (ranks > 1 && (level > GR_INFO || (state.all_ranks && !result)))
    fprintf(f, "[rank %d] ", rank);
  fputs(mark[level], f);
  gr_print_line(f, text, strlen(text));
  fputc('\n', f);
  fflush(f);
}

// Breaks a line between words; the parts after the first are indented.
static void write_broken(FILE *f, const char *line, int columns) {
  enum { INDENT = 2 };
  for (bool first = true; *line; first = false) {
    if (!first) fprintf(f, "%*s", INDENT, "");
    size_t n = gr_text_fit(line, columns - (first ? 0 : INDENT));
    fprintf(f, "%.*s\n", (int)n, line);
    for (line += n; *line == ' ';) line++;
  }
}

// Writes a line to standard error at once, since other ranks may write there, too. One of a rank
// other than 0 overwrites the progress line of rank 0, which is drawn again with its next step.
static void write_error(gr_level level, const char *text) {
  bool live = state.terminal || gr_terminal_is_live(STDERR_FILENO);
  char *line = NULL, *all = NULL;
  size_t n = 0;
  FILE *whole = open_memstream(&line, &n);
  if (!whole) return write_line(stderr, level, false, text);
  write_line(whole, level, false, text);
  fclose(whole);
  char *end = line + n - 1;
  FILE *broken = live ? open_memstream(&all, &n) : NULL;
  if (broken) {
    *end = 0;
    if (state.terminal && state.rank) fputs("\r\033[K", broken);
    write_broken(broken, line, gr_terminal_look(terminal()).columns);
    fclose(broken);
  }
  fputs(all ? all : line, stderr);
  free(line), free(all);
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
  if (to == stderr)
    write_error(level, text);
  else
    write_line(to, level, true, text);
  put_progress();
  fflush(stderr);
  if (state.copy && level >= state.least) write_line(state.copy, level, to != stderr, text);
  pthread_mutex_unlock(&state.lock);
  free(heap);
}

void gr_log(gr_level level, const char *fmt, ...) {
  assert(fmt);
  if (level < state.least || (level < GR_WARN && state.rank && !state.all_ranks)) return;
  va_list ap;
  va_start(ap, fmt);
  write_formatted(stderr, level, fmt, ap);
  va_end(ap);
}

void gr_log_lines(gr_level level, char *text) {
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
    gr_log(level, "%s", line);
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
