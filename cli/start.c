// start.c - determines the number of ranks of a command that computes, and starts them as processes
// of mpirun, or, without MPI, as threads. See start.h.
#include "cli/start.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/work.h"
#include "cli/commands.h"
#include "cli/restart.h"
#include "compose/tree/pack.h"
#include "job/fit.h"
#include "job/identity.h"
#include "job/memory.h"
#include "job/narrow_cost.h"
#include "job/same_inputs.h"
#include "runtime/comm/collectives.h"
#include "runtime/comm/store.h"
#include "runtime/launch/launch.h"
#include "runtime/launch/rendezvous.h"
#include "runtime/train/run.h"

enum { MAX_TO_BEGIN = 60 };  // seconds, before a configuration is known

static gr_level level_of(const gr_settings *s) {
  static const gr_level levels[] = {[gr_log_level_info] = GR_INFO,
                                    [gr_log_level_warn] = GR_WARN,
                                    [gr_log_level_error] = GR_ERROR};
  return levels[s->outputs.log_level];
}

// The number of devices of the kind that ranks compute on; 0: ranks share the machine, or an error
// occurred before a device was chosen.
static int devices_of(const gr_job *job) {
  int n = job->spec.device ? gr_device_count(job->spec.device) : 0,
      named = job->spec.set.ranks.n_gpu_ids;
  return named && named < n ? named : n;
}

// A step of the preparation that may take long, by one rank of the `ranks` that take it.
typedef struct step {
  const char *what;  // for the progress line
  gr_status (*run)(gr_job *, int rank, int ranks);
} step;

static gr_status open_data(gr_job *job, int rank, int ranks) {
  (void)rank;
  return gr_job_open(job, ranks);
}
static const step reading = {"reading the data", open_data};

// A file that is missing or damaged would end the run when its sample is due, after hours.
static gr_status check_files(gr_job *job, int rank, int ranks) {
  return gr_dataset_check_files(job->spec.data, rank, ranks);
}
static const step looking = {"looking for the data's files", check_files};

static gr_status compile(gr_job *job, int rank, int ranks) {
  (void)rank;
  return gr_job_fit(job, ranks);
}
static const step planning = {"planning", compile};

static gr_status identify_inputs(gr_job *job, int rank, int ranks) {
  (void)ranks;
  if (rank == 0 && job->spec.kind == GR_RUN_TRAIN) gr_job_identify(job);
  return GR_OK;
}
static const step hashing = {"hashing the inputs", identify_inputs};

static gr_status take(const step *s, gr_job *job, int rank, int ranks) {
  bool shown = !rank && job->spec.kind == GR_RUN_TRAIN && job->spec.set.outputs.progress;
  gr_work work;
  gr_work_begin(&work, shown ? gr_launch_work_shown() : GR_WORK_HIDDEN, s->what, 0);
  gr_status status = s->run(job, rank, ranks);
  gr_work_end(&work);
  return status;
}

static void report_differences(gr_job *job, int ranks) {
  const char *lines[GR_JOB_DIFFERENCES];
  int n = gr_job_differences(job, ranks, devices_of(job), lines);
  for (int i = 0; i < n; i++) gr_log(GR_INFO, "%s", lines[i]);
}

static void report_narrow_cost(const gr_job *job, int ranks) {
  gr_text t = gr_text_make(job->arena);
  if (job->fitted) gr_log(GR_INFO, "%s", job->fitted);
  if (gr_job_put_narrow_cost(&t, job, ranks)) gr_log(GR_INFO, "%s", t.chars);
}

// Sets the environment of the device's library of collectives before ranks open their devices.
// several: they are on several machines.
static void prepare_collectives(const gr_job *job, int ranks, bool several, bool first) {
  const gr_collectives *library = gr_collectives_of(job->spec.device);
  gr_collectives_setting set[GR_COLLECTIVES_SETTINGS];
  if (!library || !library->set_environment || ranks < 2) return;
  int n = library->set_environment(several, job->spec.set.comm.deterministic, set);
  gr_text t = gr_text_make(job->arena);
  for (int i = 0; i < n; i++) gr_text_printf(&t, " %s=%s", set[i].name, set[i].value);
  if (n && first)
    gr_log(GR_INFO, "environment for %s, where it was not set:%s", library->title, t.chars);
}

// ---- Ranks as threads -----------------------------------------------------------------------

static gr_status run_member(gr_comm *comm, void *job) {
  const gr_job *j = job;
  if (j->spec.set.outputs.log_ranks == gr_log_ranks_all) gr_log_as_rank(comm->rank, comm->ranks);
  return gr_run_rank(&j->spec, comm);
}

static size_t more_than(size_t before) {
  size_t now = gr_memory_now().anonymous;
  return now > before ? now - before : 0;
}

static gr_status run_here(gr_job *job, int ranks) {
  GR_TRY(gr_job_set_kind(job));
  size_t before = gr_memory_now().anonymous;
  gr_run_signals();
  GR_TRY(gr_launch_wait_for_debugger(0, ranks, gr_run_signalled));
  GR_TRY(take(&reading, job, 0, ranks));
  GR_TRY(take(&looking, job, 0, 1));  // in this process
  GR_TRY(take(&planning, job, 0, ranks));
  job->spec.plan_bytes = more_than(before);
  report_narrow_cost(job, ranks);
  GR_TRY(gr_job_check_memory(job, ranks, true, true));
  gr_job_keep_config(job);
  gr_job_keep_about(job);
  GR_TRY(take(&hashing, job, 0, ranks));
  prepare_collectives(job, ranks, false, true);
  return gr_loopback_run(ranks, job->spec.set.comm.timeout, run_member, job);
}

// ---- Ranks as processes ---------------------------------------------------------------------

// Compares the configuration, then files and samples, then the plan; all ranks complete each step
// before the next one.
static gr_status prepare(gr_job *job, gr_comm *world, gr_status composed) {
  gr_launch_plan launch;
  int ranks = world->ranks;
  GR_TRY(gr_same_config(job, world, composed));
  GR_TRY(gr_job_set_kind(job));
  gr_log_open(level_of(&job->spec.set), world->rank, ranks);
  if (job->spec.set.outputs.log_ranks == gr_log_ranks_all) gr_log_all_ranks();
  if (world->rank == 0) gr_job_keep_config(job);
  if (world->rank == 0) report_differences(job, ranks);
  GR_TRY(
      gr_comm_all_ok(world, gr_launch_find((int)job->spec.set.ranks.n, devices_of(job), &launch)));
  GR_TRY(gr_same_files(job, world));
  size_t before = gr_memory_now().anonymous;
  gr_launch_use_terminal();
  GR_TRY(gr_comm_all_ok(world, take(&reading, job, world->rank, ranks)));
  GR_TRY(gr_same_data(job, world));
  GR_TRY(gr_comm_all_ok(world, take(&looking, job, world->rank, ranks)));
  job->compilers =
      job->spec.set.ranks.threads_each;  // the other ranks of this machine compile as well
  gr_status s = take(&planning, job, world->rank, ranks);
  job->spec.plan_bytes = more_than(before);
  bool first = world->rank == 0;
  GR_TRY(gr_comm_all_ok(world, s));
  if (first) report_narrow_cost(job, ranks);
  s = gr_job_check_memory(job, world->local_ranks, false, world->local_rank == 0);
  if (!s && first) gr_job_keep_about(job);
  if (!s) s = take(&hashing, job, world->rank, ranks);
  return gr_comm_all_ok(world, s);
}

static gr_status run_in(gr_job *job, gr_comm *world, gr_status composed) {
  gr_log_open(GR_INFO, world->rank, world->ranks);
  gr_status s = prepare(job, world, composed);
  if (s && world->rank && gr_status_code(s) != GR_ERR_RANK)
    s = gr_note(s, GR_NOWHERE, "on rank %d of %d", world->rank, world->ranks);
  if (s) return s;
  prepare_collectives(job, world->ranks, !gr_comm_is_local(world), world->rank == 0);
  return gr_run_rank(&job->spec, world);
}

// An mpirun that graphrun did not start reports the first exit code, which must be the cause's.
static void let_first_leave(gr_status s, int ranks) {
  if (gr_status_code(s) != GR_ERR_RANK || ranks < 2 || gr_launch_own()) return;
  // The launcher ends the ranks already where one has died.
  if (gr_run_signalled() && gr_status_dead_rank(s) >= 0) return;
  signal(SIGTERM, SIG_DFL);
  if (gr_run_signalled()) raise(SIGTERM);
  sleep(3);
}

static gr_status open_mpi(int rank, double timeout, gr_comm **world) {
  gr_launch_watch_startup(rank, timeout, gr_run_signalled);
  gr_status s = gr_mpi_open(timeout, world);
  gr_launch_startup_done();
  return s;
}

static gr_status open_tcp(gr_arena *arena, double timeout, uint64_t job, const char *job_name,
                          gr_comm **world) {
  gr_rendezvous *r = GR_NEW(arena, gr_rendezvous, 1);
  gr_store_options *o = GR_NEW(arena, gr_store_options, 1);
  GR_TRY(gr_launch_rendezvous(r));
  *o = (gr_store_options){.host = r->host,
                          .port = r->port,
                          .ports = r->ports,
                          .local = r->local,
                          .token = r->token,
                          .job = r->named ? 0 : job,
                          .job_name = job_name,
                          .rank = r->rank,
                          .ranks = r->ranks,
                          .timeout_s = timeout,
                          .stop = gr_run_signalled,
                          .setting = r->setting};
  return gr_tcp_open(o, 0, world);
}

gr_status gr_cli_open_world(gr_arena *arena, int mpi_rank, double timeout, uint64_t job,
                            const char *job_name, gr_comm **world) {
  return mpi_rank >= 0 ? open_mpi(mpi_rank, timeout, world)
                       : open_tcp(arena, timeout, job, job_name, world);
}

// Ranks that nothing but a port tells apart from those of another job must have one configuration.
static gr_status open_world(const gr_job *job, bool composed, int mpi_rank, double timeout,
                            gr_comm **world) {
  uint64_t hash = composed ? gr_conf_hash(job->spec.conf) : 0;
  const char *name = gr_arena_printf(job->arena, "'%.80s', configuration %08x",
                                     job->args.config ? job->args.config : "", (unsigned)hash);
  return gr_cli_open_world(job->arena, mpi_rank, timeout, hash, name, world);
}

// What a thread of its own watches.
typedef struct watched {
  gr_comm *world;
  double silence_s;
} watched;

static gr_status find_death(void *of) {
  const watched *w = of;
  return w->world->ops->watch(w->world, w->silence_s);
}

// Without a configuration of its own this rank takes rank 0's, and waits less long for it.
static gr_status run_process(gr_job *job, const gr_launch_plan *launch, gr_status composed) {
  gr_comm *world = NULL;
  double timeout = composed ? MAX_TO_BEGIN : job->spec.set.comm.timeout;
  watched peers = {.silence_s = composed ? 0 : job->spec.set.comm.heartbeat};
  bool tcp = !composed && job->spec.set.comm.backend == gr_backend_tcp;
  bool mpi = launch->mpi && (strcmp(launch->started_by, "srun") || !tcp);
  composed = gr_also(composed, gr_launch_wait_for_debugger(launch->rank, 1, gr_run_signalled));
  size_t before = gr_memory_now().anonymous;
  gr_status s = open_world(job, !composed, mpi ? launch->rank : -1, timeout, &world);
  job->spec.launch_bytes = more_than(before);
  peers.world = world;
  if (world) gr_launch_watch_peers(find_death, &peers);
  int ranks = world ? world->ranks : launch->ranks;
  if (world)
    s = run_in(job, world, composed);
  else
    s = gr_also(composed, s);
  // Ranks show that they run until none needs to know.
  if (world) gr_status_drop(gr_comm_run(world, GR_BARRIER, GR_I32, 0, NULL, NULL));
  gr_launch_watch_peers(NULL, NULL);
  gr_comm_close(world);
  gr_job_close(job);
  let_first_leave(s, ranks);
  exit(gr_launch_report_exit(launch->rank, s));
}

static gr_status start(gr_job *job, gr_status composed) {
  gr_launch_plan launch = {.ranks = 0};
  int started = gr_launch_started(NULL, NULL), wanted = (int)job->spec.set.ranks.n;
  gr_log_open(composed ? GR_INFO : level_of(&job->spec.set), 0, 1);
  if (composed && started < 2) return composed;
  gr_status s = gr_launch_find(started > 1 ? 0 : wanted, devices_of(job), &launch);
  if (s) return gr_also(composed, s);
  bool single = launch.kind == GR_LAUNCH_RANK && launch.ranks == 1 && !launch.mpi;
  if (launch.kind == GR_LAUNCH_RANK && !single) return run_process(job, &launch, composed);
  const gr_settings *set = &job->spec.set;
  bool threads =
      set->comm.backend == gr_backend_loopback || set->options.sharding.strategy == gr_strategy_dp;
  if (launch.kind == GR_LAUNCH_START && !threads) {
    int code;
    gr_log(GR_INFO, "%s", launch.why);
    GR_TRY(gr_cli_launch(job, &launch, &code));
    exit(code);
  }
  if (set->outputs.log_ranks == gr_log_ranks_all) gr_log_all_ranks();
  report_differences(job, launch.ranks);
  if (launch.ranks > 1) gr_log(GR_INFO, "%d ranks as threads of this process", launch.ranks);
  return run_here(job, launch.ranks);
}

// From here on the launcher forwards signals. False: there is no launcher.
static bool enter(int rank) {
  gr_run_signals();
  return gr_launch_register_rank(rank);
}

gr_status gr_cli_start(const gr_command *command, int argc, char **argv, gr_cli_compose *compose) {
  signal(SIGPIPE, SIG_IGN);  // the run continues if the reader of its output exits
  int rank;
  bool told = gr_launch_started(&rank, NULL) > 0 && enter(rank);
  gr_arena *arena = gr_arena_create();
  gr_args args;
  gr_status s = gr_args_parse(arena, gr_commands, command, argc, argv,
                              gr_args_first(command, argc, argv), &args);
  gr_job job = {.args = args};
  if (gr_launch_echo()) gr_log_open(GR_ERROR, 0, 1);
  s = s ? s : compose(arena, &args, &job);
  job.arena = arena;
  s = start(&job, s);
  gr_job_close(&job);
  if (told) exit(gr_launch_report_exit(rank, s));
  return gr_arena_end(arena, s);
}
