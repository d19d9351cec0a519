// test_initial.c - how the weights of the shipped systems start, against tests/golden/initial.txt:
// the kind, mean, deviation and bounds of each tensor, drawn with a fixed seed.
//
//   test_initial GOLDEN
#include <math.h>
#include <stdio.h>
#include "compiler/model/model.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

static const char *golden_path;

typedef struct model {
  gr_arena *arena;
  const char *name;
  gr_graph *g;
  value *values;  // by id
  int checked;
} model;

// "NAME=VALUE ..." as sizes.
static int read_dims(gr_arena *a, char *text, gr_dim *out) {
  int n = 0;
  char *rest = NULL;
  for (char *p = strtok_r(text, " ", &rest); p; p = strtok_r(NULL, " ", &rest)) {
    char *eq = strchr(p, '=');
    *eq = 0;
    out[n++] = (gr_dim){gr_arena_strdup(a, p), atoll(eq + 1)};
  }
  return n;
}

static void build(model *m, const char *params, const gr_dim *dims, int n_dims) {
  gr_conf *file, *given;
  const char **names, *path = gr_arena_printf(m->arena, "%s/graphs/%s", GR_SOURCE_DIR, m->name);
  MUST(gr_conf_read(m->arena, path, &file));
  MUST(gr_conf_parse(m->arena, "params", params, &given));
  int n = gr_model_program_names(m->arena, file, &names);
  gr_model_program *programs = GR_NEW(m->arena, gr_model_program, n);
  int n_run = 0;  // without those that are only exported
  for (int i = 0; i < n; i++)
    if (!gr_model_program_inputs(file, names[i]))
      MUST(gr_model_program_read(m->arena, file, names[i], &programs[n_run++]));
  gr_model_request r = {.graph = file,
                        .params = given,
                        .dims = dims,
                        .n_dims = n_dims,
                        .purpose = GR_INIT,
                        .programs = programs,
                        .n_programs = n_run,
                        .seed = 11};
  MUST(gr_model_build(m->arena, &r, &m->g));
  m->values = GR_NEW(m->arena, value, m->g->n_values);
  MUST(graph_run(m->g, m->values));
}

// "model GRAPH SIZES : PARAMS"
static model open_model(char *line) {
  model m = {.arena = gr_arena_create()};
  gr_dim dims[8];
  char *colon = strstr(line, " : ");
  *colon = 0;
  char *name = strchr(line, ' ') + 1, *sizes = strchr(name, ' ');
  if (sizes) *sizes++ = 0;
  m.name = gr_arena_strdup(m.arena, name);
  build(&m, colon + 3, dims, sizes ? read_dims(m.arena, sizes, dims) : 0);
  return m;
}

static int trained(const gr_graph *g) {
  int n = 0;
  for (uint32_t v = 1; v < g->n_values; v++)
    n += g->values[v].role == GR_STATE && g->values[v].kind == GR_KIND_WEIGHT;
  return n;
}

static void close_model(model *m) {
  if (!m->g) return;
  CHECK(m->checked == trained(m->g), "%s has %d weights, of which %d are compared", m->name,
        trained(m->g), m->checked);
  values_free(m->values, m->g->n_values);
  gr_arena_destroy(m->arena);
  m->g = NULL;
}

// Bounds of five deviations of what is estimated from n numbers; those of the variance are of a
// normal distribution, whose tails are longer than a uniform one's.
static void check_moments(const char *name, const value *v, double std, double limit) {
  double sum = 0, squares = 0, most = 0, n = (double)value_count(v);
  for (int64_t i = 0; i < value_count(v); i++) {
    double x = value_get(v, i);
    sum += x, squares += x * x, most = fmax(most, fabs(x));
  }
  double mean = sum / n, deviation = sqrt(squares / n);
  CHECK(fabs(mean) <= 5 * std / sqrt(n), "%s: mean %g of a deviation of %g", name, mean, std);
  CHECK(fabs(deviation / std - 1) <= 5 / sqrt(2 * n), "%s: deviation %g, not %g", name, deviation,
        std);
  CHECK(most <= limit * (1 + 1e-6), "%s: %g is beyond %g", name, most, limit);
  CHECK(isinf(limit) || n < 64 || most > 0.9 * limit, "%s: never above %g of %g", name, most,
        limit);
}

static void check_tensor(model *m, const char *name, const char *kind, double x) {
  gr_val leaf = gr_graph_leaf(m->g, GR_STATE, name);
  CHECK(gr_is(leaf), "%s has no weight '%s'", m->name, name);
  if (!gr_is(leaf)) return;
  const value *v = &m->values[gr_at(m->g, leaf)->next.id];
  m->checked++;
  if (!strcmp(kind, "uniform")) check_moments(name, v, x / sqrt(3), x);
  if (!strcmp(kind, "normal")) check_moments(name, v, x, INFINITY);
  for (int64_t i = 0; !strcmp(kind, "constant") && i < value_count(v); i++)
    CHECK(value_get(v, i) == x, "%s starts at %g, not %g", name, value_get(v, i), x);
}

static void as_the_originals(void) {
  FILE *f = fopen(golden_path, "r");
  CHECK(f, "cannot read %s", golden_path);
  char line[512], name[128], kind[16];
  double x;
  int models = 0;
  model m = {0};
  while (f && fgets(line, sizeof line, f)) {
    if (!strncmp(line, "model ", 6)) {
      close_model(&m);
      m = open_model(line), models++;
    } else if (sscanf(line, "%127s %15s %lf", name, kind, &x) == 3) {
      check_tensor(&m, name, kind, x);
    }
  }
  close_model(&m);
  if (f) fclose(f);
  CHECK(models == 4, "%d models", models);
}

// What is cut has the deviation asked for, and so has what is not.
static void truncated(void) {
  static const char text[] =
      "inputs: {x: {shape: [n, c]}}\n"
      "nodes:\n"
      "  - a: {param: [200, 300], init: trunc_normal, std: 0.02}\n"
      "  - b: {param: [200, 300], init: normal, std: 0.02}\n";
  static const gr_dim dims[] = {{"n", 2}, {"c", 3}};
  model m = {.arena = gr_arena_create(), .name = "a text"};
  gr_conf *file;
  MUST(gr_conf_parse(m.arena, "text", text, &file));
  gr_model_request r = {.graph = file, .dims = dims, .n_dims = 2, .purpose = GR_INIT, .seed = 3};
  MUST(gr_model_build(m.arena, &r, &m.g));
  m.values = GR_NEW(m.arena, value, m.g->n_values);
  MUST(graph_run(m.g, m.values));
  const value *cut = &m.values[gr_at(m.g, gr_graph_leaf(m.g, GR_STATE, "a"))->next.id];
  check_moments("trunc_normal", cut, 0.02, 2 * 0.02 / 0.87962566103423978);
  check_tensor(&m, "b", "normal", 0.02);
  m.checked++;
  close_model(&m);
}

int main(int argc, char **argv) {
  golden_path = argc > 1 ? argv[1] : "tests/golden/initial.txt";
  argc = 1;
  return RUN(argc, argv, {"as_the_originals", as_the_originals}, {"truncated", truncated});
}
