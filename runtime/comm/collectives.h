// collectives.h - libraries of collectives for devices whose memory the communicators of the host
// do not reach: one table for each library, which a device chooses by its name
// (gr_device_ops.collectives). A library is one file with its table and one line of
// collectives.def.
#pragma once
#include "ops/comm/comm.h"
#include "runtime/device/device.h"

typedef struct gr_collectives_setting {
  const char *name, *value;  // of an environment variable; constants
} gr_collectives_setting;
enum { GR_COLLECTIVES_SETTINGS = 12 };

typedef struct gr_collectives {
  const char *name;   // as the device's table has it
  const char *title;  // as its makers write it, for messages
  // Opens a communicator of the device's memory with the ranks of `host`, whose collectives are put
  // onto one queue of the device. Collective over `host`, which must live longer. timeout_s bounds
  // opening and every wait for the device. Fails with GR_ERR_LAUNCH on all ranks if one of them has
  // no such library, GR_ERR_HANG if the ranks are not connected in time.
  gr_status (*open)(gr_device *, gr_queue, gr_comm *host, double timeout_s, gr_comm **out);
  // Whether collectives of two queues could start in another order on each rank, and wait for each
  // other: all of them are then put onto one. Collective over all ranks. NULL: they cannot.
  gr_status (*one_queue)(gr_comm *world, bool *out);
  // Sets the environment variables that fit this machine and that the user has not set, before a
  // device is opened. several: the ranks are on several machines. deterministic: sums are made in
  // an order that does not depend on sizes and channels. Lists what it has set; returns how many.
  // NULL: there is nothing to set.
  int (*set_environment)(bool several, bool deterministic,
                         gr_collectives_setting out[GR_COLLECTIVES_SETTINGS]);
} gr_collectives;

// The library of a device's collectives; NULL: the host's communicators reach its memory, which is
// so for the CPU, and for NULL, which means the CPU.
const gr_collectives *gr_collectives_of(const gr_device_ops *);
