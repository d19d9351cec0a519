// loop.c - runs a scan: launches its body once per step, with pointers that advance.
//
// Every pointer in the body's launches is one of three kinds: it is fixed (temporaries, constants),
// it advances by a slice each step (sequences, and yields that are written directly to their
// stack), or it belongs to a carry. How a carry is updated from one step to the next is a field of
// the plan (gr_carry_update), which has been proved:
//
//   IN_STACK         the body reads the carry from the stack slot of its previous next value
//   IN_PLACE         the next value overwrites the last carry
//   DOUBLE_BUFFERED  the last carry and the next value's memory in the block swap each step
//   COPIED           the next value is copied to the last carry when the step ends
//
// A device that repeats a captured body (gr_device_ops.loop) gets one of fixed pointers: sequences
// and yields have windows in working memory, to and from which each step's slices are copied, and
// all carries that would move are copied.
#include <string.h>
#include "ops/kernels/cpu.h"
#include "ops/ops.h"
#include "runtime/exec/parts.h"

typedef struct slot {  // a pointer, and its address at the first step
  void **pointer;
  void *const *outer;  // the pointer in the loop's own launch
  ptrdiff_t start, stride;
} slot;

typedef struct carry {
  gr_carry_update how;
  size_t bytes;
  void **last, **init;       // in the loop's launch; init NULL: it starts at zero
  void **next;               // where the body writes the next value
  void *buffer;              // double-buffered: the next value's memory in the block
  void ***reads, ***writes;  // the body's pointers to the carry, and to `buffer`
  uint32_t n_reads, n_writes;
} carry;

typedef struct copy {
  void **to, **source;
  size_t bytes;
  ptrdiff_t stride;  // of `to`, from step to step
} copy;

typedef struct window {  // a fixed place for the slices of a value
  void *const *stack;    // the pointer in the loop's own launch
  void *memory;
  size_t bytes;
  ptrdiff_t start, stride;
  void ***uses;  // the body's pointers to the value
  uint32_t n_uses;
  bool out;  // the body writes it
} window;

struct gr_exec_loop {
  gr_exec_frame frame;
  const gr_scan *scan;
  slot *slots;  // the first n_moving ones advance
  uint32_t n_slots, n_moving;
  carry *carries;
  copy *copies;  // at the end of a step: yields that are not written in place
  uint32_t n_copies;
  window *windows;  // of a loop that the device repeats; or NULL
  uint32_t n_windows;
  gr_device_loop repeated;
};

// Used while a loop is opened: the body's pointers to each value.
typedef struct uses {
  void ***of;       // of value v: of[first[v]] to of[first[v + 1] - 1]
  uint32_t *first;  // by value
  void **pointer;   // by value: a pointer to it that the loop owns
} uses;

gr_exec_frame *gr_exec_loop_frame(gr_exec_loop *l) { return &l->frame; }

// ---- Opening: pointers by value -----------------------------------------------------------

static uses find_uses(gr_arena *arena, const gr_graph *g, const gr_exec_frame *f) {
  uses u = {.first = GR_NEW(arena, uint32_t, g->n_values + 2),
            .pointer = GR_NEW(arena, void *, g->n_values + 1)};
  uint32_t *count = u.first + 1;  // becomes first after the prefix sum
  for (uint32_t v = 0; v < g->n_values; v++) count[v] = 1;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    for (int k = 0; k < n->n_in; k++) count[n->in[k].id]++;
    for (int k = 0; k < n->n_out; k++) count[gr_out(n, k).id]++;
  }
  for (uint32_t v = 0; v < g->n_values; v++) count[v] += u.first[v];
  u.of = GR_NEW(arena, void **, u.first[g->n_values]);
  uint32_t *to = GR_NEW(arena, uint32_t, g->n_values);
  for (uint32_t v = 0; v < g->n_values; v++) to[v] = u.first[v], u.of[to[v]++] = &u.pointer[v];
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    for (int k = 0; k < n->n_in; k++) u.of[to[n->in[k].id]++] = &f->steps[i].in[k];
    for (int k = 0; k < n->n_out; k++) u.of[to[gr_out(n, k).id]++] = &f->steps[i].out[k];
  }
  return u;
}

static uint32_t count_uses(const uses *u, uint32_t v) { return u->first[v + 1] - u->first[v]; }

static void add_slots(gr_exec_loop *l, const uses *u, uint32_t v, void **outer, ptrdiff_t stride) {
  ptrdiff_t start = stride < 0 ? -stride * (l->scan->steps - 1) : 0;
  for (uint32_t i = u->first[v]; i < u->first[v + 1]; i++)
    l->slots[l->n_slots++] = (slot){u->of[i], outer, start, stride};
}

static ptrdiff_t stride_of(const gr_scan *s, uint32_t v) {
  ptrdiff_t bytes = (ptrdiff_t)gr_type_bytes(&s->body->values[v].type);
  return s->reverse ? -bytes : bytes;
}

// ---- Opening: carries ----------------------------------------------------------------------

// Whether the carry's address changes from step to step.
static bool moves(const carry *c) {
  return c->how == GR_CARRY_IN_STACK || c->how == GR_CARRY_DOUBLE_BUFFERED;
}

static void open_carry(gr_exec_loop *l, const gr_plan_frame *p, const uses *u, char *base, int k,
                       gr_exec_step *step) {
  const gr_scan *s = l->scan;
  gr_val v = gr_scan_carry(s, k), next = gr_at(p->g, v)->next;
  int operand = gr_scan_operand(s, v.id);
  carry *c = &l->carries[k];
  *c = (carry){.how = p->carry[k],
               .bytes = gr_type_bytes(&gr_at(p->g, v)->type),
               .last = &step->out[k],
               .init = operand < 0 ? NULL : &step->in[operand],
               .next = &u->pointer[next.id],
               .reads = u->of + u->first[v.id],
               .n_reads = count_uses(u, v.id)};
  if (!moves(c)) add_slots(l, u, v.id, c->last, 0);
  if (c->how == GR_CARRY_IN_PLACE) add_slots(l, u, next.id, c->last, 0);
  if (c->how == GR_CARRY_DOUBLE_BUFFERED) {
    c->buffer = base + p->offset[next.id];
    c->writes = u->of + u->first[next.id], c->n_writes = count_uses(u, next.id);
  }
}

// ---- Opening: the rest ---------------------------------------------------------------------

static void sort_slots(gr_exec_loop *l) {  // those that advance come first
  for (uint32_t i = 0; i < l->n_slots; i++) {
    if (!l->slots[i].stride) continue;
    slot moving = l->slots[i];
    l->slots[i] = l->slots[l->n_moving];
    l->slots[l->n_moving++] = moving;
  }
}

static void open_values(gr_exec_loop *l, const gr_plan_frame *p, const uses *u, char *base,
                        gr_exec_step *step) {
  const gr_scan *s = l->scan;
  for (uint32_t v = 1; v < p->g->n_values; v++) {
    bool temp = p->g->values[v].role == GR_TEMP;
    if (temp && p->stacked[v])
      add_slots(l, u, v, &step->out[s->n_carry + p->stacked[v] - 1], stride_of(s, v));
    else if (temp)
      u->pointer[v] = base + p->offset[v];
    else if (gr_scan_is_seq(s, v))
      add_slots(l, u, v, &step->in[gr_scan_operand(s, v)], stride_of(s, v));
    else if (!gr_scan_is_carry(s, v))
      add_slots(l, u, v, &step->in[gr_scan_operand(s, v)], 0);
  }
}

static void open_yields(gr_exec *e, gr_exec_loop *l, const gr_plan_frame *p, const uses *u,
                        gr_exec_step *step) {
  const gr_scan *s = l->scan;
  l->copies = GR_NEW(e->arena, copy, p->g->n_results);
  for (uint32_t j = 0; j < p->g->n_results; j++) {
    uint32_t v = p->g->results[j].id;
    if (p->stacked[v] == (int)j + 1) continue;
    ptrdiff_t stride = stride_of(s, v);
    void **to = GR_NEW(e->arena, void *, 1);
    l->copies[l->n_copies++] =
        (copy){to, &u->pointer[v], gr_type_bytes(&p->g->values[v].type), stride};
    l->slots[l->n_slots++] = (slot){to, &step->out[s->n_carry + (int)j],
                                    stride < 0 ? -stride * (s->steps - 1) : 0, stride};
  }
}

static void add_window(gr_exec_loop *l, const uses *u, uint32_t v, void *const *stack,
                       char **memory) {
  ptrdiff_t stride = stride_of(l->scan, v);
  window *w = &l->windows[l->n_windows++];
  *w = (window){.stack = stack,
                .memory = *memory,
                .bytes = gr_type_bytes(&l->scan->body->values[v].type),
                .start = stride < 0 ? -stride * (l->scan->steps - 1) : 0,
                .stride = stride,
                .uses = u->of + u->first[v],
                .n_uses = count_uses(u, v),
                .out = !gr_scan_is_seq(l->scan, v)};
  *memory += gr_scan_repeat_slice(l->scan, v);
}

static gr_status open_repeated(gr_exec *e, gr_exec_loop *l, const gr_plan_frame *p, const uses *u,
                               gr_exec_step *step) {
  const gr_device_ops *ops = e->device->ops;
  const gr_scan *s = l->scan;
  gr_op_call call = {.op = step->node->op, .loc = step->node->loc};  // for messages
  bool by_step = e->opt.profile && !e->device->limits.timings;
  if (!ops->loop || by_step || !gr_scan_repeat_bytes(s)) return GR_OK;
  char *memory = (char *)step->l.scratch + GR_SCAN_REPEAT_COUNTER;
  uint32_t most = (uint32_t)s->n_seq + p->g->n_results;
  l->windows = GR_NEW(e->arena, window, most + 1);
  for (uint32_t v = 1; v <= (uint32_t)s->n_seq; v++)
    add_window(l, u, v, (void *const *)&step->in[gr_scan_operand(s, v)], &memory);
  for (uint32_t v = 1; v < p->g->n_values; v++)
    if (p->g->values[v].role == GR_TEMP && p->stacked[v])
      add_window(l, u, v, &step->out[s->n_carry + p->stacked[v] - 1], &memory);
  l->repeated = (gr_device_loop){.steps = s->steps, .counter = step->l.scratch};
  if (s->until) {
    const gr_type *t = &gr_at(s->body, gr_scan_carry(s, (int)s->until - 1))->type;
    l->repeated.n_flags = gr_type_count(t), l->repeated.flag_bytes = gr_dtypes[t->dtype].size;
  }
  for (int k = 0; k < GR_LOOP_COPIES; k++)
    l->repeated.slice[k] = GR_NEW(e->arena, gr_device_slice, most + (uint32_t)s->n_carry + 1);
  return ops->loop_open(e->device, &call);
}

gr_status gr_exec_loop_open(gr_exec *e, const gr_plan_frame *p, char *base, gr_exec_step *step) {
  gr_exec_loop *l = step->loop = GR_NEW(e->arena, gr_exec_loop, 1);
  l->scan = step->node->attr;
  GR_TRY(e->open_body(e, p, base, true, &l->frame));
  uses u = find_uses(e->arena, p->g, &l->frame);
  l->slots = GR_NEW(e->arena, slot, u.first[p->g->n_values] + p->g->n_results);
  l->carries = GR_NEW(e->arena, carry, l->scan->n_carry);
  open_values(l, p, &u, base, step);
  open_yields(e, l, p, &u, step);
  for (int k = 0; k < l->scan->n_carry; k++) open_carry(l, p, &u, base, k, step);
  sort_slots(l);
  return open_repeated(e, l, p, &u, step);
}

// ---- Running -------------------------------------------------------------------------------

static void point(void ***slots, uint32_t n, void *address) {
  for (uint32_t i = 0; i < n; i++) *slots[i] = address;
}

static gr_status enter(gr_device *d, gr_exec_loop *l) {
  for (const slot *s = l->slots, *end = s + l->n_slots; s < end; s++)
    *s->pointer = (char *)*s->outer + s->start;
  for (int k = 0; k < l->scan->n_carry; k++) {
    const carry *c = &l->carries[k];
    if (c->how == GR_CARRY_IN_STACK && c->init) {  // the first value is not copied either
      point(c->reads, c->n_reads, *c->init);
      continue;
    }
    GR_TRY(c->init ? d->ops->copy(d, *c->last, *c->init, c->bytes)
                   : d->ops->fill(d, *c->last, 0, c->bytes));
    if (moves(c)) point(c->reads, c->n_reads, *c->last);
    if (c->how == GR_CARRY_DOUBLE_BUFFERED) point(c->writes, c->n_writes, c->buffer);
  }
  return GR_OK;
}

// Advances from one step to the next.
static gr_status advance(gr_device *d, gr_exec_loop *l) {
  for (uint32_t i = 0; i < l->n_copies; i++)
    GR_TRY(d->ops->copy(d, *l->copies[i].to, *l->copies[i].source, l->copies[i].bytes));
  for (int k = 0; k < l->scan->n_carry; k++) {
    const carry *c = &l->carries[k];
    void *next = *c->next;
    if (c->how == GR_CARRY_COPIED) GR_TRY(d->ops->copy(d, *c->last, next, c->bytes));
    if (!moves(c)) continue;
    if (c->how == GR_CARRY_DOUBLE_BUFFERED) point(c->writes, c->n_writes, **c->reads);
    point(c->reads, c->n_reads, next);
  }
  for (const slot *s = l->slots, *end = s + l->n_moving; s < end; s++)
    *s->pointer = (char *)*s->pointer + s->stride;
  return GR_OK;
}

static gr_status leave(gr_device *d, gr_exec_loop *l) {
  for (int k = 0; k < l->scan->n_carry; k++) {
    const carry *c = &l->carries[k];
    bool elsewhere = moves(c) && **c->reads != *c->last;
    if (elsewhere) GR_TRY(d->ops->copy(d, *c->last, **c->reads, c->bytes));
  }
  return GR_OK;
}

// Adds to an error what the loop was doing outside its body.
static gr_status note_loop(gr_status s, const gr_exec_step *step, const char *when) {
  return gr_note(s, step->node->loc, "while %s a scan", when);
}

// ---- Running a body that the device repeats -----------------------------------------------------

static void add_slice(gr_device_loop *r, int when, void *to, ptrdiff_t to_stride,
                      const void *source, ptrdiff_t from_stride, size_t bytes) {
  r->slice[when][r->n[when]++] = (gr_device_slice){to, source, bytes, to_stride, from_stride};
}

// Points the body to fixed addresses, and lists what is copied.
static gr_status enter_repeated(gr_device *d, gr_exec_loop *l) {
  gr_device_loop *r = &l->repeated;
  memset(r->n, 0, sizeof r->n);
  for (const slot *s = l->slots, *end = s + l->n_slots; s < end; s++)
    *s->pointer = (char *)*s->outer + s->start;
  for (const window *w = l->windows, *end = w + l->n_windows; w < end; w++) {
    char *stack = (char *)*w->stack + w->start;
    point(w->uses, w->n_uses, w->memory);
    if (w->out)
      add_slice(r, GR_LOOP_AFTER, stack, w->stride, w->memory, 0, w->bytes);
    else
      add_slice(r, GR_LOOP_BEFORE, w->memory, 0, stack, w->stride, w->bytes);
  }
  for (int k = 0; k < l->scan->n_carry; k++) {
    const carry *c = &l->carries[k];
    GR_TRY(c->init ? d->ops->copy(d, *c->last, *c->init, c->bytes)
                   : d->ops->fill(d, *c->last, 0, c->bytes));
    if (moves(c)) point(c->reads, c->n_reads, *c->last);
    if (c->how == GR_CARRY_DOUBLE_BUFFERED) point(c->writes, c->n_writes, c->buffer);
    if (moves(c) || c->how == GR_CARRY_COPIED)
      add_slice(r, GR_LOOP_CARRIES, *c->last, 0, *c->next, 0, c->bytes);
  }
  if (l->scan->until) r->flags = *l->carries[l->scan->until - 1].last;
  for (const copy *y = l->copies, *end = y + l->n_copies; y < end; y++)
    add_slice(r, GR_LOOP_AFTER, *y->to, y->stride, *y->source, 0, y->bytes);
  return GR_OK;
}

typedef struct body {
  gr_exec *e;
  gr_exec_loop *l;
} body;

static gr_status run_body(void *arg) {
  const body *b = arg;
  return gr_note(b->e->run_body(b->e, &b->l->frame), GR_NOWHERE, "in a scan");
}

static gr_status run_repeated(gr_exec *e, gr_exec_step *step) {
  gr_exec_loop *l = step->loop;
  GR_TRY(note_loop(enter_repeated(e->device, l), step, "entering"));
  l->repeated.body = run_body, l->repeated.arg = &(body){e, l};
  return e->device->ops->loop(e->device, &l->repeated);
}

// Whether the carry that ends the loop says so. A device whose memory the host cannot read runs all
// steps, which gives the same results (ops/loop/scan.h).
static bool has_ended(const gr_device *d, const gr_exec_loop *l) {
  int k = (int)l->scan->until - 1;
  if (k < 0 || d->ops->gpu || d->ops->dry) return false;
  const carry *c = &l->carries[k];
  const gr_type *t = &gr_at(l->scan->body, gr_scan_carry(l->scan, k))->type;
  const void *flags = moves(c) ? **c->reads : *c->last;
  for (int64_t i = 0, n = gr_type_count(t); i < n; i++)
    if (gr_get(flags, t->dtype, i) == 0) return false;
  return true;
}

gr_status gr_exec_loop_run(gr_exec *e, gr_exec_step *step) {
  gr_exec_loop *l = step->loop;
  int64_t steps = l->scan->steps;
  gr_device *d = e->device;
  if (l->windows && !e->search && (e->timed || !e->trace)) return run_repeated(e, step);
  GR_TRY(note_loop(enter(d, l), step, "entering"));
  int64_t outer = e->iteration;
  for (int64_t t = 0; t < steps && !has_ended(d, l); t++) {
    e->iteration = 1 + (l->scan->reverse ? steps - 1 - t : t);
    gr_status s = e->run_body(e, &l->frame);
    if (s)
      return gr_note(s, GR_NOWHERE, "in step %lld of a scan",
                     (long long)(l->scan->reverse ? steps - 1 - t : t));
    GR_TRY(note_loop(advance(d, l), step, "advancing"));
  }
  e->iteration = outer;
  return note_loop(leave(d, l), step, "leaving");
}
