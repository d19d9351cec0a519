// settings.h - reads a configuration into gr_settings (runtime/train/settings.h).
#pragma once
#include "compose/tree/conf.h"
#include "runtime/train/settings.h"

// Tells the schema the valid values of `device`: auto and the names of the devices. Called once,
// before any configuration is checked.
void gr_settings_register(void);
// The number of threads depends on `ranks`; batch size and learning rate depend on `data_ranks`,
// the number of parts of a batch. 0: not known yet.
GR_MUST_USE gr_status gr_settings_read(gr_arena *, gr_conf *, int ranks, int data_ranks,
                                       gr_settings *);
enum { GR_DIFFERENCES = 4 };
// Lists settings that have no effect in this run, or another one (precision, backend, keys of other
// optimizers), one line each, and returns their number. devices: the number of devices; 0: ranks
// run on CPUs.
int gr_settings_differences(const gr_settings *, int devices, const char *out[GR_DIFFERENCES]);
