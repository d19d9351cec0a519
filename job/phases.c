// phases.c - see parts.h.
#include <string.h>
#include "job/parts.h"

enum { MAX_DEPTH = 16 };
static const int64_t MAX_RUNS = INT64_C(1) << 40;  // of programs in a pass

// ---- The programs of a run --------------------------------------------------------------------

typedef struct reader {
  gr_arena *arena;
  gr_conf *graph;
  const char **names;  // of the model's programs
  int n_names;
  bool *used;  // by name: it is in the loop
  int depth;
} reader;

static int find_name(const reader *r, const char *name) {
  for (int i = 0; i < r->n_names; i++)
    if (!strcmp(r->names[i], name)) return i;
  return -1;
}

static const char *list_names(const reader *r) {
  gr_text t = gr_text_make(r->arena);
  for (int i = 0; i < r->n_names; i++)
    if (strcmp(r->names[i], gr_model_eval) != 0 && !gr_model_program_inputs(r->graph, r->names[i]))
      gr_text_printf(&t, "%s%s", t.len ? ", " : "", r->names[i]);
  return t.len ? t.chars : "none";
}

// ---- Reading ----------------------------------------------------------------------------------

static gr_status read_name(reader *r, const gr_conf *c, gr_phase *out) {
  out->program = find_name(r, c->text);
  if (!strcmp(c->text, gr_model_eval))
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "'eval' is no phase of the loop"),
                   "training.eval_every says after how many passes it runs");
  if (out->program >= 0 && gr_model_program_inputs(r->graph, c->text))
    return gr_hint(
        gr_fail(GR_ERR_CONFIG, c->loc,
                "the program '%s' takes inputs of its own, which a run does not have", c->text),
        "`graphrun export RUN %s.onnx --program=%s` writes it for other programs", c->text,
        c->text);
  if (out->program < 0) {
    gr_status s = gr_fail(GR_ERR_CONFIG, c->loc, "the model has no program '%s'", c->text);
    s = gr_hint_near(s, c->text, r->names, r->n_names);
    return gr_hint(s, "it has: %s", list_names(r));
  }
  r->used[out->program] = true;
  return GR_OK;
}

static gr_status read_phase(reader *, gr_conf *, gr_phase *out);

static gr_status read_list(reader *r, gr_conf *c, gr_phase *out) {
  gr_status all = GR_OK;
  if (!c->n)
    return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "a loop of nothing"), "loop: [rollout, update]");
  out->program = -1;
  out->list = GR_NEW(r->arena, gr_phase, c->n);
  out->n = c->n;
  if (r->depth++ == MAX_DEPTH)
    return gr_fail(GR_ERR_CONFIG, c->loc, "phases are nested deeper than %d", MAX_DEPTH);
  for (int i = 0; i < c->n; i++) all = gr_also(all, read_phase(r, c->items[i], &out->list[i]));
  r->depth--;
  return all;
}

static gr_status read_over(const gr_conf *c, gr_phase *out) {
  static const char *const words[] = {
      [GR_OVER_MINIBATCHES] = "minibatches", [GR_OVER_DATA] = "data"};
  for (int i = GR_OVER_MINIBATCHES; i <= GR_OVER_DATA && c->kind == GR_CONF_TEXT; i++)
    if (!strcmp(c->text, words[i])) {
      out->over = (gr_phase_over)i;
      return GR_OK;
    }
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc, "a phase cannot go over this"),
                 "minibatches: those of a pass over the rows of its program; data: the batches of "
                 "an epoch");
}

static gr_status unknown_key(const gr_conf *c, int i) {
  static const char *const keys[] = {"do", "repeat", "over"};
  gr_status s = gr_fail(GR_ERR_CONFIG, c->items[i]->key_loc, "a phase has no key '%s'", c->keys[i]);
  return gr_hint(gr_hint_near(s, c->keys[i], keys, 3),
                 "{repeat: 10, over: minibatches, do: update}");
}

static gr_status read_map(reader *r, gr_conf *c, gr_phase *out) {
  gr_conf *what = NULL;
  for (int i = 0; i < c->n; i++) {
    gr_conf *item = c->items[i];
    if (!strcmp(c->keys[i], "do")) {
      what = item;
    } else if (!strcmp(c->keys[i], "over")) {
      GR_TRY(read_over(item, out));
    } else if (strcmp(c->keys[i], "repeat") != 0) {
      return unknown_key(c, i);
    } else {
      if (item->kind != GR_CONF_INT || item->integer < 1 || item->integer > MAX_RUNS)
        return gr_fail(GR_ERR_CONFIG, item->loc, "repeat: is a number of times, at least 1");
      out->repeat = item->integer;
    }
  }
  if (!what || (what->kind != GR_CONF_TEXT && what->kind != GR_CONF_LIST))
    return gr_hint(gr_fail(GR_ERR_CONFIG, what ? what->loc : c->loc,
                           "a phase needs 'do', the name of a program or a list of phases"),
                   "{repeat: 10, over: minibatches, do: update}");
  return what->kind == GR_CONF_TEXT ? read_name(r, what, out) : read_list(r, what, out);
}

static gr_status read_phase(reader *r, gr_conf *c, gr_phase *out) {
  *out = (gr_phase){.loc = c->loc, .program = -1, .repeat = 1};
  if (c->kind == GR_CONF_TEXT) return read_name(r, c, out);
  if (c->kind == GR_CONF_LIST) return read_list(r, c, out);
  if (c->kind == GR_CONF_MAP) return read_map(r, c, out);
  return gr_hint(gr_fail(GR_ERR_CONFIG, c->loc,
                         "a phase is the name of a program, a list or {do: "
                         "...}, found %s",
                         gr_conf_a_kind(c->kind)),
                 "loop: [rollout, {repeat: 10, over: minibatches, do: update}]");
}

// ---- Without loop: ----------------------------------------------------------------------------

static gr_status needs_loop(const reader *r) {
  for (int i = 0; i < r->n_names; i++)
    if (strcmp(r->names[i], gr_model_train) != 0 && strcmp(r->names[i], gr_model_eval) != 0 &&
        !gr_model_program_inputs(r->graph, r->names[i]))
      return gr_hint(
          gr_fail(GR_ERR_CONFIG, gr_model_program_loc(r->graph, r->names[i]),
                  "the run has no 'loop:', which says when the program '%s' runs", r->names[i]),
          "loop: [%s]; without it a run is epochs of train", list_names(r));
  return GR_OK;
}

static void take_program(gr_run_spec *spec, gr_model_program *programs, const char *name) {
  programs[spec->n_programs] = (gr_model_program){.name = name};
  spec->programs[spec->n_programs++] = name;
}

// Training takes epochs of train; what uses weights takes eval alone.
static gr_status read_short(const reader *r, gr_run_spec *spec, gr_model_program *programs) {
  if (spec->kind == GR_RUN_TRAIN) GR_TRY(needs_loop(r));
  take_program(spec, programs, gr_model_train);
  take_program(spec, programs, gr_model_eval);
  spec->loop = (gr_phase){.loc = spec->conf->loc, .repeat = 1, .over = GR_OVER_DATA};
  return GR_OK;
}

// ---- With it ----------------------------------------------------------------------------------

// Numbers the programs that the run has, and gives the phases these numbers.
static void renumber(gr_phase *p, const int *number) {
  if (p->program >= 0) p->program = number[p->program];
  for (int i = 0; i < p->n; i++) renumber(&p->list[i], number);
}

static void take_programs(const reader *r, gr_run_spec *spec, gr_model_program *programs) {
  int *number = GR_NEW(r->arena, int, r->n_names + 1);
  bool trains = spec->kind == GR_RUN_TRAIN;
  for (int i = 0; i < r->n_names; i++) {
    bool eval = !strcmp(r->names[i], gr_model_eval);
    number[i] = spec->n_programs;
    if (eval || (trains && r->used[i])) take_program(spec, programs, r->names[i]);
    if (trains && !eval && !r->used[i] && !gr_model_program_inputs(r->graph, r->names[i]))
      gr_log(GR_WARN, "the program '%s' of the model is never run: `loop:` does not name it",
             r->names[i]);
  }
  if (trains) renumber(&spec->loop, number);
}

static gr_status read_loop(reader *r, gr_conf *list, gr_run_spec *spec,
                           gr_model_program *programs) {
  gr_conf_mark(list);
  spec->looped = true;
  if (list->kind != GR_CONF_LIST)
    return gr_hint(gr_fail(GR_ERR_CONFIG, list->loc, "loop: is a list of phases, found %s",
                           gr_conf_a_kind(list->kind)),
                   "loop: [rollout, {repeat: 10, over: minibatches, do: update}]");
  GR_TRY(read_phase(r, list, &spec->loop));
  take_programs(r, spec, programs);
  return GR_OK;
}

static gr_status check_trains(const gr_run_spec *spec, const gr_model_program *programs) {
  for (int i = 0; i < spec->n_programs; i++)
    if (programs[i].trains) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_CONFIG, spec->loop.loc, "no program of the loop trains anything"),
                 "a program that has a 'loss' trains the weights that it depends on");
}

gr_status gr_phases_read(gr_arena *arena, gr_conf *graph, gr_run_spec *spec,
                         const gr_model_program **out) {
  reader r = {.arena = arena, .graph = graph};
  gr_conf *list = gr_conf_find(spec->conf, "loop");
  r.n_names = gr_model_program_names(arena, graph, &r.names);
  r.used = GR_NEW(arena, bool, r.n_names + 1);
  gr_model_program *programs = GR_NEW(arena, gr_model_program, r.n_names + 3);
  spec->programs = GR_NEW(arena, const char *, r.n_names + 3);
  spec->n_programs = 0;
  bool looped = list && list->kind != GR_CONF_NULL;
  GR_TRY(looped ? read_loop(&r, list, spec, programs) : read_short(&r, spec, programs));
  for (int i = 0; i < spec->n_programs; i++)
    GR_TRY(gr_model_program_read(arena, graph, spec->programs[i], &programs[i]));
  *out = programs;
  return looped && spec->kind == GR_RUN_TRAIN ? check_trains(spec, programs) : GR_OK;
}

// ---- Counting ---------------------------------------------------------------------------------

// The first program of the plan of that name.
static const gr_program *program_of(const gr_run_spec *spec, int i) {
  const char *name = spec->programs[i];
  size_t n = strlen(name);
  for (uint32_t k = 0; k < spec->plan->n_programs; k++) {
    const gr_program *p = &spec->plan->programs[k];
    if (!strncmp(p->kind, name, n) && (!p->kind[n] || p->kind[n] == '.')) return p;
  }
  return NULL;
}

// Sets *n to the number of minibatches that all programs of a phase have, or fails.
static gr_status count_minibatches(const gr_run_spec *spec, const gr_phase *of, const gr_phase *p,
                                   int64_t *n) {
  gr_status all = GR_OK;
  for (int i = 0; i < p->n; i++) all = gr_also(all, count_minibatches(spec, of, &p->list[i], n));
  if (p->program < 0) return all;
  const char *name = spec->programs[p->program];
  int64_t count = program_of(spec, p->program)->minibatches;
  if (!count)
    return gr_hint(gr_fail(GR_ERR_CONFIG, of->loc,
                           "over: minibatches, but the program '%s' selects none", name),
                   "in the model: %s: {over: {rows: [BUFFER], of: 128}, ...}", name);
  if (*n && count != *n)
    return gr_hint(gr_fail(GR_ERR_CONFIG, of->loc,
                           "'%s' has %lld minibatches, and another program of this phase %lld",
                           name, (long long)count, (long long)*n),
                   "a phase for each, or minibatches of as many rows");
  *n = count;
  return GR_OK;
}

static gr_status count(gr_run_spec *spec, gr_phase *p) {
  int64_t over = p->over == GR_OVER_DATA ? gr_contract_batches(spec->contract, GR_SPLIT_TRAIN,
                                                               spec->set.options.batch.global,
                                                               spec->set.options.batch.global_of)
                                         : 0;
  if (p->over == GR_OVER_MINIBATCHES) GR_TRY(count_minibatches(spec, p, p, &over));
  if (p->over == GR_OVER_DATA && !over && spec->looped)
    return gr_hint(gr_fail(GR_ERR_CONFIG, p->loc, "over: data, but there is no training data"),
                   "data.source");
  p->runs = p->program >= 0;
  p->steps = p->program >= 0 && program_of(spec, p->program)->trains;
  for (int i = 0; i < p->n; i++) {
    GR_TRY(count(spec, &p->list[i]));
    p->runs += p->list[i].runs, p->steps += p->list[i].steps;
  }
  if (!p->over) over = 1;
  if ((double)p->repeat * (double)over * (double)p->runs > (double)MAX_RUNS)
    return gr_fail(GR_ERR_CONFIG, p->loc, "a pass through the loop has more than 2^40 runs");
  p->times = p->repeat * over;
  p->runs *= p->times, p->steps *= p->times;
  return GR_OK;
}

gr_status gr_phases_count(gr_run_spec *spec) {
  return spec->kind == GR_RUN_TRAIN ? count(spec, &spec->loop) : GR_OK;
}
