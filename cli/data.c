// data.c - `graphrun data`: writes a manifest of Debian's recordings, and describes a data set.
#include <stddef.h>
#include <string.h>
#include "base/work.h"
#include "cli/commands.h"
#include "compose/schema/schema.h"
#include "job/job.h"
#include "runtime/data/speech/manifest.h"
#include "runtime/data/transforms.h"
#include "runtime/launch/launch.h"

typedef struct options {
  bool audio;
} options;

static gr_status import_asterisk(const char *out, const gr_import_asterisk *spec) {
  gr_import_counts n = {0};
  gr_work work;
  gr_work_begin(&work, gr_launch_work_shown(), "importing recordings", 0);
  gr_status s = gr_import_asterisk_run(spec, out, &n);
  gr_work_end(&work);
  if (s) return s;
  printf(
      "%s: %u recordings, %.1f minutes; left out: %u sounds, %u with digits, %u without a "
      "recording, %u listed again\n",
      out, n.written, n.seconds / 60, n.sounds, n.digits, n.missing, n.repeated);
  return GR_OK;
}

static gr_status import(int argc, char **argv) {
  gr_import_asterisk spec = {.no_digits = true};
  bool known = argc > 4 && !strcmp(argv[3], "asterisk");
  for (int i = 5; i < argc; i++) {
    const char *language = "--language=";
    if (!strcmp(argv[i], "--with-digits"))
      spec.no_digits = false;
    else if (!strncmp(argv[i], language, strlen(language)))
      spec.language = argv[i] + strlen(language);
    else
      known = false;
  }
  if (known) return import_asterisk(argv[4], &spec);
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                         "graphrun data import asterisk OUT.jsonl [--language=es] [--with-digits]"),
                 "--language chooses another package than the English one; --with-digits keeps "
                 "recordings whose transcripts contain digits");
}

// It may take long to read all files.
static gr_status open_data(gr_job *j, bool wholly) {
  gr_conf *data = gr_conf_find(j->spec.conf, "data");
  gr_work work;
  gr_work_begin(&work, gr_launch_work_shown(), "reading the data", 0);
  gr_status s = wholly ? gr_dataset_open_all(data, gr_schema_doc, &j->spec.data)
                       : gr_dataset_open(data, gr_schema_doc, &j->spec.data);
  gr_work_end(&work);
  return s;
}

static void put_skipped(gr_dataset *d, gr_text *out) {
  gr_text changed = gr_text_make(out->arena);
  if (gr_dataset_skipped(d, out)) gr_text_put(out, "\n");
  gr_dataset_changed(d, &changed);
  if (changed.len) gr_text_printf(out, "%s\n", changed.chars);
}

static gr_status inspect_job(gr_job *j) {
  gr_text t = gr_text_make(j->arena);
  bool audio = ((const options *)j->args.options)->audio;
  GR_TRY(open_data(j, audio));
  if (!audio || j->args.json)  // else all are printed below
    gr_dataset_log_skipped(j->spec.data);
  else
    put_skipped(j->spec.data, &t);
  if (!j->spec.set.options.batch.batch_size && !j->args.json)
    puts("training.batch_size is by bucket, which `graphrun plan` lists; here batches are of 1");
  if (j->args.json)
    gr_dataset_json(j->spec.data, &t), fputs(t.chars, stdout);
  else
    gr_dataset_inspect(j->spec.data, (int)j->spec.set.options.batch.batch_size, &t),
        gr_print_lines(stdout, t.chars);
  if (!audio) return GR_OK;
  uint64_t n = gr_dataset_unreadable(j->spec.data);
  if (!j->args.json) printf("samples that cannot be used: %llu\n", (unsigned long long)n);
  for (uint64_t i = 0; i < n && !j->args.json; i++) {
    const char *line = gr_dataset_unreadable_line(j->spec.data, i);
    gr_print_line(stdout, line, strlen(line));
    putchar('\n');
  }
  if (!n) return GR_OK;
  const gr_conf *skip = gr_conf_find(j->spec.conf, "data.skip_unreadable");
  bool excluded = skip && skip->kind == GR_CONF_BOOL && skip->truth;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "%llu sample%s cannot be used",
                         (unsigned long long)n, n > 1 ? "s" : ""),
                 excluded ? "repair them or remove their lines; training leaves them out, since "
                            "data.skip_unreadable is true"
                          : "repair them, remove their lines, or exclude them from training with "
                            "data.skip_unreadable=true");
}

static gr_status inspect(int argc, char **argv) {
  gr_arena *arena = gr_arena_create();
  gr_args args;
  gr_job job = {0};
  gr_status s = gr_args_parse(arena, gr_commands, &gr_command_data, argc, argv, 3, &args);
  s = s ? s : gr_job_compose(arena, &args, &job);
  s = s ? s : inspect_job(&job);
  gr_job_close(&job);
  return gr_arena_end(arena, s);
}

static gr_status transforms(void) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_transforms_help(&t);
  fputs(t.chars, stdout);
  gr_arena_destroy(a);
  return GR_OK;
}

static const char usage[] =
    "graphrun data import asterisk OUT.jsonl | graphrun data inspect CONFIG.yaml [--audio] "
    "[--json] | graphrun data transforms";

static const char *const verbs[] = {"import", "inspect", "transforms"};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

static int words(gr_arena *a, const char **out, int most) {
  (void)a;
  int n = 0;
  for (; n < N_VERBS && n < most; n++) out[n] = verbs[n];
  return n;
}

// A configuration without a verb is probably to be inspected.
static gr_status unknown_verb(const char *verb) {
  const char *near = gr_text_nearest(verb, verbs, N_VERBS);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "graphrun data cannot do '%s'", verb);
  if (gr_ends_in(verb, ".yaml")) return gr_hint(s, "graphrun data inspect %s", verb);
  return near ? gr_hint(s, "did you mean '%s'?", near) : gr_hint(s, "%s", usage);
}

static gr_status data_run(int argc, char **argv) {
  const char *verb = argc > 2 ? argv[2] : NULL;
  if (!verb)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "data: nothing is asked for"), "%s", usage);
  if (!strcmp(verb, "import")) return import(argc, argv);
  if (!strcmp(verb, "inspect")) return inspect(argc, argv);
  if (strcmp(verb, "transforms") != 0) return unknown_verb(verb);
  if (argc == 3) return transforms();
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is one argument too many", argv[3]),
                 "graphrun data transforms");
}

static const gr_flag own_flags[] = {{"--audio", NULL, NULL, GR_FLAG_SET, offsetof(options, audio),
                                     "of `inspect`: reads all recordings too"},
                                    {0}};

const gr_command gr_command_data = {
    .name = "data",
    .usage =
        "import asterisk OUT.jsonl | inspect CONFIG.yaml [key=value ...] [--audio] [--json] | "
        "transforms",
    .doc = "data sets",
    .example = "graphrun data inspect configs/multi_gpu.yaml data.limit=100",
    .keys =
        "data.source data.validation_fraction data.validation_fold data.buckets data.limit data.workers "
        "data.skip_unreadable",
    .takes = {GR_CONFIG_FILE, GR_NO_OPERAND, true},
    .flags = {gr_flags_config, gr_flags_json},
    .own_flags = own_flags,
    .options = sizeof(options),
    .words = words,
    .run_line = data_run,
};
