// show.c - see show.h.
#include "runtime/report/show.h"
#include <math.h>
#include <string.h>
#include "base/log.h"
#include "base/shown.h"

// Which fields of a line are left out first where not all fit, after the bar (progress_line.c).
enum {
  DROP_LOSS = 1,
  DROP_ETA,
  DROP_RANK = GR_PROGRESS_DROP_BAR + 1,
  DROP_RATE,
  DROP_SPLIT,
  DROP_LR
};
static const double LATE = 0.2;  // the share of waiting for data that is marked

// The first step, which warms up, counts only until there is another.
static void count(gr_show *s, const gr_report_row *x) {
  double before = s->eta.steps > 1 ? 0.95 : 0;
  s->samples = before * s->samples + (double)x->samples;
  s->seconds = before * s->seconds + x->seconds;
  s->split = (gr_time_split){before * s->split.data + x->split.data,
                             before * s->split.compute + x->split.compute,
                             before * s->split.communication + x->split.communication};
  gr_eta_step(&s->eta, s->spec->clock());
}

static bool due(const gr_show *s, int64_t step, double now) {
  const gr_report_spec *spec = s->spec;
  if (spec->quiet || (spec->rank && (spec->terminal || !spec->all_ranks))) return false;
  bool edge = step == spec->resume_step || step + 1 == spec->total_steps;
  bool nth = !spec->terminal && spec->every_steps && (step + 1) % spec->every_steps == 0;
  return edge || nth || now - s->shown >= spec->every_seconds;
}

// Where communication is a part of what a device does by itself, it is not known apart.
static void put_split(const gr_show *s, gr_progress_line *line, int rank, const gr_time_split *x) {
  double all = x->data + x->compute + x->communication;
  char who[24] = "", sum[32] = "";
  if (all <= 0) return;
  if (rank >= 0) snprintf(who, sizeof who, "rank %d: ", rank);
  if (s->spec->ranks > 1 && s->spec->communication_known)
    snprintf(sum, sizeof sum, " comm %.0f %%", 100 * x->communication / all);
  gr_progress_line_put(
      line, rank < 0 ? DROP_SPLIT : DROP_RANK, x->data > LATE * all ? GR_TINT_LATE : GR_TINT_FAINT,
      "%sdata %.0f %% compute %.0f %%%s", who, 100 * x->data / all, 100 * x->compute / all, sum);
}

static void put_splits(const gr_show *s, gr_progress_line *line, const gr_report_row *x) {
  bool together = s->spec->terminal && x->n_ranks > 1;
  for (int i = 0; together && i < x->n_ranks; i++) put_split(s, line, i, &x->ranks[i]);
  if (!together) put_split(s, line, -1, &s->split);
}

// The line shows completed steps, so that the last one is 100/100.
static gr_progress_line line_of(const gr_show *s, const gr_report_row *x, double now) {
  int64_t done = x->step + 1, total = s->spec->total_steps;
  char of[32] = "", loss[GR_QUANTITY];
  if (total > 0) snprintf(of, sizeof of, "/%lld", (long long)total);
  gr_progress_line line =
      gr_progress_line_begin(total > 0 ? (double)done / (double)total : -1,
                             "epoch %lld  step %lld%s", (long long)x->epoch, (long long)done, of);
  gr_progress_line_put(&line, DROP_LOSS, GR_TINT_NONE, "loss %s", gr_result_text(x->loss, loss));
  gr_progress_line_put(&line, DROP_LR, GR_TINT_FAINT, "lr %.3g", x->lr);
  double rate = s->seconds > 0 ? s->samples / s->seconds : 0;
  gr_progress_line_put(&line, DROP_RATE, GR_TINT_NONE,
                       rate >= 1e4 && rate < 1e12 ? "%.0f samples/s" : "%.4g samples/s", rate);
  gr_eta_rest rest = x->rest;
  rest.steps = (double)(total - done);
  double left = gr_eta_left(&s->eta, now, &rest);
  if (done < total && left >= 0) gr_progress_line_put_time(&line, DROP_ETA, "eta ", left);
  bool live = s->spec->terminal && done != total;
  if (live || (s->spec->all_ranks && !s->spec->terminal)) put_splits(s, &line, x);
  return line;
}

// The line of the last step is not erased.
void gr_show_step(gr_show *s, const gr_report_row *x) {
  char text[GR_PROGRESS_LINE];
  count(s, x);
  double now = s->spec->clock();
  if (!due(s, x->step, now)) return;
  s->shown = now;
  gr_progress_line line = line_of(s, x, now);
  bool stays = !s->spec->terminal || x->step + 1 == s->spec->total_steps;
  if (!s->spec->rank) gr_log_progress(stays ? NULL : &line);
  gr_progress_line_print(&line, text);
  if (stays) gr_log(GR_INFO, "%s", text);
}

// A log has a line of an evaluation only when that has taken as long.
void gr_show_evaluating(gr_show *s, const char *what, int64_t batch, int64_t batches) {
  char text[GR_PROGRESS_LINE];
  bool terminal = s->spec->terminal;
  double now = s->spec->clock();
  if (s->spec->rank || s->spec->quiet) return;
  if (terminal && batch == batches) gr_log_progress(NULL);
  if (batch == 0) s->eval_began = now;
  double since = terminal ? s->shown : fmax(s->shown, s->eval_began);
  if (batch == batches || now - since < s->spec->every_seconds) return;
  s->shown = now;
  const char *key = !terminal && !strcmp(what, "training") ? " (training.final_train_eval)" : "";
  gr_progress_line line =
      gr_progress_line_begin((double)batch / (double)batches, "evaluating the %s set%s", what, key);
  gr_progress_line_put(&line, DROP_RATE, GR_TINT_NONE, "batch %lld/%lld", (long long)batch,
                       (long long)batches);
  if (batch > 0)
    gr_progress_line_put_time(&line, DROP_ETA, "eta ",
                              (now - s->eval_began) / (double)batch * (double)(batches - batch));
  gr_progress_line_print(&line, text);
  if (terminal)
    gr_log_progress(&line);
  else
    gr_log(GR_INFO, "%s", text);
}
