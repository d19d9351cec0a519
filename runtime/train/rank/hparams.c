// hparams.c - the hyper-parameters of a run for TensorBoard: what files and arguments have set. See
// run.h.
#include <string.h>
#include "runtime/train/rank/rank.h"

enum { MAX_HPARAMS = 256 };

// Keys that say where files are differ between runs that are the same.
static bool is_place(const char *key) {
  return !strncmp(key, "output.", 7) || !strcmp(key, "checkpoint.resume");
}

bool gr_param_of(const char *key, const gr_conf *c, gr_param *out) {
  *out = (gr_param){.key = key, .kind = GR_PARAM_TEXT, .loc = c->loc};
  if (c->kind == GR_CONF_INT)
    out->kind = GR_PARAM_INT, out->i = c->integer;
  else if (c->kind == GR_CONF_FLOAT)
    out->kind = GR_PARAM_FLOAT, out->f = c->number;
  else if (c->kind == GR_CONF_BOOL)
    out->kind = GR_PARAM_BOOL, out->i = c->truth;
  else
    out->text = gr_conf_text_of(c, NULL);
  return out->kind != GR_PARAM_TEXT || out->text;
}

// A value that contains the environment's is written as its interpolation; a list as JSON.
static gr_param param_of(gr_arena *a, const char *key, const gr_conf *c) {
  gr_text t = gr_text_make(a);
  gr_param p;
  if (!(c->from_env && c->raw) && gr_param_of(key, c, &p)) return p;
  gr_conf_json_written(&t, c, 0);
  return (gr_param){.key = key, .kind = GR_PARAM_TEXT, .text = t.chars};
}

static void collect(gr_arena *a, const gr_conf *map, gr_param *out, int *n) {
  for (int i = 0; i < map->n; i++) {
    const gr_conf *c = map->items[i];
    if (c->kind == GR_CONF_MAP) {
      collect(a, c, out, n);
      continue;
    }
    const char *key = gr_conf_path(a, c);
    if (c->is_default || c->kind == GR_CONF_NULL || is_place(key) || *n == MAX_HPARAMS) continue;
    out[(*n)++] = param_of(a, key, c);
  }
}

const gr_param *gr_run_hparams(gr_rank *r, int *n) {
  gr_param *out = GR_NEW(r->arena, gr_param, MAX_HPARAMS);
  *n = 0;
  collect(r->arena, r->spec->conf, out, n);
  return out;
}
