// accepted.c - every key of a configuration must be read by some code: a key without effect is an
// error. Rows of schema.def mark the keys that are accepted without effect.
#include "cli/job.h"
#include "compose/schema/schema.h"

gr_status gr_job_accept(gr_arena *a, gr_conf *root) {
  for (int i = 0; i < gr_schema_count; i++)
    if (gr_schema_keys[i].accepted) gr_conf_find(root, gr_schema_keys[i].path);  // marks it as read
  return gr_conf_unread(a, root);
}
