// tools.c - the commands `graphrun ops`, `ckpt` and `data`.
#include <string.h>
#include "cli/commands.h"
#include "cli/job.h"
#include "compiler/model/blocks.h"
#include "compose/schema/schema.h"
#include "ops/ops.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/data/speech/manifest.h"

// ---- ops --------------------------------------------------------------------------------------

static void list_ops(bool all) {
  puts("# blocks: layers with weights, used like ops");
  gr_blocks_list(stdout);
  puts("# ops");
  gr_op_list(stdout, all);
  if (!all) puts("# internal ops, such as gradients: graphrun ops --all");
}

static gr_status no_op(const char *name) {
  const char *names[512];
  gr_arena *arena = gr_arena_create();
  int n = gr_block_names(arena, names, 128);
  for (int i = 0; gr_ops[i] && n < 512; i++)
    if (!gr_op_is_internal(gr_ops[i])) names[n++] = gr_ops[i]->name;
  const char *near = NULL;
  for (int i = 0; i < n && !near && strlen(name) > 1; i++)
    if (!strncmp(names[i], name, strlen(name))) near = names[i];
  if (!near) near = gr_text_nearest(name, names, n);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no op or block '%s'", name);
  s = near ? gr_hint(s, "did you mean '%s'?", near) : gr_hint(s, "`graphrun ops` lists them");
  gr_arena_destroy(arena);
  return s;
}

// A block may wrap an op of the same name and hides it in models; both are described.
gr_status gr_cmd_ops(int argc, char **argv) {
  bool all = false;
  int shown = 0;
  for (int i = 2; i < argc; i++) {
    if (!strcmp(argv[i], "--all") && (all = true)) continue;
    const gr_op *op = gr_op_find(argv[i]);
    bool block = gr_block_explain(stdout, argv[i]);
    if (block && op) puts("and the op:");
    if (op) gr_op_explain(stdout, op);
    if (!block && !op) return no_op(argv[i]);
    shown++;
  }
  if (!shown) list_ops(all);
  return GR_OK;
}

// ---- ckpt -------------------------------------------------------------------------------------

gr_status gr_cmd_ckpt(int argc, char **argv) {
  static const struct {
    const char *name;
    gr_status (*print)(FILE *, const char *path);
  } verbs[] = {{"list", gr_checkpoint_print_list},
               {"show", gr_checkpoint_print_show},
               {"verify", gr_checkpoint_print_verify}};
  char inner[4096];
  for (int i = 0; argc == 4 && i < 3; i++)
    if (!strcmp(argv[2], verbs[i].name)) {
      snprintf(inner, sizeof inner, "%s/checkpoints", argv[3]);  // of a run's folder
      gr_visible_out out;
      gr_status s = verbs[i].print(gr_visible_begin(&out), gr_is_dir(inner) ? inner : argv[3]);
      gr_visible_end(&out);
      return s;
    }
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "graphrun ckpt list|show|verify DIRECTORY"),
                 "DIRECTORY is a run's folder, its checkpoints/, or one checkpoint");
}

// ---- data -------------------------------------------------------------------------------------

static gr_status make_parent(gr_arena *arena, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return GR_OK;
  return gr_make_dirs(gr_arena_strndup(arena, path, (size_t)(slash - path)));
}

static gr_status import(int argc, char **argv) {
  if (argc < 5 || strcmp(argv[3], "asterisk"))
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "graphrun data import asterisk OUT.jsonl"),
                   "--with-digits keeps recordings whose transcripts contain digits");
  gr_arena *arena = gr_arena_create();
  gr_import_asterisk spec = {.no_digits = argc < 6 || strcmp(argv[5], "--with-digits")};
  gr_import_counts n = {0};
  gr_status s = make_parent(arena, argv[4]);
  s = s ? s : gr_import_asterisk_run(&spec, argv[4], &n);
  gr_arena_destroy(arena);
  if (s) return s;
  printf(
      "%s: %u recordings, %.1f minutes; left out: %u sounds, %u with digits, %u without a "
      "recording\n",
      argv[4], n.written, n.seconds / 60, n.sounds, n.digits, n.missing);
  return GR_OK;
}

static gr_status inspect_job(gr_job *j) {
  gr_text t = gr_text_make(j->arena);
  gr_conf *data = gr_conf_find(j->spec.conf, "data");
  bool audio = j->args.audio;
  GR_TRY(audio ? gr_dataset_open_all(data, gr_schema_doc, &j->spec.data)
               : gr_dataset_open(data, gr_schema_doc, &j->spec.data));
  gr_dataset_inspect(j->spec.data, (int)j->spec.set.batch_size, &t);
  gr_print_lines(stdout, t.at);
  if (!audio) return GR_OK;
  uint64_t n = gr_dataset_unreadable(j->spec.data);
  printf("samples that cannot be used: %llu\n", (unsigned long long)n);
  for (uint64_t i = 0; i < n; i++) {
    const char *line = gr_dataset_unreadable_line(j->spec.data, i);
    gr_print_line(stdout, line, strlen(line));
    putchar('\n');
  }
  if (!n) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "%llu sample%s cannot be used",
                         (unsigned long long)n, n > 1 ? "s" : ""),
                 "repair them, remove their lines, or exclude them from training with "
                 "data.skip_unreadable=true");
}

static gr_status inspect(int argc, char **argv) {
  gr_arena *arena = gr_arena_create();
  gr_args args;
  gr_job job = {0};
  gr_status s = gr_args_parse(arena, argc, argv, 3, &args);
  s = s ? s : gr_job_compose(arena, &args, &job);
  s = s ? s : inspect_job(&job);
  gr_job_close(&job);
  if (s) return s;  // the error's locations point into the arena, which is therefore not freed
  gr_arena_destroy(arena);
  return GR_OK;
}

gr_status gr_cmd_data(int argc, char **argv) {
  if (argc > 2 && !strcmp(argv[2], "import")) return import(argc, argv);
  if (argc > 3 && !strcmp(argv[2], "inspect")) return inspect(argc, argv);
  return gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                 "graphrun data import asterisk OUT.jsonl | graphrun data inspect CONFIG.yaml "
                 "[--audio]");
}
