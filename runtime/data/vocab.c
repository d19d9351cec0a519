// vocab.c - see vocab.h.
#include "runtime/data/vocab.h"
#include <locale.h>
#include <pthread.h>
#include <string.h>
#include <wctype.h>
#include "base/file.h"
#include "base/grow.h"
#include "base/port.h"
#include "base/stop.h"
#include "runtime/data/encoding.h"

static const char BLANK[] = "<blank>";
enum { MAX_BYTES = 1 << 26 };

typedef struct list {
  gr_arena *arena;
  const char **items;
  uint32_t n, cap;
} list;

static void put(list *l, const char *symbol) {
  GR_GROW(l->arena, l->items, l->n, l->cap);
  l->items[l->n++] = symbol;
}

// Inserts the blank if the list has none, and builds the index.
static gr_status vocab_finish(list *l, int32_t blank, gr_loc loc, gr_vocab *out) {
  bool has = false;
  for (uint32_t i = 0; i < l->n; i++) has = has || !strcmp(l->items[i], BLANK);
  if (!has) {
    if (blank < -1 || blank > (int32_t)l->n)
      return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                                      "the blank cannot be symbol %d of %u: they count from 0",
                                      blank, l->n + 1),
                              "blank"),
                     "from 0 to %u, or -1 for the last", l->n);
    uint32_t position = blank < 0 ? l->n : (uint32_t)blank;
    put(l, BLANK);
    memmove(l->items + position + 1, l->items + position, (l->n - 1 - position) * sizeof *l->items);
    l->items[position] = BLANK;
  }
  if (l->n < 2)
    return gr_hint(gr_about(gr_fail(GR_ERR_CONFIG, loc, "the vocabulary has no symbols"), "vocab"),
                   "the characters of the transcripts, or a file with one symbol on a line");
  *out = (gr_vocab){.symbols = l->items, .n = (int32_t)l->n, .index = gr_map_make(l->arena)};
  for (uint32_t i = 0; i < l->n; i++) {
    size_t len = strlen(l->items[i]);
    gr_map_put(&out->index, l->items[i], i);
    if (!strcmp(l->items[i], BLANK))
      out->blank = (int32_t)i;
    else if (len > out->longest)
      out->longest = len;
  }
  if (has && blank >= 0 && blank != out->blank)
    return gr_hint(
        gr_about(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                         "the vocabulary has <blank> as symbol %d, not %d", out->blank, blank),
                 "blank"),
        "%d or -1, or take the line <blank> out of the file", out->blank);
  return GR_OK;
}

static gr_status add_line(list *l, gr_map *seen, gr_loc loc, const char *line, size_t len) {
  uint32_t before;
  if (len && line[len - 1] == '\r') len--;
  if (!len)
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "an empty line is not a symbol"),
                   "the space is a line of one space, or <space>");
  const char *symbol = gr_arena_strndup(l->arena, line, len);
  if (strlen(symbol) != len)
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "a symbol holds a zero byte"),
                   "a vocabulary is text in UTF-8, one symbol on a line");
  if (!strcmp(symbol, "<space>")) symbol = " ";
  for (size_t i = 0, n; i < len && symbol[i]; i += n)
    if (!(n = (size_t)gr_utf8_len(symbol + i)))
      return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "the symbol '%s' is not UTF-8", symbol),
                     "a vocabulary is text in UTF-8, one symbol on a line");
  if (gr_map_find(seen, symbol, &before))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, loc, "the symbol '%s' is already on line %u", symbol, before),
        "take one of them out");
  gr_map_put(seen, symbol, (uint32_t)loc.line);
  put(l, symbol);
  return GR_OK;
}

static gr_status no_file(const char *path) {
  const char *kind = gr_file_kind(path);
  if (kind)
    return gr_hint(gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE,
                                    "cannot read the vocabulary file '%s': it is %s", path, kind),
                            "vocab"),
                   "only regular files are read");
  return gr_hint(
      gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no vocabulary file '%s'", path), "vocab"),
      "the path of a file with one symbol on a line, or the symbols themselves, each once; symbols "
      "that look like a path go into a file");
}

gr_status gr_vocab_read(gr_arena *a, const char *path, int32_t blank, gr_vocab *out) {
  char *text;
  size_t len;
  if (!gr_is_file(path)) return no_file(path);
  GR_TRY(gr_about(gr_note(gr_file_read(a, path, MAX_BYTES, &text, &len), GR_NOWHERE,
                          "while reading the vocabulary"),
                  "vocab"));
  list l = {.arena = a};
  gr_map seen = gr_map_make(a);
  gr_loc loc = {path, 1, 1};
  size_t mark = 0;
  GR_TRY(gr_encoding_check(path, text, len, &mark));
  for (const char *p = text + mark, *end = text + len; p < end; loc.line++) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    if (!stop) stop = end;
    GR_TRY(add_line(&l, &seen, loc, p, (size_t)(stop - p)));
    p = stop + 1;
  }
  return vocab_finish(&l, blank, (gr_loc){path, 1, 1}, out);
}

// Whether the string is the path of a missing file and not a list of symbols: "vocab/chars.txt".
static bool is_path(const char *s) {
  const char *slash = strrchr(s, '/'), *dot = strrchr(slash ? slash : s, '.');
  size_t ending = dot ? strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz0123456789") : 0;
  bool ends = ending && ending <= 6 && !dot[1 + ending] && !strchr(s, ' ');
  return ends || *s == '/' || !strncmp(s, "./", 2) || !strncmp(s, "../", 3);
}

static gr_status twice(const char *symbols, const char *symbol) {
  if (strchr(symbols, '/')) return no_file(symbols);
  return gr_hint(
      gr_about(
          gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "the vocabulary '%s' has '%s' twice", symbols, symbol),
          "vocab"),
      "each symbol once, or the path of a file with one on a line: there is no file '%s'", symbols);
}

gr_status gr_vocab_make(gr_arena *a, const char *symbols, int32_t blank, gr_vocab *out) {
  list l = {.arena = a};
  gr_map seen = gr_map_make(a);
  if (is_path(symbols)) return no_file(symbols);
  for (const char *p = symbols; *p;) {
    int n = gr_utf8_len(p);
    if (!n)
      return gr_about(
          gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "the vocabulary '%s' is not UTF-8", symbols), "vocab");
    const char *symbol = gr_arena_strndup(a, p, (size_t)n);
    if (gr_map_find(&seen, symbol, NULL)) return twice(symbols, symbol);
    gr_map_put(&seen, symbol, 0);
    put(&l, symbol);
    p += n;
  }
  return vocab_finish(&l, blank, GR_NOWHERE, out);
}

void gr_vocab_decode(const gr_vocab *v, const int32_t *ids, size_t n, gr_text *out) {
  for (size_t i = 0; i < n; i++) {
    if (ids[i] == v->blank) continue;
    if (ids[i] < 0 || ids[i] >= v->n)
      gr_text_put_code(out, 0xfffd);
    else
      gr_text_put(out, v->symbols[ids[i]]);
  }
}

// The longest symbol at s, or -1. *len is its length in bytes.
static int32_t match(const gr_vocab *v, const char *s, size_t *len) {
  char part[256];
  size_t most = strnlen(s, v->longest < sizeof part ? v->longest : sizeof part - 1);
  for (size_t n = most; n > 0; n--) {
    uint32_t id;
    memcpy(part, s, n);
    part[n] = 0;
    if (gr_map_find(&v->index, part, &id) && (int32_t)id != v->blank) {
      *len = n;
      return (int32_t)id;
    }
  }
  return -1;
}

void gr_vocab_encode(gr_arena *a, const gr_vocab *v, const char *text, bool drop, int32_t **out,
                     int32_t *n, const char **bad) {
  *out = GR_NEW(a, int32_t, strlen(text) + 1);
  *n = 0;
  *bad = NULL;
  for (const char *p = text; *p && !gr_stop_due();) {
    size_t len;
    int32_t id = match(v, p, &len);
    if (id >= 0) {
      (*out)[(*n)++] = id;
      p += len;
      continue;
    }
    if (!drop) {
      *bad = p;
      return;
    }
    int skip = gr_utf8_len(p);
    p += skip ? skip : 1;
  }
}

// Case conversion follows Unicode regardless of the user's locale; without C.UTF-8 only ASCII
// letters are converted. The locale is loaded once, since loading reads files.
static locale_t unicode;
static pthread_once_t unicode_once = PTHREAD_ONCE_INIT;
static void load_unicode(void) { unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", NULL); }

static uint32_t change_case(gr_letters letters, uint32_t c) {
  if (letters == GR_LETTERS_KEEP) return c;
  if (c < 128) {
    if (letters == GR_LETTERS_UPPER) return c >= 'a' && c <= 'z' ? c - 32 : c;
    return c >= 'A' && c <= 'Z' ? c + 32 : c;
  }
  pthread_once(&unicode_once, load_unicode);
  if (!unicode) return c;
  return (uint32_t)(letters == GR_LETTERS_UPPER ? towupper_l((wint_t)c, unicode)
                                                : towlower_l((wint_t)c, unicode));
}

static bool holds(const char *set, const char *symbol, int len) {
  for (const char *p = set; p && *p;) {
    int n = gr_utf8_len(p);
    if (!n) n = 1;
    if (n == len && !memcmp(p, symbol, (size_t)n)) return true;
    p += n;
  }
  return false;
}

static bool is_blank(const char *p, int len) {
  return (len == 1 && strchr(" \t\n\v\f\r", *p)) || (len == 2 && !memcmp(p, "\xc2\xa0", 2));
}

bool gr_text_gives(const gr_text_rules *rules, const char *symbol) {
  bool space = false;
  for (const char *p = symbol; *p;) {
    int n = gr_utf8_len(p), len = n ? n : 1;
    bool blank = is_blank(p, len);
    if (blank ? space || *p != ' ' : holds(rules->spaces, p, len) || holds(rules->drops, p, len))
      return false;
    if (n && change_case(rules->letters, gr_utf8_code(p, n)) != gr_utf8_code(p, n)) return false;
    space = blank;
    p += len;
  }
  return true;
}

char *gr_text_normalise(gr_arena *a, const gr_text_rules *rules, const char *text) {
  gr_text out = gr_text_make(a);
  bool space = false;
  for (const char *p = text; *p;) {
    int n = gr_utf8_len(p), len = n ? n : 1;
    if (is_blank(p, len) || holds(rules->spaces, p, len)) {
      space = true;
    } else if (!holds(rules->drops, p, len)) {
      if (space && out.len) gr_text_put(&out, " ");
      space = false;
      if (n)
        gr_text_put_code(&out, change_case(rules->letters, gr_utf8_code(p, n)));
      else
        gr_text_putn(&out, p, 1);
    }
    p += len;
  }
  return out.chars;
}
