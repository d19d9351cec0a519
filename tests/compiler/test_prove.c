// test_prove.c - the proof accepts plans of a real model for several meshes, and refuses each of a
// table of mutated plans, with a message that states the fault and the line of the model's YAML.
//
// The mutations are functions below, grouped by what they break: collectives, decisions and states,
// memory, carries of loops. Each takes a plan that has just been proved and changes one thing in
// it. prove.def lists every mutation with the mesh it is applied to and the expected message, so
// that a proof that refuses for another reason fails the test as well. The last part breaks the
// graph of one rank only, which a plan cannot express, and simulates the ranks.
//
// To add a mutation: write a function, add a row to prove.def, run with SHOW=1 to see the message.
#include <string.h>
#include "compiler/compile.h"
#include "compiler/plan/prove.h"
#include "ops/comm/collective.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "tests/check.h"

static gr_arena *arena;
// A mesh, and the axis over which optimizer states (and with a rule weights) are sharded, or NULL.
typedef struct way {
  const char *name;
  gr_mesh mesh;
  const char *split;
  const char *also;  // a second axis over which the batch is sharded, or NULL
  bool gpu;
} way;
static const way ddp2 = {"dp2", {1, {{"dp", 2}}}, NULL, NULL};
static const way fsdp3 = {"fsdp3", {1, {{"dp", 3}}}, "dp", NULL};
static const way fsdp12 = {"fsdp12", {1, {{"dp", 12}}}, "dp", NULL};
static const way dp2_tp2 = {"dp2 x tp2", {2, {{"dp", 2}, {"tp", 2}}}, "tp", NULL};
static const way hsdp2_2 = {"hsdp 2 x 2", {2, {{"dp", 2}, {"shard", 2}}}, "shard", "shard"};
static const way one = {"1", {0}, NULL, NULL};
static const way gpu = {"1 GPU", {0}, NULL, NULL, true};
static const way gpus = {"fsdp3, GPUs", {1, {{"dp", 3}}}, "dp", NULL, true};  // weights on the host
static const way gpus2 = {"fsdp2, GPUs", {1, {{"dp", 2}}}, "dp", NULL, true};

// The plan of prove.yaml for a mesh, proved, in `arena`.
static gr_plan *plan_of(const way *w) {
  static const gr_layout_rule rule = {.pattern = "*", .axis = "dp", .placement = GR_ANY_DIM};
  static gr_layout_rule rules[1];
  static const gr_dim dims[] = {{"n", 12}, {"t", 5}, {"c", 4}};
  char path[512];
  gr_conf *graph;
  gr_plan *p;
  rules[0] = rule, rules[0].axis = w->split;
  snprintf(path, sizeof path, "%s/tests/compiler/prove.yaml", GR_SOURCE_DIR);
  MUST(gr_conf_read(arena, path, &graph));
  gr_plan_request r = {.model = {.graph = graph,
                                 .dims = dims,
                                 .n_dims = 3,
                                 .seed = 3,
                                 .mesh = w->mesh,
                                 .batch_axis = {"dp", w->also}},
                       .options = {.gpu = w->gpu,
                                   .memory.offload = w->gpu && !w->split ? gr_offload_optimizer : 0,
                                   .sharding.offload_params = w->gpu && w->split,
                                   .optimizer.name = "adam",
                                   .optimizer.grad_clip = 1,
                                   .sharding.zero_axis = w->split,
                                   .sharding.rules = rules,
                                   .sharding.n_rules = w->split != NULL},
                       .buckets = &(gr_bucket){.name = ""},
                       .n_buckets = 1,
                       .train = true,
                       .eval = true};
  MUST(gr_plan_build(arena, &r, &p));
  return p;
}

static void real_plans(void) {
  static const way *const ways[] = {&ddp2, &fsdp3, &fsdp12, &dp2_tp2, &hsdp2_2,
                                    &one,  &gpu,   &gpus,   &gpus2};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    arena = gr_arena_create();
    MUST(gr_plan_prove(plan_of(ways[i])));
    gr_arena_destroy(arena);
  }
}

// ---- Parts of a plan: these abort if there is none --------------------------------------------

static gr_plan_frame *train(gr_plan *p) { return &p->programs[0].frame; }

static gr_node *node(const gr_graph *g, const gr_op *op, int skip) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == op && !skip--) return &g->nodes[i];
  abort();
}

static uint32_t index_of(const gr_graph *g, const gr_node *n) { return (uint32_t)(n - g->nodes); }

static void replace_uses(const gr_graph *g, gr_val old, gr_val new) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++)
      if (g->nodes[i].in[k].id == old.id) ((gr_val *)g->nodes[i].in)[k] = new;
  for (uint32_t i = 0; i < g->n_results; i++)
    if (g->results[i].id == old.id) g->results[i] = new;
}

// A copy of a collective's attributes, which may be shared with other nodes.
static struct gr_coll *attr_of(gr_node *n) {
  struct gr_coll *a = GR_NEW(arena, struct gr_coll, 1);
  *a = *(const struct gr_coll *)n->attr;
  n->attr = a;
  return a;
}

static gr_value *value(const gr_graph *g, const char *name) {
  gr_val v = gr_graph_leaf(g, GR_STATE, name);
  return gr_at(g, gr_is(v) ? v : gr_graph_leaf(g, GR_INPUT, name));
}

static gr_node *loop_node(gr_plan *p) { return node(train(p)->g, &gr_op_scan, 0); }
static uint32_t loop_index(gr_plan *p) { return index_of(train(p)->g, loop_node(p)); }
static gr_plan_frame *loop(gr_plan *p) { return train(p)->body[loop_index(p)]; }

static int carry(gr_plan *p, gr_carry_update how) {
  gr_plan_frame *b = loop(p);
  for (int k = 0; k < b->n_carry; k++)
    if (b->carry[k] == how) return k;
  abort();
}

// ---- Collectives that all ranks run -----------------------------------------------------------

static void drop_sum(gr_plan *p) {
  gr_node *n = node(train(p)->g, &gr_op_all_reduce, 0);
  for (int k = 0; k < n->n_in; k++) replace_uses(train(p)->g, gr_out(n, k), n->in[k]);
}
static void drop_one_sum(gr_plan *p) {
  gr_node *n = node(train(p)->g, &gr_op_all_reduce, 0),
          *sum = node(train(p)->g, &gr_op_sum_squares, 0);
  for (int k = 0; k < n->n_in; k++)
    if (gr_out(n, k).id == sum->in[0].id) ((gr_val *)sum->in)[0] = n->in[k];
}
static void no_axis(gr_plan *p) { attr_of(node(train(p)->g, &gr_op_all_reduce, 0))->mesh_axis = 1; }
static void other_peers(gr_plan *p) { attr_of(node(train(p)->g, &gr_op_all_reduce, 0))->ranks = 3; }
static void other_axis(gr_plan *p) {
  attr_of(node(train(p)->g, &gr_op_all_reduce, 0))->mesh_axis ^= 1;
}
static void sum_twice(gr_plan *p) {
  gr_node *n = node(train(p)->g, &gr_op_all_reduce, 0);
  for (int k = 0; k < n->n_in; k++) gr_at(train(p)->g, n->in[k])->layout = gr_layout_replicated;
}
static void sum_of_copies(gr_plan *p) {
  const gr_graph *g = train(p)->g;
  gr_node *n = node(g, &gr_op_all_reduce, 0);
  gr_val weight = gr_graph_leaf(g, GR_STATE, "body.weight");
  for (int k = 0; k < n->n_in; k++)
    if (gr_type_same(&gr_at(g, n->in[k])->type, &gr_at(g, weight)->type))
      ((gr_val *)n->in)[k] = weight;
}
static void gather_other_dim(gr_plan *p) {
  struct gr_coll *a = attr_of(node(train(p)->g, &gr_op_all_gather, 0));
  a->dim.items[0] ^= 1;
}
static void gather_more(gr_plan *p) {
  attr_of(node(train(p)->g, &gr_op_all_gather, 0))->size.items[0] += 100;
}
static void gather_peers(gr_plan *p) {
  attr_of(node(train(p)->g, &gr_op_all_gather, 0))->ranks = 2;
}
static void scatter_becomes_sum(gr_plan *p) {
  node(train(p)->g, &gr_op_reduce_scatter, 0)->op = &gr_op_all_reduce;
}
static void sum_resized(gr_plan *p) {
  gr_node *n = node(train(p)->g, &gr_op_all_reduce, 0);
  gr_at(train(p)->g, gr_out(n, n->n_out - 1))->type.dim[0]++;
}
static void sum_dtype(gr_plan *p) {
  gr_at(train(p)->g, node(train(p)->g, &gr_op_all_reduce, 0)->out)->type.dtype = GR_F64;
}
static void other_padding(gr_plan *p) {
  gr_node *n = node(train(p)->g, &gr_op_all_gather, 0);
  gr_at(train(p)->g, n->in[0])->layout.pad[0] += 3;
}
static void in_a_loop(gr_plan *p) {
  gr_op *op = GR_NEW(arena, gr_op, 1);
  gr_node *n = &loop(p)->g->nodes[0];
  *op = *n->op, op->collective = true;
  n->op = op;
}

// Two slices of a dimension that two axes shard, one after the other: in the other order every
// value has the type and a layout that it could have, but its rows are mixed up.
static void slices_swapped(gr_plan *p) {
  const gr_graph *g = train(p)->g;
  gr_node *first = node(g, &gr_op_shard_slice, 0), *second = node(g, &gr_op_shard_slice, 1);
  gr_value *between = gr_at(g, first->out);
  if (second->in[0].id != first->out.id) abort();
  attr_of(first)->mesh_axis = 1, attr_of(second)->mesh_axis = 0;
  between->layout.placement[1] = between->layout.placement[0],
  between->layout.placement[0] = GR_REPLICATE;
}

// Kernels move other rows than ranks hold: gr_coll_rows is wrapped, and wrong for one kind of
// slices.
int64_t __real_gr_coll_rows(int64_t size, int64_t ranks, int64_t rank, int64_t *first);
int64_t __wrap_gr_coll_rows(int64_t size, int64_t ranks, int64_t rank, int64_t *first);
static enum { RIGHT, FIRST, LAST_FULL, REMAINDER, EMPTY, LAST } wrong_rows;
int64_t __wrap_gr_coll_rows(int64_t size, int64_t ranks, int64_t rank, int64_t *first) {
  int64_t rows = __real_gr_coll_rows(size, ranks, rank, first), most = (size + ranks - 1) / ranks;
  int64_t full = size / most;
  const int64_t wrong_rank[] = {-1, 0, full - 1, full, full + 1, ranks - 1};
  bool border = wrong_rows == LAST && rank <= full + 1;  // that is one of the others
  if (rank != wrong_rank[wrong_rows] || border) return rows;
  return rows ? rows - 1 : 1;
}
static void wrong_first(gr_plan *p) { (void)p, wrong_rows = FIRST; }
static void wrong_last_full(gr_plan *p) { (void)p, wrong_rows = LAST_FULL; }
static void wrong_remainder(gr_plan *p) { (void)p, wrong_rows = REMAINDER; }
static void wrong_empty(gr_plan *p) { (void)p, wrong_rows = EMPTY; }
static void wrong_last(gr_plan *p) { (void)p, wrong_rows = LAST; }

// ---- What ranks decide and keep -----------------------------------------------------------------

static void check_of_terms(gr_plan *p) {
  gr_node *n = node(train(p)->g, &gr_op_all_reduce, 0),
          *c = node(train(p)->g, &gr_op_finite_check, 0);
  ((gr_val *)c->in)[1] = n->in[0];
}
static void check_of_slices(gr_plan *p) {
  gr_node *c = node(train(p)->g, &gr_op_finite_check, 0);
  gr_at(train(p)->g, c->in[1])->layout.placement[0] = (gr_axis_placement)0;
}
static void check_is_called_whole(gr_plan *p) {
  gr_node *c = node(train(p)->g, &gr_op_finite_check, 0),
          *n = node(train(p)->g, &gr_op_all_reduce, 0);
  gr_val v = n->in[0];
  gr_at(train(p)->g, v)->layout = gr_layout_replicated;
  ((gr_val *)c->in)[1] = v;
}
static void result_of_terms(gr_plan *p) {
  gr_node *n = node(train(p)->g, &gr_op_all_reduce, 0);
  train(p)->g->results[0].id = n->in[0].id;
}
static void partial_input(gr_plan *p) { value(train(p)->g, "x")->layout.placement[0] = GR_PARTIAL; }
static void partial_state(gr_plan *p) {
  for (uint32_t i = 0; i < p->n_programs; i++) {
    const gr_graph *g = p->programs[i].frame.g;
    gr_val v = gr_graph_leaf(g, GR_STATE, "head.bias");
    if (!gr_is(v)) continue;
    gr_at(g, v)->layout.placement[0] = GR_PARTIAL;
    if (gr_is(gr_at(g, v)->next)) gr_at(g, gr_at(g, v)->next)->layout.placement[0] = GR_PARTIAL;
  }
  for (uint32_t i = 0; i < p->n_states; i++)
    if (!strcmp(p->states[i].name, "head.bias")) p->states[i].layout.placement[0] = GR_PARTIAL;
}
static void state_of_another(gr_plan *p) {
  train(p)->state_of[gr_graph_leaf(train(p)->g, GR_STATE, "body.bias").id]++;
}
static void state_missing(gr_plan *p) {
  train(p)->state_of[gr_graph_leaf(train(p)->g, GR_STATE, "body.bias").id] = 0;
}
static void state_elsewhere(gr_plan *p) {
  train(p)->offset[gr_graph_leaf(train(p)->g, GR_STATE, "body.bias").id] += GR_PLAN_ALIGN;
}
static void states_overlap(gr_plan *p) { p->states[1].offset = p->states[0].offset; }
static void state_resized(gr_plan *p) { p->states[0].bytes += 4; }
static void states_cut(gr_plan *p) { p->state_bytes -= GR_PLAN_ALIGN; }
static void host_cut(gr_plan *p) { p->host_bytes -= GR_PLAN_ALIGN; }
static void host_state_moved(gr_plan *p) {
  for (uint32_t i = 0; i < p->n_states; i++) p->states[i].host = false;
}
static void host_states_overlap(gr_plan *p) {
  gr_plan_state *last = NULL;
  for (gr_plan_state *s = p->states; s < p->states + p->n_states; s++) {
    if (s->host && last) s->offset = last->offset;
    last = s->host ? s : last;
  }
}

#include "tests/compiler/prove_fetch.def"
#include "tests/compiler/prove_memory.def"

typedef struct mutation {
  const char *name;
  const way *way;
  void (*how)(gr_plan *);
  const char *line, *says;  // parts of the expected message
} mutation;

#include "tests/compiler/prove.def"

static char *printed(gr_status s) {
  char *text;
  size_t len;
  FILE *f = open_memstream(&text, &len);
  gr_status_print(f, s);
  fclose(f);
  return text;
}

static void check_refused(const char *name, gr_status s, const char *line, const char *says) {
  char *text = s ? printed(s) : NULL;
  CHECK(text && strstr(text, line) && strstr(text, says), "%s: '%s' at '%s' is not refused: %s",
        name, says, line, text ? text : "proved");
  if (getenv("SHOW") && text) fprintf(stderr, "%s\t%s\n", name, text);
  free(text);
  if (s) gr_status_drop(s);
}

static void broken_plans(void) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    arena = gr_arena_create();
    gr_plan *p = plan_of(table[i].way);
    table[i].how(p);
    check_refused(table[i].name, gr_plan_prove(p), table[i].line, table[i].says);
    wrong_rows = RIGHT;
    gr_arena_destroy(arena);
  }
}

// ---- Ranks that run different graphs ------------------------------------------------------------

static void remove_node(gr_graph *g, uint32_t i) {
  g->n_nodes--;
  memmove(&g->nodes[i], &g->nodes[i + 1], sizeof *g->nodes * (g->n_nodes - i));
}

static gr_node *collective(gr_graph *g, int skip) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op->collective && !skip--) return &g->nodes[i];
  abort();
}

static void lacks_one(gr_graph *g) { remove_node(g, index_of(g, collective(g, 0))); }
static void lacks_last(gr_graph *g) {
  uint32_t last = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op->collective) last = i;
  remove_node(g, last);
}
static void has_one_twice(gr_graph *g) { g->nodes[g->n_nodes - 1] = *collective(g, 0); }
static void swaps_two(gr_graph *g) {
  gr_node *a = collective(g, 0), *b = collective(g, 1), original = *a;
  *a = *b, *b = original;
}
// Two collectives, one after the other, over different axes. If every other rank of both axes does
// so, each waits for one that waits for another.
static void swaps_axes(gr_graph *g) {
  int k = 0;
  while (attr_of(collective(g, k))->mesh_axis == attr_of(collective(g, k + 1))->mesh_axis) k++;
  gr_node *a = collective(g, k), *b = collective(g, k + 1), original = *a;
  *a = *b, *b = original;
}
static void sends_more(gr_graph *g) { gr_at(g, collective(g, 0)->in[0])->type.dim[0]++; }
static void sends_other_dtype(gr_graph *g) {
  gr_at(g, collective(g, 0)->in[0])->type.dtype = GR_I32;
}
static void sends_fewer_values(gr_graph *g) { collective(g, 0)->n_in--; }
static void runs_another_op(gr_graph *g) { collective(g, 0)->op = &gr_op_all_reduce; }
static void over_another_axis(gr_graph *g) { attr_of(collective(g, 0))->mesh_axis ^= 1; }

typedef struct rank_mutation {
  const char *name;
  const way *way;
  void (*how)(gr_graph *);
  const char *line, *says;
  bool rank_2;  // rank 2 runs the changed graph too
} rank_mutation;

#include "tests/compiler/prove_ranks.def"

// Rank 1 runs another graph than the other ranks. An unchanged copy is accepted.
static void ranks_that_differ(void) {
  for (size_t i = 0; i < sizeof ranks_table / sizeof *ranks_table; i++) {
    arena = gr_arena_create();
    gr_plan *p = plan_of(ranks_table[i].way);
    gr_graph *copy = gr_graph_copy(arena, train(p)->g);
    const gr_graph *of[4] = {train(p)->g, copy, train(p)->g, train(p)->g};
    int ranks = gr_mesh_ranks(&p->mesh);
    MUST(gr_prove_ranks(arena, &p->mesh, of, ranks));
    ranks_table[i].how(copy);
    if (ranks_table[i].rank_2) of[2] = copy;
    check_refused(ranks_table[i].name, gr_prove_ranks(arena, &p->mesh, of, ranks),
                  ranks_table[i].line, ranks_table[i].says);
    gr_arena_destroy(arena);
  }
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"real_plans", real_plans}, {"broken_plans", broken_plans},
             {"ranks_that_differ", ranks_that_differ});
}
