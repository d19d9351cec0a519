// explain.c - prints ops for `graphrun ops`; everything is read from the op's descriptor.
#include "ir/formula.h"
#include "ir/onnx.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

static const char *kind_text(const gr_attr *a) {
  switch (a->kind) {
    case GR_ATTR_INT:
      return "integer";
    case GR_ATTR_FLOAT:
      return "number";
    case GR_ATTR_BOOL:
      return "true or false";
    case GR_ATTR_DTYPE:
      return "dtype";
    case GR_ATTR_INTS:
      return "integers";
    case GR_ATTR_CHOICE:
      return a->choices;
    case GR_ATTR_STREAM:
      return "name of a random stream";
    case GR_ATTR_LIST:
      return "integers";
    case GR_ATTR_GRAPH:
      return "graph";
  }
  return "";
}

static void put_attrs(FILE *f, const gr_op *op) {
  for (const gr_attr *a = op->attrs; a && a->name; a++) {
    fprintf(f, "  %s %s (%s", a == op->attrs ? "attributes" : "          ", a->name, kind_text(a));
    fprintf(f, "%s%s%s%s): %s\n", a->range ? " " : "", a->range ? a->range : "",
            a->default_value ? ", default " : ", must be given",
            a->default_value ? a->default_value : "", a->doc);
  }
}

static void put_states(FILE *f, const gr_op *op) {
  for (const gr_optim_state *s = op->optimizer ? op->optimizer->states : NULL; s && s->name; s++)
    fprintf(f, "  %s %s, %s: %s\n", s == op->optimizer->states ? "states    " : "          ",
            s->name, gr_optim_shape_text(s), s->doc);
}

static gr_status call_of(const gr_op *op, const gr_case *c, gr_op_call *s) {
  *s = (gr_op_call){.op = op, .attr = c->attr};
  for (; s->n_in < GR_CASE_ARGS && c->in[s->n_in]; s->n_in++)
    GR_TRY(gr_type_parse(c->in[s->n_in], &s->in[s->n_in]));
  return gr_op_infer(s);
}

static void put_case(FILE *f, gr_arena *arena, const gr_op *op, const gr_case *c) {
  gr_op_call s;
  gr_text t = gr_text_make(arena);
  gr_status failed = call_of(op, c, &s);
  for (int k = 0; k < s.n_in; k++) gr_text_printf(&t, " %s", c->in[k]);
  for (const gr_attr *a = op->attrs; c->attr && a && a->name; a++) {
    gr_text_printf(&t, "%s%s=", a == op->attrs ? " {" : ", ", a->name);
    gr_attr_text(&t, a, c->attr);
    if (!a[1].name) gr_text_put(&t, "}");
  }
  for (int k = 0; !failed && k < s.n_out; k++) {
    char buf[96];
    gr_text_printf(&t, "%s %s", k ? "," : " ->", gr_type_text(&s.out[k], buf));
  }
  if (failed) gr_text_printf(&t, ": error: %s", gr_status_text(failed));
  if (failed) gr_status_drop(failed);
  fprintf(f, "%s\n", t.chars);
}

static void put_cases(FILE *f, const gr_op *op) {
  gr_arena *arena = gr_arena_create();
  for (const gr_case *c = op->cases; c && (c->in[0] || c->attr); c++) {
    fprintf(f, "  %s", c == op->cases ? "examples  " : "          ");
    put_case(f, arena, op, c);
  }
  gr_arena_destroy(arena);
}

static void put_placement(FILE *f, const char *before, gr_axis_placement lay) {
  if (lay >= 0)
    fprintf(f, "%s S%d", before, lay);
  else
    fprintf(f, "%s %c", before, lay == GR_REPLICATE ? 'R' : 'P');
}

// The sharding rules of the first valid example.
static void put_sharding_rules(FILE *f, const gr_op *op) {
  gr_op_call s;
  gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
  int n = 0;
  const gr_case *c = op->cases;
  while (c && (c->in[0] || c->attr) && c->fails) c++;
  if (!c || (!c->in[0] && !c->attr)) return;
  gr_status failed = call_of(op, c, &s);
  if (!failed) failed = gr_op_sharding_rules(&s, rules, &n);
  if (failed) gr_status_drop(failed);
  for (int i = 0; i < n; i++) {
    fprintf(f, "  %s", i ? "          " : "sharding  ");
    for (int k = 0; k < s.n_in; k++) put_placement(f, k ? "," : "", rules[i].in[k]);
    for (int k = 0; k < s.n_out; k++) put_placement(f, k ? "," : " ->", rules[i].out[k]);
    fputs(i ? "\n" : "   (R: replicated, S0: sharded along axis 0, P: a partial sum)\n", f);
  }
}

static void put_formulas(FILE *f, const gr_op *op) {
  for (const gr_formula *const *a = op->formulas; a && *a; a++) gr_formula_print(f, *a);
}

// How an op that models use is exported.
static void put_onnx(FILE *f, const gr_op *op) {
  if (gr_op_is_internal(op)) return;
  const char *how = op->to_onnx   ? "yes"
                    : op->onnx    ? op->onnx
                    : op->formula ? "by its formula"
                                  : "no";
  if (op->training_only && !gr_onnx_has(op)) how = "left out, as in evaluation";
  fprintf(f, "  ONNX       %s\n", how);
}

void gr_op_explain(FILE *f, const gr_op *op) {
  fprintf(f, "%s: %s\n", op->name, op->doc);
  if (gr_op_is_internal(op)) fprintf(f, "  made by    compiler passes; not available in models\n");
  if (gr_op_operands(op) == GR_ANY)
    fprintf(f, "  operands   any number\n");
  else
    fprintf(f, "  operands   %d\n", gr_op_operands(op));
  if (op->index_spec) fprintf(f, "  notation   %s\n", op->index_spec);
  if (op->index_spec_of) fprintf(f, "  notation   depends on the attributes\n");
  put_attrs(f, op);
  put_states(f, op);
  if (op->formula) fprintf(f, "  formula    %s\n", op->formula);
  put_formulas(f, op);
  fprintf(f, "  gradient   %s\n", op->grad ? "yes" : "no");
  put_onnx(f, op);
  put_sharding_rules(f, op);
  put_cases(f, op);
}

void gr_op_list(FILE *f, bool all) {
  for (const gr_op *const *o = gr_ops; *o; o++) {
    if (gr_op_is_internal(*o) && !all) continue;
    fprintf(f, "%-20s %s\n", (*o)->name, (*o)->doc);
    for (const gr_attr *a = (*o)->attrs; a && a->name; a++)
      fprintf(f, "%*s%s%s%s", a == (*o)->attrs ? 21 : 0, "", a == (*o)->attrs ? "" : ", ", a->name,
              a->default_value ? ": " : ""),
          fprintf(f, "%s%s", a->default_value ? a->default_value : "", a[1].name ? "" : "\n");
  }
}

void gr_op_json(gr_text *t, const gr_op *op) {
  gr_text_put(t, "{");
  gr_text_json_member(t, "name", op->name);
  gr_text_json_member(t, "kind", gr_op_is_internal(op) ? "internal op" : "op");
  gr_text_json_member(t, "doc", op->doc);
  gr_text_json_member(t, "notation", op->index_spec);
  gr_text_printf(t, ", \"gradient\": %s, \"params\": [", op->grad ? "true" : "false");
  for (const gr_attr *a = op->attrs; a && a->name; a++) {
    gr_text_json_next(t), gr_text_put(t, "{");
    gr_text_json_member(t, "name", a->name);
    gr_text_json_member(t, "default", a->default_value);
    gr_text_json_member(t, "doc", a->doc);
    if (a->choices) gr_text_json_member(t, "choices", a->choices);
    gr_text_put(t, "}");
  }
  gr_text_put(t, "]}");
}
