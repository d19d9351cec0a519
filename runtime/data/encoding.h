// encoding.h - how the text files of data are encoded.
#pragma once
#include "base/status.h"

// The number of bytes before the text of a file: 3 of a byte order mark of UTF-8, else 0. Fails
// with GR_ERR_DATA at the first line of what begins with a mark of UTF-16 or UTF-32.
GR_MUST_USE gr_status gr_encoding_check(const char *path, const char *text, size_t n, size_t *skip);
