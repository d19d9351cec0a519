// loop.c - the stand-in driver: conditional nodes of graphs, of the kind WHILE.
#define _GNU_SOURCE
#include "tests/gpu/standin/driver.h"

enum { MAX_TURNS = 1 << 20 };  // of a loop: more are a condition that is never set to 0

static struct condition {
  CUgraph graph;
  unsigned value, first;
  int assigned, used, running;
} * conditions;
static int nconditions;

static struct condition *find(uint64_t loop) {
  return loop && loop <= (uint64_t)nconditions ? &conditions[loop - 1] : NULL;
}
int standin_condition(uint64_t loop, unsigned value) {
  struct condition *c = find(loop);
  if (!c || !c->running) return 0;
  return c->value = value, 1;
}

CUresult cuStreamGetCaptureInfo(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id,
                                CUgraph *g, const CUgraphNode **after,
                                const CUgraphEdgeData **edges, size_t *n) {
  API;
  NEED(s, STREAM);
  *status = s->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  if (id) *id = (cuuint64_t)(uintptr_t)s->capture;
  if (g) *g = s->capture;
  if (edges) *edges = NULL;
  if (after) *after = s->front;
  if (n) *n = (size_t)s->nfront;
  return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream s, CUgraphNode *nodes,
                                           const CUgraphEdgeData *edges, size_t n, unsigned flags) {
  API;
  NEED(s, STREAM);
  if (!s->capture) FAIL(CUDA_ERROR_ILLEGAL_STATE, "%s of a stream that is not captured", __func__);
  if (edges) FAIL(CUDA_ERROR_NOT_SUPPORTED, "data of edges is not stood in for");
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) s->nfront = 0;
  for (size_t i = 0; i < n; i++) si_add(&s->front, &s->nfront, nodes[i]);
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCaptureToGraph(CUstream h, CUgraph g, const CUgraphNode *after,
                                     const CUgraphEdgeData *edges, size_t n,
                                     CUstreamCaptureMode mode) {
  API;
  NEED_CTX(d);
  NEED(g, GRAPH);
  STREAM_OF(h, s);
  (void)after;
  if (edges || n) FAIL(CUDA_ERROR_NOT_SUPPORTED, "a capture behind nodes is not stood in for");
  if (s == &d->legacy)
    FAIL(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the default stream cannot be captured");
  if (s->capture || g->capturing) return CUDA_ERROR_ILLEGAL_STATE;
  g->capturing = 1, g->mode = mode, g->owner = pthread_self(), g->origin = s;
  captures = realloc(captures, (size_t)(ncaptures + 1) * sizeof *captures);
  captures[ncaptures++] = g;
  return s->nfront = 0, s->capture = g, CUDA_SUCCESS;
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph g, CUcontext ctx,
                                        unsigned first, unsigned flags) {
  API;
  NEED_CTX(d);
  NEED(g, GRAPH);
  if (ctx && ctx != &d->ctx) FAIL(CUDA_ERROR_INVALID_CONTEXT, "a condition of another context");
  conditions = realloc(conditions, (size_t)(nconditions + 1) * sizeof *conditions);
  conditions[nconditions] = (struct condition){
      .graph = g, .first = first, .assigned = flags == CU_GRAPH_COND_ASSIGN_DEFAULT};
  return *handle = (CUgraphConditionalHandle)++nconditions, CUDA_SUCCESS;
}

CUresult cuGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *after,
                        const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *p) {
  API;
  NEED_CTX(d);
  NEED(g, GRAPH);
  if (p->type != CU_GRAPH_NODE_TYPE_CONDITIONAL ||
      p->conditional.type != CU_GRAPH_COND_TYPE_WHILE || p->conditional.size != 1 || edges)
    FAIL(CUDA_ERROR_NOT_SUPPORTED, "only WHILE nodes are stood in for");
  struct condition *c = find(p->conditional.handle);
  if (!c || c->graph != g || c->used || (p->conditional.ctx && p->conditional.ctx != &d->ctx))
    FAIL(CUDA_ERROR_INVALID_VALUE, "the handle is of another graph or node");
  op *o = si_new_op(LOOP, d, "conditional node");
  o->loop = p->conditional.handle, c->used = 1;
  for (size_t i = 0; i < n; i++) si_add(&o->deps, &o->ndeps, si_hold(after[i]));
  o->body = calloc(1, sizeof *o->body);
  *o->body = (struct CUgraph_st){.magic = GRAPH, .refs = 1, .body = 1};
  p->conditional.phGraph_out = &o->body;
  o->index = g->n;
  si_add(&g->node, &g->n, o);
  si_tell_created(g, o);
  return *out = o, CUDA_SUCCESS;
}

void si_begin_loops(CUgraph g) {
  for (int i = 0; i < g->n; i++)
    if (g->node[i]->kind == LOOP) {
      struct condition *c = find(g->node[i]->loop);
      if (c->assigned) c->value = c->first;
    }
}

// The nodes of a graph in an order drawn from the seed, one after the other from a time; returns
// that of the end.
static int64_t run_once(CUgraph g, struct device *d, int64_t now) {
  char *done = calloc((size_t)g->n + 1, 1);
  for (int left = g->n; left;) {
    op *best = NULL;
    unsigned seen = 0;
    for (int i = 0; i < g->n; i++) {
      int ready = !done[i];
      for (int k = 0; k < g->node[i]->ndeps && ready; k++) ready = done[g->node[i]->deps[k]->index];
      if (ready && standin_random(&d->rng, seen + 1) == seen) best = g->node[i];
      seen += (unsigned)ready;
    }
    best->ready = now;
    int r = si_do_op(best);
    if (r < 1)
      standin_die(r ? -r : CUDA_ERROR_UNKNOWN, "%s in the body of a conditional node", best->name);
    done[best->index] = 1, left--;
    int64_t start = now;
    best->time = now = best->kind == LOOP ? best->time : now + si_lasts(best);
    si_tell_done(best, start);
  }
  free(done);
  return now;
}

void si_run_loop(op *o) {
  int turns = 0;
  find(o->loop)->running = 1;
  o->time = si_begins(o);
  while (find(o->loop)->value) {
    if (++turns > MAX_TURNS)
      standin_die(CUDA_ERROR_LAUNCH_TIMEOUT, "a conditional node does not end");
    si_begin_loops(o->body);
    o->time = run_once(o->body, o->dev, o->time);
  }
  find(o->loop)->running = 0;
}
