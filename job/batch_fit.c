// batch_fit.c - searches the batches for training.batch_size.memory. See fit.h.
//
// Each round compiles one plan, in which every bucket has the size that halves what is left for it:
// a program's memory depends on the batch of its own bucket alone.
#include <string.h>
#include "base/log.h"
#include "compiler/report/parts.h"
#include "job/fit.h"
#include "job/parts.h"

typedef struct search {
  const gr_job *job;
  int ranks, n;                  // of the plans; buckets
  int64_t low[GR_MAX_BUCKETS];   // by bucket: the largest size that is known to fit
  int64_t high[GR_MAX_BUCKETS];  // the smallest that is known not to, or is more than enough
  double bytes[GR_MAX_BUCKETS];  // of the last plan
  gr_conf *mesh;                 // of the plans; NULL: the configuration's
} search;

// A mesh of the ranks that have one batch, in which each other axis has one rank; NULL: none is
// given.
static gr_status mesh_of_batch(const gr_job *j, gr_conf **out) {
  const gr_mesh *m = &j->spec.set.options.sharding.mesh;
  gr_text t = gr_text_make(j->arena);
  *out = NULL;
  if (gr_conf_find(j->spec.conf, "distributed.mesh")->kind != GR_CONF_MAP) return GR_OK;
  for (int a = 0; a < m->n_axes; a++)
    if (a != gr_mesh_virtual(m))
      gr_text_printf(&t, "%s%s: %d", t.len ? ", " : "{", m->axis[a].name,
                     strcmp(m->axis[a].name, "tp") ? 1 : m->axis[a].size);
  gr_text_put(&t, "}");
  return gr_conf_parse(j->arena, "distributed.mesh", t.chars, out);
}

// Plans batches of these sizes.
static gr_status measure(search *c, const int64_t *k) {
  int sizes[GR_MAX_BUCKETS];
  gr_job with = *c->job;
  with.arena = gr_arena_create();
  with.args.dump = with.args.stop_after = NULL;
  for (int b = 0; b < c->n; b++) sizes[b] = (int)gr_batch_at(&with.spec, b, k[b]);
  with.spec.batches = sizes;
  gr_level level = gr_log_least(GR_ERROR);
  with.spec.conf = gr_conf_copy(with.arena, with.spec.conf);
  gr_status s =
      c->mesh ? gr_conf_put_at(with.arena, with.spec.conf, "distributed.mesh", c->mesh) : GR_OK;
  if (!s) s = gr_job_read(&with, c->ranks);
  if (!s) s = gr_job_plan(&with, c->ranks);
  gr_log_least(level);
  for (int b = 0; b < c->n && !s; b++)
    c->bytes[b] = gr_batch_bytes(&with, gr_contract_bucket_name(with.arena, with.spec.contract, b));
  return gr_arena_end(with.arena, s);
}

// A plan that cannot be made, as of arrays that are too large, fits for no bucket.
static bool halve(search *c, double limit) {
  int64_t k[GR_MAX_BUCKETS];
  bool left = false;
  for (int b = 0; b < c->n; b++) {
    left |= c->high[b] - c->low[b] > 1;
    k[b] = (c->low[b] + c->high[b]) / 2;
  }
  if (!left) return false;
  gr_status s = measure(c, k);
  for (int b = 0; b < c->n; b++)
    if (c->high[b] - c->low[b] > 1) *(!s && c->bytes[b] <= limit ? &c->low[b] : &c->high[b]) = k[b];
  gr_status_drop(s);
  return true;
}

static gr_status too_large(const search *c, const char *bucket, double bytes) {
  char why[160], needs[32];
  snprintf(why, sizeof why, "has no room for a sample of %s in each micro-step, which needs %s",
           bucket, gr_bytes_text(bytes, needs));
  return gr_batch_refuse(&c->job->spec, why,
                         "training.recompute=repeat, training.precision=bf16, shorter samples, or "
                         "training.batch_is=per_rank with distributed.strategy=fsdp");
}

gr_status gr_batch_choose(gr_job *j, int ranks) {
  const gr_options *o = &j->spec.set.options;
  bool whole = o->batch.batch_is == gr_batch_is_global;  // one holds all of a batch
  search c = {.job = j, .n = j->spec.contract->n_buckets, .ranks = ranks};
  if (!(o->batch.most_bytes > 0) || j->spec.batches) return GR_OK;
  if (whole) c.ranks = ranks / (o->sharding.data_ranks > 0 ? o->sharding.data_ranks : 1);
  if (whole) GR_TRY(mesh_of_batch(j, &c.mesh));
  gr_status s = measure(&c, c.low);
  if (s && whole)
    return gr_hint(s,
                   "this is of a rank that has a whole batch, as "
                   "training.batch_is=global counts it");
  GR_TRY(s);
  for (int b = 0; b < c.n; b++) {
    if (c.bytes[b] > o->batch.most_bytes)
      return too_large(&c, gr_contract_bucket_name(j->arena, j->spec.contract, b), c.bytes[b]);
    c.high[b] = gr_batch_last(&j->spec, b) + 1;
  }
  while (halve(&c, o->batch.most_bytes)) continue;
  int *chosen = GR_NEW(j->arena, int, c.n);
  for (int b = 0; b < c.n; b++) chosen[b] = (int)gr_batch_at(&j->spec, b, c.low[b]);
  j->spec.batches = chosen;
  return gr_batch_take(j->arena, &j->spec);
}
