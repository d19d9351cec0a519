// scan_block.c - a loop of any ops as one kernel of one block, for bodies of many small nodes, such
// as the steps of an environment: between nodes the threads of the block wait for each other, which
// costs a tenth of a launch, and most values are in the block's shared memory.
//
// The kernel of a node is the one that the op describes (gpu.h), as a function of the block's
// threads, which runs the node's blocks one after the other; so an op has nothing to do for loops,
// and the numbers are the same bits. Products, which a library has outside of loops, and copies are
// functions of scan_block.cu. Loops in the body are loops in the text. Nodes have levels: threads
// wait for each other before the first of a level. Values that are not read any more give their
// places to others (scan_block_places.c).
//
// A carry is read where its next value was written in the step before: in the stack of a yield, or
// in one of two places that alternate. So carries are not copied from step to step.
//
// Where rows of the batch depend on no others, each block has some of them, and runs the body of so
// many rows (gr_scan_part) beside the others. Carries that add up something of all rows, such as
// gradients of constants, are sums of a block's rows each, which another kernel adds up.
//
// A loop of one step is a run of small nodes that the pass join_small has put together.
//
// Left to be launched node by node are bodies with kernels whose blocks wait for each other, or
// that need more shared memory or other blocks than this one has, layers of libraries, and bodies
// of so much work that one block takes longer than launches of many.
#include "ops/loop/scan_block.h"
#include <string.h>

// MAX_PARTS: the processors of an A100; newer GPUs have more, and on smaller ones blocks follow
// each other.
enum { LEAST_STEPS = 4, MAX_CALLS = 256, MAX_PARTS = 108 };
// Bytes that a block reads from its shared memory in the time of a launch, and of a wait.
enum { LAUNCH = 256 << 10, WAIT = 36 << 10 };
// Shared memory that the text of kernels may declare, beside the values: the most that a kernel
// can.
enum { DECLARED = 48 << 10, PRELUDE = 2 << 10 };

static bool refuse(gr_block_writer *w, const char *why, const gr_op *op) {
  w->why = gr_arena_printf(w->arena, "%s: %s", op->name, why);
  return false;
}

// ---- Describing the body ------------------------------------------------------------------------

static double bytes_of(const gr_type *t) { return (double)gr_type_bytes(t); }

// Whether a node reads no more of an operand than its results have: of what is the same in all
// steps the block's caches have the rest, and in a loop of one step it is the node that picks a
// part.
static bool reads_part(const gr_scan *s, const gr_graph *g, const gr_node *n, gr_val v) {
  if (s->steps == 1)
    return n->op == &gr_op_embedding || n->op == &gr_op_gather || n->op == &gr_op_slice;
  return gr_at(g, v)->role == GR_INPUT && !gr_scan_is_seq(s, v.id);
}

// What the threads of the block read for a node: of a product its right side, for each four rows.
static double reads_of(const gr_scan *s, const gr_graph *g, const gr_node *n,
                       const gr_gpu_call *d) {
  double in = 0, out = 0;
  for (int k = 0; k < d->n; k++) {
    const gr_gpu_gemm *p = &d->launch[k].gemm;
    if (d->launch[k].kind != GR_GPU_GEMM) continue;
    return (double)(p->batch * ((p->m + 3) / 4) * p->n * p->k) * (double)gr_gpu_wide(p->in);
  }
  for (int k = 0; k < n->n_out; k++) out += bytes_of(&gr_at(g, gr_out(n, k))->type);
  for (int k = 0; k < n->n_in; k++) {
    double bytes = bytes_of(&gr_at(g, n->in[k])->type);
    in += bytes > out && reads_part(s, g, n, n->in[k]) ? out : bytes;
  }
  return in + out;
}

static bool takes_kernel(gr_block_writer *w, const gr_op *op, const gr_gpu_kernel *k) {
  if (k->cooperative) return refuse(w, "its blocks wait for each other", op);
  if (k->shared || (strstr(k->source, "__shared__") && !k->warps && !k->declared))
    return refuse(w, "it has shared memory", op);
  if (k->threads != GR_BLOCK_THREADS && !(k->warps && k->threads < GR_BLOCK_THREADS))
    return refuse(w, "its blocks have other sizes", op);
  return true;
}

static bool takes_launch(gr_block_writer *w, const gr_op *op, const gr_gpu_launch *l) {
  if (l->kind == GR_GPU_KERNEL) return takes_kernel(w, op, &l->kernel);
  if (l->kind == GR_GPU_GEMM && l->gemm.epilogue <= GR_GPU_BIAS_RELU) return true;
  return l->kind == GR_GPU_COPY || refuse(w, "a library does it", op);
}

// The part of a node's results that is this rank's.
static const gr_launch *where_of(const gr_block_writer *w, const gr_graph *g, const gr_node *n) {
  const gr_launch *loop = w->c->where;
  gr_launch *where = loop ? GR_NEW(w->arena, gr_launch, 1) : NULL;
  if (!loop) return NULL;
  gr_layout *layout = GR_NEW(w->arena, gr_layout, n->n_out + 1);
  for (int k = 0; k < n->n_out; k++) layout[k] = gr_at(g, gr_out(n, k))->layout;
  *where = (gr_launch){.attr = n->attr, .n_in = n->n_in, .n_out = n->n_out};
  where->out_layout = layout, where->mesh = loop->mesh, where->coord = loop->coord;
  return where;
}

static gr_block_frame *describe_frame(gr_block_writer *w, const gr_scan *s, int depth, double runs);

// Describes the launches of a node that is no loop.
static bool describe_call(gr_block_writer *w, const gr_graph *g, const gr_node *n, gr_op_call *call,
                          gr_gpu_call *d) {
  gr_op_call_of(g, n, call);
  *d = (gr_gpu_call){.call = call, .where = where_of(w, g, n), .arena = w->arena};
  if (n->op->collective) return refuse(w, "a library does it", n->op);
  d->processors = w->c->processors, d->shared = w->c->shared;
  d->launch = GR_NEW(w->arena, gr_gpu_launch, GR_GPU_LAUNCHES);
  gr_status s = gr_gpu_describe(d);
  gr_status_drop(s);
  if (s) return refuse(w, "it has no kernel", n->op);
  for (int k = 0; k < d->n; k++)
    if (!takes_launch(w, n->op, &d->launch[k])) return false;
  return true;
}

static bool describe_node(gr_block_writer *w, gr_block_frame *f, uint32_t i, double runs) {
  const gr_node *n = &f->g->nodes[i];
  gr_gpu_call *d = &f->call[i];
  if (n->op == &gr_op_scan)
    return (f->in[i] = describe_frame(w, n->attr, f->depth + 1, runs)) != NULL;
  if (!describe_call(w, f->g, n, &f->node[i], d)) return false;
  w->launches += runs * d->n, w->reads += runs * reads_of(f->s, f->g, n, d), w->calls += d->n;
  return true;
}

double gr_scan_block_reads(gr_arena *arena, const gr_graph *g, const gr_node *n, int *launches) {
  gr_op_call call;
  gr_gpu_call d, around = {.arena = arena};
  gr_block_writer *w = GR_NEW(arena, gr_block_writer, 1);
  w->c = &around, w->arena = arena;
  *launches = 0;
  if (n->op == &gr_op_scan || !describe_call(w, g, n, &call, &d)) return -1;
  for (int k = 0; k < d.n; k++) *launches += d.launch[k].kind != GR_GPU_COPY;
  return reads_of(&(gr_scan){.body = g, .steps = 1}, g, n, &d);
}

// Launches of a node follow each other.
static void find_levels(gr_block_frame *f) {
  for (uint32_t i = 0; i < f->g->n_nodes; i++) {
    const gr_node *n = &f->g->nodes[i];
    for (int k = 0; k < n->n_in; k++) {
      const gr_value *v = gr_at(f->g, n->in[k]);
      if (!gr_is(n->in[k]) || v->role != GR_TEMP) continue;
      int least = f->level[v->node] + (f->call[v->node].n > 1 ? f->call[v->node].n : 1);
      if (least > f->level[i]) f->level[i] = least;
    }
    int end = f->level[i] + (f->call[i].n > 1 ? f->call[i].n : 1);
    if (end > f->levels) f->levels = end;
  }
}

static void find_read(gr_block_frame *f) {
  for (uint32_t i = 0; i < f->g->n_nodes; i++)
    for (int k = 0; k < f->g->nodes[i].n_in; k++) f->read[f->g->nodes[i].in[k].id] = true;
  for (int c = 0; c < f->s->n_carry; c++)
    f->read[gr_at(f->g, gr_scan_carry(f->s, c))->next.id] = true;
  for (uint32_t j = 0; j < f->g->n_results; j++) f->read[f->g->results[j].id] = true;
}

static gr_block_frame *describe_frame(gr_block_writer *w, const gr_scan *s, int depth,
                                      double runs) {
  const gr_graph *g = s->body;
  gr_arena *a = w->arena;
  gr_block_frame *f = GR_NEW(a, gr_block_frame, 1);
  *f = (gr_block_frame){.s = s, .g = g, .depth = depth};
  f->node = GR_NEW(a, gr_op_call, g->n_nodes + 1), f->call = GR_NEW(a, gr_gpu_call, g->n_nodes + 1);
  f->in = GR_NEW(a, gr_block_frame *, g->n_nodes + 1), f->level = GR_NEW(a, int, g->n_nodes + 1);
  f->read = GR_NEW(a, bool, g->n_values + 1);
  if (s->until) return refuse(w, "it may end early", &gr_op_scan), NULL;
  runs *= (double)s->steps;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (!describe_node(w, f, i, runs)) return NULL;
  find_levels(f), find_read(f);
  w->waits += runs * f->levels;
  for (int c = 0; c < s->n_carry; c++) {
    uint32_t leaf = gr_scan_carry(s, c).id;
    size_t bytes = gr_type_bytes(&g->values[leaf].type);
    if (gr_scan_operand(s, leaf) < 0 && f->read[leaf] && bytes > w->zeros) w->zeros = bytes;
  }
  return f;
}

// ---- The call -----------------------------------------------------------------------------------

static void add_kernel(gr_block_writer *w) {
  gr_gpu_call *c = w->c;
  gr_gpu_kernel *k =
      gr_gpu_kernel_add(c, w->text.chars, "loop", w->parts * GR_BLOCK_THREADS, GR_BLOCK_THREADS);
  k->waits = (int64_t)w->waits, k->reads = (int64_t)w->reads, k->shared = w->shared;
  gr_block_add_sums(w);
}

// Describes the body for one of so many parts of the rows, and decides whether it is a kernel.
static gr_block_writer *describe(gr_gpu_call *c, const gr_scan *s, int64_t parts,
                                 gr_axis_placement *lay) {
  gr_block_writer *w = GR_NEW(c->arena, gr_block_writer, 1);
  *w = (gr_block_writer){.c = c, .arena = c->arena, .parts = parts, .lay = parts > 1 ? lay : NULL};
  w->text = gr_text_make(c->arena), w->functions = gr_text_make(c->arena);
  w->sums = GR_NEW(c->arena, size_t, s->n_carry + 1);
  // While a plan is made, the GPU may be one on which nothing fits into shared memory.
  w->most_shared = c->shared > DECLARED ? c->shared - DECLARED : 0;
  if ((s->steps > 1 && s->steps < LEAST_STEPS) || !s->body->n_nodes)
    refuse(w, "it is short", &gr_op_scan);
  else
    w->frame = describe_frame(w, s, 0, 1);
  if (!w->why && w->calls > MAX_CALLS) refuse(w, "the body is too long", &gr_op_scan);
  if (!w->why && w->waits * WAIT + w->reads > w->launches * LAUNCH)
    refuse(w, "it is too much work for one block", &gr_op_scan);
  if (!w->why) gr_block_write_kernel(w);
  if (!w->why && w->declared + PRELUDE > DECLARED)
    refuse(w, "its kernels declare too much shared memory", &gr_op_scan);
  return w;
}

// The kernel of a block for each part of the rows; NULL: it is none, or its time would be paid for
// by more working memory than the loop takes otherwise: each block has what all rows share.
static gr_block_writer *describe_parts(gr_gpu_call *c, const gr_scan *s, size_t otherwise) {
  enum { MORE = 256 << 10 };  // bytes, beside a quarter
  const size_t most = otherwise + otherwise / 4 + MORE;
  gr_axis_placement *lay = GR_NEW(c->arena, gr_axis_placement, s->body->n_values);
  int64_t parts = s->steps > 1 ? gr_scan_parts(s, MAX_PARTS, lay) : 1;
  gr_scan *part = GR_NEW(c->arena, gr_scan, 1);
  *part = *s;
  part->body = parts > 1 ? gr_scan_part(c->arena, s, parts, lay) : NULL;
  gr_block_writer *w = part->body ? describe(c, part, parts, lay) : NULL;
  return w && !w->why && w->scratch * (size_t)parts <= most ? w : NULL;
}

gr_status gr_scan_block(gr_gpu_call *c) {
  const gr_scan *s = c->call->attr;
  size_t repeated = c->scratch;
  gr_block_writer *one = describe(c, s, 1, NULL);
  bool launched = one->why || one->scratch < repeated;
  gr_block_writer *parts = describe_parts(c, s, launched ? repeated : one->scratch);
  gr_block_writer *w = parts ? parts : one;
  if (w->why)
    return gr_fail(GR_ERR_UNSUPPORTED, c->call->loc, "a loop is launched node by node: %s", w->why);
  size_t scratch = w->scratch * (size_t)w->parts;
  c->scratch = !c->processors && repeated > scratch ? repeated : scratch;
  add_kernel(w);
  return GR_OK;
}
