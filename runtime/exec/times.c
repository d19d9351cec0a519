// times.c - where the times of nodes come from, for profiles and traces. A device that measures
// what it replays gives them itself (gr_device_ops.timings), so that programs run as they always do
// and spans of several queues show side by side. Otherwise the host waits for each node: on the CPU
// that is no wait, and on a GPU it is the cost of a launch for each node and no overlap.
#include <string.h>
#include "runtime/exec/parts.h"

static double flops_of(const gr_exec_step *s) {
  gr_op_call call = {.op = s->node->op, .attr = s->l.attr, .n_in = s->l.n_in, .n_out = s->l.n_out};
  if (s->loop || call.op->collective) return 0;
  for (int k = 0; k < call.n_in; k++) call.in[k] = s->l.in_type[k];
  for (int k = 0; k < call.n_out; k++) call.out[k] = s->l.out_type[k];
  return (double)gr_op_flops(&call);
}

double gr_exec_step_flops(const gr_exec_step *s) {
  double flops = 0;
  for (uint32_t i = 0; i < s->nodes; i++) flops += flops_of(&s[i]);
  return flops;
}

double gr_exec_step_bytes(const gr_exec_step *s) {
  double bytes = 0;
  for (uint32_t i = 0; i < s->nodes && !s->loop; i++)
    bytes += (double)(gr_types_bytes(s[i].l.in_type, s[i].l.n_in) +
                      gr_types_bytes(s[i].l.out_type, s[i].l.n_out));
  return bytes;
}

enum { RUNS = 64 };  // after so many, times are taken from the device: it keeps them in memory

// What a trace shows of a node.
static void put_args(gr_text *t, const void *what) {
  const gr_exec_step *step = what;
  const gr_node *n = step->node;
  double flops = gr_exec_step_flops(step), bytes = gr_exec_step_bytes(step);
  gr_text_put(t, "\"of\":");
  gr_text_json(t, n->scope ? n->scope : "");
  if (n->loc.file) {
    char place[400];
    snprintf(place, sizeof place, "%s:%d:%d", n->loc.file, n->loc.line, n->loc.col);
    gr_text_put(t, ",\"at\":");
    gr_text_json(t, place);
  }
  gr_text_printf(t, ",\"flops\":%.0f,\"bytes\":%.0f", flops, bytes);
}

// ---- By the host -------------------------------------------------------------------------------

gr_status gr_exec_times_wait(gr_exec *e, gr_exec_step *step, double began) {
  if (!e->waits) return GR_OK;
  if (step->queue != GR_QUEUE_COMPUTE && gr_exec_times_moves(e) && !e->opt.profile) return GR_OK;
  GR_TRY(e->device->ops->synchronise(e->device, step->queue));
  if (e->trace)
    gr_trace_add(e->trace, step->node->op->collective ? GR_TRACE_COMMUNICATION : GR_TRACE_COMPUTE,
                 step->node->op->name, put_args, step, began);
  return GR_OK;
}

bool gr_exec_times_moves(const gr_exec *e) {
  const gr_device_ops *ops = e->device->ops;
  return e->device->limits.beside && ops->timings && !ops->time;
}

void gr_exec_times_waited(gr_exec *e, const gr_exec_step *step, double began) {
  if (!gr_exec_times_moves(e)) return;
  double lasted = gr_seconds() - began;
  e->waited += lasted;
  if (e->trace)
    gr_trace_add(e->trace, GR_TRACE_COMPUTE, "wait for collectives", step ? put_args : NULL, step,
                 gr_trace_now() - lasted);
}

// ---- By the device -----------------------------------------------------------------------------

static const gr_trace_lane lanes[GR_QUEUE_COUNT] = {
    [GR_QUEUE_COMPUTE] = GR_TRACE_GPU,        [GR_QUEUE_TRANSFER] = GR_TRACE_GPU_COPIES,
    [GR_QUEUE_GATHER] = GR_TRACE_GPU_GATHERS, [GR_QUEUE_REDUCE] = GR_TRACE_GPU_SUMS,
    [GR_QUEUE_FETCH] = GR_TRACE_GPU_COPIES,   [GR_QUEUE_AHEAD] = GR_TRACE_GPU_COPIES,
};

// Uploads and downloads are of no node; so are copies of states at a program's end.
static gr_trace_lane lane_of(const gr_device_ops *d, const gr_device_timing *t) {
  const gr_exec_step *step = t->of;
  if (!d->time) return GR_TRACE_COMMUNICATION;
  bool loads = !strcmp(t->what, "upload") || !strcmp(t->what, "download");
  return lanes[step ? step->queue : loads ? GR_QUEUE_TRANSFER : GR_QUEUE_COMPUTE];
}

static void take_one(void *arg, const gr_device_timing *t) {
  const gr_exec *e = arg;
  gr_exec_step *step = t->of;
  if (step && e->timed) step->measured += 1e-9 * (double)t->lasts, step->runs += t->first;
  if (e->trace)
    gr_trace_put(e->trace, lane_of(e->device->ops, t), step ? step->node->op->name : t->what,
                 step ? put_args : NULL, step, t->start, t->lasts);
}

static gr_status take(gr_exec *e) {
  e->untaken = 0;
  return e->device->ops->timings(e->device, take_one, e);
}

gr_status gr_exec_times_begin(gr_exec *e) {
  if (!e->device->limits.timings) return GR_OK;
  if (e->timed) return take(e);
  GR_TRY(e->device->ops->time(e->device, true));
  e->timed = true;
  return GR_OK;
}

gr_status gr_exec_times_end(gr_exec *e) {
  if (!e->timed) return GR_OK;
  GR_TRY(take(e));
  e->timed = false;
  return e->device->ops->time(e->device, false);
}

void gr_exec_times_choose(gr_exec *e, const gr_graph *g) {
  const gr_device_ops *d = e->device->ops;
  gr_device_timed timed = e->timed ? d->timed(e->device, g) : GR_TIMED_BY_HOST;
  e->counts = timed == GR_TIMED_BY_HOST;
  e->waits = e->trace ? timed != GR_TIMED : e->opt.profile && e->counts;
  e->watched = e->waits || e->search || d->begin || d->node || d->end;
  e->running = NULL;
}

gr_status gr_exec_times_taken(gr_exec *e) {
  bool moves = e->trace && gr_exec_times_moves(e) && !e->opt.profile;
  return moves || (e->timed && ++e->untaken == RUNS) ? take(e) : GR_OK;
}

gr_exec_step *gr_exec_times_of(gr_exec *e, gr_exec_step *step) {
  gr_exec_step *before = e->running;
  e->running = step;
  if (e->timed || gr_exec_times_moves(e)) e->device->ops->time_as(e->device, step);
  return before;
}

// ---- Traces ------------------------------------------------------------------------------------

gr_status gr_exec_trace(gr_exec *e, gr_trace *t) {
  if (t && gr_exec_times_moves(e)) GR_TRY(take(e));  // those of earlier steps, for no trace
  gr_status s = t                ? gr_exec_times_begin(e)
                : e->opt.profile ? e->timed ? take(e) : GR_OK
                                 : gr_exec_times_end(e);
  e->trace = t;
  return s;
}
