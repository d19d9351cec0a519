// rendezvous.c - see rendezvous.h.
//
// torchrun's agent usually listens on MASTER_PORT itself (TORCHELASTIC_USE_AGENT_STORE=True), for
// PyTorch's own store. Rank 0 then takes the first free port after it, and the others look for it
// there by the job's token. A port that the user has chosen is used as it is.
//
// Slurm names no port. One is derived from the job's and the step's number, so that jobs on one
// machine rarely meet; the token keeps them apart where they do.
#include "runtime/launch/rendezvous.h"
#include <stdlib.h>
#include <string.h>
#include "runtime/launch/launch.h"

enum { CANDIDATES = 16, SLURM_FIRST = 20000, SLURM_PORTS = 10000, MAX_PORT = 65535 };

static const char *value_of(const char *name) {
  const char *text = getenv(name);
  return text && *text ? text : NULL;
}

static int number(const char *text) {
  char *end;
  long n = text ? strtol(text, &end, 10) : -1;
  return !text || *end || n < 0 || n > MAX_PORT ? -1 : (int)n;
}

static bool is_loopback(const char *host) {
  return !strcmp(host, "localhost") || !strcmp(host, "::1") || !strncmp(host, "127.", 4);
}

// ---- Slurm --------------------------------------------------------------------------------------

bool gr_launch_first_node(const char *list, char *out, size_t size) {
  size_t head = strcspn(list, "[,");
  const char *in = list + head + 1;
  int n;
  if (list[head] != '[') {
    n = snprintf(out, size, "%.*s", (int)head, list);
  } else {
    size_t first = strspn(in, "0123456789");
    const char *close = strchr(in, ']');
    if (!first || !close) return false;
    size_t tail = strcspn(close + 1, "[,");
    if (close[1 + tail] == '[') return false;  // several ranges in one name
    n = snprintf(out, size, "%.*s%.*s%.*s", (int)head, list, (int)first, in, (int)tail, close + 1);
  }
  return n > 0 && (size_t)n < size;
}

// Whether all tasks of this step are on this machine.
static bool is_one_node(void) {
  const char *nodes = value_of("SLURM_STEP_NUM_NODES");
  if (!nodes) nodes = value_of("SLURM_NNODES");
  if (!nodes) nodes = value_of("SLURM_JOB_NUM_NODES");
  return nodes && !strcmp(nodes, "1");
}

static gr_status slurm_host(gr_rendezvous *r) {
  const char *list = value_of("SLURM_STEP_NODELIST"), *host = value_of("MASTER_ADDR");
  if (!list) list = value_of("SLURM_JOB_NODELIST");
  if (!list) list = value_of("SLURM_NODELIST");
  r->local = !host && is_one_node();
  if (r->local) host = "127.0.0.1";
  if (host) snprintf(r->host, sizeof r->host, "%s", host);
  if (host || (list && gr_launch_first_node(list, r->host, sizeof r->host))) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                         "srun started %d ranks, but does not say where rank 0 is", r->ranks),
                 "export MASTER_ADDR=HOST, the name of the node of the first task");
}

static gr_status read_slurm(gr_rendezvous *r) {
  const char *job = value_of("SLURM_JOB_ID"), *step = value_of("SLURM_STEP_ID");
  unsigned long seed =
      strtoul(job ? job : "0", NULL, 10) * 131 + strtoul(step ? step : "0", NULL, 10);
  r->port = SLURM_FIRST + (int)(seed % SLURM_PORTS), r->ports = CANDIDATES;
  GR_TRY(slurm_host(r));
  snprintf(r->token, sizeof r->token, "slurm %s %s", job ? job : "", step ? step : "");
  r->named = job != NULL;
  return GR_OK;
}

// ---- torchrun, and variables set by hand --------------------------------------------------------

static gr_status read_torchrun(gr_rendezvous *r) {
  const char *host = value_of("MASTER_ADDR"), *agent = value_of("TORCHELASTIC_USE_AGENT_STORE");
  const char *local = value_of("LOCAL_WORLD_SIZE"), *run = value_of("TORCHELASTIC_RUN_ID");
  const char *restarts = value_of("TORCHELASTIC_RESTART_COUNT");
  if (!host || !value_of("MASTER_PORT"))
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                "WORLD_SIZE=%d and RANK=%d are set, but %s is not: this rank cannot find "
                "rank 0",
                r->ranks, r->rank, host ? "MASTER_PORT" : "MASTER_ADDR"),
        "torchrun sets them; if it is not used, unset WORLD_SIZE and RANK: graphrun "
        "starts its own ranks");
  bool taken = agent && !strcmp(agent, "True");
  if (taken && number(value_of("MASTER_PORT")) == MAX_PORT)
    return gr_hint(
        gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                "torchrun's own store has port %d, and no port comes after it", MAX_PORT),
        "give torchrun another one: --master-port");
  r->port = number(value_of("MASTER_PORT")) + taken, r->ports = taken ? CANDIDATES : 1;
  r->local = is_loopback(host) || (local && number(local) == r->ranks);
  snprintf(r->host, sizeof r->host, "%s", r->local && !is_loopback(host) ? "127.0.0.1" : host);
  snprintf(r->token, sizeof r->token, "torchrun %s %s %s", run ? run : "", restarts ? restarts : "",
           value_of("MASTER_PORT"));
  r->named = run && strcmp(run, "none");  // torchrun's default
  return GR_OK;
}

gr_status gr_launch_rendezvous(gr_rendezvous *r) {
  const char *by, *port = value_of("MASTER_PORT"), *token = value_of("GRAPHRUN_TOKEN");
  *r = (gr_rendezvous){.rank = -1, .setting = "MASTER_PORT"};
  r->ranks = gr_launch_started(&r->rank, &by);
  if (!r->ranks) return GR_OK;
  if (port && number(port) < 1)
    return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "MASTER_PORT is '%s'", port),
                   "it is a number from 1 to %d", MAX_PORT);
  bool slurm = !strcmp(by, "srun");
  GR_TRY(slurm ? read_slurm(r) : read_torchrun(r));
  if (slurm && port) r->port = number(port), r->ports = 1;
  if (token) r->named = true, snprintf(r->token, sizeof r->token, "%s", token);
  if (r->port + r->ports > MAX_PORT) r->ports = MAX_PORT + 1 - r->port;
  return GR_OK;
}
