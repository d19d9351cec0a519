// open.c - opens a report and writes its rows. See report.h.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/log.h"
#include "base/output.h"
#include "base/port.h"
#include "base/shown.h"
#include "runtime/report/parts.h"
#include "runtime/report/report.h"
#include "runtime/report/show.h"

enum { EPOCH_SECONDS = 10 };  // between lines of epochs

struct gr_report {
  gr_arena *arena;
  gr_report_spec spec;
  gr_lines metrics, evals, epochs;
  gr_events events;
  gr_text line;        // buffer of the row or progress line that is being formatted
  double epoch_shown;  // time of the last line of an epoch
  gr_show show;
  double step_seconds;  // what the steps of this process have taken
};

static char *path_of(gr_report *r, const char *name) {
  return gr_arena_printf(r->arena, "%s/%s", r->spec.dir, name);
}

gr_status gr_report_open_log(const char *dir, FILE **out) {
  int fd;
  *out = NULL;
  GR_TRY(gr_output_append(dir, "run.log", &fd));
  *out = fdopen(fd, "a");
  if (!*out) {
    close(fd);
    return gr_fail_errno(GR_ERR_IO, errno, "cannot open '%s/run.log'", dir);
  }
  gr_log_copy_to(*out);
  return GR_OK;
}

void gr_report_close_log(FILE *log) {
  if (!log) return;
  gr_log_copy_to(NULL);
  fclose(log);
}

// A file that is switched off stays closed, and an earlier run's file is removed.
static gr_status open_lines(gr_report *r, bool off, const char *name, const char *key,
                            int64_t below, gr_lines *out) {
  if (!off) return gr_lines_open(r->spec.dir, name, key, below, out);
  if (!r->spec.resume_step) remove(path_of(r, name));
  return GR_OK;
}

static gr_status open_events(gr_report *r) {
  // TensorBoard looks for "tfevents" in the name. It has no time stamp, so that runs do not differ.
  const char *name = "events.out.tfevents.0000000000.graphrun";
  if (!r->spec.no_events) {
    GR_TRY(gr_events_open(r->arena, name, &r->spec, &r->events));
    if (r->spec.resume_step) return GR_OK;
    double wall = gr_wall_seconds();
    GR_TRY(gr_events_put_start(&r->events, wall, r->spec.params, r->spec.n_params));
    return gr_events_put_graph(&r->events, wall, r->spec.graph, r->spec.graph_bytes);
  }
  if (!r->spec.resume_step) remove(path_of(r, name));
  return GR_OK;
}

// Those of the steps that are kept, until the next evaluation replaces them.
static gr_status keep_mistakes(gr_report *r) {
  gr_lines kept;
  if (!r->spec.resume_step) {
    remove(path_of(r, "mistakes.jsonl"));
    return GR_OK;
  }
  GR_TRY(gr_lines_open(r->spec.dir, "mistakes.jsonl", "steps", r->spec.resume_step + 1, &kept));
  gr_lines_close(&kept);
  return GR_OK;
}

static gr_status open_files(gr_report *r) {
  int64_t step = r->spec.resume_step, evals = r->spec.eval_open ? step : step + 1;
  bool off = r->spec.no_lines;
  GR_TRY(gr_make_dirs(r->spec.dir));
  if (r->spec.rank) return GR_OK;
  remove(path_of(r, GR_RESULTS_NAME));
  remove(path_of(r, "samples.jsonl"));
  GR_TRY(keep_mistakes(r));
  GR_TRY(open_lines(r, off, "metrics.jsonl", "step", step, &r->metrics));
  GR_TRY(open_lines(r, off, "evals.jsonl", "steps", step ? evals : 0, &r->evals));
  GR_TRY(open_lines(r, false, "epochs.jsonl", "epoch", r->spec.resume_epoch, &r->epochs));
  return open_events(r);
}

gr_status gr_report_open(const gr_report_spec *spec, gr_report **out) {
  *out = NULL;
  gr_report *r = calloc(1, sizeof *r);
  if (!r) return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no memory for a report");
  r->arena = gr_arena_create();
  r->spec = *spec;
  r->spec.dir = gr_arena_strdup(r->arena, spec->dir);
  r->line = gr_text_make(r->arena);
  r->metrics.fd = r->evals.fd = r->epochs.fd = r->events.file.fd = -1;
  r->show.spec = &r->spec;
  if (!r->spec.clock) r->spec.clock = gr_seconds;
  if (r->spec.every_seconds <= 0) r->spec.every_seconds = r->spec.terminal ? 0.1 : 10;
  gr_status e = open_files(r);
  if (e)
    gr_report_close(r);
  else
    *out = r;
  return e;
}

void gr_report_close(gr_report *r) {
  if (!r) return;
  gr_log_progress(NULL);
  gr_lines_close(&r->metrics);
  gr_lines_close(&r->evals);
  gr_lines_close(&r->epochs);
  gr_events_close(&r->events);
  gr_arena_destroy(r->arena);
  free(r);
}

// -- Lines -------------------------------------------------------------------------------

static void begin(gr_report *r, const char *key, int64_t number) {
  r->line.len = 0;
  gr_text_printf(&r->line, "{\"%s\": %lld", key, (long long)number);
}

static void put_int(gr_report *r, const char *name, int64_t v) {
  gr_text_printf(&r->line, ", \"%s\": %lld", name, (long long)v);
}

static void put(gr_report *r, const char *name, double v) {
  gr_text_json_key(&r->line, name);
  gr_text_json_float(&r->line, v);
}

static void put_all(gr_report *r, const gr_named *v, int n) {
  for (int i = 0; i < n; i++) put(r, v[i].name, v[i].value);
}

static void put_table(gr_text *t, const gr_table *table) {
  gr_text_json_key(t, table->name);
  gr_table_json(t, table);
}

static gr_status end(gr_report *r, gr_lines *f) {
  gr_text_put(&r->line, "}\n");
  return gr_lines_put(f, r->line.chars, r->line.len);
}

// -- Progress ----------------------------------------------------------------------------

void gr_report_evaluating(gr_report *r, const char *what, int64_t batch, int64_t batches) {
  gr_show_evaluating(&r->show, what, batch, batches);
}

double gr_report_rate(const gr_report *r) {
  return r->show.seconds > 0 ? r->show.samples / r->show.seconds : 0;
}

gr_time_split gr_report_split(const gr_report *r) { return r->show.split; }

void gr_report_interrupted(gr_report *r, gr_eta_kind kind, double seconds, double units) {
  gr_eta_interrupted(&r->show.eta, kind, seconds, units);
}

// -- Rows --------------------------------------------------------------------------------

gr_status gr_report_step(gr_report *r, const gr_report_row *x) {
  if (r->spec.rank) {
    gr_show_step(&r->show, x);
    return GR_OK;
  }
  double rate = x->seconds > 0 ? (double)x->samples / x->seconds : 0, wall = gr_wall_seconds();
  gr_named values[] = {
      {"loss", x->loss}, {"lr", x->lr}, {"grad_norm", x->grad_norm}, {"samples_per_s", rate}};
  r->step_seconds += x->seconds;
  begin(r, "step", x->step);
  put_int(r, "epoch", x->epoch);
  put_all(r, values, 3);
  put_all(r, x->more, x->n_more);
  put(r, "samples_per_s", rate);
  put(r, "wall", wall);
  GR_TRY(end(r, &r->metrics));
  GR_TRY(gr_events_put(&r->events, x->step, wall, GR_EVENTS_TRAIN, values, 4));
  if (x->n_more)
    GR_TRY(gr_events_put(&r->events, x->step, wall, GR_EVENTS_TRAIN, x->more, x->n_more));
  gr_show_step(&r->show, x);
  return GR_OK;
}

// In event files a row has the number of the last step that has run.
static gr_status put_event(gr_report *r, int64_t steps, double wall, const char *prefix,
                           const gr_named *v, int n) {
  return n ? gr_events_put(&r->events, steps > 0 ? steps - 1 : 0, wall, prefix, v, n) : GR_OK;
}

// Draws a table as NAME.svg and as a picture of the event.
static gr_status draw(gr_report *r, gr_arena *a, int64_t steps, double wall, const gr_table *table,
                      const gr_tables *all) {
  gr_text svg = gr_text_make(a), png = gr_text_make(a);
  int side;
  if (!gr_table_is_drawn(table)) return GR_OK;
  gr_table_svg(&svg, table, all);
  GR_TRY(gr_report_dir_hint(
      gr_output_write(r->spec.dir, gr_arena_printf(a, "%s.svg", table->name), svg.chars, svg.len)));
  gr_table_png(&png, table, &side);
  return gr_events_put_picture(&r->events, steps > 0 ? steps - 1 : 0, wall, GR_EVENTS_EVAL,
                               table->name, side, &png);
}

gr_status gr_report_eval(gr_report *r, int64_t steps, int64_t epoch, const gr_named *v, int n,
                         const gr_tables *tables) {
  if (r->spec.rank) return GR_OK;
  double wall = gr_wall_seconds();
  begin(r, "steps", steps);
  put_int(r, "epoch", epoch);
  put_all(r, v, n);
  for (int i = 0; i < tables->n; i++) put_table(&r->line, &tables->items[i]);
  put(r, "wall", wall);
  GR_TRY(end(r, &r->evals));
  GR_TRY(put_event(r, steps, wall, GR_EVENTS_EVAL, v, n));
  gr_arena *a = gr_arena_create();
  gr_status s = GR_OK;
  for (int i = 0; i < tables->n && !s; i++) s = draw(r, a, steps, wall, &tables->items[i], tables);
  return gr_arena_end(a, s);
}

// A line with the metrics of training, as often as those of steps.
static void show_epoch(gr_report *r, const gr_report_epoch_row *x) {
  double now = r->spec.clock();
  char value[GR_QUANTITY];
  bool edge = !r->epoch_shown || x->last;
  if (!x->shown || r->spec.quiet || (!edge && now - r->epoch_shown < EPOCH_SECONDS)) return;
  r->epoch_shown = now, r->line.len = 0;
  gr_text_printf(&r->line, "epoch %lld  step %lld", (long long)x->epoch, (long long)x->steps);
  for (int i = 0; i < x->n_train; i++)
    gr_text_printf(&r->line, "  %s %s", x->metrics[i].name,
                   gr_result_text(x->metrics[i].value, value));
  gr_log_progress(NULL);
  gr_log(GR_INFO, "%s", r->line.chars);
}

gr_status gr_report_epoch(gr_report *r, const gr_report_epoch_row *x) {
  if (r->spec.rank) return GR_OK;
  double wall = gr_wall_seconds(), rate = x->seconds > 0 ? (double)x->samples / x->seconds : 0;
  gr_named values[] = {{"train_loss", x->train_loss}, {"lr", x->lr}};
  gr_named events[GR_EPOCH_EVENTS] = {{"lr", x->lr}};
  int n = 1;
  begin(r, "epoch", x->epoch);
  put_int(r, "steps", x->steps);
  put_all(r, values, 2);
  put_all(r, x->metrics, x->n_metrics);
  put(r, "seconds", x->seconds);
  put(r, "data_seconds", x->data_seconds);
  put(r, "samples_per_s", rate);
  put(r, "wall", wall);
  GR_TRY(end(r, &r->epochs));
  for (int i = 0; i < x->n_train && n < GR_EPOCH_EVENTS; i++) events[n++] = x->metrics[i];
  show_epoch(r, x);
  return put_event(r, x->steps, wall, GR_EVENTS_EPOCH, events, n);
}

// In place, so that it needs no more room on a disk that a checkpoint is filling.
static gr_status write_samples(gr_report *r, const char *file, int64_t steps,
                               const gr_report_sample *s, int n) {
  gr_lines f;
  GR_TRY(gr_lines_open(r->spec.dir, file, "steps", 0, &f));
  gr_status st = GR_OK;
  for (int i = 0; i < n && !st; i++) {
    begin(r, "steps", steps);
    gr_text_json_member(&r->line, "sample", s[i].name);
    gr_text_json_member(&r->line, "reference", s[i].reference);
    gr_text_json_member(&r->line, "predicted", s[i].predicted);
    if (s[i].more) gr_text_put(&r->line, s[i].more);
    st = end(r, &f);
  }
  gr_lines_close(&f);
  return st;
}

gr_status gr_report_samples(gr_report *r, int64_t steps, const gr_report_sample *s, int n,
                            bool again) {
  if (r->spec.rank || !n) return GR_OK;
  GR_TRY(write_samples(r, "samples.jsonl", steps, s, n));
  if (again) return GR_OK;
  return gr_events_put_samples(&r->events, steps > 0 ? steps - 1 : 0, gr_wall_seconds(), s,
                               n < GR_MAX_SHOWN ? n : GR_MAX_SHOWN);
}

gr_status gr_report_mistakes(gr_report *r, int64_t steps, const gr_report_sample *s, int n) {
  assert(n >= 0);
  return r->spec.rank ? GR_OK : write_samples(r, "mistakes.jsonl", steps, s, n);
}

gr_status gr_report_finish(gr_report *r, const gr_results *results) {
  if (r->spec.rank) return GR_OK;
  GR_TRY(gr_events_put_end(&r->events, results->steps > 0 ? results->steps - 1 : 0,
                           gr_wall_seconds(), !results->exit_code));
  gr_results all = *results;
  all.total_step_seconds = r->step_seconds;
  return gr_results_write(r->spec.dir, r->epochs.path, &all);
}
