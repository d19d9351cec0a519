// status.h - errors that are addressed to someone.
//
// A function that can fail returns gr_status. NULL is success, so `if (s)` reads "if it
// failed". An error knows what broke, where in the *user's* files it broke (gr_loc), what to
// do about it (a hint), and which line of our C code noticed.
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// A place in a user's file. Every IR node and config value carries one, so an error found
// five passes later, or on rank 3 at step 900, still names the YAML line.
typedef struct gr_loc {
  const char *file;  // NULL when there is no such place; lives as long as the error may
  int line, col;     // 1-based
} gr_loc;
#define GR_NOWHERE ((gr_loc){0})

typedef enum gr_code {
  GR_ERR_USAGE = 1,    // the command line cannot be understood
  GR_ERR_CONFIG,       // the user's YAML, model or overrides are wrong
  GR_ERR_TYPE,         // shapes, dtypes or layouts do not fit
  GR_ERR_UNSUPPORTED,  // right, but no kernel / gradient / rule for it
  GR_ERR_DATA,         // a data set, recording or transcript is missing or not what it says
  GR_ERR_LAUNCH,       // ranks, devices or the launcher could not be brought up
  GR_ERR_HOOK,         // a Lua script failed
  GR_ERR_RANK,         // another rank died
  GR_ERR_HANG,         // a collective did not end in time
  GR_ERR_IO,           // files, disks
  GR_ERR_STOPPED,      // asked to stop (signal); the state is saved
  GR_ERR_NONFINITE,    // the loss is no longer a number
  GR_ERR_CHECKPOINT,   // a checkpoint is damaged or does not fit
  GR_ERR_BUG,          // an invariant of ours is broken: please report
  GR_CODE_COUNT,
} gr_code;

typedef struct gr_error *gr_status;
#define GR_OK ((gr_status)0)

#define GR_MUST_USE __attribute__((warn_unused_result))
#define GR_PRINTF(f, a) __attribute__((format(printf, f, a)))

GR_MUST_USE gr_status gr_fail_(const char *cfile, int cline, gr_code, gr_loc, const char *fmt, ...)
    GR_PRINTF(5, 6);
#define gr_fail(code, loc, ...) gr_fail_(__FILE__, __LINE__, code, loc, __VA_ARGS__)

// Adds one line of context ("while sharding 'h.3.fc'"); passes GR_OK through.
GR_MUST_USE gr_status gr_note(gr_status, gr_loc, const char *fmt, ...) GR_PRINTF(3, 4);
// Says what to do ("hint: ..."); passes GR_OK through.
GR_MUST_USE gr_status gr_hint(gr_status, const char *fmt, ...) GR_PRINTF(2, 3);
// Which of its settings an error of a library is about, such as "features.window"; several,
// separated by blanks, where one or another can be changed. Whoever has read the settings knows
// their places, and gives the error one. A literal; passes GR_OK through.
GR_MUST_USE gr_status gr_about(gr_status, const char *settings);
// Gives errors that have no place this one; passes GR_OK through.
GR_MUST_USE gr_status gr_place(gr_status, gr_loc);
// GR_OK, or GR_ERR_CONFIG about the setting where the value is not within [least, most].
GR_MUST_USE gr_status gr_range(const char *setting, int64_t value, int64_t least, int64_t most);
// Both errors as one (config collects up to 20); either may be GR_OK. Takes both over.
GR_MUST_USE gr_status gr_also(gr_status first, gr_status then);
int gr_status_count(gr_status);  // how many were joined; 0 for GR_OK

#define GR_TRY(expr)         \
  do {                       \
    gr_status try_ = (expr); \
    if (try_) return try_;   \
  } while (0)

// Prints "file:line:col: error: text", the source line with a caret where the file can be
// read, notes and hint. For bugs also the line of C.
void gr_status_print(FILE *, gr_status);
const char *gr_status_text(gr_status);  // the first message alone, without place and notes
const char *gr_status_hint(gr_status);  // or NULL
gr_code gr_status_code(gr_status);      // of the first; 0 for GR_OK
gr_loc gr_status_loc(gr_status);
const char *gr_status_about(gr_status);  // or NULL
int gr_status_exit(gr_status);           // the process's exit code (see code table in status.c)
void gr_status_drop(gr_status);          // frees; a status is dropped exactly once

// Makes text known under a file name that is not on disk (built-in blocks, command-line
// arguments), so that errors can show the line. Text and name are borrowed forever. Call
// before threads start.
void gr_source_add(const char *file, const char *text);
