// optimize.c - the optimizer, as ops: the next value of each weight and of the optimizer's
// states. ZeRO is nothing but another layout for those states; the shard pass sees the rest.
#include <string.h>
#include "compiler/pass.h"
#include "compiler/passes/passes.h"

// How an optimizer is wired up: its operands and results, in order. Words of one letter are
// states named after the weight ("w" itself, "m" is "<weight>.m"), g the gradient.
typedef struct wiring {
  const char *optimizer, *operands, *results;
} wiring;
static const wiring wirings[] = {
    {"sgd", "w g lr scale ok", "w"},
    {"sgd+momentum", "w g lr scale ok m", "w m"},
    {"adam", "w g m v lr step scale ok", "w m v"},
    {"adamw", "w g m v lr step scale ok", "w m v"},
};

typedef struct optimizer {
  gr_rewrite *rw;
  const gr_op *op;
  const wiring *how;
  void *attr;
  gr_val lr, step, scale, ok;
} optimizer;

static gr_status find_wiring(const gr_options *o, optimizer *z) {
  const char *name = o->optimizer ? o->optimizer : "";
  const char *key = !strcmp(name, "sgd") && o->momentum > 0 ? "sgd+momentum" : name;
  z->op = gr_op_find(name);
  for (size_t i = 0; i < sizeof wirings / sizeof *wirings; i++)
    if (!strcmp(wirings[i].optimizer, key)) z->how = &wirings[i];
  if (z->op && z->how) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "there is no optimizer '%s'", name),
                 "there are sgd, adam and adamw");
}

static gr_status set_attr(gr_rewrite *rw, optimizer *z) {
  const gr_options *o = rw->opt;
  const struct {
    const char *name;
    double value;
  } hyperparameters[] = {{"momentum", o->momentum},
                         {"beta1", o->beta1},
                         {"beta2", o->beta2},
                         {"eps", o->eps},
                         {"weight_decay", o->weight_decay}};
  z->attr = gr_arena_alloc(rw->b.g->arena, z->op->attr_size);
  gr_attr_defaults(z->op, z->attr);
  for (const gr_attr *a = z->op->attrs; a && a->name; a++)
    for (size_t i = 0; i < sizeof hyperparameters / sizeof *hyperparameters; i++) {
      if (strcmp(a->name, hyperparameters[i].name)) continue;
      const char *text = gr_arena_printf(rw->b.g->arena, "%.17g", hyperparameters[i].value);
      GR_TRY(gr_attr_parse(z->op, a, text, GR_NOWHERE, z->attr));
    }
  return GR_OK;
}

// The input or state of that name, made if it is not there.
static gr_val scalar(gr_rewrite *rw, gr_role role, const char *name, gr_dtype dtype) {
  gr_val known = gr_graph_leaf(rw->b.g, role, name);
  if (gr_is(known) || rw->b.err) return known;
  return gr_leaf(&rw->b, role, GR_KIND_COUNTER, name, (gr_type){.dtype = dtype},
                 gr_layout_replicated);
}

static void find_finite_check(optimizer *z) {
  const gr_graph *g = z->rw->b.g;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == &gr_op_finite_check)
      z->scale = gr_out(&g->nodes[i], 0), z->ok = gr_out(&g->nodes[i], 1);
}

static gr_val state(optimizer *z, const gr_value *w, const char *letter) {
  gr_rewrite *rw = z->rw;
  const char *name = gr_arena_printf(rw->b.g->arena, "%s.%s", w->name, letter);
  return gr_leaf(&rw->b, GR_STATE, GR_KIND_MOMENT, name, w->type,
                 gr_update_layout(&rw->old->mesh, w, rw->opt));
}

static gr_val operand(optimizer *z, uint32_t w, const char *word) {
  const gr_value *v = &z->rw->old->values[w];
  return !strcmp(word, "w")       ? z->rw->map[w]
         : !strcmp(word, "g")     ? z->rw->map[v->grad.id]
         : !strcmp(word, "lr")    ? z->lr
         : !strcmp(word, "step")  ? z->step
         : !strcmp(word, "scale") ? z->scale
         : !strcmp(word, "ok")    ? z->ok
                                  : state(z, v, word);
}

// The next word of a list; NULL at its end.
static const char *word(const char **list, char buf[8]) {
  size_t n = strcspn(*list, " ");
  if (!n || n > 7) return NULL;
  memcpy(buf, *list, n);
  buf[n] = 0;
  *list += n + ((*list)[n] == ' ');
  return buf;
}

static void update(optimizer *z, uint32_t w) {
  gr_rewrite *rw = z->rw;
  gr_val in[GR_MAX_ARGS];
  char buf[8], names[GR_MAX_ARGS][8];
  int n_in = 0;
  rw->b.loc = rw->old->values[w].loc, rw->b.scope = rw->old->values[w].name;
  for (const char *p = z->how->operands; word(&p, buf); n_in++)
    in[n_in] = operand(z, w, buf), memcpy(names[n_in], buf, sizeof buf);
  gr_val out = gr_emit(&rw->b, z->op, z->attr, n_in, in);
  for (const char *p = z->how->results; gr_is(out) && word(&p, buf); out.id++)
    for (int k = 0; k < n_in; k++)
      if (!strcmp(names[k], buf)) gr_at(rw->b.g, in[k])->next = out;
}

gr_status gr_pass_optimize(gr_rewrite *rw) {
  optimizer z = {.rw = rw};
  GR_TRY(find_wiring(rw->opt, &z));
  GR_TRY(set_attr(rw, &z));
  gr_copy_leaves(rw);
  gr_copy_nodes(rw);
  gr_copy_links(rw);
  rw->b.loc = GR_NOWHERE, rw->b.scope = "optimizer";
  find_finite_check(&z);
  z.lr = scalar(rw, GR_INPUT, "lr", GR_F32);
  z.step = scalar(rw, GR_STATE, "step", GR_I32);
  for (uint32_t i = 1; i < rw->old->n_values && !rw->b.err; i++) {
    const gr_value *v = &rw->old->values[i];
    if (v->role == GR_STATE && gr_is(v->grad)) update(&z, i);
  }
  rw->b.loc = GR_NOWHERE, rw->b.scope = "optimizer";
  gr_val next = GR_EMIT(&rw->b, &gr_op_increment, NULL, z.step, z.ok);
  if (!rw->b.err) gr_at(rw->b.g, z.step)->next = next;
  return GR_OK;
}
