// test_room.c - how much memory is free, by files as systems have them; none are this machine's.
#include "base/room.h"
#include "tests/runtime/checkpoint/scratch.h"

static const char *root;

static void GR_PRINTF(2, 3) file(const char *path, const char *fmt, ...) {
  char full[512];
  snprintf(full, sizeof full, "%s/%s", root, path);
  for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
    *slash = 0;
    mkdir(full, 0777);
    *slash = '/';
  }
  FILE *f = fopen(full, "w");
  va_list ap;
  va_start(ap, fmt);
  CHECK(f && vfprintf(f, fmt, ap) >= 0, "cannot write %s", full);
  va_end(ap);
  if (f) fclose(f);
}

static void machine(void) {
  root = scratch_dir("room");
  file("proc/meminfo",
       "MemTotal:       16384 kB\nMemFree:         1000 kB\nMemAvailable:    8192 kB\n"
       "CommitLimit:     9000 kB\nCommitted_AS:    8500 kB\n");
}
static void limits(const char *space, const char *data) {
  file("proc/self/limits",
       "Limit                     Soft Limit           Hard Limit           Units     \n"
       "Max data size             %-20s unlimited            bytes     \n"
       "Max address space         %-20s unlimited            bytes     \n",
       data, space);
  file("proc/self/status", "VmPeak:\t 3000 kB\nVmSize:\t 2048 kB\nVmData:\t 1024 kB\n");
}
static void group(const char *of, const char *max, long used, long cached) {
  char name[200];
  snprintf(name, sizeof name, "sys/fs/cgroup%s/memory.max", of);
  file(name, "%s\n", max);
  snprintf(name, sizeof name, "sys/fs/cgroup%s/memory.current", of);
  file(name, "%ld\n", used);
  snprintf(name, sizeof name, "sys/fs/cgroup%s/memory.stat", of);
  file(name, "anon 1\nfile %ld\ninactive_file %ld\nactive_file 1000\nslab_reclaimable 24\n",
       2 * cached, cached - 1024);
}

// What is least for all processes of the machine (or this one alone), by whom.
static void expect(bool in_process, double bytes, const char *by) {
  gr_room all[GR_MAX_ROOMS];
  int n = gr_room_read(root, all);
  const gr_room *r = gr_room_least(all, n, in_process);
  if (!by) {
    CHECK(!r, "%g by %s", r->bytes, r->by);
    return;
  }
  CHECK(r && r->bytes == bytes && !strcmp(r->by, by), "%g by %s, not %g by %s", r ? r->bytes : 0,
        r ? r->by : "none", bytes, by);
}

static void of_machine(void) {
  machine();
  expect(false, 8192 * 1024, "this machine");
  expect(true, 0, NULL);
  file("proc/sys/vm/overcommit_memory", "1\n");
  expect(false, 8192 * 1024, "this machine");
  file("proc/sys/vm/overcommit_memory", "2\n");
  expect(false, 500 * 1024, "what this machine commits");
  file("proc/sys/vm/overcommit_memory", "0\n");
  file("proc/meminfo", "MemFree: 100 kB\nBuffers: 20 kB\nCached: 30 kB\nShmem: 10 kB\n");
  expect(false, 140 * 1024, "this machine");
  scratch_remove(root);
  expect(false, 0, NULL);
}

static void of_process(void) {
  machine();
  limits("unlimited", "unlimited");
  expect(true, 0, NULL);
  limits("4194304", "unlimited");
  expect(true, 2 << 20, "`ulimit -v`");
  expect(false, 8192 * 1024, "this machine");
  limits("4194304", "2097152");
  expect(true, 1 << 20, "`ulimit -d`");
  limits("1048576", "unlimited");
  expect(true, -(1 << 20), "`ulimit -v`");
  scratch_remove(root);
}

static void of_version_2(void) {
  machine();
  file("proc/self/cgroup", "0::/user.slice/run.scope\n");
  group("/user.slice/run.scope", "max", 5000000, 3000000);
  group("/user.slice", "6000000", 5000000, 3000000);
  expect(false, 4000000, "the control group /user.slice");
  group("/user.slice/run.scope", "5500000", 5000000, 3000000);
  expect(false, 3500000, "the control group /user.slice/run.scope");
  group("/user.slice", "max", 5000000, 3000000);
  expect(false, 3500000, "the control group /user.slice/run.scope");
  group("/user.slice/run.scope", "99999999", 5000000, 3000000);
  expect(false, 8192 * 1024, "this machine");
  // A container that sees its own group as the root.
  file("proc/self/cgroup", "0::/\n");
  group("", "2000000", 1500000, 1200000);
  expect(false, 1700000, "the control group /");
  // What is cached need not be counted as used.
  group("", "2000000", 1000, 1500000);
  expect(false, 2000000, "the control group /");
  group("", "2000000", 1500000, 1200000);
  // One whose path is the machine's.
  file("proc/self/cgroup", "0::/docker/0123\n");
  expect(false, 1700000, "the control group /");
  // Beside version 1.
  scratch_remove(root);
  machine();
  file("proc/self/cgroup", "2:cpu:/\n0::/a\n");
  file("sys/fs/cgroup/unified/a/memory.max", "300000\n");
  file("sys/fs/cgroup/unified/a/memory.current", "100000\n");
  expect(false, 200000, "the control group /a");
  scratch_remove(root);
}

static void of_version_1(void) {
  machine();
  file("proc/self/cgroup", "12:memoryless:/other\n7:cpu,memory:/jobs/1\n1:name=systemd:/\n");
  file("sys/fs/cgroup/memory/jobs/1/memory.limit_in_bytes", "9223372036854771712\n");
  file("sys/fs/cgroup/memory/jobs/1/memory.usage_in_bytes", "700\n");
  expect(false, 8192 * 1024, "this machine");
  file("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "3000000\n");
  file("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "2000000\n");
  expect(false, 1000000, "the control group /jobs");
  file("sys/fs/cgroup/memory/jobs/memory.stat",
       "inactive_file 5\ntotal_inactive_file 400000\ntotal_active_file 100000\n");
  expect(false, 1500000, "the control group /jobs");
  file("sys/fs/cgroup/memory/jobs/1/memory.limit_in_bytes", "1000700\n");
  expect(false, 1000000, "the control group /jobs/1");
  scratch_remove(root);
}

// Files that cannot be understood limit nothing.
static void nonsense(void) {
  machine();
  file("proc/meminfo", "MemAvail: 3 kB\n\n:\nMemAvailable\n");
  file("proc/self/cgroup", "nothing\n0:\n::\n0::no/slash\n");
  file("proc/self/limits", "Max address space\n");
  file("proc/self/status", "VmSize:\n");
  file("sys/fs/cgroup/memory.max", "\n");
  gr_room all[GR_MAX_ROOMS];
  int n = gr_room_read(root, all);
  CHECK(n <= 1, "%d, %g by %s", n, all[0].bytes, all[0].by);
  scratch_remove(root);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"of_machine", of_machine}, {"of_process", of_process},
             {"of_version_2", of_version_2}, {"of_version_1", of_version_1},
             {"nonsense", nonsense});
}
