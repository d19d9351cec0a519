// gpu_reduce.c - reductions over any axes of an operand into a result, by the kernels of reduce.cu.
// Reduced axes that are neighbours are one axis. They are folded from the last to the first, each
// by one launch, or by two if one would have too few blocks for a GPU.
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/operands.h"
#include "ops/kernels/reduce.h"

GR_CU(reduce);

// The order of additions depends on these, and on the shape.
enum {
  BLOCKS = 1024,    // enough for every GPU
  WARP_ROW = 1024,  // the longest row that a warp folds
  ROW_PIECE = 8192,
  COLUMN_PIECE = 64,  // the shortest pieces that a row or a column is divided into
  COLUMN_LANES = 32,  // the most threads side by side
};

typedef struct folding {
  gr_gpu_call *g;
  int in, out;  // the operand and the result
  const char *fold, *term;
  int64_t first;  // the first of the values so far in working memory; -1: they are the operand
} folding;

static int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t new_values(folding *f, int64_t n) {
  size_t wide = gr_gpu_wide(f->g->call->in[f->in].dtype);
  return (int64_t)(gr_gpu_take_scratch(f->g, (size_t)n * wide) / wide);
}

// Threads side by side, each with 16 bytes of columns of x, and the tiles that these make.
static int64_t lanes_of(const folding *f, const gr_block *b, int64_t *tiles) {
  int64_t pack = 16 / gr_dtypes[f->g->call->in[f->in].dtype].size, lanes = 1;
  while (lanes < COLUMN_LANES && lanes * pack < b->inner) lanes *= 2;
  *tiles = ceil_of(b->inner, lanes * pack);
  return lanes;
}

static void define_pointers(const folding *f, gr_gpu_kernel *k) {
  const gr_op_call *c = f->g->call;
  gr_text list = gr_text_make(f->g->arena);
  for (int i = 0; i < c->n_in; i++)
    gr_text_printf(&list, "%sconst IN%d *%s", i ? ", " : "", i, i == f->in ? "x" : "");
  for (int i = 0; i < c->n_out; i++)
    gr_text_printf(&list, ", OUT%d *%s", i, i == f->out ? "y" : "");
  gr_gpu_define(f->g, k, "POINTERS", "%s", list.chars);
  gr_gpu_define(f->g, k, "X", "IN%d", f->in);
  gr_gpu_define(f->g, k, "Y", "OUT%d", f->out);
}

// One launch: folds pieces of n, from f->first to `to`.
static void fold_pieces(folding *f, gr_block b, int64_t piece, int64_t end, double factor) {
  int64_t pieces = ceil_of(b.n, piece), tiles, lanes = lanes_of(f, &b, &tiles);
  bool columns = b.inner > 1, warps = !columns && piece <= WARP_ROW;
  int64_t threads = b.outer * pieces * (columns ? tiles * 256 : warps ? 32 : 256);
  const char *entry = columns ? "fold_columns"
                      : warps ? "fold_rows_by_warps"
                              : "fold_rows_by_blocks";
  gr_gpu_kernel *k = gr_gpu_kernel_add(f->g, gr_cu_reduce, entry, threads, 256);
  gr_dtype x = f->g->call->in[f->in].dtype;
  k->declared = 16 / (size_t)gr_dtypes[x].size * 256 * gr_gpu_wide(x);
  define_pointers(f, k);
  gr_gpu_define(f->g, k, "FOLD", "%s", f->fold);
  gr_gpu_define(f->g, k, "TERM(v)", "%s", f->term);
  gr_gpu_int(k, b.outer), gr_gpu_int(k, b.n), gr_gpu_int(k, b.inner);
  gr_gpu_int(k, piece), gr_gpu_int(k, pieces), gr_gpu_int(k, lanes);
  gr_gpu_int(k, f->first), gr_gpu_int(k, end), gr_gpu_real(k, factor);
  f->first = end;
}

static int64_t pieces_of(const folding *f, const gr_block *b) {
  int64_t tiles;
  lanes_of(f, b, &tiles);
  if (b->inner == 1 && b->n <= WARP_ROW) return 1;
  int64_t most = b->n / (b->inner == 1 ? ROW_PIECE : COLUMN_PIECE);
  return gr_max_i64(1, gr_min_i64(most, BLOCKS / (b->outer * tiles)));
}

static void fold_block(folding *f, gr_block b, bool last, double factor) {
  if (b.n == 1) b = (gr_block){1, 1, b.outer * b.inner};  // neighbours for neighbouring threads
  int64_t pieces = pieces_of(f, &b);
  if (pieces > 1) {
    int64_t piece = (ceil_of(b.n, pieces) + 63) / 64 * 64;
    pieces = ceil_of(b.n, piece);
    fold_pieces(f, b, piece, new_values(f, b.outer * pieces * b.inner), 1);
    b.n = pieces;
  }
  fold_pieces(f, b, b.n, last ? -1 : new_values(f, b.outer * b.inner), last ? factor : 1);
}

// Whether axes before d are still to be folded.
static bool folds_before(const gr_reduce_axes *a, const gr_type *x, int d) {
  while (d--)
    if (gr_reduce_axes_contains(a, d) && x->dim[d] > 1) return true;
  return false;
}

void gr_gpu_reduce(gr_gpu_call *g, const gr_reduce_axes *a, const char *fold, const char *term,
                   double factor) {
  gr_gpu_reduce_operand(g, 0, 0, a, fold, term, factor);
}

void gr_gpu_reduce_operand(gr_gpu_call *g, int in, int out, const gr_reduce_axes *a,
                           const char *fold, const char *term, double factor) {
  const gr_type *x = &g->call->in[in];
  folding f = {g, in, out, fold, term, -1};
  gr_block b = {gr_type_count(x), 1, 1};
  gr_gpu_take_scratch(g, 1);  // the kernels have working memory as a parameter
  for (int d = x->rank; d--;) {
    b.outer /= x->dim[d];
    if (gr_reduce_axes_contains(a, d)) {
      b.n *= x->dim[d];
      continue;
    }
    if (b.n > 1) {
      bool last = !folds_before(a, x, d);
      fold_block(&f, (gr_block){b.outer * x->dim[d], b.n, b.inner}, last, factor);
      if (last) return;
    }
    b.n = 1, b.inner *= x->dim[d];
  }
  fold_block(&f, b, true, factor);
}
