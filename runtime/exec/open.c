// open.c - opens a plan on a rank and runs its programs. See exec.h.
//
// Transfers and programs are ordered by the device's two events: a program waits for the transfers
// before it, and a transfer for the programs before it (tensors.c). Two more order uploads of
// inputs that have a second place: they wait until a program has copied the last ones from there,
// which it does first, and run beside the rest of it.
#include <stdlib.h>
#include <string.h>
#include "ops/comm/collective.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/parts.h"

// Whether any collective's operand or result is in the block of states (or in the arena).
static bool collectives_use(const gr_plan *p, bool states) {
  for (uint32_t i = 0; i < p->n_programs; i++) {
    const gr_plan_frame *f = &p->programs[i].frame;
    for (uint32_t k = 0; k < f->g->n_nodes; k++) {
      const gr_node *n = &f->g->nodes[k];
      for (int j = 0; n->op->collective && j < n->n_in; j++)
        if (f->in_states[n->in[j].id] == states) return true;
      for (int j = 0; n->op->collective && j < n->n_out; j++)
        if (f->in_states[gr_out(n, j).id] == states) return true;
    }
  }
  return false;
}

enum { ARENA, STATES, UPLOADS, HOST, BLOCKS };
static gr_status allocate(gr_exec *e, size_t bytes, int block, char **out) {
  static const char *const what[] = {"the values of a step", "weights and other states",
                                     "second places of inputs", "states in host memory"};
  gr_device *d = e->device;
  gr_device_block *b = &e->block[block];
  gr_comm *first = e->comm[GR_QUEUE_COMPUTE][0];
  bool moved = block < UPLOADS && collectives_use(e->plan, block == STATES);
  gr_status s = gr_note(d->ops->allocate(d, bytes, moved ? first : NULL, b), GR_NOWHERE,
                        "while allocating %s", what[block]);
  *out = b->address;
  if (gr_status_code(s) != GR_ERR_LAUNCH) return s;
  return gr_hint(s, "`graphrun plan` says what needs it; use a smaller batch, or more ranks");
}

static gr_status check_room(const gr_exec *e) {
  size_t there = e->device->limits.bytes, needed = gr_exec_bytes(e) + e->plan->reserved_bytes;
  if (!there || needed <= there) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
              "the plan needs %.1f MB on each rank, and the device '%s' has %.1f MB left",
              (double)needed / 1e6, e->device->ops->name, (double)there / 1e6),
      "`graphrun plan` says what needs it; use a smaller batch, or more ranks");
}

// States whose next value is not written in their own memory. It is never another state: the proof
// ensures that.
static void open_next(gr_exec *e, const gr_plan_frame *p, gr_exec_program *out) {
  const gr_graph *g = p->g;
  out->next = GR_NEW(e->arena, gr_exec_copy, g->n_values);
  for (uint32_t v = 1; v < g->n_values; v++) {
    gr_val next = g->values[v].next;
    if (!gr_is(next) || next.id == v) continue;
    gr_exec_copy c = {.to = gr_exec_address(e, p, e->work, v),
                      .source = gr_exec_address(e, p, e->work, next.id),
                      .bytes = gr_type_bytes(&g->values[v].type)};
    if (c.to != c.source) out->next[out->n_next++] = c;
  }
}

static gr_status open_uploads(gr_exec *e) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < e->plan->n_programs; i++)
    if (e->plan->programs[i].frame.g->n_values > most)
      most = e->plan->programs[i].frame.g->n_values;
  e->ahead = GR_NEW(e->arena, gr_exec_copy, most);
  return allocate(e, e->plan->upload_bytes, UPLOADS, &e->uploads);
}

static gr_status open_host(gr_exec *e) {
  double mb = (double)e->plan->host_bytes / 1e6;
  gr_device_block *b = &e->block[HOST];
  if (!e->device->ops->allocate_host)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the plan has states in host memory");
  gr_status s = e->device->ops->allocate_host(e->device, e->plan->host_bytes, b);
  e->host = b->address;
  if (gr_status_code(s) != GR_ERR_LAUNCH) return s;
  return gr_hint(gr_note(s, GR_NOWHERE, "while allocating %.1f MB of pinned host memory", mb),
                 "training.offload=none distributed.fsdp.offload_params=false needs none; or raise "
                 "`ulimit -l`");
}

// ---- Opening -------------------------------------------------------------------------------

// Whether any collective of the plan is on a queue, and over a mesh axis.
static bool is_used(const gr_exec *e, gr_queue q, int axis) {
  for (uint32_t i = 0; i < e->plan->n_programs; i++) {
    const gr_graph *g = e->plan->programs[i].frame.g;
    for (uint32_t k = 0; k < g->n_nodes; k++) {
      const gr_op *op = g->nodes[k].op;
      if (op->collective && gr_device_queue(e->device, op) == q &&
          ((const struct gr_coll *)g->nodes[k].attr)->mesh_axis == axis)
        return true;
    }
  }
  return false;
}

// Makes the communicators of the device's memory, one for each queue, because what is put onto
// one communicator runs in order: those of the host carry them.
static gr_status open_comms(gr_exec *e) {
  for (int a = 0; a < e->plan->mesh.n_axes; a++) {
    gr_comm *host = e->comm[GR_QUEUE_COMPUTE][a];
    for (gr_queue q = 0; q < GR_QUEUE_COUNT; q++) {
      e->comm[q][a] = host;
      if (!e->opt.open_comm || !host || host->ranks == 1 || !is_used(e, q, a)) continue;
      GR_TRY(gr_note(e->opt.open_comm(e->device, q, host, e->opt.timeout_s, &e->comm[q][a]),
                     GR_NOWHERE, "while opening mesh axis '%s' on the device",
                     e->plan->mesh.axis[a].name));
      e->opened[q][a] = true;
    }
  }
  return GR_OK;
}

// Two ranks with one device would wait for each other, or share its memory.
static gr_status check_apart(gr_exec *e, const gr_device_ops *kind) {
  gr_comm *world = e->opt.world;
  if (!world || world->ranks == 1 || !gr_device_is_per_rank(kind)) return GR_OK;
  unsigned char *ids = GR_NEW(e->arena, unsigned char, world->ranks *GR_DEVICE_ID);
  GR_TRY(gr_comm_run(world, GR_ALL_GATHER, GR_U8, GR_DEVICE_ID, e->device->id, ids));
  for (int i = 0; i < world->ranks; i++)
    for (int k = 0; k < i; k++)
      if (!memcmp(ids + i * GR_DEVICE_ID, ids + k * GR_DEVICE_ID, GR_DEVICE_ID))
        return gr_hint(
            gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "ranks %d and %d are on the same GPU", k, i),
            "use fewer ranks (distributed.ranks), or give each its own: distributed.gpu_ids, or an "
            "option of the launcher, such as srun --gpus-per-task=1");
  return GR_OK;
}

static gr_status open_all(gr_exec *e) {
  const gr_plan *p = e->plan;
  bool in_line = e->opt.in_line;
  for (int a = 0; a < p->mesh.n_axes; a++) {
    e->coord[a] = gr_mesh_coord(&p->mesh, e->opt.rank, a);
    gr_comm *host = e->comm[GR_QUEUE_COMPUTE][a] = e->opt.comm ? e->opt.comm[a] : NULL;
    int there = host ? host->ranks : 1;
    in_line |= host && host->own_thread;
    if (there != gr_mesh_group_of(&p->mesh, e->opt.rank, a).n)
      return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "mesh axis '%s' is for %d ranks, but there are %d",
                     p->mesh.axis[a].name, p->mesh.axis[a].size, there);
  }
  gr_device_options o = {.threads = e->opt.threads,
                         .plain = e->opt.plain,
                         .in_line = in_line,
                         .tf32 = p->tf32,
                         .timings = e->opt.profile || e->opt.trace,
                         .rank = e->opt.rank,
                         .ranks = gr_mesh_ranks(&p->mesh),
                         .one_machine = gr_comm_is_local(e->opt.world),
                         .local_rank = e->opt.local_rank,
                         .ids = e->opt.gpu_ids,
                         .n_ids = e->opt.n_gpu_ids,
                         .ahead = p->upload_bytes};
  const gr_device_ops *kind = e->opt.device ? e->opt.device : &gr_device_cpu;
  if (kind->gpu && !p->gpu)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the plan has no working memory for GPUs");
  GR_TRY(kind->open(&o, &e->device));
  e->device->limits.one_queue |= e->opt.one_queue;
  GR_TRY(check_apart(e, kind));
  GR_TRY(open_comms(e));
  if (e->device->ops->measure) GR_TRY(e->device->ops->measure(e->device));
  GR_TRY(check_room(e));
  GR_TRY(allocate(e, p->state_bytes, STATES, &e->states));
  GR_TRY(allocate(e, p->arena_bytes, ARENA, &e->work));
  if (p->upload_bytes) GR_TRY(open_uploads(e));
  if (p->host_bytes) GR_TRY(open_host(e));
  e->programs = GR_NEW(e->arena, gr_exec_program, p->n_programs);
  for (uint32_t i = 0; i < p->n_programs; i++) {
    const gr_plan_frame *f = &p->programs[i].frame;
    GR_TRY(gr_note(gr_exec_frame_open(e, f, e->work, false, &e->programs[i].frame), GR_NOWHERE,
                   "while opening program '%s'", p->programs[i].name));
    open_next(e, f, &e->programs[i]);
  }
  if (e->device->ops->agree && e->opt.world && e->opt.world->ranks > 1)
    GR_TRY(e->device->ops->agree(e->device, e->opt.world));
  if (e->device->ops->ready) GR_TRY(e->device->ops->ready(e->device));
  if (e->opt.autotune && e->device->ops->tune)
    GR_TRY(e->device->ops->tune(e->device, e->opt.world));
  return e->opt.profile ? gr_exec_times_begin(e) : GR_OK;
}

void gr_exec_set_shard(gr_exec *e, int shard, bool interleaved) {
  const gr_mesh *m = &e->plan->mesh;
  int axis = gr_mesh_virtual(m), place = shard * gr_mesh_ranks(m) + e->opt.rank;
  if (axis < 0) return;
  for (int a = m->n_axes; a--; place /= m->axis[a].size)
    e->coord[a] = interleaved ? place % m->axis[a].size : gr_mesh_coord(m, e->opt.rank, a);
  if (!interleaved) e->coord[axis] = shard;
}

gr_status gr_exec_open(const gr_plan *plan, const gr_exec_options *opt, gr_exec **out) {
  *out = NULL;
  gr_exec *e = calloc(1, sizeof *e);
  if (!e) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory to run a plan");
  *e = (gr_exec){.plan = plan,
                 .open_body = gr_exec_frame_open,
                 .run_body = gr_exec_frame_run,
                 .opt = *opt,
                 .arena = gr_arena_create()};
  gr_status s = open_all(e);
  *out = s ? NULL : e;
  if (s) gr_exec_close(e);
  return s;
}

void gr_exec_close(gr_exec *e) {
  if (!e) return;
  gr_exec_search_end(e);
  if (e->device && e->device->ops->forget) e->device->ops->forget(e->device);
  for (int a = 0; a < GR_MAX_MESH; a++)
    for (gr_queue q = 0; q < GR_QUEUE_COUNT; q++)
      if (e->opened[q][a]) e->comm[q][a]->ops->close(e->comm[q][a]);
  for (int i = 0; e->device && i < BLOCKS; i++)
    if (e->block[i].address) e->device->ops->free(e->device, &e->block[i]);
  if (e->device) e->device->ops->close(e->device);
  gr_arena_destroy(e->arena);
  free(e);
}

// ---- Running -------------------------------------------------------------------------------

typedef struct issuing {
  gr_exec *e;
  gr_exec_program *p;
} issuing;

static gr_status issue(void *arg) {
  const issuing *i = arg;
  gr_device *d = i->e->device;
  GR_TRY(gr_exec_frame_run(i->e, &i->p->frame));
  for (uint32_t k = 0; k < i->p->n_next; k++)
    GR_TRY(d->ops->copy(d, i->p->next[k].to, i->p->next[k].source, i->p->next[k].bytes));
  return GR_OK;
}

// Not within what is recorded: an upload waits for these copies alone, not for the program.
static gr_status take_ahead(gr_exec *e, const gr_exec_program *p) {
  gr_device *d = e->device;
  if (!gr_exec_is_ahead(e, e->plan->programs + (p - e->programs))) return GR_OK;
  GR_TRY(d->ops->record(d, GR_QUEUE_AHEAD, GR_EVENT_AHEAD));
  GR_TRY(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_AHEAD));
  for (const gr_exec_copy *c = e->ahead; c < e->ahead + e->n_ahead; c++)
    GR_TRY(d->ops->copy(d, c->to, c->source, c->bytes));
  e->ahead_of = e->n_ahead = 0, e->taken = true;
  return d->ops->record(d, GR_QUEUE_COMPUTE, GR_EVENT_TAKEN);
}

static gr_status run(gr_exec *e, gr_exec_program *p) {
  gr_device *d = e->device;
  issuing all = {e, p};
  if (e->transferred) {
    GR_TRY(d->ops->record(d, GR_QUEUE_TRANSFER, GR_EVENT_TRANSFERRED));
    GR_TRY(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED));
    e->transferred = false;
  }
  GR_TRY(take_ahead(e, p));
  if (e->search) GR_TRY(d->ops->synchronise(d, GR_QUEUE_COMPUTE));  // it downloads inputs first
  gr_exec_times_choose(e, p->frame.g);
  bool direct = !d->ops->run || e->search || (e->waits && !e->timed);
  GR_TRY(direct ? issue(&all) : d->ops->run(d, p->frame.g, issue, &all));
  e->computed = true;
  GR_TRY(d->ops->record(d, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  return gr_exec_times_taken(e);
}

// In a trace. Where the device measures, the host only enqueues the program.
static void put_span(gr_exec *e, const gr_program *p, double began) {
  gr_trace_add(e->trace, e->waits ? GR_TRACE_COMPUTE : GR_TRACE_STEPS, p->name, NULL, NULL, began);
}

gr_status gr_exec_run(gr_exec *e, const gr_program *p) {
  double began = e->trace ? gr_trace_now() : 0;
  bool marks = e->device->limits.marks;
  if (marks) e->device->ops->mark(e->device, p->name);
  gr_status s = run(e, &e->programs[p - e->plan->programs]);
  if (marks) e->device->ops->mark(e->device, NULL);
  if (!s && e->trace) put_span(e, p, began);
  if (!s) return GR_OK;
  for (int a = 0; a < e->plan->mesh.n_axes; a++)  // the other ranks would wait for this rank
    for (gr_queue q = 0; q < GR_QUEUE_COUNT; q++)
      if (e->comm[q][a] && (!q || e->opened[q][a]))
        e->comm[q][a]->ops->abort(e->comm[q][a], gr_status_text(s));
  return gr_note(s, GR_NOWHERE, "in program '%s'", p->name);
}

// ---- Queries ---------------------------------------------------------------------------------

const gr_device *gr_exec_device(const gr_exec *e) { return e->device; }

double gr_exec_waited(const gr_exec *e) { return gr_exec_times_moves(e) ? e->waited : -1; }

size_t gr_exec_bytes(const gr_exec *e) { return gr_plan_bytes(e->plan); }

size_t gr_exec_shared_bytes(const gr_exec *e) {
  return (e->block[1].shared ? e->plan->state_bytes : 0) +
         (e->block[0].shared ? e->plan->arena_bytes : 0);
}
