// json.c - the plan report as JSON.
#include <string.h>
#include "compiler/plan/traffic.h"
#include "compiler/report/explain.h"
#include "compiler/report/parts.h"

static const char *const kinds[GR_KIND_COUNT] = {[GR_KIND_WEIGHT] = "weight",
                                                 [GR_KIND_BUFFER] = "buffer",
                                                 [GR_KIND_MOMENT] = "optimizer",
                                                 [GR_KIND_EMA] = "ema",
                                                 [GR_KIND_COUNTER] = "counter",
                                                 [GR_KIND_TABLE] = "table",
                                                 [GR_KIND_GRAD_ACCUMULATOR] = "accumulator"};

static void put_mesh(gr_text *t, const gr_mesh *m) {
  gr_text_put(t, "\"mesh\": {");
  for (int a = 0; a < m->n_axes; a++) {
    gr_text_put(t, a ? ", " : "");
    gr_text_json(t, m->axis[a].name);
    gr_text_printf(t, ": %d", m->axis[a].size);
  }
  gr_text_put(t, "}");
}

static void put_collectives(gr_text *t, const gr_mesh *m, const gr_program *p) {
  gr_traffic traffic[GR_MAX_MESH];
  gr_traffic_count(p, traffic);
  gr_text_put(t, ", \"collectives\": {");
  for (int a = 0; a < m->n_axes; a++) {
    gr_text_put(t, a ? ", " : "");
    gr_text_json(t, m->axis[a].name);
    gr_text_printf(t, ": {\"count\": %.0f, \"sent_bytes\": %.0f}", (double)traffic[a].collectives,
                   traffic[a].sent);
  }
  gr_text_put(t, "}");
}

static void put_program(gr_text *t, const gr_plan *plan, const gr_program *p) {
  gr_text_put(t, "{\"name\": ");
  gr_text_json(t, p->name);
  gr_text_printf(t, ", \"kind\": \"%s\", \"bucket\": ", p->kind);
  gr_text_json(t, p->bucket);
  gr_text_printf(t,
                 ", \"nodes\": %u, \"flops\": %.0f, \"arena_bytes\": %zu, "
                 "\"lower_bound_bytes\": %zu, \"unused_parameters\": [",
                 p->frame.g->n_nodes, (double)gr_graph_flops(p->frame.g), p->frame.bytes,
                 p->frame.lower_bound);
  for (uint32_t i = 0; i < p->notes.n_unused; i++) {
    gr_text_put(t, i ? ", " : "");
    gr_text_json(t, p->notes.unused[i]);
  }
  gr_text_put(t, "]");
  put_collectives(t, &plan->mesh, p);
  gr_text_put(t, "}");
}

// The layout of each mesh axis: "R" or "S0", "S1", ...
static void put_state(gr_text *t, const gr_mesh *m, const gr_plan_state *s) {
  gr_text_put(t, "{\"name\": ");
  gr_text_json(t, s->name);
  gr_text_printf(t, ", \"kind\": \"%s\", \"dtype\": \"%s\", \"shape\": [", kinds[s->kind],
                 gr_dtypes[s->global.dtype].name);
  for (int d = 0; d < s->global.rank; d++)
    gr_text_printf(t, "%s%lld", d ? ", " : "", (long long)s->global.dim[d]);
  gr_text_put(t, "], \"layout\": {");
  for (int a = 0; a < m->n_axes; a++) {
    gr_text_put(t, a ? ", " : "");
    gr_text_json(t, m->axis[a].name);
    if (s->layout.placement[a] >= 0)
      gr_text_printf(t, ": \"S%d\"", s->layout.placement[a]);
    else
      gr_text_put(t, ": \"R\"");
  }
  gr_text_printf(t, "}, \"bytes\": %zu, \"trained\": %s}", s->bytes, s->trained ? "true" : "false");
}

void gr_plan_json(gr_text *t, const gr_plan *p) {
  int64_t trained, all = gr_plan_parameters(p, &trained);
  int ranks = 1;
  for (int a = 0; a < p->mesh.n_axes; a++) ranks *= p->mesh.axis[a].size;
  gr_text_printf(t, "{\"ranks\": %d, ", ranks);
  put_mesh(t, &p->mesh);
  gr_text_printf(t,
                 ", \"hash\": \"%016llx\", \"parameters\": %lld, \"trained_parameters\": %lld,\n"
                 " \"state_bytes\": %zu, \"arena_bytes\": %zu,\n \"programs\": [",
                 (unsigned long long)p->hash, (long long)all, (long long)trained, p->state_bytes,
                 p->arena_bytes);
  for (uint32_t i = 0; i < p->n_programs; i++) {
    gr_text_put(t, i ? ",\n  " : "\n  ");
    put_program(t, p, &p->programs[i]);
  }
  gr_text_put(t, "],\n \"states\": [");
  for (uint32_t i = 0; i < p->n_states; i++) {
    gr_text_put(t, i ? ",\n  " : "\n  ");
    put_state(t, &p->mesh, &p->states[i]);
  }
  gr_text_put(t, "],\n \"certificate\": ");
  gr_plan_put_certificate(t, p);
  gr_text_put(t, "}\n");
}
