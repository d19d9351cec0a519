// check.c - `graphrun check`: what this machine has, what limits it, and how fast it is.
#include <stddef.h>
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
    bool several = one->ranks && strpbrk(one->ranks, "-,");
    put_wrapped(&t,
                one->ranks ? gr_arena_printf(f->arena, "rank%s %s: %s", several ? "s" : "",
                                             one->ranks, one->value)
                           : one->value,
                columns);
    if (!one->hint) continue;
    gr_text_printf(&t, "%*s", INDENT, "");
    put_wrapped(&t, gr_arena_printf(f->arena, "hint: %s", one->hint), columns);
  }
  gr_print_lines(stdout, t.chars);
}

static void put_pairs(gr_text *t, const gr_found_ranks *r) {
  for (const gr_found_pair *p = r->pairs; p < r->pairs + r->n_pairs; p++) {
    gr_text_json_line(t, "\n  ");
    gr_text_printf(t, "{\"ranks\": [%d, %d], \"hosts\": ", p->a, p->b);
    gr_text_json_texts(t, (const char *[]){r->host[p->a], r->host[p->b]}, 2);
    gr_text_json_key(t, "seconds"), gr_text_json_rounded(t, p->latency, 6);
    gr_text_json_key(t, "bytes_per_s"), gr_text_json_rounded(t, p->bandwidth, 6);
    gr_text_put(t, "}");
  }
}

static void print_json(const gr_findings *f, bool starts) {
  gr_text t = gr_text_make(f->arena);
  gr_text_put(&t, "{");
  gr_version_json_members(&t);
  gr_text_printf(&t, ",\n \"starts\": %s,\n \"findings\": [", starts ? "true" : "false");
  for (const gr_finding *one = f->list; one < f->list + f->n; one++) {
    gr_text_json_line(&t, "\n  {");
    gr_text_json_member(&t, "section", one->section);
    gr_text_json_member(&t, "name", one->name);
    gr_text_json_member(&t, "state", states[one->state]);
    gr_text_json_member(&t, "value", one->value);
    gr_text_json_member(&t, "hint", one->hint);
    gr_text_json_member(&t, "unit", one->unit);
    gr_text_json_member(&t, "ranks", one->ranks);
    gr_text_json_key(&t, "number");
    if (one->unit)
      gr_text_json_rounded(&t, one->number, 6);
    else
      gr_text_put(&t, "null");
    gr_text_put(&t, "}");
  }
  gr_text_put(&t, "],\n \"pairs\": [");
  if (f->ranks) put_pairs(&t, f->ranks);
  gr_text_put(&t, "]}\n");
  fputs(t.chars, stdout);
}

typedef struct options {
  const char *calibrate;
  int64_t ranks, timeout;
} options;

static gr_status open_constants(const gr_findings *f, const options *flags, gr_output **out) {
  if (!flags->calibrate || f->rank || *out) return GR_OK;
  return gr_output_open(NULL, flags->calibrate, out);
}

static gr_status check(gr_arena *a, const gr_args *args) {
  gr_findings *f = GR_NEW(a, gr_findings, 1);
  const options *flags = args->options;
  gr_output *constants = NULL;
  int fail = 0;
  f->arena = a, f->timeout_s = flags->timeout ? (double)flags->timeout : 10;
  if (args->config)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is one argument too many", args->config);
  gr_check_as_rank(f, (int)flags->ranks);
  if (!f->world) GR_TRY(open_constants(f, flags, &constants));  // no other rank waits for this one
  gr_check_machine(f);
  if (!f->follows) gr_check_rates(f);
  gr_check_gather_ranks(f);
  gr_check_ranks(f, args->argv, (int)flags->ranks);
  GR_TRY(open_constants(f, flags, &constants));
  if (constants) GR_TRY(gr_check_calibrate(f, constants));
  for (int i = 0; i < f->n; i++) fail += f->list[i].state == GR_FINDING_FAILS;
  if (args->json)
    print_json(f, !fail);
  else
    print(f);
  fflush(stdout);  // before the error
  if (!fail) return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "training cannot start here: %d finding%s forbid%s it",
              fail, gr_text_s(fail), fail > 1 ? "" : "s"),
      "those marked by `!`, in JSON \"fails\", each with a hint");
}

static const gr_flag own_flags[] = {
    {"--calibrate", NULL, "FILE", GR_FLAG_TEXT, offsetof(options, calibrate),
     "measure what predictions of `plan --device=cpu --cluster=FILE` rest on, and write it"},
    {"--ranks", NULL, "N", GR_FLAG_NUMBER, offsetof(options, ranks),
     "of which every pair exchanges messages; without it 2, or those of a launcher", .most = 1024},
    {"--timeout", NULL, "SECONDS", GR_FLAG_NUMBER, offsetof(options, timeout),
     "for ranks to begin, and for each to answer; without it 10", .most = 1000000},
    {0}};

const gr_command gr_command_check = {
    .name = "check",
    .usage = "[--ranks=N] [--timeout=SECONDS] [--calibrate=FILE] [--json]",
    .doc = "what this machine has for training, what limits it, and how fast it is",
    .example = "graphrun check",
    .keys = "device distributed.ranks distributed.backend",
    .takes = {GR_NO_OPERAND, GR_NO_OPERAND, false},
    .flags = {gr_flags_json},
    .own_flags = own_flags,
    .options = sizeof(options),
    .run = check,
};
