// test_stop.c - long work before a run trains ends within a bounded number of bytes or items once
// the process is asked to stop, and shows how far it is. No test waits or measures time: the clock
// of the work is the test's own, and a call of it is a place where work can end.
#include <sys/stat.h>
#include "base/log.h"
#include "base/tasks.h"
#include "ir/op.h"
#include "ops/kernels/source.h"
#include "ops/ops.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/data/csv.h"
#include "runtime/data/speech/manifest.h"
#include "runtime/device/host.h"
#include "tests/runtime/checkpoint/tiny.h"
#include "tests/runtime/exec/program.h"

static const char *dir;

// ---- The work -----------------------------------------------------------------------------------

static void zeros(const gr_rng *rng, const void *attr, uint64_t first, int64_t n, double *out) {
  (void)rng, (void)attr, (void)first;
  memset(out, 0, (size_t)n * sizeof *out);
}

static gr_status draw(void) {
  enum { N = 1 << 20 };
  static float values[N];
  gr_type type = {GR_F32, 1, {N}};
  void *out = values;
  const gr_launch l = {.n_out = 1, .out_type = &type, .out = &out};
  return gr_source_draw(&l, &(gr_rng){.seed = 1}, zeros);
}

static gr_status allocate(void) {
  gr_device *d;
  gr_device_block b;
  MUST(gr_device_cpu.open(&(gr_device_options){.threads = 1, .ranks = 1}, &d));
  gr_status s = d->ops->allocate(d, 16 << 20, NULL, &b);
  if (b.address) d->ops->free(d, &b);
  d->ops->close(d);
  return s;
}

// A program of a hundred nodes.
static gr_status run(void) {
  bench t = begin();
  gr_val x = input(&t, "x", row);
  for (int i = 0; i < 100; i++) x = GR_EMIT(&t.b, &gr_op_tanh, NULL, x);
  gr_result(&t.b, "y", x);
  gr_status s = t.b.err;
  gr_compiled c = {.kind = "train", .bucket = "", .g = t.b.g};
  s = s ? s : gr_plan_link(t.arena, &c, 1, &t.plan);
  s = s ? s : gr_exec_open(t.plan, &t.opt, &t.exec);
  s = s ? s : gr_exec_run(t.exec, t.plan->programs);
  end(&t);
  return s;
}

enum { LARGE = 20 << 20 };
static gr_tensor_slice large(const char *name, void *data) {
  return gr_tensor_slice_whole(name, "f32", 1, (int64_t[]){LARGE / 4}, data);
}
static float *memory(void) {
  static float *block;
  if (!block) block = calloc(1, LARGE);
  return block;
}

static const char *checkpoint(void) {
  static char path[512];
  snprintf(path, sizeof path, "%s/step-00000001", dir);
  struct stat there;
  if (!stat(path, &there)) return path;
  gr_tensor_slice piece = large("w", memory());
  gr_saver_spec spec = {.dir = dir, .ranks = 1, .pieces = &piece, .n_pieces = 1, .keep_last = 1};
  gr_saver *s;
  MUST(gr_saver_open(&spec, &s));
  MUST(gr_saver_begin(s, 1, NULL, 0));
  MUST(gr_saver_finish(s));
  gr_saver_close(s);
  return path;
}

static gr_status verify(void) {
  gr_checkpoint *c;
  gr_status s = gr_checkpoint_open(checkpoint(), &c);
  if (!s) s = gr_checkpoint_verify(c);
  gr_checkpoint_close(c);
  return s;
}

static gr_status newest(void) {
  gr_checkpoint *c;
  checkpoint();
  gr_status s = gr_checkpoint_newest(dir, &c);
  gr_checkpoint_close(c);
  return s;
}

static gr_status restore(void) {
  gr_checkpoint *c;
  gr_tensor_slice want = large("w", memory());
  gr_status s = gr_checkpoint_open(checkpoint(), &c);
  if (!s) s = gr_checkpoint_read_all(c, &want, 1, true);
  gr_checkpoint_close(c);
  return s;
}

static const char *written(const char *name, void (*write)(FILE *)) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "wb");
  if (f) write(f), fclose(f);
  return path;
}

static void put_weights(FILE *f) {
  char head[200] = {0};
  int n = snprintf(head + 8, sizeof head - 8,
                   "{\"w\": {\"dtype\": \"F32\", \"shape\": [%d], \"data_offsets\": [0, %d]}}",
                   2 * LARGE / 4, 2 * LARGE);
  head[0] = (char)n;
  fwrite(head, 1, (size_t)n + 8, f);
  if (ftruncate(fileno(f), 8 + n + 2 * LARGE)) return;
}
static gr_status read_weights(void) {
  gr_safetensors *f;
  float *data = calloc(2, LARGE);
  gr_tensor_slice want =
      gr_tensor_slice_whole("w", "f32", 1, (int64_t[]){2 * (int64_t)LARGE / 4}, data);
  gr_status s = gr_safetensors_open(written("w.safetensors", put_weights), &f);
  if (!s) s = gr_safetensors_read(f, 0, &want);
  gr_safetensors_close(f);
  free(data);
  return s;
}

static void put_rows(FILE *f) {
  for (int i = 0; i < 5000; i++) fprintf(f, "%d,%d\n", i, i);
}
static gr_status read_csv(void) {
  gr_arena *a = gr_arena_create();
  gr_csv csv;
  gr_status s =
      gr_csv_read(a, written("rows.csv", put_rows), &(gr_csv_format){',', false, NULL}, &csv);
  gr_arena_destroy(a);
  return s;
}

static void put_utterances(FILE *f) {
  for (int i = 0; i < 200; i++) fprintf(f, "{\"audio_path\": \"%d.wav\", \"text\": \"a\"}\n", i);
}
static gr_status read_manifest(void) {
  gr_arena *a = gr_arena_create();
  gr_manifest m;
  gr_status s = gr_manifest_read(a, written("m.jsonl", put_utterances), NULL, &m);
  gr_arena_destroy(a);
  return s;
}

static gr_status task(void *arg, int i) {
  (void)arg, (void)i;
  return gr_work_step(0);
}
static gr_status tasks(void) { return gr_tasks_run(1, 50, task, NULL); }

// ---- It ends ------------------------------------------------------------------------------------

static struct {
  gr_work work;
  // All threads of a device count steps; `most` is the most that a work has done, also one within
  // the test's, and `done` what was done at the stop.
  _Atomic int64_t steps, done, most;
  int64_t stop_at;
  double now;
} test;

static double count_steps(void) {
  const gr_work *within = gr_work_current();
  int64_t done = within ? within->done : test.work.done;
  if (done > test.most) test.most = done;
  if (++test.steps == test.stop_at) gr_stop_request(), test.done = done;
  return 0;
}

static gr_status go(gr_status (*work)(void), int64_t stop_at) {
  gr_stop_clear();
  gr_work_begin(&test.work, GR_WORK_LINES, "testing", 0);
  test.work.clock = count_steps, test.stop_at = stop_at;
  test.steps = test.most = 0;
  gr_status s = work();
  gr_work_end(&test.work);
  gr_stop_clear();
  return s;
}

// steps: places where it can end, at least; bytes: most between two of them.
static const struct {
  const char *name;
  gr_status (*run)(void);
  int64_t steps, bytes;
} works[] = {
    {"draw initial values", draw, 2048, 4096},
    {"allocate", allocate, 8, 2 << 20},
    {"run a program", run, 200, 64},
    {"verify a checkpoint", verify, 5, 4 << 20},
    {"find the newest checkpoint", newest, 5, 4 << 20},
    {"read a checkpoint", restore, 5, 4 << 20},
    {"read weights", read_weights, 3, 16 << 20},
    {"read a table", read_csv, 4, 16 << 10},
    {"read a manifest", read_manifest, 200, 16 << 10},
    {"tasks", tasks, 50, 0},
};
enum { WORKS = sizeof works / sizeof *works };

static void ends_soon(void) {
  dir = scratch_dir("stop");
  checkpoint();
  for (int i = 0; i < WORKS; i++) {
    MUST(go(works[i].run, 0));
    int64_t steps = test.steps, bytes = test.most;
    CHECK(steps >= works[i].steps, "%s can end at %lld places", works[i].name, (long long)steps);
    CHECK(bytes <= steps * works[i].bytes, "%s: %lld bytes in %lld steps", works[i].name,
          (long long)bytes, (long long)steps);
    const int64_t stop_step[] = {1, 2, steps / 2 + 1, steps};
    for (int k = 0; k < 4; k++) {
      gr_status s = go(works[i].run, stop_step[k]);
      CHECK(gr_status_code(s) == GR_ERR_STOPPED, "%s, stopped at %lld of %lld: %s", works[i].name,
            (long long)stop_step[k], (long long)steps, gr_status_text(s));
      CHECK(test.most == test.done, "%s, stopped at %lld of %lld: %lld bytes later", works[i].name,
            (long long)stop_step[k], (long long)steps, (long long)(test.most - test.done));
      gr_status_drop(s);
    }
  }
  free(memory());
  scratch_remove(dir);
}

// Once a run trains, its loop alone serves requests: no work may be left half done then.
static void deferred(void) {
  gr_stop_defer(true);
  gr_stop_request();
  MUST(draw());
  MUST(allocate());
  MUST(tasks());
  CHECK(gr_stop_requested() && !gr_stop_due(), "a request that is deferred");
  gr_stop_defer(false);
  gr_status s = draw();
  CHECK(gr_status_code(s) == GR_ERR_STOPPED, "%s", gr_status_text(s));
  gr_status_drop(s);
  gr_stop_clear();
}

// On several threads each ends at its next place.
static void on_threads(void) {
  gr_device *d;
  gr_device_block b;
  MUST(gr_device_cpu.open(&(gr_device_options){.threads = 4, .ranks = 1}, &d));
  gr_work_begin(&test.work, GR_WORK_LINES, "testing", 0);
  test.work.clock = count_steps, test.stop_at = 3;
  test.steps = test.most = 0;
  gr_status s = d->ops->allocate(d, 64 << 20, NULL, &b);
  gr_work_end(&test.work);
  gr_stop_clear();
  CHECK(gr_status_code(s) == GR_ERR_STOPPED, "%s", gr_status_text(s));
  CHECK(test.work.done <= (3 + 4) * (2 << 20), "%lld bytes", (long long)test.work.done);
  gr_status_drop(s);
  d->ops->free(d, &b);
  d->ops->close(d);
}

// ---- It is shown --------------------------------------------------------------------------------

static double fake_clock(void) { return test.now; }

static void is_shown(void) {
  char text[2000] = "";
  FILE *log = fmemopen(text, sizeof text - 1, "w");
  gr_work inner;
  gr_log_copy_to(log);
  gr_work_begin(&test.work, GR_WORK_LINES, "drawing initial weights", 64e6);
  test.work.clock = fake_clock, test.now = test.work.began = 100;
  for (int i = 1; i <= 64; i++) {
    test.now = 100 + 0.5 * i;
    MUST(gr_work_step(1000000));
  }
  gr_work_begin(&inner, GR_WORK_HIDDEN, "within", 0);
  CHECK(gr_work_current() == &inner, "the inner one is the thread's");
  gr_work_end(&inner);
  CHECK(gr_work_current() == &test.work, "and then the outer one again");
  gr_work_end(&test.work);
  gr_log_copy_to(NULL);
  fclose(log);
  const char *want =
      "drawing initial weights  10 of 64 MB  eta 0:27\n"
      "drawing initial weights  30 of 64 MB  eta 0:17\n"
      "drawing initial weights  50 of 64 MB  eta 0:07\n";
  CHECK(!strcmp(text, want), "%s", text);
}

// Items are shown as a share of all, in the way of the work around them.
static void items_are_shown(void) {
  char text[2000] = "";
  FILE *log = fmemopen(text, sizeof text - 1, "w");
  gr_work items;
  gr_log_copy_to(log);
  gr_work_begin(&test.work, GR_WORK_LINES, "around", 0);
  gr_work_begin_items(&items, "looking for 12000 files", 12000);
  items.clock = fake_clock, test.now = items.began = 100;
  for (int i = 1; i <= 12000; i++) {
    test.now = 100 + i / 1000.0;
    CHECK(gr_work_add(&items, 1), "goes on");
  }
  gr_work_end(&items);
  gr_work_end(&test.work);
  gr_work_begin_items(&items, "within no other", 2);
  items.clock = fake_clock, test.now = 1000;
  CHECK(gr_work_add(&items, 1), "goes on");
  gr_work_end(&items);
  gr_log_copy_to(NULL);
  fclose(log);
  CHECK(!strcmp(text, "looking for 12000 files: 41 %  eta 0:07\n"), "%s", text);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"ends_soon", ends_soon}, {"deferred", deferred},
             {"on_threads", on_threads}, {"is_shown", is_shown},
             {"items_are_shown", items_are_shown});
}
