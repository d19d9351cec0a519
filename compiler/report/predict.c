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
typedef struct gr_described {
  bool there;  // else it has no kernel, or is a loop that runs node by node
  int launches;
  double bytes;                   // read and written
  double barriers, waits, reads;  // of kernels whose blocks, or threads, wait for each other
  bool product;                   // a vendor's library computes it
  int n_copies;
  gr_gpu_copy copies[GR_GPU_LAUNCHES];  // those of its launches
} described;

// product: a vendor's library computes it; kernels of our own have no tensor cores.
static double rate_of(const gr_chip *c, const gr_graph *g, const gr_node *n, bool product,
                      bool tf32) {
  gr_dtype d = gr_at(g, n->n_in ? n->in[0] : gr_out(n, 0))->type.dtype;
  if (d == GR_F64) return c->f64;
  if (product && gr_is_narrow(d)) return c->narrow;
  return product && tf32 && d == GR_F32 ? c->tf32 : c->f32;
}

static void note_missing(gr_program_figures *p, const char *op) {
  for (int i = 0; i < p->n_missing; i++)
    if (!strcmp(p->missing[i], op)) return;
  if (p->n_missing < 8) p->missing[p->n_missing++] = op;
}

// Launches that copy an operand to where it is, which are none. f: the frame that node n is in, or
// NULL: nothing is known of its memory.
static int count_in_place(const gr_plan_frame *f, const gr_node *n, const described *d) {
  int count = 0;
  for (int i = 0; f && i < d->n_copies; i++) {
    const gr_gpu_copy *c = &d->copies[i];
    if (c->source.space != GR_GPU_IN) continue;
    uint32_t source = n->in[c->source.index].id, target = gr_out(n, c->target.index).id;
    count += gr_plan_is_copied_in_place(f, source, c->source.offset, target, c->target.offset);
  }
  return count;
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

static void add_launch(const gr_gpu_launch *l, described *d) {
  if (l->kind == GR_GPU_COPY) {
    d->copies[d->n_copies++] = l->copy;
  } else if (l->kind == GR_GPU_KERNEL) {
    d->barriers += (double)l->kernel.barriers, d->waits += (double)l->kernel.waits;
    d->reads += (double)l->kernel.reads;
  } else {
    d->product = true;
  }
}

static described *describe(gr_arena *arena, const gr_graph *g, const gr_node *n) {
  described *d = GR_NEW(arena, described, 1);
  gr_arena *work = gr_arena_create();  // for the text
  gr_gpu_launch launch[GR_GPU_LAUNCHES];
  gr_op_call call;
  gr_op_call_of(g, n, &call);
  gr_gpu_call gpu = {.call = &call, .arena = work, .launch = launch, .layers = true};
  gr_status s = gr_gpu_describe(&gpu);
  if (s) gpu.n = 0;
  *d = (described){.there = !s, .launches = s ? 1 : gpu.n, .bytes = bytes_of(&call, &gpu)};
  for (int i = 0; i < gpu.n; i++) add_launch(&launch[i], d);
  gr_status_drop(s);
  gr_arena_destroy(work);
  return d;
}

gr_call_figures *gr_call_figures_of(gr_tally *w, const gr_graph *g, const gr_node *n) {
  uint32_t i = gr_calls_index(&w->calls, g, n);
  if (i < w->n) return w->of[i];
  GR_GROW(w->arena, w->of, w->n, w->cap);
  gr_call_figures *c = w->of[w->n++] = GR_NEW(w->arena, gr_call_figures, 1);
  gr_op_call call;
  gr_op_call_of(g, n, &call);
  c->flops = gr_op_flops(&call);
  c->bytes = (double)(gr_types_bytes(call.in, call.n_in) + gr_types_bytes(call.out, call.n_out));
  return c;
}

// The kernel of a call is written once for all nodes that make it.
static const described *described_of(gr_tally *w, const gr_graph *g, const gr_node *n) {
  gr_call_figures *c = gr_call_figures_of(w, g, n);
  if (!c->gpu) c->gpu = describe(w->arena, g, n);
  return c->gpu;
}

// What the parts of a fused node would be by themselves.
static const described *parts_of(gr_tally *w, const gr_graph *g, const gr_node *n) {
  const gr_graph *body = ((const gr_fused *)n->attr)->body;
  gr_call_figures *c = gr_call_figures_of(w, g, n);
  if (c->parts) return c->parts;
  described *all = GR_NEW(w->arena, described, 1);
  for (const gr_node *part = body->nodes; part < body->nodes + body->n_nodes; part++) {
    const described *d = described_of(w, body, part);
    all->launches += d->launches, all->bytes += d->bytes;
  }
  return c->parts = all;
}

static void add_seconds(gr_tally *w, const gr_graph *g, const gr_node *n, const described *d,
                        int launches, double runs) {
  double flops = (double)gr_call_figures_of(w, g, n)->flops;
  for (int i = 0; i < w->n_targets; i++) {
    const gr_chip *chip = w->targets[i].chip;
    double moving = fmax((d->bytes - 2 * w->linked) / chip->bandwidth, w->linked / chip->host);
    double computing = flops / rate_of(chip, g, n, d->product, w->tf32);
    w->seconds[i] +=
        runs * (launch_gap * launches + barrier_gap * d->barriers + wait_gap * d->waits +
                fmax(fmax(moving, computing), d->reads / shared_rate));
  }
}

void gr_predict_gpu(gr_tally *w, const gr_plan_frame *f, const gr_graph *g, const gr_node *n,
                    double runs) {
  gr_program_figures *p = w->out;
  const gr_scan *loop = n->op == &gr_op_scan ? n->attr : NULL;
  const described *d = described_of(w, g, n);
  if (loop && !d->there) {
    for (uint32_t i = 0; i < loop->body->n_nodes; i++)
      gr_predict_gpu(w, f ? f->body[n - g->nodes] : NULL, loop->body, &loop->body->nodes[i],
                     runs * (double)loop->steps);
    return;
  }
  if (!d->there) note_missing(p, n->op->name);
  int launches = d->launches - count_in_place(f, n, d);
  if (!launches) return;
  const described *apart = n->op == &gr_op_fused ? parts_of(w, g, n) : d;
  p->apart_launches += runs * (apart == d ? launches : apart->launches);
  p->apart_bytes += runs * apart->bytes;
  p->launches += runs * launches, p->barriers += runs * d->barriers, p->bytes += runs * d->bytes;
  add_seconds(w, g, n, d, launches, runs);
}

// Describes nodes that are launched together, each call once; in the arena.
static gr_status describe_group(gr_arena *work, const gr_graph *g, uint32_t first, uint32_t n,
                                gr_gpu_call **out) {
  gr_calls table = gr_calls_make(work);
  gr_op_call *calls = GR_TAKE(work, gr_op_call, n);
  uint32_t *index = GR_NEW(work, uint32_t, n);
  gr_gpu_call *each;
  for (uint32_t i = 0, known = 0; i < n; i++, known = table.n) {
    index[i] = gr_calls_index(&table, g, &g->nodes[first + i]);
    if (index[i] == known) gr_op_call_of(g, &g->nodes[first + i], &calls[index[i]]);
  }
  GR_TRY(gr_gpu_describe_all(work, calls, NULL, 0, (int)table.n, &each));
  *out = GR_NEW(work, gr_gpu_call, n);
  for (uint32_t i = 0; i < n; i++) (*out)[i] = each[index[i]];
  return GR_OK;
}

// Launches that are saved because n nodes from node `first` on are launched together.
static int saved_by_group(const gr_graph *g, uint32_t first, uint32_t n) {
  gr_arena *work = gr_arena_create();
  gr_gpu_call *all_calls = NULL;
  gr_gpu_joined *joined;
  int all = 0, left = 0;
  gr_status s = describe_group(work, g, first, n, &all_calls);
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
