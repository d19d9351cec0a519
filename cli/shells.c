// shells.c - the completion script of each shell. All scripts pass the line up to the cursor to
// `graphrun config --complete` and offer what it prints. Words that begin with ~ are completed by
// the shell itself, because it knows how to quote them.
#include <string.h>
#include "cli/complete.h"

// bash splits words at '=', ':' and '@' and removes quotes. It replaces only $2 by the completion,
// so the part of the word before $2 is removed from each candidate. No space is appended after '=',
// '.',
// '/', ',' and '[', where the word continues.
static const char bash[] =
    "_graphrun() {\n"
    "  local line=\"${COMP_LINE:0:COMP_POINT}\" word before c\n"
    "  COMPREPLY=()\n"
    "  if [[ $2 == '~/'* ]]; then compopt -o default; return; fi\n"
    "  word=\"${line##*[[:space:]]}\"\n"
    "  before=\"${word%\"$2\"}\"\n"
    "  before=\"${before//[\\\"\\']/}\"\n"
    "  while IFS= read -r c; do\n"
    "    c=\"${c#\"$before\"}\"\n"
    "    if [[ $word != *[\\\"\\']* && $c == *[!][A-Za-z0-9_./:=,+~@%^-]* ]]; then printf -v c %q "
    "\"$c\"; fi\n"
    "    COMPREPLY+=(\"$c\")\n"
    "  done < <(\"${COMP_WORDS[0]/#\\~\\//$HOME/}\" config --complete \"$line\" 2>/dev/null)\n"
    "  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=./,[] ]]; then compopt -o nospace; "
    "fi\n"
    "}\n"
    "complete -F _graphrun graphrun\n";

// Works as a file `_graphrun` in $fpath and by eval, before or after compinit.
static const char zsh[] =
    "#compdef graphrun\n"
    "_graphrun() {\n"
    "  if [[ $PREFIX == '~/'* ]]; then _files; return; fi\n"
    "  local -a found\n"
    "  local line=\"${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX\"\n"
    "  found=(${(f)\"$(${(Q)~words[1]} config --complete \"$line\" 2>/dev/null)\"})\n"
    "  compadd -S '' -- ${(M)found:#*[=./,\\[]}\n"
    "  compadd -- ${found:#*[=./,\\[]}\n"
    "}\n"
    "if [[ $funcstack[1] == _graphrun ]]; then\n"
    "  _graphrun \"$@\"\n"
    "else\n"
    "  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"
    "  compdef _graphrun graphrun\n"
    "fi\n";

static const char fish[] =
    "function __graphrun_complete\n"
    "  set -l word (commandline -ct)\n"
    "  if string match -q '~/*' -- $word\n"
    "    complete -C \"'' $word\"\n"
    "    return\n"
    "  end\n"
    "  set -l program (string match -r '^(?:.*/)?graphrun$' -- (commandline -opc))\n"
    "  set -q program[1]; or set program graphrun\n"
    "  set program (string replace -r '^~/' $HOME/ -- $program[1])\n"
    "  $program config --complete (commandline -cp | string collect) 2>/dev/null\n"
    "end\n"
    "complete -c graphrun -f -a '(__graphrun_complete)'\n";

static const struct {
  const char *name, *text;
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
enum { N_SHELLS = sizeof shells / sizeof *shells };

const char *gr_cli_shell(int i) { return i < N_SHELLS ? shells[i].name : NULL; }

gr_status gr_cli_completion_script(const char *shell, gr_text *out) {
  for (int i = 0; i < N_SHELLS; i++)
    if (!strcmp(shell, shells[i].name)) {
      gr_text_put(out, shells[i].text);
      return GR_OK;
    }
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "there is no completion for '%s'", shell),
                 "supported are bash, zsh and fish");
}
