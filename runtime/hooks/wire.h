// wire.h - messages between a run and its hooks' process: framing and fields.
//
// Both ends are the same program on the same machine, so numbers are sent in their memory
// representation.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gr_wire_kind {
  // Requests of the run; all except APPENDED are answered by DONE or FAILED.
  GR_WIRE_SETUP,     // seed, limits, number of scripts
  GR_WIRE_LOAD,      // a script -> the line of each event, its state
  GR_WIRE_CALL,      // a script, an event, its context -> the result, the state
  GR_WIRE_SAVE,      // -> the state of each script as text
  GR_WIRE_RESTORE,   // states as saved -> the copy of each script's
  GR_WIRE_BACK,      // copies of states to roll back to -> nothing
  GR_WIRE_APPENDED,  // the answer to APPEND: an error, or nothing
  // From the hooks' process.
  GR_WIRE_DONE,
  GR_WIRE_FAILED,  // code, script, line, message, traceback, hint
  GR_WIRE_LOG,     // level, text
  GR_WIRE_APPEND,  // file, text; the process waits for APPENDED
} gr_wire_kind;

// A buffer for one message that is being written or read. Zero-initialised is empty; gr_wire_free
// releases it.
typedef struct gr_wire {
  char *at;  // header, then fields
  size_t len, room;
  size_t next;  // offset of the next field to read
  bool bad;     // out of memory, or a missing field was read: stays set, later fields are 0 or NULL
  gr_wire_kind kind;
} gr_wire;

void gr_wire_begin(gr_wire *, gr_wire_kind);  // empties the buffer and starts a message
void gr_wire_free(gr_wire *);                 // frees the buffer, which is then empty
// Append fields to the message that was begun. put: raw bytes; put_bytes: their number, then the
// bytes; put_text: text, or NULL, which is read as NULL.
void gr_wire_put(gr_wire *, const void *, size_t len);
void gr_wire_put_int(gr_wire *, int64_t);
void gr_wire_put_float(gr_wire *, double);
void gr_wire_put_bytes(gr_wire *, const void *, size_t len);
void gr_wire_put_text(gr_wire *, const char *);
// Begin and end a put_bytes field whose length is not known in advance: what is put in between is
// its content. `opened` is what gr_wire_open returned.
size_t gr_wire_open(gr_wire *);
void gr_wire_close(gr_wire *, size_t opened);
// Read the next field, in the order in which fields were put. Bytes and text point into the message
// and are followed by a NUL. out_len may be NULL.
int64_t gr_wire_int(gr_wire *);
double gr_wire_float(gr_wire *);
const char *gr_wire_bytes(gr_wire *, size_t *out_len);
const char *gr_wire_text(gr_wire *);

// Waits until the descriptor is ready for `events` (as for poll); returning false gives up.
typedef bool (*gr_wire_wait)(void *ctx, int fd, short events);
// Send and receive a message over a stream socket. With a `wait` function (it may be NULL) they
// block only in it. False: the other end has closed the socket, or `wait` gave up.
bool gr_wire_send(int fd, gr_wire *, gr_wire_wait, void *ctx);
bool gr_wire_receive(int fd, gr_wire *, gr_wire_wait, void *ctx);
