// args.c - the table of flags, and parsing them. See args.h.
#include "cli/job/args.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/module.h"
#include "compose/schema/schema.h"

typedef enum flag_kind { SET, TEXT, NUMBER, DIRS, WITHOUT } flag_kind;

// The commands that a flag is for. OPS and CKPT read their few words themselves.
enum {
  TRAIN = 1,
  PLAN = 2,
  DATA = 4,
  OPS = 8,
  CKPT = 16,
  EVAL = 32,
  PREDICT = 64,
  EXPORT = 128,
  PLOT = 256,
  RANKED = 512,
  HOOKS = 1024,
  NEW = 2048,
  REPORT = 4096
};
enum { STARTS = TRAIN | EVAL | PREDICT };  // commands that start ranks

static const struct flag {
  const char *name, *value;  // value: placeholder for help; NULL: the flag takes none
  flag_kind kind;
  size_t offset;
  unsigned of;
  const char *doc;
} flags[] = {
    {"--config-dir", "DIR", DIRS, 0, TRAIN | PLAN | DATA | HOOKS,
     "searches another folder for configurations"},
    {"--config-name", "NAME", TEXT, offsetof(gr_args, config_name), TRAIN | PLAN | DATA | HOOKS,
     "the configuration NAME.yaml, as with Hydra; also -cn"},
    {"--config-path", "DIR", TEXT, offsetof(gr_args, config_path), TRAIN | PLAN | DATA | HOOKS,
     "of --config-name: the folder that has it; also -cp"},
    {"--dump", "PASS", TEXT, offsetof(gr_args, dump), TRAIN | PLAN,
     "prints the graph after a pass; all: after each"},
    {"--stop-after", "PASS", TEXT, offsetof(gr_args, stop_after), TRAIN | PLAN,
     "compiles up to a pass, and prints what it leaves"},
    {"--without", "PASS", WITHOUT, 0, TRAIN | PLAN, "leaves a pass out, to see what it does"},
    {"--dot", "FILE", TEXT, offsetof(gr_args, dot), PLAN, "draws the training step for graphviz"},
    {"--svg", "FILE", TEXT, offsetof(gr_args, svg), PLAN, "draws it with graphviz"},
    {"--ranks", "N", NUMBER, offsetof(gr_args, ranks), PLAN, "plans for so many ranks"},
    {"--steps", "N", NUMBER, offsetof(gr_args, steps), HOOKS,
     "so many steps, not those of the run"},
    {"--tokens", "N", NUMBER, offsetof(gr_args, tokens), PREDICT,
     "continues each text by so many tokens"},
    {"--plain", NULL, SET, offsetof(gr_args, plain), STARTS, "reference kernels only"},
    {"--profile", NULL, SET, offsetof(gr_args, profile), TRAIN, "prints the time of each op"},
    {"--audio", NULL, SET, offsetof(gr_args, audio), DATA,
     "of `inspect`: reads all recordings too"},
    {"--which", "STEP", TEXT, offsetof(gr_args, which), EVAL | PREDICT | EXPORT,
     "the checkpoint: best (the default), last, or a step"},
    {"--split", "SPLIT", TEXT, offsetof(gr_args, split), EVAL,
     "the samples: validation (the default), train, or all"},
    {"--out", "FILE", TEXT, offsetof(gr_args, out), PREDICT | PLOT | HOOKS | REPORT,
     "writes to this file, not on standard output; curves as SVG, a report as HTML"},
    {"--key", "LOGGED", TEXT, offsetof(gr_args, key), PLOT,
     "which values, by names and patterns (loss,validation.*)"},
    {"--data", "KIND", TEXT, offsetof(gr_args, data), NEW,
     "kind of data: table (the default), speech, image or text"},
    {"--by", "METRIC", TEXT, offsetof(gr_args, by), RANKED,
     "ranks by this metric; METRIC:min or METRIC:max says which end is best"},
    {"--scaling", NULL, SET, offsetof(gr_args, scaling), RANKED,
     "how speed grows with ranks, of runs that have ended"},
    {"--price", "PRICE", TEXT, offsetof(gr_args, price), RANKED,
     "of --scaling: what a rank costs an hour, for costs"},
    {"--log", NULL, SET, offsetof(gr_args, log), PLOT | HOOKS, "a logarithmic axis"},
    {"--optimizer", NULL, SET, offsetof(gr_args, optimizer), EXPORT,
     "also writes the states of the optimizer"},
    {"--no-ema", NULL, SET, offsetof(gr_args, no_ema), EVAL | PREDICT | EXPORT,
     "the trained weights, where the run has averages of them (training.ema_decay)"},
    {"--json", NULL, SET, offsetof(gr_args, json), EVAL | RANKED | HOOKS | PLAN | DATA | OPS | CKPT,
     "prints JSON"},
    {"--all", NULL, SET, 0, OPS, "what only passes emit, too: gradients, optimizers, collectives"},
};
enum { N_FLAGS = sizeof flags / sizeof *flags };

static const struct {
  const char *name;
  unsigned bit;
  gr_operands takes;
} commands[] = {
    {"train", TRAIN, {GR_CONFIG_FILE, GR_NO_OPERAND, true}},
    {"plan", PLAN, {GR_CONFIG_FILE, GR_NO_OPERAND, true}},
    {"data", DATA, {GR_CONFIG_FILE, GR_NO_OPERAND, true}},
    {"ops", OPS, {GR_NO_OPERAND, GR_NO_OPERAND, false}},
    {"ckpt", CKPT, {GR_FOLDER, GR_NO_OPERAND, false}},
    {"eval", EVAL, {GR_FOLDER, GR_NO_OPERAND, true}},
    {"predict", PREDICT, {GR_FOLDER, GR_ANY_FILE, true}},
    {"export", EXPORT, {GR_FOLDER, GR_ANY_FILE, false}},
    {"hooks", HOOKS, {GR_CONFIG_FILE, GR_NO_OPERAND, true}},
    {"new", NEW, {GR_FOLDER, GR_NO_OPERAND, false}},
    {"plot", PLOT, {GR_FOLDER, GR_FOLDER, false}},
    {"report", REPORT, {GR_FOLDER, GR_NO_OPERAND, false}},
    {"runs", RANKED, {GR_FOLDER, GR_FOLDER, false}},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

// The command of a first argument; anything but a command's name is a configuration to train with.
static unsigned command_of(const char *word) {
  for (int i = 0; i < N_COMMANDS; i++)
    if (!strcmp(commands[i].name, word)) return commands[i].bit;
  return TRAIN;
}

gr_operands gr_args_operands(const char *command) {
  for (int i = 0; i < N_COMMANDS; i++)
    if (!strcmp(commands[i].name, command)) return commands[i].takes;
  return commands[0].takes;
}

int gr_args_first(int argc, char **argv) {
  for (int i = 0; argc > 1 && i < N_COMMANDS; i++)
    if (!strcmp(commands[i].name, argv[1])) return 2;
  return 1;
}

static const struct flag *flag_of(const char *arg, size_t len) {
  static const char *const shorts[][2] = {
      {"-cn", "--config-name"}, {"-cp", "--config-path"}, {"-cd", "--config-dir"}};
  for (int i = 0; i < 3; i++)
    if (len == 3 && !strncmp(shorts[i][0], arg, len))
      return flag_of(shorts[i][1], strlen(shorts[i][1]));
  for (int i = 0; i < N_FLAGS; i++)
    if (strlen(flags[i].name) == len && !strncmp(flags[i].name, arg, len)) return &flags[i];
  return NULL;
}

// Flags of Hydra and of launchers, and what does that here.
static const char *const foreign[][2] = {
    {"--info",
     "`graphrun config CONFIG.yaml` prints the configuration, with --defaults or --tree "
     "its files, with --explain KEY where a value comes from; `graphrun --version` the "
     "libraries"},
    {"--cfg",
     "it is for training: `graphrun CONFIG.yaml --cfg job`, or `graphrun config "
     "CONFIG.yaml`"},
    {"--resolve", "with --cfg, or `graphrun config CONFIG.yaml --resolve`"},
    {"--package", "with --cfg, or `graphrun config CONFIG.yaml --package KEY`"},
    {"--hydra-help", "`graphrun --help`; `graphrun config --help` lists the keys"},
    {"--shell-completion", "graphrun config --completion bash, zsh or fish"},
    {"--experimental-rerun", "graphrun RUN/.hydra/config.yaml"},
    {"--nproc_per_node", "distributed.ranks=N"},
    {"--nproc-per-node", "distributed.ranks=N"},
};

static const char *foreign_cure(const char *flag) {
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    if (!strcmp(foreign[i][0], flag)) return foreign[i][1];
  return NULL;
}

static gr_status unknown_flag(gr_arena *a, const char *arg, size_t len, unsigned command) {
  const char *names[N_FLAGS], *word = gr_arena_strndup(a, arg, len);
  int n = 0;
  for (int i = 0; i < N_FLAGS; i++)
    if (flags[i].of & command) names[n++] = flags[i].name;
  const char *near = gr_text_nearest(word, names, n);
  gr_status s = gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no flag %s", word);
  const char *key = gr_schema_nearest(a, word + strspn(word, "-"));
  if (foreign_cure(word)) return gr_hint(s, "%s", foreign_cure(word));
  if (key) return gr_hint(s, "keys have no dashes: %s=VALUE", key);
  if (near) return gr_hint(s, "did you mean %s?", near);
  gr_text list = gr_text_make(a);
  for (int i = 0; i < n; i++) gr_text_printf(&list, "%s%s", i ? " " : "", names[i]);
  return gr_hint(s, "the flags are: %s", list.at);
}

static gr_status other_command(gr_arena *a, const struct flag *f) {
  const char *name = "train";
  for (int i = 0; i < N_COMMANDS; i++)
    if (f->of & commands[i].bit) name = commands[i].name;
  gr_status s =
      gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s is not a flag of this command", f->name),
              "it is a flag of `graphrun %s`", name);
  const char *key = gr_schema_nearest(a, f->name + 2);
  return key ? gr_hint(s, "the key is %s=VALUE", key) : s;
}

bool gr_args_flag(const char *command, int i, gr_flag *out) {
  for (int k = 0; k < N_FLAGS; k++) {
    if (!(flags[k].of & command_of(command)) || i--) continue;
    *out = (gr_flag){flags[k].name, flags[k].value, flags[k].doc};
    return true;
  }
  return false;
}

static gr_status number(const char *name, const char *value, int64_t *out) {
  char *end;
  *out = strtoll(value, &end, 10);
  if (!*value || *end || *out < 1 || *out > GR_MAX_RANKS)
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s must be a number from 1 to %d, but is '%s'", name,
                   GR_MAX_RANKS, value);
  return GR_OK;
}

static gr_status apply(gr_args *a, const struct flag *f, const char *value) {
  char *base = (char *)a + f->offset;
  if (f->kind == SET) {
    if (value) return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s takes no value", f->name);
    *(bool *)base = true;
  } else if (f->kind == TEXT) {
    *(const char **)base = value;
  } else if (f->kind == NUMBER) {
    return number(f->name, value, (int64_t *)base);
  } else if (f->kind == DIRS) {
    a->config_dirs[a->n_config_dirs++] = value;
  } else if (a->n_without == GR_MAX_WITHOUT) {
    return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "more than %d flags --without", GR_MAX_WITHOUT);
  } else {
    a->without[a->n_without++] = value;
  }
  return GR_OK;
}

static gr_status one_flag(gr_arena *arena, gr_args *a, int argc, char **argv, int *i) {
  const char *arg = argv[*i], *value = strchr(arg, '=');
  size_t len = value ? (size_t)(value - arg) : strlen(arg);
  unsigned command = command_of(argv[1]);
  const struct flag *f = flag_of(arg, len);
  if (!f) return unknown_flag(arena, arg, len, command);
  if (!(f->of & command)) return other_command(arena, f);
  int first = *i;
  if (value) value++;
  if (!value && f->kind != SET) {
    if (*i + 1 >= argc) return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s needs a value", f->name);
    value = argv[++*i];
  }
  bool names =
      f->offset == offsetof(gr_args, config_name) || f->offset == offsetof(gr_args, config_path);
  for (int k = first; k <= *i && !names; k++) a->flags[a->n_flags++] = argv[k];
  return apply(a, f, value);
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

gr_status gr_args_named(gr_arena *a, const char *dir, const char *name, bool searched,
                        const char **config) {
  if (!name && !dir) return GR_OK;
  if (!name)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--config-path without --config-name"),
                   "--config-path DIR --config-name NAME is the same as DIR/NAME.yaml");
  if (*config)
    return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                           "two configurations: '%s', and --config-name %s", *config, name),
                   "a command takes one");
  size_t n = strlen(name);
  bool whole = n > 5 && !strcmp(name + n - 5, ".yaml");
  const char *file = gr_arena_printf(a, "%s%s", name, whole ? "" : ".yaml");
  const char *usual = gr_arena_printf(a, "%s/%s", dir ? dir : "configs", file);
  *config = dir || (!searched && !gr_is_file(file) && gr_is_file(usual)) ? usual : file;
  return GR_OK;
}

// Without --config-dir, in whose folders the configuration may be.
static void find_config(gr_arena *arena, gr_args *a) {
  bool is_file = gr_args_operands(a->command).first == GR_CONFIG_FILE;
  if (!is_file || !a->config || a->n_config_dirs || gr_is_file(a->config)) return;
  const char *installed = gr_args_installed(arena, a->config);
  if (installed) a->config = installed;
}

// A second configuration or run would else be an override without its '='.
static gr_status check_second(const gr_args *a, const char *arg) {
  bool run = gr_args_operands(a->command).first == GR_FOLDER;
  size_t len = strlen(arg);
  bool named = len > 5 && !strcmp(arg + len - 5, ".yaml");
  if (!a->config || strchr(arg, '=') || !(named || gr_is_file(arg) || (run && gr_is_dir(arg))))
    return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "'%s' is a second %s, after '%s'", arg,
                         run ? "run" : "configuration", a->config),
                 "a command takes one; it composes others that its 'defaults' list names, and "
                 "KEY=VALUE changes a key");
}

// The path of a run that does not exist and contains '=' looks like an override.
static gr_status check_first(const gr_args *a) {
  if (gr_args_operands(a->command).first != GR_FOLDER || a->config || !a->n_overrides) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "no run is given: there is no folder '%s'",
                         a->overrides[0]),
                 "an argument with '=' that is no folder is an override; a run's folder is given "
                 "besides: graphrun %s outputs/DATE/TIME",
                 a->command);
}

// Adds an argument that is not a flag.
static gr_status take(gr_args *a, const char *arg) {
  gr_operands takes = gr_args_operands(a->command);
  if (!a->config && (!takes.overrides || gr_args_is_operand(takes.first, arg))) {
    a->config = arg;
  } else if (takes.more && (!takes.overrides || gr_args_is_operand(takes.more, arg))) {
    a->words[a->n_words++] = arg;
  } else {
    a->overrides[a->n_overrides++] = arg;
    if (takes.overrides) return check_second(a, arg);
  }
  return GR_OK;
}

gr_status gr_args_parse(gr_arena *arena, int argc, char **argv, int first, gr_args *out) {
  *out = (gr_args){.program = argv[0], .argc = argc, .argv = argv};
  out->command = gr_args_first(argc, argv) == 2 ? argv[1] : "train";
  out->overrides = GR_NEW(arena, const char *, argc + 1);
  out->words = GR_NEW(arena, const char *, argc + 1);
  out->starts = command_of(out->command) & STARTS;
  out->config_dirs = GR_NEW(arena, const char *, argc + 1);
  out->flags = GR_NEW(arena, char *, argc + 1);
  gr_status all = GR_OK;
  for (int i = first; i < argc; i++) {
    if (argv[i][0] == '-')
      all = gr_also(all, one_flag(arena, out, argc, argv, &i));
    else
      all = gr_also(all, take(out, argv[i]));
  }
  all = gr_also(all, gr_args_named(arena, out->config_path, out->config_name, out->n_config_dirs,
                                   &out->config));
  if (!all) all = check_first(out);
  find_config(arena, out);
  return all;
}
