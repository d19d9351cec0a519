// test_calls.c - whichever call of the driver fails, the device cuda returns an error, or says that
// it does without what it asked for and computes the same: the N-th call of a fixed sequence fails,
// for each N.
#include <dlfcn.h>
#include <stdlib.h>
#include "base/log.h"
#include "ops/kernels/gpu.h"
#include "ops/ops.h"
#include "runtime/device/device.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

enum { BYTES = 4096, NUMBERS = BYTES / 4, RUNS = 3 };
enum { RESULT = GR_CASE_ARGS, COPY, SCRATCH, BLOCKS };  // behind the operands'

typedef struct work {
  gr_device *d;
  gr_device_block b[BLOCKS];
  gr_device_kernel kernel;
  use u;  // of the op, on the host; its results are those of the CPU
  gr_launch launch;
  const void *in[GR_CASE_ARGS];
  void *out[1];
  float got[NUMBERS];
} work;

// ---- The sequence ------------------------------------------------------------------------------

static gr_status open_blocks(work *w) {
  for (int i = 0; i < BLOCKS; i++) {
    bool idle = i < RESULT && i >= w->u.call.n_in;
    size_t bytes = BYTES;
    if (i == SCRATCH) bytes = gr_call_scratch(&w->u.call, true);
    if (!idle) GR_TRY(w->d->ops->allocate(w->d, bytes, NULL, &w->b[i]));
  }
  for (int i = 0; i < w->u.call.n_in; i++) w->in[i] = w->b[i].address;
  w->out[0] = w->b[RESULT].address;
  return GR_OK;
}

static gr_status open_all(work *w, const gr_device_ops *kind) {
  const gr_op_call *call = &w->u.call;
  GR_TRY(kind->open(&(gr_device_options){.threads = 1, .ranks = 1, .ahead = BYTES}, &w->d));
  GR_TRY(open_blocks(w));
  w->launch = (gr_launch){.attr = call->attr,
                          .n_in = call->n_in,
                          .n_out = 1,
                          .in = w->in,
                          .out = w->out,
                          .in_type = call->in,
                          .out_type = call->out,
                          .scratch = w->b[SCRATCH].address};
  GR_TRY(w->d->ops->kernel(w->d, call, &w->launch, &w->kernel));
  w->launch.context = w->kernel.context;
  return w->d->ops->ready(w->d);
}

static gr_status issue(void *arg) {
  work *w = arg;
  GR_TRY(w->kernel.run(&w->launch));
  GR_TRY(w->d->ops->fill(w->d, w->b[RESULT].address, 0, 4));
  return w->d->ops->copy(w->d, w->b[COPY].address, w->b[RESULT].address, BYTES);
}

static gr_status run_once(work *w, int run) {
  gr_device *d = w->d;
  GR_TRY(d->ops->wait(d, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
  for (int i = 0; i < w->u.call.n_in; i++) {
    size_t bytes = gr_type_bytes(&w->u.call.in[i]);
    if (i || run % 2)
      GR_TRY(d->ops->upload(d, w->b[i].address, w->u.in[i].data, bytes));
    else
      GR_TRY(d->ops->upload_ahead(d, w->b[i].address, w->u.in[i].data, bytes));
  }
  GR_TRY(d->ops->record(d, GR_QUEUE_TRANSFER, GR_EVENT_TRANSFERRED));
  GR_TRY(d->ops->record(d, GR_QUEUE_AHEAD, GR_EVENT_AHEAD));
  GR_TRY(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED));
  GR_TRY(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_AHEAD));
  GR_TRY(d->ops->run(d, (const gr_graph *)(const void *)w, issue, w));
  GR_TRY(d->ops->record(d, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  GR_TRY(d->ops->wait(d, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
  GR_TRY(d->ops->download(d, w->got, w->b[COPY].address, BYTES));
  GR_TRY(d->ops->synchronise(d, GR_QUEUE_COMPUTE));
  return d->ops->synchronise(d, GR_QUEUE_TRANSFER);
}

static gr_status run_all(work *w, const gr_device_ops *kind) {
  value *x = &w->u.in[0];
  GR_TRY(open_all(w, kind));
  GR_TRY(w->d->ops->record(w->d, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  for (int run = 0; run < RUNS; run++) {
    for (int i = 0; i < value_count(x); i++) value_put(x, i, (i + run) % 7 - 3);
    GR_TRY(run_once(w, run));
    GR_TRY(use_run(&w->u, w->u.call.op->cpu, NULL));
    for (int i = 1; i < value_count(&w->u.out[0]); i++)
      if (!(fabs(w->got[i] - value_get(&w->u.out[0], i)) < 1e-4))
        return gr_fail(GR_ERR_BUG, GR_NOWHERE, "number %d of run %d is wrong", i, run);
  }
  return GR_OK;
}

// ---- Each call ---------------------------------------------------------------------------------

// What the sequence runs. others: where one way to compute it fails, another one is taken, which
// need not be said.
typedef struct subject {
  const gr_op *op;
  gr_case of;
  bool others;
} subject;

// Runs the sequence without its n-th call. False: it has no such call.
static bool fail_at(int n, const subject *of, const gr_device_ops *kind, int (*failed)(void)) {
  char fault[32], text[4096] = "";
  work *w = calloc(1, sizeof *w);
  FILE *log = tmpfile();
  if (!w || !log) abort();
  MUST(use_of_case(&w->u, of->op, &of->of, 1));
  int before = failed();
  snprintf(fault, sizeof fault, "call:%d", n);
  gr_log_copy_to(log);
  setenv("STANDIN_FAULT", fault, 1);
  gr_status s = run_all(w, kind);
  unsetenv("STANDIN_FAULT");
  gr_log_copy_to(NULL);
  rewind(log);
  bool any = failed() > before,
       said = fread(text, 1, sizeof text - 1, log) && strstr(text, "slower");
  CHECK(any ? s || said || of->others : !s, "%s: call %d %s: %s", of->op->name, n,
        any ? "fails" : "is none", s ? gr_status_text(s) : "nothing is said");
  CHECK(gr_status_code(s) != GR_ERR_BUG, "%s: call %d fails: %s", of->op->name, n,
        s ? gr_status_text(s) : "");
  gr_status_drop(s);
  for (int i = 0; w->d && i < BLOCKS; i++)
    if (w->b[i].address) w->d->ops->free(w->d, &w->b[i]);
  if (w->d) w->d->ops->close(w->d);
  use_free(&w->u);
  fclose(log), free(w);
  return any;
}

static void each_call(const subject *of) {
  const gr_device_ops *kind;
  int (*failed)(void) = NULL;
  MUST(gr_device_find("cuda", GR_NOWHERE, &kind));
  if (!gr_device_count(kind)) SKIP("there is no GPU, and no stand-in");
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void *symbol = driver ? dlsym(driver, "standin_failed") : NULL;
  if (!symbol) SKIP("no call fails when it is asked to");
  memcpy(&failed, &symbol, sizeof failed);
  int n = 1;
  while (fail_at(n, of, kind, failed)) n++;
  printf("  each of %d calls failed once\n", n - 1);
  CHECK(n > 50, "%d calls are too few", n - 1);
}

static void each_call_of_a_kernel(void) {
  each_call(&(subject){&gr_op_relu, {.in = {"f32[1024]"}}});
}

// By cuDNN, which is loaded and gets its handle within the sequence.
static void each_call_of_a_library(void) {
  each_call(&(subject){&gr_op_conv1d, gr_op_conv1d.cases[0], .others = true});
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"each_call_of_a_kernel", each_call_of_a_kernel},
             {"each_call_of_a_library", each_call_of_a_library});
}
