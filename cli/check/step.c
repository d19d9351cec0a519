// step.c - what a step of training takes beside its calls: handing over a batch, the loop, records.
// See findings.h.
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/check/findings.h"
#include "compose/override/override.h"

enum { FEW = 500, MANY = 4500, TURNS = 3 };

// Starts this program with other arguments, of which the first is its name, without input and
// output, and without the variables of a launcher, whose rank it is not.
static bool start(gr_arena *a, char *const argv[], pid_t *child) {
  static const char *const kept[] = {"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"};
  enum { KEPT = sizeof kept / sizeof *kept };
  posix_spawn_file_actions_t files;
  char *variables[KEPT + 1] = {NULL};
  for (int i = 0, n = 0; i < KEPT; i++)
    if (getenv(kept[i])) variables[n++] = gr_arena_printf(a, "%s=%s", kept[i], getenv(kept[i]));
  if (posix_spawn_file_actions_init(&files)) return false;
  bool good = true;
  for (int i = 0; i < 3; i++)
    good &= !posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDWR, 0);
  good = good && !posix_spawn(child, "/proc/self/exe", &files, NULL, argv, variables);
  posix_spawn_file_actions_destroy(&files);
  return good;
}

// The processor seconds that it has taken; below 0: it failed.
static double run(gr_arena *a, char *const argv[]) {
  struct rusage used;
  int state;
  pid_t child;
  if (!start(a, argv, &child) || wait4(child, &state, 0, &used) < 0) return -1;
  if (!WIFEXITED(state) || WEXITSTATUS(state)) return -1;
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

// Of so many steps of a project of `graphrun new`.
static double train(gr_arena *a, const char *project, int steps) {
  return run(a, (char *[]){"graphrun",
                           gr_arena_printf(a, "%s/config.yaml", project),
                           gr_override_of_text(a, "output.dir",
                                               gr_arena_printf(a, "%s/run%d", project, steps)),
                           gr_arena_printf(a, "training.max_steps=%d", steps),
                           "distributed.ranks=1",
                           "distributed.threads=1",
                           "model.params.width=4",
                           "model.params.layers=1",
                           "training.batch_size=4",
                           "device=cpu",
                           "training.max_epochs=100000",
                           "training.eval_every=0",
                           "training.final_train_eval=false",
                           "checkpoint.every_epochs=0",
                           "checkpoint.keep_best=0",
                           "checkpoint.resume=none",
                           "hooks=[]",
                           "~hooks_params",
                           "logging.tensorboard=false",
                           "logging.report=false",
                           "logging.progress=false",
                           NULL});
}

static double step_of(gr_arena *a, const char *project) {
  double best = INFINITY;
  char *make = gr_arena_strdup(a, project);
  if (run(a, (char *[]){"graphrun", "new", make, "--data=table", NULL}) < 0) return 0;
  for (int i = 0; i < TURNS; i++) {
    double few = train(a, project, FEW), many = train(a, project, MANY);
    if (few < 0 || many < 0) return 0;
    best = fmin(best, (many - few) / (MANY - FEW));
  }
  return fmax(best, 0);
}

double gr_check_step(gr_arena *a) {
  gr_output_folder *folder;
  const char *tmp = getenv("TMPDIR");
  tmp = gr_arena_printf(a, "%s/graphrun-step-%d", tmp ? tmp : "/tmp", (int)getpid());
  gr_status s = gr_output_folder_open(tmp, &folder);
  if (s) return gr_status_drop(s), 0;
  double seconds = step_of(a, gr_arena_printf(a, "%s/table", gr_output_folder_path(folder)));
  s = gr_fail(GR_ERR_DIFFERENT, GR_NOWHERE, "nothing is kept");
  gr_status_drop(gr_output_folder_close(folder, s));
  return seconds;
}
