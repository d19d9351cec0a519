// join_parts.c - for CPUs: a sum of values that zeros surround, and that lie side by side, as one
// concat. Such is the gradient of a value that slices take apart, as gates of a recurrent layer do.
//
//   before                               after
//   a, b = slices of x                   a, b = slices of x
//   dx = da padded + db padded           dx = da and db, side by side
//
// Each padded value would be as large as x, and be written and read once more. Where something is
// left out between the parts, or beside them, runs of them are put together and padded. Sums of
// some of the parts that nothing reads any more are left for dce.
#include "compiler/pass.h"
#include "compiler/passes/passes.h"

typedef struct part {  // a value, and where it begins along the axis
  gr_val v;
  int64_t begin, end;
} part;
typedef struct parts {
  int axis, n;
  part of[GR_MAX_ARGS];  // by `begin`
} parts;

// The axis along which a node pads; -1: it does not.
static int padded_axis(const gr_graph *g, const gr_node *n) {
  int axis = n->op == &gr_op_pad ? gr_at(g, n->out)->type.rank - 1 : -1;
  while (axis >= 0 && gr_slice_begin(n, axis) < 0) axis--;
  return axis;
}

static bool insert(parts *to, part p) {
  int i = to->n;
  for (; i && to->of[i - 1].begin >= p.end; i--) to->of[i] = to->of[i - 1];
  if (i && to->of[i - 1].end > p.begin) return false;
  to->of[i] = p, to->n++;
  return true;
}

// Of how many parts each value is the sum; 0: of none, or of others, or of too many.
static int *count_parts(gr_arena *arena, const gr_graph *g) {
  int *count = GR_NEW(arena, int, g->n_values);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    if (padded_axis(g, n) >= 0) count[n->out.id] = 1;
    if (n->op != &gr_op_add) continue;
    int a = count[n->in[0].id], b = count[n->in[1].id];
    count[n->out.id] = a && b && a + b <= GR_MAX_ARGS ? a + b : 0;
  }
  return count;
}

// The parts of a value that has some; false: they overlap, or are of several axes, and are added in
// their order.
static bool find_parts(const gr_graph *g, gr_val v, parts *to) {
  const gr_node *n = gr_maker(g, v);
  if (n->op == &gr_op_add) return find_parts(g, n->in[0], to) && find_parts(g, n->in[1], to);
  int axis = padded_axis(g, n);
  if (to->n && axis != to->axis) return false;
  int64_t begin = gr_slice_begin(n, axis);
  to->axis = axis;
  return insert(to, (part){n->in[0], begin, begin + gr_at(g, n->in[0])->type.dim[axis]});
}

// The number of parts from i on that lie side by side.
static int run_from(const parts *p, int i) {
  int n = 1;
  while (i + n < p->n && p->of[i + n].begin == p->of[i + n - 1].end) n++;
  return n;
}

static bool any_run(const parts *p) {
  for (int i = 0; i < p->n; i++)
    if (run_from(p, i) > 1) return true;
  return false;
}

// Whether n is a sum of parts of which some lie side by side.
static bool joins(const gr_graph *g, const int *count, const gr_node *n, parts *p) {
  p->n = 0;
  return count[n->out.id] > 1 && find_parts(g, n->out, p) && any_run(p);
}

static gr_val joined(gr_builder *b, const parts *p, int64_t size, const gr_val *map) {
  gr_val sum = GR_NONE, in[GR_MAX_ARGS];
  for (int i = 0, n; i < p->n && !b->err; i += n) {
    n = run_from(p, i);
    for (int k = 0; k < n; k++) in[k] = map[p->of[i + k].v.id];
    gr_val run = n > 1 ? gr_concat(b, n, in, p->axis) : in[0];
    if (p->of[i].begin || p->of[i + n - 1].end < size)
      run = gr_pad(b, run, p->axis, p->of[i].begin, size);
    sum = gr_is(sum) ? gr_add(b, sum, run) : run;
  }
  return sum;
}

static void write_body(gr_loop *, const gr_scan *, const gr_val *operands, gr_val *map);

static void write_node(gr_builder *b, const gr_graph *of, const int *count, const gr_node *n,
                       gr_val *map) {
  parts p;
  if (n->op == &gr_op_scan) {
    gr_emit_loop(b, of, n, write_body, map);
  } else if (joins(of, count, n, &p)) {
    b->loc = n->loc, b->scope = n->scope;
    map[n->out.id] = joined(b, &p, gr_at(of, n->out)->type.dim[p.axis], map);
  } else {
    gr_emit_placed(b, of, n, map);
  }
}

static void write_body(gr_loop *l, const gr_scan *s, const gr_val *operands, gr_val *map) {
  const int *count = count_parts(l->b.g->tables, s->body);
  (void)operands;
  for (uint32_t i = 0; i < s->body->n_nodes; i++)
    write_node(&l->b, s->body, count, &s->body->nodes[i], map);
}

static bool any_joins(gr_arena *arena, const gr_graph *g, const int *count) {
  parts p;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    const gr_graph *body = n->op == &gr_op_scan ? ((const gr_scan *)n->attr)->body : NULL;
    if (joins(g, count, n, &p)) return true;
    if (body && any_joins(arena, body, count_parts(arena, body))) return true;
  }
  return false;
}

gr_status gr_pass_join_parts(gr_rewrite *rw) {
  const int *count = count_parts(rw->b.g->tables, rw->old);
  if (!any_joins(rw->b.g->tables, rw->old, count)) return gr_keep(rw);
  gr_copy_leaves(rw);
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++)
    write_node(&rw->b, rw->old, count, &rw->old->nodes[i], rw->map);
  gr_copy_links(rw);
  return GR_OK;
}
