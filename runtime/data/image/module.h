// module.h - the table of the modules "png" and "jpeg" (base/module.h).
#pragma once
#include "runtime/data/image/picture.h"

// As gr_picture_decode, of files of its kind; out NULL: only the head is read and checked.
typedef struct gr_picture_module {
  gr_status (*decode)(const char *path, const unsigned char *bytes, size_t n,
                      const gr_picture_use *, gr_picture *out);
} gr_picture_module;
