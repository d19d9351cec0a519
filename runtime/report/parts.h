// parts.h - the files of a report: lines of JSON, and TensorBoard's events.
#pragma once
#include "base/text.h"
#include "runtime/report/report.h"

// A file of JSON lines, each written by one call and beginning with {"KEY": number.
typedef struct gr_lines {
  int fd;  // -1: not open
  const char *path;
} gr_lines;
// Keeps the whole lines whose number is below `below`, up to the first that is not.
GR_MUST_USE gr_status gr_lines_open(const char *path, const char *key, int64_t below,
                                    gr_lines *out);
GR_MUST_USE gr_status gr_lines_put(gr_lines *, const char *text, size_t len);  // if it is open
void gr_lines_close(gr_lines *);

// An event file: TFRecord frames (length, masked CRC32C, data, masked CRC32C) of protocol
// buffers tensorflow.Event. Keeps the records of the steps before spec->resume_step, of the last of
// them without those of the epoch or the evaluation where the spec says these are yet to come.
typedef struct gr_events {
  gr_lines file;
  gr_text record;
} gr_events;
GR_MUST_USE gr_status gr_events_open(gr_arena *, const char *path, const gr_report_spec *,
                                     gr_events *out);
#define GR_EVENTS_TRAIN "train/"
#define GR_EVENTS_EPOCH "epoch/"
#define GR_EVENTS_EVAL "eval/"
enum { GR_EPOCH_EVENTS = 64 };  // most scalars of an epoch
// One event with all values; tags are prefix + name. Nothing where the file is not open.
GR_MUST_USE gr_status gr_events_put(gr_events *, int64_t step, double wall, const char *prefix,
                                    const gr_named *values, int n);
void gr_events_close(gr_events *);

uint32_t gr_crc32c(const void *, size_t bytes);  // RFC 3720, appendix B.4

// results.c
#define GR_RESULTS_NAME "training_results.json"
GR_MUST_USE gr_status gr_results_write(const char *dir, const char *epochs_path,
                                       const gr_results *);
