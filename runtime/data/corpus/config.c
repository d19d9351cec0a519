// config.c - reads the keys of the source `corpus` in the section data.corpus; see corpus.h.
#include "runtime/data/corpus/corpus.h"

static void read_paths(gr_arena *a, gr_conf *own, const char *key, const char *const **out,
                       int *n) {
  gr_conf *c = gr_conf_find(own, key);
  *out = NULL, *n = 0;
  if (!c || (c->kind != GR_CONF_LIST && c->kind != GR_CONF_TEXT)) return;
  bool list = c->kind == GR_CONF_LIST;
  const char **at = GR_NEW(a, const char *, (list ? c->n : 1) + 1);
  if (!list) at[(*n)++] = c->text;
  for (int i = 0; list && i < c->n; i++) {
    c->items[i]->read = true;
    at[(*n)++] = c->items[i]->text;  // the schema admits only paths
  }
  *out = at;
}

gr_status gr_corpus_read_spec(gr_arena *a, gr_conf *own, gr_corpus_spec *s) {
  int64_t context;
  *s = (gr_corpus_spec){0};
  read_paths(a, own, "path", &s->paths, &s->n_paths);
  read_paths(a, own, "eval_path", &s->eval, &s->n_eval);
  GR_TRY(gr_conf_text(own, "vocab", "bytes", &s->vocab));
  GR_TRY(gr_conf_int(own, "context", 0, &context));
  GR_TRY(gr_conf_bool(own, "shift", true, &s->shift));
  s->context = (int32_t)context;
  return GR_OK;
}
