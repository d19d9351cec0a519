// mpi_names.c - unlinks Open MPI's shared-memory files while ranks run. See mpi_parts.h.
#include "runtime/comm/mpi_parts.h"

#if GR_HAVE_MPI
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME = 320 };          // bytes of a path, at most
static char (*hidden)[NAME];  // on the first rank of a machine: the unlinked paths
static int n_hidden;

// Lists the files of Open MPI that this process maps, its own and its peers', from /proc/self/maps:
// FOLDER/vader_segment.HOST.USER.JOB.RANK (or sm_segment), in /dev/shm or the launcher's folder.
// Returns how many there are, which may be more than `most`.
static int list_names(char (*name)[NAME], int most) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[4096];
  int n = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    const char *path = strchr(line, '/');
    size_t bytes = path ? strcspn(path, "\n") : NAME;
    if (bytes >= NAME || !strstr(path, "_segment.") || strchr(path, ' ')) continue;
    char found[NAME] = {0};
    memcpy(found, path, bytes);
    int i = 0;
    while (i < n && strcmp(name[i], found)) i++;
    if (i == n && n++ < most) memcpy(name[i], found, NAME);
  }
  if (maps) fclose(maps);
  return n;
}

static gr_status hide(MPI_Comm machine) {
  int rank, ranks, all;
  MPI_TRY(MPI_Comm_rank(machine, &rank));
  MPI_TRY(MPI_Comm_size(machine, &ranks));
  hidden = calloc((size_t)ranks, NAME);
  int there = hidden && list_names(hidden, ranks) == ranks;
  MPI_TRY(MPI_Allreduce(&there, &all, 1, MPI_INT, MPI_MIN, machine));
  n_hidden = all && rank == 0 ? ranks : 0;
  for (int i = 0; i < n_hidden; i++) unlink(hidden[i]);
  return GR_OK;
}

gr_status gr_mpi_hide_names(void) {
  MPI_Comm machine;
  MPI_TRY(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine));
  gr_status s = hide(machine);
  if (s) return s;
  MPI_TRY(MPI_Comm_free(&machine));
  return GR_OK;
}

void gr_mpi_show_names(void) {
  for (int i = 0; i < n_hidden; i++) {
    int fd = open(hidden[i], O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
  }
  free(hidden);
  hidden = NULL, n_hidden = 0;
}
#endif
