// test_timings.c - the device cuda measures what captured programs do (gr_device_ops.timings): each
// piece of work is of what it was enqueued as, on every queue, in loops, from any thread, on each
// GPU.
#include <pthread.h>
#include "ops/ops.h"
#include "runtime/device/cuda.h"
#include "tests/check.h"

enum { BYTES = 1 << 20, PART = BYTES / 4, RUNS = 3, MOST = 400, STEPS = 4 };

typedef struct program {
  gr_device *d;
  gr_device_block b;
  int calls, node[5];  // the addresses of `node` are what work is of
  gr_status (*more)(struct program *);
  gr_status status;  // of what a thread has done
} program;
enum { BESIDE, FILL, AFTER, LOOP, BODY };

static const gr_cuda_module *module;
static bool is_standin(void) { return getenv("STANDIN_SEED") != NULL; }

static void open_program(program *p, int gpu) {
  const gr_device_ops *kind;
  *p = (program){0};
  MUST(gr_device_find("cuda", GR_NOWHERE, &kind));
  if (gr_device_count(kind) <= gpu) SKIP("there is no GPU %d, and no stand-in", gpu);
  gr_device_options o = {.threads = 1, .ranks = 2, .rank = gpu, .local_rank = gpu, .timings = true};
  MUST(gr_cuda_module_open(&module));
  MUST(kind->open(&o, &p->d));
  if (!p->d->limits.timings) {
    p->d->ops->close(p->d);
    SKIP("CUPTI is not on this machine");
  }
  MUST(p->d->ops->allocate(p->d, BYTES, NULL, &p->b));
}
static void close_program(program *p) {
  p->d->ops->free(p->d, &p->b);
  p->d->ops->close(p->d);
}

static void *part_at(const program *p, int part) {
  return (char *)p->b.address + (size_t)part * PART;
}

// A fill beside another of twice as many bytes, and a copy after both. All in between is of
// nothing.
static gr_status issue(void *arg) {
  program *p = arg;
  gr_device *d = p->d;
  const gr_device_ops *o = d->ops;
  p->calls++;
  GR_TRY(o->record(d, GR_QUEUE_COMPUTE, GR_EVENT_FORKED));
  GR_TRY(o->wait(d, GR_QUEUE_GATHER, GR_EVENT_FORKED));
  o->time_as(d, &p->node[BESIDE]);
  GR_TRY(module->clear(d, GR_QUEUE_GATHER, part_at(p, 2), PART));
  GR_TRY(o->record(d, GR_QUEUE_GATHER, GR_EVENT_GATHERED));
  o->time_as(d, &p->node[FILL]);
  GR_TRY(o->fill(d, p->b.address, 3, 2 * PART));
  GR_TRY(o->fill(d, p->b.address, 4, PART));
  o->time_as(d, NULL);
  GR_TRY(o->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_GATHERED));
  o->time_as(d, &p->node[AFTER]);
  GR_TRY(o->copy(d, part_at(p, 3), part_at(p, 2), PART));
  o->time_as(d, NULL);
  return p->more ? p->more(p) : GR_OK;
}

static void run(program *p) { MUST(p->d->ops->run(p->d, (const gr_graph *)p, issue, p)); }

typedef struct taken {
  gr_device_timing t[MOST];
  int n;
} taken;
static void take(void *arg, const gr_device_timing *t) {
  taken *all = arg;
  if (all->n < MOST) all->t[all->n++] = *t;
}
static void take_all(program *p, taken *out) {
  out->n = 0;
  MUST(p->d->ops->timings(p->d, take, out));
}

typedef struct sum {
  int n, first;
  int64_t lasts, start, end;  // of the last one
} sum;
static sum sum_of(const taken *all, const void *of) {
  sum s = {0};
  for (int i = 0; i < all->n; i++) {
    const gr_device_timing *t = &all->t[i];
    if (t->of != of) continue;
    s.n++, s.first += t->first, s.lasts += t->lasts;
    if (t->start >= s.start) s.start = t->start, s.end = t->start + t->lasts;
  }
  return s;
}

static void check_runs(program *p, const taken *all, int runs) {
  sum beside = sum_of(all, &p->node[BESIDE]), fill = sum_of(all, &p->node[FILL]),
      after = sum_of(all, &p->node[AFTER]);
  CHECK(beside.n == runs && beside.first == runs, "%d records beside, %d first", beside.n,
        beside.first);
  CHECK(fill.n == 2 * runs && fill.first == runs, "%d records of fills, %d first", fill.n,
        fill.first);
  CHECK(after.n == runs && after.first == runs, "%d records after, %d first", after.n, after.first);
  CHECK(!runs || after.start >= beside.end, "a copy begins %lld ns before what it waits for ends",
        (long long)(beside.end - after.start));
  CHECK(!runs || after.start >= fill.end, "queues overtake themselves");
  for (int i = 0; i < all->n; i++) {
    const gr_device_timing *t = &all->t[i];
    CHECK(t->lasts > 0 && t->lasts < 1000000000, "%s lasts %lld ns", t->what, (long long)t->lasts);
    const char *what = t->of == &p->node[AFTER] ? "copy" : "fill";
    CHECK(!strcmp(t->what, what), "%s, not %s", t->what, what);
  }
  if (!is_standin() || !runs) return;  // whose times follow from the sizes: 1 us, and 1 ns a byte
  CHECK(beside.lasts == runs * (1000 + PART), "beside: %lld ns", (long long)beside.lasts);
  CHECK(fill.lasts == runs * (2000 + 3 * PART), "fills: %lld ns", (long long)fill.lasts);
  CHECK(beside.start < fill.end && fill.start < beside.end + 2 * PART, "queues do not overlap");
}

static void work_is_of_its_node(void) {
  program p;
  taken all;
  open_program(&p, 0);
  const gr_device_ops *o = p.d->ops;
  CHECK(o->timed(p.d, (const gr_graph *)&p) == GR_TIMED_LATER, "a first run is not captured");
  for (int i = 0; i < RUNS; i++) run(&p);
  CHECK(p.calls == 2, "it was called %d times", p.calls);
  MUST(o->time(p.d, true));
  CHECK(o->timed(p.d, (const gr_graph *)&p) == GR_TIMED, "a captured program is not measured");
  for (int i = 0; i < RUNS; i++) run(&p);
  take_all(&p, &all);
  check_runs(&p, &all, RUNS);
  take_all(&p, &all);
  CHECK(!all.n, "%d were taken again", all.n);
  run(&p);
  take_all(&p, &all);
  check_runs(&p, &all, 1);
  MUST(o->time(p.d, false));
  run(&p);
  CHECK(p.calls == 3, "it was called %d times: what is not measured is the captured one", p.calls);
  MUST(o->time(p.d, true));  // and again
  run(&p);
  take_all(&p, &all);
  check_runs(&p, &all, 1);
  close_program(&p);
}

// The transfers between host and device are of no node.
static void transfers(void) {
  static char host[PART];
  program p;
  taken all;
  open_program(&p, 0);
  MUST(p.d->ops->time(p.d, true));
  MUST(p.d->ops->upload(p.d, p.b.address, host, PART));
  MUST(p.d->ops->download(p.d, host, p.b.address, PART));
  MUST(p.d->ops->fill(p.d, p.b.address, 1, PART));  // of no program: it is not given
  take_all(&p, &all);
  CHECK(all.n == 2 && !all.t[0].of && !all.t[1].of, "%d records", all.n);
  bool up = all.n == 2 && !strcmp(all.t[0].what, "upload");
  CHECK(all.n == 2 && !strcmp(all.t[up].what, "download") && !strcmp(all.t[!up].what, "upload"),
        "not an upload and a download");
  close_program(&p);
}

// ---- Loops, threads, GPUs ----------------------------------------------------------------------

static gr_status body(void *arg) {
  program *p = arg;
  p->d->ops->time_as(p->d, &p->node[BODY]);
  GR_TRY(p->d->ops->fill(p->d, part_at(p, 1), 7, PART));
  p->d->ops->time_as(p->d, &p->node[LOOP]);
  return GR_OK;
}
static gr_status loop(program *p) {
  gr_device_loop l = {.steps = STEPS, .counter = p->b.address, .body = body, .arg = p};
  p->d->ops->time_as(p->d, &p->node[LOOP]);
  GR_TRY(p->d->ops->loop(p->d, &l));
  p->d->ops->time_as(p->d, NULL);
  return GR_OK;
}
static void bodies_of_loops(void) {
  program p;
  taken all, loops = {0};
  open_program(&p, 0);
  p.more = loop;
  MUST(p.d->ops->loop_open(p.d, &(gr_op_call){.op = &gr_op_scan}));
  MUST(p.d->ops->ready(p.d));
  run(&p);
  MUST(p.d->ops->time(p.d, true));
  for (int i = 0; i < RUNS; i++) run(&p);
  take_all(&p, &all);
  sum s = sum_of(&all, &p.node[BODY]);
  CHECK(s.n == RUNS * STEPS && s.first == s.n, "%d records of bodies, %d first", s.n, s.first);
  CHECK(sum_of(&all, &p.node[LOOP]).n >= RUNS * (STEPS + 1), "of loops themselves there are %d",
        sum_of(&all, &p.node[LOOP]).n);
  for (int i = 0; i < all.n; i++)
    if (all.t[i].of != &p.node[BODY] && all.t[i].of != &p.node[LOOP]) take(&loops, &all.t[i]);
  check_runs(&p, &loops, RUNS);
  close_program(&p);
}

// As NCCL does for communicators that do not block.
static void *enqueue_elsewhere(void *arg) {
  program *p = arg;
  p->status = module->use(p->d);
  if (!p->status) p->status = module->clear(p->d, GR_QUEUE_COMPUTE, part_at(p, 1), PART);
  return NULL;
}
static gr_status in_a_thread(program *p) {
  pthread_t t;
  p->d->ops->time_as(p->d, &p->node[BODY]);
  if (pthread_create(&t, NULL, enqueue_elsewhere, p) || pthread_join(t, NULL))
    return gr_fail(GR_ERR_BUG, GR_NOWHERE, "no thread");
  p->d->ops->time_as(p->d, NULL);
  return p->status;
}
static void threads(void) {
  program p;
  taken all;
  open_program(&p, 0);
  p.more = in_a_thread;
  run(&p);
  MUST(p.d->ops->time(p.d, true));
  for (int i = 0; i < RUNS; i++) run(&p);
  take_all(&p, &all);
  sum s = sum_of(&all, &p.node[BODY]);
  CHECK(s.n == RUNS && s.first == RUNS, "%d records of another thread's work, %d first", s.n,
        s.first);
  close_program(&p);
}

static void *run_there(void *arg) {
  program *p = arg;
  gr_status s = module->use(p->d);
  for (int i = 0; i < RUNS && !s; i++) s = p->d->ops->run(p->d, (const gr_graph *)p, issue, p);
  p->status = s;
  return NULL;
}
static void several_gpus(void) {
  program p[2];
  taken all;
  pthread_t t;
  open_program(&p[0], 0);
  open_program(&p[1], 1);
  for (int i = 0; i < 2; i++) {
    p[i].more = in_a_thread;
    MUST(module->use(p[i].d));
    run(&p[i]);
    MUST(p[i].d->ops->time(p[i].d, true));
  }
  CHECK(!pthread_create(&t, NULL, run_there, &p[1]), "no thread");
  run_there(&p[0]);
  pthread_join(t, NULL);
  for (int i = 0; i < 2; i++) {
    MUST(p[i].status);
    MUST(module->use(p[i].d));
    take_all(&p[i], &all);
    sum s = sum_of(&all, &p[i].node[BODY]);
    CHECK(s.n == RUNS && all.n == 5 * RUNS, "GPU %d: %d records of %d", i, s.n, all.n);
    if (!i) MUST(p[i].d->ops->time(p[i].d, false));  // the other is measured on
  }
  run(&p[1]);
  take_all(&p[1], &all);
  CHECK(all.n == 5, "GPU 1 alone: %d records", all.n);
  for (int i = 0; i < 2; i++) {
    MUST(module->use(p[i].d));
    close_program(&p[i]);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"work_is_of_its_node", work_is_of_its_node}, {"transfers", transfers},
             {"bodies_of_loops", bodies_of_loops}, {"threads", threads},
             {"several_gpus", several_gpus});
}
