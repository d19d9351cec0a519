// test_cublaslt.c - products as plans have them, asked of the cuBLASLt that is found, NVIDIA's own
// or the stand-in: descriptions, layouts and preferences, and where it opens on the driver that is
// found also its algorithms. NVIDIA's opens on NVIDIA's driver alone, which it makes sure of.
//
//   test_cublaslt [table]      prints what it has for each kind of product
#include "tests/check.h"
#if GR_HAVE_CUDA
#include "base/arena.h"
#include "runtime/device/cuda/parts.h"

static bool table;
// What a kind of product came to, over all shapes.
typedef struct tally {
  int asked, refused;
  size_t workspace;  // the most of any first algorithm
} tally;

static const struct kind {
  const char *name;
  gr_dtype in, out;
  bool tf32;
} kinds[] = {{"f32", GR_F32, GR_F32, false},         {"tf32", GR_F32, GR_F32, true},
             {"f64", GR_F64, GR_F64, false},         {"bf16", GR_BF16, GR_BF16, false},
             {"bf16, wide", GR_BF16, GR_F32, false}, {"f16", GR_F16, GR_F16, false},
             {"f16, wide", GR_F16, GR_F32, false}};
static const char *const epilogues[] = {"plain", "vector", "vector and relu", "sums of a",
                                        "sums of b"};
static const int64_t shapes[][3] = {{64, 48, 32},    {19, 53, 64},      {33, 7, 5},
                                    {1, 512, 384},   {512, 1, 384},     {96, 128, 1},
                                    {2000, 29, 468}, {8192, 768, 3072}, {768, 768, 8192}};

// Opens the driver's first device, if there is one, and the library on it; lt is NULL if it does
// not open.
static CUcontext open_library(gr_cuda *c) {
  gr_status s = gr_cublaslt_open();
  bool found = !s;
  gr_status_drop(s);
  if (!found) SKIP("there is no cuBLASLt");
  s = gr_driver_open();
  CUcontext context = NULL;
  if (!s && !gr_cu.cuDevicePrimaryCtxRetain(&context, 0)) gr_cu.cuCtxSetCurrent(context);
  gr_status_drop(s);
  if (gr_lt.cublasLtCreate(&c->lt)) c->lt = NULL;
  return context;
}

static gr_gpu_gemm gemm_of(const struct kind *k, const int64_t *size, int way, int64_t batch) {
  gr_gpu_gemm g = {.in = k->in, .out = k->out, .m = size[0], .n = size[1], .k = size[2]};
  g.ta = way & 1, g.tb = way & 2, g.batch = batch;
  g.lda = g.ta ? g.m : g.k, g.ldb = g.tb ? g.k : g.n, g.ldc = g.n;
  if (batch > 1) g.stride_a = g.m * g.k, g.stride_c = g.m * g.n;
  if (batch > 1 && way < 2) g.stride_b = g.k * g.n;  // else all have the same
  return g;
}

// Where the library is open it has algorithms, which do with the working memory of plans; otherwise
// its descriptions are accepted, and no algorithm is there.
static void ask(gr_cuda *c, const gr_gpu_gemm *g, int class, tally *out) {
  cublasLtMatmulHeuristicResult_t list[GR_PRODUCT_ALGORITHMS], again;
  int n = GR_PRODUCT_ALGORITHMS;
  gr_product *p;
  gr_status s = gr_product_open(c, g, &p);
  if (!s) s = gr_product_algorithms(c, p, class, list, &n);
  out->asked++, out->refused += s != GR_OK;
  bool fine = c->lt ? !s || g->epilogue : gr_status_code(s) == GR_ERR_UNSUPPORTED;
  CHECK(fine, "%lld x %lld x %lld, %lld times, ta %d, tb %d, %s, %s: %s", (long long)g->m,
        (long long)g->n, (long long)g->k, (long long)g->batch, g->ta, g->tb, epilogues[g->epilogue],
        class ? "unaligned" : "aligned", gr_status_text(s));
  for (int i = 0; i < n && !s; i++) {
    cublasStatus_t r = gr_lt.cublasLtMatmulAlgoCheck(c->lt, p->desc, p->a, p->b, p->c, p->c,
                                                     &list[i].algo, &again);
    CHECK(!r && !again.state && again.workspaceSize <= GR_CUDA_WORKSPACE,
          "algorithm %d: %d, %zu bytes", i, (int)r, again.workspaceSize);
  }
  if (!s && list[0].workspaceSize > out->workspace) out->workspace = list[0].workspaceSize;
  gr_status_drop(s);
}

static tally ask_all(gr_cuda *c, const struct kind *k, gr_gpu_epilogue e) {
  tally all = {0};
  c->tf32 = k->tf32;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int way = 0; way < 4; way++)
      for (int many = 0; many < (e ? 1 : 2); many++)
        for (int class = 0; class < GR_PRODUCT_CLASSES; class ++) {
          gr_gpu_gemm g = gemm_of(k, shapes[i], way, many ? 12 : 1);
          g.epilogue = e;
          ask(c, &g, class, &all);
        }
  return all;
}

static void products(void) {
  gr_cuda c = {.arena = gr_arena_create()};
  CUcontext context = open_library(&c);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    for (gr_gpu_epilogue e = GR_GPU_PLAIN; e <= GR_GPU_SUMS_OF_B; e++) {
      tally t = ask_all(&c, &kinds[i], e);
      if (!table || !c.lt) continue;
      printf("%-10s %-15s %3d of %3d, at most %zu bytes\n", kinds[i].name, epilogues[e],
             t.asked - t.refused, t.asked, t.workspace);
    }
  gr_products_close(&c);
  gr_arena_destroy(c.arena);
  if (c.lt) gr_lt.cublasLtDestroy(c.lt);
  if (context) gr_cu.cuDevicePrimaryCtxRelease(0);
  if (!c.lt)
    SKIP("its algorithms: cuBLASLt %zu does not open without a GPU; descriptions were accepted",
         gr_lt.cublasLtGetVersion());
}

int main(int argc, char **argv) {
  table = argc > 1 && !strcmp(argv[1], "table");
  if (table) argc--;
  return RUN(argc, argv, {"products", products});
}
#else
static void products(void) { SKIP("built without the headers of the CUDA toolkit"); }
int main(int argc, char **argv) { return RUN(argc, argv, {"products", products}); }
#endif
