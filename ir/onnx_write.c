// onnx_write.c - writes a call by its op's row, function or formula. See onnx.h.
#include <stdlib.h>
#include <string.h>
#include "ir/onnx.h"

static const gr_attr *find_attr(const gr_op *op, const char *name, size_t n) {
  for (const gr_attr *a = op->attrs; a && a->name; a++)
    if (strlen(a->name) == n && !strncmp(a->name, name, n)) return a;
  return NULL;
}

// "axis=-1" or "axis=$axis" of a row.
static void put_attr(gr_onnx_call *c, const char *text, size_t n) {
  size_t n_name = strcspn(text, "=");
  const char *name = gr_arena_strndup(c->graph->arena, text, n_name), *value = text + n_name + 1;
  const gr_attr *a = *value == '$' ? find_attr(c->call[0]->op, value + 1, n - n_name - 2) : NULL;
  const void *field = a ? (const char *)c->call[0]->attr + a->offset : NULL;
  if (!a)
    gr_onnx_int(c, name, strtoll(value, NULL, 10));
  else if (a->kind == GR_ATTR_FLOAT)
    gr_onnx_float(c, name, *(const double *)field);
  else if (a->kind == GR_ATTR_INTS)
    gr_onnx_ints(c, name, (int)((const gr_ints *)field)->n, ((const gr_ints *)field)->items);
  else
    gr_onnx_int(c, name, *(const int64_t *)field);
}

static void write_row(gr_onnx_call *c) {
  const gr_op_call *call = c->call[0];
  const char *row = call->op->onnx;
  size_t n = strcspn(row, " ");
  gr_onnx_results(c, gr_arena_strndup(c->graph->arena, row, n), call->n_in, c->in, call->n_out,
                  c->out);
  for (row += n; *row; row += n) {
    row += strspn(row, " ");
    n = strcspn(row, " ");
    put_attr(c, row, n);
  }
}

gr_status gr_onnx_write_call(gr_onnx_call *c) {
  const gr_op *op = c->call[0]->op;
  if (op->to_onnx)
    op->to_onnx(c);
  else if (op->onnx)
    write_row(c);
  else if (op->formula)
    c->out[0] = gr_onnx_formula(c, op->formula);
  else
    gr_onnx_refuse(c, op->random ? "its random numbers are those of graphrun's own generator"
                                 : "it has no equivalent there");
  return c->err;
}
