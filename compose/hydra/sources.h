// sources.h - the search path of configurations: folders, and Hydra's own configs, which are built
// in.
#pragma once
#include "compose/tree/conf.h"

// One configuration file, with its defaults list split off and its header parsed.
typedef struct gr_config {
  const char *path;     // "db/mysql"
  const char *file;     // for messages
  gr_conf *body;        // a map or list
  gr_conf *defaults;    // the list, or NULL
  const char *package;  // from "# @package X"; NULL: none
  int uses;             // remaining uses in the defaults list; the last one takes the body
} gr_config;

typedef struct gr_sources {
  gr_arena *arena;
  const char **dirs;  // in search order; "" is the built-in one
  int n_dirs;
  gr_map known;  // path -> index in configs
  gr_config **configs;
  int n_configs, cap;
} gr_sources;

gr_sources gr_sources_make(gr_arena *);              // searches only the built-in configs
void gr_sources_add(gr_sources *, const char *dir);  // appends a folder to the search path

// Loads a configuration by path; *out is NULL when there is none. Each file is read once; its
// errors are returned the first time, and *out is then what could be read.
GR_MUST_USE gr_status gr_sources_load(gr_sources *, const char *path, gr_config **out);
bool gr_sources_group(const gr_sources *, const char *group);  // whether the group exists
// The options of a group, or (groups = true) its subgroups, sorted. Returns their number.
int gr_sources_options(const gr_sources *, const char *group, bool groups, const char ***out);
// All groups at any depth, sorted: "db", "hydra/launcher". Returns their number.
int gr_sources_groups(const gr_sources *, const char ***out);
