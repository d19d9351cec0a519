// memory.c - see memory.h.
#include "job/memory.h"
#include <string.h>
#include "base/log.h"
#include "base/port.h"
#include "base/room.h"
#include "base/shown.h"
#include "runtime/data/loader.h"

// At most so many halvings of a rank's rows are compiled to find out what would need less;
// alternatives that save less than 1 / WORTH of all are not named.
enum { MAX_HALVINGS = 6, WORTH = 50 };

// Bytes of ranks on one machine.
typedef struct needs {
  double plan, saving, batches, cache, programs, all;
} needs;

// ---- What is needed -----------------------------------------------------------------------------

static bool is_saved(const gr_plan_state *s) {
  return s->kind != GR_KIND_GRAD_ACCUMULATOR && s->kind != GR_KIND_TABLE;
}

// What this rank copies of its states to write a checkpoint: all at once, or one by one. Of ranks
// that hold the same slice one has it.
static double copied_bytes(const gr_plan *p, int rank, bool at_once) {
  double bytes = 0, most = 0;
  for (const gr_plan_state *s = p->states; s < p->states + p->n_states; s++) {
    bool writes = is_saved(s);
    for (int a = 0; a < p->mesh.n_axes; a++)
      if (s->layout.placement[a] < 0 && gr_mesh_coord(&p->mesh, rank, a)) writes = false;
    double now = writes ? (double)s->bytes : 0;
    bytes += now, most = now > most ? now : most;
  }
  return at_once ? bytes : most;
}

// Of all ranks of this machine.
static double saving_bytes(const gr_job *j, int local, bool at_once) {
  int all = gr_mesh_ranks(&j->spec.plan->mesh);
  double bytes = 0;
  bool train = j->spec.kind == GR_RUN_TRAIN;
  for (int r = 0; train && r < local && r < all; r++)
    bytes += copied_bytes(j->spec.plan, r, at_once);
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

// running: the ranks run already, so that what their programs take is not free any more.
static needs needs_of(const gr_job *j, int local, bool threads, bool running) {
  const gr_plan *p = j->spec.plan;
  needs n = {0};
  gr_memory now = gr_memory_now();
  n.saving = saving_bytes(j, local, j->spec.set.saving.async);
  n.plan = local * (p->gpu ? staged_bytes(p) : (double)gr_plan_bytes(p));
  n.batches = local * batch_bytes(j);
  n.cache = (threads ? 1 : local) * cache_bytes(j);
  if (!running) n.programs = local * (double)(now.anonymous + now.files);
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
  bool threads, running, found;
  bool each;  // the limit is one process's: what one rank needs is compared
  double all, missing;
  gr_text *out;
} alternatives;

static void put_alternative(alternatives *c, const char *what, double saved) {
  gr_text_printf(c->out, "%s%s needs ", c->found ? "; " : "", what);
  put_bytes(c->out, saved);
  gr_text_printf(c->out, " less%s", saved >= c->missing ? " and fits" : "");
  c->found = true;
}

// Compiles the plan with one override more: what it saves; 0: it cannot be compiled, or saves
// nothing.
static double saved_by(const alternatives *c, const char *override, int ranks, int local) {
  gr_job other;
  gr_status s = gr_job_plan_with(c->job, &override, 1, ranks, &other);
  double saved = 0;
  if (!s) {
    double all = needs_of(&other, local, c->threads, c->running).all;
    saved = c->all - (c->each ? all / local : all);
  }
  gr_status_drop(s);
  gr_arena_destroy(other.arena);
  return saved;
}

static bool is_worth(const alternatives *c, double saved) { return saved * WORTH > c->all; }

static void try_override(alternatives *c, const char *override) {
  double saved = saved_by(c, override, c->ranks, c->local);
  if (is_worth(c, saved)) put_alternative(c, override, saved);
}

// The smallest number of micro-steps that fits, or the largest that there is.
static void try_accumulate(alternatives *c) {
  const gr_batch_settings *set = &c->job->spec.set.options.batch;
  int64_t rows = (int64_t)set->rows * set->micro_batches, n = set->accumulate;
  char text[64], best[64] = "";
  double saved = 0;
  for (int i = 0; i < MAX_HALVINGS && 2 * n <= rows && saved < c->missing; i++) {
    snprintf(text, sizeof text, "training.accumulate=%lld", (long long)(n *= 2));
    double now = saved_by(c, text, c->ranks, c->local);
    if (now > saved) saved = now, memcpy(best, text, sizeof best);
  }
  if (is_worth(c, saved)) put_alternative(c, best, saved);
}

static void try_plans(alternatives *c) {
  const gr_options *o = &c->job->spec.set.options;
  char text[64];
  bool train = c->job->spec.kind == GR_RUN_TRAIN, mesh = c->job->spec.plan->mesh.n_axes > 1;
  if (!train || !gr_job_plans_again(c->job)) return;
  if (!o->memory.recompute.n) try_override(c, "training.recompute=repeat");
  try_accumulate(c);
  if (c->ranks > 1 && !mesh && o->sharding.strategy == gr_strategy_ddp) {
    try_override(c, "distributed.strategy=zero1");
    try_override(c, "distributed.strategy=fsdp");
  }
  if (o->precision.precision == gr_precision_fp32 && o->precision.dtype == GR_F32)
    try_override(c, "training.precision=bf16");
  if (c->each || c->local < 2 || c->local < c->ranks || mesh) return;
  snprintf(text, sizeof text, "distributed.ranks=%d", c->local / 2);
  double saved = saved_by(c, text, c->local / 2, c->local / 2);
  if (is_worth(c, saved)) put_alternative(c, text, saved);
}

static void put_alternatives(alternatives *c, const needs *n, const shortage *s) {
  c->ranks = gr_mesh_ranks(&c->job->spec.plan->mesh);
  c->each = s->by.per_process && !c->threads;
  c->all = c->each ? n->all / c->local : n->all, c->missing = s->missing;
  try_plans(c);
  int share = c->each ? c->local : 1;
  double cache = n->cache / share;
  double saving = (n->saving - saving_bytes(c->job, c->local, false)) / share;
  if (is_worth(c, saving)) put_alternative(c, "checkpoint.async=false", saving);
  if (is_worth(c, cache)) put_alternative(c, "data.cache_mb=0", cache);
  gr_text_printf(c->out, "%sa smaller training.batch_size, or more machines",
                 c->found ? "; or " : "");
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
  needs n = needs_of(j, local, threads, true);
  shortage s = find_shortage(&n, local, threads);
  bool warns = j->spec.set.ranks.memory_check == gr_memory_check_warn;
  if (!s.known || s.missing <= 0 || j->spec.device->dry) return GR_OK;
  gr_text what = gr_text_make(j->arena), less = gr_text_make(j->arena);
  put_shortage(&what, &n, &s, local, threads);
  if (warns && first) gr_log(GR_WARN, "%s", what.chars);
  if (warns) return GR_OK;
  alternatives c = {.job = j, .local = local, .threads = threads, .running = true, .out = &less};
  gr_status e = gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%s", what.chars);
  if (first) put_alternatives(&c, &n, &s), e = gr_hint(e, "%s", less.chars);
  return gr_hint(e, "memory.check=warn begins the run all the same");
}

void gr_job_print_memory(FILE *f, const gr_job *j, int ranks) {
  if (j->spec.plan->gpu) return;
  needs n = needs_of(j, ranks, false, false);
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
    put_alternatives(&(alternatives){.job = j, .local = ranks, .out = &t}, &n, &s);
  }
  fprintf(f, "memory here %s\n", t.chars);
}
