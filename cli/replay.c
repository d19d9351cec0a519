// replay.c - `graphrun replay RUN --step=N`: runs a step of a run again and shows its values, or
// compares them with those of another run, which is replayed first.
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/output.h"
#include "cli/commands.h"
#include "cli/start.h"
#include "runtime/launch/launch.h"

static gr_status compose(gr_arena *a, const gr_args *args, gr_job *job) {
  char *end = "";
  const gr_replay_spec *r = &args->replay;
  double tolerance = r->tolerance ? strtod(r->tolerance, &end) : 0;
  if (!r->step)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "which step is not given: --step=N, from 1");
  if (*end || !(tolerance >= 0 && tolerance < INFINITY))
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--tolerance is no number from 0: '%s'", r->tolerance);
  if (r->tolerance && !r->against && !r->save)  // with --save also of the one that is compared
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--tolerance is of what --against compares");
  if (!r->print.n && !r->save && !r->against)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "nothing is asked of the step"),
                   "--print='*.grad' prints values, --save=FOLDER writes them, --against=RUN "
                   "compares them");
  return gr_job_compose_kept(a, args, job);
}

// In a process of its own, since both may have other ranks, with one flag more. The exit code.
static int replay(gr_arena *a, const gr_args *args, const char *run, char *flag, int n_overrides) {
  int n = 0, state = 0;
  char **argv = GR_NEW(a, char *, args->n_flags + n_overrides + 5);
  argv[n++] = "graphrun", argv[n++] = "replay", argv[n++] = gr_arena_strdup(a, run);
  argv[n++] = flag;
  for (int i = 0; i < args->n_flags; i++) argv[n++] = args->flags[i];
  for (int i = 0; i < n_overrides; i++) argv[n++] = gr_arena_strdup(a, args->overrides[i]);
  pid_t child = fork();
  if (!child) execv("/proc/self/exe", argv), _exit(gr_code_exit(GR_ERR_LAUNCH));
  if (child < 0 || waitpid(child, &state, 0) < 0) return gr_code_exit(GR_ERR_LAUNCH);
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

// Replays `other`, and then the run, which is compared with it. The exit code of the first that
// fails, or of both.
static gr_status replay_both(gr_arena *a, const gr_args *args, const char *other, int *out_code) {
  gr_output_folder *folder;
  const char *tmp = getenv("TMPDIR");
  if (gr_launch_started(NULL, NULL) > 1 || args->replay.save)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                   "under a launcher, or with --save, --against takes a folder of another --save");
  signal(SIGINT, SIG_IGN);  // the replays end by it
  tmp = gr_arena_printf(a, "%s/graphrun-replay-%d", tmp ? tmp : "/tmp", (int)getpid());
  GR_TRY(gr_output_folder_open(tmp, &folder));
  tmp = gr_output_folder_path(folder);
  int code = replay(a, args, other, gr_arena_printf(a, "--save=%s", tmp), args->n_overrides);
  if (!code) code = replay(a, args, args->config, gr_arena_printf(a, "--against=%s", tmp), 0);
  gr_status s = gr_fail(GR_ERR_DIFFERENT, GR_NOWHERE, "nothing is kept");
  gr_status_drop(gr_output_folder_close(folder, s));
  *out_code = code;
  return GR_OK;
}

static gr_status replay_run(int argc, char **argv) {
  const gr_command *self = &gr_command_replay;
  gr_arena *a = gr_arena_create();
  gr_args x;
  int code = 0;
  gr_status s =
      gr_args_parse(a, gr_commands, self, argc, argv, gr_args_first(self, argc, argv), &x);
  const char *other = s ? NULL : x.replay.against;
  gr_status_drop(s);  // gr_cli_start returns it again
  if (!other || !x.config || gr_is_dir(gr_arena_printf(a, "%s/rank0", other)))
    return gr_arena_destroy(a), gr_cli_start(self, argc, argv, compose);
  s = replay_both(a, &x, other, &code);
  gr_arena_destroy(a);
  if (code) exit(code);
  return s;
}

static const gr_flag flags[] = {
    {"--step", NULL, "N", GR_FLAG_NUMBER, offsetof(gr_args, replay.step), "the step, from 1",
     .most = INT64_MAX},
    {"--print", NULL, "PATTERN", GR_FLAG_LIST, offsetof(gr_args, replay.print),
     "values of these names: '*', 'head.*', '*.grad', '*.next'"},
    {"--save", NULL, "FOLDER", GR_FLAG_TEXT, offsetof(gr_args, replay.save),
     "writes them, or all, as FOLDER/rank0/NAME.npy, and prints none", true},
    {"--against", NULL, "RUN", GR_FLAG_TEXT, offsetof(gr_args, replay.against),
     "compares with this run, which gets the overrides, or with a FOLDER of --save", true},
    {"--tolerance", NULL, "X", GR_FLAG_TEXT, offsetof(gr_args, replay.tolerance),
     "values y and y +- X (1 + |y|) are the same; 0, the default: bits"},
    {0}};

const gr_command gr_command_replay = {
    .name = "replay",
    .usage =
        "RUN --step=N [key=value ...] [--print=PATTERN] [--save=FOLDER] "
        "[--against=RUN|FOLDER [--tolerance=X]] [--json]",
    .doc = "runs a step of a run again, and prints its values or compares them with another run's",
    .example = "graphrun replay outputs/2026-01-01/10-00-00 --step=120 --print='*.grad'",
    .keys = "training.precision distributed.ranks device",
    .takes = {GR_FOLDER, GR_NO_OPERAND, true},
    .starts = true,
    .flags = {gr_flags_plain, flags, gr_flags_json},
    .run_line = replay_run,
};
