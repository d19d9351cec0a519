// test_blocks.c - blocks against PyTorch and NumPy: losses, gradients, states after steps of Adam,
// and buffers, of tests/golden/blocks.txt and ppo.txt. A step of plain gradient descent with a
// learning rate of 1 shows the gradient of each parameter.   test_blocks FILE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "compiler/compile.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/compiler/optim.h"
#include "tests/on_host.h"

enum { N = 3, T = 5, C = 4, MOST = 96 };
static const char *file;

typedef struct tensor {
  char name[64];
  gr_type type;
  const char *numbers;  // as text
} tensor;

typedef struct golden {
  gr_arena *arena;
  char name[64];
  const char *blocks;   // a model's file, or NULL
  gr_text nodes, text;  // of the model: its nodes, or all that follows the blocks
  double loss;
  int adam;  // steps
  int n_states, n_grads, n_after;
  tensor state[MOST], grad[MOST], after[MOST];
} golden;

// ---- Reading ------------------------------------------------------------------------------------

static void read_tensor(golden *g, tensor *t, char *text) {
  char type[64];
  int offset = 0;
  CHECK(sscanf(text, "%63s %63s %n", t->name, type, &offset) == 2, "%s", text);
  MUST(gr_type_parse(type, &t->type));
  t->numbers = gr_arena_strdup(g->arena, text + offset);
}

static void read_line(golden *g, char *text) {
  text[strcspn(text, "\n")] = 0;
  if (!strncmp(text, "case ", 5)) snprintf(g->name, sizeof g->name, "%s", text + 5);
  if (!strncmp(text, "node ", 5)) gr_text_printf(&g->nodes, "%s\n", text + 5);
  if (!strncmp(text, "text ", 5)) gr_text_printf(&g->text, "%s\n", text + 5);
  if (!strncmp(text, "blocks ", 7)) g->blocks = gr_arena_strdup(g->arena, text + 7);
  if (!strncmp(text, "adam ", 5)) g->adam = atoi(text + 5);
  if (!strncmp(text, "loss ", 5)) g->loss = strtod(text + 5, NULL);
  if (!strncmp(text, "state ", 6)) read_tensor(g, &g->state[g->n_states++], text + 6);
  if (!strncmp(text, "grad ", 5)) read_tensor(g, &g->grad[g->n_grads++], text + 5);
  if (!strncmp(text, "after ", 6)) read_tensor(g, &g->after[g->n_after++], text + 6);
}

// The sections params: and blocks: of a model's file.
static void put_blocks(const golden *g, gr_text *out) {
  char *line = NULL;
  size_t room = 0;
  bool taken = false;
  FILE *f = fopen(gr_arena_printf(g->arena, "%s/%s", GR_SOURCE_DIR, g->blocks), "r");
  CHECK(f, "cannot open %s", g->blocks);
  while (f && getline(&line, &room, f) > 0) {
    if (line[0] >= 'a' && line[0] <= 'z')
      taken = !strncmp(line, "params:", 7) || !strncmp(line, "blocks:", 7);
    if (taken) gr_text_put(out, line);
  }
  free(line);
  if (f) fclose(f);
}

static const char *model_of(const golden *g) {
  gr_text t = gr_text_make(g->arena);
  if (g->blocks) put_blocks(g, &t);
  if (g->text.len)
    gr_text_put(&t, g->text.chars);
  else
    gr_text_printf(&t,
                   "inputs: {x: {shape: [n, c]}, s: {shape: [n, t, c]}, y: {shape: [n, c]}, "
                   "labels: {shape: [n], dtype: i32}}\nnodes:\n%strain: loss\n",
                   g->nodes.chars);
  return t.chars;
}

// ---- Running ------------------------------------------------------------------------------------

// With Adam each of two groups of weights is clipped by itself.
static gr_plan *plan_of(const golden *g, bool adam) {
  static const gr_dim dims[] = {{"n", N}, {"t", T}, {"c", C}};
  const void *attr = adam ? optim_attr(g->arena, "adam", "eps=1e-5") : NULL;
  gr_param_group encoder = {"*.encoder.*", "adam", .attr = attr, .lr = 1, .clip = 0.5};
  gr_conf *graph;
  gr_plan *p;
  MUST(gr_conf_parse(g->arena, g->name, model_of(g), &graph));
  gr_plan_request ask = {.model = {.graph = graph,
                                   .dims = dims,
                                   .n_dims = 3,
                                   .mesh = {.n_axes = 1, .axis = {{"dp", 1}}},
                                   .batch_axis = {"dp"}},
                         .options = {.optimizer.name = adam ? "adam" : "sgd",
                                     .optimizer.attr = attr,
                                     .optimizer.groups = &encoder,
                                     .optimizer.n_groups = adam,
                                     .optimizer.grad_clip = adam ? 0.5 : 0},
                         .buckets = &(gr_bucket){.name = ""},
                         .n_buckets = 1,
                         .train = true};
  MUST(gr_plan_build(g->arena, &ask, &p));
  return p;
}

static void fill_inputs(gr_exec *e, const gr_program *p, float lr) {
  float *x = input_on_host(e, p, "x", NULL), *s = input_on_host(e, p, "s", NULL),
        *y = input_on_host(e, p, "y", NULL), *weight = input_on_host(e, p, "weight", NULL);
  int32_t *labels = input_on_host(e, p, "labels", NULL);
  for (int i = 0; x && i < N * C; i++) x[i] = (float)sin(1 + i);
  for (int i = 0; s && i < N * T * C; i++) s[i] = (float)cos(2 + 0.7 * i);
  for (int i = 0; y && i < N * C; i++) y[i] = (float)(0.5 + 0.5 * sin(3 + 2 * i));
  for (int i = 0; weight && i < N; i++) weight[i] = 1;
  for (int i = 0; labels && i < N; i++) labels[i] = (2 * i + 1) % C;
  *(float *)input_on_host(e, p, "lr", NULL) = lr;
}

static float *state(gr_exec *e, const gr_plan *p, const tensor *t) {
  for (uint32_t i = 0; i < p->n_states; i++)
    if (!strcmp(p->states[i].name, t->name)) {
      char a[96], b[96];
      CHECK(gr_type_same(&p->states[i].type, &t->type), "%s is %s, not %s", t->name,
            gr_type_text(&p->states[i].type, a), gr_type_text(&t->type, b));
      return state_on_host(e, &p->states[i]);
    }
  CHECK(false, "there is no parameter %s", t->name);
  longjmp(check_out, 1);
}

static void read_numbers(const tensor *t, double *out) {
  char *cursor = (char *)t->numbers;
  for (int64_t i = 0; i < gr_type_count(&t->type); i++) out[i] = strtod(cursor, &cursor);
}

static void put_states(const golden *g, gr_exec *e, const gr_plan *p) {
  for (int k = 0; k < g->n_states; k++) {
    const tensor *t = &g->state[k];
    int64_t n = gr_type_count(&t->type);
    double *v = GR_NEW(g->arena, double, n);
    float *to = state(e, p, t);
    read_numbers(t, v);
    for (int64_t i = 0; i < n; i++) to[i] = (float)v[i];
  }
}

static void check_gradients(const golden *g, gr_exec *e, const gr_plan *p) {
  CHECK(g->n_grads == g->n_states, "%s: %d gradients", g->name, g->n_grads);
  for (int k = 0; k < g->n_grads; k++) {
    int64_t n = gr_type_count(&g->grad[k].type);
    double *want = GR_NEW(g->arena, double, n), *before = GR_NEW(g->arena, double, n);
    const float *after = state(e, p, &g->grad[k]);
    read_numbers(&g->grad[k], want), read_numbers(&g->state[k], before);
    for (int64_t i = 0; i < n; i++) {
      double got = before[i] - (double)after[i];
      CHECK(fabs(got - want[i]) < 2e-6 * (1 + fabs(before[i]) + fabs(want[i])),
            "%s: the gradient of %s at %lld is %.9g, not %.9g", g->name, g->grad[k].name,
            (long long)i, got, want[i]);
    }
  }
}

static void check_loss(const golden *g, gr_exec *e, const gr_program *step) {
  double sum = (double)*(const float *)result_on_host(e, step, "metric.loss.sum", NULL),
         weight = (double)*(const float *)result_on_host(e, step, "metric.loss.weight", NULL);
  CHECK(fabs(sum / weight - g->loss) < 2e-6 * (1 + fabs(g->loss)), "%s: the loss is %.9g, not %.9g",
        g->name, sum / weight, g->loss);
}

// Errors add up over the steps.
static void check_after(const golden *g, gr_exec *e, const gr_plan *p) {
  double most = g->adam ? 2e-5 : 4e-6;
  for (int k = 0; k < g->n_after; k++) {
    int64_t n = gr_type_count(&g->after[k].type);
    double *want = GR_NEW(g->arena, double, n);
    const float *got = state(e, p, &g->after[k]);
    read_numbers(&g->after[k], want);
    for (int64_t i = 0; i < n; i++)
      CHECK(fabs((double)got[i] - want[i]) < most * (1 + fabs(want[i])),
            "%s: %s at %lld is %.9g, not %.9g", g->name, g->after[k].name, (long long)i,
            (double)got[i], want[i]);
  }
}

static void run(const golden *g, bool adam, int steps) {
  gr_plan *p = plan_of(g, adam);
  const gr_program *step = gr_plan_find(p, "train", "");
  gr_exec *e;
  MUST(gr_exec_open(p, &(gr_exec_options){.threads = 1}, &e));
  MUST(gr_exec_run(e, gr_plan_find(p, "init", "")));
  put_states(g, e, p);
  for (int i = 0; i < steps; i++) {
    fill_inputs(e, step, adam ? 0.01f : 1.0f);
    MUST(gr_exec_run(e, step));
  }
  if (!adam && g->n_grads) check_loss(g, e, step), check_gradients(g, e, p);
  if (adam || !g->n_grads) check_after(g, e, p);
  gr_exec_close(e);
}

static void check(const golden *g) {
  CHECK(g->n_grads || g->n_after, "%s compares nothing", g->name);
  run(g, false, 1);
  if (g->adam) run(g, true, g->adam);
}

static void torch_agrees(void) {
  FILE *f = fopen(file, "r");
  char *text = NULL;
  size_t room = 0;
  int cases = 0;
  golden g = {0};
  CHECK(f, "cannot open %s", file);
  while (f && getline(&text, &room, f) > 0) {
    if (!g.arena) {
      g = (golden){.arena = gr_arena_create()};
      g.nodes = gr_text_make(g.arena), g.text = gr_text_make(g.arena);
    }
    read_line(&g, text);
    if (strncmp(text, "end", 3)) continue;
    check(&g), cases++;
    gr_arena_destroy(g.arena);
    g.arena = NULL;
  }
  free(text);
  if (f) fclose(f);
  CHECK(cases, "%s has no cases", file);
}

int main(int argc, char **argv) {
  if (argc < 2) return fprintf(stderr, "usage: test_blocks FILE\n"), 2;
  file = argv[1];
  return RUN(1, argv, {"torch_agrees", torch_agrees});
}
