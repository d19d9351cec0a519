// counted_read.c - reads a Loop of ONNX, and lists that it fills, as a scan: one whose number of
// steps is known while reading, or decided by a condition of counters alone.
#include <string.h>
#include "ops/loop/scan.h"
#include "ops/loop/scan_read.h"
#include "ops/ops.h"

// Of a loop with a condition: its steps, and the nodes that are computed in them.
enum { MOST = GR_READ_LOOP_MOST, STEPS = 4096, NODES = 32768 };

// ---- By the step --------------------------------------------------------------------------------

// What an index is in each step: known, along axis 0; 0: it is no number of the step alone.
static int steps_of(gr_onnx_reading *r, int v) {
  if (!v || r->err) return 0;
  v = gr_read_unshaped(r, v);
  if (r->vars[v].steps) return r->vars[v].depth == r->depth ? r->vars[v].steps : 0;
  const gr_read_line *l = r->vars[v].line > 0 ? &r->lines[r->vars[v].line - 1] : NULL;
  const gr_op *op = l && l->n_in == 2 && !l->path ? gr_op_find(l->op) : NULL;
  int in[2];
  if (op != &gr_op_add && op != &gr_op_sub && op != &gr_op_mul) return 0;
  for (int k = 0; k < 2; k++) {
    int x = l->in[k];
    in[k] = gr_read_is_known(r, x) && gr_type_count(gr_read_type(r, x)) == 1 ? x : steps_of(r, x);
  }
  return gr_read_emit(r, op, 2, in, 0, NULL);
}

int gr_read_at_step(gr_onnx_reading *r, int x, int ids, int axis) {
  gr_read_loop *m = r->loop;
  int64_t n[GR_READ_CHOICES], sizes[GR_MAX_RANK][GR_READ_CHOICES];
  const int64_t *index[GR_READ_CHOICES];
  int step = m && m->n_seq < MOST ? steps_of(r, ids) : 0, rank = gr_read_type(r, ids)->rank;
  if (!step || r->err || rank > 1) return 0;
  gr_read_find_depths(r, m->first);
  if (r->vars[x].depth >= r->depth) return 0;
  for (int c = 0; c < GR_READ_CHOICES; c++)
    n[c] = gr_type_count(&r->vars[step].type[c]), index[c] = r->vars[step].data[c];
  gr_read_keep(r, x);
  int v = gr_read_move_axis(r, gr_read_elements(r, x, axis, n, index), axis, 0);
  v = v ? gr_read_loop_add(r, m, v, NULL) : 0;
  if (!v || !rank) return v;
  rank = gr_read_type(r, v)->rank + 1;
  gr_read_dims(r, v, 0, axis, sizes), gr_read_same(sizes[axis], 1);
  gr_read_dims(r, v, axis, rank - 1, &sizes[axis + 1]);
  return gr_read_reshape(r, v, rank, sizes);
}

// ---- Conditions ---------------------------------------------------------------------------------

// What decides when a loop ends: nodes of its body, and carries, with their values in each step.
typedef struct ending {
  gr_map need;
  int n_nodes, n_steps;
  const gr_onnx_node **nodes;
  bool *read;                      // which of them
  bool counts[MOST];               // which carries
  int *value[MOST];                // vars, by step
  int64_t steps[GR_READ_CHOICES];  // by choice
} ending;

static bool find_needed(const gr_read_loop *m, ending *e) {
  bool more = false;
  for (int i = e->n_nodes; i-- > 0;) {
    const gr_onnx_node *n = e->nodes[i];
    for (int k = 0; k < n->n_out && !e->read[i]; k++)
      e->read[i] = gr_map_find(&e->need, n->out[k], NULL);
    for (int k = 0; k < n->n_in && e->read[i]; k++) gr_map_put(&e->need, n->in[k], 1);
  }
  for (int k = 0; k < m->n_carry; k++)
    if (!e->counts[k] && gr_map_find(&e->need, m->carry_name[k], NULL)) {
      e->counts[k] = more = true;
      gr_map_put(&e->need, m->next_name[k], 1);
    }
  return more;
}

static bool is_number(gr_onnx_reading *r, int v) {
  int64_t n[1][GR_READ_CHOICES];
  return v && gr_read_numbers(r, v, 1, n) == 1;
}

// Computes a step; false: it is not known, or none is left in any choice.
static bool run_step(gr_onnx_reading *r, const gr_read_loop *m, ending *e, bool *alive) {
  int64_t go[1][GR_READ_CHOICES], step = e->n_steps;
  bool any = false;
  gr_read_bind(r, m->body->inputs->name, gr_read_integers(r, &(gr_type){.dtype = GR_I64}, &step),
               false);
  for (int k = 0; k < m->n_carry; k++)
    if (e->counts[k]) gr_read_bind(r, m->carry_name[k], e->value[k][step], false);
  for (int i = 0; i < e->n_nodes && !r->err; i++)
    if (e->read[i]) r->err = gr_read_node(r, e->nodes[i]);
  if (r->err || gr_read_numbers(r, gr_read_value(r, m->condition), 1, go) != 1) return false;
  for (int k = 0; k < m->n_carry; k++) {
    int v = e->counts[k] ? gr_read_value(r, m->next_name[k]) : 0;
    if (e->counts[k] && !is_number(r, v)) return false;
    e->value[k][step + 1] = v;
  }
  e->n_steps++;
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    e->steps[c] += alive[c];
    alive[c] &= go[0][c] != 0;
    any |= alive[c];
  }
  return any;
}

// Follows the counters until the condition is false in all choices. False: it is not known when.
static bool follow(gr_onnx_reading *r, const gr_read_loop *m, ending *e) {
  bool alive[GR_READ_CHOICES] = {true, true, true, true};
  const gr_onnx_node *node = r->node;
  const uint64_t asked = r->asked;
  for (const gr_onnx_node *n = m->body->nodes; n; n = n->next) e->nodes[e->n_nodes++] = n;
  gr_map_put(&e->need, m->condition, 1);
  while (find_needed(m, e)) continue;
  int n_read = 0;
  for (int i = 0; i < e->n_nodes; i++) {
    n_read += e->read[i];
    for (int k = 0; k < e->nodes[i]->n_attrs && e->read[i]; k++)
      if (e->nodes[i]->attr[k].kind == GR_ONNX_GRAPH) return false;
  }
  for (int k = 0; k < m->n_carry; k++) {
    if (e->counts[k] && !is_number(r, m->init[k])) return false;
    e->value[k] = GR_NEW(r->arena, int, STEPS + 2);
    e->value[k][0] = m->init[k];
  }
  bool left = true;
  while (left && e->n_steps < STEPS && e->n_steps * n_read < NODES) left = run_step(r, m, e, alive);
  for (int c = 0; c < GR_READ_CHOICES; c++) left |= alive[c];
  if (r->err) gr_status_drop(r->err), r->err = NULL, left = true;
  r->node = node, r->op = &gr_op_scan, r->asked = asked;
  return !left;
}

// A counter as a sequence, and what it is in the end.
static void add_counter(gr_onnx_reading *r, gr_read_loop *m, const ending *e, int k) {
  const gr_read_var *v = &r->vars[m->init[k]];
  gr_type all[GR_READ_CHOICES], one[GR_READ_CHOICES];
  const void *data[GR_READ_CHOICES], *end[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    int64_t *to = GR_NEW(r->arena, int64_t, e->steps[c] + 1);
    one[c] = v->type[c], all[c] = gr_type_stack(&v->type[c], e->steps[c]);
    for (int64_t i = 0; i <= e->steps[c]; i++)
      to[i] = *(const int64_t *)r->vars[e->value[k][i]].data[c];
    data[c] = to, end[c] = to + e->steps[c];
  }
  m->seq_name[m->n_seq] = m->carry_name[k];
  m->seq[m->n_seq] = gr_read_known_by_choice(r, all, data);
  m->init[k] = gr_read_known_by_choice(r, one, end), m->counter[k] = ++m->n_seq;
}

// The number of steps by choice: the first operand, unless a condition ends the loop before.
static void find_steps(gr_onnx_reading *r, gr_read_loop *m, int64_t (*steps)[GR_READ_CHOICES]) {
  ending *e = GR_NEW(r->arena, ending, 1);
  bool fixed = gr_read_numbers(r, gr_read_in(r, 0, false), 1, steps) == 1;
  for (int c = 0; c < GR_READ_CHOICES && fixed; c++) fixed = steps[0][c] <= INT32_MAX;
  if (r->err || fixed) return;
  e->need = gr_map_make(r->arena),
  e->nodes = GR_NEW(r->arena, const gr_onnx_node *, m->body->n_nodes + 1);
  e->read = GR_NEW(r->arena, bool, m->body->n_nodes + 1);
  if (!follow(r, m, e)) {
    gr_read_refuse(r,
                   "has a number of steps that is not known: only one that sizes and constants "
                   "decide, or a counter within %d steps, is read",
                   STEPS);
    return;
  }
  m->condition = NULL;
  memcpy(steps[0], e->steps, sizeof e->steps);
  for (int k = 0; k < m->n_carry && m->n_seq < MOST; k++)
    if (e->counts[k]) add_counter(r, m, e, k);
}

// ---- Loop ---------------------------------------------------------------------------------------

static bool is_empty_list(const gr_onnx_reading *r, const char *name) {
  return *name && gr_read_find(r, gr_read_list_name((gr_onnx_reading *)r, name));
}

void gr_loop_read(gr_onnx_reading *r) {
  gr_read_loop *m = GR_NEW(r->arena, gr_read_loop, 1);
  int64_t steps[1][GR_READ_CHOICES], one = 1;
  double truth = 1;
  if (!gr_read_loop_open(r, m, r->node->n_in - 2, 0, 2)) return;
  int on = gr_read_in(r, 1, false);
  if (on && (!gr_read_scalar(r, on, &truth) || truth == 0))
    gr_read_refuse(r, "may have no step: its first condition is not known to be true");
  for (int k = 0; k < m->n_carry && !r->err; k++) {
    m->list[k] = is_empty_list(r, r->node->in[k + 2]);
    m->init[k] = m->list[k] ? 0 : gr_read_in(r, k + 2, true);
  }
  const gr_onnx_value *step = m->body->inputs, *condition = step->next;
  gr_read_bind(r, condition->name, gr_read_integers(r, &(gr_type){.dtype = GR_I64}, &one), false);
  if (!r->err) find_steps(r, m, steps);
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++)
    if (steps[0][c] < 1) gr_read_refuse(r, "has no step");
  if (r->err) return;
  m->seq[m->n_seq] =
      gr_read_emit(r, &gr_op_arange, 0, NULL, 2,
                   (gr_read_setting[]){GR_READ_NUMBER("size", steps), {"dtype", "i64"}});
  m->seq_name[m->n_seq++] = step->name;
  if (!r->err) gr_read_loop_as_scan(r, m);
}

// ---- Lists --------------------------------------------------------------------------------------

void gr_sequence_empty_read(gr_onnx_reading *r) {
  gr_read_int(r, "dtype", 1);
  if (r->node->n_out == 1) gr_read_bind(r, gr_read_list_name(r, r->node->out[0]), 0, false);
}

void gr_sequence_insert_read(gr_onnx_reading *r) {
  const gr_read_loop *m = r->loop;
  int k = 0, n = m && r->node->n_in == 2 && r->node->n_out == 1 ? m->n_carry : 0;
  while (k < n && !(m->list[k] && !strcmp(m->carry_name[k], r->node->in[0]) &&
                    !strcmp(gr_read_loop_original(m, m->next_name[k]), r->node->out[0])))
    k++;
  if (k == n)
    gr_read_refuse(r, "does not append the one element of a step to a list that a Loop fills");
  gr_read_out(r, 0, gr_read_in(r, 1, true), false);
}

// The elements of such a list side by side, along an axis that they have or a new one.
void gr_list_concat_read(gr_onnx_reading *r) {
  int64_t axis = gr_read_int(r, "axis", 0), sizes[GR_MAX_RANK][GR_READ_CHOICES];
  bool is_new = gr_read_int(r, "new_axis", 0);
  const gr_read_binding *b =
      r->node->n_in ? gr_read_find(r, gr_read_list_name(r, r->node->in[0])) : NULL;
  if (!b || !b->var) gr_read_refuse(r, "takes a list that no Loop fills");
  if (r->err) return;
  int v = b->var, rank = gr_read_type(r, v)->rank - !is_new;
  int to = gr_read_axis(r, axis, rank);
  v = r->err ? 0 : gr_read_move_axis(r, v, 0, to);
  if (v && !is_new) {
    gr_read_dims(r, v, 0, to, sizes), gr_read_count(r, v, to, to + 2, sizes[to]);
    gr_read_dims(r, v, to + 2, rank + 1, &sizes[to + 1]);
    v = gr_read_reshape(r, v, rank, sizes);
  }
  gr_read_out(r, 0, v, false);
}
