// nvrtc.h - what the files of the stand-in compiler share.
#pragma once
#include <stddef.h>

typedef struct text {  // grows; `p` is terminated once something was put
  char *p;
  size_t n;
} text;
// Appends n bytes.
void text_put(text *, const char *p, size_t n);
// Appends a text.
void text_puts(text *, const char *);

// Replaces the markers of device.hpp in preprocessed source, which it changes, and appends the
// table of its extern "C" kernels.
void nvrtc_rewrite(char *in, text *out);
