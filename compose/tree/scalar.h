// scalar.h - which type a plain YAML scalar has: YAML 1.1 as PyYAML reads it, with OmegaConf's
// floats and without timestamps.
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
  GR_SCALAR_TIME,   // only with omega = false
} gr_scalar_kind;

// omega: OmegaConf's loader; otherwise PyYAML's own rules, which decide what a writer quotes.
gr_scalar_kind gr_scalar_resolve(const char *text, bool omega);

// Sets kind and value of the node. Fails where the text is not of the type or does not fit:
// integers are 64 bits.
GR_MUST_USE gr_status gr_scalar_set(gr_arena *, gr_conf *node, gr_scalar_kind, const char *text);

// The same by a tag: "tag:yaml.org,2002:int", or "!".
GR_MUST_USE gr_status gr_scalar_tagged(gr_arena *, gr_conf *node, const char *tag,
                                       const char *text);
GR_MUST_USE gr_status gr_scalar_bad_tag(const gr_conf *node, const char *tag);

// Python's float(text) and int(text), underscores and spaces around included; false: not one.
bool gr_scalar_py_float(const char *text, double *out);
bool gr_scalar_py_int(const char *text, int64_t *out);
