// defaults.h - defaults lists: which files make a configuration, in which order, and at which
// package each goes.
#pragma once
#include "compose/hydra/sources.h"
#include "compose/override/override.h"

// One entry of a defaults list.
typedef struct gr_default {
  bool is_group, is_self, optional, override, append, primary;
  const char *path;      // of a config ("g/a", "/g/a") or the group
  const char *value;     // of a group: the option; NULL: none, or a list
  const char **options;  // of a group: a list of them; NULL: one or none
  int n_options;
  const char *package;                // after '@'; NULL: none
  const char *header;                 // the file's own package; NULL: none
  const char *base, *parent_package;  // of the list it stands in
  bool deleted;
  gr_loc loc, value_loc;  // of the entry and of its option
} gr_default;

// The tree of what includes what. Entries without a list of their own are leaves.
typedef struct gr_default_node gr_default_node;
struct gr_default_node {
  gr_default *item;
  gr_default_node *up;
  gr_default_node **kids;
  int n;
};

// A choice that was made: group key -> option.
typedef struct gr_choice {
  const char *key, *group;
  gr_conf *value;    // text, list or null
  const char *from;  // the config that overrides; NULL: the command line
  gr_loc loc;
  const gr_override *line;
  bool used, append;  // append: by +group=option
} gr_choice;

typedef struct gr_choices {
  gr_choice *at;
  int n, cap;
} gr_choices;

// A file that takes part, in order of merging.
typedef struct gr_default_part {
  gr_config *config;
  const char *package, *parent, *override_key;  // parent: NULL for the primary's own
  bool is_self, primary;
  const gr_default *item;
} gr_default_part;

typedef struct gr_defaults {
  gr_arena *arena;
  gr_sources *sources;
  bool skip_missing;    // a sweep chooses later
  gr_default *appends;  // +group=option
  int n_appends;
  gr_choices overrides, deletions, known;  // known: in the order they were seen
  const gr_override **values;              // overrides that are not about groups
  int n_values;
  gr_default_node *root;
  gr_default_part *parts;
  int n_parts, cap_parts;
  int depth;
} gr_defaults;

// Builds tree and list for a primary config. with_hydra: Hydra's own node first.
GR_MUST_USE gr_status gr_defaults_make(gr_defaults *, gr_sources *, const char *primary,
                                       const gr_override *, int n_overrides, bool with_hydra);

// ---- Entries (entry.c) ---------------------------------------------------------------
GR_MUST_USE gr_status gr_entry_read(gr_arena *, const gr_config *, const gr_conf *item,
                                    gr_default *);
void gr_entry_place(gr_arena *, gr_default *, const char *base, const char *parent_package);
const char *gr_entry_group(gr_arena *, const gr_default *);  // full path of the group
const char *gr_entry_path(gr_arena *, const gr_default *);   // of the config
const char *gr_entry_package(gr_arena *, const gr_default *, bool with_header);
const char *gr_entry_key(gr_arena *, const gr_default *);  // to override it: "db@backup"
bool gr_entry_missing(gr_arena *, const gr_default *);
bool gr_entry_interpolated(gr_arena *, const gr_default *);
