// test_plan.c - plans of the graphs that come with graphrun, for several numbers of ranks and
// ways to split: built, proved, explained; and the proof refuses plans that were tampered with.
#include <string.h>
#include "compiler/plan/prove.h"
#include "compiler/report/explain.h"
#include "ops/comm/collective.h"
#include "ops/loop/scan.h"
#include "tests/check.h"
#include "tests/ir/parse.h"
#include "tests/world.h"

static gr_arena *arena;

typedef struct model {
  const char *file, *params;
  gr_dim dims[8];
  int n_dims;
} model;
static const model mlp = {"mlp.yaml", "{dim: 8, layers: 2}", {{"n", 12}, {"c", 4}}, 2};
static const model speech = {"lmu_asr.yaml",
                             "{mels: 8, vocab: 6, hidden: 16, memory: 8, theta: 8.0, layers: 2, "
                             "heads: 2, subsample: 2, lmu_residual: true}",
                             {{"n", 12}},
                             1};

static const gr_options adam = {.optimizer.name = "adam", .optimizer.grad_clip = 1};
static const gr_layout_rule fsdp[] = {{"*", "dp", 0}};

static gr_status plan_of(const model *m, int ranks, const gr_options *o, gr_plan **out) {
  static const gr_dim small[] = {{"t", 10}, {"u", 3}}, large[] = {{"t", 18}, {"u", 4}};
  static const gr_bucket buckets[] = {{"t10", small, 2}, {"t18", large, 2}},
                         only[] = {{"", NULL, 0}};
  bool several = m == &speech;
  char path[512];
  gr_conf *file, *params;
  snprintf(path, sizeof path, "%s/graphs/%s", GR_SOURCE_DIR, m->file);
  GR_TRY(gr_conf_read(arena, path, &file));
  GR_TRY(gr_conf_parse(arena, "params.yaml", m->params, &params));
  gr_plan_request r = {.model = {.graph = file,
                                 .params = params,
                                 .dims = m->dims,
                                 .n_dims = m->n_dims,
                                 .seed = 1,
                                 .mesh = {.n_axes = 1, .axis = {{"dp", ranks}}},
                                 .batch_axis = {"dp"}},
                       .options = *o,
                       .buckets = several ? buckets : only,
                       .n_buckets = several ? 2 : 1,
                       .train = true,
                       .eval = true};
  return gr_plan_build(arena, &r, out);
}

static gr_options with(const gr_layout_rule *rules, int n, const char *zero) {
  gr_options o = adam;
  o.sharding.rules = rules, o.sharding.n_rules = n, o.sharding.zero_axis = zero;
  return o;
}

static void check_model(const model *m) {
  arena = gr_arena_create();
  int64_t parameters = 0;
  for (int ranks = 1; ranks <= 3; ranks++) {
    gr_options ways[] = {adam, with(NULL, 0, "dp"), with(fsdp, 1, NULL)};
    size_t states = 0;
    for (int w = 0; w < 3; w++) {
      gr_plan *p, *again;
      MUST(plan_of(m, ranks, &ways[w], &p));
      MUST(plan_of(m, ranks, &ways[w], &again));
      CHECK(p->hash == again->hash, "two plans of the same");
      int64_t trained, n = gr_plan_parameters(p, &trained);
      if (!parameters) parameters = n;
      CHECK(n == parameters && trained == n, "parameters");
      CHECK(ranks != 2 || w == 0 || p->state_bytes < states, "states are split");
      states = p->state_bytes;
      CHECK(gr_plan_find(p, "init", "") && !gr_plan_find(p, "train", "t99"), "programs");
    }
  }
  gr_arena_destroy(arena);
}

static void mlps(void) { check_model(&mlp); }
static void speeches(void) { check_model(&speech); }

// Every state has an initial value; steps make all next values in place.
static void states(void) {
  arena = gr_arena_create();
  gr_plan *p;
  MUST(plan_of(&speech, 2, &adam, &p));
  for (uint32_t i = 0; i < p->n_programs; i++) {
    const gr_plan_frame *f = &p->programs[i].frame;
    uint32_t next = 0, copied = 0;
    for (uint32_t v = 1; v < f->g->n_values; v++) {
      gr_val n = f->g->values[v].next;
      next += gr_is(n);
      copied += gr_is(n) && n.id != v && !f->in_states[n.id];
    }
    CHECK(copied == 0 || !strcmp(p->programs[i].kind, "init"), "%s copies %u states",
          p->programs[i].name, copied);
    if (!strcmp(p->programs[i].kind, "init"))
      CHECK(next == p->n_states, "%u of %u states have an initial value", next, p->n_states);
  }
  gr_arena_destroy(arena);
}

// Data parallel: all gradients, loss and norm, and each metric's sums are summed, in one go.
static void collectives(void) {
  arena = gr_arena_create();
  gr_plan *p;
  MUST(plan_of(&speech, 2, &adam, &p));
  const gr_graph *g = p->programs[0].frame.g;
  int weights = 0;
  for (uint32_t i = 0; i < p->n_states; i++) weights += p->states[i].trained;
  CHECK(count_results(g, "all_reduce") == weights + 2 + 4, "%d values are summed, of %d weights",
        count_results(g, "all_reduce"), weights);
  CHECK(count_ops(g, "all_reduce") == 1, "%d all_reduce", count_ops(g, "all_reduce"));
  CHECK(count_ops(g, "all_gather") + count_ops(g, "reduce_scatter") == 0, "others");
  gr_arena_destroy(arena);
}

// The plan of one program, whose graph is written out; its only frame.
static const gr_plan_frame *frame_of(const char *text) {
  gr_graph *g;
  gr_plan *p;
  MUST(graph_parse(arena, gr_op_find, "text", text, &g));
  MUST(gr_plan_link(arena, &(gr_compiled){.kind = "eval", .bucket = "", .g = g}, 1, &p));
  return &p->programs[0].frame;
}

// A next value is not made where the state is while the state is still read.
static void read_later(void) {
  static const char text[] =
      "%1 = buffer s : f32[4] next=%2\n%2 = relu %1 : f32[4]\n%3 = tanh %1 : f32[4]\n"
      "%4 = buffer u : f32[4] next=%5\n%5 = relu %4 : f32[4]\nresult y %3\n";
  arena = gr_arena_create();
  const gr_plan_frame *f = frame_of(text);
  CHECK(!f->in_states[gr_at(f->g, gr_graph_leaf(f->g, GR_STATE, "s"))->next.id], "s");
  CHECK(f->in_states[gr_at(f->g, gr_graph_leaf(f->g, GR_STATE, "u"))->next.id], "u");
  gr_arena_destroy(arena);
}

// An op's own kernel is only known to work in place where the operand it takes over is read once.
static void read_twice(void) {
  static const char text[] =
      "%1 = input x : f32[4]\n%2 = relu %1 : f32[4]\n%3 = mul %2 %2 : f32[4]\n"
      "%4 = relu %3 : f32[4]\nresult y %4\n";
  arena = gr_arena_create();
  const gr_plan_frame *f = frame_of(text);
  const size_t *offset = f->offset;
  CHECK(offset[2] != offset[3], "the product is made where its operand is");
  CHECK(offset[3] == offset[4], "relu works in place");
  gr_arena_destroy(arena);
}

static char *explained(const gr_plan *p) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  gr_plan_explain(f, gr_plan_count(arena, p, NULL, NULL, 0));
  fclose(f);
  return text;
}

// The certificate has a line for each claim, and says it of this plan's ranks.
static void certify(void) {
  arena = gr_arena_create();
  gr_plan *p;
  gr_options zero = with(NULL, 0, "dp");
  MUST(plan_of(&speech, 2, &zero, &p));
  char *text = NULL, head[96];
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  gr_plan_certify(f, gr_plan_count(arena, p, NULL, NULL, 0));
  fclose(f);
  snprintf(head, sizeof head,
           "proved      of %u programs on 2 ranks; communicators: 1 of 2 ranks over dp;",
           p->n_programs);
  CHECK(!strncmp(text, head, strlen(head)), "%s", text);
  int of[3] = {0};
  const gr_claim *c;
  for (int i = 0; (c = gr_plan_claim(i)); i++) {
    of[c->kind]++;
    CHECK(strstr(text, c->name), "not told: %s", c->name);
  }
  CHECK(of[GR_PROVED] == 6 && of[GR_ASSUMED] && of[GR_UNPROVED], "of each kind");
  free(text);
  gr_arena_destroy(arena);
}

static void explain(void) {
  arena = gr_arena_create();
  gr_plan *p;
  gr_options zero = with(NULL, 0, "dp");
  MUST(plan_of(&speech, 2, &zero, &p));
  char *text = explained(p);
  static const char *const wanted[] = {
      "trained numbers",
      "find_unused_parameters: 0",
      "gradient of layers.0.lmu.W_h",
      "layers.0.lmu.W_h, updated in parts",
      "the length of the gradient",
      "the loss is over the whole batch",
      "9 steps",
      "most memory at",
      "lmu_asr.yaml:",
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    CHECK(strstr(text, wanted[i]), "not told: %s", wanted[i]);
  if (getenv("SHOW")) puts(text);
  free(text);
  gr_arena_destroy(arena);
}

// Every node of the graph is drawn once, in the cluster of its scope, and every use is an arrow.
static void draw(void) {
  arena = gr_arena_create();
  gr_plan *p;
  MUST(plan_of(&mlp, 2, &adam, &p));
  const gr_graph *g = p->programs[0].frame.g;
  char *text = NULL, name[32];
  size_t size = 0, uses = 0, arrows = 0, depth = 0;
  FILE *f = open_memstream(&text, &size);
  gr_plan_dot(f, &p->programs[0]);
  fclose(f);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    snprintf(name, sizeof name, " n%u [", i);
    const char *found = strstr(text, name);
    CHECK(found && !strstr(found + 1, name), "node %u is not there once", i);
    uses += (size_t)g->nodes[i].n_in;
  }
  for (uint32_t i = 1; i < g->n_values; i++) uses += gr_is(g->values[i].next);
  for (const char *c = text; *c; c++) {
    arrows += c[0] == '-' && c[1] == '>';
    depth += (*c == '{') - (size_t)(*c == '}');
  }
  CHECK(arrows == uses + g->n_results, "%zu arrows for %zu uses", arrows, uses);
  CHECK(depth == 0 && strstr(text, "label=\"body.1\""), "clusters");
  free(text);
  gr_arena_destroy(arena);
}

// ---- The proof must notice ---------------------------------------------------------------

static void refuse(const gr_plan *p, const char *what) {
  gr_status s = gr_plan_prove(p);
  CHECK(s && strstr(gr_status_text(s), what), "'%s' is not refused: %s", what,
        s ? gr_status_text(s) : "proved");
  if (s) gr_status_drop(s);
}

static void tampered(void) {
  arena = gr_arena_create();
  gr_plan *p;
  MUST(plan_of(&mlp, 2, &adam, &p));
  gr_plan_frame *f = &p->programs[0].frame;
  const gr_graph *g = f->g;
  const gr_node *last = NULL;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_matmul) last = &g->nodes[i];
  size_t original = f->offset[last->out.id];
  f->offset[last->out.id] = f->offset[last->in[0].id];
  refuse(p, "which is still read");
  f->offset[last->out.id] = f->bytes;
  refuse(p, "outside its block");
  f->offset[last->out.id] = original;
  MUST(gr_plan_prove(p));

  p->states[1].offset -= 64;
  refuse(p, "share memory");
  p->states[1].offset += 64;
  p->programs[1].frame.state_of[1] = 0;
  for (uint32_t i = 1; i < p->programs[1].frame.g->n_values; i++)
    p->programs[1].frame.state_of[i] = 0;
  refuse(p, "is not in the plan");
  gr_arena_destroy(arena);
}

static gr_node *first(const gr_graph *g, const gr_op *op) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == op) return &g->nodes[i];
  return NULL;
}

// Ranks that would deadlock, and a decision that ranks would take apart.
static void tampered_ranks(void) {
  arena = gr_arena_create();
  gr_plan *p;
  MUST(plan_of(&mlp, 2, &adam, &p));
  const gr_graph *g = p->programs[0].frame.g;
  gr_node *sum = first(g, &gr_op_all_reduce), *guard = first(g, &gr_op_finite_check);
  struct gr_coll original = *(const struct gr_coll *)sum->attr, other = {1, 2, -1};
  sum->attr = &other;
  refuse(p, "no axis of the mesh");
  sum->attr = &original;
  gr_at(g, guard->in[0])->layout.placement[0] = GR_PARTIAL;
  refuse(p, "'finite_check' decides by a value that may differ between ranks");
  gr_at(g, guard->in[0])->layout.placement[0] = GR_REPLICATE;
  MUST(gr_plan_prove(p));
  gr_arena_destroy(arena);
}

// Passes by name: dumped, stopped after, left out; the error for a wrong name lists them.
static void passes(void) {
  arena = gr_arena_create();
  gr_plan *p;
  char *text = NULL;
  size_t size = 0;
  gr_options o = adam;
  o.debug.stop_after = "loop_hoist", o.debug.dump_to = open_memstream(&text, &size);
  gr_status s = plan_of(&mlp, 2, &o, &p);
  fclose(o.debug.dump_to);
  CHECK(s && gr_status_code(s) == GR_ERR_STOPPED, "it stops");
  CHECK(strstr(text, "# after loop_hoist") && !strstr(text, "# after optimize"), "what it shows");
  if (s) gr_status_drop(s);
  free(text);

  o = adam, o.debug.dump = "loop_hoits";
  s = plan_of(&mlp, 1, &o, &p);
  CHECK(s && strstr(gr_status_hint(s), "did you mean 'loop_hoist'"), "a wrong name");
  if (s) gr_status_drop(s);

  const char *without[] = {"autodiff"};
  o = adam, o.debug.without = without, o.debug.n_without = 1;
  s = plan_of(&mlp, 1, &o, &p);
  CHECK(s && strstr(gr_status_text(s), "out of order"), "a pass that others need");
  if (s) gr_status_drop(s);
  gr_arena_destroy(arena);
}

// Weights are shared by all buckets, so none may have a bucket's length in its shape.
static void shapes_by_bucket(void) {
  static const char text[] =
      "inputs: {x: {shape: [n, t, c]}}\nnodes:\n  - w: {param: [t, c]}\n  - y: {mul: [x, w]}\n"
      "  - loss: {mean: y, axes: [1, 2]}\ntrain: loss\n";
  arena = gr_arena_create();
  gr_conf *file;
  gr_plan *p;
  MUST(gr_conf_parse(arena, "model.yaml", text, &file));
  gr_batch_tensor small = {"x", {GR_F32, 3, {4, 10, 3}}}, large = {"x", {GR_F32, 3, {4, 18, 3}}};
  gr_bucket buckets[] = {{.name = "t10", .batch = &small, .n_batch = 1},
                         {.name = "t18", .batch = &large, .n_batch = 1}};
  gr_plan_request r = {.model = {.graph = file},
                       .options = adam,
                       .buckets = buckets,
                       .n_buckets = 2,
                       .train = true,
                       .eval = true};
  gr_status s = gr_plan_build(arena, &r, &p);
  CHECK(s && gr_status_code(s) == GR_ERR_TYPE && gr_status_loc(s).line == 3, "a user's error");
  CHECK(s && strstr(gr_status_text(s), "f32[10,3] in bucket t10 and f32[18,3] in bucket t18"), "%s",
        gr_status_text(s));
  gr_status_drop(s);
  r.n_buckets = 1;
  MUST(gr_plan_build(arena, &r, &p));
  gr_arena_destroy(arena);
}

static double seconds(const gr_plan *p, gr_bf16_unit unit) {
  gr_target t = gr_target_of(gr_chip_find("cpu"));
  t.unit = unit;
  return gr_figures_largest(gr_plan_count(arena, p, NULL, &t, 1), "train")->seconds[0].kernels;
}

// The estimate of a step by precision and by what the processor has: f32 has nothing to do with the
// units for bf16; products in bf16 are faster with one, and in f16 never.
static void cpu_seconds(void) {
  static const model wide = {"mlp.yaml", "{dim: 512, layers: 2}", {{"n", 64}, {"c", 4}}, 2};
  static const model thin = {"mlp.yaml", "{dim: 8, layers: 2}", {{"n", 12}, {"c", 4}}, 2};
  arena = gr_arena_create();
  gr_loss_scale scale = {1, 1, 1, 1, 1};
  gr_options o[] = {adam, adam, adam};
  o[1].precision.dtype = GR_BF16, o[2].precision.dtype = GR_F16;
  o[2].precision.loss_scale = &scale;
  gr_plan *f32, *bf16, *f16, *small, *small_bf16;
  MUST(plan_of(&wide, 1, &o[0], &f32));
  MUST(plan_of(&wide, 1, &o[1], &bf16));
  MUST(plan_of(&wide, 1, &o[2], &f16));
  MUST(plan_of(&thin, 1, &o[0], &small));
  MUST(plan_of(&thin, 1, &o[1], &small_bf16));
  double t = seconds(f32, GR_BF16_NONE);
  for (gr_bf16_unit u = GR_BF16_NONE; u <= GR_BF16_AMX; u++) {
    CHECK(seconds(f32, u) == t, "f32 with unit %d", u);
    CHECK(seconds(f16, u) > t, "f16 with unit %d", u);
    CHECK(seconds(small_bf16, u) > seconds(small, u), "thin with unit %d", u);
  }
  CHECK(seconds(bf16, GR_BF16_NONE) > t, "bf16 is converted");
  CHECK(seconds(bf16, GR_BF16_AVX512) < t, "bf16 as it is");
  CHECK(seconds(bf16, GR_BF16_AMX) < t, "bf16 by another unit");
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"mlps", mlps}, {"speeches", speeches}, {"states", states},
             {"collectives", collectives}, {"read_later", read_later}, {"read_twice", read_twice},
             {"explain", explain}, {"certify", certify}, {"draw", draw}, {"tampered", tampered},
             {"tampered_ranks", tampered_ranks}, {"passes", passes},
             {"shapes_by_bucket", shapes_by_bucket}, {"cpu_seconds", cpu_seconds});
}
