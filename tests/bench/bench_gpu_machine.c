// bench_gpu_machine.c - what a GPU is, and what it reaches: the ceilings that steps are compared
// with, measured by the calls that the product makes.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu.h"
#include "ops/ops.h"
#include "runtime/device/device.h"
#include "tests/bench/bench_gpu.h"
#include "tests/gpu/cases.h"
#include "tests/timing.h"

// ---- The driver ---------------------------------------------------------------------------------

// Functions of the driver, whose headers are not needed: int is CUresult and CUdevice.
static void *driver_function(const char *name) {
  static void *driver;
  if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW);
  return driver ? dlsym(driver, name) : NULL;
}

static int attribute(int what, int device) {
  enum { ATTRIBUTES = 128 };
  int (*get)(int *, int, int), value = 0;
  void *function = driver_function("cuDeviceGetAttribute");
  memcpy(&get, &function, sizeof get);
  return function && what < ATTRIBUTES && !get(&value, what, device) ? value : 0;
}

static void print_gpu(int i) {
  enum { PROCESSORS = 16, L2 = 38, CLOCK = 13, MAJOR = 75, MINOR = 76 };  // CU_DEVICE_ATTRIBUTE_...
  char text[128] = "";
  size_t bytes = 0;
  int (*name)(char *, int, int), (*memory)(size_t *, int);
  void *a = driver_function("cuDeviceGetName"), *b = driver_function("cuDeviceTotalMem_v2");
  memcpy(&name, &a, sizeof a), memcpy(&memory, &b, sizeof b);
  if (a) name(text, sizeof text, i);
  if (b) memory(&bytes, i);
  printf(
      "%s{\"name\": \"%s\", \"capability\": \"%d.%d\", \"processors\": %d, \"l2_mb\": %.1f, "
      "\"clock_mhz\": %d, \"memory_mb\": %.0f}",
      i ? ", " : "", text, attribute(MAJOR, i), attribute(MINOR, i), attribute(PROCESSORS, i),
      attribute(L2, i) / 1e6, attribute(CLOCK, i) / 1000, (double)bytes / 1e6);
}

void bench_machine(void) {
  const gr_device_ops *kind;
  int version = 0, (*get)(int *);
  bench_must(gr_device_find("cuda", GR_NOWHERE, &kind));
  int n = gr_device_count(kind);
  void *function = driver_function("cuDriverGetVersion");
  memcpy(&get, &function, sizeof function);
  if (function) get(&version);
  printf("{\"driver_cuda\": \"%d.%d\", \"gpus\": [", version / 1000, version % 1000 / 10);
  for (int i = 0; i < n; i++) print_gpu(i);
  printf("]}\n");
}

double bench_used_bytes(void) {
  size_t unused = 0, all = 0;
  int (*get)(size_t *, size_t *);
  void *function = driver_function("cuMemGetInfo_v2");
  memcpy(&get, &function, sizeof function);
  return function && !get(&unused, &all) ? (double)(all - unused) : 0;
}

// ---- Ceilings -----------------------------------------------------------------------------------

// Something that is put in line again and again, and what one of it counts.
typedef struct work {
  gr_device *d;
  gr_status (*enqueue)(struct work *);
  gr_device_block block[3];
  gr_device_kernel kernel;
  gr_launch launch;
} work;

static double time_of(work *w, int times) {
  bench_must(w->d->ops->synchronise(w->d, GR_QUEUE_COMPUTE));
  double start = gr_seconds();
  for (int i = 0; i < times; i++) bench_must(w->enqueue(w));
  bench_must(w->d->ops->synchronise(w->d, GR_QUEUE_COMPUTE));
  return (gr_seconds() - start) / times;
}

// Seconds of one, the median of five rounds of 50 ms each.
static double seconds_of(work *w) {
  enum { ROUNDS = 5, MOST = 1000 };
  double round[ROUNDS], once = (time_of(w, 1), time_of(w, 1));
  int times = once * MOST > 0.05 ? (int)(0.05 / once) + 1 : MOST;
  for (int i = 0; i < ROUNDS; i++) round[i] = time_of(w, times);
  return median_of(round, ROUNDS);
}

static gr_status copy(work *w) {
  return w->d->ops->copy(w->d, w->block[1].address, w->block[0].address, w->block[0].bytes);
}

static gr_status multiply(work *w) { return w->kernel.run(&w->launch); }

static void fill_random(gr_device *d, const gr_device_block *b, const gr_type *t) {
  int64_t n = gr_type_count(t);
  void *host = malloc(b->bytes + 1);
  uint32_t x = 2463534242u;
  if (!host) bench_must(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a matrix"));
  for (int64_t i = 0; i < n; i++) {  // Marsaglia's xorshift; zeros would multiply faster
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
    gr_put(host, t->dtype, i, (double)x / 4294967296.0 - 0.5);
  }
  bench_must(d->ops->upload(d, b->address, host, b->bytes));
  bench_must(d->ops->synchronise(d, GR_QUEUE_TRANSFER));
  free(host);
}

static double matmul_rate(gr_device *d, gr_arena *arena, gr_dtype dtype, int n) {
  gr_op_call call = {.op = gr_op_find("matmul"), .n_in = 2};
  work w = {.d = d, .enqueue = multiply};
  const void *in[2];
  void *out[1], *scratch = NULL;
  bench_must(gpu_case_attr(arena, call.op, "tb=true", &call.attr));
  for (int i = 0; i < 2; i++) call.in[i] = (gr_type){.dtype = dtype, .rank = 2, .dim = {n, n}};
  bench_must(gr_op_infer(&call));
  for (int i = 0; i < 3; i++)
    bench_must(
        d->ops->allocate(d, gr_type_bytes(i < 2 ? &call.in[i] : call.out), NULL, &w.block[i]));
  for (int i = 0; i < 2; i++) fill_random(d, &w.block[i], &call.in[i]), in[i] = w.block[i].address;
  gr_device_block more = {0};
  size_t bytes = gr_call_scratch(&call, true);
  if (bytes) bench_must(d->ops->allocate(d, bytes, NULL, &more)), scratch = more.address;
  out[0] = w.block[2].address;
  w.launch = (gr_launch){.attr = call.attr,
                         .n_in = 2,
                         .n_out = 1,
                         .in_type = call.in,
                         .out_type = call.out,
                         .in = in,
                         .out = out,
                         .scratch = scratch};
  bench_must(d->ops->kernel(d, &call, &w.launch, &w.kernel));
  bench_must(d->ops->ready(d));
  w.launch.context = w.kernel.context;
  double seconds = seconds_of(&w);
  for (int i = 0; i < 3; i++) d->ops->free(d, &w.block[i]);
  if (bytes) d->ops->free(d, &more);
  return 2.0 * n * n * n / seconds;
}

static double copy_rate(gr_device *d, size_t bytes) {
  work w = {.d = d, .enqueue = copy};
  for (int i = 0; i < 2; i++) bench_must(d->ops->allocate(d, bytes, NULL, &w.block[i]));
  double seconds = seconds_of(&w);
  for (int i = 0; i < 2; i++) d->ops->free(d, &w.block[i]);
  return 2 * (double)bytes / seconds;
}

void bench_ceilings(int matrix, int megabytes) {
  static const struct {
    const char *name;
    gr_dtype dtype;
    bool tf32;
  } kinds[] = {{"f32", GR_F32, false},
               {"tf32", GR_F32, true},
               {"bf16", GR_BF16, false},
               {"f16", GR_F16, false}};
  gr_arena *arena = gr_arena_create();
  const gr_device_ops *kind;
  gr_device *d;
  bench_must(gr_device_find("cuda", GR_NOWHERE, &kind));
  bench_must(kind->open(&(gr_device_options){.threads = 1, .ranks = 1}, &d));
  printf("{\"copy_gb_s\": %.4g, \"copy_mb\": %d, \"matrix\": %d, \"matmul_tflop_s\": {",
         copy_rate(d, (size_t)megabytes << 20) / 1e9, megabytes, matrix);
  d->ops->close(d);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    bench_must(
        kind->open(&(gr_device_options){.threads = 1, .ranks = 1, .tf32 = kinds[i].tf32}, &d));
    printf("%s\"%s\": %.4g", i ? ", " : "", kinds[i].name,
           matmul_rate(d, arena, kinds[i].dtype, matrix) / 1e12);
    d->ops->close(d);
  }
  printf("}}\n");
  gr_arena_destroy(arena);
}
