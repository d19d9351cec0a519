// sharding.c - see parts.h.
#include <string.h>
#include "compiler/strategies.h"
#include "job/args.h"
#include "job/parts.h"

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

enum { gr_sharding_strategy_ = -1 };  // of a strategy that distributed.fsdp cannot ask for

static const struct strategy {
  gr_strategy strategy;
  int stage;            // what is sharded over the last of its data axes
  const char *data[2];  // axes that the batch is sharded over
  bool tp;              // it requires a tp axis
  int as_fsdp;          // its value in distributed.fsdp.sharding_strategy; -1: none
} strategies[] = {
#define ROW(name, stage, axis, split_axis, tp, as_fsdp) \
  {gr_strategy_##name, stage, {axis, split_axis}, tp, gr_sharding_strategy_##as_fsdp},
    GR_STRATEGIES(ROW, ROW)};
enum { SHARDS_MOMENTS = 1, SHARDS_ACCUMULATORS, SHARDS_WEIGHTS };  // stages

typedef struct reader {
  gr_arena *arena;
  gr_conf *root, *mesh;     // mesh: distributed.mesh, or NULL if not given
  const char *key, *asked;  // the key that sets the strategy, and its value
  const struct strategy *s;
  gr_layout_rule *rules;  // of out
  gr_sharding_settings *out;
} reader;

static bool is_asked(const gr_sharding_settings *set, const struct strategy *s) {
  if (set->strategy != gr_strategy_fsdp) return set->strategy == s->strategy;
  return s->as_fsdp == (int)set->sharding_strategy;
}

// Whether it shards over two axes, so that a mesh must be given: all ranks cannot form one axis.
static bool needs_mesh(const struct strategy *s) { return s->data[1] || (s->tp && s->stage); }

static const char *split_axis(const struct strategy *s) { return s->data[s->data[1] ? 1 : 0]; }

static bool is_data_axis(const struct strategy *s, const char *name) {
  return !strcmp(name, s->data[0]) || (s->data[1] && !strcmp(name, s->data[1]));
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
    gr_text found = gr_text_make(r->arena);
    gr_conf_json(&found, c, 0);
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, c->loc, "mesh axis '%s' has the size %s", name, found.chars),
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
  const gr_conf *key = gr_conf_find(r->root, r->key);
  gr_status st = gr_fail(GR_ERR_CONFIG, key->is_default && r->mesh ? r->mesh->loc : key->loc,
                         "%s %s needs a mesh axis '%s', and the mesh is %s", r->key, r->asked, axis,
                         r->mesh ? mesh_text(r->arena, &r->out->mesh) : "not given");
  if (!strcmp(axis, "dp") && !s->tp && gr_mesh_axis(&r->out->mesh, "tp") >= 0)
    return gr_hint(st, "distributed.strategy=tp needs no axis dp; or give it one, of size 1");
  return gr_hint(
      st, "as in 'distributed.mesh={%s:2,%s:2}', with sizes whose product is the number of ranks",
      s->data[0], s->data[1] ? s->data[1] : "tp");
}

static gr_status check_axes(const reader *r) {
  const struct strategy *s = r->s;
  const gr_mesh *m = &r->out->mesh;
  if (s->tp && gr_mesh_axis(m, "tp") < 0) return lacks(r, "tp");
  bool tp_alone = s->tp && !s->stage;
  for (int i = 0; i < 2 && !tp_alone; i++)
    if (s->data[i] && gr_mesh_axis(m, s->data[i]) < 0) return lacks(r, s->data[i]);
  return GR_OK;
}

static gr_status given_mesh(reader *r, int ranks) {
  gr_sharding_settings *p = r->out;
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
  gr_sharding_settings *p = r->out;
  p->ranks = ranks;
  if (ranks == 1 || !needs_mesh(r->s)) {
    p->mesh.n_axes = 1;
    p->mesh.axis[0].name = r->s->tp && !needs_mesh(r->s) ? "tp" : r->s->data[0];
    p->mesh.axis[0].size = ranks;
    return GR_OK;
  }
  return lacks(r, r->s->data[1] ? r->s->data[1] : "tp");
}

// ---- Rules ------------------------------------------------------------------------------------

static gr_status read_rule(reader *r, const char *pattern, const char *axis, const gr_conf *c) {
  const char *text = gr_conf_text_of(c, "");
  bool split = text[0] == 'S' && text[1] >= '0' && text[1] < '0' + GR_MAX_RANK && !text[2];
  if (!is_axis(axis)) return unknown_axis(r->arena, axis, c->key_loc);
  if (!split && strcmp(text, "R"))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, c->loc,
                "distributed.layout: %s%s%s is no layout on the mesh axis '%s'", *text ? "'" : "",
                *text ? text : gr_conf_a_kind(c->kind), *text ? "'" : "", axis),
        "R: replicated on every rank; S0, S1, ...: sharded along that axis of the weight");
  r->rules[r->out->n_rules++] =
      (gr_layout_rule){.pattern = pattern,
                       .axis = axis,
                       .placement = split ? (gr_axis_placement)(text[1] - '0') : GR_REPLICATE,
                       .given = true,
                       .loc = c->loc};
  return GR_OK;
}

static gr_status read_item(reader *r, gr_conf *item) {
  gr_conf *match = item->kind == GR_CONF_MAP ? gr_conf_member(item, "match") : NULL;
  const char *lacks = item->kind != GR_CONF_MAP ? "is no mapping"
                      : !match                  ? "has no 'match', the pattern of weights' names"
                      : match->kind != GR_CONF_TEXT ? "has a 'match' that is no pattern of names"
                                                    : "has no axis of the mesh with its layout";
  if (!match || match->kind != GR_CONF_TEXT || item->n < 2)
    return gr_hint(gr_fail(GR_ERR_CONFIG, item->loc, "a rule of distributed.layout %s", lacks),
                   "as in {match: \"*.q.weight\", tp: S0}");
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
  r->out->rules = r->rules = GR_NEW(r->arena, gr_layout_rule, most);
  gr_status all = GR_OK;
  for (int i = 0; list && i < list->n; i++) all = gr_also(all, read_item(r, list->items[i]));
  r->out->n_given = r->out->n_rules;
  if (r->s->stage >= SHARDS_WEIGHTS)
    r->rules[r->out->n_rules++] =
        (gr_layout_rule){.pattern = "*", .axis = split_axis(r->s), .placement = GR_ANY_DIM};
  return all;
}

// One string may contain several patterns, "A, B", as in Hugging Face configurations.
static void read_wrap(const reader *r) {
  gr_sharding_settings *p = r->out;
  gr_conf *key = gr_conf_find(r->root, "distributed.fsdp.wrap");
  if (!key || key->kind == GR_CONF_NULL) return;
  gr_conf_mark(key);
  gr_conf **items = key->kind == GR_CONF_LIST ? key->items : &key;
  int n = key->kind == GR_CONF_LIST ? key->n : 1;
  size_t most = 1;
  for (int i = 0; i < n; i++) most += strlen(items[i]->text);
  gr_wrap *wrap = GR_NEW(r->arena, gr_wrap, most);
  p->wrap = wrap;
  for (int i = 0; i < n; i++)
    for (const char *c = items[i]->text; *(c += strspn(c, ", "));) {
      size_t len = strcspn(c, ", ");
      wrap[p->n_wrap++] = (gr_wrap){gr_arena_strndup(r->arena, c, len), items[i]->loc};
      c += len;
    }
}

static gr_prefetch prefetch_of(gr_backward_prefetch key) {
  if (key == gr_backward_prefetch_auto || key == gr_backward_prefetch_backward_pre)
    return GR_PREFETCH_PRE;
  return key == gr_backward_prefetch_backward_post ? GR_PREFETCH_POST : GR_PREFETCH_NONE;
}

// ---- Entry point --------------------------------------------------------------------------------

static void share_batch(const struct strategy *s, gr_sharding_settings *p) {
  int n = 0;
  p->data_ranks = p->ranks > 0;
  for (int a = 0; a < p->mesh.n_axes; a++) {
    if (!is_data_axis(s, p->mesh.axis[a].name)) continue;
    p->batch_axis[n++] = p->mesh.axis[a].name;
    p->data_ranks *= p->mesh.axis[a].size;
  }
}

// Virtual shards as the last axis of the mesh, so that each rank has neighbours, whose sum is a
// part of the tree; as the first where the ranks' terms are summed first, in each micro-step.
static gr_status add_virtual_axis(reader *r) {
  gr_sharding_settings *p = r->out;
  int64_t n = p->virtual_shards;
  gr_loc loc = gr_conf_find(r->root, "training.virtual_shards")->loc;
  if (p->numerics != gr_numerics_canonical || !p->data_ranks) return GR_OK;
  if (n & (n - 1))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, loc, "%lld virtual shards are no binary tree", (long long)n),
        "training.virtual_shards is a power of two, such as 8 or 16");
  if (n % p->data_ranks)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, gr_conf_find(r->root, "training.numerics")->loc,
                "training.numerics=canonical cannot share %lld virtual shards between %d ranks",
                (long long)n, p->data_ranks),
        "distributed.ranks a power of two, at most training.virtual_shards");
  p->shards_each = (int)(n / p->data_ranks);
  int place = p->scatter ? 0 : p->mesh.n_axes, last = p->mesh.n_axes++;
  for (int a = last; a > place; a--) p->mesh.axis[a] = p->mesh.axis[a - 1];
  p->mesh.axis[place].name = GR_VIRTUAL_AXIS, p->mesh.axis[place].size = p->shards_each;
  p->batch_axis[last] = GR_VIRTUAL_AXIS;
  return GR_OK;
}

gr_status gr_sharding_read(gr_arena *arena, gr_conf *root, bool enabled, int ranks,
                           gr_sharding_settings *out) {
  bool fsdp = out->strategy == gr_strategy_fsdp;
  reader r = {.arena = arena,
              .root = root,
              .mesh = gr_conf_find(root, "distributed.mesh"),
              .key = fsdp ? "distributed.fsdp.sharding_strategy" : "distributed.strategy",
              .out = out};
  r.asked = gr_conf_find(root, r.key)->text;
  for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
    if (is_asked(out, &strategies[i])) r.s = &strategies[i];
  if (!r.s) return gr_fail(GR_ERR_BUG, gr_conf_find(root, r.key)->loc, "no strategy of that name");
  if (r.mesh && (r.mesh->kind == GR_CONF_NULL || !enabled)) gr_conf_mark(r.mesh), r.mesh = NULL;
  if (!enabled) ranks = 1;
  GR_TRY(r.mesh ? given_mesh(&r, ranks) : own_mesh(&r, ranks));
  share_batch(r.s, out);
  out->zero_axis = r.s->stage >= SHARDS_MOMENTS ? split_axis(r.s) : NULL;
  out->scatter = r.s->stage >= SHARDS_ACCUMULATORS;
  out->prefetch = prefetch_of(out->backward_prefetch);
  GR_TRY(add_virtual_axis(&r));
  read_wrap(&r);
  return read_rules(&r);
}
