// files.c - JSON lines and TensorBoard event files. See parts.h.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/port.h"
#include "runtime/report/parts.h"

enum { MAX_RECORD = 1 << 20 };

static gr_status failed(const char *what, const char *path) {
  return gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot %s '%s': %s", what, path, strerror(errno));
}

// Opens for appending after the first `keep` bytes and truncates the rest.
static gr_status open_at(const char *path, int64_t keep, gr_lines *out) {
  *out = (gr_lines){.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666),
                    .path = path};
  if (out->fd < 0) return failed("open", path);
  return ftruncate(out->fd, keep) ? failed("cut", path) : GR_OK;
}

gr_status gr_lines_put(gr_lines *f, const char *text, size_t len) {
  while (len && f->fd >= 0) {
    ssize_t n = write(f->fd, text, len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed("write", f->path);
    text += n, len -= (size_t)n;
  }
  return GR_OK;
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

gr_status gr_lines_open(const char *path, const char *key, int64_t below, gr_lines *out) {
  char head[32], *line = NULL;
  size_t cap = 0;
  int64_t keep = 0;
  snprintf(head, sizeof head, "{\"%s\": ", key);
  FILE *in = below > 0 && gr_is_file(path) ? fopen(path, "r") : NULL;
  for (ssize_t n; in && (n = getline(&line, &cap, in)) > 0 && stays(line, (size_t)n, head, below);)
    keep += n;
  free(line);
  if (in) fclose(in);
  return open_at(path, keep, out);
}

// -- Events ------------------------------------------------------------------------------

uint32_t gr_crc32c(const void *data, size_t bytes) {
  static const uint32_t nibble[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                      0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                      0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                      0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
  uint32_t crc = ~UINT32_C(0);
  for (const unsigned char *p = data; bytes--; p++) {
    crc ^= *p;
    crc = crc >> 4 ^ nibble[crc & 15];
    crc = crc >> 4 ^ nibble[crc & 15];
  }
  return ~crc;
}

static uint32_t masked(const void *data, size_t bytes) {
  uint32_t c = gr_crc32c(data, bytes);
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

static void put_varint(gr_text *t, uint64_t v) {
  for (; v > 127; v >>= 7) gr_text_putn(t, &(char){(char)(v | 128)}, 1);
  gr_text_putn(t, &(char){(char)v}, 1);
}

static void put_fixed(gr_text *t, char tag, uint64_t bits, int bytes) {
  unsigned char b[8];
  little(b, bits, bytes);
  gr_text_putn(t, &tag, 1);
  gr_text_putn(t, (char *)b, (size_t)bytes);
}

static void put_head(gr_text *t, double wall, int64_t step) {
  uint64_t bits;
  memcpy(&bits, &wall, 8);
  t->len = 0;
  put_fixed(t, 0x09, bits, 8);  // wall_time = 1
  gr_text_putn(t, "\x10", 1);   // step = 2
  put_varint(t, (uint64_t)step);
}

static gr_status put_record(gr_events *e) {
  gr_text *t = &e->record;
  size_t n = t->len;
  unsigned char head[12], tail[4];
  little(head, n, 8);
  little(head + 8, masked(head, 8), 4);
  little(tail, masked(t->at, n), 4);
  gr_text_putn(t, (char *)tail, 4);
  gr_text_putn(t, (char *)head, 12);  // makes room; the header is moved to the front
  memmove(t->at + 12, t->at, n + 4);
  memcpy(t->at, head, 12);
  return gr_lines_put(&e->file, t->at, n + 16);
}

static size_t varint_bytes(uint64_t v) {
  size_t n = 1;
  for (; v > 127; v >>= 7) n++;
  return n;
}

static void put_scalar(gr_text *t, const char *tag, double value) {
  size_t n = strlen(tag);
  float f = (float)value;
  uint32_t bits;
  memcpy(&bits, &f, 4);
  gr_text_putn(t, "\x0a", 1);  // value = 1
  put_varint(t, 1 + varint_bytes(n) + n + 5);
  gr_text_putn(t, "\x0a", 1);  // tag = 1
  put_varint(t, n);
  gr_text_put(t, tag);
  put_fixed(t, 0x15, bits, 4);  // simple_value = 2
}

// Other tags of a value come after those of all values: resuming looks at the first tag.
static void put_scalars(const gr_events *e, gr_arena *a, const char *prefix, const gr_named *values,
                        int n, gr_text *out) {
  for (int i = 0; i < n; i++)
    put_scalar(out, gr_arena_printf(a, "%s%s", prefix, values[i].name), values[i].value);
  size_t len = strlen(prefix);
  for (int k = 0; k < e->tags.n; k++)
    for (int i = 0; i < n; i++)
      if (!strncmp(e->tags.at[k].of, prefix, len) &&
          !strcmp(e->tags.at[k].of + len, values[i].name))
        put_scalar(out, e->tags.at[k].name, values[i].value);
}

gr_status gr_events_put(gr_events *e, int64_t step, double wall, const char *prefix,
                        const gr_named *values, int n) {
  if (e->file.fd < 0) return GR_OK;
  gr_arena *a = gr_arena_create();
  gr_text all = gr_text_make(a);
  put_scalars(e, a, prefix, values, n, &all);
  put_head(&e->record, wall, step);
  gr_text_putn(&e->record, "\x2a", 1);  // summary = 5
  put_varint(&e->record, all.len);
  gr_text_putn(&e->record, all.at, all.len);
  gr_arena_destroy(a);
  return put_record(e);
}

gr_status gr_events_put_picture(gr_events *e, int64_t step, double wall, const char *prefix,
                                const char *name, int side, const gr_text *png) {
  gr_text *t = &e->record;
  if (e->file.fd < 0) return GR_OK;
  uint64_t s = (uint64_t)side;
  size_t tag = strlen(prefix) + strlen(name);
  size_t image = 2 * (1 + varint_bytes(s)) + 2 + 1 + varint_bytes(png->len) + png->len;
  size_t value = 1 + varint_bytes(tag) + tag + 1 + varint_bytes(image) + image;
  put_head(t, wall, step);
  gr_text_putn(t, "\x2a", 1);  // summary = 5
  put_varint(t, 1 + varint_bytes(value) + value);
  gr_text_putn(t, "\x0a", 1);  // value = 1
  put_varint(t, value);
  gr_text_putn(t, "\x0a", 1);  // tag = 1
  put_varint(t, tag);
  gr_text_put(t, prefix);
  gr_text_put(t, name);
  gr_text_putn(t, "\x22", 1);  // image = 4
  put_varint(t, image);
  gr_text_putn(t, "\x08", 1);  // height = 1
  put_varint(t, s);
  gr_text_putn(t, "\x10", 1);  // width = 2
  put_varint(t, s);
  gr_text_putn(t, "\x18\x03\x22", 3);  // colorspace = 3: RGB; encoded_image_string = 4
  put_varint(t, png->len);
  gr_text_putn(t, png->at, png->len);
  return put_record(e);
}

// Reads a varint and advances *p past it; false: there is none.
static bool get_varint(const unsigned char **p, const unsigned char *end, uint64_t *out) {
  *out = 0;
  for (int shift = 0; *p < end && shift < 64; shift += 7) {
    unsigned char c = *(*p)++;
    *out |= (uint64_t)(c & 127) << shift;
    if (c < 128) return true;
  }
  return false;
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
  if (n < 11 || p[0] != 0x09 || p[9] != 0x10 || (p += 10, !get_varint(&p, end, &step))) return none;
  event e = {.step = (int64_t)step};
  static const unsigned char path[] = {0x2a, 0x0a, 0x0a};  // summary, value, tag
  for (size_t i = 0; i < sizeof path; i++)
    if (p == end || *p++ != path[i] || !get_varint(&p, end, &skipped)) return e;
  e.tag = (const char *)p, e.tag_bytes = (size_t)(end - p);
  return e;
}

static bool is_of(const event *e, const char *prefix) {
  size_t len = strlen(prefix);
  return e->tag_bytes >= len && !memcmp(e->tag, prefix, len);
}

static bool event_stays(const event *e, const gr_report_spec *spec) {
  if (e->step != spec->resume_step - 1) return e->step < spec->resume_step;
  return !(spec->epoch_open && is_of(e, GR_EVENTS_EPOCH)) &&
         !(spec->eval_open && is_of(e, GR_EVENTS_EVAL));
}

// Bytes of the record at the file's position, if it is complete and is kept; otherwise 0.
static int64_t whole_record(FILE *in, unsigned char *buf, const gr_report_spec *spec) {
  unsigned char head[12], tail[4];
  if (fread(head, 1, 12, in) != 12 || masked(head, 8) != from_little(head + 8, 4)) return 0;
  uint64_t n = from_little(head, 8);
  if (n > MAX_RECORD || fread(buf, 1, n, in) != n || fread(tail, 1, 4, in) != 4) return 0;
  if (masked(buf, n) != from_little(tail, 4)) return 0;
  event e = event_of(buf, n);
  return event_stays(&e, spec) ? (int64_t)n + 16 : 0;
}

gr_status gr_events_open(gr_arena *a, const char *path, const gr_report_spec *spec,
                         gr_events *out) {
  int64_t keep = 0;
  FILE *in = spec->resume_step > 0 && gr_is_file(path) ? fopen(path, "rb") : NULL;
  unsigned char *buf = in ? malloc(MAX_RECORD) : NULL;
  for (int64_t n; buf && (n = whole_record(in, buf, spec)) > 0;) keep += n;
  free(buf);
  if (in) fclose(in);
  out->record = gr_text_make(a), out->tags = spec->tags;
  GR_TRY(open_at(path, keep, &out->file));
  if (keep) return GR_OK;
  put_head(&out->record, 0, 0);
  gr_text_put(&out->record,
              "\x1a\x0d"
              "brain.Event:2");  // file_version = 3
  return put_record(out);
}

void gr_events_close(gr_events *e) { gr_lines_close(&e->file); }
