// test_gemm.c - matrix products on the device cuda: in TF32, and with what follows them.
#include <math.h>
#include "base/arena.h"
#include "ops/kernels/gpu.h"
#include "runtime/device/device.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

static gr_device *device;

static void open_device(bool tf32) {
  const gr_device_ops *kind;
  MUST(gr_device_find("cuda", GR_NOWHERE, &kind));
  if (!gr_device_count(kind)) SKIP("there is no GPU, and no stand-in");
  MUST(kind->open(&(gr_device_options){.threads = 1, .ranks = 1, .tf32 = tf32}, &device));
}

static gr_device_block block_of(size_t bytes) {
  gr_device_block b;
  MUST(device->ops->allocate(device, bytes, NULL, &b));
  return b;
}

// Runs a call, whose operands have values, on the device; the results are in `got`. The last
// operand begins so many bytes after a multiple of 256.
static void run_shifted(use *u, value *got, size_t shift) {
  gr_device_block in[GR_MAX_ARGS], out[GR_MAX_ARGS];
  void *operand[GR_MAX_ARGS] = {NULL}, *result[GR_MAX_ARGS] = {NULL};
  gr_launch l = {.attr = u->call.attr,
                 .n_in = u->call.n_in,
                 .n_out = u->call.n_out,
                 .in_type = u->call.in,
                 .out_type = u->call.out,
                 .in = (const void *const *)operand,
                 .out = result};
  gr_device_kernel kernel;
  MUST(device->ops->kernel(device, &u->call, &l, &kernel));
  MUST(device->ops->ready(device));
  gr_device_block scratch = block_of(gr_call_scratch(&u->call, true));
  for (int k = 0; k < u->call.n_in; k++) {
    size_t offset = k == u->call.n_in - 1 ? shift : 0;
    in[k] = block_of(offset + gr_type_bytes(&u->call.in[k]));
    operand[k] = (char *)in[k].address + offset;
    MUST(device->ops->upload(device, operand[k], u->in[k].data, gr_type_bytes(&u->call.in[k])));
  }
  for (int k = 0; k < u->call.n_out; k++)
    out[k] = block_of(gr_type_bytes(&u->call.out[k])), result[k] = out[k].address;
  l.scratch = scratch.address, l.context = kernel.context;
  MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
  MUST(kernel.run(&l));
  MUST(device->ops->synchronise(device, GR_QUEUE_COMPUTE));
  for (int k = 0; k < u->call.n_out; k++) {
    got[k] = value_make(u->call.out[k]);
    MUST(device->ops->download(device, got[k].data, result[k], gr_type_bytes(&u->call.out[k])));
  }
  MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
  for (int k = 0; k < u->call.n_in; k++) device->ops->free(device, &in[k]);
  for (int k = 0; k < u->call.n_out; k++) device->ops->free(device, &out[k]);
  device->ops->free(device, &scratch);
}

static void run(use *u, value *got) { run_shifted(u, got, 0); }

// ---- TF32 ---------------------------------------------------------------------------------------

// To 10 bits of mantissa, to nearest, as tensor cores read an f32.
static void round_to_tf32(value *v) {
  for (int64_t i = 0; v->type.dtype == GR_F32 && i < value_count(v); i++) {
    uint32_t bits;
    float f = (float)value_get(v, i);
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x1000) & ~UINT32_C(0x1fff);
    memcpy(&f, &bits, sizeof bits);
    value_put(v, i, f);
  }
}

// How far the device's result is from the reference kernel's, with operands that are rounded or
// not.
static double distance(const gr_case *c, bool rounded) {
  use u;
  value got[GR_MAX_ARGS];
  int64_t worst_at;
  MUST(use_of_case(&u, &gr_op_matmul, c, 7));
  run(&u, got);
  for (int k = 0; k < u.call.n_in && rounded; k++) round_to_tf32(&u.in[k]);
  MUST(use_run(&u, gr_op_matmul.cpu, NULL));
  double far = worst(&got[0], &u.out[0], &worst_at);
  values_free(got, 1);
  use_free(&u);
  return far;
}

static void tf32(void) {
  static const int64_t plain[4] = {0}, transposed[4] = {1, 1};
  static const gr_case f32[] = {{{"f32[19,64]", "f32[64,53]"}, .attr = plain},
                                {{"f32[2,64,20]", "f32[2,24,64]"}, .attr = transposed}};
  static const gr_case bf16 = {{"bf16[19,64]", "bf16[64,53]"}, .attr = plain};
  open_device(true);
  for (size_t i = 0; i < sizeof f32 / sizeof *f32; i++) {
    double exact = distance(&f32[i], false), rounded = distance(&f32[i], true);
    CHECK(exact > 1e-5 && exact < 1e-2, "case %zu: off by %g", i, exact);
    CHECK(rounded < 5e-6, "case %zu: off by %g from the product of rounded operands", i, rounded);
  }
  double narrow = distance(&bf16, false);
  CHECK(narrow < 1e-2, "bf16: off by %g", narrow);
  device->ops->close(device);
  open_device(false);
  double exact = distance(&f32[0], false);
  CHECK(exact < 5e-6, "without it: off by %g", exact);
  device->ops->close(device);
}

// ---- Epilogues ----------------------------------------------------------------------------------

// A call against the reference kernel, with a NaN in its first operand, on a device that a variable
// changes, or none; and with a last operand that is aligned, or not.
static void compare(const gr_op *op, const gr_case *c, const char *const way[2], size_t shift) {
  use u;
  value got[GR_MAX_ARGS];
  int64_t worst_at;
  if (way[0]) setenv(way[0], way[1], 1);
  open_device(false);
  MUST(use_of_case(&u, op, c, 3));
  value_put(&u.in[0], 5, NAN);
  run_shifted(&u, got, shift);
  MUST(use_run(&u, op->cpu, NULL));
  for (int k = 0; k < u.call.n_out; k++) {
    double far = worst(&got[k], &u.out[k], &worst_at);
    CHECK(far < 1e-4, "%s, %s: result %d is off by %g at %lld", op->name, way[0] ? way[0] : "", k,
          far, (long long)worst_at);
  }
  values_free(got, (uint32_t)u.call.n_out);
  use_free(&u);
  device->ops->close(device);
  if (way[0]) unsetenv(way[0]);
}

// A vector and relu, with a NaN in the operand: done by the library, by a kernel after it, or
// partly. A NaN stays one.
static void epilogue(void) {
  static const char *const ways[][2] = {
      {NULL, NULL}, {"STANDIN_RELU", "max"}, {"STANDIN_EPILOGUES", "0"}};
  static const int64_t relu[4] = {0, 1, 0, 1}, plain[4] = {0, 1, 0, 0};
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
    for (int r = 0; r < 2; r++) {
      const gr_case c = {{"f32[19,24]", "f32[40,24]", "f32[40]"}, .attr = r ? relu : plain};
      compare(&gr_op_matmul_bias, &c, ways[w], r ? sizeof(float) : 0);
      compare(&gr_op_matmul_bias, &c, ways[w], 0);
    }
}

static bool all(void *device_, const gr_gpu_gemm *g) { return (void)device_, (void)g, true; }
static bool none(void *device_, const gr_gpu_gemm *g) { return (void)device_, (void)g, false; }

// The launches of a call on a device that takes every epilogue, or none; and its working memory.
static int launches(const gr_op_call *call, bool takes, size_t *out_scratch) {
  gr_gpu_launch list[GR_GPU_LAUNCHES];
  gr_arena *a = gr_arena_create();
  gr_gpu_call g = {.call = call, .takes = takes ? all : none, .arena = a, .launch = list};
  MUST(gr_gpu_describe(&g));
  *out_scratch = g.scratch;
  gr_arena_destroy(a);
  return g.n;
}

// Sums of the rows of either operand, beside the product: the same by the library and by kernels,
// which the call has only where the library does not do it, with the same working memory.
static void sums(void) {
  static const char *const ways[][2] = {{NULL, NULL}, {"STANDIN_EPILOGUES", "0"}};
  static const int64_t left[2] = {1, 0}, right[2] = {0, 0};
  for (int i = 0; i < 4; i++) {
    const gr_case c = {{"f32[2,300,24]", "f32[2,300,40]"}, .attr = i / 2 ? left : right};
    use u;
    size_t by_library, by_kernels;
    compare(&gr_op_matmul_bias_grad, &c, ways[i % 2], 0);
    MUST(use_of_case(&u, &gr_op_matmul_bias_grad, &c, 3));
    int n = launches(&u.call, true, &by_library), more = launches(&u.call, false, &by_kernels);
    CHECK(n == 1 && more == 3, "%d and %d launches", n, more);
    CHECK(by_library == by_kernels, "%zu and %zu bytes", by_library, by_kernels);
    use_free(&u);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"tf32", tf32}, {"epilogue", epilogue}, {"sums", sums});
}
