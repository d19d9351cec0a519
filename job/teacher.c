// teacher.c - see parts.h.
#include "job/parts.h"

static const char example[] =
    "model: {teacher: {graph: graphs/gpt.yaml, init_from: outputs/teacher, match: {logits: "
    "logits}}}";

static bool is_given(gr_conf *root, const char *key) {
  const gr_conf *c = gr_conf_find(root, key);
  return c && !c->is_default && c->kind != GR_CONF_NULL;
}

// Keys that say how the model is compared with a teacher have no effect without one.
static gr_status check_alone(gr_conf *root) {
  static const char *const keys[] = {"model.teacher.params",   "model.teacher.match",
                                     "model.teacher.mask",     "model.teacher.temperature",
                                     "model.teacher.weight",   "model.teacher.init_from",
                                     "model.teacher.precision"};
  gr_conf *graph = gr_conf_find(root, "model.teacher.graph");
  bool removed = graph && !graph->is_default;  // as commands that use a run's weights do
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    gr_conf *c = gr_conf_find(root, keys[i]);
    if (c) gr_conf_mark(c);
    if (!removed && is_given(root, keys[i]))
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, c->loc, "%s is given, but model.teacher.graph is not", keys[i]),
          "%s", example);
  }
  return GR_OK;
}

gr_status gr_teacher_read(gr_arena *a, gr_conf *root, gr_settings *s) {
  gr_model_settings *m = &s->model;
  if (!m->teacher_graph) return check_alone(root);
  gr_conf *graph = gr_conf_find(root, "model.teacher.graph");
  gr_conf *match = gr_conf_find(root, "model.teacher.match");
  GR_TRY(gr_init_from_read(a, root, "model.teacher.init_from", &m->teacher_init_from,
                           &m->n_teacher_init_from));
  if (!m->n_teacher_init_from)
    return gr_hint(gr_fail(GR_ERR_CONFIG, graph->loc,
                           "the teacher has no weights: model.teacher.init_from is not given"),
                   "%s", example);
  if (match) gr_conf_mark(match);
  if (!match || match->kind != GR_CONF_MAP || !match->n)
    return gr_hint(gr_fail(GR_ERR_CONFIG, match && !match->is_default ? match->loc : graph->loc,
                           "model.teacher.match names no values that are compared"),
                   "{logits: logits}: the names of a value of the model and of one of the teacher");
  const gr_conf weights = {.kind = GR_CONF_TEXT, .text = "teacher.*", .loc = graph->loc};
  gr_texts_add(a, &weights, &s->options.optimizer.freeze);
  return GR_OK;
}

gr_status gr_teacher_open(gr_arena *a, gr_conf *root, const gr_settings *s,
                          gr_model_teacher **out) {
  const gr_model_settings *m = &s->model;
  *out = NULL;
  if (!m->teacher_graph) return GR_OK;
  gr_model_teacher *t = *out = GR_NEW(a, gr_model_teacher, 1);
  *t = (gr_model_teacher){.match = gr_conf_find(root, "model.teacher.match"),
                          .mask = m->teacher_mask,
                          .temperature = m->teacher_temperature,
                          .weight = m->teacher_weight,
                          .loc = gr_conf_find(root, "model.teacher.graph")->loc};
  return gr_note(gr_conf_read(a, m->teacher_graph, &t->graph), t->loc,
                 "asked for by model.teacher.graph");
}
