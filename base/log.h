// log.h - human-readable log lines, on standard error. Results go to files and standard output.
//
// A message is always one line: text from user files is escaped (gr_print_line).
//
// info: progress, logged once. warn: the run continues, but not as configured. error: the run
// ends. Ranks other than 0 log only warnings and errors, unless gr_log_all_ranks has been called.
// With several ranks, warnings and errors start with the rank; info lines of rank 0 speak for the
// whole run. On a terminal a long line is broken between words.
//
// The log is one per process and safe from any thread, except gr_log_open.
#pragma once
#include "base/progress_line.h"

typedef enum gr_level { GR_INFO, GR_WARN, GR_ERROR } gr_level;
// Sets the lowest level that is logged, and this process's rank. Call before threads start.
void gr_log_open(gr_level least, int rank, int ranks);
// Sets the lowest level alone, for work that is done again and has said all before; the one that
// was set. Call before threads start.
gr_level gr_log_least(gr_level);
// From now on every rank logs what it logs, and each line starts with its rank. Call before threads
// start.
void gr_log_all_ranks(void);
// The calling thread is this rank of so many, where ranks are threads of one process.
void gr_log_as_rank(int rank, int ranks);
// Also writes every line to this stream (the run's log file); NULL stops it. The stream is
// borrowed.
void gr_log_copy_to(FILE *);
// Logs one line; the line end is added.
void gr_log(gr_level, const char *fmt, ...) GR_PRINTF(2, 3);
// Logs each line of a text, which it changes.
void gr_log_lines(gr_level, char *text);
// Prints a result: one line on standard output whatever the level, and as info in the copy.
void gr_log_result(const char *fmt, ...) GR_PRINTF(1, 2);
// Writes the error that ends a run to the copy only: the caller prints it on standard error after
// everything else is closed. Borrows the status.
void gr_log_end(gr_status);
// Keeps one progress line at the bottom of the terminal, below all log lines; NULL removes it. It
// is copied, and drawn again for the terminal's width whenever something is printed. Call only if
// standard error reaches a terminal, which may be another process's.
void gr_log_progress(const gr_progress_line *);
// The terminal that shows standard error, if that is a pipe to another process: its width counts.
// Borrowed; -1: standard error itself.
void gr_log_terminal(int fd);
int gr_log_rank(void);  // as given to gr_log_open
