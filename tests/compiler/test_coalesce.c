// test_coalesce.c - joined collectives against single ones: after some steps every state of every
// rank is the same, to the bit, however much is joined and whatever is split.
#include <pthread.h>
#include "compiler/compile.h"
#include "ops/comm/collective.h"
#include "runtime/comm/comm.h"
#include "runtime/exec/exec.h"
#include "tests/check.h"
#include "tests/on_host.h"
#include "tests/world.h"

enum { ROWS = 12, RANKS = 4, STEPS = 3 };
static gr_arena *arena;

// Of the weights some are large enough to be reduced in place, others are not.
static const char params[] = "{dim: 64, layers: 4, classes: 6, dropout: 0.1}",
                  twice[] = "{dim: 64, layers: 8, classes: 6, dropout: 0.1}";
static const gr_layout_rule split_weights[] = {{"*", "dp", 0}},
                            tensor[] = {{"*.weight", "tp", 1}, {"*.bias", "tp", 0}};
typedef struct way {
  const char *name;
  gr_mesh mesh;
  const gr_layout_rule *rules;
  int n_rules;
  const char *zero_axis, *optimizer;
} way;
static const way ways[] = {
    {"ddp", {1, {{"dp", 2}}}},
    {"ddp", {1, {{"dp", 3}}}},
    {"zero1", {1, {{"dp", 2}}}, .zero_axis = "dp"},
    {"fsdp", {1, {{"dp", 2}}}, split_weights, 1, "dp"},
    {"ddp x tp", {2, {{"dp", 2}, {"tp", 2}}}, tensor, 2},
    {"fsdp x tp", {2, {{"dp", 2}, {"tp", 2}}}, tensor, 2, "dp"},
    {"adafactor, zero1", {1, {{"dp", 2}}}, .zero_axis = "dp", .optimizer = "adafactor"},
    {"adafactor, fsdp", {1, {{"dp", 2}}}, split_weights, 1, "dp", "adafactor"},
    {"adafactor, fsdp x tp", {2, {{"dp", 2}, {"tp", 2}}}, tensor, 2, "dp", "adafactor"},
    {"muon, zero1", {1, {{"dp", 2}}}, .zero_axis = "dp", .optimizer = "muon"},
    {"muon, fsdp x tp", {2, {{"dp", 2}, {"tp", 2}}}, tensor, 2, "dp", "muon"},
};
enum { WAYS = sizeof ways / sizeof *ways };

static gr_plan *plan_of_rows(const way *w, int rows, const char *sizes, size_t joined, bool apart) {
  static const char *const bucket[] = {"coalesce_collectives"};
  const gr_dim dims[] = {{"n", rows}, {"c", 8}};
  static const gr_bucket all[] = {{""}};
  gr_conf *file, *given;
  gr_plan *p;
  MUST(gr_conf_read(arena, GR_SOURCE_DIR "/graphs/mlp.yaml", &file));
  MUST(gr_conf_parse(arena, "params.yaml", sizes, &given));
  gr_plan_request r = {.model = {.graph = file,
                                 .params = given,
                                 .dims = dims,
                                 .n_dims = 2,
                                 .seed = 1,
                                 .mesh = w->mesh,
                                 .batch_axis = {"dp"}},
                       .options = {.optimizer.name = w->optimizer ? w->optimizer : "adam",
                                   .optimizer.grad_clip = 1,
                                   .sharding.rules = w->rules,
                                   .sharding.n_rules = w->n_rules,
                                   .sharding.zero_axis = w->zero_axis,
                                   .debug.coalesce_bytes = joined,
                                   .debug.without = bucket,
                                   .debug.n_without = apart},
                       .buckets = all,
                       .n_buckets = 1,
                       .train = true,
                       .eval = true};
  MUST(gr_plan_build(arena, &r, &p));
  return p;
}

static gr_plan *plan_with(const way *w, const char *sizes, size_t joined, bool apart) {
  return plan_of_rows(w, ROWS, sizes, joined, apart);
}

static gr_plan *plan_of(const way *w, size_t joined, bool apart) {
  return plan_with(w, params, joined, apart);
}

// ---- Running ----------------------------------------------------------------------------

typedef struct member {
  const gr_plan *plan;
  gr_comm *world;
  bool in_line;
  uint64_t states;
  double loss;
  gr_status status;
  pthread_t thread;
} member;

static void fill(const member *m, gr_exec *e, const gr_program *p, int step) {
  static const char *const names[] = {"x", "y", "weight"};
  int part = gr_mesh_coord(&m->plan->mesh, m->world->rank, 0);
  for (int i = 0; i < 3; i++) {
    gr_type t;
    void *data = input_on_host(e, p, names[i], &t);
    int64_t n = gr_type_count(&t);
    for (int64_t k = 0; k < n; k++) {
      uint32_t seed = (uint32_t)(step * 7919 + part * n + k) * 2654435761u + 1;
      double x = (double)random_float(&seed);
      gr_put(data, t.dtype, k, i == 0 ? x : i == 1 ? (double)((step + part * n + k) % 6) : 1);
    }
  }
  gr_type t;
  *(float *)input_on_host(e, p, "lr", &t) = 1e-2f;
}

static gr_status train(member *m, gr_exec *e) {
  const gr_program *p = gr_plan_find(m->plan, "train", "");
  GR_TRY(gr_exec_run(e, gr_plan_find(m->plan, "init", "")));
  for (int i = 0; i < STEPS; i++) {
    fill(m, e, p, i);
    GR_TRY(gr_exec_run(e, p));
  }
  gr_type t;
  m->loss = gr_get(result_on_host(e, p, "metric.loss.sum", &t), GR_F32, 0);
  m->states = GR_HASH_START;
  for (uint32_t i = 0; i < m->plan->n_states; i++)
    m->states =
        gr_hash_bytes(m->states, state_on_host(e, &m->plan->states[i]), m->plan->states[i].bytes);
  return GR_OK;
}

static gr_status open_and_train(member *m) {
  gr_comm *axes[GR_MAX_MESH] = {0};
  gr_exec *e;
  GR_TRY(gr_comm_mesh(m->world, &m->plan->mesh, axes));
  gr_exec_options o = {.threads = 1, .comm = axes, .rank = m->world->rank, .in_line = m->in_line};
  GR_TRY(gr_exec_open(m->plan, &o, &e));
  gr_status s = train(m, e);
  gr_exec_close(e);
  gr_comm_mesh_close(axes, &m->plan->mesh);
  return s;
}

static void *run_member(void *arg) {
  member *m = arg;
  m->status = open_and_train(m);
  return NULL;
}

static void run_by(const gr_plan *p, bool in_line, member m[RANKS]) {
  int ranks = gr_mesh_ranks(&p->mesh);
  gr_loopback *all;
  MUST(gr_loopback_create(ranks, 60, &all));
  for (int r = 0; r < ranks; r++) {
    m[r] = (member){.plan = p, .world = gr_loopback_comm(all, r), .in_line = in_line};
    if (pthread_create(&m[r].thread, NULL, run_member, &m[r])) abort();
  }
  for (int r = 0; r < ranks; r++) pthread_join(m[r].thread, NULL);
  gr_loopback_destroy(all);
  for (int r = 0; r < ranks; r++) MUST(m[r].status);
}

static void run(const gr_plan *p, member m[RANKS]) { run_by(p, true, m); }

// ---- Tests ------------------------------------------------------------------------------

static int count(const gr_plan *p, bool values) {
  static const char *const kinds[] = {"all_reduce", "all_gather", "reduce_scatter"};
  int n = 0;
  for (int k = 0; k < 3; k++)
    n += (values ? count_results : count_ops)(gr_plan_find(p, "train", "")->frame.g, kinds[k]);
  return n;
}

static void same_bits(void) {
  static const size_t joined[] = {0, 600, 40000};
  arena = gr_arena_create();
  for (int w = 0; w < WAYS; w++) {
    for (int k = 0; k < 3; k++) {
      gr_plan *apart = plan_of(&ways[w], joined[k], true);
      gr_plan *p = plan_of(&ways[w], joined[k], false);
      member want[RANKS], got[RANKS];
      run(apart, want);
      CHECK(count(apart, false) == count(apart, true), "%s: joined without the pass", ways[w].name);
      int ranks = gr_mesh_ranks(&p->mesh);
      run(p, got);
      CHECK(count(p, true) == count(apart, true) && count(p, false) < count(p, true),
            "%s, up to %zu bytes: %d collectives of %d values, apart %d", ways[w].name, joined[k],
            count(p, false), count(p, true), count(apart, false));
      for (int r = 0; r < ranks; r++)
        CHECK(got[r].states == want[r].states && !memcmp(&got[r].loss, &want[r].loss, 8),
              "%s, up to %zu bytes: rank %d differs, its loss is %.9g, not %.9g", ways[w].name,
              joined[k], r, got[r].loss, want[r].loss);
    }
  }
  gr_arena_destroy(arena);
}

// Collectives that run beside kernels leave the bits of those that run in line, joined or not.
static void beside(void) {
  arena = gr_arena_create();
  for (int w = 0; w < WAYS; w++)
    for (int apart = 0; apart < 2; apart++) {
      gr_plan *p = plan_of(&ways[w], 0, apart);
      member want[RANKS], got[RANKS];
      run_by(p, true, want);
      run_by(p, false, got);
      for (int r = 0; r < gr_mesh_ranks(&p->mesh); r++)
        CHECK(got[r].states == want[r].states && !memcmp(&got[r].loss, &want[r].loss, 8),
              "%s%s: rank %d differs beside kernels, its loss is %.9g, not %.9g", ways[w].name,
              apart ? ", apart" : "", r, got[r].loss, want[r].loss);
    }
  gr_arena_destroy(arena);
}

// The first sum of gradients is small, so that it begins early, and the others are large. Those of
// the last layers come first.
static void first_sum(void) {
  static const way ddp = {"ddp", {1, {{"dp", 2}}}};
  arena = gr_arena_create();
  const gr_plan *p =
      plan_of_rows(&ddp, 4096, "{dim: 300, layers: 40, classes: 6, dropout: 0.0}", 0, false);
  const gr_graph *g = gr_plan_find(p, "train", "")->frame.g;
  size_t mb[8] = {0};
  int n = 0;
  uint32_t place[8] = {0};
  for (uint32_t i = 0; i < g->n_nodes && n < 8; i++) {
    const gr_node *s = &g->nodes[i];
    if (s->op != &gr_op_all_reduce) continue;
    for (int k = 0; k < s->n_in; k++) mb[n] += gr_type_bytes(&gr_at(g, s->in[k])->type);
    place[n++] = i;
  }
  CHECK(n == 2 && mb[0] > 512 << 10 && mb[0] <= 1 << 20 && mb[1] > 12 << 20,
        "%d sums, of %zu and %zu bytes", n, mb[0], mb[1]);
  CHECK(place[0] < g->n_nodes / 2, "the first is node %u of %u", place[0], g->n_nodes);
  gr_arena_destroy(arena);
}

// Gradients are summed where they are made; of what waits to be scattered there is a limit. Updates
// side by side hold the slices of all weights.
static void memory(void) {
  arena = gr_arena_create();
  for (int w = 0; w < WAYS; w++) {
    size_t apart = plan_of(&ways[w], 0, true)->arena_bytes;
    size_t joined = plan_of(&ways[w], 600, false)->arena_bytes;
    bool matrices = ways[w].optimizer && !strcmp(ways[w].optimizer, "muon");
    size_t slices = matrices ? 32768 : ways[w].optimizer ? 8192 : 0;  // that wait for each other
    CHECK(joined <= apart + 1200 + slices, "%s: %zu bytes for a step, apart %zu", ways[w].name,
          joined, apart);
  }
  gr_plan *p = plan_of(&ways[0], 0, false);
  const gr_plan_frame *f = &gr_plan_find(p, "train", "")->frame;
  for (uint32_t i = 0; i < f->g->n_nodes; i++) {
    const gr_node *n = &f->g->nodes[i];
    for (int k = 0; n->op == &gr_op_all_reduce && k < n->n_in; k++)
      CHECK(f->offset[n->in[k].id] == f->offset[gr_out(n, k).id], "value %d of %%%u is copied", k,
            n->out.id);
  }
  gr_arena_destroy(arena);
}

// Adafactor's sums over a weight wait for each other; those of all weights are made together, so
// that a model of twice as many layers has no more all_reduces.
static void updates_together(void) {
  arena = gr_arena_create();
  for (int w = 0; w < WAYS; w++) {
    if (!ways[w].optimizer) continue;
    const gr_plan *p = plan_with(&ways[w], params, 0, false),
                  *q = plan_with(&ways[w], twice, 0, false);
    int n = count_ops(gr_plan_find(p, "train", "")->frame.g, "all_reduce");
    int more = count_ops(gr_plan_find(q, "train", "")->frame.g, "all_reduce");
    CHECK(n == more, "%s: %d all_reduces of 4 layers, %d of 8", ways[w].name, n, more);
  }
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"same_bits", same_bits}, {"memory", memory},
             {"updates_together", updates_together}, {"beside", beside}, {"first_sum", first_sum});
}
