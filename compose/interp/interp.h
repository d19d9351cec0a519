// interp.h - interpolations: ${a.b}, ${.sibling}, ${oc.env:HOME,x}, in OmegaConf's grammar,
// parsed here into expressions.
#pragma once
#include "compose/tree/conf.h"

typedef enum gr_expr_kind {
  GR_EXPR_VALUE,  // a typed word or a piece of text: `value`
  GR_EXPR_JOIN,   // pieces; more than one make a text, and one that was quoted
  GR_EXPR_NODE,   // ${..a.b[c]}: `dots` up, then pieces that make the path
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

// Parses a text that holds ${. The place is for errors.
GR_MUST_USE gr_status gr_expr_parse(gr_arena *, const char *text, gr_loc, gr_expr **out);
// Parses all interpolations of a tree, for their errors.
GR_MUST_USE gr_status gr_expr_check(gr_arena *, const gr_conf *);
// Parses one argument, as oc.decode does: "[1, 2]", "a", "3.5".
GR_MUST_USE gr_status gr_expr_parse_element(gr_arena *, const char *text, gr_loc, gr_expr **out);

// ---- Values ----------------------------------------------------------------------
typedef struct gr_resolver {
  gr_arena *arena;
  gr_conf *root;
  gr_conf *hydra;                  // for ${hydra:...}; or NULL
  bool (*known)(const char *key);  // see gr_compose_request; or NULL
  bool partial;                    // what is not there may be in what was left out
  bool absent;                     // something was not there
  bool env;                        // a variable of the environment was read, or what holds one
  int depth;                       // of interpolations that need each other
  int copied;                      // nodes that interpolations have copied
  size_t bytes;                    // of text that interpolations have made
} gr_resolver;

// The value of an interpolation: a node of the tree (not a copy) or a new one. The holder is the
// node whose text it is; its place in the tree decides what relative keys mean.
GR_MUST_USE gr_status gr_interp_value(gr_resolver *, gr_conf *holder, gr_conf **out);
// The value at a path ("a.b", "..c", "l[0]") seen from a map or list; *out is NULL where there
// is none. Interpolations on the way and at the end are followed.
GR_MUST_USE gr_status gr_interp_select(gr_resolver *, gr_conf *from, const char *path,
                                       const gr_conf *holder, gr_conf **out);
// Calls a resolver by name (resolvers.c). `at` is the holder, its parent is the context.
GR_MUST_USE gr_status gr_interp_call(gr_resolver *, const char *name, gr_conf **args, int n,
                                     gr_conf *at, gr_conf **out);
GR_MUST_USE gr_status gr_interp_eval(gr_resolver *, const gr_expr *, gr_conf *holder,
                                     gr_conf **out);

// Python's str() of a value, as texts with an interpolation inside them get it.
void gr_conf_py_str(gr_text *, const gr_conf *);

// Replaces every interpolation by its value, in place of the tree given. Cycles, missing keys
// and unknown resolvers are errors that name the key that holds them; in a tree that is not whole
// what refers to something missing stays as it is instead.
GR_MUST_USE gr_status gr_conf_resolve(gr_arena *, gr_conf *root, bool whole);
