// nonfinite.c - finds the node that makes the first NaN or infinity of a program: that whose result
// has one although its operands have none. A program is run again for this, node by node; a fused
// node that is the first is run once more by its parts, on a copy of its operands.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ops/kernels/cpu.h"
#include "ops/kernels/fused.h"
#include "ops/ops.h"
#include "runtime/exec/parts.h"

struct gr_exec_search {
  gr_exec_origins *out;
  gr_exec_see *see;  // or NULL
  void *self;
  gr_arena *arena;  // of texts
  char *staging;    // a copy of a value that the host cannot read; `room` bytes
  size_t room;
  uint32_t order;  // nodes that ran so far
};

typedef struct range {
  int64_t n, nan, inf;  // elements
  double least, most;   // of those that are finite
} range;

static gr_status make_room(gr_exec_search *s, size_t bytes) {
  if (bytes <= s->room) return GR_OK;
  char *more = realloc(s->staging, bytes);
  if (!more)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no %zu bytes of memory to look at a value", bytes);
  s->staging = more, s->room = bytes;
  return GR_OK;
}

// Whole numbers are finite.
static range range_of(const void *p, const gr_type *t) {
  if (!p || !gr_dtypes[t->dtype].is_float) return (range){0};
  range r = {.n = gr_type_count(t), .least = INFINITY, .most = -INFINITY};
  for (int64_t i = 0; i < r.n; i++) {
    double x = gr_get(p, t->dtype, i);
    r.nan += isnan(x), r.inf += isinf(x) != 0;
    if (isfinite(x) && x < r.least) r.least = x;
    if (isfinite(x) && x > r.most) r.most = x;
  }
  return r;
}

// A value where the host can read it, until the next call; no work that is enqueued writes it.
static gr_status view(gr_exec *e, const void *p, const gr_type *t, const void **out) {
  gr_device *d = e->device;
  size_t bytes = gr_type_bytes(t);
  *out = p;
  if (!p || d->limits.host_memory) return GR_OK;
  if (gr_exec_in_host(e, p)) return d->ops->synchronise(d, GR_QUEUE_COMPUTE);
  GR_TRY(make_room(e->search, bytes));
  GR_TRY(d->ops->download(d, e->search->staging, p, bytes));
  *out = e->search->staging;
  return d->ops->synchronise(d, GR_QUEUE_TRANSFER);
}

// ---- Origins ------------------------------------------------------------------------------------

static void put_range(gr_text *t, const range *r, const gr_type *type) {
  char buf[96];
  gr_text_put(t, gr_type_text(type, buf));
  if (r->n > r->nan + r->inf) gr_text_printf(t, " from %.4g to %.4g", r->least, r->most);
  if (r->nan) gr_text_printf(t, ", NaN: %lld", (long long)r->nan);
  if (r->inf) gr_text_printf(t, ", infinite: %lld", (long long)r->inf);
}

static void put_place(gr_text *t, const char *scope, gr_loc loc) {
  if (scope) gr_text_printf(t, " of %s", scope);
  if (loc.file) gr_text_printf(t, ", %s:%d:%d", loc.file, loc.line, loc.col);
}

static void write(gr_exec_origin *o, const gr_exec_search *s, const gr_text *t) {
  o->found = true, o->order = s->order;
  snprintf(o->text, sizeof o->text, "%s", t->chars);
}

// A result of a node, and what it was made of. names: of the operands; NULL: it has none.
typedef struct making {
  const gr_node *node;
  const gr_graph *g;  // the node's
  int result;
  range made, in[GR_MAX_ARGS];
  const char *names[GR_MAX_ARGS];
} making;

static void describe(const gr_exec *e, const making *m, gr_text *t) {
  const gr_node *n = m->node;
  gr_text_printf(t, "'%s'", n->op->name);
  put_place(t, n->scope, n->loc);
  if (e->iteration) gr_text_printf(t, ", in step %lld of its loop", (long long)e->iteration - 1);
  gr_text_put(t, ": its result is ");
  put_range(t, &m->made, &gr_at(m->g, gr_out(n, m->result))->type);
  for (int i = 0; i < n->n_in; i++) {
    const gr_type *type = &gr_at(m->g, n->in[i])->type;
    if (!gr_dtypes[type->dtype].is_float) continue;
    gr_text_printf(t, "; operand %d%s%s is ", i + 1, m->names[i] ? " " : "",
                   m->names[i] ? m->names[i] : "");
    put_range(t, &m->in[i], type);
  }
}

// Where to write of a result; NULL: it is finite, comes of operands that are not, or is not the
// first. A node without operands is a constant, which is infinite on purpose.
static gr_exec_origin *origin_of(const gr_exec_search *s, const making *m) {
  int64_t nan = 0, inf = 0;
  for (int i = 0; i < m->node->n_in; i++) nan += m->in[i].nan, inf += m->in[i].inf;
  gr_exec_origin *o = NULL;
  if (m->made.nan && !nan) o = &s->out->nan;
  if (!m->made.nan && m->made.inf && !nan && !inf) o = &s->out->inf;
  return o && !o->found && m->node->n_in ? o : NULL;
}

static bool note_origin(gr_exec *e, const making *m) {
  gr_exec_origin *o = origin_of(e->search, m);
  if (!o) return false;
  gr_text t = gr_text_make(e->search->arena);
  describe(e, m, &t);
  write(o, e->search, &t);
  return true;
}

// An input or a state that is not finite before anything is computed of it.
static void note_leaf(gr_exec *e, const gr_value *v, const range *r) {
  gr_exec_origin *o = r->nan ? &e->search->out->nan : &e->search->out->inf;
  if (v->role == GR_TEMP || e->iteration || o->found || !(r->nan + r->inf)) return;
  gr_text t = gr_text_make(e->search->arena);
  gr_text_printf(&t, "the %s '%s'", v->role == GR_INPUT ? "input" : "state", v->name);
  put_place(&t, NULL, v->loc);
  gr_text_put(&t, ": it is ");
  put_range(&t, r, &v->type);
  write(o, e->search, &t);
}

// ---- Parts of a fused node ----------------------------------------------------------------------

typedef struct parts {
  gr_exec *e;
  const gr_graph *body;
  const char *const *names;  // of the node's operands, which are the body's first values
  int n_names;
} parts;

static void see_part(void *self, const gr_node *part, const gr_launch *l) {
  const parts *w = self;
  making m = {.node = part, .g = w->body};
  for (int k = 0; k < l->n_in; k++) {
    m.in[k] = range_of(l->in[k], &l->in_type[k]);
    if (part->in[k].id <= (uint32_t)w->n_names) m.names[k] = w->names[part->in[k].id - 1];
  }
  for (m.result = 0; m.result < l->n_out; m.result++) {
    m.made = range_of(l->out[m.result], &l->out_type[m.result]);
    note_origin(w->e, &m);
  }
}

// Runs the parts of a fused node by their reference kernels; `in` has its operands.
static gr_status look_inside(gr_exec *e, const gr_graph *g, const gr_exec_step *step,
                             const void *const *in, const char *const *names) {
  gr_arena *a = gr_arena_create();
  gr_op_call call;
  gr_op_call_of(g, step->node, &call);
  parts w = {e, ((const gr_fused *)step->node->attr)->body, names, step->l.n_in};
  const gr_part_observer observer = {see_part, &w};
  void *out[GR_MAX_ARGS];
  gr_launch l = step->l;
  for (int k = 0; k < l.n_out; k++) out[k] = gr_arena_alloc(a, gr_type_bytes(&l.out_type[k]));
  l.in = in, l.out = out, l.context = NULL, l.observer = &observer;
  l.scratch = gr_arena_alloc(a, call.op->scratch(&call) + 1);
  return gr_arena_end(a, call.op->cpu(&l));
}

// ---- Before and after a node --------------------------------------------------------------------

// What is known of a step before it runs: by operand its range, and of a fused node a copy.
typedef struct known {
  range *in;
  const void **copy;
} known;

static gr_status look_at_operand(gr_exec *e, const gr_graph *g, const gr_exec_step *step, int k,
                                 gr_arena *a, known *out) {
  const gr_type *t = &step->l.in_type[k];
  const void *data;
  size_t bytes = gr_type_bytes(t);
  GR_TRY(view(e, step->in[k], t, &data));
  out->in[k] = range_of(data, t);
  note_leaf(e, gr_at(g, step->node->in[k]), &out->in[k]);
  if (out->copy) out->copy[k] = memcpy(gr_arena_alloc(a, bytes), data, bytes);
  return GR_OK;
}

// A device whose kernels cannot fail gives NaN for an index that selects nothing: the error is the
// one of a CPU.
static gr_status check_indices(gr_exec *e, const gr_exec_step *step, gr_arena *a) {
  gr_launch l = step->l;
  const void *data, **in = GR_NEW(a, const void *, l.n_in + 1);
  if (!step->node->op->check || e->device->limits.host_memory) return GR_OK;
  for (int k = 0; k < l.n_in; k++) {
    if (l.in_type[k].dtype != GR_I32) continue;
    size_t bytes = gr_type_bytes(&l.in_type[k]);
    GR_TRY(view(e, step->in[k], &l.in_type[k], &data));
    in[k] = memcpy(gr_arena_alloc(a, bytes), data, bytes);
  }
  l.in = in;
  return step->node->op->check(&l);
}

gr_status gr_exec_search_before(gr_exec *e, const gr_graph *g, const gr_exec_step *step,
                                gr_arena *a, void **before) {
  known *all = *before = GR_NEW(a, known, step->nodes);
  for (uint32_t i = 0; i < step->nodes; i++) {
    const gr_exec_step *s = &step[i];
    all[i].in = GR_NEW(a, range, s->l.n_in + 1);
    if (s->node->op == &gr_op_fused) all[i].copy = GR_NEW(a, const void *, s->l.n_in + 1);
    for (int k = 0; k < s->l.n_in; k++) GR_TRY(look_at_operand(e, g, s, k, a, &all[i]));
    GR_TRY(check_indices(e, s, a));
  }
  return GR_OK;
}

static gr_status look_at_result(gr_exec *e, const gr_graph *g, const gr_exec_step *step,
                                const known *before, int k) {
  making m = {.node = step->node, .g = g, .result = k};
  memcpy(m.in, before->in, sizeof *m.in * (size_t)step->l.n_in);
  for (int i = 0; i < step->l.n_in; i++) m.names[i] = gr_at(g, step->node->in[i])->name;
  const void *data;
  GR_TRY(view(e, step->out[k], &step->l.out_type[k], &data));
  m.made = range_of(data, &step->l.out_type[k]);
  if (e->search->see) GR_TRY(e->search->see(e->search->self, g, step->node, k, data));
  if (before->copy && origin_of(e->search, &m))
    GR_TRY(look_inside(e, g, step, before->copy, m.names));
  note_origin(e, &m);  // unless a part was found
  return GR_OK;
}

gr_status gr_exec_search_after(gr_exec *e, const gr_graph *g, const gr_exec_step *step,
                               const void *before) {
  const known *all = before;
  GR_TRY(e->device->ops->synchronise(e->device, step->queue));
  for (uint32_t i = 0; i < step->nodes; i++, e->search->order++)
    for (int k = 0; k < step[i].l.n_out; k++) GR_TRY(look_at_result(e, g, &step[i], &all[i], k));
  return GR_OK;
}

// ---- A search -----------------------------------------------------------------------------------

gr_status gr_exec_search_begin(gr_exec *e, gr_exec_see *see, void *self, gr_exec_origins *out) {
  *out = (gr_exec_origins){0};
  e->search = calloc(1, sizeof *e->search);
  if (!e->search) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to look at values");
  *e->search = (gr_exec_search){.out = out, .see = see, .self = self, .arena = gr_arena_create()};
  return GR_OK;
}

void gr_exec_search_end(gr_exec *e) {
  if (!e->search) return;
  gr_arena_destroy(e->search->arena);
  free(e->search->staging);
  free(e->search);
  e->search = NULL;
}
