// encoding.c - see encoding.h.
#include "runtime/data/encoding.h"
#include <iconv.h>
#include <string.h>
#include "base/text.h"

// The encoding whose byte order mark a text begins with; NULL: there is none.
static const char *marked(const char *text, size_t n) {
  static const struct {
    const char *mark;
    size_t n;
    const char *name;
  } wide[] = {{"\xff\xfe\0\0", 4, "UTF-32"},
              {"\0\0\xfe\xff", 4, "UTF-32"},
              {"\xff\xfe", 2, "UTF-16"},
              {"\xfe\xff", 2, "UTF-16"}};
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    if (n >= wide[i].n && !memcmp(text, wide[i].mark, wide[i].n)) return wide[i].name;
  return NULL;
}

gr_status gr_encoding_check(const char *path, const char *text, size_t n, size_t *skip) {
  const char *name = marked(text, n);
  *skip = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
  if (!name) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, (gr_loc){path, 1, 1},
              "the file begins with the byte order mark of %s, and texts are UTF-8", name),
      "iconv -f %s -t UTF-8 FILE > NEW converts it", name);
}

// What is converted so far says the place.
static gr_status not_in(const char *path, const char *text, const char *end, unsigned char byte,
                        const char *encoding) {
  gr_loc loc = {path, 1, 1};
  for (const char *c = text; c < end; c++, loc.col++)
    if (*c == '\n') loc.line++, loc.col = 0;
  return gr_hint(gr_fail(GR_ERR_DATA, loc, "the byte 0x%02x, or the end of the file, is not %s",
                         (unsigned)byte, encoding),
                 "`iconv -f ENCODING -t UTF-8 <%s >NEW` converts a file of another encoding", path);
}

static gr_status convert(gr_arena *a, const char *path, const char *encoding, char **text,
                         size_t *n) {
  iconv_t c = iconv_open("UTF-8", encoding);
  size_t room = 3 * *n + 4, left = *n;
  char *source = *text, *out = gr_arena_alloc(a, room + 1), *end = out;
  if (c == (iconv_t)-1)
    return gr_hint(
        gr_fail(GR_ERR_DATA, (gr_loc){path, 1, 1}, "this system does not know %s", encoding),
        "`iconv -l` lists what it knows");
  bool bad = iconv(c, &source, &left, &end, &room) == (size_t)-1;
  iconv_close(c);
  if (bad) return not_in(path, out, end, (unsigned char)*source, encoding);
  *end = 0, *text = out, *n = (size_t)(end - out);
  return GR_OK;
}

gr_status gr_encoding_convert(gr_arena *a, const char *path, char **text, size_t *n,
                              const char **encoding) {
  size_t mark = 0;
  bool find = *encoding && !**encoding;
  if (find) *encoding = marked(*text, *n);
  if (find && !*encoding && !memchr(*text, 0, *n) && gr_utf8_after(*text, *text + *n) < *text + *n)
    *encoding = "WINDOWS-1252";
  if (*encoding) GR_TRY(convert(a, path, *encoding, text, n));
  GR_TRY(gr_encoding_check(path, *text, *n, &mark));
  *text += mark, *n -= mark;
  return GR_OK;
}
