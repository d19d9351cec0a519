// steps.c - see steps.h.
#include "tests/compiler/steps.h"
#include <math.h>
#include <pthread.h>
#include <string.h>
#include "runtime/comm/comm.h"
#include "runtime/exec/exec.h"
#include "tests/compiler/optim.h"
#include "tests/on_host.h"

enum { C = 5 };

// Labels weigh by their class, so what the loss is divided by differs from sample to sample.
static const char model[] =
    "inputs: {x: {shape: [n, 5]}, y: {shape: [n], dtype: i32}}\n"
    "params: {p: 0.0}\n"
    "nodes:\n"
    "  - h: {linear: x, out: 6, name: body}\n"
    "  - h: {tanh: h}\n"
    "  - h: {dropout: h, p: p}\n"
    "  - logits: {linear: h, out: 4, name: head}\n"
    "  - classes: {param: [4], init: uniform, low: 0.5, high: 2.0, train: false}\n"
    "  - loss: {cross_entropy: [logits, y, classes]}\n"
    "  - acc: {accuracy: [logits, y]}\n"
    "train: loss\n"
    "metrics: {accuracy: acc}\n";

const way steps_ways[STEPS_WAYS] = {{"ddp", NULL, false, false},
                                    {"zero1", "dp", false, false},
                                    {"zero2", "dp", false, true},
                                    {"fsdp", "dp", true, true}};
static const gr_layout_rule all_split[] = {{"*", "dp", GR_ANY_DIM}};

// The axis of virtual shards: the last, or the first where gradients are scattered.
static gr_mesh mesh_of(const setup *s) {
  gr_mesh dp = {.n_axes = 1, .axis = {{"dp", s->ranks}}};
  if (!s->shards) return dp;
  return s->way->scatter
             ? (gr_mesh){.n_axes = 2, .axis = {{GR_VIRTUAL_AXIS, s->parts}, {"dp", s->ranks}}}
             : (gr_mesh){.n_axes = 2, .axis = {{"dp", s->ranks}, {GR_VIRTUAL_AXIS, s->parts}}};
}

int steps_rows(const setup *s) {
  int of_rank = (s->batch + s->ranks - 1) / s->ranks;
  return (of_rank + s->parts - 1) / s->parts;
}

gr_status steps_plan_of(gr_arena *a, const setup *s, const char *text, const gr_bucket *buckets,
                        int n_buckets, gr_plan **out) {
  gr_conf *graph, *params;
  GR_TRY(gr_conf_parse(a, "model.yaml", text, &graph));
  GR_TRY(gr_conf_parse(a, "params.yaml", s->params ? s->params : "{}", &params));
  gr_dim dims[] = {{"n", steps_rows(s) * (s->shards ? s->shards : s->ranks)}};
  const char *optimizer = s->optimizer ? s->optimizer : "sgd";
  const void *attr = optim_attr(a, optimizer, s->tuning ? s->tuning : "");
  gr_plan_request r = {
      .model = {.graph = graph,
                .params = params,
                .dims = dims,
                .n_dims = 1,
                .seed = 3,
                .mesh = mesh_of(s),
                .batch_axis = {"dp", s->shards ? GR_VIRTUAL_AXIS : NULL},
                .norm_groups = !s->by_rank_norm ? 1
                               : s->shards      ? s->shards
                                                : s->ranks,
                .by_rank = s->by_rank},
      .options = {.optimizer.name = optimizer,
                  .optimizer.attr = attr,
                  .optimizer.attr_1d = s->tuning_1d ? optim_attr(a, optimizer, s->tuning_1d) : NULL,
                  .optimizer.groups = s->groups,
                  .optimizer.n_groups = s->n_groups,
                  .optimizer.grad_clip = s->clip,
                  .optimizer.grad_clip_value = s->clip_value,
                  .optimizer.ema_decay.given = s->has_ema,
                  .optimizer.ema_decay.value = s->ema_decay,
                  .batch.micro_batches = s->parts,
                  .sharding.zero_axis = s->way->zero,
                  .sharding.scatter = s->way->scatter,
                  .sharding.shards_each = s->shards ? s->parts : 0,
                  .debug.coalesce_bytes = s->joined,
                  .sharding.rules = all_split,
                  .sharding.n_rules = s->way->weights},
      .buckets = buckets,
      .n_buckets = n_buckets,
      .train = true,
      .eval = true};
  return gr_plan_build(a, &r, out);
}

gr_status steps_plan(gr_arena *a, const setup *s, gr_plan **out) {
  return steps_plan_of(a, s, s->model ? s->model : model, &(gr_bucket){.name = ""}, 1, out);
}

gr_status steps_plan_programs(gr_arena *arena, const char *text, const char *only,
                              gr_options options, gr_plan **out) {
  gr_conf *graph;
  const char **of;
  GR_TRY(gr_conf_parse(arena, "model.yaml", text, &graph));
  int all = gr_model_program_names(arena, graph, &of), n = 0;
  gr_model_program *programs = GR_NEW(arena, gr_model_program, all);
  for (int i = 0; i < all; i++)
    if (!only || strstr(only, of[i]))
      GR_TRY(gr_model_program_read(arena, graph, of[i], &programs[n++]));
  gr_dim dims[] = {{"n", 12}};
  gr_bucket bucket = {.name = "all"};
  gr_plan_request r = {.model = {.graph = graph,
                                 .dims = dims,
                                 .n_dims = 1,
                                 .mesh = {.n_axes = 1, .axis = {{"dp", 2}}},
                                 .batch_axis = {"dp"}},
                       .options = options,
                       .train = true,
                       .eval = true,
                       .buckets = &bucket,
                       .n_buckets = 1,
                       .programs = programs,
                       .n_programs = n};
  return gr_plan_build(arena, &r, out);
}

// ---- A rank -------------------------------------------------------------------------------

typedef struct member {
  const setup *s;
  const gr_plan *plan;
  gr_comm *world;
  gr_status status;
  float state[64][STEPS_NUMBERS];
  double loss, accuracy, norm, ok, eval_loss;
} member;

static double x_at(int step, int sample, int c) {
  return sin(1.0 + 7 * step + C * sample + c) + (c == sample % C);
}

static void put(gr_exec *e, const gr_program *p, const char *name, int64_t i, double value) {
  gr_type t;
  void *data = input_on_host(e, p, name, &t);
  if (data) gr_put(data, t.dtype, i, value);
}

// The rows of a micro-step: those past the batch weigh 0, and hold what must not matter.
static void fill(const member *m, gr_exec *e, const gr_program *p, int step, int part) {
  int rows = steps_rows(m->s);
  for (int i = 0; i < rows; i++) {
    bool interleaved = m->s->shards && m->s->way->scatter;
    int sample =
        (interleaved ? part * m->s->ranks + m->world->rank : m->world->rank * m->s->parts + part) *
            rows +
        i;
    int like = m->s->alike ? 0 : m->s->first + sample;
    for (int c = 0; c < C; c++) put(e, p, "x", i * C + c, x_at(step, like, c));
    if (m->s->bad != 0 && step == 1 && sample == 0) put(e, p, "x", i * C, (double)m->s->bad);
    put(e, p, "y", i, like * 7 % 4);
    put(e, p, "weight", i, sample < m->s->batch);
  }
  put(e, p, "micro", 0, part);
  put(e, p, "lr", 0, (double)m->s->rate);
}

static double scalar(gr_exec *e, const gr_program *p, const char *name) {
  gr_type t;
  const void *data = result_on_host(e, p, name, &t);
  return data ? gr_get(data, t.dtype, 0) : (double)NAN;
}

static double mean(gr_exec *e, const gr_program *p, const char *name) {
  char sum[64], weight[64];
  snprintf(sum, sizeof sum, "metric.%s.sum", name);
  snprintf(weight, sizeof weight, "metric.%s.weight", name);
  return scalar(e, p, sum) / scalar(e, p, weight);
}

static gr_status run_steps(member *m, gr_exec *e) {
  const gr_program *p =
      gr_plan_find(m->plan, m->s->parts > 1 || m->s->shards ? "train.micro" : "train", "");
  const gr_program *update = gr_plan_find(m->plan, "train.update", ""), *last = update ? update : p;
  GR_TRY(gr_exec_run(e, gr_plan_find(m->plan, "init", "")));
  if (m->s->has_ema) GR_TRY(gr_exec_run(e, gr_plan_find(m->plan, "ema", "")));
  for (int step = 0; step < m->s->steps; step++) {
    for (int part = 0; part < m->s->parts; part++) {
      fill(m, e, p, step, part);
      gr_exec_set_shard(e, part, false);
      GR_TRY(gr_exec_run(e, p));
    }
    if (update) {
      put(e, update, "lr", 0, (double)m->s->rate);
      GR_TRY(gr_exec_run(e, update));
    }
    if (m->s->bad == 0 || step == 1) m->ok = scalar(e, last, "ok");
  }
  m->loss = mean(e, last, "loss"), m->accuracy = mean(e, last, "accuracy");
  m->norm = scalar(e, last, "grad_norm");
  return GR_OK;
}

// A micro-step's rows of a rank, as evaluation takes them: the first of the batch of step 0.
static gr_status run_eval(member *m, gr_exec *e) {
  const gr_program *p = gr_plan_find(m->plan, "eval", "");
  fill(m, e, p, 0, 0);
  GR_TRY(gr_exec_run(e, p));
  m->eval_loss = mean(e, p, "loss");
  return GR_OK;
}

static gr_status run_rank(member *m) {
  gr_comm *axes[GR_MAX_MESH] = {0};
  gr_exec *e;
  GR_TRY(gr_comm_mesh(m->world, &m->plan->mesh, axes));
  gr_exec_options o = {.threads = 1, .comm = axes, .rank = m->world->rank};
  GR_TRY(gr_exec_open(m->plan, &o, &e));
  gr_status s = run_steps(m, e);
  if (!s && m->s->has_eval) s = run_eval(m, e);
  for (uint32_t i = 0; i < m->plan->n_states; i++)
    memcpy(m->state[i], state_on_host(e, &m->plan->states[i]), m->plan->states[i].bytes);
  gr_exec_close(e);
  gr_comm_mesh_close(axes, &m->plan->mesh);
  return s;
}

static void *run_thread(void *arg) {
  member *m = arg;
  m->status = run_rank(m);
  return NULL;
}

// ---- All of them --------------------------------------------------------------------------

// Puts a rank's part of a state into the whole; what is beyond it in memory must be zero.
static gr_status put_part(const member *m, uint32_t state, int rank, float *whole) {
  const gr_plan_state *p = &m->plan->states[state];
  int64_t first[GR_MAX_RANK], size[GR_MAX_RANK], n = 1, all = gr_type_count(&p->type);
  gr_layout_slice(&p->global, &p->layout, &m->plan->mesh, rank, first, size);
  for (int d = 0; d < p->type.rank; d++) n *= size[d];
  for (int64_t i = 0; i < all; i++) {
    int64_t rest = i, index = 0, stride = 1;
    for (int d = p->type.rank; d-- && i < n; stride *= p->global.dim[d]) {
      index += (rest % size[d] + first[d]) * stride;
      rest /= size[d];
    }
    if (i < n) whole[index] = m->state[state][i];
    if (i >= n && m->state[state][i] != 0)
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the padding of %s on rank %d is %g", p->name, rank,
                     (double)m->state[state][i]);
  }
  return GR_OK;
}

// Appends a state, whole, from the ranks' parts.
static gr_status gather(const setup *s, const member *m, uint32_t state, ran *out) {
  const gr_type *t = &m->plan->states[state].global;
  for (int r = 0; r < s->ranks; r++) GR_TRY(put_part(&m[r], state, r, out->weights + out->n));
  out->n += (int)gr_type_count(t);
  return GR_OK;
}

// Padding is zero, and what ranks hold whole is the same on all of them, to the bit.
static gr_status check_states(const setup *s, const member *m) {
  static float whole[STEPS_NUMBERS];
  for (uint32_t i = 0; i < m->plan->n_states; i++) {
    const gr_plan_state *p = &m->plan->states[i];
    bool same = true;
    for (int r = 0; r < s->ranks; r++) {
      GR_TRY(put_part(&m[r], i, r, whole));
      same &= !memcmp(m[r].state[i], m->state[i], p->bytes);
    }
    if (!same && p->kind != GR_KIND_GRAD_ACCUMULATOR && gr_type_same(&p->type, &p->global))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "%s differs between ranks", p->name);
  }
  return GR_OK;
}

static gr_status run_ranks(member *m, gr_loopback *all, const setup *s, gr_plan *plan) {
  pthread_t thread[STEPS_RANKS];
  for (int i = 0; i < s->ranks; i++) {
    m[i] = (member){.s = s, .plan = plan, .world = gr_loopback_comm(all, i)};
    pthread_create(&thread[i], NULL, run_thread, &m[i]);
  }
  for (int i = 0; i < s->ranks; i++) pthread_join(thread[i], NULL);
  gr_status first = GR_OK;
  for (int i = 0; i < s->ranks; i++) first = gr_also(first, m[i].status);
  return first;
}

gr_status steps_run(const setup *s, ran *out) {
  static const char *const default_names[] = {"body.weight", "body.bias", "head.weight",
                                              "head.bias", NULL};
  const char *const *names = s->names ? s->names : default_names;
  static member m[STEPS_RANKS];
  gr_arena *a = gr_arena_create();
  gr_plan *plan;
  gr_loopback *all;
  *out = (ran){0};
  GR_TRY(steps_plan(a, s, &plan));
  GR_TRY(gr_loopback_create(s->ranks, 60, &all));
  gr_status st = run_ranks(m, all, s, plan);
  for (int k = 0; names[k]; k++)
    for (uint32_t i = 0; i < plan->n_states; i++)
      if (!strcmp(plan->states[i].name, names[k]) && !st) st = gather(s, m, i, out);
  if (!st) st = check_states(s, m);
  out->loss = m[0].loss, out->accuracy = m[0].accuracy, out->norm = m[0].norm, out->ok = m[0].ok;
  out->eval_loss = m[0].eval_loss;
  gr_loopback_destroy(all);
  gr_arena_destroy(a);
  return st;
}
