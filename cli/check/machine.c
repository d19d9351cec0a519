// machine.c - what this machine has, and what the system allows this process. See findings.h.
#define _GNU_SOURCE
#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <netdb.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/port.h"
#include "base/room.h"
#include "cli/check/findings.h"
#include "job/version.h"
#include "ops/kernels/gemm.h"
#include "runtime/comm/collectives.h"
#include "runtime/launch/dir.h"

static void find_processors(gr_findings *f) {
  gr_machine m;
  gr_room rooms[GR_MAX_ROOMS];
  int n = gr_processors(), n_rooms = gr_room_read("", rooms);
  bool amx = gr_gemm_bf16_unit() == GR_BF16_AMX;
  gr_machine_read(&m);
  f->section = "machine";
  gr_found(f, "system", GR_FINDING_OK, NULL, "%s, %s", m.host, m.system);
  gr_found(f, "processor", GR_FINDING_OK, NULL, "%s", *m.processor ? m.processor : "not known");
  gr_found_number(f, "processors", GR_FINDING_OK, NULL, n, "", m.twin ? ", two of a core" : "");
  if (m.share > 0)
    gr_found_number(f, "... granted", gr_limits_if(m.share < n),
                    "distributed.threads and data.workers for so many; or in a container --cpus",
                    m.share, "", " by the control group");
  gr_found(f, "instructions", gr_limits_if(m.flops_per_tick == 16),
           "without AVX2 products take long: in a virtual machine, give it the host's processor",
           "%s%s", m.sets, amx ? ", AMX" : "");
  gr_found_number(f, "memory", GR_FINDING_OK, NULL, m.memory, "B", "");
  for (const gr_room *r = rooms; r < rooms + n_rooms; r++)
    gr_found_number(f, "memory free", gr_limits_if(r->bytes < 1e9),
                    "`graphrun plan CONFIG.yaml` says what a run needs; raise this limit, or end "
                    "other programs",
                    r->bytes, "B", gr_arena_printf(f->arena, " of %s", r->by));
}

// ---- GPUs, libraries ----------------------------------------------------------------------------

static void find_device(gr_findings *f, const gr_device_ops *d, int i) {
  gr_device_options options = {.threads = 1, .ranks = 1, .ids = &i, .n_ids = 1};
  gr_device *device = NULL;
  const char *name = gr_arena_printf(f->arena, "%s %d", d->name, i);
  gr_text about = gr_text_make(f->arena);
  int linked = 0, others = 0;
  gr_status s = d->open(&options, &device);
  if (!s && device->ops->links) s = device->ops->links(device, &linked, &others);
  if (!s && device->ops->report) device->ops->report(device, &about);
  if (s)
    gr_found_error(f, name, "device=cpu trains without", s);
  else
    gr_found(f, name, gr_limits_if(linked < others),
             "without a direct link collectives take the host's memory: `nvidia-smi topo -m` shows "
             "links; an IOMMU, or access control of PCIe, may forbid them",
             "%.*s, %.1f GB free, direct links to %d of %d others", (int)strcspn(about.chars, ":"),
             about.chars, (double)device->limits.bytes / 1e9, linked, others);
  if (device) device->ops->close(device);
}

static void find_libraries(gr_findings *f, int gpus, const char *needed) {
  gr_found_library l;
  gr_text there = gr_text_make(f->arena);
  f->section = "libraries";
  for (int i = 0; gr_version_library(f->arena, i, &l); i++) {
    if (l.version) {
      gr_text_printf(&there, "%s%s %s", there.len ? ", " : "", l.name, l.version);
      continue;
    }
    bool fails = needed && !strcmp(needed, l.name);
    gr_found(f, l.name, fails ? GR_FINDING_FAILS : gr_limits_if(gpus || !l.late),
             fails     ? "install it, or train on one: distributed.ranks=1"
             : l.built ? "install it, or name its folder in LD_LIBRARY_PATH"
                       : "install its headers and build again: docs/install.md",
             "%s (for %s)", l.error, l.what);
  }
  gr_found(f, "found", GR_FINDING_OK, NULL, "%s", there.chars);
}

// Of the kinds of which each device serves one rank.
static void find_gpus(gr_findings *f) {
  const gr_collectives *needed = NULL;
  int all = 0;
  f->section = "GPUs";
  for (const gr_device_ops *const *d = gr_devices; *d; d++) {
    if (!(*d)->count || (*d)->dry) continue;
    int n = gr_device_count(*d);
    bool lost = !n && (*d)->seems_there && (*d)->seems_there();
    gr_found(f, (*d)->name, gr_limits_if(lost),
             "the system has one, but the driver finds none: `nvidia-smi` says why; in a container "
             "start it with --gpus=all",
             n ? "%d" : "none", n);
    for (int i = 0; i < n && !f->follows; i++) find_device(f, *d, i);
    if (n > 1) needed = gr_collectives_of(*d);
    all += n;
  }
  find_libraries(f, all, needed ? needed->title : NULL);
}

// ---- Limits, folders, network -------------------------------------------------------------------

typedef struct limit {
  const char *name;
  __rlimit_resource_t resource;
  double least;  // below which it shows
  const char *unit, *hint;
} limit;

static const limit limits[] = {
    {"open files", RLIMIT_NOFILE, 1024, "",
     "`ulimit -n 4096`: ranks, workers and connections take descriptors"},
    {"locked memory", RLIMIT_MEMLOCK, 1 << 20, "B",
     "`ulimit -l unlimited`, in a container --ulimit memlock=-1: InfiniBand and NCCL lock memory"},
    {"threads", RLIMIT_NPROC, 256, "", "`ulimit -u unlimited`: they are of all your processes"},
    {"size of a file", RLIMIT_FSIZE, 1e9, "B",
     "`ulimit -f unlimited`: checkpoints have files as large as the weights"},
};

static void find_limits(gr_findings *f) {
  struct rlimit r;
  f->section = "limits";
  for (const limit *l = limits; l < limits + sizeof limits / sizeof *limits; l++) {
    if (getrlimit(l->resource, &r)) continue;
    double value = r.rlim_cur == RLIM_INFINITY ? INFINITY : (double)r.rlim_cur;
    gr_found_number(f, l->name, gr_limits_if(value < l->least), l->hint, value, l->unit, "");
  }
}

// least: free bytes, below which it shows. full: what it is where nothing can be written.
static void find_folder(gr_findings *f, const char *name, const char *path, double least,
                        gr_finding_state full, const char *hint) {
  struct statvfs v;
  bool writes = !statvfs(path, &v) && !access(path, W_OK);
  double bytes = writes ? (double)v.f_bavail * (double)v.f_frsize : 0;
  if (writes)
    gr_found_number(f, name, bytes > 0 ? gr_limits_if(bytes < least) : full, hint, bytes, "B",
                    " free");
  else
    gr_found(f, name, full, hint, "%s cannot be written to", path);
}

static void find_folders(gr_findings *f) {
  f->section = "disk";
  find_folder(
      f, "current folder", ".", 1e9, GR_FINDING_FAILS,
      "runs write below it: output.dir=DIR, of sweeps hydra.sweep.dir, on a disk with room");
  find_folder(f, "temporary files", gr_launch_dir_parent(), 64e6, GR_FINDING_LIMITS,
              "TMPDIR=DIR with room: ranks that are processes keep about 4 MB each there");
  find_folder(f, "/dev/shm", "/dev/shm", 64e6, GR_FINDING_LIMITS,
              "NCCL shares memory there: in a container --shm-size=1g; ranks on CPUs need none");
}

static void find_network(gr_findings *f) {
  struct ifaddrs *all = NULL;
  char host[NI_MAXHOST];
  gr_text t = gr_text_make(f->arena);
  if (getifaddrs(&all)) all = NULL;
  for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
    bool up = i->ifa_addr && (i->ifa_flags & IFF_UP);
    if (up && !getnameinfo(i->ifa_addr, sizeof(struct sockaddr_in6), host, sizeof host, NULL, 0,
                           NI_NUMERICHOST))
      gr_text_printf(&t, "%s%s %s", t.len ? ", " : "", i->ifa_name, host);
  }
  if (all) freeifaddrs(all);
  f->section = "network";
  gr_found(f, "interfaces", gr_limits_if(!t.len),
           "ranks that are processes take the loopback interface: `ip link set lo up`", "%s",
           t.len ? t.chars : "none");
}

void gr_check_machine(gr_findings *f) {
  find_processors(f);
  find_gpus(f);
  find_limits(f);
  find_folders(f);
  find_network(f);
}
