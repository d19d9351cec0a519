// test_run.c - the graph language, run: broadcasting against plain loops and, inside scans, against
// itself outside; scans in both directions; the lstm block against its definition.
#include <math.h>
#include "compiler/compile.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/on_host.h"

enum { N = 3, T = 5, C = 4, H = 2 };

typedef struct ran {
  gr_arena *arena;
  gr_plan *plan;
  gr_exec *exec;
} ran;

static double x_at(int n, int c) { return sin(1.0 + n * C + c) + (c == 2); }
static double s_at(int n, int t, int c) { return cos(2.0 + 0.7 * (n * T + t) * C + c); }

static void fill_inputs(const ran *r) {
  const gr_program *p = gr_plan_find(r->plan, "eval", "");
  gr_type t;
  float *x = input_on_host(r->exec, p, "x", &t), *s = input_on_host(r->exec, p, "s", &t);
  for (int n = 0; n < N; n++)
    for (int c = 0; c < C; c++) {
      if (x) x[n * C + c] = (float)x_at(n, c);
      for (int k = 0; s && k < T; k++) s[(n * T + k) * C + c] = (float)s_at(n, k, c);
    }
}

static ran run(const char *nodes) {
  static const gr_dim dims[] = {{"n", N}, {"t", T}, {"c", C}};
  ran r = {.arena = gr_arena_create()};
  gr_conf *graph;
  const char *text = gr_arena_printf(
      r.arena, "inputs: {x: {shape: [n, c]}, s: {shape: [n, t, c]}}\nnodes:\n%s", nodes);
  MUST(gr_conf_parse(r.arena, "run.yaml", text, &graph));
  gr_bucket bucket = {.name = ""};
  gr_plan_request ask = {.model = {.graph = graph,
                                   .dims = dims,
                                   .n_dims = 3,
                                   .seed = 3,
                                   .mesh = {.n_axes = 1, .axis = {{"dp", 1}}},
                                   .batch_axis = {"dp"}},
                         .options = {.optimizer.name = "sgd"},
                         .buckets = &bucket,
                         .n_buckets = 1,
                         .eval = true};
  MUST(gr_plan_build(r.arena, &ask, &r.plan));
  MUST(gr_exec_open(r.plan, &(gr_exec_options){.threads = 1}, &r.exec));
  MUST(gr_exec_run(r.exec, gr_plan_find(r.plan, "init", "")));
  fill_inputs(&r);
  MUST(gr_exec_run(r.exec, gr_plan_find(r.plan, "eval", "")));
  return r;
}

static void close_run(ran *r) {
  gr_exec_close(r->exec);
  gr_arena_destroy(r->arena);
}

static const float *result(const ran *r, const char *name) {
  gr_type t;
  const float *v = result_on_host(r->exec, gr_plan_find(r->plan, "eval", ""), name, &t);
  CHECK(v, "no result %s", name);
  if (!v) longjmp(check_out, 1);
  return v;
}

static const float *state(const ran *r, const char *name) {
  for (uint32_t i = 0; i < r->plan->n_states; i++)
    if (!strcmp(r->plan->states[i].name, name)) return state_on_host(r->exec, &r->plan->states[i]);
  CHECK(false, "no state %s", name);
  longjmp(check_out, 1);
}

// ---- Broadcasting ---------------------------------------------------------------

static double row(double s, double v) { return s + v; }
static double times_row(double s, double v) { return s * v; }
static double row_first(double s, double v) { return v - s; }
static double number(double s, double v) { return s * 0.5 + 0 * v; }
static double number_first(double s, double v) { return 2 - s + 0 * v; }
static double per_number(double s, double v) { return s / 4 + 0 * v; }
static double number_per(double s, double v) { return 1 / s + 0 * v; }
static double most(double s, double v) { return fmax(s, 0.25) + 0 * v; }
static double chosen(double s, double v) { return v < s ? 1 : v; }

static void broadcasting(void) {
  static const struct {
    const char *node;
    double (*means)(double s, double v);
  } cases[] = {
      {"add: [s, v]", row},        {"mul: [v, s]", times_row},    {"sub: [v, s]", row_first},
      {"mul: [s, 0.5]", number},   {"sub: [2, s]", number_first}, {"div: [s, 4]", per_number},
      {"div: [1, s]", number_per}, {"max: [0.25, s]", most},      {"where: [d, 1, v]", chosen},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "  - v: {param: [c], init: normal}\n"
             "  - d: {less: [v, s]}\n"
             "  - y: {%s}\n"
             "  - z:\n"
             "      scan:\n"
             "        over: {s: t}\n"
             "        nodes:\n"
             "          - d: {less: [v, s]}\n"
             "          - z: {%s}\n"
             "        yields: z\n"
             "predict: {y: y, z: z}\n",
             cases[i].node, cases[i].node);
    ran r = run(text);
    const float *y = result(&r, "predict.y"), *z = result(&r, "predict.z"), *v = state(&r, "v");
    for (int k = 0; k < N * T * C; k++) {
      double want = cases[i].means((float)s_at(0, k / C, k % C), v[k % C]);
      CHECK(fabs(y[k] - want) < 1e-5 * (1 + fabs(want)), "%s at %d: %g, not %g", cases[i].node, k,
            (double)y[k], want);
      CHECK(fabsf(z[k] - y[k]) < 1e-6f * (1 + fabsf(y[k])), "%s in a scan at %d: %g, not %g",
            cases[i].node, k, (double)z[k], (double)y[k]);
    }
    close_run(&r);
  }
}

static void listed_values(void) {
  ran r =
      run("  - w: {param: [2, c], init: [1, -2, 3.5, 4, 5, 6, 7, 1 / 8], train: false}\n"
          "  - v: {param: [1], init: [0.25]}\n"
          "  - y: {mul: [w, v]}\n"
          "predict: {y: y}\n");
  static const float want[] = {1, -2, 3.5f, 4, 5, 6, 7, 0.125f};
  const float *y = result(&r, "predict.y");
  for (int i = 0; i < 2 * C; i++) CHECK(y[i] == want[i] / 4, "value %d is %g", i, (double)y[i] * 4);
  close_run(&r);
}

static void ones_are_stretched(void) {
  ran r =
      run("  - w: {param: [c, 1], init: normal}\n"
          "  - a: {sum: s, axes: [1], keepdim: true}\n"  // [n, 1, c]
          "  - b: {mul: [w, a]}\n"                       // [c, 1] with [n, 1, c]: [n, c, c]
          "predict: {b: b, a: a}\n");
  const float *a = result(&r, "predict.a"), *b = result(&r, "predict.b"), *w = state(&r, "w");
  for (int n = 0; n < N; n++)
    for (int i = 0; i < C; i++)
      for (int k = 0; k < C; k++)
        CHECK(b[(n * C + i) * C + k] == w[i] * a[n * C + k], "at %d, %d, %d", n, i, k);
  close_run(&r);
}

// ---- Scans ----------------------------------------------------------------------

// Sums along t from x on, forwards or backwards.
static void sums(bool reverse) {
  char text[512];
  snprintf(text, sizeof text,
           "  - h, old:\n"
           "      scan:\n"
           "        over: {s: t}\n"
           "        carry: {h: x}\n"
           "        nodes:\n"
           "          - old: h\n"
           "          - h: {add: [h, s]}\n"
           "        yields: [h, old]\n"
           "        last: {end: h}\n"
           "        reverse: %s\n"
           "predict: {h: h, old: old, end: end}\n",
           reverse ? "true" : "false");
  ran r = run(text);
  const float *h = result(&r, "predict.h"), *old = result(&r, "predict.old"),
              *end = result(&r, "predict.end");
  for (int n = 0; n < N; n++)
    for (int c = 0; c < C; c++) {
      double sum = x_at(n, c);
      for (int k = 0; k < T; k++) {
        int t = reverse ? T - 1 - k : k, index = (n * T + t) * C + c;
        CHECK(fabs(old[index] - sum) < 1e-5, "before step %d: %g, not %g", t, (double)old[index],
              sum);
        sum += s_at(n, t, c);
        CHECK(fabs(h[index] - sum) < 1e-5, "after step %d: %g, not %g", t, (double)h[index], sum);
      }
      CHECK(fabs(end[n * C + c] - sum) < 1e-5, "the end");
    }
  close_run(&r);
}
static void sums_forwards(void) { sums(false); }
static void sums_backwards(void) { sums(true); }

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

// One step of torch.nn.LSTM for one sample: gates in the order i, f, g, o.
static void lstm_step(const ran *r, int n, int t, double h[H], double s[H]) {
  const float *w = state(r, "rnn.weight_ih_l0"), *u = state(r, "rnn.weight_hh_l0");
  const float *bx = state(r, "rnn.bias_ih_l0"), *bh = state(r, "rnn.bias_hh_l0");
  double g[4 * H];
  for (int i = 0; i < 4 * H; i++) {
    g[i] = (double)bx[i] + (double)bh[i];
    for (int c = 0; c < C; c++) g[i] += w[i * C + c] * s_at(n, t, c);
    for (int k = 0; k < H; k++) g[i] += u[i * H + k] * h[k];
  }
  for (int i = 0; i < H; i++) {
    s[i] = sigmoid(g[H + i]) * s[i] + sigmoid(g[i]) * tanh(g[2 * H + i]);
    h[i] = sigmoid(g[3 * H + i]) * tanh(s[i]);
  }
}

static void lstm(bool reverse) {
  char text[128];
  snprintf(text, sizeof text,
           "  - y: {lstm: s, hidden: %d, reverse: %s, name: rnn}\npredict: {y: y}\n", H,
           reverse ? "true" : "false");
  ran r = run(text);
  const float *y = result(&r, "predict.y");
  for (int n = 0; n < N; n++) {
    double h[H] = {0}, s[H] = {0};
    for (int k = 0; k < T; k++) {
      int t = reverse ? T - 1 - k : k;
      lstm_step(&r, n, t, h, s);
      for (int i = 0; i < H; i++)
        CHECK(fabs(y[(n * T + t) * H + i] - h[i]) < 1e-5, "step %d: %g, not %g", t,
              (double)y[(n * T + t) * H + i], h[i]);
    }
  }
  close_run(&r);
}
static void lstm_forwards(void) { lstm(false); }
static void lstm_backwards(void) { lstm(true); }

// Each step draws numbers of its own, those of a loop in a loop, too.
static void draws_anew(void) {
  ran r =
      run("  - y, z:\n"
          "      scan:\n"
          "        over: {s: t}\n"
          "        carry: {m: [n, c]}\n"
          "        nodes:\n"
          "          - y: {sample_uniform: s}\n"
          "          - two: {broadcast: s, axis: 1, size: 2}\n"
          "          - z: {scan: {over: {two: t}, carry: {k: [n, c]}, "
          "nodes: [{u: {sample_uniform: two}}, {k: {add: [k, u]}}], yields: u}}\n"
          "          - m: {add: [m, y]}\n"
          "        yields: [y, z]\n"
          "predict: {y: y, z: z}\n");
  enum { ALL = 3 * N * T * C };
  const float *y = result(&r, "predict.y"), *z = result(&r, "predict.z");
  for (int i = 0; i < ALL; i++)
    for (int k = 0; k < i; k++) {
      float a = i < N * T * C ? y[i] : z[i - N * T * C],
            b = k < N * T * C ? y[k] : z[k - N * T * C];
      CHECK(a != b, "numbers %d and %d are %g", k, i, (double)a);
    }
  close_run(&r);
}

// ---- Gradients in the model ----------------------------------------------------------------

// Of polynomials, also within a scan and through it: all derivatives are known.
static void gradients(void) {
  ran r =
      run("  - q: {mul: [x, x]}\n"
          "  - q: {mul: [q, x]}\n"
          "  - d: {gradient: [q, x]}\n"   // 3 x^2
          "  - dd: {gradient: [d, x]}\n"  // 6 x
          "  - part: {slice: q, axis: 1, size: 1}\n"
          "  - dp: {gradient: [part, x]}\n"  // of the first column alone
          "  - sg: {stop_gradient: x}\n"
          "  - m: {mul: [sg, x]}\n"
          "  - dm: {gradient: [m, x]}\n"  // x
          "  - z: {mul: [sg, sg]}\n"
          "  - z: {add: [z, x]}\n"
          "  - z: {sub: [z, x]}\n"
          "  - dz: {gradient: [z, x]}\n"  // 0
          "  - ks: {scan: {over: {s: t}, carry: {m: [n, c]}, nodes: [{w: {mul: [s, s]}}, "
          "{m: {add: [m, w]}}, {k: {gradient: [w, s]}}], yields: k}}\n"  // 2 s
          "  - ss: {mul: [ks, ks]}\n"
          "  - ds: {gradient: [ss, s]}\n"  // 8 s, through the scan
          "predict: {d: d, dd: dd, dp: dp, dm: dm, dz: dz, ds: ds}\n");
  const float *d = result(&r, "predict.d"), *dd = result(&r, "predict.dd"),
              *dp = result(&r, "predict.dp"), *dm = result(&r, "predict.dm"),
              *dz = result(&r, "predict.dz"), *ds = result(&r, "predict.ds");
  for (int i = 0; i < N * C; i++) {
    double x = x_at(i / C, i % C);
    CHECK(fabs(d[i] - 3 * x * x) < 1e-5, "first %d: %g", i, (double)d[i]);
    CHECK(fabs(dd[i] - 6 * x) < 1e-5, "second %d: %g", i, (double)dd[i]);
    CHECK(fabs(dp[i] - (i % C ? 0 : 3 * x * x)) < 1e-5, "column %d: %g", i, (double)dp[i]);
    CHECK(fabs(dm[i] - x) < 1e-5, "constant factor %d: %g", i, (double)dm[i]);
    CHECK(fabs((double)dz[i]) < 1e-6, "constant %d: %g", i, (double)dz[i]);
  }
  for (int i = 0; i < N * T * C; i++) {
    double x = s_at(i / (T * C), i / C % T, i % C);
    CHECK(fabs(ds[i] - 8 * x) < 1e-5, "through a scan %d: %g", i, (double)ds[i]);
  }
  close_run(&r);
}

// ---- Sums of products by letters ---------------------------------------------------------------

typedef struct equation {
  const char *text, *x[2];  // x or s, or both
} equation;

static int size_of(char letter) {
  return letter == 'n' || letter == 'm' ? N : letter == 't' || letter == 'u' ? T : C;
}

// An element of an operand, at the values that its letters have.
static double element(const char *name, const char *letters, const int *value) {
  const int *v = value;
  return *name == 'x' ? x_at(v[(int)letters[0]], v[(int)letters[1]])
                      : s_at(v[(int)letters[0]], v[(int)letters[1]], v[(int)letters[2]]);
}

// The sum as it is defined: over all values of all letters.
static void sum_up(const equation *e, double *out) {
  const char *second = strchr(e->text, ',') ? strchr(e->text, ',') + 1 : NULL;
  const char *to = strchr(e->text, '>') + 1;
  int value[128] = {0};
  for (bool more = true; more;) {
    int place = 0;
    for (const char *c = to; *c; c++) place = place * size_of(*c) + value[(int)*c];
    out[place] += element(e->x[0], e->text, value) * (second ? element(e->x[1], second, value) : 1);
    more = false;
    for (char c = 'a'; c <= 'z' && !more; c++) {
      if (!memchr(e->text, c, (size_t)(to - e->text))) continue;
      more = ++value[(int)c] < size_of(c);
      if (!more) value[(int)c] = 0;
    }
  }
}

static void check_equation(const equation *e) {
  double want[N * T * C * N * T] = {0};
  char nodes[256];
  snprintf(nodes, sizeof nodes, "  - y: {einsum: [%s%s%s], equation: '%s'}\npredict: {y: y}\n",
           e->x[0], e->x[1] ? ", " : "", e->x[1] ? e->x[1] : "", e->text);
  ran r = run(nodes);
  const float *y = result(&r, "predict.y");
  sum_up(e, want);
  int n = 1;
  for (const char *c = strchr(e->text, '>') + 1; *c; c++) n *= size_of(*c);
  for (int i = 0; i < n; i++)
    CHECK(fabs(y[i] - want[i]) < 1e-4, "%s, %d: %g, not %g", e->text, i, (double)y[i], want[i]);
  close_run(&r);
}

static void einsums(void) {
  static const equation equations[] = {
      {"nc,nc->n", {"x", "x"}},      {"nc,nd->ncd", {"x", "x"}},
      {"ntc,nc->nt", {"s", "x"}},    {"nc,ntc->nt", {"x", "s"}},
      {"ntc,nuc->ntu", {"s", "s"}},  {"ntc,ntd->ncd", {"s", "s"}},
      {"ntc,muc->ntmu", {"s", "s"}}, {"ntc,mc->nmt", {"s", "x"}},
      {"ntc->nct", {"s"}},           {"ntc->n", {"s"}},
      {"ntc,nuc->n", {"s", "s"}},    {"ntc,ntc->nt", {"s", "s"}},
      {"ntc,nuc->nuct", {"s", "s"}}, {"ntc,nud->nt", {"s", "s"}},
  };
  for (size_t i = 0; i < sizeof equations / sizeof *equations; i++) check_equation(&equations[i]);
  // Diagonals, and axes that dots stand for.
  ran r =
      run("  - z: {einsum: [s, s], equation: 'ntc,nuc->ntu'}\n"
          "  - y: {einsum: z, equation: 'ntt->nt'}\n"
          "  - w: {einsum: z, equation: 'ntt->n'}\n"
          "  - v: {einsum: [z, s], equation: 'ntt,ntc->nc'}\n"
          "  - u: {einsum: [s, s], equation: '...c,...c->...'}\n"
          "predict: {y: y, w: w, v: v, u: u}\n");
  const float *y = result(&r, "predict.y"), *w = result(&r, "predict.w"),
              *v = result(&r, "predict.v"), *u = result(&r, "predict.u");
  for (int n = 0; n < N; n++) {
    double trace = 0, all[C] = {0};
    for (int t = 0; t < T; t++) {
      double square = 0;
      for (int c = 0; c < C; c++) square += s_at(n, t, c) * s_at(n, t, c);
      CHECK(fabs(y[n * T + t] - square) < 1e-5, "diagonal %d %d", n, t);
      CHECK(fabs(u[n * T + t] - square) < 1e-5, "dots %d %d", n, t);
      trace += square;
      for (int c = 0; c < C; c++) all[c] += square * s_at(n, t, c);
    }
    CHECK(fabs(w[n] - trace) < 1e-4, "trace %d", n);
    for (int c = 0; c < C; c++) CHECK(fabs(v[n * C + c] - all[c]) < 1e-4, "with it %d %d", n, c);
  }
  close_run(&r);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"broadcasting", broadcasting}, {"listed_values", listed_values},
             {"ones_are_stretched", ones_are_stretched}, {"sums_forwards", sums_forwards},
             {"sums_backwards", sums_backwards}, {"lstm_forwards", lstm_forwards},
             {"lstm_backwards", lstm_backwards}, {"draws_anew", draws_anew},
             {"gradients", gradients}, {"einsums", einsums});
}
