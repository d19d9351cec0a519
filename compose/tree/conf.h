// conf.h - the configuration tree: parsed YAML with the location of every node.
//
// Composition builds one tree from files and arguments; graphs/*.yaml are parsed into the same kind
// of tree without composition. Nodes are allocated in an arena and never freed individually. Maps
// keep insertion order. Scalars are typed by OmegaConf's rules (1e-3 is a float, yes is a bool).
// Interpolations stay strings until gr_conf_resolve.
#pragma once
#include "base/base.h"

typedef enum gr_conf_kind {
  GR_CONF_NULL,
  GR_CONF_BOOL,
  GR_CONF_INT,
  GR_CONF_FLOAT,
  GR_CONF_TEXT,
  GR_CONF_MISSING,  // ???
  GR_CONF_INTERP,   // a string that contains ${...}
  GR_CONF_MAP,
  GR_CONF_LIST,
} gr_conf_kind;

typedef struct gr_conf gr_conf;
struct gr_conf {
  gr_conf_kind kind;
  gr_conf_kind key_kind;  // of a key that is not a string: BOOL, INT or FLOAT; otherwise NULL
  gr_loc loc;             // of the value
  gr_loc key_loc;         // of the key, for members of maps
  union {
    bool truth;        // GR_CONF_BOOL
    int64_t integer;   // GR_CONF_INT
    double number;     // GR_CONF_FLOAT
    const char *text;  // GR_CONF_TEXT, GR_CONF_INTERP
  };
  const char **keys;  // of a map: n keys, as strings; NULL for a list
  gr_conf **items;    // of a map or list: n values
  int n, cap;
  gr_conf *up;      // the map or list that contains this node; NULL at the root
  uint32_t *index;  // of a large map: hash slots, each 1 + index of an item
  uint32_t n_index;
  char quote;         // of a string on the command line: ' or " if it was quoted
  bool spelt;         // of null: it is written out, not as ~ or as nothing
  bool read;          // it has been looked up (see gr_conf_unread)
  bool is_default;    // from the schema's default, not from a file or an argument
  bool fixed;         // a map that accepts no new keys (Hydra's struct flag)
  bool literal;       // a map or list written inside an interpolation: merging replaces it
  bool busy;          // being resolved; detects cycles
  gr_conf *aside;     // of a composed root: the hydra node, which ${hydra:...} reads
  gr_conf *replaced;  // the value that this one replaced: a key's history, newest first
  const char *raw;    // the interpolation that gr_conf_resolve replaced by this value, or NULL
  bool from_env;      // it contains the value of an environment variable, which may be a secret
};

// Parse one YAML file, or a text whose file name is given for messages, without composition or
// interpolation. The status holds all errors, each with line and column; *out is then what could be
// read, with ??? for values that could not. Nesting is limited to 64 levels.
GR_MUST_USE gr_status gr_conf_read(gr_arena *, const char *path, gr_conf **out);
// The same of a text; `file` is named in errors and stays borrowed.
GR_MUST_USE gr_status gr_conf_parse(gr_arena *, const char *file, const char *text, gr_conf **out);

// Reads a configuration file of at most `most` bytes into the arena. GR_ERR_CONFIG when it cannot
// be read or contains a NUL.
GR_MUST_USE gr_status gr_conf_load(gr_arena *, const char *path, size_t most, char **text,
                                   size_t *len);

// Parses YAML as OmegaConf.create does with a string: empty text is an empty mapping, and a single
// word a mapping from it to null. Other scalars are an error.
GR_MUST_USE gr_status gr_conf_from_text(gr_arena *, const char *file, const char *text, gr_loc,
                                        gr_conf **out);
GR_MUST_USE gr_status gr_conf_check_keys(const gr_conf *);  // fails at a null key

// ---- Lookup ---------------------------------------------------------------------
// A path is "a.b[2].c" or "a.b.2.c". gr_conf_find and gr_conf_member mark what they find, and every
// node on the path, as read.
gr_conf *gr_conf_find(gr_conf *, const char *path);      // NULL: not found
gr_conf *gr_conf_member(gr_conf *map, const char *key);  // one key, in which dots are not special
// A value at a path of keys, of which nothing is marked as read. NULL: not found, or null.
gr_conf *gr_conf_look(const gr_conf *, const char *path);
int gr_conf_size(const gr_conf *);                      // number of nodes, including itself
const char *gr_conf_a_kind(gr_conf_kind);               // with an article: "an integer"
const char *gr_conf_kind_name(gr_conf_kind);            // "float", "mapping", ...
const char *gr_conf_path(gr_arena *, const gr_conf *);  // "training.lr", from the root

bool gr_conf_has_text(const gr_conf *);  // a string, also one with ${...}, and ???
gr_loc gr_conf_place(const gr_conf *);   // of its key, or of the value where that has none
// The text of a string without ${...}; `otherwise` for other kinds, and for NULL.
const char *gr_conf_text_of(const gr_conf *, const char *otherwise);
bool gr_conf_says(const gr_conf *, const char *word);  // it is that string; NULL is none

// Whether a value is a number (a bool is, as in Python) and which; whether two values are the same,
// of whatever kind of number; and a value for messages: a string as it is, or JSON.
bool gr_conf_is_number(const gr_conf *);
double gr_conf_number(const gr_conf *);                           // a bool is 0 or 1
bool gr_conf_same(gr_arena *, const gr_conf *, const gr_conf *);  // 1 and 1.0 are
const char *gr_conf_written(gr_arena *, const gr_conf *);  // a string as it is, all else as JSON

// Typed access. A missing path gives the default. A value of another kind, or null, is an error
// with the value's location, the expected kind and what was found. gr_conf_float accepts an
// integer; gr_conf_text gives the default for null, too.
GR_MUST_USE gr_status gr_conf_int(gr_conf *, const char *path, int64_t default_value, int64_t *out);
// An integer is one, too.
GR_MUST_USE gr_status gr_conf_float(gr_conf *, const char *path, double default_value, double *out);
// True or false alone.
GR_MUST_USE gr_status gr_conf_bool(gr_conf *, const char *path, bool default_value, bool *out);
// Borrowed from the tree.
GR_MUST_USE gr_status gr_conf_text(gr_conf *, const char *path, const char *default_value,
                                   const char **out);

// An error for every leaf that has not been looked up, with its location; GR_OK when there is none.
GR_MUST_USE gr_status gr_conf_unread(gr_arena *, const gr_conf *root);

// Marks a value and everything in it as read: for readers of free-form maps, and before several
// threads look up values in it, because lookups write the marks.
void gr_conf_mark(gr_conf *);
// Checks that the value of `key` is a list of at most `most` items, which messages call `items`
// ("groups"), and marks it. example: such a list, for the hint. GR_ERR_CONFIG: it is not.
GR_MUST_USE gr_status gr_conf_check_list(gr_conf *, const char *key, const char *items, int most,
                                         const char *example);

// ---- Construction ---------------------------------------------------------------
gr_conf *gr_conf_make(gr_arena *, gr_conf_kind, gr_loc);       // an empty node
gr_conf *gr_conf_make_int(gr_arena *, int64_t, gr_loc);        // of that value
gr_conf *gr_conf_make_text(gr_arena *, const char *, gr_loc);  // of that text, which is borrowed
void gr_conf_put(gr_arena *, gr_conf *map, const char *key, gr_conf *value);  // adds or replaces
// Puts a value at a path of keys, making the maps on the way. GR_ERR_CONFIG: one is no map.
GR_MUST_USE gr_status gr_conf_put_at(gr_arena *, gr_conf *root, const char *path, gr_conf *value);
void gr_conf_append(gr_arena *, gr_conf *list, gr_conf *value);               // adds at the end
void gr_conf_add(gr_arena *, gr_conf *map, const char *key, gr_conf *value);  // key must be new
void gr_conf_take(gr_conf *target, gr_conf *source);  // moves the members; both maps or both lists
// Keys that may be numbers or bools are given as scalar nodes. Equal keys (1, 1.0 and true, as in
// Python) are one key; the first keeps its position and spelling.
void gr_conf_put_key(gr_arena *, gr_conf *map, const gr_conf *key, gr_conf *value);
void gr_conf_put_all(gr_arena *, gr_conf *map, const gr_conf *source);      // copies of all members
int gr_conf_key_index(gr_arena *, const gr_conf *map, const gr_conf *key);  // -1: none
gr_conf gr_conf_key(const gr_conf *map, int item);  // the key of a member, as a node
// Appends the items of a list or mapping in brackets or braces, by `put`, with these between them
// and behind keys.
void gr_conf_put_items(gr_text *, const gr_conf *, const char *comma, const char *colon,
                       void (*put)(gr_text *, const gr_conf *));
int gr_conf_index(const gr_conf *map,
                  const char *key);              // index of a member; -1: none; marks nothing
void gr_conf_remove(gr_conf *, int item);        // removes a member of a map or list
void gr_conf_set_text(gr_conf *, const char *);  // sets the kind to TEXT, INTERP or MISSING, too
gr_conf *gr_conf_copy(gr_arena *, const gr_conf *);  // a deep copy with the same locations

// ---- Output ---------------------------------------------------------------------
// Appends null, a bool or an integer, with the words that a notation has for the first two; false:
// it is of another kind, and nothing is appended.
bool gr_conf_put_word(gr_text *, const gr_conf *, const char *null, const char *yes,
                      const char *no);
void gr_conf_yaml(gr_text *, const gr_conf *);              // byte for byte as OmegaConf.to_yaml
void gr_conf_json(gr_text *, const gr_conf *, int indent);  // keys in order, floats stay floats
// JSON for files that are kept: values that contain environment variables are written as their
// interpolation, so that no secret is stored.
void gr_conf_json_written(gr_text *, const gr_conf *, int indent);
