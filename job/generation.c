// generation.c - how text is generated: `generation:` of a configuration, and --tokens, are
// parameters of the model's file of the same names, so that a model says itself what it can do.
#include "base/text.h"
#include "job/parts.h"

// A list of integers, as a parameter has it: "[1, 2]".
static gr_conf *as_text(gr_arena *arena, const gr_conf *list) {
  gr_text t = gr_text_make(arena);
  for (int i = 0; i < list->n; i++)
    gr_text_printf(&t, "%s%lld", i ? ", " : "[", (long long)list->items[i]->integer);
  gr_text_put(&t, list->n ? "]" : "none");
  gr_conf *out = gr_conf_make(arena, GR_CONF_TEXT, list->loc);
  out->text = t.chars;
  return out;
}

static gr_status refuse(const gr_conf *declared, const char *name, const char *given, gr_loc loc) {
  gr_status s =
      gr_fail(GR_ERR_CONFIG, loc, "%s is given, but the model has no parameter '%s'", given, name);
  const char *near = declared ? gr_text_nearest(name, declared->keys, declared->n) : NULL;
  if (near) s = gr_hint(s, "its parameters are, for example, '%s'", near);
  return gr_hint(s, "graphs/gpt.yaml is a model that generates (docs/graph-language.md)");
}

static gr_status bind(gr_arena *arena, const gr_conf *declared, const char *name, gr_conf *value,
                      gr_conf *params) {
  const char *path = gr_arena_printf(arena, "generation.%s", name);
  gr_conf_mark(value);
  if (value->kind == GR_CONF_NULL) return GR_OK;
  if (!declared || gr_conf_index(declared, name) < 0)
    return refuse(declared, name, path, value->loc);
  gr_conf_put(arena, params, name,
              value->kind == GR_CONF_LIST ? as_text(arena, value) : gr_conf_copy(arena, value));
  return GR_OK;
}

gr_status gr_generation_bind(gr_arena *arena, gr_conf *conf, gr_conf *graph, int64_t tokens,
                             gr_conf *params) {
  gr_conf *given = gr_conf_find(conf, "generation");
  const gr_conf *declared = graph->kind == GR_CONF_MAP ? gr_conf_member(graph, "params") : NULL;
  gr_status all = GR_OK;
  if (declared && declared->kind != GR_CONF_MAP) declared = NULL;
  for (int i = 0; given && given->kind == GR_CONF_MAP && i < given->n; i++)
    all = gr_also(all, bind(arena, declared, given->keys[i], given->items[i], params));
  if (!tokens || !declared || gr_conf_index(declared, "max_tokens") < 0) return all;
  gr_conf_put(arena, params, "max_tokens", gr_conf_make_int(arena, tokens, conf->loc));
  return all;
}
