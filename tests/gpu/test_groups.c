// test_groups.c - calls that the device cuda launches together (gr_device_ops.kernels): the same
// bits as when each is launched by itself.
#include "ops/kernels/gpu_join.h"
#include "runtime/device/device.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

enum { MOST = 12 };

// A call on the device. Results are not written in operands, so that it can be run twice.
typedef struct trial {
  use u;
  gr_device_block in[GR_MAX_ARGS], out[GR_MAX_ARGS], scratch;
  const void *operand[GR_MAX_ARGS];
  void *to[GR_MAX_ARGS];
  gr_launch launch;
} trial;

static gr_device *device;
static trial trials[MOST];
static int n_trials;
static int shifted = -1;  // the operand, or operands and result, that begins 4 bytes later

static gr_device_block block_of(size_t bytes) {
  gr_device_block b;
  MUST(device->ops->allocate(device, bytes, NULL, &b));
  return b;
}

static void add(const gr_op *op, const gr_case *c) {
  trial *t = &trials[n_trials++];
  *t = (trial){0};
  MUST(use_of_case(&t->u, op, c, (uint64_t)n_trials));
  const gr_op_call *call = &t->u.call;
  for (int k = 0; k < call->n_in; k++) {
    size_t bytes = gr_type_bytes(&call->in[k]);
    t->in[k] = block_of(bytes + 4);
    void *address = (char *)t->in[k].address + (k == shifted ? 4 : 0);
    t->operand[k] = address;
    MUST(device->ops->upload(device, address, t->u.in[k].data, bytes));
  }
  for (int k = 0; k < call->n_out; k++) {
    t->out[k] = block_of(gr_type_bytes(&call->out[k]) + 4);
    t->to[k] = (char *)t->out[k].address + (call->n_in + k == shifted ? 4 : 0);
  }
  t->scratch = block_of(gr_call_scratch(call, true));
  t->launch = (gr_launch){.attr = call->attr,
                          .n_in = call->n_in,
                          .n_out = call->n_out,
                          .in_type = call->in,
                          .out_type = call->out,
                          .in = t->operand,
                          .out = t->to,
                          .scratch = t->scratch.address};
}

// Takes the results; those on the device are overwritten.
static void take(value *got) {
  MUST(device->ops->synchronise(device, GR_QUEUE_COMPUTE));
  for (int i = 0; i < n_trials; i++)
    for (int k = 0; k < trials[i].u.call.n_out; k++) {
      value *v = got++;
      size_t bytes = gr_type_bytes(&trials[i].u.call.out[k]);
      *v = value_make(trials[i].u.call.out[k]);
      MUST(device->ops->download(device, v->data, trials[i].to[k], bytes));
      MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
      MUST(device->ops->fill(device, trials[i].to[k], 0xff, bytes));
    }
}

static int run_alone(value *got) {
  gr_device_kernel kernel[MOST];
  for (int i = 0; i < n_trials; i++)
    MUST(device->ops->kernel(device, &trials[i].u.call, &trials[i].launch, &kernel[i]));
  MUST(device->ops->ready(device));
  for (int i = 0; i < n_trials; i++) {
    trials[i].launch.context = kernel[i].context;
    MUST(kernel[i].run(&trials[i].launch));
  }
  take(got);
  return n_trials;
}

static void run_together(value *got) {
  gr_op_call call[MOST];
  const gr_launch *launch[MOST];
  gr_device_kernel kernel;
  for (int i = 0; i < n_trials; i++) call[i] = trials[i].u.call, launch[i] = &trials[i].launch;
  MUST(device->ops->kernels(device, n_trials, call, launch, &kernel));
  MUST(device->ops->ready(device));
  trials[0].launch.context = kernel.context;
  MUST(kernel.run(&trials[0].launch));
  take(got);
}

// Launches of all trials, alone and joined.
static void count(int *alone, int *joined) {
  gr_arena *arena = gr_arena_create();
  gr_op_call call[MOST];
  gr_gpu_call *described;
  gr_gpu_joined *list;
  *alone = 0;
  for (int i = 0; i < n_trials; i++) call[i] = trials[i].u.call;
  MUST(gr_gpu_describe_all(arena, call, NULL, 0, n_trials, &described));
  for (int i = 0; i < n_trials; i++) *alone += described[i].n;
  *joined = gr_gpu_join(arena, described, n_trials, &list);
  gr_arena_destroy(arena);
}

static void release(void) {
  for (int i = 0; i < n_trials; i++) {
    for (int k = 0; k < trials[i].u.call.n_in; k++) device->ops->free(device, &trials[i].in[k]);
    for (int k = 0; k < trials[i].u.call.n_out; k++) device->ops->free(device, &trials[i].out[k]);
    device->ops->free(device, &trials[i].scratch);
    use_free(&trials[i].u);
  }
  n_trials = 0;
}

static void compare(const gr_op *op, int wanted_alone, int wanted_joined) {
  value alone[MOST * 3] = {0}, together[MOST * 3] = {0};
  int n_alone, n_joined, index = 0;
  count(&n_alone, &n_joined);
  CHECK(n_alone == wanted_alone && n_joined == wanted_joined, "%s: %d launches, %d together",
        op->name, n_alone, n_joined);
  run_alone(alone);
  run_together(together);
  for (int i = 0; i < n_trials; i++)
    for (int k = 0; k < trials[i].u.call.n_out; k++, index++)
      CHECK(!memcmp(alone[index].data, together[index].data, gr_type_bytes(&alone[index].type)),
            "%s, call %d, result %d: other bits together than alone", op->name, i, k);
  values_free(alone, MOST * 3), values_free(together, MOST * 3);
}

static void open_device(void) {
  n_trials = 0;
  const gr_device_ops *kind;
  MUST(gr_device_find("cuda", GR_NOWHERE, &kind));
  if (!gr_device_count(kind)) SKIP("there is no GPU, and no stand-in");
  MUST(kind->open(&(gr_device_options){.threads = 1, .ranks = 1}, &device));
}

// Sizes of less than a block, of several, and no multiple of anything.
static const char *const sizes[] = {"f32[3]",     "f32[70,90]", "f32[1]",   "f32[256]",
                                    "f32[17,33]", "f32[2,3,5]", "f32[1000]"};
enum { SIZES = sizeof sizes / sizeof *sizes };

// An op's first case that has so many operands, with each of the sizes for its tensors.
static void updates_of(const gr_op *op, int n_in) {
  const gr_case *like = op->cases;
  while (!like->in[n_in - 1] || (n_in < GR_CASE_ARGS && like->in[n_in])) like++;
  for (int s = 0; s < SIZES; s++) {
    gr_case c = *like;
    for (int k = 0; k < n_in; k++)
      if (strcmp(c.in[k], "f32[]") && strcmp(c.in[k], "i32[]")) c.in[k] = sizes[s];
    add(op, &c);
  }
  compare(op, SIZES, 1);
  release();
}

static void updates(void) {
  open_device();
  updates_of(&gr_op_adam, 8);
  updates_of(&gr_op_adamw, 8);
  updates_of(&gr_op_sgd, 5);
  updates_of(&gr_op_sgd, 6);
  updates_of(&gr_op_lion, 6);
  updates_of(&gr_op_accumulate, 3);
  device->ops->close(device);
}

// One operand or result between multiples of 16 bytes: no packs, and the same bits.
static void addresses(void) {
  enum { OPERANDS = 8, TENSORS = 4, RESULTS = 3 };
  value want[RESULTS] = {0}, got[RESULTS] = {0};
  gr_case c = gr_op_adam.cases[0];
  for (int k = 0; k < TENSORS; k++) c.in[k] = "f32[1001]";
  open_device();
  for (shifted = -1; shifted < OPERANDS + RESULTS; shifted++) {
    if (shifted >= TENSORS && shifted < OPERANDS) continue;
    add(&gr_op_adam, &c);
    run_alone(shifted < 0 ? want : got);
    for (int k = 0; k < RESULTS && shifted >= 0; k++)
      CHECK(!memcmp(want[k].data, got[k].data, gr_type_bytes(&want[k].type)), "value %d is shifted",
            shifted);
    release();
    values_free(got, RESULTS);
  }
  shifted = -1;
  values_free(want, RESULTS);
  device->ops->close(device);
}

// A grid that has fewer threads than packs goes over them with the threads of its member alone.
static void grids(void) {
  static const char *const of[] = {"f64[1060001]", "f64[3]"};
  open_device();
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    gr_case c = gr_op_accumulate.cases[1];
    c.in[0] = c.in[1] = of[i];
    add(&gr_op_accumulate, &c);
  }
  compare(&gr_op_accumulate, 2, 1);
  release();
  device->ops->close(device);
}

// Powers of the step are computed by a launch before that of large updates, once for each of them.
static void powers(void) {
  static const char *const of[] = {"f32[262147]", "f32[3]", "f32[512,512]"};
  open_device();
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    gr_case c = gr_op_adamw.cases[0];
    for (int k = 0; k < 4; k++) c.in[k] = of[i];
    add(&gr_op_adamw, &c);
  }
  compare(&gr_op_adamw, 5, 3);
  release();
  device->ops->close(device);
}

// Rows of a warp, of a block, and those that are divided: these take a second launch, for which
// each has working memory of its own.
static void norms(void) {
  static const char *const of[] = {"f32[512]", "f32[300,64]", "f32[33000]", "f32[1500]", "f32[7]"};
  open_device();
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    gr_case c = {{of[i]}};
    add(&gr_op_sum_squares, &c);
  }
  compare(&gr_op_sum_squares, 7, 3);
  release();
  device->ops->close(device);
}

// Types that differ make other kernels.
static void types(void) {
  static const char *const of[] = {"f32[512]", "bf16[512]", "f32[70]", "bf16[9,9]"};
  open_device();
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    gr_case c = {{of[i]}};
    add(&gr_op_sum_squares, &c);
  }
  compare(&gr_op_sum_squares, 4, 2);
  release();
  device->ops->close(device);
}

// Sums and maxima of the same sizes have the same text, and differ in what is defined before it.
static void constants(void) {
  open_device();
  for (int i = 0; i < 4; i++) {
    const gr_op *op = i % 2 ? &gr_op_reduce_max : &gr_op_sum;
    add(op, &op->cases[0]);
  }
  compare(&gr_op_sum, 4, 2);
  release();
  device->ops->close(device);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"updates", updates}, {"addresses", addresses}, {"grids", grids},
             {"powers", powers}, {"norms", norms}, {"types", types}, {"constants", constants});
}
