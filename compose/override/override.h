// override.h - parses a command-line argument in the override grammar of Hydra 1.3: key=value,
// +key=value, ++key=value, ~key, group=option, key=1,2,3.
#pragma once
#include "compose/tree/conf.h"

typedef enum gr_sweep_kind {
  GR_SWEEP_SIMPLE,    // a,b,c
  GR_SWEEP_CHOICE,    // choice(a,b,c)
  GR_SWEEP_RANGE,     // range(start,stop,step)
  GR_SWEEP_INTERVAL,  // interval(start,stop)
  GR_SWEEP_GLOB,      // glob(include,exclude)
} gr_sweep_kind;

// Several values for one key, each for a run of its own.
typedef struct gr_sweep {
  gr_sweep_kind kind;
  gr_conf *list;                 // SIMPLE, CHOICE: the values; GLOB: what to include
  gr_conf *exclude;              // GLOB
  gr_conf *start, *stop, *step;  // RANGE, INTERVAL: numbers
  bool shuffle;
  const char **tags;  // sorted, without duplicates
  int n_tags;
} gr_sweep;

// Exactly one of the two is set. Unlike in configurations, maps may have null keys here (key_kind
// GR_CONF_MISSING).
typedef struct gr_override_value {
  gr_conf *one;
  gr_sweep *many;
} gr_override_value;

typedef enum gr_override_kind {
  GR_OVERRIDE_CHANGE,  // key=value
  GR_OVERRIDE_ADD,     // +key=value
  GR_OVERRIDE_FORCE,   // ++key=value
  GR_OVERRIDE_DELETE,  // ~key, ~key=value
} gr_override_kind;

typedef struct gr_override {
  gr_override_kind kind;
  const char *key;      // "training.lr", "db", "hydra/launcher"
  const char *package;  // after '@'; NULL: none
  const char *element;  // prefix, key and package as written: "+db@backup"
  bool has_value;       // false only for ~key without a value
  gr_override_value value;
  const char *line;  // the whole argument
  gr_loc loc, value_loc;
} gr_override;

// Parses argument `number` (from 1, for locations). `line` is borrowed.
GR_MUST_USE gr_status gr_override_parse(gr_arena *, const char *line, int number, gr_override *out);
// Whether a value comes from the command line, by its location.
bool gr_override_is_place(gr_loc);
// Parses the text after '='. `loc` is the location of its first character.
GR_MUST_USE gr_status gr_value_parse(gr_arena *, const char *text, gr_loc loc,
                                     gr_override_value *out);

// Writes a value so that gr_value_parse reads the same value.
void gr_value_write(gr_text *, const gr_conf *);
// The argument that sets a key to a text, such as a path, whatever characters it has. `element` is
// the key with its prefix, as "++output.dir". In the arena.
char *gr_override_of_text(gr_arena *, const char *element, const char *text);

// The values of a sweep as a list. `options` are the group's options, for globs. Fails for
// intervals, which have no list of values.
GR_MUST_USE gr_status gr_sweep_list(gr_arena *, const gr_sweep *, gr_loc,
                                    const char *const *options, int n_options, gr_conf **out);
// Shuffles a list: in the same way for the same `step`.
void gr_sweep_shuffle(gr_arena *, gr_conf *list, uint64_t step);

// ---- For the parser: functions of the grammar (functions.c) --------------------------
typedef struct gr_argument {
  const char *name;  // NULL: by position
  gr_override_value value;
} gr_argument;
// Calls a function of the grammar with n arguments. The location is the call's.
GR_MUST_USE gr_status gr_function_call(gr_arena *, const char *name, const gr_argument *, int n,
                                       gr_loc, gr_override_value *out);
