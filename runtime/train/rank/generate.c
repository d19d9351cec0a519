// generate.c - continues sequences of tokens: the model's prediction `next` is put behind what was
// there, and the model is run again. Nothing is kept from one run to the next. See rank.h.
//
// The batch has `x` i32 [rows, context] and `lengths` i32 [rows], the tokens that are there; a full
// sequence loses its first token. Random ops of the model draw other numbers for every token,
// because the number of the step goes up.
#include <string.h>
#include "runtime/train/rank/rank.h"

typedef struct generation {
  gr_rank *r;
  const gr_step_values *values;
  const gr_program *p;
  gr_batch batch;  // the data's, with x and lengths of its own
  int32_t *x, *lengths;
  int64_t rows, context;
  gr_exec_tensor next;
  void *staging;
} generation;

static gr_status not_continued(const char *what) {
  return gr_hint(gr_fail(GR_ERR_CONFIG, GR_NOWHERE, "--tokens continues text, but %s", what),
                 "graphs/gpt.yaml is a model whose `predict:` names next, an i32 [n], the token "
                 "that follows, and whose inputs are x and lengths (data.source=corpus)");
}

// A field of the batch in memory of its own, if its type is that of tokens.
static int32_t *own_field(generation *g, gr_arena *a, const char *name, int rank) {
  for (int i = 0; i < g->batch.n_fields; i++) {
    gr_field *f = &g->batch.field[i];
    if (strcmp(f->name, name) || f->type.dtype != GR_I32 || f->type.rank != rank) continue;
    size_t bytes = gr_type_bytes(&f->type);
    void *own = gr_arena_alloc(a, bytes + 1);
    memcpy(own, f->at, bytes);
    if (rank == 2) g->rows = f->type.dim[0], g->context = f->type.dim[1];
    f->at = own;
    return own;
  }
  return NULL;
}

static gr_status open_generation(generation *g, gr_arena *a) {
  g->x = own_field(g, a, "x", 2);
  g->lengths = own_field(g, a, "lengths", 1);
  if (!g->x || !g->lengths) return not_continued("the data has no x of tokens, or no lengths");
  g->next = gr_exec_result(g->r->exec, g->p, "predict.next");
  if (!g->next.at || g->next.type.dtype != GR_I32 || g->next.type.rank != 1)
    return not_continued("the model does not predict `next`");
  g->staging = gr_arena_alloc(a, gr_exec_staging(g->r->exec, &g->next) + 1);
  return GR_OK;
}

// Random ops draw by this number. Only this process sees it: nothing is saved.
static gr_status count_step(gr_rank *r) {
  for (uint32_t i = 0; i < r->spec->plan->n_states; i++) {
    const gr_plan_state *s = &r->spec->plan->states[i];
    int32_t now = 0;
    if (strcmp(s->name, "step")) continue;
    gr_exec_tensor t = gr_exec_state(r->exec, s);
    GR_TRY(gr_exec_read(r->exec, &t, &now));
    GR_TRY(gr_exec_wait(r->exec));
    now++;
    GR_TRY(gr_exec_write(r->exec, &t, &now));
    GR_TRY(gr_exec_wait(r->exec));
  }
  return GR_OK;
}

static void append(const generation *g, int64_t row, int32_t token) {
  int32_t *x = g->x + row * g->context, *n = &g->lengths[row];
  if (*n >= g->context) {
    memmove(x, x + 1, sizeof *x * (size_t)(g->context - 1));
    *n = (int32_t)g->context - 1;
  }
  x[(*n)++] = token;
}

static gr_status run_again(generation *g) {
  GR_TRY(count_step(g->r));
  GR_TRY(gr_run_write_inputs(g->r, g->values, g->p, &g->batch, 0));
  return gr_exec_run(g->r->exec, g->p);
}

gr_status gr_run_generate(gr_rank *r, const gr_step_values *values, gr_arena *a, const gr_batch *b,
                          int64_t tokens, const int32_t **out) {
  generation g = {.r = r, .values = values, .p = r->eval->at[b->bucket], .batch = *b};
  GR_TRY(open_generation(&g, a));
  int32_t *made = GR_NEW(a, int32_t, g.rows * tokens + 1);
  for (int64_t k = 0; k < tokens; k++) {
    const void *next;
    if (k) GR_TRY(run_again(&g));
    GR_TRY(gr_exec_view(r->exec, &g.next, g.staging, &next));
    for (int64_t row = 0; row < g.rows; row++) {
      made[row * tokens + k] = ((const int32_t *)next)[row];
      append(&g, row, made[row * tokens + k]);
    }
  }
  *out = made;
  return count_step(r);
}
