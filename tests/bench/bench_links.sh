# bench_links.sh - how soon ranks on two machines (network namespaces) end once the cable between them is cut, or once
# one of them is stopped: trials of both, with their times.
#
#   sh $PWD/tests/bench/bench_links.sh $PWD/build/graphrun $PWD $PWD/build/tests/make_tones [TRIALS [HEARTBEAT]]
#
# TRIALS: 20; HEARTBEAT: seconds, distributed.heartbeat: 20.
. "${0%/*}/../e2e/lib.sh"
. "${0%/*}/../e2e/machines.sh"
trials=${4:-20} heartbeat=${5:-20}
trap 'status=$?; no_machines; rm -rf "$scratch"; [ -n "$counted" ] || status=1; exit $status' EXIT
two_machines 2>/dev/null || exit 77
make_data
now() { date +%s.%N; }
# spread FILE WHAT: the least, the median and the most of a file's numbers.
spread() { sort -n "$1" | awk -v what="$2" '{ x[NR] = $1 } END { printf "%s: %d trials, least %.1f s, median %.1f s, most %.1f s\n", what, NR, x[1], x[int((NR + 1) / 2)], x[NR] }'; }
steps="distributed.ranks=auto distributed.timeout=100000 checkpoint.keep_last=0 training.eval_every=0 training.max_steps=1000000
  hooks=[$source/tests/e2e/slow.lua]"
# starts OUT STEPS: two ranks that have done so many steps.
starts() {
  on $a 0 "$1" "distributed.heartbeat=$heartbeat"
  on $b 1 "$1" "distributed.heartbeat=$heartbeat"
  watcher=$!
  wait_steps "$@"
  began=$(now)
}
# ends OUT RANK FILE: waits until it has, and notes after which time.
ends() {
  while [ ! -s "$1.$2.code" ]; do sleep 0.02; done
  echo "$began $(now)" | awk '{ print $2 - $1 }' >>"$3"
}
names() { [ "$(cat "$1.$2.code")" = 72 ] && grep -q "rank $3 has shown no sign of life" "$1.$2.log"; }

found=0
for trial in $(seq "$trials"); do
  starts "cut$trial" $((5 + trial))
  ip -n $a link set gra$$ down
  ends "cut$trial" 1 ended1 &
  ends "cut$trial" 0 ended0
  wait
  names "cut$trial" 0 1 && names "cut$trial" 1 0 && none_left "cut$trial" && found=$((found + 1))
  ip -n $a link set gra$$ up
done
echo "a cable that was cut: both ranks ended and named each other in $found of $trials trials"
for rank in 0 1; do spread ended$rank "from the cut to the end of rank $rank, heartbeat $heartbeat s"; done
found=0
for trial in $(seq "$trials"); do
  starts "still$trial" $((5 + trial))
  rank=$((trial % 2))
  stopped=$(rank_of "still$trial" $rank)
  kill -STOP "$stopped"
  ends "still$trial" $((1 - rank)) ended
  kill -CONT "$stopped"
  wait
  names "still$trial" $((1 - rank)) $rank && none_left "still$trial" && found=$((found + 1))
done
echo "a rank that was stopped: the other one ended and named it in $found of $trials trials"
spread ended "from SIGSTOP of a rank to the end of the other one, heartbeat $heartbeat s"
counted=1
