// help.c - see help.h.
#include "cli/help.h"
#include <string.h>
#include "cli/commands.h"
#include "compose/schema/schema.h"

const gr_exit_code gr_exit_codes[] = {
    {0, "done"},
    {1, "what is compared differs"},
    {2, "usage"},
    {65, "configuration or model"},
    {66, "data"},
    {69, "launch"},
    {70, "hook"},
    {71, "a rank died"},
    {72, "hang"},
    {74, "files"},
    {75, "stopped and saved"},
    {76, "non-finite loss"},
    {78, "checkpoint refused"},
    {0, NULL},
};

void gr_help_all(FILE *f) {
  fputs(
      "graphrun trains neural networks from configuration alone.\n\n"
      "    graphrun CONFIG.yaml [key=value ...]\n\n",
      f);
  for (const gr_command *const *c = gr_commands; *c; c++)
    fprintf(f, "    graphrun %-7s %s\n%21s%s\n", (*c)->name, (*c)->usage, "", (*c)->doc);
  fputs(
      "\n`graphrun COMMAND --help` has the flags of each, `graphrun --version [--json]` the "
      "version.\n"
      "Exit codes:",
      f);
  for (const gr_exit_code *c = gr_exit_codes; c->what; c++)
    fprintf(f, "%s%d %s%s", c->code == 71 || c->code == 78 ? "\n" : " ", c->code, c->what,
            c[1].what ? "," : ".\n");
}

static void put_flags(FILE *f, const gr_command *c) {
  const gr_flag *flag;
  for (int i = 0; (flag = gr_command_flag(c, i)); i++) {
    char left[64];
    snprintf(left, sizeof left, "%s%s%s", flag->name, flag->value ? " " : "",
             flag->value ? flag->value : "");
    fprintf(f, "%s    %-20s %s\n", i ? "" : "\nFlags:\n", left, flag->doc);
  }
}

static void put_key(FILE *f, const gr_schema_key *k) {
  bool given = strcmp(k->default_value, "???") != 0;
  fprintf(f, "    %s  %s%s\n        %s\n", k->path, given ? "default " : "must be given",
          given ? k->default_value : "", k->doc);
}

static void put_keys(FILE *f, const char *keys) {
  if (*keys) fputs("\nKeys that matter most (`graphrun config --help` has them all):\n", f);
  for (size_t n; (n = strcspn(keys, " ")); keys += n + strspn(keys + n, " ")) {
    char path[128];
    snprintf(path, sizeof path, "%.*s", (int)n, keys);
    const gr_schema_key *k = gr_schema_find(path);
    if (k) put_key(f, k);
  }
}

void gr_help_command(FILE *f, const gr_command *c) {
  fprintf(f, "graphrun %s %s\n    %s\n", c->name, c->usage, c->doc);
  put_flags(f, c);
  put_keys(f, c->keys);
  fprintf(f, "\nFor example:\n    %s\n", c->example);
}
