// smaller.c - what to change so that a plan needs less memory, for errors of memory.
#include "job/smaller.h"
#include <string.h>
#include "base/shown.h"
#include "job/figures.h"
#include "job/variants.h"

enum { MAX_TRIES = 4, MAX_PARAMS = 4 };

// ---- Smaller batches and models -----------------------------------------------------------------

static bool of_data(const gr_job *j, const char *name) {
  const gr_contract *c = j->spec.contract;
  for (int i = 0; c && i < c->n_metadata; i++)
    if (!strcmp(c->metadata[i].name, name)) return true;
  return false;
}

// The sizes that model.params may lower: those that no data determine.
static void put_params(gr_text *t, const gr_job *j) {
  gr_conf *declared = j->graph->kind == GR_CONF_MAP ? gr_conf_member(j->graph, "params") : NULL;
  gr_conf *given = gr_conf_find(j->spec.conf, "model.params");
  int n = 0;
  for (int i = 0; declared && declared->kind == GR_CONF_MAP && i < declared->n; i++) {
    const char *name = declared->keys[i];
    const gr_conf *v = given && given->kind == GR_CONF_MAP ? gr_conf_member(given, name) : NULL;
    if (!v) v = declared->items[i];
    if (v->kind != GR_CONF_INT || v->integer < 2 || of_data(j, name) || n == MAX_PARAMS) continue;
    gr_text_printf(t, "%smodel.params.%s is %lld", n++ ? ", " : " (", name, (long long)v->integer);
  }
  gr_text_put(t, n ? ")" : "");
}

// A batch that fits, from the largest that may: as if all but the states grew with it. 0: none.
static int64_t find_batch(const gr_smaller *s, int64_t batch) {
  int64_t ranks = s->job->spec.set.options.sharding.data_ranks;
  int64_t n = (int64_t)((double)batch * (s->limit - s->states) / (s->bytes - s->states));
  if (n >= batch) n = batch - 1;
  for (int i = 0; i < MAX_TRIES && n > 0; i++, n /= 2) {
    char override[64];
    if (ranks > 1) n -= n % ranks;
    snprintf(override, sizeof override, "training.batch_size=%lld", (long long)n);
    if (n > 0 && s->with(s->ctx, override) <= s->limit) return n;
  }
  return 0;
}

void gr_put_smaller(gr_text *t, const gr_smaller *s) {
  char b[GR_QUANTITY];
  const gr_conf *batch = gr_conf_find(s->job->spec.conf, "training.batch_size");
  bool number = batch && batch->kind == GR_CONF_INT;
  int64_t n = s->states < s->limit && number && s->with ? find_batch(s, batch->integer) : 0;
  if (n > 0) {
    gr_text_printf(t, "training.batch_size=%lld fits, and is %lld here", (long long)n,
                   (long long)batch->integer);
    return;
  }
  if (s->states < s->limit && !(number && s->with))
    gr_text_put(t, "a smaller training.batch_size, or ");
  gr_text_put(t, "a smaller model");
  put_params(t, s->job);
  if (s->states < s->limit) return;
  gr_text_printf(t, ": weights and the optimizer's states alone need %s",
                 gr_bytes_text(s->states, b));
}

// ---- training.memory ----------------------------------------------------------------------------

typedef struct rank_plan {
  const gr_job *job;
  int ranks;
  double bytes;  // without overrides
} rank_plan;

// Of a rank; as without it where there is no such plan.
static double bytes_with(const void *ctx, const char *override) {
  const rank_plan *p = ctx;
  gr_job other;
  const char *overrides[] = {"training.memory=null", override};
  gr_status s = gr_job_plan_with(p->job, overrides, 2, p->ranks, &other);
  double bytes = s ? p->bytes : gr_job_count(&other, NULL, 0)->bytes;
  gr_status_drop(s);
  gr_arena_destroy(other.arena);
  return bytes;
}

static void put_other(const rank_plan *p, const char *override, gr_text *t) {
  char b[GR_QUANTITY];
  double now = bytes_with(p, override);
  if (now < p->bytes)
    gr_text_printf(t, "%s%s alone needs %s less", t->len ? "; " : "", override,
                   gr_bytes_text(p->bytes - now, b));
}

gr_status gr_hint_memory(gr_status e, const gr_job *j, int ranks, double states, double bytes,
                         double limit) {
  const gr_options *o = &j->spec.set.options;
  const rank_plan p = {j, ranks, bytes};
  const gr_smaller smaller = {j, states, bytes, limit, bytes_with, &p};
  gr_text t = gr_text_make(j->arena);
  if (o->precision.precision == gr_precision_fp32) put_other(&p, "training.precision=bf16", &t);
  if (ranks > 1 && o->sharding.strategy == gr_strategy_ddp) {
    put_other(&p, "distributed.strategy=zero1", &t);
    put_other(&p, "distributed.strategy=fsdp", &t);
  }
  gr_text_put(&t, t.len ? "; or " : "");
  gr_put_smaller(&t, &smaller);
  return gr_hint(e, "%s; or more ranks%s", t.chars,
                 states >= limit && o->sharding.strategy == gr_strategy_ddp
                     ? " with distributed.strategy=fsdp"
                     : "");
}
