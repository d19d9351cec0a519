// saver.h - a saver from inside: save.c opens it and commits,
// write.c writes what one rank has.
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "runtime/checkpoint/dir.h"
#include "runtime/checkpoint/index.h"
#include "runtime/checkpoint/lock.h"

struct gr_saver {
  gr_arena *arena;
  gr_saver_spec spec;
  gr_lock *lock;      // on spec.dir, of rank 0
  gr_index plan;      // what this rank writes, in the order of its file; places not yet known
  gr_rank_file file;  // .pieces alone, in that order
  char *staging;      // NULL: in_place
  size_t staging_bytes;
  char *packed;  // [GR_MAX_PACKED]
  struct ZSTD_CCtx_s *zstd;
  char *last;
  int foreign;  // of what pruning has left as it is, how many have been reported
  // Of the save under way.
  gr_arena *save;  // NULL: there is none
  int64_t step;
  gr_index index;  // of what has been written
  char tmp[GR_CHECKPOINT_NAME_SIZE];
  gr_status failed;  // the thread's, or begin's
  pthread_t thread;
  bool threaded;
  atomic_bool busy;
};

// Whether the reader takes what this rank will write, by a trial without data.
GR_MUST_USE gr_status gr_saver_check_plan(gr_saver *);
// The rank's file and its index, durable, in the directory of the save under way.
GR_MUST_USE gr_status gr_saver_write_rank(gr_saver *);
// An index as a durable file, if the reader takes it.
GR_MUST_USE gr_status gr_saver_write_index(gr_saver *, const gr_disk_dir *, const gr_index *,
                                           const char *name);
const char *gr_saver_index_name(gr_saver *, int rank);
// That a reader takes them; and copies them to where the save under way needs them.
GR_MUST_USE gr_status gr_saver_copy_scalars(gr_saver *, const gr_scalar *, int n);
