// nccl.c - loads the module of NCCL, and sets NCCL's variables. See nccl.h.
#include "runtime/comm/nccl.h"
#include <dirent.h>
#include <stdlib.h>
#include "base/log.h"
#include "base/module.h"
#include "base/port.h"
#include "runtime/comm/comm.h"

#if GR_HAVE_NCCL
static gr_status load(const gr_nccl_module **out) {
  GR_TRY(gr_module_open("nccl", out));
  return (*out)->load();
}
#else
static gr_status load(const gr_nccl_module **out) {
  *out = NULL;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                         "this graphrun was built without NCCL, which several GPUs need"),
                 "install NCCL's header (nccl.h) and build again, or use one rank");
}
#endif

static gr_status open(gr_device *d, gr_queue q, gr_comm *host, double timeout_s, gr_comm **out) {
  const gr_nccl_module *nccl;
  *out = NULL;
  GR_TRY(gr_comm_all_ok(host, load(&nccl)));
  return nccl->open(d, q, host, timeout_s, out);
}

// Two communicators of a GPU start in the same order on all ranks since NCCL 2.26, which
// NCCL_LAUNCH_ORDER_IMPLICIT asks for.
static gr_status one_queue(gr_comm *world, bool *out) {
  enum { ORDERED = 22600 };
  const gr_nccl_module *nccl;
  *out = false;
  GR_TRY(gr_comm_all_ok(world, load(&nccl)));
  int version = nccl->version();
  int32_t older = version < ORDERED, any = 0;
  GR_TRY(gr_comm_run(world, GR_ALL_REDUCE, GR_I32, 1, &older, &any));
  *out = any > 0;
  if (older && world->rank == 0)
    gr_log(GR_INFO,
           "NCCL %d.%d: collectives that gather and that sum run one after the other; "
           "they run beside each other with NCCL 2.26",
           version / 10000, version / 100 % 100);
  return GR_OK;
}

// ---- The environment ----------------------------------------------------------------------------

static bool has_entries(const char *path) {
  DIR *d = opendir(path);
  int n = 0;
  while (d && readdir(d)) n++;
  if (d) closedir(d);
  return n > 2;
}

static bool is_always(void) { return true; }
static bool has_infiniband(void) { return has_entries("/sys/class/infiniband"); }
static bool has_gpu_direct(void) {
  return has_infiniband() && gr_is_dir("/sys/module/nvidia_peermem");
}
static bool has_nvswitch(void) { return has_entries("/proc/driver/nvidia-nvswitch/devices"); }

// Which variables are set, and where.
static const struct row {
  gr_collectives_setting set;
  enum { ANY, ONE_MACHINE, SEVERAL_MACHINES, DETERMINISTIC } when;
  bool (*here)(void);
} rows[] = {
    {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}, ANY, is_always},  // launches start in their order
    {{"NCCL_LAUNCH_ORDER_IMPLICIT", "1"}, ANY, is_always},   // of two communicators, too
    {{"NCCL_DEBUG", "WARN"}, ANY, is_always},
    {{"NCCL_NVLS_ENABLE", "1"}, ANY, has_nvswitch},
    {{"NCCL_P2P_LEVEL", "NVL"}, ONE_MACHINE, has_nvswitch},
    {{"NCCL_SOCKET_IFNAME", "^lo,docker"}, SEVERAL_MACHINES, is_always},
    {{"NCCL_IB_DISABLE", "0"}, SEVERAL_MACHINES, has_infiniband},
    {{"NCCL_NET_GDR_LEVEL", "5"}, SEVERAL_MACHINES, has_gpu_direct},
    {{"NCCL_ALGO", "Ring"}, DETERMINISTIC, is_always},
    {{"NCCL_PROTO", "Simple"}, DETERMINISTIC, is_always},
};

_Static_assert(sizeof rows / sizeof *rows <= GR_COLLECTIVES_SETTINGS, "each row has a place");

// The variables of NCCL and of CUDA that fit this machine.
static int set_environment(bool several, bool deterministic,
                           gr_collectives_setting out[GR_COLLECTIVES_SETTINGS]) {
  int n = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct row *r = &rows[i];
    bool fits = r->when == ANY || (r->when == DETERMINISTIC && deterministic) ||
                (r->when == ONE_MACHINE && !several) || (r->when == SEVERAL_MACHINES && several);
    if (!fits || getenv(r->set.name) || !r->here()) continue;
    setenv(r->set.name, r->set.value, 0);
    out[n++] = r->set;
  }
  return n;
}

const gr_collectives gr_collectives_nccl = {.name = "nccl",
                                            .title = "NCCL",
                                            .open = open,
                                            .one_queue = one_queue,
                                            .set_environment = set_environment};
