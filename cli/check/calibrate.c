// calibrate.c - writes what this machine does in a second as a description that `graphrun plan
// --cluster` reads. See findings.h.
//
// Rates are those of one thread, by the time that it has had a processor, so that other programs
// change them little. Each is the best of some rounds, over calls of usual sizes.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "base/port.h"
#include "cli/check/findings.h"
#include "job/cluster.h"
#include "job/version.h"
#include "ops/kernels/cpu.h"
#include "ops/nn/attention.h"
#include "ops/nn/conv.h"
#include "ops/nn/matmul.h"
#include "ops/ops.h"

enum { ROUNDS = 5 };
static const double round_s = 4e-3;  // of a round, at least

// One of the calls by whose time together a rate is measured.
typedef struct timed {
  const char *op;
  gr_case example;
} timed;
enum { CALLS = 2 };

// Rates by their offsets in gr_cpu_rates, in f32, bf16 and f16; 0: in f32 alone.
typedef struct rate {
  size_t of[3];
  timed call[CALLS];
} rate;
#define OFFSET(member) offsetof(gr_cpu_rates, member)
#define PRODUCT(kind) \
  { OFFSET(in_f32[kind]), OFFSET(in_bf16[kind]), OFFSET(converted[kind]) }
#define WINDOW {1, {1}}, {1, {1}}, {1, {1}}, 1
static const rate rates[] = {
    {PRODUCT(GR_CPU_MATMUL),
     {{"matmul", {{"f32[2048,192]", "f32[192,192]"}, &(struct matmul){.tb = true}}},
      {"matmul", {{"f32[2048,128]", "f32[2048,128]"}, &(struct matmul){.ta = true}}}}},
    {PRODUCT(GR_CPU_MATMUL_PACKED),
     {{"matmul_packed", {{"f32[8,512]", "f32[576,512]"}, &(int64_t){512}}}}},
    {PRODUCT(GR_CPU_ATTENTION),
     {{"attention",
       {{"f32[8,256,4,32]", "f32[8,256,4,32]", "f32[8,256,4,32]"},
        &(struct attention){.causal = true}}}}},
    {PRODUCT(GR_CPU_OTHER_PRODUCT),
     {{"conv2d", {{"f32[16,24,24,16]", "f32[16,16,3,3]"}, &(struct gr_conv_attr){WINDOW}}},
      {"conv_grad_w",
       {{"f32[16,24,24,16]", "f32[16,24,24,16]"},
        &(struct gr_conv_grad_attr){WINDOW, {2, {3, 3}}}}}}},
    {{OFFSET(exponential)}, {{"tanh", {{"f32[256,512]"}}}, {"gelu", {{"f32[256,512]"}}}}},
    {{OFFSET(other)},
     {{"add", {{"f32[256,512]", "f32[256,512]"}}},
      {"transpose", {{"f32[256,512]"}, &(gr_ints){2, {1, 0}}}}}},
    {{OFFSET(conversion)}, {{"cast", {{"f32[256,512]"}, &(int64_t){GR_BF16}}}}},
};
#undef OFFSET
static const timed large = {"add", {{"f32[4096,4096]", "f32[4096,4096]"}}},
                   few = {"add", {{"f32[4]", "f32[4]"}}};

// ---- One call -----------------------------------------------------------------------------------

static gr_status describe(const timed *t, gr_dtype dtype, gr_op_call *c) {
  *c = (gr_op_call){.op = gr_op_find(t->op), .attr = t->example.attr};
  for (; c->n_in < GR_CASE_ARGS && t->example.in[c->n_in]; c->n_in++) {
    GR_TRY(gr_type_parse(t->example.in[c->n_in], &c->in[c->n_in]));
    c->in[c->n_in].dtype = dtype;
  }
  return gr_op_infer(c);
}

static double round_of(gr_kernel kernel, const gr_launch *l) {
  double start = gr_thread_seconds(), took = 0;
  int64_t n = 0;
  for (; took < round_s; took = gr_thread_seconds() - start)
    for (int64_t many = n + 1; many; many--, n++) gr_status_drop(kernel(l));
  return took / (double)n;
}

// Zeros for a value, as kernels need them aligned.
static void *room(gr_arena *a, size_t bytes) {
  return (void *)(((uintptr_t)gr_arena_alloc(a, bytes + 128) + 63) / 64 * 64);
}

// Seconds of a call on this thread.
static gr_status time_of(gr_arena *a, const timed *t, gr_dtype dtype, gr_op_call *c, double *out) {
  GR_TRY(describe(t, dtype, c));
  gr_kernel kernel = c->op->fast ? c->op->fast(c) : NULL;
  const void *in[GR_MAX_ARGS];
  void *made[GR_MAX_ARGS];
  gr_layout layout[GR_MAX_ARGS] = {0};
  gr_mesh mesh = {0};
  gr_launch l = {.attr = c->attr, .n_in = c->n_in, .n_out = c->n_out, .in_type = c->in};
  l.out_type = c->out, l.out_layout = layout, l.mesh = &mesh, l.in = in, l.out = made;
  l.scratch = room(a, c->op->scratch ? c->op->scratch(c) : 0);
  for (int k = 0; k < c->n_in; k++) in[k] = room(a, gr_type_bytes(&c->in[k]));
  for (int k = 0; k < c->n_out; k++) made[k] = room(a, gr_type_bytes(&c->out[k]));
  *out = INFINITY;
  for (int i = 0; i < ROUNDS; i++) *out = fmin(*out, round_of(kernel ? kernel : c->op->cpu, &l));
  return GR_OK;
}

// ---- All ----------------------------------------------------------------------------------------

static gr_status time_rate(gr_arena *a, const rate *r, int k, gr_cpu_rates *out) {
  static const gr_dtype dtypes[] = {GR_F32, GR_BF16, GR_F16};
  gr_op_call *c = GR_NEW(a, gr_op_call, 1);
  bool plain = k == 2 && r->of[k] == offsetof(gr_cpu_rates, converted[GR_CPU_MATMUL_PACKED]);
  double flops = 0, all = 0, seconds;
  for (int i = 0; i < CALLS && r->call[i].op; i++) {  // there is no packed f16
    GR_TRY(time_of(a, &r->call[i], plain ? GR_F32 : dtypes[k], c, &seconds));
    flops += (double)gr_op_flops(c), all += seconds;
  }
  *(double *)((char *)out + r->of[k]) = flops / all;
  return GR_OK;
}

static gr_status time_all(gr_arena *a, gr_cpu_rates *out) {
  gr_op_call *c = GR_NEW(a, gr_op_call, 1);
  double seconds;
  for (const rate *r = rates; r < rates + sizeof rates / sizeof *rates; r++)
    for (int k = 0; k < 3 && (!k || r->of[k]); k++) GR_TRY(time_rate(a, r, k, out));
  GR_TRY(time_of(a, &few, GR_F32, c, &out->call_gap));
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

gr_status gr_check_calibrate(gr_findings *f, const char *path) {
  gr_target t = {0};
  gr_machine m;
  gr_text text = gr_text_make(f->arena);
  gr_machine_read(&m);
  GR_TRY(time_all(f->arena, &t.cpu));
  t.cluster.per_node =
      fmax(gr_processors(), f->ranks ? (double)f->ranks->ranks / f->ranks->machines : 1);
  t.cluster.memory = floor(m.memory / t.cluster.per_node);
  if (f->ranks) describe_links(f->ranks, &t.cluster);
  gr_text_printf(&text,
                 "# By graphrun %s on %s (%s) with %d ranks, for `graphrun plan CONFIG.yaml "
                 "--device=cpu --cluster=FILE`.\n",
                 gr_version_number, m.host, m.processor, f->ranks ? f->ranks->ranks : 1);
  gr_cluster_put(&text, &t);
  GR_TRY(gr_output_write(NULL, path, text.chars, text.len));
  report(f, &t);
  return GR_OK;
}
