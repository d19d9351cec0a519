// accepted.c - keys that are understood but steer nothing here, each with the values for which
// that is true. Everything else that a configuration says must have been read by someone: a
// key without effect is an error, not a surprise.
#include <string.h>
#include "cli/job.h"

static const struct accepted {
  const char *path;
  const char *only;  // the one value that can be had so far, as JSON; NULL: any
  const char *why;
} keys[] = {
    {"distributed.find_unused_parameters", NULL, "answered when the model is compiled"},
    {"distributed.sync_batchnorm", NULL, "statistics are over the global batch by construction"},
    {"distributed.sampler", NULL, "a batch is the same rows whoever computes them"},
    {"distributed.fsdp.offload_params", NULL, "weights of CPU ranks are in the host's memory"},
    {"training.deterministic", NULL, "the same command always gives the same bytes"},
};

static gr_status accept(gr_arena *a, gr_conf *root, const struct accepted *k) {
  gr_conf *c = gr_conf_find(root, k->path);  // looking marks it as read
  if (!c || !k->only) return GR_OK;
  gr_text value = gr_text_make(a);
  gr_conf_json(&value, c, 0);
  if (!strcmp(value.at, k->only)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_UNSUPPORTED, c->loc, "%s can only be %s so far, not %s", k->path,
                         k->only, value.at),
                 "%s", k->why);
}

gr_status gr_job_accept(gr_arena *a, gr_conf *root) {
  gr_status all = GR_OK;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    all = gr_also(all, accept(a, root, &keys[i]));
  return gr_also(all, gr_conf_unread(a, root));
}
