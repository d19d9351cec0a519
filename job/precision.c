// precision.c - see parts.h.
#include <string.h>
#include "job/parts.h"

static const gr_dtype dtypes[] = {GR_F32, GR_BF16, GR_F16};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

static gr_status read_dtype(const gr_conf *c, gr_dtype *out) {
  const char *names[N_DTYPES];
  for (int i = 0; i < N_DTYPES; i++) names[i] = gr_dtypes[dtypes[i]].name;
  for (int i = 0; i < N_DTYPES && c->kind == GR_CONF_TEXT; i++)
    if (!strcmp(c->text, names[i])) return *out = dtypes[i], GR_OK;
  gr_status s = gr_fail(GR_ERR_CONFIG, c->loc,
                        "the dtype of a rule of training.precision_rules must be f32, bf16 or "
                        "f16, but is %s%s%s",
                        c->kind == GR_CONF_TEXT ? "'" : "",
                        c->kind == GR_CONF_TEXT ? c->text : gr_conf_a_kind(c->kind),
                        c->kind == GR_CONF_TEXT ? "'" : "");
  return c->kind == GR_CONF_TEXT ? gr_hint_near(s, c->text, names, N_DTYPES) : s;
}

static gr_status read_rule(gr_conf *item, gr_precision_rule *out) {
  bool map = item->kind == GR_CONF_MAP;
  const gr_conf *match = map ? gr_conf_member(item, "match") : NULL;
  const gr_conf *dtype = map ? gr_conf_member(item, "dtype") : NULL;
  if (!match || match->kind != GR_CONF_TEXT || !dtype || item->n != 2)
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, item->loc,
                "a rule of training.precision_rules is a pattern, 'match', and a 'dtype'"),
        "{match: \"*.norm.*\", dtype: f32}");
  *out = (gr_precision_rule){.pattern = match->text, .loc = match->loc};
  return read_dtype(dtype, &out->dtype);
}

gr_status gr_precision_read(gr_arena *arena, gr_conf *root, gr_precision_settings *s) {
  gr_conf *list = gr_conf_find(root, "training.precision_rules");
  if (!list) return GR_OK;
  GR_TRY(gr_conf_check_list(list, "training.precision_rules", "rules", GR_MAX_PRECISION_RULES,
                            "[{match:'*.norm.*',dtype:f32}]"));
  gr_precision_rule *rules = GR_NEW(arena, gr_precision_rule, list->n + 1);
  s->rules = rules;
  s->n_rules = list->n;
  gr_status all = GR_OK;
  for (int i = 0; i < list->n; i++) all = gr_also(all, read_rule(list->items[i], &rules[i]));
  return all;
}

bool gr_precision_is_fp16(const gr_precision_settings *s) {
  bool fp16 = s->precision == gr_precision_fp16;
  for (int i = 0; i < s->n_rules; i++) fp16 |= s->rules[i].dtype == GR_F16;
  return fp16;
}

// training.mixed_precision without training.precision asks for bf16 on GPUs.
void gr_precision_derive(gr_arena *arena, gr_conf *root, bool gpu, gr_precision_settings *s) {
  static const gr_dtype dtype_of[] = {[gr_precision_fp32] = GR_F32,
                                      [gr_precision_tf32] = GR_F32,
                                      [gr_precision_bf16] = GR_BF16,
                                      [gr_precision_fp16] = GR_F16};
  static const gr_dtype dtype_of_teacher[] = {[gr_teacher_precision_fp32] = GR_F32,
                                              [gr_teacher_precision_bf16] = GR_BF16,
                                              [gr_teacher_precision_fp16] = GR_F16};
  static const gr_dtype sent_as[] = {[gr_reduce_dtype_f32] = GR_F32,
                                     [gr_reduce_dtype_bf16] = GR_BF16,
                                     [gr_reduce_dtype_f16] = GR_F16};
  bool given = !gr_conf_find(root, "training.precision")->is_default;
  s->dtype = s->mixed_precision && gpu && !given ? GR_BF16 : dtype_of[s->precision];
  s->teacher_dtype = s->teacher_precision ? dtype_of_teacher[s->teacher_precision] : s->dtype;
  s->tf32 = gpu && s->precision == gr_precision_tf32;
  s->sent = sent_as[s->reduce_dtype];
  if (!gr_precision_is_fp16(s)) return;
  gr_loss_scale *scale = GR_NEW(arena, gr_loss_scale, 1);
  *scale = (gr_loss_scale){.init = s->loss_scale_init,
                           .growth_factor = s->loss_scale_growth_factor,
                           .backoff_factor = s->loss_scale_backoff_factor,
                           .min = s->loss_scale_min,
                           .growth_interval = s->loss_scale_growth_interval};
  s->loss_scale = scale;
}
