// init.c - initial values of parameters. Limits and deviations are those of torch.nn.init
// (Glorot and Bengio 2010; He et al. 2015; LeCun et al. 1998), of a shape [out, in, ...]:
// fan_in = in x rest, fan_out = out x rest. Every number is drawn from the stream "init:PATH", so
// that no parameter depends on the others.
#include <math.h>
#include <string.h>
#include "base/hash.h"
#include "compiler/model/emit.h"

static const char *const arg_names[GR_INIT_ARGS] = {
    [GR_INIT_GAIN] = "gain", [GR_INIT_A] = "a",         [GR_INIT_STD] = "std",
    [GR_INIT_MEAN] = "mean", [GR_INIT_VALUE] = "value", [GR_INIT_LOW] = "low",
    [GR_INIT_HIGH] = "high", [GR_INIT_THETA] = "theta"};

enum { FAN_NONE, FAN_IN, FAN_BOTH };
#define BIT(arg) (1u << GR_INIT_##arg)
struct gr_init_rule {
  const char *name, *op;
  unsigned takes, needs;  // BITs
  int fan;
  double spread;  // with a fan, the limit or deviation is gain x sqrt(spread / fan)
  int out;        // index of the op's result
};
#define TRUNC_NORMAL "trunc_normal"
static const gr_init_rule rules[] = {
    {"zeros", "fill", 0, 0},
    {"ones", "fill", 0, 0},
    {"constant", "fill", BIT(VALUE), BIT(VALUE)},
    {"uniform", "init_uniform", BIT(LOW) | BIT(HIGH), 0},
    {"normal", "init_normal", BIT(MEAN) | BIT(STD) | BIT(GAIN), 0},
    {TRUNC_NORMAL, "init_trunc_normal", BIT(MEAN) | BIT(STD) | BIT(GAIN), 0},
    {"kaiming_uniform", "init_uniform", BIT(GAIN) | BIT(A), 0, FAN_IN, 3},
    {"kaiming_normal", "init_normal", BIT(GAIN) | BIT(A), 0, FAN_IN, 1},
    {"xavier_uniform", "init_uniform", BIT(GAIN), 0, FAN_BOTH, 6},
    {"xavier_normal", "init_normal", BIT(GAIN), 0, FAN_BOTH, 2},
    {"lecun_uniform", "init_uniform", BIT(GAIN), 0, FAN_IN, 3},
    {"lecun_normal", "init_normal", BIT(GAIN), 0, FAN_IN, 1},
    {"sinusoids", "init_sinusoids", 0, 0},
    {"data", "fill", 0, 0},  // a run replaces it
    {"lmu_a", "lmu_memory", BIT(THETA), BIT(THETA)},
    {"lmu_b", "lmu_memory", BIT(THETA), BIT(THETA), .out = 1},
};
enum { N_RULES = sizeof rules / sizeof *rules };

static gr_status find_rule(const char *name, gr_loc loc, const gr_init_rule **out) {
  const char *names[N_RULES];
  for (int i = 0; i < N_RULES; i++) {
    names[i] = rules[i].name;
    if (!strcmp(name, rules[i].name)) *out = &rules[i];
  }
  if (*out) return GR_OK;
  gr_status s = gr_fail(GR_ERR_CONFIG, loc, "there is no init '%s'", name);
  return gr_hint(gr_model_suggest(s, name, names, N_RULES),
                 "kaiming, xavier and lecun end in _uniform or _normal; or uniform, normal, "
                 "trunc_normal, sinusoids, zeros, ones, constant");
}

bool gr_model_init_key(const char *key) {
  for (int i = 0; i < GR_INIT_ARGS; i++)
    if (!strcmp(key, arg_names[i])) return true;
  return false;
}

static gr_status read_args(gr_build_context *a, gr_conf *use, const gr_init_rule *r,
                           gr_model_param *p) {
  for (int i = 0; i < GR_INIT_ARGS; i++) {
    gr_conf *c = gr_conf_member(use, arg_names[i]);
    if (!c && r->needs >> i & 1)
      return gr_fail(GR_ERR_CONFIG, use->items[0]->key_loc, "init '%s' needs '%s:'", r->name,
                     arg_names[i]);
    if (!c) continue;
    if (!(r->takes >> i & 1))
      return gr_fail(GR_ERR_CONFIG, c->key_loc, "init '%s' has no '%s'", r->name, arg_names[i]);
    GR_TRY(gr_model_number(a, c, &p->arg[i]));
  }
  return GR_OK;
}

// A buffer of the data is a table: the same on all ranks, and the run sets it.
static gr_status make_table(const gr_conf *use, gr_loc loc, gr_model_param *p) {
  if (strcmp(p->init->name, "data")) return GR_OK;
  if (p->kind != GR_KIND_BUFFER)
    return gr_hint(gr_fail(GR_ERR_CONFIG, loc, "init 'data' is for buffers"),
                   "buffers: {NAME: {shape: [...], init: data}}, NAME being a table of the data");
  const gr_conf *layout = gr_conf_member((gr_conf *)use, "layout");
  if (layout)
    return gr_fail(GR_ERR_CONFIG, layout->key_loc, "a table of the data is whole on every rank");
  p->kind = GR_KIND_TABLE;
  return GR_OK;
}

static gr_status check_shape(const gr_conf *use, const gr_model_param *p) {
  const gr_type *t = &p->type;
  gr_loc loc = use->items[0]->loc;
  if (p->init->fan != FAN_NONE && t->rank < 2)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, loc, "init '%s' needs a shape [out, in, ...]", p->init->name),
        "vectors start from zeros, ones, constant, uniform or normal");
  if (!strcmp(p->init->name, "lmu_a") && (t->rank != 2 || t->dim[0] != t->dim[1]))
    return gr_fail(GR_ERR_CONFIG, loc, "init 'lmu_a' makes a matrix [order, order]");
  if (!strcmp(p->init->name, "lmu_b") && t->rank != 1)
    return gr_fail(GR_ERR_CONFIG, loc, "init 'lmu_b' makes a vector [order]");
  return GR_OK;
}

static gr_status read_values(gr_build_context *a, gr_conf *list, gr_model_param *p) {
  int64_t n = gr_type_count(&p->type);
  if (list->n != n || !n)
    return gr_hint(gr_fail(GR_ERR_CONFIG, list->loc, "init has %d values, but the shape has %lld",
                           (int)list->n, (long long)n),
                   "it is a flat list, row by row; a single number fills any shape");
  double *values = GR_NEW(a->arena, double, (size_t)n);
  for (int64_t i = 0; i < n; i++) GR_TRY(gr_model_number(a, list->items[i], &values[i]));
  p->values = values;
  return GR_OK;
}

// {weight: NAME}: a copy. What has that name is known when all programs are built.
static gr_status read_copy(gr_build_context *a, gr_conf *use, gr_conf *map, gr_model_param *p) {
  static const gr_init_rule copy = {"{weight: NAME}", "fill", 0, 0};
  static const char *const key[] = {"weight"};
  GR_TRY(gr_model_keys(map, "init", key, 1));
  gr_conf *name = gr_conf_member(map, key[0]);
  if (!name)
    return gr_fail(GR_ERR_CONFIG, map->loc, "init names no weight: {weight: NAME} starts as it");
  GR_TRY(gr_model_expect(name, GR_CONF_TEXT, "the name of a weight"));
  p->copies[0] = gr_model_join(a, a->path, name->text);
  p->copies[1] = gr_model_join(a, a->prefix, name->text);
  p->copies_loc = name->loc, p->init = &copy;
  return read_args(a, use, &copy, p);
}

gr_status gr_model_init_rule(gr_build_context *a, gr_conf *use, gr_model_param *p) {
  gr_conf *c = gr_conf_member(use, "init");
  if (c && c->kind == GR_CONF_MAP) return read_copy(a, use, c, p);
  if (c && c->kind == GR_CONF_LIST) {
    GR_TRY(find_rule("constant", c->loc, &p->init));
    return read_values(a, c, p);
  }
  gr_arg x = {.kind = GR_ARG_TEXT, .text = "zeros"};
  p->arg[GR_INIT_GAIN] = 1, p->arg[GR_INIT_STD] = 1, p->arg[GR_INIT_HIGH] = 1;
  if (c) GR_TRY(gr_model_arg(a, c, true, &x));
  if (x.kind != GR_ARG_TEXT) {  // a number means init: constant
    p->arg[GR_INIT_VALUE] = gr_arg_number(&x);
    return find_rule("constant", c->loc, &p->init);
  }
  GR_TRY(find_rule(x.text, c ? c->loc : use->loc, &p->init));
  bool leaky = p->init->takes & BIT(A);
  if (leaky) p->arg[GR_INIT_GAIN] = 0;  // not given: computed from a
  GR_TRY(read_args(a, use, p->init, p));
  if (leaky && p->arg[GR_INIT_GAIN] == 0)
    p->arg[GR_INIT_GAIN] = sqrt(2 / (1 + p->arg[GR_INIT_A] * p->arg[GR_INIT_A]));
  if (!strcmp(x.text, "ones")) p->arg[GR_INIT_VALUE] = 1;
  GR_TRY(make_table(use, c ? c->loc : use->loc, p));
  return check_shape(use, p);
}

// ---- Initial value ------------------------------------------------------------

static gr_ints shape_of(const gr_type *t) {
  gr_ints shape = {.n = t->rank};
  memcpy(shape.items, t->dim, sizeof *shape.items * (size_t)t->rank);
  return shape;
}

// The deviation of a normal distribution that is cut at two deviations:
// sqrt(1 - 4 phi(2) / (2 Phi(2) - 1)).
static const double TRUNCATED = 0.87962566103423978;

static double deviation(const gr_model_param *p) {  // or the limit
  double rest = 1;
  for (int i = 2; i < p->type.rank; i++) rest *= (double)p->type.dim[i];
  double in = (double)p->type.dim[1] * rest, out = (double)p->type.dim[0] * rest;
  return p->arg[GR_INIT_GAIN] * sqrt(p->init->spread / (p->init->fan == FAN_IN ? in : in + out));
}

static gr_val draw(const gr_build_context *a, gr_builder *b, const gr_model_param *p) {
  const gr_init_rule *r = p->init;
  gr_arena *arena = a->arena;
  bool uniform = !strcmp(r->op, "init_uniform"), fan = r->fan != FAN_NONE;
  double x = uniform ? p->arg[GR_INIT_LOW] : p->arg[GR_INIT_MEAN];
  double y = uniform ? p->arg[GR_INIT_HIGH] : p->arg[GR_INIT_STD] * p->arg[GR_INIT_GAIN];
  if (fan) y = deviation(p), x = uniform ? -y : 0;
  if (!strcmp(r->name, TRUNC_NORMAL)) y /= TRUNCATED;
  const char *stream = gr_arena_printf(arena, "init:%s", p->path);
  gr_ints shape = shape_of(&p->type);
  int64_t seed = (int64_t)a->request->seed;
  return gr_model_make(
      b, r->op, 0, NULL,
      (gr_setting[]){
          {"shape", .value = &shape},
          {uniform ? "low" : "mean", .value = &x},
          {uniform ? "high" : "std", .value = &y},
          {"seed", .value = &seed},
          {"stream", gr_arena_printf(arena, "%llu", (unsigned long long)gr_hash_text(stream))},
          {0}});
}

static gr_val fill(gr_builder *b, gr_ints shape, double value, gr_dtype dtype) {
  return gr_model_make(b, "fill", 0, NULL,
                       (gr_setting[]){{"shape", .value = &shape},
                                      {"value", .value = &value},
                                      {"dtype", gr_dtypes[dtype].name},
                                      {0}});
}

static gr_val join_values(gr_builder *b, const gr_model_param *p) {
  int n = (int)gr_type_count(&p->type);
  const gr_ints one = {.n = 1, .items = {1}};
  gr_val *each = GR_NEW(b->g->arena, gr_val, (size_t)n);
  for (int i = 0; i < n; i++) each[i] = fill(b, one, p->values[i], p->type.dtype);
  return gr_reshape(b, gr_concat(b, n, each, 0), shape_of(&p->type));
}

static gr_val initial_value(const gr_build_context *a, gr_builder *b, const gr_model_param *p) {
  gr_val v;
  gr_ints shape = shape_of(&p->type);
  if (p->values)
    v = join_values(b, p);
  else if (!strcmp(p->init->op, "fill"))
    v = fill(b, shape, p->arg[GR_INIT_VALUE], p->type.dtype);
  else if (!strcmp(p->init->op, "init_sinusoids"))
    v = gr_model_make(b, p->init->op, 0, NULL, (gr_setting[]){{"shape", .value = &shape}, {0}});
  else if (!strcmp(p->init->op, "lmu_memory"))
    v = gr_model_make(
        b, p->init->op, 0, NULL,
        (gr_setting[]){
            {"order", .value = &p->type.dim[0]}, {"theta", .value = &p->arg[GR_INIT_THETA]}, {0}});
  else
    v = draw(a, b, p);
  return (gr_val){v.id + (uint32_t)p->init->out};
}

void gr_model_init(const gr_build_context *a, gr_builder *b, const gr_model_param *p,
                   const gr_model_param *source) {
  b->loc = p->loc, b->scope = p->path;
  gr_val v = initial_value(a, b, source);
  gr_val leaf = gr_leaf(b, GR_STATE, p->kind, p->path, p->type, p->layout);
  if (b->err) return;
  gr_at(b->g, leaf)->next = v;
  if (source != p) gr_at(b->g, leaf)->copies = source->path;
}

// ---- Copies -------------------------------------------------------------------

static const gr_model_param *find_in(const gr_build_context *a, const char *path) {
  uint32_t i;
  return gr_map_find(&a->by_path, path, &i) ? &a->params[i] : NULL;
}

// Of a teacher's parameter among the teacher's, which the student's do not start as.
static const gr_model_param *find_param(const gr_build_context *const *built, int n, bool taught,
                                        const char *path) {
  const gr_model_param *found = NULL;
  for (int k = 0; k < n && !found; k++)
    found = find_in(taught && built[k]->teacher ? built[k]->teacher : built[k], path);
  return found;
}

static gr_status check_source(const gr_model_param *p, const gr_model_param *source) {
  char want[96], have[96];
  bool table = source->kind == GR_KIND_TABLE;
  if (table || source->copies[0])
    return gr_hint(gr_fail(GR_ERR_CONFIG, p->copies_loc, "'%s' is no weight, but %s", source->path,
                           table ? "a table of the data" : "starts as another"),
                   "name the weight itself");
  if (gr_type_same(&source->type, &p->type)) return GR_OK;
  return gr_note(
      gr_fail(GR_ERR_TYPE, p->copies_loc, "'%s' is %s, but '%s', which it starts as, is %s",
              p->path, gr_type_text(&p->type, want), source->path,
              gr_type_text(&source->type, have)),
      source->loc, "made here");
}

gr_status gr_model_init_source(const gr_build_context *const *built, int n, const gr_model_param *p,
                               const gr_model_param **out) {
  *out = p;
  if (!p->copies[0]) return GR_OK;
  size_t prefix = strlen(gr_model_teacher_prefix);
  bool taught = !strncmp(p->path, gr_model_teacher_prefix, prefix) && p->path[prefix] == '.';
  const gr_model_param *source = find_param(built, n, taught, p->copies[0]);
  source = source ? source : find_param(built, n, taught, p->copies[1]);
  if (source) return *out = source, check_source(p, source);
  gr_status s = gr_fail(GR_ERR_CONFIG, p->copies_loc, "there is no weight '%s'", p->copies[1]);
  s = gr_model_suggest(s, p->copies[1], built[0]->by_path.keys, (int)built[0]->by_path.n);
  return gr_hint(s, "a weight's name is its path, such as encoder.0.weight");
}
