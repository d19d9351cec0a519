// predict.c - how long nodes would take on a GPU: counted from the plan, without one.
//
// The model is a roofline (Williams, Waterman, Patterson, 2009): a launch takes the longer of
// moving its operands and results and of its arithmetic, and every launch of a captured graph
// starts after the one before it. It says what to expect of a chip and what limits a program; it
// knows neither caches nor how well an algorithm does.
#include <math.h>
#include <string.h>
#include "compiler/report/parts.h"
#include "ops/kernels/fused.h"
#include "ops/kernels/gpu_join.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

// Seconds, all of them estimates, to be replaced by measurements: from the end of a kernel of a
// captured graph to the start of one that waits for it; for all blocks of a kernel to wait for each
// other.
static const double launch_gap = 1.5e-6, barrier_gap = 1.2e-6;
// From the threads of one block waiting for each other to their doing so again: a few reads of
// shared memory, one after the other, and little arithmetic, some 280 clocks.
static const double wait_gap = 0.2e-6;
// Bytes a second that a block reads from its shared memory: 128 a clock, at the slowest of the
// chips' rates, 1.4 GHz. It is what the products of a loop's kernel wait for.
static const double shared_rate = 128 * 1.4e9;

// What a call is on a GPU, as far as predictions go.
typedef struct described {
  int launches;
  double bytes;                   // read and written
  double barriers, waits, reads;  // of kernels whose blocks, or threads, wait for each other
  bool product;                   // a vendor's library computes it
} described;

// product: a vendor's library computes it; kernels of our own have no tensor cores.
static double rate_of(const gr_chip *c, const gr_op_call *call, bool product, bool tf32) {
  gr_dtype d = call->n_in ? call->in[0].dtype : call->out[0].dtype;
  if (d == GR_F64) return c->f64;
  if (product && gr_is_narrow(d)) return c->narrow;
  return product && tf32 && d == GR_F32 ? c->tf32 : c->f32;
}

static void note_missing(gr_program_figures *p, const char *op) {
  for (int i = 0; i < p->n_missing; i++)
    if (!strcmp(p->missing[i], op)) return;
  if (p->n_missing < 8) p->missing[p->n_missing++] = op;
}

// Whether a launch copies an operand to where it is, which is none.
static bool is_in_place(const gr_plan_frame *f, const gr_node *n, const gr_gpu_launch *l) {
  if (l->kind != GR_GPU_COPY || l->copy.source.space != GR_GPU_IN) return false;
  uint32_t source = n->in[l->copy.source.index].id, target = gr_out(n, l->copy.target.index).id;
  return gr_plan_is_copied_in_place(f, source, l->copy.source.offset, target,
                                    l->copy.target.offset);
}

// A mask of a library's attention is written, and read.
static double bytes_of(const gr_op_call *call, const gr_gpu_call *g) {
  size_t bytes = gr_types_bytes(call->in, call->n_in) + gr_types_bytes(call->out, call->n_out);
  for (int i = 0; i < g->n; i++) {
    const gr_gpu_attention *a = &g->launch[i].attention;
    if (g->launch[i].kind == GR_GPU_ATTENTION)
      bytes += 2 * (size_t)gr_gpu_mask_bytes(a, a->n, a->heads);
  }
  return (double)bytes;
}

// Describes a call; false: it has no kernel, or is a loop that runs node by node.
// f: the frame that node n is in, or NULL: nothing is known of its memory.
static bool describe(gr_arena *arena, const gr_op_call *call, const gr_plan_frame *f,
                     const gr_node *n, described *out) {
  gr_gpu_launch launch[GR_GPU_LAUNCHES];
  gr_gpu_call g = {.call = call, .arena = arena, .launch = launch, .layers = true};
  gr_status s = gr_gpu_describe(&g);
  if (s) g.n = 0;
  *out = (described){.launches = s ? 1 : g.n, .bytes = bytes_of(call, &g)};
  for (int i = 0; i < g.n; i++) {
    bool kernel = launch[i].kind == GR_GPU_KERNEL;
    if (kernel) out->barriers += (double)launch[i].kernel.barriers;
    if (kernel) out->waits += (double)launch[i].kernel.waits;
    if (kernel) out->reads += (double)launch[i].kernel.reads;
    out->product |= launch[i].kind != GR_GPU_KERNEL && launch[i].kind != GR_GPU_COPY;
    out->launches -= f && is_in_place(f, n, &launch[i]);
  }
  gr_status_drop(s);
  return !s;
}

// Adds what the parts of a fused node would be by themselves.
static void add_parts(gr_tally *w, const gr_graph *body, double runs) {
  gr_op_call call;
  described d;
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    gr_op_call_of(body, &body->nodes[i], &call);
    describe(w->arena, &call, NULL, NULL, &d);
    w->out->apart_launches += runs * d.launches, w->out->apart_bytes += runs * d.bytes;
  }
}

static void add_seconds(gr_tally *w, const gr_op_call *call, const described *d, double runs) {
  double flops = (double)gr_op_flops(call);
  for (int i = 0; i < w->n_targets; i++) {
    const gr_chip *chip = w->targets[i].chip;
    double moving = fmax((d->bytes - 2 * w->linked) / chip->bandwidth, w->linked / chip->host);
    double computing = flops / rate_of(chip, call, d->product, w->tf32);
    w->seconds[i] +=
        runs * (launch_gap * d->launches + barrier_gap * d->barriers + wait_gap * d->waits +
                fmax(fmax(moving, computing), d->reads / shared_rate));
  }
}

void gr_predict_gpu(gr_tally *w, const gr_plan_frame *f, const gr_graph *g, const gr_node *n,
                    double runs) {
  gr_op_call call;
  described d;
  gr_program_figures *p = w->out;
  gr_op_call_of(g, n, &call);
  const gr_scan *loop = n->op == &gr_op_scan ? n->attr : NULL;
  bool there = describe(w->arena, &call, f, n, &d);
  if (loop && !there) {
    for (uint32_t i = 0; i < loop->body->n_nodes; i++)
      gr_predict_gpu(w, f ? f->body[n - g->nodes] : NULL, loop->body, &loop->body->nodes[i],
                     runs * (double)loop->steps);
    return;
  }
  if (!there) note_missing(p, n->op->name);
  if (!d.launches) return;
  if (n->op == &gr_op_fused)
    add_parts(w, ((const gr_fused *)n->attr)->body, runs);
  else
    p->apart_launches += runs * d.launches, p->apart_bytes += runs * d.bytes;
  p->launches += runs * d.launches, p->barriers += runs * d.barriers, p->bytes += runs * d.bytes;
  add_seconds(w, &call, &d, runs);
}

// Launches that are saved because n nodes from node `first` on are launched together.
static int saved_by_group(const gr_graph *g, uint32_t first, uint32_t n) {
  gr_arena *work = gr_arena_create();
  gr_op_call *calls = GR_NEW(work, gr_op_call, n);
  gr_gpu_call *all_calls;
  gr_gpu_joined *joined;
  int all = 0, left = 0;
  for (uint32_t i = 0; i < n; i++) gr_op_call_of(g, &g->nodes[first + i], &calls[i]);
  gr_status s = gr_gpu_describe_all(work, calls, NULL, 0, (int)n, &all_calls);
  for (uint32_t i = 0; i < n && !s; i++) all += all_calls[i].n;
  if (!s) left = gr_gpu_join(work, all_calls, (int)n, &joined);
  gr_status_drop(s);
  gr_arena_destroy(work);
  return all - left;
}

void gr_predict_group(gr_tally *w, const gr_graph *g, uint32_t first, uint32_t n) {
  int saved = saved_by_group(g, first, n);
  w->out->launches -= saved;
  for (int i = 0; i < w->n_targets; i++) w->seconds[i] -= launch_gap * saved;
}
