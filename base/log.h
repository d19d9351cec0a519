// log.h - lines for people, on standard error. Results go to files and standard output.
//
// A line is one line: what a user's file says in it cannot do anything else (gr_print_line).
//
// info: what is being done, once. warn: it goes on, but not as asked.
// error: the run ends. Ranks other than 0 say only warn and error. Where there are several, a
// warning or an error names its rank; what rank 0 says else is of the whole run.
#pragma once
#include "base/status.h"

typedef enum gr_level { GR_INFO, GR_WARN, GR_ERROR } gr_level;
void gr_log_open(gr_level least, int rank, int ranks);
void gr_log_copy_to(FILE *);  // also write every line there (the run's log file); NULL: stop
void gr_log(gr_level, const char *fmt, ...) GR_PRINTF(2, 3);
// A result: a line on standard output, at every level, and as info in the copy.
void gr_log_result(const char *fmt, ...) GR_PRINTF(1, 2);
// The error that ends a run, in the copy alone: who called prints it when all else is closed.
void gr_log_end(gr_status);
// Keeps one line in place at the bottom of the terminal, below all others; NULL takes it away. Only
// where the user sees standard error on a terminal, which may be another process's.
void gr_log_progress(const char *line);
int gr_log_rank(void);
