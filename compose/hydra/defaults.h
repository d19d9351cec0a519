// defaults.h - expands defaults lists, as Hydra 1.3 does: which files make up a configuration, in
// which order, and at which package each is merged.
#pragma once
#include "compose/hydra/sources.h"
#include "compose/override/override.h"

// One entry of a defaults list.
typedef struct gr_default {
  bool is_group, is_self, optional, override, append, primary;
  const char *path;      // of a config ("g/a", "/g/a"), or the group
  const char *value;     // of a group: the option; NULL: none, or a list of options
  const char **options;  // of a group: the list of options; NULL: one option or none
  int n_options;
  const char *package;                // after '@'; NULL: none
  const char *header;                 // package of the file's header; NULL: none
  const char *base, *parent_package;  // of the defaults list that contains the entry
  bool deleted;
  gr_loc loc, value_loc;  // of the entry and of its option
} gr_default;

// The tree of includes. Entries without a defaults list of their own are leaves.
typedef struct gr_default_node gr_default_node;
struct gr_default_node {
  gr_default *item;
  gr_default_node *up;
  gr_default_node **kids;
  int n;
};

// A choice: group key -> option.
typedef struct gr_choice {
  const char *key, *group;
  gr_conf *value;      // string, list or null
  const char *parent;  // the config that overrides; NULL: the command line
  gr_loc loc;
  const gr_override *line;
  bool used, append;  // append: by +group=option
  bool absent;        // there is no such configuration, which is an error of its own
} gr_choice;

typedef struct gr_choices {
  gr_choice *items;
  int n, cap;
} gr_choices;

// A file of the composition, in merge order.
typedef struct gr_default_part {
  gr_config *config;
  const char *package, *parent, *override_key;  // parent: NULL for the primary config itself
  bool is_self, primary;
  const gr_default *item;
} gr_default_part;

typedef struct gr_defaults {
  gr_arena *arena;
  gr_sources *sources;
  bool skip_missing;    // ignore groups without a choice: a sweep chooses later
  gr_default *appends;  // entries added by +group=option
  int n_appends;
  gr_choices overrides, deletions, known;  // known: all choices, in the order they were made
  const gr_override **values;              // the arguments that do not concern groups
  int n_values;
  gr_default_node *root;
  gr_default_part *parts;
  int n_parts, cap_parts;
  int depth;
} gr_defaults;

// Builds the tree and the list of parts for a primary config. with_hydra: the hydra configs come
// first.
GR_MUST_USE gr_status gr_defaults_make(gr_defaults *, gr_sources *, const char *primary,
                                       const gr_override *, int n_overrides, bool with_hydra);

// ---- Entries (entry.c) ---------------------------------------------------------------
// Parses an element of a config's defaults list.
GR_MUST_USE gr_status gr_entry_read(gr_arena *, const gr_config *, const gr_conf *item,
                                    gr_default *);
// Sets the folder and package of the list that contains the entry, which its own are relative to.
void gr_entry_place(gr_arena *, gr_default *, const char *base, const char *parent_package);
const char *gr_entry_group(gr_arena *, const gr_default *);  // full path of the group
const char *gr_entry_path(gr_arena *, const gr_default *);   // full path of the config
// The package that the config is merged at. with_header: a package in the file's header counts.
const char *gr_entry_package(gr_arena *, const gr_default *, bool with_header);
const char *gr_entry_key(gr_arena *, const gr_default *);  // the key that overrides it: "db@backup"
bool gr_entry_missing(gr_arena *, const gr_default *);     // the option or path is ???
bool gr_entry_interpolated(gr_arena *, const gr_default *);  // it contains an interpolation
