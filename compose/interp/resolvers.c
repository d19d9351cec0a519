// resolvers.c - the resolvers of OmegaConf 2.3 and Hydra 1.3 that interpolations may call. The set
// is fixed, so that a configuration cannot run code.
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "compose/interp/interp.h"

typedef struct call {
  gr_resolver *r;
  const char *name;
  gr_conf **args;
  int n;
  gr_conf *holder;
} call;

static gr_status wrong(const call *c, const char *what) {
  return gr_fail(GR_ERR_CONFIG, c->holder->loc, "in '%s': %s %s", c->holder->text, c->name, what);
}

static gr_conf *make_text(const call *c, const char *text) {
  return gr_conf_make_text(c->r->arena, text, c->holder->loc);
}

static gr_conf *context(const call *c) { return c->holder->up ? c->holder->up : c->holder; }

static gr_status run_env(const call *c, gr_conf **out) {
  if (!gr_conf_has_text(c->args[0])) return wrong(c, "takes the name of a variable");
  const char *value = getenv(c->args[0]->text);
  gr_text t = gr_text_make(c->r->arena);
  c->r->env = true;
  if (value) {
    c->r->secret = true;
    *out = make_text(c, gr_arena_strdup(c->r->arena, value));
  } else if (c->n < 2) {
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->holder->loc,
                           "the environment variable '%s' is not set", c->args[0]->text),
                   "set it, or give a default: ${oc.env:%s,DEFAULT}", c->args[0]->text);
  } else if (c->args[1]->kind == GR_CONF_NULL) {
    *out = c->args[1];
  } else {
    gr_conf_py_str(&t, c->args[1]);
    *out = make_text(c, t.chars);
  }
  return GR_OK;
}

static gr_status run_decode(const call *c, gr_conf **out) {
  gr_expr *e = NULL;
  *out = c->args[0];
  if (c->args[0]->kind == GR_CONF_NULL) return GR_OK;
  if (!gr_conf_has_text(c->args[0])) return wrong(c, "takes a string");
  GR_TRY(gr_expr_parse_element(c->r->arena, c->args[0]->text, c->holder->loc, &e));
  return gr_interp_eval(c->r, e, c->holder, out);
}

// The node at the path in the first argument; *out is NULL when there is none or it is ???.
static gr_status select_path(const call *c, gr_conf **out) {
  if (!gr_conf_has_text(c->args[0])) return wrong(c, "takes a path");
  return gr_interp_select(c->r, context(c), c->args[0]->text, c->holder, out);
}

static gr_status run_select(const call *c, gr_conf **out) {
  GR_TRY(select_path(c, out));
  if (*out && (*out)->kind != GR_CONF_MISSING) return GR_OK;
  *out = c->n > 1 ? c->args[1] : gr_conf_make(c->r->arena, GR_CONF_NULL, c->holder->loc);
  return GR_OK;
}

static gr_status run_create(const call *c, gr_conf **out) {
  static const char wanted[] = "takes a mapping, a list, or the YAML of one";
  gr_conf *source = c->args[0];
  gr_status s = GR_OK;
  *out = source;
  if (source->kind == GR_CONF_NULL) return GR_OK;
  if (gr_conf_has_text(source))
    s = gr_conf_from_text(c->r->arena, c->name, source->text, c->holder->loc, out);
  else if (source->kind >= GR_CONF_MAP)
    *out = gr_conf_copy(c->r->arena, source);
  gr_status_drop(s);
  if (s || (*out)->kind < GR_CONF_MAP) return wrong(c, wanted);
  (*out)->literal = false;
  return gr_conf_check_keys(*out);
}

static gr_status select_map(const call *c, gr_conf **out) {
  GR_TRY(select_path(c, out));
  if (!*out || (*out)->kind == GR_CONF_MISSING)
    return wrong(c, "refers to a key that does not exist");
  if ((*out)->kind != GR_CONF_MAP) return wrong(c, "takes the path of a mapping");
  return GR_OK;
}

static gr_status run_keys(const call *c, gr_conf **out) {
  gr_conf *map = NULL;
  GR_TRY(select_map(c, &map));
  *out = gr_conf_make(c->r->arena, GR_CONF_LIST, c->holder->loc);
  for (int i = 0; i < map->n; i++) {
    gr_conf *key = gr_conf_make(c->r->arena, GR_CONF_TEXT, c->holder->loc);
    gr_loc loc = key->loc;
    *key = gr_conf_key(map, i);
    key->loc = loc;
    gr_conf_append(c->r->arena, *out, key);
  }
  return GR_OK;
}

// The values are references to the original ones, so that relative interpolations in them keep
// their meaning.
static gr_status run_values(const call *c, gr_conf **out) {
  gr_conf *map = NULL;
  const char *path = c->args[0]->text;
  GR_TRY(select_map(c, &map));
  *out = gr_conf_make(c->r->arena, GR_CONF_LIST, c->holder->loc);
  for (int i = 0; i < map->n; i++) {
    gr_conf *value = gr_conf_make(c->r->arena, GR_CONF_INTERP, c->holder->loc);
    value->text =
        gr_arena_printf(c->r->arena, "${%s%s.%s}", *path == '.' ? "." : "", path, map->keys[i]);
    gr_conf_append(c->r->arena, *out, value);
  }
  return GR_OK;
}

static void put_template(gr_text *t, const char *s, const char *old, const char *now) {
  while (*s) {
    size_t plain = strcspn(s, "$");
    gr_text_putn(t, s, plain);
    s += plain;
    if (!strncmp(s, "$OLD_KEY", 8))
      gr_text_put(t, old), s += 8;
    else if (!strncmp(s, "$NEW_KEY", 8))
      gr_text_put(t, now), s += 8;
    else if (*s)
      gr_text_putn(t, s++, 1);
  }
}

static gr_status run_deprecated(const call *c, gr_conf **out) {
  static const char usual[] = "'$OLD_KEY' is deprecated: use '$NEW_KEY'";
  GR_TRY(select_path(c, out));
  if (!*out) return wrong(c, "refers to a key that does not exist");
  if (c->n > 1 && !gr_conf_has_text(c->args[1])) return wrong(c, "takes a string as its message");
  gr_text t = gr_text_make(c->r->arena);
  put_template(&t, c->n > 1 ? c->args[1]->text : usual, gr_conf_path(c->r->arena, c->holder),
               gr_conf_path(c->r->arena, *out));
  gr_log(GR_WARN, "%s", t.chars);
  return GR_OK;
}

// The time is read once per process, so that all names that contain it agree.
static gr_status run_now(const call *c, gr_conf **out) {
  static time_t now;
  char text[256];
  struct tm parts;
  if (!now) now = time(NULL);
  if (!gr_conf_has_text(c->args[0])) return wrong(c, "takes a format, as date(1) does");
  localtime_r(&now, &parts);
  size_t n = strftime(text, sizeof text, c->args[0]->text, &parts);
  *out = make_text(c, gr_arena_strndup(c->r->arena, text, n));
  return GR_OK;
}

// A key that is missing or ??? gives null, as in Hydra.
static gr_status run_hydra(const call *c, gr_conf **out) {
  if (!gr_conf_has_text(c->args[0])) return wrong(c, "takes a path");
  *out = NULL;
  gr_conf *hydra = c->r->hydra;
  const char *path = gr_arena_printf(c->r->arena, ".%s", c->args[0]->text);
  if (hydra) GR_TRY(gr_interp_select(c->r, hydra, path, c->holder, out));
  if (!*out || (*out)->kind == GR_CONF_MISSING)
    *out = gr_conf_make(c->r->arena, GR_CONF_NULL, c->holder->loc);
  return GR_OK;
}

static const struct {
  const char *name;
  int least, most;
  gr_status (*run)(const call *, gr_conf **);
} resolvers[] = {
    {"hydra", 1, 1, run_hydra},
    {"now", 1, 1, run_now},
    {"oc.create", 1, 1, run_create},
    {"oc.decode", 1, 1, run_decode},
    {"oc.deprecated", 1, 2, run_deprecated},
    {"oc.dict.keys", 1, 1, run_keys},
    {"oc.dict.values", 1, 1, run_values},
    {"oc.env", 1, 2, run_env},
    {"oc.select", 1, 2, run_select},
};
enum { N_RESOLVERS = sizeof resolvers / sizeof *resolvers };

gr_status gr_interp_call(gr_resolver *r, const char *name, gr_conf **args, int n, gr_conf *holder,
                         gr_conf **out) {
  call c = {r, name, args, n, holder};
  const char *names[N_RESOLVERS];
  for (int i = 0; i < N_RESOLVERS; i++) {
    names[i] = resolvers[i].name;
    if (strcmp(name, names[i])) continue;
    if (n < resolvers[i].least || n > resolvers[i].most)
      return wrong(&c, "has the wrong number of arguments");
    return resolvers[i].run(&c, out);
  }
  gr_status s =
      gr_fail(GR_ERR_CONFIG, holder->loc, "in '%s': there is no resolver '%s'", holder->text, name);
  const char *like = gr_text_nearest(name, names, N_RESOLVERS);
  for (int i = 0; i < N_RESOLVERS; i++)  // older OmegaConf had "env" for oc.env
    if (!strncmp(names[i], "oc.", 3) && !strcmp(names[i] + 3, name)) like = names[i];
  if (like) s = gr_hint(s, "did you mean '%s'?", like);
  return gr_hint(
      s,
      "the resolvers are hydra now oc.create oc.decode oc.deprecated oc.dict.keys oc.dict.values "
      "oc.env oc.select");
}
