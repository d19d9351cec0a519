// restart.c - see restart.h.
//
// Whether the same ranks would fail again is decided by the exit code. A rank that died or hung may
// not; one that could not be started, or found no memory, may not with fewer ranks beside it. All
// else (configuration, data, a script, a loss that is not finite) would be the same once more.
#include "cli/restart.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "compose/override/override.h"
#include "runtime/checkpoint/checkpoint.h"

static const char *folder_of(gr_arena *a, const char *log) {
  const char *name = strrchr(log, '/');
  return name ? gr_arena_strndup(a, log, (size_t)(name - log)) : NULL;
}

// The step of the newest checkpoint that a restart may take; -1: there is none.
static int64_t newest_step(gr_arena *a, const char *dir) {
  gr_checkpoint_entry *all = NULL;
  int64_t step = -1;
  int n = 0;
  if (dir) gr_status_drop(gr_checkpoint_list(a, dir, &all, &n));
  for (int i = 0; i < n; i++)
    if (all[i].state == GR_CHECKPOINT_OK && all[i].finite) step = all[i].step;
  return step;
}

// One rank less; with canonical numerics half as many, which divide the virtual shards too. 0: that
// is fewer than there may be.
static int fewer_than(const gr_job *job, int ranks) {
  const gr_settings *set = &job->spec.set;
  bool halves = set->options.sharding.numerics == gr_numerics_canonical;
  int next = halves ? ranks / 2 : ranks - 1;
  return set->comm.min_ranks && next >= set->comm.min_ranks ? next : 0;
}

// How many ranks the next start has; 0: there is none. stuck: no checkpoint came after a restart.
static int ranks_after(const gr_job *job, const gr_launch_end *end, int ranks, bool stuck) {
  int fewer = fewer_than(job, ranks);
  bool died = end->exit == gr_code_exit(GR_ERR_RANK) || end->exit == gr_code_exit(GR_ERR_HANG);
  if (job->spec.kind != GR_RUN_TRAIN || end->asked) return 0;
  if (died) return fewer && stuck ? fewer : ranks;
  return end->exit == gr_code_exit(GR_ERR_LAUNCH) ? fewer : 0;
}

// What a later argument says counts. folder: NULL: there was none yet. ranks: 0: as configured.
static char **arguments(const gr_job *job, const char *folder, int ranks) {
  int n = 0;
  while (job->args.argv[n]) n++;
  char **out = GR_NEW(job->arena, char *, n + 3);
  memcpy(out, job->args.argv, sizeof *out * (size_t)n);
  if (ranks) out[n++] = gr_arena_printf(job->arena, "++distributed.ranks=%d", ranks);
  if (folder) out[n++] = gr_override_of_text(job->arena, "++output.dir", folder);
  return out;
}

static void log_restart(const gr_job *job, int restart, int before, int ranks, int64_t step,
                        const char *dir) {
  gr_text t = gr_text_make(job->arena);
  gr_text_printf(&t, "restart %d of %" PRId64 ", on %d rank%s", restart,
                 job->spec.set.comm.max_restarts, ranks, ranks > 1 ? "s" : "");
  if (ranks < before) gr_text_printf(&t, " instead of %d", before);
  if (step < 0) gr_text_printf(&t, ": from the beginning, because there is no checkpoint yet");
  if (step >= 0) gr_text_printf(&t, ": from the checkpoint of step %" PRId64 " in %s", step, dir);
  gr_log(GR_WARN, "%s", t.chars);
}

gr_status gr_cli_launch(gr_job *job, gr_launch_plan *p, int *out_exit) {
  const gr_settings *set = &job->spec.set;
  int64_t before = -1;
  int wanted = p->ranks;
  char **argv = job->args.argv;
  // Somebody who debugs a rank may stop others.
  p->heartbeat_s = getenv("GRAPHRUN_WAIT_FOR_DEBUGGER") ? 0 : set->comm.heartbeat;
  for (int restart = 1;; restart++) {
    gr_launch_end end;
    gr_status s = gr_launch_run(p, argv, &end);
    *out_exit = end.exit;
    const char *folder = folder_of(job->arena, end.log), *dir = set->saving.dir;
    if (!dir && folder) dir = gr_arena_printf(job->arena, "%s/checkpoints", folder);
    int64_t step = newest_step(job->arena, dir);
    int ranks = ranks_after(job, &end, p->ranks, restart > 1 && step <= before);
    if (!ranks || restart > set->comm.max_restarts) return s;
    if (s) gr_status_print(stderr, s);
    gr_status_drop(s);
    log_restart(job, restart, p->ranks, ranks, step, dir);
    argv = arguments(job, folder, ranks == wanted ? 0 : ranks);
    p->ranks = ranks, before = step;
  }
}
