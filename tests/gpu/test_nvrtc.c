// test_nvrtc.c - every kernel of every op, compiled by NVRTC as a device does it: no error, no
// registers that spill to local memory, and few enough of them for the launch. It needs no GPU.
//
//   test_nvrtc [sm_80 | sm_90 | sm_100 | all | each | turn] [table] [OP] [FILE.gr ...]
//
// Without an architecture it is sm_90; several may be given. `each` compiles each text for one
// architecture, which a hash of it chooses, and of each case beside f32 bf16 or f16, in turn, and
// `turn` of these the first text of each op and a sixth of the others. Of texts that differ in
// sizes alone, one is compiled. `all` compiles each for every architecture, and adds f64 to f32 and
// bf16; `table` prints registers and shared memory. Of files, which `graphrun plan --dump=schedule`
// writes, it compiles the kernels of all graphs, instead of those of cases (nvrtc_configs.sh). What
// NVRTC said of a text that compiles is kept (tests/cache.h): a text that has not changed is judged
// by that.
#include <dlfcn.h>
#include "base/arena.h"
#include "base/tasks.h"
#include "base/text.h"
#include "ir/text.h"
#include "ops/kernels/gpu_join.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "tests/cache.h"
#include "tests/check.h"
#include "tests/compiler/elementwise.h"
#include "tests/gpu/cases.h"
#include "tests/gpu/loops.h"
#include "tests/gpu/nvrtc_sources.h"

// ---- The library ------------------------------------------------------------------------------

static struct nvrtc {  // as nvrtc.h declares it; 0 is success
  int (*create)(void **program, const char *source, const char *name, int, const char *const *,
                const char *const *);
  int (*compile)(void *program, int n, const char *const *options);
  int (*log_size)(void *program, size_t *out);
  int (*log)(void *program, char *out);
  int (*destroy)(void **program);
  int (*version)(int *major, int *minor);
} nvrtc;

static bool library_open(void) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                      "/usr/local/cuda/lib64/libnvrtc.so.13",
                                      "/usr/local/cuda/lib64/libnvrtc.so.12"};
  void *so = NULL;
  for (size_t i = 0; !so && i < sizeof names / sizeof *names; i++) so = dlopen(names[i], RTLD_NOW);
  if (!so) return false;
  *(void **)&nvrtc.create = dlsym(so, "nvrtcCreateProgram");
  *(void **)&nvrtc.compile = dlsym(so, "nvrtcCompileProgram");
  *(void **)&nvrtc.log_size = dlsym(so, "nvrtcGetProgramLogSize");
  *(void **)&nvrtc.log = dlsym(so, "nvrtcGetProgramLog");
  *(void **)&nvrtc.destroy = dlsym(so, "nvrtcDestroyProgram");
  *(void **)&nvrtc.version = dlsym(so, "nvrtcVersion");
  return nvrtc.create && nvrtc.compile && nvrtc.log_size && nvrtc.log && nvrtc.destroy &&
         nvrtc.version;
}

// ---- What there is to compile -------------------------------------------------------------------

static nvrtc_wanted wanted;
static bool doubles, table;
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
  bool one = wanted.each || wanted.turn;
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
    MUST(gr_graph_parse(a, gr_op_find, path, text, &g));
    add_graph(g);
  }
  gr_arena_destroy(a);
}

// ---- What the compiler says ---------------------------------------------------------------------

static cache_key key_of(const nvrtc_source *j) {
  int version[2] = {0, 0};
  cache_key key = cache_key_start();
  nvrtc.version(&version[0], &version[1]);
  cache_key_add(&key, version, sizeof version);
  cache_key_add(&key, j->op, strlen(j->op));
  cache_key_add(&key, j->arch, strlen(j->arch));
  cache_key_add(&key, j->text, strlen(j->text));
  return key;
}

static void compile(nvrtc_source *j) {
  void *program = NULL;
  char arch[32];
  size_t n = 0;
  snprintf(arch, sizeof arch, "-arch=%s", j->arch);
  const char *options[] = {arch, "--ptxas-options=-v"};
  j->failed = nvrtc.create(&program, j->text, j->op, 0, NULL, NULL);
  if (!j->failed) j->failed = nvrtc.compile(program, 2, options);
  if (program && !nvrtc.log_size(program, &n) && (j->log = calloc(n + 1, 1)))
    nvrtc.log(program, j->log);
  if (program) nvrtc.destroy(&program);
}

static gr_status ask(void *order, int i) {
  nvrtc_source *j = ((nvrtc_source **)order)[i];
  const cache_key key = key_of(j);
  size_t n = 0;
  j->cached = cache_read("nvrtc", &key, &j->log, &n);
  if (j->cached) return GR_OK;
  compile(j);
  if (!j->failed && j->log) cache_write("nvrtc", &key, j->log, strlen(j->log));
  return GR_OK;
}

static int by_length(const void *x, const void *y) {
  const nvrtc_source *const *a = x, *const *b = y;
  size_t of_a = strlen((*a)->text), of_b = strlen((*b)->text);
  return of_a > of_b ? -1 : of_a < of_b;
}

// The longest begin first, so that no thread has one when the others have nothing left.
static void ask_all(nvrtc_source *sources, int n) {
  nvrtc_source **order = GR_NEW(arena, nvrtc_source *, n + 1);
  for (int i = 0; i < n; i++) order[i] = &sources[i];
  qsort(order, (size_t)n, sizeof *order, by_length);
  MUST(gr_tasks_run(0, n, ask, order));
}

// The number before some words of a line; 0: the line does not have them.
static int number_before(const char *line, const char *words) {
  const char *digits = strstr(line, words);
  while (digits && digits > line && digits[-1] >= '0' && digits[-1] <= '9') digits--;
  return digits ? atoi(digits) : 0;
}

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

// Judges one kernel by its two lines: "0 bytes stack frame, ..." and "Used 14 registers, ...".
static void judge_kernel(const nvrtc_source *j, const char *entry, const char *frame,
                         const char *used) {
  int stack = number_before(frame, " bytes stack frame");
  int spills =
      number_before(frame, " bytes spill stores") + number_before(frame, " bytes spill loads");
  int registers = number_before(used, " registers"), shared = number_before(used, " bytes smem");
  CHECK(!spills && (!stack || needs_stack(j)),
        "%s (%s) for %s: %s has %d bytes of stack, %d of spills", j->op, j->types, j->arch, entry,
        stack, spills);
  CHECK(registers > 0 && (registers + 7) / 8 * 8 * j->threads <= 65536,
        "%s (%s) for %s: %s needs %d registers in each of %d threads", j->op, j->types, j->arch,
        entry, registers, j->threads);
  arch_sum *sum = &sums[0];
  while (sum->arch && sum->arch != j->arch) sum++;
  sum->arch = j->arch, sum->kernels++, sum->spills += stack + spills;
  if (registers > sum->registers) sum->registers = registers;
  if (shared > sum->shared) sum->shared = shared;
  if (table)
    printf("| %s | %s | %s | %s | %d | %d | %d |\n", j->op, j->types, entry, j->arch, registers,
           shared, spills);
}

static void judge(nvrtc_source *j) {
  char entry[64] = "?", *frame = NULL;
  int kernels = 0;
  CHECK(!j->failed, "%s (%s) for %s: %s", j->op, j->types, j->arch, j->log ? j->log : "no log");
  for (char *line = strtok(j->log, "\n"); line && !j->failed; line = strtok(NULL, "\n")) {
    const char *name = strstr(line, "entry function '");
    if (name) sscanf(name + 16, "%63[^']", entry);
    if (strstr(line, "bytes stack frame")) frame = line;
    if (frame && strstr(line, "Used "))
      judge_kernel(j, entry, frame, line), kernels++, frame = NULL;
  }
  CHECK(j->failed || kernels > 0, "%s for %s: no kernel in the log", j->op, j->arch);
  free(j->log);
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
  if (!library_open()) SKIP("libnvrtc.so.13 is not on this machine");
  int n, cached = 0;
  nvrtc_source *sources = nvrtc_added(&n);
  ask_all(sources, n);
  if (table)
    printf(
        "| op | types | kernel | for | registers | shared | spills "
        "|\n|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < n; i++) judge(&sources[i]), cached += sources[i].cached;
  for (const arch_sum *s = sums; s->arch; s++)
    printf(
        "     %s: %d kernels, at most %d registers, %d bytes of static shared memory, "
        "%d bytes of stack and spills\n",
        s->arch, s->kernels, s->registers, s->shared, s->spills);
  printf("     %d calls, %d sources, %d of them compiled before\n", n_calls, n, cached);
  gr_arena_destroy(arena);
}

int main(int argc, char **argv) {
  bool any = false;
  for (int i = 1; i < argc; i++) {
    bool all = !strcmp(argv[i], "all"), each = !strcmp(argv[i], "each");
    bool turn = !strcmp(argv[i], "turn"), arch = all || each || turn;
    doubles |= all, wanted.sizes |= all, wanted.each |= each, wanted.turn |= turn;
    for (int a = 0; a < NVRTC_ARCHS; a++)
      if (all || !strcmp(argv[i], nvrtc_archs[a])) wanted.arch[a] = arch = any = true;
    if (!strcmp(argv[i], "table"))
      table = true;
    else if (strstr(argv[i], ".gr"))
      files = argv + i, n_files = argc - i, i = argc;
    else if (!arch)
      only = argv[i];
  }
  if (!any && !wanted.turn && !wanted.each) wanted.arch[1] = true;
  return RUN(1, argv, {"kernels", kernels});
}
