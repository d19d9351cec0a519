// test_accumulate.c - a step in micro-steps is the step: the same loss, metrics and gradients on
// any number of ranks, for every strategy, also where the batch does not divide; in less memory.
#include <math.h>
#include <pthread.h>
#include <string.h>
#include "compiler/compile.h"
#include "runtime/comm.h"
#include "runtime/exec.h"
#include "tests/check.h"
#include "tests/world.h"

enum { C = 5, MOST_RANKS = 3, NUMBERS = 256, STEPS = 3 };

// Labels weigh by their class, so what the loss is divided by differs from sample to sample.
static const char model[] =
    "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
    "params: {p: 0.0}\n"
    "nodes:\n"
    "  - h: {linear: x, out: 6, name: body}\n"
    "  - h: {tanh: h}\n"
    "  - h: {dropout: h, p: p}\n"
    "  - logits: {linear: h, out: 4, name: head}\n"
    "  - classes: {param: [4], init: uniform, low: 0.5, high: 2.0, train: false}\n"
    "  - loss: {cross_entropy: [logits, y, classes]}\n"
    "  - acc: {accuracy: [logits, y]}\n"
    "train: loss\n"
    "metrics: {accuracy: acc}\n";

typedef struct way {
  const char *name;
  const char *zero;
  bool weights, scatter;
} way;
static const way ways[] = {{"ddp", NULL, false, false},
                           {"zero1", "dp", false, false},
                           {"zero2", "dp", false, true},
                           {"fsdp", "dp", true, true}};
static const gr_rule all_split[] = {{"*", "dp", 0}};

typedef struct setup {
  const way *way;
  int batch, ranks, parts;
  const char *params;
  float momentum;
  int steps;
  bool alike;  // all samples are sample 0
} setup;

typedef struct ran {
  float weights[NUMBERS];
  int n;
  double loss, accuracy, norm, ok;
} ran;

// Rows of a rank in a micro-step.
static int rows_of(const setup *s) {
  int of_rank = (s->batch + s->ranks - 1) / s->ranks;
  return (of_rank + s->parts - 1) / s->parts;
}

static gr_plan *plan_buckets(gr_arena *a, const setup *s, const char *text,
                             const gr_bucket *buckets, int n_buckets) {
  gr_conf *graph, *params;
  MUST(gr_conf_parse(a, "model.yaml", text, &graph));
  MUST(gr_conf_parse(a, "params.yaml", s->params ? s->params : "{}", &params));
  gr_dim dims[] = {{"n", rows_of(s) * s->ranks}};
  gr_plan_request r = {.model = {.graph = graph,
                                 .params = params,
                                 .dims = dims,
                                 .n_dims = 1,
                                 .seed = 3,
                                 .mesh = {.n_axes = 1, .axis = {{"dp", s->ranks}}},
                                 .batch_axis = "dp"},
                       .options = {.optimizer = "sgd",
                                   .momentum = s->momentum,
                                   .parts = s->parts,
                                   .zero_axis = s->way->zero,
                                   .scatter = s->way->scatter,
                                   .rules = all_split,
                                   .n_rules = s->way->weights},
                       .buckets = buckets,
                       .n_buckets = n_buckets,
                       .train = true,
                       .eval = true};
  gr_plan *plan;
  MUST(gr_plan_build(a, &r, &plan));
  return plan;
}

static gr_plan *plan_of(gr_arena *a, const setup *s) {
  return plan_buckets(a, s, model, &(gr_bucket){.name = ""}, 1);
}

// ---- A rank -------------------------------------------------------------------------------

typedef struct member {
  const setup *s;
  const gr_plan *plan;
  gr_comm *world;
  gr_status status;
  float bad;  // what x is of sample 0 in step 1, if not 0
  float state[64][NUMBERS];
  double loss, accuracy, norm, ok;
} member;

static double x_at(int step, int sample, int c) {
  return sin(1.0 + 7 * step + C * sample + c) + (c == sample % C);
}

static void put(gr_exec *e, const gr_program *p, const char *name, int64_t i, double value) {
  gr_type t;
  void *at = gr_exec_input(e, p, name, &t);
  if (at) gr_put(at, t.dtype, i, value);
}

// The rows of a micro-step: those past the batch weigh 0, and hold what must not matter.
static void fill(const member *m, gr_exec *e, const gr_program *p, int step, int part) {
  int rows = rows_of(m->s);
  for (int i = 0; i < rows; i++) {
    int sample = (m->world->rank * m->s->parts + part) * rows + i;
    int like = m->s->alike ? 0 : sample;
    for (int c = 0; c < C; c++) put(e, p, "x", i * C + c, x_at(step, like, c));
    if (m->bad != 0 && step == 1 && sample == 0) put(e, p, "x", i * C, (double)m->bad);
    put(e, p, "y", i, like * 7 % 4);
    put(e, p, "weight", i, sample < m->s->batch);
  }
  put(e, p, "micro", 0, part);
  put(e, p, "lr", 0, 1);
}

static double scalar(gr_exec *e, const gr_program *p, const char *name) {
  gr_type t;
  const void *at = gr_exec_result(e, p, name, &t);
  return at ? gr_get(at, t.dtype, 0) : (double)NAN;
}

static double mean(gr_exec *e, const gr_program *p, const char *name) {
  char sum[64], weight[64];
  snprintf(sum, sizeof sum, "metric.%s.sum", name);
  snprintf(weight, sizeof weight, "metric.%s.weight", name);
  return scalar(e, p, sum) / scalar(e, p, weight);
}

static gr_status run_steps(member *m, gr_exec *e) {
  const gr_program *p = gr_plan_find(m->plan, m->s->parts > 1 ? "micro" : "train", "");
  const gr_program *update = gr_plan_find(m->plan, "update", ""), *last = update ? update : p;
  GR_TRY(gr_exec_run(e, gr_plan_find(m->plan, "init", "")));
  for (int step = 0; step < m->s->steps; step++) {
    for (int part = 0; part < m->s->parts; part++) {
      fill(m, e, p, step, part);
      GR_TRY(gr_exec_run(e, p));
    }
    if (update) {
      put(e, update, "lr", 0, 1);
      GR_TRY(gr_exec_run(e, update));
    }
    if (m->bad == 0 || step == 1) m->ok = scalar(e, last, "ok");
  }
  m->loss = mean(e, last, "loss"), m->accuracy = mean(e, last, "accuracy");
  m->norm = scalar(e, last, "grad_norm");
  return GR_OK;
}

static gr_status run_rank(member *m) {
  gr_comm *axes[GR_MAX_MESH] = {0};
  gr_exec *e;
  GR_TRY(gr_comm_mesh(m->world, &m->plan->mesh, axes));
  gr_exec_options o = {.threads = 1, .comm = axes, .rank = m->world->rank};
  GR_TRY(gr_exec_open(m->plan, &o, &e));
  gr_status s = run_steps(m, e);
  for (uint32_t i = 0; i < m->plan->n_states; i++)
    memcpy(m->state[i], gr_exec_state(e, &m->plan->states[i]), m->plan->states[i].bytes);
  gr_exec_close(e);
  gr_comm_mesh_close(axes, &m->plan->mesh);
  return s;
}

static void *run_thread(void *arg) {
  member *m = arg;
  m->status = run_rank(m);
  return NULL;
}

// ---- All of them --------------------------------------------------------------------------

// Appends a state, whole, from the ranks' parts.
static void gather(const setup *s, const member *m, uint32_t state, ran *out) {
  const gr_plan_state *p = &m->plan->states[state];
  int d = m->plan->mesh.n_axes ? p->layout.at[0] : GR_R;
  int64_t row = 1, n = gr_type_count(&p->type);
  for (int k = d < 0 ? 0 : d; k < p->type.rank; k++) row *= p->type.dim[k];
  int parts = d < 0 ? 1 : s->ranks;
  for (int64_t i = 0; i < n; i++)
    for (int r = 0; r < parts; r++)
      out->weights[out->n + (i / row * parts + r) * row + i % row] = m[r].state[state][i];
  out->n += (int)(n * parts);
}

static ran run_bad(const setup *s, float bad) {
  static member m[MOST_RANKS];
  pthread_t thread[MOST_RANKS];
  gr_arena *a = gr_arena_create();
  gr_plan *plan = plan_of(a, s);
  gr_loopback *all;
  ran out = {0};
  MUST(gr_loopback_create(s->ranks, 60, &all));
  for (int i = 0; i < s->ranks; i++) {
    m[i] = (member){.s = s, .plan = plan, .world = gr_loopback_comm(all, i), .bad = bad};
    pthread_create(&thread[i], NULL, run_thread, &m[i]);
  }
  for (int i = 0; i < s->ranks; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < s->ranks; i++) MUST(m[i].status);
  static const char *const names[] = {"body.weight", "body.bias", "head.weight", "head.bias"};
  for (int k = 0; k < 4; k++)
    for (uint32_t i = 0; i < plan->n_states; i++)
      if (!strcmp(plan->states[i].name, names[k])) gather(s, m, i, &out);
  out.loss = m[0].loss, out.accuracy = m[0].accuracy, out.norm = m[0].norm, out.ok = m[0].ok;
  gr_loopback_destroy(all);
  gr_arena_destroy(a);
  return out;
}
static ran run(const setup *s) { return run_bad(s, 0); }

// ---- Tests --------------------------------------------------------------------------------

static void near(const setup *s, const char *what, double want, double got, double most) {
  CHECK(fabs(want - got) <= most * fmax(fabs(want), 1e-3),
        "%s, batch %d, %d ranks, %d micro-steps: %s is %.9g, not %.9g", s->way->name, s->batch,
        s->ranks, s->parts, what, got, want);
}

// After one step of rate 1 a weight has moved by its gradient.
static void compare(const setup *s, const ran *want, double most) {
  ran got = run(s);
  double largest = 0, worst = 0;
  CHECK(got.n == want->n && got.n == 30 + 6 + 24 + 4, "%d numbers", got.n);
  for (int i = 0; i < got.n; i++) {
    largest = fmax(largest, fabs((double)want->weights[i]));
    worst = fmax(worst, fabs((double)want->weights[i] - (double)got.weights[i]));
  }
  near(s, "loss", want->loss, got.loss, most);
  near(s, "accuracy", want->accuracy, got.accuracy, 1e-7);
  near(s, "grad_norm", want->norm, got.norm, most);
  CHECK(worst <= most * largest, "%s, batch %d, %d ranks, %d micro-steps: a gradient is off by %g",
        s->way->name, s->batch, s->ranks, s->parts, worst);
}

static void same(int steps, float momentum, double most) {
  static const int batches[] = {12, 11, 7};
  for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
    setup one = {&ways[0], batches[b], 1, 1, NULL, momentum, steps};
    ran want = run(&one);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
      for (int ranks = 1; ranks <= MOST_RANKS; ranks++)
        for (int parts = 1; parts <= 4; parts++) {
          setup s = {&ways[w], batches[b], ranks, parts, NULL, momentum, steps};
          compare(&s, &want, most);
        }
  }
}

static void gradients(void) { same(1, 0, 1e-6); }
static void three_steps(void) { same(STEPS, 0.9f, 1e-5); }

static int collectives(const gr_plan *p, const char *kind, const char *op) {
  return count_ops(gr_plan_find(p, kind, "")->frame.g, op);
}

// Of a few short rows a gradient is had for less by bringing the rows together, of long ones it is
// not; the totals must lie alike in both. Where terms wait, the short ones wait too.
static void buckets_alike(void) {
  static const char text[] =
      "inputs: {x: {shape: [n, t, 64]}}\n"
      "nodes: [{h: {linear: x, out: 128, name: a}}, {s: {square: h}},"
      " {l: {mean: s, axes: [1, 2]}}]\n"
      "train: l\n";
  static const gr_dim lengths[] = {{"t", 1}, {"t", 400}};
  static const gr_bucket buckets[] = {{"t1", &lengths[0], 1}, {"t400", &lengths[1], 1}};
  static const int want[4][2] = {{0, 0}, {0, 0}, {1, 2}, {0, 2}};  // reduce_scatter, by bucket
  gr_arena *a = gr_arena_create();
  for (int w = 0; w < 4; w++) {
    gr_plan *p = plan_buckets(a, &(setup){&ways[w], 4, 2, 2, NULL, 0, 1}, text, buckets, 2);
    for (int b = 0; b < 2; b++) {
      const gr_graph *g = gr_plan_find(p, "micro", buckets[b].name)->frame.g;
      int scatters = count_ops(g, "reduce_scatter"), gathers = count_ops(g, "all_gather");
      CHECK(scatters == want[w][b], "%s, %s: %d reduce_scatter", ways[w].name, buckets[b].name,
            scatters);
      CHECK(ways[w].scatter || !gathers, "%s, %s: %d all_gather", ways[w].name, buckets[b].name,
            gathers);
    }
  }
  gr_arena_destroy(a);
}

// Terms are moved once a step; where the totals are split, once a micro-step.
static void moves(void) {
  gr_arena *a = gr_arena_create();
  static const int want[4][5] = {// micro: reduce, scatter, gather; update: reduce, scatter
                                 {0, 0, 0, 8, 0},
                                 {0, 0, 0, 5, 4},
                                 {0, 4, 0, 5, 0},
                                 {0, 4, 4, 5, 0}};
  for (int w = 0; w < 4; w++) {
    gr_plan *p = plan_of(a, &(setup){&ways[w], 12, 2, 3, NULL, 0, 1});
    const int got[5] = {
        collectives(p, "micro", "all_reduce"), collectives(p, "micro", "reduce_scatter"),
        collectives(p, "micro", "all_gather"), collectives(p, "update", "all_reduce"),
        collectives(p, "update", "reduce_scatter")};
    for (int k = 0; k < 5; k++)
      CHECK(got[k] == want[w][k], "%s: count %d is %d, not %d", ways[w].name, k, got[k],
            want[w][k]);
  }
  gr_arena_destroy(a);
}

static void memory(void) {
  gr_arena *a = gr_arena_create();
  for (size_t w = 0; w < 4; w++) {
    size_t before = SIZE_MAX;
    for (int parts = 1; parts <= 4; parts *= 2) {
      gr_plan *p = plan_of(a, &(setup){&ways[w], 1200, 2, parts, NULL, 0, 1});
      CHECK(p->arena_bytes + p->state_bytes < before * 3 / 4, "%s, %d micro-steps: %zu after %zu",
            ways[w].name, parts, p->arena_bytes + p->state_bytes, before);
      before = p->arena_bytes + p->state_bytes;
    }
  }
  gr_arena_destroy(a);
}

// One micro-step that is not finite leaves out the whole step, and nothing of it stays behind.
static void skips(void) {
  setup s = {&ways[0], 12, 2, 3, NULL, 0, 2}, one = s;
  one.steps = 1;
  ran before = run(&one), after = run_bad(&s, INFINITY);
  CHECK(after.ok == 0 && before.ok == 1, "ok is %g", after.ok);
  CHECK(!memcmp(before.weights, after.weights, sizeof before.weights), "the weights changed");
  s.steps = 3, one.steps = 3;
  ran later = run_bad(&s, INFINITY);
  CHECK(isfinite(later.loss) && isfinite(later.norm) && later.norm > 0, "loss %g, norm %g",
        later.loss, later.norm);
}

// Micro-steps drop other elements each: with the same ones, equal samples would have equal losses.
static void draws(void) {
  setup one = {&ways[0], 1, 1, 1, "{p: 0.5}", 0, 1, true},
        four = {&ways[0], 4, 1, 4, "{p: 0.5}", 0, 1, true};
  ran a = run(&one), b = run(&four), again = run(&four);
  CHECK(!memcmp(&b, &again, sizeof b), "the same run differs");
  CHECK(fabs(a.loss - b.loss) > 1e-3, "four micro-steps' loss is that of one, %g", a.loss);
  one.params = four.params = NULL;
  a = run(&one), b = run(&four);
  CHECK(fabs(a.loss - b.loss) < 1e-6, "without dropout it is not: %g and %g", a.loss, b.loss);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"gradients", gradients}, {"three_steps", three_steps}, {"moves", moves},
             {"buckets_alike", buckets_alike}, {"memory", memory}, {"skips", skips},
             {"draws", draws});
}
