// debugger.c - a rank that waits until a debugger has attached. See launch.h.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "base/port.h"
#include "runtime/launch/launch.h"

#define VARIABLE "GRAPHRUN_WAIT_FOR_DEBUGGER"
enum { POLL_NS = 50000000 };

static atomic_bool debugged;  // other threads do not read the environment, which may change

bool gr_launch_debugged(void) { return atomic_load(&debugged); }

// *out_rank: the rank that waits; -1: all of them.
static gr_status parse(const char *text, int *out_rank) {
  char *end;
  long rank = strtol(text, &end, 10);
  bool all = !strcmp(text, "all");
  *out_rank = all ? -1 : (int)rank;
  if (all || (end != text && !*end && rank >= 0 && rank < 1 << 20)) return GR_OK;
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, VARIABLE "='%s' is neither a rank, such as 0, nor all",
                 text);
}

gr_status gr_launch_wait_for_debugger(int rank, int ranks, bool (*stop)(void)) {
  const char *text = getenv(VARIABLE);
  int wanted;
  if (!text || !*text) return GR_OK;
  atomic_store(&debugged, true);
  GR_TRY(parse(text, &wanted));
  if (wanted >= 0 && (wanted < rank || wanted >= rank + ranks)) return GR_OK;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // for Yama, which else lets only parents attach
  gr_log(GR_WARN, "rank %d waits for a debugger: gdb -p %d (on %s)", wanted < 0 ? rank : wanted,
         (int)getpid(), host);
  while (!gr_process_is_traced() && !stop())
    nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
  return GR_OK;
}
