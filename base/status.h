// status.h - error values with the user's file:line:col, a hint, and context notes.
//
// A function that can fail returns gr_status. NULL is success, so `if (s)` reads "if it
// failed". An error holds a message, the place in the *user's* files (gr_loc), a hint what to
// do, and the line of C that created it. The holder of a status owns it: return it, pass it
// to a function below that takes it over, or end its life with gr_status_drop. A status copies
// every string that it is given, so it may outlive the arena, the file and the tree it names.
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// A place in a user's file. Every IR node and config value carries one, so an error detected
// five passes later, or on rank 3 at step 900, still names the YAML line.
typedef struct gr_loc {
  const char *file;  // borrowed, but errors copy it; NULL: no place
  int line, col;     // 1-based
} gr_loc;
#define GR_NOWHERE ((gr_loc){0})

typedef enum gr_code {
  GR_ERR_USAGE = 1,    // invalid command line
  GR_ERR_CONFIG,       // invalid YAML, model or override
  GR_ERR_TYPE,         // shapes, dtypes or layouts do not match
  GR_ERR_UNSUPPORTED,  // valid, but there is no kernel, gradient or rule for it
  GR_ERR_DATA,         // a data set, recording or transcript is missing or malformed
  GR_ERR_LAUNCH,       // ranks, devices or the launcher could not start
  GR_ERR_HOOK,         // a Lua script failed
  GR_ERR_RANK,         // another rank died
  GR_ERR_HANG,         // a collective timed out
  GR_ERR_IO,           // a file or disk operation failed
  GR_ERR_STOPPED,      // stopped by a signal; the state is saved
  GR_ERR_NONFINITE,    // the loss is NaN or infinite
  GR_ERR_CHECKPOINT,   // a checkpoint is damaged or does not fit the model
  GR_ERR_DIFFERENT,    // no error: what a command compares is not the same
  GR_ERR_BUG,          // an internal invariant is violated
  GR_CODE_COUNT,
} gr_code;

typedef struct gr_error *gr_status;
#define GR_OK ((gr_status)0)

#define GR_MUST_USE __attribute__((warn_unused_result))
#define GR_PRINTF(f, a) __attribute__((format(printf, f, a)))

// gr_fail creates an error with a printf-style message; messages over 1023 bytes are cut. Without
// memory it returns a static error that notes and hints do not change. Safe from any thread.
GR_MUST_USE gr_status gr_fail_(const char *cfile, int cline, gr_code, gr_loc, const char *fmt, ...)
    GR_PRINTF(5, 6);
#define gr_fail(code, loc, ...) gr_fail_(__FILE__, __LINE__, code, loc, __VA_ARGS__)

// gr_fail, nowhere in the user's files, for a call of the system that has failed for the reason
// `error`, an errno: its text follows the message, and a hint says what to do about it.
GR_MUST_USE gr_status gr_fail_errno_(const char *cfile, int cline, gr_code, int error,
                                     const char *fmt, ...) GR_PRINTF(5, 6);
#define gr_fail_errno(code, error, ...) gr_fail_errno_(__FILE__, __LINE__, code, error, __VA_ARGS__)

// The functions below return the status they are given, changed, and pass GR_OK through.
//
// Adds one line of context ("while sharding 'h.3.fc'").
GR_MUST_USE gr_status gr_note(gr_status, gr_loc, const char *fmt, ...) GR_PRINTF(3, 4);
// Adds a hint what to do; a second hint follows the first after "; ".
GR_MUST_USE gr_status gr_hint(gr_status, const char *fmt, ...) GR_PRINTF(2, 3);
// A hint for an operation that could not write, by its errno.
GR_MUST_USE gr_status gr_hint_errno(gr_status, int error);
// Names the settings that a library's error is about, such as "features.window"; blanks separate
// alternatives. The library does not know where in the YAML they are: the caller that read them
// looks them up (gr_status_about) and sets the place. At most 255 bytes are kept.
GR_MUST_USE gr_status gr_about(gr_status, const char *settings);
// Sets the place of every joined error that has none; a stop, which a signal causes, stays without.
GR_MUST_USE gr_status gr_place(gr_status, gr_loc);
// GR_OK, or GR_ERR_CONFIG about `setting` if the value is not within [least, most].
GR_MUST_USE gr_status gr_range(const char *setting, int64_t value, int64_t least, int64_t most);
// Joins two errors into one and takes both over; either may be GR_OK. At most 20 are kept, so that
// one mistake that shows in many places does not flood the terminal; further ones are dropped.
GR_MUST_USE gr_status gr_also(gr_status first, gr_status then);
int gr_status_count(gr_status);  // number of joined errors; 0 for GR_OK

#define GR_TRY(expr)         \
  do {                       \
    gr_status try_ = (expr); \
    if (try_) return try_;   \
  } while (0)

// Prints "file:line:col: KIND error: text", the source line with a caret if the file can be
// read, notes and hint, for every joined error. For GR_ERR_BUG also the line of C. Text from user
// files is escaped (gr_text_visible).
void gr_status_print(FILE *, gr_status);
// Parts of the first joined error. Strings are owned by the status.
const char *gr_status_text(gr_status);   // the message without place and notes; "ok" for GR_OK
const char *gr_status_hint(gr_status);   // NULL: none
gr_code gr_status_code(gr_status);       // 0 for GR_OK
gr_loc gr_status_loc(gr_status);         // GR_NOWHERE for GR_OK
const char *gr_status_about(gr_status);  // NULL: none
// How a message names a rank, its argument, that has died and can report nothing itself. Other
// ranks may have put words before it.
#define GR_RANK_DIED "rank %d died: "
int gr_status_dead_rank(gr_status);  // the rank that the message so names; -1: none
int gr_code_exit(gr_code);           // the exit code of a process that ends with this error
int gr_status_exit(gr_status);       // that of a status; GR_OK: 0
// Frees the status; GR_OK is allowed. Every status is returned, taken over or dropped exactly once.
void gr_status_drop(gr_status);

// Registers the text of a source that is not on disk (built-in blocks, command-line arguments), so
// that errors can quote its lines. Both strings are copied; a second call with the same name
// replaces the text. Not thread-safe: call before threads start.
void gr_source_add(const char *file, const char *text);
