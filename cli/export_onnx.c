// export_onnx.c - see export_onnx.h.
#include "cli/export_onnx.h"
#include <string.h>
#include "base/output.h"
#include "compiler/onnx/onnx.h"
#include "job/job.h"
#include "job/kept.h"
#include "job/version.h"
#include "runtime/launch/launch.h"

enum { MAX_RECORD = 64 << 20 };  // bytes of data.json

// ---- States -------------------------------------------------------------------------------------

typedef struct source {
  gr_arena *arena;
  gr_checkpoint *checkpoint;
  gr_map averages;  // of weights, by GR_CHECKPOINT_EMA; empty: the weights themselves are read
  const gr_dataset *data;
  int n;
} source;

static gr_status read_table(const source *origin, const gr_value *v, void *to) {
  gr_data_table all[GR_MAX_TABLES];
  const char *dot = strrchr(v->name, '.'), *name = dot ? dot + 1 : v->name;
  for (int i = 0, n = gr_dataset_tables(origin->data, all); i < n; i++) {
    if (strcmp(all[i].name, name) != 0 || !gr_type_same(&all[i].type, &v->type)) continue;
    memcpy(to, all[i].data, gr_type_bytes(&v->type));
    return GR_OK;
  }
  return gr_fail(GR_ERR_CONFIG, v->loc, "the data have no table '%s' of this shape", name);
}

static gr_status read_state(void *ctx, const gr_value *v, void *to) {
  source *origin = ctx;
  origin->n++;
  if (v->kind == GR_KIND_TABLE) return read_table(origin, v, to);
  const char *average = gr_checkpoint_ema_of(origin->arena, &origin->averages, v->name);
  gr_tensor_slice slice = gr_tensor_slice_whole(
      average ? average : v->name, gr_dtypes[v->type.dtype].name, v->type.rank, v->type.dim, to);
  return gr_checkpoint_read(origin->checkpoint, &slice);
}

// ---- What is exported ---------------------------------------------------------------------------

// The program of that name, or the one to take where none is named.
static gr_status choose_program(gr_job *j, const char *name, gr_model_program *out) {
  const char **names;
  int n = gr_model_program_names(j->arena, j->graph, &names);
  bool known = !name;
  for (int i = 0; i < n; i++) known |= name && !strcmp(names[i], name);
  if (!known) {
    const char *near = gr_text_nearest(name, names, n);
    gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "the model has no program '%s'", name);
    return near ? gr_hint(s, "did you mean '%s'?", near)
                : gr_hint(s, "it has: %s", gr_text_names(j->arena, names, n));
  }
  bool predicts = gr_conf_member(j->graph, "predict");
  for (int i = 0; i < n && !name && !predicts; i++)
    if (gr_model_program_inputs(j->graph, names[i])) name = names[i];
  if (!name) name = gr_model_eval;
  if (strcmp(name, gr_model_eval) != 0 && !gr_model_program_inputs(j->graph, name))
    return gr_hint(
        gr_fail(GR_ERR_USAGE, gr_model_program_loc(j->graph, name),
                "the program '%s' cannot be exported: it has no inputs of its own", name),
        "docs/graph-language.md: a program with `inputs:` and `results:`, or `predict:`");
  return gr_model_program_read(j->arena, j->graph, name, out);
}

// The shapes of the last bucket: those of the longest samples.
static gr_status trace(gr_job *j, const char *name, source *origin, gr_onnx_graph **out) {
  gr_plan_request r;
  gr_model_program program;
  GR_TRY(choose_program(j, name, &program));
  GR_TRY(gr_job_request(j, 1, &r));
  gr_model_request m = r.model;
  const gr_bucket *last = &r.buckets[r.n_buckets - 1];
  m.program = &program, m.norm_groups = 1;
  m.mesh = (gr_mesh){0};
  if (!gr_model_program_inputs(j->graph, program.name))
    m.batch = last->batch, m.n_batch = last->n_batch;
  origin->data = j->spec.data;
  return gr_onnx_trace(j->arena, &m, out);
}

// ---- Writing ------------------------------------------------------------------------------------

// The model's file, and the one beside it for the weights, or NULL.
static gr_status write_files(gr_onnx_model *m, const char *path, const char *beside) {
  gr_output *model = NULL, *weights = NULL;
  gr_status s = beside ? gr_output_open(NULL, beside, &weights) : GR_OK;
  if (!s) s = gr_output_open(NULL, path, &model);
  if (!s && beside) {
    const char *slash = strrchr(beside, '/');
    m->beside = gr_output_stream(weights), m->beside_name = slash ? slash + 1 : beside;
  }
  if (!s) s = gr_onnx_file(m, gr_output_stream(model));
  return gr_output_close_both(weights, model, s);
}

// *out: the run's data.json; NULL: it has none.
static gr_status read_record(gr_job *j, char **out) {
  const char *data = gr_arena_printf(j->arena, "%s/data.json", j->args.config);
  *out = NULL;
  return gr_is_file(data) ? gr_file_read(j->arena, data, MAX_RECORD, out, NULL) : GR_OK;
}

// *out: how the input x is made of a file, with the statistics of the checkpoint; NULL: the model
// reads no x, or as it is.
static gr_status read_preprocessing(gr_job *j, const source *origin, const gr_onnx_graph *g,
                                    char **out) {
  const gr_onnx_value *x = g->inputs;
  gr_text text = gr_text_make(j->arena);
  int n;
  const gr_scalar *all = gr_checkpoint_scalars(origin->checkpoint, &n);
  *out = NULL;
  while (x && strcmp(x->name, "x") != 0) x = x->next;
  if (!x || !j->spec.data) return GR_OK;
  for (int i = 0; i < n; i++)
    if (!strcmp(all[i].name, "run.data") && all[i].kind == GR_SCALAR_TEXT)
      GR_TRY(gr_dataset_restore(j->spec.data, all[i].text));
  gr_dataset_preprocessing(j->spec.data, &text);
  if (text.len) *out = text.chars;
  return GR_OK;
}

static gr_status write_model(gr_job *j, const char *path, const char *beside, source *origin,
                             const gr_onnx_graph *g, const char *record, const char *x) {
  gr_text config = gr_text_make(j->arena);
  gr_conf_json_written(&config, j->spec.conf, 0);
  gr_onnx_property all[5] = {
      {"graphrun.version", gr_version_number},
      {"graphrun.step",
       gr_arena_printf(j->arena, "%lld", (long long)gr_checkpoint_step(origin->checkpoint))},
      {"graphrun.config", config.chars}};
  int n = 3;
  if (record) all[n++] = (gr_onnx_property){"graphrun.data", record};
  if (x) all[n++] = (gr_onnx_property){"graphrun.preprocessing", x};
  gr_onnx_model m = {.graph = g,
                     .version = gr_version_number,
                     .properties = all,
                     .n_properties = n,
                     .read = read_state,
                     .ctx = origin};
  return write_files(&m, path, beside);
}

// "x f32[n,t,80], lengths i32[n]"
static void print_values(gr_arena *a, const char *what, const gr_onnx_value *v) {
  gr_text t = gr_text_make(a);
  for (; v; v = v->next) {
    gr_text_printf(&t, "%s%s %s[", t.len ? ", " : "", v->name, gr_dtypes[v->type.dtype].name);
    for (int d = 0; d < v->type.rank; d++) {
      gr_text_put(&t, d ? "," : "");
      if (v->type.dim[d] >= 0)
        gr_text_put_int(&t, v->type.dim[d]);
      else
        gr_text_put(&t, v->letter[d] ? v->letter[d] : "?");
    }
    gr_text_put(&t, "]");
  }
  printf("  %-7s  %s\n", what, t.len ? t.chars : "none");
}

static gr_status export(gr_job *j, const gr_args *args, const gr_onnx_export *e, source *origin) {
  gr_onnx_graph *g = NULL;
  char *record = NULL, *before = NULL;
  const char *path = args->words[0], *beside = NULL;
  bool averages = !args->no_ema && j->spec.set.options.optimizer.ema_decay.given;
  GR_TRY(gr_kept_checkpoint(j->arena, args->config, args->which, &origin->checkpoint));
  origin->arena = j->arena;
  origin->averages =
      averages ? gr_checkpoint_emas(j->arena, origin->checkpoint) : gr_map_make(j->arena);
  gr_work work;
  gr_work_begin(&work, gr_launch_work_shown(), "writing the model", 0);
  gr_status s = trace(j, e->program, origin, &g);
  if (!s && (e->beside || !gr_onnx_fits(g))) beside = gr_arena_printf(j->arena, "%s.data", path);
  if (!s) s = read_record(j, &record);
  if (!s) s = read_preprocessing(j, origin, g, &before);
  s = s ? s : write_model(j, path, beside, origin, g, record, before);
  gr_work_end(&work);
  if (s) return s;
  printf("%s: %d nodes of ONNX's operator set %d, %d tensors, of %s\n", path, g->n_nodes,
         GR_ONNX_OPSET, origin->n, gr_checkpoint_path(origin->checkpoint));
  print_values(j->arena, "inputs", g->inputs);
  print_values(j->arena, "outputs", g->outputs);
  if (before) printf("  x        is made before, which the file does not do: %s\n", before);
  if (beside) printf("  weights  %s\n", beside);
  return GR_OK;
}

gr_status gr_export_onnx(gr_arena *arena, const gr_args *args, const gr_onnx_export *e) {
  gr_args of_job = *args;
  of_job.n_words = 0;  // the file is none of the data's
  gr_job j = {.arena = arena, .args = of_job};
  source origin = {0};
  GR_TRY(gr_onnx_available());
  gr_status s = gr_job_compose_kept(arena, &of_job, &j);
  if (!s) s = export(&j, args, e, &origin);
  gr_checkpoint_close(origin.checkpoint);
  gr_job_close(&j);
  return s;
}
