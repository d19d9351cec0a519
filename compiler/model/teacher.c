// teacher.c - a second model in the training program (model.teacher): its nodes are those of its
// evaluation program, and the model learns to give its logits (Hinton, Vinyals and Dean,
// "Distilling the Knowledge in a Neural Network", 2015).
//
// The loss of a sample, a sum s over w positions, becomes (1 - weight) s + weight T^2 w d, d being
// the mean over the sample's positions of the divergence of softmax(teacher / T) from
// softmax(model / T). So samples and positions weigh as they do in the model's own loss.
#include <string.h>
#include "compiler/model/emit.h"

const char gr_model_teacher_prefix[] = "teacher";

bool gr_model_has_teacher(const gr_build_context *a) {
  return a->request->teacher && a->built.trains && !strcmp(a->built.name, gr_model_train) &&
         (a->request->purpose == GR_TRAIN || a->request->purpose == GR_INIT);
}

static const gr_model_program evaluation = {.name = "eval"};

gr_status gr_model_ask_teacher(const gr_build_context *a, gr_model_request *out) {
  const gr_model_teacher *t = a->request->teacher;
  *out = *a->request;
  out->graph = t->graph, out->params = t->params, out->teacher = NULL;
  out->purpose = GR_EVAL, out->program = &evaluation;
  out->n_adapters = 0, out->minibatches = NULL;
  for (uint32_t i = 0; i < a->by_path.n; i++)
    if (gr_is_of_teacher(a->params[i].path))
      return gr_hint(
          gr_note(gr_fail(GR_ERR_CONFIG, a->params[i].loc,
                          "'%s' is called as a weight of the teacher is", a->params[i].path),
                  t->loc, "the teacher"),
          "give that part of the model another name than 'teacher'");
  return GR_OK;
}

// ---- The loss -----------------------------------------------------------------------------------

static const char *const operand_names[] = {"$model", "$teacher"};  // that no file can have

static gr_conf *use_of_block(gr_build_context *a, const gr_model_teacher *t) {
  gr_conf *use = gr_conf_make(a->arena, GR_CONF_MAP, t->loc);
  gr_conf *operands = gr_conf_make(a->arena, GR_CONF_LIST, t->loc);
  for (int i = 0; i < 2; i++) {
    gr_conf *c = gr_conf_make(a->arena, GR_CONF_TEXT, t->loc);
    c->text = operand_names[i];
    gr_conf_append(a->arena, operands, c);
  }
  gr_conf_add(a->arena, use, "distillation", operands);
  use->items[0]->key_loc = t->loc;
  gr_conf *number = gr_conf_make(a->arena, GR_CONF_FLOAT, t->loc);
  number->number = t->temperature;
  gr_conf_add(a->arena, use, "temperature", number);
  return use;
}

static gr_status check_logits(gr_build_context *a, const char *model, const char *teacher,
                              gr_loc loc, const gr_val v[2]) {
  char first[96], second[96];
  const gr_type *x = gr_model_type(a, v[0]), *y = gr_model_type(a, v[1]);
  bool same = x->rank == y->rank && x->rank > 1;
  for (int d = 0; same && d < x->rank; d++) same = x->dim[d] == y->dim[d];
  if (same && gr_dtypes[x->dtype].is_float && gr_dtypes[y->dtype].is_float) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_TYPE, loc, "'%s' of the model is %s, and '%s' of the teacher %s",
                         model, gr_type_text(x, first), teacher, gr_type_text(y, second)),
                 "logits [n, ..., c] of both are compared, over the same classes or tokens c");
}

// The mask as f32, 1 everywhere without one, of the type of the divergences.
static gr_status read_mask(gr_build_context *a, const gr_model_teacher *t, const gr_type *each,
                           gr_val *out) {
  char first[96], second[96];
  gr_type one = *each;
  one.dtype = GR_F32;
  if (!t->mask) {
    *out = gr_fill(&a->root, &one, 1);
    return gr_model_take_error(a);
  }
  GR_TRY(
      gr_note(gr_model_value(a, t->mask, t->loc, out), t->loc, "asked for by model.teacher.mask"));
  const gr_type *given = gr_model_type(a, *out);
  one.dtype = given->dtype;
  if (!gr_type_same(given, &one))
    return gr_fail(GR_ERR_TYPE, t->loc,
                   "the mask '%s' of model.teacher is %s, the positions are %s", t->mask,
                   gr_type_text(given, first), gr_type_text(each, second));
  if (given->dtype != GR_F32) *out = gr_cast(&a->root, *out, GR_F32);
  return gr_model_take_error(a);
}

// Per sample, the mean of a pair's divergence over positions.
static gr_status divergence(gr_build_context *a, const char *model, gr_conf *c, gr_val *out) {
  const gr_model_teacher *t = a->request->teacher;
  gr_builder *b = &a->root;
  gr_val v[2], mask;
  gr_binding d = {0};
  gr_loc loc = gr_conf_place(c);
  GR_TRY(gr_model_expect(c, GR_CONF_TEXT, "a value of the teacher"));
  GR_TRY(gr_note(gr_model_value(a, model, loc, &v[0]), t->loc, "of the model"));
  GR_TRY(gr_note(gr_model_value(a->teacher, c->text, c->loc, &v[1]), t->loc, "of the teacher"));
  GR_TRY(check_logits(a, model, c->text, loc, v));
  for (int i = 0; i < 2; i++)
    gr_model_bind(a, operand_names[i], loc, &(gr_binding){.n = 1, .v = {v[i]}});
  b->loc = loc, b->scope = "distillation";
  const gr_block *distillation;
  GR_TRY(gr_model_builtin(a, "distillation", &distillation));
  GR_TRY(gr_model_block(a, distillation, use_of_block(a, t), &d));
  GR_TRY(read_mask(a, t, gr_model_type(a, d.v[0]), &mask));
  gr_val each = gr_model_type(a, d.v[0])->dtype == GR_F32 ? d.v[0] : gr_cast(b, d.v[0], GR_F32);
  gr_val total = gr_model_make(b, "sample_sum", 1, (gr_val[]){gr_mul(b, each, mask)}, NULL);
  gr_val number = gr_model_make(b, "sample_sum", 1, &mask, NULL);
  GR_TRY(gr_model_take_error(a));
  const gr_type *per_sample = gr_model_type(a, number);
  gr_val has = gr_less(b, gr_fill(b, per_sample, 0), number);
  *out = gr_div(b, total, gr_where(b, has, number, gr_fill(b, per_sample, 1)));
  return gr_model_take_error(a);
}

static gr_val as_f32(gr_build_context *a, gr_val v) {
  return gr_model_type(a, v)->dtype == GR_F32 ? v : gr_cast(&a->root, v, GR_F32);
}

gr_status gr_model_distill(gr_build_context *a, gr_loc loc, gr_binding *score, gr_binding *hard,
                           gr_binding *kl) {
  const gr_model_teacher *t = a->request->teacher;
  gr_builder *b = &a->root;
  char type[96];
  gr_val sum = GR_NONE;
  if (!a->teacher) return GR_OK;
  const gr_type *score_type = gr_model_type(a, score->v[0]);
  if (score_type->rank != 1 || score_type->dim[0] != gr_model_type(a, a->weight)->dim[0])
    return gr_hint(gr_fail(GR_ERR_TYPE, loc, "the loss is %s, and is not mixed with a teacher's",
                           gr_type_text(score_type, type)),
                   "model.teacher needs a loss that is one number for each sample, [n]");
  for (int i = 0; i < t->match->n; i++) {
    gr_val d = GR_NONE;
    GR_TRY(divergence(a, t->match->keys[i], t->match->items[i], &d));
    sum = gr_is(sum) ? gr_add(b, sum, d) : d;
  }
  if (score->n == 2) sum = gr_mul(b, sum, as_f32(a, score->v[1]));
  *hard = *kl = *score;
  kl->v[0] = sum;
  sum = gr_scale(b, sum, t->weight * t->temperature * t->temperature);
  score->v[0] = gr_add(b, gr_scale(b, as_f32(a, score->v[0]), 1 - t->weight), sum);
  return gr_model_take_error(a);
}
