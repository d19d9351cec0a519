// graph.c - programs as CUDA graphs. The first run of a program puts its work in line directly,
// which warms up what libraries do lazily; the second is captured; all later ones launch what was
// captured.
#include "runtime/device/cuda/parts.h"

// Short loops are unrolled, and each node of a graph takes memory of the driver and time to set up.
enum { MOST_NODES = 100000 };

struct gr_captured {
  gr_captured *next;
  const gr_graph *g;
  CUgraphExec exec;  // NULL: not captured
  bool direct;       // it is too large, and will not be
  size_t nodes;
};

static gr_captured *find(gr_cuda *c, const gr_graph *g) {
  gr_captured *p = c->captured;
  while (p && p->g != g) p = p->next;
  return p;
}

static gr_status run_first(gr_cuda *c, const gr_graph *g, gr_status (*issue)(void *), void *arg) {
  gr_captured *p = GR_NEW(c->arena, gr_captured, 1);
  *p = (gr_captured){.next = c->captured, .g = g};
  c->captured = p;
  uint64_t before = c->launches;
  GR_TRY(issue(arg));
  p->direct = c->launches - before > MOST_NODES;
  return GR_OK;
}

static gr_status instantiate(gr_cuda *c, gr_captured *p, CUgraph graph) {
  CU_TRY(cuGraphGetNodes(graph, NULL, &p->nodes));
  CU_TRY(cuGraphInstantiateWithFlags(&p->exec, graph, 0));
  CU_TRY(cuGraphUpload(p->exec, c->stream[GR_QUEUE_COMPUTE]));
  return GR_OK;
}

static gr_status capture(gr_cuda *c, gr_captured *p, gr_status (*issue)(void *), void *arg) {
  CUgraph graph = NULL;
  CUstream stream = c->stream[GR_QUEUE_COMPUTE];
  CU_TRY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  c->capturing = true;
  gr_status s = issue(arg);
  c->capturing = false;
  CUresult r = gr_cu.cuStreamEndCapture(stream, &graph);
  if (!s && r) s = gr_driver_failed(r, "cuStreamEndCapture");
  s = s ? s : instantiate(c, p, graph);
  if (graph) gr_cu.cuGraphDestroy(graph);
  return gr_note(s, GR_NOWHERE, "while capturing a program");
}

gr_status gr_cuda_run(gr_device *d, const gr_graph *g, gr_status (*issue)(void *), void *arg) {
  gr_cuda *c = gr_cuda_of(d);
  if (!c->graphs) return issue(arg);
  gr_captured *p = find(c, g);
  if (!p) return run_first(c, g, issue, arg);
  if (p->direct) return issue(arg);
  if (!p->exec) GR_TRY(capture(c, p, issue, arg));
  c->replays++;
  CU_TRY(cuGraphLaunch(p->exec, c->stream[GR_QUEUE_COMPUTE]));
  return GR_OK;
}

void gr_captured_close(gr_cuda *c) {
  for (gr_captured *p = c->captured; p; p = p->next)
    if (p->exec) gr_cu.cuGraphExecDestroy(p->exec);
}

void gr_captured_report(const gr_cuda *c, gr_text *t) {
  int n = 0;
  size_t nodes = 0;
  for (const gr_captured *p = c->captured; p; p = p->next)
    if (p->exec) n++, nodes += p->nodes;
  gr_text_printf(t, "; %d program%s captured, of %zu nodes in all, and launched %llu times", n,
                 gr_text_s(n), nodes, (unsigned long long)c->replays);
}
