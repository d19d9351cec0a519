// test_ops.c - every op's cases on the device cuda against the reference kernels on the CPU. What
// has no kernel yet is counted.   test_gpu_ops [TEST [OP]]
#include <math.h>
#include "ops/kernels/gpu.h"
#include "runtime/device/device.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

// A case, with a block of the device's memory for each operand and result: what a kernel touches
// beside them is found.
typedef struct trial {
  use u;
  int at_case;
  bool refused;
  gr_device_kernel kernel;
  gr_launch where;
  gr_device_block in[GR_MAX_ARGS], out[GR_MAX_ARGS], scratch;
} trial;

static const char *only;  // one op, or NULL
static gr_device *device;
static trial *trials;
static int n_trials, refused;

static void open_device(void) {
  const gr_device_ops *kind;
  MUST(gr_device_find("cuda", GR_NOWHERE, &kind));
  if (!gr_device_count(kind)) SKIP("there is no GPU, and no stand-in");
  MUST(kind->open(&(gr_device_options){.threads = 1, .ranks = 1}, &device));
}

static gr_device_block block_of(size_t bytes) {
  gr_device_block b;
  MUST(device->ops->allocate(device, bytes, NULL, &b));
  return b;
}

static void choose(trial *t) {
  use *u = &t->u;
  t->where = (gr_launch){.attr = u->call.attr,
                         .n_in = u->call.n_in,
                         .n_out = u->call.n_out,
                         .in_type = u->call.in,
                         .out_type = u->call.out,
                         .out_layout = u->layout,
                         .mesh = &u->mesh,
                         .coord = &u->coord};
  gr_status s = device->ops->kernel(device, &u->call, &t->where, &t->kernel);
  t->refused = gr_status_code(s) == GR_ERR_UNSUPPORTED;
  refused += t->refused;
  if (t->refused)
    gr_status_drop(s);
  else
    MUST(s);
}

static void add(const gr_op *op, const gr_case *c, int at_case) {
  trials = realloc(trials, sizeof *trials * (size_t)(n_trials + 1));
  trial *t = &trials[n_trials++];
  *t = (trial){.at_case = at_case};
  MUST(use_of_case(&t->u, op, c, (uint64_t)at_case));
}

static void add_all(void) {
  for (const gr_op *const *o = gr_ops; *o; o++) {
    if ((only && strcmp(only, (*o)->name)) || (*o)->collective || gr_op_has_body(*o)) continue;
    int i = 0;
    for (const gr_case *c = (*o)->cases; c && (c->in[0] || c->attr); c++, i++)
      if (!c->fails) add(*o, c, i);
  }
}

static void run(trial *t) {
  use *u = &t->u;
  void *in[GR_MAX_ARGS] = {0}, *out[GR_MAX_ARGS] = {0};
  for (int k = 0; k < u->call.n_in; k++) {
    size_t bytes = gr_type_bytes(&u->call.in[k]);
    t->in[k] = block_of(bytes), in[k] = t->in[k].at;
    MUST(device->ops->upload(device, in[k], u->in[k].data, bytes));
  }
  for (int k = 0; k < u->call.n_out; k++) {
    t->out[k] = block_of(gr_type_bytes(&u->call.out[k])), out[k] = t->out[k].at;
    MUST(device->ops->fill(device, out[k], 0xff, t->out[k].bytes));
  }
  t->scratch = block_of(gr_call_scratch(&u->call, true));
  gr_launch l = t->where;
  l.in = (const void *const *)in, l.out = out, l.scratch = t->scratch.at;
  l.context = t->kernel.context;
  MUST(device->ops->record(device, GR_QUEUE_TRANSFER, GR_EVENT_TRANSFERRED));
  MUST(device->ops->wait(device, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED));
  MUST(t->kernel.run(&l));
  MUST(device->ops->record(device, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  MUST(device->ops->wait(device, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
}

static void release(trial *t) {
  for (int k = 0; k < t->u.call.n_in; k++) device->ops->free(device, &t->in[k]);
  for (int k = 0; k < t->u.call.n_out; k++) device->ops->free(device, &t->out[k]);
  device->ops->free(device, &t->scratch);
}

// f32 differs in the order of sums and in the functions of the library; 16 bits round in other
// places.
static double near_of(const use *u) {
  bool narrow = false;
  for (int k = 0; k < u->call.n_out; k++) narrow |= gr_dtypes[u->call.out[k].dtype].size == 2;
  for (int k = 0; k < u->call.n_in; k++) narrow |= gr_dtypes[u->call.in[k].dtype].size == 2;
  return narrow ? 4e-2 : 1e-4;
}

static void compare(trial *t) {
  use *u = &t->u, got = t->u;
  MUST(use_run(u, u->call.op->cpu, NULL));
  memset(got.out, 0, sizeof got.out);
  for (int k = 0; k < u->call.n_out; k++) {
    got.out[k] = value_make(u->call.out[k]);
    MUST(device->ops->download(device, got.out[k].data, t->out[k].at,
                               gr_type_bytes(&u->call.out[k])));
  }
  MUST(device->ops->synchronise(device, GR_QUEUE_TRANSFER));
  for (int k = 0; k < u->call.n_out; k++) {
    int64_t at;
    double far = worst(&got.out[k], &u->out[k], &at);
    CHECK(far <= near_of(u), "%s case %d, result %d, number %lld: off by %.3g: %g instead of %g",
          u->call.op->name, t->at_case, k, (long long)at, far, value_get(&got.out[k], at),
          value_get(&u->out[k], at));
  }
  values_free(got.out, GR_MAX_ARGS);
}

static void list_refused(void) {
  const gr_op *last = NULL;
  printf("%d of %d cases ran; without a kernel:", n_trials - refused, n_trials);
  for (int i = 0; i < n_trials; i++) {
    if (trials[i].refused && trials[i].u.call.op != last) printf(" %s", trials[i].u.call.op->name);
    if (trials[i].refused) last = trials[i].u.call.op;
  }
  printf("\n");
}

static void cases(void) {
  open_device();
  add_all();
  for (int i = 0; i < n_trials; i++) choose(&trials[i]);
  MUST(device->ops->ready(device));
  for (int i = 0; i < n_trials; i++) {
    if (trials[i].refused) continue;
    run(&trials[i]);
    compare(&trials[i]);
    release(&trials[i]);
  }
  list_refused();
  for (int i = 0; i < n_trials; i++) use_free(&trials[i].u);
  device->ops->close(device);
}

int main(int argc, char **argv) {
  only = argc > 2 ? argv[2] : NULL;
  return RUN(argc, argv, {"cases", cases});
}
