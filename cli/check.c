// check.c - `graphrun check`: what this machine has, what limits it, and how fast it is.
#include <string.h>
#include "base/terminal.h"
#include "cli/check/findings.h"
#include "cli/commands.h"
#include "job/version.h"

enum { INDENT = 22 };
static const char *const states[] = {
    [GR_FINDING_OK] = "ok", [GR_FINDING_LIMITS] = "limits", [GR_FINDING_FAILS] = "fails"};

static void put_wrapped(gr_text *t, const char *text, int columns) {
  for (size_t n; *text; text += n) {
    text += strspn(text, " ");
    n = gr_text_fit(text, columns - INDENT);
    gr_text_putn(t, text, n);
    gr_text_printf(t, "\n%*s", text[n] ? INDENT : 0, "");
  }
}

static void print(const gr_findings *f) {
  gr_text t = gr_text_make(f->arena);
  int columns = gr_terminal_look(1).columns;
  const char *section = "";
  if (columns < 2 * INDENT) columns = 2 * INDENT;
  for (const gr_finding *one = f->list; one < f->list + f->n; one++) {
    if (strcmp(section, one->section) != 0) gr_text_printf(&t, "%s\n", one->section);
    section = one->section;
    gr_text_printf(&t, "%c   %-*s", " -!"[one->state], INDENT - 4, one->name);
    put_wrapped(&t, one->value, columns);
    if (!one->hint) continue;
    gr_text_printf(&t, "%*s", INDENT, "");
    put_wrapped(&t, gr_arena_printf(f->arena, "hint: %s", one->hint), columns);
  }
  gr_print_lines(stdout, t.chars);
}

static void put_member(gr_text *t, const char *name, const char *value) {
  gr_text_printf(t, "\"%s\": ", name);
  gr_text_json(t, value);
  gr_text_put(t, ", ");
}

static void print_json(const gr_findings *f, bool starts) {
  gr_text t = gr_text_make(f->arena);
  gr_text_put(&t, "{");
  gr_version_json_members(&t);
  gr_text_printf(&t, ",\n \"starts\": %s,\n \"findings\": [", starts ? "true" : "false");
  for (const gr_finding *one = f->list; one < f->list + f->n; one++) {
    gr_text_put(&t, one == f->list ? "\n  {" : ",\n  {");
    put_member(&t, "section", one->section);
    put_member(&t, "name", one->name);
    put_member(&t, "state", states[one->state]);
    put_member(&t, "value", one->value);
    put_member(&t, "hint", one->hint);
    put_member(&t, "unit", one->unit);
    gr_text_put(&t, one->unit ? "\"number\": " : "\"number\": null");
    if (one->unit) gr_text_json_rounded(&t, one->number, 6);
    gr_text_put(&t, "}");
  }
  gr_text_put(&t, "]}\n");
  fputs(t.chars, stdout);
}

static gr_status check(gr_arena *a, const gr_args *args) {
  gr_findings *f = GR_NEW(a, gr_findings, 1);
  int fail = 0;
  f->arena = a;
  if (args->config)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is one argument too many", args->config);
  gr_check_as_rank();
  gr_check_machine(f);
  gr_check_rates(f, args->argv);
  for (int i = 0; i < f->n; i++) fail += f->list[i].state == GR_FINDING_FAILS;
  if (args->json)
    print_json(f, !fail);
  else
    print(f);
  fflush(stdout);  // before the error
  if (!fail) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                         "training cannot start here: %d finding%s of this machine forbid%s it",
                         fail, gr_text_s(fail), fail > 1 ? "" : "s"),
                 "those marked by `!`, in JSON \"fails\", each with a hint");
}

static gr_status check_run(int argc, char **argv) {
  return gr_command_parsed(&gr_command_check, argc, argv, check);
}

const gr_command gr_command_check = {
    .name = "check",
    .usage = "[--json]",
    .doc = "what this machine has for training, what limits it, and how fast it is",
    .example = "graphrun check",
    .keys = "device distributed.ranks distributed.backend",
    .takes = {GR_NO_OPERAND, GR_NO_OPERAND, false},
    .flags = {gr_flags_json},
    .run = check_run,
};
