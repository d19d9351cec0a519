// machine.c - processors, memory, GPUs, libraries and network of this machine. See findings.h.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include "base/port.h"
#include "base/room.h"
#include "cli/check/findings.h"
#include "job/version.h"
#include "ops/kernels/gemm.h"
#include "runtime/comm/collectives.h"

static const double few_bytes = 1e9;  // of memory
static const double patience = 2;     // seconds for opening GPUs
enum { MAX_INTERFACES = 16, MAX_SPEED = 4096 };

static void find_program(gr_findings *f, const gr_machine *m) {
  f->section = "program";
  gr_found(f, "graphrun", "%s, commit %s%s", gr_version_number,
           gr_version_commit ? gr_version_commit : "not known",
           gr_version_modified ? ", modified" : "");
  gr_found(f, "machine", "%s, %s", m->host, m->system);
}

static void find_processors(gr_findings *f, const gr_machine *m) {
  int n = gr_processors();
  f->section = "processors";
  gr_found(f, "model", "%s", *m->processor ? m->processor : "not known");
  gr_found(f, "number", "%d%s", n, m->twin ? ", of which two share a core" : "")->number = n;
  if (m->share > 0 && m->share < n)
    gr_finding_judge(f, GR_FINDING_LIMITS,
                     "the control group grants the time of %.1f: distributed.threads and "
                     "data.workers for so many, or in a container a larger --cpus",
                     m->share);
  bool amx = gr_gemm_bf16_unit() == GR_BF16_AMX;
  gr_found(f, "instructions", "%s%s", m->sets, amx ? ", AMX" : "");
  if (strstr(m->sets, "SSE2") && !strstr(m->sets, "AVX2"))
    gr_finding_judge(f, GR_FINDING_LIMITS,
                     "products take several times as long without AVX2: in a virtual machine give "
                     "it the host's processor");
}

static void find_memory(gr_findings *f, const gr_machine *m) {
  gr_room rooms[GR_MAX_ROOMS];
  int n = gr_room_read("", rooms);
  f->section = "memory";
  gr_found_bytes(f, "in all", m->memory);
  for (const gr_room *r = rooms; r < rooms + n; r++) {
    gr_found_bytes(f, "free", r->bytes);
    gr_found(f, "... of", "%s", r->by);  // beside it
    if (r->bytes < few_bytes)
      gr_finding_judge(f, GR_FINDING_LIMITS,
                       "`graphrun plan CONFIG.yaml` says what a run needs; end other programs, or "
                       "raise this limit");
  }
}

// ---- GPUs ---------------------------------------------------------------------------------------

static void open_device(gr_findings *f, const gr_device_ops *d, int i) {
  gr_device *device = NULL;
  gr_device_options o = {.threads = 1, .ranks = 1, .ids = &i, .n_ids = 1};
  gr_status s = d->open(&o, &device);
  if (s) {
    gr_found_error(f, gr_arena_printf(f->arena, "%d opens", i), GR_FINDING_FAILS, s,
                   "device=cpu trains without");
    return;
  }
  gr_found_bytes(f, gr_arena_printf(f->arena, "%d free", i), (double)device->limits.bytes);
  device->ops->close(device);
}

static void find_device(gr_findings *f, const gr_device_ops *d, int i) {
  gr_device_about about;
  gr_status s = d->about ? d->about(i, &about) : GR_OK;
  const char *name = gr_arena_printf(f->arena, "%d", i);
  if (s) {
    gr_found_error(f, name, GR_FINDING_FAILS, s, "device=cpu trains without");
    return;
  }
  if (!d->about) return;
  gr_found(f, name, "%s, %.1f GB, driver of %s", about.name, about.bytes / 1e9, about.driver);
  if (!about.others) return;
  gr_found(f, gr_arena_printf(f->arena, "%d links", i), "reaches %d of %d others directly",
           about.linked, about.others);
  if (about.linked < about.others)
    gr_finding_judge(f, GR_FINDING_LIMITS,
                     "collectives go through the host's memory: `nvidia-smi topo -m` shows the "
                     "links; an IOMMU, or access control of PCIe, may forbid them");
}

// Ranks on several of these devices need the library of their collectives.
static void find_collectives(gr_findings *f, const gr_device_ops *d) {
  const gr_collectives *needed = gr_collectives_of(d);
  gr_found_library l = {.name = NULL};
  for (int i = 0; needed && gr_version_library(f->arena, i, &l); i++) {
    if (strcmp(l.name, needed->title) != 0) continue;
    gr_found(f, "collectives", "%s %s", l.name, l.version ? l.version : l.error);
    if (l.error)
      gr_finding_judge(f, GR_FINDING_FAILS, "install %s, or train on one: distributed.ranks=1",
                       l.name);
  }
}

// A kind of devices of which each serves one rank.
static int find_kind(gr_findings *f, const gr_device_ops *d) {
  int n = gr_device_count(d);
  double begun = gr_seconds();
  gr_finding *found = gr_found(f, d->name, n ? "%d" : "none", n);
  found->number = n;
  if (!n && d->seems_there && d->seems_there())
    gr_finding_judge(f, GR_FINDING_LIMITS,
                     "the system has one, but its driver finds none: `nvidia-smi` says why; "
                     "CUDA_VISIBLE_DEVICES may hide it; in a container --gpus=all");
  for (int i = 0; i < n; i++) find_device(f, d, i);
  for (int i = 0; i < n && gr_seconds() < begun + patience; i++) open_device(f, d, i);
  if (n > 1) find_collectives(f, d);
  return n;
}

static int find_devices(gr_findings *f) {
  int n = 0;
  f->section = "GPUs";
  for (const gr_device_ops *const *d = gr_devices; *d; d++)
    if ((*d)->count && !(*d)->dry) n += find_kind(f, *d);
  return n;
}

// ---- Libraries ----------------------------------------------------------------------------------

static void find_libraries(gr_findings *f, int gpus) {
  gr_found_library l;
  gr_text there = gr_text_make(f->arena);
  f->section = "libraries";
  for (int i = 0; gr_version_library(f->arena, i, &l); i++) {
    if (l.version) {
      gr_text_printf(&there, "%s%s %s", there.len ? ", " : "", l.name, l.version);
      continue;
    }
    gr_found(f, l.name, "%s (for %s)", l.error, l.what);
    if (!l.late || gpus)
      gr_finding_judge(f, GR_FINDING_LIMITS, "%s",
                       l.built ? "install it, or name its folder in LD_LIBRARY_PATH"
                               : "install its headers and build again: docs/install.md");
  }
  gr_found(f, "found", "%s", there.chars);
}

// ---- Network ------------------------------------------------------------------------------------

// "10000" Mbit/s; files of interfaces without a speed cannot be read.
static double read_speed(gr_findings *f, const char *name) {
  char *text = NULL;
  const char *path = gr_arena_printf(f->arena, "/sys/class/net/%.64s/speed", name);
  gr_status s = gr_file_read(f->arena, path, MAX_SPEED, &text, NULL);
  gr_status_drop(s);
  return s ? 0 : 1e6 * atof(text);
}

static void find_interface(gr_findings *f, const struct ifaddrs *i) {
  char host[NI_MAXHOST];
  bool v6 = i->ifa_addr->sa_family == AF_INET6;
  socklen_t n = v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
  if (getnameinfo(i->ifa_addr, n, host, sizeof host, NULL, 0, NI_NUMERICHOST)) return;
  const char *name = gr_arena_strdup(f->arena, i->ifa_name);
  double speed = read_speed(f, name);
  gr_finding *found = speed > 0 ? gr_found(f, name, "%s, %.0f Gbit/s", host, speed / 1e9)
                                : gr_found(f, name, "%s", host);
  if (speed > 0) found->number = speed, found->unit = "bits/s";
}

static void find_network(gr_findings *f) {
  struct ifaddrs *all = NULL;
  int n = 0;
  f->section = "network";
  if (getifaddrs(&all)) all = NULL;
  for (const struct ifaddrs *i = all; i && n < MAX_INTERFACES; i = i->ifa_next)
    if (i->ifa_addr && (i->ifa_flags & IFF_UP) &&
        (i->ifa_addr->sa_family == AF_INET || i->ifa_addr->sa_family == AF_INET6))
      find_interface(f, i), n++;
  if (all) freeifaddrs(all);
  if (n) return;
  gr_found(f, "interfaces", "none");
  gr_finding_judge(f, GR_FINDING_LIMITS,
                   "ranks that are processes find each other by the loopback interface: `ip link "
                   "set lo up`, or distributed.backend=loopback");
}

int gr_check_machine(gr_findings *f) {
  gr_machine m;
  gr_machine_read(&m);
  find_program(f, &m);
  find_processors(f, &m);
  find_memory(f, &m);
  int gpus = find_devices(f);
  find_libraries(f, gpus);
  find_network(f);
  return gpus;
}
