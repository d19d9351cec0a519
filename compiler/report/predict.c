// predict.c - how long the largest programs would take on a GPU: counted from the plan, without
// one.
//
// The model is a roofline (Williams, Waterman, Patterson, 2009): a launch takes the longer of
// moving its operands and results and of its arithmetic, and every launch of a captured graph
// starts after the one before it. Collectives move at the rate of the links between the GPUs of a
// machine. It says what to expect of a chip and what limits a program; it knows neither caches nor
// how well an algorithm does.
#include <math.h>
#include <string.h>
#include "compiler/plan/traffic.h"
#include "compiler/report/explain.h"
#include "compiler/report/parts.h"
#include "ops/kernels/fused.h"
#include "ops/kernels/gpu_join.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

// Peak rates of NVIDIA's data sheets ("A100 80GB SXM", 2021; "H100 SXM5", 2022; "H200 SXM", 2023;
// "HGX B200", 2024, of which this is an eighth), without sparsity: bytes and operations a second.
// `link`: one direction of NVLink. `f32` is outside the tensor cores, `tf32` and `narrow` are on
// them.
typedef struct chip {
  const char *name;
  double memory, f64, f32, tf32, narrow, link;
} chip;
static const chip chips[] = {
    {"A100", 2.04e12, 9.7e12, 19.5e12, 156e12, 312e12, 300e9},
    {"H100", 3.35e12, 34e12, 67e12, 494e12, 989e12, 450e9},
    {"H200", 4.8e12, 34e12, 67e12, 494e12, 989e12, 450e9},
    {"B200", 8.0e12, 37e12, 75e12, 1125e12, 2250e12, 900e9},
};
enum { CHIPS = sizeof chips / sizeof *chips };
// Seconds, all of them estimates, to be replaced by measurements: from the end of a kernel of a
// captured graph to the start of one that waits for it; for all blocks of a kernel to wait for each
// other; of a collective beyond what its bytes take.
static const double launch_gap = 1.5e-6, barrier_gap = 1.2e-6, collective_gap = 15e-6;
// Bytes a second that a block reads from its shared memory: 128 a clock, at the slowest of the
// chips' rates, 1.4 GHz. It is what the products of a loop's kernel wait for.
static const double shared_rate = 128 * 1.4e9;

typedef struct count {
  bool tf32;  // products of vendor libraries are in TF32
  double launches, barriers, bytes, flops, seconds[CHIPS];
  double apart_launches, apart_bytes;  // as the first and third, if parts of fused nodes were nodes
  double collectives, sent;
  const char *missing[8];  // ops without a kernel
  int n_missing;
} count;

// What a call is on a GPU, as far as predictions go.
typedef struct described {
  int launches;
  double barriers, reads;  // of kernels whose blocks wait for each other
  bool product;            // a vendor's library computes it
} described;

// product: a vendor's library computes it; kernels of our own have no tensor cores.
static double rate_of(const chip *c, const gr_op_call *call, bool product, bool tf32) {
  gr_dtype d = call->n_in ? call->in[0].dtype : call->out[0].dtype;
  if (d == GR_F64) return c->f64;
  if (product && gr_op_contracts(call) && gr_is_narrow(d)) return c->narrow;
  return product && tf32 && d == GR_F32 ? c->tf32 : c->f32;
}

static void note_missing(count *c, const char *op) {
  for (int i = 0; i < c->n_missing; i++)
    if (!strcmp(c->missing[i], op)) return;
  if (c->n_missing < 8) c->missing[c->n_missing++] = op;
}

// Describes a call; false: it has no kernel, or is a loop that runs node by node.
static bool describe(gr_arena *arena, const gr_op_call *call, described *out) {
  gr_gpu_launch launch[GR_GPU_LAUNCHES];
  gr_gpu_call g = {.call = call, .arena = arena, .launch = launch, .layers = true};
  gr_status s = gr_gpu_describe(&g);
  *out = (described){.launches = s ? 1 : g.n};
  for (int i = 0; i < g.n && !s; i++) {
    bool kernel = launch[i].kind == GR_GPU_KERNEL;
    if (kernel) out->barriers += (double)launch[i].kernel.barriers;
    if (kernel) out->reads += (double)launch[i].kernel.reads;
    out->product |= launch[i].kind != GR_GPU_KERNEL && launch[i].kind != GR_GPU_COPY;
  }
  gr_status_drop(s);
  return !s;
}

static double bytes_of(const gr_op_call *call) {
  return (double)(gr_types_bytes(call->in, call->n_in) + gr_types_bytes(call->out, call->n_out));
}

// Adds what the parts of a fused node would be by themselves.
static void add_parts(gr_arena *arena, const gr_graph *body, double runs, count *c) {
  gr_op_call call;
  described d;
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    gr_op_call_of(body, &body->nodes[i], &call);
    describe(arena, &call, &d);
    c->apart_launches += runs * d.launches, c->apart_bytes += runs * bytes_of(&call);
  }
}

static void add_graph(gr_arena *, const gr_graph *, double runs, count *);

static void add_node(gr_arena *arena, const gr_graph *g, const gr_node *n, double runs, count *c) {
  gr_op_call call;
  described d;
  gr_op_call_of(g, n, &call);
  const gr_scan *loop = n->op == &gr_op_scan ? n->attr : NULL;
  bool there = describe(arena, &call, &d);
  if (loop && !there) {
    add_graph(arena, loop->body, runs * (double)loop->steps, c);
    return;
  }
  if (!there) note_missing(c, n->op->name);
  double bytes = bytes_of(&call), flops = (double)gr_op_flops(&call);
  if (n->op == &gr_op_fused)
    add_parts(arena, ((const gr_fused *)n->attr)->body, runs, c);
  else
    c->apart_launches += runs * d.launches, c->apart_bytes += runs * bytes;
  c->launches += runs * d.launches, c->barriers += runs * d.barriers;
  c->bytes += runs * bytes, c->flops += runs * flops;
  for (int i = 0; i < CHIPS; i++) {
    double moving = bytes / chips[i].memory;
    double computing = flops / rate_of(&chips[i], &call, d.product, c->tf32);
    c->seconds[i] += runs * (launch_gap * d.launches + barrier_gap * d.barriers +
                             fmax(fmax(moving, computing), d.reads / shared_rate));
  }
}

static void add_graph(gr_arena *arena, const gr_graph *g, double runs, count *c) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (!g->nodes[i].op->collective) add_node(arena, g, &g->nodes[i], runs, c);
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

static void subtract_groups(const gr_plan_frame *f, count *c) {
  for (uint32_t i = 0; i < f->g->n_nodes; i += f->group_size[i]) {
    int saved = f->group_size[i] > 1 ? saved_by_group(f->g, i, f->group_size[i]) : 0;
    c->launches -= saved;
    for (int k = 0; k < CHIPS; k++) c->seconds[k] -= launch_gap * saved;
  }
}

static void add_collectives(const gr_program *p, count *c) {
  gr_traffic t[GR_MAX_MESH];
  gr_traffic_count(p, t);
  for (int a = 0; a < p->frame.g->mesh.n_axes; a++)
    c->collectives += t[a].collectives, c->sent += t[a].sent;
  for (int i = 0; i < CHIPS; i++)
    c->seconds[i] += collective_gap * c->collectives + c->sent / chips[i].link;
}

static void predict(FILE *f, const gr_plan *plan, const gr_program *p) {
  gr_arena *arena = gr_arena_create();
  char bytes[32], flops[32];
  count c = {.tf32 = plan->tf32};
  add_graph(arena, p->frame.g, 1, &c);
  subtract_groups(&p->frame, &c);
  add_collectives(p, &c);
  fprintf(f, "  %-14s %.0f launches, %s read and written, %s", p->name, c.launches,
          gr_bytes_text(c.bytes, bytes), gr_flops_text(c.flops, flops));
  if (c.barriers > 0) fprintf(f, ", %.0f waits for all blocks of a kernel", c.barriers);
  if (c.collectives > 0)
    fprintf(f, ", %.0f collectives that send %s", c.collectives, gr_bytes_text(c.sent, bytes));
  fputs("\n    about", f);
  for (int i = 0; i < CHIPS; i++)
    fprintf(f, "%s %.2f ms on %s", i ? "," : "", 1e3 * c.seconds[i], chips[i].name);
  fputc('\n', f);
  if (c.apart_launches > c.launches)
    fprintf(f, "    without fused nodes %.0f launches, %s read and written\n", c.apart_launches,
            gr_bytes_text(c.apart_bytes, bytes));
  for (int i = 0; i < c.n_missing; i++)
    fprintf(f, "    '%s' has no kernel for GPUs\n", c.missing[i]);
  gr_arena_destroy(arena);
}

void gr_plan_predict(FILE *f, const gr_plan *p) {
  fputs("on a GPU    one captured graph a program; times by the chips' data sheets, an estimate\n",
        f);
  if (p->tf32) fputs("  products of f32 that libraries compute are in TF32\n", f);
  const char *kind;
  for (int i = 0; (kind = gr_plan_kind(p, i)); i++) {
    const gr_program *most = gr_plan_largest(p, kind);
    if (most) predict(f, p, most);
  }
}
