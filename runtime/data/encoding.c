// encoding.c - see encoding.h.
#include "runtime/data/encoding.h"
#include <string.h>

gr_status gr_encoding_check(const char *path, const char *text, size_t n, size_t *skip) {
  static const struct {
    const char *mark;
    size_t n;
    const char *name;
  } wide[] = {{"\xff\xfe\0\0", 4, "UTF-32"},
              {"\0\0\xfe\xff", 4, "UTF-32"},
              {"\xff\xfe", 2, "UTF-16"},
              {"\xfe\xff", 2, "UTF-16"}};
  *skip = n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    if (n >= wide[i].n && !memcmp(text, wide[i].mark, wide[i].n))
      return gr_hint(gr_fail(GR_ERR_DATA, (gr_loc){path, 1, 1},
                             "the file begins with the byte order mark of %s, and texts are UTF-8",
                             wide[i].name),
                     "iconv -f %s -t UTF-8 FILE > NEW converts it", wide[i].name);
  return GR_OK;
}
