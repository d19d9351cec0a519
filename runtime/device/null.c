// null.c - a device that checks every access and computes nothing. It allocates no memory and
// tracks only metadata about it (shadow.h), so it runs any plan on any machine. It finds:
//
//   addresses    operands, results, working memory, uploads, downloads, copies outside the blocks
//   lifetimes    bytes that are read but never written; a value that is overwritten before its
//                last reader, or before its use as a result or as a state's next value
//   overlap      results over operands where the op may not work in place; working memory
//   order        accesses that the events of the queues do not order
//   collectives  sizes that do not fit the ranks; ranks at different calls
//
// The bytes of an operand must be those that its value's own node wrote in this run of the graph.
// Those of a leaf must be older than the run, and a loop's sequences and constants older than the
// loop. The results of a loop, and a carry from the second step on, are what its body wrote.
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "ops/comm/collective.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "runtime/device/device.h"
#include "runtime/device/shadow.h"

// A graph that has run: a program, or the body of a loop.
typedef struct frame {
  struct frame *next;   // list of all frames
  struct frame *outer;  // list of the frames that are running
  const gr_graph *g;
  uint32_t node;           // the node that is running
  uint64_t start, before;  // the last stamp before this run, and before the previous run
  uint64_t *begin, *end;   // by node, in this run: the stamps of its writes
  const void **address;    // by value: the address that its node wrote
} frame;

typedef struct null_device {
  gr_device base;
  gr_arena *arena;
  gr_shadow *shadow;
  frame *frames, *running;  // running: the innermost
  uint64_t calls, copies, collectives, transferred;
  int rank;
} null_device;

static null_device *null_of(gr_device *d) { return (null_device *)d; }

// ---- Memory and transfers -------------------------------------------------------------------

static void close(gr_device *d) {
  gr_shadow_destroy(null_of(d)->shadow);
  gr_arena_destroy(null_of(d)->arena);
  free(d);
}

static gr_status open(const gr_device_options *o, gr_device **out) {
  extern const gr_device_ops gr_device_null;
  *out = NULL;
  null_device *d = calloc(1, sizeof *d);
  if (!d) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a device");
  *d = (null_device){.base = {.ops = &gr_device_null, .limits = {.beside = !o->in_line}},
                     .rank = o->rank};
  gr_status s = gr_shadow_create(&d->shadow);
  if (s) {
    free(d);
    return s;
  }
  d->arena = gr_arena_create();
  *out = &d->base;
  return GR_OK;
}

static gr_status allocate(gr_device *d, size_t bytes, gr_comm *shared, gr_device_block *out) {
  (void)shared;
  *out = (gr_device_block){.bytes = bytes};
  return gr_shadow_reserve(null_of(d)->shadow, bytes, &out->address);
}

static void release(gr_device *d, gr_device_block *b) {
  gr_shadow_release(null_of(d)->shadow, b->address);
  b->address = NULL;
}

static gr_status read_any(null_device *d, gr_queue q, const void *address, size_t bytes) {
  gr_shadow_access a = {
      .queue = q, .address = address, .bytes = bytes, .earliest = 1, .latest = UINT64_MAX};
  return gr_shadow_read(d->shadow, &a);
}

static gr_status write(null_device *d, gr_queue q, void *address, size_t bytes, const void *writer,
                       const char *by) {
  gr_shadow_access a = {.queue = q, .address = address, .bytes = bytes, .writer = writer, .by = by};
  return gr_shadow_write(d->shadow, &a);
}

static gr_status upload(gr_device *d, void *to, const void *source, size_t bytes) {
  (void)source;
  null_of(d)->transferred += bytes;
  return gr_note(write(null_of(d), GR_QUEUE_TRANSFER, to, bytes, d, "an upload"), GR_NOWHERE,
                 "in an upload of %zu bytes", bytes);
}

static gr_status download(gr_device *d, void *to, const void *source, size_t bytes) {
  null_of(d)->transferred += bytes;
  memset(to, 0, bytes);
  return gr_note(read_any(null_of(d), GR_QUEUE_TRANSFER, source, bytes), GR_NOWHERE,
                 "in a download of %zu bytes", bytes);
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return x < y + b_bytes && y < x + a_bytes;
}

static gr_status copy_checked(null_device *d, void *to, const void *source, size_t bytes) {
  if (overlap(to, bytes, source, bytes))
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the two ranges of a copy overlap");
  GR_TRY(read_any(d, GR_QUEUE_COMPUTE, source, bytes));
  const void *writer = gr_shadow_writer(d->shadow, source, bytes);
  return write(d, GR_QUEUE_COMPUTE, to, bytes, writer, "a copy");
}

static gr_status copy(gr_device *d, void *to, const void *source, size_t bytes) {
  null_of(d)->copies++;
  return gr_note(copy_checked(null_of(d), to, source, bytes), GR_NOWHERE, "in a copy of %zu bytes",
                 bytes);
}

static gr_status fill(gr_device *d, void *to, int byte, size_t bytes) {
  (void)byte;
  return gr_note(write(null_of(d), GR_QUEUE_COMPUTE, to, bytes, d, "a fill"), GR_NOWHERE,
                 "in a fill of %zu bytes", bytes);
}

static gr_status record(gr_device *d, gr_queue q, gr_device_event e) {
  gr_shadow_record(null_of(d)->shadow, q, e);
  return GR_OK;
}

static gr_status wait(gr_device *d, gr_queue q, gr_device_event e) {
  return gr_shadow_wait(null_of(d)->shadow, q, e);
}

static gr_status synchronise(gr_device *d, gr_queue q) {
  gr_shadow_synchronise(null_of(d)->shadow, q);
  return GR_OK;
}

// ---- Running graphs --------------------------------------------------------------------------

static frame *frame_of(null_device *d, const gr_graph *g) {
  for (frame *f = d->frames; f; f = f->next)
    if (f->g == g) return f;
  frame *f = GR_NEW(d->arena, frame, 1);
  *f = (frame){.next = d->frames,
               .g = g,
               .begin = GR_NEW(d->arena, uint64_t, g->n_nodes + 1),
               .end = GR_NEW(d->arena, uint64_t, g->n_nodes + 1),
               .address = GR_NEW(d->arena, const void *, g->n_values + 1)};
  return d->frames = f;
}

// The node that writes a value; for a loop's result, the node of its body. NULL: a leaf of the
// body.
static const gr_node *writer_of(const gr_graph *g, uint32_t value) {
  const gr_value *v = &g->values[value];
  if (v->role != GR_TEMP) return NULL;
  const gr_node *n = &g->nodes[v->node];
  if (n->op != &gr_op_scan) return n;
  const gr_scan *s = n->attr;
  int k = (int)(value - n->out.id);
  bool last = k < s->n_carry;
  gr_val of = last ? gr_at(s->body, gr_scan_carry(s, k))->next : s->body->results[k - s->n_carry];
  return writer_of(s->body, of.id);
}

// Sets when, and by which node, the bytes of a value must have been written.
static void expect(const frame *f, uint32_t value, gr_shadow_access *a) {
  const gr_value *v = &f->g->values[value];
  bool constant = f->outer && v->role == GR_INPUT;    // a constant or a sequence of a loop
  a->earliest = v->kind != GR_KIND_GRAD_ACCUMULATOR;  // the first micro-batch ignores its value
  a->latest = constant ? f->outer->begin[f->outer->node] - 1 : f->start;
  if (v->role == GR_TEMP) a->earliest = f->begin[v->node], a->latest = f->end[v->node];
  // Whether this is a step after the first.
  bool later = f->outer && f->before + 1 >= f->outer->begin[f->outer->node];
  uint32_t source = v->role == GR_STATE && later ? v->next.id : value;
  a->writer = source ? writer_of(f->g, source) : NULL;
}

static const char *describe(const gr_graph *g, uint32_t value, char buf[160]) {
  const gr_value *v = &g->values[value];
  const gr_node *n = &g->nodes[v->node];
  if (v->role == GR_TEMP)
    snprintf(buf, 160, "%%%u, made by '%s'%s%s", value, n->op->name, n->scope ? " of " : "",
             n->scope ? n->scope : "");
  else
    snprintf(buf, 160, "%%%u%s%s", value, v->name ? ", " : "", v->name ? v->name : "");
  return buf;
}

static gr_status read_value(null_device *d, const frame *f, gr_queue queue, uint32_t value,
                            const void *address, const char *what) {
  char text[160];
  size_t bytes = gr_type_bytes(&f->g->values[value].type);
  gr_shadow_access a = {.queue = queue, .address = address, .bytes = bytes};
  expect(f, value, &a);
  return gr_note(gr_shadow_read(d->shadow, &a), GR_NOWHERE, "%s %s", what,
                 describe(f->g, value, text));
}

static gr_status begin(gr_device *device, const gr_graph *g) {
  null_device *d = null_of(device);
  frame *f = frame_of(d, g);
  f->outer = d->running, d->running = f;
  f->before = f->start, f->start = gr_shadow_stamp(d->shadow);
  return GR_OK;
}

// Results and the next values of states outlive the run, so the run must not overwrite them.
static gr_status end(gr_device *device, const gr_graph *g) {
  null_device *d = null_of(device);
  frame *f = d->running;
  if (g->n_nodes) f->end[f->node] = gr_shadow_stamp(d->shadow);
  for (uint32_t i = 0; i < g->n_results; i++) {
    uint32_t v = g->results[i].id;
    if (g->values[v].role == GR_TEMP)
      GR_TRY(read_value(d, f, GR_QUEUE_COMPUTE, v, f->address[v], "in the result"));
  }
  for (uint32_t i = 1; i < g->n_values; i++) {
    uint32_t v = g->values[i].next.id;
    if (v && g->values[v].role == GR_TEMP)
      GR_TRY(read_value(d, f, GR_QUEUE_COMPUTE, v, f->address[v], "in a state's next value"));
  }
  d->running = f->outer;
  return GR_OK;
}

// ---- Nodes --------------------------------------------------------------------------------------

// A kernel may write a result before it has read all operands, unless its op declares otherwise.
static gr_status check_overlap(const gr_launch *l, const gr_node *n, size_t scratch) {
  for (int k = 0; k < l->n_out; k++) {
    size_t out = gr_type_bytes(&l->out_type[k]);
    for (int j = 0; j < l->n_in; j++) {
      size_t in = gr_type_bytes(&l->in_type[j]);
      if (!l->in[j] || !overlap(l->out[k], out, l->in[j], in)) continue;
      if (l->out[k] == l->in[j] && gr_op_inplace(n->op, k) == j) continue;
      return gr_fail(GR_ERR_BUG, GR_NOWHERE,
                     "result %d overlaps operand %d, and '%s' cannot work in place there", k, j,
                     n->op->name);
    }
    for (int j = 0; j < k; j++)
      if (overlap(l->out[k], out, l->out[j], gr_type_bytes(&l->out_type[j])))
        return gr_fail(GR_ERR_BUG, GR_NOWHERE, "result %d overlaps result %d", k, j);
    if (scratch && overlap(l->out[k], out, l->scratch, scratch))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "result %d overlaps the working memory", k);
  }
  for (int j = 0; j < l->n_in; j++)
    if (scratch && overlap(l->in[j], gr_type_bytes(&l->in_type[j]), l->scratch, scratch))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "operand %d overlaps the working memory", j);
  return GR_OK;
}

static gr_status write_results(null_device *d, frame *f, const gr_launch *l, const gr_node *n) {
  gr_op_call call;
  gr_op_call_of(f->g, n, &call);
  size_t scratch = n->op->scratch ? n->op->scratch(&call) : 0;
  gr_queue queue = gr_device_queue(&d->base, n->op);
  GR_TRY(check_overlap(l, n, scratch));
  if (scratch)
    GR_TRY(gr_note(write(d, queue, l->scratch, scratch, n, "working memory"), GR_NOWHERE,
                   "in the working memory"));
  f->begin[f->node] = gr_shadow_stamp(d->shadow) + 1;
  for (int k = 0; k < l->n_out; k++)
    GR_TRY(gr_note(write(d, queue, l->out[k], gr_type_bytes(&l->out_type[k]), n, n->op->name),
                   GR_NOWHERE, "in result %d", k));
  return GR_OK;
}

static gr_status node(gr_device *device, const gr_graph *g, uint32_t i, const gr_launch *l) {
  null_device *d = null_of(device);
  frame *f = d->running;
  const gr_node *n = &g->nodes[i];
  if (i) f->end[i - 1] = gr_shadow_stamp(d->shadow);
  f->node = i;
  f->begin[i] = gr_shadow_stamp(d->shadow) + 1;
  char what[32];
  gr_queue queue = gr_device_queue(device, n->op);
  for (int k = 0; k < n->n_in; k++) {
    snprintf(what, sizeof what, "in operand %d,", k);
    if (gr_is(n->in[k])) GR_TRY(read_value(d, f, queue, n->in[k].id, l->in[k], what));
  }
  for (int k = 0; k < n->n_out; k++) f->address[gr_out(n, k).id] = l->out[k];
  return n->op == &gr_op_scan ? GR_OK : write_results(d, f, l, n);  // the body's nodes write them
}

// ---- Kernels ------------------------------------------------------------------------------------

static gr_status run_nothing(const gr_launch *l) {
  ((null_device *)l->context)->calls++;
  return GR_OK;
}

// The ranks of an axis compare this before each collective, so that all of them report a mismatch.
enum { OP, DTYPE, VALUES, GROUP, COUNT_LOW, COUNT_HIGH, NODE, NTH, WORDS };

static void put_call(const null_device *d, const gr_launch *l, int32_t words[WORDS]) {
  const frame *f = d->running;
  const gr_node *n = &f->g->nodes[f->node];
  int64_t count = 0;
  for (int k = 0; k < l->n_in; k++) count += gr_type_count(&l->in_type[k]);
  words[OP] = (int32_t)(uint32_t)gr_hash_text(n->op->name);
  words[DTYPE] = (int32_t)l->in_type->dtype, words[VALUES] = l->n_in;
  words[GROUP] = (int32_t)((const struct gr_coll *)l->attr)->group;
  words[COUNT_LOW] = (int32_t)(uint32_t)count, words[COUNT_HIGH] = (int32_t)(count >> 32);
  words[NODE] = (int32_t)f->node, words[NTH] = (int32_t)(uint32_t)d->collectives;
}

static gr_status compare(null_device *d, const gr_launch *l, gr_comm *c) {
  int32_t words[WORDS], all[WORDS * c->ranks];
  put_call(d, l, words);
  GR_TRY(gr_comm_run(c, GR_ALL_GATHER, GR_I32, WORDS, words, all));
  for (int r = 0; r < c->ranks; r++)
    if (memcmp(all + r * WORDS, words, sizeof words))
      return gr_fail(
          GR_ERR_BUG, GR_NOWHERE,
          "rank %d of the mesh axis is at another collective: its number %d (node %d, %d "
          "values of %lld elements), this rank's number %d (node %d, %d values of %lld)",
          r, all[r * WORDS + NTH], all[r * WORDS + NODE], all[r * WORDS + VALUES],
          (long long)all[r * WORDS + COUNT_HIGH] << 32 | (uint32_t)all[r * WORDS + COUNT_LOW],
          words[NTH], words[NODE], words[VALUES],
          (long long)words[COUNT_HIGH] << 32 | (uint32_t)words[COUNT_LOW]);
  return GR_OK;
}

// The results must have the types that follow from the operands and the number of ranks.
static gr_status check_sizes(const gr_launch *l, const gr_node *n, const gr_graph *g, int ranks) {
  char has[96], needs[96];
  gr_op_call call;
  gr_op_call_of(g, n, &call);
  int64_t planned = ((const struct gr_coll *)l->attr)->ranks;
  if (planned != ranks)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a collective of %lld ranks on a mesh axis of %d",
                   (long long)planned, ranks);
  GR_TRY(gr_op_infer(&call));
  for (int k = 0; k < l->n_out; k++)
    if (!gr_type_same(&call.out[k], &l->out_type[k]))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "result %d of a collective is %s, not %s", k,
                     gr_type_text(&l->out_type[k], has), gr_type_text(&call.out[k], needs));
  return GR_OK;
}

static gr_status run_collective(const gr_launch *l) {
  null_device *d = l->context;
  const frame *f = d->running;
  const gr_node *n = &f->g->nodes[f->node];
  int64_t axis = ((const struct gr_coll *)l->attr)->mesh_axis;
  gr_comm *c = axis >= 0 && axis < l->mesh->n_axes && l->comm ? l->comm[axis] : NULL;
  d->calls++, d->collectives++;
  if (!c)
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a collective over mesh axis %lld, which is not there",
                   (long long)axis);
  GR_TRY(check_sizes(l, n, f->g, c->ranks));
  return compare(d, l, c);
}

static gr_status kernel(gr_device *d, const gr_op_call *call, const gr_launch *where,
                        gr_device_kernel *out) {
  (void)where;
  *out = (gr_device_kernel){call->op->collective ? run_collective : run_nothing, d};
  return GR_OK;
}

static void report(const gr_device *device, gr_text *t) {
  const null_device *d = (const null_device *)device;
  gr_text_printf(t,
                 "%llu calls of kernels, %llu of them collectives, %llu copies and %.1f MB of "
                 "uploads and downloads were checked",
                 (unsigned long long)d->calls, (unsigned long long)d->collectives,
                 (unsigned long long)d->copies, (double)d->transferred / 1e6);
}

const gr_device_ops gr_device_null = {
    .name = "null",
    .doc = "runs nothing, and checks addresses, lifetimes, order and collectives",
    .dry = true,
    .open = open,
    .close = close,
    .allocate = allocate,
    .free = release,
    .upload = upload,
    .download = download,
    .copy = copy,
    .fill = fill,
    .record = record,
    .wait = wait,
    .synchronise = synchronise,
    .kernel = kernel,
    .begin = begin,
    .node = node,
    .end = end,
    .report = report,
};
