// test_graph.c - types, meshes, attributes as text, the growing of graphs, and index notation.
#include "ir/op.h"
#include "ops/ops.h"
#include "tests/check.h"

static gr_arena *arena;

static gr_type type_of(const char *text) {
  gr_type t;
  MUST(gr_type_parse(text, &t));
  return t;
}

static gr_val input(gr_builder *b, const char *name, const char *type) {
  return gr_leaf(b, GR_INPUT, 0, name, type_of(type), gr_layout_replicated);
}

static void types(void) {
  static const char *const good[] = {"f32[]", "f64[1]", "bf16[4,7]", "i32[1,2,3,4,5,6]"};
  static const char *const bad[] = {"",
                                    "f32",
                                    "f32[",
                                    "f32[4",
                                    "f32[4,]",
                                    "f32[0]",
                                    "f32[-1]",
                                    "f32[4]x",
                                    "f8[4]",
                                    "f32[4 ]",
                                    "[4]",
                                    "f32[,]",
                                    "f32[1,,2]",
                                    "f32[4],2",
                                    "F32[4]",
                                    "f32[1,1,1,1,1,1,1]",
                                    "f32[99999999999,99999999999]"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char buf[96];
    gr_type t = type_of(good[i]);
    CHECK(!strcmp(gr_type_text(&t, buf), good[i]), "%s became %s", good[i], buf);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    gr_type t;
    gr_status s = gr_type_parse(bad[i], &t);
    CHECK(s, "'%s' is taken for a type", bad[i]);
    if (s) gr_status_drop(s);
  }
  gr_type t = type_of("bf16[4,7]");
  CHECK(gr_type_count(&t) == 28 && gr_type_bytes(&t) == 56, "sizes");
}

static void meshes(void) {
  gr_mesh m = {2, {{"dp", 2}, {"tp", 3}}};
  CHECK(gr_mesh_ranks(&m) == 6, "ranks");
  CHECK(gr_mesh_coord(&m, 4, 0) == 1 && gr_mesh_coord(&m, 4, 1) == 1, "rank 4 is (1, 1)");
  CHECK(gr_mesh_coord(&m, 2, 0) == 0 && gr_mesh_coord(&m, 2, 1) == 2, "rank 2 is (0, 2)");
  gr_mesh_group rows = gr_mesh_group_of(&m, 4, 1), columns = gr_mesh_group_of(&m, 4, 0);
  CHECK(rows.first == 3 && rows.stride == 1 && rows.n == 3, "rank 4 is with 3 and 5 along tp");
  CHECK(columns.first == 1 && columns.stride == 3 && columns.n == 2, "and with 1 along dp");
}

// The same op on the same inputs is the same value, among thousands of others.
static void consing(void) {
  enum { MANY = 5000 };
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_val x = input(&b, "x", "f32[4]"), made[MANY];
  for (int i = 0; i < MANY; i++) made[i] = gr_scale(&b, x, i);
  CHECK(b.g->n_nodes == MANY, "%u nodes", b.g->n_nodes);
  for (int i = 0; i < MANY; i++)
    CHECK(gr_scale(&b, x, i).id == made[i].id, "scale by %d is made twice", i);
  CHECK(gr_add(&b, x, made[1]).id != gr_add(&b, made[1], x).id, "operands have an order");
  CHECK(b.g->n_nodes == MANY + 2, "%u nodes", b.g->n_nodes);
  MUST(b.err);
}

static void first_error_stays(void) {
  gr_builder b = {
      .g = gr_graph_create(arena, NULL), .created_by = "the test", .loc = {"m.yaml", 7, 3}};
  gr_val x = input(&b, "x", "f32[4]"), y = input(&b, "y", "f32[5]");
  gr_val z = gr_add(&b, gr_relu(&b, gr_add(&b, x, y)), x);
  CHECK(!gr_is(z) && b.err && b.g->n_nodes == 0, "an error makes no nodes");
  CHECK(gr_status_loc(b.err).line == 7, "the error is at line %d", gr_status_loc(b.err).line);
  CHECK(strstr(gr_status_text(b.err), "sizes 4 and 5 differ"), "%s", gr_status_text(b.err));
  gr_status_drop(b.err);
}

static void results(void) {
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_val x = input(&b, "x", "f32[4]");
  for (int i = 0; i < 9; i++) gr_result(&b, gr_arena_printf(arena, "r%d", i), gr_scale(&b, x, i));
  CHECK(b.g->n_results == 9, "%u results", b.g->n_results);
  for (int i = 0; i < 9; i++)
    CHECK(gr_graph_result(b.g, gr_arena_printf(arena, "r%d", i)).id == (uint32_t)i + 2, "r%d", i);
  CHECK(!gr_is(gr_graph_result(b.g, "r9")), "r9 is not there");
  CHECK(gr_graph_leaf(b.g, GR_INPUT, "x").id == 1, "x");
  CHECK(!gr_is(gr_graph_leaf(b.g, GR_STATE, "x")), "x is no state");
  gr_result(&b, "none", GR_NONE);
  CHECK(b.err != NULL, "a missing result is an error");
  if (b.err) gr_status_drop(b.err);
}

static void again(void) {
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "first", .scope = "net"};
  gr_val x = input(&b, "x", "f32[4]"), y = gr_relu(&b, x);
  gr_builder c = {.g = gr_graph_create(arena, NULL), .created_by = "second", .scope = "other"};
  gr_val map[3] = {{0}};
  map[x.id] = input(&c, "x", "f32[4]");
  gr_val z = gr_emit_copy(&c, b.g, &b.g->nodes[0], map);
  CHECK(map[y.id].id == z.id, "outputs are mapped");
  const gr_node *n = &c.g->nodes[0];
  CHECK(!strcmp(n->created_by, "first") && !strcmp(n->scope, "net"), "by %s in %s", n->created_by,
        n->scope);
  CHECK(!strcmp(c.created_by, "second") && !strcmp(c.scope, "other"), "the builder is as it was");
  CHECK(gr_graph_same(b.g, c.g), "the copy is the same");
  map[x.id] = input(&c, "wide", "f32[8]");  // types are inferred again
  z = gr_emit_copy(&c, b.g, &b.g->nodes[0], map);
  CHECK(gr_at(c.g, z)->type.dim[0] == 8, "the copy on %lld numbers has another size",
        (long long)gr_at(c.g, z)->type.dim[0]);
}

// Nodes of the backward pass name their forward node, and no gradient flows where nothing is
// wanted.
static void backward(void) {
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "model"};
  gr_val x = input(&b, "x", "f32[]"), y = input(&b, "y", "f32[]"), one = input(&b, "one", "f32[]");
  b.loc = (gr_loc){"m.yaml", 5, 9}, b.scope = "head";
  gr_val z = gr_mul(&b, x, y), sum = gr_add(&b, z, z);
  const gr_graph forward = *b.g;
  gr_val here[8], grads[8] = {{0}};
  bool want[8] = {0};
  for (uint32_t i = 0; i < 8; i++) here[i] = (gr_val){i};
  want[x.id] = want[z.id] = want[sum.id] = true;
  grads[sum.id] = one;
  b = (gr_builder){.g = b.g, .created_by = "autodiff", .scope = "loss"};
  MUST(gr_backward(&b, &gr_op_add, &forward, here, want, grads));
  CHECK(gr_is(grads[x.id]) && !gr_is(grads[y.id]) && !gr_is(grads[one.id]), "x alone is wanted");
  const gr_node *n = &b.g->nodes[gr_at(b.g, grads[x.id])->node];
  CHECK(n->op == &gr_op_mul && n->in[1].id == y.id, "d(xy) / dx is y");
  CHECK(n->loc.line == 5 && !strcmp(n->scope, "head") && !strcmp(n->created_by, "autodiff"),
        "line %d, %s, by %s", n->loc.line, n->scope, n->created_by);
  const gr_node *twice = &b.g->nodes[gr_at(b.g, n->in[0])->node];
  CHECK(twice->op == &gr_op_add, "z is used twice: its gradients are added, not '%s'",
        twice->op->name);
}

// ---- Index notation -------------------------------------------------------------------------

static gr_op made_up = {.name = "made_up", .n_in = 2, .n_out = 1};

static gr_op_call call(const char *axes, const char *x, const char *y) {
  made_up.index_spec = axes;
  gr_op_call s = {.op = &made_up, .n_in = 2};
  s.in[0] = type_of(x), s.in[1] = type_of(y);
  return s;
}

static void shapes(void) {
  static const struct {
    const char *axes, *x, *y, *z, *fails;
    int64_t flops;
  } cases[] = {
      {"mk,kn->mn", "f32[2,3]", "f32[3,5]", "f32[2,5]", NULL, 60},
      {"mk,kn->mn", "f32[2,3]", "f32[4,5]", NULL, "sizes 3 and 4 differ", 0},
      {"...mk,kn->...mn", "f32[7,2,3]", "f32[3,5]", "f32[7,2,5]", NULL, 420},
      {"...mk,kn->...mn", "f32[3]", "f32[3,5]", NULL, "has 1 axis; expected at least 2", 0},
      {"...km,...kn->mn", "f32[7,3,2]", "f32[7,3,5]", "f32[2,5]", NULL, 420},
      {"...km,...kn->mn", "f32[7,3,2]", "f32[8,3,5]", NULL, "sizes 7 and 8 differ", 0},
      {"...km,...kn->mn", "f32[7,3,2]", "f32[3,5]", NULL, "has 2 axes; expected 3", 0},
      {"ab,->ba", "f32[2,3]", "f32[]", "f32[3,2]", NULL, 6},
      {"ab,->", "f32[2,3]", "f32[]", "f32[]", NULL, 12},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    gr_op_call s = call(cases[i].axes, cases[i].x, cases[i].y);
    gr_status e = gr_op_infer(&s);
    char buf[96];
    CHECK(!e == !cases[i].fails, "%s: %s", cases[i].axes, e ? gr_status_text(e) : "no error");
    if (e) CHECK(strstr(gr_status_text(e), cases[i].fails), "%s", gr_status_text(e));
    if (e) gr_status_drop(e);
    if (!cases[i].z) continue;
    CHECK(!strcmp(gr_type_text(&s.out[0], buf), cases[i].z), "%s gives %s", cases[i].axes, buf);
    CHECK(gr_op_flops(&s) == cases[i].flops, "%s: %lld flops", cases[i].axes,
          (long long)gr_op_flops(&s));
  }
}

static void shardings(void) {
  gr_op_call s = call("mK,Kn->mn", "f32[2,3]", "f32[3,5]");
  gr_sharding_rule rules[GR_MAX_SHARDING_RULES];
  int n;
  MUST(gr_op_infer(&s));
  MUST(gr_op_sharding_rules(&s, rules, &n));
  CHECK(n == 3, "%d lines: whole, m, n", n);
  CHECK(rules[0].in[0] == GR_REPLICATE && rules[0].out[0] == GR_REPLICATE,
        "the first is all whole");
  CHECK(rules[1].in[0] == 0 && rules[1].in[1] == GR_REPLICATE && rules[1].out[0] == 0, "split m");
  CHECK(rules[2].in[0] == GR_REPLICATE && rules[2].in[1] == 1 && rules[2].out[0] == 1, "split n");
  s = call("mk,kn->mn", "f32[2,3]", "f32[3,5]");
  MUST(gr_op_sharding_rules(&s, rules, &n));
  CHECK(n == 4 && rules[1].in[0] == 1 && rules[1].in[1] == 0 && rules[1].out[0] == GR_PARTIAL,
        "split k");
}

static void leads(void) {
  bool first[] = {true, false}, both[] = {true, true};
  gr_op_call s = call("...mk,kn->...mn", "f32[2,3]", "f32[3,5]");
  CHECK(gr_op_lead(&s, first) == GR_LEAD_LIFT, "all steps at once");
  CHECK(gr_op_lead(&s, both) == GR_LEAD_NO, "the second has no leading axes");
  CHECK(gr_op_contracts(&s), "k goes");
  s = call("...km,...kn->mn", "f32[3,2]", "f32[3,5]");
  CHECK(gr_op_lead(&s, both) == GR_LEAD_SUM, "the sum over steps");
  s = call("...,...->...", "f32[3]", "f32[3]");
  CHECK(!gr_op_contracts(&s), "nothing goes");
}

// ---- Attributes -----------------------------------------------------------------------------

struct every {
  int64_t count;
  double by;
  int64_t flag, dtype;
  gr_ints list;
  int64_t choice;
  uint64_t stream;
};

static const gr_attr attrs[] = {GR_ATTR(struct every, count, GR_ATTR_INT, "3", "how many"),
                                GR_ATTR(struct every, by, GR_ATTR_FLOAT, "1e-5", "how much"),
                                GR_ATTR(struct every, flag, GR_ATTR_BOOL, "true", "whether"),
                                GR_ATTR(struct every, dtype, GR_ATTR_DTYPE, "bf16", "of what"),
                                GR_ATTR(struct every, list, GR_ATTR_INTS, "[1,-1,0]", "which"),
                                GR_CHOICE(struct every, choice, "sum|mean|none", "none", "how"),
                                GR_ATTR(struct every, stream, GR_ATTR_STREAM, NULL, "what numbers"),
                                {0}};
static const gr_op with_attrs = {
    .name = "every", .attr_size = sizeof(struct every), .attrs = attrs};

static void presets(void) {
  struct every e;
  memset(&e, 1, sizeof e);
  gr_attr_defaults(&with_attrs, &e);
  CHECK(e.count == 3 && e.by == 1e-5 && e.flag == 1 && e.dtype == GR_BF16, "plain ones");
  CHECK(e.list.n == 3 && e.list.items[1] == -1 && e.choice == 2 && e.stream == 0, "the others");
}

static void attribute_texts(void) {
  static const struct {
    int field;
    const char *text, *back;  // back NULL: is refused
  } cases[] = {
      {0, "-7", "-7"},       {0, "7.5", NULL},
      {0, "", NULL},         {0, "1x", NULL},
      {1, "0.1", "0.1"},     {1, "1e-45", "1e-45"},
      {1, "3", "3.0"},       {1, ".inf", "inf"},
      {1, "-inf", "-inf"},   {1, "nan", NULL},
      {1, "1,5", NULL},      {2, "false", "false"},
      {2, "1", "true"},      {2, "yes", NULL},
      {3, "f64", "f64"},     {3, "f8", NULL},
      {4, "[]", "[]"},       {4, "[ 0, 2 ,1 ]", "[0,2,1]"},
      {4, "5", "[5]"},       {4, "[1,2", NULL},
      {4, "[1;2]", NULL},    {4, "[1,2,3,4,5,6,7]", NULL},
      {5, "mean", "mean"},   {5, "mea", NULL},
      {5, "sum|mean", NULL}, {6, "0x00000000000000ff", "0x00000000000000ff"},
      {6, "", NULL},         {0, "99999999999999999999", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct every e = {0};
    gr_text t = gr_text_make(arena);
    gr_status s = gr_attr_parse(&with_attrs, &attrs[cases[i].field], cases[i].text, GR_NOWHERE, &e);
    CHECK(!s == !!cases[i].back, "'%s': %s", cases[i].text, s ? gr_status_text(s) : "taken");
    if (s) CHECK(gr_status_hint(s), "'%s' has no hint", cases[i].text);
    if (s) gr_status_drop(s);
    if (!cases[i].back) continue;
    gr_attr_text(&t, &attrs[cases[i].field], &e);
    CHECK(!strcmp(t.chars, cases[i].back), "'%s' became '%s'", cases[i].text, t.chars);
  }
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int bad = RUN(argc, argv, {"types", types}, {"meshes", meshes}, {"consing", consing},
                {"first_error_stays", first_error_stays}, {"results", results}, {"again", again},
                {"backward", backward}, {"shapes", shapes}, {"shardings", shardings},
                {"leads", leads}, {"presets", presets}, {"attribute_texts", attribute_texts});
  gr_arena_destroy(arena);
  return bad;
}
