// frame.c - resolves a plan's frame into steps that are ready to launch.
#include "base/events.h"
#include "base/work.h"
#include "ops/ops.h"
#include "runtime/exec/parts.h"

void *gr_exec_address(const gr_exec *e, const gr_plan_frame *p, char *base, uint32_t v) {
  if (!v) return NULL;
  if (p->in_states && gr_plan_in_host(e->plan, p, v))
    return e->host + (p->offset[v] - e->plan->state_bytes);
  return (p->in_states && p->in_states[v] ? e->states : base) + p->offset[v];
}

static gr_status choose(const gr_exec *e, const gr_graph *g, gr_exec_step *step) {
  gr_op_call call;
  gr_device_kernel k = {0};
  gr_op_call_of(g, step->node, &call);
  GR_TRY(e->device->ops->kernel(e->device, &call, &step->l, &k));
  step->kernel = k.run, step->l.context = k.context;
  return GR_OK;
}

// A GPU may run a whole loop as one kernel; where it does not, step->kernel stays NULL.
static gr_status choose_loop(const gr_exec *e, const gr_graph *g, gr_exec_step *step) {
  if (!e->device->ops->gpu) return GR_OK;
  gr_status s = choose(e, g, step);
  if (gr_status_code(s) != GR_ERR_UNSUPPORTED) return s;
  gr_status_drop(s);
  return GR_OK;
}

static void fill_types(gr_exec *e, const gr_graph *g, gr_exec_step *step) {
  const gr_node *n = step->node;
  gr_type *in = GR_NEW(e->arena, gr_type, n->n_in), *out = GR_NEW(e->arena, gr_type, n->n_out);
  gr_layout *layout = GR_NEW(e->arena, gr_layout, n->n_out);
  for (int k = 0; k < n->n_in; k++) in[k] = gr_at(g, n->in[k])->type;
  for (int k = 0; k < n->n_out; k++)
    out[k] = gr_at(g, gr_out(n, k))->type, layout[k] = gr_at(g, gr_out(n, k))->layout;
  step->in = GR_NEW(e->arena, void *, n->n_in);
  step->out = GR_NEW(e->arena, void *, n->n_out);
  step->l = (gr_launch){.attr = n->attr,
                        .n_in = n->n_in,
                        .n_out = n->n_out,
                        .in_type = in,
                        .out_type = out,
                        .out_layout = layout,
                        .mesh = &e->plan->mesh,
                        .coord = e->coord,
                        .in = (const void *const *)step->in,
                        .out = step->out,
                        .comm = e->comm[step->queue]};
}

// For base/events.h: "all_reduce of encoder, model.yaml:8:3"; what a pass has made has no place.
static const char *title_of(gr_arena *a, const gr_node *n) {
  const char *of = n->scope ? " of " : "", *scope = n->scope ? n->scope : "";
  if (!n->loc.file) return gr_arena_printf(a, "%s%s%s", n->op->name, of, scope);
  return gr_arena_printf(a, "%s%s%s, %s:%d:%d", n->op->name, of, scope, n->loc.file, n->loc.line,
                         n->loc.col);
}

// together: another function chooses its kernel.
static gr_status open_step(gr_exec *e, const gr_plan_frame *p, uint32_t i, char *base, bool body,
                           bool together, gr_exec_step *step) {
  const gr_graph *g = p->g;
  const gr_node *n = step->node = &g->nodes[i];
  step->queue = gr_device_queue(e->device, n->op);
  if (e->device->limits.marks)
    step->mark = gr_arena_printf(e->arena, "%s%s%s", n->scope ? n->scope : "", n->scope ? " " : "",
                                 n->op->name);
  if (!body) step->title = title_of(e->arena, n);
  fill_types(e, g, step);
  for (int k = 0; k < n->n_in; k++)
    if (!body || gr_at(g, n->in[k])->role == GR_TEMP)
      step->in[k] = gr_exec_address(e, p, base, n->in[k].id);
  for (int k = 0; k < n->n_out; k++) step->out[k] = gr_exec_address(e, p, base, gr_out(n, k).id);
  if (p->scratch) step->l.scratch = base + p->scratch[i];
  step->nodes = 1;
  if (together) return GR_OK;
  if (!p->body || !p->body[i]) return choose(e, g, step);
  GR_TRY(choose_loop(e, g, step));
  return step->kernel ? GR_OK : gr_exec_loop_open(e, p->body[i], base + p->body_at[i], step);
}

// Chooses one kernel for n steps.
static gr_status choose_together(gr_exec *e, const gr_graph *g, gr_exec_step *steps, uint32_t n) {
  gr_arena *work = gr_arena_create();
  gr_op_call *calls = GR_NEW(work, gr_op_call, n);
  const gr_launch **launches = GR_NEW(work, const gr_launch *, n);
  gr_device_kernel k = {0};
  for (uint32_t i = 0; i < n; i++) {
    gr_op_call_of(g, steps[i].node, &calls[i]);
    launches[i] = &steps[i].l;
  }
  gr_status s = e->device->ops->kernels(e->device, (int)n, calls, launches, &k);
  gr_arena_destroy(work);
  steps->kernel = k.run, steps->l.context = k.context, steps->nodes = n;
  return s;
}

// Opens the step of node i, or those of its group.
static gr_status open_group(gr_exec *e, const gr_plan_frame *p, uint32_t i, uint32_t n, char *base,
                            bool body, gr_exec_step *steps) {
  for (uint32_t k = 0; k < n; k++) GR_TRY(open_step(e, p, i + k, base, body, n > 1, &steps[i + k]));
  return n > 1 ? choose_together(e, p->g, &steps[i], n) : GR_OK;
}

gr_status gr_exec_frame_open(gr_exec *e, const gr_plan_frame *p, char *base, bool body,
                             gr_exec_frame *out) {
  out->g = p->g, out->n_steps = p->g->n_nodes;
  out->steps = GR_NEW(e->arena, gr_exec_step, out->n_steps);
  bool together = p->group_size && e->device->ops->kernels;
  for (uint32_t i = 0, n; i < out->n_steps; i += n) {
    n = together ? p->group_size[i] : 1;
    GR_TRY(open_group(e, p, i, n, base, body, out->steps));
  }
  if (!body) gr_exec_beside_open(e, p, base, out);
  return GR_OK;
}

// ---- Running ------------------------------------------------------------------------

// Adds the location in the user's model to an error, which showed at a step and may be that of a
// collective beside it.
static gr_status locate(gr_status s, const gr_exec *e, const gr_exec_step *step) {
  const gr_device *d = e->device;
  const gr_exec_step *failed = d->ops->failed ? d->ops->failed(d) : NULL;
  const gr_node *n = (failed ? failed : step)->node;
  char rank[24] = "";
  if (e->plan->mesh.n_axes) snprintf(rank, sizeof rank, ", on rank %d", e->opt.rank);
  return gr_note(s, n->loc, "in op '%s'%s%s%s", n->op->name, n->scope ? " of " : "",
                 n->scope ? n->scope : "", rank);
}

static gr_status run_step(gr_exec *e, gr_exec_step *step) {
  return step->kernel ? step->kernel(&step->l) : gr_exec_loop_run(e, step);
}

static gr_status run_searched(gr_exec *e, const gr_graph *g, gr_exec_step *step) {
  void *before;
  gr_arena *work = gr_arena_create();
  gr_status s = gr_exec_search_before(e, g, step, work, &before);
  s = s ? s : run_step(e, step);
  s = s ? s : gr_exec_search_after(e, g, step, before);
  return gr_arena_end(work, s);
}

static gr_status run_ordered(gr_exec *e, gr_exec_step *step) {
  gr_device *d = e->device;
  gr_exec_step *outer = gr_exec_times_of(e, step);
  if (step->mark) d->ops->mark(d, step->mark);
  GR_TRY(gr_exec_beside_begin(e, step));
  GR_TRY(run_step(e, step));
  GR_TRY(gr_exec_beside_end(e, step));
  if (step->mark) d->ops->mark(d, NULL);
  gr_exec_times_of(e, outer);
  return GR_OK;
}

// Runs the steps with timing and with the device's checks.
static gr_status run_watched(gr_exec *e, gr_exec_frame *f) {
  const gr_device_ops *ops = e->device->ops;
  double before = gr_seconds();
  if (ops->begin) GR_TRY(ops->begin(e->device, f->g));
  for (uint32_t i = 0; i < f->n_steps; i += f->steps[i].nodes) {
    gr_exec_step *step = &f->steps[i], *outer = gr_exec_times_of(e, step);
    gr_status s = gr_exec_beside_begin(e, step);
    s = s || !ops->node ? s : ops->node(e->device, f->g, i, &step->l);
    double began = e->trace ? gr_trace_now() : 0;
    s = s ? s : e->search ? run_searched(e, f->g, step) : run_step(e, step);
    s = s ? s : gr_exec_beside_end(e, step);
    s = s ? s : gr_exec_times_wait(e, step, began);
    if (s) return locate(s, e, step);
    gr_exec_times_of(e, outer);
    double now = gr_seconds();
    if (e->counts) step->seconds += now - before, step->runs++;
    before = now;
  }
  GR_TRY(gr_exec_beside_join(e, f));
  return ops->end ? ops->end(e->device, f->g) : GR_OK;
}

gr_status gr_exec_frame_run(gr_exec *e, gr_exec_frame *f) {
  if (e->watched) return run_watched(e, f);
  bool more = f->beside || e->device->limits.marks || e->timed;
  gr_work *phase = gr_work_current();  // before a run trains: then a request to stop ends it
  for (gr_exec_step *step = f->steps, *end = step + f->n_steps; step < end; step += step->nodes) {
    if (step->title) gr_event(step->title);
    gr_status s = more ? run_ordered(e, step) : run_step(e, step);
    if (phase && !s) s = gr_work_step(0);
    if (__builtin_expect(s != GR_OK, 0)) return locate(s, e, step);
  }
  return gr_exec_beside_join(e, f);
}
