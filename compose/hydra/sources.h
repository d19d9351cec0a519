// sources.h - where configurations are looked for: folders, and Hydra's own groups, which are
// built in.
#pragma once
#include "compose/tree/conf.h"

// One configuration file, its defaults list taken out and its header read.
typedef struct gr_config {
  const char *path;     // "db/mysql"
  const char *file;     // for messages
  gr_conf *body;        // a map or list
  gr_conf *defaults;    // the list, or NULL
  const char *package;  // from "# @package X"; NULL: none
  int uses;             // how many more times the defaults list has it: the last takes the body
} gr_config;

typedef struct gr_sources {
  gr_arena *arena;
  const char **dirs;  // in the order of search; "" is the built-in one
  int n_dirs;
  gr_map known;  // path -> index in configs
  gr_config **configs;
  int n_configs, cap;
} gr_sources;

gr_sources gr_sources_make(gr_arena *);
void gr_sources_add(gr_sources *, const char *dir);

// Loads a configuration by path; *out is NULL where there is none. Each is read once: its errors
// are given the first time, and *out is then what could be read.
GR_MUST_USE gr_status gr_sources_load(gr_sources *, const char *path, gr_config **out);
bool gr_sources_group(const gr_sources *, const char *group);
// The options of a group, or the groups in it, sorted.
int gr_sources_options(const gr_sources *, const char *group, bool groups, const char ***out);
// All groups, at any depth, sorted: "db", "hydra/launcher".
int gr_sources_groups(const gr_sources *, const char ***out);
