// scan.c - the scan op: type inference and sharding of an op that has a body. See scan.h.
#include "ops/loop/scan.h"
#include <string.h>
#include "ir/onnx.h"
#include "ops/ops.h"

static gr_status infer_carries(const gr_op_call *s, const gr_scan *a) {
  for (int k = 0; k < a->n_carry; k++) {
    gr_val c = gr_scan_carry(a, k), next = gr_at(a->body, c)->next;
    if (!gr_is(next) || !gr_type_same(&gr_at(a->body, c)->type, &gr_at(a->body, next)->type))
      return gr_fail(GR_ERR_TYPE, s->loc,
                     "the next value of carry %d is missing or has another type", k);
    if (next.id != c.id && gr_scan_is_carry(a, next.id))  // carries are stored one by one
      return gr_fail(GR_ERR_UNSUPPORTED, s->loc, "the next value of carry %d is a carry", k);
  }
  return GR_OK;
}

static gr_status infer(gr_op_call *s) {
  const gr_scan *a = s->attr;
  uint32_t leaves = gr_graph_leaves(a->body);
  if (a->steps < 1) return gr_fail(GR_ERR_TYPE, s->loc, "a scan needs at least one step");
  if (leaves >= GR_MAX_ARGS)
    return gr_fail(GR_ERR_UNSUPPORTED, s->loc, "a scan body with %u inputs is too large", leaves);
  if (s->n_in != (int)leaves - (int)(a->n_carry - a->n_init))
    return gr_fail(GR_ERR_TYPE, s->loc,
                   "the number of operands, %d, differs from what the body takes", s->n_in);
  for (uint32_t i = 1; i <= leaves; i++) {
    gr_type t = a->body->values[i].type;
    int k = gr_scan_operand(a, i);
    if (gr_scan_is_seq(a, i)) t = gr_type_stack(&t, a->steps);
    if (k >= 0 && !gr_type_same(&t, &s->in[k]))
      return gr_fail(GR_ERR_TYPE, s->loc, "the type of operand %d differs from the body's input",
                     k);
  }
  GR_TRY(infer_carries(s, a));
  if (a->until < 0 || a->until > a->n_carry)
    return gr_fail(GR_ERR_TYPE, s->loc, "there is no carry %lld to end the loop",
                   (long long)a->until - 1);
  if (a->until && a->body->n_results)
    return gr_fail(GR_ERR_TYPE, s->loc, "a scan that may end early has no yields");
  s->n_out = (int)a->n_carry + (int)a->body->n_results;
  if (s->n_out > GR_MAX_ARGS)
    return gr_fail(GR_ERR_UNSUPPORTED, s->loc, "a scan with %d results is too large", s->n_out);
  for (int k = 0; k < a->n_carry; k++) s->out[k] = gr_at(a->body, gr_scan_carry(a, k))->type;
  for (uint32_t j = 0; j < a->body->n_results; j++)
    s->out[a->n_carry + j] = gr_type_stack(&gr_at(a->body, a->body->results[j])->type, a->steps);
  return GR_OK;
}

// ---- Layouts --------------------------------------------------------------------

static gr_axis_placement stack_placement(gr_axis_placement l) {
  return l >= 0 ? (gr_axis_placement)(l + 1) : l;
}

// Two rules: everything replicated, and sharded along the batch axis.
static gr_status rules(const gr_op_call *call, gr_sharding_rule *rule, int *out_n) {
  const gr_scan *s = call->attr;
  gr_axis_placement *lay = GR_NEW(s->body->arena, gr_axis_placement, s->body->n_values);
  memset(&rule[0], GR_REPLICATE, sizeof *rule);
  memset(&rule[1], GR_REPLICATE, sizeof *rule);
  *out_n = 1 + gr_scan_layouts(s, lay);
  for (uint32_t i = 1; i <= gr_graph_leaves(s->body); i++) {
    int k = gr_scan_operand(s, i);
    if (k >= 0) rule[1].in[k] = gr_scan_is_seq(s, i) ? stack_placement(lay[i]) : lay[i];
  }
  for (int k = 0; k < s->n_carry; k++) rule[1].out[k] = lay[gr_scan_carry(s, k).id];
  for (uint32_t j = 0; j < s->body->n_results; j++)
    rule[1].out[s->n_carry + j] = stack_placement(lay[s->body->results[j].id]);
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(gr_scan, steps, GR_ATTR_INT, NULL, "number of iterations"),
    GR_ATTR(gr_scan, reverse, GR_ATTR_BOOL, "false", "iterate from the last slice to the first"),
    GR_ATTR(gr_scan, n_seq, GR_ATTR_INT, NULL,
            "number of sequences: the body's first inputs are their slices"),
    GR_ATTR(gr_scan, n_carry, GR_ATTR_INT, NULL,
            "number of carries, the states passed from step to step"),
    GR_ATTR(gr_scan, n_init, GR_ATTR_INT, NULL,
            "number of carries initialised from an operand; the rest start at zero"),
    GR_ATTR(gr_scan, until, GR_ATTR_INT, "0",
            "1 + the number of the carry that ends the loop when none of its elements is 0"),
    GR_ATTR(gr_scan, body, GR_ATTR_GRAPH, NULL, "the graph of one iteration"),
    {0}};
static const gr_case none[] = {{{0}}};

static int64_t flops(const gr_op_call *s) {
  const gr_scan *a = s->attr;
  return a->steps * gr_graph_flops(a->body);
}

// ---- ONNX: Scan, whose body reads constants from around it --------------------------------------

// The size of axis d of leaf k of the body.
static int64_t leaf_number(const gr_op_call *c, int size) {
  const gr_graph *body = ((const gr_scan *)c->attr)->body;
  return body->values[size / GR_MAX_RANK].type.dim[size % GR_MAX_RANK];
}

static const char *add_input(gr_onnx_call *c, gr_onnx_graph *body, uint32_t leaf) {
  const gr_value *v = &((const gr_scan *)c->call[0]->attr)->body->values[leaf];
  gr_type t = v->type;
  for (int d = 0; d < t.rank; d++)
    if (!gr_onnx_is_fixed(c, leaf_number, GR_ONNX_SIZE((int)leaf, d))) t.dim[d] = -1;
  return gr_onnx_input(body, gr_onnx_name(c, v->name ? v->name : "step"), &t)->name;
}

// Writes the body, with an input for each carry and then each sequence.
static gr_onnx_graph *write_body(gr_onnx_call *c) {
  const gr_scan *s = c->call[0]->attr;
  gr_onnx_graph *body = gr_onnx_graph_create(c->graph->arena, c->graph, gr_onnx_name(c, "body"));
  uint32_t leaves = gr_graph_leaves(s->body);
  const char **leaf = GR_NEW(c->graph->arena, const char *, leaves + 1);
  for (int k = 0; k < s->n_carry; k++)
    leaf[gr_scan_carry(s, k).id] = add_input(c, body, gr_scan_carry(s, k).id);
  for (uint32_t i = 1; i <= (uint32_t)s->n_seq; i++) leaf[i] = add_input(c, body, i);
  if (!s->n_seq) gr_onnx_input(body, gr_onnx_name(c, "step"), &(gr_type){.dtype = GR_I32});
  for (uint32_t i = (uint32_t)(s->n_seq + s->n_carry) + 1; i <= leaves; i++)
    leaf[i] = c->in[gr_scan_operand(s, i)];
  const char **value = c->writer->body(c->writer, c, body, leaf);
  gr_onnx_call inside = *c;
  inside.graph = body;
  for (int k = 0; k < s->n_carry + (int)s->body->n_results && !c->err; k++) {
    gr_val v = k < s->n_carry ? gr_at(s->body, gr_scan_carry(s, k))->next
                              : s->body->results[k - s->n_carry];
    gr_type t = {.dtype = gr_at(s->body, v)->type.dtype, .rank = -1};
    gr_onnx_output(body, GR_ONNX(&inside, "Identity", value[v.id]), &t);
  }
  return body;
}

static void directions(gr_onnx_call *c, const char *name, int64_t n) {
  int64_t back[GR_MAX_ARGS];
  for (int64_t i = 0; i < n; i++) back[i] = 1;
  if (n) gr_onnx_ints(c, name, (int)n, back);
}

static void to_onnx(gr_onnx_call *c) {
  const gr_scan *s = c->call[0]->attr;
  const char *in[GR_MAX_ARGS + 1];
  int n = 0;
  if (s->until) gr_onnx_refuse(c, "it may end before its last step");
  for (int k = 0; k < s->n_carry; k++) {
    gr_val carry = gr_scan_carry(s, k);
    const char *zero =
        k < s->n_init ? NULL : gr_onnx_number(c, gr_at(s->body, carry)->type.dtype, 0);
    in[n++] = zero ? GR_ONNX(c, "Expand", zero, gr_onnx_out_shape(c, k, false))
                   : c->in[gr_scan_operand(s, carry.id)];
  }
  for (int i = 0; i < s->n_seq; i++) in[n++] = c->in[i];
  // It takes its number of steps from a sequence.
  if (!s->n_seq)
    in[n++] = GR_ONNX(c, "Range", gr_onnx_number(c, GR_I32, 0),
                      gr_onnx_number(c, GR_I32, (double)s->steps), gr_onnx_number(c, GR_I32, 1));
  gr_onnx_graph *body = write_body(c);
  gr_onnx_results(c, "Scan", n, in, c->call[0]->n_out, c->out);
  gr_onnx_body(c, "body", body);
  gr_onnx_int(c, "num_scan_inputs", s->n_seq ? s->n_seq : 1);
  if (!s->reverse) return;
  directions(c, "scan_input_directions", s->n_seq ? s->n_seq : 1);
  directions(c, "scan_output_directions", s->body->n_results);
}

const gr_op gr_op_scan = {
    .name = "scan",
    .doc =
        "Runs a body once for each slice of its sequences; carries pass values from step to step.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(gr_scan),
    .attrs = attrs,
    .infer = infer,
    .sharding_rules = rules,
    .flops = flops,
    .save_for_backward = gr_scan_save_for_backward,
    .grad = gr_scan_grad,
    .gpu = gr_scan_gpu,
    .to_onnx = to_onnx,
    .from_onnx = GR_FROM_ONNX(
        {"LSTM", gr_lstm_read}, {"GRU", gr_gru_read}, {"RNN", gr_rnn_read}, {"Scan", gr_scan_read},
        {"Loop", gr_loop_read}, {"SequenceEmpty", gr_sequence_empty_read},
        {"SequenceInsert", gr_sequence_insert_read}, {"ConcatFromSequence", gr_list_concat_read}),
    .cases = none,
};
