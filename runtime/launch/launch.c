// launch.c - finds out how this process was started, and registers a rank with its launcher.
#define _GNU_SOURCE
#include "runtime/launch/launch.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/base.h"
#include "base/module.h"
#include "runtime/launch/state.h"

#if GR_HAVE_MPI
enum { BUILT_WITH_MPI = 1 };
#else
enum { BUILT_WITH_MPI = 0 };
#endif

// Packages may leave out the part of the program that needs MPI.
static bool launch_has_mpi(void) {
  char path[PATH_MAX + 64];
  return BUILT_WITH_MPI && gr_module_path("mpi", path, sizeof path);
}

// ---- The environment ------------------------------------------------------------------

// Environment variables of launchers, those that start others' processes last. alone: whether a
// size of 1 counts as a launch, too; it does not for Slurm and for variables set by hand, because
// users run any program in a Slurm step of one task or in a container with WORLD_SIZE=1. launcher:
// whether the process that set them stays until the ranks have ended. only_with: a variable that
// must be set as well.
static const struct starter {
  const char *size, *rank, *by;
  bool alone, mpi, launcher;
  const char *only_with;
} starters[] = {
    {"WORLD_SIZE", "RANK", "torchrun", true, false, true, "TORCHELASTIC_RUN_ID"},
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "mpirun", true, true, true, NULL},
    {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "mpirun", true, true, true, NULL},
    {"PMI_SIZE", "PMI_RANK", "mpirun", true, true, true, NULL},
    {"WORLD_SIZE", "RANK", "RANK and WORLD_SIZE", false, false, false, NULL},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", false, true, true, NULL},
};

static int number(const char *name) {
  const char *text = getenv(name);
  char *end;
  if (!text || !*text) return -1;
  long n = strtol(text, &end, 10);
  return *end || n < 0 || n > 1 << 20 ? -1 : (int)n;
}

static const struct starter *find_starter(int *out_ranks, int *out_rank) {
  for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
    int size = number(starters[i].size), rank = number(starters[i].rank);
    bool here = !starters[i].only_with || getenv(starters[i].only_with);
    if (!here || size < 1 || rank < 0 || rank >= size || (size == 1 && !starters[i].alone))
      continue;
    *out_ranks = size, *out_rank = rank;
    return &starters[i];
  }
  *out_ranks = 0, *out_rank = -1;
  return NULL;
}

int gr_launch_started(int *out_rank, const char **out_by) {
  int ranks, rank;
  const struct starter *s = find_starter(&ranks, &rank);
  if (out_rank) *out_rank = rank;
  if (out_by) *out_by = s ? s->by : NULL;
  return ranks;
}

// MPI ranks of srun find each other only under --mpi=pmix or pmi2, which set these variables.
static bool has_server(void) {
  extern char **environ;
  static const char *const names[] = {"PMIX_SERVER_", "PMI_FD=", "PMI_PORT="};
  for (char **e = environ; *e; e++)
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      if (!strncmp(*e, names[i], strlen(names[i]))) return true;
  return false;
}

// Whether MPI connects the ranks. srun's are connected by the store where MPI cannot do it.
static bool is_mpi(const struct starter *s) {
  return s->mpi && launch_has_mpi() && (strcmp(s->by, "srun") || has_server());
}

static gr_status check_started(const struct starter *s, int wanted, int ranks) {
  if (s->mpi && !launch_has_mpi() && strcmp(s->by, "srun"))
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                "%s started %d processes that this graphrun, without MPI, cannot join: independent "
                "trainings would start",
                s->by, ranks),
        "run graphrun directly, without %s: it starts its own ranks", s->by);
  if (wanted > 0 && wanted != ranks)
    return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                           "the configuration asks for %d rank%s, but %s started %d", wanted,
                           wanted > 1 ? "s" : "", s->by, ranks),
                   "set distributed.ranks=%d or auto, or run graphrun directly, without %s", ranks,
                   s->by);
  return GR_OK;
}

// ---- Finding out ------------------------------------------------------------------------

static bool in_path(const char *name, char out[512]) {
  for (const char *folder = getenv("PATH"); folder && *folder;) {
    size_t len = strcspn(folder, ":");
    int n = snprintf(out, 512, "%.*s/%s", (int)len, folder, name);
    if (len && n > 0 && n < 512 && gr_is_file(out) && !access(out, X_OK)) return true;
    folder += len + (folder[len] == ':');
  }
  *out = 0;
  return false;
}

static void plan_own(gr_launch_plan *p, int wanted, int devices) {
  int processors = gr_processors();
  p->ranks = wanted > 0 ? wanted : devices > 0 ? devices : processors > 1 ? 2 : 1;
  int n = snprintf(p->why, sizeof p->why, "%d rank%s: ", p->ranks, p->ranks > 1 ? "s" : "");
  char *why = p->why + n;
  size_t left = sizeof p->why - (size_t)n;
  if (wanted > 0)
    snprintf(why, left, "as configured");
  else if (devices > 0)
    snprintf(why, left, "one for each GPU");
  else
    snprintf(why, left, "there is no GPU, and %d processor%s", processors,
             processors > 1 ? "s" : "");
  bool there = p->ranks > 1 && (in_path("mpirun", p->mpirun) || in_path("mpiexec", p->mpirun));
  bool joins = there && launch_has_mpi();
  p->kind = p->ranks == 1 ? GR_LAUNCH_ALONE : joins ? GR_LAUNCH_START : GR_LAUNCH_NO_MPI;
  if (p->kind == GR_LAUNCH_NO_MPI)
    snprintf(why + strlen(why), left - strlen(why), "; %s",
             !BUILT_WITH_MPI ? "this build is without MPI"
             : there         ? "there is no graphrun_mpi.so"
                             : "mpirun is not in the PATH");
}

// A rank whose variables do not fit, such as the last of those counted from 1, would train alone.
static gr_status check_variables(void) {
  for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
    const struct starter *s = &starters[i];
    const char *ranks = getenv(s->size), *rank = getenv(s->rank);
    int size = number(s->size);
    bool here = ranks && *ranks && rank && (!s->only_with || getenv(s->only_with));
    if (!here || (size == 1 && !s->alone) || (number(s->rank) >= 0 && number(s->rank) < size))
      continue;
    gr_status e = size < 1 ? gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                                     "%s=%s is set, which is no number of ranks", s->size, ranks)
                           : gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                                     "%s=%s is set, and with %s=%d ranks are 0 to %d", s->rank,
                                     rank, s->size, size, size - 1);
    return gr_hint(e, "count ranks from 0, or unset %s and %s: graphrun starts its own ranks",
                   s->size, s->rank);
  }
  return GR_OK;
}

gr_status gr_launch_find(int wanted, int devices, gr_launch_plan *out) {
  *out = (gr_launch_plan){.rank = -1};
  const struct starter *s = find_starter(&out->ranks, &out->rank);
  if (!s && getenv(GR_LAUNCH_STATE_ENV))  // otherwise every rank would start ranks of its own
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "mpirun started this rank, but did not set its number"),
        "is the mpirun in the PATH that of the MPI graphrun was built with?");
  if (!s) {
    GR_TRY(check_variables());
    plan_own(out, wanted, devices);
    return GR_OK;
  }
  GR_TRY(check_started(s, wanted, out->ranks));
  out->kind = GR_LAUNCH_RANK, out->started_by = s->by, out->mpi = is_mpi(s);
  snprintf(out->why, sizeof out->why, "%d rank%s: started by %s", out->ranks,
           out->ranks > 1 ? "s" : "", s->by);
  return GR_OK;
}

// ---- In a rank ----------------------------------------------------------------------------

bool gr_launch_echo(void) {
  int rank = 0;
  return getenv(GR_LAUNCH_STATE_ENV) || (gr_launch_started(&rank, NULL) && rank > 0);
}

// Called when memory is exhausted and no status can be allocated: copies the text to the launch
// state and ends the process.
static gr_launch_rank_state *exhausted;
static void report_exhausted(const char *text) {
  snprintf(exhausted->text, sizeof exhausted->text, "%s", text);
  exhausted->code = GR_ERR_LAUNCH, exhausted->exit = GR_ARENA_EXIT;
  atomic_store(&exhausted->state, GR_LAUNCH_RANK_FAILED);
  _exit(GR_ARENA_EXIT);
}

// Variables that are set by hand have no launcher: the shell that has started the rank may end.
static void watch_other_launcher(int rank) {
  int ranks, same;
  const struct starter *s = find_starter(&ranks, &same);
  gr_launch_state_watch_parent(s && s->launcher ? s->rank : NULL, rank);
}

bool gr_launch_register_rank(int rank) {
  int file;
  gr_launch_state *b = gr_launch_state_own(&file);
  gr_launch_rank_state *me = gr_launch_state_of_rank(rank);
  if (!me) {
    watch_other_launcher(rank);
    return false;
  }
  gr_launch_state_record_signals(me);
  gr_events_write_to(&me->events);
  atomic_store(&me->pid, (int)getpid());
  atomic_store(&me->state, GR_LAUNCH_RANK_RUNS);
  exhausted = me;
  gr_arena_at_end(report_exhausted);
  gr_launch_state_watch_launcher(b, file, rank);
  return true;
}
