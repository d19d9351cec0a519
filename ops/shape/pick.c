// pick.c - one slice of the first axis, as a value without that axis.
#include "ops/kernels/cpu.h"
#include "ops/ops.h"

struct pick {
  int64_t at;
};
struct pick_grad {
  int64_t at, of;
};

gr_val gr_pick(gr_builder *b, gr_val x, int64_t at) {
  return GR_EMIT(b, &gr_op_pick, &(struct pick){at}, x);
}

static void axes_of(const gr_site *s, char buf[128]) {  // "_ab->ab"
  char rest[GR_MAX_RANK + 1] = {0};
  for (int d = 1; d < s->in[0].rank; d++) rest[d - 1] = (char)('a' + d);
  snprintf(buf, 128, "_%s->%s", rest, rest);
}

static gr_status infer(gr_site *s) {
  const struct pick *a = s->attr;
  if (a->at < 0 || a->at >= s->in[0].dim[0])
    return gr_fail(GR_ERR_TYPE, s->loc, "no slice %lld in %lld", (long long)a->at,
                   (long long)s->in[0].dim[0]);
  return GR_OK;
}

static void grad(const gr_grad *g) {
  int64_t of = gr_at(g->b->g, g->x[0])->type.dim[0], at = ((const struct pick *)g->attr)->at;
  g->dx[0] = GR_EMIT(g->b, &gr_op_pick_grad, (&(struct pick_grad){at, of}), g->dy[0]);
}

static gr_status cpu(const gr_launch *l) {
  const struct pick *a = l->attr;
  for (int64_t i = 0, n = gr_type_count(l->out_type); i < n; i++) OUT(0, i, IN(0, a->at * n + i));
  return GR_OK;
}

static const gr_attr attrs[] = {GR_ATTR(struct pick, at, GR_ATTR_INT, NULL, "which slice"), {0}};
static const gr_case cases[] = {
    {{"f32[4,6]"}, .attr = &(struct pick){1}},
    {{"f32[3,4,6]"}, .attr = &(struct pick){2}},
    {{"f32[4,6]"}, .attr = &(struct pick){4}, .fails = "no slice 4"},
    {{0}},
};

const gr_op gr_op_pick = {
    .name = "pick",
    .doc = "One slice of x along its first axis.",
    .n_in = 1,
    .n_out = 1,
    .attr_size = sizeof(struct pick),
    .attrs = attrs,
    .axes_of = axes_of,
    .linear = true,
    .infer = infer,
    .grad = grad,
    .cpu = cpu,
    .cases = cases,
};

static void grad_axes_of(const gr_site *s, char buf[128]) {
  char rest[GR_MAX_RANK + 1] = {0};
  for (int d = 0; d < s->in[0].rank; d++) rest[d] = (char)('a' + d);
  snprintf(buf, 128, "%s->_%s", rest, rest);
}

static gr_status grad_infer(gr_site *s) {
  s->out[0].dim[0] = ((const struct pick_grad *)s->attr)->of;
  return GR_OK;
}

static gr_status grad_cpu(const gr_launch *l) {
  const struct pick_grad *a = l->attr;
  int64_t n = gr_type_count(l->in_type);
  for (int64_t i = 0; i < n * a->of; i++) OUT(0, i, i / n == a->at ? IN(0, i % n) : 0);
  return GR_OK;
}

static const gr_attr grad_attrs[] = {
    GR_ATTR(struct pick_grad, at, GR_ATTR_INT, NULL, "which slice"),
    GR_ATTR(struct pick_grad, of, GR_ATTR_INT, NULL, "of how many"),
    {0}};
static const gr_case grad_cases[] = {{{"f32[4,6]"}, .attr = &(struct pick_grad){1, 3}}, {{0}}};

const gr_op gr_op_pick_grad = {
    .name = "pick_grad",
    .doc = "x as one slice of a value that is zero elsewhere.",
    .n_in = 1,
    .n_out = 1,
    .attr_size = sizeof(struct pick_grad),
    .attrs = grad_attrs,
    .axes_of = grad_axes_of,
    .linear = true,
    .infer = grad_infer,
    .cpu = grad_cpu,
    .cases = grad_cases,
};
