// commands.c - see commands.h.
#include "cli/commands.h"
#include <string.h>

const gr_command *const gr_commands[] = {
#define GR_COMMAND(name) &gr_command_##name,
#include "cli/commands.def"
#undef GR_COMMAND
    NULL,
};

const gr_command *gr_command_find(const char *name) {
  for (const gr_command *const *c = gr_commands; *c; c++)
    if (!strcmp(name, (*c)->name)) return *c;
  return NULL;
}

gr_status gr_command_run(const gr_command *c, int argc, char **argv) {
  if (c->run_line) return c->run_line(argc, argv);
  gr_arena *a = gr_arena_create();
  gr_args args;
  gr_status s = gr_args_parse(a, gr_commands, c, argc, argv, gr_args_first(c, argc, argv), &args);
  s = s ? s : c->run(a, &args);
  return gr_arena_end(a, s);
}
