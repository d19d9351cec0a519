// test_nvrtc.c - every kernel of every op, compiled by NVRTC as a device does it: no error, no
// registers that spill to local memory, and few enough of them for the launch. It needs no GPU.
//
//   test_nvrtc [sm_75 ... sm_120 | all | each] [known=FILE] [again] [table | lines] [OP]
//   [FILE.gr ...]
//
// Without an architecture it is sm_90; several may be given. `each` compiles each text for one
// architecture, which a hash of it chooses, and of each case beside f32 bf16 or f16, in turn. Of
// texts that differ in sizes alone, one is compiled. `all` compiles each for every architecture,
// and adds f64 to f32 and bf16. What NVRTC said of a text that compiles is kept (tests/cache.h),
// and what it has said before may be known (nvrtc_known.h): a text that has not changed is judged
// by that; `again` compiles one in twelve of the texts that are known too, and compares. `table`
// prints registers and shared memory, `lines` what is known now. Of files, which `graphrun plan
// --dump=schedule` writes, the kernels of all graphs are compiled instead of those of cases
// (nvrtc_configs.sh).
#include "base/arena.h"
#include "base/text.h"
#include "ops/kernels/gpu_join.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "tests/check.h"
#include "tests/compiler/elementwise.h"
#include "tests/gpu/cases.h"
#include "tests/gpu/loops.h"
#include "tests/gpu/nvrtc_ask.h"
#include "tests/gpu/nvrtc_known.h"
#include "tests/ir/parse.h"

// ---- What there is to compile -------------------------------------------------------------------

static nvrtc_wanted wanted;
static bool doubles, again, table, lines;
static const char *known_file;
static const char *only;    // an op, or NULL
static char *const *files;  // the last arguments
static int n_files, n_calls;
static gr_arena *arena;

static void add_kernel(const gr_gpu_call *g, const gr_gpu_kernel *k) {
  const char *op = g->call->op->name;
  gr_text text = gr_text_make(g->arena);
  CHECK(k->blocks >= 1 && k->blocks <= INT32_MAX, "%s: %lld blocks", op, (long long)k->blocks);
  CHECK(k->threads % 32 == 0 && k->threads >= 32 && k->threads <= 1024, "%s: %d threads", op,
        k->threads);
  gr_gpu_source(g, k, &text);
  nvrtc_add(arena, &wanted, g->call, text.chars, k->threads);
  if (!g->call->op->multi_tensor) return;
  text = gr_text_make(g->arena);
  gr_gpu_joined_source(g, k, &text);
  nvrtc_add(arena, &wanted, g->call, text.chars, k->threads);
}

static bool refuses(void *device, const gr_gpu_gemm *g) { return (void)device, (void)g, false; }

// As on a device whose libraries do layers and what follows a product, or on one without.
static void add_call_as(const gr_op_call *call, bool libraries) {
  static gr_gpu_launch launch[GR_GPU_LAUNCHES];
  gr_gpu_call g = {.call = call,
                   .arena = gr_arena_create(),
                   .launch = launch,
                   .layers = libraries,
                   .takes = libraries ? NULL : refuses};
  MUST(gr_gpu_describe(&g));
  CHECK(g.n > 0, "%s: no launch", call->op->name);
  CHECK(g.scratch % 256 == 0, "%s: %zu bytes of working memory", call->op->name, g.scratch);
  for (int i = 0; i < g.n; i++)
    if (launch[i].kind == GR_GPU_KERNEL) add_kernel(&g, &launch[i].kernel);
  gr_arena_destroy(g.arena);
}

static void add_call(const gr_op_call *call) {
  add_call_as(call, false), add_call_as(call, true);
  n_calls++;
}

// A case's call; false if the op does not take its operands.
static bool call_of(const gr_op *op, const gr_case *c, gr_op_call *out) {
  *out = (gr_op_call){.op = op, .attr = c->attr};
  for (; out->n_in < GR_CASE_ARGS && c->in[out->n_in]; out->n_in++)
    MUST(gr_type_parse(c->in[out->n_in], &out->in[out->n_in]));
  gr_status s = gr_op_infer(out);
  gr_status_drop(s);
  return !s;
}

static void add_case(const gr_op *op, const gr_case *c) {
  static const char *const types[] = {"bf16", "f16", "f64"};
  gr_case as;
  gr_op_call call;
  CHECK(call_of(op, c, &call), "%s: inference fails", op->name);
  add_call(&call);
  static int n_cases;
  bool one = wanted.each;
  int first = one ? n_cases++ % 2 : 0, end = one ? first + 1 : doubles ? 3 : 2;
  for (int d = first; d < end; d++)
    if (gpu_case_retyped(arena, c, types[d], &as) && call_of(op, &as, &call)) add_call(&call);
}

static void add_ops(void) {
  for (const gr_op *const *op = gr_ops; *op; op++) {
    if ((*op)->collective || gr_op_has_body(*op) || (only && strcmp(only, (*op)->name))) continue;
    bool has = (*op)->gpu || (*op)->formula || (*op)->formulas || (*op)->row || (*op)->row_of;
    CHECK(has != (*op)->cpu_only, "%s has %s kernel", (*op)->name, has ? "a" : "no");
    for (const gr_case *c = (*op)->cases; c && (c->in[0] || c->attr); c++)
      if (!c->fails && has) add_case(*op, c);
  }
  for (const gpu_case *c = gpu_cases; c->op; c++) {
    const gr_op *op = gr_op_find(c->op);
    gr_case call = c->call;
    if (only && strcmp(only, c->op)) continue;
    MUST(gpu_case_attr(arena, op, c->attr, &call.attr));
    add_case(op, &call);
  }
}

static void add_nodes(const gr_graph *g, const gr_op *op) {
  gr_op_call call;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    gr_op_call_of(g, &g->nodes[i], &call);
    if (call.op == op) add_call(&call);
  }
}

// The kernels of fused nodes are generated from the nodes.
static void add_fused(void) {
  enum { SEEDS = 8 };
  for (uint32_t seed = 1; seed <= SEEDS; seed++) {
    gr_graph *g, *f;
    MUST(elementwise_random(arena, seed, &g));
    MUST(elementwise_fused(arena, g, &f));
    add_nodes(f, &gr_op_fused);
  }
}

// So are those of loops; the device has one around the bodies of others.
GR_CU(repeat);
static void add_loops(void) {
  const gr_op_call repeated = {.op = &gr_op_scan};
  nvrtc_add(arena, &wanted, &repeated, gr_cu_repeat, 256);
  enum { SEEDS = 4 };
  static gr_status (*const make[])(gr_arena *, const loops_body *, gr_graph **) = {
      loops_square, loops_batch, loops_train};
  static const gr_dtype dtypes[] = {GR_F32, GR_BF16, GR_F16, GR_F64};
  gr_graph *g;
  MUST(loops_steps(arena, &(loops_body){1, 8, 32, GR_F32}, 1, &g));
  add_nodes(g, &gr_op_scan);
  for (uint32_t i = 0; i < SEEDS * 3 * 4; i++) {
    loops_body o = {.seed = 1 + i / 12, .steps = 8, .rows = 32, .dtype = dtypes[i / 3 % 4]};
    if (o.dtype == GR_F64 && make[i % 3] == loops_train) continue;
    MUST(make[i % 3](arena, &o, &g));
    add_nodes(g, &gr_op_scan);
  }
}

// ---- The graphs of a file -----------------------------------------------------------------------

// Of a loop that is no kernel, the device repeats the nodes of the body.
static bool is_repeated(const gr_op_call *call) {
  static gr_gpu_launch launch[GR_GPU_LAUNCHES];
  gr_gpu_call g = {.call = call, .launch = launch};
  if (call->op != &gr_op_scan) return false;
  g.arena = gr_arena_create();
  gr_status s = gr_gpu_describe(&g);
  bool repeated = s;
  gr_status_drop(s);
  gr_arena_destroy(g.arena);
  return repeated;
}

static void add_graph(const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    gr_op_call call;
    gr_op_call_of(g, &g->nodes[i], &call);
    if (is_repeated(&call))
      add_graph(((const gr_scan *)call.attr)->body);
    else if (!call.op->collective && (!only || !strcmp(only, call.op->name)))
      add_call(&call);
  }
}

// Text from "# after PASS" to the next, or to the plan.
static void add_file(const char *path) {
  enum { MAX_BYTES = 1 << 26 };
  char *text, *next;
  gr_arena *a = gr_arena_create();
  MUST(gr_file_read(a, path, MAX_BYTES, &text, NULL));
  char *end = strstr(text, "\nplan of ");
  if (end) end[1] = '\0';
  for (text = strstr(text, "# after "); text; text = next) {
    gr_graph *g;
    if ((next = strstr(text + 1, "# after "))) next[-1] = '\0';
    MUST(graph_parse(a, gr_op_find, path, text, &g));
    add_graph(g);
  }
  gr_arena_destroy(a);
}

// ---- What the compiler says ---------------------------------------------------------------------

typedef struct arch_sum {
  const char *arch;
  int kernels, registers, shared, spills;  // of registers and static shared memory, the most
} arch_sum;
static arch_sum sums[NVRTC_ARCHS + 1];

// CUDA's own sin and cos of f64 reduce large angles in an array on the stack. Shipped
// configurations compute them for initial values alone, once in a run.
static bool needs_stack(const nvrtc_source *j) {
  bool f64 = strstr(j->types, "f64") && (!strcmp(j->op, "sin") || !strcmp(j->op, "cos"));
  return f64 || !strcmp(j->op, "init_sinusoids");
}

static arch_sum *sum_of(const char *arch) {
  arch_sum *sum = &sums[0];
  while (sum->arch && sum->arch != arch) sum++;
  sum->arch = arch;
  return sum;
}

static void judge_kernel(const nvrtc_source *j, const nvrtc_kernel *k) {
  CHECK(!k->spills && (!k->stack || needs_stack(j)),
        "%s (%s) for %s: %s has %d bytes of stack, %d of spills", j->op, j->types, j->arch, k->name,
        k->stack, k->spills);
  CHECK(k->registers > 0 && (k->registers + 7) / 8 * 8 * j->threads <= 65536,
        "%s (%s) for %s: %s needs %d registers in each of %d threads", j->op, j->types, j->arch,
        k->name, k->registers, j->threads);
  arch_sum *sum = sum_of(j->arch);
  sum->kernels++, sum->spills += k->stack + k->spills;
  if (k->registers > sum->registers) sum->registers = k->registers;
  if (k->shared > sum->shared) sum->shared = k->shared;
  if (table)
    printf("| %s | %s | %s | %s | %d | %d | %d |\n", j->op, j->types, k->name, j->arch,
           k->registers, k->shared, k->spills);
}

static void judge(nvrtc_source *j) {
  CHECK(!j->failed, "%s (%s) for %s: %s", j->op, j->types, j->arch, j->log ? j->log : "no log");
  CHECK(j->failed || *j->kernels, "%s for %s: no kernel in the log", j->op, j->arch);
  const char *known = nvrtc_known_kernels(&j->key);
  CHECK(j->failed || !known || !strcmp(known, j->kernels),
        "%s (%s) for %s: NVRTC says %s, nvrtc_known.tsv %s: make it again (nvrtc_known.sh)", j->op,
        j->types, j->arch, j->kernels, known);
  nvrtc_kernel k;
  for (const char *next = j->kernels; nvrtc_next_kernel(&next, &k);) judge_kernel(j, &k);
  if (lines && !j->failed) nvrtc_print_line(j);
}

static void add_cases(void) {
  add_ops();
  if (!only || !strcmp(only, "fused")) add_fused();
  if (!only || !strcmp(only, "scan")) add_loops();
}

static void kernels(void) {
  arena = gr_arena_create();
  for (int i = 0; i < n_files; i++) add_file(files[i]);
  if (!n_files) add_cases();
  if (!nvrtc_open()) SKIP("libnvrtc.so.13 is not on this machine");
  int n, cached = 0, n_known = 0;
  nvrtc_source *sources = nvrtc_added(&n);
  if (known_file) MUST(nvrtc_known_read(arena, known_file));
  nvrtc_ask_all(arena, sources, n, again);
  if (table)
    printf(
        "| op | types | kernel | for | registers | shared | spills "
        "|\n|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < n; i++) {
    judge(&sources[i]);
    cached += sources[i].how == NVRTC_CACHED, n_known += sources[i].how == NVRTC_KNOWN;
  }
  for (const arch_sum *s = sums; s->arch; s++)
    printf(
        "     %s: %d kernels, at most %d registers, %d bytes of static shared memory, "
        "%d bytes of stack and spills\n",
        s->arch, s->kernels, s->registers, s->shared, s->spills);
  printf("     %d calls, %d sources; compiled before: %d by nvrtc_known.tsv, %d by the cache\n",
         n_calls, n, n_known, cached);
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  bool any = false;
  for (int i = 1; i < argc; i++) {
    bool all = !strcmp(argv[i], "all"), each = !strcmp(argv[i], "each");
    bool arch = all || each;
    doubles |= all, wanted.sizes |= all, wanted.each |= each;
    for (int a = 0; a < NVRTC_ARCHS; a++)
      if (all || !strcmp(argv[i], nvrtc_archs[a])) wanted.arch[a] = arch = any = true;
    if (!strcmp(argv[i], "table"))
      table = true;
    else if (!strcmp(argv[i], "again"))
      again = true;
    else if (!strcmp(argv[i], "lines"))
      lines = true;
    else if (!strncmp(argv[i], "known=", 6))
      known_file = argv[i] + 6;
    else if (strstr(argv[i], ".gr"))
      files = argv + i, n_files = argc - i, i = argc;
    else if (!arch)
      only = argv[i];
  }
  for (int a = 0; a < NVRTC_ARCHS && !any && !wanted.each; a++)
    wanted.arch[a] = !strcmp(nvrtc_archs[a], "sm_90");
  return RUN(1, argv, {"kernels", kernels});
}
