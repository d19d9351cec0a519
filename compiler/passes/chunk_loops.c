// chunk_loops.c - see chunk_loops.h.
//
//   before                               after, for chunks of about sqrt(T) steps
//   h, s.. = scan(a)     all steps       h', c' = scan(a'), from the carries of the chunk before
//                                        h = concat(h', ...)
//   dz = scan(dy, h, s..)  backwards     s'.. = scan(a', c) again, dz' = scan(dy', h', s'..)
//                                        dz = concat(dz', ...)
//
// s.. are the stacks that only the backward loop reads, directly or cast or delayed by a step: of
// these there is one chunk at a time, beside the carries c at the beginning of each. Stacks that
// something else reads are kept, such as the results of the loop, and the factors of products that
// loop_hoist has made for all steps at once: sums over steps stay one product, with the same bits.
// A step is the same nodes on the same values as before. Sizes of chunks differ by a step at most,
// so that a remainder needs no loop of another kind, and the chunks are plain loops: no later pass,
// and no kernel of loops, knows of them.
#include "compiler/passes/chunk_loops.h"
#include <math.h>
#include <string.h>

// Shorter loops have little to save; so many parts can be joined.
enum { LEAST_STEPS = 16, MAX_CHUNKS = GR_MAX_ARGS };

// ---- Finding ------------------------------------------------------------------------------------

// The carry of a loop whose values before each step a node makes from those after it, or -1.
static int delayed_carry(const gr_graph *g, const gr_node *delay) {
  const gr_value *v = gr_at(g, delay->in[0]);
  const gr_node *f = &g->nodes[v->node];
  if (v->role != GR_TEMP || f->op != &gr_op_scan) return -1;
  const gr_scan *s = f->attr;
  int64_t j = (int64_t)(delay->in[0].id - f->out.id) - s->n_carry;
  bool backwards = *(const int64_t *)delay->attr;
  for (int k = 0; j >= 0 && k < s->n_carry && backwards == (s->reverse != 0); k++) {
    gr_val c = gr_scan_carry(s, k);
    int given = gr_scan_operand(s, c.id);
    bool first =
        given < 0 ? delay->n_in == 1 : delay->n_in == 2 && delay->in[1].id == f->in[given].id;
    if (first && gr_at(s->body, c)->next.id == s->body->results[j].id) return k;
  }
  return -1;
}

enum { MANY = UINT32_MAX };

static void claim(uint32_t *owner, gr_val v, uint32_t by) {
  owner[v.id] = owner[v.id] && owner[v.id] != by ? (uint32_t)MANY : by;
}

static void claim_links(const gr_graph *g, uint32_t *owner) {
  bool *kept = GR_NEW(g->tables, bool, g->n_values);
  gr_mark_links(g, kept);
  gr_mark_gradients(g, kept);
  for (uint32_t i = 1; i < g->n_values; i++)
    if (kept[i]) owner[i] = MANY;
}

// By value: 1 + the loop of the backward pass that alone reads it, step by step; 0: nothing reads
// it; or MANY.
static uint32_t *find_owners(gr_arena *arena, const gr_graph *g, const bool *backward) {
  uint32_t *owner = GR_NEW(arena, uint32_t, g->n_values);
  claim_links(g, owner);
  for (uint32_t i = g->n_nodes; i--;) {
    const gr_node *n = &g->nodes[i];
    bool loop = n->op == &gr_op_scan && backward[i];
    bool follows = n->op == &gr_op_cast || (n->op == &gr_op_delay && delayed_carry(g, n) >= 0);
    for (int k = 0; k < n->n_in; k++)
      claim(owner, n->in[k],
            loop && k < ((const gr_scan *)n->attr)->n_seq ? i + 1
            : follows && !k && owner[n->out.id]           ? owner[n->out.id]
                                                          : (uint32_t)MANY);
  }
  return owner;
}

static bool fits(const gr_graph *g, const gr_scan *s, uint32_t owner) {
  if (!owner || owner == MANY) return false;
  const gr_scan *b = g->nodes[owner - 1].attr;
  return b->steps == s->steps && !b->reverse == !!s->reverse;
}

static int chunks_of(int64_t steps) {
  int64_t size = (int64_t)ceil(sqrt((double)steps)), n = (steps + size - 1) / size;
  return (int)(n < MAX_CHUNKS ? n : MAX_CHUNKS);
}

static void find_loop(gr_chunk_loops *c, gr_arena *arena, const gr_graph *g, uint32_t i,
                      const uint32_t *owner) {
  const gr_node *n = &g->nodes[i];
  const gr_scan *s = n->attr;
  uint32_t by = 0;
  if (n->op != &gr_op_scan || s->until || s->steps < LEAST_STEPS) return;
  for (int k = (int)s->n_carry; k < n->n_out && !by; k++)
    if (fits(g, s, owner[gr_out(n, k).id])) by = owner[gr_out(n, k).id];
  if (!by || c->of[by - 1]) return;
  for (int k = (int)s->n_carry; k < n->n_out; k++) {
    gr_val v = gr_out(n, k);
    c->local[v.id] = owner[v.id] == by;
    if (c->local[v.id]) c->bytes += (double)gr_type_bytes(&gr_at(g, v)->type);
  }
  gr_chunked_loop *loop = c->of[i] = c->of[by - 1] = GR_NEW(arena, gr_chunked_loop, 1);
  *loop = (gr_chunked_loop){.forward = n, .backward = &g->nodes[by - 1], .n = chunks_of(s->steps)};
  loop->start = GR_NEW(arena, gr_val, (uint32_t)loop->n * (uint32_t)s->n_carry + 1);
}

// A node feeds loops if each of its readers is another that does, or a loop whose sequence it is.
static void find_feeds(gr_chunk_loops *c, gr_arena *arena, const gr_graph *g, uint32_t loss_at) {
  enum { YES = 1 };
  uint32_t *only = GR_NEW(arena, uint32_t, g->n_values);
  claim_links(g, only);
  for (uint32_t i = g->n_nodes; i--;) {
    const gr_node *n = &g->nodes[i];
    bool scan = n->op == &gr_op_scan, feeds = i < loss_at && !scan;
    for (int k = 0; k < n->n_out; k++) feeds &= only[gr_out(n, k).id] == YES;
    bool loop = i < loss_at && c->of[i];
    for (int k = 0; k < n->n_in; k++)
      claim(only, n->in[k],
            feeds || (loop && k < ((const gr_scan *)n->attr)->n_seq) ? YES : (uint32_t)MANY);
    c->feeds[i] = feeds;
  }
}

gr_chunk_loops *gr_chunk_loops_find(gr_arena *arena, const gr_graph *g, uint32_t loss_at,
                                    const bool *backward) {
  gr_chunk_loops *c = GR_NEW(arena, gr_chunk_loops, 1);
  *c = (gr_chunk_loops){.of = GR_NEW(arena, gr_chunked_loop *, g->n_nodes + 1),
                        .local = GR_NEW(arena, bool, g->n_values),
                        .feeds = GR_NEW(arena, bool, g->n_nodes + 1)};
  const uint32_t *owner = find_owners(arena, g, backward);
  for (uint32_t i = 0; i < loss_at; i++) find_loop(c, arena, g, i, owner);
  for (uint32_t i = 0; i < g->n_nodes; i++) {  // casts of local stacks, and delays
    const gr_node *n = &g->nodes[i];
    if (n->op != &gr_op_scan && n->n_in && c->local[n->in[0].id]) c->local[n->out.id] = true;
  }
  find_feeds(c, arena, g, loss_at);
  return c;
}

// ---- Emitting -----------------------------------------------------------------------------------

// Some steps of a loop.
typedef struct steps {
  gr_rewrite *rw;
  const gr_chunk_loops *c;
  const gr_node *node;  // the loop
  const gr_scan *s;
  int64_t begin, size;
  const gr_val *carry;  // by carry: its value before them; GR_NONE: zero
  gr_val *operand;      // by leaf of the body that is no carry
  gr_val *last;         // by carry: its value after them
  gr_val *stack;        // by yield
} steps;

static steps steps_of(gr_rewrite *rw, const gr_chunk_loops *c, const gr_node *n) {
  gr_arena *arena = rw->b.g->arena;
  const gr_scan *s = n->attr;
  return (steps){.rw = rw,
                 .c = c,
                 .node = n,
                 .s = s,
                 .size = s->steps,
                 .operand = GR_NEW(arena, gr_val, s->body->n_values),
                 .last = GR_NEW(arena, gr_val, s->n_carry + 1),
                 .stack = GR_NEW(arena, gr_val, s->body->n_results + 1)};
}

static void take_chunk(steps *w, int chunk, int chunks) {
  w->begin = w->s->steps * chunk / chunks;
  w->size = w->s->steps * (chunk + 1) / chunks - w->begin;
}

// The chunk that a loop runs as its i-th.
static int in_order(const gr_scan *s, int i, int chunks) { return s->reverse ? chunks - 1 - i : i; }

// Takes operands from what map[] has, of sequences these steps; local ones are left out.
static void take_operands(steps *w, const gr_val *map) {
  for (uint32_t i = 1; i <= gr_graph_leaves(w->s->body); i++) {
    int k = gr_scan_operand(w->s, i);
    if (gr_scan_is_carry(w->s, i) || w->c->local[w->node->in[k].id]) continue;
    gr_val v = map[w->node->in[k].id];
    bool part = gr_scan_is_seq(w->s, i) && w->size < w->s->steps;
    w->rw->b.loc = w->node->loc, w->rw->b.scope = w->node->scope;
    w->operand[i] = part ? gr_slice(&w->rw->b, v, 0, w->begin, w->size) : v;
  }
}

// Emits the steps, with the yields that are local or with the others.
static void emit_steps(steps *w, bool local) {
  const gr_scan *s = w->s;
  gr_builder *b = &w->rw->b;
  gr_val *map = GR_NEW(b->g->arena, gr_val, s->body->n_values);
  gr_loop l;
  b->loc = w->node->loc, b->scope = w->node->scope;
  gr_loop_open(&l, b, w->size, s->reverse);
  for (uint32_t i = 1; i <= gr_graph_leaves(s->body); i++) {
    const gr_value *v = &s->body->values[i];
    gr_val first = gr_scan_is_carry(s, i) ? w->carry[gr_scan_carry_of(s, i)] : GR_NONE;
    map[i] = gr_scan_is_seq(s, i)      ? gr_loop_seq(&l, w->operand[i])
             : !gr_scan_is_carry(s, i) ? gr_loop_const(&l, w->operand[i])
             : gr_is(first)            ? gr_loop_carry(&l, first, v->name)
                                       : gr_loop_zero(&l, v->type, v->name);
  }
  for (uint32_t i = 0; i < s->body->n_nodes; i++)
    gr_emit_copy(&l.b, s->body, &s->body->nodes[i], map);
  gr_loop_nexts(&l, s, map);
  int *yield = GR_NEW(b->g->arena, int, s->body->n_results + 1);
  for (uint32_t j = 0; j < s->body->n_results; j++)
    if (w->c->local[gr_out(w->node, (int)s->n_carry + (int)j).id] == local)
      yield[j] = 1 + gr_loop_yield(&l, map[s->body->results[j].id]);
  gr_loop_close(&l);
  for (int k = 0; k < s->n_carry; k++) w->last[k] = gr_loop_last(&l, map[gr_scan_carry(s, k).id]);
  for (uint32_t j = 0; j < s->body->n_results; j++)
    w->stack[j] = yield[j] ? gr_loop_stack(&l, yield[j] - 1) : GR_NONE;
}

// Sets map[] for the results of a loop: its last carries, and its yields, of which parts[] has
// those of each chunk.
static void map_results(const steps *w, gr_val *const *parts, int chunks, gr_val *map) {
  gr_val all[MAX_CHUNKS];
  for (int k = 0; k < w->s->n_carry; k++) map[gr_out(w->node, k).id] = w->last[k];
  for (uint32_t j = 0; j < w->s->body->n_results; j++) {
    for (int i = 0; i < chunks; i++) all[i] = parts[i][j];
    if (gr_is(all[0]))
      map[gr_out(w->node, (int)w->s->n_carry + (int)j).id] =
          chunks > 1 ? gr_concat(&w->rw->b, chunks, all, 0) : all[0];
  }
}

// The carries before the first step, as map[] has them.
static void take_first(const steps *w, const gr_val *map, gr_val *carry) {
  for (int k = 0; k < w->s->n_carry; k++) {
    int given = gr_scan_operand(w->s, gr_scan_carry(w->s, k).id);
    carry[k] = given < 0 ? GR_NONE : map[w->node->in[given].id];
  }
}

void gr_chunk_loops_forward(gr_rewrite *rw, const gr_chunk_loops *c, gr_chunked_loop *loop,
                            int chunks, gr_val *map) {
  gr_val *parts[MAX_CHUNKS];
  const gr_scan *s = loop->forward->attr;
  gr_val *carry = GR_NEW(rw->b.g->arena, gr_val, s->n_carry + 1);
  steps w = {0};
  for (int i = 0; i < chunks && !rw->b.err; i++) {
    int chunk = in_order(s, i, chunks);
    const gr_val *before = w.last;
    w = steps_of(rw, c, loop->forward);
    if (i)
      memcpy(carry, before, sizeof *carry * (size_t)s->n_carry);
    else
      take_first(&w, map, carry);
    if (chunks == loop->n)
      memcpy(loop->start + chunk * s->n_carry, carry, sizeof *carry * (size_t)s->n_carry);
    w.carry = carry;
    take_chunk(&w, chunk, chunks);
    take_operands(&w, map);
    emit_steps(&w, false);
    parts[chunk] = w.stack;
  }
  if (!rw->b.err) map_results(&w, parts, chunks, map);
}

// A local stack, of these steps: what they yield, cast or delayed.
static gr_val local_stack(const steps *w, gr_val v) {
  const gr_graph *g = w->rw->old;
  const gr_node *n = &g->nodes[gr_at(g, v)->node];
  if (n == w->node) return w->stack[(int64_t)(v.id - n->out.id) - w->s->n_carry];
  int carry = n->op == &gr_op_delay ? delayed_carry(g, n) : -1;
  gr_val in[2] = {local_stack(w, n->in[0]), carry < 0 ? GR_NONE : w->carry[carry]};
  w->rw->b.loc = n->loc, w->rw->b.scope = n->scope;
  return gr_emit(&w->rw->b, n->op, n->attr, 1 + gr_is(in[1]), in);
}

static void take_local(steps *w, const steps *again) {
  for (uint32_t i = 1; i <= (uint32_t)w->s->n_seq; i++) {
    gr_val v = w->node->in[gr_scan_operand(w->s, i)];
    if (w->c->local[v.id] && !w->rw->b.err) w->operand[i] = local_stack(again, v);
  }
}

void gr_chunk_loops_backward(gr_rewrite *rw, const gr_chunk_loops *c, const gr_chunked_loop *loop,
                             const gr_val *read) {
  gr_val *parts[MAX_CHUNKS];
  const gr_scan *s = loop->backward->attr, *forward = loop->forward->attr;
  gr_val *carry = GR_NEW(rw->b.g->arena, gr_val, s->n_carry + 1);
  steps w = {0};
  for (int i = 0; i < loop->n && !rw->b.err; i++) {
    int chunk = in_order(s, i, loop->n);
    const gr_val *before = w.last;
    steps again = steps_of(rw, c, loop->forward);
    again.carry = loop->start + chunk * forward->n_carry;
    take_chunk(&again, chunk, loop->n);
    take_operands(&again, read);
    emit_steps(&again, true);
    w = steps_of(rw, c, loop->backward);
    if (i)
      memcpy(carry, before, sizeof *carry * (size_t)s->n_carry);
    else
      take_first(&w, read, carry);
    w.carry = carry;
    take_chunk(&w, chunk, loop->n);
    take_operands(&w, read);
    take_local(&w, &again);
    emit_steps(&w, false);
    parts[chunk] = w.stack;
  }
  if (!rw->b.err) map_results(&w, parts, loop->n, rw->map);
}
