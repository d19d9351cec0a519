// test_device.c - devices are found by name and by what the machine has; a kernel, memory and a
// name that are not there are errors that say what is.
#include <stdlib.h>
#include "ops/ops.h"
#include "runtime/comm/collectives.h"
#include "runtime/device/host.h"
#include "tests/runtime/exec/program.h"

extern const gr_device_ops gr_device_null;

static void found_by_name(void) {
  const gr_device_ops *d;
  MUST(gr_device_find("cpu", GR_NOWHERE, &d));
  CHECK(d == &gr_device_cpu && gr_device_count(d) == 0, "cpu is %s", d->name);
  MUST(gr_device_find("null", GR_NOWHERE, &d));
  CHECK(d == &gr_device_null, "null is %s", d->name);
  MUST(gr_device_find("auto", GR_NOWHERE, &d));
  CHECK(d == &gr_device_cpu, "nothing is counted here, and auto is %s", d->name);
  gr_status s = gr_device_find("tpu", (gr_loc){"run.yaml", 3, 9}, &d);
  CHECK(gr_status_code(s) == GR_ERR_CONFIG && gr_status_loc(s).line == 3 && !d, "%s",
        gr_status_text(s));
  CHECK(strstr(gr_status_hint(s), "auto, gpu, cuda, cpu, null"), "%s", gr_status_hint(s));
  gr_status_drop(s);
  MUST(gr_device_find("gpu", GR_NOWHERE, &d));
  CHECK(!strcmp(d->name, "cuda") && gr_device_is_per_rank(d), "gpu is %s", d->name);
}

// What callers ask of a kind is in its table; the library that it names is there.
static void kinds_answer_for_themselves(void) {
  int libraries = 0;
  for (const gr_device_ops *const *d = gr_devices; *d; d++) {
    const gr_collectives *c = gr_collectives_of(*d);
    CHECK(!c == !(*d)->collectives && (!c || c->open), "%s: collectives", (*d)->name);
    CHECK(!(*d)->gpu || (gr_device_is_per_rank(*d) && c), "%s is shared by ranks", (*d)->name);
    libraries += c != NULL;
  }
  CHECK(libraries && !gr_collectives_of(NULL) && !gr_collectives_of(&gr_device_cpu),
        "%d devices have collectives of their own", libraries);
  CHECK(gr_device_null.dry && !gr_device_cpu.dry, "null computes");
}

// ---- Memory and kernels that a device does not have ---------------------------------------------

static gr_status refuse(gr_device *d, const gr_op_call *call, const gr_launch *where,
                        gr_device_kernel *out) {
  if (!strcmp(call->op->name, "tanh")) return gr_device_refuse(d->ops, call);
  return gr_host_kernel(d, call, where, out);
}
static gr_status open_small(const gr_device_options *, gr_device **);
static const gr_device_ops small = {GR_DEVICE_HOST_FIELDS(refuse), .name = "small", .doc = "",
                                    .open = open_small};
static size_t room;

static gr_status open_small(const gr_device_options *o, gr_device **out) {
  GR_TRY(gr_host_open(&small, o, sizeof(gr_host_device), out));
  (*out)->limits.bytes = room;
  return GR_OK;
}

static gr_status open_on_small(const gr_op *op, size_t bytes) {
  bench t = begin();
  room = bytes;
  t.b.loc = (gr_loc){"model.yaml", 7, 3};
  gr_result(&t.b, "y", GR_EMIT(&t.b, op, NULL, input(&t, "x", rows)));
  gr_compiled c = {.kind = "train", .bucket = "", .g = t.b.g};
  MUST(gr_plan_link(t.arena, &c, 1, &t.plan));
  t.opt.device = &small;
  gr_status s = gr_exec_open(t.plan, &t.opt, &t.exec);
  end(&t);
  return s;
}

static void limits_are_kept(void) {
  MUST(open_on_small(gr_op_find("relu"), 0));
  MUST(open_on_small(gr_op_find("relu"), 1 << 20));
  gr_status s = open_on_small(gr_op_find("relu"), 64);
  CHECK(gr_status_code(s) == GR_ERR_LAUNCH && strstr(gr_status_text(s), "device 'small' has"), "%s",
        s ? gr_status_text(s) : "it opened");
  gr_status_drop(s);
}

static void kernels_are_refused(void) {
  gr_status s = open_on_small(gr_op_find("tanh"), 0);
  CHECK(gr_status_code(s) == GR_ERR_UNSUPPORTED && gr_status_loc(s).line == 7 &&
            strstr(gr_status_text(s), "op 'tanh' has no kernel for the device 'small' on f32[5,3]"),
        "%s", s ? gr_status_text(s) : "it opened");
  gr_status_drop(s);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"found_by_name", found_by_name},
             {"kinds_answer_for_themselves", kinds_answer_for_themselves},
             {"limits_are_kept", limits_are_kept}, {"kernels_are_refused", kernels_are_refused});
}
