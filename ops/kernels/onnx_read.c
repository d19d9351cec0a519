// onnx_read.c - see onnx_read.h.
#include "ops/kernels/onnx_read.h"
#include <stdlib.h>
#include <string.h>
#include "ops/ops.h"

// ---- Moving elements --------------------------------------------------------------------------

static const gr_read_line *line_of(const gr_onnx_reading *r, int var, const gr_op *op) {
  int i = var ? r->vars[var].line : 0;
  return i && !strcmp(r->lines[i - 1].op, op->name) ? &r->lines[i - 1] : NULL;
}

int gr_read_transpose(gr_onnx_reading *r, int var, const int64_t *perm) {
  const gr_read_line *l = line_of(r, var, &gr_op_transpose);
  int64_t all[GR_MAX_RANK];
  if (r->err || !var) return 0;
  int rank = r->vars[var].type[0].rank;
  bool same = true;
  for (int d = 0; d < rank; d++) {
    all[d] = l ? l->setting[0].sizes[perm[d]][0] : perm[d];
    same &= all[d] == d;
  }
  if (l) var = l->in[0];
  if (same) return var;
  if (rank == 2 && r->vars[var].turned) return r->vars[var].turned;
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  for (int d = 0; d < rank; d++) gr_read_same(sizes[d], all[d]);
  int y = GR_READ(r, &gr_op_transpose, var, {"perm", .sizes = sizes, .n = rank, .list = true});
  if (rank == 2 && gr_read_is_known(r, y)) r->vars[y].turned = var;
  return y;
}

static bool has_shape(const gr_read_var *v, int rank, int64_t (*sizes)[GR_READ_CHOICES]) {
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    if (v->type[c].rank != rank) return false;
    for (int d = 0; d < rank; d++)
      if (v->type[c].dim[d] != sizes[d][c]) return false;
  }
  return true;
}

int gr_read_reshape(gr_onnx_reading *r, int var, int rank, int64_t (*sizes)[GR_READ_CHOICES]) {
  if (r->err || !var) return 0;
  const gr_read_line *l = line_of(r, var, &gr_op_reshape);
  if (l) var = l->in[0];
  if (has_shape(&r->vars[var], rank, sizes)) return var;
  return GR_READ(r, &gr_op_reshape, var, {"shape", .sizes = sizes, .n = rank, .list = true});
}

int gr_read_dims(const gr_onnx_reading *r, int var, int first, int end,
                 int64_t (*out)[GR_READ_CHOICES]) {
  for (int d = first; d < end; d++)
    for (int c = 0; c < GR_READ_CHOICES; c++) out[d - first][c] = r->vars[var].type[c].dim[d];
  return end - first;
}

void gr_read_count(const gr_onnx_reading *r, int var, int first, int end, int64_t *out) {
  gr_read_same(out, 1);
  for (int d = first; d < end; d++)
    for (int c = 0; c < GR_READ_CHOICES; c++) out[c] *= r->vars[var].type[c].dim[d];
}

void gr_read_same(int64_t by_choice[GR_READ_CHOICES], int64_t n) {
  for (int c = 0; c < GR_READ_CHOICES; c++) by_choice[c] = n;
}

int gr_read_unshaped(const gr_onnx_reading *r, int var) {
  const gr_read_line *l = line_of(r, var, &gr_op_reshape);
  return l ? l->in[0] : var;
}

int gr_read_squeeze(gr_onnx_reading *r, int var, const bool *keep) {
  int64_t sizes[GR_MAX_RANK][GR_READ_CHOICES];
  int n = 0;
  if (r->err || !var) return 0;
  for (int d = 0; d < gr_read_type(r, var)->rank; d++)
    if (keep[d]) n += gr_read_dims(r, var, d, d + 1, &sizes[n]);
  return gr_read_reshape(r, var, n, sizes);
}

int gr_read_slice(gr_onnx_reading *r, int var, int axis, const int64_t *start,
                  const int64_t *size) {
  int64_t which[GR_READ_CHOICES];
  bool all = true;
  if (r->err || !var) return 0;
  gr_read_same(which, axis);
  for (int c = 0; c < GR_READ_CHOICES; c++)
    all &= !start[c] && size[c] == r->vars[var].type[c].dim[axis];
  if (all) return var;
  return GR_READ(r, &gr_op_slice, var, GR_READ_NUMBER("axis", which), GR_READ_NUMBER("from", start),
                 GR_READ_NUMBER("size", size));
}

int gr_read_repeat(gr_onnx_reading *r, int var, int axis, const int64_t *size) {
  int64_t which[GR_READ_CHOICES];
  gr_read_same(which, axis);
  return GR_READ(r, &gr_op_broadcast, var, GR_READ_NUMBER("axis", which),
                 GR_READ_NUMBER("size", size));
}

// A known value is computed in i64, others are i32.
int gr_read_cast(gr_onnx_reading *r, int var, bool is_float) {
  if (r->err || !var) return 0;
  bool has = gr_dtypes[gr_read_type(r, var)->dtype].is_float;
  if (has == is_float) return var;
  bool known = gr_read_is_known(r, var) && !r->vars[var].weight;
  return GR_READ(r, &gr_op_cast, var, {"to", is_float ? "f32" : known ? "i64" : "i32"});
}

int gr_read_axis(gr_onnx_reading *r, int64_t axis, int rank) {
  int64_t a = axis < 0 ? axis + rank : axis;
  if (a < 0 || a >= rank)
    gr_read_refuse(r, "names the axis %lld of a value of %d axes", (long long)axis, rank);
  return r->err ? 0 : (int)a;
}

// ---- Operands ---------------------------------------------------------------------------------

// A value between the two orders: what has no more than one element along the axes between has both
// by its shape alone.
static int reorder(gr_onnx_reading *r, int var, bool to_last) {
  int64_t perm[GR_MAX_RANK], sizes[GR_MAX_RANK][GR_READ_CHOICES];
  if (r->err || !var) return 0;
  int rank = gr_read_type(r, var)->rank;
  bool flat = true;
  for (int d = 0; d < rank; d++) {
    perm[d] = to_last ? (d == 0          ? 0
                         : d == rank - 1 ? 1
                                         : d + 1)
                      : (d == 0   ? 0
                         : d == 1 ? rank - 1
                                  : d - 1);
    for (int c = 0; c < GR_READ_CHOICES; c++) {
      sizes[d][c] = r->vars[var].type[c].dim[perm[d]];
      flat &= d == 0 || perm[d] == (to_last ? 1 : rank - 1) || sizes[d][c] == 1;
    }
  }
  return flat ? gr_read_reshape(r, var, rank, sizes) : gr_read_transpose(r, var, perm);
}

int gr_read_place(int axis, int rank, bool last) {
  return !last || !axis ? axis : axis == 1 ? rank - 1 : axis - 1;
}

int gr_read_source(const gr_onnx_reading *r, int var) {
  const gr_read_line *l = line_of(r, var, &gr_op_transpose);
  int rank = r->vars[var].type[0].rank;
  if (!l || rank < 3) return 0;
  for (int d = 0; d < rank; d++)
    if (l->setting[0].sizes[d][0] != gr_read_place(d, rank, true)) return 0;
  return l->in[0];
}

static int in_order(gr_onnx_reading *r, gr_read_binding *b) {
  b->open = false;
  if (b->last && !b->first) b->first = reorder(r, b->var, false);
  return b->last ? b->first : b->var;
}

static gr_read_binding *operand(gr_onnx_reading *r, int k) {
  const char *name = k < r->node->n_in ? r->node->in[k] : "";
  gr_read_binding *b = *name ? gr_read_find(r, name) : NULL;
  if (*name && !b && !r->err)
    r->err = gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
                     "'%s': the node '%s' (%s) reads '%s', which nothing before it gives", r->file,
                     r->node->name, r->node->op, name);
  return r->err ? NULL : b;
}

int gr_read_in(gr_onnx_reading *r, int k, bool needed) {
  gr_read_binding *b = r->err ? NULL : operand(r, k);
  if (!b && needed) gr_read_refuse(r, "has no operand %d", k + 1);
  return b ? in_order(r, b) : 0;
}

bool gr_read_is_last(gr_onnx_reading *r, int k) {
  const gr_read_binding *b = r->err ? NULL : operand(r, k);
  return b && b->last;
}

// The data give an input channels-last that is read so: its sizes are in that order.
void gr_read_become_last(gr_onnx_reading *r, gr_read_binding *b) {
  for (int c = 0; c < GR_READ_CHOICES; c++) {
    gr_type *t = &r->vars[b->var].type[c];
    int64_t channels = t->dim[1];
    for (int d = 1; d < t->rank - 1; d++) t->dim[d] = t->dim[d + 1];
    t->dim[t->rank - 1] = channels;
  }
  b->last = true, b->open = false;
}

int gr_read_in_last(gr_onnx_reading *r, int k) {
  gr_read_binding *b = r->err ? NULL : operand(r, k);
  if (!b) gr_read_refuse(r, "has no operand %d", k + 1);
  if (r->err) return 0;
  if (b->open) gr_read_become_last(r, b);
  if (!b->last && gr_read_type(r, b->var)->rank < 3)
    gr_read_refuse(r, "takes a value of %d axes", gr_read_type(r, b->var)->rank);
  return b->last ? b->var : reorder(r, b->var, true);
}

void gr_read_out(gr_onnx_reading *r, int k, int var, bool last) {
  if (r->err || !var || k >= r->node->n_out || !*r->node->out[k]) return;
  int source = last ? 0 : gr_read_source(r, var);
  gr_read_bind(r, r->node->out[k], source ? source : var, last || source);
  gr_read_binding *b = gr_read_find(r, r->node->out[k]);
  b->turned = source != 0, b->first = source ? var : 0;
}

int gr_read_value(gr_onnx_reading *r, const char *name) {
  gr_read_binding *b = r->err ? NULL : gr_read_find(r, name);
  return b ? in_order(r, b) : 0;
}

// ---- Pointwise nodes --------------------------------------------------------------------------

// An operand of a pointwise node of others that are channels-last, in `rank` axes: as it is, in one
// element, or a number for each channel or sample; 0: it does not fit.
static int beside_last(gr_onnx_reading *r, int k, int rank) {
  const gr_read_binding *b = operand(r, k);
  if (!b) return 0;
  const gr_type *t = gr_read_type(r, b->var);
  if (b->last) return t->rank == rank ? b->var : 0;
  if (gr_type_count(t) == 1) return t->rank <= 1 ? b->var : 0;
  int channel = t->rank - (rank - 1);
  bool keep[GR_MAX_RANK] = {false}, of_samples = t->rank == rank;
  for (int d = 1; d < t->rank; d++) of_samples &= t->dim[d] == 1;
  if (of_samples) return b->var;
  if (channel < 0) return 0;
  for (int d = 0; d < t->rank; d++) {
    keep[d] = d == channel;
    if (d != channel && t->dim[d] != 1) return 0;
  }
  return gr_read_squeeze(r, b->var, keep);
}

int gr_read_sizes(gr_onnx_reading *r, int k, int64_t (*out)[GR_READ_CHOICES]) {
  const gr_read_binding *b = r->err ? NULL : operand(r, k);
  if (!b) gr_read_refuse(r, "has no operand %d", k + 1);
  if (r->err) return 0;
  int rank = gr_read_type(r, b->var)->rank;
  for (int d = 0; d < rank; d++) {
    int axis = !b->last || !d ? d : d == 1 ? rank - 1 : d - 1;
    for (int c = 0; c < GR_READ_CHOICES; c++) out[d][c] = r->vars[b->var].type[c].dim[axis];
  }
  return rank;
}

int gr_read_as_is(gr_onnx_reading *r, int k, bool *last) {
  *last = gr_read_is_last(r, k);
  return *last ? gr_read_in_last(r, k) : gr_read_in(r, k, true);
}

bool gr_read_together(gr_onnx_reading *r, int n, int *in) {
  int rank = 0;
  for (int k = 0; k < n && !r->err; k++) {
    const gr_read_binding *b = operand(r, k);
    if (b && b->last && gr_read_type(r, b->var)->rank > rank) rank = gr_read_type(r, b->var)->rank;
  }
  bool last = rank > 0;
  for (int k = 0; k < n && last && !r->err; k++) last = (in[k] = beside_last(r, k, rank)) != 0;
  for (int k = 0; k < n && !last && !r->err; k++) in[k] = gr_read_in(r, k, true);
  return last;
}

// ---- Nodes ------------------------------------------------------------------------------------

// "epsilon=$eps": the op's attribute is the node's; "axis=-1": the node's must be that.
static void take_attr(gr_onnx_reading *r, const char *text, size_t n, gr_read_setting *to,
                      int *n_to) {
  size_t n_name = strcspn(text, "=");
  const char *name = gr_arena_strndup(r->arena, text, n_name);
  const char *value = gr_arena_strndup(r->arena, text + n_name + 1, n - n_name - 1);
  if (*value != '$') {
    gr_read_only(r, name, strtoll(value, NULL, 10));
    return;
  }
  const gr_attr *a = r->op->attrs;
  while (a && a->name && strcmp(a->name, value + 1) != 0) a++;
  for (int i = 0; i < r->node->n_attrs; i++) {
    const gr_onnx_attr *has = &r->node->attr[i];
    if (!a || strcmp(has->name, name) != 0) continue;
    r->asked |= 1ull << i;
    gr_text t = gr_text_make(r->arena);
    if (has->kind == GR_ONNX_FLOAT)
      gr_text_printf(&t, "%.8g", has->f);
    else if (has->kind == GR_ONNX_INTS)
      gr_text_put(&t, gr_read_list(r, (int)has->i, has->ints));
    else
      gr_text_put_int(&t, has->i);
    to[(*n_to)++] = (gr_read_setting){.name = a->name, .text = t.chars};
  }
}

static int row_settings(gr_onnx_reading *r, const char *row, gr_read_setting *to) {
  int n = 0;
  for (row += strcspn(row, " "); *row;) {
    row += strspn(row, " ");
    size_t size = strcspn(row, " ");
    take_attr(r, row, size, to, &n);
    row += size;
  }
  return n;
}

static void read_row(gr_onnx_reading *r, const char *row) {
  int in[GR_MAX_ARGS], n = r->node->n_in;
  gr_read_setting setting[GR_READ_SETTINGS];
  int n_settings = row_settings(r, row, setting);
  int takes = gr_op_operands(r->op);
  if (n > 16 || (takes != GR_ANY && takes != n)) gr_read_refuse(r, "has %d operands", n);
  if (r->err) return;
  bool pointwise = r->op->index_spec && !strncmp(r->op->index_spec, "...", 3) && !n_settings;
  bool last = pointwise && gr_read_together(r, n, in);
  for (int k = 0; k < n && !pointwise; k++) in[k] = gr_read_in(r, k, true);
  int out = gr_read_emit(r, r->op, n, in, n_settings, setting);
  gr_read_out(r, 0, out, last);
}

gr_status gr_read_node(gr_onnx_reading *r, const gr_onnx_node *node) {
  uint32_t i;
  r->node = node, r->op = NULL, r->asked = 0;
  if (!gr_map_find(&r->readers, node->op, &i))
    return gr_fail(GR_ERR_UNSUPPORTED, GR_NOWHERE, "'%s': the node '%s' is a %s, which is not read",
                   r->file, node->name, node->op);
  r->op = gr_ops[i >> 8];
  r->reader = r->op->from_onnx ? &r->op->from_onnx[i & 255] : NULL;
  if (r->reader && r->reader->read)
    r->reader->read(r);
  else
    read_row(r, r->reader ? r->reader->row : r->op->onnx);
  for (int k = 0; k < node->n_attrs; k++)
    if (!(r->asked >> k & 1))
      gr_read_refuse(r, "has an attribute '%s', which is not read", node->attr[k].name);
  return r->err;
}

void gr_read_nodes(gr_onnx_reading *r, const gr_onnx_graph *g) {
  const gr_onnx_node *node = r->node;
  const gr_op *op = r->op;
  const gr_onnx_reader *reader = r->reader;
  uint64_t asked = r->asked;
  for (const gr_onnx_tensor *t = g->tensors; t; t = t->next)
    gr_read_bind(r, t->name, gr_read_known(r, &t->type, t->data), false);
  for (const gr_onnx_node *n = g->nodes; n && !r->err; n = n->next) r->err = gr_read_node(r, n);
  r->node = node, r->op = op, r->reader = reader, r->asked = asked;
}

void gr_read_list_readers(gr_onnx_reading *r) {
  r->readers = gr_map_make(r->arena);
  for (uint32_t i = 0; gr_ops[i]; i++) {
    const gr_onnx_reader *t = gr_ops[i]->from_onnx;
    const char *row_of_op = t ? NULL : gr_ops[i]->onnx;
    for (uint32_t k = 0; row_of_op || (t && t[k].row); row_of_op = NULL, k++) {
      const char *row = row_of_op ? row_of_op : t[k].row;
      const char *type = gr_arena_strndup(r->arena, row, strcspn(row, " "));
      gr_map_put(&r->readers, type, i << 8 | k);
      if (!t) break;
    }
  }
}
