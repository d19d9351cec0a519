// delay.c - shifts a stack by one step: turns the values that a carry has after each step of a scan
// into the values it has before each step.
#include <string.h>
#include "ops/kernels/cpu.h"
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/onnx.h"
#include "ops/ops.h"

struct delay {
  int64_t reverse;
};

static void index_spec_of(const gr_op_call *s, char buf[128]) {  // "Tab,ab->Tab"
  char rest[GR_MAX_RANK + 1] = {0};
  for (int d = 1; d < s->in[0].rank; d++) rest[d - 1] = (char)('a' + d);
  int n = snprintf(buf, 128, "T%s", rest);
  if (s->n_in == 2) n += snprintf(buf + n, (size_t)(128 - n), ",%s", rest);
  snprintf(buf + n, (size_t)(128 - n), "->T%s", rest);
}

static gr_status infer(gr_op_call *s) {
  if (s->n_in < 1 || s->n_in > 2)
    return gr_fail(GR_ERR_TYPE, s->loc,
                   "takes a stack and an optional first element, got %d operands", s->n_in);
  return GR_OK;
}

// The other way round; and of what is put first, its own element.
static void grad(const gr_grad *g) {
  const struct delay *a = g->attr;
  int64_t steps = gr_at(g->b->g, g->x[0])->type.dim[0];
  if (g->want[0]) g->dx[0] = GR_EMIT(g->b, &gr_op_delay, &(struct delay){!a->reverse}, g->dy[0]);
  if (g->n_in == 2 && g->want[1])
    g->dx[1] = gr_select(g->b, g->dy[0], a->reverse ? steps - 1 : 0);
}

static gr_status delay_cpu(const gr_launch *l) {
  const struct delay *a = l->attr;
  size_t all = gr_type_bytes(l->out_type), one = all / (size_t)l->out_type->dim[0];
  char *first = (char *)l->out[0] + (a->reverse ? all - one : 0);
  char *rest = (char *)l->out[0] + (a->reverse ? 0 : one);
  const char *source = (const char *)l->in[0] + (a->reverse ? one : 0);
  int64_t row = (int64_t)one;
  gr_copy_rows(l, rest, row, source, row, row, l->out_type->dim[0] - 1);
  if (l->n_in == 2)
    memcpy(first, l->in[1], one);
  else
    memset(first, 0, one);
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) {
  bool reverse = ((const struct delay *)g->call->attr)->reverse;
  const gr_type *y = &g->call->out[0];
  int64_t all = gr_type_count(y), one = all / y->dim[0];
  size_t bytes = gr_type_bytes(y) / (size_t)y->dim[0];
  gr_gpu_ref none = {0};
  if (all > one)
    gr_gpu_copy_add(g, gr_gpu_out(g, 0, reverse ? 0 : one), gr_gpu_in(g, 0, reverse ? one : 0),
                    gr_type_bytes(y) - bytes);
  gr_gpu_copy_add(g, gr_gpu_out(g, 0, reverse ? all - one : 0),
                  g->call->n_in == 2 ? gr_gpu_in(g, 1, 0) : none, bytes);
  return GR_OK;
}

static void to_onnx(gr_onnx_call *c) {
  bool reverse = ((const struct delay *)c->call[0]->attr)->reverse;
  const char *first = NULL;
  if (c->call[0]->n_in == 2) first = gr_onnx_unsqueeze(c, c->in[1], 0);
  int64_t zero = 0, one = 1, back = -1, end = INT64_MAX;
  const char *start = gr_onnx_vector(c, 1, reverse ? &one : &zero);
  const char *rest =
      gr_onnx_slice(c, c->in[0], 0, start, gr_onnx_vector(c, 1, reverse ? &end : &back));
  if (!first) {  // a slice of the stack, times 0: whatever its size
    first = gr_onnx_slice(c, c->in[0], 0, gr_onnx_vector(c, 1, &zero), gr_onnx_vector(c, 1, &one));
    first = GR_ONNX(c, "Sub", first, first);
  }
  c->out[0] = reverse ? GR_ONNX(c, "Concat", rest, first) : GR_ONNX(c, "Concat", first, rest);
  gr_onnx_int(c, "axis", 0);
}

static const gr_attr attrs[] = {GR_ATTR(struct delay, reverse, GR_ATTR_BOOL, "false",
                                        "shift toward the start, for a scan that runs in reverse"),
                                {0}};
static const gr_case cases[] = {
    {{"f32[5,4,6]", "f32[4,6]"}, .attr = &(struct delay){0}},
    {{"f32[5,4,6]", "f32[4,6]"}, .attr = &(struct delay){1}},
    {{"f32[5,4]"}, .attr = &(struct delay){0}},
    {{"f32[1,4]", "f32[4]"}, .attr = &(struct delay){0}},
    {{"f32[5,4]", "f32[5]"}, .attr = &(struct delay){0}, .fails = "sizes 4 and 5 differ"},
    {{0}}};

const gr_op gr_op_delay = {
    .name = "delay",
    .doc =
        "x shifted by one step along its first axis; the free step is the second operand, or zero.",
    .n_in = GR_ANY,
    .attr_size = sizeof(struct delay),
    .attrs = attrs,
    .index_spec_of = index_spec_of,
    .linear = true,
    .infer = infer,
    .grad = grad,
    .cpu = delay_cpu,
    .gpu = gpu,
    .to_onnx = to_onnx,
    .cases = cases,
};
