// ops.c - `graphrun ops`: lists and explains the blocks and ops that models are written with.
#include <string.h>
#include "cli/commands.h"
#include "compiler/model/blocks.h"
#include "ops/ops.h"

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
  if (found) put_comma(t, first), gr_text_put(t, block.at);
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
  gr_arena_destroy(arena);
  return s;
}

static gr_status print_json(int argc, char **argv, bool all) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  const char *unknown = NULL;
  bool first = true, named = false;
  gr_text_put(&t, "[");
  for (int i = 2; i < argc; i++) {
    if (argv[i][0] == '-') continue;
    named = true;
    if (!put_named(&t, argv[i], &first) && !unknown) unknown = argv[i];
  }
  if (!named) put_all(&t, all, &first);
  gr_text_put(&t, "]\n");
  if (!unknown) fputs(t.at, stdout);
  gr_arena_destroy(a);
  return unknown ? no_op(unknown) : GR_OK;
}

// A block may wrap an op of the same name and hides it in models; both are described.
gr_status gr_cmd_ops(int argc, char **argv) {
  bool all = false, json = false;
  int shown = 0;
  for (int i = 2; i < argc; i++)
    all |= !strcmp(argv[i], "--all"), json |= !strcmp(argv[i], "--json");
  if (json) return print_json(argc, argv, all);
  for (int i = 2; i < argc; i++) {
    if (!strcmp(argv[i], "--all")) continue;
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
