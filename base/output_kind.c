// output_kind.c - see output_kind.h.
#include "base/output_kind.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 64, MARK = 4 };  // bytes: that are looked at; by which texts are told apart

// Arrays begin with lengths, whose high bytes are 0.
static bool is_text(const char *begin, size_t n) {
  for (size_t i = 0; i < n && i < HEAD; i++)
    if ((unsigned char)begin[i] < ' ' && !strchr("\t\r\n", begin[i])) return false;
  return n > 0 && memchr(begin, 0, n < HEAD ? n : HEAD) == NULL;
}

bool gr_output_is_other_kind(int dir, const char *name, const char *begin, size_t bytes) {
  char old[HEAD];
  int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, old, sizeof old);
  if (fd >= 0) close(fd);
  if (n <= 0 || !bytes) return false;
  bool text = is_text(begin, bytes);
  if (text != is_text(old, (size_t)n)) return true;
  size_t both = (size_t)n < bytes ? (size_t)n : bytes;
  return text && memcmp(old, begin, both < MARK ? both : MARK) != 0;
}
