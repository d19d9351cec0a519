// steps.h - the steps of normalisers and metrics (text.h), with their rules compiled by PCRE2.
#pragma once
#include "runtime/text/text.h"

typedef struct gr_text_steps gr_text_steps;
// *out is in the arena. Close it in any case.
GR_MUST_USE gr_status gr_text_steps_open(gr_arena *, const gr_text_step *,
                                         const gr_normaliser_options *, gr_text_steps **out);
void gr_text_steps_close(gr_text_steps *);  // NULL is fine
// Does all of them to valid UTF-8; *out is in the arena. GR_ERR_DATA: a rule takes too much.
GR_MUST_USE gr_status gr_text_steps_run(const gr_text_steps *, gr_arena *, const char *text,
                                        const char **out);
