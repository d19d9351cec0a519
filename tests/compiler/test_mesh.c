// test_mesh.c - a small transformer on meshes of several axes: by every strategy the losses of ten
// steps are those of one rank, no more is moved than the textbook says, and ranks that hold the
// same part of a state hold the same bits.
#include <math.h>
#include <pthread.h>
#include <string.h>
#include "compiler/compile.h"
#include "compiler/plan/traffic.h"
#include "runtime/comm/comm.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/on_host.h"

enum { N = 24, T = 6, C = 32, BLOCKS = 2, STEPS = 10, RANKS = 8, VOCAB = 16, CLASSES = 4 };

static const char model[] =
    "inputs:\n"
    "  ids: {shape: [n, t], dtype: i32}\n"
    "  lengths: {shape: [n], dtype: i32}\n"
    "  y: {shape: [n], dtype: i32}\n"
    "blocks:\n"
    "  layer:\n"
    "    in: [x, lengths]\n"
    "    nodes:\n"
    "      - y: {layer_norm: x, name: attention_norm}\n"
    "      - y: {self_attention: [y, lengths], heads: 4, dropout: 0.1, name: attention}\n"
    "      - x: {add: [x, y]}\n"
    "      - y: {layer_norm: x, name: norm}\n"
    "      - y: {feed_forward: y, dropout: 0.1, name: feed_forward}\n"
    "      - x: {add: [x, y]}\n"
    "    out: x\n"
    "nodes:\n"
    "  - x: {embedding: ids, vocab: 16, dim: 32, name: token}\n"
    "  - repeat: 2\n"
    "    name: layers.$i\n"
    "    nodes:\n"
    "      - x: {layer: [x, lengths]}\n"
    "  - x: {mean: x, axes: [1]}\n"
    "  - logits: {linear: x, out: 4, name: head}\n"
    "  - loss: {cross_entropy: [logits, y]}\n"
    "train: loss\n";

typedef struct way {
  const char *name;
  gr_mesh mesh;
  const char *split;  // over which states are split, or NULL
  bool weights;       // weights too
} way;

typedef struct member {
  const way *w;
  const gr_plan *plan;
  gr_comm *world;
  gr_exec *exec;
  gr_comm *axes[GR_MAX_MESH];
  double losses[STEPS];
  gr_status status;
} member;

// ---- Plans --------------------------------------------------------------------------------

static bool is_data(const char *axis) { return strcmp(axis, "tp") != 0; }

static int size_of(const way *w, const char *axis) {
  for (int a = 0; a < w->mesh.n_axes; a++)
    if (!strcmp(w->mesh.axis[a].name, axis)) return w->mesh.axis[a].size;
  return 1;
}

// Of the ranks of all axes that share the batch; `rank` of them, or how many there are.
static int shares(const gr_mesh *m, int *rank) {
  int share = 0, n = 1;
  for (int a = 0; a < m->n_axes; a++) {
    if (!is_data(m->axis[a].name)) continue;
    share = share * m->axis[a].size + gr_mesh_coord(m, *rank, a), n *= m->axis[a].size;
  }
  *rank = share;
  return n;
}

static gr_status plan_of(gr_arena *a, const way *w, gr_plan **out) {
  gr_conf *graph;
  GR_TRY(gr_conf_parse(a, "model.yaml", model, &graph));
  gr_layout_rule *rule = GR_NEW(a, gr_layout_rule, 1);
  *rule = (gr_layout_rule){.pattern = "*", .axis = w->split, .placement = GR_ANY_DIM};
  gr_dim *dims = GR_NEW(a, gr_dim, 2);
  dims[0] = (gr_dim){"n", N}, dims[1] = (gr_dim){"t", T};
  gr_plan_request r = {.model = {.graph = graph,
                                 .dims = dims,
                                 .n_dims = 2,
                                 .seed = 3,
                                 .mesh = w->mesh,
                                 .batch_axis = {"dp", "replicate", "shard"}},
                       .options = {.optimizer.name = "adam",
                                   .optimizer.grad_clip = 1,
                                   .sharding.zero_axis = w->split,
                                   .sharding.rules = rule,
                                   .sharding.n_rules = w->weights},
                       .buckets = &(gr_bucket){.name = ""},
                       .n_buckets = 1,
                       .train = true};
  return gr_plan_build(a, &r, out);
}

// ---- A rank -------------------------------------------------------------------------------

static void put(const member *m, const char *name, int64_t i, double value) {
  gr_type t;
  void *data = input_on_host(m->exec, gr_plan_find(m->plan, "train", ""), name, &t);
  if (data) gr_put(data, t.dtype, i, value);
}

// Ranks that share no batch axis read the same rows.
static void fill(const member *m, int step) {
  int share = m->world->rank, of = shares(&m->plan->mesh, &share), rows = N / of;
  for (int i = 0; i < rows; i++) {
    int sample = share * rows + i;
    for (int t = 0; t < T; t++) put(m, "ids", i * T + t, (5 * step + 3 * sample + t * t) % VOCAB);
    put(m, "lengths", i, 1 + (sample + step) % T);
    put(m, "y", i, (5 * step + 3 * sample) % VOCAB % CLASSES);
    put(m, "weight", i, sample != 5);
  }
  put(m, "lr", 0, 1e-2);
}

static double result(const member *m, const char *name) {
  gr_type t;
  const void *data = result_on_host(m->exec, gr_plan_find(m->plan, "train", ""), name, &t);
  return data ? gr_get(data, t.dtype, 0) : (double)NAN;
}

static gr_status run_rank(member *m) {
  GR_TRY(gr_comm_mesh(m->world, &m->plan->mesh, m->axes));
  gr_exec_options o = {.threads = 1, .comm = m->axes, .rank = m->world->rank};
  GR_TRY(gr_exec_open(m->plan, &o, &m->exec));
  GR_TRY(gr_exec_run(m->exec, gr_plan_find(m->plan, "init", "")));
  for (int i = 0; i < STEPS; i++) {
    fill(m, i);
    GR_TRY(gr_exec_run(m->exec, gr_plan_find(m->plan, "train", "")));
    m->losses[i] = result(m, "metric.loss.sum") / result(m, "metric.loss.weight");
  }
  return GR_OK;
}

static void *run_thread(void *arg) {
  member *m = arg;
  m->status = run_rank(m);
  return NULL;
}

// ---- All of them --------------------------------------------------------------------------

// Ranks with the same coordinates along the axes that split a state.
static bool replicas(const gr_mesh *mesh, const gr_layout *l, int a, int b) {
  for (int i = 0; i < mesh->n_axes; i++)
    if (l->placement[i] >= 0 && gr_mesh_coord(mesh, a, i) != gr_mesh_coord(mesh, b, i))
      return false;
  return true;
}

static void check_replicas(const way *w, const member *m, int ranks) {
  const gr_plan *p = m->plan;
  for (uint32_t i = 0; i < p->n_states; i++)
    for (int a = 0; a < ranks; a++)
      for (int b = a + 1; b < ranks; b++)
        if (replicas(&p->mesh, &p->states[i].layout, a, b))
          CHECK(!memcmp(state_on_host(m[a].exec, &p->states[i]),
                        state_on_host(m[b].exec, &p->states[i]), p->states[i].bytes),
                "%s: %s of ranks %d and %d", w->name, p->states[i].name, a, b);
}

static void run_all(const way *w, double losses[STEPS]) {
  gr_arena *a = gr_arena_create();
  gr_plan *plan;
  gr_loopback *all;
  static member m[RANKS];
  pthread_t thread[RANKS];
  int ranks = gr_mesh_ranks(&w->mesh);
  MUST(plan_of(a, w, &plan));
  MUST(gr_loopback_create(ranks, 60, &all));
  for (int i = 0; i < ranks; i++) {
    m[i] = (member){.w = w, .plan = plan, .world = gr_loopback_comm(all, i)};
    pthread_create(&thread[i], NULL, run_thread, &m[i]);
  }
  for (int i = 0; i < ranks; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < ranks; i++) MUST(m[i].status);
  check_replicas(w, m, ranks);
  memcpy(losses, m[0].losses, sizeof m[0].losses);
  for (int i = 0; i < ranks; i++) {
    gr_exec_close(m[i].exec);
    gr_comm_mesh_close(m[i].axes, &plan->mesh);
  }
  gr_loopback_destroy(all);
  gr_arena_destroy(a);
}

static const way one = {"one rank", {0}, NULL, false};
static const way ways[] = {
    {"ddp", {1, {{"dp", 2}}}, NULL, false},
    {"zero1", {1, {{"dp", 4}}}, "dp", false},
    {"fsdp", {1, {{"dp", 4}}}, "dp", true},
    {"fsdp, padded", {1, {{"dp", 3}}}, "dp", true},
    {"hsdp", {2, {{"replicate", 2}, {"shard", 2}}}, "shard", true},
    {"hsdp, the other way round", {2, {{"shard", 2}, {"replicate", 4}}}, "shard", true},
    {"tp", {1, {{"tp", 2}}}, NULL, false},
    {"tp on 4", {1, {{"tp", 4}}}, NULL, false},
    {"dp x tp", {2, {{"dp", 2}, {"tp", 2}}}, NULL, false},
    {"tp x dp", {2, {{"tp", 2}, {"dp", 2}}}, NULL, false},
    {"zero1 x tp", {2, {{"dp", 2}, {"tp", 2}}}, "dp", false},
    {"fsdp x tp", {2, {{"dp", 2}, {"tp", 2}}}, "dp", true},
    {"hsdp, padded", {2, {{"replicate", 2}, {"shard", 3}}}, "shard", true},
    {"fsdp x tp, padded", {2, {{"dp", 3}, {"tp", 2}}}, "dp", true},
    {"hsdp x tp", {3, {{"replicate", 2}, {"shard", 2}, {"tp", 2}}}, "shard", true},
};
enum { WAYS = sizeof ways / sizeof *ways };

static void losses(void) {
  double want[STEPS], got[STEPS];
  run_all(&one, want);
  CHECK(want[STEPS - 1] < want[0], "it learns: %g to %g", want[0], want[STEPS - 1]);
  for (int i = 0; i < WAYS; i++) {
    double worst = 0;
    run_all(&ways[i], got);
    for (int k = 0; k < STEPS; k++) worst = check_worse(worst, fabs(got[k] - want[k]) / want[k]);
    CHECK(worst < 2e-4, "%s: losses off by %g", ways[i].name, worst);
  }
}

// ---- What is moved ------------------------------------------------------------------------

// Bytes of the trained weights that one rank holds; or would, if only tp split them. With padding.
static double weight_bytes(const gr_plan *p, bool only_tp) {
  double sum = 0;
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    double bytes = (double)s->bytes;
    for (int a = 0; a < p->mesh.n_axes; a++)
      if (s->layout.placement[a] >= 0 && only_tp && is_data(p->mesh.axis[a].name))
        bytes *= p->mesh.axis[a].size;
    if (s->trained) sum += bytes;
  }
  return sum;
}

// Bytes each rank sends over an axis in a step. Of B bytes over n ranks an all_gather or a
// reduce_scatter sends (n - 1) / n B, an all_reduce twice that.
//   ddp, zero1   one all_reduce of the gradient (or its two halves): 2
//   fsdp         weights gathered forward and back, gradients scattered: 3
//   hsdp         the same over shard, and an all_reduce of a rank's part over replicate
//   tp           for each pair of layers one all_reduce of activations forward, one back, and the
//                embedding's, whose gradient needs none, gathered once
static double textbook(const way *w, const char *axis, const gr_plan *p) {
  double n = size_of(w, axis), once = (n - 1) / n, data = 1;
  for (int a = 0; a < w->mesh.n_axes; a++)
    if (is_data(w->mesh.axis[a].name)) data *= w->mesh.axis[a].size;
  if (!strcmp(axis, "tp")) return once * (2 * 4 * BLOCKS + 1) * (N * T * C * 4 / data);
  if (!strcmp(axis, "replicate")) return 2 * once * weight_bytes(p, false);
  return (w->weights ? 3 : 2) * once * weight_bytes(p, true);
}

enum { SCALARS = 256 };  // bytes of loss, denominator, metrics and the gradient's norm

static void traffic(void) {
  for (int i = 0; i < WAYS; i++) {
    const way *w = &ways[i];
    gr_arena *a = gr_arena_create();
    gr_plan *p;
    gr_traffic t[GR_MAX_MESH];
    MUST(plan_of(a, w, &p));
    gr_traffic_count(gr_plan_find(p, "train", ""), t);
    for (int k = 0; k < p->mesh.n_axes; k++) {
      const char *axis = p->mesh.axis[k].name;
      double most = textbook(w, axis, p);
      printf("  %-26s over %-9s %3d collectives, %8.0f B sent, %8.0f B by the book\n", w->name,
             axis, t[k].collectives, t[k].sent, most);
      CHECK(t[k].sent <= most + SCALARS, "%s: %g B over %s, %g B by the book", w->name, t[k].sent,
            axis, most);
      CHECK(t[k].sent > most / 2, "%s: %g B over %s are too few", w->name, t[k].sent, axis);
      // Over tp those, the embedding's, and the norm's; else three for each unit, the blocks and
      // what is before and after them, and one for the sums of all.
      int many = strcmp(axis, "tp") ? 3 * (BLOCKS + 2) + 1 : 4 * BLOCKS + 3;
      CHECK(t[k].collectives <= many, "%s: %d over %s", w->name, t[k].collectives, axis);
    }
    gr_arena_destroy(a);
  }
}

// ---- Placement ----------------------------------------------------------------------------

static const gr_plan_state *state(const gr_plan *p, const char *name) {
  for (uint32_t i = 0; i < p->n_states; i++)
    if (!strcmp(p->states[i].name, name)) return &p->states[i];
  return NULL;
}

// What the shipped blocks say of tp, and where the strategy then finds a free axis. Small weights
// stay whole over dp.
static void placement(void) {
  static const struct {
    const char *name;
    gr_axis_placement dp, tp;
  } rows[] = {{"token.weight", 0, 1},
              {"layers.1.attention.q.weight", 1, 0},
              {"layers.1.attention.k.bias", GR_REPLICATE, 0},
              {"layers.1.attention.o.weight", 0, 1},
              {"layers.1.attention.o.bias", GR_REPLICATE, GR_REPLICATE},
              {"layers.0.feed_forward.up.weight", 1, 0},
              {"layers.0.feed_forward.up.bias", GR_REPLICATE, 0},
              {"layers.0.feed_forward.down.weight", 0, 1},
              {"layers.0.norm.weight", GR_REPLICATE, GR_REPLICATE},
              {"head.weight", 0, GR_REPLICATE}};
  gr_arena *a = gr_arena_create();
  gr_plan *p;
  const way w = {"", {2, {{"dp", 2}, {"tp", 2}}}, "dp", true};
  MUST(plan_of(a, &w, &p));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const gr_plan_state *s = state(p, rows[i].name);
    CHECK(s && s->layout.placement[0] == rows[i].dp && s->layout.placement[1] == rows[i].tp,
          "%s: dp %d, tp %d", rows[i].name, s ? s->layout.placement[0] : 9,
          s ? s->layout.placement[1] : 9);
  }
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"losses", losses}, {"traffic", traffic}, {"placement", placement});
}
