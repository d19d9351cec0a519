// scalar.h - types of plain YAML scalars: YAML 1.1 as PyYAML reads it, with OmegaConf's floats and
// without timestamps.
#pragma once
#include "compose/tree/conf.h"

typedef enum gr_scalar_kind {
  GR_SCALAR_TEXT,
  GR_SCALAR_NULL,
  GR_SCALAR_BOOL,
  GR_SCALAR_INT,
  GR_SCALAR_FLOAT,
  GR_SCALAR_MERGE,  // <<
  GR_SCALAR_VALUE,  // =
  GR_SCALAR_TIME,   // a timestamp; only with omega = false
} gr_scalar_kind;

// The type of a plain scalar. omega: by the rules of OmegaConf's loader; otherwise by PyYAML's own,
// which decide what its writer quotes.
gr_scalar_kind gr_scalar_resolve(const char *text, bool omega);

// Sets kind and value of the node. Fails when the text is not of that type or an integer exceeds 64
// bits.
GR_MUST_USE gr_status gr_scalar_set(gr_arena *, gr_conf *node, gr_scalar_kind, const char *text);

// The same for a scalar with a tag: "tag:yaml.org,2002:int", or "!".
GR_MUST_USE gr_status gr_scalar_tagged(gr_arena *, gr_conf *node, const char *tag,
                                       const char *text);
// The error for an unknown tag, at the node's location.
GR_MUST_USE gr_status gr_scalar_bad_tag(const gr_conf *node, const char *tag);

// Appends a float as Python's str() has it: "1.0", "nan", "-inf".
void gr_scalar_py_put(gr_text *, double);
// Python's float(text) and int(text), which accept underscores and surrounding white space; false:
// the text is not a number.
bool gr_scalar_py_float(const char *text, double *out);
bool gr_scalar_py_int(const char *text, int64_t *out);  // false beyond 64 bits, too
