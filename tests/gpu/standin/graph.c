// graph.c - the stand-in driver: capture and graphs.
#define _GNU_SOURCE
#include "tests/gpu/standin/driver.h"

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *m) {
  CUstreamCaptureMode old = thread_mode;
  return thread_mode = *m, *m = old, CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream h, CUstreamCaptureMode mode) {
  API;
  NEED_CTX(d);
  STREAM_OF(h, s);
  if (s == &d->legacy)
    FAIL(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the default stream cannot be captured");
  if (s->capture) return CUDA_ERROR_ILLEGAL_STATE;
  CUgraph g = calloc(1, sizeof *g);
  *g = (struct CUgraph_st){.magic = GRAPH,
                           .refs = 1,
                           .capturing = 1,
                           .mode = mode,
                           .owner = pthread_self(),
                           .origin = s};
  captures = realloc(captures, (size_t)(ncaptures + 1) * sizeof *captures);
  captures[ncaptures++] = g;
  graphs = realloc(graphs, (size_t)(ngraphs + 1) * sizeof *graphs);
  graphs[ngraphs++] = g;
  return s->nfront = 0, s->capture = g, CUDA_SUCCESS;
}
static int reaches(op *source, op *target) {
  if (source == target) return 1;
  for (int i = 0; i < source->ndeps; i++)
    if (source->deps[i]->index >= target->index && reaches(source->deps[i], target)) return 1;
  return 0;
}
CUresult cuStreamEndCapture(CUstream s, CUgraph *out_g) {
  API;
  NEED(s, STREAM);
  CUgraph g = s->capture;
  if (!g) return CUDA_ERROR_ILLEGAL_STATE;
  if (g->origin != s)
    FAIL(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture ended on a stream which did not begin it");
  if (si_fails("cuStreamEndCapture")) g->invalid = 1;
  CUresult e = g->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  for (int i = 0; i < nstreams; i++) {
    CUstream t = streams[i];
    if (t->capture != g) continue;
    for (int j = 0; j < t->nfront && !e && t != s; j++) {
      int joined = 0;
      for (int k = 0; k < s->nfront; k++) joined |= reaches(s->front[k], t->front[j]);
      if (!joined)
        e = CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
        standin_say("capture: a stream was forked but not joined (last: %s)", t->front[j]->name);
    }
    t->capture = NULL;
    if (t != s) t->nfront = 0;
  }
  s->nfront = 0, g->capturing = 0;
  for (int i = 0; i < ncaptures; i++)
    if (captures[i] == g) captures[i] = captures[--ncaptures];
  if (e) si_drop_graph(g);
  return *out_g = e ? NULL : g, e;
}
CUresult cuStreamIsCapturing(CUstream h, CUstreamCaptureStatus *st) {
  CUgraph g = h && h != CU_STREAM_LEGACY ? h->capture : NULL;
  return *st = !g           ? CU_STREAM_CAPTURE_STATUS_NONE
               : g->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                            : CU_STREAM_CAPTURE_STATUS_ACTIVE,
         CUDA_SUCCESS;
}
CUresult cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *n) {
  MAY_FAIL;
  NEED(g, GRAPH);
  for (size_t i = 0; nodes && i < *n && i < (size_t)g->n; i++) nodes[i] = g->node[i];
  return *n = (size_t)g->n, CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec *x, CUgraph g, unsigned long long flags) {
  API;
  NEED(g, GRAPH);
  (void)flags;
  MAY_FAIL;
  if (si_fails("cuGraphInstantiate")) return *x = NULL, CUDA_ERROR_OUT_OF_MEMORY;
  if (g->body) FAIL(CUDA_ERROR_INVALID_VALUE, "the body of a conditional node is instantiated");
  for (int i = 0; i < g->n && g->instances; i++)
    if (g->node[i]->kind == LOOP)
      FAIL(CUDA_ERROR_NOT_SUPPORTED, "a graph with conditional nodes is instantiated twice");
  g->refs++, g->instances++;
  si_tell_cloned(g);
  *x = calloc(1, sizeof **x);
  **x = (struct CUgraphExec_st){EXEC, g, NULL};
  g->origin->dev->used += (size_t)g->n * NODE_BYTES;
  return g->origin->dev->nexecs++, CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec x, CUstream s) {
  MAY_FAIL;
  NEED(x, EXEC);
  return (void)s, CUDA_SUCCESS;
}
static int begin(void *graph) {
  si_begin_loops(*(CUgraph *)graph);
  return 1;
}
CUresult cuGraphLaunch(CUgraphExec x, CUstream h) {
  API;
  NEED_CTX(d);
  NEED(x, EXEC);
  STREAM_OF(h, s);
  if (s->capture) FAIL(CUDA_ERROR_NOT_SUPPORTED, "a graph inside a graph is not stood in for");
  op *head = si_new_op(EXTERN, d, "graph begins"), *tail = si_new_op(MARK, d, "graph ends");
  int n = x->graph->n;
  head->hidden = 1, head->poll = begin, head->data = malloc(sizeof x->graph),
  head->bytes = sizeof x->graph;
  memcpy(head->data, &x->graph, sizeof x->graph);
  op **copy_of = calloc((size_t)n + 1, sizeof *copy_of);
  si_depend(head, x->last), si_drop(x->last), x->last = si_hold(tail);
  si_place(s, head);
  for (int i = 0; i < n; i++) {
    op *source = x->graph->node[i], *o = copy_of[i] = si_copy_op(source);
    o->ready = head->ready;  // all are there at once, however long this takes
    si_depend(o, head);
    for (int j = 0; j < source->ndeps; j++) si_depend(o, copy_of[source->deps[j]->index]);
    si_place(NULL, o);
    si_depend(tail, o);
  }
  si_hold(head);
  int was_eager = eager, plainly = plain;
  eager = 0, plain = 0;  // nothing may run before all of it is there
  CUresult e = si_enqueue(s, head);
  for (int i = 0; i < n; i++) si_add(&pool, &npool, copy_of[i]);
  si_enqueue(s, tail);
  eager = was_eager, plain = plainly;
  si_some(d, eager);
  si_drop(head), free(copy_of);
  return e;
}
void si_drop_graph(CUgraph g) {
  if (!g || --g->refs) return;
  for (int i = 0; i < g->n; i++) si_drop(g->node[i]);
  for (int i = 0; i < ngraphs; i++)
    if (graphs[i] == g) graphs[i] = graphs[--ngraphs];
  free(g->node), g->n = 0, g->magic = DEAD;
}
int standin_pending(const void *chain) {
  API;
  int n = 0;
  for (int i = 0; i < npool; i++) n += pool[i]->chain == chain;
  return n;
}
int standin_captured(const void *chain) {
  API;
  int n = 0;
  for (int i = 0; i < ngraphs; i++)
    for (int k = 0; k < graphs[i]->n; k++) n += graphs[i]->node[k]->chain == chain;
  return n;
}
CUresult cuGraphDestroy(CUgraph g) {
  API;
  NEED(g, GRAPH);
  if (g->body) FAIL(CUDA_ERROR_INVALID_VALUE, "the body of a conditional node is destroyed");
  return si_drop_graph(g), CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec x) {
  NEED(x, EXEC);
  CUgraph g = x->graph;
  g->origin->dev->nexecs--, g->origin->dev->used -= (size_t)g->n * NODE_BYTES;
  si_drop(x->last), x->magic = DEAD;
  return cuGraphDestroy(g);
}
