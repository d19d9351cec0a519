// test_units.c - what FSDP and ZeRO leave of the full LMU-ASR on each rank, for 2 to 8 ranks: no
// more than 1.05 / N of weights, gradients and optimizer states, and few collectives, one for the
// gathers and one for the gradients of each block. And what makes a unit.
#include <string.h>
#include "compiler/plan/memory.h"
#include "ops/comm/collective.h"
#include "tests/check.h"
#include "tests/ir/parse.h"
#include "tests/world.h"

static gr_arena *arena;

static const gr_layout_rule any_dim[] = {{"*", "dp", GR_ANY_DIM}};
typedef struct way {
  const char *name, *zero;
  bool weights;
} way;
static const way ddp = {"ddp", NULL, false}, zero1 = {"zero1", "dp", false},
                 fsdp = {"fsdp", "dp", true};

static const char full[] = "{layers: 4}";  // as configs/lmu_asr_full.yaml has it
static const char small[] =
    "{mels: 8, vocab: 6, hidden: 48, memory: 8, theta: 8.0, layers: 3, heads: 2, subsample: 2}";

static gr_status plan_of(const way *w, int ranks, const char *params, const gr_wrap *wrap, int n,
                         gr_plan **out) {
  static const gr_dim dims[] = {{"n", 840}};  // which 2 to 8 ranks divide
  static const gr_dim sizes[] = {{"t", 8}, {"u", 3}};
  static const gr_bucket only[] = {{.name = "", .dims = sizes, .n_dims = 2}};
  gr_conf *file, *given;
  GR_TRY(gr_conf_read(arena, GR_SOURCE_DIR "/graphs/lmu_asr.yaml", &file));
  GR_TRY(gr_conf_parse(arena, "params.yaml", params, &given));
  gr_plan_request r = {.model = {.graph = file,
                                 .params = given,
                                 .dims = dims,
                                 .n_dims = 1,
                                 .mesh = {.n_axes = 1, .axis = {{"dp", ranks}}},
                                 .batch_axis = {"dp"}},
                       .options = {.optimizer.name = "adam",
                                   .sharding.rules = any_dim,
                                   .sharding.n_rules = w->weights,
                                   .sharding.zero_axis = w->zero,
                                   .sharding.wrap = wrap,
                                   .sharding.n_wrap = n},
                       .buckets = only,
                       .n_buckets = 1,
                       .train = true,
                       .eval = true};
  return gr_plan_build(arena, &r, out);
}

static gr_plan *plan(const way *w, int ranks, const char *params) {
  gr_plan *p = NULL;
  MUST(plan_of(w, ranks, params, NULL, 0, &p));
  return p;
}

// ---- Bytes --------------------------------------------------------------------------------

typedef struct share {
  double weights, moments, gradients;
} share;

static share share_of(const gr_plan *p) {
  share s = {0};
  for (uint32_t i = 0; i < p->n_states; i++) {
    if (p->states[i].kind == GR_KIND_WEIGHT) s.weights += (double)p->states[i].bytes;
    if (p->states[i].kind == GR_KIND_MOMENT) s.moments += (double)p->states[i].bytes;
  }
  const gr_graph *g = gr_plan_find(p, "train", "")->frame.g;
  for (uint32_t i = 1; i < g->n_values; i++)
    if (g->values[i].role == GR_STATE && gr_is(g->values[i].grad))
      s.gradients += (double)gr_type_bytes(&gr_at(g, g->values[i].grad)->type);
  return s;
}

static void at_most(const way *w, int ranks, const char *what, double bytes, double whole) {
  CHECK(bytes <= 1.05 * whole / ranks,
        "%s on %d ranks: %s of %.0f bytes, which is %.3f / %d of all", w->name, ranks, what, bytes,
        bytes / whole * ranks, ranks);
}

static void bytes(void) {
  arena = gr_arena_create();
  share all = share_of(plan(&ddp, 1, full));
  CHECK(all.weights == 4 * 7157792.0 && all.moments == 2 * all.weights, "%.0f bytes of weights",
        all.weights);
  for (int ranks = 2; ranks <= 8; ranks++) {
    share f = share_of(plan(&fsdp, ranks, full)), z = share_of(plan(&zero1, ranks, full));
    at_most(&fsdp, ranks, "weights", f.weights, all.weights);
    at_most(&fsdp, ranks, "optimizer states", f.moments, all.moments);
    at_most(&fsdp, ranks, "gradients", f.gradients, all.gradients);
    at_most(&zero1, ranks, "optimizer states", z.moments, all.moments);
    at_most(&zero1, ranks, "gradients", z.gradients, all.gradients);
    CHECK(z.weights == all.weights, "zero1 splits weights");
  }
  gr_arena_destroy(arena);
}

// A vocabulary that nothing divides; and a model of few weights, of which not all small ones may
// stay whole.
static void odd(void) {
  gr_mesh four = {1, {{"dp", 4}}};
  gr_options o = {.sharding.rules = any_dim, .sharding.n_rules = 1};
  gr_value v = {
      .type = {GR_F32, 2, {51865, 383}}, .layout = gr_layout_replicated, .name = "embedding"};
  gr_layout l = gr_weight_layout(&four, &v, &o);
  gr_type t = gr_type_local(&v.type, &l, &four);
  CHECK(l.placement[0] == 0 && t.dim[0] == 12967 && t.dim[1] == 383, "split along %d",
        l.placement[0]);
  v.type.dim[1] = 384;
  l = gr_weight_layout(&four, &v, &o);
  CHECK(l.placement[0] == 1, "split along %d, though 4 ranks divide 384", l.placement[0]);
  arena = gr_arena_create();
  share all = share_of(plan(&ddp, 1, small)), part = share_of(plan(&fsdp, 3, small));
  at_most(&fsdp, 3, "weights", part.weights, all.weights);
  CHECK(part.weights > all.weights / 3, "no weight is whole");
  gr_arena_destroy(arena);
}

// ---- Collectives --------------------------------------------------------------------------

static int collectives(const gr_plan *p, const char *kind) {
  const gr_graph *g = gr_plan_find(p, kind, "")->frame.g;
  return count_ops(g, "all_gather") + count_ops(g, "reduce_scatter") + count_ops(g, "all_reduce");
}

// Of one group there is one collective.
static void check_groups(const gr_graph *g) {
  int64_t seen[256] = {0};
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    int64_t group = n->op->collective ? ((const struct gr_coll *)n->attr)->group : 0;
    if (group > 0 && group < 256)
      CHECK(!seen[group]++, "group %lld has another collective", (long long)group);
  }
}

// Six units: what is before the four layers, these, and what is after them. Of each two gathers and
// one scatter at most: what is before needs no second gather, and what is after still has the
// first. Two more are of all: small weights' gradients with the loss, and the gradient's length.
static void counts(void) {
  arena = gr_arena_create();
  for (int ranks = 2; ranks <= 8; ranks++) {
    gr_plan *f = plan(&fsdp, ranks, full), *z = plan(&zero1, ranks, full);
    CHECK(collectives(f, "train") == 6 + 4 + 6 + 2, "fsdp on %d ranks: %d collectives a step",
          ranks, collectives(f, "train"));
    CHECK(collectives(f, "eval") == 6 + 1, "fsdp on %d ranks: %d collectives an evaluation", ranks,
          collectives(f, "eval"));
    CHECK(collectives(z, "train") == 6 + 6 + 2, "zero1 on %d ranks: %d collectives a step", ranks,
          collectives(z, "train"));
    check_groups(gr_plan_find(f, "train", "")->frame.g);
  }
  gr_arena_destroy(arena);
}

static bool is_gather_of(const gr_graph *g, const gr_node *n, const char *part) {
  const gr_value *v = n->op == &gr_op_all_gather ? gr_at(g, n->in[0]) : NULL;
  return v && v->role == GR_STATE && !strncmp(v->name, part, strlen(part));
}

static uint32_t find_gather(const gr_graph *g, const char *part, uint32_t node) {
  while (node < g->n_nodes && !is_gather_of(g, &g->nodes[node], part)) node++;
  return node;
}

// What was gathered for a layer's forward pass is gone before the next layer's is there, and in
// the backward pass before that of the layer below.
static void freed(void) {
  arena = gr_arena_create();
  const gr_graph *g = gr_plan_find(plan(&fsdp, 3, full), "train", "")->frame.g;
  uint32_t *last = gr_memory_last_use(arena, g);
  uint32_t forward = 0, backward = UINT32_MAX;
  for (int i = 0; i < 4; i++) {
    char part[24], next[24];
    snprintf(part, sizeof part, "layers.%d.", i), snprintf(next, sizeof next, "layers.%d.", i + 1);
    uint32_t first = find_gather(g, part, 0), again = find_gather(g, part, first + 1);
    uint32_t above = i < 3 ? find_gather(g, next, 0) : find_gather(g, "output", 0);
    CHECK(first >= forward && first < above && above < again && again < backward,
          "layer %d is gathered at %u and %u of %u", i, first, again, g->n_nodes);
    CHECK(find_gather(g, part, again + 1) == g->n_nodes, "layer %d is gathered a third time", i);
    CHECK(g->nodes[first].n_in == 7 && g->nodes[again].n_in == 7, "%d and %d weights",
          g->nodes[first].n_in, g->nodes[again].n_in);
    uint32_t below = i ? UINT32_MAX : g->n_nodes;
    for (int k = 0; k < 7; k++) {
      CHECK(last[gr_out(&g->nodes[first], k).id] < above, "layer %d is kept", i);
      CHECK(last[gr_out(&g->nodes[again], k).id] < below, "layer %d is kept to the end", i);
    }
    forward = first, backward = again;
  }
  gr_arena_destroy(arena);
}

static void refused(gr_status s, const char *why) {
  CHECK(s && strstr(gr_status_text(s), why), "'%s', not '%s'", s ? gr_status_text(s) : "fine", why);
  if (s) gr_status_drop(s);
}

// ---- Units --------------------------------------------------------------------------------

static int train_gathers(const char *pattern) {
  gr_wrap w = {.pattern = pattern};
  gr_plan *p = NULL;
  MUST(plan_of(&fsdp, 2, full, &w, pattern != NULL, &p));
  return p ? count_ops(gr_plan_find(p, "train", "")->frame.g, "all_gather") : 0;
}

static void patterns(void) {
  arena = gr_arena_create();
  gr_plan *p;
  CHECK(train_gathers("layers.*") == 10, "paths: %d gathers", train_gathers("layers.*"));
  CHECK(train_gathers("attend") == 10, "a block: %d gathers", train_gathers("attend"));
  int blocks = train_gathers("lmu"), weights = train_gathers("*.W_h");
  CHECK(blocks > 10, "blocks in layers: %d gathers", blocks);
  CHECK(weights > blocks, "weights: %d gathers", weights);
  gr_wrap w = {.pattern = "atend", .loc = {"run.yaml", 3, 7}};
  refused(plan_of(&fsdp, 2, full, &w, 1, &p), "'atend' matches no block, part or weight");
  gr_arena_destroy(arena);
}

// ---- The verifier -------------------------------------------------------------------------

static void refuse(const char *text, const char *why) {
  gr_graph *g = NULL;
  char all[2048] =
      "mesh dp=3 tp=2\n%1 = weight w : f32[2,4] dp:S0-1\n%2 = input lr : f32[]\n"
      "%3 = weight v : f32[2,4] dp:S0-2\n%4 = input x : f32[5,4]\n";
  strcat(all, text);
  MUST(graph_parse(arena, gr_op_find, "padding.gr", all, &g));
  refused(gr_graph_verify(g, GR_FACT_LOCAL), why);
}

static void padding(void) {
  arena = gr_arena_create();
  refuse("%5 = exp %1 : f32[2,4] dp:S0-1\n", "'exp' would take padding for numbers");
  refuse("%5 = sum %1 {axes=[0]} : f32[4] dp:P\n", "'sum' would take padding for numbers");
  refuse("%5 = exp %4 : f32[5,4] dp:S0-1\n", "'exp' would take padding for numbers");
  refuse("%5 = sgd %1 %3 %2 %2 %2 : f32[2,4] dp:S0-1\n", "values of different padding");
  refuse("%5 = sgd %1 %1 %2 %2 %2 : f32[2,4]\n", "values of different padding");
  refuse("%5 = all_reduce %1 {mesh_axis=1, ranks=2} : f32[2,4]\n", "values of different padding");
  refuse("%5 = all_gather %1 {mesh_axis=0, ranks=3, dim=0, size=4} : f32[4,4]\n",
         "another padding than it declares");
  refuse("%5 = shard_slice %4 {mesh_axis=0, ranks=3, dim=0} : f32[2,4] dp:S0\n",
         "another padding than it declares");
  refuse("%5 = shard_slice %1 {mesh_axis=1, ranks=2, dim=1} : f32[2,2] dp:S0-1 tp:S1\n",
         "what another axis of the mesh has padded");
  refuse("result y %1\n", "result 'y' is padded");
  gr_graph *g = NULL;
  MUST(graph_parse(arena, gr_op_find, "padding.gr",
                   "mesh dp=3\n%1 = weight w : f32[2,4] dp:S0-1\n"
                   "%2 = all_gather %1 {mesh_axis=0, ranks=3, dim=0, size=5} : f32[5,4]\n"
                   "%3 = shard_slice %2 {mesh_axis=0, ranks=3, dim=0} : f32[2,4] dp:S0-1\n"
                   "%4 = sum_squares %3 : f32[] dp:P\nresult y %4\n",
                   &g));
  MUST(gr_graph_verify(g, GR_FACT_LOCAL));
  gr_arena_destroy(arena);
}

// Two leaves of one name, whether the graph's map of names knows of it or not.
static void names(void) {
  arena = gr_arena_create();
  gr_graph *g = NULL;
  const char *two = "two inputs or states are called";
  MUST(graph_parse(arena, gr_op_find, "names.gr",
                   "%1 = weight v : f32[2]\n%2 = weight v : f32[2]\n", &g));
  refused(gr_graph_verify(g, GR_FACT_LOCAL), two);
  MUST(graph_parse(arena, gr_op_find, "names.gr", "%1 = weight v : f32[2]\n%2 = input v : f32[2]\n",
                   &g));
  refused(gr_graph_verify(g, GR_FACT_LOCAL), two);
  MUST(graph_parse(arena, gr_op_find, "names.gr",
                   "%1 = weight v : f32[2]\n%2 = weight w : f32[2]\n", &g));
  MUST(gr_graph_verify(g, GR_FACT_LOCAL));
  gr_at(g, (gr_val){2})->name = "v";
  refused(gr_graph_verify(g, GR_FACT_LOCAL), two);
  gr_arena_destroy(arena);
}

// ---- Passes that change nothing -----------------------------------------------------------

static bool keeps(const char *pass, gr_graph *g) {
  gr_graph *out = NULL;
  MUST(gr_pass_run(arena, pass, g, &(gr_options){.optimizer.name = "sgd"}, &out));
  return out == g;
}

static void kept(void) {
  arena = gr_arena_create();
  gr_graph *live = NULL, *dead = NULL;
  const char *text = "%1 = weight w : f32[2,4]\n%2 = exp %1 : f32[2,4]\nresult y %2\n";
  static const char *const passes[] = {
      "annotate_sharding",    "precision", "loop_hoist", "dce", "prepack_weights",
      "coalesce_collectives", "join_parts"};
  MUST(graph_parse(arena, gr_op_find, "kept.gr", text, &live));
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
    CHECK(keeps(passes[i], live), "%s makes a new graph that is the same", passes[i]);
  text = "%1 = weight w : f32[2,4]\n%2 = exp %1 : f32[2,4]\n%3 = relu %1 : f32[2,4]\nresult y %2\n";
  MUST(graph_parse(arena, gr_op_find, "kept.gr", text, &dead));
  CHECK(!keeps("dce", dead), "a dead node is dropped");
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"bytes", bytes}, {"odd", odd}, {"counts", counts}, {"freed", freed},
             {"patterns", patterns}, {"padding", padding}, {"names", names}, {"kept", kept});
}
