// man.c - see man.h.
#include "cli/man.h"
#include <string.h>
#include "cli/commands.h"
#include "cli/help.h"
#include "compose/schema/schema.h"
#include "job/version.h"

// Text in roff: backslashes and hyphens are escaped, and no line begins with a control character.
static void put(gr_text *t, const char *s) {
  if (*s == '.' || *s == '\'') gr_text_put(t, "\\&");
  for (; *s; s++) {
    if (*s == '\\')
      gr_text_put(t, "\\e");
    else if (*s == '-')
      gr_text_put(t, "\\-");
    else
      gr_text_putn(t, s, 1);
    if (*s == '\n' && (s[1] == '.' || s[1] == '\'')) gr_text_put(t, "\\&");
  }
}

static void put_item(gr_text *t, const char *name, const char *value, const char *doc) {
  gr_text_put(t, ".TP\n.B ");
  put(t, name);
  if (value) gr_text_put(t, " "), put(t, value);
  gr_text_put(t, "\n");
  put(t, doc);
  gr_text_put(t, "\n");
}

static void put_command(gr_text *t, const gr_command *c) {
  const gr_flag *flag;
  gr_text_put(t, ".SS \"graphrun ");
  put(t, c->name);
  gr_text_put(t, " ");
  put(t, c->usage);
  gr_text_put(t, "\"\n");
  put(t, c->doc);
  gr_text_put(t, ".\n");
  for (int i = 0; (flag = gr_command_flag(c, i)); i++)
    put_item(t, flag->name, flag->value, flag->doc);
  gr_text_put(t, ".PP\nExample:\n.PP\n.nf\n.RS\n");
  put(t, c->example);
  gr_text_put(t, "\n.RE\n.fi\n");
}

static void put_key(gr_text *t, const gr_schema_key *k) {
  gr_text doc = gr_text_make(t->arena);
  gr_text_printf(&doc, "%s%s%s (%s", k->doc, *k->unit ? ", in " : "", k->unit, k->type);
  if (!strcmp(k->default_value, "???"))
    gr_text_put(&doc, "; must be given)");
  else
    gr_text_printf(&doc, "; default %s)", *k->default_value ? k->default_value : "none");
  put_item(t, k->path, NULL, doc.chars);
}

void gr_man(gr_text *t) {
  gr_text_printf(t, ".TH GRAPHRUN 1 \"\" \"graphrun %s\" \"User Commands\"\n", gr_version_number);
  gr_text_put(
      t,
      ".SH NAME\ngraphrun \\- trains neural networks from configuration alone\n"
      ".SH SYNOPSIS\n.B graphrun\nCONFIG.yaml [key=value ...]\n.br\n"
      ".B graphrun\nCOMMAND ...\n"
      ".SH DESCRIPTION\n"
      "Composes a YAML configuration as Hydra does, compiles the whole training step into one "
      "static graph, proves and plans it for every rank, and runs it on all ranks.\n"
      ".SH COMMANDS\n");
  for (const gr_command *const *c = gr_commands; *c; c++) put_command(t, *c);
  gr_text_put(t, ".SH CONFIGURATION KEYS\n");
  for (int i = 0; i < gr_schema_count; i++)
    if (!gr_schema_keys[i].alias_of) put_key(t, &gr_schema_keys[i]);
  gr_text_put(t, ".SH EXIT STATUS\n");
  for (const gr_exit_code *c = gr_exit_codes; c->what; c++) {
    char number[16];
    snprintf(number, sizeof number, "%d", c->code);
    put_item(t, number, NULL, c->what);
  }
  gr_text_put(t,
              ".SH FILES\nA run writes to outputs/DATE/TIME, or output.dir: metrics.jsonl, "
              "training_results.json, run.log, .hydra/, model.yaml, data.json and checkpoints/.\n"
              ".PP\nConfigurations, models and hooks that are installed are in "
              "PREFIX/share/graphrun, where relative paths are searched last.\n");
}
