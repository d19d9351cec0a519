// bench_precision.c - what ops cost one thread in f32, bf16 and f16, by kind: where the constants
// of compiler/report/predict_cpu.c come from. Processors without instructions for bf16 convert its
// operands to f32, as all do those of f16: the column of f16 is also what bf16 costs there.
//
//   bench_precision        GFLOP/s of ops that multiply, nanoseconds an element of others
#include <stdio.h>
#include <stdlib.h>
#include "base/port.h"
#include "ops/nn/attention.h"
#include "ops/nn/conv.h"
#include "ops/nn/matmul.h"
#include "tests/ops/bench.h"

enum { ROUNDS = 15, COLUMNS = 512, BATCH = 1 << 19 };  // elements that a round makes, at least

static const struct timed {
  const char *kind, *op;
  gr_case of;
} all[] = {
    {"matmul", "matmul", {{"f32[512,512]", "f32[512,512]"}, &(struct matmul){.wide = true}}},
    {"matmul", "matmul", {{"f32[512,256]", "f32[512,256]"}, &(struct matmul){.tb = true}}},
    {"matmul", "matmul", {{"f32[512,128]", "f32[512,128]"}, &(struct matmul){.ta = true}}},
    {"matmul", "matmul", {{"f32[64,64]", "f32[64,64]"}, &(struct matmul){.wide = true}}},
    {"matmul", "matmul", {{"f32[16,32]", "f32[32,16]"}, &(struct matmul){.wide = true}}},
    {"matmul", "matmul", {{"f32[8,1024]", "f32[1024,256]"}, &(struct matmul){.wide = true}}},
    {"loops", "matmul_packed", {{"f32[8,512]", "f32[576,512]"}, &(int64_t){COLUMNS}}},
    {"conv",
     "conv2d",
     {{"f32[8,32,32,64]", "f32[64,64,3,3]"},
      &(struct gr_conv_attr){{1, {1}}, {1, {1}}, {1, {1}}, 1}}},
    {"conv",
     "conv_grad_x",
     {{"f32[64,64,3,3]", "f32[8,32,32,64]"},
      &(struct gr_conv_grad_attr){{1, {1}}, {1, {1}}, {1, {1}}, 1, {2, {32, 32}}}}},
    {"conv",
     "conv_grad_w",
     {{"f32[8,32,32,64]", "f32[8,32,32,64]"},
      &(struct gr_conv_grad_attr){{1, {1}}, {1, {1}}, {1, {1}}, 1, {2, {3, 3}}}}},
    {"attention",
     "attention_with_residuals",
     {{"f32[4,256,8,64]", "f32[4,256,8,64]", "f32[4,256,8,64]"}, &(struct attention){0}}},
    {"other", "add", {{"f32[256,512]", "f32[256,512]"}}},
    {"other", "gelu", {{"f32[256,512]"}}},
    {"other", "relu", {{"f32[256,512]"}}},
    {"other", "bias_add", {{"f32[256,512]", "f32[512]"}}},
    {"call", "add", {{"f32[4]", "f32[4]"}}},
};

// Seconds of this thread on a processor for a call: the least of the rounds.
static double time_of(use *u, gr_kernel kernel) {
  double best = 1e9;
  const void *in[GR_MAX_ARGS] = {0};
  void *out[GR_MAX_ARGS] = {0}, *scratch;
  size_t bytes = u->call.op->scratch ? u->call.op->scratch(&u->call) : 0;
  if (!(scratch = aligned_alloc(64, (bytes + 127) / 64 * 64))) abort();
  for (int k = 0; k < u->call.n_in; k++) in[k] = u->in[k].data;
  for (int k = 0; k < u->call.n_out; k++)
    u->out[k] = value_make(u->call.out[k]), out[k] = u->out[k].data;
  gr_launch l = {.attr = u->call.attr, .n_in = u->call.n_in, .n_out = u->call.n_out};
  l.in_type = u->call.in, l.out_type = u->call.out, l.out_layout = u->layout;
  l.mesh = &u->mesh, l.coord = &u->coord, l.in = in, l.out = out, l.scratch = scratch;
  int64_t times = BATCH / gr_type_count(&u->call.out[0]) + 1;
  for (int r = 0; r < ROUNDS; r++) {
    double start = gr_thread_seconds();
    for (int64_t i = 0; i < times; i++) gr_status_drop(kernel(&l));
    double took = (gr_thread_seconds() - start) / (double)times;
    best = took < best ? took : best;
  }
  free(scratch);
  return best;
}

// GFLOP/s, or nanoseconds for each element that is read or written; of a call its nanoseconds.
static double figure(const struct timed *t, const gr_op_call *c, double seconds) {
  double elements = 0;
  if (!strcmp(t->kind, "call")) return 1e9 * seconds;
  if (strcmp(t->kind, "other") != 0) return 1e-9 * (double)gr_op_flops(c) / seconds;
  for (int k = 0; k < c->n_in; k++) elements += (double)gr_type_count(&c->in[k]);
  for (int k = 0; k < c->n_out; k++) elements += (double)gr_type_count(&c->out[k]);
  return 1e9 * seconds / elements;
}

static gr_status packed_plain(const gr_launch *l) {
  gr_gemm g = gr_gemm_dense(false, false, l->in_type->dim[0], COLUMNS, l->in_type->dim[1]);
  gr_gemm_bf16_by_packed_plain(l, &g, l->in[0], l->in[1], l->out[0]);
  return GR_OK;
}

// Products of packed matrices have no f16: what processors without instructions do for bf16.
static void print(const struct timed *t, gr_dtype dtype) {
  use u;
  const gr_op *op = gr_op_find(t->op);
  bool plain = dtype == GR_F16 && !strcmp(t->kind, "loops");
  gr_status s = use_of_case_as(&u, op, &t->of, plain ? GR_BF16 : dtype, 1);
  if (s) gr_status_print(stderr, s), exit(1);
  double seconds = time_of(&u, plain ? packed_plain : gr_op_fast(&u.call));
  printf(" %9.2f", figure(t, &u.call, seconds));
  use_free(&u);
}

int main(void) {
  gr_status s = gr_gemm_open();
  if (s) gr_status_print(stderr, s);
  printf("%-10s %-25s %-16s %9s %9s %9s\n", "kind", "op", "of", "f32", "bf16", "f16");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    printf("%-10s %-25s %-16s", all[i].kind, all[i].op, all[i].of.in[0]);
    print(&all[i], GR_F32), print(&all[i], GR_BF16), print(&all[i], GR_F16);
    printf("\n");
  }
  return 0;
}
