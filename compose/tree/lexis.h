// lexis.h - tokens that the grammars of overrides and interpolations share: names, numbers,
// escapes. Each function except gr_lexis_type returns the length of the longest match at the start
// of the text; 0: no match.
#pragma once
#include "compose/tree/conf.h"

size_t gr_lexis_name(const char *);   // [A-Za-z_][A-Za-z0-9_-]*
size_t gr_lexis_int(const char *);    // [+-]?(0|[1-9](_?[0-9])*)
size_t gr_lexis_float(const char *);  // with a point or exponent; inf and nan in any case
size_t gr_lexis_escape(const char *, const char *set);  // one or more of \c with c in set
size_t gr_lexis_space(const char *);                    // spaces and tabs

// Types a word that is a whole value: null, true or false in any case, a number, or a string.
GR_MUST_USE gr_status gr_lexis_type(gr_arena *, gr_conf *node, const char *word);
