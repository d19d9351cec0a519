// optim.c - see optim.h.
#include "ops/optim/optim.h"
#include <string.h>
#include "ir/formula.h"
#include "ops/ops.h"

const gr_op *gr_optim_find(const char *name) {
  const gr_op *op = name ? gr_op_find(name) : NULL;
  return op && op->optimizer ? op : NULL;
}

int gr_optim_count_states(const gr_op *op) {
  int n = 0;
  while (op->optimizer->states[n].name) n++;
  return n;
}

// The value of the float attribute `name`, or 0 if the op has none.
static double value_of(const gr_op *op, const void *attr, const char *name) {
  for (const gr_attr *a = op->attrs; a && a->name; a++)
    if (a->kind == GR_ATTR_FLOAT && !strcmp(a->name, name))
      return *(const double *)(const void *)((const char *)attr + a->offset);
  return 0;
}

bool gr_optim_has_state(const gr_op *op, const void *attr, int k, const gr_type *w) {
  const gr_optim_state *s = &op->optimizer->states[k];
  if (s->of == GR_OPTIM_VECTORS && w->rank > 1) return false;
  if (s->of == GR_OPTIM_MATRICES && w->rank < 2) return false;
  return !s->when || value_of(op, attr, s->when) != 0;
}

double gr_optim_initial(const gr_op *op, const void *attr, const char *state) {
  for (const gr_optim_state *s = op->optimizer->states; s->name; s++)
    if (s->initial && !strcmp(s->name, state)) return value_of(op, attr, s->initial);
  return 0;
}

// ---- Shapes and layouts -------------------------------------------------------------------------

const char *gr_optim_shape_text(const gr_optim_state *s) {
  static const char *const shapes[] = {[GR_OPTIM_SAME] = "as the weight",
                                       [GR_OPTIM_ROWS] = "one number per row",
                                       [GR_OPTIM_COLUMNS] = "one number per column",
                                       [GR_OPTIM_SCALAR] = "one number"};
  return shapes[s->shape];
}

// The dimension of the weight that the state lacks, or -1.
static int missing_dim(const gr_optim_state *s, const gr_type *w) {
  if (s->shape == GR_OPTIM_ROWS) return w->rank - 1;
  return s->shape == GR_OPTIM_COLUMNS ? w->rank - 2 : -1;
}

gr_type gr_optim_state_type(const gr_op *op, int k, const gr_type *w) {
  const gr_optim_state *s = &op->optimizer->states[k];
  if (s->shape == GR_OPTIM_SCALAR) return (gr_type){.dtype = w->dtype};
  gr_type t = {.dtype = w->dtype};
  for (int d = 0; d < w->rank; d++)
    if (d != missing_dim(s, w)) t.dim[t.rank++] = w->dim[d];
  return t;
}

gr_layout gr_optim_state_layout(const gr_op *op, int k, const gr_type *w, gr_layout l) {
  const gr_optim_state *s = &op->optimizer->states[k];
  int gone = missing_dim(s, w);
  for (int a = 0; a < GR_MAX_MESH; a++) {
    if (l.placement[a] < 0) continue;
    if (s->shape == GR_OPTIM_SCALAR || l.placement[a] == gone)
      l.placement[a] = GR_REPLICATE;
    else if (gone >= 0 && l.placement[a] > gone)
      l.placement[a]--;
  }
  return l;
}

// ---- Emitting -----------------------------------------------------------------------------------

static bool is_called(const gr_formula_name *name, const char *word) {
  return strlen(word) == (size_t)name->n_name && !strncmp(word, name->name, strlen(word));
}

static gr_val operand(const gr_optim_update *u, const gr_formula_name *name) {
  const struct {
    const char *name;
    gr_val value;
  } scalars[] = {{"w", u->w},       {"g", u->g},         {"lr", u->lr},
                 {"step", u->step}, {"scale", u->scale}, {"ok", u->ok}};
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++)
    if (is_called(name, scalars[i].name)) return scalars[i].value;
  for (int k = 0; u->op->optimizer->states[k].name; k++)
    if (is_called(name, u->op->optimizer->states[k].name)) return u->state[k];
  for (int k = 0; k < GR_MAX_OPTIM_PARAMS && u->op->attrs[k].name; k++)
    if (name->kind == GR_NAME_PARAM && is_called(name, u->op->attrs[k].name)) return u->param[k];
  return GR_NONE;
}

// The names of the op's last formula; 0: it has none.
static int read_names(const gr_op *op, gr_formula_name out[GR_FORMULA_NAMES]) {
  const gr_formula *f = gr_formula_last(op);
  return f ? gr_formula_list(f, out) : 0;
}

bool gr_optim_is_operand(const gr_op *op, int k) {
  gr_formula_name name[GR_FORMULA_NAMES];
  for (int i = 0, n = k < GR_MAX_OPTIM_PARAMS ? read_names(op, name) : 0; i < n; i++)
    if (name[i].kind == GR_NAME_PARAM && is_called(&name[i], op->attrs[k].name))
      return op->attrs[k].default_value != NULL;
  return false;
}

// Emits an optimizer whose update is a single node.
static void emit_node(gr_optim_update *u) {
  gr_formula_name name[GR_FORMULA_NAMES];
  gr_val in[GR_FORMULA_NAMES];
  int n_in = 0;
  for (int i = 0, n = read_names(u->op, name); i < n && name[i].kind != GR_NAME_SHARED; i++) {
    gr_val v = operand(u, &name[i]);
    if (gr_is(v)) in[n_in++] = v;
  }
  gr_val out = gr_emit(u->b, u->op, u->attr, n_in, in);
  if (!gr_is(out)) return;
  u->next_w = out;
  for (int k = 0; u->op->optimizer->states[k].name; k++)
    if (gr_is(u->state[k])) out.id++, u->next_state[k] = out;
}

void gr_optim_emit(gr_optim_update *u) {
  u->next_w = GR_NONE;
  for (int k = 0; k < GR_MAX_OPTIM_STATES; k++) u->next_state[k] = GR_NONE;
  if (u->op->optimizer->emit)
    u->op->optimizer->emit(u);
  else
    emit_node(u);
}

gr_status gr_accumulate_rules(const gr_op_call *s, gr_sharding_rule *rule, int *out_n) {
  int n = 0;
  memset(&rule[n++], GR_REPLICATE, sizeof *rule);
  for (int d = 0; d < s->in[0].rank; d++) memset(&rule[n++], d, sizeof *rule);
  if (gr_dtypes[s->in[0].dtype].is_float) memset(&rule[n++], GR_PARTIAL, sizeof *rule);
  for (int i = 0; i < n; i++) rule[i].in[s->n_in - 1] = GR_REPLICATE;
  *out_n = n;
  return GR_OK;
}
