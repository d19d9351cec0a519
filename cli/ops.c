// ops.c - `graphrun ops`: lists and explains the blocks and ops that models are written with.
#include "ops/ops.h"
#include <stddef.h>
#include <string.h>
#include "cli/commands.h"
#include "compiler/model/blocks.h"

typedef struct options {
  bool all;
} options;

static void list_ops(bool all) {
  puts("# blocks: layers with weights, used like ops");
  gr_blocks_list(stdout);
  puts("# ops");
  gr_op_list(stdout, all);
  if (!all) puts("# internal ops, such as gradients: graphrun ops --all");
}

static void put_comma(gr_text *t, bool *first) {
  gr_text_put(t, *first ? "" : ",\n ");
  *first = false;
}

static void put_all(gr_text *t, bool all, bool *first) {
  const char *blocks[128];
  int n = gr_block_names(t->arena, blocks, 128);
  for (int i = 0; i < n; i++) put_comma(t, first), (void)gr_block_json(t, blocks[i]);
  for (int i = 0; gr_ops[i]; i++)
    if (all || !gr_op_is_internal(gr_ops[i])) put_comma(t, first), gr_op_json(t, gr_ops[i]);
}

static bool put_named(gr_text *t, const char *name, bool *first) {
  const gr_op *op = gr_op_find(name);
  gr_text block = gr_text_make(t->arena);
  bool found = gr_block_json(&block, name);
  if (found) put_comma(t, first), gr_text_put(t, block.chars);
  if (op) put_comma(t, first), gr_op_json(t, op);
  return found || op;
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
  return gr_arena_end(arena, s);
}

// The names that are asked for; NULL beyond the last.
static const char *asked(const gr_args *args, int i) {
  if (i == 0) return args->config;
  return i <= args->n_words ? args->words[i - 1] : NULL;
}

static gr_status print_json(gr_arena *a, const gr_args *args, bool all) {
  gr_text t = gr_text_make(a);
  const char *name;
  bool first = true;
  gr_text_put(&t, "[");
  for (int i = 0; (name = asked(args, i)); i++)
    if (!put_named(&t, name, &first)) return no_op(name);
  if (!args->config) put_all(&t, all, &first);
  gr_text_put(&t, "]\n");
  fputs(t.chars, stdout);
  return GR_OK;
}

// A block may wrap an op of the same name and hides it in models; both are described.
static gr_status explain(gr_arena *a, const gr_args *args) {
  const options *flags = args->options;
  const char *name;
  if (args->json) return print_json(a, args, flags->all);
  if (!args->config) list_ops(flags->all);
  for (int i = 0; (name = asked(args, i)); i++) {
    const gr_op *op = gr_op_find(name);
    bool block = gr_block_explain(stdout, name);
    if (block && op) puts("and the op:");
    if (op) gr_op_explain(stdout, op);
    if (!block && !op) return no_op(name);
  }
  return GR_OK;
}

// Blocks that have no op of their name, then ops.
static int words(gr_arena *a, const char **out, int most) {
  int n = 0, blocks = gr_block_names(a, out, most);
  for (int i = 0; i < blocks; i++)
    if (!gr_op_find(out[i])) out[n++] = out[i];
  for (int i = 0; gr_ops[i] && n < most; i++) out[n++] = gr_ops[i]->name;
  return n;
}

static const gr_flag own_flags[] = {
    {"--all", NULL, NULL, GR_FLAG_SET, offsetof(options, all),
     "what only passes emit, too: gradients, optimizers, collectives"},
    {0}};

const gr_command gr_command_ops = {
    .name = "ops",
    .usage = "[NAME ...] [--all] [--json]",
    .doc = "what models are written with: blocks and ops, with their params",
    .example = "graphrun ops ctc_loss linear",
    .keys = "",
    .takes = {GR_ANY_FILE, GR_ANY_FILE, false},
    .flags = {gr_flags_json},
    .own_flags = own_flags,
    .options = sizeof(options),
    .words = words,
    .run = explain,
};
