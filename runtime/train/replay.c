// replay.c - shows the values of the step that is replayed. The run is as it was, with its hooks
// and evaluations, because they may change what is computed. See run.h.
#include <dirent.h>
#include <float.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "base/port.h"
#include "ops/kernels/cpu.h"
#include "runtime/checkpoint/export.h"
#include "runtime/data/npy.h"
#include "runtime/train/run.h"

enum { ELEMENTS = 4, DIFFERENCES = 6, DIGITS = 9 };  // that are printed
enum { SAME, DIFFERS, OTHER_SHAPE, HERE, THERE, COUNTS };

typedef struct replay {
  gr_rank *r;
  const gr_replay_spec *spec;
  gr_arena *arena;
  gr_map times;       // by name: how often a value of it was made
  bool json, *found;  // found: by pattern
  double tolerance;
  gr_text out;            // what is printed of this rank
  int64_t count[COUNTS];  // values, by how they compare
  int32_t n, first;       // values; the first that differs, INT32_MAX: none
} replay;

typedef struct value {
  char name[256], place[256];
  const gr_type *type;
  const void *data;
} value;

static void put_number(replay *p, const char *name, double x) {
  gr_text_printf(&p->out, p->json ? ", \"%s\": " : "  %s ", name);
  gr_text_json_rounded(&p->out, x, DIGITS);
}

static void put_value(replay *p, const value *v) {
  char type[96];
  gr_text_put(&p->out, p->json ? "{\"name\": " : "");
  (p->json ? gr_text_json : gr_text_put)(&p->out, v->name);
  gr_text_printf(&p->out,
                 p->json ? ", \"rank\": %d, \"type\": \"%s\", \"place\": " : "  rank %d  %s  ",
                 p->r->rank, gr_type_text(v->type, type));
  (p->json ? gr_text_json : gr_text_put)(&p->out, v->place);
}

static void print(replay *p, const value *v) {
  double least = INFINITY, most = -INFINITY, sum = 0, squares = 0;
  int64_t all = gr_type_count(v->type), n = 0;
  gr_text first = gr_text_make(p->arena);
  for (int64_t i = 0; i < all; i++) {
    double x = gr_get(v->data, v->type->dtype, i);
    if (i < ELEMENTS && i) gr_text_put(&first, ", ");
    if (i < ELEMENTS) gr_text_json_rounded(&first, x, DIGITS);
    if (!isfinite(x)) continue;
    least = fmin(least, x), most = fmax(most, x), sum += x, squares += x * x, n++;
  }
  put_value(p, v);
  put_number(p, "min", least), put_number(p, "max", most), put_number(p, "mean", sum / (double)n);
  put_number(p, "l2", sqrt(squares)), put_number(p, "not_finite", (double)(all - n));
  gr_text_printf(&p->out, p->json ? ", \"first\": [%s]}\n" : "  first %s\n", first.chars);
}

static char *file_of(gr_arena *a, const replay *p, const char *folder, const char *name) {
  char *file = gr_arena_printf(a, "%s.npy", name);
  while (strchr(file, '/')) *strchr(file, '/') = '_';
  return gr_arena_printf(a, "%s/rank%d/%s", folder, p->r->rank, file);
}

static gr_status save(const replay *p, gr_arena *a, const value *v) {
  const gr_type *t = v->type;
  const gr_tensor_slice whole =
      gr_tensor_slice_whole(v->name, gr_dtypes[t->dtype].name, t->rank, t->dim, NULL);
  const gr_text head = gr_export_npy_head(a, &whole);
  gr_output *f = NULL;
  GR_TRY(gr_make_dirs(gr_arena_printf(a, "%s/rank%d", p->spec->save, p->r->rank)));
  GR_TRY(gr_output_open(NULL, file_of(a, p, p->spec->save, v->name), &f));
  fwrite(head.chars, 1, head.len, gr_output_stream(f));
  for (int64_t i = 0; t->dtype == GR_BF16 && i < gr_type_count(t); i++)
    fwrite(&(float){(float)gr_get(v->data, t->dtype, i)}, sizeof(float), 1, gr_output_stream(f));
  if (t->dtype != GR_BF16) fwrite(v->data, 1, gr_type_bytes(t), gr_output_stream(f));
  return gr_output_close(f, GR_OK);
}

// Without a tolerance numbers are the same if they are equal and have the same sign.
static gr_status compare(replay *p, gr_arena *a, const value *v) {
  const char *path = file_of(a, p, p->spec->against, v->name);
  double most = -1, near = p->tolerance, x0 = 0, y0 = 0;
  int64_t n = 0, worst = 0;
  gr_array b;
  char *bytes;
  size_t len;
  if (!gr_is_file(path)) return p->count[HERE]++, GR_OK;
  GR_TRY(gr_file_read(a, path, SIZE_MAX / 2, &bytes, &len));
  GR_TRY(gr_npy_parse(a, path, v->name, (unsigned char *)bytes, len, &b));
  bool alike = b.rank == v->type->rank && !gr_array_is_text(&b);
  for (int k = 0; alike && k < b.rank; k++) alike = b.dim[k] == v->type->dim[k];
  for (int64_t i = 0; alike && i < b.count; i++) {
    double x = gr_get(v->data, v->type->dtype, i), y = gr_array_number(&b, i), by = fabs(x - y);
    bool far = by > (near > 0 ? fmin(DBL_MAX, near * (1 + fabs(y))) : 0) || isnan(x) != isnan(y);
    if (!far && (near > 0 || !signbit(x) == !signbit(y))) continue;
    by = isnan(by) ? INFINITY : by;
    if (n++, by > most) most = by, worst = i, x0 = x, y0 = y;
  }
  p->count[!alike ? OTHER_SHAPE : n ? DIFFERS : SAME]++;
  if (n && p->count[DIFFERS] == 1) p->first = p->n;
  if (!n || p->count[DIFFERS] > DIFFERENCES) return GR_OK;
  put_value(p, v);
  put_number(p, "differ", (double)n), put_number(p, "of", (double)b.count);
  put_number(p, "most", most), put_number(p, "relative", most / fmax(fabs(x0), fabs(y0)));
  put_number(p, "index", (double)worst), put_number(p, "here", x0), put_number(p, "there", y0);
  gr_text_put(&p->out, p->json ? "}\n" : "\n");
  return GR_OK;
}

// One more value of a name: NAME@K is the K-th, of nodes alike, micro-steps and steps of loops.
static gr_status take(replay *p, const char *name, gr_loc loc, const gr_type *t, const void *data) {
  const gr_replay_spec *spec = p->spec;
  value v = {.type = t, .data = data};
  uint32_t before = 0;
  bool any = !spec->print.n, known = gr_map_find(&p->times, name, &before);
  gr_map_put(&p->times, known ? name : gr_arena_strdup(p->arena, name), before + 1);
  snprintf(v.name, sizeof v.name, before ? "%.200s@%u" : "%.200s", name, before + 1);
  if (loc.file) snprintf(v.place, sizeof v.place, "%s:%d:%d", loc.file, loc.line, loc.col);
  p->n++;
  for (int i = 0; i < spec->print.n; i++) {
    bool one = !fnmatch(spec->print.list[i], name, 0) || !fnmatch(spec->print.list[i], v.name, 0);
    p->found[i] |= one, any |= one;
  }
  if (any && spec->print.n && !spec->save && !spec->against) print(p, &v);
  gr_arena *a = gr_arena_create();
  gr_status s = any && spec->save ? save(p, a, &v) : GR_OK;
  if (any && spec->against) s = gr_also(s, compare(p, a, &v));
  return gr_arena_end(a, s);
}

// "[PASS:]SCOPE.OP[.RESULT]", PASS if it is not that of the model; a gradient is WEIGHT.grad, too.
static gr_status see(void *self, const gr_graph *g, const gr_node *n, int k, const void *data) {
  char name[256];
  gr_val v = gr_out(n, k);
  const gr_type *t = &gr_at(g, v)->type;
  bool made = n->created_by && strcmp(n->created_by, "model") != 0;
  for (const gr_value *w = g->values; w < g->values + g->n_values; w++) {
    if (!w->name || w->grad.id != v.id) continue;
    snprintf(name, sizeof name, "%s.grad", w->name);
    GR_TRY(take(self, name, n->loc, t, data));
  }
  snprintf(name, sizeof name, k ? "%s%s%s%s%s.%d" : "%s%s%s%s%s", made ? n->created_by : "",
           made ? ":" : "", n->scope ? n->scope : "", n->scope ? "." : "", n->op->name, k);
  return take(self, name, n->loc, t, data);
}

// The states that a checkpoint has, as NAME and `suffix`.
static gr_status take_states(replay *p, const char *suffix) {
  const gr_plan *plan = p->r->spec->plan;
  for (const gr_plan_state *s = plan->states; s < plan->states + plan->n_states; s++) {
    const gr_exec_tensor t = gr_exec_state(p->r->exec, s);
    const void *data;
    if (s->kind == GR_KIND_GRAD_ACCUMULATOR || s->kind == GR_KIND_TABLE) continue;
    GR_TRY(gr_exec_view(p->r->exec, &t, p->r->staging, &data));
    const char *name = gr_arena_printf(p->arena, "%s%s", s->name, suffix);
    GR_TRY(take(p, name, GR_NOWHERE, &t.type, data));
  }
  return GR_OK;
}

static gr_status check_found(const replay *p) {
  for (int i = 0; i < p->spec->print.n; i++) {
    const char *pattern = p->spec->print.list[i], *const *names = p->times.keys;
    if (p->found[i]) continue;
    const char *near = gr_text_nearest(pattern, names, (int)p->times.n);
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no value is named '%s'", pattern),
                   near ? "did you mean '%s'?" : "such as '%s'; --print='*' prints all",
                   near ? near : names[p->times.n / 2]);
  }
  return GR_OK;
}

// The ranks print one after the other, from that on which the first difference is. Collective.
static gr_status print_all(replay *p) {
  int32_t *first = GR_NEW(p->arena, int32_t, p->r->ranks), best = 0;
  bool ok;
  GR_TRY(gr_comm_run(p->r->world, GR_ALL_GATHER, GR_I32, 1, &p->first, first));
  for (int i = 0; i < p->r->ranks; i++) best = first[i] < first[best] ? i : best;
  for (int i = best; i < best + p->r->ranks; i++) {
    char *rest = NULL, *line = NULL;
    if (i % p->r->ranks == p->r->rank) line = strtok_r(p->out.chars, "\n", &rest);
    for (; line; line = strtok_r(NULL, "\n", &rest)) gr_log_result("%s", line);
    GR_TRY(gr_run_all_ok(p->r, true, &ok));
  }
  return GR_OK;
}

// Files of a folder whose names begin and end so. No pattern: a folder's own name may look like
// one.
static int64_t count_files(const char *folder, const char *begin, const char *end) {
  DIR *d = opendir(folder);
  int64_t n = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    size_t len = strlen(e->d_name), tail = strlen(end);
    n += !strncmp(e->d_name, begin, strlen(begin)) && *e->d_name != '.' && len >= tail &&
         !strcmp(e->d_name + len - tail, end);
  }
  if (d) closedir(d);
  return n;
}

static gr_status report_differences(replay *p) {
  static const char *const names[] = {"same", "differ", "other_shape", "only_here", "only_there"};
  int64_t all[COUNTS], *count = p->count;
  const char *folder = gr_arena_printf(p->arena, "%s/rank%d", p->spec->against, p->r->rank);
  count[THERE] =
      count_files(folder, "", ".npy") - count[SAME] - count[DIFFERS] - count[OTHER_SHAPE];
  GR_TRY(gr_comm_run(p->r->world, GR_ALL_REDUCE, GR_I64, COUNTS, count, all));
  p->out = gr_text_make(p->arena);
  for (int i = 0; i < COUNTS; i++) put_number(p, names[i], (double)all[i]);
  const char *text = all[DIFFERS] ? "of %lld values%s" : "no difference in %lld values:%s";
  if (!p->r->rank)
    gr_log_result(p->json ? "{\"values\": %lld%s}" : text, (long long)(all[0] + all[1]),
                  p->out.chars);
  if (!all[SAME] && !all[DIFFERS])
    return gr_fail(GR_ERR_DIFFERENT, GR_NOWHERE, "no value is compared: '%s' has others",
                   p->spec->against);
  return all[DIFFERS] ? gr_fail(GR_ERR_DIFFERENT, GR_NOWHERE, "the steps differ") : GR_OK;
}

// What is left of another replay would be taken for values of this one.
static gr_status check_new(const replay *p) {
  if (!p->spec->save || !count_files(p->spec->save, "rank", "")) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' has the values of another replay", p->spec->save),
      "remove it, or name a new folder");
}

gr_status gr_run_replay_step(gr_run *r, const gr_run_program *of, const gr_batch *b,
                             gr_step_results *now) {
  gr_exec_origins ignored;
  gr_arena *a = gr_arena_create();
  replay p = {.r = &r->me, .arena = a, .first = INT32_MAX};
  p.spec = &r->me.spec->weights.replay, p.json = r->me.spec->weights.json;
  p.tolerance = p.spec->tolerance ? strtod(p.spec->tolerance, NULL) : 0;
  p.found = GR_NEW(a, bool, p.spec->print.n + 1);
  p.times = gr_map_make(a), p.out = gr_text_make(a);
  if (!r->me.rank && !r->saving.start)
    gr_log(GR_INFO, "from the initial states: there is no checkpoint from before the step");
  gr_status s = gr_comm_all_ok(r->me.world, r->me.rank ? GR_OK : check_new(&p));
  s = s ? s : take(&p, "lr", GR_NOWHERE, &(gr_type){GR_F64}, &r->control.values.lr);
  for (const gr_field *f = b ? b->field : NULL; b && f < b->field + b->n_fields && !s; f++)
    s = take(&p, f->name, GR_NOWHERE, &f->type, f->data);
  s = s ? s : take_states(&p, "");
  s = s ? s : gr_exec_search_begin(r->me.exec, see, &p, &ignored);
  s = s ? s : gr_run_compute(&r->me, &r->control.values, of, b, now);
  gr_exec_search_end(r->me.exec);
  s = s ? s : take_states(&p, ".next");
  s = s ? s : gr_comm_all_ok(r->me.world, r->me.rank ? GR_OK : check_found(&p));
  s = s ? s : print_all(&p);
  if (!s && p.spec->against) s = report_differences(&p);
  return gr_arena_end(a, s);
}
