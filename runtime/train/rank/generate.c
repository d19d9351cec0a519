// generate.c - continues sequences of tokens. See rank.h.
//
// A model that generates has predicted `tokens` with `lengths`, up to the end of its context
// (graphs/gpt.yaml). What is still missing of sequences that fill the context, and all of a model
// that does not generate, is made token by token: the prediction `next` is put behind what was
// there, and the model is run again, on the last tokens that its context takes.
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
  int64_t rows, context, tokens;
  gr_exec_tensor next, made, n_made;  // made, n_made: of a model that generates
  void *staging;
  bool *ended;  // by row: a token has ended it
  gr_generated out;
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
    void *copy = gr_arena_alloc(a, bytes + 1);
    memcpy(copy, f->data, bytes);
    if (rank == 2) g->rows = f->type.dim[0], g->context = f->type.dim[1];
    f->data = copy;
    return copy;
  }
  return NULL;
}

// Memory for the values of a tensor, if the host cannot see them where they are.
static void *staging_of(const generation *g, gr_arena *a, const gr_exec_tensor *t) {
  return gr_arena_alloc(a, gr_exec_staging(g->r->exec, t) + 1);
}

static gr_status open_generation(generation *g, gr_arena *a) {
  g->x = own_field(g, a, "x", 2);
  g->lengths = own_field(g, a, "lengths", 1);
  if (!g->x || !g->lengths) return not_continued("the data has no x of tokens, or no lengths");
  g->next = gr_exec_result(g->r->exec, g->p, "predict.next");
  if (!g->next.address || g->next.type.dtype != GR_I32 || g->next.type.rank != 1)
    return not_continued("the model does not predict `next`");
  g->staging = staging_of(g, a, &g->next);
  g->made = gr_exec_result(g->r->exec, g->p, "predict.tokens");
  g->n_made = gr_exec_result(g->r->exec, g->p, "predict.lengths");
  bool generates = g->made.address && g->made.type.dtype == GR_I32 && g->made.type.rank == 2 &&
                   g->n_made.address && g->n_made.type.dtype == GR_I32 && g->n_made.type.rank == 1;
  if (!generates) g->made.address = NULL;
  g->out.tokens = GR_NEW(a, int32_t, g->rows * g->tokens + 1);
  g->out.n = GR_NEW(a, int64_t, g->rows + 1);
  g->ended = GR_NEW(a, bool, g->rows + 1);
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

static bool is_complete(const generation *g, int64_t row) {
  return g->ended[row] || g->out.n[row] >= g->tokens;
}

static void append(const generation *g, int64_t row, int32_t token) {
  int32_t *x = g->x + row * g->context, *n = &g->lengths[row];
  if (*n >= g->context) {
    memmove(x, x + 1, sizeof *x * (size_t)(g->context - 1));
    *n = (int32_t)g->context - 1;
  }
  x[(*n)++] = token;
}

static void add_token(generation *g, int64_t row, int32_t token) {
  g->out.tokens[row * g->tokens + g->out.n[row]++] = token;
  append(g, row, token);
}

// Takes what the model has generated. *left is then the most tokens that a sequence lacks: one that
// does not fill the context lacks none, because a token has ended it.
static gr_status take_generated(generation *g, gr_arena *a, int64_t *left) {
  const void *tokens, *counts;
  *left = g->tokens;
  if (!g->made.address) return GR_OK;
  int64_t most = g->made.type.dim[1];
  GR_TRY(gr_exec_view(g->r->exec, &g->made, staging_of(g, a, &g->made), &tokens));
  GR_TRY(gr_exec_view(g->r->exec, &g->n_made, staging_of(g, a, &g->n_made), &counts));
  *left = 0;
  for (int64_t row = 0; row < g->rows; row++) {
    int64_t n = ((const int32_t *)counts)[row];
    for (int64_t k = 0; k < n && k < most && k < g->tokens; k++)
      add_token(g, row, ((const int32_t *)tokens)[row * most + k]);
    bool open = g->lengths[row] >= g->context;
    if (open && g->tokens - g->out.n[row] > *left) *left = g->tokens - g->out.n[row];
    if (!open) g->ended[row] = true;
  }
  return GR_OK;
}

// A sequence that is complete is given as one that fills the context: nothing is generated for it.
static gr_status run_again(generation *g) {
  for (int64_t row = 0; row < g->rows; row++)
    if (is_complete(g, row)) g->lengths[row] = (int32_t)g->context;
  GR_TRY(count_step(g->r));
  GR_TRY(gr_run_write_batch(g->r, g->p, &g->batch));
  GR_TRY(gr_run_write_values(g->r, g->values, g->p, 0));
  return gr_exec_run(g->r->exec, g->p);
}

// All ranks run the model as often, as its collectives need: as often as one of them must.
static gr_status most_of_ranks(gr_rank *r, gr_arena *a, int64_t *n) {
  int32_t here = (int32_t)*n, *all = GR_NEW(a, int32_t, r->ranks);
  GR_TRY(gr_comm_run(r->world, GR_ALL_GATHER, GR_I32, 1, &here, all));
  for (int i = 0; i < r->ranks; i++) *n = all[i] > *n ? all[i] : *n;
  return GR_OK;
}

gr_status gr_run_generate(gr_rank *r, const gr_step_values *values, gr_arena *a, const gr_batch *b,
                          int64_t tokens, gr_generated *out) {
  generation g = {
      .r = r, .values = values, .p = r->eval->of_bucket[b->bucket], .batch = *b, .tokens = tokens};
  int64_t left;
  GR_TRY(open_generation(&g, a));
  GR_TRY(take_generated(&g, a, &left));
  GR_TRY(most_of_ranks(r, a, &left));
  for (int64_t k = 0; k < left; k++) {
    const void *next;
    bool goes_on;
    GR_TRY(gr_run_all_ok(r, !gr_run_signalled(), &goes_on));
    if (!goes_on) break;  // what comes next asks, too, and ends the run
    if (k || g.made.address) GR_TRY(run_again(&g));
    GR_TRY(gr_exec_view(r->exec, &g.next, g.staging, &next));
    for (int64_t row = 0; row < g.rows; row++)
      if (!is_complete(&g, row)) add_token(&g, row, ((const int32_t *)next)[row]);
  }
  *out = g.out;
  return count_step(r);
}
