// fit.c - see fit.h.
//
// Candidates are compiled: without micro-steps and with 2, 4, 8, ... of them, and for each, of
// every way to divide the model into parts, the fewest parts computed again that fit, those first
// that free the most bytes for an operation. More of either takes more time, so that the search
// ends with the first number of micro-steps for which nothing has to be computed again. The same
// with keys changed that leave the bits as they are: gathers where weights are used, and states in
// host memory; but for those which alone take more time than the best so far.
#include "job/fit.h"
#include <stdlib.h>
#include <string.h>
#include "compiler/report/parts.h"
#include "job/figures.h"
#include "job/parts.h"

// Parts of the model that can be computed again, none within another, the best first.
typedef struct part_set {
  const char *pattern;  // that found them; NULL: several did
  gr_recomputed *parts;
  int n;
} part_set;

// Keys that are changed together.
typedef struct change {
  const char *key, *value;
} change;
enum { MAX_CHANGES = 4, MAX_WAYS = 5 };
typedef struct way {
  change changes[MAX_CHANGES];
  int n;
} way;

enum { MAX_SETS = GR_RECOMPUTE_WORDS + 1 };

typedef struct fit {
  gr_job *job;
  int ranks;
  double limit;  // bytes of a rank
  part_set sets[MAX_SETS];
  int n_sets;
  way ways[MAX_WAYS];  // n_ways; the first changes nothing
  int n_ways;
  gr_text *saved;      // what one of them alone saves, for the sentence
  int64_t accumulate;  // micro-steps of the configuration
  int64_t most;        // micro-steps that can be chosen
} fit;

// A way to make the plan, and what that needs.
typedef struct candidate {
  const way *way;
  const part_set *set;
  int parts;  // the first of the set are computed again
  int64_t accumulate;
  double bytes, seconds;
  bool there;  // it can be planned
} candidate;

// ---- Candidates ---------------------------------------------------------------------------------

static const char *list_parts(const candidate *c, gr_arena *a) {
  gr_text t = gr_text_make(a);
  for (int i = 0; i < c->parts; i++)
    gr_text_printf(&t, "%s\"%s\"", i ? "," : "", c->set->parts[i].path);
  return t.chars;
}

static const gr_program *largest(const gr_plan *p) {
  const gr_program *found = NULL;
  for (uint32_t i = 0; i < p->n_programs; i++)
    if (p->programs[i].trains && (!found || p->programs[i].frame.bytes > found->frame.bytes))
      found = &p->programs[i];
  return found;
}

// Plans with these overrides. What is made is in out->arena, which the caller destroys.
static bool plan_with(const fit *f, const char *parts, gr_job *out, candidate *c) {
  gr_arena *a = gr_arena_create();
  const char *overrides[3 + MAX_CHANGES] = {
      "training.memory=null",
      gr_arena_printf(a, "training.accumulate=%lld", (long long)c->accumulate)};
  int n = 2;
  if (parts) overrides[n++] = gr_arena_printf(a, "training.recompute=%s", parts);
  for (int k = 0; c->way && k < c->way->n; k++)
    overrides[n++] = gr_arena_printf(a, "%s=%s", c->way->changes[k].key, c->way->changes[k].value);
  *out = (gr_job){0};
  gr_status s = gr_job_plan_with(f->job, overrides, n, f->ranks, out);
  c->there = !s;
  if (!s) {
    const gr_plan_figures *figures = gr_job_count(out, NULL, 0);
    c->bytes = figures->bytes;
    c->seconds = figures->step[0].all;
  }
  gr_status_drop(s);
  gr_arena_destroy(a);
  return c->there;
}

static candidate try(const fit *f, const way *w, const part_set *set, int parts,
                     int64_t accumulate) {
  candidate c = {.way = w, .set = set, .parts = parts, .accumulate = accumulate};
  gr_arena *a = gr_arena_create();
  gr_job other;
  plan_with(f, parts ? gr_arena_printf(a, "[%s]", list_parts(&c, a)) : NULL, &other, &c);
  gr_arena_destroy(other.arena);
  gr_arena_destroy(a);
  return c;
}

static bool fits(const fit *f, const candidate *c) { return c->there && c->bytes <= f->limit; }

static bool is_better(const fit *f, const candidate *c, const candidate *than) {
  if (fits(f, c)) return !fits(f, than) || c->seconds < than->seconds;
  return !fits(f, than) && c->there && (!than->there || c->bytes < than->bytes);
}

static void put_changes(gr_text *t, const way *w, const char *between) {
  for (int k = 0; k < w->n; k++)
    gr_text_printf(t, "%s%s=%s", k ? between : "", w->changes[k].key, w->changes[k].value);
}

// Notes what a candidate saves, of which one thing alone is changed.
static void note_saved(const fit *f, const candidate *first, const candidate *c) {
  char b[32];
  if (!c->there || c->bytes >= first->bytes || (c->parts && !c->set->pattern)) return;
  gr_text_printf(f->saved, "%s%s by ", f->saved->len ? ", " : "",
                 gr_bytes_text(first->bytes - c->bytes, b));
  if (c->parts)
    gr_text_printf(f->saved, "training.recompute=%s", c->set->pattern);
  else if (c->way->n)
    put_changes(f->saved, c->way, " ");
  else
    gr_text_printf(f->saved, "training.accumulate=%lld", (long long)c->accumulate);
}

// The fewest parts of a set that fit with so many micro-steps; none does: all of them.
static candidate fewest_parts(const fit *f, const candidate *none, const part_set *set) {
  candidate all = try(f, none->way, set, set->n, none->accumulate);
  if (!none->way->n && none->accumulate == f->accumulate) note_saved(f, none, &all);
  for (int low = 0, high = set->n; fits(f, &all) && high - low > 1;) {
    candidate middle = try(f, none->way, set, (low + high) / 2, none->accumulate);
    if (fits(f, &middle))
      all = middle, high = middle.parts;
    else
      low = (low + high) / 2;
  }
  return all;
}

// The candidate with so many micro-steps that fits and takes the least time; if none fits, the one
// that needs least. none: that with nothing computed again.
static candidate search_parts(const fit *f, const candidate *none) {
  candidate best = *none;
  for (int i = 0; i < f->n_sets && !fits(f, none); i++) {
    candidate c = fewest_parts(f, none, &f->sets[i]);
    if (is_better(f, &c, &best)) best = c;
  }
  return best;
}

// The same with any number of them, up to that which alone takes more time than `other`.
static candidate search_way(const fit *f, const candidate *first, const candidate *other) {
  candidate best = search_parts(f, first);
  for (int64_t n = 2 * f->accumulate; n <= f->most && (best.parts || !fits(f, &best)); n *= 2) {
    candidate none = try(f, first->way, NULL, 0, n);
    if (fits(f, other) && none.seconds >= other->seconds) break;
    candidate c = search_parts(f, &none);
    if (n == 2 * f->accumulate && !first->way->n) note_saved(f, first, &none);
    if (is_better(f, &c, &best)) best = c;
    if (fits(f, &c) && !c.parts) break;
  }
  return best;
}

// And with any of the ways. More of one takes no less time, so that a way which alone takes more
// than the best is not the best with others.
static candidate search(const fit *f, const candidate *first) {
  candidate best = search_way(f, first, first);
  for (int i = 1; i < f->n_ways; i++) {
    candidate alone = try(f, &f->ways[i], NULL, 0, f->accumulate);
    if (f->ways[i].n <= 2) note_saved(f, first, &alone);  // not two at once
    if (!alone.there || (fits(f, &best) && alone.seconds >= best.seconds)) continue;
    candidate c = search_way(f, &alone, &best);
    if (is_better(f, &c, &best)) best = c;
  }
  return best;
}

// ---- What may be changed ------------------------------------------------------------------------

static int by_worth(const void *a, const void *b) {
  const gr_recomputed *x = a, *y = b;
  double p = x->bytes * (y->flops + 1), q = y->bytes * (x->flops + 1);
  return p == q ? strcmp(x->path, y->path) : p < q ? 1 : -1;
}

// What this pattern finds.
static bool find_set(fit *f, const char *pattern) {
  part_set *s = &f->sets[f->n_sets];
  gr_job other;
  candidate c = {.accumulate = f->accumulate};
  *s = (part_set){.pattern = pattern};
  if (plan_with(f, pattern, &other, &c)) {
    const gr_notes *n = &largest(other.spec.plan)->notes;
    s->parts = GR_NEW(f->job->arena, gr_recomputed, n->n_recomputed + MAX_SETS);
    for (uint32_t k = 0; k < n->n_recomputed; k++)
      if (n->recomputed[k].bytes > 0) {
        s->parts[s->n] = n->recomputed[k];
        s->parts[s->n++].path = gr_arena_strdup(f->job->arena, n->recomputed[k].path);
      }
  }
  gr_arena_destroy(other.arena);
  return s->n > 0;
}

// What each word of training.recompute finds; and these beside iterations of repeat:, or the
// model's outermost parts.
static void find_sets(fit *f) {
  for (int k = 0; k < GR_RECOMPUTE_WORDS; k++) f->n_sets += find_set(f, gr_recompute_words[k]);
  if (!find_set(f, "repeat") && !find_set(f, "[\"*\"]")) return;
  part_set *s = &f->sets[f->n_sets];
  for (int k = 0; k < f->n_sets; k++) s->parts[s->n++] = f->sets[k].parts[0];
  if (f->n_sets) s->pattern = NULL;
  qsort(s->parts, (size_t)s->n, sizeof *s->parts, by_worth);
  f->n_sets++;
}

static bool has_batch_norm(const gr_plan *p) {
  const gr_graph *g = largest(p)->frame.g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (!strncmp(g->nodes[i].op->name, "batch_norm", 10)) return true;
  return false;
}

static bool is_given(const gr_job *j, const char *key) {
  const gr_conf *c = gr_conf_find(j->spec.conf, key);
  return c && !c->is_default;
}

static void add_change(const fit *f, way *w, const char *key, const char *value) {
  if (!is_given(f->job, key)) w->changes[w->n++] = (change){key, value};
}

// Ways in which the bits are the same. Each changes something, or it is none.
static void find_ways(fit *f) {
  const gr_sharding_settings *o = &f->job->spec.set.options.sharding;
  bool gathers = f->ranks > 1 && o->n_rules > o->n_given, gpu = f->job->spec.device->gpu;
  f->n_ways = 1;
  for (int late = 0; late <= gathers; late++)
    for (int away = 0; away <= (gpu ? 1 + gathers : 0); away++) {
      way *w = &f->ways[f->n_ways];
      *w = (way){0};
      if (late && away == 1 && gathers) continue;  // weights in host memory save more
      if (late) add_change(f, w, "distributed.fsdp.forward_prefetch", "false");
      if (late) add_change(f, w, "distributed.fsdp.backward_prefetch", "none");
      if (away) add_change(f, w, "training.offload", "optimizer");
      if (away > 1) add_change(f, w, "distributed.fsdp.offload_params", "true");
      f->n_ways += w->n > 0;
    }
}

// ---- The choice ---------------------------------------------------------------------------------

static void put_other(const fit *f, const char *override, double bytes, gr_text *t) {
  char b[32];
  gr_job other;
  const char *overrides[] = {"training.memory=null", override};
  gr_status s = gr_job_plan_with(f->job, overrides, 2, f->ranks, &other);
  double now = s ? bytes : gr_job_count(&other, NULL, 0)->bytes;
  if (now < bytes)
    gr_text_printf(t, "%s%s alone needs %s less", t->len ? "; " : "", override,
                   gr_bytes_text(bytes - now, b));
  gr_status_drop(s);
  gr_arena_destroy(other.arena);
}

// What is not chosen, because it changes what is computed or where.
static void put_others(const fit *f, double bytes, gr_text *t) {
  const gr_options *o = &f->job->spec.set.options;
  if (o->precision.precision == gr_precision_fp32)
    put_other(f, "training.precision=bf16", bytes, t);
  if (f->ranks > 1 && o->sharding.strategy == gr_strategy_ddp) {
    put_other(f, "distributed.strategy=zero1", bytes, t);
    put_other(f, "distributed.strategy=fsdp", bytes, t);
  }
}

static gr_status refuse(const fit *f, const candidate *first, const candidate *best) {
  char a[32], b[32], c[32];
  gr_text t = gr_text_make(f->job->arena);
  gr_status s = gr_fail(GR_ERR_CONFIG, gr_conf_find(f->job->spec.conf, "training.memory")->loc,
                        "training.memory is %s, but a rank needs %s, and at least %s with values "
                        "computed again and micro-steps%s",
                        gr_bytes_text(f->limit, a), gr_bytes_text(first->bytes, b),
                        gr_bytes_text(best->bytes, c),
                        f->job->spec.device->gpu ? ", and states in host memory" : "");
  put_others(f, first->bytes, &t);
  return gr_hint(s, "%s%sa smaller training.batch_size, or more ranks", t.chars,
                 t.len ? "; or " : "");
}

static gr_status set(gr_job *j, const char *key, gr_conf *value) {
  value->is_default = true;  // it is not the user's
  return gr_conf_put_at(j->arena, j->spec.conf, key, value);
}

static gr_status apply_change(gr_job *j, const change *c, gr_loc loc) {
  bool truth = !strcmp(c->value, "true"), word = !truth && strcmp(c->value, "false") != 0;
  gr_conf *value = gr_conf_make(j->arena, word ? GR_CONF_TEXT : GR_CONF_BOOL, loc);
  if (word)
    value->text = c->value;
  else
    value->truth = truth;
  return set(j, c->key, value);
}

static gr_status apply(const fit *f, const candidate *c) {
  gr_job *j = f->job;
  gr_loc loc = gr_conf_find(j->spec.conf, "training.memory")->loc;
  gr_conf *list = gr_conf_make(j->arena, GR_CONF_LIST, loc);
  gr_conf *number = gr_conf_make(j->arena, GR_CONF_INT, loc);
  number->integer = c->accumulate;
  for (int i = 0; i < c->parts; i++) {
    gr_conf *path = gr_conf_make(j->arena, GR_CONF_TEXT, loc);
    path->text = c->set->parts[i].path;
    gr_conf_append(j->arena, list, path);
  }
  for (int i = 0; i < c->way->n; i++) GR_TRY(apply_change(j, &c->way->changes[i], loc));
  if (c->parts) GR_TRY(set(j, "training.recompute", list));
  return c->accumulate != f->accumulate ? set(j, "training.accumulate", number) : GR_OK;
}

static void describe(const fit *f, const candidate *first, const candidate *best) {
  char a[32], b[32], c[32];
  gr_text t = gr_text_make(f->job->arena);
  gr_text_printf(&t, "training.memory %s: ", gr_bytes_text(f->limit, a));
  put_changes(&t, best->way, ", ");
  if (best->parts)
    gr_text_printf(&t, "%straining.recompute=[%s] (%d of %d parts)", best->way->n ? ", " : "",
                   list_parts(best, f->job->arena), best->parts, best->set->n);
  if (best->accumulate != f->accumulate)
    gr_text_printf(&t, "%straining.accumulate=%lld", best->way->n || best->parts ? ", " : "",
                   (long long)best->accumulate);
  gr_text_printf(&t, ": %s of the %s without, for %.2f of the predicted time",
                 gr_bytes_text(best->bytes, b), gr_bytes_text(first->bytes, c),
                 best->seconds / first->seconds);
  if (f->saved->len) gr_text_printf(&t, "; alone would save %s", f->saved->chars);
  f->job->fitted = t.chars;
}

static gr_status fit_to_limit(gr_job *j, int ranks) {
  const gr_batch_settings *batch = &j->spec.set.options.batch;
  fit f = {.job = j, .ranks = ranks, .accumulate = batch->accumulate, .most = batch->accumulate};
  const gr_conf *key = gr_conf_find(j->spec.conf, "training.memory");
  if (key->kind == GR_CONF_TEXT) GR_TRY(gr_size_read(key, "training.memory", &f.limit));
  if (!f.limit || j->spec.kind != GR_RUN_TRAIN) return GR_OK;
  gr_job other;
  gr_text saved = gr_text_make(j->arena);
  f.saved = &saved;
  candidate first = {.way = f.ways, .accumulate = f.accumulate};
  bool there = plan_with(&f, NULL, &other, &first);  // its errors are those of the plan
  bool norm = there && has_batch_norm(other.spec.plan);
  gr_arena_destroy(other.arena);
  if (!there || fits(&f, &first)) return GR_OK;
  if (!is_given(j, "training.accumulate") && !norm)
    f.most = (int64_t)batch->rows * batch->micro_batches;
  if (!is_given(j, "training.recompute")) find_sets(&f);
  find_ways(&f);
  candidate best = search(&f, &first);
  if (!fits(&f, &best)) return refuse(&f, &first, &best);
  describe(&f, &first, &best);
  GR_TRY(apply(&f, &best));
  return gr_job_read(j, ranks);
}

gr_status gr_job_fit(gr_job *j, int ranks) {
  if (!j->spec.contract) GR_TRY(gr_job_open(j, ranks));
  GR_TRY(gr_batch_choose(j, ranks));
  GR_TRY(fit_to_limit(j, ranks));
  return gr_job_plan(j, ranks);
}
