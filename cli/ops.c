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
