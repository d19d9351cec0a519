// groups.c - groups of weights that are updated in different ways (pass.h).
#include "compiler/pass.h"
#include "ops/optim/optim.h"

int gr_param_group_of(const gr_optimizer_settings *o, const char *weight) {
  for (int i = 0; i < o->n_groups; i++)
    if (gr_name_matches(weight, &o->groups[i].pattern, 1)) return i;
  return -1;
}

gr_update_rule gr_update_rule_of(const gr_optimizer_settings *o, const char *weight, int rank) {
  int i = gr_param_group_of(o, weight);
  const gr_param_group *g = i < 0 ? NULL : &o->groups[i];
  const void *attr = g ? g->attr : o->attr;
  const void *attr_1d = g ? g->attr_1d : o->attr_1d;
  return (gr_update_rule){.op = gr_optim_find(g ? g->optimizer : o->name),
                          .attr = rank < 2 && attr_1d ? attr_1d : attr,
                          .lr = g ? g->lr : 1,
                          .clip_group = g && g->clip >= 0 ? i : -1};
}

const char *gr_clip_result(gr_arena *arena, const gr_optimizer_settings *o, int group) {
  return gr_arena_printf(arena, "grad_norm.%s", group < 0 ? "others" : o->groups[group].pattern);
}

bool gr_is_adapter_weight(const char *name) {
  static const char *const patterns[] = {"lora_[AB].weight", "*.lora_[AB].weight"};
  return gr_name_matches(name, patterns, 2);
}
