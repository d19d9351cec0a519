// builtin.h - the `hydra` node: the keys and groups that Hydra's own package brings, so that
// configurations written for it compose here (the keys are Hydra 1.3's).
#pragma once
#include <stdbool.h>

const char *gr_builtin_text(const char *path);  // NULL: not built in
const char *gr_builtin_path(int i);             // NULL beyond the last
bool gr_builtin_group(const char *group);
