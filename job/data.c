// data.c - see data.h.
#include "job/data.h"
#include "compose/override/override.h"
#include "compose/schema/schema.h"
#include "job/kept.h"
#include "job/parts.h"
#include "runtime/data/chosen.h"

enum { MAX_RECORD = 64 << 20 };  // bytes of data.json

// ---- What is expected ---------------------------------------------------------------------------

// data.expect, or NULL.
static gr_conf *find_expect(gr_conf *conf) {
  gr_conf *c = gr_conf_find(conf, "data.expect");
  return c && c->kind != GR_CONF_NULL ? c : NULL;
}

static bool plans(const gr_args *args) { return args->command && args->command->plans; }
bool gr_job_is_expected(const gr_args *args, const gr_run_spec *spec) {
  return plans(args) && find_expect(spec->conf);
}

// Whether an argument sets a key that changes the data, of those below a node.
static bool is_given(gr_arena *arena, const gr_conf *c) {
  if (c->kind != GR_CONF_MAP || !c->n)
    return gr_override_is_place(c->loc) && !gr_schema_is_neutral(gr_conf_path(arena, c));
  bool given = false;
  for (int i = 0; i < c->n; i++) given |= is_given(arena, c->items[i]);
  return given;
}

static void take_record(gr_arena *arena, const gr_args *args, gr_conf *data) {
  const char *path = gr_arena_printf(arena, "%s/data.json", args->kept->dir);
  if (!gr_is_file(path)) return;
  gr_conf *expect = gr_conf_make(arena, GR_CONF_TEXT, GR_NOWHERE);
  expect->text = path;
  gr_conf_put(arena, data, "expect", expect);
}

bool gr_job_settle_expect(gr_arena *arena, const gr_args *args, gr_run_spec *spec) {
  gr_conf *data = gr_conf_find(spec->conf, "data"), *written;
  if (args->kept && plans(args) && data) take_record(arena, args, data);
  gr_conf *expect = find_expect(spec->conf);
  if (!expect || gr_override_is_place(expect->loc) || !is_given(arena, data)) return false;
  expect->kind = GR_CONF_NULL, expect->n = 0;
  written = gr_conf_find(spec->written, "data.expect");
  if (written) written->kind = GR_CONF_NULL, written->n = 0;
  return true;
}

// ---- Opening ------------------------------------------------------------------------------------

// Without samples there is no batch: micro-steps divide minibatches of rows alone.
gr_status gr_job_follow_data(gr_arena *arena, gr_run_spec *spec) {
  gr_batch_settings *s = &spec->set.options.batch;
  bool trains = spec->kind == GR_RUN_TRAIN;
  if (trains && spec->contract->ops->empty) s->micro_batches = (int)s->accumulate;
  return gr_batch_take(arena, spec);
}

// A plan alone is made from what is declared, if anything is.
static gr_status take_expected(gr_arena *arena, gr_run_spec *spec, gr_conf *data, gr_conf *expect) {
  gr_contract *c = GR_NEW(arena, gr_contract, 1);
  const gr_source_ops *ops;
  gr_conf_mark(data);
  GR_TRY(gr_source_read(arena, data, &ops));
  GR_TRY(gr_contract_read(arena, expect, ops, c));
  spec->contract = c;
  return gr_job_follow_data(arena, spec);
}

static gr_status open_trained(gr_arena *arena, const gr_args *args, gr_run_spec *spec,
                              gr_conf *data) {
  gr_conf *expect = find_expect(spec->conf);
  gr_text record = gr_text_make(arena);
  if (gr_job_is_expected(args, spec)) return take_expected(arena, spec, data, expect);
  GR_TRY(gr_dataset_open(data, gr_schema_doc, &spec->data));
  spec->contract = gr_dataset_contract(spec->data);
  gr_dataset_json(spec->data, &record);
  if (expect) GR_TRY(gr_contract_compare(arena, expect, record.chars));
  GR_TRY(gr_job_follow_data(arena, spec));
  return gr_dataset_check_splits(spec->data);
}

static gr_status open_any(gr_arena *arena, const gr_args *args, gr_run_spec *spec) {
  gr_conf *data = gr_conf_find(spec->conf, "data");
  if (!data) data = gr_conf_make(arena, GR_CONF_MAP, spec->conf->loc);
  if (spec->kind == GR_RUN_TRAIN) return open_trained(arena, args, spec, data);
  const char *const *inputs = spec->kind == GR_RUN_PREDICT ? args->words : NULL;
  const char *path = gr_arena_printf(arena, "%s/data.json", args->config);
  char *record = NULL;
  gr_conf *expect = find_expect(spec->conf);
  if (expect) gr_conf_mark(expect);  // of the training data: these may be others
  if (gr_is_file(path)) GR_TRY(gr_file_read(arena, path, MAX_RECORD, &record, NULL));
  GR_TRY(gr_dataset_open_kept(data, gr_schema_doc, record, inputs, args->n_words, &spec->data));
  spec->contract = gr_dataset_contract(spec->data);
  return gr_job_follow_data(arena, spec);
}

// Ranks log what is skipped themselves, in the run's log.
gr_status gr_job_open_data(gr_arena *arena, const gr_args *args, gr_run_spec *spec) {
  gr_status s = open_any(arena, args, spec);
  bool starts = args->command && args->command->starts;
  if (spec->data && (s || !starts)) gr_dataset_log_skipped(spec->data);
  return s;
}
