// test_cudnn.c - the graphs of attention, planned by NVIDIA's own cuDNN for GPUs that it is told
// of: its heuristics, and the compiler of its kernels. It needs no GPU, and computes nothing.
//
//   test_cudnn [table]      prints each plan's working memory
#include "runtime/device/cuda.h"
#include "tests/check.h"
#if GR_HAVE_CUDA && GR_HAVE_CUDNN
#include "runtime/device/cuda/cudnn_graph.h"
#endif

#if GR_HAVE_CUDA && GR_HAVE_CUDNN && CUDNN_VERSION >= 90800

enum { LEAST_VERSION = 91600 };  // of cudnn_attention.c
static bool table;

// Three GPUs: compute capability, processors, and bytes of shared memory of a block.
static const struct chip {
  int arch, processors, shared;
} chips[] = {{800, 108, 166912}, {900, 132, 232448}, {1000, 148, 232448}};

static gr_dnn_value describe_chip(const struct chip *c) {
  char text[1024];
  int n = snprintf(
      text, sizeof text,
      "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
      "\"regsPerBlock\":65536,\"multiProcessorCount\":%d,\"warpSize\":32,"
      "\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":%d,"
      "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"maxCtasPerSM\":32,"
      "\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,"
      "\"isTccDriver\":0,\"supportCoopLaunch\":1,\"totalGlobalMem\":80000000000,"
      "\"smClockRateKHz\":1400000,\"memClockRateKHz\":1500000,\"l2CacheSize\":41943040,"
      "\"cudaDeviceId\":0,\"deviceVer\":%d,\"driverVer\":13000,\"deviceName\":\"a GPU\"}",
      c->processors, c->shared, c->arch);
  gr_dnn_value d;
  CHECK(!gr_dnn.cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d), "no device");
  CHECK(!gr_dnn.cudnnBackendSetAttribute(d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                         CUDNN_TYPE_CHAR, n + 1, text),
        "no description");
  CHECK(!gr_dnn.cudnnBackendFinalize(d), "cuDNN does not take the description of a device");
  return d;
}

static const gr_gpu_ref there = {.space = GR_GPU_IN};
static gr_gpu_attention call_of(bool gradient, bool lengths, bool causal, bool drops,
                                gr_dtype dtype) {
  gr_gpu_attention a = {.dtype = dtype,
                        .gradient = gradient,
                        .causal = causal,
                        .n = 4,
                        .t = 250,
                        .s = 250,
                        .heads = 8,
                        .d = 64,
                        .e = 64,
                        .scale = 0.125,
                        .keep = drops ? 1.25 : 1};
  for (int p = GR_GPU_Q; p <= GR_GPU_LSE; p++) a.arrays[p] = there;
  for (int p = GR_GPU_DY; p <= GR_GPU_DV && gradient; p++) a.arrays[p] = there;
  if (gradient) a.arrays[GR_GPU_DELTA] = there;
  if (drops) a.arrays[GR_GPU_MASK] = there;
  if (lengths) a.arrays[GR_GPU_ROWS] = a.arrays[GR_GPU_KEYS] = there;
  return a;
}

static gr_status plan_part(const gr_gpu_attention *a, int64_t samples, int64_t heads,
                           gr_dnn_value device, int64_t *workspace) {
  gr_dnn_graph g = {0};
  gr_dnn_plan p;
  gr_dnn_attention(&g, a, samples, heads);
  gr_status s = gr_dnn_plan_open(&g, &(gr_dnn_target){.device = device}, GR_CUDA_WORKSPACE, &p);
  *workspace = s ? 0 : p.workspace;
  gr_dnn_graph_close(&g);
  return s;
}

static gr_status plan(const gr_gpu_attention *a, gr_dnn_value device, int64_t *workspace) {
  return plan_part(a, a->n, a->heads, device, workspace);
}

// The gradient of the scores, in tiles of 64, is what makes gradients deterministic.
static void must_plan(const gr_gpu_attention *a, const struct chip *c, gr_dnn_value device) {
  int64_t workspace,
      scores = a->n * a->heads * ((a->t + 63) / 64) * ((a->s + 63) / 64) * 64 * 64 * 2;
  gr_status s = plan(a, device, &workspace);
  CHECK(!s, "compute capability %d.%d%s%s%s%s, %s, %lld x %lld, %lld and %lld columns: %s",
        c->arch / 100, c->arch / 10 % 10, a->gradient ? ", gradients" : "",
        a->causal ? ", causal" : "", a->arrays[GR_GPU_KEYS].space ? ", lengths" : "",
        a->arrays[GR_GPU_MASK].space ? ", dropout" : "", gr_dtypes[a->dtype].name, (long long)a->t,
        (long long)a->s, (long long)a->d, (long long)a->e, gr_status_text(s));
  if (a->gradient)
    CHECK(workspace >= scores && workspace < scores + (1 << 20), "%lld bytes instead of %lld",
          (long long)workspace, (long long)scores);
  if (table)
    printf("%d %s%s%s%s %s: %lld bytes\n", c->arch, a->gradient ? "gradients" : "forward",
           a->causal ? ", causal" : "", a->arrays[GR_GPU_KEYS].space ? ", lengths" : "",
           a->arrays[GR_GPU_MASK].space ? ", dropout" : "", gr_dtypes[a->dtype].name,
           (long long)workspace);
}

static bool is_there(void) {
  gr_status s = gr_cudnn_open();
  bool found = !s;
  gr_status_drop(s);
  return found && gr_dnn.cudnnGetVersion() >= LEAST_VERSION;
}

static void plans(void) {
  if (!is_there()) SKIP("cuDNN 9.16 or newer is not on this machine");
  for (size_t i = 0; i < sizeof chips / sizeof *chips; i++) {
    gr_dnn_value device = describe_chip(&chips[i]);
    bool every = chips[i].arch == 900;
    for (int k = every ? 0 : 6; k < 16; k++) {
      const gr_gpu_attention a = call_of(k & 1, k & 2, k & 4, k & 8, k & 2 ? GR_BF16 : GR_F16);
      if (every || k % 8 >= 6) must_plan(&a, &chips[i], device);
    }
    gr_dnn.cudnnBackendDestroyDescriptor(device);
  }
}

// Sizes that are no multiples of tiles, one row, heads of other widths, and no sums of rows.
static void sizes(void) {
  static const int64_t each[][4] = {
      {33, 40, 16, 24}, {1, 7, 8, 8}, {70, 130, 128, 128}, {70, 130, 256, 256}};
  if (!is_there()) SKIP("cuDNN 9.16 or newer is not on this machine");
  gr_dnn_value device = describe_chip(&chips[1]);
  for (size_t i = 0; i < sizeof each / sizeof *each; i++)
    for (int k = 0; k < 4; k++) {
      gr_gpu_attention a = call_of(k & 1, i != 1, false, k & 2, GR_BF16);
      a.t = each[i][0], a.s = each[i][1], a.d = each[i][2], a.e = each[i][3];
      if (!(k & 1) && i == 2) a.arrays[GR_GPU_LSE] = (gr_gpu_ref){0};
      must_plan(&a, &chips[1], device);
    }
  gr_dnn.cudnnBackendDestroyDescriptor(device);
}

// Parts of a call: some samples, and some heads of a sample, whose rows are further apart.
static void parts(void) {
  static const int64_t each[][2] = {{2, 12}, {1, 12}, {1, 4}, {1, 1}};
  if (!is_there()) SKIP("cuDNN 9.16 or newer is not on this machine");
  gr_dnn_value device = describe_chip(&chips[1]);
  gr_gpu_attention a = call_of(true, true, true, false, GR_BF16);
  a.t = a.s = 1024, a.heads = 12;
  for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
    int64_t workspace, n = each[i][0], heads = each[i][1];
    int64_t least = gr_gpu_attention_bytes(&a, n, heads), scores = n * heads * 1024 * 1024 * 2;
    gr_status s = plan_part(&a, n, heads, device, &workspace);
    CHECK(least == scores, "%lld bytes of scores", (long long)least);
    CHECK(!s || least > GR_CUDA_WORKSPACE, "%lld samples, %lld heads: %s", (long long)n,
          (long long)heads, gr_status_text(s));
    CHECK(s || (workspace >= least && workspace < least + (1 << 20)), "%lld bytes instead of %lld",
          (long long)workspace, (long long)least);
    gr_status_drop(s);
  }
  gr_dnn.cudnnBackendDestroyDescriptor(device);
}

// The masks of dropout, of parts whose heads follow each other there; they are beside what cuDNN
// needs.
static void masks(void) {
  static const int64_t each[][2] = {{4, 12}, {1, 12}, {1, 1}};
  if (!is_there()) SKIP("cuDNN 9.16 or newer is not on this machine");
  gr_dnn_value device = describe_chip(&chips[1]);
  for (size_t i = 0; i < sizeof each / sizeof *each; i++)
    for (int k = 0; k < 2; k++) {
      gr_gpu_attention a = call_of(k, true, true, true, GR_BF16);
      a.t = 130, a.s = 201, a.heads = 12;
      int64_t workspace, n = each[i][0], heads = each[i][1], mask = gr_gpu_mask_bytes(&a, n, heads);
      gr_status s = plan_part(&a, n, heads, device, &workspace);
      CHECK(mask >= n * heads * 130 * 208 * 2, "%lld bytes of a mask", (long long)mask);
      CHECK(!s, "%lld samples, %lld heads: %s", (long long)n, (long long)heads, gr_status_text(s));
      CHECK(workspace < gr_gpu_attention_bytes(&a, n, heads) - mask + (1 << 20), "%lld bytes",
            (long long)workspace);
      gr_status_drop(s);
    }
  gr_dnn.cudnnBackendDestroyDescriptor(device);
}

// Heads that attention_gpu.c does not offer.
static void refused(void) {
  int64_t workspace;
  if (!is_there()) SKIP("cuDNN 9.16 or newer is not on this machine");
  gr_dnn_value device = describe_chip(&chips[1]);
  gr_gpu_attention a = call_of(false, false, false, false, GR_BF16);
  a.d = a.e = 60;
  gr_status s = plan(&a, device, &workspace);
  CHECK(s, "heads of 60 columns are planned");
  gr_status_drop(s);
  gr_dnn.cudnnBackendDestroyDescriptor(device);
}

int main(int argc, char **argv) {
  table = argc > 1 && !strcmp(argv[1], "table");
  if (table) argc--;
  return RUN(argc, argv, {"all_plans", plans}, {"all_sizes", sizes}, {"some_parts", parts},
             {"some_masks", masks}, {"some_refused", refused});
}
#else
static void plans(void) { SKIP("built without the headers of cuDNN 9.8 or newer"); }
int main(int argc, char **argv) { return RUN(argc, argv, {"all_and_some", plans}); }
#endif
