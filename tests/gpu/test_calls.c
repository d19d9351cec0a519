// test_calls.c - whichever call of the driver fails, the device cuda returns an error, or says that
// it does without what it asked for: the N-th call of a fixed sequence fails, for each N.
#include <dlfcn.h>
#include <stdlib.h>
#include "base/log.h"
#include "ops/ops.h"
#include "runtime/device/device.h"
#include "tests/check.h"

enum { BYTES = 4096, NUMBERS = BYTES / 4, BLOCKS = 3, RUNS = 3 };

typedef struct work {
  gr_device *d;
  gr_device_block b[BLOCKS];
  gr_device_kernel kernel;
  gr_op_call call;
  gr_launch launch;
  const void *in[1];
  void *out[1];
  float sent[NUMBERS], got[NUMBERS];
} work;

// ---- The sequence ------------------------------------------------------------------------------

static gr_status open_all(work *w, const gr_device_ops *kind) {
  GR_TRY(kind->open(&(gr_device_options){.threads = 1, .ranks = 1, .ahead = BYTES}, &w->d));
  for (int i = 0; i < BLOCKS; i++) GR_TRY(w->d->ops->allocate(w->d, BYTES, NULL, &w->b[i]));
  w->call = (gr_op_call){.op = &gr_op_relu, .n_in = 1, .in = {{GR_F32, 1, {NUMBERS}}}};
  GR_TRY(gr_op_infer(&w->call));
  w->launch = (gr_launch){.n_in = 1, .n_out = 1, .in = w->in, .out = w->out};
  w->launch.in_type = w->call.in, w->launch.out_type = w->call.out;
  w->in[0] = w->b[0].address, w->out[0] = w->b[1].address;
  GR_TRY(w->d->ops->kernel(w->d, &w->call, &w->launch, &w->kernel));
  w->launch.context = w->kernel.context;
  return w->d->ops->ready(w->d);
}

static gr_status issue(void *arg) {
  work *w = arg;
  GR_TRY(w->kernel.run(&w->launch));
  GR_TRY(w->d->ops->fill(w->d, w->b[1].address, 0, 4));
  return w->d->ops->copy(w->d, w->b[2].address, w->b[1].address, BYTES);
}

static gr_status run_once(work *w, int run) {
  gr_device *d = w->d;
  GR_TRY(d->ops->wait(d, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
  if (run % 2)
    GR_TRY(d->ops->upload(d, w->b[0].address, w->sent, BYTES));
  else
    GR_TRY(d->ops->upload_ahead(d, w->b[0].address, w->sent, BYTES));
  GR_TRY(d->ops->record(d, GR_QUEUE_TRANSFER, GR_EVENT_TRANSFERRED));
  GR_TRY(d->ops->record(d, GR_QUEUE_AHEAD, GR_EVENT_AHEAD));
  GR_TRY(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED));
  GR_TRY(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_AHEAD));
  GR_TRY(d->ops->run(d, (const gr_graph *)(const void *)w, issue, w));
  GR_TRY(d->ops->record(d, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  GR_TRY(d->ops->wait(d, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
  GR_TRY(d->ops->download(d, w->got, w->b[2].address, BYTES));
  GR_TRY(d->ops->synchronise(d, GR_QUEUE_COMPUTE));
  return d->ops->synchronise(d, GR_QUEUE_TRANSFER);
}

static gr_status run_all(work *w, const gr_device_ops *kind) {
  GR_TRY(open_all(w, kind));
  GR_TRY(w->d->ops->record(w->d, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  for (int run = 0; run < RUNS; run++) {
    for (int i = 0; i < NUMBERS; i++) w->sent[i] = (float)((i + run) % 7 - 3);
    GR_TRY(run_once(w, run));
    for (int i = 1; i < NUMBERS; i++)
      if (w->got[i] != (w->sent[i] > 0 ? w->sent[i] : 0))
        return gr_fail(GR_ERR_BUG, GR_NOWHERE, "number %d of run %d is wrong", i, run);
  }
  return GR_OK;
}

// ---- Each call ---------------------------------------------------------------------------------

// Runs the sequence without its n-th call. False: it has no such call.
static bool fail_at(int n, const gr_device_ops *kind, int (*failed)(void)) {
  char fault[32], text[4096] = "";
  work *w = calloc(1, sizeof *w);
  FILE *log = tmpfile();
  if (!w || !log) abort();
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
  CHECK(any ? s || said : !s, "call %d %s: %s", n, any ? "fails" : "is none",
        s ? gr_status_text(s) : "nothing is said");
  CHECK(gr_status_code(s) != GR_ERR_BUG, "call %d fails: %s", n, s ? gr_status_text(s) : "");
  gr_status_drop(s);
  for (int i = 0; w->d && i < BLOCKS; i++)
    if (w->b[i].address) w->d->ops->free(w->d, &w->b[i]);
  if (w->d) w->d->ops->close(w->d);
  fclose(log), free(w);
  return any;
}

static void each_call(void) {
  const gr_device_ops *kind;
  int (*failed)(void) = NULL;
  MUST(gr_device_find("cuda", GR_NOWHERE, &kind));
  if (!gr_device_count(kind)) SKIP("there is no GPU, and no stand-in");
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void *symbol = driver ? dlsym(driver, "standin_failed") : NULL;
  if (!symbol) SKIP("no call fails when it is asked to");
  memcpy(&failed, &symbol, sizeof failed);
  int n = 1;
  while (fail_at(n, kind, failed)) n++;
  printf("  each of %d calls failed once\n", n - 1);
  CHECK(n > 50, "%d calls are too few", n - 1);
}

int main(int argc, char **argv) { return RUN(argc, argv, {"each_call", each_call}); }
