// names.c - names of classes in a Parquet file's metadata; see parts.h.
#include <string.h>
#include "base/json.h"
#include "runtime/data/parquet/parts.h"

// The names of a feature that is a ClassLabel; *n of them, 0: it is none, or they are no texts.
static const char **names_of(gr_arena *a, const gr_json *feature, int *n) {
  const gr_json *type = gr_json_get(feature, "_type", GR_JSON_TEXT);
  const gr_json *list = gr_json_get(feature, "names", GR_JSON_ARRAY);
  *n = 0;
  if (!type || strcmp(type->text, "ClassLabel") != 0 || !list) return NULL;
  const char **names = GR_NEW(a, const char *, list->n + 1);
  for (const gr_json *v = list->first; v; v = v->next) {
    if (v->kind != GR_JSON_TEXT) return *n = 0, NULL;
    names[(*n)++] = v->text;
  }
  return names;
}

void gr_parquet_name_classes(gr_arena *a, gr_parquet *p, const gr_bytes *json) {
  const gr_json *all, *info, *features = NULL;
  gr_json_error why;
  if (!json->n) return;
  const char *text = gr_arena_strndup(a, (const char *)json->first, json->n);
  if (!gr_json_read(a, text, json->n, &all, &why) || all->kind != GR_JSON_OBJECT) return;
  info = gr_json_get(all, "info", GR_JSON_OBJECT);
  if (info) features = gr_json_get(info, "features", GR_JSON_OBJECT);
  for (int i = 0; features && i < p->n_columns; i++) {
    gr_parquet_column *c = &p->columns[i];
    const gr_json *feature = gr_json_get(features, c->name, GR_JSON_OBJECT);
    if (feature && c->element <= GR_ELEMENT_INT) c->names = names_of(a, feature, &c->n_names);
  }
}
