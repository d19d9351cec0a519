// results.c - writes training_results.json, the summary of a run.
#include <string.h>
#include "base/log.h"
#include "base/output.h"
#include "base/port.h"
#include "runtime/report/parts.h"

enum { MAX_EPOCHS = 256 << 20 };

static void key(gr_text *t, const char *name) {
  gr_text_json_line(t, "\n ");
  gr_text_json_key(t, name);
}

static void put_text(gr_text *t, const char *name, const char *value) {
  key(t, name);
  gr_text_json(t, value);
}

static void put_int(gr_text *t, const char *name, int64_t v) {
  key(t, name);
  gr_text_printf(t, "%lld", (long long)v);
}

static void put_float(gr_text *t, const char *name, double v) {
  key(t, name);
  gr_text_json_float(t, v);
}

static void put_metrics(gr_text *t, const gr_results *r) {
  key(t, "metrics");
  gr_text_put(t, "{");
  for (int i = 0; i < r->n_metrics; i++) {
    gr_text_json_key(t, r->metrics[i].name);
    gr_text_json_float(t, r->metrics[i].value);
  }
  gr_text_put(t, "}");
}

static void put_tables(gr_text *t, const gr_results *r) {
  if (!r->tables[0].n && !r->tables[1].n) return;
  key(t, "tables");
  gr_text_put(t, "{");
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < r->tables[k].n; i++) {
      if (i || (k && r->tables[0].n)) gr_text_put(t, ",\n  ");
      gr_text_json_key(t, r->tables[k].items[i].name);
      gr_table_json(t, &r->tables[k].items[i]);
    }
  gr_text_put(t, "}");
}

static void put_best(gr_text *t, const gr_results *r) {
  put_text(t, "best_metric", r->best_metric);
  if (!r->best_metric) return;
  put_float(t, "best_value", r->best_value);
  put_int(t, "best_epoch", r->best_epoch);
  put_int(t, "best_step", r->best_step);
  put_text(t, "best_checkpoint", r->best_checkpoint);
}

// Appends the lines of epochs.jsonl as one array, unchanged.
static gr_status put_history(gr_arena *a, gr_text *t, const char *path) {
  char *text = "";
  size_t len = 0;
  if (gr_is_file(path)) GR_TRY(gr_file_read(a, path, MAX_EPOCHS, &text, &len));
  key(t, "history");
  gr_text_put(t, "[");
  for (size_t n, offset = 0; offset < len; offset += n + 1) {
    n = strcspn(text + offset, "\n");
    gr_text_put(t, offset ? ",\n  " : "\n  ");
    gr_text_putn(t, text + offset, n);
  }
  gr_text_put(t, "]");
  return GR_OK;
}

static gr_status write_all(gr_arena *a, const char *dir, const char *epochs, const gr_results *r) {
  gr_text t = gr_text_make(a);
  gr_text_put(&t, "{");
  put_text(&t, "model", r->model);
  put_text(&t, "ended", r->ended);
  put_int(&t, "exit_code", r->exit_code);
  put_text(&t, "backend", r->backend);
  put_text(&t, "device", r->device);
  put_int(&t, "gpu_count", r->gpus);
  put_int(&t, "ranks", r->ranks);
  put_int(&t, "parameters", r->parameters);
  put_int(&t, "trainable_parameters", r->trainable);
  put_int(&t, "epochs", r->epochs);
  put_int(&t, "steps", r->steps);
  put_float(&t, "final_loss", r->final_loss);
  put_best(&t, r);
  put_metrics(&t, r);
  put_tables(&t, r);
  put_float(&t, "total_seconds", r->total_seconds);
  put_float(&t, "total_step_seconds", r->total_step_seconds);
  put_float(&t, "total_data_seconds", r->total_data_seconds);
  put_float(&t, "total_minutes", r->total_seconds / 60);
  put_float(&t, "started", r->started);
  put_float(&t, "finished", gr_wall_seconds());
  GR_TRY(put_history(a, &t, epochs));
  put_text(&t, "config_hash", r->config_hash);
  put_text(&t, "identity", r->identity);
  put_text(&t, "resumed_from", r->resumed_from);
  key(&t, "config");
  gr_text_put(&t, r->config ? r->config : "null");
  const char *missing = gr_other_names_put(a, &r->other_names, &t);
  if (missing && !r->exit_code)
    gr_log(GR_WARN, "logging.results: " GR_RESULTS_NAME " has no value '%s'", missing);
  gr_text_put(&t, "\n}\n");
  return gr_report_dir_hint(gr_output_write(dir, GR_RESULTS_NAME, t.chars, t.len));
}

gr_status gr_results_write(const char *dir, const char *epochs, const gr_results *r) {
  gr_arena *a = gr_arena_create();
  return gr_arena_end(a, write_all(a, dir, epochs, r));
}
