// settings.h - reads a configuration into gr_settings (runtime/train/settings.h).
#pragma once
#include "compose/tree/conf.h"
#include "runtime/train/settings.h"

// Makes the key `device` take auto and the names of the devices there are. Once, before any
// configuration is checked.
void gr_settings_register(void);
// `ranks` decides threads, and `data_ranks`, those that share the batch, batch and lr; 0 when they
// are not known yet.
GR_MUST_USE gr_status gr_settings_read(gr_arena *, gr_conf *, int ranks, int data_ranks,
                                       gr_settings *);
enum { GR_DIFFERENCES = 3 };
// Lists settings that cannot be honoured (precision, backend) on `devices` devices, or 0: on CPUs,
// and keys of other optimizers, as one line each; returns their number.
int gr_settings_differences(const gr_settings *, int devices, const char *out[GR_DIFFERENCES]);
