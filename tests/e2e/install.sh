# install.sh - the program as `cmake --install` leaves it, used from an empty folder; its manual page
# and completions.
. "${0%/*}/lib.sh"
build=${graphrun%/*}
if ! command -v cmake >/dev/null 2>&1 || [ ! -f "$build/cmake_install.cmake" ]; then
  skip "installing" "no cmake, or no build folder"
  counts
  exit
fi
expect "cmake --install" 0 -- cmake --install "$build" --prefix "$scratch/prefix"
installed=$scratch/prefix/bin/graphrun
expect "--version" 0 "^graphrun [0-9]+\.[0-9]+" "^built with .*Lua" \
  "^ +(libav|MPI) +.*([0-9]\.[0-9]|not in this build)" -- "$installed" --version
for module in mpi onednn cuda sndfile soxr; do
  [ -f "$build/graphrun_$module.so" ] && check "the module $module is installed" test -s "$scratch/prefix/lib/graphrun/graphrun_$module.so"
done

mkdir empty elsewhere
ln -s "$installed" elsewhere/graphrun
awk 'BEGIN { srand(3); print "width,weight,kind"
  for (i = 0; i < 90; i++) { k = i % 3; printf "%.4f,%.2f,%s\n", k + 0.6 * rand(), 9 * (k == 1) + rand(), substr("redblugre", k * 3 + 1, 3) }
}' >empty/kinds.csv
cd empty || exit 1
ranks=distributed.ranks=1
if has_mpi; then ranks=distributed.ranks=2; fi
kinds="data.table.path=kinds.csv data.table.label=kind"
# shellcheck disable=SC2086
expect "a configuration that is installed" 0 "^validation set: " -- \
  "$installed" configs/table.yaml $kinds training.max_epochs=2 $ranks output.dir=run
# shellcheck disable=SC2086
expect "... through a link, with hooks" 0 "^validation set: " -- ../elsewhere/graphrun configs/table.yaml $kinds \
  training.max_epochs=2 'hooks=[hooks/cosine.lua]' model.graph=graphs/mlp.yaml distributed.ranks=1 output.dir=second
expect "eval of it" 0 "^validation set: " -- "$installed" eval run
# shellcheck disable=SC2086
expect "plan of an installed configuration" 0 "trained numbers" -- "$installed" plan configs/table.yaml $kinds
expect "config of one" 0 "^model:" -- "$installed" config configs/multi_gpu.yaml
expect "a sweep of one" 0 "^#1: " -- "$installed" -m configs/multi_gpu.yaml training.lr=1,2 --dry-run
expect "a configuration of one's own comes first" 65 "configs/table.yaml:1:1" -- sh -c 'mkdir configs && echo "nonsense: 1" >configs/table.yaml
  "$1" configs/table.yaml' sh "$installed"
expect "a configuration that is nowhere" 65 "there is no configuration file 'configs/none.yaml'" -- "$installed" configs/none.yaml
expect "no way out of the installed folder" 65 "no configuration file" -- "$installed" ../configs/multi_gpu.yaml

# ---- The manual page and completions
page=$scratch/prefix/share/man/man1/graphrun.1
for word in 'SH EXIT STATUS' 'SS "graphrun eval ' 'B training.lr' 'B 78'; do
  check "the manual page has $word" grep -q "^\.$word" "$page"
done
check "... every command" sh -c 'sed -n "s/^GR_COMMAND(\"\([a-z]*\)\".*/\1/p" "$1/cli/commands.def" | while read -r c; do
  grep -q "^\.SS \"graphrun $c " "$2" || exit 1; done' sh "$source" "$page"
if command -v groff >/dev/null 2>&1; then
  check "groff formats it without a warning" sh -c 'groff -man -ww -z -Tutf8 "$1" 2>groff.log; ! grep . groff.log' sh "$page"
else
  skip "groff formats the manual page" "no groff"
fi
if command -v bash >/dev/null 2>&1; then
  check "completion for bash" bash -c ". $scratch/prefix/share/bash-completion/completions/graphrun && complete -p graphrun"
else
  skip "completion for bash" "no bash"
fi
check "... for zsh" grep -q '^#compdef graphrun' "$scratch/prefix/share/zsh/site-functions/_graphrun"
check "... for fish" grep -q 'complete -c graphrun' "$scratch/prefix/share/fish/vendor_completions.d/graphrun.fish"
counts
