// tables.c - tables of the data: states that a run sets to what the data set has. See rank.h.
#include <string.h>
#include "runtime/train/rank/rank.h"

// A table's name is the last part of the state's path: `market.close` is the table close.
static const gr_data_table *find(const gr_data_table *all, int n, const char *path) {
  const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
  for (int i = 0; i < n; i++)
    if (!strcmp(all[i].name, name)) return &all[i];
  return NULL;
}

static gr_loc place_of(const gr_plan *p, const char *state) {
  for (uint32_t i = 0; i < p->n_programs; i++) {
    const gr_graph *g = p->programs[i].frame.g;
    gr_val v = gr_graph_leaf(g, GR_STATE, state);
    if (gr_is(v) && gr_at(g, v)->loc.file) return gr_at(g, v)->loc;
  }
  return GR_NOWHERE;
}

static gr_status check(const gr_plan *p, const gr_plan_state *s, const gr_data_table *all, int n) {
  const gr_data_table *t = find(all, n, s->name);
  const char *names[GR_MAX_TABLES];
  char declared[96], has[96];
  for (int i = 0; i < n; i++) names[i] = all[i].name;
  if (!t) {
    gr_status bad =
        gr_fail(GR_ERR_CONFIG, place_of(p, s->name), "the data have no table '%s'", s->name);
    const char *near = gr_text_nearest(s->name, names, n);
    return near ? gr_hint(bad, "did you mean '%s'?", near)
                : gr_hint(bad, "the source `market` has close, features and turbulence");
  }
  if (gr_type_same(&t->type, &s->global)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, place_of(p, s->name),
                         "the buffer '%s' is %s, and the table of the data %s", s->name,
                         gr_type_text(&s->global, declared), gr_type_text(&t->type, has)),
                 "params: of the model take the sizes of the data if they have their names "
                 "(`graphrun data inspect`)");
}

gr_status gr_tables_check(const gr_plan *p, const gr_contract *c) {
  gr_status bad = GR_OK;
  for (uint32_t i = 0; i < p->n_states; i++)
    if (p->states[i].kind == GR_KIND_TABLE)
      bad = gr_also(bad, check(p, &p->states[i], c->tables, c->n_tables));
  return bad;
}

gr_status gr_run_load_tables(gr_rank *r) {
  const gr_plan *p = r->spec->plan;
  gr_data_table all[GR_MAX_TABLES];
  int n = gr_dataset_tables(r->spec->data, all);
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (s->kind != GR_KIND_TABLE) continue;
    gr_exec_tensor to = gr_exec_state(r->exec, s);
    GR_TRY(gr_exec_write(r->exec, &to, find(all, n, s->name)->data));
  }
  return gr_exec_wait(r->exec);
}
