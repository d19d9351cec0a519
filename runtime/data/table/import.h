// import.h - data sets of others as files for the source `table`.
#pragma once
#include "base/status.h"

// `graphrun data import seglearn-watch`: the recordings of exercises in the Python package
// seglearn, 6 channels of a sensor at the wrist at 50 Hz (Burns et al. 2018).
typedef struct gr_import_watch {
  uint32_t recordings, subjects, exercises;
  uint64_t moments;
} gr_import_watch;
// Writes watch.npy, f32 [moments, channels], and watch.csv, a line for each moment: exercise, side,
// subject, recording, split. from: the package's wheel or its watch_dataset.npy; NULL: the wheel in
// `dir`. Fails with GR_ERR_DATA, or GR_ERR_IO where it cannot write.
GR_MUST_USE gr_status gr_import_watch_run(const char *from, const char *dir, gr_import_watch *out);
