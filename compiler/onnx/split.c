// split.c - which layers of a model that is read tensor parallelism splits: a linear layer whose
// results go through pointwise ops alone to another one. The first is split by columns, which the
// ops in between leave split, and the second by rows. See print.h.
#include <string.h>
#include "compiler/onnx/print.h"
#include "ops/ops.h"

// Not in a scan: its steps have no collective, so that its weights would be gathered for it.
static bool is_linear(const gr_onnx_reading *r, const gr_read_line *l) {
  return l->path && !strcmp(l->op, "linear") && !r->vars[l->out].depth;
}

// One operand whose elements are computed each by itself, with numbers.
static int through(const gr_onnx_reading *r, const gr_read_line *l) {
  const gr_op *op = gr_op_find(l->op);
  int x = 0;
  if (!op || !op->index_spec || strncmp(op->index_spec, "...", 3) != 0) return 0;
  for (int k = 0; k < l->n_in; k++) {
    const gr_read_var *v = &r->vars[l->in[k]];
    bool number = v->data[0] && gr_type_count(&v->type[0]) == 1;
    if (!number && x) return 0;
    if (!number) x = l->in[k];
  }
  return x;
}

static void split(gr_read_line *l, const char *how) {
  if (l->n_settings < GR_READ_SETTINGS) l->setting[l->n_settings++] = (gr_read_setting){"tp", how};
}

void gr_onnx_split(gr_onnx_reading *r, const gr_onnx_end *outputs, int n_outputs) {
  int *readers = GR_NEW(r->arena, int, r->n_vars + 1);
  bool *done = GR_NEW(r->arena, bool, r->n_lines + 1);
  for (int i = 0; i < n_outputs; i++) readers[outputs[i].var] += 2;
  for (int i = 0; i < r->n_lines; i++)
    for (int k = 0; r->lines[i].live && k < r->lines[i].n_in; k++) readers[r->lines[i].in[k]]++;
  for (int i = 0; i < r->n_lines; i++) {
    gr_read_line *l = &r->lines[i];
    int x = l->live && is_linear(r, l) ? l->in[0] : 0, first = 0;
    while (x && readers[x] == 1 && (first = r->vars[x].line) > 0 &&
           !is_linear(r, &r->lines[first - 1]))
      x = through(r, &r->lines[first - 1]);
    if (!x || readers[x] != 1 || first < 1 || done[first - 1]) continue;
    split(&r->lines[first - 1], "S0"), split(l, "S1");
    done[first - 1] = done[i] = true;
  }
}
