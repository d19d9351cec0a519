// dir.c - creates, removes and cleans up launcher folders. See dir.h.
#define _GNU_SOURCE
#include "runtime/launch/dir.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/port.h"
#include "runtime/launch/state.h"

static const char prefix[] = "graphrun-", state_name[] = "state", new_name[] = "state.new";
enum { NAME = sizeof "graphrun-XXXXXX" - 1, DEPTH = 16, NEW_SECONDS = 60 };

const char *gr_launch_dir_parent(void) {
  const char *tmp = getenv("TMPDIR");
  return tmp && *tmp ? tmp : "/tmp";
}

// ---- Removing -------------------------------------------------------------------------------

static bool empty(int dir, int depth);

// False: it is still there, which it is not where another process has removed it.
static bool remove_entry(int dir, const char *name, int depth) {
  if (!unlinkat(dir, name, 0) || errno == ENOENT) return true;
  if (depth == DEPTH) return false;
  int below = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (below < 0) return errno == ENOENT;
  return empty(below, depth + 1) && (!unlinkat(dir, name, AT_REMOVEDIR) || errno == ENOENT);
}

// Removes the contents of an open folder, but for the launch state of the first one, and closes it.
// Symbolic links are removed, not followed. False: something is left.
static bool empty(int dir, int depth) {
  DIR *d = fdopendir(dir);
  bool all = d != NULL;
  if (!d) close(dir);
  for (struct dirent *e; d && (e = readdir(d));) {
    const char *name = e->d_name;
    if (!strcmp(name, ".") || !strcmp(name, "..") || (!depth && !strcmp(name, state_name)))
      continue;
    all &= remove_entry(dir, name, depth);
  }
  if (d) closedir(d);
  return all;
}

// Takes `dir`, the open folder. The launch state goes last: without it the folder cannot be known
// again as one that is left over, by the next launcher after one that is killed meanwhile.
static void remove_folder(int parent, const char *path, int dir) {
  int top = dup(dir);
  if (empty(dir, 0) && top >= 0) {
    unlinkat(top, state_name, 0);
    unlinkat(parent, path, AT_REMOVEDIR);
  }
  if (top >= 0) close(top);
}

static int open_own(int dir, const char *name, int how) {
  struct stat s;
  int fd = openat(dir, name, how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0 && !fstat(fd, &s) && s.st_uid == geteuid()) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

// Whether the launch state belongs to this machine (TMPDIR may be a shared file system) and no
// process uses it any more. mpirun is checked too, because ranks take their lock only once they
// have noticed that the launcher is gone, and until then only mpirun shows that they live.
static bool is_left_over(int fd) {
  gr_launch_state head = {0};
  char host[sizeof head.host] = "";
  gethostname(host, sizeof host - 1);
  if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head ||
      head.magic != GR_LAUNCH_STATE_MAGIC || !head.locked || strncmp(head.host, host, sizeof host))
    return false;
  int mpirun = atomic_load(&head.mpirun);
  return (mpirun < 1 || !gr_process_state(mpirun)) && !flock(fd, LOCK_EX | LOCK_NB);
}

// A launcher that was killed before its file had its name leaves a folder with at most that file.
// Only an old one is removed: a new one may be another launcher's that has just started.
static bool is_old(int dir) {
  struct stat s;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return !fstat(dir, &s) && s.st_mtim.tv_sec < now.tv_sec - NEW_SECONDS;
}

// Removes a folder that holds nothing but, at most, the file that was to be the launch state.
static void remove_bare(int tmp, const char *name, int dir) {
  int made = open_own(dir, new_name, O_RDWR);
  bool gone = made >= 0 ? !flock(made, LOCK_EX | LOCK_NB) : errno == ENOENT;
  if (made >= 0 && gone) unlinkat(dir, new_name, 0);
  if (made >= 0) close(made);
  if (gone) unlinkat(tmp, name, AT_REMOVEDIR);
}

static void clean(int tmp, const char *name) {
  int dir = open_own(tmp, name, O_RDONLY | O_DIRECTORY);
  if (dir < 0) return;
  int launch_state = open_own(dir, state_name, O_RDWR);
  bool bare = launch_state < 0 && errno == ENOENT;
  if (launch_state >= 0 && is_left_over(launch_state)) {
    remove_folder(tmp, name, dir);
  } else {
    if (bare && is_old(dir)) remove_bare(tmp, name, dir);
    close(dir);
  }
  if (launch_state >= 0) close(launch_state);
}

void gr_launch_dir_clean(void) {
  DIR *d = opendir(gr_launch_dir_parent());
  if (!d) return;
  for (struct dirent *e; (e = readdir(d));)
    if (strlen(e->d_name) == NAME && !strncmp(e->d_name, prefix, sizeof prefix - 1))
      clean(dirfd(d), e->d_name);
  closedir(d);
}

void gr_launch_dir_remove(gr_launch_dir *l) {
  int dir = open(l->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (dir >= 0) remove_folder(AT_FDCWD, l->path, dir);
  if (l->file >= 0) close(l->file);
  l->file = -1;
}

// ---- Making -----------------------------------------------------------------------------------

// The file gets its name only once it is locked, so that no other launcher finds it unlocked.
static int create_state_file(const gr_launch_dir *l, size_t bytes) {
  char made[sizeof l->state_path + 8];
  gr_launch_state head = {.magic = GR_LAUNCH_STATE_MAGIC};
  snprintf(made, sizeof made, "%s/%s", l->path, new_name);
  gethostname(head.host, sizeof head.host - 1);
  int fd = open(made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  head.locked = !flock(fd, LOCK_EX | LOCK_NB);
  int error = posix_fallocate(fd, 0, (off_t)bytes);
  if (!error && pwrite(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
      !rename(made, l->state_path))
    return fd;
  if (error) errno = error;
  close(fd);
  return -1;
}

// Open MPI creates shared files of 4 MiB; under a lower `ulimit -f` it dies without a message.
static gr_status check_limit(void) {
  enum { LEAST = 8 << 20 };
  struct rlimit most;
  if (getrlimit(RLIMIT_FSIZE, &most) || most.rlim_cur >= LEAST) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
              "the size of files is limited to %.2f MB here, and ranks that are processes "
              "share files of 4.2 MB",
              (double)most.rlim_cur / 1e6),
      "run `ulimit -f unlimited` first, or set distributed.backend=loopback (ranks as threads)");
}

gr_status gr_launch_dir_make(size_t bytes, gr_launch_dir *l) {
  *l = (gr_launch_dir){.file = -1};
  GR_TRY(check_limit());
  int n = snprintf(l->path, sizeof l->path, "%s/%sXXXXXX", gr_launch_dir_parent(), prefix);
  bool fits = n > 0 && n < (int)sizeof l->path;
  if (!fits) errno = ENAMETOOLONG;
  if (fits && mkdtemp(l->path)) {
    snprintf(l->state_path, sizeof l->state_path, "%s/%s", l->path, state_name);
    l->file = create_state_file(l, bytes);
    if (l->file >= 0) return GR_OK;
    int error = errno;
    gr_launch_dir_remove(l);
    errno = error;
  }
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "cannot create the launcher's folder '%s': %s",
                         l->path, strerror(errno)),
                 "set TMPDIR to a directory that can be written to");
}
