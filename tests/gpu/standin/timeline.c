// timeline.c - the stand-in driver: the device's clock, on which work of streams that do not wait
// for each other overlaps, although it runs one piece after the other here; and its observer.
// How long work lasts follows from its size alone, and is in whole nanoseconds: seconds as a double
// would lose or gain one, by how long the machine has been up.
#define _GNU_SOURCE
#include "tests/gpu/standin/driver.h"

static const standin_observer *observer;
static uint64_t numbers;

void standin_observe(const standin_observer *o) {
  API;
  observer = o;
}
uint64_t standin_node_id(void *node) { return ((op *)node)->id; }

void si_after(op *o, const op *on) {
  if (on && on->time > o->ready) o->ready = on->time;
}
int64_t si_begins(const op *o) {
  int64_t begins = o->ready;
  for (int i = 0; i < o->ndeps; i++)
    if (o->deps[i]->time > begins) begins = o->deps[i]->time;
  return begins;
}

int64_t si_lasts(const op *o) {
  const unsigned *g = o->launch.grid;
  switch (o->kind) {
    case COPY:
    case SET:
      return 1000 + (int64_t)si_bytes(o);
    case KERNEL:
      return 2000 + (int64_t)1000 * g[0] * g[1] * g[2];
    case EXTERN:
      return o->hidden ? 0 : o->lasts;
    default:
      return 0;
  }
}

static int type_of(const op *o) {
  return o->kind == COPY   ? CU_GRAPH_NODE_TYPE_MEMCPY
         : o->kind == SET  ? CU_GRAPH_NODE_TYPE_MEMSET
         : o->kind == HOST ? CU_GRAPH_NODE_TYPE_HOST
         : o->kind == LOOP ? CU_GRAPH_NODE_TYPE_CONDITIONAL
                           : CU_GRAPH_NODE_TYPE_KERNEL;
}

// Numbers have gaps, and are no addresses.
void si_tell_created(CUgraph g, op *node) {
  node->id = ++numbers * 3;
  if (observer) observer->created(g, node, type_of(node));
}
void si_tell_cloned(CUgraph g) {
  for (int i = 0; i < g->n; i++) {
    struct CUgraphNode_st clone = {.id = g->node[i]->clone = ++numbers * 3};
    int type = type_of(g->node[i]);
    if (observer) observer->created(&clone, &clone, type);  // as of any node, of a graph of its own
    if (observer) observer->cloned(g, g->node[i], &clone, type);
    if (g->node[i]->body) si_tell_cloned(g->node[i]->body);
  }
}

void si_tell_done(const op *o, int64_t start) {
  if (!observer || o->dev->error || o->hidden || o->kind == MARK || o->kind == HOST ||
      o->kind == LOOP)
    return;
  const block *to = o->kind == COPY ? si_find(o->dst) : NULL;
  const block *source = o->kind == COPY ? si_find(o->src) : NULL;
  char kind = o->kind == SET                              ? 's'
              : o->kind != COPY                           ? 'k'
              : to && to->dev && !(source && source->dev) ? 'u'
              : to && to->dev                             ? 'c'
                                                          : 'd';
  observer->done(&(standin_work){.kind = kind,
                                 .node = o->clone,
                                 .device = (unsigned)o->dev->ordinal,
                                 .start = start,
                                 .end = o->time,
                                 .bytes = si_bytes(o),
                                 .name = o->name});
}
