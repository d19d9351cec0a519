// traced.h - an opened device of traced.c, for its communicators.
#pragma once
#include "runtime/device/host.h"

typedef struct traced_device {
  gr_host_device host;  // first: its threads and memory
  uint64_t nodes, uploaded, downloaded, collectives;
} traced_device;
