// config.c - `graphrun config`: prints a composed configuration and the origins of its values. See
// config.h.
#include "cli/config.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "base/output.h"
#include "cli/commands.h"
#include "cli/complete.h"
#include "compose/hydra/multirun.h"
#include "compose/interp/interp.h"
#include "compose/schema/schema.h"
#include "compose/show.h"
#include "job/parts.h"
#include "job/samples_given.h"
#include "runtime/hooks/hooks.h"

typedef struct options {
  bool json, resolve, raw, hydra, defaults, tree, schema, help, markdown, other_names;
  bool multirun, dry_run;
  const char *package, *explain, *diff, *completion, *complete, *cfg;
  gr_compose_request request;
} options;

// ---- Showing ---------------------------------------------------------------------

static gr_status no_key(const char *path) {
  gr_arena *a = gr_arena_create();
  const char *near = gr_schema_nearest(a, path);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no key starts with '%s'", path);
  s = near ? gr_hint(s, "did you mean '%s'?", near)
           : gr_hint(s, "`graphrun config --help` lists them all");
  return gr_arena_end(a, s);
}

static gr_status show_help(const options *o, gr_text *t) {
  if (o->markdown) {
    gr_schema_markdown(t);
    gr_optimizer_markdown(t);
    return GR_OK;
  }
  if (o->request.path && !gr_is_file(o->request.path)) {
    gr_schema_help(t, o->request.path);
    gr_optimizer_help(t, o->request.path);
    if (!strcmp(o->request.path, "hooks")) gr_hooks_help(t);
    if (!t->len) return no_key(o->request.path);
    return GR_OK;
  }
  gr_text_put(t, "graphrun config FILE [key=value ...] [options]\n\n");
  const gr_flag *f;
  for (int i = 0; (f = gr_command_flag(&gr_command_config, i)); i++)
    gr_text_printf(t, "  %-12s %-6s  %s\n", f->name, f->value ? f->value : "", f->doc);
  gr_text_put(t, "\nKeys:\n\n");
  gr_schema_help(t, "");
  return GR_OK;
}

// Composes a configuration for printing. Interpolations and missing keys are kept as they are
// unless
// --resolve is given.
static gr_status compose(gr_arena *a, const options *o, const char *path, gr_composed *out) {
  gr_compose_request q = o->request;
  gr_conf *checked = NULL;
  q.path = path, q.known = o->raw ? NULL : gr_schema_takes;
  if (!o->raw) {
    GR_TRY(gr_compose_checked(a, &q, out, &checked));
    if (o->resolve) out->job = checked;
    return GR_OK;
  }
  GR_TRY(gr_compose(a, &q, out));
  return o->resolve ? gr_conf_resolve(a, out->job, true) : GR_OK;
}

static gr_status show_diff(gr_arena *a, const options *o, gr_text *t) {
  gr_composed x, y;
  GR_TRY(compose(a, o, o->diff, &x));
  GR_TRY(compose(a, o, o->request.path, &y));
  gr_show_diff(t, x.job, y.job);
  return GR_OK;
}

static gr_status show_list(gr_arena *a, const options *o, gr_text *t) {
  gr_composer c;
  gr_status all = gr_composer_open(&c, a, &o->request);
  if (!c.primary) return all;
  all = gr_also(all, gr_composer_list(&c, true));
  if (all) return all;
  if (o->tree)
    gr_show_tree(t, &c);
  else
    gr_show_defaults(t, &c);
  return GR_OK;
}

static gr_status show_jobs(gr_arena *a, const options *o, gr_text *t) {
  gr_job_list jobs;
  gr_compose_request q = o->request;
  q.known = o->raw ? NULL : gr_schema_takes;
  GR_TRY(gr_multirun_list(a, &q, &jobs));
  gr_status all = GR_OK;
  for (int j = 0; j < jobs.n; j++) {
    gr_composed composed;
    options one = *o;
    one.request.overrides = jobs.overrides[j], one.request.n_overrides = jobs.n_all;
    gr_status s = compose(a, &one, o->request.path, &composed);
    all = gr_also(all, gr_note(s, GR_NOWHERE, "in run %d of the sweep", j));
    gr_text_printf(t, "#%d:", j);
    for (int i = 0; i < jobs.n_each; i++) gr_text_printf(t, " %s", jobs.overrides[j][i]);
    gr_text_put(t, "\n");
  }
  return all;
}

// Selects the tree for a key: keys such as "hydra.run.dir" are in the hydra node.
static const char *within(const options *o, const gr_composed *composed, const char *key,
                          gr_conf **root) {
  bool of_hydra = key && composed->hydra && !o->hydra && !strncmp(key, "hydra.", 6);
  *root = o->hydra || of_hydra ? composed->hydra : composed->job;
  return of_hydra ? key + 6 : key;
}

// The configuration with the hydra node before it, as Hydra prints both.
static gr_conf *with_hydra(gr_arena *a, const gr_composed *composed) {
  gr_conf *both = gr_conf_make(a, GR_CONF_MAP, composed->job->loc);
  if (composed->hydra) gr_conf_put(a, both, "hydra", composed->hydra);
  gr_conf_put_all(a, both, composed->job);
  return both;
}

static gr_status show_tree_of(gr_arena *a, const options *o, gr_text *t) {
  gr_composed composed;
  gr_conf *c;
  GR_TRY(compose(a, o, o->request.path, &composed));
  bool all = o->cfg && !strcmp(o->cfg, "all");
  if (all && o->resolve && composed.hydra) GR_TRY(gr_conf_resolve(a, composed.hydra, false));
  const char *key = within(o, &composed, o->explain ? o->explain : o->package, &c);
  if (all) c = with_hydra(a, &composed);
  bool given_only = c == composed.job && !o->raw && !o->resolve;
  const char *lines[GR_MAX_COMPAT];
  int n_lines;
  if (o->explain && given_only) GR_TRY(gr_schema_translate(a, c, lines, &n_lines));
  if (o->explain && given_only) GR_TRY(gr_schema_check(a, c, true));
  if (c == composed.hydra && o->resolve) GR_TRY(gr_conf_resolve(a, c, false));
  if (o->explain) return gr_show_origin(t, c, key);
  if (o->package) GR_TRY(gr_show_find(a, c, key, &c));
  if (o->package && !o->json && c->kind >= GR_CONF_MAP)
    gr_text_printf(t, "# @package %s\n", o->package);
  if (o->json)
    gr_conf_json(t, c, 2);
  else if (c->kind == GR_CONF_MAP && !c->n)
    gr_text_put(t, "{}\n");
  else
    gr_conf_yaml(t, c);
  return GR_OK;
}

// Options that select what is printed exclude each other.
static gr_status check_one(const options *o) {
  const char *asked[] = {o->defaults ? "--defaults" : NULL, o->tree ? "--tree" : NULL,
                         o->explain ? "--explain" : NULL,   o->diff ? "--diff" : NULL,
                         o->package ? "--package" : NULL,   o->multirun ? "-m" : NULL};
  const char *first = NULL;
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    if (asked[i] && first)
      return gr_hint(
          gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s and %s show different things", first, asked[i]),
          "use only one of them");
    if (asked[i]) first = asked[i];
  }
  return GR_OK;
}

// --cfg job|hydra|all: the second is --hydra.
static gr_status take_cfg(options *o) {
  if (!o->cfg) return GR_OK;
  o->hydra |= !strcmp(o->cfg, "hydra");
  if (o->hydra || !strcmp(o->cfg, "job") || !strcmp(o->cfg, "all")) return GR_OK;
  return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--cfg must be job, hydra or all, but is '%s'", o->cfg);
}

static gr_status show(gr_arena *a, const options *o, gr_text *t) {
  if (o->completion) return gr_cli_completion_script(o->completion, t);
  if (o->complete) {
    gr_cli_complete(a, o->complete, t);
    return GR_OK;
  }
  if (o->schema) {
    gr_schema_json(t);
    return GR_OK;
  }
  if (o->other_names) {
    gr_schema_other_names(t, o->markdown);
    return GR_OK;
  }
  if (o->help) return show_help(o, t);
  if (!o->request.path)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no configuration is given"),
                   "graphrun config configs/multi_gpu.yaml");
  if (!o->request.n_config_dirs) GR_TRY(gr_samples_given("config", o->request.path));
  GR_TRY(check_one(o));
  if (o->multirun || o->dry_run) return show_jobs(a, o, t);
  if (o->defaults || o->tree) return show_list(a, o, t);
  return o->diff ? show_diff(a, o, t) : show_tree_of(a, o, t);
}

gr_status gr_cli_config(int argc, char **argv, int first) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_args args;
  gr_status s = gr_args_parse(a, gr_commands, &gr_command_config, argc, argv, first, &args);
  options *o = args.options;
  o->request = (gr_compose_request){.path = args.config,
                                    .config_dirs = args.config_dirs.list,
                                    .n_config_dirs = args.config_dirs.n,
                                    .overrides = args.overrides,
                                    .n_overrides = args.n_overrides};
  if (!s) s = take_cfg(o);
  if (!s) s = show(a, o, &t);
  fputs(t.chars, stdout);
  if (fflush(stdout) && !s) s = gr_output_lost(errno);
  return gr_arena_end(a, s);
}

static gr_status config_run(int argc, char **argv) { return gr_cli_config(argc, argv, 2); }

static const gr_flag own_flags[] = {
    {"--json", NULL, NULL, GR_FLAG_SET, offsetof(options, json),
     "as JSON: keys in order, floats stay floats"},
    {"--resolve", NULL, NULL, GR_FLAG_SET, offsetof(options, resolve),
     "with interpolations replaced by their values"},
    {"--raw", NULL, NULL, GR_FLAG_SET, offsetof(options, raw),
     "composition alone: no schema, no defaults"},
    {"--hydra", NULL, NULL, GR_FLAG_SET, offsetof(options, hydra), "the hydra node instead"},
    {"--package", "-p", "KEY", GR_FLAG_TEXT, offsetof(options, package), "only the part below KEY"},
    {"--explain", NULL, "KEY", GR_FLAG_TEXT, offsetof(options, explain),
     "every location that sets KEY, the last first"},
    {"--defaults", NULL, NULL, GR_FLAG_SET, offsetof(options, defaults),
     "the files of the configuration, in merge order"},
    {"--tree", NULL, NULL, GR_FLAG_SET, offsetof(options, tree),
     "the files of the configuration, as a tree"},
    {"--diff", NULL, "CONFIG", GR_FLAG_TEXT, offsetof(options, diff),
     "what differs from another configuration"},
    {"--schema", NULL, NULL, GR_FLAG_SET, offsetof(options, schema),
     "the JSON Schema of configurations, for editors"},
    {"--cfg", "-c", "PART", GR_FLAG_TEXT, offsetof(options, cfg),
     "job, as without it; hydra: the hydra node; all: both"},
    {"--multirun", "-m", NULL, GR_FLAG_SET, offsetof(options, multirun),
     "arguments may be sweeps (key=1,2); with --dry-run lists the runs"},
    {"--dry-run", NULL, NULL, GR_FLAG_SET, offsetof(options, dry_run),
     "lists the runs of a sweep and composes each"},
    {"--completion", NULL, "SHELL", GR_FLAG_TEXT, offsetof(options, completion),
     "a script for bash, zsh or fish"},
    {"--complete", NULL, "LINE", GR_FLAG_TEXT, offsetof(options, complete),
     "candidates for the last word of a command line"},
    {"--help", "-h", NULL, GR_FLAG_SET, offsetof(options, help),
     "this help; with a key or section, the keys that start with it"},
    {"--other-names", NULL, NULL, GR_FLAG_SET, offsetof(options, other_names),
     "settings of PyTorch, Lightning, ..., and the keys that they are here"},
    {"--markdown", NULL, NULL, GR_FLAG_SET, offsetof(options, markdown),
     "with --help: all keys as docs/config.md; with --other-names: as a table"},
    {0}};

const gr_command gr_command_config = {
    .name = "config",
    .usage = "CONFIG.yaml [key=value ...]",
    .doc = "the composed configuration",
    .example = "graphrun config configs/multi_gpu.yaml --explain training.lr",
    .keys = "",
    .takes = {GR_CONFIG_FILE, GR_NO_OPERAND, true},
    .flags = {gr_flags_config},
    .own_flags = own_flags,
    .options = sizeof(options),
    .run_line = config_run,
};
