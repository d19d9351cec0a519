// calibrate.c - writes what this machine does in a second as a description that `graphrun plan
// --cluster` reads. See findings.h.
//
// Rates are those of one thread, by the time that it has had a processor, so that other programs
// change them little. Each is of the fastest quarter of some rounds, as tools/bench-scale takes
// steps, over calls of usual sizes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/port.h"
#include "base/sort.h"
#include "cli/check/findings.h"
#include "job/cluster.h"
#include "job/version.h"
#include "ops/kernels/cpu.h"
#include "ops/ops.h"

enum { ROUNDS = 9 };
static const double round_s = 2e-3;     // of a round, at least
static const double least_share = 0.1;  // of calls' time, of the work that is measured by them

// One of the calls by whose time together a rate is measured: its attributes as text, those that
// have no default, and its operands, of which those in f32 are of the dtype that is measured.
typedef struct timed {
  const char *op, *attrs, *in[GR_CASE_ARGS];
} timed;
enum { CALLS = 2 };

#define BLOCK "f32[1024,128]"  // in the caches, as what the call before it has made
#define HEADS "f32[4,256,4,64]"
static const timed calls[GR_EFFORTS][CALLS] = {
    [GR_EFFORT_MATMUL] = {{"matmul", "tb=true", {"f32[2048,192]", "f32[192,192]"}},
                          {"matmul", "ta=true", {"f32[2048,128]", "f32[2048,128]"}}},
    [GR_EFFORT_PACKED] = {{"matmul_packed", "columns=512", {"f32[8,512]", "f32[576,512]"}}},
    [GR_EFFORT_ATTENTION] = {{"attention", "", {HEADS, HEADS, HEADS}}},
    [GR_EFFORT_CONV] = {{"conv2d", "pad=[1]", {"f32[16,24,24,16]", "f32[16,16,3,3]"}},
                        {"conv_grad_w",
                         "pad=[1] size=[3,3]",
                         {"f32[16,24,24,16]", "f32[16,24,24,16]"}}},
    [GR_EFFORT_CONV3] = {{"conv3d", "pad=[1]", {"f32[16,8,16,16,4]", "f32[8,4,3,3,3]"}},
                         {"conv_grad_x",
                          "pad=[1] size=[4,8,8]",
                          {"f32[16,8,3,3,3]", "f32[16,4,8,8,16]"}}},
    [GR_EFFORT_CONV3_GRAD] =
        {{"conv_grad_w", "pad=[1] size=[3,3,3]", {"f32[16,9,16,16,4]", "f32[16,9,16,16,8]"}},
         {"conv_grad_w", "pad=[1] size=[3,3,3]", {"f32[16,4,8,8,8]", "f32[16,4,8,8,16]"}}},
    [GR_EFFORT_ELEMENT] = {{"add", "", {BLOCK, BLOCK}}, {"relu", "", {BLOCK}}},
    [GR_EFFORT_MOVE] = {{"reshape", "shape=[131072]", {BLOCK}}},
    [GR_EFFORT_PERMUTE] = {{"transpose", "perm=[1,0]", {BLOCK}}},
    [GR_EFFORT_CHANNEL] = {{"max_pool_grad",
                            "kernel=[2]",
                            {"f32[16,24,24,16]", "f32[16,12,12,16]", "f32[16,12,12,16]"}},
                           {"channel_sums", "groups=1", {"f32[16,24,24,16]", "f32[16]"}}},
    [GR_EFFORT_ROW] = {{"layer_norm", "", {BLOCK, "f32[128]", "f32[128]"}},
                       {"layer_norm_grad", "", {BLOCK, "f32[128]", BLOCK}}},
    [GR_EFFORT_FUNCTION] = {{"tanh", "", {BLOCK}}, {"exp", "", {BLOCK}}},
    [GR_EFFORT_LONG_FUNCTION] = {{"gelu", "", {BLOCK}}, {"gelu_grad", "", {BLOCK, BLOCK}}},
    [GR_EFFORT_RANDOM] = {{"dropout", "p=0.1", {BLOCK, "i32[]"}}},
    [GR_EFFORT_UPDATE] = {{"adamw",
                           "",
                           {BLOCK, BLOCK, BLOCK, BLOCK, "f32[]", "i32[]", "f32[]", "f32[]"}}},
    [GR_EFFORT_SERIAL] = {{"cumsum", "axis=1", {BLOCK}}},
    [GR_EFFORT_DROPPED] = {{"attention", "p=0.1", {HEADS, HEADS, HEADS, "i32[]"}}},
};
static const timed conversion = {"cast", "to=bf16", {BLOCK}},
                   large = {"add", "", {"f32[4096,4096]", "f32[4096,4096]"}};

// ---- One call -----------------------------------------------------------------------------------

// Sets `name=value`, which ends at a space.
static gr_status set_attr(const gr_op *op, const char *text, size_t n, void *attr) {
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)n, text);
  char *value = strchr(word, '=');
  *value++ = 0;
  const gr_attr *a = op->attrs;
  while (strcmp(a->name, word) != 0) a++;
  return gr_attr_parse(op, a, value, GR_NOWHERE, attr);
}

static gr_status describe(gr_arena *arena, const timed *t, gr_dtype dtype, gr_op_call *c) {
  *c = (gr_op_call){.op = gr_op_find(t->op)};
  void *attr = gr_arena_alloc(arena, c->op->attr_size + 1);
  gr_attr_defaults(c->op, attr);
  for (const char *word = t->attrs; *word; word += strspn(word, " ")) {
    size_t n = strcspn(word, " ");
    GR_TRY(set_attr(c->op, word, n, attr));
    word += n;
  }
  c->attr = attr;
  for (; c->n_in < GR_CASE_ARGS && t->in[c->n_in]; c->n_in++) {
    gr_type *type = &c->in[c->n_in];
    GR_TRY(gr_type_parse(t->in[c->n_in], type));
    if (type->dtype == GR_F32) type->dtype = dtype;
  }
  return gr_op_infer(c);
}

// A call that is ready to run.
typedef struct ready {
  gr_op_call call;
  gr_kernel kernel;
  gr_launch launch;
  gr_layout layout[GR_MAX_ARGS];
  gr_mesh mesh;
  const void *in[GR_MAX_ARGS];
  void *out[GR_MAX_ARGS];
} ready;

// Zeros for a value, as kernels need them aligned.
static void *room(gr_arena *a, size_t bytes) {
  return (void *)(((uintptr_t)gr_arena_alloc(a, bytes + 128) + 63) / 64 * 64);
}

static ready *prepare(gr_arena *a, const gr_op_call *c) {
  ready *r = GR_NEW(a, ready, 1);
  r->call = *c, c = &r->call;
  r->kernel = gr_op_fast(c);
  if (!r->kernel) r->kernel = c->op->cpu;
  gr_launch *l = &r->launch;
  l->attr = c->attr, l->n_in = c->n_in, l->n_out = c->n_out, l->in_type = c->in;
  l->out_type = c->out, l->out_layout = r->layout, l->mesh = &r->mesh, l->in = r->in;
  l->out = r->out, l->scratch = room(a, c->op->scratch ? c->op->scratch(c) : 0);
  for (int k = 0; k < c->n_in; k++) r->in[k] = room(a, gr_type_bytes(&c->in[k]));
  for (int k = 0; k < c->n_out; k++) r->out[k] = room(a, gr_type_bytes(&c->out[k]));
  return r;
}

static double fastest_quarter(double *rounds) {
  qsort(rounds, ROUNDS, sizeof *rounds, gr_order_numbers);
  return rounds[ROUNDS / 4];
}

// Seconds of a call on this thread: of n that follow each other, their mean.
static double time_ready(ready *const *r, int n) {
  double rounds[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    double start = gr_thread_seconds(), took = 0;
    int64_t done = 0;
    for (; took < round_s; took = gr_thread_seconds() - start)
      for (int64_t many = done + 1; many; many--, done++)
        for (int k = 0; k < n; k++) gr_status_drop(r[k]->kernel(&r[k]->launch));
    rounds[i] = took / (double)(done * n);
  }
  return fastest_quarter(rounds);
}

// The same of one before which others have touched as much as the near caches keep.
static double time_after(const ready *r, char *others) {
  enum { LINE = 64 };
  double rounds[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    double took = 0;
    int64_t done = 0;
    for (; took < round_s; done++) {
      for (size_t k = 0; k < GR_NEAR_CACHE; k += LINE) others[k]++;
      double start = gr_thread_seconds();
      gr_status_drop(r->kernel(&r->launch));
      took += gr_thread_seconds() - start;
    }
    rounds[i] = took / (double)done;
  }
  return fastest_quarter(rounds);
}

static gr_status time_of(gr_arena *a, const timed *t, gr_dtype dtype, gr_op_call *c, double *out) {
  GR_TRY(describe(a, t, dtype, c));
  ready *r = prepare(a, c);
  *out = time_ready(&r, 1);
  return GR_OK;
}

// What small calls of many ops take beside their work, one after the other: the first examples of
// those above.
static gr_status time_small(gr_arena *a, const gr_cpu_rates *known, double *out) {
  ready *all[GR_EFFORTS * CALLS];
  gr_op_call *c = GR_NEW(a, gr_op_call, 1);
  int n = 0;
  double work = 0;
  for (const timed *t = calls[GR_PRODUCTS]; t < calls[GR_EFFORT_DROPPED]; t++) {
    if (!t->op) continue;
    const gr_op *op = gr_op_find(t->op);
    *c = (gr_op_call){.op = op, .attr = op->cases[0].attr};
    for (; c->n_in < GR_CASE_ARGS && op->cases[0].in[c->n_in]; c->n_in++)
      GR_TRY(gr_type_parse(op->cases[0].in[c->n_in], &c->in[c->n_in]));
    GR_TRY(gr_op_infer(c));
    gr_efforts done = gr_cpu_efforts(c);
    for (int k = GR_PRODUCTS; k < GR_EFFORTS; k++) work += done.of[k] / known->of[k];
    all[n++] = prepare(a, c);
  }
  *out = fmax(time_ready(all, n) - work / n, 1e-9);
  return GR_OK;
}

// ---- All ----------------------------------------------------------------------------------------

// How much of a kind of work is done in a second, without what is known of the other kinds that the
// calls do: on a busy machine that may come to more than they took, so some of it is counted.
static gr_status time_rate(gr_arena *a, const gr_cpu_rates *known, gr_effort of, gr_dtype dtype,
                           double *out) {
  gr_op_call *c = GR_NEW(a, gr_op_call, 1);
  double amount = 0, all = 0, others = 0, seconds;
  for (int i = 0; i < CALLS && calls[of][i].op; i++) {
    GR_TRY(time_of(a, &calls[of][i], dtype, c, &seconds));
    gr_efforts done = gr_cpu_efforts(c);
    amount += done.of[of], all += seconds;
    for (int k = 0; k < GR_EFFORTS; k++)
      if (k != (int)of && done.of[k] > 0) others += done.of[k] / known->of[k];
  }
  *out = amount / fmax(all - others, least_share * all);
  return GR_OK;
}

// What calls take longer if others have used the near caches, for each of their bytes.
static gr_status time_fetches(gr_arena *a, double *out) {
  char *others = GR_NEW(a, char, GR_NEAR_CACHE);
  double bytes = 0, near = 0, far = 0;
  for (const timed *t = calls[GR_EFFORT_ELEMENT]; t < calls[GR_EFFORT_ELEMENT + 1]; t++) {
    gr_op_call *c = GR_NEW(a, gr_op_call, 1);
    GR_TRY(describe(a, t, GR_F32, c));
    ready *r = prepare(a, c);
    near += time_ready(&r, 1), far += time_after(r, others);
    bytes += (double)(gr_types_bytes(c->in, c->n_in) + gr_types_bytes(c->out, c->n_out));
  }
  *out = bytes / fmax(far - near, least_share * near);
  return GR_OK;
}

static gr_status time_products(gr_arena *a, gr_cpu_rates *out) {
  for (int k = GR_EFFORT_UNKNOWN + 1; k < GR_PRODUCTS; k++) {
    gr_effort of = (gr_effort)k;
    gr_dtype half = of == GR_EFFORT_PACKED ? GR_F32 : GR_F16;  // there is no packed f16
    GR_TRY(time_rate(a, out, of, GR_F32, &out->of[of]));
    GR_TRY(time_rate(a, out, of, GR_BF16, &out->in_bf16[of]));
    GR_TRY(time_rate(a, out, of, half, &out->converted[of]));
  }
  return GR_OK;
}

static gr_status time_all(gr_arena *a, gr_cpu_rates *out) {
  gr_op_call *c = GR_NEW(a, gr_op_call, 1);
  double seconds;
  for (int k = GR_PRODUCTS; k < GR_EFFORT_DROPPED; k++)
    GR_TRY(time_rate(a, out, (gr_effort)k, GR_F32, &out->of[k]));
  GR_TRY(time_products(a, out));  // attention takes exponentials, and drops some of its weights
  GR_TRY(time_rate(a, out, GR_EFFORT_DROPPED, GR_F32, &out->of[GR_EFFORT_DROPPED]));
  GR_TRY(time_of(a, &conversion, GR_F32, c, &seconds));
  out->conversion = (double)gr_type_count(c->in) / seconds;
  GR_TRY(time_small(a, out, &out->call_gap));
  GR_TRY(time_fetches(a, &out->fetched));
  GR_TRY(time_of(a, &large, GR_F32, c, &seconds));
  out->moved =
      (double)(gr_types_bytes(c->in, c->n_in) + gr_types_bytes(c->out, c->n_out)) / seconds;
  return GR_OK;
}

// The bytes that a rank sends in an all-reduce over n.
static double sent(const gr_found_ranks *r) { return 2 * r->bytes * (r->ranks - 1) / r->ranks; }

// The slowest of the pairs within machines, or between them; those that are measured first: none.
static gr_link slowest(const gr_found_ranks *r, bool between) {
  gr_link out = {0};
  for (const gr_found_pair *p = r->pairs; p < r->pairs + r->n_pairs; p++) {
    if ((strcmp(r->host[p->a], r->host[p->b]) != 0) != between) continue;
    out.latency = fmax(out.latency, p->latency);
    if (!(out.bandwidth > 0) || p->bandwidth < out.bandwidth) out.bandwidth = p->bandwidth;
  }
  return out;
}

// So that gr_link_seconds has the measured seconds of both sums.
static void describe_links(const gr_found_ranks *r, gr_cluster *c) {
  bool several = r->machines > 1;
  gr_link *link = several ? &c->between : &c->within;
  c->within = slowest(r, false), c->between = slowest(r, true);
  if (several) c->nodes = r->machines;
  link->bandwidth = sent(r) / fmax(r->sum - r->small, 1e-9);
  c->gap = fmax(r->small - 2 * link->latency * ceil(log2(several ? r->machines : r->ranks)), 1e-9);
}

static void report(gr_findings *f, const gr_target *t) {
  gr_constant c;
  for (int i = 0; gr_cluster_constant(t, i, &c); i++) {
    bool thread = !strncmp(c.path, "cpu.", 4);
    f->section = thread ? "a thread" : "links";
    if (c.value > 0) gr_found_constant(f, c.path + 4 * thread, c.value, c.unit);
  }
}

static void put_target(gr_text *text, const gr_findings *f, const gr_machine *m,
                       const gr_target *t) {
  gr_text_printf(text,
                 "# By graphrun %s on %s (%s) with %d ranks, for `graphrun plan CONFIG.yaml "
                 "--device=cpu --cluster=FILE`.\n",
                 gr_version_number, m->host, m->processor, f->ranks ? f->ranks->ranks : 1);
  gr_cluster_put(text, t);
}

gr_status gr_check_calibrate(gr_findings *f, gr_output *out) {
  gr_target t = {0};
  gr_machine m;
  gr_text text = gr_text_make(f->arena);
  gr_machine_read(&m);
  gr_status s = time_all(f->arena, &t.cpu);
  if (s) return gr_output_close(out, s);
  t.cpu.cache = m.cache / gr_processors();
  t.cpu.step_gap = gr_check_step(f->arena);
  t.cluster.per_node =
      fmax(gr_processors(), f->ranks ? (double)f->ranks->ranks / f->ranks->machines : 1);
  t.cluster.memory = floor(m.memory / t.cluster.per_node);
  if (f->ranks) describe_links(f->ranks, &t.cluster);
  put_target(&text, f, &m, &t);
  fputs(text.chars, gr_output_stream(out));
  GR_TRY(gr_output_close(out, GR_OK));
  report(f, &t);
  return GR_OK;
}
