// nonfinite.c - after a step that was skipped: which node made the first value that is not finite.
// The step is run again, node by node, on the states of before. See rank.h.
#include <stdlib.h>
#include <string.h>
#include "runtime/train/rank/rank.h"

// Copies all states to the host, or back.
static gr_status move_states(gr_rank *r, char *kept, bool back) {
  const gr_plan *p = r->spec->plan;
  for (const gr_plan_state *s = p->states; s < p->states + p->n_states; s++) {
    gr_exec_tensor t = gr_exec_state(r->exec, s);
    const void *data;
    if (!back) {
      GR_TRY(gr_exec_view(r->exec, &t, r->staging, &data));
      memcpy(kept + s->offset, data, t.bytes);
    } else {
      void *to = gr_exec_target(r->exec, &t, r->staging);
      memcpy(to, kept + s->offset, t.bytes);
      GR_TRY(gr_exec_store(r->exec, &t, to));
    }
  }
  return GR_OK;
}

static gr_status search(gr_rank *r, const gr_step_values *values, const gr_run_program *p,
                        const gr_batch *b, char *kept, gr_exec_origins *out) {
  gr_step_results now;
  GR_TRY(move_states(r, kept, false));
  GR_TRY(gr_exec_search_begin(r->exec, NULL, NULL, out));
  gr_status s = gr_run_compute(r, values, p, b, &now);
  gr_exec_search_end(r->exec);
  return s ? s : move_states(r, kept, true);
}

// An infinity may be there on purpose; a NaN is not, and may come of an infinity.
static void put_origins(gr_text *t, const gr_exec_origins *o) {
  const gr_exec_origin *first = o->nan.found ? &o->nan : &o->inf;
  if (!first->found) return;
  gr_text_printf(t, "the first %s is of %s", o->nan.found ? "NaN" : "infinity", first->text);
  if (o->nan.found && o->inf.found && o->inf.order <= o->nan.order)
    gr_text_printf(t, ". Before it, the first infinity is of %s", o->inf.text);
}

// The text of the rank whose node was the first of all, on all ranks.
static gr_status choose(gr_rank *r, const gr_exec_origins *o, gr_text *out) {
  enum { WORDS = 1024 };
  gr_arena *scratch = gr_arena_create();
  int32_t *words = GR_NEW(scratch, int32_t, WORDS),
          *all = GR_NEW(scratch, int32_t, WORDS * r->ranks);
  gr_text t = gr_text_make(scratch);
  put_origins(&t, o);
  words[0] = (o->nan.found ? 2 : o->inf.found ? 1 : 0);
  words[1] = (int32_t)(o->nan.found ? o->nan.order : o->inf.order);
  snprintf((char *)(words + 2), sizeof *words * (WORDS - 2), "%s", t.chars);
  gr_status s = gr_comm_run(r->world, GR_ALL_GATHER, GR_I32, WORDS, words, all);
  const int32_t *best = all;
  for (const int32_t *x = all + WORDS; !s && x < all + WORDS * r->ranks; x += WORDS)
    if (x[0] > best[0] || (x[0] == best[0] && x[1] < best[1])) best = x;
  if (!s && best[0] && r->ranks > 1)
    gr_text_printf(out, "on rank %d, ", (int)((best - all) / WORDS));
  if (!s) gr_text_put(out, (const char *)(best + 2));
  return gr_arena_end(scratch, s);
}

gr_status gr_run_find_nonfinite(gr_rank *r, const gr_step_values *values, const gr_run_program *p,
                                const gr_batch *b, gr_text *out) {
  char *kept = malloc(gr_plan_states_end(r->spec->plan) + 1);
  gr_exec_origins origins = {0};
  bool all;
  gr_status s = gr_run_all_ok(r, kept != NULL, &all);
  if (!s && all) s = search(r, values, p, b, kept, &origins);
  free(kept);
  return s || !all ? s : choose(r, &origins, out);
}
