// run_dir.h - the folder of a run and the files that it begins with. See run.h.
#pragma once
#include "base/status.h"

typedef struct gr_run gr_run;

// Makes the run's folder, or takes the one that is configured, and locks it: run->dir. Collective.
// GR_ERR_IO.
GR_MUST_USE gr_status gr_run_open_dir(gr_run *);
// Opens run.log in the folder, once it is known that the run goes on.
GR_MUST_USE gr_status gr_run_open_log(gr_run *);
double gr_run_patience(const gr_run *);  // seconds to wait for another run to release a folder
// Fails with GR_ERR_CHECKPOINT where the configuration that is recorded beside a checkpoint without
// an identity has other values of keys that change what is computed.
GR_MUST_USE gr_status gr_run_check_recorded(gr_run *, const char *checkpoint);
// Logs where the configuration differs from that of the run that wrote the checkpoint.
void gr_run_log_config_changes(gr_run *, const char *checkpoint);
// Stores, for the launcher, how to go on if a rank dies: from a checkpoint, if one is saved.
void gr_run_set_resume_hint(const gr_run *, bool saved);
GR_MUST_USE gr_status gr_run_save_config(gr_run *);  // writes .hydra/, as Hydra does
