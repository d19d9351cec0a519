// channels.c - see batch_norm.h.
#include <string.h>
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/widen.h"
#include "ops/nn/batch_norm.h"

GR_CU(channel_sums);

// ---- Types and rules ----------------------------------------------------------------------------

static gr_status check(const gr_op_call *s, int64_t groups) {
  const gr_type *x = &s->in[0];
  if (x->rank < 2)
    return gr_fail(GR_ERR_TYPE, s->loc, "'%s' takes x [n, ..., c], of at least 2 axes",
                   s->op->name);
  if (groups < 1 || x->dim[0] % groups)
    return gr_fail(GR_ERR_TYPE, s->loc, "%lld samples cannot be divided into %lld groups",
                   (long long)x->dim[0], (long long)groups);
  return gr_require_float(s, 0, "x");
}

static gr_type type_of(char shape, const gr_type *x, int64_t groups) {
  int64_t c = x->dim[x->rank - 1];
  gr_dtype wide = gr_is_narrow(x->dtype) ? GR_F32 : x->dtype;
  if (shape == 'x') return *x;
  if (shape == 'c') return (gr_type){wide, 1, {c}};
  if (shape == 'n') return (gr_type){wide, 1, {x->dim[0]}};
  return shape == 'k' ? (gr_type){wide, 2, {groups, 1}} : (gr_type){wide, 2, {groups, c}};
}

gr_status gr_channels_operands(const gr_op_call *s, int64_t groups, const char *shapes) {
  GR_TRY(check(s, groups));
  for (int k = 1; k < s->n_in; k++) {
    gr_type want = type_of(shapes[k], &s->in[0], groups);
    char found[96], wanted[96];
    if (!gr_type_same(&s->in[k], &want))
      return gr_fail(GR_ERR_TYPE, s->loc, "operand %d of '%s' is %s, not %s", k + 1, s->op->name,
                     gr_type_text(&s->in[k], found), gr_type_text(&want, wanted));
  }
  return GR_OK;
}

void gr_channels_results(gr_op_call *s, int64_t groups, const char *shapes) {
  for (int k = 0; k < s->n_out; k++) s->out[k] = type_of(shapes[k], &s->in[0], groups);
}

// Where a value is if the samples are split (axis 0), the channels (axis -1), or another axis of x.
static gr_axis_placement place(char shape, int axis, int rank, bool one_group, bool result) {
  bool samples = axis == 0, channels = axis == rank - 1;
  gr_axis_placement sum = result ? GR_PARTIAL : GR_REPLICATE;
  if (shape == 'x') return (gr_axis_placement)axis;
  if (shape == 'c') return channels ? 0 : GR_REPLICATE;
  if (shape == 'n') return samples ? 0 : GR_REPLICATE;
  if (shape == 'k') return channels ? GR_REPLICATE : samples && !one_group ? 0 : sum;
  return channels ? 1 : samples && !one_group ? 0 : sum;
}

// By the types: the attribute of a call on one rank is the number of that rank's groups.
static bool has_one_group(const gr_op_call *s, const char *in, const char *out) {
  for (int k = 0; k < s->n_in; k++)
    if (in[k] == 's') return s->in[k].dim[0] == 1;
  for (int k = 0; k < s->n_out; k++)
    if (out[k] == 's') return s->out[k].dim[0] == 1;
  return true;
}

gr_status gr_channels_rules(const gr_op_call *s, const char *in, const char *out,
                            gr_sharding_rule *rules, int *n) {
  int rank = s->in[0].rank;
  bool one = has_one_group(s, in, out);
  memset(&rules[0], GR_REPLICATE, sizeof *rules);
  *n = 1;
  for (int axis = 0; axis < rank; axis++, ++*n) {
    memset(&rules[*n], GR_REPLICATE, sizeof *rules);
    for (int k = 0; k < s->n_in; k++) rules[*n].in[k] = place(in[k], axis, rank, one, false);
    for (int k = 0; k < s->n_out; k++) rules[*n].out[k] = place(out[k], axis, rank, one, true);
  }
  return GR_OK;
}

void gr_channels_localize(int64_t *groups, const gr_layout *out, const gr_mesh *m) {
  for (int a = 0; a < m->n_axes; a++)
    if (out->placement[a] == 0 && *groups > 1) *groups /= m->axis[a].size;
}

// ---- Sums on CPUs: in f32 over few tiles, of these in f64 ---------------------------------------

enum { MAX_CHUNKS = 64, MIN_CHUNK_ROWS = 64, FEW_TILES = 16 };

static int64_t tile_rows(const gr_channels *g) { return gr_max_i64(1, GR_CHANNELS_TILE / g->c); }

gr_channel_tile gr_channels_tile(const gr_channels *g, int64_t first, int64_t end) {
  int64_t of_sample = g->rows * g->c;
  gr_channel_tile t = {.first = first, .channel = first % g->c, .sample = first / of_sample};
  int64_t most = g->c > GR_CHANNELS_TILE ? gr_min_i64(GR_CHANNELS_TILE, g->c - t.channel)
                                         : tile_rows(g) * g->c;
  t.group = t.sample / g->samples;
  t.n = gr_min_i64(most, gr_min_i64(end, (t.sample + 1) * of_sample) - first);
  return t;
}

const float *gr_channels_repeat(const gr_channels *g, const float *of,
                                float tile[GR_CHANNELS_TILE]) {
  int64_t rows = tile_rows(g);
  for (int64_t r = 0; rows > 1 && r < rows; r++)
    memcpy(tile + r * g->c, of, sizeof *of * (size_t)g->c);
  return rows > 1 ? tile : of;
}

const float *gr_channels_read(const gr_type *type, const void *x, const gr_channel_tile *t,
                              float room[GR_CHANNELS_TILE]) {
  if (type->dtype == GR_F32) return (const float *)x + t->first;
  gr_widen(type->dtype, (const uint16_t *)x + t->first, room, t->n);
  return room;
}

float *gr_channels_place(const gr_type *type, void *y, const gr_channel_tile *t,
                         float room[GR_CHANNELS_TILE]) {
  return type->dtype == GR_F32 ? (float *)y + t->first : room;
}

void gr_channels_store(const gr_type *type, void *y, const gr_channel_tile *t,
                       const float room[GR_CHANNELS_TILE]) {
  if (type->dtype != GR_F32) gr_narrow(type->dtype, room, (uint16_t *)y + t->first, t->n);
}

typedef struct summing {
  const gr_launch *l;
  const gr_channels *g;
  int sums;
  const float *mean;
  gr_channel_terms terms;
  int64_t chunk, chunks;  // rows of a chunk; chunks of a group
} summing;

static int64_t chunk_rows(const gr_channels *g) {
  int64_t rows = g->samples * g->rows;
  return gr_max_i64(MIN_CHUNK_ROWS, (rows + MAX_CHUNKS - 1) / MAX_CHUNKS);
}

// Numbers of each chunk in working memory: the sums in f64, and the ones of few tiles in f32.
static size_t chunk_bytes(const gr_channels *g, int sums) {
  size_t n = (size_t)(sums * g->c);
  return (n * sizeof(double) + n * (size_t)tile_rows(g) * sizeof(float) + 7) / 8 * 8;
}

static int64_t chunks_of(const gr_channels *g) {
  return (g->samples * g->rows + chunk_rows(g) - 1) / chunk_rows(g);
}

size_t gr_channels_scratch(const gr_channels *g, int sums) {
  return (size_t)(g->groups * chunks_of(g)) * chunk_bytes(g, sums);
}

// Adds the sums of few tiles to the totals, and clears them.
static void fold(const summing *w, double *total, float *few) {
  int64_t c = w->g->c, tile = tile_rows(w->g);
  for (int64_t i = 0; i < w->sums * tile; i++)
    for (int64_t k = 0; k < c; k++) total[i / tile * c + k] += (double)few[i * c + k];
  memset(few, 0, sizeof *few * (size_t)(w->sums * tile * c));
}

// Rows [row, end) of a group.
static void sum_chunk(const summing *w, int64_t row, int64_t end, double *total) {
  int64_t n = w->sums * w->g->c, group = row / (w->g->samples * w->g->rows);
  float *few = (float *)(void *)(total + n), tile[GR_CHANNELS_TILE];
  int64_t c = w->g->c, width = tile_rows(w->g) * c;
  const float *mean = w->mean ? gr_channels_repeat(w->g, w->mean + group * c, tile) : NULL;
  memset(total, 0, sizeof *total * (size_t)n);
  memset(few, 0, sizeof *few * (size_t)(w->sums * width));
  for (int64_t next = row * c, tiles = 0; next < end * c;) {
    gr_channel_tile t = gr_channels_tile(w->g, next, end * c);
    w->terms(w->l, &t, &(gr_channel_sum){few + t.channel, width, mean ? mean + t.channel : NULL});
    next += t.n;
    tiles += next % c == 0;
    if (next % c == 0 && (tiles % FEW_TILES == 0 || next >= end * c)) fold(w, total, few);
  }
}

static void sum_chunks(void *arg, int64_t begin, int64_t end) {
  const summing *w = arg;
  int64_t rows = w->g->samples * w->g->rows;
  for (int64_t k = begin; k < end; k++) {
    int64_t first = k % w->chunks * w->chunk, group = k / w->chunks * rows;
    sum_chunk(w, group + first, group + gr_min_i64(rows, first + w->chunk),
              (double *)(void *)((char *)w->l->scratch + (size_t)k * chunk_bytes(w->g, w->sums)));
  }
}

void gr_channels_sum(const gr_launch *l, const gr_channels *g, int sums, const float *mean,
                     gr_channel_terms terms) {
  summing w = {l, g, sums, mean, terms, chunk_rows(g), chunks_of(g)};
  size_t bytes = chunk_bytes(g, sums);
  gr_parallel(l, g->groups * w.chunks, 1, sum_chunks, &w);
  for (int64_t group = 0; group < g->groups; group++)
    for (int64_t i = 0; i < sums * g->c; i++) {
      double sum = 0;
      for (int64_t k = 0; k < w.chunks; k++)
        sum += ((const double *)(const void *)((const char *)l->scratch +
                                               (size_t)(group * w.chunks + k) * bytes))[i];
      ((float *)l->out[i / g->c])[group * g->c + i % g->c] = (float)sum;
    }
}

// ---- On a GPU -----------------------------------------------------------------------------------

void gr_channels_sum_gpu(gr_gpu_call *g, const gr_channels *of, int sums, const char *term,
                         double eps) {
  enum { PIECES = 256, LEAST_ROWS = 32 };
  int64_t rows = of->samples * of->rows, tiles = (of->c + 31) / 32;
  int64_t piece = gr_max_i64(LEAST_ROWS, (rows + PIECES - 1) / PIECES);
  int64_t pieces = (rows + piece - 1) / piece, columns = sums * of->c;
  size_t wide = gr_gpu_wide(g->call->in[0].dtype);
  gr_gpu_take_scratch(g, (size_t)(of->groups * pieces * columns) * wide);
  gr_gpu_kernel *k = gr_gpu_kernel_add(g, gr_cu_channel_sums, "channel_pieces",
                                       of->groups * pieces * tiles * 256, 256);
  gr_gpu_define(g, k, "SUMS", "%d", sums);
  gr_gpu_define(g, k, term, "1");
  gr_gpu_int(k, rows), gr_gpu_int(k, of->c), gr_gpu_int(k, of->rows), gr_gpu_int(k, piece);
  gr_gpu_int(k, pieces), gr_gpu_real(k, eps);
  const char *source = k->source, *defines = k->defines;
  k = gr_gpu_kernel_add(g, source, "channel_totals", gr_gpu_items(of->groups * columns),
                        GR_GPU_BLOCK);
  k->defines = defines;
  gr_gpu_int(k, of->groups), gr_gpu_int(k, of->c), gr_gpu_int(k, pieces);
}
