// test_plans.c - the figures of every shipped configuration's plan, on CPUs in fp32 and on GPUs in
// bf16, for 1 and 8 ranks, against the table plans.tsv: a change that makes one worse, or better,
// is seen there. The plans are made without data, and do not depend on the machine.
//
//   test_plans              compares; prints the lines that differ
//   test_plans --write      writes the table again
#include <dirent.h>
#include <math.h>
#include <unistd.h>
#include "base/output.h"
#include "compiler/report/parts.h"
#include "compose/tree/conf.h"
#include "job/cluster.h"
#include "job/figures.h"
#include "job/settings.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"
#include "tests/check.h"

static const char table[] = GR_SOURCE_DIR "/tests/job/plans.tsv";
static const char again[] = "build/tests/test_plans --write";

// Parts of other configurations, and files of other programs.
static const char *const parts[] = {"configs/distributed.yaml",
                                    "configs/launch",
                                    "configs/ppo/base.yaml",
                                    "configs/whisper/common.yaml",
                                    "configs/whisper/fine_tune.yaml",
                                    "configs/whisper/names.yaml",
                                    "configs/whisper/training_arguments.yaml"};
// What a configuration needs besides, to be planned in another precision.
static const char *const more[][2] = {
    {"configs/whisper/guide.yaml", "compat.huggingface.fp16=false"}};
static const struct {
  const char *device, *precision, *chip;
} kinds[] = {{"cpu", "fp32", "cpu"}, {"cuda", "bf16", "h100"}};
static const int ranks[] = {1, 8};

static const char *const columns[] = {"nodes", "launches", "bytes", "collectives", "sent", "ms"};
enum { COLUMNS = sizeof columns / sizeof *columns, MAX_CONFIGS = 256, MAX_TABLE = 1 << 20 };

static gr_arena *arena;

// ---- The configurations -------------------------------------------------------------------------

static const char *configs[MAX_CONFIGS];
static int n_configs;

static bool is_part(const char *path) {
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (!strcmp(parts[i], path)) return true;
  return false;
}

static void find_configs(const char *folder) {
  DIR *d = opendir(folder);
  CHECK(d, "there is no folder '%s'", folder);
  for (struct dirent *e; d && (e = readdir(d));) {
    const char *path = gr_arena_printf(arena, "%s/%s", folder, e->d_name);
    size_t n = strlen(path);
    if (*e->d_name == '.' || is_part(path)) continue;
    if (gr_is_dir(path)) find_configs(path);
    if (gr_is_file(path) && n > 5 && !strcmp(path + n - 5, ".yaml") && n_configs < MAX_CONFIGS)
      configs[n_configs++] = path;
  }
  if (d) closedir(d);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// ---- Planning -----------------------------------------------------------------------------------

// Each kind of work that a node of a loop or of the graph does has a rate.
static void check_rates(const char *config, const gr_graph *g, const gr_cpu_rates *rates) {
  gr_op_call call;
  for (const gr_node *n = g->nodes; n < g->nodes + g->n_nodes; n++) {
    if (n->op == &gr_op_scan) check_rates(config, ((const gr_scan *)n->attr)->body, rates);
    if (n->op == &gr_op_scan || n->op->collective) continue;
    gr_op_call_of(g, n, &call);
    gr_efforts e = gr_cpu_efforts(&call);
    double all = 0;
    for (int k = 0; k < GR_EFFORTS; all += e.of[k++])
      CHECK(e.of[k] >= 0 && (!(e.of[k] > 0) || rates->of[k] > 0), "%s: '%s' does work %d of %g",
            config, n->op->name, k, e.of[k]);
    CHECK(all > 0, "%s: '%s' does nothing", config, n->op->name);
  }
}

// The step is its programs, and on a CPU what it does beside them.
static void check_step(const char *config, const gr_plan_figures *f) {
  const gr_predicted *step = &f->step[0];
  double all = step->besides;
  for (uint32_t i = 0; i < f->plan->n_programs; i++)
    all += f->programs[i].runs * f->programs[i].seconds[0].all;
  CHECK(fabs(all - step->all) <= 1e-9 * all, "%s: %g s of %g s", config, all, step->all);
  CHECK((step->besides > 0) == !f->plan->gpu, "%s: %g s besides", config, step->besides);
  for (uint32_t i = 0; i < f->plan->n_programs && !f->plan->gpu; i++)
    check_rates(config, f->programs[i].program->frame.g, &f->targets[0].cpu);
}

// What must hold of the figures of any plan.
static void check_sums(const char *config, const gr_plan_figures *f) {
  double states = 0, launches = 0;
  check_step(config, f);
  for (int k = 0; k < GR_KIND_COUNT; k++) states += f->kinds[k].bytes;
  CHECK(states <= (double)f->plan->state_bytes, "%s: kinds have more bytes than states", config);
  for (uint32_t i = 0; i < f->plan->n_programs; i++) {
    const gr_program_figures *p = &f->programs[i];
    const gr_predicted *s = &p->seconds[0];
    double live = 0, sent = 0;
    for (int k = 0; k < p->n_makers; k++) live += p->makers[k].bytes;
    for (int k = 0; k < p->n_moves; k++) sent += p->moves[k].traffic.sent;
    CHECK(fabs(live - (double)p->program->frame.bytes) < 1,
          "%s: %s: %.0f bytes of %zu have a maker", config, p->program->name, live,
          p->program->frame.bytes);
    double flops = (double)gr_graph_flops(p->program->frame.g);
    CHECK(fabs(p->flops - flops) <= 1e-12 * flops, "%s: %s: %.0f operations, not %.0f", config,
          p->program->name, p->flops, flops);
    CHECK(fabs(sent - p->all.sent) < 1, "%s: %s: the kinds of collectives do not add up", config,
          p->program->name);
    CHECK(s->all >= s->kernels * (1 - 1e-9) && s->hidden <= s->collectives * (1 + 1e-9),
          "%s: %s: %g s in all, %g of kernels, %g of %g hidden", config, p->program->name, s->all,
          s->kernels, s->hidden, s->collectives);
    launches += p->runs * p->launches;
  }
  CHECK(launches > 0, "%s: a step without launches", config);
}

static void put_figures(gr_text *t, const gr_plan_figures *f) {
  uint32_t nodes = 0;
  for (uint32_t i = 0; i < f->plan->n_programs; i++)
    nodes += f->programs[i].program->frame.g->n_nodes;
  gr_text_printf(t, "%u\t%.6g\t%.0f\t%.6g\t%.6g\t%.6g\n", nodes, f->launches, f->bytes,
                 f->collectives, f->sent, 1e3 * f->step[0].all);
}

static const char *more_of(const char *config) {
  for (size_t i = 0; i < sizeof more / sizeof *more; i++)
    if (!strcmp(more[i][0], config)) return more[i][1];
  return NULL;
}

static void put_plan(gr_text *t, const char *config, int kind, int n) {
  static const gr_command plan = {.name = "plan", .plans = true, .kind = GR_RUN_TRAIN};
  gr_arena *a = gr_arena_create();
  const char *overrides[] = {gr_arena_printf(a, "device=%s", kinds[kind].device),
                             gr_arena_printf(a, "training.precision=%s", kinds[kind].precision),
                             more_of(config)};
  gr_args args = {.program = "graphrun",
                  .command = &plan,
                  .config = config,
                  .overrides = overrides,
                  .n_overrides = more_of(config) ? 3 : 2,
                  .ranks = n};
  gr_target target = gr_target_of(gr_chip_find(kinds[kind].chip));
  gr_job job = {0};
  gr_text_printf(t, "%s\t%s %s\t%d\t", config, kinds[kind].device, kinds[kind].precision, n);
  gr_status s = gr_job_compose(a, &args, &job);
  if (!s) s = gr_job_plan(&job, n);
  const gr_plan_figures *f = s ? NULL : gr_job_count(&job, &target, 1);
  if (f) check_sums(config, f), put_figures(t, f);
  if (s) gr_text_printf(t, "%s\n", gr_status_text(s));
  gr_status_drop(s);
  gr_job_close(&job);
  gr_arena_destroy(a);
}

static gr_text make_table(void) {
  gr_text t = gr_text_make(arena);
  gr_text_put(&t, "configuration\tplan\tranks");
  for (int i = 0; i < COLUMNS; i++) gr_text_printf(&t, "\t%s", columns[i]);
  gr_text_put(&t, "\n");
  for (int i = 0; i < n_configs; i++)
    for (int kind = 0; kind < 2; kind++)
      for (int k = 0; k < 2; k++) put_plan(&t, configs[i], kind, ranks[k]);
  return t;
}

// ---- Comparing ----------------------------------------------------------------------------------

static const char *line_of(const char **text) {
  size_t n = strcspn(*text, "\n");
  const char *line = gr_arena_strndup(arena, *text, n);
  *text += n + ((*text)[n] == '\n');
  return line;
}

static int split(const char *line, const char *out[], int most) {
  int n = 0;
  for (size_t len; n < most; line += len + 1) {
    len = strcspn(line, "\t");
    out[n++] = gr_arena_strndup(arena, line, len);
    if (!line[len]) break;
  }
  return n;
}

// The line of the same plan, or NULL.
static const char *find_line(const char *text, const char *like) {
  const char *end = like;
  for (int tabs = 0; tabs < 3; end++) tabs += *end == '\t';
  size_t n = (size_t)(end - like);
  for (; text && *text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
    if (!strncmp(text, like, n)) return line_of(&text);
  return NULL;
}

// Of sums of products of floating point, which another compiler may round otherwise.
static bool is_near(double a, double b) { return fabs(a - b) <= 1e-4 * fabs(b); }

static void compare_line(const char *now, const char *before) {
  const char *a[3 + COLUMNS], *b[3 + COLUMNS];
  int n = split(now, a, 3 + COLUMNS), m = split(before, b, 3 + COLUMNS);
  bool figures = n == 3 + COLUMNS && m == n;
  CHECK(figures || !strcmp(now, before), "is now: %s\n  was: %s", now, before);
  for (int i = 3; i < n && figures; i++) {
    double x = strtod(a[i], NULL), y = strtod(b[i], NULL);
    CHECK(is_near(x, y), "%s: %s, %s, %s ranks: %s %s, and were %s", x > y ? "worse" : "better",
          a[0], a[1], a[2], columns[i - 3], a[i], b[i]);
  }
}

static void compare_tables(const char *now, const char *before) {
  for (const char *rest = now; *rest;) {
    const char *line = line_of(&rest), *old = find_line(before, line);
    CHECK(old, "new: %s", line);
    if (old) compare_line(line, old);
  }
  for (const char *rest = before; *rest;) {
    const char *line = line_of(&rest);
    CHECK(find_line(now, line), "gone: %s", line);
  }
}

static void every_plan_is_as_the_table_says(void) {
  gr_text now = make_table();
  char *before = NULL;
  MUST(gr_file_read(arena, table, MAX_TABLE, &before, NULL));
  int failed = check_failed;
  compare_tables(now.chars, before);
  if (check_failed > failed)
    fprintf(stderr, "if that is meant, `%s` writes %s again: see what changes in it\n", again,
            table);
}

// ---- Rates --------------------------------------------------------------------------------------

// A CPU has all rates without a measurement, but those of its memory.
static void a_cpu_has_all_rates(void) {
  gr_target t = gr_target_of(gr_chip_find("cpu"));
  gr_constant c;
  int n = 0;
  for (int i = 0; gr_cluster_constant(&t, i, &c); i++) {
    bool memory =
        !strcmp(c.path, "cpu.copy") || !strcmp(c.path, "cpu.cache") || !strcmp(c.path, "cpu.fetch");
    if (strncmp(c.path, "cpu.", 4) != 0) continue;
    CHECK(memory || c.value > 0, "%s is not known", c.path);
    n++;
  }
  CHECK(n >= GR_EFFORTS, "%d constants", n);
}

// fetched: bytes a second from beyond the near caches, which keep nothing; 0: which keep all.
static double seconds_fetching(double fetched, const char *op, const void *attr, const char *x,
                               const char *y) {
  gr_target t = gr_target_of(gr_chip_find("cpu"));
  gr_op_call c = {.op = gr_op_find(op), .attr = attr, .n_in = 1 + (y != NULL)};
  _Alignas(16) char usual[1024];
  if (!attr) gr_attr_defaults(c.op, usual), c.attr = usual;
  MUST(gr_type_parse(x, &c.in[0]));
  if (y) MUST(gr_type_parse(y, &c.in[1]));
  MUST(gr_op_infer(&c));
  t.cpu.fetched = fetched > 0 ? fetched : 1e9;
  return gr_cpu_seconds(&t, &c, false, fetched > 0) - t.cpu.call_gap;
}
static double seconds_of(const char *op, const void *attr, const char *x, const char *y) {
  return seconds_fetching(0, op, attr, x, y);
}

static bool is_about(double a, double b) { return fabs(a - b) < 1e-9 * b; }

// Vectors that channels do not fill take as long as full ones; what an op reads of an operand
// counts, and not how large that is; short runs take longer.
static void sizes_count(void) {
  double few = seconds_of("conv2d", NULL, "f32[2,8,8,8]", "f32[4,8,3,3]");
  double full = seconds_of("conv2d", NULL, "f32[2,8,8,8]", "f32[16,8,3,3]");
  double twice = seconds_of("conv2d", NULL, "f32[2,8,8,8]", "f32[32,8,3,3]");
  CHECK(is_about(few, full) && is_about(twice, 2 * full), "%g, %g, %g s", few, full, twice);
  double row = seconds_of("embedding", NULL, "f32[10,64]", "i32[4]");
  CHECK(is_about(row, seconds_of("embedding", NULL, "f32[90,64]", "i32[4]")), "a larger table");
  const struct slice { int64_t axis, begin, size; } first = {0, 0, 2}, last = {1, 0, 2};
  double runs = seconds_of("slice", &last, "f32[64,64]", NULL);
  double whole = seconds_of("slice", &first, "f32[64,64]", NULL);
  CHECK(runs > 4 * whole, "64 runs of 2 take %g s, 1 of 128 %g s", runs, whole);
}

// Sums of few products take longer for each of them.
static void sums_begin_and_end(void) {
  double one = seconds_of("conv2d", NULL, "f32[2,8,8,1]", "f32[16,1,3,3]");
  double many = seconds_of("conv2d", NULL, "f32[2,8,8,64]", "f32[16,64,3,3]");
  CHECK(is_about(one * (9 * 64 + 16), many * (9 + 16)), "%g s, of 64 channels %g s", one, many);
}

// What other calls have pushed out of the near caches is fetched.
static void far_operands_are_fetched(void) {
  double near = seconds_of("add", NULL, "f32[64,64]", "f32[64,64]");
  double far = seconds_fetching(2e9, "add", NULL, "f32[64,64]", "f32[64,64]");
  CHECK(is_about(far - near, 3 * 64 * 64 * 4 / 2e9), "%g s, with operands far away %g s", near,
        far);
}

// ---- Links --------------------------------------------------------------------------------------

static void check_link(const gr_cluster *c, int n, int stride, double sent, int passes,
                       double want) {
  double got = gr_link_seconds(c, n, stride, sent, passes);
  CHECK(fabs(got - want) < 1e-12, "%d ranks, %d apart: %.9g s instead of %.9g", n, stride, got,
        want);
}

// Of 8 devices a machine: within one, over the network of all of them, and over that of one.
static void links(void) {
  const gr_cluster c = {8, 0, 0, {400e9, 1e-6}, {25e9, 5e-6}, 15e-6};
  double gap = c.gap;
  check_link(&c, 8, 1, 8e9, 2, gap + 8e9 / 400e9 + 2 * 3e-6);
  check_link(&c, 8, 1, 8e9, 1, gap + 8e9 / 400e9 + 3e-6);
  check_link(&c, 32, 1, 8e9, 2, gap + 8e9 / 200e9 + 2 * (3e-6 + 2 * 5e-6));
  check_link(&c, 4, 8, 8e9, 2, gap + 8e9 / 25e9 + 2 * (2 * 5e-6));
  check_link(&c, 4, 2, 8e9, 1, gap + 8e9 / 400e9 + 2e-6);
  check_link(&c, 16, 4, 8e9, 1, gap + 8e9 / 50e9 + 1e-6 + 3 * 5e-6);
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  gr_settings_register();
  bool writes = argc > 1 && !strcmp(argv[1], "--write");
  if (chdir(GR_SOURCE_DIR)) return 1;
  find_configs("configs");
  qsort(configs, (size_t)n_configs, sizeof *configs, by_name);
  if (writes) {
    gr_text now = make_table();
    gr_status s = gr_output_write(NULL, table, now.chars, now.len);
    gr_status_print(stderr, s);
    return gr_status_exit(s);
  }
  int failed = RUN(argc, argv, {"links", links}, {"a_cpu_has_all_rates", a_cpu_has_all_rates},
                   {"sizes_count", sizes_count}, {"sums_begin_and_end", sums_begin_and_end},
                   {"far_operands_are_fetched", far_operands_are_fetched},
                   {"every plan is as the table says", every_plan_is_as_the_table_says});
  gr_arena_destroy(arena);
  return failed;
}
