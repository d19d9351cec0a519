// recurrent_read.c - reads an LSTM, GRU or RNN of ONNX as the blocks lstm_layer, gru_layer or
// rnn_layer, one for each direction. There a sequence is [t, n, c], results have an axis of
// directions, and gates are in another order.
#include <string.h>
#include "ops/kernels/cpu.h"
#include "ops/kernels/onnx_read.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

// Which of ONNX's gates are PyTorch's, in its order: i, f, c, o of i, o, f, c; r, z, n of z, r, n.
typedef struct kind {
  const char *name, *block;
  int gates, order[4];
} kind;
static const kind lstm = {"lstm", "lstm_layer", 4, {0, 2, 3, 1}};
static const kind gru = {"gru", "gru_layer", 3, {1, 0, 2}};
static const kind rnn = {"rnn", "rnn_layer", 1, {0}};

typedef struct layer {
  const kind *kind;
  int x, part[3];  // [n, t, c]; W, R and B, which may be 0
  int start[2];    // what it starts at: its state and its cell, 0: zeros
  bool cells;      // what the cell holds in the end is a result
  int64_t hidden, layer;
  int directions;
  bool reverse, batch_first;
  const char *path;
  gr_read_setting more;  // of the block
} layer;

// Rows of gates of direction d. They begin at row `first` of it.
static int gates(gr_onnx_reading *r, const layer *m, int part, int d, int64_t first) {
  const gr_type *t = gr_read_type(r, m->part[part]);
  int n = m->kind->gates;
  gr_type type = {.dtype = GR_F32, .rank = t->rank - 1, .dim = {n * m->hidden, t->dim[2]}};
  int64_t row = t->rank == 3 ? t->dim[2] : 1, block = m->hidden * row;
  const float *x =
      (const float *)r->vars[m->part[part]].data[0] + d * t->dim[1] * row + first * row;
  float *y = GR_NEW(r->arena, float, (size_t)(n * block));
  for (int k = 0; k < n; k++)
    memcpy(y + k * block, x + m->kind->order[k] * block, sizeof *y * (size_t)block);
  int v = gr_read_known(r, &type, y);
  r->vars[v].weight = true;
  return v;
}

// Direction d of what the layer starts at, [n, hidden].
static int start_of(gr_onnx_reading *r, const layer *m, int k, int d) {
  int64_t first[GR_READ_CHOICES], one[GR_READ_CHOICES], sizes[2][GR_READ_CHOICES];
  gr_read_same(first, d), gr_read_same(one, 1);
  gr_read_dims(r, m->x, 0, 1, sizes), gr_read_same(sizes[1], m->hidden);
  int v = gr_read_slice(r, m->start[k], m->batch_first ? 1 : 0, first, one);
  return gr_read_reshape(r, v, 2, sizes);
}

// Gives the block that was emitted last its operands, and a second result for what its cell holds.
static void complete(gr_onnx_reading *r, const layer *m, int d, const int *start, int *cell) {
  gr_read_line *l = &r->lines[r->n_lines - 1];
  int *in = GR_NEW(r->arena, int, 3);
  in[0] = m->x, in[1] = start[0], in[2] = start[1];
  l->path = m->path;  // layers of one path differ by their number
  l->in = in, l->n_in = !start[0] ? 1 : !start[1] ? 2 : 3;
  if (!m->cells) return;
  gr_type type[GR_READ_CHOICES];
  for (int c = 0; c < GR_READ_CHOICES; c++)
    type[c] =
        (gr_type){.dtype = GR_F32, .rank = 2, .dim = {r->vars[m->x].type[c].dim[0], m->hidden}};
  cell[d] = gr_read_var_add(r, type);
  l->n_out = 2, r->vars[cell[d]].line = r->n_lines, r->vars[cell[d]].result = 1;
}

static int direction(gr_onnx_reading *r, const layer *m, int d, int *cell) {
  bool backward = d == 1 || m->reverse;
  const char *end = gr_arena_printf(r->arena, "_l%d%s", (int)m->layer, d ? "_reverse" : "");
  const char *words[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
  gr_read_part part[4];
  int start[2] = {0}, n_parts = m->part[2] ? 4 : 2;
  for (int k = 0; k < 2 && m->start[k]; k++) start[k] = start_of(r, m, k, d);
  for (int k = 0; k < n_parts; k++) {
    bool bias = k > 1;
    part[k].suffix = gr_arena_printf(r->arena, "%s%s", words[k], end);
    part[k].var = gates(r, m, bias ? 2 : k, d, k == 3 ? m->kind->gates * m->hidden : 0);
  }
  gr_type type[GR_READ_CHOICES];
  memcpy(type, r->vars[m->x].type, sizeof type);
  for (int c = 0; c < GR_READ_CHOICES; c++) type[c].dim[2] = m->hidden;
  const gr_read_setting s[] = {
      {"hidden", gr_arena_printf(r->arena, "%lld", (long long)m->hidden)},
      {"layer", m->layer ? gr_arena_printf(r->arena, "%lld", (long long)m->layer) : NULL},
      {"suffix", d ? "_reverse" : NULL},
      {"reverse", backward ? "true" : NULL},
      {"bias", m->part[2] ? NULL : "false"},
      m->more};
  const char *block = m->cells ? "lstm_states" : m->kind->block;
  int y = gr_read_block(r, block, m->path, m->x, type, 6, s, n_parts, part);
  if (y) complete(r, m, d, start, cell);
  return y;
}

static bool is_zero(const gr_onnx_reading *r, int v) {
  const gr_read_var *x = &r->vars[v];
  if (!v) return true;
  if (!x->data[0] || x->weight) return false;
  for (int64_t i = 0, n = gr_type_count(&x->type[0]); i < n; i++)
    if (((const float *)x->data[0])[i] != 0) return false;
  return true;
}

static bool has_shape(const gr_onnx_reading *r, int v, int rank, int64_t a, int64_t b, int64_t c) {
  const gr_type *t = gr_read_type(r, v);
  return gr_read_is_own(r, v) && t->dtype == GR_F32 && t->rank == rank && t->dim[0] == a &&
         t->dim[1] == b && (rank == 2 || t->dim[2] == c);
}

// Operand k, a first state; zeros need none, unless the other one is there.
static void read_start(gr_onnx_reading *r, layer *m) {
  bool zeros = true;
  int64_t n = gr_read_type(r, m->x)->dim[m->batch_first ? 0 : 1];
  for (int k = 0; k < 2 && !r->err; k++) {
    m->start[k] = gr_read_in(r, 5 + k, false);
    zeros &= is_zero(r, m->start[k]);
    const gr_type *t = gr_read_type(r, m->start[k]);
    bool fits = t->rank == 3 && t->dim[m->batch_first] == m->directions &&
                t->dim[!m->batch_first] == n && t->dim[2] == m->hidden;
    if (m->start[k] && !fits) gr_read_refuse(r, "has a first state of another shape");
  }
  if (!zeros && m->start[1] && !m->start[0])
    gr_read_refuse(r, "has a first cell state without a first state");
  if (!zeros && m->kind == &lstm && !m->start[1])
    gr_read_refuse(r, "has a first state without a first cell state");
  if (zeros) m->start[0] = m->start[1] = 0;
}

static bool open(gr_onnx_reading *r, layer *m) {
  const char *way = gr_read_text(r, "direction", "forward");
  m->hidden = gr_read_int(r, "hidden_size", 0), m->batch_first = gr_read_int(r, "layout", 0);
  m->directions = strcmp(way, "bidirectional") ? 1 : 2, m->reverse = !strcmp(way, "reverse");
  m->x = gr_read_in(r, 0, true);
  for (int k = 0; k < 3; k++) m->part[k] = gr_read_in(r, k + 1, k < 2);
  if (gr_read_in(r, 4, false)) {
    gr_read_refuse(r, "has a length for each sample; it is read with as many steps for all");
    r->err = gr_hint(r->err,
                     "export the model without pack_padded_sequence, and leave the steps of "
                     "padding out behind the layer, as by a mask");
  }
  if (gr_read_in(r, 7, false)) gr_read_refuse(r, "has peepholes");
  m->cells = gr_read_needs(r, 2);
  if (r->err) return false;
  if (gr_read_type(r, m->x)->rank != 3) gr_read_refuse(r, "is not over sequences");
  int64_t d = m->directions, h = m->hidden, c = gr_read_type(r, m->x)->dim[2];
  if (h < 1 || h > INT32_MAX) gr_read_refuse(r, "has a hidden_size of %lld", (long long)h);
  int64_t rows = r->err ? 0 : m->kind->gates * h;
  if (!r->err &&
      (!has_shape(r, m->part[0], 3, d, rows, c) || !has_shape(r, m->part[1], 3, d, rows, h) ||
       (m->part[2] && !has_shape(r, m->part[2], 2, d, 2 * rows, 0))))
    gr_read_refuse(r, "has weights that are computed, shared, or of another shape");
  if (!r->err) read_start(r, m);
  return !r->err;
}

// All directions along axis `axis` of what is made of y, of `rank` axes.
static int joined(gr_onnx_reading *r, const layer *m, const int *y, int rank, int axis) {
  int64_t sizes[4][GR_READ_CHOICES];
  int in[2];
  if (r->err) return 0;
  for (int d = 0; d < m->directions && !r->err; d++) {
    int one = rank == 4 ? 2 : 0;  // [n, t, 1, hidden], or [1, n, hidden]
    gr_read_dims(r, y[d], 0, one, sizes), gr_read_same(sizes[one], 1);
    if (!one) gr_read_dims(r, y[d], 0, 1, &sizes[1]);
    gr_read_dims(r, y[d], 2, 3, &sizes[rank - 1]);
    in[d] = gr_read_reshape(r, y[d], rank, sizes);
  }
  const gr_read_setting s = {"axis", gr_arena_printf(r->arena, "%d", axis)};
  return m->directions == 1 ? in[0] : gr_read_emit(r, &gr_op_concat, 2, in, 1, &s);
}

// Result k: of all directions, what they have in the end, [n, 1, hidden] of each.
static void give(gr_onnx_reading *r, const layer *m, int k, const int *end) {
  int z = joined(r, m, end, 3, 0);  // [directions, n, hidden]
  gr_read_out(r, k, m->batch_first ? gr_read_transpose(r, z, (const int64_t[]){1, 0, 2}) : z,
              false);
}

static void give_cells(gr_onnx_reading *r, const layer *m, int *cell) {
  int64_t sizes[3][GR_READ_CHOICES];
  for (int d = 0; d < m->directions && !r->err; d++) {
    gr_read_dims(r, cell[d], 0, 1, sizes), gr_read_same(sizes[1], 1);
    gr_read_same(sizes[2], m->hidden);
    cell[d] = gr_read_reshape(r, cell[d], 3, sizes);
  }
  give(r, m, 2, cell);
}

static void give_last(gr_onnx_reading *r, const layer *m, const int *y) {
  int end[2];
  for (int d = 0; d < m->directions && !r->err; d++) {
    int64_t start[GR_READ_CHOICES], size[GR_READ_CHOICES];
    bool first = d == 1 || m->reverse;
    for (int c = 0; c < GR_READ_CHOICES; c++)
      start[c] = first ? 0 : r->vars[y[d]].type[c].dim[1] - 1, size[c] = 1;
    end[d] = gr_read_slice(r, y[d], 1, start, size);
  }
  give(r, m, 1, end);
}

static void read(gr_onnx_reading *r, layer m) {
  int y[2] = {0}, cell[2] = {0};
  uint32_t layers = 0;
  if (!open(r, &m)) return;
  const char *name = r->vars[m.part[0]].name, *end = name ? strstr(name, ".weight_ih_l") : NULL;
  m.path = end ? gr_arena_strndup(r->arena, name, (size_t)(end - name))
               : gr_read_node_path(r, m.kind->name);
  const char *key = gr_arena_printf(r->arena, "%s (layers)", m.path);
  gr_map_find(&r->paths, key, &layers);
  gr_map_put(&r->paths, key, layers + 1);
  m.layer = layers;
  if (!m.batch_first) m.x = gr_read_transpose(r, m.x, (const int64_t[]){1, 0, 2});
  for (int d = 0; d < m.directions; d++) y[d] = direction(r, &m, d, cell);
  int all = joined(r, &m, y, 4, 2);
  gr_read_out(r, 0, m.batch_first ? all : gr_read_transpose(r, all, (const int64_t[]){1, 2, 0, 3}),
              false);
  if (gr_read_needs(r, 1)) give_last(r, &m, y);
  if (m.cells) give_cells(r, &m, cell);
}

void gr_lstm_read(gr_onnx_reading *r) {
  gr_read_only(r, "input_forget", 0);
  read(r, (layer){.kind = &lstm});
}

void gr_gru_read(gr_onnx_reading *r) {
  bool before = !gr_read_int(r, "linear_before_reset", 0);
  read(r, (layer){.kind = &gru, .more = {"reset_after", before ? "false" : NULL}});
}

// "Tanh" or "Relu", once for each direction.
void gr_rnn_read(gr_onnx_reading *r) {
  const char *all = gr_read_text(r, "activations", "Tanh");
  bool relu = !strcmp(all, "Relu") || !strcmp(all, "Relu Relu");
  if (!relu && strcmp(all, "Tanh") != 0 && strcmp(all, "Tanh Tanh") != 0)
    gr_read_refuse(r, "has the activations '%s'", all);
  read(r, (layer){.kind = &rnn, .more = {"act", relu ? "relu" : NULL}});
}
