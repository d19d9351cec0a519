// parts.h - the files of a report: JSON lines and TensorBoard event files.
#pragma once
#include <limits.h>
#include "base/text.h"
#include "runtime/report/report.h"

// A file of JSON objects, one per line, each written by one system call and beginning with
// {"KEY": number.
typedef struct gr_lines {
  int fd;               // -1: not open
  char path[PATH_MAX];  // for messages
} gr_lines;
// Opens DIR/NAME for appending, after the leading lines that are complete and whose number is below
// `below`; the rest is truncated.
GR_MUST_USE gr_status gr_lines_open(const char *dir, const char *name, const char *key,
                                    int64_t below, gr_lines *out);
// Appends a line; does nothing when the file is not open.
GR_MUST_USE gr_status gr_lines_put(gr_lines *, const char *text, size_t len);
void gr_lines_close(gr_lines *);  // one that is not open stays closed

// An event file: TFRecord frames (length, masked CRC32C, data, masked CRC32C) of tensorflow.Event
// protocol buffers (tensorflow/core/util/event.proto).
typedef struct gr_events {
  gr_lines file;
  gr_text record;
  gr_other_names tags;
} gr_events;
// Opens a file in spec->dir for appending after the records of the steps before spec->resume_step.
// Of the last of those steps, the records of the epoch or evaluation are dropped when the spec says
// that it is still to be reported.
GR_MUST_USE gr_status gr_events_open(gr_arena *, const char *name, const gr_report_spec *,
                                     gr_events *out);
#define GR_EVENTS_TRAIN "train/"
#define GR_EVENTS_EPOCH "epoch/"
#define GR_EVENTS_EVAL "eval/"
enum { GR_EPOCH_EVENTS = 64 };  // maximum number of scalars of an epoch
// Appends one event with all values; tags are prefix + name. wall: seconds since 1970. Does nothing
// when the file is not open.
GR_MUST_USE gr_status gr_events_put(gr_events *, int64_t step, double wall, const char *prefix,
                                    const gr_named *values, int n);
// The same for a PNG file of side x side pixels, a picture with that tag.
GR_MUST_USE gr_status gr_events_put_picture(gr_events *, int64_t step, double wall,
                                            const char *prefix, const char *name, int side,
                                            const gr_text *png);
#define GR_EVENTS_END "_hparams_/session_end_info"
#define GR_EVENTS_SAMPLES "samples/validation"
// Hyper-parameters, as the plugin hparams has them; and how the run has ended, well or not.
GR_MUST_USE gr_status gr_events_put_start(gr_events *, double wall, const gr_param *, int n);
GR_MUST_USE gr_status gr_events_put_end(gr_events *, int64_t step, double wall,
                                        bool well);  // likewise
// Samples as a table of text.
GR_MUST_USE gr_status gr_events_put_samples(gr_events *, int64_t step, double wall,
                                            const gr_report_sample *, int n);
// The graph, a tensorflow.GraphDef; one that is too large is left out.
GR_MUST_USE gr_status gr_events_put_graph(gr_events *, double wall, const void *graph,
                                          size_t bytes);
void gr_events_close(gr_events *);  // one that is not open stays closed
enum { GR_MAX_EVENT = 16 << 20 };   // bytes of an event that resuming reads
// Begins an event of another kind in `record`, to which the caller appends its message.
void gr_events_begin(gr_events *, int64_t step, double wall);
GR_MUST_USE gr_status gr_events_end(gr_events *);  // writes it

// Writes training_results.json to `dir`, with the rows of the file epochs_path as its history. The
// file is replaced atomically (results.c).
GR_MUST_USE gr_status gr_results_write(const char *dir, const char *epochs_path,
                                       const gr_results *);
