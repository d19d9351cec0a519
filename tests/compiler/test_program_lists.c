// test_program_lists.c - which programs of a model are compiled, and how often: those that are
// asked for, variants that freeze weights, those that average them, and minibatches of rows.
#include <string.h>
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/compiler/steps.h"

static gr_arena *arena;

static int count(const gr_graph *g, const gr_op *op) {
  int n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) n += g->nodes[i].op == op;
  return n;
}

static gr_status plan_all(const char *text, gr_plan **out) {
  return steps_plan_programs(arena, text, NULL, (gr_options){.optimizer.name = "sgd"}, out);
}

// The text with `now` in place of its first `old`.
static const char *swapped(const char *text, const char *old, const char *now) {
  const char *cursor = strstr(text, old);
  return gr_arena_printf(arena, "%.*s%s%s", (int)(cursor - text), text, now, cursor + strlen(old));
}

static bool has_gradient(const gr_graph *g, const char *weight) {
  gr_val v = gr_graph_leaf(g, GR_STATE, weight);
  return gr_is(v) && gr_is(gr_at(g, v)->grad) && gr_is(gr_at(g, v)->next);
}

// ---- What is compiled -------------------------------------------------------------------------

static const char plain[] =
    "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
    "nodes:\n"
    "  - logits: {linear: x, out: 4, name: head}\n"
    "  - loss: {cross_entropy: [logits, y]}\n"
    "train: loss\n";

// Of train and eval those that are asked for; programs of other names always.
static void asked_for(void) {
  for (int k = 0; k < 4; k++) {
    gr_conf *graph;
    gr_plan *p;
    MUST(gr_conf_parse(arena, "model.yaml", plain, &graph));
    gr_dim dims[] = {{"n", 12}};
    gr_bucket bucket = {.name = "all"};
    gr_plan_request r = {.model = {.graph = graph, .dims = dims, .n_dims = 1},
                         .options = {.optimizer.name = "adam"},
                         .buckets = &bucket,
                         .n_buckets = 1,
                         .train = k & 1,
                         .eval = k & 2};
    MUST(gr_plan_build(arena, &r, &p));
    CHECK((gr_plan_find(p, "train", "all") != NULL) == r.train, "train, asked for %d", k);
    CHECK((gr_plan_find(p, "eval", "all") != NULL) == r.eval, "eval, asked for %d", k);
    CHECK(gr_plan_find(p, "init", "") != NULL, "init, asked for %d", k);
  }
}

// ---- Averages ---------------------------------------------------------------------------------

static const char averaged[] =
    "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
    "nodes:\n"
    "  - h: {linear: x, out: 6, name: body}\n"
    "  - logits: {linear: h, out: 4, name: head}\n"
    "  - loss: {cross_entropy: [logits, y]}\n"
    "programs:\n"
    "  lower: {loss: loss, trains: [\"body.*\"]}\n"
    "  vectors: {loss: loss, trains: [\"*.bias\"]}\n"
    "  whole: {loss: loss}\n"
    "  eval: {loss: loss}\n";

static gr_options with_ema(void) {
  return (gr_options){
      .optimizer.name = "sgd", .optimizer.ema_decay.given = true, .optimizer.ema_decay.value = 0.5};
}

static bool has_state(const gr_plan *p, const char *name) {
  for (uint32_t i = 0; i < p->n_states; i++)
    if (!strcmp(p->states[i].name, name)) return true;
  return false;
}

// Weights that a program trains have averages, which evaluation reads; all others have none.
static void averages_of_the_trained(void) {
  static const struct {
    const char *programs;
    int averages;
    bool body, head_weight, head_bias;
  } cases[] = {{"lower eval", 2, true, false, false},
               {"vectors eval", 2, false, false, true},
               {"lower vectors eval", 3, true, false, true},
               {"lower whole eval", 4, true, true, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_plan *p;
    const char *of = cases[i].programs;
    MUST(steps_plan_programs(arena, averaged, of, with_ema(), &p));
    int n = 0;
    for (uint32_t k = 0; k < p->n_states; k++) n += p->states[k].kind == GR_KIND_EMA;
    CHECK(n == cases[i].averages, "%s: %d averages", of, n);
    CHECK(has_state(p, "body.weight.ema") == cases[i].body, "%s: of body.weight", of);
    CHECK(has_state(p, "head.weight.ema") == cases[i].head_weight, "%s: of head.weight", of);
    CHECK(has_state(p, "head.bias.ema") == cases[i].head_bias, "%s: of head.bias", of);
    const gr_graph *eval = gr_plan_find(p, "eval", "all")->frame.g;
    CHECK(gr_is(gr_graph_leaf(eval, GR_STATE, "head.weight")) == !cases[i].head_weight,
          "%s: evaluation reads head.weight", of);
  }
}

// Of weights that hooks have frozen the averages come closer to these, if the program trains them
// otherwise; other programs' weights are left to these.
static void averages_of_the_frozen(void) {
  static const char *const patterns[] = {"*.weight"};
  gr_options o = with_ema();
  o.optimizer.freezable.text = patterns, o.optimizer.freezable.n = 1;
  gr_plan *p;
  MUST(steps_plan_programs(arena, averaged, "lower whole eval", o, &p));
  int variants = 0;
  for (uint32_t i = 0; i < p->n_programs; i++) {
    const gr_program *q = &p->programs[i];
    if (!q->trains) continue;
    bool whole = !strncmp(q->kind, "whole", 5);
    variants += q->frozen != 0;
    CHECK(count(q->frame.g, &gr_op_ema) == (whole ? 4 : 2), "%s: %d averages follow", q->kind,
          count(q->frame.g, &gr_op_ema));
    CHECK(has_gradient(q->frame.g, "body.weight") == !q->frozen, "%s: body.weight", q->kind);
  }
  CHECK(variants == 2, "%d programs freeze weights", variants);
}

// Where nothing would be left to train there is no program.
static void nothing_left(void) {
  static const char *const patterns[] = {"body.*", "head.weight"};
  gr_plan *p;
  MUST(steps_plan_programs(arena, averaged, "lower whole",
                           (gr_options){.optimizer.name = "sgd",
                                        .optimizer.freezable.text = patterns,
                                        .optimizer.freezable.n = 2},
                           &p));
  int lower = 0, whole = 0;
  for (uint32_t i = 0; i < p->n_programs; i++) {
    lower += !strncmp(p->programs[i].kind, "lower", 5);
    whole += !strncmp(p->programs[i].kind, "whole", 5);
  }
  CHECK(lower == 1 && whole == 4, "%d programs lower and %d whole", lower, whole);
}

// ---- Minibatches ------------------------------------------------------------------------------

static const char rows[] =
    "buffers:\n"
    "  seen: {shape: [24, 5], init: normal, layout: batch}\n"
    "  want: {shape: [4, 6], init: normal, layout: batch}\n"
    "nodes:\n"
    "  - w: {param: [5], init: ones, name: w}\n"
    "programs:\n"
    "  first:\n"
    "    over: {rows: [seen, want], of: 8}\n"
    "    nodes: &nodes\n"
    "      - gap: {mul: [seen, w]}\n"
    "      - gap: {sum: gap, axes: [1]}\n"
    "      - gap: {sub: [gap, want]}\n"
    "      - loss: {square: gap}\n"
    "    loss: loss\n"
    "  second:\n"
    "    over: {rows: [seen, want], of: 8}\n"
    "    nodes: *nodes\n"
    "    loss: loss\n";

static const gr_node *minibatch_of(const gr_plan *p, const char *program, int k) {
  const gr_graph *g = gr_plan_find(p, program, "")->frame.g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_minibatch && !k--) return &g->nodes[i];
  return NULL;
}

// Rows that belong together are selected alike, and in each program in an order of its own.
static void orders_of_minibatches(void) {
  gr_plan *p;
  MUST(plan_all(swapped(rows, "[4, 6]", "[24]"), &p));
  const gr_node *a = minibatch_of(p, "first", 0), *b = minibatch_of(p, "first", 1);
  const gr_node *other = minibatch_of(p, "second", 0);
  CHECK(a && b && other && !minibatch_of(p, "first", 2), "two buffers are selected from");
  if (!a || !b || !other) return;
  CHECK(!memcmp(a->attr, b->attr, gr_op_minibatch.attr_size), "two orders in a program");
  CHECK(memcmp(a->attr, other->attr, gr_op_minibatch.attr_size), "one order in two programs");
}

static void bad_rows(void) {
  static const struct {
    const char *shape, *says;
  } cases[] = {{"[16]", "'want' has 16 rows, and 'seen' 24"},
               {"[32]", "'want' has 32 rows, and 'seen' 24"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_plan *p;
    gr_status s = plan_all(swapped(rows, "[4, 6]", cases[i].shape), &p);
    CHECK(gr_status_code(s) == GR_ERR_TYPE && strstr(gr_status_text(s), cases[i].says), "%s: %s",
          cases[i].shape, gr_status_text(s));
    gr_status_drop(s);
  }
}

// What a program sees as a minibatch neither it nor the file may set.
static void bad_next(void) {
  const char *good = swapped(rows, "[4, 6]", "[24]");
  const char *texts[] = {gr_arena_printf(arena, "%snext: {seen: seen}\n", good),
                         gr_arena_printf(arena, "%s    next: {want: seen}\n", good)};
  for (int i = 0; i < 2; i++) {
    gr_plan *p;
    gr_status s = plan_all(texts[i], &p);
    CHECK(gr_status_code(s) == GR_ERR_CONFIG &&
              strstr(gr_status_text(s), "this program sees minibatches of"),
          "%d: %s", i, s ? gr_status_text(s) : "no error");
    gr_status_drop(s);
  }
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int failed = RUN(argc, argv, {"asked_for", asked_for},
                   {"averages_of_the_trained", averages_of_the_trained},
                   {"averages_of_the_frozen", averages_of_the_frozen},
                   {"nothing_left", nothing_left}, {"orders_of_minibatches", orders_of_minibatches},
                   {"bad_rows", bad_rows}, {"bad_next", bad_next});
  gr_arena_destroy(arena);
  return failed;
}
