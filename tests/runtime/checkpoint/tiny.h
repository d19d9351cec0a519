// tiny.h - a checkpoint of three small tensors, made of one number, for tests that make many.
#pragma once
#include "base/arena.h"
#include "runtime/checkpoint/checkpoint.h"
#include "tests/runtime/checkpoint/scratch.h"

typedef struct tiny {
  float a[30];  // [6, 5], split over ranks
  double b[3];
  int64_t n;
} tiny;

// The numbers that a seed makes.
static inline void tiny_fill(tiny *t, int seed) {
  for (int i = 0; i < 30; i++) t->a[i] = (float)(seed * 100 + i);
  for (int i = 0; i < 3; i++) t->b[i] = 1.0 / (seed + i + 1);
  t->n = seed;
}

// What one rank writes.
static inline int tiny_pieces(tiny *t, int rank, int ranks, gr_tensor_slice out[3]) {
  out[0] = gr_tensor_slice_whole("a", "f32", 2, (int64_t[]){6, 5}, NULL);
  out[0].offset[0] = 6 * rank / ranks;
  out[0].size[0] = 6 * (rank + 1) / ranks - out[0].offset[0];
  out[0].data = t->a + 5 * out[0].offset[0];
  out[1] = gr_tensor_slice_whole("b", "f64", 1, (int64_t[]){3}, t->b);
  out[2] = gr_tensor_slice_whole("n", "i64", 0, NULL, &t->n);
  return rank ? 1 : 3;
}

// How a save ends: gr_saver_finish, but in tests of others.
static gr_status (*tiny_end)(gr_saver *) = gr_saver_finish;

typedef struct tiny_job {
  const char *dir;
  int rank, ranks, seed, keep_last;
  int64_t step;
  bool in_place;
  scratch_vote *vote;
  gr_status failed;
} tiny_job;

// Saves the pieces of one rank, and returns how that ended.
static inline gr_status tiny_save_rank(tiny_job *j) {
  static _Thread_local tiny t;
  gr_tensor_slice pieces[3];
  gr_saver *s;
  tiny_fill(&t, j->seed);
  gr_saver_spec spec = {.dir = j->dir,
                        .rank = j->rank,
                        .ranks = j->ranks,
                        .pieces = pieces,
                        .n_pieces = tiny_pieces(&t, j->rank, j->ranks, pieces),
                        .keep_last = j->keep_last,
                        .agree = j->vote ? scratch_agree : NULL,
                        .ctx = j->vote,
                        .in_place = j->in_place};
  GR_TRY(gr_saver_open(&spec, &s));
  gr_scalar seed = {"seed", GR_SCALAR_INT, .i = j->seed};
  gr_status e = gr_saver_begin(s, j->step, &seed, 1);
  e = gr_also(e, tiny_end(s));
  gr_saver_close(s);
  return e;
}

// The same as the body of a thread; the status is in the job.
static inline void *tiny_thread(void *arg) {
  tiny_job *j = arg;
  j->failed = tiny_save_rank(j);
  return NULL;
}

// Saves step `step` on n ranks; returns rank 0's status and drops the others'.
static inline gr_status tiny_save(const char *dir, int ranks, int64_t step, int seed,
                                  int keep_last) {
  tiny_job jobs[8];
  pthread_t threads[8];
  scratch_vote vote;
  scratch_vote_open(&vote, (unsigned)ranks);
  for (int r = 0; r < ranks; r++) {
    jobs[r] = (tiny_job){dir, r, ranks, seed, keep_last, step, false, &vote, GR_OK};
    if (ranks > 1) pthread_create(&threads[r], NULL, tiny_thread, &jobs[r]);
  }
  if (ranks == 1) tiny_thread(&jobs[0]);
  for (int r = 0; r < ranks && ranks > 1; r++) pthread_join(threads[r], NULL);
  for (int r = 1; r < ranks; r++) gr_status_drop(jobs[r].failed);
  return jobs[0].failed;
}

// The seed of a checkpoint that is whole and holds what it should; -1: it is not.
static inline int tiny_seed(gr_checkpoint *c) {
  tiny got = {{0}}, want;
  gr_tensor_slice p[3];
  const gr_scalar *seed = gr_checkpoint_scalar(c, "seed");
  gr_status e = gr_checkpoint_verify(c);
  if (!e) e = gr_checkpoint_read_all(c, p, tiny_pieces(&got, 0, 1, p), true);
  bool ok = !e && seed;
  gr_status_drop(e);
  if (!ok) return -1;
  tiny_fill(&want, (int)seed->i);
  return memcmp(got.a, want.a, sizeof got.a) || memcmp(got.b, want.b, sizeof got.b) ||
                 got.n != want.n
             ? -1
             : (int)seed->i;
}

// The same of the checkpoint of a step in `dir`; -1: it is not there, or not whole.
static inline int tiny_seed_at(const char *dir, int64_t step) {
  char path[512];
  gr_checkpoint *c;
  snprintf(path, sizeof path, "%s/step-%08lld", dir, (long long)step);
  gr_status e = gr_checkpoint_open(path, &c);
  int seed = e ? -1 : tiny_seed(c);
  gr_status_drop(e);
  gr_checkpoint_close(c);
  return seed;
}
