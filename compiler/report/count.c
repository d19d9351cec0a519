// count.c - counts a plan: its memory by kind, and of each program the launches, the collectives
// and the predicted time. See figures.h.
#include <math.h>
#include <string.h>
#include "base/tasks.h"
#include "compiler/report/figures.h"
#include "compiler/report/parts.h"
#include "ops/comm/collective.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

const char *const gr_kind_names[GR_KIND_COUNT] = {
    [GR_KIND_WEIGHT] = "weights",
    [GR_KIND_BUFFER] = "buffers",
    [GR_KIND_MOMENT] = "optimizer",
    [GR_KIND_EMA] = "ema",
    [GR_KIND_COUNTER] = "counters",
    [GR_KIND_TABLE] = "tables",
    [GR_KIND_GRAD_ACCUMULATOR] = "accumulators",
};

// ---- Kernels ------------------------------------------------------------------------------------

// Whether the calls of a program, or of a body, touch more than the near caches keep until the next
// step.
static bool is_far(const gr_graph *g) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < g->n_nodes && bytes <= GR_NEAR_CACHE; i++)
    bytes += gr_node_bytes(g, &g->nodes[i], true);
  return bytes > GR_NEAR_CACHE;
}

// By target.
static const double *cpu_seconds_of(gr_tally *w, gr_call_figures *c, const gr_graph *g,
                                    const gr_node *n, bool in_place, bool far) {
  const double **known = &c->cpu[in_place][far];
  if (*known) return *known;
  double *seconds = GR_NEW(w->arena, double, w->n_targets + 1);
  gr_op_call call;
  gr_op_call_of(g, n, &call);
  for (int i = 0; i < w->n_targets; i++)
    seconds[i] = gr_cpu_seconds(&w->targets[i], &call, in_place, far);
  return *known = seconds;
}

// On a CPU loops run node by node. f: the frame of the graph, or NULL; far: is_far of it.
static void add_on_cpu(gr_tally *w, const gr_plan_frame *f, const gr_graph *g, const gr_node *n,
                       double runs, bool far) {
  const gr_scan *loop = n->op == &gr_op_scan ? n->attr : NULL;
  const gr_plan_frame *body = loop && f && f->body ? f->body[n - g->nodes] : NULL;
  bool body_far = loop && is_far(loop->body);
  for (uint32_t i = 0; loop && i < loop->body->n_nodes; i++)
    add_on_cpu(w, body, loop->body, &loop->body->nodes[i], runs * (double)loop->steps, body_far);
  if (loop) return;
  gr_call_figures *c = gr_call_figures_of(w, g, n);
  w->out->launches += runs, w->out->bytes += runs * c->bytes;
  bool in_place =
      f && n->n_in && n->n_out && gr_plan_is_copied_in_place(f, n->in[0].id, 0, gr_out(n, 0).id, 0);
  const double *seconds = cpu_seconds_of(w, c, g, n, in_place, far);
  for (int i = 0; i < w->n_targets; i++) w->seconds[i] += runs * seconds[i];
}

// ---- Collectives --------------------------------------------------------------------------------

static void add_move(gr_program_figures *p, const gr_graph *g, const gr_node *n) {
  int i = 0;
  while (i < p->n_moves && strcmp(p->moves[i].op, n->op->name)) i++;
  if (i == GR_MAX_MOVES) return;  // there are no so many ops
  if (i == p->n_moves) p->moves[p->n_moves++] = (gr_move){.op = n->op->name};
  gr_traffic_add(&p->moves[i].traffic, g, n);
  gr_traffic_add(&p->all, g, n);
  gr_traffic_add(&p->by_axis[((const struct gr_coll *)n->attr)->mesh_axis], g, n);
}

static double collective_seconds(const gr_target *t, const gr_graph *g, const gr_node *n) {
  gr_traffic moved = {0};
  gr_traffic_add(&moved, g, n);
  gr_mesh_group group =
      gr_mesh_group_of(&g->mesh, 0, (int)((const struct gr_coll *)n->attr)->mesh_axis);
  return gr_link_seconds(&t->cluster, group.n, group.stride, moved.sent,
                         n->op == &gr_op_all_reduce ? 2 : 1);
}

// ---- When they run ------------------------------------------------------------------------------

// When the queues of a GPU are done (runtime/exec/beside.c), and by value what makes it beside
// kernels.
typedef struct timeline {
  double kernels, gathers, sums, copies;
  double *ready;
} timeline;

static double ready_inputs(const timeline *t, const gr_node *n) {
  double when = 0;
  for (int k = 0; k < n->n_in; k++) when = fmax(when, t->ready[n->in[k].id]);
  return when;
}

// What runs beside kernels begins behind those that are ahead of it, and a kernel waits for it
// where it reads its results.
static void run_node(timeline *t, const gr_node *n, double seconds, bool in_line) {
  double *queue = n->op == &gr_op_fetch        ? &t->copies
                  : !n->op->collective         ? &t->kernels
                  : n->op == &gr_op_all_gather ? &t->gathers
                                               : &t->sums;
  bool beside = queue != &t->kernels;
  if (in_line) queue = &t->kernels;
  *queue = fmax(fmax(*queue, t->kernels), ready_inputs(t, n)) + seconds;
  for (int k = 0; k < n->n_out && beside; k++) t->ready[gr_out(n, k).id] = *queue;
}

// seconds: of the kernels of each node.
static gr_predicted run_program(gr_arena *arena, const gr_graph *g, const gr_target *target,
                                const double *seconds, bool in_line) {
  timeline t = {.ready = GR_NEW(arena, double, g->n_values)};
  gr_predicted out = {0};
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    bool moves = n->op->collective;
    double lasts = moves ? collective_seconds(target, g, n) : seconds[i];
    *(moves ? &out.collectives : n->op == &gr_op_fetch ? &out.copies : &out.kernels) += lasts;
    run_node(&t, n, lasts, in_line || target->chip->cpu);
  }
  out.all = fmax(fmax(t.kernels, t.copies), fmax(t.gathers, t.sums));
  out.hidden = out.kernels + out.collectives + out.copies - out.all;
  if (out.hidden < 1e-9 * out.all) out.hidden = 0;  // rounding
  return out;
}

// ---- A program ----------------------------------------------------------------------------------

// Both directions of the link work at once, and what is read there is written.
static double linked_bytes(const gr_plan *p, const gr_plan_frame *f, const gr_node *n) {
  double bytes = 0;
  for (int k = 0; k < n->n_in; k++)
    if (gr_plan_in_host(p, f, n->in[k].id))
      bytes += (double)gr_type_bytes(&gr_at(f->g, n->in[k])->type);
  return bytes;
}

// The time of nodes that are launched together is that of the last of them.
static void add_nodes(gr_tally *w, const gr_plan *p, const gr_plan_frame *f, double *seconds[]) {
  const gr_graph *g = f->g;
  bool gpu = p->gpu, far = !gpu && is_far(g);
  for (uint32_t i = 0, size; i < g->n_nodes; i += size) {
    double before[GR_MAX_TARGETS];
    size = gpu ? f->group_size[i] : 1;
    memcpy(before, w->seconds, sizeof before);
    for (const gr_node *n = &g->nodes[i]; n < &g->nodes[i + size]; n++) {
      w->linked = linked_bytes(p, f, n);
      w->out->linked += w->linked;
      if (n->op->collective) {
        add_move(w->out, g, n);
        continue;
      }
      w->out->flops += (double)gr_call_figures_of(w, g, n)->flops;
      gpu ? gr_predict_gpu(w, f, g, n, 1) : add_on_cpu(w, f, g, n, 1, far);
    }
    if (size > 1) gr_predict_group(w, g, i, size);
    for (int k = 0; k < w->n_targets; k++) seconds[k][i + size - 1] = w->seconds[k] - before[k];
  }
}

static void count_program(gr_arena *arena, const gr_plan_figures *all, gr_program_figures *out) {
  gr_arena *scratch = gr_arena_create();
  const gr_plan_frame *f = &out->program->frame;
  gr_tally w = {.arena = scratch,
                .calls = gr_calls_make(scratch),
                .targets = all->targets,
                .n_targets = all->n_targets,
                .tf32 = all->plan->tf32,
                .out = out};
  double *seconds[GR_MAX_TARGETS];
  for (int i = 0; i < w.n_targets; i++) seconds[i] = GR_NEW(scratch, double, f->g->n_nodes + 1);
  add_nodes(&w, all->plan, f, seconds);
  for (int i = 0; i < w.n_targets; i++)
    out->seconds[i] = run_program(scratch, f->g, &w.targets[i], seconds[i], all->use.in_line);
  out->n_makers = gr_peak_makers(arena, out->program, &out->makers);
  gr_arena_destroy(scratch);
}

typedef struct counting {
  const gr_plan_figures *all;
  gr_arena **arena;  // by program
  bool *counted;
} counting;

static gr_status count_one(void *arg, int i) {
  const counting *w = arg;
  count_program(w->arena[i], w->all, &w->all->programs[i]);
  w->counted[i] = true;
  return GR_OK;
}

// A request to stop ends the threads' work: the caller counts what is left.
static void count_programs(gr_arena *arena, gr_plan_figures *f) {
  uint32_t n = f->plan->n_programs;
  counting w = {f, GR_NEW(arena, gr_arena *, n + 1), GR_NEW(arena, bool, n + 1)};
  for (uint32_t i = 0; i < n; i++) {
    f->programs[i].program = &f->plan->programs[i];
    w.arena[i] = gr_arena_within(arena);
  }
  gr_status_drop(gr_tasks_run(f->use.threads, (int)n, count_one, &w));
  for (uint32_t i = 0; i < n; i++)
    if (!w.counted[i]) count_program(w.arena[i], f, &f->programs[i]);
}

// ---- A plan -------------------------------------------------------------------------------------

static void count_states(gr_plan_figures *f) {
  for (uint32_t i = 0; i < f->plan->n_states; i++) {
    const gr_plan_state *s = &f->plan->states[i];
    gr_kind_figures *k = &f->kinds[s->kind];
    k->count++, k->numbers += gr_type_count(&s->global), k->bytes += (double)s->bytes;
  }
}

static void count_step(gr_plan_figures *f) {
  for (uint32_t i = 0; i < f->plan->n_programs; i++) {
    gr_program_figures *p = &f->programs[i];
    p->runs = f->use.runs ? f->use.runs[i] : 0;
    f->launches += p->runs * p->launches, f->sent += p->runs * p->all.sent;
    f->collectives += p->runs * p->all.collectives;
    for (int k = 0; k < f->n_targets; k++) {
      gr_predicted *step = &f->step[k], *once = &p->seconds[k];
      step->kernels += p->runs * once->kernels, step->collectives += p->runs * once->collectives;
      step->hidden += p->runs * once->hidden, step->all += p->runs * once->all;
      step->copies += p->runs * once->copies;
    }
  }
  for (int k = 0; k < f->n_targets; k++) {
    f->step[k].besides = f->targets[k].cpu.step_gap;
    f->step[k].all += f->step[k].besides;
  }
}

static void take_chips(gr_arena *arena, gr_plan_figures *f) {
  gr_target *all = GR_NEW(arena, gr_target, GR_MAX_TARGETS);
  for (const gr_chip *c = gr_chips; c->name && f->n_targets < GR_MAX_TARGETS; c++)
    if (!c->cpu == f->plan->gpu) all[f->n_targets++] = gr_target_of(c);
  f->targets = all;
}

const gr_plan_figures *gr_plan_count(gr_arena *arena, const gr_plan *p, const gr_plan_use *use,
                                     const gr_target *targets, int n_targets) {
  gr_plan_figures *f = GR_NEW(arena, gr_plan_figures, 1);
  *f = (gr_plan_figures){.plan = p,
                         .ranks = gr_mesh_ranks(&p->mesh),
                         .bytes = (double)(gr_plan_bytes(p) + p->reserved_bytes),
                         .programs = GR_NEW(arena, gr_program_figures, p->n_programs),
                         .targets = targets,
                         .n_targets = n_targets};
  if (use) f->use = *use;
  if (!targets) take_chips(arena, f);
  f->parameters = gr_plan_parameters(p, &f->trained);
  count_states(f);
  count_programs(arena, f);
  count_step(f);
  return f;
}

const gr_program_figures *gr_figures_largest(const gr_plan_figures *f, const char *kind) {
  const gr_program *most = gr_plan_largest(f->plan, kind);
  return most ? &f->programs[most - f->plan->programs] : NULL;
}
