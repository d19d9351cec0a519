// complete.c - see complete.h.
#include "cli/complete.h"
#include <dirent.h>
#include <string.h>
#include "compose/show.h"

enum { MAX_WORDS = 256 };

// bash breaks words at '=': what it shows must lose what it has typed up to there.
static const char bash[] =
    "_graphrun() {\n"
    "  local line=\"${COMP_LINE:0:$COMP_POINT}\" word\n"
    "  word=\"${line##* }\"\n"
    "  local strip=\"\"\n"
    "  if [[ \"$word\" == *=* && \"$COMP_WORDBREAKS\" == *=* ]]; then strip=\"${word%%=*}=\"; fi\n"
    "  COMPREPLY=()\n"
    "  local c\n"
    "  while IFS= read -r c; do COMPREPLY+=(\"${c#\"$strip\"}\"); done < <(\n"
    "    \"${COMP_WORDS[0]}\" config --complete \"$line\" 2>/dev/null)\n"
    "  [[ ${#COMPREPLY[@]} -eq 1 && \"${COMPREPLY[0]}\" != *[=./] ]] || compopt -o nospace\n"
    "}\n"
    "complete -F _graphrun graphrun\n";
static const char zsh[] =
    "#compdef graphrun\n"
    "_graphrun() {\n"
    "  local -a found\n"
    "  found=(\"${(@f)$(\"$words[1]\" config --complete \"$LBUFFER\" 2>/dev/null)}\")\n"
    "  compadd -S '' -a found\n"
    "}\n"
    "compdef _graphrun graphrun\n";
static const char fish[] =
    "complete -c graphrun -f -a '(graphrun config --complete (commandline -cp) 2>/dev/null)'\n";

gr_status gr_cli_completion_script(const char *shell, gr_text *out) {
  static const struct {
    const char *name, *text;
  } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
    if (!strcmp(shell, shells[i].name)) {
      gr_text_put(out, shells[i].text);
      return GR_OK;
    }
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no completion for '%s'", shell),
                 "there is for bash, zsh and fish");
}

static int split(gr_arena *a, const char *line, const char **words) {
  int n = 0;
  while (n < MAX_WORDS) {
    line += strspn(line, " \t");
    size_t len = strcspn(line, " \t");
    if (!len) break;
    words[n++] = gr_arena_strndup(a, line, len);
    line += len;
  }
  return n;
}

static void offer(gr_text *out, const char *word, const char *text, const char *end) {
  if (!strncmp(text, word, strlen(word))) gr_text_printf(out, "%s%s\n", text, end);
}

static void offer_files(gr_arena *a, const char *word, gr_text *out) {
  const char *slash = strrchr(word, '/');
  const char *dir = slash ? gr_arena_strndup(a, word, (size_t)(slash - word) + 1) : "";
  DIR *d = opendir(*dir ? dir : ".");
  if (!d) return;
  for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
    const char *path = gr_arena_printf(a, "%s%s", dir, e->d_name);
    size_t n = strlen(e->d_name);
    if (e->d_name[0] == '.') continue;
    if (gr_is_dir(path))
      offer(out, word, path, "/");
    else if (n > 5 && !strcmp(e->d_name + n - 5, ".yaml"))
      offer(out, word, path, "");
  }
  closedir(d);
}

static void offer_first(gr_arena *a, const char *word, bool commands, gr_text *out) {
  static const char *const names[] = {"train",  "plan", "config", "check", "eval", "predict",
                                      "export", "ckpt", "data",   "ops",   "runs", "compare"};
  for (size_t i = 0; commands && i < sizeof names / sizeof *names; i++)
    offer(out, word, names[i], "");
  offer_files(a, word, out);
}

void gr_cli_complete(gr_arena *a, const char *line, gr_text *out) {
  const char *words[MAX_WORDS + 1], *overrides[MAX_WORDS];
  int n = split(a, line, words), first = -1, n_overrides = 0;
  size_t len = strlen(line);
  if (!len || line[len - 1] == ' ' || n < 2) words[n++] = "";
  const char *word = words[n - 1];
  for (int i = 1; i + 1 < n; i++) {
    size_t w = strlen(words[i]);
    bool file = w > 5 && !strcmp(words[i] + w - 5, ".yaml");
    if (first < 0 && file)
      first = i;
    else if (first >= 0 && words[i][0] != '-')
      overrides[n_overrides++] = words[i];
  }
  if (first < 0) {
    offer_first(a, word, n == 2, out);
    return;
  }
  gr_compose_request q = {.path = words[first], .overrides = overrides, .n_overrides = n_overrides};
  gr_show_completion(out, a, &q, word);
}
