// plan_compare.c - `graphrun plan --diff A B`: what differs between two plans. See plan_parts.h.
//
// Both are compared as the JSON that plan files have: a plan that is made here is written to memory
// and read again. What is compared follows from what files have.
#include <math.h>
#include <string.h>
#include "base/json.h"
#include "cli/plan_parts.h"
#include "compiler/report/explain.h"
#include "compiler/report/parts.h"
#include "job/fit.h"

#define PLAN_FILES "`graphrun plan CONFIG --write=FILE` writes one"
enum { MAX_FILE = 1 << 30, SHOWN_STATES = 20 };

typedef struct side {
  const char *path;  // as it was given
  const char *file;  // of a plan that is made already; NULL: it is planned here
  const gr_json *plan;
} side;

typedef struct difference {
  const char *path;      // "programs.train.t56.nodes"
  const gr_json *a, *b;  // NULL: there is none on that side
  struct difference *next;
} difference;

typedef struct comparison {
  gr_arena *arena;
  side a, b;
  difference *first, **last;
  int n;
} comparison;

// ---- Reading ------------------------------------------------------------------------------------

static gr_status parse(gr_arena *a, const char *path, const char *text, size_t len,
                       const gr_json **out) {
  gr_json_error why;
  if (!gr_json_read(a, text, len, out, &why))
    return gr_fail(GR_ERR_CONFIG, (gr_loc){path, why.line, why.col},
                   "this is no plan file: %s, found %s", why.why, why.found);
  const gr_json *version = gr_json_get(*out, "version", GR_JSON_INT);
  if (!version)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s' is no plan file: it has no version", path),
        PLAN_FILES);
  if (version->i != GR_PLAN_FILE_VERSION)
    return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                           "'%s' has format version %lld; this graphrun reads version %d", path,
                           (long long)version->i, GR_PLAN_FILE_VERSION),
                   "use the graphrun that wrote it, or a newer one");
  const gr_json *ranks = gr_json_get(*out, "ranks", GR_JSON_INT);
  if (ranks && ranks->i > 0 && ranks->i <= GR_MAX_RANKS) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
              "'%s' is no plan file: its ranks are no number from 1 to %d", path, GR_MAX_RANKS),
      PLAN_FILES);
}

// A plan file, or that of a run's folder; NULL: a configuration.
static const char *file_of(gr_arena *a, const char *path) {
  const char *kept = gr_arena_printf(a, "%s/plan.json", path);
  if (gr_ends_in(path, ".json")) return path;
  return gr_is_file(kept) ? kept : NULL;
}

static gr_status read_file(gr_arena *a, side *s) {
  char *text;
  size_t len;
  GR_TRY(gr_file_read(a, s->file, MAX_FILE, &text, &len));
  return parse(a, s->file, text, len, &s->plan);
}

// ranks: 0: those of the configuration.
static gr_status make(gr_arena *a, const gr_args *args, int64_t ranks, side *s) {
  gr_args copy = *args;
  gr_job job = {0};
  copy.config = s->path, copy.ranks = ranks;
  gr_status e = gr_job_compose_either(a, &copy, &job);
  e = e ? e : gr_job_fit(&job, gr_job_usual_ranks(&job));
  gr_text t = gr_text_make(a);
  if (!e) gr_plan_json(&t, gr_job_count(&job, NULL, 0));
  e = e ? e : parse(a, s->path, t.chars, t.len, &s->plan);
  gr_job_close(&job);
  return e;
}

static int64_t ranks_of(const side *s) {
  const gr_json *ranks = s->plan ? gr_json_get(s->plan, "ranks", GR_JSON_INT) : NULL;
  return ranks ? ranks->i : 0;
}

static gr_status hint_plan(gr_status s) {
  s = gr_note(s, GR_NOWHERE, "asked for by --diff");
  return gr_hint(s,
                 "--diff takes a .json file of `graphrun plan --write`, a run or a configuration");
}

// Overrides are the second side's. A configuration is planned for the ranks of a plan that is made.
static gr_status read_sides(comparison *c, const gr_args *args) {
  gr_args plain = *args;
  plain.n_overrides = 0;
  if (c->b.file && (args->n_overrides || (args->ranks && c->a.file)))
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                           "'%s' is a plan that is made already: key=value and --ranks change "
                           "nothing of it",
                           c->b.path),
                   "they are of a configuration behind the plan that it is compared with");
  if (c->a.file) GR_TRY(hint_plan(read_file(c->arena, &c->a)));
  if (c->b.file) GR_TRY(read_file(c->arena, &c->b));
  int64_t a = args->ranks ? args->ranks : ranks_of(&c->b);
  int64_t b = args->ranks ? args->ranks : ranks_of(&c->a);
  if (!c->a.file) GR_TRY(hint_plan(make(c->arena, &plain, a, &c->a)));
  return c->b.file ? GR_OK : make(c->arena, args, b, &c->b);
}

// ---- Comparing ----------------------------------------------------------------------------------

static bool is_same(gr_arena *a, const gr_json *x, const gr_json *y) {
  gr_text s = gr_text_make(a), t = gr_text_make(a);
  if (x && y && gr_json_is_number(x) && gr_json_is_number(y)) return !(x->f < y->f || x->f > y->f);
  if (x) gr_json_put(&s, x);
  if (y) gr_json_put(&t, y);
  return !strcmp(s.chars, t.chars);
}

// Values with names: members of an object, or objects of a list that have one.
static bool has_names(const gr_json *v) {
  return v && (v->kind == GR_JSON_OBJECT ||
               (v->kind == GR_JSON_ARRAY && v->n && gr_json_get(v->first, "name", GR_JSON_TEXT)));
}

static const char *name_of(const gr_json *v) {
  const gr_json *name = gr_json_get(v, "name", GR_JSON_TEXT);
  return v->name ? v->name : name ? name->text : "";
}

static const gr_json *find(const gr_json *in, const char *name) {
  for (const gr_json *m = in ? in->first : NULL; m; m = m->next)
    if (!strcmp(name_of(m), name)) return m;
  return NULL;
}

static void compare(comparison *, const char *path, const gr_json *a, const gr_json *b);

static void compare_members(comparison *c, const char *path, const gr_json *a, const gr_json *b) {
  for (int pass = 0; pass < 2; pass++) {
    const gr_json *all = pass ? b : a;
    for (const gr_json *m = all ? all->first : NULL; m; m = m->next) {
      const gr_json *other = find(pass ? a : b, name_of(m));
      const char *there = gr_arena_printf(c->arena, "%s%s%s", path, *path ? "." : "", name_of(m));
      if (!pass) compare(c, there, m, other);
      if (pass && !other) compare(c, there, NULL, m);
    }
  }
}

// Hashes are of one build, and what is proved is the same of every plan.
static void compare(comparison *c, const char *path, const gr_json *a, const gr_json *b) {
  static const char *const skipped[] = {"version", "hash", "certificate"};
  for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
    if (!strcmp(path, skipped[i])) return;
  if (has_names(a) || has_names(b)) {
    compare_members(c, path, a, b);
  } else if (!is_same(c->arena, a, b)) {
    difference *d = GR_NEW(c->arena, difference, 1);
    *d = (difference){path, a, b, NULL};
    *c->last = d, c->last = &d->next, c->n++;
  }
}

// ---- Printing -----------------------------------------------------------------------------------

static bool has(const char *path, const char *word) { return strstr(path, word) != NULL; }

static const char *value_text(gr_arena *a, const char *path, const gr_json *v) {
  gr_text t = gr_text_make(a);
  char buf[32];
  if (!v) return "-";
  bool number = gr_json_is_number(v), bytes = has(path, "bytes") || !strncmp(path, "memory.", 7);
  if (number && bytes) return gr_arena_strdup(a, gr_bytes_text(v->f, buf));
  if (number && has(path, "flops")) return gr_arena_strdup(a, gr_flops_text(v->f, buf));
  if (number && has(path, "_ms")) return gr_arena_printf(a, "%.4g ms", v->f);
  if (number) return gr_arena_printf(a, "%.10g", v->f);
  gr_json_put(&t, v);
  return t.chars;
}

static const char *change_text(gr_arena *a, const difference *d) {
  bool numbers = d->a && d->b && gr_json_is_number(d->a) && gr_json_is_number(d->b);
  if (!d->a) return "new";
  if (!d->b) return "gone";
  if (!numbers || !(fabs(d->a->f) > 0)) return "";
  return gr_arena_printf(a, "%+.2f %%", 100 * (d->b->f - d->a->f) / d->a->f);
}

static void print_line(gr_arena *a, const difference *d) {
  gr_text line = gr_text_make(a);
  gr_text_printf(&line, "%-52s  %14s  %14s  %10s", d->path, value_text(a, d->path, d->a),
                 value_text(a, d->path, d->b), change_text(a, d));
  while (line.len && line.chars[line.len - 1] == ' ') line.len--;
  gr_print_line(stdout, line.chars, line.len);
  putchar('\n');
}

static void print(const comparison *c) {
  int states = 0;
  printf("a: %s\nb: %s\n", c->a.path, c->b.path);
  for (const difference *d = c->first; d; d = d->next)
    if (strncmp(d->path, "states.", 7) != 0 || states++ < SHOWN_STATES) print_line(c->arena, d);
  if (states > SHOWN_STATES) printf("and %d of states more; --json\n", states - SHOWN_STATES);
  if (!c->n) puts("the same programs, collectives, memory and times");
}

static void print_json(const comparison *c) {
  static const gr_json none = {.kind = GR_JSON_NULL};
  gr_text t = gr_text_make(c->arena);
  for (const difference *d = c->first; d; d = d->next) {
    gr_text_put(&t, d == c->first ? "[\n {" : ",\n {");
    gr_text_json_member(&t, "path", d->path);
    gr_text_json_key(&t, "a"), gr_json_put(&t, d->a ? d->a : &none);
    gr_text_json_key(&t, "b"), gr_json_put(&t, d->b ? d->b : &none);
    gr_text_put(&t, "}");
  }
  gr_text_put(&t, c->n ? "]\n" : "[]\n");
  fputs(t.chars, stdout);
}

gr_status gr_plan_compare(gr_arena *a, const gr_args *args, const char *first) {
  comparison c = {.arena = a};
  c.last = &c.first;
  if (!args->config)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--diff compares two plans"),
                   "graphrun plan --diff before.json configs/digits.yaml");
  c.a = (side){first, file_of(a, first), NULL};
  c.b = (side){args->config, file_of(a, args->config), NULL};
  GR_TRY(read_sides(&c, args));
  compare(&c, "", c.a.plan, c.b.plan);
  (args->json ? print_json : print)(&c);
  if (!c.n) return GR_OK;
  fflush(stdout);  // before what goes to stderr
  return gr_fail(GR_ERR_DIFFERENT, GR_NOWHERE, "%d figure%s differ%s", c.n, gr_text_s(c.n),
                 c.n == 1 ? "s" : "");
}
