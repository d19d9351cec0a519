// prove_ranks.c - proves that ranks that run a program do not deadlock.
//
// A rank runs a list of nodes without branches, so its collectives are those of the list, in that
// order, each over the communicator of one axis of the mesh. All ranks are simulated together: a
// collective completes when all ranks of its communicator have reached it, and they must agree on
// the op, dtype and counts. If all ranks reach the end, then no thread timing can cause a deadlock,
// since a rank's next action does not depend on timing.
//
// Ranks that run the same graph reach the same collectives, so if all ranks do (as with a plan,
// whose hash they compare), each communicator is complete at each collective for any number of
// ranks, and no simulation is needed: only slices depend on a rank's coordinates, and
// prove_layout.c checks them. Loops contain no collectives (verify.c), so the number of iterations
// does not matter.
#include "compiler/plan/prove.h"
#include "ops/comm/collective.h"
#include "ops/ops.h"

typedef struct event {  // a collective of one rank
  const gr_graph *g;
  const gr_node *node;
  int axis;
} event;

typedef struct rank_events {
  const event *items;
  uint32_t n;
} rank_events;

typedef struct comm_state {  // of one communicator
  int arrived, first;        // the number of ranks that wait in a collective, and the first of them
} comm_state;

typedef struct simulation {
  const gr_mesh *mesh;
  const rank_events **of;          // by rank
  uint32_t *next;                  // by rank: the index of its current event
  comm_state *comms[GR_MAX_MESH];  // by axis and first rank of the communicator
  int *ready;                      // ranks that have just reached their next event
  int n_ready;
} simulation;

// ---- Events of a rank -------------------------------------------------------------------------

static gr_status list_events(gr_arena *arena, const gr_mesh *mesh, const gr_graph *g,
                             rank_events *out) {
  event *events = GR_NEW(arena, event, g->n_nodes + 1);
  *out = (rank_events){events, 0};
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    if (!n->op->collective) continue;
    int64_t axis = ((const struct gr_coll *)n->attr)->mesh_axis;
    if (axis < 0 || axis >= mesh->n_axes)
      return gr_fail(GR_ERR_BUG, n->loc, "'%s' moves values over no axis of the mesh", n->op->name);
    events[out->n++] = (event){g, n, (int)axis};
  }
  return GR_OK;
}

static const event *event_of(const simulation *p, int rank) {
  const rank_events *e = p->of[rank];
  return p->next[rank] < e->n ? &e->items[p->next[rank]] : NULL;
}

// The type whose elements the kernel counts when it calls its communicator (collective.c).
static const gr_type *counted(const gr_graph *g, const gr_node *n, int k) {
  return &gr_at(g, n->op == &gr_op_reduce_scatter ? gr_out(n, k) : n->in[k])->type;
}

static int64_t count_of(const event *e) {
  int64_t count = 0;
  for (int k = 0; k < e->node->n_in; k++) count += gr_type_count(counted(e->g, e->node, k));
  return count;
}

// Whether the kernels of both make the same call to their communicators.
static bool is_same_call(const event *a, const event *b) {
  if (a->node->op != b->node->op || a->node->n_in != b->node->n_in) return false;
  for (int k = 0; k < a->node->n_in; k++) {
    const gr_type *x = counted(a->g, a->node, k), *y = counted(b->g, b->node, k);
    if (x->dtype != y->dtype || gr_type_count(x) != gr_type_count(y)) return false;
  }
  return true;
}

// ---- Errors -------------------------------------------------------------------------------------

static gr_status differs(const simulation *p, int rank, int other) {
  const event *a = event_of(p, rank), *b = event_of(p, other);
  const gr_type *s = counted(a->g, a->node, 0), *t = counted(b->g, b->node, 0);
  gr_status e = gr_fail(
      GR_ERR_BUG, a->node->loc,
      "rank %d is in '%s' of %lld numbers (%s, %d values), rank %d in '%s' of %lld (%s, %d values)",
      rank, a->node->op->name, (long long)count_of(a), gr_dtypes[s->dtype].name, a->node->n_in,
      other, b->node->op->name, (long long)count_of(b), gr_dtypes[t->dtype].name, b->node->n_in);
  return gr_note(e, b->node->loc, "where rank %d is", other);
}

// Reports the rank that `rank` waits for in its communicator.
static gr_status report_deadlock(const simulation *p, int rank) {
  const event *e = event_of(p, rank);
  gr_mesh_group group = gr_mesh_group_of(p->mesh, rank, e->axis);
  int other = group.first;
  while (event_of(p, other) && event_of(p, other)->axis == e->axis) other += group.stride;
  const event *its = event_of(p, other);
  const char *axis = p->mesh->axis[e->axis].name;
  if (!its)
    return gr_fail(GR_ERR_BUG, e->node->loc,
                   "rank %d waits in '%s' over mesh axis '%s' for rank %d, which has ended", rank,
                   e->node->op->name, axis, other);
  gr_status s = gr_fail(GR_ERR_BUG, e->node->loc,
                        "the ranks wait for each other: rank %d in '%s' over mesh axis '%s', rank "
                        "%d in '%s' over '%s'",
                        rank, e->node->op->name, axis, other, its->node->op->name,
                        p->mesh->axis[its->axis].name);
  return gr_note(s, its->node->loc, "where rank %d is", other);
}

// ---- Simulation ---------------------------------------------------------------------------------

static void advance(simulation *p, int rank) {
  p->next[rank]++;
  p->ready[p->n_ready++] = rank;
}

// A rank has reached its next event: if it is the last one, the collective completes.
static gr_status arrive(simulation *p, int rank) {
  const event *e = event_of(p, rank);
  if (!e) return GR_OK;
  gr_mesh_group group = gr_mesh_group_of(p->mesh, rank, e->axis);
  comm_state *m = &p->comms[e->axis][group.first];
  if (!m->arrived++) m->first = rank;
  if (!is_same_call(e, event_of(p, m->first))) return differs(p, rank, m->first);
  if (m->arrived < group.n) return GR_OK;
  m->arrived = 0;
  for (int i = 0; i < group.n; i++) advance(p, group.first + i * group.stride);
  return GR_OK;
}

static gr_status simulate(simulation *p) {
  int ranks = gr_mesh_ranks(p->mesh);
  for (int r = 0; r < ranks; r++) p->ready[p->n_ready++] = r;
  while (p->n_ready) GR_TRY(arrive(p, p->ready[--p->n_ready]));
  for (int r = 0; r < ranks; r++)
    if (event_of(p, r)) return report_deadlock(p, r);
  return GR_OK;
}

static simulation open_simulation(gr_arena *arena, const gr_mesh *mesh) {
  int ranks = gr_mesh_ranks(mesh);
  simulation p = {.mesh = mesh, .of = GR_NEW(arena, const rank_events *, ranks)};
  p.next = GR_NEW(arena, uint32_t, ranks);
  p.ready = GR_NEW(arena, int, ranks);
  for (int a = 0; a < mesh->n_axes; a++) p.comms[a] = GR_NEW(arena, comm_state, ranks);
  return p;
}

gr_status gr_prove_ranks(gr_arena *arena, const gr_mesh *mesh, const gr_graph *const *of, int n) {
  rank_events *events = GR_NEW(arena, rank_events, n);
  GR_TRY(list_events(arena, mesh, of[0], &events[0]));
  if (n == 1) return GR_OK;
  simulation p = open_simulation(arena, mesh);
  for (int r = 0; r < n; r++) {
    int same = 0;
    while (of[same] != of[r]) same++;
    if (same == r) GR_TRY(list_events(arena, mesh, of[r], &events[r]));
    p.of[r] = &events[same];
  }
  return simulate(&p);
}
