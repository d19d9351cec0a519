// new_symbols.h - the symbols of transcripts, which a recogniser writes.
#pragma once
#include "base/text.h"

// Appends the symbols of all transcripts of a manifest's text, which it changes, in the order of
// their codes.
void gr_new_put_symbols(gr_arena *, char *manifest, gr_text *out);
