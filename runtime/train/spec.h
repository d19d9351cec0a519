// spec.h - what a run trains, on what, and how: made of a configuration before any rank starts.
//
// Ranks that are threads share one; nothing in it changes while they run, but for the data set,
// which is made for that. The caller owns all of it, in one arena.
#pragma once
#include "compiler/plan/plan.h"
#include "compose/tree/conf.h"
#include "runtime/data/dataset.h"
#include "runtime/device/device.h"
#include "runtime/train/inputs.h"
#include "runtime/train/settings.h"

typedef struct gr_run_spec {
  gr_settings set;
  const gr_device_ops *device;  // what ranks compute on
  gr_plan *plan;
  gr_program_inputs *inputs;  // of the plan's programs, in their order
  gr_dataset *data;
  const char *batch_axis[GR_MAX_MESH];  // mesh axes over which a batch is split; NULL: no more
  int shares;                           // into so many parts
  gr_conf *conf;                        // the configuration, resolved and checked
  gr_conf *written;                     // the same as it was composed, with its interpolations
  // Files that keep the configuration as Hydra does; config_dir NULL: they are not wanted.
  const char *config_dir, *config_yaml, *hydra_yaml, *overrides_yaml;
  const char *run_dir;              // hydra.run.dir, where it is set; else NULL
  size_t launch_bytes, plan_bytes;  // memory that opening the world and compiling took
  bool plain;                       // reference kernels only
  bool profile;                     // print at the end where the time went
} gr_run_spec;
