// files.c - JSON lines and TensorBoard event files. See parts.h.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/crc.h"
#include "base/file.h"
#include "base/output.h"
#include "base/proto.h"
#include "runtime/report/parts.h"

gr_status gr_report_dir_hint(gr_status s) { return gr_hint(s, "output.dir chooses the folder"); }

static gr_status failed(const char *path) {
  return gr_report_dir_hint(gr_output_failed(path, errno));
}

// Opens for appending after the first `keep` bytes and truncates the rest.
static gr_status open_at(const char *dir, const char *name, int64_t keep, gr_lines *out) {
  *out = (gr_lines){.fd = -1};
  snprintf(out->path, sizeof out->path, "%s/%s", dir, name);
  GR_TRY(gr_report_dir_hint(gr_output_append(dir, name, &out->fd)));
  return ftruncate(out->fd, keep) ? failed(out->path) : GR_OK;
}

// Opens what an earlier run has written; NULL: there is none that can be read.
static FILE *open_earlier(const char *dir, const char *name) {
  char path[PATH_MAX];
  FILE *in = NULL;
  snprintf(path, sizeof path, "%s/%s", dir, name);
  gr_status_drop(gr_file_stream(path, GR_ERR_IO, &in));
  return in;
}

gr_status gr_lines_put(gr_lines *f, const char *text, size_t len) {
  return f->fd < 0 || gr_output_put(f->fd, text, len) ? GR_OK : failed(f->path);
}

void gr_lines_close(gr_lines *f) {
  if (f->fd >= 0) close(f->fd);
  f->fd = -1;
}

static bool stays(const char *line, size_t len, const char *head, int64_t below) {
  size_t n = strlen(head);
  if (line[len - 1] != '\n' || strncmp(line, head, n)) return false;
  char *end;
  int64_t number = strtoll(line + n, &end, 10);
  return end > line + n && number < below;
}

gr_status gr_lines_open(const char *dir, const char *name, const char *key, int64_t below,
                        gr_lines *out) {
  char head[32], *line = NULL;
  size_t cap = 0;
  int64_t keep = 0;
  snprintf(head, sizeof head, "{\"%s\": ", key);
  FILE *in = below > 0 ? open_earlier(dir, name) : NULL;
  for (ssize_t n; in && (n = getline(&line, &cap, in)) > 0 && stays(line, (size_t)n, head, below);)
    keep += n;
  free(line);
  if (in) fclose(in);
  return open_at(dir, name, keep, out);
}

// -- Events ------------------------------------------------------------------------------

static uint32_t masked(const void *data, size_t bytes) {
  uint32_t c = gr_crc(GR_CRC32C, 0, data, bytes);
  return (c >> 15 | c << 17) + UINT32_C(0xa282ead8);
}

static void little(unsigned char *to, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(v >> (8 * i));
}

static uint64_t from_little(const unsigned char *p, int bytes) {
  uint64_t v = 0;
  for (int i = bytes; i-- > 0;) v = v << 8 | p[i];
  return v;
}

void gr_events_begin(gr_events *e, int64_t step, double wall) {
  e->record.len = 0;
  gr_proto_double(&e->record, 1, wall);         // Event.wall_time
  gr_proto_int(&e->record, 2, (uint64_t)step);  // Event.step
}

gr_status gr_events_end(gr_events *e) {
  gr_text *t = &e->record;
  size_t n = t->len;
  unsigned char head[12], tail[4];
  little(head, n, 8);
  little(head + 8, masked(head, 8), 4);
  little(tail, masked(t->chars, n), 4);
  gr_text_putn(t, (char *)tail, 4);
  gr_text_putn(t, (char *)head, 12);  // makes room; the header is moved to the front
  memmove(t->chars + 12, t->chars, n + 4);
  memcpy(t->chars, head, 12);
  return gr_lines_put(&e->file, t->chars, n + 16);
}

// Appends a Summary.value of a summary.
static void put_scalar(gr_text *t, const char *tag, double value) {
  gr_text v = gr_text_make(t->arena);
  gr_proto_text(&v, 1, tag);
  gr_proto_float(&v, 2, (float)value);  // simple_value
  gr_proto_message(t, 1, &v);
}

// Other tags of a value come after those of all values: resuming looks at the first tag.
static void put_scalars(const gr_events *e, gr_arena *a, const char *prefix, const gr_named *values,
                        int n, gr_text *out) {
  for (int i = 0; i < n; i++)
    put_scalar(out, gr_arena_printf(a, "%s%s", prefix, values[i].name), values[i].value);
  size_t len = strlen(prefix);
  for (int k = 0; k < e->tags.n; k++)
    for (int i = 0; i < n; i++)
      if (!strncmp(e->tags.items[k].of, prefix, len) &&
          !strcmp(e->tags.items[k].of + len, values[i].name))
        put_scalar(out, e->tags.items[k].name, values[i].value);
}

gr_status gr_events_put(gr_events *e, int64_t step, double wall, const char *prefix,
                        const gr_named *values, int n) {
  if (e->file.fd < 0) return GR_OK;
  gr_arena *a = gr_arena_create();
  gr_text all = gr_text_make(a);
  put_scalars(e, a, prefix, values, n, &all);
  gr_events_begin(e, step, wall);
  gr_proto_message(&e->record, 5, &all);  // Event.summary
  gr_arena_destroy(a);
  return gr_events_end(e);
}

gr_status gr_events_put_picture(gr_events *e, int64_t step, double wall, const char *prefix,
                                const char *name, int side, const gr_text *png) {
  if (e->file.fd < 0) return GR_OK;
  gr_arena *a = gr_arena_create();
  gr_text image = gr_text_make(a), value = gr_text_make(a), summary = gr_text_make(a);
  gr_proto_int(&image, 1, (uint64_t)side);  // Summary.Image.height
  gr_proto_int(&image, 2, (uint64_t)side);  // width
  gr_proto_int(&image, 3, 3);               // colorspace: RGB
  gr_proto_message(&image, 4, png);         // encoded_image_string
  gr_proto_text(&value, 1, gr_arena_printf(a, "%s%s", prefix, name));
  gr_proto_message(&value, 4, &image);
  gr_proto_message(&summary, 1, &value);
  gr_events_begin(e, step, wall);
  gr_proto_message(&e->record, 5, &summary);
  gr_arena_destroy(a);
  return gr_events_end(e);
}

// What resuming needs to know of an event: its step (-1: none) and its first tag.
typedef struct event {
  int64_t step;
  const char *tag;  // not NUL-terminated
  size_t tag_bytes;
} event;

static event event_of(const unsigned char *p, size_t n) {
  const unsigned char *end = p + n;
  uint64_t step, skipped;
  event none = {.step = -1};
  if (n < 11 || p[0] != 0x09 || p[9] != 0x10 || (p += 10, !gr_proto_read_varint(&p, end, &step)))
    return none;
  event e = {.step = (int64_t)step};
  static const unsigned char path[] = {0x2a, 0x0a, 0x0a};  // summary, value, tag
  for (size_t i = 0; i < sizeof path; i++)
    if (p == end || *p++ != path[i] || !gr_proto_read_varint(&p, end, &skipped)) return e;
  e.tag = (const char *)p, e.tag_bytes = (size_t)(end - p);
  return e;
}

static bool is_of(const event *e, const char *prefix) {
  size_t len = strlen(prefix);
  return e->tag_bytes >= len && !memcmp(e->tag, prefix, len);
}

static bool event_stays(const event *e, const gr_report_spec *spec) {
  if (e->step != spec->resume_step - 1) return e->step < spec->resume_step;
  if (is_of(e, GR_EVENTS_END)) return false;
  bool of_eval = is_of(e, GR_EVENTS_EVAL) || is_of(e, GR_EVENTS_SAMPLES);
  return !(spec->epoch_open && is_of(e, GR_EVENTS_EPOCH)) && !(spec->eval_open && of_eval);
}

// Bytes of the record at the file's position, if it is complete and is kept; otherwise 0.
static int64_t whole_record(FILE *in, unsigned char *buf, const gr_report_spec *spec) {
  unsigned char head[12], tail[4];
  if (fread(head, 1, 12, in) != 12 || masked(head, 8) != from_little(head + 8, 4)) return 0;
  uint64_t n = from_little(head, 8);
  if (n > GR_MAX_EVENT || fread(buf, 1, n, in) != n || fread(tail, 1, 4, in) != 4) return 0;
  if (masked(buf, n) != from_little(tail, 4)) return 0;
  event e = event_of(buf, n);
  return event_stays(&e, spec) ? (int64_t)n + 16 : 0;
}

gr_status gr_events_open(gr_arena *a, const char *name, const gr_report_spec *spec,
                         gr_events *out) {
  int64_t keep = 0;
  FILE *in = spec->resume_step > 0 ? open_earlier(spec->dir, name) : NULL;
  unsigned char *buf = in ? malloc(GR_MAX_EVENT) : NULL;
  for (int64_t n; buf && (n = whole_record(in, buf, spec)) > 0;) keep += n;
  free(buf);
  if (in) fclose(in);
  out->record = gr_text_make(a), out->tags = spec->tags;
  GR_TRY(open_at(spec->dir, name, keep, &out->file));
  if (keep) return GR_OK;
  gr_events_begin(out, 0, 0);
  gr_proto_text(&out->record, 3, "brain.Event:2");  // Event.file_version
  return gr_events_end(out);
}

void gr_events_close(gr_events *e) { gr_lines_close(&e->file); }
