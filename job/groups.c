// groups.c - see parts.h.
#include <inttypes.h>
#include <string.h>
#include "compose/schema/schema.h"
#include "job/parts.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

static const char *const own_keys[] = {"match", "lr", "lr_factor", "clip", "optimizer"};
enum { OWN_KEYS = sizeof own_keys / sizeof *own_keys, MAX_GROUPS = 64, MAX_NAMES = 32 };

// ---- Reading ------------------------------------------------------------------------------------

static gr_status read_number(gr_arena *a, const char *key, const char *range, gr_conf *c,
                             double *out) {
  const char *wrong = gr_schema_misfit(a, range, c);
  if (wrong) return gr_fail(GR_ERR_CONFIG, c->loc, "'%s' of a group %s", key, wrong);
  *out = gr_conf_number(c);
  return GR_OK;
}

// The rate is a factor on training.lr, so that warm-up, scaling and schedules apply to it.
static gr_status read_rate(gr_arena *a, gr_conf *item, double base, double *factor) {
  gr_conf *lr = gr_conf_member(item, "lr"), *by = gr_conf_member(item, "lr_factor");
  *factor = 1;
  if (lr && by)
    return gr_hint(gr_fail(GR_ERR_CONFIG, by->key_loc, "a group has both 'lr' and 'lr_factor'"),
                   "lr_factor: 0.1 is a tenth of training.lr");
  if (by) return read_number(a, "lr_factor", "float >= 0", by, factor);
  if (!lr) return GR_OK;
  GR_TRY(read_number(a, "lr", "float >= 0", lr, factor));
  if (base <= 0)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, lr->loc, "training.lr is 0, so this is no multiple of it"),
        "schedules scale training.lr, and with it the rates of all groups");
  *factor /= base;
  return GR_OK;
}

static gr_status unknown_key(const gr_op *op, const gr_conf *c, const char *name) {
  const char *names[MAX_NAMES];
  int n = 0;
  for (; n < OWN_KEYS; n++) names[n] = own_keys[n];
  for (const gr_attr *p = op->attrs; p && p->name && n < MAX_NAMES; p++)
    if (p->default_value) names[n++] = p->name;
  gr_status s =
      gr_fail(GR_ERR_CONFIG, gr_conf_place(c), "a group of training.groups has no '%s'", name);
  s = gr_hint_near(s, name, names, n);
  return gr_hint(s, "it has match, lr, lr_factor, clip, optimizer, and what %s reads", op->name);
}

static bool is_own(const char *key) {
  for (int i = 0; i < OWN_KEYS; i++)
    if (!strcmp(key, own_keys[i])) return true;
  return false;
}

static gr_status read_attr(gr_arena *a, const gr_op *op, gr_conf *item, void *attr) {
  gr_status all = GR_OK;
  for (int i = 0; i < item->n; i++) {
    const char *key = item->keys[i];
    bool known = true;
    if (is_own(key)) continue;
    all = gr_also(all, gr_optimizer_set(a, op, key, item->items[i], attr, &known));
    if (!known) all = gr_also(all, unknown_key(op, item->items[i], key));
  }
  return all;
}

static double *weight_decay_of(const gr_op *op, void *attr) {
  for (const gr_attr *p = op->attrs; p && p->name; p++)
    if (p->kind == GR_ATTR_FLOAT && !strcmp(p->name, "weight_decay"))
      return (double *)(void *)((char *)attr + p->offset);
  return NULL;
}

// The attributes without weight decay; NULL: they have none, and hooks cannot set it.
static const void *without_decay(gr_arena *a, const gr_op *op, const void *attr, bool adjustable) {
  void *copy = gr_arena_alloc(a, op->attr_size);
  memcpy(copy, attr, op->attr_size);
  double *decay = weight_decay_of(op, copy);
  if (!decay || (*decay == 0 && !adjustable)) return NULL;
  *decay = 0;
  return copy;
}

static gr_status unknown_optimizer(const gr_conf *c) {
  const char *names[MAX_NAMES], *name = gr_conf_text_of(c, "");
  int n = 0;
  for (const gr_op *const *op = gr_ops; *op && n < MAX_NAMES; op++)
    if ((*op)->optimizer) names[n++] = (*op)->name;
  gr_status s = gr_fail(GR_ERR_CONFIG, c->loc, "there is no optimizer '%s'", name);
  return gr_hint(gr_hint_near(s, name, names, n), "training.optimizer has the same choice");
}

static gr_status read_group(gr_arena *a, const gr_optimizer_settings *s, double lr, gr_conf *item,
                            gr_param_group *out) {
  bool map = item->kind == GR_CONF_MAP;
  gr_conf *match = map ? gr_conf_member(item, "match") : NULL;
  gr_conf *clip = map ? gr_conf_member(item, "clip") : NULL;
  gr_conf *name = map ? gr_conf_member(item, "optimizer") : NULL;
  if (!match || match->kind != GR_CONF_TEXT)
    return gr_hint(gr_fail(GR_ERR_CONFIG, item->loc,
                           "a group of training.groups needs 'match', a pattern of weight names"),
                   "{match: \"actor.*\", lr: 3e-4, clip: 0.5}");
  const gr_op *op = gr_optim_find(!name ? s->name : gr_conf_text_of(name, NULL));
  if (!op) return unknown_optimizer(name);
  *out = (gr_param_group){
      .pattern = match->text, .optimizer = op->name, .clip = -1, .loc = match->loc};
  void *attr = gr_arena_alloc(a, op->attr_size);
  gr_attr_defaults(op, attr);
  if (!strcmp(op->name, s->name)) memcpy(attr, s->attr, op->attr_size);
  gr_status e = read_rate(a, item, lr, &out->lr);
  if (clip) e = gr_also(e, read_number(a, "clip", "float >= 0", clip, &out->clip));
  e = gr_also(e, read_attr(a, op, item, attr));
  out->attr = attr;
  bool decays = s->decay_biases_and_norms || gr_conf_member(item, "weight_decay");
  if (!decays) out->attr_1d = without_decay(a, op, attr, s->adjustable);
  return e;
}

gr_status gr_groups_read(gr_arena *a, gr_conf *root, double lr, gr_optimizer_settings *s) {
  gr_conf *list = gr_conf_find(root, "training.groups");
  const gr_op *op = gr_optim_find(s->name);
  if (op && !s->decay_biases_and_norms) s->attr_1d = without_decay(a, op, s->attr, s->adjustable);
  if (!list) return GR_OK;
  GR_TRY(gr_conf_check_list(list, "training.groups", "groups", MAX_GROUPS,
                            "[{match:'actor.*',lr:3e-4,clip:0.5}]"));
  gr_param_group *groups = GR_NEW(a, gr_param_group, list->n + 1);
  s->groups = groups;
  s->n_groups = list->n;
  gr_status all = GR_OK;
  for (int i = 0; i < list->n; i++)
    all = gr_also(all, read_group(a, s, lr, list->items[i], &groups[i]));
  return all;
}

// ---- Reporting ----------------------------------------------------------------------------------

static void print_attr(FILE *f, const gr_op *op, const void *attr) {
  gr_arena *a = gr_arena_create();
  for (const gr_attr *p = op->attrs; attr && p && p->name; p++) {
    gr_text t = gr_text_make(a);
    gr_attr_text(&t, p, attr);
    fprintf(f, ", %s=%s", p->name, t.chars);
  }
  gr_arena_destroy(a);
}

// Group k, or with -1 the weights of no group.
static void print_group(FILE *f, const gr_optimizer_settings *o, const gr_plan *p, int k) {
  int64_t weights = 0, numbers = 0, vectors = 0;
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (!s->trained || gr_param_group_of(o, s->name) != k) continue;
    weights++, numbers += gr_type_count(&s->global), vectors += s->global.rank < 2;
  }
  if (k < 0 && !weights) return;
  const gr_param_group *g = k < 0 ? NULL : &o->groups[k];
  const char *optimizer = g ? g->optimizer : o->name;
  double clip = g ? g->clip : o->grad_clip;
  fprintf(f, "  %-20s %4" PRId64 " trained weights, %" PRId64 " numbers: %s",
          g ? g->pattern : "others", weights, numbers, optimizer);
  if (g && g->lr != 1) fprintf(f, ", lr x %g", g->lr);
  if (clip > 0) fprintf(f, ", clip %g", clip);
  print_attr(f, gr_optim_find(optimizer), g ? g->attr : o->attr);
  if (g ? g->attr_1d : o->attr_1d)
    fprintf(f, "; no decay on %" PRId64 " biases and norms", vectors);
  fputc('\n', f);
}

void gr_groups_print(FILE *f, const gr_optimizer_settings *o, const gr_plan *p) {
  if (!o->n_groups && !o->attr_1d) return;
  fprintf(f, "groups      weights are updated by the first group that matches\n");
  for (int k = 0; k < o->n_groups; k++) print_group(f, o, p, k);
  print_group(f, o, p, -1);
}
