// wire.h - messages between a run and the process of its hooks: framing and fields.
//
// Both ends are the same program on the same machine, so numbers travel as they are in memory.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gr_wire_kind {
  // From the run; each but the last is answered by DONE or FAILED.
  GR_WIRE_SETUP,     // seed, limits, number of scripts
  GR_WIRE_LOAD,      // a script -> the line of each event, its state
  GR_WIRE_CALL,      // a script, an event, its context -> the result, the state
  GR_WIRE_SAVE,      // -> the state of each script as text
  GR_WIRE_RESTORE,   // states as saved -> the copy of each script's
  GR_WIRE_BACK,      // copies of states, after a failure -> nothing
  GR_WIRE_APPENDED,  // the answer to APPEND: an error, or nothing
  // From the process of the hooks.
  GR_WIRE_DONE,
  GR_WIRE_FAILED,  // code, script, line, message, traceback, hint
  GR_WIRE_LOG,     // level, text
  GR_WIRE_APPEND,  // file, text; the process waits for APPENDED
} gr_wire_kind;

// One message, being written or read. Zeroed is empty; gr_wire_free ends it.
typedef struct gr_wire {
  char *at;  // a head, then the fields
  size_t len, room;
  size_t next;  // where reading goes on
  bool bad;     // there was no memory, or a field that is not there was asked for
  gr_wire_kind kind;
} gr_wire;

void gr_wire_begin(gr_wire *, gr_wire_kind);
void gr_wire_free(gr_wire *);
void gr_wire_put(gr_wire *, const void *, size_t len);  // as it is
void gr_wire_put_int(gr_wire *, int64_t);
void gr_wire_put_float(gr_wire *, double);
void gr_wire_put_bytes(gr_wire *, const void *, size_t len);  // after their number
void gr_wire_put_text(gr_wire *, const char *);               // NULL is read as NULL
// Bytes of which the number is known when all are put: those between the two.
size_t gr_wire_open(gr_wire *);
void gr_wire_close(gr_wire *, size_t opened);
int64_t gr_wire_int(gr_wire *);
double gr_wire_float(gr_wire *);
// In the message; a NUL follows. out_len may be NULL.
const char *gr_wire_bytes(gr_wire *, size_t *out_len);
const char *gr_wire_text(gr_wire *);

// Waits until the descriptor is ready for `events` of poll; false gives up.
typedef bool (*gr_wire_wait)(void *ctx, int fd, short events);
// Over a stream socket. With a `wait` they never block elsewhere. False: the other end is gone,
// or `wait` gave up.
bool gr_wire_send(int fd, gr_wire *, gr_wire_wait, void *ctx);
bool gr_wire_receive(int fd, gr_wire *, gr_wire_wait, void *ctx);
