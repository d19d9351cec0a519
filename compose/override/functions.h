// functions.h - functions of the override grammar: what their files share. Internal.
#pragma once
#include "compose/override/override.h"

enum { GR_MAX_PARAMETERS = 4 };

// A call with its arguments sorted out: those by position where the function takes any number of
// them, the others by parameter.
typedef struct gr_call {
  gr_arena *arena;
  const char *name;
  gr_loc at;
  const gr_override_value *rest;
  int n_rest;
  const gr_override_value *by[GR_MAX_PARAMETERS];  // NULL: not given
} gr_call;

typedef enum gr_cast { GR_CAST_INT, GR_CAST_FLOAT, GR_CAST_STR, GR_CAST_BOOL } gr_cast;

GR_MUST_USE gr_status gr_call_wrong(const gr_call *, const char *what);
GR_MUST_USE gr_status gr_call_cast(const gr_call *, const gr_conf *, gr_cast, gr_conf **out);
gr_override_value gr_call_simple(const gr_call *);  // the arguments by position as a,b,c
bool gr_call_any_sweep(const gr_call *);            // one of them is a sweep

// Numbers and truths, and what they are worth.
bool gr_call_is_number(const gr_conf *);
bool gr_call_is_text(const gr_conf *);
double gr_call_number(const gr_conf *);
int64_t gr_call_integer(const gr_conf *);

GR_MUST_USE gr_status gr_function_int(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_float(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_str(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_bool(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_choice(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_glob(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_interval(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_range(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_shuffle(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_sort(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_tag(const gr_call *, gr_override_value *out);
