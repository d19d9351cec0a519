// beside.c - steps that run beside the compute queue: collectives, and copies of states in host
// memory, on devices that have queues for them; of both this file says collectives.
//
// A collective begins when the compute queue has done what precedes it in the plan. What follows it
// there waits for it only if the two use the same memory and one of them writes it. The plan gives
// memory to a value as if steps ran one after the other, so the addresses alone say who must wait:
// the readers of a result, and also a step whose result takes the memory of an operand that was
// read. All of this is known when a program is opened. The order of the steps of one queue is that
// of the plan on every rank.
#include "ops/kernels/gpu.h"
#include "runtime/exec/parts.h"

typedef struct span {  // of memory
  const char *begin;
  size_t bytes;
  bool written;
} span;

enum { MAX_SPANS = 2 * GR_MAX_ARGS + 2 };
typedef struct spans {
  span of[MAX_SPANS];
  int n;
} spans;

static void add(spans *s, const void *begin, size_t bytes, bool written) {
  if (begin && bytes) s->of[s->n++] = (span){begin, bytes, written};
}

// The memory that a step uses: operands, results, working memory, and the block of a loop's body.
static void find_spans(const gr_plan_frame *p, uint32_t node, char *base, const gr_exec_step *step,
                       spans *out) {
  gr_op_call call;
  gr_op_call_of(p->g, step->node, &call);
  out->n = 0;
  for (int k = 0; k < step->l.n_in; k++)
    add(out, step->in[k], gr_type_bytes(&step->l.in_type[k]), false);
  for (int k = 0; k < step->l.n_out; k++)
    add(out, step->out[k], gr_type_bytes(&step->l.out_type[k]), true);
  if (p->scratch) add(out, step->l.scratch, gr_call_scratch(&call, p->gpu), true);
  const gr_plan_frame *body = p->body ? p->body[node] : NULL;
  if (body) add(out, base + p->body_at[node], body->bytes, true);
}

static bool conflict(const spans *a, const spans *b) {
  for (int i = 0; i < a->n; i++)
    for (int k = 0; k < b->n; k++) {
      const span *x = &a->of[i], *y = &b->of[k];
      bool overlap = x->begin < y->begin + y->bytes && y->begin < x->begin + x->bytes;
      if (overlap && (x->written || y->written)) return true;
    }
  return false;
}

// A collective that a later step may have to wait for.
typedef struct running {
  const gr_exec_step *step;
  spans spans;
} running;

// Adds what a step must wait for. The compute queue needs a collective once: what precedes it on
// its own queue is then done as well. A collective that waits for one of another queue leaves it
// running, since the compute queue does not wait.
static void find_waits(gr_exec *e, gr_exec_step *step, const spans *s, running *all, int *n) {
  gr_device_event *wait = GR_NEW(e->arena, gr_device_event, *n + 1);
  bool done[GR_QUEUE_COUNT] = {0};
  int kept = *n;
  for (int i = *n; i-- > 0;) {
    gr_queue q = all[i].step->queue;
    if (!done[q] && q != step->queue && conflict(&all[i].spans, s))
      done[q] = true, wait[step->n_wait++] = all[i].step->event;
    if (done[q] && step->queue == GR_QUEUE_COMPUTE) all[i].step = NULL;
  }
  step->wait = wait;
  *n = 0;
  for (int i = 0; i < kept; i++)
    if (all[i].step) all[(*n)++] = all[i];
}

void gr_exec_beside_open(gr_exec *e, const gr_plan_frame *p, char *base, gr_exec_frame *f) {
  if (!e->device->limits.beside) return;
  int collectives = 0, n = 0, count[GR_QUEUE_COUNT] = {0};
  for (uint32_t i = 0; i < f->n_steps; i++) collectives += f->steps[i].queue != GR_QUEUE_COMPUTE;
  f->beside = collectives > 0;
  running *all = GR_NEW(e->arena, running, collectives + 1);
  for (uint32_t i = 0; i < f->n_steps; i++) {
    gr_exec_step *step = &f->steps[i];
    gr_queue q = step->queue;
    if (!n && q == GR_QUEUE_COMPUTE) continue;
    spans s;
    find_spans(p, i, base, step, &s);
    find_waits(e, step, &s, all, &n);
    if (q == GR_QUEUE_COMPUTE) continue;
    gr_device_event first = q == GR_QUEUE_GATHER  ? GR_EVENT_GATHERED
                            : q == GR_QUEUE_FETCH ? GR_EVENT_FETCHED
                                                  : GR_EVENT_REDUCED;
    f->last[q] = step->event = first + (gr_device_event)(count[q]++ % GR_BESIDE);
    all[n++] = (running){step, s};
  }
}

gr_status gr_exec_beside_begin(gr_exec *e, const gr_exec_step *step) {
  gr_device *d = e->device;
  if (step->queue != GR_QUEUE_COMPUTE) {
    GR_TRY(d->ops->record(d, GR_QUEUE_COMPUTE, GR_EVENT_FORKED));
    GR_TRY(d->ops->wait(d, step->queue, GR_EVENT_FORKED));
  }
  double began = gr_exec_times_moves(e) ? gr_seconds() : 0;
  bool waits = false;
  for (uint32_t k = 0; k < step->nodes; k++)  // those that are launched together wait together
    for (int i = 0; i < step[k].n_wait; i++, waits = true)
      GR_TRY(d->ops->wait(d, step->queue, step[k].wait[i]));
  if (waits) gr_exec_times_waited(e, step, began);
  return GR_OK;
}

gr_status gr_exec_beside_end(gr_exec *e, const gr_exec_step *step) {
  if (step->queue == GR_QUEUE_COMPUTE) return GR_OK;
  return e->device->ops->record(e->device, step->queue, step->event);
}

gr_status gr_exec_beside_join(gr_exec *e, const gr_exec_frame *f) {
  double began = f->beside && gr_exec_times_moves(e) ? gr_seconds() : 0;
  for (gr_queue q = 0; q < GR_QUEUE_COUNT; q++)
    if (f->last[q]) GR_TRY(e->device->ops->wait(e->device, GR_QUEUE_COMPUTE, f->last[q]));
  if (f->beside) gr_exec_times_waited(e, NULL, began);
  return GR_OK;
}
