// log.h - lines for people, on standard error. Results go to files and standard output.
//
// info: what is being done, once. warn: it goes on, but not as asked.
// error: the run ends. Ranks other than 0 say only warn and error, with their number.
#pragma once
#include "base/status.h"

typedef enum gr_level { GR_INFO, GR_WARN, GR_ERROR } gr_level;
void gr_log_open(gr_level least, int rank, int ranks);
void gr_log_copy_to(FILE *);  // also write every line there (the run's log file); NULL: stop
void gr_log(gr_level, const char *fmt, ...) GR_PRINTF(2, 3);
// Keeps one line in place at the bottom of the terminal, below all others; NULL ends it. Only
// where standard error is one.
void gr_log_progress(const char *line);
int gr_log_rank(void);
