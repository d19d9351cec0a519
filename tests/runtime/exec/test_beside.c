// test_beside.c - collectives beside kernels: what waits for what, as a device is told it. The null
// device checks the order besides.
#include "runtime/device/device.h"
#include "tests/runtime/exec/program.h"

// ---- The null device, with a list of what it is told --------------------------------------------

static char told[2000];
static void tell(const char *what, const char *of) {
  size_t n = strlen(told);
  snprintf(told + n, sizeof told - n, "%s%s ", what, of);
}

extern const gr_device_ops gr_device_null;
static gr_device_ops telling;

static const char *const queues[GR_QUEUE_COUNT] = {"compute", "transfer", "gather", "reduce"};

static gr_status open(const gr_device_options *o, gr_device **out) {
  GR_TRY(gr_device_null.open(o, out));
  (*out)->ops = &telling;
  return GR_OK;
}
static gr_status record(gr_device *d, gr_queue q, gr_device_event e) {
  if (e >= GR_EVENT_GATHERED) tell("done:", queues[q]);
  return gr_device_null.record(d, q, e);
}
static gr_status wait(gr_device *d, gr_queue q, gr_device_event e) {
  if (e >= GR_EVENT_FORKED) tell("wait:", queues[q]);
  return gr_device_null.wait(d, q, e);
}
static gr_status node(gr_device *d, const gr_graph *g, uint32_t i, const gr_launch *l) {
  tell(g->nodes[i].op->name, "");
  return gr_device_null.node(d, g, i, l);
}
static gr_status nothing(const gr_launch *l) { return (void)l, GR_OK; }
static gr_status kernel(gr_device *d, const gr_op_call *call, const gr_launch *where,
                        gr_device_kernel *out) {
  (void)d, (void)call, (void)where;
  *out = (gr_device_kernel){.run = nothing};
  return GR_OK;
}

// ---- Programs of two ranks ----------------------------------------------------------------------

static bench begin_pair(void) {
  static const gr_mesh two = {1, {{"data", 2}}};
  static gr_comm other = {.rank = 0, .ranks = 2};  // no collective is carried out
  static gr_comm *axes[] = {&other};
  telling = gr_device_null;
  telling.open = open, telling.record = record, telling.wait = wait, telling.node = node;
  telling.kernel = kernel, told[0] = 0;
  bench t = begin();
  t.b.g = gr_graph_create(t.arena, &two);
  t.opt = (gr_exec_options){.threads = 1, .device = &telling, .comm = axes};
  return t;
}

// Runs it, and compares what the device was told.
static void run_pair(bench *t, const char *want) {
  MUST(t->b.err);
  gr_compiled c = {.kind = "train", .bucket = "", .g = t->b.g};
  MUST(gr_plan_link(t->arena, &c, 1, &t->plan));
  MUST(gr_exec_open(t->plan, &t->opt, &t->exec));
  float zeros[E] = {0};
  for (int i = 0; i < 2; i++) {
    gr_exec_tensor x = gr_exec_input(t->exec, t->plan->programs, i ? "part" : "x");
    MUST(gr_exec_write(t->exec, &x, zeros));
  }
  step(t);
  CHECK(!strcmp(told, want), "the device is told '%s', expected '%s'", told, want);
  end(t);
}

static void build(bench *t) {
  gr_layout terms = gr_layout_replicated;
  terms.placement[0] = GR_PARTIAL;
  gr_val x = input(t, "x", row);
  gr_val part = gr_scale(&t->b, gr_leaf(&t->b, GR_INPUT, GR_KIND_WEIGHT, "part", row, terms), 2);
  gr_at(t->b.g, part)->layout = terms;
  gr_val sum = gr_relayout(&t->b, part, gr_layout_replicated);
  gr_val a = gr_square(&t->b, x), b = gr_tanh(&t->b, a);
  gr_result(&t->b, "all", gr_add(&t->b, b, sum));
}

// The two kernels after the sum do not need it, and the third does.
static void only_readers_wait(void) {
  bench t = begin_pair();
  build(&t);
  run_pair(&t,
           "scale wait:reduce all_reduce done:reduce square tanh wait:compute add wait:compute ");
}

static void in_line_nothing_waits(void) {
  bench t = begin_pair();
  t.opt.in_line = true;
  build(&t);
  run_pair(&t, "scale all_reduce square tanh add ");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"only_readers_wait", only_readers_wait},
             {"in_line_nothing_waits", in_line_nothing_waits});
}
