// test_text.c - graphs as text: what is printed reads back as the same graph, errors name the
// place, and no text crashes the reader.
#include "ir/text.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/ir/parse.h"

static gr_arena *arena;

static char *print(const gr_graph *g) {
  gr_text t = gr_text_make(arena);
  gr_graph_text(&t, g, false);
  return t.chars;
}

// Reads text and checks that it prints as it was.
static gr_graph *again(const char *text, const char *what) {
  gr_graph *g = NULL;
  gr_status s = graph_parse(arena, gr_op_find, "test.ir", text, &g);
  CHECK(!s, "%s: %s in\n%s", what, s ? gr_status_text(s) : "", text);
  if (s) return gr_status_drop(s), NULL;
  CHECK(!strcmp(print(g), text), "%s: got\n%s, not\n%s", what, print(g), text);
  return g;
}

static const char sharded[] =
    "mesh dp=2 tp=4\n"
    "%1 = input x : f32[4,8] dp:S0 tp:P\n"
    "%2 = weight \"odd name, \\\"q\\\"\" : f32[4,8] tp:S1 next=%5 grad=%4\n"
    "%3 = counter step : i32[] next=%3\n"
    "%4 = mul %1 %2 : f32[4,8] dp:S0\n"
    "%5 = scale %4 {by=-1e-30} : f32[4,8]\n"
    "%6 = sum %5 {axes=[0,1], keepdim=false} : f32[] dp:P tp:P\n"
    "%7 = moment head.weight.m : f32[3] next=%7\n"
    "%8 = clamp %7 {low=-inf, high=0.5} : f32[3]\n"
    "%9 = fill {shape=[2,2], value=1.0, dtype=bf16} : bf16[2,2]\n"
    "%10 = init_uniform {shape=[2], low=0.0, high=1.0, seed=3, stream=0x0123456789abcdef} : "
    "f32[2]\n"
    "loss %6 / %6\n"
    "result metric.loss.sum %6\n"
    "result \"a b\" %8\n";

static void keeps_everything(void) {
  gr_graph *g = again(sharded, "sharded");
  if (!g) return;
  CHECK(g->mesh.n_axes == 2 && g->mesh.axis[1].size == 4, "mesh");
  gr_val w = gr_graph_leaf(g, GR_STATE, "odd name, \"q\"");
  CHECK(gr_is(w) && gr_at(g, w)->layout.placement[1] == 1 && gr_at(g, w)->grad.id == 4, "weight");
  CHECK(gr_at(g, (gr_val){7})->kind == GR_KIND_MOMENT, "kind");
  CHECK(gr_graph_result(g, "a b").id == 8, "result");
  gr_graph *h = again(print(g), "twice");
  CHECK(h && gr_graph_same(g, h), "the graph read is not the same");
  CHECK(h && gr_graph_hash(g) == gr_graph_hash(h), "hash");
}

static const char loops[] =
    "%1 = input x : f32[5,4]\n"
    "%2 = input h : f32[4]\n"
    "%3 %4 = scan %1 %2 {steps=5, reverse=true, n_seq=1, n_carry=1, n_init=1, until=0} : f32[4], "
    "f32[5]\n"
    "body {\n"
    "  %1 = input x : f32[4]\n"
    "  %2 = weight h : f32[4] next=%3\n"
    "  %3 = add %1 %2 : f32[4]\n"
    "  %4 %5 = scan %3 %2 {steps=4, reverse=false, n_seq=1, n_carry=1, n_init=0, until=0} : f32[], "
    "f32[4]\n"
    "  body {\n"
    "    %1 = input : f32[]\n"
    "    %2 = weight sum : f32[] next=%4\n"
    "    %3 = input c : f32[4]\n"
    "    %4 = add %1 %2 : f32[]\n"
    "    result %4\n"
    "  }\n"
    "  result %4\n"
    "}\n"
    "result %4\n";

static void keeps_bodies(void) {
  gr_graph *g = again(loops, "loops");
  if (!g) return;
  const gr_node *n = &g->nodes[0];
  const gr_graph *body = *(const gr_graph *const *)n->attr;
  CHECK(body->n_results == 1 && !body->result_names, "yields");
  gr_graph *h = again(loops, "loops again");
  CHECK(h && gr_graph_same(g, h), "bodies are compared by content");
}

// Text with one thing replaced.
static gr_graph *changed(const char *text, const char *start, const char *to) {
  const char *cursor = strstr(text, start);
  gr_graph *g = NULL;
  CHECK(cursor, "'%s' is not there", start);
  if (!cursor) return NULL;
  char *other =
      gr_arena_printf(arena, "%.*s%s%s", (int)(cursor - text), text, to, cursor + strlen(start));
  MUST(graph_parse(arena, gr_op_find, "changed.ir", other, &g));
  return g;
}

// Graphs are the same when all of what they compute is: bodies are compared so.
static void one_difference(void) {
  static const struct {
    const char *text, *old, *new;
    bool same;
  } rows[] = {
      {loops, "  %3 = add %1 %2 : f32[4]", "  %3 = mul %1 %2 : f32[4]", false},
      {loops, "    %4 = add %1 %2", "    %4 = add %2 %1", false},
      {loops, "%2 = weight h : f32[4] next=%3", "%2 = weight h : f32[4] next=%2", false},
      {loops, "reverse=true", "reverse=false", false},
      {loops, "  result %4\n}", "  result %4\n}", true},
      {loops, "input x : f32[5,4]", "input other : f32[5,4]", true},
      {sharded, "dp:S0 tp:P", "dp:S0", false},
      {sharded, "by=-1e-30", "by=1e-30", false},
      {sharded, "step : i32[] next=%3", "step : i32[]", false},
      {sharded, "a b\" %8", "a b\" %7", false},
      {sharded, "result metric.loss.sum", "result metric.loss.weight", true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    gr_graph *g = changed(rows[i].text, rows[i].old, rows[i].old);
    gr_graph *h = changed(rows[i].text, rows[i].old, rows[i].new);
    if (g && h)
      CHECK(gr_graph_same(g, h) == rows[i].same, "'%s' and '%s' are taken for %s", rows[i].old,
            rows[i].new, rows[i].same ? "different" : "the same");
  }
}

// Every op in the table, in each of its cases.
static void keeps_every_op(void) {
  for (const gr_op *const *o = gr_ops; *o; o++)
    for (const gr_case *c = (*o)->cases; c && (c->in[0] || c->attr); c++) {
      gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
      gr_val x[8];
      int n = 0;
      for (; n < 8 && c->in[n]; n++) {
        gr_type t;
        MUST(gr_type_parse(c->in[n], &t));
        x[n] = gr_leaf(&b, GR_INPUT, 0, "x", t, gr_layout_replicated);
      }
      gr_emit(&b, *o, c->attr, n, x);
      if (b.err) {
        gr_status_drop(b.err);
        continue;
      }
      gr_graph *g = again(print(b.g), (*o)->name);
      CHECK(g && gr_graph_same(g, b.g), "%s is not the same again", (*o)->name);
    }
}

static void notes_are_notes(void) {
  gr_graph *g = NULL;
  MUST(graph_parse(arena, gr_op_find, "t", "# all\n\n%1 = input \"a#b\" : f32[2]  # x\n", &g));
  CHECK(gr_is(gr_graph_leaf(g, GR_INPUT, "a#b")), "a # in a name");
  gr_builder b = {.g = g, .created_by = "relu pass", .scope = "net.1", .loc = {"m.yaml", 3, 4}};
  gr_relu(&b, (gr_val){1});
  gr_text t = gr_text_make(arena);
  gr_graph_text(&t, g, true);
  CHECK(strstr(t.chars, "f32[2]  # relu pass net.1 m.yaml:3:4\n"), "note in %s", t.chars);
  MUST(graph_parse(arena, gr_op_find, "t", t.chars, &g));
}

static void errors(void) {
  static const struct {
    const char *text, *says;
    int line, col;
  } bad[] = {
      {"%1 = input x : f32[4]\n%2 = rleu %1 : f32[4]", "no op 'rleu'", 2, 6},
      {"%1 = input x : f33[4]", "expected a type, such as f32[4,7], found 'f33[4]'", 1, 16},
      {"%1 = input x : f32[4", "expected a type, such as f32[4,7], found 'f32[4'", 1, 16},
      {"%2 = relu %1 : f32[4]", "%1 is used before it is defined", 1, 11},
      {"%1 = input x : f32[4]\n%2 = relu %1 : f32[5]", "%2 is f32[4], not f32[5]", 2, 22},
      {"%1 = input x : f32[4]\n%2 = relu %1", "a type for each result", 2, 13},
      {"%1 = input x : f32[4]\n%2 = scale %1 : f32[4]", "op 'scale' needs 'by'", 2, 15},
      {"%1 = input x : f32[4]\n%2 = scale %1 {by=1x} : f32[4]", "is a number, not '1x'", 2, 19},
      {"%1 = input x : f32[4]\n%2 = scale %1 {bye=1} : f32[4]", "no attribute 'bye'", 2, 16},
      {"%1 = input x : f32[4]\n%2 = add %1 : f32[4]", "takes 2 operands, got 1", 2, 10},
      {"%1 = weight w : f32[4] next=%9", "there is no value %9", 1, 29},
      {"%1 = input x : f32[4] dp:S0", "the mesh has no axis 'dp'", 1, 25},
      {"mesh dp=0", "an axis and its size", 1, 9},
      {"lost %1", "expected a value, mesh, loss or result", 1, 1},
      {"%1 = input x : f32[4]\nresult y %1 %1", "the end of the line", 2, 13},
      {"%1 = scan {steps=1, n_seq=0, n_carry=0, n_init=0} : f32[2]", "expected a body", 1, 1},
      {"%1 = scan {steps=1, n_seq=0, n_carry=0, n_init=0} : f32[2]\nbody {\n", "'}'", 2, 1},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    gr_graph *g;
    gr_status s = graph_parse(arena, gr_op_find, "bad.ir", bad[i].text, &g);
    CHECK(s, "no error in '%s'", bad[i].text);
    if (!s) continue;
    gr_loc loc = gr_status_loc(s);
    CHECK(strstr(gr_status_text(s), bad[i].says), "'%s' says '%s', not '%s'", bad[i].text,
          gr_status_text(s), bad[i].says);
    CHECK(loc.file && loc.line == bad[i].line && loc.col == bad[i].col,
          "'%s' is at %d:%d, not at %d:%d", bad[i].text, loc.line, loc.col, bad[i].line,
          bad[i].col);
    gr_status_drop(s);
  }
}

// Damaged texts are read or refused, and what is read can be printed.
static void damaged(void) {
  static const char bytes[] = "%{}[]=,:/# \n\"\\0199-.xS";
  const char *texts[] = {sharded, loops};
  int read = 0;
  for (uint64_t round = 0; round < 4000; round++) {
    gr_rng r = gr_rng_make(11, "damage", round);
    char *text = gr_arena_strdup(arena, texts[round % 2]);
    for (uint64_t k = 0; k < 1 + round % 3; k++) {
      size_t offset = gr_rng_below(&r, 3 * k, strlen(text));
      if (gr_rng_below(&r, 3 * k + 1, 2))
        memmove(text + offset, text + offset + 1, strlen(text + offset));
      else
        text[offset] = bytes[gr_rng_below(&r, 3 * k + 2, sizeof bytes - 1)];
    }
    gr_graph *g = NULL;
    gr_status s = graph_parse(arena, gr_op_find, "damaged.ir", text, &g);
    if (s)
      gr_status_drop(s);
    else
      again(print(g), "damaged"), read++;
  }
  CHECK(read > 100 && read < 3900, "%d of 4000 were read", read);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int bad = RUN(argc, argv, {"keeps_everything", keeps_everything}, {"keeps_bodies", keeps_bodies},
                {"one_difference", one_difference}, {"keeps_every_op", keeps_every_op},
                {"notes_are_notes", notes_are_notes}, {"errors", errors}, {"damaged", damaged});
  gr_arena_destroy(arena);
  return bad;
}
