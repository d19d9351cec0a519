// data.c - see data.h.
#include "job/data.h"
#include "compose/override/override.h"
#include "compose/schema/schema.h"
#include "job/kept.h"

enum { MAX_RECORD = 64 << 20 };  // bytes of data.json

// ---- What is expected ---------------------------------------------------------------------------

// data.expect, or NULL.
static gr_conf *find_expect(gr_conf *conf) {
  gr_conf *c = gr_conf_find(conf, "data.expect");
  return c && c->kind != GR_CONF_NULL ? c : NULL;
}

static bool plans(const gr_job *j) { return j->args.command && j->args.command->plans; }
bool gr_job_is_expected(gr_job *j) { return plans(j) && find_expect(j->spec.conf); }

// Whether an argument sets a key that changes the data, of those below a node.
static bool is_given(const gr_job *j, const gr_conf *c) {
  if (c->kind != GR_CONF_MAP || !c->n)
    return gr_override_is_place(c->loc) && !gr_schema_is_neutral(gr_conf_path(j->arena, c));
  bool given = false;
  for (int i = 0; i < c->n; i++) given |= is_given(j, c->items[i]);
  return given;
}

static void take_record(gr_job *j, gr_conf *data) {
  const char *path = gr_arena_printf(j->arena, "%s/data.json", j->args.kept->dir);
  if (!gr_is_file(path)) return;
  gr_conf *expect = gr_conf_make(j->arena, GR_CONF_TEXT, GR_NOWHERE);
  expect->text = path;
  gr_conf_put(j->arena, data, "expect", expect);
}

void gr_job_settle_expect(gr_job *j) {
  gr_conf *data = gr_conf_find(j->spec.conf, "data"), *written;
  if (j->args.kept && plans(j) && data) take_record(j, data);
  gr_conf *expect = find_expect(j->spec.conf);
  if (!expect || gr_override_is_place(expect->loc) || !is_given(j, data)) return;
  expect->kind = GR_CONF_NULL, expect->n = 0;
  written = gr_conf_find(j->spec.written, "data.expect");
  if (written) written->kind = GR_CONF_NULL, written->n = 0;
}

// ---- Opening ------------------------------------------------------------------------------------

// Without samples there is no batch: micro-steps divide minibatches of rows alone.
void gr_job_follow_data(gr_job *j) {
  gr_batch_settings *s = &j->spec.set.options.batch;
  if (j->spec.contract->ops->empty) s->micro_batches = (int)s->accumulate;
}

// A plan alone is made from what is declared, if anything is.
static gr_status take_expected(gr_job *j, gr_conf *data, gr_conf *expect) {
  gr_contract *c = GR_NEW(j->arena, gr_contract, 1);
  const gr_source_ops *ops;
  gr_conf_mark(data);
  GR_TRY(gr_source_read(data, &ops));
  GR_TRY(gr_contract_read(j->arena, expect, ops, c));
  j->spec.contract = c;
  gr_job_follow_data(j);
  return GR_OK;
}

static gr_status open_trained(gr_job *j, gr_conf *data) {
  gr_conf *expect = find_expect(j->spec.conf);
  gr_text record = gr_text_make(j->arena);
  if (gr_job_is_expected(j)) return take_expected(j, data, expect);
  GR_TRY(gr_dataset_open(data, gr_schema_doc, &j->spec.data));
  j->spec.contract = gr_dataset_contract(j->spec.data);
  gr_dataset_json(j->spec.data, &record);
  if (expect) GR_TRY(gr_contract_compare(j->arena, expect, record.chars));
  gr_job_follow_data(j);
  return gr_dataset_check_splits(j->spec.data);
}

gr_status gr_job_open_data(gr_job *j) {
  gr_conf *data = gr_conf_find(j->spec.conf, "data");
  if (!data) data = gr_conf_make(j->arena, GR_CONF_MAP, j->spec.conf->loc);
  if (j->spec.kind == GR_RUN_TRAIN) return open_trained(j, data);
  const char *const *inputs = j->spec.kind == GR_RUN_PREDICT ? j->args.words : NULL;
  const char *path = gr_arena_printf(j->arena, "%s/data.json", j->args.config);
  char *record = NULL;
  if (gr_is_file(path)) GR_TRY(gr_file_read(j->arena, path, MAX_RECORD, &record, NULL));
  GR_TRY(gr_dataset_open_kept(data, gr_schema_doc, record, inputs, j->args.n_words, &j->spec.data));
  j->spec.contract = gr_dataset_contract(j->spec.data);
  return GR_OK;
}
