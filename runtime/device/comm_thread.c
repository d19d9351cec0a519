// comm_thread.c - see comm_thread.h.
#include "runtime/device/comm_thread.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/thread.h"

// A kernel, and the launch of it that is put.
typedef struct job {
  struct job *older, *next;  // in the list of all, and in the queue
  gr_comm_thread *thread;
  gr_kernel run;
  const gr_launch *launch;
  size_t bytes;          // of its operands, or of its results if they are larger
  void *of;              // gr_comm_thread_time_as when it was put
  int64_t began, lasts;  // of its last run, in nanoseconds
  bool timed;            // ... which `timings` has not given yet
} job;

struct gr_comm_thread {
  job *jobs;            // all, newest first
  void *of;             // of what is put next
  uint64_t n_put;       // of the rank's thread alone, as those before
  size_t worth;         // bytes in the queue for which the thread is woken
  const job *returned;  // the one whose error was returned
  pthread_t thread;
  pthread_mutex_t lock;  // of the following
  pthread_cond_t was_put, was_done;
  job *first, *last;  // the queue of those that are not begun
  size_t bytes;       // of these
  uint64_t n_done;
  bool woken;       // the thread is to run what is in the queue
  bool runs, ends;  // one is being run; the thread is to end
  const job *failed;
  gr_status error;  // of that one, until it is returned
};

static int64_t now_ns(void) { return (int64_t)(1e9 * gr_wall_seconds()); }

// Collectives have no rank's threads: these compute meanwhile.
static gr_status run_job(job *j) {
  gr_launch l = *j->launch;
  l.context = NULL;
  j->began = now_ns();
  gr_status s = j->run(&l);
  j->lasts = now_ns() - j->began, j->timed = true;
  return s;
}

// Takes the first of the queue and runs it, without the lock meanwhile.
static void run_first(gr_comm_thread *t) {
  job *j = t->first;
  t->first = j->next, t->bytes -= j->bytes, t->runs = true;
  t->woken &= t->first != NULL;
  bool run = !t->failed;
  pthread_mutex_unlock(&t->lock);
  gr_status s = run ? run_job(j) : GR_OK;
  pthread_mutex_lock(&t->lock);
  t->runs = false, t->n_done++;
  if (s) t->error = s, t->failed = j;
  pthread_cond_signal(&t->was_done);
}

static void wake(gr_comm_thread *t) {
  t->woken |= t->first && t->bytes >= t->worth;
  if (t->woken && !t->runs) pthread_cond_signal(&t->was_put);
}

static void *work(void *arg) {
  gr_comm_thread *t = arg;
  pthread_mutex_lock(&t->lock);
  while (true) {
    if (t->woken && !t->runs)
      run_first(t);
    else if (t->ends)
      break;
    else
      pthread_cond_wait(&t->was_put, &t->lock);
  }
  pthread_mutex_unlock(&t->lock);
  return NULL;
}

// ---- Starting and ending ------------------------------------------------------------------------

gr_status gr_comm_thread_start(size_t worth, gr_comm_thread **out) {
  gr_comm_thread *t = *out = calloc(1, sizeof *t);
  if (!t) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a thread");
  t->worth = worth;
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->was_put, NULL);
  pthread_cond_init(&t->was_done, NULL);
  int error = gr_thread_start(&t->thread, work, t);
  if (!error) return GR_OK;
  free(t);
  *out = NULL;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                         "the communication thread cannot be started: %s", strerror(error)),
                 "raise the limits of threads (ulimit -u) and of memory (ulimit -v), or set "
                 "distributed.overlap=false");
}

void gr_comm_thread_end(gr_comm_thread *t) {
  if (!t) return;
  gr_status_drop(gr_comm_thread_wait(t, t->n_put));
  pthread_mutex_lock(&t->lock);
  t->ends = true;
  pthread_cond_signal(&t->was_put);
  pthread_mutex_unlock(&t->lock);
  pthread_join(t->thread, NULL);
  for (job *j = t->jobs, *older; j; j = older) older = j->older, free(j);
  pthread_cond_destroy(&t->was_put);
  pthread_cond_destroy(&t->was_done);
  pthread_mutex_destroy(&t->lock);
  free(t);
}

// ---- Putting and waiting ------------------------------------------------------------------------

static gr_status put(const gr_launch *l) {
  job *j = l->context;
  gr_comm_thread *t = j->thread;
  j->launch = l, j->of = t->of, j->next = NULL, t->n_put++;
  size_t given = gr_types_bytes(l->in_type, l->n_in), made = gr_types_bytes(l->out_type, l->n_out);
  j->bytes = given > made ? given : made;
  pthread_mutex_lock(&t->lock);
  *(t->first ? &t->last->next : &t->first) = j;
  t->last = j, t->bytes += j->bytes;
  wake(t);
  pthread_mutex_unlock(&t->lock);
  return GR_OK;
}

gr_status gr_comm_thread_kernel(gr_comm_thread *t, gr_kernel run, gr_device_kernel *out) {
  job *j = calloc(1, sizeof *j);
  if (!j) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a kernel");
  *j = (job){.older = t->jobs, .thread = t, .run = run};
  t->jobs = j;
  *out = (gr_device_kernel){put, j};
  return GR_OK;
}

uint64_t gr_comm_thread_count(const gr_comm_thread *t) { return t->n_put; }

gr_status gr_comm_thread_wait(gr_comm_thread *t, uint64_t n) {
  pthread_mutex_lock(&t->lock);
  while (t->n_done < n)
    if (t->runs)
      pthread_cond_wait(&t->was_done, &t->lock);
    else
      run_first(t);
  gr_status s = t->error;
  if (s) t->returned = t->failed, t->error = GR_OK;
  wake(t);
  pthread_mutex_unlock(&t->lock);
  return s;
}

// ---- Times --------------------------------------------------------------------------------------

void gr_comm_thread_time_as(gr_comm_thread *t, void *of) { t->of = of; }

void *gr_comm_thread_failed(const gr_comm_thread *t) {
  return t->returned ? t->returned->of : NULL;
}

gr_status gr_comm_thread_timings(gr_comm_thread *t, void (*take)(void *, const gr_device_timing *),
                                 void *arg) {
  GR_TRY(gr_comm_thread_wait(t, t->n_put));
  for (job *j = t->jobs; j; j = j->older) {
    if (j->timed) take(arg, &(gr_device_timing){j->of, "collective", true, j->began, j->lasts});
    j->timed = false;
  }
  return GR_OK;
}
