// record.c - the record of trials in the folder of a sweep, and what is printed of them. See
// trials.h.
#include <math.h>
#include <string.h>
#include "base/json.h"
#include "base/output.h"
#include "cli/trials/trials.h"

enum { MAX_BYTES = 64 << 20 };

// ---- Writing ---------------------------------------------------------------------

static void put_params(gr_text *out, const gr_trials *t, const char *const *lines) {
  gr_text_put(out, "[");
  for (int i = 0; i < t->search.n; i++) {
    gr_text_json_next(out);
    gr_text_json(out, lines[t->axis_of[i]]);
  }
  gr_text_put(out, "]");
}

static void put_trial(gr_text *out, const gr_trials *t, int number) {
  gr_text_printf(out, "{\"number\": %d, \"params\": ", number);
  put_params(out, t, t->lines[number]);
  gr_text_json_member(out, "metric", t->metric);
  gr_text_json_key(out, "value");
  gr_text_json_known(out, t->all[number].value);
  gr_trials_put_rungs(out, t, number);
  gr_text_put(out, "}\n");
}

// The lines that this sweep has not come to yet stay.
gr_status gr_trials_end(gr_trials *t, const char *dir, int number, double value) {
  gr_text out = gr_text_make(t->arena);
  t->ended[number] = true;
  t->all[number].value = value;
  if (!dir) return GR_OK;
  for (int k = 0; k < t->n; k++) {
    if (t->ended[k])
      put_trial(&out, t, k);
    else if (t->record[k])
      gr_json_put(&out, t->record[k]), gr_text_put(&out, "\n");
  }
  for (int k = t->n; k < t->n_record; k++)
    if (t->record[k]) gr_json_put(&out, t->record[k]), gr_text_put(&out, "\n");
  return gr_output_write(dir, GR_TRIALS_NAME, out.chars, out.len);
}

// ---- Reading ---------------------------------------------------------------------

static gr_status damaged(const char *path, int line, const char *why) {
  return gr_hint(gr_fail(GR_ERR_USAGE, (gr_loc){path, line, 1}, "no record of a trial: %s", why),
                 "delete the line: its trial is made again; or choose another hydra.sweep.dir");
}

static gr_status read_line(gr_trials *t, const char *path, int line, const char *text, size_t n) {
  const gr_json *j;
  gr_json_error why;
  if (!gr_json_read(t->arena, text, n, &j, &why)) return damaged(path, line, why.why);
  const gr_json *number = gr_json_get(j, "number", GR_JSON_INT);
  if (!number || number->i < 0 || number->i >= GR_MULTIRUN_MAX)
    return damaged(path, line, "it has no number");
  if (!gr_json_get(j, "params", GR_JSON_ARRAY) || !gr_json_get(j, "metric", GR_JSON_TEXT))
    return damaged(path, line, "it has no params or no metric");
  t->record[number->i] = j;
  if (number->i >= t->n_record) t->n_record = (int)number->i + 1;
  return GR_OK;
}

gr_status gr_trials_read(gr_trials *t, const char *dir) {
  char *text, *next;
  const char *path = gr_arena_printf(t->arena, "%s/" GR_TRIALS_NAME, dir);
  t->record = GR_NEW(t->arena, const gr_json *, GR_MULTIRUN_MAX);
  if (!gr_is_file(path)) return GR_OK;
  GR_TRY(gr_file_read(t->arena, path, MAX_BYTES, &text, NULL));
  for (int line = 1; *text; text = next, line++) {
    size_t n = strcspn(text, "\n");
    next = text + n + (text[n] == '\n');
    if (n) GR_TRY(read_line(t, path, line, text, n));
  }
  return GR_OK;
}

static gr_status compare(gr_trials *t, const char *dir, int number, const gr_json *j) {
  gr_text proposed = gr_text_make(t->arena), recorded = gr_text_make(t->arena);
  const char *metric = gr_json_get(j, "metric", GR_JSON_TEXT)->text;
  put_params(&proposed, t, t->lines[number]);
  gr_json_put(&recorded, gr_json_get(j, "params", GR_JSON_ARRAY));
  gr_text_printf(&proposed, ", %s", t->metric), gr_text_printf(&recorded, ", %s", metric);
  if (!strcmp(proposed.chars, recorded.chars)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                         "'%s/" GR_TRIALS_NAME "' is the record of another search: trial %d was "
                         "%s, and is %s here",
                         dir, number, recorded.chars, proposed.chars),
                 "give the arguments, the seed and the --jobs of that search to go on with it, or "
                 "another hydra.sweep.dir");
}

gr_status gr_trials_recorded(gr_trials *t, const char *dir, int number, bool *out) {
  const gr_json *j = dir && t->record ? t->record[number] : NULL;
  *out = j != NULL;
  if (!j) return GR_OK;
  GR_TRY(compare(t, dir, number, j));
  const gr_json *value = gr_json_get(j, "value", GR_JSON_FLOAT);
  t->ended[number] = true;
  t->all[number].value = value ? value->f : NAN;
  gr_trials_take_rungs(t, j, number);
  return GR_OK;
}

// ---- Printing --------------------------------------------------------------------

void gr_trials_print(const gr_trials *t) {
  printf("search: %s, %d trial%s, %d at a time, for %s\n", t->sampler->name, t->n, gr_text_s(t->n),
         t->at_once, t->metric);
  fflush(stdout);
}

void gr_trials_print_importance(const gr_trials *t) {
  double *share = GR_NEW(t->arena, double, t->search.n);
  gr_trial *past = GR_NEW(t->arena, gr_trial, t->n + 1);
  int n = 0, best = -1;
  for (int k = 0; k < t->n; k++)
    if (t->ended[k] && !isnan(t->all[k].value)) past[n++] = t->all[k];
  gr_search_importance(t->arena, &t->search, past, n, share);
  bool any = false;
  for (int i = 0; i < t->search.n; i++) any |= !isnan(share[i]);
  if (!any) return;
  printf(
      "importance (share of the variance of the trials' ranks that a parameter explains "
      "alone):\n");
  for (int shown = 0; shown < t->search.n; shown++, best = -1) {
    for (int i = 0; i < t->search.n; i++)
      if (share[i] >= 0 && (best < 0 || share[i] > share[best])) best = i;
    if (best < 0) return;
    printf("  %-32s %.2f\n", t->search.parameters[best].name, share[best]);
    share[best] = -1;
  }
}
