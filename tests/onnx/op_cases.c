// op_cases.c - writes each case of each op that ONNX has, as a model of one op with operands and
// the results of the reference kernel: DIR/OP.CASE/{model.onnx,in.x0.npy,...,out.y0.npy,...}.
// in_onnxruntime.py compares. The last line says how many cases are left out, and why.   op_cases
// DIR
#include <stdlib.h>
#include <sys/stat.h>
#include "compiler/onnx/onnx.h"
#include "ops/kernels/gemm.h"
#include "tests/onnx/npy.h"
#include "tests/ops/bench.h"

static int written, refused, not_in_numpy;

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(1);
}

static bool numpy_has(const use *u) {
  bool all = true;
  for (int k = 0; k < u->call.n_in; k++) all &= npy_dtype(u->call.in[k].dtype) != NULL;
  for (int k = 0; k < u->call.n_out; k++) all &= npy_dtype(u->call.out[k].dtype) != NULL;
  return all;
}

// The graph of a call: inputs x0, x1, ..., outputs y0, y1, ...
static gr_status graph_of(gr_arena *a, const gr_op_call *call, gr_onnx_graph **out) {
  const char *in[GR_MAX_ARGS], *made[GR_MAX_ARGS] = {0};
  gr_onnx_graph *g = *out = gr_onnx_graph_create(a, NULL, call->op->name);
  gr_onnx_call c = {.graph = g, .call = &call, .n_calls = 1, .in = in, .out = made};
  for (int k = 0; k < call->n_in; k++) {
    in[k] = gr_arena_printf(a, "x%d", k);
    gr_onnx_input(g, in[k], &call->in[k]);
  }
  GR_TRY(gr_onnx_write_call(&c));
  for (int k = 0; k < call->n_out; k++) {
    GR_ONNX(&c, "Identity", made[k]);
    g->last_node->out[0] = gr_arena_printf(a, "y%d", k);
    gr_onnx_output(g, g->last_node->out[0], &call->out[k]);
  }
  return c.err;
}

static void write_case(gr_arena *a, use *u, const char *dir) {
  gr_onnx_graph *g;
  gr_status s = graph_of(a, &u->call, &g);
  if (s) {
    gr_status_drop(s);
    refused++;
    return;
  }
  must(use_run(u, u->call.op->cpu, NULL));
  mkdir(dir, 0777);
  FILE *f = fopen(gr_arena_printf(a, "%s/model.onnx", dir), "wb");
  if (!f) exit(1);
  must(gr_onnx_file(&(gr_onnx_model){.graph = g, .version = "test"}, f));
  bool good = !fclose(f);
  for (int k = 0; k < u->call.n_in; k++)
    good &= npy_write(dir, "in.", gr_arena_printf(a, "x%d", k), &u->call.in[k], u->in[k].data);
  for (int k = 0; k < u->call.n_out; k++)
    good &= npy_write(dir, "out.", gr_arena_printf(a, "y%d", k), &u->call.out[k], u->out[k].data);
  if (!good) exit(1);
  written++;
}

static void write_op(const gr_op *op, const char *dir) {
  int i = 0;
  for (const gr_case *c = op->cases; c && (c->in[0] || c->attr); c++, i++) {
    if (c->fails) continue;
    gr_arena *a = gr_arena_create();
    use u;
    must(use_of_case(&u, op, c, (uint64_t)i));
    if (numpy_has(&u))
      write_case(a, &u, gr_arena_printf(a, "%s/%s.%d", dir, op->name, i));
    else
      not_in_numpy++;
    use_free(&u);
    gr_arena_destroy(a);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  must(gr_gemm_open());
  for (const gr_op *const *op = gr_ops; *op; op++)
    if (gr_onnx_has(*op) && !gr_op_has_body(*op)) write_op(*op, argv[1]);
  printf("%d cases, %d refused, %d of a dtype that NumPy has not\n", written, refused,
         not_in_numpy);
  return 0;
}
