// cpu.c - the CPU: a rank's share of the processors, and the host's memory.
#include "runtime/device/host.h"

static gr_status open(const gr_device_options *o, gr_device **out) {
  return gr_host_open(&gr_device_cpu, o, sizeof(gr_host_device), out);
}

const gr_device_ops gr_device_cpu = {
    GR_DEVICE_HOST_FIELDS(gr_host_kernel),
    .name = "cpu",
    .doc = "this machine's processors, divided over the ranks",
    .open = open,
};
