// other_config.c - config.json of another program for a run's model. See name_map.h.
#include <string.h>
#include "base/json.h"
#include "compiler/model/model.h"
#include "compose/compose.h"
#include "compose/interp/interp.h"
#include "compose/schema/schema.h"
#include "job/kept.h"
#include "job/name_map.h"

enum { MAX_RECORD = 64 << 20 };  // bytes of data.json

typedef struct source {
  gr_arena *arena;
  gr_loc loc;  // of the file of names
} source;

// ---- What values may refer to -------------------------------------------------------------------

// The numbers of the run's data, as its data.json has them.
static gr_status read_data(const source *s, const gr_kept_run *kept, gr_conf **out) {
  const char *path = gr_arena_printf(s->arena, "%s/data.json", kept->dir);
  const gr_json *root, *all;
  gr_json_error why;
  char *text;
  size_t len;
  *out = gr_conf_make(s->arena, GR_CONF_MAP, s->loc);
  if (!gr_is_file(path)) return GR_OK;
  GR_TRY(gr_file_read(s->arena, path, MAX_RECORD, &text, &len));
  bool ok = gr_json_read(s->arena, text, len, &root, &why) && root->kind == GR_JSON_OBJECT;
  if (!ok) return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s' is damaged: no JSON object", path);
  all = gr_json_get(root, "metadata", GR_JSON_OBJECT);
  for (const gr_json *v = all ? all->first : NULL; v; v = v->next)
    if (v->kind == GR_JSON_INT)
      gr_conf_put(s->arena, *out, v->name, gr_conf_make_int(s->arena, v->i, s->loc));
  return GR_OK;
}

// The values of all parameters: the configuration's, the data's, and the defaults of the model.
static gr_status read_params(const source *s, const gr_kept_run *kept, gr_conf *data,
                             gr_conf **out) {
  gr_composed composed;
  gr_conf *conf = NULL, *graph = NULL;
  const gr_compose_request ask = {.path = kept->config, .known = gr_schema_takes};
  GR_TRY(gr_compose_checked(s->arena, &ask, &composed, &conf));
  gr_conf *given = gr_conf_find(conf, "model.params");
  given = given && given->kind == GR_CONF_MAP ? gr_conf_copy(s->arena, given)
                                              : gr_conf_make(s->arena, GR_CONF_MAP, s->loc);
  if (!kept->model)
    return gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "'%s' has no model.yaml, the run's model", kept->dir);
  GR_TRY(gr_conf_read(s->arena, kept->model, &graph));
  gr_conf *declared = graph->kind == GR_CONF_MAP ? gr_conf_member(graph, "params") : NULL;
  for (int i = 0; declared && i < data->n; i++)
    if (gr_conf_index(declared, data->keys[i]) >= 0 && gr_conf_index(given, data->keys[i]) < 0)
      gr_conf_put(s->arena, given, data->keys[i], gr_conf_copy(s->arena, data->items[i]));
  return gr_model_params(s->arena, graph, given, out);
}

// The shape of a tensor, at its name, whose parts are keys. A tensor is no mapping of others.
static void put_shape(const source *s, gr_conf *all, const gr_tensor_slice *t) {
  const char *part = t->name;
  for (size_t n; part[n = strcspn(part, ".")]; part += n + 1) {
    const char *key = gr_arena_strndup(s->arena, part, n);
    gr_conf *in = gr_conf_member(all, key);
    if (in && in->kind != GR_CONF_MAP) return;
    if (!in) gr_conf_put(s->arena, all, key, gr_conf_make(s->arena, GR_CONF_MAP, s->loc));
    all = gr_conf_member(all, key);
  }
  gr_conf *shape = gr_conf_make(s->arena, GR_CONF_LIST, s->loc);
  for (int d = 0; d < t->rank; d++)
    gr_conf_append(s->arena, shape, gr_conf_make_int(s->arena, t->dims[d], s->loc));
  gr_conf_put(s->arena, all, part, shape);
}

// ---- The file -----------------------------------------------------------------------------------

gr_status gr_name_map_config(gr_arena *a, const gr_name_map *map, const char *run,
                             const gr_checkpoint *c, gr_text *out) {
  const source s = {a, map->config->loc};
  gr_conf *root = gr_conf_make(a, GR_CONF_MAP, s.loc), *model = gr_conf_make(a, GR_CONF_MAP, s.loc);
  gr_conf *weights = gr_conf_make(a, GR_CONF_MAP, s.loc), *data, *params = NULL;
  gr_kept_run kept;
  int n;
  GR_TRY(gr_note(gr_kept_find(a, run, &kept), s.loc, "config.json is made of a run's folder"));
  GR_TRY(read_data(&s, &kept, &data));
  GR_TRY(read_params(&s, &kept, data, &params));
  const gr_tensor_slice *tensors = gr_checkpoint_tensors(c, &n);
  for (int i = 0; i < n; i++) put_shape(&s, weights, &tensors[i]);
  gr_conf_put(a, model, "params", params);
  gr_conf_put(a, root, "model", model);
  gr_conf_put(a, root, "data", data);
  gr_conf_put(a, root, "weights", weights);
  gr_conf_put(a, root, "config", map->config);
  GR_TRY(gr_conf_resolve(a, root, true));
  *out = gr_text_make(a);
  gr_conf_json(out, map->config, 2);
  return GR_OK;
}
