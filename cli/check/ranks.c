// ranks.c - how fast ranks add up, and every pair of them exchanges messages. See findings.h.
//
// The pairs are those of a tournament: in each round every rank has another partner, and all pairs
// of a round exchange at the same time, as machines do in a run. A pair is a communicator of two
// ranks, so that each has a connection to each other one.
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/base.h"
#include "cli/check/findings.h"
#include "cli/start.h"
#include "runtime/comm/comm.h"
#include "runtime/launch/launch.h"

enum { MOVED = 64 << 20, LARGE = 4 << 20, SMALL = 8, ROW = 8, RANKS = 2 };
static const double duration = 0.2;    // seconds of a measurement
static const char mark[] = "check: ";  // before a line that rank 0 prints for its launcher

// The seconds of a collective, in the best of the rows of them that begin within `seconds`. In a
// row each rank waits for the others' last one. All ranks agree when to end.
static gr_status best_of(gr_comm *c, gr_collective kind, size_t bytes, double seconds, char *in,
                         char *out, double *best) {
  int row = bytes > LARGE ? 1 : ROW;
  double begun = gr_seconds();
  *best = INFINITY;
  for (int32_t more = 1; more;) {
    GR_TRY(gr_comm_run(c, GR_BARRIER, GR_I32, 0, NULL, NULL));
    double start = gr_seconds();
    for (int i = 0; i < row; i++)
      GR_TRY(gr_comm_run(c, kind, GR_F32, (int64_t)(bytes / sizeof(float)), in, out));
    *best = fmin(*best, (gr_seconds() - start) / row);
    int32_t vote = gr_seconds() - begun < seconds;
    GR_TRY(gr_comm_run(c, GR_BROADCAST, GR_I32, 1, &vote, &more));
  }
  return GR_OK;
}

// ---- Pairs --------------------------------------------------------------------------------------

// The partner of a rank in a round, of `even` ranks, which meet all others in even - 1 rounds.
static int partner_of(int rank, int round, int even) {
  int others = even - 1, k = ((round - rank) % others + others) % others;
  if (rank < others) return k == rank ? others : k;
  for (k = 0; 2 * k % others != round % others;) k++;
  return k;
}

// seconds: of a small and of a large message.
static gr_status exchange(gr_comm *pair, char *memory, double seconds[2]) {
  GR_TRY(best_of(pair, GR_ALL_GATHER, SMALL, duration / 10, memory, memory + LARGE, &seconds[0]));
  return best_of(pair, GR_ALL_GATHER, LARGE, duration / 10, memory, memory + LARGE, &seconds[1]);
}

// An error of this rank, which names who had it.
static gr_status named(gr_status s, const char *who) {
  if (!s || gr_status_code(s) == GR_ERR_RANK) return s;
  gr_status out = gr_fail(gr_status_code(s), GR_NOWHERE, "%s: %s", who, gr_status_text(s));
  if (gr_status_hint(s)) out = gr_hint(out, "%s", gr_status_hint(s));
  gr_status_drop(s);
  return out;
}

static gr_status meet(gr_comm *world, int partner, char *memory, double seconds[2]) {
  char who[64];
  gr_comm *pair = NULL;
  bool alone = partner >= world->ranks;
  int colour = alone || world->rank < partner ? world->rank : partner;
  gr_status s = world->ops->split(world, colour, world->rank, &pair);
  if (!s && !alone) s = exchange(pair, memory, seconds);
  if (pair && pair->ops->close) pair->ops->close(pair);
  snprintf(who, sizeof who, alone ? "rank %d" : "ranks %d and %d", world->rank, partner);
  return named(s, who);
}

static gr_status try_pairs(gr_comm *world, char *memory, gr_found_ranks *out) {
  int n = world->ranks, even = n + n % 2;
  double seconds[2], all[2 * n];
  for (int round = 0; round < even - 1; round++) {
    seconds[0] = seconds[1] = NAN;
    GR_TRY(meet(world, partner_of(world->rank, round, even), memory, seconds));
    GR_TRY(gr_comm_run(world, GR_ALL_GATHER, GR_F64, 2, seconds, all));
    for (int a = 0; a < n && !world->rank; a++) {
      int b = partner_of(a, round, even);
      if (a < b && b < n)
        out->pairs[out->n_pairs++] = (gr_found_pair){a, b, all[2 * a], LARGE / all[2 * a + 1]};
    }
  }
  return GR_OK;
}

static gr_status name_hosts(gr_comm *world, gr_found_ranks *out) {
  typedef char name[GR_HOST];
  name host = "", *all = calloc((size_t)world->ranks, sizeof *all);
  int32_t first = world->local_rank == 0, machines = 0;
  gethostname(host, sizeof host - 1);
  gr_status s = all ? gr_comm_run(world, GR_ALL_GATHER, GR_I32, GR_HOST / 4, host, all)
                    : gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for names");
  s = s ? s : gr_comm_run(world, GR_ALL_REDUCE, GR_I32, 1, &first, &machines);
  for (int r = 0; r < world->ranks && !s && !world->rank; r++)
    snprintf(out->host[r], sizeof *out->host, "%s", all[r]);
  if (!s && !world->rank) out->machines = machines;
  free(all);
  return s;
}

// On every rank of a world; what rank 0 finds is in *out.
static gr_status measure(gr_comm *world, void *of) {
  gr_found_ranks *out = of;
  char *memory;
  double small, sum;
  GR_TRY(world->ops->alloc_shared(world, MOVED, (void **)&memory));
  memset(memory, 0, MOVED);
  GR_TRY(name_hosts(world, out));
  GR_TRY(best_of(world, GR_ALL_REDUCE, SMALL, duration / 4, memory, memory, &small));
  GR_TRY(best_of(world, GR_ALL_REDUCE, MOVED, duration, memory, memory, &sum));
  if (!world->rank) out->small = small, out->sum = sum, out->bytes = MOVED;
  return try_pairs(world, memory, out);
}

static gr_found_ranks *make(gr_arena *a, int ranks) {
  gr_found_ranks *out = GR_NEW(a, gr_found_ranks, 1);
  out->ranks = ranks;
  out->host = (char(*)[GR_HOST])gr_arena_alloc(a, (size_t)ranks * GR_HOST);
  out->pairs = GR_NEW(a, gr_found_pair, ranks * (ranks - 1) / 2 + 1);
  return out;
}

// ---- Ranks that are started ---------------------------------------------------------------------

// As lines for the launcher, which read_lines reads.
static void print_lines(const gr_found_ranks *r) {
  printf("%sof %d %.9g %.9g %.9g\n", mark, r->machines, r->bytes, r->small, r->sum);
  for (int i = 0; i < r->ranks; i++) printf("%shost %d %s\n", mark, i, r->host[i]);
  for (const gr_found_pair *p = r->pairs; p < r->pairs + r->n_pairs; p++)
    printf("%spair %d %d %.9g %.9g\n", mark, p->a, p->b, p->latency, p->bandwidth);
}

static void read_line(const char *line, gr_found_ranks *r, int most) {
  gr_found_pair *p = &r->pairs[r->n_pairs];
  char host[GR_HOST];
  int rank;
  sscanf(line, "of %d %lg %lg %lg", &r->machines, &r->bytes, &r->small, &r->sum);
  if (sscanf(line, "host %d %63s", &rank, host) == 2 && rank >= 0 && rank < r->ranks)
    snprintf(r->host[rank], sizeof host, "%s", host);
  if (r->n_pairs < most &&
      sscanf(line, "pair %d %d %lg %lg", &p->a, &p->b, &p->latency, &p->bandwidth) == 4 &&
      p->a >= 0 && p->b < r->ranks)
    r->n_pairs++;
}

// False: rank 0 has printed no result.
static bool read_lines(const char *text, gr_found_ranks *r) {
  int most = r->ranks * (r->ranks - 1) / 2;
  for (const char *line = text; (line = strstr(line, mark)); line += strcspn(line, "\n"))
    read_line(line += strlen(mark), r, most);
  return r->sum > 0 && r->n_pairs == most;
}

static gr_status become_rank(gr_findings *f, const gr_launch_plan *launch, gr_comm **world) {
  static const char job[] = "graphrun check";
  *world = NULL;
  GR_TRY(gr_cli_open_world(f->arena, launch->mpi ? launch->rank : -1, f->timeout_s,
                           gr_hash_text(job), job, world));
  f->ranks = make(f->arena, (*world)->ranks);
  gr_status s = measure(*world, f->ranks);
  if (s) (*world)->ops->abort(*world, gr_status_text(s));
  return s;
}

void gr_check_as_rank(gr_findings *f, int wanted) {
  int rank = 0;
  gr_launch_plan launch;
  gr_comm *world = NULL;
  if (gr_launch_started(&rank, NULL) < 2 && !gr_launch_own()) return;
  gr_launch_register_rank(rank);
  gr_status s = gr_launch_find(gr_launch_own() ? 0 : wanted, 0, &launch);
  s = s ? s : become_rank(f, &launch, &world);
  s = world ? s : named(s, gr_arena_printf(f->arena, "rank %d", rank));
  f->follows = rank && !(world && world->local_rank == 0);
  if (!s && !rank && gr_launch_own()) print_lines(f->ranks), fflush(stdout);
  if (s || gr_launch_own()) gr_comm_close(world), world = NULL;
  if (gr_launch_own() || (s && f->follows)) exit(gr_launch_report_exit(rank, s));
  f->joined = true, f->rank = rank, f->failed = s, f->world = world;
}

void gr_check_gather_ranks(gr_findings *f) {
  if (!f->world) return;
  gr_status s = gr_check_gather(f->world, f);
  if (s) f->world->ops->abort(f->world, gr_status_text(s));
  gr_comm_close(f->world);
  if (f->rank && (!s || f->follows)) exit(gr_launch_report_exit(f->rank, s));
  f->failed = s;
}

// What the ranks and their launcher print goes to a file in memory.
static gr_status start_processes(gr_arena *a, const gr_launch_plan *p, char *const argv[],
                                 gr_found_ranks *out) {
  gr_launch_end end = {0};
  int file = memfd_create("graphrun-check", MFD_CLOEXEC), before[] = {dup(1), dup(2)};
  if (file < 0 || before[0] < 0 || before[1] < 0)
    return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no descriptor for what ranks print");
  fflush(NULL);
  dup2(file, 1), dup2(file, 2);
  gr_status s = gr_launch_run(p, argv, &end);
  fflush(NULL);
  for (int i = 0; i < 2; i++) dup2(before[i], i + 1), close(before[i]);
  off_t bytes = lseek(file, 0, SEEK_END);
  char *text = gr_arena_alloc(a, (size_t)bytes + 1);
  ssize_t n = pread(file, text, (size_t)bytes, 0);
  close(file);
  text[n > 0 ? n : 0] = 0;
  if (s || (read_lines(text, out) && !end.exit)) return s;
  const char *error = strstr(text, "error: ");
  if (!error) error = text;
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "ranks end with exit code %d: %.*s", end.exit,
                 (int)strcspn(error, "\n"), error);
}

// ---- Findings -----------------------------------------------------------------------------------

static const char *pair_text(gr_arena *a, const gr_found_ranks *r, const gr_found_pair *p) {
  return gr_arena_printf(a, "%.1f us, ranks %d (%s) and %d (%s)", 1e6 * p->latency, p->a,
                         r->host[p->a], p->b, r->host[p->b]);
}

static int by_bandwidth(const void *a, const void *b) {
  double x = ((const gr_found_pair *)a)->bandwidth, y = ((const gr_found_pair *)b)->bandwidth;
  return (x > y) - (x < y);
}

static void report(gr_findings *f, const gr_found_ranks *r) {
  static const double much = 3;  // times slower than the median
  int n = r->n_pairs;
  gr_found_pair *sorted = GR_NEW(f->arena, gr_found_pair, n);
  memcpy(sorted, r->pairs, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, by_bandwidth);
  gr_found_rate(f, "all-reduce", r->bytes / r->sum, "B/s", r->machines > 1 ? 0 : f->copies);
  const gr_found_pair *slowest = &sorted[0], *median = &sorted[n / 2];
  gr_found_number(f, "slowest pair", gr_limits_if(median->bandwidth > much * slowest->bandwidth),
                  "a collective waits for it: compare the links (`ethtool`, `iperf3`) and the load "
                  "of these hosts with others'",
                  slowest->bandwidth, "B/s",
                  gr_arena_printf(f->arena, ", %s; of %d pair%s", pair_text(f->arena, r, slowest),
                                  n, gr_text_s(n)));
  if (n > 1)
    gr_found_number(f, "median pair", GR_FINDING_OK, NULL, median->bandwidth, "B/s",
                    gr_arena_printf(f->arena, ", %s", pair_text(f->arena, r, median)));
}

// As a run of so many ranks starts them: as processes where MPI is there, else as threads.
static gr_status start(gr_findings *f, char *const argv[], int wanted) {
  gr_launch_plan p = {.kind = GR_LAUNCH_NO_MPI};
  if (!gr_launch_started(NULL, NULL)) GR_TRY(gr_launch_find(wanted, 0, &p));
  bool processes = p.kind == GR_LAUNCH_START;
  const char *why = processes ? NULL : strchr(p.why, ';');
  f->ranks = make(f->arena, wanted);
  gr_found(f, wanted == 2 ? "two ranks" : gr_arena_printf(f->arena, "%d ranks", wanted),
           gr_limits_if(why),
           "threads train as well; processes, and several machines, need Open MPI (Debian: "
           "openmpi-bin) or another launcher: docs/running.md",
           "as %s%s", processes ? "processes of mpirun" : "threads of one process", why ? why : "");
  return processes ? start_processes(f->arena, &p, argv, f->ranks)
                   : gr_loopback_run(wanted, f->timeout_s, measure, f->ranks);
}

void gr_check_ranks(gr_findings *f, char *const argv[], int wanted) {
  const char *const cures[] = {
      "try `mpirun -n 2 hostname`, or distributed.backend=loopback",
      gr_arena_printf(
          f->arena,
          "a rank has %g s to answer (--timeout): hosts need to reach each other on any "
          "port, so look for a firewall, and for an address of another network (MPI: "
          "OMPI_MCA_btl_tcp_if_include)",
          f->timeout_s)};
  if (wanted == 1) return;
  if (!f->joined) f->failed = start(f, argv, wanted ? wanted : RANKS);
  if (f->failed) {
    // Of a time-out the error names a key, which this command does not take.
    bool late = f->joined && gr_status_code(f->failed) == GR_ERR_HANG;
    if (late)
      gr_found(f, "all-reduce", GR_FINDING_FAILS, cures[1], "%s", gr_status_text(f->failed));
    else
      gr_found_error(f, "all-reduce", cures[f->joined], f->failed);
    if (late) gr_status_drop(f->failed);
    f->ranks = NULL;
    return;
  }
  if (f->joined && f->rank) return;
  if (f->joined)
    gr_found(f, gr_arena_printf(f->arena, "%d ranks", f->ranks->ranks), GR_FINDING_OK, NULL,
             "of a launcher, on %d machine%s", f->ranks->machines, gr_text_s(f->ranks->machines));
  report(f, f->ranks);
}
