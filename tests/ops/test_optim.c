// test_optim.c - optimizers, as the optimize pass emits them, against the steps of
// tests/golden/optim.txt, by reference kernels and by fast ones; and the shapes and layouts of
// their states.   test_optim FILE
#include "ops/optim/optim.h"
#include "tests/ops/golden.h"

enum { STATES = GR_MAX_OPTIM_STATES, VALUES = 64 };
static const char *file;

typedef struct golden {
  golden_head head;
  double step, lr, scale;
  value w, g, next_w, state[STATES], next[STATES];
} golden;

// ---- Reading ------------------------------------------------------------------------------------

static void read_state(golden *g, char *text, int line) {
  const gr_op *op = g->head.op;
  char *rest = text, *kind = strtok_r(text, " ", &rest), *name = strtok_r(NULL, " ", &rest);
  for (int k = 0; k < gr_optim_count_states(op); k++)
    if (!strcmp(op->optimizer->states[k].name, name))
      *(*kind == 's' ? &g->state[k] : &g->next[k]) = golden_value(rest, &g->head, line);
}

static void read_line(void *golden_case, char *text, int line) {
  golden *g = golden_case;
  const golden_head *h = &g->head;
  CHECK(h->op->optimizer, "%s:%d: '%s' is no optimizer", file, h->line, h->op->name);
  if (!strncmp(text, "step ", 5)) g->step = strtod(text + 5, NULL);
  if (!strncmp(text, "lr ", 3)) g->lr = strtod(text + 3, NULL);
  if (!strncmp(text, "scale ", 6)) g->scale = strtod(text + 6, NULL);
  if (!strncmp(text, "w ", 2)) g->w = golden_value(text + 2, h, line);
  if (!strncmp(text, "g ", 2)) g->g = golden_value(text + 2, h, line);
  if (!strncmp(text, "W ", 2)) g->next_w = golden_value(text + 2, h, line);
  if (!strncmp(text, "s ", 2) || !strncmp(text, "S ", 2)) read_state(g, text, line);
}

// ---- Replaying ----------------------------------------------------------------------------------

static gr_val leaf(gr_builder *b, const value *v, value *into) {
  gr_val state = gr_leaf(b, GR_STATE, GR_KIND_WEIGHT, "x", v->type, gr_layout_replicated);
  into[state.id] = value_copy(v);
  return state;
}

static gr_val scalar(gr_builder *b, gr_dtype dtype, double x, value *into) {
  value v = value_make((gr_type){.dtype = dtype});
  value_put(&v, 0, x);
  gr_val state = leaf(b, &v, into);
  value_free(&v);
  return state;
}

static void compare(const golden *g, const value *v, gr_val next, const value *want,
                    const char *what, bool fast) {
  int64_t i;
  CHECK(gr_is(next), "%s:%d: %s: no next %s", file, g->head.line, g->head.op->name, what);
  CHECK(gr_type_same(&v[next.id].type, &want->type), "%s:%d: the type of %s", file, g->head.line,
        what);
  double far = worst(&v[next.id], want, &i);
  CHECK(far <= 2e-6, "%s:%d: %s (%s): number %lld of %s is %.9g, not %.9g", file, g->head.line,
        g->head.op->name, fast ? "fast" : "plain", (long long)i, what, value_get(&v[next.id], i),
        value_get(want, i));
}

// ok: the step is taken; otherwise all must stay as it was.
static void replay(const golden *g, bool fast, bool ok) {
  value v[VALUES] = {0};
  gr_arena *arena = gr_arena_create();
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_optim_update u = {.b = &b, .op = g->head.op, .attr = g->head.attr};
  u.w = leaf(&b, &g->w, v), u.g = leaf(&b, &g->g, v);
  u.lr = scalar(&b, GR_F32, g->lr, v), u.step = scalar(&b, GR_I32, g->step, v);
  u.scale = scalar(&b, GR_F32, g->scale, v), u.ok = scalar(&b, GR_F32, ok, v);
  for (int k = 0; k < gr_optim_count_states(g->head.op); k++) {
    bool has = gr_optim_has_state(g->head.op, g->head.attr, k, &g->w.type);
    gr_type t = gr_optim_state_type(g->head.op, k, &g->w.type);
    CHECK(has == (g->state[k].data != NULL), "%s:%d: state %d", file, g->head.line, k);
    if (has) CHECK(gr_type_same(&t, &g->state[k].type), "%s:%d: type of %d", file, g->head.line, k);
    if (has) u.state[k] = leaf(&b, &g->state[k], v);
  }
  gr_optim_emit(&u);
  MUST(b.err);
  MUST((fast ? graph_run_fast : graph_run)(b.g, v));
  compare(g, v, u.next_w, ok ? &g->next_w : &g->w, "the weight", fast);
  for (int k = 0; k < gr_optim_count_states(g->head.op); k++)
    if (gr_is(u.state[k]))
      compare(g, v, u.next_state[k], ok ? &g->next[k] : &g->state[k],
              g->head.op->optimizer->states[k].name, fast);
  values_free(v, VALUES);
  gr_arena_destroy(arena);
}

// By reference and fast kernels, a step that is taken and one that is not.
static void finish(void *golden_case) {
  golden *g = golden_case;
  for (int way = 0; way < 4; way++) replay(g, way & 1, way & 2);
  value_free(&g->w), value_free(&g->g), value_free(&g->next_w);
  values_free(g->state, STATES), values_free(g->next, STATES);
}

static void reference_agrees(void) {
  golden g = {0};
  int cases = golden_read(file, &g, sizeof g, read_line, finish);
  CHECK(cases > 10, "%s has %d cases", file, cases);
}

// ---- States -------------------------------------------------------------------------------------

static void state_is(int k, const char *weight, gr_layout l, const char *type, int at0, int at1) {
  const gr_op *op = &gr_op_adafactor;
  char text[96];
  gr_type w;
  MUST(gr_type_parse(weight, &w));
  gr_type t = gr_optim_state_type(op, k, &w);
  gr_layout layout = gr_optim_state_layout(op, k, &w, l);
  CHECK(!strcmp(gr_type_text(&t, text), type), "%s has a state %s", weight, text);
  CHECK(layout.placement[0] == at0 && layout.placement[1] == at1, "state %s of %s is split %d, %d",
        type, weight, layout.placement[0], layout.placement[1]);
}

// A split dimension that the state does not have leaves it whole on that axis of the mesh.
static void states_of_factors(void) {
  enum { ROW, COL, V, R = GR_REPLICATE };
  state_is(ROW, "f32[4,6]", (gr_layout){{0, 1, R}}, "f32[4]", 0, R);
  state_is(COL, "f32[4,6]", (gr_layout){{0, 1, R}}, "f32[6]", R, 0);
  state_is(ROW, "f32[2,4,6]", (gr_layout){{2, 1, R}}, "f32[2,4]", R, 1);
  state_is(COL, "f32[2,4,6]", (gr_layout){{2, 0, R}}, "f32[2,6]", 1, 0);
  state_is(V, "f32[6]", (gr_layout){{0, R, R}}, "f32[6]", 0, R);
}

static void every_optimizer_is_whole(void) {
  int n = 0;
  for (const gr_op *const *o = gr_ops; *o; o++) {
    const gr_optimizer *z = (*o)->optimizer;
    if (!z) continue;
    n++;
    CHECK((*o)->formulas || z->emit, "%s is not emitted", (*o)->name);
    for (const gr_optim_state *s = z->states; s->name; s++)
      CHECK(s->doc && *s->doc, "%s: state %s has no documentation", (*o)->name, s->name);
    for (const gr_attr *a = (*o)->attrs; a && a->name; a++)
      CHECK(!a->default_value || a->kind == GR_ATTR_BOOL || (a->kind == GR_ATTR_FLOAT && a->range),
            "%s: hyper-parameter %s is a float with a range, or a bool", (*o)->name, a->name);
  }
  CHECK(n >= 5, "%d optimizers", n);
}

int main(int argc, char **argv) {
  if (argc < 2) return fprintf(stderr, "usage: test_optim FILE\n"), 2;
  file = argv[1];
  return RUN(1, argv, {"reference_agrees", reference_agrees},
             {"states_of_factors", states_of_factors},
             {"every_optimizer_is_whole", every_optimizer_is_whole});
}
