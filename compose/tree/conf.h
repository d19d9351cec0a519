// conf.h - a tree of configuration: what YAML text becomes, every node with its place.
//
// Composition makes one such tree from many files and arguments; graphs/*.yaml are read into
// the same tree without composition. All of it lives in an arena. Maps keep the order of
// insertion. Values are typed by OmegaConf's rules (1e-3 is a float, yes is a truth).
// Interpolations stay text until gr_conf_resolve.
#pragma once
#include "base/base.h"

typedef enum gr_conf_kind {
  GR_CONF_NULL,
  GR_CONF_BOOL,
  GR_CONF_INT,
  GR_CONF_FLOAT,
  GR_CONF_TEXT,
  GR_CONF_MISSING,  // ???
  GR_CONF_INTERP,   // a text that holds ${...}
  GR_CONF_MAP,
  GR_CONF_LIST,
} gr_conf_kind;

typedef struct gr_conf gr_conf;
struct gr_conf {
  gr_conf_kind kind;
  gr_conf_kind key_kind;  // of the key when it is not a text: BOOL, INT or FLOAT; else NULL
  gr_loc loc;             // of the value
  gr_loc key_loc;         // of the key, for members of maps
  union {
    bool truth;        // GR_CONF_BOOL
    int64_t integer;   // GR_CONF_INT
    double number;     // GR_CONF_FLOAT
    const char *text;  // GR_CONF_TEXT, GR_CONF_INTERP
  };
  const char **keys;  // of a map: n of them, as text; NULL for a list
  gr_conf **items;    // of a map or list
  int n, cap;
  gr_conf *up;      // the map or list this is in; NULL at the root
  uint32_t *index;  // of a large map: hash slots, 1 + item
  uint32_t n_index;
  char quote;       // of a text from the command line: ' or " when it was quoted
  bool read;        // a reader asked for it (see gr_conf_unread)
  bool is_default;  // from the schema's default, not from a file or an argument
  bool fixed;       // a map that takes no new keys (Hydra's struct flag)
  bool busy;        // being resolved: to find cycles
  gr_conf *aside;   // of a composed root: the hydra node, which ${hydra:...} reads
  gr_conf *was;     // what this value replaced: the history of a key, newest first
  const char *raw;  // of what gr_conf_resolve has replaced: the interpolation
  bool from_env;    // its value was made with a variable of the environment, which may be a secret
};

// Reads one YAML file (or text, under a file name for messages) as it stands: no
// composition, no interpolation. All errors are found, each with line and column; *out is then what
// could be read (??? for a value that could not). Nesting is capped at 64.
GR_MUST_USE gr_status gr_conf_read(gr_arena *, const char *path, gr_conf **out);
GR_MUST_USE gr_status gr_conf_parse(gr_arena *, const char *file, const char *text, gr_conf **out);

// The text of a file of configuration; an error of configuration when it cannot be read.
GR_MUST_USE gr_status gr_conf_load(gr_arena *, const char *path, size_t most, char **text,
                                   size_t *len);

// What OmegaConf makes of a text: it is read as YAML; nothing is an empty mapping, a word a mapping
// of it to null. Other values are an error.
GR_MUST_USE gr_status gr_conf_from_text(gr_arena *, const char *file, const char *text, gr_loc,
                                        gr_conf **out);
GR_MUST_USE gr_status gr_conf_check_keys(const gr_conf *);  // a key cannot be null

// ---- Looking --------------------------------------------------------------------
// A path is "a.b[2].c" or "a.b.2.c". Looking marks what it finds, and all on the way, as read.
gr_conf *gr_conf_find(gr_conf *, const char *path);      // NULL: not there
gr_conf *gr_conf_member(gr_conf *map, const char *key);  // one key, dots not special
int gr_conf_size(const gr_conf *);                       // how many values, with itself
const char *gr_conf_a_kind(gr_conf_kind);                // with its article: "an integer"
const char *gr_conf_kind_name(gr_conf_kind);             // "float", "mapping", ...
const char *gr_conf_path(gr_arena *, const gr_conf *);   // "training.lr", from the root

// Typed access. A missing path gives the default; a value of another kind, or a null, is an
// error that names the value's place, the expected kind and what was found. An int is
// accepted where a float is asked for.
GR_MUST_USE gr_status gr_conf_int(gr_conf *, const char *path, int64_t default_value, int64_t *out);
GR_MUST_USE gr_status gr_conf_float(gr_conf *, const char *path, double default_value, double *out);
GR_MUST_USE gr_status gr_conf_bool(gr_conf *, const char *path, bool default_value, bool *out);
GR_MUST_USE gr_status gr_conf_text(gr_conf *, const char *path, const char *default_value,
                                   const char **out);  // null and missing give preset

// An error for every leaf that nothing has read, with its place; GR_OK when there is none.
GR_MUST_USE gr_status gr_conf_unread(gr_arena *, const gr_conf *root);

// Marks a value and all below it as read: for readers of free-form maps, and before several threads
// look things up in it.
void gr_conf_mark(gr_conf *);

// ---- Making ---------------------------------------------------------------------
gr_conf *gr_conf_make(gr_arena *, gr_conf_kind, gr_loc);
void gr_conf_put(gr_arena *, gr_conf *map, const char *key, gr_conf *value);  // replaces
void gr_conf_append(gr_arena *, gr_conf *list, gr_conf *value);
void gr_conf_add(gr_arena *, gr_conf *map, const char *key, gr_conf *value);  // key is not there
void gr_conf_take(gr_conf *to, gr_conf *from);  // moves the members; both maps or both lists
// Keys that may be numbers or bools: a scalar node stands for the key. Equal keys (1 and 1.0
// and true) are one; the first keeps its place and spelling.
void gr_conf_put_key(gr_arena *, gr_conf *map, const gr_conf *key, gr_conf *value);
void gr_conf_put_all(gr_arena *, gr_conf *map, const gr_conf *from);        // copies of all members
int gr_conf_key_index(gr_arena *, const gr_conf *map, const gr_conf *key);  // -1: none
const char *gr_conf_key_text(gr_arena *, const gr_conf *key);
gr_conf gr_conf_key(const gr_conf *map, int item);       // the key of a member, as a node
int gr_conf_index(const gr_conf *map, const char *key);  // of a member; -1: none; marks nothing
void gr_conf_remove(gr_conf *, int item);                // of a map or list
void gr_conf_set_text(gr_conf *, const char *);          // TEXT, INTERP or MISSING, as it reads
gr_conf *gr_conf_copy(gr_arena *, const gr_conf *);      // deep; places kept

// ---- Writing --------------------------------------------------------------------
void gr_conf_yaml(gr_text *, const gr_conf *);              // as OmegaConf.to_yaml prints it
void gr_conf_json(gr_text *, const gr_conf *, int indent);  // keys in order, floats stay floats
// The same for files that are kept: what was made with the environment is the interpolation again.
void gr_conf_json_written(gr_text *, const gr_conf *, int indent);
