// gpu_join.c - see gpu_join.h.
#include "ops/kernels/gpu_join.h"
#include <ctype.h>
#include <string.h>
#include "base/arena.h"
#include "base/text.h"

// ---- Which launches are alike -------------------------------------------------------------------

static bool same_types(const gr_type *a, const gr_type *b, int n) {
  for (int k = 0; k < n; k++)
    if (a[k].dtype != b[k].dtype) return false;
  return true;
}

static bool same_operands(const gr_gpu_call *a, const gr_gpu_call *b) {
  const gr_op_call *x = a->call, *y = b->call;
  return x->n_in == y->n_in && x->n_out == y->n_out && same_types(x->in, y->in, x->n_in) &&
         same_types(x->out, y->out, x->n_out) && !a->scratch == !b->scratch;
}

static bool same_code(const gr_gpu_kernel *a, const gr_gpu_kernel *b) {
  return a->threads == b->threads && a->shared == b->shared && a->n_numbers == b->n_numbers &&
         gr_text_same(a->entry, b->entry) && gr_text_same(a->source, b->source) &&
         gr_text_same(a->defines, b->defines);
}

// Whether this launch of the two calls may be part of one kernel.
static bool may_join(const gr_gpu_call *a, const gr_gpu_call *b, int launch) {
  const gr_gpu_launch *x = &a->launch[launch], *y = &b->launch[launch];
  return x->kind == GR_GPU_KERNEL && y->kind == GR_GPU_KERNEL && !x->kernel.cooperative &&
         !y->kernel.cooperative && same_code(&x->kernel, &y->kernel) && same_operands(a, b);
}

// Joins this launch of calls i, i + 1, ... that are alike and not done.
static gr_gpu_joined join(gr_arena *arena, const gr_gpu_call *calls, int n, int i, int launch,
                          bool *done) {
  enum { MAX_BLOCKS = 1 << 30 };
  const gr_gpu_launch *l = &calls[i].launch[launch];
  gr_gpu_joined j = {.launch = launch, .n = 1, .call = GR_NEW(arena, int, n - i)};
  int64_t blocks = l->kind == GR_GPU_KERNEL ? l->kernel.blocks : 0;
  j.call[0] = i;
  for (int k = i + 1; k < n; k++) {
    if (done[k] || launch >= calls[k].n || !may_join(&calls[i], &calls[k], launch)) continue;
    blocks += calls[k].launch[launch].kernel.blocks;
    if (blocks > MAX_BLOCKS) break;
    done[k] = true, j.call[j.n++] = k;
  }
  return j;
}

int gr_gpu_join(gr_arena *arena, const gr_gpu_call *calls, int n, gr_gpu_joined **out) {
  int launches = 0;
  bool *done = GR_NEW(arena, bool, n);
  *out = GR_NEW(arena, gr_gpu_joined, n * GR_GPU_LAUNCHES);
  for (int launch = 0; launch < GR_GPU_LAUNCHES; launch++) {
    memset(done, 0, sizeof *done * (size_t)n);
    for (int i = 0; i < n; i++)
      if (!done[i] && launch < calls[i].n)
        (*out)[launches++] = join(arena, calls, n, i, launch, done);
  }
  return launches;
}

gr_status gr_gpu_describe_all(gr_arena *arena, const gr_op_call *calls,
                              const gr_launch *const *where, int processors, int n,
                              gr_gpu_call **out) {
  gr_gpu_call *g = *out = GR_NEW(arena, gr_gpu_call, n);
  for (int i = 0; i < n; i++) {
    g[i] = (gr_gpu_call){.call = &calls[i],
                         .where = where ? where[i] : NULL,
                         .processors = processors,
                         .arena = arena,
                         .launch = GR_NEW(arena, gr_gpu_launch, GR_GPU_LAUNCHES)};
    GR_TRY(gr_gpu_describe(&g[i]));
  }
  return GR_OK;
}

// ---- The text -----------------------------------------------------------------------------------

int gr_gpu_row_words(const gr_gpu_call *g, const gr_gpu_kernel *k) {
  return 2 + g->call->n_in + g->call->n_out + (g->scratch > 0) + k->n_numbers;
}

static const struct {
  const char *word, *instead;
} words[] = {{"__global__", "gr_member"},
             {"__launch_bounds__", "GR_UNBOUNDED"},
             {"blockIdx", "gr_member_block"},
             {"blockDim", "gr_member_dim"},
             {"gridDim", "gr_member_grid"}};

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

// Appends text with words replaced: what a launch says of itself is what its row says, and kernels
// are functions.
void gr_gpu_put_functions(gr_text *out, const char *text) {
  static const char linkage[] = "extern \"C\" ";
  size_t n;
  for (const char *p = text; *p; p += n) {
    const char *instead = NULL;
    if (!strncmp(p, linkage, n = sizeof linkage - 1)) continue;
    for (n = 0; is_word(p[n]) == is_word(*p) && p[n]; n++) continue;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
      if (n == strlen(words[w].word) && !strncmp(p, words[w].word, n)) instead = words[w].instead;
    gr_text_putn(out, instead ? instead : p, instead ? strlen(instead) : n);
  }
}

const char gr_gpu_member_text[] =
    "#define GR_UNBOUNDED(...)\n"
    "#define gr_member __device__\n"
    "#define gr_member_dim blockDim\n"
    "struct gr_member_index { unsigned x; };\n"
    "__shared__ gr_member_index gr_member_block, gr_member_grid;\n\n";

static const char parameter[] =
    "struct gr_parameter {  // of a row\n"
    "  unsigned long long bits;\n"
    "  template <class T> __device__ operator T *() const { return (T *)bits; }\n"
    "  __device__ operator long long() const { return (long long)bits; }\n"
    "  __device__ operator double() const { return __longlong_as_double((long long)bits); }\n"
    "};\n";

static const char find_row[] =
    "  long long low = 0, high = members;\n"
    "  while (high - low > 1) {\n"
    "    long long middle = (low + high) / 2;\n"
    "    if (table[middle * WORDS].bits <= blockIdx.x)\n"
    "      low = middle;\n"
    "    else\n"
    "      high = middle;\n"
    "  }\n"
    "  table += low * WORDS;\n"
    "  if (threadIdx.x == 0) {\n"
    "    gr_member_block.x = blockIdx.x - (unsigned)table[0].bits;\n"
    "    gr_member_grid.x = (unsigned)table[1].bits;\n"
    "  }\n"
    "  __syncthreads();\n";

void gr_gpu_joined_source(const gr_gpu_call *g, const gr_gpu_kernel *k, gr_text *out) {
  gr_arena *work = gr_arena_create();
  gr_text text = gr_text_make(work);
  gr_gpu_source(g, k, &text);
  gr_text_put(out, gr_gpu_member_text);
  gr_text_put(out, parameter);
  gr_gpu_put_functions(out, text.chars);
  gr_arena_destroy(work);
  int n = gr_gpu_row_words(g, k);
  gr_text_printf(out, "\n#define WORDS %d\n", n);
  gr_text_printf(
      out,
      "extern \"C\" __global__ void __launch_bounds__(%d, 1) joined(const gr_parameter *table, "
      "long long members) {\n%s  %s(",
      k->threads, find_row, k->entry);
  for (int i = 2; i < n; i++) gr_text_printf(out, "%stable[%d]", i > 2 ? ", " : "", i);
  gr_text_put(out, ");\n}\n");
}
