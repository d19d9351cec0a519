// memory.c - see memory.h.
#include "job/memory.h"
#include <math.h>
#include "base/log.h"
#include "base/port.h"
#include "base/room.h"
#include "base/shown.h"
#include "job/smaller.h"
#include "job/variants.h"

// At most so many halvings of a rank's rows are compiled to find out what would need less;
// alternatives that save less than 1 / WORTH of all are not named.
enum { MAX_HALVINGS = 6, WORTH = 50, MAX_ALTERNATIVES = 6 };

// Bytes of ranks on one machine.
typedef struct needs {
  double plan, saving, batches, cache, programs, all;
} needs;

// ---- What is needed -----------------------------------------------------------------------------

static bool is_saved(const gr_plan_state *s) {
  return s->kind != GR_KIND_GRAD_ACCUMULATOR && s->kind != GR_KIND_TABLE;
}

enum { AXES = 1 << GR_MAX_MESH };  // sets of axes of the mesh

// The axes on which ranks hold the same slice, of which that with coordinate 0 writes it.
static int copied_over(const gr_plan *p, const gr_plan_state *s) {
  int axes = 0;
  for (int a = 0; a < p->mesh.n_axes; a++) axes |= (s->layout.placement[a] < 0) << a;
  return axes;
}

// What the first `local` ranks, those of this machine, copy of their states to write a checkpoint:
// all at once, or one by one.
static double saving_bytes(const gr_job *j, int local, bool at_once) {
  const gr_plan *p = j->spec.plan;
  int all = gr_mesh_ranks(&p->mesh);
  double bytes = 0, by_axes[AXES] = {0};
  if (j->spec.kind != GR_RUN_TRAIN) return 0;
  for (const gr_plan_state *s = p->states; s < p->states + p->n_states; s++) {
    double *of = &by_axes[copied_over(p, s)], more = is_saved(s) ? (double)s->bytes : 0;
    *of = at_once ? *of + more : fmax(*of, more);
  }
  for (int r = 0; r < local && r < all; r++) {
    int away = 0;  // axes on which its coordinate is not 0
    double now = 0;
    for (int a = 0; a < p->mesh.n_axes; a++) away |= (gr_mesh_coord(&p->mesh, r, a) != 0) << a;
    for (int k = 0; k < AXES; k++)
      if (!(k & away)) now = at_once ? now + by_axes[k] : fmax(now, by_axes[k]);
    bytes += now;
  }
  return bytes;
}

// States that the host cannot access are copied one by one; inputs are uploaded from two places.
static double staged_bytes(const gr_plan *p) {
  size_t most = 0;
  for (uint32_t i = 0; i < p->n_states; i++)
    if (p->states[i].bytes > most) most = p->states[i].bytes;
  return (double)(most + 2 * p->upload_bytes + p->host_bytes);
}

static double setting(const gr_job *j, const char *key) {
  return (double)gr_conf_find(gr_conf_find(j->spec.conf, "data"), key)->integer;
}

// At most data.cache_mb, and about what all samples have in batches.
static double cache_bytes(const gr_job *j) {
  double bytes = gr_contract_cached(j->spec.contract), most = setting(j, "cache_mb") * (1 << 20);
  return bytes < most ? bytes : most;
}

// Batches that loaders prepare ahead, of the longest bucket: one of training and one of evaluation.
static double batch_bytes(const gr_job *j) {
  const gr_contract *c = j->spec.contract;
  const gr_batch_settings *set = &j->spec.set.options.batch;
  int evaluated = j->spec.set.options.sharding.shards_each ? set->micro_batches : 1;
  double bytes = 0, rows = gr_rows_of(set, c->n_buckets - 1);
  rows *= set->micro_batches + evaluated;
  gr_batch one;
  if (c->ops->empty || c->n_buckets < 1) return 0;
  gr_contract_shapes(c, c->n_buckets - 1, 1, &one);
  for (int f = 0; f < one.n_fields; f++) bytes += (double)gr_type_bytes(&one.field[f].type);
  return bytes * rows * (1 + (setting(j, "workers") > 0 ? setting(j, "prefetch") : 0));
}

// What a rank's programs and libraries take; 0 where the ranks run already, so that it is not free.
static double program_bytes(bool running) {
  gr_memory now = gr_memory_now();
  return running ? 0 : (double)(now.anonymous + now.files);
}

static needs needs_of(const gr_job *j, int local, bool threads, double programs) {
  const gr_plan *p = j->spec.plan;
  needs n = {.programs = local * programs};
  n.saving = saving_bytes(j, local, j->spec.set.saving.async);
  n.plan = local * (p->gpu ? staged_bytes(p) : (double)gr_plan_bytes(p));
  n.batches = local * batch_bytes(j);
  n.cache = (threads ? 1 : local) * cache_bytes(j);
  n.all = n.plan + n.saving + n.batches + n.cache + n.programs;
  return n;
}

static void put_bytes(gr_text *t, double bytes) {
  char size[GR_QUANTITY];
  gr_text_put(t, gr_bytes_text(bytes, size));
}

static void put_part(gr_text *t, double bytes, const char *of) {
  if (bytes < 5e4) return;
  gr_text_put(t, ", ");
  put_bytes(t, bytes);
  gr_text_printf(t, " %s", of);
}

// "2 ranks need 3.1 GB of memory (2.9 GB planned, ...)".
static void put_needs(gr_text *t, const needs *n, int local) {
  gr_text_printf(t, "%d rank%s need%s ", local, gr_text_s(local), local == 1 ? "s" : "");
  put_bytes(t, n->all);
  gr_text_put(t, " of memory on this machine (");
  put_bytes(t, n->plan);
  gr_text_put(t, " planned");
  put_part(t, n->saving, "to save checkpoints from");
  put_part(t, n->batches, "of batches");
  put_part(t, n->cache, "of cached data");
  put_part(t, n->programs, "of programs and libraries");
  gr_text_put(t, ")");
}

// ---- What is free -------------------------------------------------------------------------------

typedef struct shortage {
  gr_room by;      // the limit that is short by most
  double missing;  // bytes; <= 0: none
  bool known;
} shortage;

// A limit of the process counts for its ranks alone.
static shortage find_shortage(const needs *n, int local, bool threads) {
  gr_room all[GR_MAX_ROOMS];
  shortage s = {.known = false};
  int count = gr_room_read("", all);
  for (int per_process = 0; per_process < 2; per_process++) {
    const gr_room *room = gr_room_least(all, count, per_process);
    double need = per_process && !threads ? n->all / local : n->all;
    if (!room || (s.known && need - room->bytes <= s.missing)) continue;
    s = (shortage){.by = *room, .missing = need - room->bytes, .known = true};
  }
  return s;
}

static void put_free(gr_text *t, const shortage *s) {
  put_bytes(t, s->by.bytes > 0 ? s->by.bytes : 0);
  gr_text_printf(t, " are free (%s)", s->by.by);
}

// ---- What would need less -----------------------------------------------------------------------

typedef struct alternatives {
  const gr_job *job;
  int ranks, local;
  bool threads, found;
  double programs;  // bytes of a rank's
  bool each;        // the limit is one process's: what one rank needs is compared
  double all, missing;
  gr_text *out;
} alternatives;

// A plan with one override more, and what it saves; 0: it cannot be compiled, or saves nothing.
typedef struct alternative {
  char override[64];
  int ranks, local;
  double saved;
} alternative;

static double saved_by(const alternatives *c, const alternative *a, const gr_variant *v) {
  if (v->error) return 0;
  double all = needs_of(&v->job, a->local, c->threads, c->programs).all;
  return c->all - (c->each ? all / a->local : all);
}

static void compile(const alternatives *c, alternative *list, int n) {
  gr_variant variants[MAX_ALTERNATIVES];
  const char *more[MAX_ALTERNATIVES];
  for (int i = 0; i < n; i++) {
    more[i] = list[i].override;
    variants[i] = (gr_variant){.more = &more[i], .n = 1, .ranks = list[i].ranks};
  }
  gr_job_plan_variants(c->job, variants, n);
  for (int i = 0; i < n; i++) {
    list[i].saved = saved_by(c, &list[i], &variants[i]);
    gr_status_drop(variants[i].error);
    gr_arena_destroy(variants[i].job.arena);
  }
}

static bool is_worth(const alternatives *c, double saved) { return saved * WORTH > c->all; }

static void put_alternative(alternatives *c, const char *what, double saved) {
  if (!is_worth(c, saved)) return;
  gr_text_printf(c->out, "%s%s needs ", c->found ? "; " : "", what);
  put_bytes(c->out, saved);
  gr_text_printf(c->out, " less%s", saved >= c->missing ? " and fits" : "");
  c->found = true;
}

static alternative *add(const alternatives *c, alternative *list, int *n, const char *override) {
  alternative *a = &list[(*n)++];
  *a = (alternative){.ranks = c->ranks, .local = c->local};
  snprintf(a->override, sizeof a->override, "%s", override);
  return a;
}

static void set_micro_steps(const alternatives *c, alternative *a, int doubled) {
  int64_t n = c->job->spec.set.options.batch.accumulate << doubled;
  snprintf(a->override, sizeof a->override, "training.accumulate=%lld", (long long)n);
}

// How often the number of micro-steps can be doubled.
static int most_doubled(const alternatives *c) {
  const gr_batch_settings *set = &c->job->spec.set.options.batch;
  int64_t rows = (int64_t)set->rows * set->micro_batches;
  int n = 0;
  while (n < MAX_HALVINGS && set->accumulate << (n + 1) <= rows) n++;
  return n;
}

// The smallest number of micro-steps that fits, or the largest that there is; that is known at
// first, and if it fits those below it are halved.
static void find_micro_steps(const alternatives *c, alternative *largest) {
  alternative one = *largest;
  int most = most_doubled(c), low = 0, high = most;
  while (largest->saved <= 0 && --most > 0) {  // it does not divide the batch, for example
    set_micro_steps(c, largest, high = most);
    compile(c, largest, 1);
  }
  while (largest->saved >= c->missing && high - low > 1) {
    int middle = (low + high) / 2;
    set_micro_steps(c, &one, middle);
    compile(c, &one, 1);
    bool fits = one.saved >= c->missing;
    *(fits ? &high : &low) = middle;
    if (fits) *largest = one;
  }
}

// What may be changed, in the order in which it is said.
static int list_overrides(const alternatives *c, alternative *list, int *micro_steps) {
  const gr_options *o = &c->job->spec.set.options;
  bool mesh = c->job->spec.plan->mesh.n_axes > 1;
  int n = 0;
  *micro_steps = -1;
  if (!o->memory.recompute.n) add(c, list, &n, "training.recompute=repeat");
  if (most_doubled(c)) {
    *micro_steps = n;
    set_micro_steps(c, add(c, list, &n, ""), most_doubled(c));
  }
  if (c->ranks > 1 && !mesh && o->sharding.strategy == gr_strategy_ddp) {
    add(c, list, &n, "distributed.strategy=zero1");
    add(c, list, &n, "distributed.strategy=fsdp");
  }
  if (o->precision.precision == gr_precision_fp32 && o->precision.dtype == GR_F32)
    add(c, list, &n, "training.precision=bf16");
  if (c->each || c->local < 2 || c->local < c->ranks || mesh) return n;
  alternative *fewer = add(c, list, &n, "");
  fewer->ranks = fewer->local = c->local / 2;
  snprintf(fewer->override, sizeof fewer->override, "distributed.ranks=%d", fewer->ranks);
  return n;
}

static void try_plans(alternatives *c) {
  alternative list[MAX_ALTERNATIVES];
  int micro_steps;
  if (c->job->spec.kind != GR_RUN_TRAIN || !gr_job_plans_again(c->job)) return;
  int n = list_overrides(c, list, &micro_steps);
  compile(c, list, n);
  if (micro_steps >= 0) find_micro_steps(c, &list[micro_steps]);
  for (int i = 0; i < n; i++) put_alternative(c, list[i].override, list[i].saved);
}

static double all_with(const void *ctx, const char *override) {
  const alternatives *c = ctx;
  alternative one;
  int n = 0;
  add(c, &one, &n, override);
  compile(c, &one, n);
  return c->all - one.saved;
}

// Of a GPU's plan the host has little, whatever its batch.
static void put_smaller(const alternatives *c) {
  const gr_plan *p = c->job->spec.plan;
  bool again = gr_job_plans_again(c->job);
  double states = (double)p->state_bytes * (c->each ? 1 : c->local);
  gr_smaller s = {c->job, states, c->all, c->all - c->missing, again ? all_with : NULL, c};
  if (p->gpu || c->job->spec.kind != GR_RUN_TRAIN)
    gr_text_put(c->out, "a smaller training.batch_size");
  else
    gr_put_smaller(c->out, &s);
}

static void put_alternatives(alternatives *c, const needs *n, const shortage *s) {
  c->ranks = gr_mesh_ranks(&c->job->spec.plan->mesh);
  c->each = s->by.per_process && !c->threads;
  c->all = c->each ? n->all / c->local : n->all, c->missing = s->missing;
  try_plans(c);
  int share = c->each ? c->local : 1;
  double cache = n->cache / share;
  double saving = (n->saving - saving_bytes(c->job, c->local, false)) / share;
  put_alternative(c, "checkpoint.async=false", saving);
  put_alternative(c, "data.cache_mb=0", cache);
  gr_text_put(c->out, c->found ? "; or " : "");
  put_smaller(c);
  gr_text_put(c->out, "; or more machines");
}

// ---- Comparing ----------------------------------------------------------------------------------

// Where the limit is one process's, what one rank needs is compared.
static void put_shortage(gr_text *t, const needs *n, const shortage *s, int local, bool threads) {
  needs shown = *n;
  if (s->by.per_process && !threads) {
    double *part[] = {&shown.plan,  &shown.saving,   &shown.batches,
                      &shown.cache, &shown.programs, &shown.all};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) *part[i] /= local;
    local = 1;
  }
  put_needs(t, &shown, local);
  gr_text_put(t, s->missing > 0 ? ", and " : ": it fits, ");
  put_free(t, s);
}

// A device that computes nothing has no memory either.
gr_status gr_job_check_memory(const gr_job *j, int local, bool threads, bool first) {
  needs n = needs_of(j, local, threads, program_bytes(true));
  shortage s = find_shortage(&n, local, threads);
  bool warns = j->spec.set.ranks.memory_check == gr_memory_check_warn;
  if (!s.known || s.missing <= 0 || j->spec.device->dry) return GR_OK;
  gr_text what = gr_text_make(j->arena), less = gr_text_make(j->arena);
  put_shortage(&what, &n, &s, local, threads);
  if (warns && first) gr_log(GR_WARN, "%s", what.chars);
  if (warns) return GR_OK;
  alternatives c = {.job = j, .local = local, .threads = threads, .out = &less};
  gr_status e = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%s", what.chars);
  if (first) put_alternatives(&c, &n, &s), e = gr_hint(e, "%s", less.chars);
  return gr_hint(e, "memory.check=warn begins the run all the same");
}

void gr_job_print_memory(FILE *f, const gr_job *j, int ranks) {
  if (j->spec.plan->gpu) return;
  double programs = program_bytes(false);
  needs n = needs_of(j, ranks, false, programs);
  shortage s = find_shortage(&n, ranks, false);
  gr_text t = gr_text_make(j->arena);
  if (s.known)
    put_shortage(&t, &n, &s, ranks, false);
  else
    put_needs(&t, &n, ranks);
  if (s.known && s.missing > 0) {
    gr_text_put(&t, ": it does not fit by ");
    put_bytes(&t, s.missing);
    gr_text_put(&t, "; ");
    put_alternatives(&(alternatives){.job = j, .local = ranks, .programs = programs, .out = &t}, &n,
                     &s);
  }
  fprintf(f, "memory here %s\n", t.chars);
}
