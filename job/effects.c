// effects.c - see effects.h.
#include "job/effects.h"
#include <string.h>
#include "compose/schema/schema.h"
#include "job/parts.h"
#include "runtime/launch/launch.h"

// ---- Conditions -----------------------------------------------------------------------------

static bool always(const gr_effects *e) { return e != NULL; }
static bool on_cpus(const gr_effects *e) { return !e->gpu; }
static bool disabled(const gr_effects *e) { return !e->set->ranks.enabled; }
static bool alone(const gr_effects *e) { return e->ranks == 1; }
static bool as_threads(const gr_effects *e) {
  return e->set->comm.backend == gr_backend_loopback ||
         e->set->options.sharding.strategy == gr_strategy_dp;
}
static bool dp_threads(const gr_effects *e) {
  return e->set->options.sharding.strategy == gr_strategy_dp && !gr_launch_started(NULL, NULL);
}
static bool not_launched(const gr_effects *e) {
  return alone(e) || as_threads(e) || (gr_launch_started(NULL, NULL) > 0 && !gr_launch_own());
}
static bool not_restarted(const gr_effects *e) {
  return !e->set->comm.max_restarts || not_launched(e);
}
static bool is_canonical(const gr_effects *e) {
  return e->set->options.sharding.numerics == gr_numerics_canonical;
}
// A restart has one rank fewer, or with canonical numerics half as many (cli/restart.c).
static bool never_fewer(const gr_effects *e) {
  int next = is_canonical(e) ? e->ranks / 2 : e->ranks - 1;
  return next < e->set->comm.min_ranks;
}
static bool not_resumed(const gr_effects *e) { return e->set->saving.resume != gr_resume_auto; }
static bool is_native(const gr_effects *e) { return !is_canonical(e); }
static bool undivided(const gr_effects *e) { return alone(e) && is_native(e); }
// Ranks of tensor parallelism have the same samples.
static bool same_batch(const gr_effects *e) {
  const gr_mesh *m = &e->set->options.sharding.mesh;
  int parts = 1;
  for (int a = 0; a < m->n_axes; a++)
    if (strcmp(m->axis[a].name, "tp") != 0) parts *= m->axis[a].size;
  return parts == 1;
}
// What is summed is of one rank and one micro-step.
static bool one_mean(const gr_effects *e) {
  return same_batch(e) && is_native(e) && e->set->options.batch.accumulate == 1;
}
static bool canonical_by_ranks(const gr_effects *e) {
  return is_canonical(e) && (e->set->options.batch.batch_is == gr_batch_is_per_rank ||
                             e->set->loop.lr_scale != gr_lr_scale_none);
}
static bool canonical_by_bucket(const gr_effects *e) {
  return is_canonical(e) && !e->set->options.batch.batch_size;
}
static bool canonical_narrow(const gr_effects *e) {
  return is_canonical(e) && e->set->options.precision.reduce_dtype != gr_reduce_dtype_f32;
}
static bool canonical_loop(const gr_effects *e) {
  const gr_conf *loop = gr_conf_find(e->conf, "loop");
  return is_canonical(e) && loop && loop->kind != GR_CONF_NULL;
}
static bool canonical_on_gpus(const gr_effects *e) { return is_canonical(e) && e->gpu; }
static bool deterministic_on_gpus(const gr_effects *e) {
  return e->gpu && e->set->comm.deterministic;
}
static bool canonical_memory(const gr_effects *e) {
  return is_canonical(e) && e->set->options.memory.limit;
}
// Whether weights or batches are divided in another way than over ranks that all have others.
static bool canonical_mesh(const gr_effects *e) {
  const gr_sharding_settings *s = &e->set->options.sharding;
  bool other = s->strategy == gr_strategy_tp || s->strategy == gr_strategy_fsdp_tp ||
               s->strategy == gr_strategy_hsdp || s->n_given;
  for (int a = 0; a < s->mesh.n_axes; a++)
    other |= strcmp(s->mesh.axis[a].name, "dp") && a != gr_mesh_virtual(&s->mesh);
  return is_canonical(e) && other;
}
static bool not_divisible(const gr_effects *e) {
  const gr_conf *mesh = gr_conf_find(e->conf, "distributed.mesh");
  return (mesh && !mesh->is_default) || e->set->options.batch.batch_is == gr_batch_is_per_rank;
}
static bool not_fsdp(const gr_effects *e) {
  return e->set->options.sharding.strategy != gr_strategy_fsdp;
}
static bool without_hooks(const gr_effects *e) { return !e->set->hooks.paths.n; }

static bool not_gathered(const gr_effects *e) {
  return e->set->options.sharding.n_rules == e->set->options.sharding.n_given;
}
static bool not_split(const gr_effects *e) {
  return !e->set->options.sharding.zero_axis && not_gathered(e);
}

static bool not_sharded(const gr_effects *e) {
  const gr_sharding_settings *s = &e->set->options.sharding;
  return gr_mesh_axis(&s->mesh, "tp") < 0 && not_split(e) && !s->n_given;
}

static bool not_fp16(const gr_effects *e) {
  return !gr_precision_is_fp16(&e->set->options.precision);
}

static bool nccl_on_cpus(const gr_effects *e) {
  return !e->gpu && e->set->comm.backend == gr_backend_nccl && e->set->ranks.enabled;
}
static bool mixed_on_cpus(const gr_effects *e) {
  const gr_precision_settings *p = &e->set->options.precision;
  return !e->gpu && p->mixed_precision && p->precision == gr_precision_fp32;
}
bool gr_effects_rises(const char *metric) {
  static const char *const names[] = {"accuracy", "bleu",   "chrf",   "f1",  "auc",    "precision",
                                      "recall",   "return", "reward", "win", "sharpe", "r2"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strstr(metric, names[i])) return true;
  return false;
}
static bool lowest_is_best(const gr_effects *e) {
  const gr_conf *metric = gr_conf_find(e->conf, "checkpoint.metric");
  return gr_conf_find(e->conf, "checkpoint.mode")->is_default && gr_effects_rises(metric->text);
}
static bool validates_on_training(const gr_effects *e) {
  const gr_conf *source = gr_conf_find(e->conf, "data.source");
  gr_conf *data = gr_conf_find(e->conf, "data");
  gr_conf *section = source && source->text ? gr_conf_member(data, source->text) : NULL;
  const gr_conf *train = section ? gr_conf_member(section, "path") : NULL;
  const gr_conf *eval = section ? gr_conf_member(section, "eval_path") : NULL;
  if (!train || !eval || eval->kind == GR_CONF_NULL) return false;
  gr_arena *a = gr_arena_create();
  bool same = gr_conf_same(a, train, eval);
  gr_arena_destroy(a);
  return same;
}
static bool without_workers(const gr_effects *e) {
  return !gr_conf_find(e->conf, "data.workers")->integer;
}
static bool tf32_on_cpus(const gr_effects *e) {
  return !e->gpu && e->set->options.precision.precision == gr_precision_tf32;
}

static const struct row {
  const char *key;
  bool (*when)(const gr_effects *);
  const char *why;
} rows[] = {
#define GR_NO_EFFECT(key, when, why) {key, when, why},
#include "job/effects.def"
};
enum { N_ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)N_ROWS <= (int)GR_MAX_EFFECTS, "a line for each row has room");

static const struct refused {
  struct row row;
  const char *hint;
} refused[] = {
#define GR_REFUSED(key, when, why, hint) {{key, when, why}, hint},
#include "job/effects.def"
};

static const struct row differing[] = {
#define GR_DIFFERS(when, line) {NULL, when, line},
#include "job/effects.def"
};

// ---- Values ---------------------------------------------------------------------------------

// The value of a key if it differs from the default, or NULL.
static const gr_conf *find_other(gr_arena *a, const gr_effects *e, const char *key) {
  gr_conf *preset = NULL, *c = gr_conf_find(e->conf, key);
  if (!c || c->is_default) return NULL;
  gr_status s = gr_schema_default(a, gr_schema_find(key), &preset);
  gr_status_drop(s);
  if (!preset) return c;
  return gr_conf_same(a, c, preset) ? NULL : c;
}

static bool holds(const struct row *r, const gr_effects *e) { return r->when(e); }

// Whether a row of the key before this one holds.
static bool is_told(const struct row *r, const gr_effects *e) {
  for (const struct row *q = rows; q < r; q++)
    if (!strcmp(q->key, r->key) && holds(q, e)) return true;
  return false;
}

int gr_effects_list(gr_arena *a, const gr_effects *e, const char *out[GR_MAX_EFFECTS]) {
  const char *why[N_ROWS];
  gr_text keys[N_ROWS];
  int n = 0, of[N_ROWS] = {0};
  for (int i = 0; i < N_ROWS; i++) {
    const gr_conf *c = find_other(a, e, rows[i].key);
    if (!c || !holds(&rows[i], e) || is_told(&rows[i], e)) continue;
    int group = 0;
    while (group < n && strcmp(why[group], rows[i].why)) group++;
    if (group == n) keys[n] = gr_text_make(a), why[n] = rows[i].why, n++;
    gr_text_printf(&keys[group], "%s%s=%s", of[group]++ ? ", " : "", rows[i].key,
                   gr_conf_written(a, c));
  }
  for (int i = 0; i < n; i++)
    out[i] = gr_arena_printf(a, "%s: no effect, because %s", keys[i].chars, why[i]);
  return n;
}

int gr_effects_differences(const gr_effects *e, const char *out[GR_MAX_DIFFERENCES]) {
  int n = 0;
  if (e->set->options.optimizer.unread) out[n++] = e->set->options.optimizer.unread;
  for (size_t i = 0; i < sizeof differing / sizeof *differing; i++)
    if (differing[i].when(e)) out[n++] = differing[i].why;
  return n;
}

gr_status gr_effects_check(gr_arena *a, const gr_effects *e) {
  gr_status all = GR_OK;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    const struct row *r = &refused[i].row;
    const gr_conf *c = holds(r, e) ? find_other(a, e, r->key) : NULL;
    if (!c) continue;
    gr_status s =
        gr_fail(GR_ERR_CONFIG, c->loc, "%s is %s, but %s", r->key, gr_conf_written(a, c), r->why);
    all = gr_also(all, gr_hint(s, "%s", refused[i].hint));
  }
  return all;
}
