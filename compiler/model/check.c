// check.c - checks of a file or a block: expressions that must be true, each with an error message.
// See parts.h.
#include <ctype.h>
#include "compiler/model/parts.h"

// "heads is 3, c is 40": the values of the names in an expression.
static const char *values_in(gr_build_context *a, const char *text) {
  gr_text t = gr_text_make(a->arena);
  gr_map seen = gr_map_make(a->arena);
  for (const char *p = text; *p;) {
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '$') n++;
    const char *word = gr_arena_strndup(a->arena, p, n);
    const gr_arg *x = n ? gr_model_get(a, word) : NULL;
    if (x && !gr_map_find(&seen, word, NULL)) {
      gr_text_printf(&t, "%s%s is %s", t.len ? ", " : "", word, gr_arg_text(a->arena, x));
      gr_map_put(&seen, word, 0);
    }
    p += n ? n : 1;
  }
  return t.chars;
}

// Errors in built-in blocks are reported where the block is used.
gr_status gr_model_checks(gr_build_context *a, const gr_conf *map) {
  if (!map) return GR_OK;
  GR_TRY(gr_model_expect(map, GR_CONF_MAP, "checks:"));
  for (int i = 0; i < map->n; i++) {
    const gr_conf *c = map->items[i];
    gr_arg x;
    GR_TRY(gr_model_expr(a, map->keys[i], c->key_loc, &x));
    if (x.kind != GR_ARG_TEXT && gr_arg_number(&x) != 0) continue;
    const char *values = values_in(a, map->keys[i]);
    return gr_fail(GR_ERR_CONFIG, gr_model_is_builtin(a) ? gr_model_builder(a)->loc : c->key_loc,
                   "%s (%s is not true%s%s)", c->kind == GR_CONF_TEXT ? c->text : "a check failed",
                   map->keys[i], *values ? ": " : "", values);
  }
  return GR_OK;
}
