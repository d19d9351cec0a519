// adjust.c - see adjust.h.
#include "compiler/adjust.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ops/optim/optim.h"

typedef struct list {
  gr_arena *arena;
  const gr_optimizer_settings *o;
  gr_adjustable *items;
  int n;
} list;

const char *gr_adjust_input_name(gr_arena *a, const gr_optimizer_settings *o, const char *key,
                                 int group) {
  if (group < 0) return gr_arena_printf(a, "set.%s", key);
  return gr_arena_printf(a, "set.%s.%s", key, o->groups[group].pattern);
}

// Sets the bounds of a range as attributes have it: ">= 0 < 1".
static void read_range(const char *text, gr_adjustable *out) {
  for (const char *p = text ? text : ""; *p;) {
    bool low = *p == '>', open = p[1] != '=';
    char *end;
    double bound = strtod(p + (open ? 1 : 2), &end);
    *(low ? &out->lowest : &out->highest) = bound;
    *(low ? &out->above_lowest : &out->below_highest) = open;
    p = end + strspn(end, " ");
  }
}

static gr_adjustable *add(list *l, const char *key, int group, double initial, const char *range) {
  gr_adjustable *a = &l->items[l->n++];
  *a = (gr_adjustable){.key = key,
                       .group = group < 0 ? NULL : l->o->groups[group].pattern,
                       .input = gr_adjust_input_name(l->arena, l->o, key, group),
                       .initial = initial,
                       .lowest = -INFINITY,
                       .highest = INFINITY};
  read_range(range, a);
  return a;
}

// Whether an optimizer's weights have a state only if the hyper-parameter is not 0.
static bool makes_state(const gr_op *op, const char *name) {
  for (const gr_optim_state *s = op->optimizer->states; s->name; s++)
    if (s->when && !strcmp(s->when, name)) return true;
  return false;
}

static void add_params(list *l, int group) {
  const gr_param_group *g = group < 0 ? NULL : &l->o->groups[group];
  const gr_op *op = gr_optim_find(g ? g->optimizer : l->o->name);
  const void *attr = g ? g->attr : l->o->attr;
  if (!op) return;
  void *defaults = gr_arena_alloc(l->arena, op->attr_size);
  gr_attr_defaults(op, defaults);
  for (int k = 0; op->attrs && op->attrs[k].name; k++) {
    const gr_attr *p = &op->attrs[k];
    if (!gr_optim_is_operand(op, k) || p->kind != GR_ATTR_FLOAT) continue;
    const char *values = attr ? attr : defaults;
    double initial = *(const double *)(const void *)(values + p->offset);
    gr_adjustable *a = add(l, p->name, group, initial, p->range);
    if (makes_state(op, p->name) && initial == 0)
      a->fixed = "it is 0 in the configuration, so there is no state for it";
  }
}

gr_status gr_list_adjustable(gr_arena *arena, const gr_optimizer_settings *o, gr_adjustable **out,
                             int *n) {
  enum { OF_GROUP = GR_MAX_OPTIM_PARAMS + 3 };
  list l = {arena, o, GR_NEW(arena, gr_adjustable, OF_GROUP * (o->n_groups + 1) + o->freezable.n),
            0};
  for (int k = -1; o->adjustable && k < o->n_groups; k++) {
    double clip = k < 0 ? o->grad_clip : o->groups[k].clip;
    add_params(&l, k);
    if (clip >= 0) add(&l, "clip", k, clip, ">= 0");
    if (k < 0 && o->ema_decay.given) add(&l, "ema_decay", k, o->ema_decay.value, ">= 0 <= 1");
    if (k >= 0) add(&l, "lr_factor", k, o->groups[k].lr, ">= 0");
  }
  for (int i = 0; i < o->freezable.n; i++)
    l.items[l.n++] =
        (gr_adjustable){.key = "frozen",
                        .freezes = true,
                        .group = o->freezable.text[i],
                        .input = gr_arena_printf(arena, "set.frozen.%s", o->freezable.text[i]),
                        .highest = 1};
  *out = l.items, *n = l.n;
  if (l.n <= GR_MAX_ADJUSTABLE) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, GR_NOWHERE,
              "training.groups have more than %d values that hooks could set", GR_MAX_ADJUSTABLE),
      "fewer groups, or training.adjustable=false");
}
