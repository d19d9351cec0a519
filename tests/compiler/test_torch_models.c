// test_torch_models.c - models of graphs/ against PyTorch: loss, every gradient, ten steps of its
// optimizer with the running statistics of norms; and on 2 and 3 ranks against one.
//
//   test_torch_models GRAPH GOLDEN...    the files that tests/golden/make_*.py have written for it
//
// What a file is of is in it: `params` of the model, its inputs, and losses under the name of the
// optimizer and its hyper-parameters ("adamw,weight_decay=0.1"). With a line `adapter PATTERN` only
// adapters of the layers whose paths match are trained; with a line `teacher` it is distilled.
#include <math.h>
#include <pthread.h>
#include "base/base.h"
#include "compiler/compile.h"
#include "runtime/comm/comm.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/compiler/optim.h"
#include "tests/golden/golden.h"
#include "tests/on_host.h"

static const char *graph_path, *const *files;
static int n_files;

// float32 here, double there: relative to the largest value of each tensor.
static const struct {
  const char *what;
  double most;
} tolerance[] = {{"loss", 2e-6},
                 {"gradient", 2e-5},
                 {"losses of ten steps", 2e-4},
                 {"weights after ten steps", 1e-3}};

typedef struct model {
  gr_arena *arena;
  const char *name;
  golden *all;
  int n;
  gr_plan *plan;
  gr_adapter adapter;
  gr_model_teacher teacher;
} model;

// name NULL: any.
static const golden *need(const model *m, const char *kind, const char *name) {
  const golden *g = NULL;
  for (int i = 0; i < m->n && !g; i++)
    if (!strcmp(m->all[i].kind, kind) && (!name || !strcmp(m->all[i].name, name))) g = &m->all[i];
  CHECK(g, "%s has no %s %s", m->name, kind, name ? name : "");
  if (!g) longjmp(check_out, 1);
  return g;
}

// "params mels=12 ... lmu_residual=True" as the model's parameters.
static gr_conf *params_of(gr_arena *a, char *line) {
  gr_text yaml = gr_text_make(a);
  char *rest = NULL;
  strtok_r(line, " \n", &rest);
  for (char *p; (p = strtok_r(NULL, " \n", &rest));) {
    char *eq = strchr(p, '=');
    gr_text_printf(&yaml, "%.*s: %s\n", (int)(eq - p), p,
                   !strcmp(eq + 1, "True")    ? "true"
                   : !strcmp(eq + 1, "False") ? "false"
                                              : eq + 1);
  }
  gr_conf *out;
  MUST(gr_conf_parse(a, "<params>", yaml.chars, &out));
  return out;
}

// The sizes of the letters of the inputs' shapes, other than the first axis.
static int dims_of(const model *m, gr_conf *graph, gr_dim *out, int most) {
  const gr_conf *inputs = gr_conf_member(graph, "inputs");
  int n = 1;
  for (int i = 0; i < inputs->n; i++) {
    const gr_conf *shape = gr_conf_member(inputs->items[i], "shape");
    const golden *g = need(m, "input", inputs->keys[i]);
    CHECK(shape->n == g->rank, "%s has %d dimensions", g->name, g->rank);
    for (int k = 1; k < shape->n && n < most; k++)
      if (!gr_conf_member(gr_conf_member(graph, "params"), shape->items[k]->text))
        out[n++] = (gr_dim){shape->items[k]->text, g->dims[k]};
  }
  return n;
}

static int64_t rows_of(const model *m) { return need(m, "input", "weight")->count; }

// The adapters that the file asks for; returns how many.
static int read_adapter(model *m) {
  int i = 0;
  while (i < m->n && strcmp(m->all[i].kind, "adapter")) i++;
  if (i == m->n) return 0;
  const char **match = GR_NEW(m->arena, const char *, 1);
  match[0] = m->all[i].name;
  m->adapter = (gr_adapter){.name = "", .match = {match, GR_NEW(m->arena, gr_loc, 1), 1}};
  m->adapter.rank = (int64_t)m->all[i].values[0], m->adapter.alpha = m->all[i].values[1];
  return 1;
}

// The teacher of the same graph that the file asks for: `teacher NAME=VALUE,... : T WEIGHT`; or
// NULL.
static const gr_model_teacher *read_teacher(model *m, gr_conf *graph) {
  int i = 0;
  while (i < m->n && strcmp(m->all[i].kind, "teacher")) i++;
  if (i == m->n) return NULL;
  char *line = gr_arena_printf(m->arena, "teacher %s", m->all[i].name);
  for (char *c = line; *c; c++) *c = *c == ',' ? ' ' : *c;
  m->teacher = (gr_model_teacher){.graph = graph, .params = params_of(m->arena, line)};
  m->teacher.temperature = m->all[i].values[0], m->teacher.weight = m->all[i].values[1];
  m->teacher.mask = "mask";
  MUST(gr_conf_parse(m->arena, "<match>", "{logits: logits}", &m->teacher.match));
  return &m->teacher;
}

static const char *const frozen_teacher[] = {"teacher.*"};
static const char *const only_adapters[] = {"*.lora_[AB].weight"};

// `rows`: the golden batch padded with rows of weight 0. sgd with lr 1 leaves the gradient.
static void open_model(model *m, const char *path, int ranks, bool sgd) {
  char *line = NULL;
  *m = (model){.arena = gr_arena_create(), .name = path};
  m->all = golden_read(m->arena, path, &m->n, &line);
  CHECK(m->all && line, "cannot read %s", path);
  if (!m->all || !line) longjmp(check_out, 1);
  gr_conf *graph;
  MUST(gr_conf_read(m->arena, graph_path, &graph));
  const char *losses = need(m, "losses", NULL)->name, *comma = strchr(losses, ',');
  const char *optimizer = sgd ? "sgd" : gr_arena_strndup(m->arena, losses, strcspn(losses, ","));
  gr_dim dims[16] = {{"n", (rows_of(m) + ranks - 1) / ranks * ranks}};
  gr_bucket bucket = {.name = ""};
  int adapters = read_adapter(m);
  const gr_model_teacher *teacher = read_teacher(m, graph);
  gr_plan_request r = {
      .model = {.graph = graph,
                .params = params_of(m->arena, line),
                .dims = dims,
                .n_dims = dims_of(m, graph, dims, 16),
                .mesh = {.n_axes = 1, .axis = {{"dp", ranks}}},
                .batch_axis = {"dp"},
                .adapters = &m->adapter,
                .n_adapters = adapters,
                .teacher = teacher},
      .options = {.optimizer.name = optimizer,
                  .optimizer.only = {only_adapters, NULL, adapters},
                  .optimizer.freeze = {frozen_teacher, NULL, teacher != NULL},
                  .optimizer.attr =
                      comma && !sgd ? optim_attr(m->arena, optimizer, comma + 1) : NULL,
                  .optimizer.grad_clip = sgd ? 0 : 0.5},
      .buckets = &bucket,
      .n_buckets = 1,
      .train = true};
  MUST(gr_plan_build(m->arena, &r, &m->plan));
}

// As need, for threads: CHECK counts, and leaves, on the main thread alone.
static gr_status find(const model *m, const char *kind, const char *name, const golden **out) {
  *out = golden_find(m->all, m->n, kind, name);
  return *out ? GR_OK
              : gr_fail(GR_ERR_DATA, GR_NOWHERE, "the golden file has no %s %s", kind, name);
}

static gr_status set_weights(const model *m, gr_exec *e) {
  GR_TRY(gr_exec_run(e, gr_plan_find(m->plan, "init", "")));
  for (uint32_t i = 0; i < m->plan->n_states; i++) {
    const gr_plan_state *s = &m->plan->states[i];
    const golden *g;
    bool buffer = s->kind == GR_KIND_BUFFER && golden_find(m->all, m->n, "weight", s->name);
    if (s->kind != GR_KIND_WEIGHT && !buffer) continue;
    GR_TRY(find(m, "weight", s->name, &g));
    if (g->count != gr_type_count(&s->type))
      return gr_fail(GR_ERR_DATA, GR_NOWHERE, "%s has %lld numbers, not %lld", s->name,
                     (long long)gr_type_count(&s->type), (long long)g->count);
    float *w = state_on_host(e, s);
    for (int64_t k = 0; k < g->count; k++) w[k] = (float)g->values[k];
  }
  return GR_OK;
}

// This rank's rows of the batch; rows past the golden ones repeat row 0 and weigh 0.
static gr_status set_inputs(const model *m, gr_exec *e, int rank) {
  const gr_program *p = gr_plan_find(m->plan, "train", "");
  for (int i = 0; i < m->n; i++) {
    const golden *g = &m->all[i];
    gr_type t;
    if (strcmp(g->kind, "input")) continue;
    void *data = input_on_host(e, p, g->name, &t);
    if (!data) return gr_fail(GR_ERR_DATA, GR_NOWHERE, "the model has no input %s", g->name);
    int64_t rows = t.dim[0], inner = gr_type_count(&t) / rows;
    for (int64_t row = 0; row < rows; row++) {
      int64_t sample = rank * rows + row;
      bool padding = sample >= g->dims[0];
      for (int64_t k = 0; k < inner; k++)
        gr_put(data, t.dtype, row * inner + k,
               padding && !strcmp(g->name, "weight")
                   ? 0
                   : g->values[(padding ? 0 : sample) * inner + k]);
    }
  }
  return GR_OK;
}

static double loss_of(const model *m, gr_exec *e) {
  const gr_program *p = gr_plan_find(m->plan, "train", "");
  gr_type t;
  const void *sum = result_on_host(e, p, "metric.loss.sum", &t);
  const void *weight = result_on_host(e, p, "metric.loss.weight", &t);
  return gr_get(sum, t.dtype, 0) / gr_get(weight, t.dtype, 0);
}

static void step(const model *m, gr_exec *e, float lr) {
  const gr_program *p = gr_plan_find(m->plan, "train", "");
  gr_type t;
  *(float *)input_on_host(e, p, "lr", &t) = lr;
  MUST(gr_exec_run(e, p));
}

static void near(const char *what, const char *name, const double *want, const double *got,
                 int64_t n) {
  double most = 0, largest = 0, worst = 0;
  for (size_t i = 0; i < sizeof tolerance / sizeof *tolerance; i++)
    if (!strcmp(tolerance[i].what, what)) most = tolerance[i].most;
  for (int64_t k = 0; k < n; k++) {
    largest = fmax(largest, fabs(want[k]));
    worst = check_worse(worst, isfinite(got[k]) ? fabs(want[k] - got[k]) : INFINITY);
  }
  CHECK(worst <= most * fmax(largest, 1e-3), "%s %s differs by %.3g, largest %.3g", what, name,
        worst, largest);
}

static void check_gradients(const char *file, bool plain) {
  model m;
  open_model(&m, file, 1, true);
  gr_exec *e;
  gr_exec_options o = {.threads = 1, .plain = plain};
  MUST(gr_exec_open(m.plan, &o, &e));
  MUST(set_weights(&m, e));
  MUST(set_inputs(&m, e, 0));
  step(&m, e, 1);
  double loss = loss_of(&m, e);
  near("loss", "loss", need(&m, "losses", NULL)->values, &loss, 1);
  for (uint32_t i = 0; i < m.plan->n_states; i++) {
    const gr_plan_state *s = &m.plan->states[i];
    if (s->kind != GR_KIND_WEIGHT) continue;
    const golden *before = need(&m, "weight", s->name);
    const golden *g = golden_find(m.all, m.n, "grad", s->name);
    const float *frozen = g ? NULL : state_on_host(e, s);
    for (int64_t k = 0; frozen && k < before->count; k++)
      CHECK((double)frozen[k] == (double)(float)before->values[k], "%s is trained", s->name);
    if (frozen) continue;
    double *got = GR_NEW(m.arena, double, g->count);
    const float *w = state_on_host(e, s);
    for (int64_t k = 0; k < g->count; k++) got[k] = before->values[k] - (double)w[k];
    near("gradient", s->name, g->values, got, g->count);
  }
  gr_exec_close(e);
  gr_arena_destroy(m.arena);
}

static void gradients_plain(void) {
  for (int i = 0; i < n_files; i++) check_gradients(files[i], true);
}
static void gradients_fast(void) {
  for (int i = 0; i < n_files; i++) check_gradients(files[i], false);
}

static void check_ten_steps(const char *file) {
  model m;
  open_model(&m, file, 1, false);
  gr_exec *e;
  gr_exec_options o = {.threads = 2};
  MUST(gr_exec_open(m.plan, &o, &e));
  MUST(set_weights(&m, e));
  double losses[10];
  for (int i = 0; i < 10; i++) {
    MUST(set_inputs(&m, e, 0));
    step(&m, e, 1e-2F);
    losses[i] = loss_of(&m, e);
  }
  near("losses of ten steps", file, need(&m, "losses", NULL)->values, losses, 10);
  for (uint32_t i = 0; i < m.plan->n_states; i++) {
    const gr_plan_state *s = &m.plan->states[i];
    bool changes = s->kind == GR_KIND_WEIGHT ? s->trained : strstr(s->name, ".running_") != NULL;
    if (!changes) continue;
    if (strstr(s->name, ".k.bias"))
      continue;  // softmax does not see it: its gradient is noise,
                 // and Adam makes steps of any noise
    const golden *g = need(&m, "after", s->name);
    double *got = GR_NEW(m.arena, double, g->count);
    for (int64_t k = 0; k < g->count; k++) got[k] = (double)((float *)state_on_host(e, s))[k];
    near("weights after ten steps", s->name, g->values, got, g->count);
  }
  gr_exec_close(e);
  gr_arena_destroy(m.arena);
}

static void ten_steps(void) {
  for (int i = 0; i < n_files; i++) check_ten_steps(files[i]);
}

// ---- Ranks ------------------------------------------------------------------------------

typedef struct member {
  const model *m;
  gr_comm *world;
  double losses[10];
  uint64_t weights;
  gr_status status;
} member;

static gr_status ten_steps_of(member *r) {
  gr_comm *axes[GR_MAX_MESH] = {0};
  gr_exec *e;
  GR_TRY(gr_comm_mesh(r->world, &r->m->plan->mesh, axes));
  gr_exec_options o = {.threads = 1, .comm = axes, .rank = r->world->rank};
  GR_TRY(gr_exec_open(r->m->plan, &o, &e));
  gr_status s = set_weights(r->m, e);
  for (int i = 0; i < 10 && !s; i++) {
    gr_type t;
    const gr_program *p = gr_plan_find(r->m->plan, "train", "");
    *(float *)input_on_host(e, p, "lr", &t) = 1e-2F;
    s = set_inputs(r->m, e, r->world->rank);
    s = s ? s : gr_exec_run(e, p);
    r->losses[i] = loss_of(r->m, e);
  }
  r->weights = GR_HASH_START;
  for (uint32_t i = 0; i < r->m->plan->n_states; i++)
    r->weights = gr_hash_bytes(r->weights, state_on_host(e, &r->m->plan->states[i]),
                               gr_type_bytes(&r->m->plan->states[i].type));
  gr_exec_close(e);
  gr_comm_mesh_close(axes, &r->m->plan->mesh);
  return s;
}

static void *run_member(void *r) {
  ((member *)r)->status = ten_steps_of(r);
  return NULL;
}

static void check_ranks(int ranks) {
  model m;
  open_model(&m, files[n_files - 1], ranks, false);
  gr_loopback *world;
  MUST(gr_loopback_create(ranks, 60, &world));
  member r[4] = {{0}};
  pthread_t thread[4];
  for (int i = 0; i < ranks; i++) {
    r[i] = (member){.m = &m, .world = gr_loopback_comm(world, i)};
    pthread_create(&thread[i], NULL, run_member, &r[i]);
  }
  for (int i = 0; i < ranks; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < ranks; i++) MUST(r[i].status);
  for (int i = 1; i < ranks; i++) CHECK(r[i].weights == r[0].weights, "rank %d differs", i);
  near("loss", "of the first step", need(&m, "losses", NULL)->values, r[0].losses, 1);
  near("losses of ten steps", "on ranks", need(&m, "losses", NULL)->values, r[0].losses, 10);
  gr_loopback_destroy(world);
  gr_arena_destroy(m.arena);
}

static void two_ranks(void) { check_ranks(2); }
static void three_ranks(void) { check_ranks(3); }

int main(int argc, char **argv) {
  if (argc < 3) return fprintf(stderr, "usage: test_torch_models GRAPH GOLDEN...\n"), 2;
  graph_path = argv[1], files = (const char *const *)argv + 2, n_files = argc - 2;
  return RUN(1, argv, {"gradients_plain", gradients_plain}, {"gradients_fast", gradients_fast},
             {"ten_steps", ten_steps}, {"two_ranks", two_ranks}, {"three_ranks", three_ranks});
}
