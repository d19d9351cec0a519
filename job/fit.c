// fit.c - see fit.h.
//
// Candidates are compiled: without micro-steps and with 2, 4, 8, ... of them, up to the first
// number for which nothing has to be computed again; then for each, the largest first, of every way
// to divide the model into parts, the fewest parts computed again that fit, those first that free
// the most bytes for an operation. The same with keys changed that leave the bits as they are. More
// of anything takes more time and less memory: what takes as long as the best so far is left out,
// with all that has more of it. Micro-steps take less time than parts, so that the first best is a
// good one.
#include "job/fit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/report/parts.h"
#include "job/figures.h"
#include "job/parts.h"
#include "job/smaller.h"
#include "job/variants.h"

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
enum { MAX_CHANGES = 4, MAX_WAYS = 5, MAX_DOUBLED = 64, MAX_SETS = GR_RECOMPUTE_WORDS + 1 };
typedef struct way {
  change changes[MAX_CHANGES];
  int n;
} way;

// A way to make the plan, and what that needs.
typedef struct candidate {
  const struct candidate *before;  // that was planned
  const char *list;                // training.recompute; empty: as configured
  const way *way;
  const part_set *set;
  int parts;  // the first of the set are computed again
  int64_t accumulate;
  double bytes, seconds;
  bool there;  // it can be planned
} candidate;

typedef struct fit {
  gr_job *job;
  int ranks;
  double limit;   // bytes of a rank
  double states;  // of it, as configured
  part_set sets[MAX_SETS];
  int n_sets;
  way ways[MAX_WAYS];  // n_ways; the first changes nothing
  int n_ways;
  const candidate *last;  // that was planned: sets have parts in common
  gr_text *saved;         // what one of them alone saves, for the sentence
  int64_t accumulate;     // micro-steps of the configuration
  int64_t most;           // micro-steps that can be chosen
  bool halves;  // where all parts of a set do not fit, half of them are tried, a quarter, ...
} fit;

// ---- Candidates ---------------------------------------------------------------------------------

static const char *list_parts(const candidate *c, gr_arena *a) {
  gr_text t = gr_text_make(a);
  for (int i = 0; i < c->parts; i++)
    gr_text_printf(&t, "%s\"%s\"", i ? "," : "[", c->set->parts[i].path);
  if (c->parts) gr_text_put(&t, "]");
  return c->parts ? t.chars : "";
}

static const gr_program *largest(const gr_plan *p) {
  const gr_program *found = NULL;
  for (uint32_t i = 0; i < p->n_programs; i++)
    if (p->programs[i].trains && (!found || p->programs[i].frame.bytes > found->frame.bytes))
      found = &p->programs[i];
  return found;
}

// Plans with these overrides. What is made is in out->arena, which the caller destroys.
static bool plan_with(const fit *f, gr_job *out, candidate *c) {
  gr_arena *a = gr_arena_create();
  const char *overrides[3 + MAX_CHANGES] = {
      "training.memory=null",
      gr_arena_printf(a, "training.accumulate=%lld", (long long)c->accumulate)};
  int n = 2;
  if (*c->list) overrides[n++] = gr_arena_printf(a, "training.recompute=%s", c->list);
  for (int k = 0; c->way && k < c->way->n; k++)
    overrides[n++] = gr_arena_printf(a, "%s=%s", c->way->changes[k].key, c->way->changes[k].value);
  *out = (gr_job){0};
  f->job->n_fitted++;
  gr_status s = gr_job_plan_with(f->job, overrides, n, f->ranks, out);
  if ((c->there = !s)) {
    const gr_plan_figures *figures = gr_job_count(out, NULL, 0);
    c->bytes = figures->bytes, c->seconds = figures->step[0].all;
  }
  gr_status_drop(s);
  gr_arena_destroy(a);
  return c->there;
}

static void remember(fit *f, const candidate *c) {
  candidate *copy = GR_NEW(f->job->arena, candidate, 1);
  *copy = *c;
  copy->before = f->last, f->last = copy;
}

static candidate try(fit *f, const way *w, const part_set *set, int parts, int64_t accumulate) {
  candidate c = {.way = w, .set = set, .parts = parts, .accumulate = accumulate};
  c.list = list_parts(&c, f->job->arena);
  for (const candidate *t = f->last; t; t = t->before)
    if (t->way == w && t->accumulate == accumulate && !strcmp(t->list, c.list)) {
      c.bytes = t->bytes, c.seconds = t->seconds, c.there = t->there;
      return c;
    }
  gr_job other;
  plan_with(f, &other, &c);
  gr_arena_destroy(other.arena);
  remember(f, &c);
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
  if (!c->there || c->bytes >= first->bytes) return;
  gr_text_printf(f->saved, "%s%s by ", f->saved->len ? ", " : "",
                 gr_bytes_text(first->bytes - c->bytes, b));
  if (c->parts)
    gr_text_printf(f->saved, "training.recompute=%s", c->set->pattern);
  else if (c->way->n)
    put_changes(f->saved, c->way, " ");
  else
    gr_text_printf(f->saved, "training.accumulate=%lld", (long long)c->accumulate);
}

// How many parts to try after `last`, between those that do not fit and those that do: as if each
// saved as much as the others, then beside that, and then the middle.
static int next_parts(const fit *f, const candidate *low, const candidate *high,
                      const candidate *last, int *guesses) {
  if (!low->there || !high->there || *guesses > 1) return (low->parts + high->parts) / 2;
  if (++*guesses > 1) return fits(f, last) ? last->parts - 1 : last->parts + 1;
  double share = (low->bytes - f->limit) / (low->bytes - high->bytes);
  int n = low->parts + (int)ceil(share * (high->parts - low->parts));
  return n < high->parts ? n : high->parts - 1;
}

// The fewest parts of a set that fit with so many micro-steps, if they may take less time than the
// best; none does: all of them.
static candidate fewest_parts(fit *f, const candidate *none, const part_set *set,
                              const candidate *best) {
  candidate low = *none, high = {.parts = set->n + 1}, c;
  int guesses = 0, n = fits(f, best) ? 1 : set->n;
  do {
    c = try(f, none->way, set, n, none->accumulate);
    *(fits(f, &c) ? &high : &low) = c;
    if (!fits(f, &c) && fits(f, best) && c.seconds >= best->seconds) break;
    n = next_parts(f, &low, &high, &c, &guesses);
  } while (high.parts - low.parts > 1);
  for (n = high.there ? 0 : f->halves * set->n / 2; n > 0 && !fits(f, &low); n /= 2) {
    c = try(f, none->way, set, n, none->accumulate);
    if (is_better(f, &c, &low)) low = c;
  }
  return high.there ? high : low;
}

// Takes the candidate with so many micro-steps that fits and takes the least time, or if none fits
// the one that needs least, if it is better. none: that with nothing computed again.
static void search_parts(fit *f, const candidate *none, candidate *best) {
  if (is_better(f, none, best)) *best = *none;
  if (fits(f, best) && none->seconds >= best->seconds) return;
  for (int i = 0; i < f->n_sets; i++) {
    candidate c = fewest_parts(f, none, &f->sets[i], best);
    if (is_better(f, &c, best)) *best = c;
  }
}

// The same with any number of them, up to that which alone takes more time than the best.
static void search_way(fit *f, const candidate *first, candidate *best) {
  candidate none[MAX_DOUBLED] = {*first};
  int n = 1;
  for (int64_t k = 2 * f->accumulate; k <= f->most && !fits(f, &none[n - 1]); k *= 2, n++) {
    none[n] = try(f, first->way, NULL, 0, k);
    if (n == 1 && !first->way->n) note_saved(f, first, &none[n]);
    if (fits(f, best) && none[n].seconds >= best->seconds) break;
  }
  while (n-- > 0) search_parts(f, &none[n], best);
}

// And with any of the ways. More of one takes no less time, so that a way which alone takes more
// than the best is not the best with others.
static candidate search(fit *f, const candidate *first) {
  candidate best = *first;
  for (const part_set *s = f->sets; s < f->sets + f->n_sets && s->pattern; s++) {
    candidate all = try(f, f->ways, s, s->n, f->accumulate);
    note_saved(f, first, &all);
  }
  search_way(f, first, &best);
  for (int i = 1; i < f->n_ways; i++) {
    candidate alone = try(f, &f->ways[i], NULL, 0, f->accumulate);
    if (f->ways[i].n <= 2) note_saved(f, first, &alone);  // not two at once
    if (!alone.there || (fits(f, &best) && alone.seconds >= best.seconds)) continue;
    search_way(f, &alone, &best);
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
  candidate c = {.way = f->ways, .accumulate = f->accumulate, .list = pattern};
  *s = (part_set){.pattern = pattern};
  if (plan_with(f, &other, &c)) {
    const gr_notes *n = &largest(other.spec.plan)->notes;
    s->parts = GR_NEW(f->job->arena, gr_recomputed, n->n_recomputed + MAX_SETS);
    for (uint32_t k = 0; k < n->n_recomputed; k++)
      if (n->recomputed[k].bytes > 0) {
        s->parts[s->n] = n->recomputed[k];
        s->parts[s->n++].path = gr_arena_strdup(f->job->arena, n->recomputed[k].path);
      }
    c.set = s, c.parts = 1, c.list = s->n ? list_parts(&c, f->job->arena) : "";
    if (s->n == 1 && !strcmp(s->parts->path, pattern)) remember(f, &c);
  }
  gr_arena_destroy(other.arena);
  return s->n > 0;
}

// What each word of training.recompute finds; and these beside iterations of repeat:, or the
// model's outermost parts.
static void find_sets(fit *f, bool loops) {
  for (int k = 0; k < GR_RECOMPUTE_WORDS; k++)
    if (k != GR_RECOMPUTE_SCAN || loops) f->n_sets += find_set(f, gr_recompute_words[k]);
  if (!find_set(f, "repeat") && !find_set(f, "[\"*\"]")) return;
  part_set *s = &f->sets[f->n_sets];
  for (int k = 0; k < f->n_sets; k++) s->parts[s->n++] = f->sets[k].parts[0];
  if (f->n_sets) s->pattern = NULL;
  qsort(s->parts, (size_t)s->n, sizeof *s->parts, by_worth);
  f->n_sets++;
}

static bool has_op(const gr_plan *p, const char *begins) {
  for (uint32_t k = 0; k < p->n_programs; k++) {
    const gr_graph *g = p->programs[k].frame.g;
    for (uint32_t i = 0; i < g->n_nodes; i++)
      if (!strncmp(g->nodes[i].op->name, begins, strlen(begins))) return true;
  }
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

static gr_status refuse(const fit *f, const candidate *first, const candidate *best) {
  char a[32], b[32], c[32];
  gr_status s = gr_fail(GR_ERR_CONFIG, gr_conf_find(f->job->spec.conf, "training.memory")->loc,
                        "training.memory is %s, but a rank needs %s, and at least %s with values "
                        "computed again and micro-steps%s",
                        gr_bytes_text(f->limit, a), gr_bytes_text(first->bytes, b),
                        gr_bytes_text(best->bytes, c),
                        f->job->spec.device->gpu ? ", and states in host memory" : "");
  return gr_hint_memory(s, f->job, f->ranks, f->states, first->bytes, f->limit);
}

static gr_status set(gr_job *j, const char *key, const char *text) {
  gr_conf *value = NULL;
  GR_TRY(gr_conf_parse(j->arena, "training.memory", text, &value));
  value->loc = gr_conf_find(j->spec.conf, "training.memory")->loc;
  value->is_default = true;  // it is not the user's
  return gr_conf_put_at(j->arena, j->spec.conf, key, value);
}

static gr_status apply(const fit *f, const candidate *c) {
  gr_job *j = f->job;
  const char *steps = gr_arena_printf(j->arena, "%lld", (long long)c->accumulate);
  for (const change *k = c->way->changes; k < c->way->changes + c->way->n; k++)
    GR_TRY(set(j, k->key, k->value));
  if (c->parts) GR_TRY(set(j, "training.recompute", c->list));
  return c->accumulate != f->accumulate ? set(j, "training.accumulate", steps) : GR_OK;
}

static void describe(const fit *f, const candidate *first, const candidate *best) {
  char a[32], b[32], c[32];
  gr_text t = gr_text_make(f->job->arena);
  gr_text_printf(&t, "training.memory %s: ", gr_bytes_text(f->limit, a));
  put_changes(&t, best->way, ", ");
  if (best->parts)
    gr_text_printf(&t, "%straining.recompute=%s (%d of %d parts)", best->way->n ? ", " : "",
                   best->list, best->parts, best->set->n);
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
  candidate first = {.list = "", .way = f.ways, .accumulate = f.accumulate};
  bool there = plan_with(&f, &other, &first);  // its errors are those of the plan
  bool norm = there && has_op(other.spec.plan, "batch_norm");
  bool loops = there && has_op(other.spec.plan, "scan");
  if (there) f.states = (double)other.spec.plan->state_bytes;
  gr_arena_destroy(other.arena);
  if (!there || fits(&f, &first)) return GR_OK;
  bool by_part = norm || batch->loss_norm == gr_loss_norm_local;  // micro-steps change the result
  if (!is_given(j, "training.accumulate") && !by_part)
    f.most = (int64_t)batch->rows * batch->micro_batches;
  if (!is_given(j, "training.recompute")) find_sets(&f, loops);
  find_ways(&f);
  candidate best = search(&f, &first);
  if (!fits(&f, &best)) {  // all parts may need more than some of them
    saved = gr_text_make(j->arena), f.halves = true;
    best = search(&f, &first);
  }
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
