// test_comm_thread.c - the thread that runs collectives: their order, who runs them, and errors.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "runtime/device/comm_thread.h"
#include "tests/check.h"

enum { MANY = 40 };
static const gr_type small = {GR_F32, 1, {64}}, large = {GR_F32, 1, {64 * MANY}};

// Kernels note the number that `attr` points to, in the order in which they run.
static int ran[MANY * MANY], n_ran;
static atomic_int begun, gate;  // `held` has begun so often, and waits until the gate is open
static const int numbers[MANY] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                                  14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
                                  28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39};

static gr_status noted(const gr_launch *l) {
  if (l->context) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "a collective has the rank's threads");
  ran[n_ran++] = *(const int *)l->attr;
  return GR_OK;
}
static gr_status held(const gr_launch *l) {
  atomic_fetch_add(&begun, 1);
  while (!atomic_load(&gate)) sched_yield();
  return noted(l);
}
static gr_status broken(const gr_launch *l) {
  (void)noted(l);
  return gr_fail(GR_ERR_RANK, GR_NOWHERE, "a peer has failed");
}

static gr_comm_thread *start_for(size_t worth) {
  gr_comm_thread *t;
  MUST(gr_comm_thread_start(worth, &t));
  n_ran = 0;
  return t;
}

static gr_comm_thread *start(void) { return start_for(gr_type_bytes(&large)); }

// A kernel as the executor keeps it, with its launch.
typedef struct kept {
  gr_device_kernel kernel;
  gr_launch launch;
} kept;

static kept keep(gr_comm_thread *t, gr_kernel run, int number, const gr_type *type) {
  kept k = {.launch = {.attr = &numbers[number], .n_in = 1, .in_type = type}};
  MUST(gr_comm_thread_kernel(t, run, &k.kernel));
  k.launch.context = k.kernel.context;
  return k;
}
static void put(kept *k) { MUST(k->kernel.run(&k->launch)); }

// What is put runs in that order, on either thread, and is done when that was waited for.
static void keep_order(size_t worth) {
  gr_comm_thread *t = start_for(worth);
  kept all[MANY];
  for (int i = 0; i < MANY; i++) all[i] = keep(t, noted, i, i % 3 ? &small : &large);
  for (int step = 0; step < MANY; step++) {
    for (int i = 0; i < MANY; i++) {
      put(&all[i]);
      if (i % (step + 1)) continue;
      MUST(gr_comm_thread_wait(t, gr_comm_thread_count(t)));
      CHECK(n_ran == step * MANY + i + 1, "%d have run, not %d", n_ran, step * MANY + i + 1);
    }
    MUST(gr_comm_thread_wait(t, gr_comm_thread_count(t)));
  }
  for (int i = 0; i < MANY * MANY; i++) CHECK(ran[i] == i % MANY, "the %dth was %d", i, ran[i]);
  gr_comm_thread_end(t);
}

static void order(void) {
  keep_order(gr_type_bytes(&large));
  keep_order(0);
}

// The thread runs what is put without being waited for, and it runs while the caller goes on.
static void beside(void) {
  gr_comm_thread *t = start();
  atomic_store(&gate, 0);
  kept first = keep(t, held, 1, &large), second = keep(t, noted, 2, &small);
  put(&first);
  put(&second);
  while (!atomic_load(&begun)) sched_yield();  // this thread waits for none of them
  MUST(gr_comm_thread_wait(t, 0));
  atomic_store(&gate, 1);
  gr_comm_thread_end(t);  // waits for both
  CHECK(n_ran == 2 && ran[0] == 1 && ran[1] == 2, "%d have run", n_ran);
}

static pthread_t runner;
static gr_status by(const gr_launch *l) {
  runner = pthread_self();
  return noted(l);
}

// Small ones run in the thread that waits for them, whatever the other had time for; many of them,
// or a large one behind them, wake that one.
static void small_ones(void) {
  gr_comm_thread *t = start();
  atomic_store(&gate, 1);
  kept one = keep(t, by, 1, &small), big = keep(t, held, 2, &large), many[MANY];
  for (int i = 0; i < 2 * MANY; i++) {
    put(&one);
    for (int turn = 0; turn < 100; turn++) sched_yield();
    MUST(gr_comm_thread_wait(t, gr_comm_thread_count(t)));
    CHECK(n_ran == i + 1 && pthread_equal(runner, pthread_self()), "the other thread ran it");
  }
  atomic_store(&begun, 0);
  put(&one), put(&big);
  while (!atomic_load(&begun)) sched_yield();
  MUST(gr_comm_thread_wait(t, gr_comm_thread_count(t)));
  CHECK(n_ran == 2 * MANY + 2 && !pthread_equal(runner, pthread_self()), "this thread ran it");
  atomic_store(&begun, 0);
  for (int i = 0; i < MANY; i++) many[i] = keep(t, held, 3, &small), put(&many[i]);
  while (!atomic_load(&begun)) sched_yield();
  gr_comm_thread_end(t);
}

// Small ones of a device wake the thread only where ranks are on several machines.
static void machines(void) {
  static const gr_op any = {.name = "any", .collective = true, .cpu = held};
  const gr_op_call call = {.op = &any};
  atomic_store(&gate, 1);
  for (int one = 0; one < 2; one++) {
    gr_device *d;
    kept k = {.launch = {.attr = &numbers[1], .n_in = 1, .in_type = &small}};
    const gr_device_options o = {.threads = 1, .plain = true, .ranks = 2, .one_machine = one};
    n_ran = 0;
    MUST(gr_device_cpu.open(&o, &d));
    MUST(d->ops->kernel(d, &call, &k.launch, &k.kernel));
    k.launch.context = k.kernel.context;
    atomic_store(&begun, 0);
    put(&k);
    while (!one && !atomic_load(&begun)) sched_yield();
    for (int turn = 0; turn < 100; turn++) sched_yield();
    CHECK(!one == !!atomic_load(&begun), "one machine: %d, begun: %d", one, atomic_load(&begun));
    MUST(d->ops->synchronise(d, GR_QUEUE_COMPUTE));
    CHECK(n_ran == 1, "%d have run", n_ran);
    d->ops->close(d);
  }
}

// After the first error nothing else is run; it is returned once, and says of what it is.
static void errors(void) {
  gr_comm_thread *t = start();
  kept good = keep(t, noted, 1, &large), bad = keep(t, broken, 2, &small),
       never = keep(t, noted, 3, &small);
  int of_good, of_bad;
  CHECK(!gr_comm_thread_failed(t), "something failed");
  gr_comm_thread_time_as(t, &of_good);
  put(&good);
  gr_comm_thread_time_as(t, &of_bad);
  put(&bad);
  gr_comm_thread_time_as(t, &of_good);
  put(&never);
  gr_status s = gr_comm_thread_wait(t, gr_comm_thread_count(t));
  CHECK(gr_status_code(s) == GR_ERR_RANK, "the error is not returned");
  gr_status_drop(s);
  CHECK(gr_comm_thread_failed(t) == &of_bad, "it is of another");
  put(&never);
  MUST(gr_comm_thread_wait(t, gr_comm_thread_count(t)));
  CHECK(n_ran == 2 && ran[1] == 2, "%d have run", n_ran);
  gr_comm_thread_end(t);
}

static void take(void *arg, const gr_device_timing *t) {
  CHECK(t->of == arg && t->start > 0 && t->lasts >= 0, "a time of another");
  n_ran += 100;
}

// Each that has run has one time, which is given once.
static void timings(void) {
  gr_comm_thread *t = start();
  kept a = keep(t, noted, 1, &large), b = keep(t, noted, 2, &small);
  int of;
  gr_comm_thread_time_as(t, &of);
  put(&a);
  put(&b);
  MUST(gr_comm_thread_timings(t, take, &of));
  CHECK(n_ran == 202, "%d times of %d", n_ran / 100, n_ran % 100);
  put(&b);
  MUST(gr_comm_thread_timings(t, take, &of));
  CHECK(n_ran == 303, "%d times of %d", n_ran / 100, n_ran % 100);
  gr_comm_thread_end(t);
  gr_comm_thread_end(NULL);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"order", order}, {"beside", beside}, {"small_ones", small_ones},
             {"machines", machines}, {"errors", errors}, {"timings", timings});
}
