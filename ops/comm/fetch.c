// fetch.c - copies of values in host memory. Devices that read the host's memory over a link have a
// queue for them; elsewhere, and in tests, they are copies as any other.
#include <string.h>
#include "ops/kernels/gpu_parts.h"
#include "ops/ops.h"

struct fetch {
  int64_t nth;
};

gr_val gr_fetch(gr_builder *b, int n, const gr_val *in, int64_t nth) {
  return gr_emit(b, &gr_op_fetch, &(struct fetch){nth}, n, in);
}

static gr_status infer(gr_op_call *s) {
  s->n_out = s->n_in;
  if (s->n_in < 1 || s->n_in > GR_MAX_FETCHED)
    return gr_fail(GR_ERR_TYPE, s->loc, "fetch takes from 1 to %d operands, got %d", GR_MAX_FETCHED,
                   s->n_in);
  for (int k = 0; k < s->n_in; k++) s->out[k] = s->in[k];
  return GR_OK;
}

static gr_status cpu(const gr_launch *l) {
  for (int k = 0; k < l->n_in; k++) memcpy(l->out[k], l->in[k], gr_type_bytes(&l->in_type[k]));
  return GR_OK;
}

static gr_status gpu(gr_gpu_call *g) {
  for (int k = 0; k < g->call->n_in; k++)
    gr_gpu_copy_add(g, gr_gpu_out(g, k, 0), gr_gpu_in(g, k, 0), gr_type_bytes(&g->call->in[k]));
  return GR_OK;
}

static const gr_attr attrs[] = {
    GR_ATTR(struct fetch, nth, GR_ATTR_INT, "0", "keeps copies apart that live at different times"),
    {0}};
static const struct fetch first = {0};
static const gr_case cases[] = {{{"f32[4,6]"}, .attr = &first},
                                {{"f32[3]", "bf16[2,5]", "i32[7]"}, .attr = &first, .fill = "nni"},
                                {{0}}};

const gr_op gr_op_fetch = {
    .name = "fetch",
    .doc = "Copies of values that are in host memory, in the device's memory.",
    .n_in = GR_ANY,
    .n_out = GR_ANY,
    .attr_size = sizeof(struct fetch),
    .attrs = attrs,
    .padding = GR_PADDING_PRESERVED,
    .infer = infer,
    .cpu = cpu,
    .gpu = gpu,
    .cases = cases,
};
