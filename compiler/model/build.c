// build.c - builds a graph from a model's file: parameters, inputs, nodes in order, results.
#include <string.h>
#include "compiler/model/reuse.h"

static const char *const sections[] = {"doc",     "params",   "inputs", "blocks", "checks",
                                       "buffers", "nodes",    "next",   "train",  "metrics",
                                       "predict", "programs", "sums",   "report", "parts"};

// ---- Parameters -----------------------------------------------------------------

static gr_status unknown_params(gr_conf *declared, gr_conf *given) {
  if (!given) return GR_OK;
  GR_TRY(gr_model_expect(given, GR_CONF_MAP, "model.params"));
  return gr_model_keys(given, "the model", declared ? declared->keys : NULL,
                       declared ? declared->n : 0);
}

gr_status gr_model_check_params(gr_conf *file, gr_conf *given) {
  gr_conf *declared = file->kind == GR_CONF_MAP ? gr_conf_member(file, "params") : NULL;
  gr_status s = unknown_params(declared && declared->kind == GR_CONF_MAP ? declared : NULL, given);
  return gr_note(s, declared ? declared->key_loc : file->loc, "the model's params");
}

// The kind of a parameter's values: that of its default, or of what an expression there gives, such
// as the name of another parameter.
static gr_conf_kind kind_of(gr_build_context *a, const gr_conf *default_value) {
  static const gr_conf_kind kinds[] = {[GR_ARG_INT] = GR_CONF_INT,
                                       [GR_ARG_FLOAT] = GR_CONF_FLOAT,
                                       [GR_ARG_BOOL] = GR_CONF_BOOL,
                                       [GR_ARG_TEXT] = GR_CONF_TEXT,
                                       [GR_ARG_UNSET] = GR_CONF_TEXT};
  gr_arg x;
  if (default_value->kind != GR_CONF_TEXT) return default_value->kind;
  gr_status s = gr_model_arg(a, default_value, true, &x);
  if (!s) return kinds[x.kind];
  gr_status_drop(s);
  return GR_CONF_TEXT;
}

static gr_status check_kind(gr_build_context *a, const char *name, const gr_conf *default_value,
                            const gr_conf *given) {
  gr_conf_kind kind = kind_of(a, default_value);
  if (kind == given->kind || kind == GR_CONF_MISSING) return GR_OK;
  if (kind == GR_CONF_FLOAT && given->kind == GR_CONF_INT) return GR_OK;
  gr_status s = gr_fail(GR_ERR_CONFIG, given->loc, "model.params.%s is %s, found %s", name,
                        gr_model_kind(kind), gr_model_kind(given->kind));
  return gr_hint(gr_note(s, default_value->key_loc, "its default"), "give %s, as its default is",
                 gr_model_kind(kind));
}

static gr_status param(gr_build_context *a, const char *name, const gr_conf *default_value,
                       gr_conf *given) {
  gr_arg x;
  if (!strcmp(name, gr_model_training))
    return gr_fail(GR_ERR_CONFIG, default_value->key_loc,
                   "'training' is a constant: a parameter needs another name");
  if (gr_model_get(a, name))
    return gr_fail(GR_ERR_CONFIG, default_value->key_loc,
                   "the parameter '%s' has the name of a dimension", name);
  bool missing = (given ? given : default_value)->kind == GR_CONF_MISSING;
  if (missing)
    return gr_hint(gr_fail(GR_ERR_CONFIG, (given ? given : default_value)->loc,
                           "the parameter '%s' must be given", name),
                   "model.params.%s=...", name);
  if (given) GR_TRY(check_kind(a, name, default_value, given));
  if (given && given->kind == GR_CONF_TEXT)
    x = (gr_arg){.kind = GR_ARG_TEXT, .text = given->text};
  else
    GR_TRY(gr_model_arg(a, given ? given : default_value, true, &x));
  if (default_value->kind == GR_CONF_FLOAT)
    x = (gr_arg){.kind = GR_ARG_FLOAT, .f = gr_arg_number(&x)};
  gr_model_set(a, name, x);
  return GR_OK;
}

static gr_status open_params(gr_build_context *a, gr_conf *file) {
  gr_conf *declared = gr_conf_member(file, "params"), *given = a->request->params;
  if (declared) GR_TRY(gr_model_expect(declared, GR_CONF_MAP, "params:"));
  gr_model_letters(a, file);
  gr_status s = unknown_params(declared, given);
  for (int i = 0; declared && i < declared->n; i++)
    s = gr_also(s,
                param(a, declared->keys[i], declared->items[i],
                      given && given->kind == GR_CONF_MAP ? gr_conf_member(given, declared->keys[i])
                                                          : NULL));
  return s;
}

// ---- Programs -------------------------------------------------------------------

static const char *const keys[] = {"doc",  "nodes",  "loss",     "metrics",
                                   "next", "trains", "training", "over"};
static const char *const eval_keys[] = {"doc", "nodes", "loss", "metrics", "results", "sums"};
static const char *const own_input_keys[] = {"doc", "inputs", "nodes", "results"};

static gr_status check_program(gr_conf *map, int i) {
  const char *name = map->keys[i];
  bool eval = !strcmp(name, gr_model_eval);
  bool given = map->items[i]->kind == GR_CONF_MAP && gr_conf_member(map->items[i], "inputs");
  bool taken = !strcmp(name, "init") || !strcmp(name, "report") || !strcmp(name, "ema");
  if (taken || !gr_model_is_word(name))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, map->items[i]->key_loc, "a program cannot be called '%s'", name),
        "a name is letters, digits and _; init, report and ema are programs of every model");
  GR_TRY(gr_model_expect(map->items[i], GR_CONF_MAP, "a program"));
  char what[96];
  snprintf(what, sizeof what, "the program %.70s", name);
  if (given && !eval && strcmp(name, gr_model_train) != 0)
    return gr_model_keys(map->items[i], what, own_input_keys,
                         sizeof own_input_keys / sizeof *own_input_keys);
  return gr_model_keys(map->items[i], what, eval ? eval_keys : keys,
                       (int)(eval ? sizeof eval_keys : sizeof keys) / (int)sizeof *keys);
}

// Sets what the context knows of the program that is built.
static gr_status open_program(gr_build_context *a, gr_conf *file) {
  const gr_model_request *ask = a->request;
  bool trains = ask->purpose == GR_TRAIN || ask->purpose == GR_INIT;
  const char *name = trains ? gr_model_train : gr_model_eval;
  if (ask->program)
    a->built = *ask->program;
  else
    GR_TRY(gr_model_program_read(a->arena, file, name, &a->built));
  a->training = (gr_arg){.kind = GR_ARG_BOOL, .i = a->built.training};
  a->evaluates = !strcmp(a->built.name, gr_model_eval);
  a->own_inputs = gr_model_program_inputs(file, a->built.name);
  a->named = !a->evaluates && strcmp(a->built.name, gr_model_train) != 0;
  a->program = a->programs ? gr_conf_member(a->programs, a->built.name) : NULL;
  return GR_OK;
}

// Checks `programs:`, and opens the one that is built.
static gr_status find_program(gr_build_context *a, gr_conf *file) {
  gr_conf *map = gr_conf_member(file, "programs"), *short_form = gr_conf_member(file, "train");
  if (map) GR_TRY(gr_model_expect(map, GR_CONF_MAP, "programs:"));
  for (int i = 0; map && i < map->n; i++) GR_TRY(check_program(map, i));
  a->programs = map;
  GR_TRY(open_program(a, file));
  gr_conf *train = map ? gr_conf_member(map, gr_model_train) : NULL,
          *loss = train ? gr_conf_member(train, "loss") : NULL;
  if (!loss || !short_form) return GR_OK;
  return gr_note(gr_fail(GR_ERR_CONFIG, loss->key_loc, "the loss is named twice"),
                 short_form->key_loc, "here, in the short form");
}

static gr_conf *of_program(const gr_build_context *a, const char *key) {
  return a->program ? gr_conf_member(a->program, key) : NULL;
}

// Builds the file's nodes, then the program's, which see all of the file's names.
static gr_status run_all_nodes(gr_build_context *a, gr_conf *file) {
  gr_conf *common = gr_conf_member(file, "nodes"), *of_this = of_program(a, "nodes");
  if (!common && !of_this) return gr_fail(GR_ERR_CONFIG, file->loc, "the graph has no 'nodes:'");
  if (common) GR_TRY(gr_model_run_nodes(a, common));
  GR_TRY(gr_model_open_minibatch(a, file));
  return of_this ? gr_model_run_nodes(a, of_this) : GR_OK;
}

static gr_status set_buffers(gr_build_context *a, gr_conf *file) {
  gr_conf *buffers = gr_conf_member(file, "buffers");
  GR_TRY(gr_model_assign_buffers(a, gr_conf_member(file, "next"), buffers));
  GR_TRY(gr_model_assign_buffers(a, of_program(a, "next"), buffers));
  gr_model_link_buffers(a);
  return GR_OK;
}

// A named program counts its runs.
static gr_status count_runs(gr_build_context *a) {
  gr_builder *b = &a->root;
  if (!a->named || !gr_is(a->step)) return GR_OK;
  gr_val next = gr_add(b, a->step, gr_fill(b, &gr_at(b->g, a->step)->type, 1));
  if (!b->err) gr_at(b->g, a->step)->next = next;
  return gr_model_take_error(a);
}

static gr_status check_parts(const gr_conf *parts) {
  if (parts) GR_TRY(gr_model_expect(parts, GR_CONF_MAP, "parts:"));
  for (int i = 0; parts && i < parts->n; i++)
    GR_TRY(gr_model_expect(parts->items[i], GR_CONF_TEXT, "a pattern of parts"));
  return GR_OK;
}

// ---- Entry point ----------------------------------------------------------------

// What every program sees: parameters and blocks.
static gr_status open_file(gr_build_context *a, gr_conf *file) {
  GR_TRY(gr_model_expect(file, GR_CONF_MAP, "a graph"));
  GR_TRY(gr_model_keys(file, "a graph", sections, sizeof sections / sizeof *sections));
  a->frame = gr_model_frame(a, NULL, NULL, NULL);
  GR_TRY(find_program(a, file));
  GR_TRY(open_params(a, file));
  GR_TRY(gr_model_open_blocks(a, file));
  GR_TRY(check_parts(gr_conf_member(file, "parts")));
  return gr_model_checks(a, gr_conf_member(file, "checks"));
}

static gr_status run_file(gr_build_context *a) {
  gr_conf *file = a->request->graph;
  GR_TRY(open_file(a, file));
  GR_TRY(gr_model_inputs(a, file));
  GR_TRY(gr_model_open_buffers(a, file));
  gr_model_open_uses(a);
  GR_TRY(run_all_nodes(a, file));
  gr_model_close_uses(a);
  return GR_OK;
}

static gr_build_context context_of(gr_arena *arena, const gr_model_request *ask);

// The nodes of the teacher, if the program has one.
static gr_status run_teacher(gr_build_context *a) {
  gr_model_request *ask = GR_NEW(a->arena, gr_model_request, 1);
  gr_build_context *t = GR_NEW(a->arena, gr_build_context, 1);
  if (!gr_model_has_teacher(a)) return GR_OK;
  GR_TRY(gr_model_ask_teacher(a, ask));
  *t = context_of(a->arena, ask);
  t->root.g = a->root.g, t->path = t->prefix = gr_model_teacher_prefix;
  t->student = a, t->step = a->step;
  GR_TRY(gr_note(run_file(t), ask->graph->loc, "in the teacher"));
  a->step = t->step, a->teacher = t;
  return GR_OK;
}

static gr_status forward(gr_build_context *a) {
  gr_conf *file = a->request->graph;
  GR_TRY(run_file(a));
  GR_TRY(run_teacher(a));
  GR_TRY(gr_model_check_adapted(a));
  GR_TRY(set_buffers(a, file));
  GR_TRY(gr_model_outputs(a, file));
  return count_runs(a);
}

static gr_build_context context_of(gr_arena *arena, const gr_model_request *ask) {
  return (gr_build_context){
      .arena = arena,
      .scratch = ask->scratch ? ask->scratch : arena,
      .adapting = gr_model_adapting(arena, ask),
      .build_nodes = gr_model_nodes,
      .request = ask,
      .root = {.g = gr_graph_create(arena, &ask->mesh), .created_by = "model"},
      .path = "",
      .prefix = "",
      .batch_norm_groups = {.kind = GR_ARG_INT, .i = ask->norm_groups ? ask->norm_groups : 1},
      .by_path = gr_map_make(arena),
      .streams = gr_map_make(arena)};
}

static gr_conf *value_of(gr_arena *arena, const gr_arg *x, gr_loc loc) {
  static const gr_conf_kind kinds[] = {[GR_ARG_INT] = GR_CONF_INT,
                                       [GR_ARG_FLOAT] = GR_CONF_FLOAT,
                                       [GR_ARG_BOOL] = GR_CONF_BOOL,
                                       [GR_ARG_TEXT] = GR_CONF_TEXT,
                                       [GR_ARG_UNSET] = GR_CONF_NULL};
  gr_conf *c = gr_conf_make(arena, kinds[x->kind], loc);
  if (x->kind == GR_ARG_INT) c->integer = x->i;
  if (x->kind == GR_ARG_FLOAT) c->number = x->f;
  if (x->kind == GR_ARG_BOOL) c->truth = x->i != 0;
  if (x->kind == GR_ARG_TEXT) c->text = x->text;
  return c;
}

gr_status gr_model_params(gr_arena *arena, gr_conf *file, gr_conf *given, gr_conf **out) {
  const gr_model_request ask = {.graph = file, .params = given};
  gr_build_context a = context_of(arena, &ask);
  a.frame = gr_model_frame(&a, NULL, NULL, NULL);
  *out = gr_conf_make(arena, GR_CONF_MAP, file->loc);
  GR_TRY(gr_model_expect(file, GR_CONF_MAP, "a graph"));
  GR_TRY(open_params(&a, file));
  const gr_conf *declared = gr_conf_member(file, "params");
  for (int i = 0; declared && i < declared->n; i++) {
    const char *name = declared->keys[i];
    gr_conf_put(arena, *out, name, value_of(arena, gr_model_get(&a, name), declared->loc));
  }
  return GR_OK;
}

typedef struct initials {
  gr_builder b;
  gr_map known;
  const gr_build_context *const *built;
  int n;
} initials;

// The initial values of what a program creates and no earlier one has.
static gr_status set_initial(initials *all, const gr_build_context *a) {
  gr_status errors = GR_OK;
  for (uint32_t i = 0; a && i < a->by_path.n; i++) {
    const gr_model_param *p = &a->params[i], *source;
    if (gr_map_find(&all->known, p->path, NULL)) continue;
    gr_status s = gr_model_init_source(all->built, all->n, p, &source);
    if (!s) gr_model_init(a, &all->b, p, source);
    errors = gr_also(errors, s);
    gr_map_put(&all->known, p->path, i);
  }
  return errors;
}

// Of a state, what the first program that has it says.
gr_status gr_model_initial(gr_arena *arena, const gr_model_request *ask,
                           const gr_build_context *const *built, int n, gr_graph **out) {
  initials all = {.b = {.g = gr_graph_create(arena, &ask->mesh), .created_by = "model"},
                  .known = gr_map_make(arena),
                  .built = built,
                  .n = n};
  gr_status s = GR_OK;
  bool taught = false;
  for (int k = 0; k < n; k++) {
    s = gr_also(s, set_initial(&all, built[k]));
    s = gr_also(s, set_initial(&all, built[k]->teacher));
    taught |= built[k]->teacher != NULL;
  }
  *out = all.b.g;
  GR_TRY(s);
  if (ask->teacher && !taught)
    return gr_fail(
        GR_ERR_CONFIG, ask->teacher->loc,
        "the model has no program 'train' with a loss that a teacher could be a part of");
  return all.b.err;
}

// The initial values of what the programs create.
static gr_status initial(gr_arena *arena, const gr_model_request *ask,
                         const gr_model_program *programs, int n, gr_graph **out) {
  gr_adapting *adapting = gr_model_adapting(arena, ask);
  gr_model_request *requests = GR_NEW(arena, gr_model_request, n);
  gr_build_context *contexts = GR_NEW(arena, gr_build_context, n);
  const gr_build_context **built = GR_NEW(arena, const gr_build_context *, n);
  for (int k = 0; k < n; k++) {
    requests[k] = *ask;
    requests[k].program = &programs[k];
    if (!programs[k].trains) requests[k].scopes = NULL;
    contexts[k] = context_of(arena, &requests[k]);
    contexts[k].adapting = adapting;
    GR_TRY(forward(&contexts[k]));
    built[k] = &contexts[k];
  }
  GR_TRY(gr_model_initial(arena, ask, built, n, out));
  return gr_model_check_adapters(arena, ask, adapting);
}

// Without a list of programs they are train and eval.
static gr_status build_initial(gr_arena *arena, const gr_model_request *ask, gr_graph **out) {
  gr_model_program programs[2];
  if (ask->programs) return initial(arena, ask, ask->programs, ask->n_programs, out);
  GR_TRY(gr_model_expect(ask->graph, GR_CONF_MAP, "a graph"));
  GR_TRY(gr_model_program_read(arena, ask->graph, gr_model_train, &programs[0]));
  GR_TRY(gr_model_program_read(arena, ask->graph, gr_model_eval, &programs[1]));
  return initial(arena, ask, programs, 2, out);
}

// The program of report:, over the results of evaluation.
static gr_status report(gr_arena *arena, const gr_model_request *ask, gr_graph **out) {
  gr_model_request eval_request = *ask;
  eval_request.purpose = GR_EVAL, eval_request.program = NULL;
  gr_build_context eval = context_of(arena, &eval_request), a = context_of(arena, ask);
  GR_TRY(forward(&eval));
  GR_TRY(open_file(&a, ask->graph));
  *out = a.root.g;
  return gr_model_report(&a, ask->graph, eval.root.g);
}

static gr_status build(gr_arena *arena, const gr_model_request *ask, gr_graph **out) {
  if (ask->purpose == GR_REPORT) return report(arena, ask, out);
  if (ask->purpose == GR_INIT) return build_initial(arena, ask, out);
  gr_build_context *a = GR_NEW(arena, gr_build_context, 1);
  *a = context_of(arena, ask);
  GR_TRY(forward(a));
  *out = a->root.g;
  if (ask->built) *ask->built = a;
  return GR_OK;
}

gr_status gr_model_build(gr_arena *arena, const gr_model_request *ask, gr_graph **out) {
  gr_model_request *request = GR_NEW(arena, gr_model_request, 1);
  *request = *ask;
  request->scratch = gr_arena_create();
  gr_status s = build(arena, request, out);
  gr_arena_destroy(request->scratch);
  request->scratch = NULL;
  return s;
}
