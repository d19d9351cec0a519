// control.c - what ranks agree on between steps. See run.h.
#include "runtime/train/run.h"

// One small all_reduce per step: rank 0 contributes the learning rate, the values that hooks have
// set and their requests, every rank its own signals and failures.
gr_status gr_run_agree(gr_run *r, gr_step_controls *k) {
  enum { OWN = 7 };
  bool first = r->me.rank == 0;
  int n = r->me.spec->n_adjust;
  double mine[OWN + GR_MAX_ADJUSTABLE] = {
      first ? k->lr : 0,  first && k->stop, first && k->save, first && k->evaluate,
      first && k->finish, k->signal,        k->failed};
  double all[OWN + GR_MAX_ADJUSTABLE];
  for (int i = 0; i < n; i++) mine[OWN + i] = first ? r->values.set[i] : 0;
  GR_TRY(gr_comm_run(r->me.world, GR_ALL_REDUCE, GR_F64, OWN + n, mine, all));
  for (int i = 0; i < n; i++) r->values.set[i] = all[OWN + i];
  *k = (gr_step_controls){.lr = all[0],
                          .stop = all[1] > 0,
                          .save = all[2] > 0,
                          .evaluate = all[3] > 0,
                          .finish = all[4] > 0,
                          .signal = all[5] > 0,
                          .failed = all[6] > 0};
  return GR_OK;
}

void gr_run_set_failure(gr_run *r, gr_status s) { r->failure = gr_also(r->failure, s); }

gr_status gr_run_check(gr_run *r) {
  bool all_ok;
  gr_status mine = r->failure, s = gr_run_all_ok(&r->me, !mine, &all_ok);
  r->failure = GR_OK;
  if (mine || s) return gr_also(mine, s);
  return all_ok ? GR_OK : gr_fail(GR_ERR_RANK, GR_NOWHERE, "another rank failed");
}
