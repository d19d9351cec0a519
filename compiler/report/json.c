// json.c - the plan report as JSON.
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
  gr_text_put(t, ", \"mesh\": {");
  for (int a = 0; a < m->n_axes; a++) {
    gr_text_json_key(t, m->axis[a].name);
    gr_text_put_int(t, m->axis[a].size);
  }
  gr_text_put(t, "}");
}

static void put_number(gr_text *t, const char *name, double value) {
  gr_text_json_key(t, name);
  gr_text_json_rounded(t, value, 6);
}

static void put_traffic(gr_text *t, const char *name, const gr_traffic *moved) {
  gr_text_json_key(t, name);
  gr_text_printf(t, "{\"count\": %d, \"sent_bytes\": %.0f}", moved->collectives, moved->sent);
}

static void put_collectives(gr_text *t, const gr_mesh *m, const gr_program_figures *p) {
  gr_text_put(t, ", \"collectives\": {");
  for (int a = 0; a < m->n_axes; a++) put_traffic(t, m->axis[a].name, &p->by_axis[a]);
  gr_text_put(t, "}, \"moves\": {");
  for (int i = 0; i < p->n_moves; i++) put_traffic(t, p->moves[i].op, &p->moves[i].traffic);
  gr_text_put(t, "}");
}

// Of each chip, in milliseconds.
static void put_times(gr_text *t, const gr_plan_figures *f, const gr_predicted *of) {
  gr_text_put(t, ", \"predicted_ms\": {");
  for (int i = 0; i < f->n_targets; i++) {
    gr_text_json_key(t, f->targets[i].chip->name);
    gr_text_put(t, "{");
    put_number(t, "all", 1e3 * of[i].all);
    put_number(t, "kernels", 1e3 * of[i].kernels);
    put_number(t, "collectives", 1e3 * of[i].collectives);
    put_number(t, "hidden", 1e3 * of[i].hidden);
    put_number(t, "besides", 1e3 * of[i].besides);
    gr_text_put(t, "}");
  }
  gr_text_put(t, "}");
}

static void put_node(gr_text *t, const gr_node *n) {
  const char *file = n->loc.file ? n->loc.file : "";
  gr_text_json_next(t), gr_text_put(t, "{");
  gr_text_json_member(t, "op", n->op->name);
  gr_text_json_member(t, "place",
                      gr_arena_printf(t->arena, "%s:%d:%d", file, n->loc.line, n->loc.col));
  gr_text_put(t, "}");
}

static void put_program(gr_text *t, const gr_plan_figures *f, const gr_program_figures *figures) {
  const gr_program *p = figures->program;
  gr_text_put(t, "{");
  gr_text_json_member(t, "name", p->name);
  gr_text_json_member(t, "kind", p->kind);
  gr_text_json_member(t, "bucket", p->bucket);
  gr_text_printf(t,
                 ", \"nodes\": %u, \"flops\": %.0f, \"launches\": %.0f, \"moved_bytes\": %.0f, "
                 "\"arena_bytes\": %zu, \"lower_bound_bytes\": %zu, \"unused_parameters\": ",
                 p->frame.g->n_nodes, figures->flops, figures->launches, figures->bytes,
                 p->frame.bytes, p->frame.lower_bound);
  gr_text_json_texts(t, p->notes.unused, (int)p->notes.n_unused);
  gr_text_put(t, ", \"mixed_rows\": [");
  for (uint32_t i = 0; i < p->notes.n_mixed; i++) put_node(t, p->notes.mixed[i]);
  gr_text_put(t, "]");
  put_collectives(t, &f->plan->mesh, figures);
  gr_text_put(t, ", \"peak_bytes\": {");
  for (int i = 0; i < figures->n_makers; i++) {
    gr_text_json_key(t, figures->makers[i].name);
    gr_text_printf(t, "%.0f", figures->makers[i].bytes);
  }
  gr_text_put(t, "}");
  put_times(t, f, figures->seconds);
  gr_text_put(t, "}");
}

static void put_memory(gr_text *t, const gr_plan_figures *f) {
  gr_text_put(t, ",\n \"memory\": {");
  double padding = (double)gr_plan_states_end(f->plan);
  for (int k = 0; k < GR_KIND_COUNT; k++) {
    gr_text_printf(t, "\"%s\": %.0f, ", gr_kind_names[k], f->kinds[k].bytes);
    padding -= f->kinds[k].bytes;
  }
  gr_text_printf(t, "\"alignment\": %.0f, ", padding);
  gr_text_printf(
      t, "\"arena\": %zu, \"uploads\": %zu, \"libraries\": %zu, \"host\": %zu, \"all\": %.0f}",
      f->plan->arena_bytes, f->plan->upload_bytes, f->plan->reserved_bytes, f->plan->host_bytes,
      f->bytes);
}

static void put_buckets(gr_text *t, const gr_plan_use *use) {
  for (int i = 0; i < use->n_buckets; i++) {
    const gr_bucket_figures *b = &use->buckets[i];
    gr_text_put(t, i ? ",\n  {" : ",\n \"batches\": [\n  {");
    gr_text_json_member(t, "bucket", b->name);
    gr_text_printf(t, ", \"samples\": %d, \"rows\": %d, \"bytes\": %.0f}", b->samples, b->rows,
                   b->bytes);
  }
  gr_text_put(t, use->n_buckets ? "]" : "");
}

// Samples a second are those of a chip's whole step.
static void put_step(gr_text *t, const gr_plan_figures *f) {
  gr_text_printf(t, ",\n \"step\": {\"samples\": %.0f", f->use.samples);
  put_number(t, "launches", f->launches);
  put_number(t, "collectives", f->collectives);
  put_number(t, "sent_bytes", f->sent);
  put_times(t, f, f->step);
  gr_text_put(t, ", \"samples_per_s\": {");
  for (int i = 0; i < f->n_targets && f->use.samples > 0 && f->step[i].all > 0; i++)
    put_number(t, f->targets[i].chip->name, f->use.samples / f->step[i].all);
  gr_text_put(t, "}}");
}

// The layout of each mesh axis: "R" or "S0", "S1", ...
static void put_state(gr_text *t, const gr_mesh *m, const gr_plan_state *s) {
  gr_text_put(t, "{");
  gr_text_json_member(t, "name", s->name);
  gr_text_printf(t, ", \"kind\": \"%s\", \"dtype\": \"%s\", \"shape\": [", kinds[s->kind],
                 gr_dtypes[s->global.dtype].name);
  for (int d = 0; d < s->global.rank; d++)
    gr_text_printf(t, "%s%lld", d ? ", " : "", (long long)s->global.dim[d]);
  gr_text_put(t, "], \"layout\": {");
  for (int a = 0; a < m->n_axes; a++) {
    gr_text_json_key(t, m->axis[a].name);
    if (s->layout.placement[a] >= 0)
      gr_text_printf(t, "\"S%d\"", s->layout.placement[a]);
    else
      gr_text_put(t, "\"R\"");
  }
  gr_text_printf(t, "}, \"bytes\": %zu, \"trained\": %s}", s->bytes, s->trained ? "true" : "false");
}

void gr_plan_json(gr_text *t, const gr_plan_figures *f) {
  const gr_plan *p = f->plan;
  gr_text_printf(t, "{\"version\": %d, \"ranks\": %d", GR_PLAN_FILE_VERSION, f->ranks);
  put_mesh(t, &p->mesh);
  gr_text_printf(t,
                 ", \"hash\": \"%016llx\", \"parameters\": %lld, \"trained_parameters\": %lld,\n"
                 " \"state_bytes\": %zu, \"arena_bytes\": %zu",
                 (unsigned long long)p->hash, (long long)f->parameters, (long long)f->trained,
                 p->state_bytes, p->arena_bytes);
  put_memory(t, f);
  put_step(t, f);
  put_buckets(t, &f->use);
  gr_text_put(t, ",\n \"programs\": [");
  for (uint32_t i = 0; i < p->n_programs; i++) {
    gr_text_json_line(t, "\n  ");
    put_program(t, f, &f->programs[i]);
  }
  gr_text_put(t, "],\n \"states\": [");
  for (uint32_t i = 0; i < p->n_states; i++) {
    gr_text_json_line(t, "\n  ");
    put_state(t, &p->mesh, &p->states[i]);
  }
  gr_text_put(t, "],\n \"certificate\": ");
  gr_plan_put_certificate(t, p);
  gr_text_put(t, "}\n");
}
