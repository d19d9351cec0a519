// text.c - string builder, edit distance, UTF-8 and escaping for terminals (text.h).
#include "base/text.h"
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/hash.h"
#include "base/stop.h"

gr_text gr_text_make(gr_arena *a) {
  assert(a);
  gr_text t = {.arena = a, .cap = 64};
  t.chars = gr_arena_alloc(a, t.cap);
  return t;
}

void gr_text_putn(gr_text *t, const char *s, size_t len) {
  assert(t->arena && (s || !len));
  if (t->len + len + 1 > t->cap) {
    while (t->len + len + 1 > t->cap) t->cap *= 2;
    t->chars = memcpy(gr_arena_alloc(t->arena, t->cap), t->chars, t->len);
  }
  memcpy(t->chars + t->len, s, len);
  t->chars[t->len += len] = 0;
}

void gr_text_put(gr_text *t, const char *s) {
  assert(s);
  gr_text_putn(t, s, strlen(s));
}

void gr_text_printf(gr_text *t, const char *fmt, ...) {
  assert(t->arena && fmt);
  char buf[512];
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(buf, sizeof buf, fmt, ap);
  va_end(ap);
  if (n >= (int)sizeof buf) {
    char *big = gr_arena_alloc(t->arena, (size_t)n + 1);
    vsnprintf(big, (size_t)n + 1, fmt, again);
    gr_text_putn(t, big, (size_t)n);
  } else if (n > 0) {
    gr_text_putn(t, buf, (size_t)n);
  }
  va_end(again);
}

char *gr_put_int(char out[GR_DIGITS], int64_t n) {
  uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
  char digits[GR_DIGITS], *p = digits + sizeof digits;
  if (n < 0) *out++ = '-';
  do *--p = (char)('0' + rest % 10);
  while (rest /= 10);
  while (p < digits + sizeof digits) *out++ = *p++;
  *out = 0;
  return out;
}

void gr_text_put_int(gr_text *t, int64_t n) {
  char digits[GR_DIGITS];
  gr_text_putn(t, digits, (size_t)(gr_put_int(digits, n) - digits));
}

static int least(int a, int b) { return a < b ? a : b; }

int gr_text_distance(const char *a, const char *b, int most) {
  assert(a && b);
  enum { MAX = 64 };
  int n = (int)strlen(a), m = (int)strlen(b);
  if (n > MAX || m > MAX || abs(n - m) > most) return most + 1;
  int row[3][MAX + 1];
  for (int j = 0; j <= m; j++) row[0][j] = j;
  for (int i = 1; i <= n; i++) {
    int *now = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
    now[0] = i;
    for (int j = 1; j <= m; j++) {
      now[j] = least(least(now[j - 1], up[j]) + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = least(now[j], up2[j - 2] + 1);
    }
  }
  return least(row[n % 3][m], most + 1);
}

// Edits after which a word of that length still counts as a misspelling. Few for short words: one
// or two edits turn them into other words.
static int most_edits(size_t len) { return len < 2 ? 0 : len < 6 ? 1 : len < 9 ? 2 : 3; }

// Length of the common prefix of whole sections ("training.").
static size_t common_sections(const char *a, const char *b) {
  size_t same = 0;
  for (size_t i = 0; a[i] && a[i] == b[i]; i++)
    if (a[i] == '.') same = i + 1;
  return same;
}

bool gr_text_same(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

const char *gr_text_nearest(const char *word, const char *const *names, int n) {
  assert(word && (names || !n));
  const char *found = NULL;
  for (int i = 0, best = INT_MAX; i < n; i++) {
    size_t skip = common_sections(word, names[i]);
    bool begins_alike = !strncmp(word + skip, names[i] + skip, 3);
    int most = most_edits(strlen(word + skip)) + begins_alike;
    bool same = !strcasecmp(word + skip, names[i] + skip);
    int d = same ? 0 : gr_text_distance(word + skip, names[i] + skip, most);
    if (d <= most && d < best) best = d, found = names[i];
  }
  return found;
}

gr_status gr_hint_near(gr_status s, const char *word, const char *const *names, int n) {
  const char *near = gr_text_nearest(word, names, n);
  return near ? gr_hint(s, "did you mean '%s'?", near) : s;
}

gr_status gr_hint_names(gr_status s, const char *before, const char *const *names, int n,
                        const char *after) {
  gr_arena *a = gr_arena_create();
  return gr_arena_end(a, gr_hint(s, "%s%s%s", before, gr_text_names(a, names, n), after));
}

const char *gr_text_names(gr_arena *a, const char *const *names, int n) {
  gr_text t = gr_text_make(a);
  for (int i = 0; i < n; i++) gr_text_printf(&t, "%s%s", i ? ", " : "", names[i]);
  return t.chars;
}

int gr_utf8_len(const char *text) {
  const unsigned char *s = (const unsigned char *)text;
  if (s[0] < 0x80) return 1;
  int n = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
          : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
          : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                        : 0;
  for (int i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
      (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
    return 0;
  return n;
}

bool gr_utf8_valid(const char *s) {
  for (int n; *s; s += n)
    if (!(n = gr_utf8_len(s))) return false;
  return true;
}

// Nearly all text is ASCII: it is passed over by eight bytes.
static const char *after_ascii(const char *cursor, const char *end) {
  for (uint64_t eight; end - cursor >= (int64_t)sizeof eight; cursor += sizeof eight) {
    memcpy(&eight, cursor, sizeof eight);
    if (eight & UINT64_C(0x8080808080808080)) break;
  }
  while (cursor < end && (unsigned char)*cursor < 0x80) cursor++;
  return cursor;
}

const char *gr_utf8_after(const char *text, const char *end) {
  for (int n; (text = after_ascii(text, end)) < end; text += n)
    if (!(n = gr_utf8_len(text))) break;
  return text;
}

uint32_t gr_utf8_code(const char *s, int len) {
  assert(len >= 1 && len <= 4);
  static const unsigned char lead[] = {0xff, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t code = (unsigned char)s[0] & lead[len];
  for (int i = 1; i < len; i++) code = code << 6 | ((unsigned char)s[i] & 0x3f);
  return code;
}

void gr_text_put_code(gr_text *t, uint32_t c) {
  assert(c <= 0x10ffff);
  static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  char s[4];
  for (int i = n; i-- > 1; c >>= 6) s[i] = (char)(0x80 | (c & 0x3f));
  s[0] = (char)(lead[n] | c);
  gr_text_putn(t, s, (size_t)n);
}

// Bidirectional embeddings, overrides and isolates (Unicode 15, UAX 9).
static bool changes_direction(uint32_t c) {
  return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

int gr_text_visible(const char *s, char out[GR_VISIBLE]) {
  assert(s);
  int n = gr_utf8_len(s);
  uint32_t c = n ? gr_utf8_code(s, n) : (unsigned char)*s;
  if (!n || (c < 32 && c != '\t') || c == 127)
    snprintf(out, GR_VISIBLE, "\\x%02x", c & 0xff);
  else if ((c >= 0x80 && c < 0xa0) || changes_direction(c))
    snprintf(out, GR_VISIBLE, "\\u%04x", c & 0xffff);
  else
    snprintf(out, GR_VISIBLE, "%.*s", n, s);
  return n ? n : 1;
}

void gr_print_line(FILE *f, const char *s, size_t len) {
  assert(s || !len);
  char out[GR_VISIBLE];
  for (size_t i = 0, plain = 0; i < len; plain = 0) {
    while (i + plain < len && s[i + plain] >= ' ' && s[i + plain] < 127) plain++;
    fwrite(s + i, 1, plain, f);
    if ((i += plain) == len) break;
    i += (size_t)gr_text_visible(s + i, out);
    fputs(out, f);
  }
}

void gr_print_lines(FILE *f, const char *s) {
  for (const char *end; *s; s = *end ? end + 1 : end) {
    end = s + strcspn(s, "\n");
    gr_print_line(f, s, (size_t)(end - s));
    if (*end) fputc('\n', f);
  }
}

FILE *gr_visible_begin(gr_visible_out *o) {
  *o = (gr_visible_out){0};
  FILE *f = open_memstream(&o->text, &o->len);
  return o->stream = f ? f : stdout;
}

void gr_visible_end(gr_visible_out *o) {
  if (o->stream == stdout) return;
  fclose(o->stream);
  if (o->text) gr_print_lines(stdout, o->text);
  free(o->text);
}

// Writes the fewest digits that parse back to x, as "-d.ddde-dd", and returns their number. A
// normal number's shorter forms are its 15-digit form without trailing zeros, so the search starts
// there; subnormal numbers have fewer significant digits, so theirs starts at one.
static int shortest(double x, char out[40]) {
  int n = isnormal(x) ? 15 : 1;
  do snprintf(out, 40, "%.*e", n - 1, x);
  while (strtod(out, NULL) != x && ++n <= 17);
  char *exponent = strchr(out, 'e'), *last = exponent;
  while (n > 1 && last[-1] == '0') last--, n--;
  if (last[-1] == '.') last--;
  memmove(last, exponent, strlen(exponent) + 1);
  return n;
}

// The least k <= 15 with x = n / 10^k and n < 10^15, or -1. n and 10^k are exact doubles, so their
// quotient is what the decimal parses to, and no other decimal of at most 15 digits parses to x.
static int decimals_of(double x, int64_t *n) {
  double scale = 1;
  for (int k = 0; k <= 15; k++, scale *= 10) {
    double whole = rint(x * scale);
    if (whole >= 1e15) break;
    if (whole / scale == x) return *n = (int64_t)whole, k;
  }
  return -1;
}

// Appends n / 10^k: as "d.d" from 1e-4 up to 1e15, below as "de-dd" or "d.de-dd".
static void put_decimal(gr_text *t, int64_t n, int k) {
  char digits[GR_DIGITS], exponent[GR_DIGITS];
  int len = (int)(gr_put_int(digits, n) - digits);
  if (len - 1 - k < -4) {
    gr_text_putn(t, digits, 1);
    if (len > 1) gr_text_put(t, "."), gr_text_put(t, digits + 1);
    gr_put_int(exponent, k + 1 - len);
    gr_text_put(t, k + 1 - len < 10 ? "e-0" : "e-"), gr_text_put(t, exponent);
    return;
  }
  int whole = len > k ? len - k : 0;
  gr_text_putn(t, whole ? digits : "0", whole ? (size_t)whole : 1);
  gr_text_put(t, ".");
  for (int i = len; i < k; i++) gr_text_put(t, "0");
  gr_text_put(t, k ? digits + whole : "0");
}

static void put_finite(gr_text *t, double x) {
  int64_t whole;
  int k = decimals_of(fabs(x), &whole);
  if (k >= 0) {
    if (signbit(x)) gr_text_put(t, "-");
    put_decimal(t, whole, k);
    return;
  }
  char digits[40];
  int n = shortest(x, digits), exponent = atoi(strchr(digits, 'e') + 1);
  if (x != 0 && (exponent < -4 || exponent >= 16))
    gr_text_put(t, digits);
  else
    gr_text_printf(t, "%.*f", n - exponent < 2 ? 1 : n - 1 - exponent, x);
}

// As Python's repr: the shortest digits, with an exponent below 1e-4 and from 1e16 on. Numbers
// recur, as those of an optimizer do for every weight: the texts of the last ones are kept.
void gr_text_put_float(gr_text *t, double x) {
  enum { KNOWN = 64 };
  static _Thread_local struct {
    double x;
    char text[40];
  } known[KNOWN], *k;
  if (isnan(x) || isinf(x)) {
    gr_text_put(t, isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
    return;
  }
  k = &known[gr_hash_quick(GR_HASH_START, &x, sizeof x) % KNOWN];
  if (!*k->text || memcmp(&k->x, &x, sizeof x) != 0) {
    size_t before = t->len;
    put_finite(t, x);
    if (t->len - before >= sizeof k->text) return;
    k->x = x, memcpy(k->text, t->chars + before, t->len - before + 1);
    return;
  }
  gr_text_put(t, k->text);
}

bool gr_ends_in(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && !strcmp(s + n - m, end);
}

// A file that is being read. Its memory is taken once, for the bytes that its status says: texts
// that grow piece by piece take twice as much, and what they have outgrown stays in the arena.
typedef struct reading {
  gr_arena *arena;
  int fd;
  char *text;
  size_t n, room;  // bytes that are read, and of text
} reading;

static void make_room(reading *r, size_t room) {
  char *text = gr_arena_take(r->arena, room);
  if (r->n) memcpy(text, r->text, r->n);
  r->text = text, r->room = room;
}

// Reads to the end, or to more than `most` bytes.
static gr_status read_all(reading *r, const char *path, size_t most) {
  enum { LONG = 1 << 20 };  // bytes: shorter files are read whatever comes
  for (ssize_t got = 1; got && r->n <= most;) {
    if (r->n + 1 == r->room) make_room(r, 2 * r->room);
    size_t left = r->room - 1 - r->n;
    got = read(r->fd, r->text + r->n, left < LONG ? left : LONG);
    if (got < 0 && errno != EINTR) return gr_fail_errno(GR_ERR_IO, errno, "cannot read '%s'", path);
    if (got > 0) r->n += (size_t)got;
    if (r->n > LONG) GR_TRY(gr_stop_check());
  }
  r->text[r->n] = 0;
  return GR_OK;
}

gr_status gr_file_read(gr_arena *a, const char *path, size_t most, char **out, size_t *out_len) {
  enum { LEAST = 4096, ENDS = 2 };  // room where a size is not known; for the end, and for a NUL
  struct stat st;
  reading r = {.arena = a};
  GR_TRY(gr_file_open(path, GR_ERR_IO, &r.fd));
  size_t size = fstat(r.fd, &st) || st.st_size < 0 ? 0 : (size_t)st.st_size;
  gr_status s = GR_OK;
  if (size <= most) make_room(&r, size ? size + ENDS : LEAST), s = read_all(&r, path, most);
  close(r.fd);
  if (s) return s;
  if (size > most || r.n > most)
    return gr_fail(GR_ERR_IO, GR_NOWHERE, "'%s' is larger than %zu bytes", path, most);
  *out = r.text;
  if (out_len) *out_len = r.n;
  return GR_OK;
}

static int by_bytes(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

const char **gr_list_dir(gr_arena *a, const char *path, int *out_n) {
  struct dirent **found;
  int n = scandir(path, &found, NULL, by_bytes);
  *out_n = 0;
  if (n < 0) return NULL;
  const char **names = GR_NEW(a, const char *, n + 1);
  for (int i = 0; i < n; free(found[i++]))
    if (strcmp(found[i]->d_name, ".") && strcmp(found[i]->d_name, ".."))
      names[(*out_n)++] = gr_arena_strdup(a, found[i]->d_name);
  free(found);
  return names;
}
