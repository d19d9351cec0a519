// config.c - implements `graphrun config`. Options may be anywhere among the arguments. See
// config.h.
#include "cli/config.h"
#include <string.h>
#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/config_flags.h"
#include "cli/job/optimizer.h"
#include "compose/hydra/multirun.h"
#include "compose/interp/interp.h"
#include "compose/schema/schema.h"
#include "compose/show.h"
#include "runtime/hooks/hooks.h"

// ---- Arguments -------------------------------------------------------------------

static gr_status unknown_flag(gr_arena *a, const char *arg) {
  const char *names[GR_CONFIG_FLAGS], *word = gr_arena_strndup(a, arg, strcspn(arg, "="));
  for (int i = 0; i < GR_CONFIG_FLAGS; i++) names[i] = gr_config_flags[i].name;
  const char *like = gr_text_nearest(word, names, GR_CONFIG_FLAGS);
  const char *key = gr_schema_nearest(a, word + strspn(word, "-"));
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no option %s", word);
  if (key) return gr_hint(s, "keys have no dashes: %s=VALUE", key);
  return like ? gr_hint(s, "did you mean %s?", like)
              : gr_hint(s, "`graphrun config --help` lists them");
}

static const gr_config_flag *find_flag(const char *arg, const char **value) {
  static const gr_config_flag short_multirun = {"-m", NULL, "",
                                                offsetof(gr_config_options, multirun)};
  static const gr_config_flag short_help = {"-h", NULL, "", offsetof(gr_config_options, help)};
  static const char *const shorts[][2] = {{"-cn", "--config-name"},
                                          {"-cp", "--config-path"},
                                          {"-cd", "--config-dir"},
                                          {"-c", "--cfg"},
                                          {"-p", "--package"}};
  for (int i = 0; i < 5; i++)
    if (!strcmp(arg, shorts[i][0])) return find_flag(shorts[i][1], value);
  if (!strcmp(arg, "-m")) return &short_multirun;
  if (!strcmp(arg, "-h")) return &short_help;
  const char *equals = strchr(arg, '=');
  size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
  *value = equals ? equals + 1 : NULL;
  for (int i = 0; i < GR_CONFIG_FLAGS; i++)
    if (strlen(gr_config_flags[i].name) == n && !strncmp(gr_config_flags[i].name, arg, n))
      return &gr_config_flags[i];
  return NULL;
}

static gr_status take_flag(gr_arena *a, gr_config_options *o, int argc, char **argv, int *i) {
  const char *value = NULL;
  const gr_config_flag *f = find_flag(argv[*i], &value);
  if (!f) return unknown_flag(a, argv[*i]);
  if (!f->value) {
    *(bool *)((char *)o + f->offset) = true;
    return GR_OK;
  }
  if (!value && ++*i < argc) value = argv[*i];
  if (!value) return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s needs a value: %s", f->name, f->value);
  if (!strcmp(f->name, "--config-dir"))
    o->dirs[o->request.n_config_dirs++] = value;
  else
    *(const char **)((char *)o + f->offset) = value;
  return GR_OK;
}

static gr_status read_options(gr_arena *a, int argc, char **argv, gr_config_options *o) {
  o->dirs = GR_NEW(a, const char *, argc + 1);
  o->overrides = GR_NEW(a, const char *, argc + 1);
  gr_status all = GR_OK;
  for (int i = 0; i < argc; i++) {
    if (argv[i][0] == '-')
      all = gr_also(all, take_flag(a, o, argc, argv, &i));
    else if (!o->request.path && gr_args_is_operand(GR_CONFIG_FILE, argv[i]))
      o->request.path = argv[i];
    else
      o->overrides[o->request.n_overrides++] = argv[i];
  }
  o->request.config_dirs = o->dirs, o->request.overrides = o->overrides;
  all = gr_also(all, gr_args_named(a, o->config_path, o->config_name, o->request.n_config_dirs,
                                   &o->request.path));
  const char *path = o->request.path;
  const char *installed = path && !o->help && !o->request.n_config_dirs && !gr_is_file(path)
                              ? gr_args_installed(a, path)
                              : NULL;
  if (installed) o->request.path = installed;
  return all;
}

// ---- Showing ---------------------------------------------------------------------

static gr_status show_help(const gr_config_options *o, gr_text *t) {
  if (o->markdown) {
    gr_schema_markdown(t);
    gr_optimizer_markdown(t);
    return GR_OK;
  }
  if (o->request.path && !gr_is_file(o->request.path)) {
    gr_schema_help(t, o->request.path);
    gr_optimizer_help(t, o->request.path);
    if (!strcmp(o->request.path, "hooks")) gr_hooks_help(t);
    if (!t->len)
      return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no key starts with '%s'", o->request.path),
                     "`graphrun config --help` lists them all");
    return GR_OK;
  }
  gr_text_put(t, "graphrun config FILE [key=value ...] [options]\n\n");
  for (int i = 0; i < GR_CONFIG_FLAGS; i++)
    gr_text_printf(t, "  %-12s %-6s  %s\n", gr_config_flags[i].name,
                   gr_config_flags[i].value ? gr_config_flags[i].value : "",
                   gr_config_flags[i].doc);
  gr_text_put(t, "\nKeys:\n\n");
  gr_schema_help(t, "");
  return GR_OK;
}

// Composes a configuration for printing. Interpolations and missing keys are kept as they are
// unless
// --resolve is given.
static gr_status compose(gr_arena *a, const gr_config_options *o, const char *path,
                         gr_composed *out) {
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

static gr_status show_diff(gr_arena *a, const gr_config_options *o, gr_text *t) {
  gr_composed x, y;
  GR_TRY(compose(a, o, o->diff, &x));
  GR_TRY(compose(a, o, o->request.path, &y));
  gr_show_diff(t, x.job, y.job);
  return GR_OK;
}

static gr_status show_list(gr_arena *a, const gr_config_options *o, gr_text *t) {
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

static gr_status show_jobs(gr_arena *a, const gr_config_options *o, gr_text *t) {
  gr_job_list jobs;
  gr_compose_request q = o->request;
  q.known = o->raw ? NULL : gr_schema_takes;
  GR_TRY(gr_multirun_list(a, &q, &jobs));
  gr_status all = GR_OK;
  for (int j = 0; j < jobs.n; j++) {
    gr_composed composed;
    gr_config_options one = *o;
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
static const char *within(const gr_config_options *o, const gr_composed *composed, const char *key,
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

static gr_status show_tree_of(gr_arena *a, const gr_config_options *o, gr_text *t) {
  gr_composed composed;
  gr_conf *c;
  GR_TRY(compose(a, o, o->request.path, &composed));
  bool all = o->cfg && !strcmp(o->cfg, "all");
  if (all && o->resolve && composed.hydra) GR_TRY(gr_conf_resolve(a, composed.hydra, false));
  const char *key = within(o, &composed, o->explain ? o->explain : o->package, &c);
  if (all) c = with_hydra(a, &composed);
  bool given_only = c == composed.job && !o->raw && !o->resolve;
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
static gr_status check_one(const gr_config_options *o) {
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
static gr_status take_cfg(gr_config_options *o) {
  if (!o->cfg) return GR_OK;
  o->hydra |= !strcmp(o->cfg, "hydra");
  if (o->hydra || !strcmp(o->cfg, "job") || !strcmp(o->cfg, "all")) return GR_OK;
  return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--cfg must be job, hydra or all, but is '%s'", o->cfg);
}

static gr_status run(gr_arena *a, const gr_config_options *o, gr_text *t) {
  if (o->completion) return gr_cli_completion_script(o->completion, t);
  if (o->complete) {
    gr_cli_complete(a, o->complete, t);
    return GR_OK;
  }
  if (o->schema) {
    gr_schema_json(t);
    return GR_OK;
  }
  if (o->help) return show_help(o, t);
  if (!o->request.path)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no configuration is given"),
                   "graphrun config configs/multi_gpu.yaml");
  GR_TRY(check_one(o));
  if (o->multirun || o->dry_run) return show_jobs(a, o, t);
  if (o->defaults || o->tree) return show_list(a, o, t);
  return o->diff ? show_diff(a, o, t) : show_tree_of(a, o, t);
}

gr_status gr_cli_config(int argc, char **argv) {
  gr_arena *a = gr_arena_create();
  gr_text t = gr_text_make(a);
  gr_config_options o = {0};
  gr_status s = read_options(a, argc, argv, &o);
  if (!s) s = take_cfg(&o);
  if (!s) s = run(a, &o, &t);
  fputs(t.at, stdout);
  if (fflush(stdout) && !s) s = gr_fail(GR_ERR_IO, GR_NOWHERE, "cannot write to standard output");
  gr_arena_destroy(a);
  return s;
}

gr_status gr_cmd_config(int argc, char **argv) { return gr_cli_config(argc - 2, argv + 2); }
