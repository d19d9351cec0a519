// program.c - the programs that a model's file states: train, eval, and any others (`programs:`).
#include <string.h>
#include "compiler/model/parts.h"

const char gr_model_train[] = "train", gr_model_eval[] = "eval";

// ---- Which there are ------------------------------------------------------------------

static gr_conf *stated(gr_conf *graph, const char *name) {
  gr_conf *map = graph->kind == GR_CONF_MAP ? gr_conf_member(graph, "programs") : NULL;
  return map && map->kind == GR_CONF_MAP ? gr_conf_member(map, name) : NULL;
}

// Whether the file has the program in its short form: train:, metrics: and predict:.
static bool is_short(gr_conf *graph, const char *name) {
  bool has = gr_conf_member(graph, "train") || gr_conf_member(graph, "metrics");
  if (!strcmp(name, gr_model_eval)) return has || gr_conf_member(graph, "predict");
  return !strcmp(name, gr_model_train) && has;
}

int gr_model_program_names(gr_arena *arena, gr_conf *graph, const char ***out) {
  gr_conf *map = graph->kind == GR_CONF_MAP ? gr_conf_member(graph, "programs") : NULL;
  static const char *const short_names[] = {gr_model_train, gr_model_eval};
  int n = 0, most = map && map->kind == GR_CONF_MAP ? map->n : 0;
  const char **names = *out = GR_NEW(arena, const char *, most + 3);
  for (int i = 0; i < 2; i++)
    if (is_short(graph, short_names[i]) && !stated(graph, short_names[i]))
      names[n++] = short_names[i];
  for (int i = 0; i < most; i++) names[n++] = map->keys[i];
  return n;
}

gr_loc gr_model_program_loc(gr_conf *graph, const char *name) {
  gr_conf *c = stated(graph, name);
  return c ? c->key_loc : graph->loc;
}

gr_conf *gr_model_program_inputs(gr_conf *graph, const char *name) {
  gr_conf *c = stated(graph, name);
  return c && c->kind == GR_CONF_MAP ? gr_conf_member(c, "inputs") : NULL;
}

// ---- What a file says of one ----------------------------------------------------------

static gr_status read_patterns(gr_arena *arena, const gr_conf *c, gr_model_program *out) {
  const gr_conf *one[] = {c};
  const gr_conf *const *items = c->kind == GR_CONF_LIST ? (const gr_conf *const *)c->items : one;
  int n = c->kind == GR_CONF_LIST ? c->n : 1;
  const char **patterns = GR_NEW(arena, const char *, n + 1);
  gr_loc *locs = GR_NEW(arena, gr_loc, n + 1);
  for (int i = 0; i < n; i++) {
    if (items[i]->kind != GR_CONF_TEXT)
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, items[i]->loc, "expected a pattern of weight names, found %s",
                  gr_model_kind(items[i]->kind)),
          "trains: [\"actor.*\", \"critic.*\"]");
    patterns[i] = items[i]->text, locs[i] = items[i]->loc;
  }
  out->trained = patterns, out->trained_loc = locs, out->n_trained = n;
  if (n) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "this program trains no weight"),
                 "without `trains` it trains all weights that its loss depends on");
}

static gr_status check_trains(gr_arena *arena, gr_conf *c, gr_model_program *out) {
  gr_conf *patterns = gr_conf_member(c, "trains");
  if (!patterns) return GR_OK;
  if (!out->trains)
    return gr_hint(gr_fail(GR_ERR_CONFIG, patterns->key_loc,
                           "the program %s trains nothing, so it has no 'trains'", out->name),
                   "a program that trains has a 'loss', and no 'training: false'");
  return read_patterns(arena, patterns, out);
}

gr_status gr_model_program_read(gr_arena *arena, gr_conf *graph, const char *name,
                                gr_model_program *out) {
  gr_conf *c = stated(graph, name);
  bool train = !strcmp(name, gr_model_train);
  *out = (gr_model_program){.name = name, .trains = train, .training = train};
  if (!c) return GR_OK;
  GR_TRY(gr_model_expect(c, GR_CONF_MAP, "a program"));
  gr_conf *flag = gr_conf_member(c, "training");
  if (flag) GR_TRY(gr_model_expect(flag, GR_CONF_BOOL, "training:"));
  bool loss = (gr_conf_member(c, "loss") || train) && strcmp(name, gr_model_eval) != 0;
  out->trains = loss && (!flag || flag->truth);
  out->training = flag ? flag->truth : out->trains;
  return check_trains(arena, c, out);
}
