// saver.h - internals of gr_saver: save.c opens it and commits, write.c writes a rank's file.
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include "runtime/checkpoint/dir.h"
#include "runtime/checkpoint/index.h"
#include "runtime/checkpoint/lock.h"

struct gr_saver {
  gr_arena *arena;
  gr_saver_spec spec;
  gr_lock *lock;      // on spec.dir; held by rank 0
  gr_index plan;      // what this rank writes, in file order; offsets are not known yet
  gr_rank_file file;  // only .pieces is set, in that order
  int64_t bytes;      // of all pieces
  char *staging;      // copy of the tensors; with spec.in_place of one that is fetched; or NULL
  size_t staging_bytes;
  char *packed;  // [GR_MAX_PACKED]
  struct ZSTD_CCtx_s *zstd;
  char *last;
  int foreign;  // number of foreign folders that pruning has reported
  // The save in progress.
  gr_arena *save;  // NULL: no save is in progress
  int64_t step;
  gr_index index;  // what has been written
  char tmp[GR_CHECKPOINT_NAME_SIZE];
  gr_status failed;  // error of the thread or of begin
  pthread_t thread;
  bool threaded;
  atomic_bool busy;
};

// Checks with a trial index, without data, that the reader will accept what this rank writes.
GR_MUST_USE gr_status gr_saver_check_plan(gr_saver *);
// Writes the rank's file and its index, durably, to the temporary directory of the save. Runs on
// the writer thread, or inside begin with spec.in_place.
GR_MUST_USE gr_status gr_saver_write_rank(gr_saver *);
// Writes an index durably. Fails without writing when the reader would refuse it.
GR_MUST_USE gr_status gr_saver_write_index(gr_saver *, const gr_disk_dir *, const gr_index *,
                                           const char *name);
// Name of the index file of a rank ("rank-00000.json"), in the arena of the save.
const char *gr_saver_index_name(gr_saver *, int rank);
// Checks that the reader accepts the scalars and copies them to the save's arena.
GR_MUST_USE gr_status gr_saver_copy_scalars(gr_saver *, const gr_scalar *, int n);
