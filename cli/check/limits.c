// limits.c - limits of this process, and the room of the folders that runs write to. See
// findings.h.
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "base/port.h"
#include "cli/check/findings.h"
#include "runtime/launch/dir.h"

typedef struct limit {
  const char *name;
  int resource;
  double least;  // below which it shows
  bool bytes;
  const char *hint;
} limit;

static const limit limits[] = {
    {"open files", RLIMIT_NOFILE, 1024, false,
     "`ulimit -n 4096`: ranks, workers and connections each take descriptors"},
    {"locked memory", RLIMIT_MEMLOCK, 1 << 20, true,
     "`ulimit -l unlimited`, in a container --ulimit memlock=-1: InfiniBand and NCCL lock memory"},
    {"stack", RLIMIT_STACK, 1 << 20, true, "`ulimit -s 8192`: threads get stacks of that size"},
    {"processes", RLIMIT_NPROC, 256, false, "`ulimit -u unlimited`: every thread counts"},
    {"size of a file", RLIMIT_FSIZE, 1e9, true,
     "`ulimit -f unlimited`: checkpoints are files as large as the weights"},
};

static void find_limit(gr_findings *f, const limit *l) {
  struct rlimit r;
  if (getrlimit((__rlimit_resource_t)l->resource, &r)) return;
  double value = (double)r.rlim_cur;
  if (r.rlim_cur == RLIM_INFINITY)
    gr_found(f, l->name, "unlimited");
  else if (l->bytes)
    gr_found_bytes(f, l->name, value);
  else
    gr_found(f, l->name, "%.0f", value)->number = value;
  if (r.rlim_cur != RLIM_INFINITY && value < l->least)
    gr_finding_judge(f, GR_FINDING_LIMITS, "%s", l->hint);
}

typedef struct folder {
  const char *name, *path;
  double least;         // free bytes, below which it shows
  gr_finding_state no;  // what it is where nothing can be written
  const char *hint;
} folder;

static void find_folder(gr_findings *f, const folder *d) {
  struct statvfs v;
  bool known = !statvfs(d->path, &v), writes = known && !access(d->path, W_OK);
  double bytes = known ? (double)v.f_bavail * (double)v.f_frsize : 0;
  if (writes)
    gr_found_bytes(f, d->name, bytes);
  else
    gr_found(f, d->name, known ? "%s cannot be written to" : "%s is not there", d->path);
  if (!writes || bytes == 0)
    gr_finding_judge(f, d->no, "%s", d->hint);
  else if (bytes < d->least)
    gr_finding_judge(f, GR_FINDING_LIMITS, "%s", d->hint);
}

void gr_check_limits(gr_findings *f, int gpus) {
  f->section = "limits";
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) find_limit(f, &limits[i]);
  const folder folders[] = {
      {"current folder", ".", 1e9, GR_FINDING_FAILS,
       "runs write below it: output.dir=DIR (hydra.sweep.dir of sweeps) on a disk with room"},
      {"temporary files", gr_launch_dir_parent(), 64e6, GR_FINDING_LIMITS,
       "TMPDIR=DIR with room: the launcher and Open MPI keep about 4 MB there for each rank"},
      {"/dev/shm", "/dev/shm", gpus > 1 ? 1e9 : 0, gpus > 1 ? GR_FINDING_LIMITS : GR_FINDING_OK,
       "NCCL shares memory there: in a container --shm-size=1g, else mount it larger; ranks on "
       "CPUs need none"}};
  f->section = "disk";
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) find_folder(f, &folders[i]);
}
