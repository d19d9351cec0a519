// functions.h - internals of the functions in Hydra's override grammar: calls, casts and handlers.
#pragma once
#include "compose/override/override.h"

enum { GR_MAX_PARAMETERS = 4 };

// A call with its arguments bound to parameters.
typedef struct gr_call {
  gr_arena *arena;
  const char *name;
  gr_loc loc;
  const gr_override_value *rest;  // positional arguments of a variadic function
  int n_rest;
  const gr_override_value *by[GR_MAX_PARAMETERS];  // by parameter; NULL: not given
} gr_call;

typedef enum gr_cast { GR_CAST_INT, GR_CAST_FLOAT, GR_CAST_STR, GR_CAST_BOOL } gr_cast;

// The error "NAME(...): what", at the call's location.
GR_MUST_USE gr_status gr_call_wrong(const gr_call *, const char *what);
// Converts a value, and the elements of a list or map, as Hydra's cast functions do. Fails when
// that is not possible.
GR_MUST_USE gr_status gr_call_cast(const gr_call *, const gr_conf *, gr_cast, gr_conf **out);
gr_override_value gr_call_simple(const gr_call *);  // the positional arguments as a sweep a,b,c
bool gr_call_any_sweep(const gr_call *);            // whether a positional argument is a sweep

int64_t gr_call_integer(const gr_conf *);  // of an integer or a bool, which is 0 or 1

// The functions, by name. Each reads the arguments of the call and sets *out; errors are
// GR_ERR_USAGE.
GR_MUST_USE gr_status gr_function_int(const gr_call *, gr_override_value *out);
GR_MUST_USE gr_status gr_function_float(const gr_call *, gr_override_value *out);  // float(x)
GR_MUST_USE gr_status gr_function_str(const gr_call *, gr_override_value *out);    // str(x)
GR_MUST_USE gr_status gr_function_bool(const gr_call *, gr_override_value *out);   // bool(x)
// Choice(a,b,...).
GR_MUST_USE gr_status gr_function_choice(const gr_call *, gr_override_value *out);
// Glob(include,exclude).
GR_MUST_USE gr_status gr_function_glob(const gr_call *, gr_override_value *out);
// Interval(start,end).
GR_MUST_USE gr_status gr_function_interval(const gr_call *, gr_override_value *out);
// Range(start,stop,step).
GR_MUST_USE gr_status gr_function_range(const gr_call *, gr_override_value *out);
// Of a sweep or list.
GR_MUST_USE gr_status gr_function_shuffle(const gr_call *, gr_override_value *out);
// Of a sweep or list.
GR_MUST_USE gr_status gr_function_sort(const gr_call *, gr_override_value *out);
// Tag(names, sweep).
GR_MUST_USE gr_status gr_function_tag(const gr_call *, gr_override_value *out);
