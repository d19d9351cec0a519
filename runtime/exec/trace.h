// trace.h - what a rank does and when, as a file that Perfetto (ui.perfetto.dev) and Chrome's
// chrome://tracing draw: the JSON of Google's "Trace Event Format", complete events ("ph": "X").
//
// Spans are kept in memory and written when the trace is closed, so that writing does not change
// what is measured. Times are those of gr_wall_seconds, so that the traces of several ranks fit
// together, less a multiple of 48 days: readers that keep them as `double` still tell nanoseconds.
// A trace is used by one thread.
#pragma once
#include "base/text.h"

typedef struct gr_trace gr_trace;
typedef enum gr_trace_lane {  // drawn from top to bottom
  GR_TRACE_STEPS,             // training steps, evaluations
  GR_TRACE_DATA,              // waiting for the next batch
  GR_TRACE_COPIES,            // inputs and results between host and device
  GR_TRACE_COMPUTE,           // programs, their nodes, and the nodes of loops
  GR_TRACE_COMMUNICATION,     // collectives, and agreements of the ranks
  GR_TRACE_HOOKS,
  GR_TRACE_CHECKPOINTS,
  GR_TRACE_GPU,  // one for each queue of a device that measures itself (gr_device_ops.timings)
  GR_TRACE_GPU_COPIES,
  GR_TRACE_GPU_GATHERS,
  GR_TRACE_GPU_SUMS,
  GR_TRACE_LANES,
} gr_trace_lane;

// Writes the members of a span's "args" object, without braces; `what` is the span's.
typedef void (*gr_trace_args)(gr_text *, const void *what);

// Creates the trace of a rank; the file DIR/NAME is written when it is closed. GR_ERR_IO without
// memory.
GR_MUST_USE gr_status gr_trace_open(const char *dir, const char *name, int rank, gr_trace **out);
// Seconds on the clock of spans, which is gr_wall_seconds.
double gr_trace_now(void);
// Adds a span from a time (gr_trace_now) until now. `name` and `what` live as long as the trace;
// without memory for it the span is left out, and counted.
void gr_trace_add(gr_trace *, gr_trace_lane, const char *name, gr_trace_args, const void *what,
                  double began);
// Adds a span that began so many nanoseconds after gr_wall_seconds was 0 and lasted `lasts`
// nanoseconds, as gr_trace_add does.
void gr_trace_put(gr_trace *, gr_trace_lane, const char *name, gr_trace_args, const void *what,
                  int64_t began, int64_t lasts);
// Writes the file and frees the trace. GR_ERR_IO with the path if it cannot be written.
GR_MUST_USE gr_status gr_trace_close(gr_trace *);
