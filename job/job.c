// job.c - see job.h.
#include "job/job.h"
#include <string.h>
#include "base/log.h"
#include "compiler/adjust.h"
#include "compiler/model/model.h"
#include "compose/hydra/hydra.h"
#include "compose/schema/schema.h"
#include "job/checks.h"
#include "job/data.h"
#include "job/kept.h"
#include "job/parts.h"
#include "job/paths.h"
#include "job/samples_given.h"
#include "runtime/train/run.h"

// ---- Composing ----------------------------------------------------------------------------

// A sweep and a restart give their runs a folder by an argument that begins with this.
static bool is_given_folder(const gr_args *args) {
  for (int i = 0; i < args->argc; i++)
    if (!strncmp(args->argv[i], "++output.dir=", 13)) return true;
  return false;
}

static gr_status read_hydra(gr_job *j) {
  const gr_conf *dir = gr_conf_find(j->composed.hydra, "run.dir");
  const gr_conf *output = gr_conf_find(j->spec.conf, "output.dir");
  GR_TRY(gr_hydra_check(j->arena, j->composed.hydra, false));
  if (!dir || gr_hydra_builtin(dir)) return GR_OK;
  if (output && output->kind != GR_CONF_NULL && !is_given_folder(&j->args))
    gr_log(GR_WARN, "%s:%d:%d: 'hydra.run.dir' has no effect: output.dir is set", dir->loc.file,
           dir->loc.line, dir->loc.col);
  return gr_hydra_run_dir(j->arena, j->composed.hydra, &j->spec.run_dir);
}

// With --steps=N, of `graphrun hooks`, the data need not be there.
static gr_status find_paths(gr_job *j) {
  gr_status s =
      gr_paths_find(j->arena, j->args.kept, gr_job_is_expected(&j->args, &j->spec), j->spec.conf);
  bool optional = j->args.steps > 0;
  if (!optional || gr_status_code(s) != GR_ERR_DATA) return s;
  gr_status_drop(s);
  return GR_OK;
}

// The model's file, found and parsed, of a configuration that may have errors elsewhere; NULL: it
// has errors itself, which are reported later.
static gr_conf *find_model(gr_job *j, gr_conf *conf) {
  gr_conf *key = gr_conf_find(conf, "model.graph"), *graph = NULL;
  if (!key || key->kind != GR_CONF_TEXT) return NULL;
  gr_conf *root = gr_conf_make(j->arena, GR_CONF_MAP, conf->loc);
  gr_conf *model = gr_conf_make(j->arena, GR_CONF_MAP, conf->loc);
  gr_conf_put(j->arena, model, "graph", gr_conf_copy(j->arena, key));
  gr_conf_put(j->arena, root, "model", model);
  gr_status s = gr_paths_find(j->arena, j->args.kept, false, root);
  const char *path = s ? "" : gr_conf_find(root, "model.graph")->text;
  if (!s && !gr_is_onnx_path(path)) s = gr_conf_read(j->arena, path, &graph);
  if (s || (graph && !gr_model_file_is_one(graph))) graph = NULL;
  gr_status_drop(s);
  return graph;
}

// Names of model.params that the model has not: reported with all else that is wrong.
static gr_status check_params(gr_job *j) {
  gr_conf *conf = j->spec.conf, *graph = NULL;
  gr_conf *given = conf && conf->kind == GR_CONF_MAP ? gr_conf_find(conf, "model.params") : NULL;
  if (given && given->kind == GR_CONF_MAP) graph = find_model(j, conf);
  return graph ? gr_model_check_params(graph, given) : GR_OK;
}

static gr_run_kind kind_of(const gr_args *a) {
  return a->command ? a->command->kind : GR_RUN_TRAIN;
}

static bool starts(const gr_args *a) { return a->command && a->command->starts; }

static gr_status take_composed(gr_job *j) {
  const gr_hooks_settings *h = &j->spec.set.hooks;
  j->unexpected = gr_job_settle_expect(j->arena, &j->args, &j->spec);
  GR_TRY(gr_also(check_params(j), find_paths(j)));
  GR_TRY(gr_job_take(j, j->spec.conf));
  return gr_hooks_check_params(h->scripts, h->paths.n, h->params, h->n_params);
}

gr_status gr_job_compose(gr_arena *arena, const gr_args *args, gr_job *j) {
  *j = (gr_job){
      .arena = arena, .args = *args, .spec = {.plain = args->plain, .profile = args->profile}};
  const char *name = args->command ? args->command->name : "train";
  if (!args->config)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no configuration is given"),
                   "%s; `graphrun new NAME` makes a project with one", gr_samples_call(name));
  if (!args->kept && !args->config_dirs.n) GR_TRY(gr_samples_given(name, args->config));
  if (!gr_is_file(args->config) && !args->config_dirs.n)
    return gr_paths_no_config(arena, args->config);
  gr_compose_request r = {.path = args->config,
                          .config_dirs = args->config_dirs.list,
                          .n_config_dirs = args->config_dirs.n,
                          .overrides = args->overrides,
                          .n_overrides = args->n_overrides,
                          .known = gr_schema_takes};
  gr_status composed = gr_compose_checked(arena, &r, &j->composed, &j->spec.conf);
  if (composed) return gr_model_file_given(arena, gr_also(composed, check_params(j)), args->config);
  j->spec.written = j->composed.job;
  if (j->composed.hydra) GR_TRY(read_hydra(j));
  if (args->kept && !args->replay.step)
    gr_kept_adjust(arena, args->kept, kind_of(args) == GR_RUN_PREDICT, j->spec.conf);
  if (args->kept && args->command && args->command->uses_weights)
    gr_kept_warn(args->kept, j->spec.conf);
  if (args->kept) gr_kept_use_files(arena, args->kept, args->no_ema, j->spec.conf);
  return take_composed(j);
}

gr_status gr_job_check(gr_arena *arena, const gr_args *args, const gr_conf *conf) {
  gr_job j = {.arena = arena, .args = *args};
  j.args.command = NULL;  // no device is opened
  j.spec.conf = gr_conf_copy(arena, conf);
  GR_TRY(take_composed(&j));
  return gr_check_metric_named(arena, j.spec.conf, j.graph, &j.spec.set);
}

gr_status gr_job_compose_kept(gr_arena *arena, const gr_args *args, gr_job *j) {
  gr_args copy = *args;
  gr_kept_run *kept = GR_NEW(arena, gr_kept_run, 1);
  *j = (gr_job){.arena = arena, .args = *args};
  GR_TRY(gr_kept_find(arena, args->config, kept));
  copy.kept = kept, copy.config = kept->config;
  gr_status s = gr_job_compose(arena, &copy, j);
  j->args = *args;
  return s ? s : gr_job_set_kind(j);
}

gr_status gr_job_compose_either(gr_arena *arena, const gr_args *args, gr_job *j) {
  bool kept =
      args->config && gr_is_file(gr_arena_printf(arena, "%s/.hydra/config.yaml", args->config));
  return (kept ? gr_job_compose_kept : gr_job_compose)(arena, args, j);
}

// What a run was configured for matters to its training, not to who uses its weights elsewhere.
static bool trains(const gr_job *j) { return kind_of(&j->args) == GR_RUN_TRAIN; }

gr_status gr_job_take(gr_job *j, gr_conf *conf) {
  j->spec.conf = conf;
  GR_TRY(gr_settings_read(j->arena, j->spec.conf, 0, &j->spec.set));
  gr_loc device_at = gr_conf_find(j->spec.conf, "device")->loc;
  GR_TRY((starts(&j->args) ? gr_device_find : gr_device_guess)(j->spec.set.ranks.device, device_at,
                                                               &j->spec.device));
  const gr_effects e = {.conf = conf, .set = &j->spec.set, .gpu = j->spec.device->gpu};
  if (trains(j)) GR_TRY(gr_effects_check(j->arena, &e));
  GR_TRY(gr_batch_check(&j->spec, j->spec.set.options.sharding.data_ranks));
  if (!j->spec.set.model.graph)
    return gr_hint(gr_fail(GR_ERR_CONFIG, j->spec.conf->loc, "model.graph is not given"),
                   "the model's file, such as graphs/lmu_asr.yaml");
  GR_TRY(gr_model_file_read(j->arena, j->spec.conf, &j->model));
  j->graph = j->model.graph;
  gr_model_file_weights(j->arena, &j->model, j->spec.conf, &j->spec.set.model);
  return GR_OK;
}

bool gr_job_guesses_gpus(const gr_job *j) {
  const gr_settings *s = &j->spec.set;
  return !j->args.ranks && !s->ranks.n && gr_device_is_per_rank(j->spec.device) &&
         !s->ranks.n_gpu_ids;
}

int gr_job_usual_ranks(const gr_job *j) {
  const gr_settings *s = &j->spec.set;
  if (j->args.ranks) return (int)j->args.ranks;
  if (s->ranks.n) return s->ranks.n;
  if (gr_device_is_per_rank(j->spec.device)) return s->ranks.n_gpu_ids ? s->ranks.n_gpu_ids : 1;
  return gr_processors() > 1 ? 2 : 1;
}

static const char *failing_device(const gr_job *j) {
  const gr_device_ops *d = gr_device_failing(j->spec.set.ranks.device);
  if (!d) return NULL;
  return gr_arena_printf(
      j->arena,
      "device=auto takes the CPU: the driver of device=%s fails, and a run with that says how",
      d->name);
}

int gr_job_differences(gr_job *j, int ranks, int devices, const char *out[GR_JOB_DIFFERENCES]) {
  const gr_effects e = {j->spec.conf, &j->spec.set, devices > 0, ranks};
  int n = gr_effects_differences(&e, out);
  const char *failing = failing_device(j);
  if (failing) out[n++] = failing;
  for (int i = 0; trains(j) && i < j->composed.n_compat; i++) out[n++] = j->composed.compat[i];
  if (trains(j) && j->unexpected)
    out[n++] =
        "data.expect is not used: arguments choose other data than the configuration declares";
  return trains(j) ? n + gr_effects_list(j->arena, &e, out + n) : n;
}

// ---- What the ranks do -----------------------------------------------------------------------

static gr_status read_split(gr_job *j) {
  const char *split = j->args.split ? j->args.split : "validation";
  bool all = !strcmp(split, "all");
  gr_weights_spec *w = &j->spec.weights;
  w->train = all || !strcmp(split, "train") || !strcmp(split, "training");
  w->validation = all || !strcmp(split, "validation");
  if (w->train || w->validation) return GR_OK;
  return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--split must be validation, train or all, but is '%s'",
                 split);
}

gr_status gr_job_set_kind(gr_job *j) {
  j->spec.kind = kind_of(&j->args);
  static const char *fuse = "fuse";  // on CPUs without it: the same bits, and all values are stored
  if (trains(j) && !j->args.replay.step) return GR_OK;
  if (trains(j) && !j->spec.device->gpu) j->args.without = (gr_words){&fuse, 1};
  j->spec.weights = (gr_weights_spec){.run = j->args.config,
                                      .which = j->args.which ? j->args.which : "best",
                                      .out = j->args.out,
                                      .tokens = j->args.tokens,
                                      .replay = j->args.replay,
                                      .json = j->args.json};
  return read_split(j);
}

// ---- Shapes and parameters from the data ----------------------------------------------------

// The batch tensors of a bucket, for batches of `rows` over all ranks.
static void bind_bucket(gr_job *j, int bucket, int rows, gr_bucket *out) {
  gr_batch shapes;
  gr_contract_shapes(j->spec.contract, bucket, rows, &shapes);
  gr_batch_tensor *batch = GR_NEW(j->arena, gr_batch_tensor, shapes.n_fields);
  for (int i = 0; i < shapes.n_fields; i++)
    batch[i] = (gr_batch_tensor){shapes.field[i].name, shapes.field[i].type};
  *out = (gr_bucket){.name = gr_contract_bucket_name(j->arena, j->spec.contract, bucket),
                     .batch = batch,
                     .n_batch = shapes.n_fields};
}

// Binds every input of every program to its source.
static gr_status bind_inputs(gr_job *j) {
  const gr_contract *c = j->spec.contract;
  int n = c->n_buckets;
  j->spec.inputs = GR_NEW(j->arena, gr_program_inputs, j->spec.plan->n_programs);
  for (uint32_t i = 0; i < j->spec.plan->n_programs; i++) {
    const gr_program *p = &j->spec.plan->programs[i];
    gr_batch shapes;
    int b = 0;
    while (b < n && strcmp(gr_contract_bucket_name(j->arena, c, b), p->bucket)) b++;
    if (b < n) gr_contract_shapes(c, b, gr_rows_of(&j->spec.set.options.batch, b), &shapes);
    GR_TRY(gr_program_inputs_bind(j->arena, p, b < n ? &shapes : NULL, j->spec.adjust,
                                  j->spec.n_adjust, &j->spec.inputs[i]));
  }
  return GR_OK;
}

// Metadata of the data (symbols, mels) sets the model's parameters of the same name; a
// configuration that sets a different value is an error.
static gr_status bind_metadata(gr_job *j, gr_conf *graph, const char *key, gr_conf **out) {
  gr_conf *given = gr_conf_find(j->spec.conf, key), *declared;
  gr_conf *params = given && given->kind == GR_CONF_MAP
                        ? gr_conf_copy(j->arena, given)
                        : gr_conf_make(j->arena, GR_CONF_MAP, j->spec.conf->loc);
  const gr_metadata *metadata = j->spec.contract->metadata;
  int n = j->spec.contract->n_metadata;
  declared = graph->kind == GR_CONF_MAP ? gr_conf_member(graph, "params") : NULL;
  if (given) gr_conf_mark(given);  // the model builder checks these names
  for (int i = 0; i < n && declared && declared->kind == GR_CONF_MAP; i++) {
    if (!gr_conf_member(declared, metadata[i].name)) continue;
    gr_conf *said = gr_conf_member(params, metadata[i].name);
    if (said && (said->kind != GR_CONF_INT || said->integer != metadata[i].value))
      return gr_hint(gr_fail(GR_ERR_CONFIG, said->loc, "%s.%s is not %lld, the value of the data",
                             key, metadata[i].name, (long long)metadata[i].value),
                     "remove it: it is taken from the data");
    if (said) continue;
    gr_conf_put(j->arena, params, metadata[i].name,
                gr_conf_make_int(j->arena, metadata[i].value, declared->loc));
  }
  *out = params;
  return GR_OK;
}

// Fails for every key that nothing has read: a key without effect is an error, but for those of
// effects.def, of which the run prints lines. Called last, when all readers have run.
static gr_status check_unread(gr_job *j) {
  const char *lines[GR_MAX_EFFECTS];
  const gr_effects e = {j->spec.conf, &j->spec.set, false, 1};
  gr_effects_list(j->arena, &e, lines);  // marks the keys
  return gr_conf_unread(j->arena, j->spec.conf);
}

// The settings again, with what depends on the number of ranks and the device.
gr_status gr_job_read(gr_job *j, int ranks) {
  gr_options *o = &j->spec.set.options;
  GR_TRY(gr_settings_read(j->arena, j->spec.conf, ranks, &j->spec.set));
  gr_model_file_weights(j->arena, &j->model, j->spec.conf, &j->spec.set.model);
  if (j->spec.contract) GR_TRY(gr_job_follow_data(j->arena, &j->spec));
  GR_TRY(gr_batch_check(&j->spec, o->sharding.data_ranks));
  o->gpu = j->spec.device->gpu, o->reserved = j->spec.device->reserved;
  o->debug = (gr_debug_options){.dump = j->args.dump,
                                .stop_after = j->args.stop_after,
                                .dump_to = stdout,
                                .without = j->args.without.list,
                                .n_without = j->args.without.n,
                                .counts = j->args.counts};
  gr_precision_derive(j->arena, j->spec.conf, o->gpu, &o->precision);
  return gr_list_adjustable(j->arena, &o->optimizer, &j->spec.adjust, &j->spec.n_adjust);
}

gr_status gr_job_open(gr_job *j, int ranks) {
  GR_TRY(gr_job_read(j, ranks));
  return gr_job_open_data(j->arena, &j->args, &j->spec);
}

// An error about an input of the model: the data set knows which of its keys make it another.
static gr_status advise(const gr_job *j, gr_status s) {
  const char *about = s ? gr_status_about(s) : NULL;
  const char *advice = about && j->spec.data ? gr_dataset_advice(j->spec.data, about) : NULL;
  return advice ? gr_hint(s, "%s", advice) : s;
}

gr_status gr_job_request(gr_job *j, int ranks, gr_plan_request *out) {
  gr_conf *params = NULL;
  if (!j->spec.contract) GR_TRY(gr_job_open(j, ranks));
  GR_TRY(gr_batch_check(&j->spec, j->spec.set.options.sharding.data_ranks));
  gr_model_teacher *teacher;
  GR_TRY(bind_metadata(j, j->graph, "model.params", &params));
  GR_TRY(gr_generation_bind(j->arena, j->spec.conf, j->graph, j->args.tokens, params));
  GR_TRY(gr_teacher_open(j->arena, j->spec.conf, &j->spec.set, &teacher));
  if (teacher) GR_TRY(bind_metadata(j, teacher->graph, "model.teacher.params", &teacher->params));
  const gr_options *o = &j->spec.set.options;
  int n = j->spec.contract->n_buckets, parts = gr_batch_parts(&o->sharding);
  gr_bucket *buckets = GR_NEW(j->arena, gr_bucket, n + 1);
  for (int i = 0; i < n; i++) bind_bucket(j, i, gr_rows_of(&o->batch, i) * parts, &buckets[i]);
  gr_conf *vars = gr_conf_find(j->spec.conf, "vars");
  if (vars) gr_conf_mark(vars);  // used by interpolations, which are already resolved
  const gr_model_program *programs;
  GR_TRY(gr_phases_read(j->arena, j->graph, &j->spec, &programs));
  GR_TRY(check_unread(j));
  if (!j->blocks) GR_TRY(gr_model_blocks(j->arena, j->graph, teacher, &j->blocks));
  gr_conf_mark(j->blocks);
  *out = (gr_plan_request){.model = {.graph = j->graph,
                                     .params = params,
                                     .blocks = j->blocks,
                                     .seed = (uint64_t)j->spec.set.loop.seed,
                                     .mesh = o->sharding.mesh,
                                     .adapters = o->optimizer.adapters,
                                     .n_adapters = o->optimizer.n_adapters,
                                     .teacher = teacher,
                                     .norm_groups = o->sharding.sync_batchnorm ? 1 : parts,
                                     .by_rank = o->batch.loss_norm == gr_loss_norm_local},
                           .options = *o,
                           .buckets = buckets,
                           .n_buckets = n,
                           .programs = programs,
                           .n_programs = j->spec.n_programs,
                           .train = j->spec.kind == GR_RUN_TRAIN,
                           .eval = true,
                           .threads = j->compilers};
  memcpy(out->model.batch_axis, o->sharding.batch_axis, sizeof out->model.batch_axis);
  return GR_OK;
}

gr_status gr_job_take_plan(gr_job *j, gr_status built) {
  GR_TRY(advise(j, built));
  GR_TRY(bind_inputs(j));
  GR_TRY(gr_tables_check(j->spec.plan, j->spec.contract));
  GR_TRY(gr_lookups_check(j->arena, &j->spec));
  GR_TRY(gr_phases_count(&j->spec));
  return gr_check_plan(j->arena, &j->spec);
}

gr_status gr_job_plan(gr_job *j, int ranks) {
  gr_plan_request r;
  GR_TRY(gr_job_request(j, ranks, &r));
  return gr_job_take_plan(j, gr_plan_build(j->arena, &r, &j->spec.plan));
}

void gr_job_close(gr_job *j) {
  gr_dataset_close(j->spec.data);
  j->spec.data = NULL, j->spec.contract = NULL;
}
