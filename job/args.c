// args.c - parsing a command line by the tables of its command. See args.h.
#include "job/args.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/module.h"
#include "compose/schema/schema.h"
#include "job/samples_given.h"

// ---- Flags that several commands take ---------------------------------------------------------

const gr_flag gr_flags_config[] = {
    {"--config-dir", "-cd", "DIR", GR_FLAG_LIST, offsetof(gr_args, config_dirs),
     "searches another folder for configurations"},
    {"--config-name", "-cn", "NAME", GR_FLAG_TEXT, offsetof(gr_args, config_name),
     "the configuration NAME.yaml, as with Hydra; also -cn", true},
    {"--config-path", "-cp", "DIR", GR_FLAG_TEXT, offsetof(gr_args, config_path),
     "of --config-name: the folder that has it; also -cp", true},
    {0}};
const gr_flag gr_flags_compile[] = {
    {"--dump", NULL, "PASS", GR_FLAG_TEXT, offsetof(gr_args, dump),
     "prints the graph after a pass; all: after each"},
    {"--stop-after", NULL, "PASS", GR_FLAG_TEXT, offsetof(gr_args, stop_after),
     "compiles up to a pass, and prints what it leaves"},
    {"--without", NULL, "PASS", GR_FLAG_LIST, offsetof(gr_args, without),
     "leaves a pass out, to see what it does"},
    {0}};
const gr_flag gr_flags_kept[] = {
    {"--which", NULL, "STEP", GR_FLAG_TEXT, offsetof(gr_args, which),
     "the checkpoint: best (the default), last, or a step"},
    {"--no-ema", NULL, NULL, GR_FLAG_SET, offsetof(gr_args, no_ema),
     "the trained weights, where the run has averages of them (training.ema_decay)"},
    {0}};
const gr_flag gr_flags_plain[] = {
    {"--plain", NULL, NULL, GR_FLAG_SET, offsetof(gr_args, plain), "reference kernels only"}, {0}};
const gr_flag gr_flags_out[] = {
    {"--out", NULL, "FILE", GR_FLAG_TEXT, offsetof(gr_args, out),
     "writes to this file, not on standard output; curves as SVG, a report as HTML"},
    {0}};
const gr_flag gr_flags_json[] = {
    {"--json", NULL, NULL, GR_FLAG_SET, offsetof(gr_args, json), "prints JSON"}, {0}};

const gr_flag *gr_command_flag(const gr_command *c, int i) {
  for (int k = 0; k <= GR_FLAG_TABLES; k++)
    for (const gr_flag *f = k < GR_FLAG_TABLES ? c->flags[k] : c->own_flags; f && f->name; f++)
      if (!i--) return f;
  return NULL;
}

const gr_flag *gr_command_flag_of(const gr_command *c, const char *arg, size_t len) {
  const gr_flag *f;
  for (int i = 0; (f = gr_command_flag(c, i)); i++) {
    if (strlen(f->name) == len && !strncmp(f->name, arg, len)) return f;
    if (f->brief && strlen(f->brief) == len && !strncmp(f->brief, arg, len)) return f;
  }
  return NULL;
}

// ---- Commands ---------------------------------------------------------------------------------

const gr_command *gr_args_command(const gr_command *const *commands, int argc, char **argv) {
  for (int i = 0; argc > 1 && commands[i]; i++)
    if (!strcmp(commands[i]->name, argv[1])) return commands[i];
  return commands[0];
}

int gr_args_first(const gr_command *c, int argc, char **argv) {
  return argc > 1 && !strcmp(c->name, argv[1]) ? 2 : 1;
}

// ---- Flags that are wrong ---------------------------------------------------------------------

enum { MAX_NAMES = 64 };  // flags of a command that are listed

static gr_status unknown_flag(gr_arena *a, const gr_command *c, const char *arg, size_t len) {
  const char *names[MAX_NAMES], *word = gr_arena_strndup(a, arg, len);
  int n = 0;
  for (const gr_flag *f; n < MAX_NAMES - 2 && (f = gr_command_flag(c, n));) names[n++] = f->name;
  names[n++] = "--help", names[n++] = "--version";
  const char *near = gr_text_nearest(word, names, n);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no flag %s", word);
  const gr_foreign *foreign = gr_schema_foreign(word);
  if (foreign && !*foreign->key) return gr_hint(s, "%s", foreign->text);
  const char *key = gr_schema_nearest(a, word + strspn(word, "-"));
  if (key) return gr_hint(s, "keys have no dashes: %s=VALUE", key);
  if (near) return gr_hint(s, "did you mean %s?", near);
  gr_text list = gr_text_make(a);
  for (int i = 0; i < n; i++) gr_text_printf(&list, "%s%s", i ? " " : "", names[i]);
  return gr_hint(s, "the flags are: %s", list.chars);
}

// The flag is that of another command, or of none.
static gr_status wrong_flag(gr_arena *a, const gr_args *args, const char *arg, size_t len) {
  if (!strcmp(arg, "-"))
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'-': standard input is not read"),
                   "write it to a file, and give its path");
  const gr_flag *f = NULL;
  const gr_command *other = NULL;
  for (int i = 0; args->commands[i] && !f; i++)
    f = gr_command_flag_of(other = args->commands[i], arg, len);
  if (!f || gr_schema_foreign(f->name)) return unknown_flag(a, args->command, arg, len);
  gr_status s =
      gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s is not a flag of this command", f->name),
              "it is a flag of `graphrun %s`", other->name);
  const char *key = gr_schema_nearest(a, f->name + strspn(f->name, "-"));
  return key ? gr_hint(s, "the key is %s=VALUE", key) : s;
}

// ---- Parsing ----------------------------------------------------------------------------------

static gr_status number(const gr_flag *f, const char *value, int64_t *out) {
  char *end;
  int64_t most = f->most ? f->most : GR_MAX_RANKS;
  *out = strtoll(value, &end, 10);
  if (!*value || *end || *out < 1 || *out > most)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s must be a number from 1 to %lld, but is '%s'",
                   f->name, (long long)most, value);
  return GR_OK;
}

static bool is_own(const gr_command *c, const gr_flag *flag) {
  for (const gr_flag *f = c->own_flags; f && f->name; f++)
    if (f == flag) return true;
  return false;
}

static gr_status apply(gr_arena *arena, gr_args *a, const gr_flag *f, const char *value) {
  char *target = (is_own(a->command, f) ? (char *)a->options : (char *)a) + f->offset;
  gr_words *words = (gr_words *)target;
  switch (f->kind) {
    case GR_FLAG_SET:
      if (value) return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s takes no value", f->name);
      *(bool *)target = true;
      return GR_OK;
    case GR_FLAG_TEXT:
      *(const char **)target = value;
      return GR_OK;
    case GR_FLAG_NUMBER:
      return number(f, value, (int64_t *)target);
    case GR_FLAG_LIST:
      if (!words->list) words->list = GR_NEW(arena, const char *, a->argc + 1);
      words->list[words->n++] = value;
  }
  return GR_OK;
}

static gr_status one_flag(gr_arena *arena, gr_args *a, int *i) {
  const char *arg = a->argv[*i], *value = strchr(arg, '=');
  size_t len = value ? (size_t)(value - arg) : strlen(arg);
  const gr_flag *f = gr_command_flag_of(a->command, arg, len);
  if (!f) return wrong_flag(arena, a, arg, len);
  int first = *i;
  if (value) value++;
  if (!value && f->kind != GR_FLAG_SET) {
    if (*i + 1 >= a->argc)
      return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s needs a value: %s", f->name, f->value);
    value = a->argv[++*i];
  }
  for (int k = first; k <= *i && !f->of_sweep; k++) a->flags[a->n_flags++] = a->argv[k];
  return apply(arena, a, f, value);
}

bool gr_args_is_operand(gr_operand kind, const char *arg) {
  static const char *const begins[] = {"/", "./", "../"};
  if (kind == GR_NO_OPERAND || !*arg) return false;
  if (kind != GR_FOLDER && gr_is_file(arg)) return true;
  if (kind != GR_CONFIG_FILE && gr_is_dir(arg)) return true;
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (!strncmp(arg, begins[i], strlen(begins[i]))) return true;
  return !strchr("~+", *arg) && !strchr(arg, '=');
}

const char *gr_args_installed(gr_arena *a, const char *path) {
  char out[4096];
  if (!*path || *path == '/' || strstr(path, "..")) return NULL;
  return gr_installed_path(path, out, sizeof out) ? gr_arena_strdup(a, out) : NULL;
}

// --config-path DIR --config-name NAME, either of which may be NULL: *config, which may be given
// already, becomes DIR/NAME.yaml. Without a folder it is NAME.yaml, or configs/NAME.yaml where that
// alone is a file. searched: other folders are searched for it (--config-dir).
static gr_status take_name(gr_arena *a, const char *dir, const char *name, bool searched,
                           const char **config) {
  if (!name && !dir) return GR_OK;
  if (!name)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--config-path without --config-name"),
                   "--config-path DIR --config-name NAME is the same as DIR/NAME.yaml");
  if (*config)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                           "two configurations: '%s', and --config-name %s", *config, name),
                   "a command takes one");
  const char *file = gr_arena_printf(a, "%s%s", name, gr_ends_in(name, ".yaml") ? "" : ".yaml");
  const char *usual = gr_arena_printf(a, "%s/%s", dir ? dir : "configs", file);
  *config = dir || (!searched && !gr_is_file(file) && gr_is_file(usual)) ? usual : file;
  return GR_OK;
}

// Without --config-dir, in whose folders the configuration may be.
static void find_config(gr_arena *arena, gr_args *a) {
  bool is_file = a->command->takes.first == GR_CONFIG_FILE;
  if (!is_file || !a->config || a->config_dirs.n || gr_is_file(a->config)) return;
  const char *installed = gr_args_installed(arena, a->config);
  if (installed) a->config = installed;
}

// A second configuration or run would else be an override without its '='.
static gr_status check_second(const gr_args *a, const char *arg) {
  bool run = a->command->takes.first == GR_FOLDER;
  bool named = gr_ends_in(arg, ".yaml");
  if (!a->config || strchr(arg, '=') || !(named || gr_is_file(arg) || (run && gr_is_dir(arg))))
    return GR_OK;
  char key[GR_SAMPLES_KEY];
  if (gr_samples_key(arg, key))
    return gr_hint(
        gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is a file without the key that names it", arg),
        "%s=%s", key, arg);
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is a second %s, after '%s'", arg,
                         run ? "run" : "configuration", a->config),
                 "a command takes one; it composes others that its 'defaults' list names, and "
                 "KEY=VALUE changes a key");
}

// The path of a run that does not exist and contains '=' looks like an override.
static gr_status check_first(const gr_args *a) {
  if (a->command->takes.first != GR_FOLDER || a->config || !a->n_overrides) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no run is given: there is no folder '%s'",
                         a->overrides[0]),
                 "an argument with '=' that is no folder is an override; a run's folder is given "
                 "besides: graphrun %s outputs/DATE/TIME",
                 a->command->name);
}

// Adds an argument that is not a flag.
static gr_status take(gr_args *a, const char *arg) {
  gr_operands takes = a->command->takes;
  bool plain = !takes.overrides || (a->config != NULL) + a->n_words < takes.operands;
  if (!a->config && (plain || gr_args_is_operand(takes.first, arg))) {
    a->config = arg;
  } else if (takes.more && (plain || gr_args_is_operand(takes.more, arg))) {
    a->words[a->n_words++] = arg;
  } else {
    a->overrides[a->n_overrides++] = arg;
    if (takes.overrides) return check_second(a, arg);
  }
  return GR_OK;
}

gr_status gr_args_parse(gr_arena *arena, const gr_command *const *commands,
                        const gr_command *command, int argc, char **argv, int first, gr_args *out) {
  *out = (gr_args){
      .program = argv[0], .command = command, .commands = commands, .argc = argc, .argv = argv};
  out->overrides = GR_NEW(arena, const char *, argc + 1);
  out->words = GR_NEW(arena, const char *, argc + 1);
  out->flags = GR_NEW(arena, char *, argc + 1);
  out->options = gr_arena_alloc(arena, command->options + 1);
  memset(out->options, 0, command->options);
  gr_status all = GR_OK;
  for (int i = first; i < argc; i++)
    all = gr_also(all, argv[i][0] == '-' ? one_flag(arena, out, &i) : take(out, argv[i]));
  all = gr_also(all, take_name(arena, out->config_path, out->config_name, out->config_dirs.n > 0,
                               &out->config));
  if (!all) all = check_first(out);
  find_config(arena, out);
  return all;
}
