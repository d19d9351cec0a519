// scan_read.c - reads a Scan of ONNX as a scan of the graph language. Nodes of its body become
// lines as all others do; those that are the same in each step are before the scan.
#include "ops/loop/scan_read.h"
#include <string.h>
#include "ops/loop/scan.h"
#include "ops/ops.h"

enum { MOST = GR_READ_LOOP_MOST, YIELDS = GR_READ_LOOP_YIELDS };
typedef gr_read_loop loop;

// ---- Leaves -------------------------------------------------------------------------------------

int gr_read_move_axis(gr_onnx_reading *r, int v, int64_t axis, int to) {
  int64_t perm[GR_MAX_RANK];
  int rank = gr_read_type(r, v)->rank;
  for (int d = 0, next = 0; d < rank; d++) {
    if (next == axis) next++;
    perm[d] = d == to ? axis : next++;
  }
  return gr_read_transpose(r, v, perm);
}

static int add_leaf(gr_onnx_reading *r, int of, bool slice, const char *name) {
  gr_type type[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    type[c] = r->vars[of].type[c];
    if (type[c].dtype == GR_I64) type[c].dtype = GR_I32;
    if (!slice) continue;
    type[c].rank--;
    memmove(type[c].dim, type[c].dim + 1, sizeof *type[c].dim * (GR_MAX_RANK - 1));
  }
  int v = gr_read_var_add(r, type);
  r->vars[v].depth = r->depth, r->vars[v].name = name;
  if (slice && gr_read_is_known(r, of) && !r->vars[of].weight) r->vars[v].steps = of;
  return v;
}

int gr_read_loop_add(gr_onnx_reading *r, gr_read_loop *m, int seq, const char *name) {
  m->seq[m->n_seq] = seq;
  return m->slice[m->n_seq++] = add_leaf(r, seq, true, name);
}

const char *gr_read_list_name(gr_onnx_reading *r, const char *name) {
  return gr_arena_printf(r->arena, "%s[]", name);
}

const char *gr_read_loop_original(const loop *m, const char *name) {
  const gr_onnx_node *n = m->body->nodes;
  for (int steps = 0; n && steps < MOST; steps++) {
    for (n = m->body->nodes; n; n = n->next)
      if (n->n_out == 1 && n->n_in == 1 && !strcmp(n->op, "Identity") && !strcmp(n->out[0], name))
        break;
    if (n) name = n->in[0];
  }
  return name;
}

// Opens the body: a carry that never changes is what it starts as.
static void bind_leaves(gr_onnx_reading *r, loop *m) {
  m->first = r->n_lines, r->depth++;
  for (int i = 0; i < m->n_seq; i++) {
    m->slice[i] = add_leaf(r, m->seq[i], true, m->seq_name[i]);
    gr_read_bind(r, m->seq_name[i], m->slice[i], false);
  }
  for (int k = 0; k < m->n_carry; k++) {
    bool stays = m->list[k] || m->counter[k] ||
                 !strcmp(gr_read_loop_original(m, m->next_name[k]), m->carry_name[k]);
    int v = m->state[k] = stays ? 0 : add_leaf(r, m->init[k], false, m->carry_name[k]);
    int given = v ? v : m->counter[k] ? m->slice[m->counter[k] - 1] : m->init[k];
    if (!m->list[k]) gr_read_bind(r, m->carry_name[k], given, false);
  }
}

// ---- The body -----------------------------------------------------------------------------------

static int read_output(gr_onnx_reading *r, const char *name) {
  int v = gr_read_value(r, name);
  if (!v) gr_read_refuse(r, "has a body that does not give its result '%s'", name);
  return v;
}

// The next value is one that the body computes.
static int computed(gr_onnx_reading *r, const loop *m, int v) {
  int64_t one = 1;
  bool leaf = false, is_float = gr_dtypes[gr_read_type(r, v)->dtype].is_float;
  for (int i = 0; i < m->n_seq; i++) leaf |= m->slice[i] == v;
  for (int k = 0; k < m->n_carry; k++) leaf |= m->state[k] == v;
  if (!leaf) return v;
  return GR_READ_TWO(
      r, &gr_op_mul, v,
      is_float ? gr_read_number(r, 1) : gr_read_integers(r, &(gr_type){.dtype = GR_I64}, &one));
}

static void read_next(gr_onnx_reading *r, loop *m, int k) {
  const int leaf = m->state[k];
  char first[96], later[96];
  int v = leaf ? read_output(r, m->next_name[k]) : 0;
  if (!v) return;
  v = computed(r, m, gr_read_cast(r, v, gr_dtypes[gr_read_type(r, leaf)->dtype].is_float));
  for (int c = 0; c < GR_READ_CHOICES && !r->err; c++) {
    gr_type a = r->vars[leaf].type[c], b = r->vars[v].type[c];
    b.dtype = a.dtype;
    if (!gr_type_same(&a, &b))
      gr_read_refuse(r,
                     "carries '%s' from step to step, which starts as %s and is %s after the first "
                     "one; what a scan carries keeps its shape",
                     m->carry_name[k], gr_type_text(&a, first), gr_type_text(&b, later));
  }
  m->next[k] = v;
}

// No file is known that draws in a loop, to compare with.
static void refuse_random(gr_onnx_reading *r, const loop *m) {
  for (int i = m->first; i < r->n_lines; i++) {
    const gr_op *op = gr_op_find(r->lines[i].op);
    if (op && op->random)
      gr_read_refuse(r, "draws random numbers in each step ('%s'), which is not read",
                     r->lines[i].node->name);
  }
}

static void read_yield(gr_onnx_reading *r, loop *m, const char *name, int result, int64_t axis) {
  if (r->err || !gr_read_needs(r, result)) return;
  if (m->n_yields == YIELDS) gr_read_refuse(r, "gives the steps of more than %d values", YIELDS);
  int v = r->err ? 0 : read_output(r, name);
  if (v && gr_read_type(r, v)->rank == GR_MAX_RANK)
    gr_read_refuse(r, "gives steps of too many axes");
  if (r->err) return;
  m->yield_axis[m->n_yields] = gr_read_axis(r, axis, gr_read_type(r, v)->rank + 1);
  m->yield[m->n_yields] = v, m->result[m->n_yields++] = result;
}

static void check_condition(gr_onnx_reading *r, const loop *m) {
  double truth;
  if (r->err || !m->condition) return;
  if (gr_read_scalar(r, read_output(r, m->condition), &truth) && truth != 0) return;
  gr_read_refuse(r,
                 "ends by a condition that its steps compute; a Loop of a number of steps that is "
                 "known, or that a counter decides, is read");
}

static void end_body(gr_onnx_reading *r, const loop *m) {
  r->depth--;
  for (const gr_onnx_tensor *t = m->body->tensors; t; t = t->next) gr_read_unbind(r, t->name);
  for (const gr_onnx_value *v = m->body->inputs; v; v = v->next) gr_read_unbind(r, v->name);
  for (const gr_onnx_node *n = m->body->nodes; n; n = n->next)
    for (int k = 0; k < n->n_out; k++) {
      gr_read_unbind(r, n->out[k]);
      gr_read_unbind(r, gr_read_list_name(r, n->out[k]));
    }
}

static void read_body(gr_onnx_reading *r, loop *m) {
  gr_read_loop *outer = r->loop;
  r->loop = m;
  bind_leaves(r, m);
  gr_read_nodes(r, m->body);
  check_condition(r, m);
  for (int k = 0; k < m->n_carry && !r->err; k++) {
    read_next(r, m, k);
    if (m->list[k]) read_yield(r, m, m->next_name[k], k, 0);
  }
  for (int k = 0; k < m->n_yield; k++)
    read_yield(r, m, m->yield_name[k], m->n_carry + k, m->out_axis[k]);
  gr_read_find_depths(r, m->first);
  refuse_random(r, m);
  r->loop = outer;
  end_body(r, m);
}

// ---- The scan -----------------------------------------------------------------------------------

static bool is_turned(const gr_onnx_reading *r, int v) {
  const gr_read_line *l = r->vars[v].line > 0 ? &r->lines[r->vars[v].line - 1] : NULL;
  return l && !strcmp(l->op, "transpose") && l->setting[0].sizes[0][0] == 1 &&
         l->setting[0].sizes[1][0] == 0;
}

// Leaves out sequences that no next value and no yield is made of, but for one.
static void drop_unread(gr_onnx_reading *r, loop *m) {
  bool *need = GR_NEW(r->arena, bool, r->n_vars + 1);
  int n = 0;
  for (int k = 0; k < m->n_carry; k++) need[m->next[k]] = true;
  for (int i = 0; i < m->n_yields; i++) need[m->yield[i]] = true;
  for (int j = r->n_lines; j-- > m->first;) {
    const gr_read_line *l = &r->lines[j];
    bool any = false;
    for (int k = 0; k < l->n_out; k++) any |= need[l->out + k];
    for (int k = 0; k < l->n_in && any; k++) need[l->in[k]] = true;
  }
  for (int i = 0; i < m->n_seq; i++)
    if (need[m->slice[i]]) m->seq[n] = m->seq[i], m->slice[n++] = m->slice[i];
  m->n_seq = n ? n : 1;
}

// Axis 1, of [n, t, c], if a sequence is turned from there and all others have it.
static int find_axis(const gr_onnx_reading *r, const loop *m) {
  bool turned = false, all = true;
  for (int i = 0; i < m->n_seq; i++) {
    turned |= is_turned(r, m->seq[i]);
    all &= gr_read_type(r, m->seq[i])->rank > 1;
  }
  for (int i = 0; i < m->n_yields; i++) all &= gr_read_type(r, m->yield[i])->rank > 0;
  return turned && all;
}

// A sequence, along that axis. In the body its name is a slice's: what reads all of it there has
// another name for it.
static int sequence(gr_onnx_reading *r, const loop *m, int i, int axis, const int *before) {
  int v = gr_read_move_axis(r, m->seq[i], 0, axis);
  bool read = false;
  for (int j = 0; j < i; j++) read |= before[j] == v;
  for (int j = m->first; j < r->n_lines; j++)
    for (int k = 0; k < r->lines[j].n_in; k++)
      read |= r->lines[j].in[k] == v && r->vars[r->lines[j].out].depth > r->depth;
  return read ? GR_READ_TWO(r, &gr_op_mul, v, gr_read_number(r, 1)) : v;
}

// Adds the results: yields, then the carries that are needed after the last step.
static int add_results(gr_onnx_reading *r, const loop *m, gr_read_scan *s, int *last) {
  int out = r->n_vars;
  for (int i = 0; i < s->n_yield; i++) {
    gr_type type[GR_READ_CHOICES];
    for (int c = 0; c < GR_READ_CHOICES; c++) {
      const gr_type *t = &r->vars[m->yield[i]].type[c];
      type[c] = gr_type_stack(t, r->vars[m->seq[0]].type[c].dim[0]);
      if (s->axis) type[c].dim[1] = type[c].dim[0], type[c].dim[0] = t->dim[0];
      if (type[c].dtype == GR_I64) type[c].dtype = GR_I32;
      if (!gr_type_possible(&type[c])) gr_read_refuse(r, "gives steps of too many elements");
    }
    gr_read_var_add(r, type);
  }
  for (int k = 0, n = 0; k < m->n_carry; k++) {
    int leaf = m->state[k];
    if (leaf && gr_read_needs(r, k)) {
      gr_type type[GR_READ_CHOICES];
      memcpy(type, r->vars[leaf].type, sizeof type);
      last[s->n_last++] = n, gr_read_out(r, k, gr_read_var_add(r, type), false);
    }
    n += leaf != 0;
  }
  return out;
}

static void give_scan(gr_onnx_reading *r, const loop *m) {
  gr_read_scan *s = GR_NEW(r->arena, gr_read_scan, 1);
  int *leaf = GR_NEW(r->arena, int, 2 * MOST), *last = GR_NEW(r->arena, int, MOST);
  int in[4 * MOST], n = m->n_seq;
  *s = (gr_read_scan){m->first,
                      r->depth + 1,
                      n,
                      .n_yield = m->n_yields,
                      .leaf = leaf,
                      .last = last,
                      .axis = find_axis(r, m),
                      .reverse = m->reverse};
  for (int i = 0; i < n && !r->err; i++)
    in[i] = sequence(r, m, i, s->axis, in), leaf[i] = m->slice[i];
  for (int k = 0; k < m->n_carry; k++)
    if (m->state[k]) leaf[n] = m->state[k], in[n++] = m->init[k], s->n_carry++;
  for (int k = 0; k < m->n_carry; k++)
    if (m->state[k]) in[n++] = m->next[k];
  for (int i = 0; i < m->n_yields; i++) in[n++] = m->yield[i];
  int out = r->err ? 0 : add_results(r, m, s, last);
  if (r->err || (!s->n_yield && !s->n_last)) return;
  gr_read_scan_emit(r, s, n, in, out, s->n_yield + s->n_last);
  for (int i = 0; i < s->n_yield; i++) {
    int v = gr_read_move_axis(r, out + i, s->axis, 0), k = m->result[i];
    if (k < m->n_carry)
      gr_read_bind(r, gr_read_list_name(r, m->node->out[k]), v, false);
    else
      gr_read_out(r, k, gr_read_move_axis(r, v, 0, (int)m->yield_axis[i]), false);
  }
}

void gr_read_loop_as_scan(gr_onnx_reading *r, loop *m) {
  read_body(r, m);
  if (r->err) return;
  drop_unread(r, m);
  for (int k = 0; k < m->n_carry; k++)  // those that never change
    if (!m->state[k] && !m->list[k]) gr_read_out(r, k, m->init[k], false);
  give_scan(r, m);
}

// ---- Scan ---------------------------------------------------------------------------------------

// Which way the sequences or the steps go: -1: both.
static int direction(gr_onnx_reading *r, const char *name, int n) {
  int64_t way[MOST] = {0};
  int sum = 0;
  gr_read_ints(r, name, MOST, way, 0);
  for (int i = 0; i < n; i++) sum += way[i] != 0;
  return !sum ? 0 : sum == n ? 1 : -1;
}

static void read_sequences(gr_onnx_reading *r, loop *m) {
  int64_t axis[MOST] = {0};
  gr_read_ints(r, "scan_input_axes", MOST, axis, 0);
  for (int i = 0; i < m->n_seq && !r->err; i++) {
    int v = gr_read_in(r, m->n_carry + i, true);
    int a = gr_read_axis(r, axis[i], gr_read_type(r, v)->rank);
    m->seq[i] = r->err ? 0 : gr_read_move_axis(r, v, a, 0);
    for (int c = 0; c < GR_READ_CHOICES && !r->err; c++)
      if (r->vars[m->seq[i]].type[c].dim[0] != r->vars[m->seq[0]].type[c].dim[0])
        gr_read_refuse(r, "has sequences of different numbers of steps");
  }
}

bool gr_read_loop_open(gr_onnx_reading *r, loop *m, int n_carry, int n_seq, int first) {
  m->node = r->node, m->body = gr_read_graph(r, "body");
  if (r->err) return false;
  m->n_carry = n_carry, m->n_seq = n_seq, m->n_yield = m->body->n_outputs - n_carry - (first > 0);
  if (n_carry < 0 || m->n_yield < 0 || m->body->n_inputs != first + n_carry + n_seq ||
      r->node->n_out > n_carry + m->n_yield)
    gr_read_refuse(r, "has a body of another number of inputs or outputs");
  else if (m->body->n_inputs > MOST || m->body->n_outputs > MOST)
    gr_read_refuse(r, "has more than %d operands or results", MOST);
  if (r->err) return false;
  const gr_onnx_value *in = m->body->inputs, *out = m->body->outputs;
  for (int i = 0; i < first; i++) in = in->next;
  if (first) m->condition = out->name, out = out->next;
  for (int k = 0; k < n_carry; k++, in = in->next, out = out->next)
    m->carry_name[k] = in->name, m->next_name[k] = out->name;
  for (int i = 0; i < n_seq; i++, in = in->next) m->seq_name[i] = in->name;
  for (int i = 0; i < m->n_yield; i++, out = out->next) m->yield_name[i] = out->name;
  return true;
}

void gr_scan_read(gr_onnx_reading *r) {
  loop *m = GR_NEW(r->arena, loop, 1);
  int64_t n = gr_read_int(r, "num_scan_inputs", 0);
  if (n < 1 || n > r->node->n_in) gr_read_refuse(r, "has no sequences");
  if (r->err || !gr_read_loop_open(r, m, r->node->n_in - (int)n, (int)n, 0)) return;
  int in = direction(r, "scan_input_directions", m->n_seq);
  int out = direction(r, "scan_output_directions", m->n_yield);
  gr_read_ints(r, "scan_output_axes", MOST, m->out_axis, 0);
  if (in < 0 || (m->n_yield && in != out))
    gr_read_refuse(r, "goes both ways; a scan goes forwards or backwards through all it has");
  for (int k = 0; k < m->n_carry; k++) m->init[k] = gr_read_in(r, k, true);
  read_sequences(r, m);
  m->reverse = in;
  if (!r->err) gr_read_loop_as_scan(r, m);
}
