// rl.c - a project without data: the environment is part of the graph.
#include "cli/new/new.h"

gr_status gr_new_rl(gr_arena *a, const char *dir) {
  (void)a, (void)dir;
  return GR_OK;
}
