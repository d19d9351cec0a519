// test_optim.c - optimizers, as the optimize pass emits them, against the steps of
// tests/golden/optim.txt, by reference kernels and by fast ones; and the shapes and layouts of
// their states.   test_optim FILE
#include "ops/optim/optim.h"
#include "tests/check.h"
#include "tests/ops/bench.h"

enum { STATES = GR_MAX_OPTIM_STATES, VALUES = 64 };
static const char *file;

typedef struct golden {
  const gr_op *op;
  int line;
  double attr[32];  // room, and aligned
  double step, lr, scale;
  value w, g, next_w, state[STATES], next[STATES];
} golden;

// ---- Reading
// --------------------------------------------------------------------------------------

static value read_value(char *text, int line) {
  char *rest = text, *type = strtok_r(rest, " \n", &rest);
  gr_type t;
  MUST(gr_type_parse(type, &t));
  value v = value_make(t);
  for (int64_t i = 0; i < value_count(&v); i++) {
    char *end;
    value_put(&v, i, strtod(rest, &end));
    CHECK(end != rest, "%s:%d: %lld numbers are too few", file, line, (long long)i);
    rest = end;
  }
  return v;
}

static void read_head(golden *g, char *text) {
  char *rest = text, *name = strtok_r(text, " \n", &rest);
  g->op = gr_optim_find(name);
  CHECK(g->op, "%s:%d: there is no optimizer '%s'", file, g->line, name);
  if (!g->op) longjmp(check_out, 1);
  gr_attr_defaults(g->op, g->attr);
  for (char *pair; (pair = strtok_r(NULL, " \n", &rest));) {
    char *equals = strchr(pair, '=');
    const gr_attr *a = g->op->attrs;
    for (*equals = 0; a->name && strcmp(a->name, pair);) a++;
    CHECK(a->name, "%s:%d: '%s' has no '%s'", file, g->line, name, pair);
    MUST(gr_attr_parse(g->op, a, equals + 1, GR_NOWHERE, g->attr));
  }
}

static void read_state(golden *g, char *text, int line) {
  char *rest = text, *kind = strtok_r(text, " ", &rest), *name = strtok_r(NULL, " ", &rest);
  for (int k = 0; k < gr_optim_count_states(g->op); k++)
    if (!strcmp(g->op->optimizer->states[k].name, name))
      *(*kind == 's' ? &g->state[k] : &g->next[k]) = read_value(rest, line);
}

static void read_line(golden *g, char *text, int line) {
  if (!strncmp(text, "step ", 5)) g->step = strtod(text + 5, NULL);
  if (!strncmp(text, "lr ", 3)) g->lr = strtod(text + 3, NULL);
  if (!strncmp(text, "scale ", 6)) g->scale = strtod(text + 6, NULL);
  if (!strncmp(text, "w ", 2)) g->w = read_value(text + 2, line);
  if (!strncmp(text, "g ", 2)) g->g = read_value(text + 2, line);
  if (!strncmp(text, "W ", 2)) g->next_w = read_value(text + 2, line);
  if (!strncmp(text, "s ", 2) || !strncmp(text, "S ", 2)) read_state(g, text, line);
}

// ---- Replaying
// ------------------------------------------------------------------------------------

static gr_val leaf(gr_builder *b, const value *v, value *into) {
  gr_val at = gr_leaf(b, GR_STATE, GR_KIND_WEIGHT, "x", v->type, gr_layout_replicated);
  into[at.id] = value_copy(v);
  return at;
}

static gr_val scalar(gr_builder *b, gr_dtype dtype, double x, value *into) {
  value v = value_make((gr_type){.dtype = dtype});
  value_put(&v, 0, x);
  gr_val at = leaf(b, &v, into);
  value_free(&v);
  return at;
}

static void compare(const golden *g, const value *v, gr_val at, const value *want, const char *what,
                    bool fast) {
  int64_t i;
  CHECK(gr_is(at), "%s:%d: %s: no next %s", file, g->line, g->op->name, what);
  CHECK(gr_type_same(&v[at.id].type, &want->type), "%s:%d: the type of %s", file, g->line, what);
  double far = worst(&v[at.id], want, &i);
  CHECK(far <= 2e-6, "%s:%d: %s (%s): number %lld of %s is %.9g, not %.9g", file, g->line,
        g->op->name, fast ? "fast" : "plain", (long long)i, what, value_get(&v[at.id], i),
        value_get(want, i));
}

// ok: the step is taken; otherwise all must stay as it was.
static void replay(const golden *g, bool fast, bool ok) {
  value v[VALUES] = {0};
  gr_arena *arena = gr_arena_create();
  gr_builder b = {.g = gr_graph_create(arena, NULL), .created_by = "test"};
  gr_optim_update u = {.b = &b, .op = g->op, .attr = g->attr};
  u.w = leaf(&b, &g->w, v), u.g = leaf(&b, &g->g, v);
  u.lr = scalar(&b, GR_F32, g->lr, v), u.step = scalar(&b, GR_I32, g->step, v);
  u.scale = scalar(&b, GR_F32, g->scale, v), u.ok = scalar(&b, GR_F32, ok, v);
  for (int k = 0; k < gr_optim_count_states(g->op); k++) {
    bool has = gr_optim_has_state(g->op, g->attr, k, &g->w.type);
    gr_type t = gr_optim_state_type(g->op, k, &g->w.type);
    CHECK(has == (g->state[k].data != NULL), "%s:%d: state %d", file, g->line, k);
    if (has) CHECK(gr_type_same(&t, &g->state[k].type), "%s:%d: type of %d", file, g->line, k);
    if (has) u.state[k] = leaf(&b, &g->state[k], v);
  }
  gr_optim_emit(&u);
  MUST(b.err);
  MUST((fast ? graph_run_fast : graph_run)(b.g, v));
  compare(g, v, u.next_w, ok ? &g->next_w : &g->w, "the weight", fast);
  for (int k = 0; k < gr_optim_count_states(g->op); k++)
    if (gr_is(u.state[k]))
      compare(g, v, u.next_state[k], ok ? &g->next[k] : &g->state[k],
              g->op->optimizer->states[k].name, fast);
  values_free(v, VALUES);
  gr_arena_destroy(arena);
}

static void free_golden(golden *g) {
  value_free(&g->w), value_free(&g->g), value_free(&g->next_w);
  values_free(g->state, STATES), values_free(g->next, STATES);
}

static void reference_agrees(void) {
  FILE *f = fopen(file, "r");
  CHECK(f, "cannot open %s", file);
  if (!f) return;
  char *text = NULL;
  size_t room = 0;
  golden g = {0};
  int cases = 0;
  for (int line = 1; getline(&text, &room, f) > 0; line++) {
    if (!strncmp(text, "case ", 5)) {
      g = (golden){.line = line};
      read_head(&g, text + 5);
    }
    read_line(&g, text, line);
    if (strncmp(text, "end", 3)) continue;
    for (int way = 0; way < 4; way++) replay(&g, way & 1, way & 2);
    free_golden(&g), cases++;
  }
  CHECK(cases > 10, "%s has %d cases", file, cases);
  free(text);
  fclose(f);
}

// ---- States
// -----------------------------------------------------------------------------------------

static void state_is(int k, const char *weight, gr_layout l, const char *type, int at0, int at1) {
  const gr_op *op = &gr_op_adafactor;
  char text[96];
  gr_type w;
  MUST(gr_type_parse(weight, &w));
  gr_type t = gr_optim_state_type(op, k, &w);
  gr_layout is = gr_optim_state_layout(op, k, &w, l);
  CHECK(!strcmp(gr_type_text(&t, text), type), "%s has a state %s", weight, text);
  CHECK(is.at[0] == at0 && is.at[1] == at1, "state %s of %s is split %d, %d", type, weight,
        is.at[0], is.at[1]);
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
    CHECK(z->operands || z->emit, "%s is not emitted", (*o)->name);
    for (const gr_optim_state *s = z->states; s->name; s++)
      CHECK(s->doc && *s->doc, "%s: state %s has no documentation", (*o)->name, s->name);
    for (const gr_attr *a = (*o)->attrs; a && a->name; a++)
      CHECK(!a->default_value || (a->kind == GR_ATTR_FLOAT && a->range),
            "%s: hyper-parameter %s is a float with a range", (*o)->name, a->name);
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
