// encoding.h - how the text files of data are encoded.
#pragma once
#include "base/arena.h"

// The number of bytes before the text of a file: 3 of a byte order mark of UTF-8, else 0. Fails
// with GR_ERR_DATA at the first line of what begins with a mark of UTF-16 or UTF-32.
GR_MUST_USE gr_status gr_encoding_check(const char *path, const char *text, size_t n, size_t *skip);
// Makes the n bytes of a file, which a NUL follows, UTF-8 without a byte order mark, in the arena
// or in place. *encoding is what iconv calls it; NULL: UTF-8; "": as a byte order mark says, else
// UTF-8 where all of it is, else WINDOWS-1252, and becomes what it was: NULL for UTF-8. What has a
// zero byte and no mark is left as it is. GR_ERR_DATA at the first byte that the encoding has not.
GR_MUST_USE gr_status gr_encoding_convert(gr_arena *, const char *path, char **text, size_t *n,
                                          const char **encoding);
