// prove_ranks.c - ranks that run a program do not deadlock.
//
// What a rank runs is a list of nodes without branches, so its collectives are those of the list,
// in that order, each over the communicator of one axis of the mesh. All ranks are played against
// each other: a collective happens when all ranks of its communicator have come to it, and they
// must have come with the same op, dtype and counts. If all ranks come to the end then no order
// of their threads can do otherwise, since what a rank does next does not depend on the order.
//
// Ranks that run one and the same graph are at the same node at all times, so where that is all
// ranks (as in a plan, whose hash they compare) each communicator is complete at each collective,
// whatever the number of ranks, and nothing is left to play: what a rank's coordinates change,
// its slices, is compared in prove_layout.c. Loops hold no collectives (verify.c), so how often a
// rank runs a body is of no account here.
#include "compiler/plan/prove.h"
#include "ops/comm/collective.h"
#include "ops/ops.h"

typedef struct event {  // a collective of one rank
  const gr_graph *g;
  const gr_node *node;
  int axis;
} event;

typedef struct rank_events {
  const event *at;
  uint32_t n;
} rank_events;

typedef struct meeting {  // of the ranks of one communicator
  int arrived, first;     // how many wait there, and which came first
} meeting;

typedef struct play {
  const gr_mesh *mesh;
  const rank_events **of;          // by rank
  uint32_t *next;                  // by rank: the event that it has come to
  meeting *meetings[GR_MAX_MESH];  // by axis, and the first rank of the communicator
  int *moving;                     // ranks that have just come to their next event
  int n_moving;
} play;

// ---- What a rank runs -------------------------------------------------------------------------

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

static const event *event_of(const play *p, int rank) {
  const rank_events *e = p->of[rank];
  return p->next[rank] < e->n ? &e->at[p->next[rank]] : NULL;
}

// Whose numbers the kernel counts when it calls its communicator (collective.c).
static const gr_type *counted(const gr_graph *g, const gr_node *n, int k) {
  return &gr_at(g, n->op == &gr_op_reduce_scatter ? gr_out(n, k) : n->in[k])->type;
}

static int64_t count_of(const event *e) {
  int64_t count = 0;
  for (int k = 0; k < e->node->n_in; k++) count += gr_type_count(counted(e->g, e->node, k));
  return count;
}

// The kernels of both call their communicators alike.
static bool is_same_call(const event *a, const event *b) {
  if (a->node->op != b->node->op || a->node->n_in != b->node->n_in) return false;
  for (int k = 0; k < a->node->n_in; k++) {
    const gr_type *x = counted(a->g, a->node, k), *y = counted(b->g, b->node, k);
    if (x->dtype != y->dtype || gr_type_count(x) != gr_type_count(y)) return false;
  }
  return true;
}

// ---- Errors -------------------------------------------------------------------------------------

static gr_status differs(const play *p, int rank, int other) {
  const event *a = event_of(p, rank), *b = event_of(p, other);
  const gr_type *s = counted(a->g, a->node, 0), *t = counted(b->g, b->node, 0);
  gr_status e = gr_fail(
      GR_ERR_BUG, a->node->loc,
      "rank %d is in '%s' of %lld numbers (%s, %d values), rank %d in '%s' of %lld (%s, %d values)",
      rank, a->node->op->name, (long long)count_of(a), gr_dtypes[s->dtype].name, a->node->n_in,
      other, b->node->op->name, (long long)count_of(b), gr_dtypes[t->dtype].name, b->node->n_in);
  return gr_note(e, b->node->loc, "where rank %d is", other);
}

// Some rank of the communicator that `rank` waits in is not there.
static gr_status waits_for_ever(const play *p, int rank) {
  const event *e = event_of(p, rank);
  gr_mesh_group group = gr_mesh_group_of(p->mesh, rank, e->axis);
  int other = group.first;
  while (event_of(p, other) && event_of(p, other)->axis == e->axis) other += group.stride;
  const event *its = event_of(p, other);
  const char *axis = p->mesh->axis[e->axis].name;
  if (!its)
    return gr_fail(GR_ERR_BUG, e->node->loc,
                   "rank %d waits in '%s' over mesh axis '%s' for rank %d, which is done", rank,
                   e->node->op->name, axis, other);
  gr_status s = gr_fail(GR_ERR_BUG, e->node->loc,
                        "the ranks wait for each other: rank %d in '%s' over mesh axis '%s', rank "
                        "%d in '%s' over '%s'",
                        rank, e->node->op->name, axis, other, its->node->op->name,
                        p->mesh->axis[its->axis].name);
  return gr_note(s, its->node->loc, "where rank %d is", other);
}

// ---- The play -----------------------------------------------------------------------------------

static void go_on(play *p, int rank) {
  p->next[rank]++;
  p->moving[p->n_moving++] = rank;
}

// Rank has come to its next event: if it is the last to come, all go on.
static gr_status arrive(play *p, int rank) {
  const event *e = event_of(p, rank);
  if (!e) return GR_OK;
  gr_mesh_group group = gr_mesh_group_of(p->mesh, rank, e->axis);
  meeting *m = &p->meetings[e->axis][group.first];
  if (!m->arrived++) m->first = rank;
  if (!is_same_call(e, event_of(p, m->first))) return differs(p, rank, m->first);
  if (m->arrived < group.n) return GR_OK;
  m->arrived = 0;
  for (int i = 0; i < group.n; i++) go_on(p, group.first + i * group.stride);
  return GR_OK;
}

static gr_status play_all(play *p) {
  int ranks = gr_mesh_ranks(p->mesh);
  for (int r = 0; r < ranks; r++) p->moving[p->n_moving++] = r;
  while (p->n_moving) GR_TRY(arrive(p, p->moving[--p->n_moving]));
  for (int r = 0; r < ranks; r++)
    if (event_of(p, r)) return waits_for_ever(p, r);
  return GR_OK;
}

static play open_play(gr_arena *arena, const gr_mesh *mesh) {
  int ranks = gr_mesh_ranks(mesh);
  play p = {.mesh = mesh, .of = GR_NEW(arena, const rank_events *, ranks)};
  p.next = GR_NEW(arena, uint32_t, ranks);
  p.moving = GR_NEW(arena, int, ranks);
  for (int a = 0; a < mesh->n_axes; a++) p.meetings[a] = GR_NEW(arena, meeting, ranks);
  return p;
}

gr_status gr_prove_ranks(gr_arena *arena, const gr_mesh *mesh, const gr_graph *const *of, int n) {
  rank_events *events = GR_NEW(arena, rank_events, n);
  GR_TRY(list_events(arena, mesh, of[0], &events[0]));
  if (n == 1) return GR_OK;
  play p = open_play(arena, mesh);
  for (int r = 0; r < n; r++) {
    int same = 0;
    while (of[same] != of[r]) same++;
    if (same == r) GR_TRY(list_events(arena, mesh, of[r], &events[r]));
    p.of[r] = &events[same];
  }
  return play_all(&p);
}
