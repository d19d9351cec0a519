// interp.h - interpolations ${a.b}, ${.sibling}, ${oc.env:HOME,x} in the grammar of OmegaConf 2.3:
// parsing them to expressions, and evaluating those.
#pragma once
#include "compose/tree/conf.h"

typedef enum gr_expr_kind {
  GR_EXPR_VALUE,  // a typed word or a piece of a string: `value`
  GR_EXPR_JOIN,   // concatenation of kids; a string unless it is one unquoted kid
  GR_EXPR_NODE,   // ${..a.b[c]}: kids are the pieces of the path
  GR_EXPR_CALL,   // ${name:args}: `name` is a JOIN, kids are the arguments
  GR_EXPR_LIST,
  GR_EXPR_MAP,  // kids are the values, `keys` the keys
} gr_expr_kind;

typedef struct gr_expr gr_expr;
struct gr_expr {
  gr_expr_kind kind;
  bool quoted;
  gr_conf *value;
  gr_expr *name;
  gr_expr **kids;
  gr_conf **keys;
  int n, cap;
};

// Parses a text that contains ${. The location is for errors.
GR_MUST_USE gr_status gr_expr_parse(gr_arena *, const char *text, gr_loc, gr_expr **out);
// Parses all interpolations of a tree, only to report their errors.
GR_MUST_USE gr_status gr_expr_check(gr_arena *, const gr_conf *);
// Parses one element of the grammar, as oc.decode does: "[1, 2]", "a", "3.5".
GR_MUST_USE gr_status gr_expr_parse_element(gr_arena *, const char *text, gr_loc, gr_expr **out);

// ---- Values ----------------------------------------------------------------------
typedef struct gr_resolver {
  gr_arena *arena;
  gr_conf *root;
  gr_conf *hydra;                  // for ${hydra:...}; or NULL
  bool (*known)(const char *key);  // see gr_compose_request; or NULL
  bool partial;                    // the tree is incomplete: a missing key is not an error
  bool absent;                     // a key was missing
  bool env;                        // the value contains an environment variable
  bool secret;                     // ... that is set: errors must not show it
  int depth;                       // nesting of interpolations that refer to each other
  int copied;                      // number of nodes that interpolations have copied
  size_t bytes;                    // bytes of strings that interpolations have produced
} gr_resolver;

// Evaluates the interpolation in `holder`; relative keys are relative to its position in the tree.
// *out is a node of the tree (not a copy) or a new one.
GR_MUST_USE gr_status gr_interp_value(gr_resolver *, gr_conf *holder, gr_conf **out);
// The value at a path ("a.b", "..c", "l[0]") relative to a map or list; *out is NULL when there is
// none. Interpolations along the path and at its end are followed.
GR_MUST_USE gr_status gr_interp_select(gr_resolver *, gr_conf *base, const char *path,
                                       const gr_conf *holder, gr_conf **out);
// Calls a resolver by name (resolvers.c). `holder` is the node with the interpolation.
GR_MUST_USE gr_status gr_interp_call(gr_resolver *, const char *name, gr_conf **args, int n,
                                     gr_conf *holder, gr_conf **out);
// Evaluates a parsed expression for the node that contains it.
GR_MUST_USE gr_status gr_interp_eval(gr_resolver *, const gr_expr *, gr_conf *holder,
                                     gr_conf **out);

// Appends Python's str() of a value, which is what an interpolation inside a string inserts.
void gr_conf_py_str(gr_text *, const gr_conf *);

// Replaces every interpolation in the tree by its value. Cycles, missing keys and unknown resolvers
// are errors that name the key that contains them. whole: false when the tree is incomplete because
// of earlier errors; then an interpolation that refers to a missing key is left unchanged.
GR_MUST_USE gr_status gr_conf_resolve(gr_arena *, gr_conf *root, bool whole);
