// split_columns.c - for GPUs: loops whose steps take the columns of a product apart, such as those
// of an LSTM, whose gates are columns of one product; and their gradients, which put columns
// together before a product.
//
//   before                               after
//   for t:  g = x_t + h U                for t:  a = x1_t + h U1           (U1, U2: columns of U,
//           a, b = slices of g                   b = x2_t + h U2            x1, x2: of x)
//           h = f(a, b)                          h = f(a, b)
//   for t:  z = a padded + b padded      for t:  h = a U1 + b U2           (U1, U2: rows of U)
//           h = z U                      z = a, b side by side             (of all steps)
//   yields z
//
// Then all values of a step have columns of one size, and the kernel of the loop divides them over
// its blocks so that a block makes all that it reads of elementwise nodes (ops/loop/scan_gpu.c). On
// CPUs one product of many columns is faster than several.
//
// The slices of what is the same in all steps, and of sequences, are taken where these are made,
// also outside of the loops around the loop.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"
#include "ops/kernels/fused.h"

// LEAST: elements of a matrix. Loops of smaller ones are kernels of one block, which has all
// columns.
enum { PARTS = 16, PIECES = 64, LEAST = 8192, MAX_LEAVES = GR_MAX_ARGS - 1 };

typedef struct part {  // columns of a value of the body, or such as it is put together from
  gr_val v;
  int64_t begin, size;
} part;
typedef struct piece {  // columns, and the value of the new body that has them
  part of;
  gr_val now;
} piece;

typedef struct split split;
struct split {
  split *around;  // that of the loop around this one, or NULL
  gr_loop *loop;
  const gr_scan *s;
  const gr_graph *g;
  gr_val *map;
  bool kernel;  // all nodes are such as the kernel of all blocks takes, products among them
  bool *whole;  // by value: something reads it that is neither a slice nor can be of its columns
  bool *apart;  // by value: its columns are made for themselves
  bool *multiplied;  // by value: it is put together from parts, and read by products alone, or
                     // nothing
  piece pieces[PIECES];
  int n_pieces;
};

static const gr_type *type_of(const split *p, gr_val v) { return &gr_at(p->g, v)->type; }

static bool is_constant(const split *p, gr_val v) {
  return gr_at(p->g, v)->role == GR_INPUT && !gr_scan_is_seq(p->s, v.id);
}

// ---- Deciding -----------------------------------------------------------------------------------

// The axis that makes the columns of the constant matrix that a node multiplies by; -1: there is no
// such matrix, or a small one.
static int columns_of(const split *p, const gr_node *n) {
  int axis = gr_matmul_columns(p->g, n);
  bool large = axis >= 0 && gr_type_count(type_of(p, n->in[1])) >= LEAST;
  return large && is_constant(p, n->in[1]) ? axis : -1;
}

// Whether some columns of a node's result are those of its operands.
static bool is_columnwise(const split *p, const gr_node *n) {
  const gr_type *out = type_of(p, n->out);
  bool fits = n->n_out == 1 && out->rank == 2 && n->op->tile && !n->op->random;
  for (int k = 0; k < n->n_in; k++)
    fits &=
        gr_fused_is_like(type_of(p, n->in[k]), out) || gr_fused_is_row(type_of(p, n->in[k]), out);
  return fits;
}

static bool is_slice(const split *p, const gr_node *n) {
  return n->op == &gr_op_slice && type_of(p, n->out)->rank == 2 && gr_slice_begin(n, 1) >= 0;
}

static void find_whole(split *p) {
  const gr_graph *g = p->g;
  for (uint32_t i = 1; i < g->n_values; i++) p->whole[g->values[i].next.id] = true;
  for (uint32_t j = 0; j < g->n_results; j++) p->whole[g->results[j].id] = true;
  for (uint32_t i = g->n_nodes; i--;) {
    const gr_node *n = &g->nodes[i];
    bool apart = is_slice(p, n) || (!p->whole[n->out.id] && is_columnwise(p, n));
    for (int k = 0; k < n->n_in && !apart; k++) p->whole[n->in[k].id] = true;
  }
}

// Whether the loop may become a kernel of all blocks once columns are apart.
static bool may_be_kernel(const split *p) {
  bool multiplies = false, takes = true;
  for (uint32_t i = 0; i < p->g->n_nodes; i++) {
    const gr_node *n = &p->g->nodes[i];
    multiplies |= columns_of(p, n) >= 0;
    takes &= n->op->tile || n->op == &gr_op_matmul || n->op == &gr_op_broadcast || is_slice(p, n) ||
             n->op == &gr_op_pad;
  }
  return multiplies && takes;
}

// What columns can be made of without the others: of a product, and by elementwise nodes and slices
// of one; of a sequence, of which a copy is made, where the loop becomes a kernel by that.
static void find_apart(split *p) {
  p->kernel = may_be_kernel(p);
  for (uint32_t i = 1; i <= (uint32_t)p->s->n_seq; i++)
    p->apart[i] = p->kernel && !p->whole[i] && p->g->values[i].type.rank == 2;
  for (uint32_t i = 0; i < p->g->n_nodes; i++) {
    const gr_node *n = &p->g->nodes[i];
    bool apart = columns_of(p, n) >= 0, columnwise = is_columnwise(p, n) || is_slice(p, n);
    for (int k = 0; k < n->n_in; k++) apart |= columnwise && p->apart[n->in[k].id];
    p->apart[n->out.id] = apart && !p->whole[n->out.id];
  }
}

// The padded parts of which a value is the sum; false: it is no such sum.
static bool find_parts(const split *p, gr_val v, part *to, int *n_parts) {
  const gr_node *n = gr_maker(p->g, v);
  int64_t begin = n && n->op == &gr_op_pad ? gr_slice_begin(n, 1) : -1;
  if (n && n->op == &gr_op_add)
    return find_parts(p, n->in[0], to, n_parts) && find_parts(p, n->in[1], to, n_parts);
  if (begin < 0 || type_of(p, v)->rank != 2 || *n_parts == PARTS) return false;
  to[(*n_parts)++] = (part){n->in[0], begin, type_of(p, n->in[0])->dim[1]};
  return true;
}

// The values side by side that a value is; 0: it is none.
static int parts_of(const split *p, gr_val v, part *to) {
  part found[PARTS];
  int n_found = 0, n = 0;
  int64_t end = 0;
  if (!gr_maker(p->g, v) || gr_maker(p->g, v)->op != &gr_op_add ||
      !find_parts(p, v, found, &n_found))
    return 0;
  for (int i = 0; i < n_found; i++)
    for (int k = 0; k < n_found; k++)
      if (n < n_found && found[k].begin == end) to[n++] = found[k], end += found[k].size;
  return n == n_found && end == type_of(p, v)->dim[1] ? n : 0;
}

// What a value is, or what it is a cast of.
static gr_val uncast(const split *p, gr_val v) {
  const gr_node *n = gr_maker(p->g, v);
  return n && n->op == &gr_op_cast ? n->in[0] : v;
}

// Sums of products are not rounded between them.
static bool multiplies_parts(const split *p, const gr_node *n, part *to) {
  return columns_of(p, n) >= 0 && !gr_is_narrow(type_of(p, n->out)->dtype) &&
         parts_of(p, uncast(p, n->in[0]), to);
}

static void find_multiplied(split *p) {
  const gr_graph *g = p->g;
  part parts[PARTS];
  bool room = PARTS * (p->s->n_carry + g->n_results) <= GR_MAX_ARGS;  // for parts as yields
  for (uint32_t i = 0; i < g->n_nodes && room; i++)
    if (multiplies_parts(p, &g->nodes[i], parts))
      p->multiplied[uncast(p, g->nodes[i].in[0]).id] = true;
  for (uint32_t j = 0; j < g->n_results && room && p->kernel; j++)
    p->multiplied[g->results[j].id] |= parts_of(p, g->results[j], parts) > 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    bool fits = n->op == &gr_op_cast || multiplies_parts(p, n, parts);
    for (int k = 0; k < n->n_in; k++)
      if (k || !fits) p->multiplied[uncast(p, n->in[k]).id] = p->multiplied[n->in[k].id] = false;
  }
  for (uint32_t i = 1; i < g->n_values; i++)
    p->multiplied[uncast(p, g->values[i].next).id] = p->multiplied[g->values[i].next.id] = false;
  for (uint32_t j = 0; j < g->n_results; j++)
    if (uncast(p, g->results[j]).id != g->results[j].id)
      p->multiplied[uncast(p, g->results[j]).id] = false;
}

// ---- Emitting -----------------------------------------------------------------------------------

// Indices of an axis of a value of a body, or, without `p`, of the graph around all loops: taken
// outside of the loops that it is an operand of, while they have room for more operands.
static gr_val take(split *p, gr_builder *b, gr_val v, int axis, const part *of) {
  for (int i = 0; p && i < p->loop->n_leaves && p->loop->n_leaves < MAX_LEAVES; i++) {
    const gr_loop_leaf *f = &p->loop->leaves[i];
    bool seq = f->kind == GR_LOOP_SEQ;
    if (f->leaf.id != v.id || f->kind == GR_LOOP_CARRY) continue;
    gr_val outside = take(p->around, p->loop->outside, f->operand, axis + seq, of);
    return seq ? gr_loop_seq(p->loop, outside) : gr_loop_const(p->loop, outside);
  }
  return gr_slice(b, v, axis, of->begin, of->size);
}

static gr_val columns(split *p, part of);

static gr_val make_columns(split *p, part of) {
  const gr_node *n = gr_maker(p->g, of.v);
  gr_builder *b = &p->loop->b;
  gr_val in[GR_MAX_ARGS];
  if (!n || !p->apart[of.v.id]) return take(p, b, p->map[of.v.id], type_of(p, of.v)->rank - 1, &of);
  if (is_slice(p, n)) return columns(p, (part){n->in[0], of.begin + gr_slice_begin(n, 1), of.size});
  if (columns_of(p, n) >= 0)
    return GR_EMIT(b, n->op, n->attr, p->map[n->in[0].id],
                   take(p, b, p->map[n->in[1].id], columns_of(p, n), &of));
  for (int k = 0; k < n->n_in; k++) in[k] = columns(p, (part){n->in[k], of.begin, of.size});
  return gr_emit(b, n->op, n->attr, n->n_in, in);
}

// Columns of a value, made once.
static gr_val columns(split *p, part of) {
  for (int i = 0; i < p->n_pieces; i++) {
    const part *a = &p->pieces[i].of;
    if (a->v.id == of.v.id && a->begin == of.begin && a->size == of.size) return p->pieces[i].now;
  }
  gr_val now = make_columns(p, of);
  if (p->n_pieces < PIECES) p->pieces[p->n_pieces++] = (piece){of, now};
  return now;
}

static gr_val multiply_parts(split *p, const gr_node *n) {
  part parts[PARTS];
  int n_parts = parts_of(p, uncast(p, n->in[0]), parts), axis = 1 - columns_of(p, n);
  gr_dtype dtype = type_of(p, n->in[0])->dtype;
  gr_builder *b = &p->loop->b;
  gr_val sum = GR_NONE;
  for (int i = 0; i < n_parts; i++) {
    gr_val z = GR_EMIT(b, n->op, n->attr, gr_cast(b, p->map[parts[i].v.id], dtype),
                       take(p, b, p->map[n->in[1].id], axis, &parts[i]));
    sum = i ? gr_add(b, sum, z) : z;
  }
  return sum;
}

static void split_loop(split *around, gr_builder *, const gr_node *, gr_val *map);

static void write_node(split *p, const gr_node *n) {
  gr_builder *b = &p->loop->b, saved = *b;
  gr_val out = GR_NONE;
  if (n->op == &gr_op_scan) {
    split_loop(p, b, n, p->map);
    return;
  }
  b->loc = n->loc, b->scope = n->scope;
  if (is_slice(p, n) && p->apart[n->in[0].id])
    out = columns(p, (part){n->in[0], gr_slice_begin(n, 1), type_of(p, n->out)->dim[1]});
  else if (columns_of(p, n) >= 0 && p->multiplied[uncast(p, n->in[0]).id])
    out = multiply_parts(p, n);
  b->loc = saved.loc, b->scope = saved.scope;
  if (gr_is(out))
    p->map[n->out.id] = out;
  else
    gr_emit_copy(b, p->g, n, p->map);
}

// Of each yield the index in the new loop; parts are yields for themselves.
static void write_yields(split *p, int *yield) {
  part parts[PARTS];
  for (uint32_t j = 0; j < p->g->n_results; j++) {
    gr_val v = p->g->results[j];
    int n = p->multiplied[v.id] ? parts_of(p, v, parts) : 0;
    for (int i = 0; i < (n ? n : 1); i++) {
      int index = gr_loop_yield(p->loop, p->map[n ? parts[i].v.id : v.id]);
      if (!i) yield[j] = index;
    }
  }
}

static gr_val stack_of(split *p, gr_val v, int yield) {
  part parts[PARTS];
  gr_val stack[PARTS];
  int n = p->multiplied[v.id] ? parts_of(p, v, parts) : 0;
  if (!n) return gr_loop_stack(p->loop, yield);
  for (int i = 0; i < n; i++) stack[i] = gr_loop_stack(p->loop, yield + i);
  return gr_concat(p->loop->outside, n, stack, 2);
}

static void split_loop(split *around, gr_builder *b, const gr_node *n, gr_val *map) {
  const gr_scan *s = n->attr;
  gr_arena *a = b->g->arena;
  gr_loop l;
  gr_val in[GR_MAX_ARGS], *inside = GR_NEW(a, gr_val, s->body->n_values);
  int *yield = GR_NEW(a, int, s->body->n_results + 1);
  split p = {.around = around, .loop = &l, .s = s, .g = s->body, .map = inside};
  p.whole = GR_NEW(a, bool, s->body->n_values), p.apart = GR_NEW(a, bool, s->body->n_values);
  p.multiplied = GR_NEW(a, bool, s->body->n_values);
  b->loc = n->loc, b->scope = n->scope;
  find_whole(&p), find_apart(&p), find_multiplied(&p);
  for (int k = 0; k < n->n_in; k++) in[k] = map[n->in[k].id];
  gr_loop_leaves(&l, b, s, in, inside);
  for (uint32_t i = 0; i < s->body->n_nodes; i++) write_node(&p, &s->body->nodes[i]);
  gr_loop_nexts(&l, s, inside);
  write_yields(&p, yield);
  gr_loop_close(&l);
  for (int k = 0; k < s->n_carry; k++)
    map[gr_out(n, k).id] = gr_loop_last(&l, inside[gr_scan_carry(s, k).id]);
  for (uint32_t j = 0; j < s->body->n_results; j++)
    map[gr_out(n, (int)s->n_carry + (int)j).id] = stack_of(&p, s->body->results[j], yield[j]);
}

gr_status gr_pass_split_columns(gr_rewrite *rw) {
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++)
    if (rw->old->nodes[i].op == &gr_op_scan)
      split_loop(NULL, &rw->b, &rw->old->nodes[i], rw->map);
    else
      gr_copy_node(rw, &rw->old->nodes[i]);
  gr_copy_links(rw);
  return GR_OK;
}
