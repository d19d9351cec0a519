// graph.c - programs as CUDA graphs. The first run of a program puts its work in line directly,
// which warms up what libraries do lazily; the second is captured; all later ones launch what was
// captured.
#include "base/log.h"
#include "runtime/device/cuda/parts.h"

// Short loops are unrolled, and each node of a graph takes memory of the driver and time to set up.
enum { MAX_NODES = 100000 };

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
  p->direct = c->launches - before > MAX_NODES;
  return GR_OK;
}

static gr_status instantiate(gr_cuda *c, gr_captured *p, CUgraph graph, CUgraphExec *out) {
  CU_TRY(cuGraphGetNodes(graph, NULL, &p->nodes));
  CU_TRY(cuGraphInstantiateWithFlags(out, graph, 0));
  CU_TRY(cuGraphUpload(*out, c->stream[GR_QUEUE_COMPUTE]));
  return gr_cuda_taken(c, GR_TAKER_PROGRAMS);
}

// *refused: the program has no error of its own, but the driver does not capture it.
static gr_status capture(gr_cuda *c, gr_captured *p, CUgraphExec *out, gr_status (*issue)(void *),
                         void *arg, bool *refused) {
  CUgraph graph = NULL;
  CUstream stream = c->stream[GR_QUEUE_COMPUTE];
  CU_TRY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  c->capturing = true;
  if (c->times.on) gr_cuda_times_capture(c);
  gr_status s = issue(arg);
  if (c->times.on) p->pieces = gr_cuda_times_captured(c);
  c->capturing = false;
  CUresult r = gr_cu.cuStreamEndCapture(stream, &graph);
  *refused = r || !s;
  if (!s && r) s = gr_driver_failed(r, "cuStreamEndCapture");
  s = s ? s : instantiate(c, p, graph, out);
  if (graph) gr_cu.cuGraphDestroy(graph);
  return gr_note(s, GR_NOWHERE, "while capturing a program");
}

// Captures a program, or else has it launched node by node from now on. Not with communicators, for
// all ranks have to capture their collectives, or none.
static gr_status open_exec(gr_cuda *c, gr_captured *p, CUgraphExec *out, gr_status (*issue)(void *),
                           void *arg) {
  bool refused = false;
  gr_status s = capture(c, p, out, issue, arg, &refused);
  if (!s || !refused || c->watch || c->times.on) return s;
  gr_log(GR_WARN, "a program is launched node by node, which is slower: %s", gr_status_text(s));
  gr_status_drop(s);
  p->direct = true, p->nodes = 0;
  if (*out) gr_cu.cuGraphExecDestroy(*out), *out = NULL;
  return GR_OK;
}

gr_status gr_cuda_run(gr_device *d, const gr_graph *g, gr_status (*issue)(void *), void *arg) {
  gr_cuda *c = gr_cuda_of(d);
  if (!c->graphs) return issue(arg);
  gr_captured *p = find(c, g);
  if (!p) return run_first(c, g, issue, arg);
  if (p->direct) return issue(arg);
  CUgraphExec *exec = c->times.on ? &p->timed : &p->exec;
  if (!*exec) GR_TRY(open_exec(c, p, exec, issue, arg));
  if (p->direct) return issue(arg);
  c->replays++;
  CU_TRY(cuGraphLaunch(*exec, c->stream[GR_QUEUE_COMPUTE]));
  if (c->times.on) gr_cuda_times_launched(c, p->pieces);
  return GR_OK;
}

gr_device_timed gr_cuda_timed(gr_device *d, const gr_graph *g) {
  gr_cuda *c = gr_cuda_of(d);
  const gr_captured *p = find(c, g);
  return !c->graphs || (p && p->direct) ? GR_TIMED_BY_HOST : p ? GR_TIMED : GR_TIMED_LATER;
}

void gr_captured_close(gr_cuda *c) {
  gr_captured_forget(c);
  for (gr_captured *p = c->captured; p; p = p->next)
    if (p->exec) gr_cu.cuGraphExecDestroy(p->exec), p->exec = NULL;
}

void gr_captured_report(const gr_cuda *c, gr_text *t) {
  int n = 0;
  size_t nodes = 0;
  for (const gr_captured *p = c->captured; p; p = p->next)
    if (p->nodes) n++, nodes += p->nodes;
  gr_text_printf(t, "; %d program%s captured, of %zu nodes in all, and launched %llu times", n,
                 gr_text_s(n), nodes, (unsigned long long)c->replays);
}
