// tasks.c - see tasks.h. Each thread takes the next task that is left.
#include "base/tasks.h"
#include <assert.h>
#include <stdatomic.h>
#include "base/arena.h"
#include "base/port.h"
#include "base/stop.h"
#include "base/thread.h"

typedef struct tasks {
  gr_task task;
  void *arg;
  int n;
  _Atomic int next;
  _Atomic int failed;  // the smallest that failed so far; n: none
  gr_status *errors;   // by task
} tasks;

static void note_failure(tasks *t, int i) {
  int least = atomic_load(&t->failed);
  while (i < least && !atomic_compare_exchange_weak(&t->failed, &least, i)) {
  }
}

static void *work(void *arg) {
  tasks *t = arg;
  for (int i; (i = atomic_fetch_add(&t->next, 1)) < t->n && i < atomic_load(&t->failed);) {
    t->errors[i] = gr_stop_check();
    if (!t->errors[i]) t->errors[i] = t->task(t->arg, i);
    if (t->errors[i]) note_failure(t, i);
  }
  return NULL;
}

// Returns how many were started.
static int start(pthread_t *thread, int n, tasks *t) {
  int started = 0;
  while (started < n && !gr_thread_start(&thread[started], work, t)) started++;
  return started;
}

static gr_status first_error(tasks *t) {
  gr_status first = GR_OK;
  for (int i = 0; i < t->n; i++) {
    if (first) gr_status_drop(t->errors[i]);
    if (!first) first = t->errors[i];
  }
  return first;
}

gr_status gr_tasks_run(int threads, int n, gr_task task, void *arg) {
  assert(threads >= 0 && n >= 0 && task);
  if (threads < 1) threads = gr_processors();
  if (threads > n) threads = n;
  gr_arena *arena = gr_arena_create();
  tasks t = {
      .task = task, .arg = arg, .n = n, .failed = n, .errors = GR_NEW(arena, gr_status, n + 1)};
  pthread_t *thread = GR_NEW(arena, pthread_t, threads + 1);
  int started = start(thread, threads - 1, &t);
  work(&t);
  for (int i = 0; i < started; i++) pthread_join(thread[i], NULL);
  return gr_arena_end(arena, first_error(&t));
}
