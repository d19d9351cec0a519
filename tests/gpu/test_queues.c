// test_queues.c - memory, transfers, order and captured programs of the device cuda.
#include <pthread.h>
#include <stdlib.h>
#include "ops/ops.h"
#include "runtime/device/device.h"
#include "tests/check.h"

static const gr_device_ops *find_kind(void) {
  const gr_device_ops *kind;
  MUST(gr_device_find("cuda", GR_NOWHERE, &kind));
  if (!gr_device_count(kind)) SKIP("there is no GPU, and no stand-in");
  return kind;
}

static gr_device *open_device(void) {
  gr_device *d;
  MUST(find_kind()->open(&(gr_device_options){.threads = 1, .ranks = 1}, &d));
  return d;
}

// Ranks of two machines have the same GPUs of their machines.
static void ranks_of_machines(void) {
  const gr_device_ops *kind = find_kind();
  int n = gr_device_count(kind);
  unsigned char first[GR_DEVICE_ID];
  for (int rank = 0; rank < 2 * n; rank++) {
    gr_device *d;
    MUST(kind->open(
        &(gr_device_options){.threads = 1, .rank = rank, .ranks = 2 * n, .local_rank = rank % n},
        &d));
    if (!rank) memcpy(first, d->id, sizeof first);
    bool same = !memcmp(first, d->id, sizeof first);
    CHECK(same == !(rank % n), "rank %d has %s GPU as rank 0", rank, same ? "the same" : "another");
    d->ops->close(d);
  }
}

static char *noise(size_t bytes, uint64_t seed) {
  char *p = malloc(bytes);
  for (size_t i = 0; i < bytes; i++) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    p[i] = (char)(seed >> 56);
  }
  return p;
}

static void memory_is_zero(void) {
  enum { BYTES = 3000001 };
  gr_device *d = open_device();
  char *host = noise(BYTES, 1);
  // It has taken what it reserves, and hardly more.
  size_t bytes = d->limits.bytes, spare = 16 << 20;
  MUST(d->ops->measure(d));
  CHECK(d->limits.bytes + spare > bytes, "%zu bytes are missing", bytes - d->limits.bytes);
  for (int round = 0; round < 2; round++) {  // and again, when a block was used before
    gr_device_block b;
    int64_t other = 0;
    MUST(d->ops->allocate(d, BYTES, NULL, &b));
    MUST(d->ops->download(d, host, b.address, BYTES));
    MUST(d->ops->synchronise(d, GR_QUEUE_TRANSFER));
    for (int64_t i = 0; i < BYTES; i++) other += host[i] != 0;
    CHECK(!other, "%lld bytes are not zero", (long long)other);
    MUST(d->ops->fill(d, b.address, 7, BYTES));
    MUST(d->ops->synchronise(d, GR_QUEUE_COMPUTE));
    d->ops->free(d, &b);
  }
  CHECK(d->limits.bytes > 1 << 20, "the device says that it has %zu bytes", d->limits.bytes);
  free(host);
  d->ops->close(d);
}

// More than the pinned buffers hold at once, more than the rest of one, and more pieces than they
// have room for.
static void transfers_of_any_size(void) {
  const size_t sizes[] = {70000001, 1, 0, 8 << 20, (8 << 20) + 1, 5 << 20};
  gr_device *d = open_device();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    gr_device_block b;
    char *sent = noise(sizes[i] + 1, i), *received = noise(sizes[i] + 1, i + 10);
    MUST(d->ops->allocate(d, sizes[i], NULL, &b));
    MUST(d->ops->upload(d, b.address, sent, sizes[i]));
    MUST(d->ops->download(d, received, b.address, sizes[i]));
    MUST(d->ops->synchronise(d, GR_QUEUE_TRANSFER));
    CHECK(!memcmp(sent, received, sizes[i]), "%zu bytes came back otherwise", sizes[i]);
    d->ops->free(d, &b);
    free(sent), free(received);
  }
  d->ops->close(d);
}

static void many_transfers(void) {
  enum { N = 600, BYTES = 5000 };  // more than all buffers have room for
  gr_device *d = open_device();
  gr_device_block b;
  char *sent = noise((size_t)N * BYTES, 3), *received = noise((size_t)N * BYTES, 4);
  MUST(d->ops->allocate(d, (size_t)N * BYTES, NULL, &b));
  for (size_t i = 0; i < N; i++) {
    MUST(d->ops->upload(d, (char *)b.address + i * BYTES, sent + i * BYTES, BYTES));
    MUST(d->ops->download(d, received + i * BYTES, (char *)b.address + i * BYTES, BYTES));
  }
  MUST(d->ops->synchronise(d, GR_QUEUE_TRANSFER));
  CHECK(!memcmp(sent, received, (size_t)N * BYTES), "%d small transfers came back otherwise", N);
  d->ops->free(d, &b);
  free(sent), free(received);
  d->ops->close(d);
}

// Steps as the executor orders them, without the host waiting in between.
enum { STEPS = 60, BYTES = 40000 };

static gr_status step(gr_device *d, const gr_device_block b[2], const char *sent, char *received) {
  GR_TRY(d->ops->upload(d, b[0].address, sent, BYTES));
  GR_TRY(d->ops->record(d, GR_QUEUE_TRANSFER, GR_EVENT_TRANSFERRED));
  GR_TRY(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED));
  GR_TRY(d->ops->copy(d, b[1].address, b[0].address, BYTES));
  GR_TRY(d->ops->record(d, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  GR_TRY(d->ops->wait(d, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
  return d->ops->download(d, received, b[1].address, BYTES);
}

static void queues_are_ordered(void) {
  gr_device *d = open_device();
  gr_device_block b[2];
  char *sent = noise((size_t)STEPS * BYTES, 5), *received = noise((size_t)STEPS * BYTES, 6);
  for (int i = 0; i < 2; i++) MUST(d->ops->allocate(d, BYTES, NULL, &b[i]));
  for (size_t i = 0; i < STEPS; i++) MUST(step(d, b, sent + i * BYTES, received + i * BYTES));
  MUST(d->ops->synchronise(d, GR_QUEUE_TRANSFER));
  CHECK(!memcmp(sent, received, (size_t)STEPS * BYTES), "steps overtook each other");
  for (int i = 0; i < 2; i++) d->ops->free(d, &b[i]);
  free(sent), free(received);
  d->ops->close(d);
}

// A program, from block 0 to 1: what it is called with is run again without a call. Around it,
// outside of what is captured, blocks are copied on the same queue: 2 to 0, and 1 to 3.
enum { BLOCKS = 4 };
typedef struct program {
  gr_device *d;
  gr_device_block *b;
  int calls;
  bool fails;
} program;

static gr_status issue(void *arg) {
  program *p = arg;
  p->calls++;
  GR_TRY(p->d->ops->copy(p->d, p->b[1].address, p->b[0].address, BYTES));
  if (p->fails) return gr_fail(GR_ERR_BUG, GR_NOWHERE, "as a test asks");
  return p->d->ops->fill(p->d, (char *)p->b[1].address + BYTES / 2, 3, BYTES / 4);
}

static void run_once(program *p, const char *sent) {
  static char received[BYTES];
  int64_t wrong = 0;
  gr_device *d = p->d;
  MUST(d->ops->upload(d, p->b[2].address, sent, BYTES));
  MUST(d->ops->record(d, GR_QUEUE_TRANSFER, GR_EVENT_TRANSFERRED));
  MUST(d->ops->wait(d, GR_QUEUE_COMPUTE, GR_EVENT_TRANSFERRED));
  MUST(d->ops->copy(d, p->b[0].address, p->b[2].address, BYTES));
  MUST(d->ops->run(d, (const gr_graph *)p, issue, p));
  MUST(d->ops->copy(d, p->b[3].address, p->b[1].address, BYTES));
  MUST(d->ops->record(d, GR_QUEUE_COMPUTE, GR_EVENT_COMPUTED));
  MUST(d->ops->wait(d, GR_QUEUE_TRANSFER, GR_EVENT_COMPUTED));
  MUST(d->ops->download(d, received, p->b[3].address, BYTES));
  MUST(d->ops->synchronise(d, GR_QUEUE_TRANSFER));
  for (int i = 0; i < BYTES; i++) {
    bool filled = i >= BYTES / 2 && i < BYTES / 2 + BYTES / 4;
    wrong += received[i] != (filled ? 3 : sent[i]);
  }
  CHECK(!wrong, "%lld bytes are wrong", (long long)wrong);
}

static void programs_are_captured(void) {
  enum { RUNS = 5 };
  gr_device_block b[BLOCKS];
  program p = {.d = open_device(), .b = b}, other = p;
  char *sent = noise((size_t)RUNS * BYTES, 7);
  for (int i = 0; i < BLOCKS; i++) MUST(p.d->ops->allocate(p.d, BYTES, NULL, &b[i]));
  for (size_t i = 0; i < RUNS; i++) run_once(&p, sent + i * BYTES);
  CHECK(p.calls == 2, "five runs called it %d times", p.calls);
  run_once(&other, sent);  // an error while it is captured leaves the device usable
  other.fails = true;
  gr_status s = p.d->ops->run(p.d, (const gr_graph *)&other, issue, &other);
  CHECK(s && strstr(gr_status_text(s), "as a test asks"), "%s", gr_status_text(s));
  gr_status_drop(s);
  run_once(&p, sent + BYTES);
  for (int i = 0; i < BLOCKS; i++) p.d->ops->free(p.d, &b[i]);
  free(sent);
  p.d->ops->close(p.d);
}

// While one thread captures a program, another allocates memory, as libraries' threads and those of
// other ranks do.
static void *allocate_beside(void *unused) {
  gr_device *d = open_device();
  gr_device_block b;
  MUST(d->ops->allocate(d, BYTES, NULL, &b));
  d->ops->free(d, &b);
  d->ops->close(d);
  return unused;
}
static gr_status issue_beside(void *arg) {
  program *p = arg;
  pthread_t thread;
  if (p->calls == 1) {
    if (pthread_create(&thread, NULL, allocate_beside, NULL)) abort();
    pthread_join(thread, NULL);
  }
  return issue(arg);
}
static void other_threads_go_on_in_a_capture(void) {
  gr_device_block b[BLOCKS];
  program p = {.d = open_device(), .b = b};
  for (int i = 0; i < BLOCKS; i++) MUST(p.d->ops->allocate(p.d, BYTES, NULL, &b[i]));
  for (int i = 0; i < 3; i++) MUST(p.d->ops->run(p.d, (const gr_graph *)&p, issue_beside, &p));
  CHECK(p.calls == 2, "three runs called it %d times", p.calls);
  for (int i = 0; i < BLOCKS; i++) p.d->ops->free(p.d, &b[i]);
  p.d->ops->close(p.d);
}

// A kernel that fails is an error where the host waits for it, before anything else is called.
static void errors_show_where_the_host_waits(void) {
  gr_device *d = open_device();
  gr_device_block b;
  gr_type type = {GR_F32, 1, {BYTES / 4}};
  gr_op_call call = {.op = &gr_op_relu, .n_in = 1, .in = {type}};
  gr_device_kernel kernel;
  if (!getenv("STANDIN_SEED")) SKIP("no kernel fails when it is asked to");
  MUST(gr_op_infer(&call));
  MUST(d->ops->allocate(d, BYTES, NULL, &b));
  const void *in[] = {b.address};
  void *out[] = {b.address};
  gr_launch l = {.n_in = 1, .n_out = 1, .in_type = call.in, .out_type = call.out};
  l.in = in, l.out = out;
  MUST(d->ops->kernel(d, &call, &l, &kernel));
  MUST(d->ops->ready(d));
  l.context = kernel.context;
  setenv("STANDIN_FAULT", "kernel:1", 1);
  gr_status s = kernel.run(&l), waited = d->ops->synchronise(d, GR_QUEUE_COMPUTE);
  unsetenv("STANDIN_FAULT");
  CHECK(!s, "it fails before it runs: %s", gr_status_text(s));
  CHECK(waited && strstr(gr_status_text(waited), "CUDA_ERROR_ILLEGAL_ADDRESS"), "%s",
        waited ? gr_status_text(waited) : "the host is told nothing");
  gr_status_drop(s), gr_status_drop(waited);
  d->ops->close(d);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"ranks_of_machines", ranks_of_machines},
             {"memory_is_zero", memory_is_zero}, {"transfers_of_any_size", transfers_of_any_size},
             {"many_transfers", many_transfers}, {"queues_are_ordered", queues_are_ordered},
             {"programs_are_captured", programs_are_captured},
             {"other_threads_go_on_in_a_capture", other_threads_go_on_in_a_capture},
             {"errors_show_where_the_host_waits", errors_show_where_the_host_waits});
}
