// wire.h - messages between a run and its hooks' process, and the one encoding of all that is in
// them.
//
// A message is a row of values: nil, booleans, integers, floats, texts and tables of values, each
// with its type. They are what Lua's data is, so that a script's state, its parameters and ctx are
// values as all other fields are. Both ends are the same program on the same machine: numbers are
// in their memory representation.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gr_wire_kind {
  // Requests of the run; all except APPENDED are answered by DONE or FAILED.
  GR_WIRE_SETUP,     // seed, limits, number of scripts
  GR_WIRE_LOAD,      // a script -> the line of each event, its state
  GR_WIRE_CALL,      // a script, an event, its context -> the result, the state
  GR_WIRE_STATES,    // the state of each script, nil: as it is -> the same, as they are then
  GR_WIRE_APPENDED,  // the answer to APPEND: an error, or nothing
  // From the hooks' process.
  GR_WIRE_DONE,
  GR_WIRE_FAILED,  // code, script, line, message, traceback, hint
  GR_WIRE_LOG,     // level, text
  GR_WIRE_APPEND,  // file, text; the process waits for APPENDED
} gr_wire_kind;

typedef enum gr_wire_tag {  // the first byte of a value
  GR_WIRE_NIL = '0',
  GR_WIRE_FALSE = '-',
  GR_WIRE_TRUE = '+',
  GR_WIRE_INT = 'i',
  GR_WIRE_FLOAT = 'f',
  GR_WIRE_TEXT = 's',
  GR_WIRE_TABLE = '{',
  GR_WIRE_END = '}',
} gr_wire_tag;

// A buffer for one message that is being written or read. Zero-initialised is empty; gr_wire_free
// releases it.
typedef struct gr_wire {
  char *bytes;  // header, then values
  size_t len, room;
  size_t next;  // offset of the next value to read
  bool bad;  // out of memory, or a value was read that is not there or of another type: stays set,
             // and later values are 0 or NULL
  gr_wire_kind kind;
} gr_wire;

void gr_wire_begin(gr_wire *, gr_wire_kind);  // empties the buffer and starts a message
void gr_wire_free(gr_wire *);                 // frees the buffer, which is then empty

// The functions that put append a value to the message that was begun; without memory for it they
// set `bad`. This one appends true or false.
void gr_wire_put_bool(gr_wire *, bool);
// Appends an integer.
void gr_wire_put_int(gr_wire *, int64_t);
// Appends a float, bit for bit.
void gr_wire_put_float(gr_wire *, double);
// Appends a text of `len` bytes, which may contain NULs.
void gr_wire_put_bytes(gr_wire *, const void *, size_t len);
// Appends a text up to its NUL; NULL is nil.
void gr_wire_put_text(gr_wire *, const char *);
// Begins a table; its keys and values follow, in turn.
void gr_wire_put_table(gr_wire *);
// Ends the table that was begun last.
void gr_wire_put_end(gr_wire *);
// Appends a value that gr_wire_value has returned; none is nil.
void gr_wire_put_value(gr_wire *, const void *, size_t len);

// What the next value is; GR_WIRE_END at the end of a table, and of the message.
gr_wire_tag gr_wire_next(const gr_wire *);
// The functions below read the next value, in the order in which values were put; one of another
// type sets `bad`. This one reads true or false.
bool gr_wire_bool(gr_wire *);
// Reads an integer.
int64_t gr_wire_int(gr_wire *);
// Reads a float.
double gr_wire_float(gr_wire *);
// Reads a text, which points into the message and is followed by a NUL; nil is read as NULL.
// out_len, its length, may be NULL.
const char *gr_wire_bytes(gr_wire *, size_t *out_len);
// Reads a text without its length, as gr_wire_bytes does.
const char *gr_wire_text(gr_wire *);
void gr_wire_table(gr_wire *);  // the beginning of a table
bool gr_wire_end(
    gr_wire *);  // reads the end of a table if it is next; true: it was, or `bad` is set
// Reads a value of any type, with all that is in it: its bytes in the message.
const char *gr_wire_value(gr_wire *, size_t *out_len);

// Waits until the descriptor is ready for `events` (as for poll); returning false gives up.
typedef bool (*gr_wire_wait)(void *ctx, int fd, short events);
// Sends the message over a stream socket. With a `wait` function (it may be NULL) this blocks only
// in it. False: the other end has closed the socket, `wait` gave up, or the message is bad.
bool gr_wire_send(int fd, gr_wire *, gr_wire_wait, void *ctx);
// Receives a message into an emptied buffer, as gr_wire_send sends one; it is then read from its
// first value on. False also without memory.
bool gr_wire_receive(int fd, gr_wire *, gr_wire_wait, void *ctx);
