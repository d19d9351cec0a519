// builtin.h - the built-in `hydra` configs: the keys and groups of Hydra 1.3's own package, so that
// configurations written for Hydra compose here.
#pragma once
#include <stdbool.h>

const char *gr_builtin_text(const char *path);  // the YAML of a config; NULL: not built in
const char *gr_builtin_path(int i);             // path of config i; NULL beyond the last
bool gr_builtin_group(const char *group);       // whether a built-in config is in the group
