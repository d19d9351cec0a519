// files.h - the configuration in a run's folder.
#pragma once
#include "runtime/train/rank/rank.h"

// Fails with GR_ERR_CHECKPOINT where the configuration that is recorded beside a checkpoint without
// an identity, or in the run's folder, has other values of keys that change what is computed.
GR_MUST_USE gr_status gr_run_check_recorded(const gr_rank *, const char *dir,
                                            const char *checkpoint);
// Logs where the configuration differs from that of the run that wrote the checkpoint.
void gr_run_log_config_changes(const gr_rank *, const char *dir, const char *checkpoint);
// Writes .hydra/, as Hydra does, and what else a run's folder begins with; on rank 0.
GR_MUST_USE gr_status gr_run_save_config(gr_rank *, const char *dir);
