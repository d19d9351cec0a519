# progress.sh - what a terminal shows of a run: the bar, colours, words that are not cut, the ranks; and
# what each rank logs.
. "${0%/*}/lib.sh"
make_data
esc=$(printf '\033') cr=$(printf '\r')

# shown COLUMNS [VARIABLE=value ...] [key=value ...]: a run on a terminal: its parts, line by line, in `all`; in
# `live` those that are overwritten, and in `kept` those that stay, both without colours.
shown() {
  columns=$1
  shift
  variables="TERM=xterm NO_COLOR= LC_ALL=C.UTF-8" keys=
  for word in "$@"; do
    case $word in [A-Z]*=*) variables="$variables $word" ;; *) keys="$keys $word" ;; esac
  done
  rm -rf out
  # shellcheck disable=SC2086
  limited env $variables script -qec "stty cols $columns; '$graphrun' '$source/tests/e2e/tones.yaml' \
    data.manifest='$scratch/data/tones.jsonl' model.graph='$source/graphs/lmu_asr.yaml' output.dir='$scratch/out' \
    logging.progress=true logging.show_samples=0 $keys" /dev/null
  tr '\r' '\n' <"$log" >all
  sed 's/━/#/g;s/─/-/g' all >plain # in any locale, where a pattern may be of bytes
  sed -E "s/$esc\[[0-9]+m//g" plain | grep "$esc\[K\$" | sed "s/$esc\[K//" >live
  sed -E "s/$esc\[[0-9]*[mK]//g" plain | grep -v "$esc" >kept
}
# The columns of a file's longest line; awk may count bytes.
widest() { awk '{ n = length($0); if (n > most) most = n } END { print most + 0 }' "$1"; }

if ! command -v script >/dev/null 2>&1 || ! script -qec true /dev/null >/dev/null 2>&1; then
  skip "what a terminal shows" "no script program"
else
  shown 100
  check "on a terminal a run ends well" test "$code" = 0
  check "... a bar of heavy and light lines" grep -q '^epoch 0  step 1/10  ##*--*  10 %  loss' live
  check "... in colours" grep -q "$esc\[32m##*$esc\[0m$esc\[2m-" plain
  check "... where the time goes" grep -q '  data [0-9]* % compute [0-9]* %$' live
  check "... which is not on the line that stays" grep -q 'step 10/10  loss .* samples/s$' kept
  check "... within its columns" test "$(widest live)" -lt 100
  shown 80
  check "80 columns have a bar, too" grep -q '^epoch 0  step 1/10  ##*--*  10 %  loss [0-9.]*  [0-9.]* samples/s$' live
  check "... and no word is cut" test "$(widest live)" -lt 80
  check "... nor in what stays" grep -q '^peak resident memory' kept
  # A path can be longer than a line.
  grep -v "$scratch" kept >words
  check "... which is broken between words" test "$(widest words)" -le 80
  shown 30 NO_COLOR=1
  check "30 columns have whole fields" sh -c '! grep "^epoch" live | grep -Evq "^epoch [0-9]+  step [0-9]+/10(  eta [0-9]:[0-9]+)?$"'
  check "NO_COLOR leaves out colours" sh -c '! grep -q "$1\[[0-9]*m" all' sh "$esc"
  shown 100 NO_COLOR=1 LC_ALL=C
  check "without UTF-8 the bar is ASCII" grep -q '^epoch 0  step 1/10  #*-*  10 %' live
  shown 100 TERM=dumb
  check "a dumb terminal gets the lines of a log" sh -c '! grep -q "$1" all && grep -q "^epoch 0  step 1/10  loss [0-9.]*  lr [^ ]*  [0-9.]* samples/s$" kept' sh "$esc"
  for of in "2 distributed.backend=loopback" "2"; do
    [ "$of" != 2 ] || has_mpi || continue
    shown 200 "distributed.ranks=$of" logging.ranks=all training.max_steps=20 "hooks=[$source/tests/e2e/slow.lua]"
    check "a line has the time of two ranks, side by side: $of" \
      grep -Eq '  rank 0: data [0-9]+ % compute [0-9]+ % comm [0-9]+ %  rank 1: data [0-9]+ % compute' live
    check "... and what a rank logs is a line of its own" grep -Eq '^\[rank 1\] rank 1 of 2: process [0-9]+ on ' kept
  done
fi

# ---- Every rank's lines, in a log
for of in "2 distributed.backend=loopback" "2"; do
  [ "$of" != 2 ] || has_mpi || continue
  # shellcheck disable=SC2086
  tones "all-${#of}" logging.progress=true training.log_every=4 logging.ranks=all distributed.ranks=$of
  for rank in 0 1; do
    has="\[rank $rank\] epoch"
    check "rank $rank logs its steps: $of" grep -Eq "^$has 0  step 4/10  loss .* samples/s .*data [0-9]+ % compute [0-9]+ % comm [0-9]+ %\$" "$log"
    check "... and what it waited for" grep -q "^\[rank $rank\] steps waited" "$log"
  done
  check "... with the same loss" test "$(grep -o 'step 4/10  loss [0-9.]*' "$log" | sort -u | wc -l)" = 1
  check "... but results are of all" grep -q '^validation set: loss' "$log"
  # shellcheck disable=SC2086
  tones "first-${#of}" logging.progress=true training.log_every=4 distributed.ranks=$of
  check "otherwise rank 0 speaks for all" sh -c '! grep -q "^\[rank" "$1"' sh "$log"
  check "... and the figures are the same" same_metrics "first-${#of}" "all-${#of}"
done
counts
