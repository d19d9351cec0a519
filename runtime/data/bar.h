// bar.h - a bar of '#' as long as a share, for tables on a terminal.
#pragma once
#include "base/text.h"

enum { GR_BAR_COLUMNS = 40 };

// n of `most`, and the end of the line.
static inline void gr_text_bar(gr_text *out, uint64_t n, uint64_t most) {
  for (uint64_t i = 0; most && i < (n * GR_BAR_COLUMNS + most - 1) / most; i++)
    gr_text_put(out, "#");
  gr_text_put(out, "\n");
}
