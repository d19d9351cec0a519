// mesh.c - see mesh.h.
#include "job/mesh.h"
#include <fnmatch.h>
#include <string.h>
#include "job/args.h"

// The axes a mesh can have.
static const struct axis {
  const char *name, *doc;
} axes[] = {
    {"dp", "data parallel"},
    {"replicate", "of hsdp: groups with the same weights"},
    {"shard", "of hsdp: ranks of a group, which split them"},
    {"tp", "tensor parallel"},
};
enum { N_AXES = sizeof axes / sizeof *axes };

// Every strategy is a choice of layouts, without code of its own. A row says what is sharded over
// the last of its data axes; a tp axis shards layers with any strategy.
static const struct strategy {
  gr_strategy is;                 // its name in distributed.strategy
  int as_fsdp;                    // its value in distributed.fsdp.sharding_strategy; -1: none
  const char *data[2];            // axes that the batch is sharded over
  bool moments, totals, weights;  // what is sharded; totals: gradient accumulators
  bool tp;                        // it requires a tp axis
  bool alone;                     // without a mesh, all ranks form one axis: tp, or data[0]
} strategies[] = {
    {gr_strategy_ddp, gr_fsdp_sharding_no_shard, {"dp"}, false, false, false, false, true},
    {gr_strategy_dp, -1, {"dp"}, false, false, false, false, true},
    {gr_strategy_none, -1, {"dp"}, false, false, false, false, true},
    {gr_strategy_zero1, -1, {"dp"}, true, false, false, false, true},
    {gr_strategy_zero2, gr_fsdp_sharding_shard_grad_op, {"dp"}, true, true, false, false, true},
    {gr_strategy_fsdp, gr_fsdp_sharding_full_shard, {"dp"}, true, true, true, false, true},
    {gr_strategy_hsdp,
     gr_fsdp_sharding_hybrid_shard,
     {"replicate", "shard"},
     true,
     true,
     true,
     false,
     false},
    {gr_strategy_tp, -1, {"dp"}, false, false, false, true, true},
    {gr_strategy_fsdp_tp, -1, {"dp"}, true, true, true, true, false},
};

typedef struct reader {
  gr_arena *arena;
  gr_conf *root, *mesh;     // mesh: distributed.mesh, or NULL if not given
  const char *key, *asked;  // the key that sets the strategy, and its value
  const struct strategy *s;
  gr_mesh_config *out;
} reader;

static bool is_asked(const gr_settings *set, const struct strategy *s) {
  if (set->strategy != gr_strategy_fsdp) return set->strategy == s->is;
  return s->as_fsdp == (int)set->fsdp_sharding;
}

static const char *split_axis(const struct strategy *s) { return s->data[s->data[1] ? 1 : 0]; }

static bool is_data_axis(const struct strategy *s, const char *name) {
  return !strcmp(name, s->data[0]) || (s->data[1] && !strcmp(name, s->data[1]));
}

static int find_axis(const gr_mesh *m, const char *name) {
  for (int a = 0; a < m->n_axes; a++)
    if (!strcmp(m->axis[a].name, name)) return a;
  return -1;
}

// "dp=2 x tp=2"
static const char *mesh_text(gr_arena *arena, const gr_mesh *m) {
  gr_text t = gr_text_make(arena);
  for (int a = 0; a < m->n_axes; a++)
    gr_text_printf(&t, "%s%s=%d", a ? " x " : "", m->axis[a].name, m->axis[a].size);
  return t.len ? t.chars : "empty";
}

// ---- The mesh ---------------------------------------------------------------------------------

static gr_status unknown_axis(gr_arena *arena, const char *name, gr_loc loc) {
  const char *names[N_AXES];
  gr_text list = gr_text_make(arena);
  for (int i = 0; i < N_AXES; i++) {
    names[i] = axes[i].name;
    gr_text_printf(&list, "%s%s (%s)", i ? ", " : "", axes[i].name, axes[i].doc);
  }
  gr_status s = gr_fail(GR_ERR_CONFIG, loc, "a mesh has no axis '%s'", name);
  const char *near = gr_text_nearest(name, names, N_AXES);
  if (near) return gr_hint(s, "did you mean '%s'? there are %s", near, list.chars);
  return gr_hint(s, "there are %s", list.chars);
}

static bool is_axis(const char *name) {
  for (int i = 0; i < N_AXES; i++)
    if (!strcmp(axes[i].name, name)) return true;
  return false;
}

static gr_status read_axis(reader *r, int i) {
  gr_mesh *m = &r->out->mesh;
  const gr_conf *c = r->mesh->items[i];
  const char *name = r->mesh->keys[i];
  if (!is_axis(name)) return unknown_axis(r->arena, name, c->key_loc);
  if (c->kind != GR_CONF_INT || c->integer < 1 || c->integer > GR_MAX_RANKS) {
    gr_text is = gr_text_make(r->arena);
    gr_conf_json(&is, c, 0);
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "mesh axis '%s' has the size %s", name, is.chars),
                   "a size is a number of ranks, at least 1");
  }
  if (!is_data_axis(r->s, name) && strcmp(name, "tp"))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, c->key_loc, "the strategy %s has no mesh axis '%s'", r->asked, name),
        "its axes are %s%s%s and tp", r->s->data[0], r->s->data[1] ? ", " : "",
        r->s->data[1] ? r->s->data[1] : "");
  m->axis[m->n_axes].name = name;
  m->axis[m->n_axes++].size = (int)c->integer;
  if ((int64_t)r->out->ranks * c->integer > GR_MAX_RANKS)
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "a mesh of more than %d ranks", GR_MAX_RANKS),
                   "the number of ranks is the product of the sizes");
  r->out->ranks *= (int)c->integer;
  return GR_OK;
}

static gr_status lacks(const reader *r, const char *axis) {
  const struct strategy *s = r->s;
  const gr_conf *at = gr_conf_find(r->root, r->key);
  gr_status st = gr_fail(GR_ERR_CONFIG, at->is_default && r->mesh ? r->mesh->loc : at->loc,
                         "%s %s needs a mesh axis '%s', and the mesh is %s", r->key, r->asked, axis,
                         r->mesh ? mesh_text(r->arena, &r->out->mesh) : "not given");
  if (!strcmp(axis, "dp") && !s->tp && find_axis(&r->out->mesh, "tp") >= 0)
    return gr_hint(st, "distributed.strategy=tp needs no axis dp; or give it one, of size 1");
  return gr_hint(
      st, "as in 'distributed.mesh={%s:2,%s:2}', with sizes whose product is the number of ranks",
      s->data[0], s->data[1] ? s->data[1] : "tp");
}

static gr_status check_axes(const reader *r) {
  const struct strategy *s = r->s;
  const gr_mesh *m = &r->out->mesh;
  if (s->tp && find_axis(m, "tp") < 0) return lacks(r, "tp");
  bool tp_alone = s->tp && !s->weights;
  for (int i = 0; i < 2 && !tp_alone; i++)
    if (s->data[i] && find_axis(m, s->data[i]) < 0) return lacks(r, s->data[i]);
  return GR_OK;
}

static gr_status given_mesh(reader *r, int ranks) {
  gr_mesh_config *p = r->out;
  gr_conf_mark(r->mesh);
  if (r->mesh->kind != GR_CONF_MAP || !r->mesh->n)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, r->mesh->loc, "distributed.mesh must map axes to sizes, found %s",
                r->mesh->kind == GR_CONF_MAP ? "empty" : gr_conf_a_kind(r->mesh->kind)),
        "as in 'distributed.mesh={dp:2,tp:2}', in quotes: shells expand braces");
  p->ranks = 1;
  gr_status all = GR_OK;
  for (int i = 0; i < r->mesh->n; i++) all = gr_also(all, read_axis(r, i));
  if (all) return all;
  GR_TRY(check_axes(r));
  if (!ranks || ranks == p->ranks) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_CONFIG, r->mesh->loc, "the mesh %s is of %d ranks, and there %s to be %d",
              mesh_text(r->arena, &p->mesh), p->ranks, ranks > 1 ? "are" : "is", ranks),
      "sizes whose product is %d, or the mesh's own number of ranks: "
      "distributed.ranks=auto",
      ranks);
}

// Without a mesh all ranks form one axis, if the strategy supports that.
static gr_status own_mesh(reader *r, int ranks) {
  gr_mesh_config *p = r->out;
  p->ranks = ranks;
  if (ranks == 1 || r->s->alone) {
    p->mesh.n_axes = 1;
    p->mesh.axis[0].name = r->s->alone && r->s->tp ? "tp" : r->s->data[0];
    p->mesh.axis[0].size = ranks;
    return GR_OK;
  }
  return lacks(r, r->s->data[1] ? r->s->data[1] : "tp");
}

// ---- Rules ------------------------------------------------------------------------------------

static gr_status read_rule(reader *r, const char *pattern, const char *axis, const gr_conf *c) {
  const char *text = c->kind == GR_CONF_TEXT ? c->text : "";
  bool split = text[0] == 'S' && text[1] >= '0' && text[1] < '0' + GR_MAX_RANK && !text[2];
  if (!is_axis(axis)) return unknown_axis(r->arena, axis, c->key_loc);
  if (!split && strcmp(text, "R"))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, c->loc, "this is not a layout on the mesh axis '%s'", axis),
        "R: replicated on every rank; S0, S1, ...: sharded along that axis of the weight");
  r->out->rules[r->out->n_rules++] =
      (gr_layout_rule){.pattern = pattern,
                       .axis = axis,
                       .placement = split ? (gr_axis_placement)(text[1] - '0') : GR_REPLICATE,
                       .given = true,
                       .loc = c->loc};
  return GR_OK;
}

static gr_status read_item(reader *r, gr_conf *item) {
  gr_conf *match = item->kind == GR_CONF_MAP ? gr_conf_member(item, "match") : NULL;
  if (!match || match->kind != GR_CONF_TEXT || item->n < 2)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, item->loc,
                "a rule of distributed.layout needs a pattern of weight names, 'match', and "
                "a layout for an axis of the mesh"),
        "{match: \"*.q.weight\", tp: S0}");
  for (int i = 0; i < item->n; i++)
    if (item->items[i] != match) GR_TRY(read_rule(r, match->text, item->keys[i], item->items[i]));
  return GR_OK;
}

static gr_status read_rules(reader *r) {
  gr_conf *list = gr_conf_find(r->root, "distributed.layout");
  int most = 1;
  if (list) gr_conf_mark(list);
  if (list && list->kind != GR_CONF_LIST)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, list->loc, "distributed.layout must be a list of rules, found %s",
                gr_conf_a_kind(list->kind)),
        "as in \"distributed.layout=[{match:'*.q.weight',tp:S0}]\"");
  for (int i = 0; list && i < list->n; i++) most += list->items[i]->n;
  r->out->rules = GR_NEW(r->arena, gr_layout_rule, most);
  gr_status all = GR_OK;
  for (int i = 0; list && i < list->n; i++) all = gr_also(all, read_item(r, list->items[i]));
  r->out->n_given = r->out->n_rules;
  if (r->s->weights)
    r->out->rules[r->out->n_rules++] =
        (gr_layout_rule){.pattern = "*", .axis = split_axis(r->s), .placement = GR_ANY_DIM};
  return all;
}

// ---- Entry point --------------------------------------------------------------------------------

static void share_batch(const struct strategy *s, gr_mesh_config *p) {
  int n = 0;
  p->data_ranks = p->ranks > 0;
  for (int a = 0; a < p->mesh.n_axes; a++) {
    if (!is_data_axis(s, p->mesh.axis[a].name)) continue;
    p->batch_axis[n++] = p->mesh.axis[a].name;
    p->data_ranks *= p->mesh.axis[a].size;
  }
}

gr_status gr_mesh_config_read(gr_arena *arena, gr_conf *root, const gr_settings *set, int ranks,
                              gr_mesh_config *out) {
  *out = (gr_mesh_config){0};
  bool fsdp = set->strategy == gr_strategy_fsdp;
  reader r = {.arena = arena,
              .root = root,
              .mesh = gr_conf_find(root, "distributed.mesh"),
              .key = fsdp ? "distributed.fsdp.sharding_strategy" : "distributed.strategy",
              .out = out};
  r.asked = gr_conf_find(root, r.key)->text;
  for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
    if (is_asked(set, &strategies[i])) r.s = &strategies[i];
  if (!r.s) return gr_fail(GR_ERR_BUG, gr_conf_find(root, r.key)->loc, "no strategy of that name");
  if (r.mesh && (r.mesh->kind == GR_CONF_NULL || !set->enabled))
    gr_conf_mark(r.mesh), r.mesh = NULL;
  if (!set->enabled) ranks = 1;
  GR_TRY(r.mesh ? given_mesh(&r, ranks) : own_mesh(&r, ranks));
  share_batch(r.s, out);
  out->split_axis = r.s->moments ? split_axis(r.s) : NULL;
  out->scatter = r.s->totals;
  return read_rules(&r);
}

gr_status gr_mesh_config_check(gr_arena *arena, const gr_mesh_config *p, const gr_plan *plan) {
  const char **names = GR_NEW(arena, const char *, plan->n_states + 1);
  int n = 0;
  for (uint32_t i = 0; i < plan->n_states; i++)
    if (plan->states[i].kind == GR_KIND_WEIGHT) names[n++] = plan->states[i].name;
  gr_status all = GR_OK;
  for (int i = 0; i < p->n_given; i++) {
    bool any = false;
    for (int k = 0; k < n; k++) any |= !fnmatch(p->rules[i].pattern, names[k], 0);
    if (any) continue;
    gr_status s = gr_fail(GR_ERR_CONFIG, p->rules[i].loc,
                          "distributed.layout: no weight is called '%s'", p->rules[i].pattern);
    const char *near = gr_text_nearest(p->rules[i].pattern, names, n);
    all = gr_also(all, near ? gr_hint(s, "did you mean '%s'?", near)
                            : gr_hint(s, "`graphrun plan` lists the weights if any is sharded"));
  }
  return all;
}
