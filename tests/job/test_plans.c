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
#include "compose/tree/conf.h"
#include "job/figures.h"
#include "job/settings.h"
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

// What must hold of the figures of any plan.
static void check_sums(const char *config, const gr_plan_figures *f) {
  double states = 0, launches = 0;
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
  int failed = RUN(argc, argv, {"links", links},
                   {"every plan is as the table says", every_plan_is_as_the_table_says});
  gr_arena_destroy(arena);
  return failed;
}
