// blocks.c - prints the built-in blocks (graphs/blocks.yaml), as ops/explain.c prints ops.
#include "compiler/model/blocks.h"
#include <string.h>
#include "compiler/model/parts.h"

static gr_conf *read_blocks(gr_arena *a) {
  gr_conf *blocks = NULL;
  gr_status s = gr_conf_parse(a, "graphs/blocks.yaml", gr_model_blocks_yaml, &blocks);
  if (s) gr_status_drop(s);  // the tests build models with these blocks
  return !s && blocks && blocks->kind == GR_CONF_MAP ? blocks : NULL;
}

static const char *text_of(gr_arena *a, gr_conf *block, const char *key) {
  const gr_conf *c = gr_conf_member(block, key);
  if (!c) return NULL;
  if (c->kind == GR_CONF_TEXT) return c->text;
  gr_text t = gr_text_make(a);
  gr_conf_json(&t, c, 0);
  return t.chars;
}

// Prints a shape as it is written: "[n, t, c]".
static void put_shape(gr_text *t, const gr_conf *shape) {
  for (int i = 0; i < shape->n; i++) {
    gr_text_put(t, i ? ", " : " [");
    if (shape->items[i]->kind == GR_CONF_TEXT)
      gr_text_put(t, shape->items[i]->text);
    else
      gr_conf_json(t, shape->items[i], 0);
  }
  if (shape->n) gr_text_put(t, "]");
}

// Prints the operands: `in: x`, `in: [x, lengths?]` or `in: {x: [n, t, c], lengths?: [n]}`.
static void put_operands(gr_text *t, const gr_conf *in) {
  if (!in) return;
  if (in->kind == GR_CONF_TEXT) gr_text_put(t, in->text);
  for (int i = 0; i < in->n; i++) {
    bool map = in->kind == GR_CONF_MAP;
    gr_text_printf(t, "%s%s", i ? ", " : "", map ? in->keys[i] : in->items[i]->text);
    if (map) put_shape(t, in->items[i]);
  }
}

static bool must_be_given(const gr_conf *c) {
  return c->kind == GR_CONF_MISSING || (c->kind == GR_CONF_TEXT && !strcmp(c->text,
                                                                           "?"
                                                                           "??"));
}

static int params_of(gr_conf *block, gr_conf **out) {
  gr_conf *params = gr_conf_member(block, "params");
  *out = params;
  return params && params->kind == GR_CONF_MAP ? params->n : 0;
}

void gr_blocks_list(FILE *f) {
  gr_arena *a = gr_arena_create();
  gr_conf *blocks = read_blocks(a), *params;
  for (int i = 0; blocks && i < blocks->n; i++) {
    const char *doc = text_of(a, blocks->items[i], "doc");
    fprintf(f, "%-20s %s\n", blocks->keys[i], doc ? doc : "");
    int n = params_of(blocks->items[i], &params);
    for (int k = 0; k < n; k++) {
      fprintf(f, "%*s%s%s", k ? 0 : 21, "", k ? ", " : "", params->keys[k]);
      if (!must_be_given(params->items[k])) fprintf(f, ": %s", text_of(a, params, params->keys[k]));
      if (k + 1 == n) fputc('\n', f);
    }
  }
  gr_arena_destroy(a);
}

static void explain(FILE *f, gr_arena *a, gr_conf *block) {
  gr_text operands = gr_text_make(a);
  gr_conf *params;
  put_operands(&operands, gr_conf_member(block, "in"));
  fprintf(f, "  operands   %s\n", operands.chars);
  int n = params_of(block, &params);
  for (int k = 0; k < n; k++) {
    const char *value =
        must_be_given(params->items[k]) ? NULL : text_of(a, params, params->keys[k]);
    fprintf(f, "  %s %s (%s%s)\n", k ? "          " : "params    ", params->keys[k],
            value ? "default " : "must be given", value ? value : "");
  }
  const gr_conf *checks = gr_conf_member(block, "checks");
  for (int k = 0; checks && checks->kind == GR_CONF_MAP && k < checks->n; k++)
    fprintf(f, "  %s %s\n", k ? "          " : "checks    ", checks->keys[k]);
}

bool gr_block_explain(FILE *f, const char *name) {
  gr_arena *a = gr_arena_create();
  gr_conf *blocks = read_blocks(a);
  int index = blocks ? gr_conf_index(blocks, name) : -1;
  if (index >= 0) {
    const char *doc = text_of(a, blocks->items[index], "doc");
    fprintf(f, "%s: %s\n", name, doc ? doc : "");
    fprintf(f,
            "  a block    of graphs/blocks.yaml, line %d: made of ops, with weights of its own\n",
            blocks->items[index]->key_loc.line);
    explain(f, a, blocks->items[index]);
  }
  gr_arena_destroy(a);
  return index >= 0;
}

int gr_block_names(gr_arena *a, const char **out, int most) {
  const gr_conf *blocks = read_blocks(a);
  int n = 0;
  for (; blocks && n < blocks->n && n < most; n++) out[n] = blocks->keys[n];
  return n;
}

static void put_json(gr_text *t, const char *name, gr_conf *block) {
  gr_text operands = gr_text_make(t->arena);
  gr_conf *params;
  const char *doc = text_of(t->arena, block, "doc");
  put_operands(&operands, gr_conf_member(block, "in"));
  gr_text_put(t, "{");
  gr_text_json_member(t, "name", name);
  gr_text_json_member(t, "kind", "block");
  gr_text_json_member(t, "doc", doc ? doc : "");
  gr_text_json_member(t, "operands", operands.chars ? operands.chars : "");
  gr_text_put(t, ", \"params\": [");
  int n = params_of(block, &params);
  for (int k = 0; k < n; k++) {
    const char *name_k = params->keys[k];
    bool given = must_be_given(params->items[k]);
    gr_text_json_next(t), gr_text_put(t, "{");
    gr_text_json_member(t, "name", name_k);
    gr_text_json_member(t, "default", given ? NULL : text_of(t->arena, params, name_k));
    gr_text_put(t, "}");
  }
  gr_text_put(t, "]}");
}

bool gr_block_json(gr_text *t, const char *name) {
  gr_conf *blocks = read_blocks(t->arena);
  int index = blocks ? gr_conf_index(blocks, name) : -1;
  if (index >= 0) put_json(t, name, blocks->items[index]);
  return index >= 0;
}
