// complete.c - see complete.h. The candidates depend on the command and on the words before the
// cursor: a flag that takes a value, or whether a configuration has been given.
#include "cli/complete.h"
#include <string.h>
#include "cli/commands.h"
#include "cli/new/new.h"
#include "compiler/pass.h"
#include "compose/schema/schema.h"
#include "compose/show.h"
#include "ops/ops.h"

enum { MAX_WORDS = 1024 };

typedef struct line {
  gr_arena *arena;
  gr_text *out;
  const char *words[MAX_WORDS + 1];  // the words after the program, without the last one
  int n;
  const char *word;  // the last word, which is completed
} line;

// ---- Words -----------------------------------------------------------------------

// Reads one shell word and removes its quotes and backslashes.
static const char *read_word(gr_arena *a, const char **s) {
  gr_text t = gr_text_make(a);
  char quote = 0;
  for (; **s && (quote || (**s != ' ' && **s != '\t')); ++*s) {
    if (**s == '\\' && quote != '\'' && (*s)[1] && (!quote || strchr("\"\\$`", (*s)[1])))
      gr_text_putn(&t, ++*s, 1);
    else if (quote ? **s == quote : **s == '\'' || **s == '"')
      quote = quote ? 0 : **s;
    else
      gr_text_putn(&t, *s, 1);
  }
  return t.chars;
}

static bool is_program(const char *word) {
  const char *slash = strrchr(word, '/');
  return !strcmp(slash ? slash + 1 : word, "graphrun");
}

// Words before the program (sudo, time, A=1) are skipped.
static void read_line(line *l, const char *s) {
  bool open = true;
  for (s += strspn(s, " \t"); *s && l->n < MAX_WORDS; s += strspn(s, " \t")) {
    l->words[l->n++] = read_word(l->arena, &s);
    open = !*s;
  }
  l->word = open && l->n > 1 ? l->words[--l->n] : "";
  int program = 0;
  while (program < l->n && !is_program(l->words[program])) program++;
  if (program >= l->n) program = 0;
  l->n = l->n > program ? l->n - program - 1 : 0;
  memmove(l->words, l->words + program + 1, sizeof *l->words * (size_t)l->n);
}

// ---- Candidates ------------------------------------------------------------------

static void offer(line *l, const char *before, const char *text, const char *end) {
  size_t n = strlen(before);
  if (!strncmp(before, l->word, n) && !strncmp(text, l->word + n, strlen(l->word + n)))
    gr_text_printf(l->out, "%s%s%s\n", before, text, end);
}

typedef enum file_kind { CONFIGS, FILES, FOLDERS } file_kind;

static bool wanted(const char *name, bool folder, file_kind kind) {
  return folder || kind == FILES || (kind == CONFIGS && gr_ends_in(name, ".yaml"));
}

// Offers files whose path begins with the part of the word after the prefix `before`.
static void offer_files(line *l, const char *before, file_kind kind) {
  const char *typed = l->word + strlen(before), *slash = strrchr(typed, '/');
  const char *dir = slash ? gr_arena_strndup(l->arena, typed, (size_t)(slash - typed) + 1) : "";
  bool hidden = (slash ? slash[1] : *typed) == '.';
  int n;
  const char **names = gr_list_dir(l->arena, *dir ? dir : ".", &n);
  for (int i = 0; i < n; i++) {
    const char *path = gr_arena_printf(l->arena, "%s%s", dir, names[i]);
    bool folder = gr_is_dir(path);
    if ((hidden || *names[i] != '.') && wanted(names[i], folder, kind))
      offer(l, before, path, folder ? "/" : "");
  }
}

// ---- Flags -----------------------------------------------------------------------

static const gr_command *command_of(const line *l) {
  const gr_command *c = l->n ? gr_command_find(l->words[0]) : NULL;
  return c ? c : gr_commands[0];
}

static void offer_flags(line *l, const gr_command *command) {
  const gr_flag *f;
  for (int i = 0; (f = gr_command_flag(command, i)); i++) offer(l, "", f->name, "");
}

// ---- Arguments of a configuration ------------------------------------------------

// Sorts the words into configuration, --config-dir and overrides, as the commands do. If the last
// word before the cursor is a flag that needs a value, *open is the placeholder of that value.
static gr_compose_request read_request(line *l, const gr_command *command, int first,
                                       const char **open) {
  const char **overrides = GR_NEW(l->arena, const char *, l->n + 1);
  const char **dirs = GR_NEW(l->arena, const char *, l->n + 1);
  gr_compose_request q = {.overrides = overrides, .config_dirs = dirs, .known = gr_schema_takes};
  *open = NULL;
  for (int i = first; i < l->n; i++) {
    const char *w = l->words[i], *equals = strchr(w, '=');
    if (*w == '-') {
      const gr_flag *f = gr_command_flag_of(command, w, strcspn(w, "="));
      const char *takes = f ? f->value : NULL;
      const char *value = equals ? equals + 1 : i + 1 < l->n ? l->words[i + 1] : NULL;
      if (takes && !value) *open = takes;
      if (takes && value && !strcmp(f->name, "--config-dir")) dirs[q.n_config_dirs++] = value;
      i += takes && !equals;
    } else if (!q.path && gr_args_is_operand(command->takes.first, w)) {
      q.path = w;
    } else {
      overrides[q.n_overrides++] = w;
    }
  }
  return q;
}

static void offer_passes(line *l, const char *before) {
  for (const gr_pass *p = gr_pipeline; p->run; p++) offer(l, before, p->name, "");
  offer(l, before, "all", "");
}

// Offers values of a flag after the prefix `before` ("--dump=", or "" when the value is a word of
// its own).
static void offer_flag_value(line *l, const gr_compose_request *q, const char *takes,
                             const char *before) {
  if (!strcmp(takes, "DIR")) offer_files(l, before, FOLDERS);
  if (!strcmp(takes, "PASS")) offer_passes(l, before);
  static const char *const words[][2] = {
      {"STEP", "best"},   {"STEP", "last"},        {"SPLIT", "validation"},
      {"SPLIT", "train"}, {"SPLIT", "all"},        {"LOGGED", "loss"},
      {"LOGGED", "lr"},   {"LOGGED", "grad_norm"}, {"LOGGED", "validation.*"},
      {"METRIC", "loss"}, {"METRIC", "accuracy"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(takes, words[i][0])) offer(l, before, words[i][1], "");
  for (const gr_new_kind *k = gr_new_kinds; k->name && !strcmp(takes, "KIND"); k++)
    offer(l, before, k->name, "");
  for (int i = 0; !strcmp(takes, "SHELL") && gr_cli_shell(i); i++)
    offer(l, before, gr_cli_shell(i), "");
  if (!strcmp(takes, "FILE")) offer_files(l, before, FILES);
  if (!strcmp(takes, "CONFIG")) offer_files(l, before, CONFIGS);
  if (!strcmp(takes, "KEY")) gr_show_keys(l->out, l->arena, q, before, l->word);
}

// Offers files for a key whose value is a path: "model.graph=gr", "hooks=[a.lua,ho".
static void offer_paths(line *l) {
  const char *equals = strchr(l->word, '='), *key = l->word + strspn(l->word, "+");
  if (!equals) return;
  const gr_schema_key *k = gr_schema_find(gr_arena_strndup(l->arena, key, (size_t)(equals - key)));
  if (!k || !gr_schema_holds(l->arena, k, GR_SCHEMA_PATH)) return;
  const char *start = equals + 1;
  for (const char *s = start; *s; s++)
    if (*s == ',' || *s == '[') start = s + 1;
  offer_files(l, gr_arena_strndup(l->arena, l->word, (size_t)(start - l->word)), FILES);
}

static void offer_operand(line *l, gr_operand o) {
  if (o == GR_CONFIG_FILE) offer_files(l, "", CONFIGS);
  if (o == GR_FOLDER) offer_files(l, "", FOLDERS);
  if (o == GR_ANY_FILE) offer_files(l, "", FILES);
}

// Behind the first argument: files or folders, and overrides of the configuration, which may be
// that of a run's folder.
static void offer_rest(line *l, gr_compose_request *q, const gr_operands *takes) {
  if (takes->first == GR_FOLDER)
    q->path = gr_arena_printf(l->arena, "%s/.hydra/config.yaml", q->path);
  if (takes->overrides) gr_show_completion(l->out, l->arena, q, l->word), offer_paths(l);
  offer_operand(l, takes->more);
}

static void complete_config(line *l, const gr_command *command, int first) {
  const char *open, *equals = strchr(l->word, '=');
  gr_compose_request q = read_request(l, command, first, &open);
  gr_operands of = command->takes;
  size_t len = equals ? (size_t)(equals - l->word) : 0;
  const gr_flag *f = len ? gr_command_flag_of(command, l->word, len) : NULL;
  if (open)
    offer_flag_value(l, &q, open, "");
  else if (f && f->value)
    offer_flag_value(l, &q, f->value, gr_arena_strndup(l->arena, l->word, len + 1));
  else if (*l->word == '-')
    offer_flags(l, command);
  else if (l->n && !strcmp(l->words[l->n - 1], "--help"))
    gr_show_keys(l->out, l->arena, &q, "", l->word);
  else if (!q.path)
    offer_operand(l, of.first);
  else
    offer_rest(l, &q, &of);
}

// ---- Commands --------------------------------------------------------------------

// The names that a command's first argument may be.
static void offer_words(line *l, const gr_command *c) {
  const char *words[MAX_WORDS];
  int n = c->words(l->arena, words, MAX_WORDS);
  for (int i = 0; i < n; i++) offer(l, "", words[i], "");
}

static void complete_data(line *l, const gr_command *c) {
  bool import = l->n > 1 && !strcmp(l->words[1], "import");
  if (l->n == 2 && import) offer(l, "", "asterisk", "");
  if (l->n == 3 && import) offer_files(l, "", FILES);
  if (l->n == 4 && import) offer(l, "", "--with-digits", "");
  if (l->n > 1 && !strcmp(l->words[1], "inspect")) complete_config(l, c, 2);
}

static void complete_first(line *l) {
  for (const gr_command *const *c = gr_commands; *c; c++) offer(l, "", (*c)->name, "");
  offer_files(l, "", CONFIGS);
}

void gr_cli_complete(gr_arena *a, const char *text, gr_text *out) {
  line *l = GR_NEW(a, line, 1);
  l->arena = a, l->out = out;
  read_line(l, text);
  const gr_command *command = command_of(l);
  bool named = l->n && !strcmp(command->name, l->words[0]);
  if (!l->n && *l->word != '-')
    complete_first(l);
  else if (command->words && l->n == 1 && *l->word != '-')
    offer_words(l, command);
  else if (command == &gr_command_data)
    complete_data(l, command);
  else
    complete_config(l, command, named);
}
