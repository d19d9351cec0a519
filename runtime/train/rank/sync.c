// sync.c - communication between ranks outside the graph. See rank.h.
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include "base/thread.h"
#include "runtime/launch/launch.h"
#include "runtime/train/rank/rank.h"

static atomic_int interrupts;

// A second Ctrl-C exits at once, without a checkpoint.
static void on_signal(int number) {
  gr_stop_request();
  if (number != SIGINT || !atomic_fetch_add(&interrupts, 1)) return;
  signal(number, SIG_DFL);
  raise(number);
}

void gr_run_signals(void) {
  // Batch systems send SIGUSR1 or SIGUSR2.
  static const int asking[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
  struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) gr_signal_handle(asking[i], a, NULL);
  struct sigaction before;  // under nohup SIGHUP stays ignored
  if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN)
    gr_signal_handle(SIGHUP, a, NULL);
}

bool gr_run_signalled(void) { return gr_stop_requested() || gr_launch_orphaned(); }

gr_status gr_run_all_ok(gr_rank *r, bool ok, bool *all_ok) {
  int32_t bad = !ok, sum = 0;
  GR_TRY(gr_comm_run(r->world, GR_ALL_REDUCE, GR_I32, 1, &bad, &sum));
  *all_ok = sum == 0;
  return GR_OK;
}

gr_status gr_run_broadcast_text(gr_rank *r, const char *text, const char **out) {
  int32_t len = r->rank ? 0 : (int32_t)strlen(text), all = 0;
  GR_TRY(gr_comm_run(r->world, GR_BROADCAST, GR_I32, 1, &len, &all));
  int32_t n = all / 4 + 1;  // words, with the NUL
  int32_t *words = GR_NEW(r->arena, int32_t, n), *got = GR_NEW(r->arena, int32_t, n);
  if (!r->rank) memcpy(words, text, (size_t)len);
  GR_TRY(gr_comm_run(r->world, GR_BROADCAST, GR_I32, n, words, got));
  *out = (const char *)got;
  return GR_OK;
}

gr_status gr_run_cause(gr_rank *r, gr_status status, char *text, size_t size) {
  enum { WORDS = 64 };
  int32_t words[WORDS] = {0};
  gr_arena *scratch = gr_arena_create();
  int32_t *all = GR_NEW(scratch, int32_t, WORDS * r->ranks);
  if (status) snprintf((char *)words, sizeof words, "rank %d: %s", r->rank, gr_status_text(status));
  gr_status s = gr_comm_run(r->world, GR_ALL_GATHER, GR_I32, WORDS, words, all);
  *text = 0;
  for (int i = 0; !s && i < r->ranks && !*text; i++)
    snprintf(text, size, "%s", (char *)(all + i * WORDS));
  return gr_arena_end(scratch, s);
}

gr_status gr_run_check_same(gr_rank *r, uint64_t hash, const char *what) {
  int odd;
  GR_TRY(gr_comm_compare(r->world, hash, &odd));
  if (odd < 0) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "%s of rank %d is not that of rank 0", what, odd),
      "every rank must see the same configuration, files and data");
}

// Before ranks agree on stopping, the first one that a signal reaches ends for itself, and the
// others because of it.
gr_status gr_run_stopped_opening(gr_rank *r, gr_status s) {
  if (gr_status_code(s) == GR_ERR_STOPPED) r->world->ops->abort(r->world, gr_status_text(s));
  if (gr_status_code(s) != GR_ERR_RANK || !gr_stop_due()) return s;
  gr_status_drop(s);
  return gr_stop_check();
}
