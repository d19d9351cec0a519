// tune.c - for each product the fastest of cuBLASLt's algorithms, by the time that they take on
// this GPU instead of by its own model. Rank 0 times them, and its choice is every rank's, so that
// ranks compute the same bits. It is kept on disk (cache.c), so that later runs on such a GPU do,
// too.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/log.h"
#include "runtime/device/cuda/parts.h"

// The least of ROUNDS measurements counts, each of CALLS products. FORMAT: of a choice.
enum { ROUNDS = 4, CALLS = 4, LINE = 256, FORMAT = 1 };
// An algorithm that takes more than this of the time of one before it is not faster, but measured
// so.
static const float faster = 0.97f;

// cuBLASLt's description of an algorithm may be stored, for use by the same version of it.
typedef struct choice {
  uint64_t key;
  cublasLtMatmulAlgo_t algo;
} choice;

typedef struct tuner {
  gr_cuda *c;
  CUdeviceptr memory;  // for the operands of one product
  CUevent begin, end;
} tuner;

// Of what cuBLASLt is asked for a product, and of its version.
static uint64_t key_of(const gr_cuda *c, const gr_gpu_gemm *g) {
  const int64_t parts[] = {FORMAT,      (int64_t)gr_lt.cublasLtGetVersion(),
                           c->tf32,     GR_CUDA_WORKSPACE,
                           g->in,       g->out,
                           g->m,        g->n,
                           g->k,        g->batch,
                           g->lda,      g->ldb,
                           g->ldc,      g->stride_a,
                           g->stride_b, g->stride_c,
                           g->ta,       g->tb,
                           g->epilogue};
  return gr_hash_bytes(GR_HASH_START, parts, sizeof parts);
}

// Of a file: those of other GPUs differ.
static void name_choice(const gr_cuda *c, uint64_t product, uint64_t out[2]) {
  const int sizes[] = {c->arch, c->processors};
  out[0] = product;
  out[1] = gr_hash_bytes(gr_hash_bytes(product, c->name, strlen(c->name)), sizes, sizeof sizes);
}

// ---- Measuring ----------------------------------------------------------------------------------

static CUdeviceptr place(CUdeviceptr *next, int64_t elements, gr_dtype d) {
  CUdeviceptr address = *next;
  *next += ((size_t)elements * gr_dtypes[d].size + LINE - 1) / LINE * LINE;
  return address;
}

static int64_t span(int64_t rows, int64_t cols, int64_t ld, int64_t batch, int64_t stride) {
  return (batch - 1) * stride + (rows - 1) * ld + cols;
}

// Operands one after the other; the end of the last one.
static CUdeviceptr lay_out(const gr_gpu_gemm *g, CUdeviceptr memory, gr_operands *o) {
  int64_t a = span(g->ta ? g->k : g->m, g->ta ? g->m : g->k, g->lda, g->batch, g->stride_a);
  int64_t b = span(g->tb ? g->n : g->k, g->tb ? g->k : g->n, g->ldb, g->batch, g->stride_b);
  *o = (gr_operands){.a = place(&memory, a, g->in), .b = place(&memory, b, g->in)};
  o->c = place(&memory, span(g->m, g->n, g->ldc, g->batch, g->stride_c), g->out);
  if (g->epilogue != GR_GPU_PLAIN) o->bias = place(&memory, g->m > g->n ? g->m : g->n, g->out);
  return memory;
}

static gr_status measure(const tuner *t, const gr_product *p, const gr_operands *o,
                         const cublasLtMatmulHeuristicResult_t *h, float *ms) {
  CUstream stream = t->c->stream[GR_QUEUE_COMPUTE];
  float took = 0;
  for (int round = 0; round < ROUNDS; round++) {
    CU_TRY(cuEventRecord(t->begin, stream));
    for (int i = 0; i < CALLS; i++) GR_TRY(gr_product_multiply(t->c, p, o, h));
    CU_TRY(cuEventRecord(t->end, stream));
    CU_TRY(cuEventSynchronize(t->end));
    CU_TRY(cuEventElapsedTime(&took, t->begin, t->end));
    *ms = fminf(*ms, took);
  }
  return GR_OK;
}

// Numbers that are small in each type: zeros would take less power, and so less time.
static gr_status open_tuner(tuner *t, const gr_gpu_gemm *g, gr_operands *o) {
  size_t bytes = lay_out(g, 0, o);
  CU_TRY(cuMemAlloc(&t->memory, bytes));
  CU_TRY(cuMemsetD8Async(t->memory, 0x3c, bytes, t->c->stream[GR_QUEUE_COMPUTE]));
  CU_TRY(cuEventCreate(&t->begin, CU_EVENT_DEFAULT));
  CU_TRY(cuEventCreate(&t->end, CU_EVENT_DEFAULT));
  lay_out(g, t->memory, o);
  return GR_OK;
}

static void leave_out(gr_cuda *c, gr_status why) {
  if (!c->tuned.failed++)
    gr_log(GR_INFO, "an algorithm of cuBLASLt's fails when it is to be timed, and is left out: %s",
           gr_status_text(why));
}

// An algorithm that the library refuses after all is left out.
static gr_status find_fastest(tuner *t, gr_product *p, cublasLtMatmulAlgo_t *out) {
  cublasLtMatmulHeuristicResult_t list[GR_PRODUCT_ALGORITHMS];
  int n = GR_PRODUCT_ALGORITHMS;
  float best = INFINITY;
  gr_operands o;
  GR_TRY(gr_product_algorithms(t->c, p, GR_PRODUCT_ALIGNED, list, &n));
  GR_TRY(open_tuner(t, &p->gemm, &o));
  *out = list[0].algo;
  for (int i = 0; i < n; i++) {
    float ms = INFINITY;
    gr_status s = gr_product_multiply(t->c, p, &o, &list[i]);
    bool refused = s;
    if (refused) leave_out(t->c, s);
    gr_status_drop(s);
    if (!refused) GR_TRY(measure(t, p, &o, &list[i], &ms));
    if (ms < best * faster) best = ms, *out = list[i].algo;
  }
  return GR_OK;
}

static void close_tuner(const tuner *t) {
  if (t->begin) gr_cu.cuEventDestroy(t->begin);
  if (t->end) gr_cu.cuEventDestroy(t->end);
  if (t->memory) gr_cu.cuMemFree(t->memory);
}

// ---- Choosing -----------------------------------------------------------------------------------

// The choices of all products that differ.
typedef struct choices {
  choice *list;
  int64_t n;
} choices;

static const choice *find(const choices *all, uint64_t key) {
  for (int64_t i = 0; i < all->n; i++)
    if (all->list[i].key == key) return &all->list[i];
  return NULL;
}

// Whether it is an algorithm for the product on this GPU.
static bool check(const gr_cuda *c, const gr_product *p, const cublasLtMatmulAlgo_t *algo,
                  cublasLtMatmulHeuristicResult_t *r) {
  *r = (cublasLtMatmulHeuristicResult_t){.state = CUBLAS_STATUS_NOT_SUPPORTED};
  cublasStatus_t s = gr_lt.cublasLtMatmulAlgoCheck(c->lt, p->desc, p->a, p->b, p->c, p->c, algo, r);
  r->algo = *algo;
  return !s && !r->state && r->workspaceSize <= GR_CUDA_WORKSPACE;
}

static bool load(const gr_cuda *c, const gr_product *p, const uint64_t name[2],
                 cublasLtMatmulAlgo_t *out) {
  cublasLtMatmulHeuristicResult_t r;
  char *bytes = NULL;
  size_t n = 0;
  bool found = gr_kernel_cache_read(name, &bytes, &n) && n == sizeof *out;
  if (found) memcpy(out, bytes, n);
  free(bytes);
  return found && check(c, p, out, &r);
}

static gr_status choose(gr_cuda *c, gr_product *p, choice *o) {
  tuner t = {.c = c};
  uint64_t name[2];
  name_choice(c, o->key, name);
  bool cached = load(c, p, name, &o->algo);
  c->tuned.cached += cached, c->tuned.timed += !cached;
  if (cached) return GR_OK;
  gr_status s = find_fastest(&t, p, &o->algo);
  close_tuner(&t);
  if (!s) gr_kernel_cache_write(name, (const char *)&o->algo, sizeof o->algo);
  if (!s) return GR_OK;
  return gr_hint(gr_note(s, GR_NOWHERE, "while timing products"),
                 "training.autotune=false takes cuBLASLt's own choices, and needs no memory");
}

static gr_status choose_all(gr_cuda *c, choices *all) {
  for (gr_product *p = c->products; p; p = p->next) {
    choice *o = &all->list[all->n];
    o->key = key_of(c, &p->gemm);
    if (!p->known[GR_PRODUCT_ALIGNED] || find(all, o->key)) continue;
    GR_TRY(choose(c, p, o));
    all->n++;
  }
  return GR_OK;
}

static gr_status tell(gr_cuda *c, gr_comm *world, choices *all) {
  GR_TRY(gr_comm_run(world, GR_BROADCAST, GR_U8, sizeof all->n, &all->n, &all->n));
  if (world->rank) all->list = GR_NEW(c->arena, choice, all->n + 1);
  return gr_comm_run(world, GR_BROADCAST, GR_U8, all->n * (int64_t)sizeof *all->list, all->list,
                     all->list);
}

// A rank whose GPU or library is another one may have no such product, or not the algorithm.
static void take(gr_cuda *c, gr_product *p, const choices *all) {
  cublasLtMatmulHeuristicResult_t r, *now = &p->chosen[GR_PRODUCT_ALIGNED];
  const choice *o = find(all, key_of(c, &p->gemm));
  if (!o || !check(c, p, &o->algo, &r)) {
    if (!c->tuned.untaken++)
      gr_log(GR_WARN, "rank 0's choice for a product is none here: cuBLASLt's own is taken");
    return;
  }
  c->tuned.products++;
  c->tuned.other += memcmp(&now->algo, &r.algo, sizeof r.algo) != 0;
  *now = r;
}

gr_status gr_products_tune(gr_device *d, gr_comm *world) {
  gr_cuda *c = gr_cuda_of(d);
  choices all = {0};
  int n = 1;
  for (gr_product *p = c->products; p; p = p->next) n++;
  all.list = GR_NEW(c->arena, choice, n);
  if (!world || world->rank == 0) GR_TRY(choose_all(c, &all));
  if (world && world->ranks > 1) GR_TRY(tell(c, world, &all));
  for (gr_product *p = c->products; p; p = p->next)
    if (p->known[GR_PRODUCT_ALIGNED]) take(c, p, &all);
  return GR_OK;
}

void gr_products_report(const gr_cuda *c, gr_text *t) {
  if (c->tuned.products)
    gr_text_printf(t,
                   "; %d product%s by algorithms that were timed, %d now and %d before, %d of them "
                   "other than cuBLASLt's own choice",
                   c->tuned.products, gr_text_s(c->tuned.products), c->tuned.timed, c->tuned.cached,
                   c->tuned.other);
  if (c->tuned.failed)
    gr_text_printf(t, "; %d of cuBLASLt's algorithms failed when they were to be timed",
                   c->tuned.failed);
}
