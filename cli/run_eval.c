// run_eval.c - batches into a program, metrics out of it, and what the model says. See run.h.
#include <math.h>
#include <string.h>
#include "cli/run.h"

// ---- Batches and metrics --------------------------------------------------------------------

gr_status gr_run_fill(gr_run *r, const gr_program *p, const gr_feed *f, int micro) {
  const gr_program_inputs *inputs = &r->job->inputs[p - r->job->plan->programs];
  for (int i = 0; i < inputs->n; i++) {
    const gr_program_input *in = &inputs->at[i];
    void *to = gr_exec_input(r->exec, p, in->name, NULL);
    if (in->field < 0) {
      gr_put(to, in->type.dtype, 0, in->field == GR_INPUT_LR ? r->lr : micro);
      continue;
    }
    const gr_feed_field *field = &f->field[in->field];
    if (!gr_type_same(&in->type, &field->type))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "'%s' is of another shape in this batch", in->name);
    memcpy(to, field->at, gr_type_bytes(&in->type));
  }
  return GR_OK;
}

static double scalar(gr_run *r, const gr_program *p, const char *name) {
  gr_type t;
  const void *at = gr_exec_result(r->exec, p, name, &t);
  return at ? gr_get(at, t.dtype, 0) : (double)NAN;
}

static gr_metric *metric_of(gr_metrics *m, const char *name) {
  for (int i = 0; i < m->n; i++)
    if (!strcmp(m->at[i].name, name)) return &m->at[i];
  if (m->n == GR_MAX_METRICS) return NULL;
  m->at[m->n] = (gr_metric){.name = name};
  return &m->at[m->n++];
}

// A name that lives as long as the run does.
static const char *intern(gr_run *r, const char *name) {
  for (int i = 0; i < r->n_names; i++)
    if (!strcmp(r->names[i], name)) return r->names[i];
  if (r->n_names == GR_MAX_METRICS) return gr_arena_strdup(r->arena, name);
  return r->names[r->n_names++] = gr_arena_strdup(r->arena, name);
}

// "metric.cer.sum" and "metric.cer.weight": both already sums over the global batch.
void gr_run_read_metrics(gr_run *r, const gr_program *p, gr_metrics *sums) {
  const gr_graph *g = p->frame.g;
  for (uint32_t i = 0; i < g->n_results; i++) {
    const char *name = g->result_names[i], *end = strrchr(name, '.');
    if (strncmp(name, "metric.", 7) || strcmp(end, ".sum")) continue;
    char weight[300], plain[256];
    snprintf(plain, sizeof plain, "%.*s", (int)(end - name - 7), name + 7);
    snprintf(weight, sizeof weight, "metric.%s.weight", plain);
    gr_metric *m = metric_of(sums, intern(r, plain));
    if (m) m->sum += scalar(r, p, name), m->weight += scalar(r, p, weight);
  }
}

double gr_metric_value(const gr_metrics *m, const char *name) {
  for (int i = 0; i < m->n; i++)
    if (!strcmp(m->at[i].name, name)) return m->at[i].sum / m->at[i].weight;
  return (double)NAN;
}

int gr_metrics_named(gr_arena *arena, const gr_metrics *m, const char *prefix, gr_named *out) {
  for (int i = 0; i < m->n; i++)
    out[i] = (gr_named){gr_arena_printf(arena, "%s%s", prefix, m->at[i].name),
                        m->at[i].sum / m->at[i].weight};
  return m->n;
}

// ---- Evaluation -----------------------------------------------------------------------------

// One row: what was said, and what the model makes of it.
static void show_row(gr_run *r, uint32_t item, const int32_t *tokens, int64_t n) {
  gr_arena *scratch = gr_arena_create();
  gr_text said = gr_text_make(scratch);
  gr_dataset_decode(r->job->data, tokens, n, &said);
  printf("  %-24.24s  %s\n  %24s  %s\n", gr_dataset_item_name(r->job->data, item),
         gr_dataset_reference(r->job->data, item), "decoded", said.at);
  gr_arena_destroy(scratch);
}

// At most `most` of this rank's rows, from all over the batch; how many it showed.
static int show_rows(gr_run *r, const gr_program *p, const gr_feed *f, int most) {
  gr_type type, of_lengths;
  const int32_t *tokens = gr_exec_result(r->exec, p, "predict.tokens", &type);
  const int32_t *lengths = gr_exec_result(r->exec, p, "predict.lengths", &of_lengths);
  int shown = 0, apart = most && f->rows > most ? f->rows / most : 1;
  if (!tokens || !lengths || type.rank != 2) return 0;
  for (int row = 0; row < f->rows && shown < most; row += apart) {
    if (f->item[row] == UINT32_MAX) continue;
    show_row(r, f->item[row], tokens + row * type.dim[1], lengths[row]);
    shown++;
  }
  fflush(stdout);
  return shown;
}

// Before each batch all ranks agree that they go on; `end` is the same on all.
static gr_status eval_batches(gr_run *r, gr_feeder *feeder, int show, gr_metrics *out) {
  gr_feed f;
  for (bool end = false;;) {
    if (!r->failure) gr_run_keep(r, gr_feeder_next(feeder, &f, &end));
    gr_knobs k = {.signal = gr_run_signalled(), .failed = r->failure != GR_OK};
    GR_TRY(gr_run_agree(r, &k));
    if (k.failed || k.signal) return gr_run_leave(r, &k);
    if (end) return GR_OK;
    const gr_program *p = r->eval[f.bucket];
    GR_TRY(gr_run_fill(r, p, &f, 0));
    GR_TRY(gr_exec_run(r->exec, p));
    gr_run_read_metrics(r, p, out);
    int64_t left = (int64_t)f.of - f.index;  // batches, this one too: each shows its share
    if (r->rank == 0 && show > 0) show -= show_rows(r, p, &f, (int)((show + left - 1) / left));
  }
}

gr_status gr_run_eval(gr_run *r, gr_split split, int show, gr_metrics *out) {
  const gr_settings *s = &r->job->set;
  gr_feeder_spec spec = {.split = split,
                         .batch = (s->batch + s->parts - 1) / s->parts,
                         .rank = r->rank,
                         .ranks = r->ranks,
                         .seed = (uint64_t)s->seed,
                         .epochs = 1};
  gr_feeder *feeder;
  gr_metrics sums = {0};
  if (gr_dataset_count(r->job->data, split)) {
    GR_TRY(gr_feeder_open(r->job->data, &spec, &feeder));
    gr_status st = eval_batches(r, feeder, show, &sums);
    gr_feeder_close(feeder);
    if (st) return st;
  }
  *out = sums;
  return GR_OK;
}
