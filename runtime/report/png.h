// png.h - images as PNG files, without a library.
#pragma once
#include "base/text.h"

// Appends a PNG file (RFC 2083) of bytes [height, width, channels], 1: gray, or 3: RGB; stored, not
// compressed. Both sides are at least 1.
void gr_png_put(gr_text *, int64_t height, int64_t width, int channels, const unsigned char *);
