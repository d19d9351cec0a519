// test_tune.c - algorithms of products by their time (gr_device_ops.tune). The stand-in cuBLASLt
// has three for each product, which add in different orders, so that results tell which one ran.
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "base/text.h"
#include "ops/ops.h"
#include "runtime/comm/comm.h"
#include "runtime/device/cuda.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

enum { MOST = 4096, RANKS = 2 };
// What a rank computes with a product that it has twice, tuned or not.
typedef struct outcome {
  float got[MOST];
  size_t bytes;
  char report[512];
} outcome;
typedef struct task {
  const gr_op *op;
  const gr_case *of;
  bool tuned, full;       // full: the GPU has no memory left when it is tuned
  int gpu;                // of the first rank
  const char *algorithm;  // STANDIN_ALGORITHM once the device is open; NULL: it is set already
  outcome out[RANKS];
} task;

// ---- A call on a device ------------------------------------------------------------------------

static gr_status place(gr_device *d, const value *v, gr_device_block *out) {
  size_t bytes = gr_type_bytes(&v->type);
  GR_TRY(d->ops->allocate(d, bytes, NULL, out));
  return v->data ? d->ops->upload(d, out->address, v->data, bytes) : GR_OK;
}

static gr_status compute(gr_device *d, gr_comm *world, const task *t, use *u, outcome *o) {
  const gr_op_call *call = &u->call;
  gr_device_block block[2 * GR_MAX_ARGS + 1] = {0};
  void *address[2 * GR_MAX_ARGS];
  gr_device_kernel kernel[2];
  int n = call->n_in + call->n_out;
  gr_launch l = {.attr = call->attr,
                 .n_in = call->n_in,
                 .n_out = call->n_out,
                 .in_type = call->in,
                 .out_type = call->out,
                 .in = (const void *const *)address,
                 .out = address + call->n_in};
  for (int i = 0; i < 2; i++) GR_TRY(d->ops->kernel(d, call, &l, &kernel[i]));
  GR_TRY(d->ops->ready(d));
  if (t->full) setenv("STANDIN_FAULT", "cuMemAlloc:1", 1);
  if (t->tuned) GR_TRY(d->ops->tune(d, world));
  for (int k = 0; k < n; k++) {
    value there = {.type = call->out[k < call->n_in ? 0 : k - call->n_in]};
    GR_TRY(place(d, k < call->n_in ? &u->in[k] : &there, &block[k]));
    address[k] = block[k].address;
  }
  GR_TRY(d->ops->allocate(d, gr_call_scratch(call, true), NULL, &block[n]));
  GR_TRY(d->ops->synchronise(d, GR_QUEUE_TRANSFER));
  l.scratch = block[n].address, l.context = kernel[1].context;
  GR_TRY(kernel[1].run(&l));
  GR_TRY(d->ops->synchronise(d, GR_QUEUE_COMPUTE));
  GR_TRY(d->ops->download(d, o->got, l.out[0], o->bytes = gr_type_bytes(&call->out[0])));
  GR_TRY(d->ops->synchronise(d, GR_QUEUE_TRANSFER));
  for (int k = 0; k <= n; k++) d->ops->free(d, &block[k]);
  return GR_OK;
}

static gr_status run_rank(gr_comm *world, void *arg) {
  task *t = arg;
  int rank = world ? world->rank : 0;
  outcome *o = &t->out[rank];
  gr_device *d;
  use u;
  gr_device_options options = {.threads = 1, .ranks = world ? world->ranks : 1, .rank = rank};
  options.local_rank = t->gpu + rank;
  *o = (outcome){0};
  GR_TRY(gr_device_cuda.open(&options, &d));
  if (t->algorithm) setenv("STANDIN_ALGORITHM", t->algorithm, 1);
  GR_TRY(use_of_case(&u, t->op, t->of, 7));
  gr_status s = compute(d, world, t, &u, o);
  gr_arena *a = gr_arena_create();
  gr_text text = gr_text_make(a);
  d->ops->report(d, &text);
  snprintf(o->report, sizeof o->report, "%s", text.chars);
  gr_arena_destroy(a);
  use_free(&u);
  d->ops->close(d);
  return s;
}

// ---- Runs of the stand-in ----------------------------------------------------------------------

static char folder[] = "/tmp/graphrun-tune-XXXXXX";
static const int64_t plain[4] = {0};
static const gr_case product = {{"f32[19,64]", "f32[64,53]"}, .attr = plain};

static const outcome *run_one(const char *algorithm, bool tuned) {
  static task t;
  if (!gr_device_count(&gr_device_cuda)) SKIP("there is no GPU, and no stand-in");
  t = (task){.op = &gr_op_matmul, .of = &product, .tuned = tuned, .algorithm = algorithm};
  setenv("STANDIN_ALGORITHM", "none", 1);
  MUST(run_rank(NULL, &t));
  return &t.out[0];
}

static bool same(const outcome *a, const outcome *b) {
  return a->bytes == b->bytes && !memcmp(a->got, b->got, a->bytes);
}

static void says(const outcome *o, const char *what) {
  CHECK(strstr(o->report, what), "'%s' instead of '%s'", o->report, what);
}

// The files of choices, in an order of no importance.
static int files(char path[][512], int most) {
  DIR *d = opendir(folder);
  int n = 0;
  for (struct dirent *e; d && (e = readdir(d));)
    if (e->d_name[0] != '.' && n < most) snprintf(path[n++], 512, "%s/%s", folder, e->d_name);
  if (d) closedir(d);
  return n;
}

static void clear(void) {
  char path[16][512];
  for (int n = files(path, 16); n--;) unlink(path[n]);
}

static void fastest(void) {
  clear();
  outcome first = *run_one("none", false), tuned = *run_one("none", true);
  CHECK(same(&first, &tuned), "of equally fast ones the library's choice is another");
  says(&tuned, "2 products by algorithms that were timed, 1 now and 0 before, 0 of them other");
  clear();
  outcome second = *run_one("fast:1", true);
  says(&second, "1 now and 0 before, 2 of them other than cuBLASLt's own choice");
  clear();
  outcome third = *run_one("fast:2", true);
  CHECK(!same(&first, &second) && !same(&first, &third) && !same(&second, &third),
        "three algorithms give the same bits");
  CHECK(!strstr(run_one("fast:2", false)->report, "timed"), "it is timed without being asked to");
}

static void kept_for_later_runs(void) {
  clear();
  outcome tuned = *run_one("fast:2", true), later = *run_one("none", true);
  CHECK(same(&tuned, &later), "a later run computes other bits");
  says(&later, "0 now and 1 before");
  static task other;
  if (gr_device_count(&gr_device_cuda) < 2) return;
  other = (task){.op = &gr_op_matmul, .of = &product, .tuned = true, .gpu = 1};
  MUST(run_rank(NULL, &other));
  says(&other.out[0], "1 now and 0 before, 0 of them other");
}

static void a_damaged_choice_is_made_again(void) {
  char path[2][512], text[4096] = "";
  clear();
  outcome tuned = *run_one("fast:2", true);
  int n = files(path, 2);
  CHECK(n == 1, "%d files", n);
  FILE *f = fopen(path[0], "r+b"), *log = tmpfile();
  if (!f || !log || fseek(f, -1, SEEK_END)) abort();
  int last = fgetc(f);
  if (fseek(f, -1, SEEK_END) || fputc(last ^ 1, f) == EOF || fclose(f)) abort();
  gr_log_copy_to(log);
  outcome again = *run_one("none", true);
  gr_log_copy_to(NULL);
  rewind(log);
  CHECK(fread(text, 1, sizeof text - 1, log) && strstr(text, "is damaged, and is made again"),
        "'%s'", text);
  CHECK(!strchr(text, '\n') || !strchr(text, '\n')[1], "more than a line: %s", text);
  fclose(log);
  says(&again, "1 now and 0 before");
  CHECK(!same(&tuned, &again), "a damaged choice is taken");
  says(run_one("none", true), "0 now and 1 before");
}

// Those that fail, and those that the library itself says it cannot run.
static void refused_ones_are_left_out(void) {
  clear();
  outcome second = *run_one("fast:1", true);
  clear();
  outcome skipped = *run_one("fail:0", true);
  CHECK(same(&second, &skipped), "the next one is not taken");
  says(&skipped, "; 1 of cuBLASLt's algorithms failed");
  outcome unusable = *run_one("unusable:0", false);
  CHECK(same(&second, &unusable), "the next one is not taken");
}

static void without_memory_it_says_how_to_do_without(void) {
  static task t;
  if (!gr_device_count(&gr_device_cuda)) SKIP("there is no GPU, and no stand-in");
  clear();
  t = (task){.op = &gr_op_matmul, .of = &product, .tuned = true, .full = true};
  gr_status s = run_rank(NULL, &t);
  unsetenv("STANDIN_FAULT");
  CHECK(gr_status_code(s) == GR_ERR_LAUNCH && strstr(gr_status_hint(s), "training.autotune=false"),
        "%s", gr_status_text(s));
  gr_status_drop(s);
}

// Rank 0 takes what it finds on disk; rank 1 finds nothing there of its GPU, and by time would take
// another one.
static void all_ranks_take_the_choice_of_rank_0(void) {
  static task t;
  if (gr_device_count(&gr_device_cuda) < RANKS) SKIP("there are fewer than 2 GPUs");
  clear();
  outcome tuned = *run_one("fast:2", true);
  t = (task){.op = &gr_op_matmul, .of = &product, .tuned = true};
  setenv("STANDIN_ALGORITHM", "none", 1);
  MUST(gr_loopback_run(RANKS, 60, run_rank, &t));
  for (int r = 0; r < RANKS; r++) CHECK(same(&tuned, &t.out[r]), "rank %d: %s", r, t.out[r].report);
  says(&t.out[0], "0 now and 1 before");
  says(&t.out[1], "2 products by algorithms that were timed, 0 now and 0 before, 2 of them other");
}

// Operands of every kind have their memory: the stand-in ends the test at the first that has not.
// And each kind has a choice of its own.
static void every_kind(void) {
  static const int64_t both[4] = {1, 1}, bias[4] = {0, 1, 0, 1}, left[2] = {1, 0}, right[2] = {0};
  static const struct {
    const gr_op *op;
    gr_case of;
  } kinds[] = {{&gr_op_matmul, {{"f32[19,24]", "f32[40,24]"}, .attr = bias}},
               {&gr_op_matmul, {{"f32[2,64,20]", "f32[2,24,64]"}, .attr = both}},
               {&gr_op_matmul, {{"f64[19,24]", "f64[24,40]"}, .attr = plain}},
               {&gr_op_matmul, {{"bf16[3,19,24]", "bf16[24,40]"}, .attr = plain}},
               {&gr_op_matmul_bias, {{"f32[19,24]", "f32[40,24]", "f32[40]"}, .attr = bias}},
               {&gr_op_matmul_bias_grad, {{"f32[2,300,24]", "f32[2,300,40]"}, .attr = left}},
               {&gr_op_matmul_bias_grad, {{"f32[2,300,24]", "f32[2,300,40]"}, .attr = right}}};
  static task t;
  clear();
  run_one("none", false);
  setenv("STANDIN_ABORT", "1", 1);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    t = (task){.op = kinds[i].op, .of = &kinds[i].of, .tuned = true};
    MUST(run_rank(NULL, &t));
    says(&t.out[0], "2 products by algorithms that were timed, 1 now");
  }
  unsetenv("STANDIN_ABORT");
}

int main(int argc, char **argv) {
  if (!mkdtemp(folder) || setenv("GRAPHRUN_CACHE", folder, 1)) return 1;
  int code =
      RUN(argc, argv, {"fastest", fastest}, {"kept_for_later_runs", kept_for_later_runs},
          {"a_damaged_choice_is_made_again", a_damaged_choice_is_made_again},
          {"refused_ones_are_left_out", refused_ones_are_left_out},
          {"without_memory_it_says_how_to_do_without", without_memory_it_says_how_to_do_without},
          {"all_ranks_take_the_choice_of_rank_0", all_ranks_take_the_choice_of_rank_0},
          {"every_kind", every_kind});
  clear();
  rmdir(folder);
  return code;
}
