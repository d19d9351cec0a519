// optimizer.c - see parts.h.
#include <string.h>
#include "compose/override/override.h"
#include "compose/schema/schema.h"
#include "job/parts.h"
#include "ops/ops.h"
#include "ops/optim/optim.h"

#define PARAMS "training.optimizer_params"
enum { MAX_NAMES = 64 };

void gr_optimizer_register(void) {
  static const char *names[MAX_NAMES + 1];
  int n = 0;
  for (const gr_op *const *op = gr_ops; *op && n < MAX_NAMES; op++)
    if ((*op)->optimizer) names[n++] = (*op)->name;
  gr_schema_set_words("training.optimizer", names);
}

// ---- Parsing ------------------------------------------------------------------------------------

// Users cannot set attributes without a default.
static bool is_parameter(const gr_attr *a) { return a->default_value; }

static const gr_attr *find(const gr_op *op, const char *name, size_t n) {
  for (const gr_attr *a = op->attrs; a && a->name; a++)
    if (is_parameter(a) && strlen(a->name) == n && !strncmp(a->name, name, n)) return a;
  return NULL;
}

// "betas: [0.9, 0.95]" and "eps: [1e-7, 1e-3]" set beta1 and beta2, eps1 and eps2.
static const gr_attr *find_numbered(gr_arena *a, const gr_op *op, const char *name, int number) {
  size_t n = strlen(name);
  const char *one = gr_arena_printf(a, "%s%d", name, number);
  const gr_attr *found = find(op, one, strlen(one));
  if (found || !n || name[n - 1] != 's') return found;
  one = gr_arena_printf(a, "%.*s%d", (int)n - 1, name, number);
  return find(op, one, strlen(one));
}

static const char *type_text(gr_arena *a, const gr_attr *p) {
  if (p->kind == GR_ATTR_BOOL) return "bool";
  return gr_arena_printf(a, "float%s%s", p->range ? " " : "", p->range ? p->range : "");
}

static gr_status set(gr_arena *a, const gr_attr *p, const char *key, gr_conf *v, void *attr) {
  const char *wrong = gr_schema_misfit(a, type_text(a, p), v);
  double x = gr_conf_number(v);
  int64_t yes = v->kind == GR_CONF_BOOL && v->truth;
  if (wrong)
    return gr_hint(gr_fail(GR_ERR_CONFIG, v->loc, "'%s' %s", key, wrong), "%s: %s; default: %s",
                   p->name, p->doc, p->default_value);
  memcpy((char *)attr + p->offset, p->kind == GR_ATTR_BOOL ? (void *)&yes : &x, sizeof x);
  return GR_OK;
}

// Sets the parameters that a name stands for; *known: the optimizer has them.
static gr_status set_named(gr_arena *a, const gr_op *op, const char *name, const char *key,
                           gr_conf *v, void *attr, bool *known) {
  const gr_attr *p = find(op, name, strlen(name));
  *known = p || find_numbered(a, op, name, 1);
  if (!*known || v->kind == GR_CONF_NULL) return GR_OK;
  if (p) return set(a, p, key, v, attr);
  int n = 1;
  while (find_numbered(a, op, name, n + 1)) n++;
  if (v->kind != GR_CONF_LIST || v->n != n)
    return gr_fail(GR_ERR_CONFIG, v->loc, "'%s' of %s must be a list of %d numbers, but is %s%s",
                   key, op->name, n, gr_conf_a_kind(v->kind),
                   v->kind == GR_CONF_LIST ? gr_arena_printf(a, " of %d", v->n) : "");
  gr_status all = GR_OK;
  for (int i = 0; i < n; i++) {
    const char *item = gr_arena_printf(a, "%s[%d]", key, i);
    all = gr_also(all, set(a, find_numbered(a, op, name, i + 1), item, v->items[i], attr));
  }
  return all;
}

gr_status gr_optimizer_set(gr_arena *a, const gr_op *op, const char *name, gr_conf *v, void *attr,
                           bool *known) {
  return set_named(a, op, name, name, v, attr, known);
}

// The names of an optimizer's parameters, with commas between them.
static const char *list_names(gr_arena *a, const gr_op *op, const char *names[MAX_NAMES], int *n) {
  *n = 0;
  for (const gr_attr *p = op->attrs; p && p->name && *n < MAX_NAMES; p++)
    if (is_parameter(p)) names[(*n)++] = p->name;
  return gr_text_names(a, names, *n);
}

static gr_status unknown(gr_arena *a, const gr_op *op, const gr_conf *v, const char *name) {
  const char *names[MAX_NAMES];
  int n;
  const char *list = list_names(a, op, names, &n), *near = gr_text_nearest(name, names, n);
  gr_status s =
      gr_fail(GR_ERR_CONFIG, gr_conf_place(v), "%s has no parameter '%s'", op->name, name);
  if (!strcmp(name, "lr")) return gr_hint(s, "the learning rate is training.lr");
  if (near) return gr_hint(s, "did you mean '%s'? it has: %s", near, list);
  return gr_hint(s, "it has: %s", list);
}

static gr_status set_params(gr_arena *a, const gr_op *op, gr_conf *root, void *attr) {
  gr_conf *map = gr_conf_find(root, PARAMS);
  gr_status all = GR_OK;
  if (!map || map->kind == GR_CONF_NULL) return GR_OK;
  map->read = true;
  if (map->kind != GR_CONF_MAP)
    return gr_hint(gr_fail(GR_ERR_CONFIG, map->loc, PARAMS " must be a mapping, but is %s",
                           gr_conf_a_kind(map->kind)),
                   "such as {weight_decay: 0.01}");
  for (int i = 0; i < map->n; i++) {
    gr_conf *v = map->items[i];
    const char *key = gr_arena_printf(a, PARAMS ".%s", map->keys[i]);
    bool known;
    v->read = true;
    for (int k = 0; k < v->n && v->items; k++) v->items[k]->read = true;
    all = gr_also(all, set_named(a, op, map->keys[i], key, v, attr, &known));
    if (!known) all = gr_also(all, unknown(a, op, v, map->keys[i]));
  }
  return all;
}

// ---- Keys that several optimizers share ---------------------------------------------------------

static bool has_setting(gr_arena *a, const gr_op *op, const char *name, const gr_conf *v) {
  if (find(op, name, strlen(name))) return true;
  return v->kind == GR_CONF_LIST && find_numbered(a, op, name, 1);
}

// Whether the key was set for this optimizer: both are in one file, or the optimizer is the
// default, or the key is an argument of this run.
static bool is_for_this(const gr_conf *v, const gr_conf *optimizer) {
  const char *here = v->loc.file, *there = optimizer->loc.file;
  if (optimizer->is_default || !here || !there) return true;
  return gr_override_is_place(v->loc) || !strcmp(here, there);
}

static gr_status not_of_this(gr_arena *a, const gr_op *op, const gr_conf *v, const char *name) {
  const char *names[MAX_NAMES];
  int n;
  const char *list = list_names(a, op, names, &n);
  gr_text others = gr_text_make(a);
  for (const gr_op *const *o = gr_ops; *o; o++)
    if ((*o)->optimizer && has_setting(a, *o, name, v))
      gr_text_printf(&others, "%s%s", *others.chars ? ", " : "", (*o)->name);
  gr_status s =
      gr_fail(GR_ERR_CONFIG, gr_conf_place(v), "%s does not read training.%s", op->name, name);
  return gr_hint(s, "remove it, or set training.optimizer to one that does: %s; %s has: %s",
                 others.chars, op->name, list);
}

// Sets the parameters of this optimizer from the keys that several optimizers share, and appends
// those that are ignored.
static gr_status set_shared(gr_arena *a, const gr_op *op, gr_conf *root, void *attr,
                            gr_text *ignored) {
  static const char *const names[] = {"betas", "eps", "momentum", "weight_decay"};
  const gr_conf *optimizer = gr_conf_find(root, "training.optimizer");
  gr_status all = GR_OK;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *key = gr_arena_printf(a, "training.%s", names[i]);
    gr_conf *v = gr_conf_find(root, key);
    bool known;
    if (!v) continue;
    v->read = true;
    for (int k = 0; k < v->n && v->items; k++) v->items[k]->read = true;
    if (has_setting(a, op, names[i], v))
      all = gr_also(all, set_named(a, op, names[i], key, v, attr, &known));
    else if (is_for_this(v, optimizer))
      all = gr_also(all, not_of_this(a, op, v, names[i]));
    else
      gr_text_printf(ignored, "%s%s", *ignored->chars ? ", " : "", key);
  }
  return all;
}

// Nesterov's momentum of none is what the optimizer does without it.
static gr_status check_nesterov(const gr_op *op, gr_conf *root, const void *attr) {
  const gr_conf *nesterov = gr_conf_find(root, PARAMS ".nesterov");
  const gr_attr *momentum = find(op, "momentum", strlen("momentum"));
  double value = 1;
  if (momentum) memcpy(&value, (const char *)attr + momentum->offset, sizeof value);
  if (!nesterov || !nesterov->truth || value > 0) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, nesterov->loc,
                         "nesterov has no effect: the momentum of %s is 0", op->name),
                 "training.momentum=0.9 is usual");
}

gr_status gr_optimizer_read(gr_arena *a, gr_conf *root, gr_optimizer_settings *out) {
  gr_conf *name = gr_conf_find(root, "training.optimizer");
  const gr_op *op = name && name->kind == GR_CONF_TEXT ? gr_optim_find(name->text) : NULL;
  if (!op)
    return gr_fail(GR_ERR_CONFIG, name ? name->loc : GR_NOWHERE, "there is no such optimizer");
  void *attr = gr_arena_alloc(a, op->attr_size);
  gr_attr_defaults(op, attr);
  gr_text ignored = gr_text_make(a);
  gr_status s = set_shared(a, op, root, attr, &ignored);
  out->attr = attr;
  if (*ignored.chars)
    out->unread = gr_arena_printf(a, "%s does not read %s", op->name, ignored.chars);
  s = gr_also(s, set_params(a, op, root, attr));
  return s ? s : check_nesterov(op, root, attr);
}

// ---- Documentation ------------------------------------------------------------------------------

static void put_states(gr_text *t, const gr_op *op) {
  gr_text_put(t, "States:");
  for (const gr_optim_state *s = op->optimizer->states; s->name; s++) {
    gr_text_printf(t, "%s `%s` (%s", s == op->optimizer->states ? "" : ";", s->name,
                   gr_optim_shape_text(s));
    if (s->of != GR_OPTIM_ALL)
      gr_text_put(t, s->of == GR_OPTIM_MATRICES ? ", of weights of two or more dimensions"
                                                : ", of weights of at most one dimension");
    if (s->when) gr_text_printf(t, ", where %s is not 0", s->when);
    gr_text_printf(t, "): %s", s->doc);
    if (s->initial) gr_text_printf(t, ", starts as %s", s->initial);
  }
  gr_text_put(t, op->optimizer->states[0].name ? ".\n" : " none.\n");
}

void gr_optimizer_markdown(gr_text *t) {
  gr_text_put(t,
              "\n# Optimizers\n\nWhat `training.optimizer_params` takes, by `training.optimizer`"
              " (`docs/add-an-optimizer.md`).\n");
  for (const gr_op *const *o = gr_ops; *o; o++) {
    if (!(*o)->optimizer) continue;
    gr_text_printf(t, "\n## %s\n\n", (*o)->name);
    gr_text_put(t, "| parameter | range | default | meaning |\n|---|---|---|---|\n");
    for (const gr_attr *p = (*o)->attrs; p && p->name; p++)
      if (is_parameter(p))
        gr_text_printf(t, "| `%s` | %s | %s | %s |\n", p->name, p->range ? p->range : "",
                       p->default_value, p->doc);
    gr_text_put(t, "\n");
    put_states(t, *o);
  }
}

void gr_optimizer_help(gr_text *t, const char *prefix) {
  if (strncmp(PARAMS, prefix, strlen(prefix))) return;
  for (const gr_op *const *o = gr_ops; *o; o++)
    for (const gr_attr *p = (*o)->optimizer ? (*o)->attrs : NULL; p && p->name; p++)
      if (is_parameter(p))
        gr_text_printf(t, PARAMS ".%s  %s\n    of %s: %s; default: %s\n", p->name,
                       type_text(t->arena, p), (*o)->name, p->doc, p->default_value);
}
