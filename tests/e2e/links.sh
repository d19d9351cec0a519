# links.sh - two ranks on two machines with a bad cable between them: slow, with losses, cut for good, cut for a while,
# and cut before all ranks are there. That the cable was bad is told by the counters of the system.
. "${0%/*}/lib.sh"
. "${0%/*}/machines.sh"
can_be_bad() {
  command -v tc >/dev/null && command -v iptables >/dev/null && tc -n $a qdisc add dev gra$$ root tbf rate 1gbit burst 100k latency 1s &&
    tc -n $a qdisc del dev gra$$ root && ip netns exec $a iptables -A INPUT -i gra$$ -m statistic --mode random --probability 0.5 -j DROP &&
    ip netns exec $a iptables -F INPUT
}
trap 'status=$?; no_machines; rm -rf "$scratch"; [ -n "$counted" ] || status=1; exit $status' EXIT
if ! two_machines 2>/dev/null || ! can_be_bad 2>/dev/null; then
  skip "ranks with a bad network between them" "needs root, ip, unshare, tc and iptables"
  counts
  exit
fi
make_data
usual="checkpoint.keep_last=0 distributed.ranks=auto training.eval_every=0 distributed.timeout=100000"
of() { [ "$1" = $a ] && echo gra$$ || echo grb$$; }
# slow KEY...: of tc's token bucket, in both directions. lossy PROBABILITY. whole: neither.
slow() { for at in $a $b; do tc -n $at qdisc add dev "$(of $at)" root tbf burst 10k "$@"; done; }
lossy() {
  for at in $a $b; do
    ip netns exec $at iptables -A INPUT -i "$(of $at)" -m statistic --mode random --probability "$1" -j DROP
  done
}
whole() {
  for at in $a $b; do
    tc -n $at qdisc del dev "$(of $at)" root 2>/dev/null
    ip netns exec $at iptables -F INPUT
  done
}
# How often both ends have held something back or lost it, at least.
held() { for at in $a $b; do tc -s -n $at qdisc show dev "$(of $at)" | sed -n 's/.* overlimits \([0-9]*\) .*/\1/p'; done | sort -n | head -1; }
lost() { for at in $a $b; do ip netns exec $at iptables -nvxL INPUT | awk '$3 == "DROP" { print $1 }'; done | sort -n | head -1; }
cable() { ip -n $a link set gra$$ "$1"; }
other_end() { ip -n $b link set grb$$ "$1"; }
both() { # OUT [key=value ...]
  on $a 0 "$@"
  first=$!
  on $b 1 "$@"
  watcher=$!
}

# trains NAME OUT REFERENCE [key=value ...]: the same bytes, with a heartbeat of 5 s
trains() {
  name=$1 same=$2 out=$3
  shift 3
  both "$out" distributed.heartbeat=5 "$@"
  wait
  spoke "$out" 0
  check "$name: both ranks end well" test "$(codes "$out")" = "0 0 "
  check "... the checkpoints are those over a whole one" same_files "$same/checkpoints" "$out/checkpoints"
  check "... so are the losses" same_metrics "$same" "$out"
}

# ---- Slow, with losses, and both
steps="$usual training.max_steps=6 checkpoint.every_steps=3 model.params.hidden=96"
both whole-cable
wait
check "over a whole cable" test "$(codes whole-cable)" = "0 0 "
slow rate 2mbit latency 50ms
trains "over a slow one" whole-cable slow
check "... which has held packets back" test "$(held)" -gt 50
lossy 0.05
trains "over a slow one with losses" whole-cable slow-lossy
check "... which has held packets back" test "$(held)" -gt 50
check "... and lost some" test "$(lost)" -gt 5
whole
lossy 0.08
trains "over one with losses" whole-cable lossy
check "... which has lost packets" test "$(lost)" -gt 5
whole
# A queue that takes longer than the heartbeat, into which a chunk of tensors goes at once: signs of life wait behind it.
steps="$usual training.max_steps=1 checkpoint.every_steps=1 model.params.hidden=192"
for at in $a $b; do
  ip -n $at route replace 10.77.0.0/24 dev "$(of $at)" initcwnd 1000 initrwnd 1000
  for buffer in rmem wmem; do echo 4096 8000000 16000000 | ip netns exec $at tee /proc/sys/net/ipv4/tcp_$buffer >/dev/null; done
done
both whole-large
wait
check "a chunk of tensors has a megabyte" test "$(sed -n 's/ trained parameters.*//p' whole-large.0.log)" -gt 262144
slow rate 1mbit limit 8m
trains "over one with a long queue" whole-large queue
check "... which has held packets back" test "$(held)" -gt 50
for at in $a $b; do ip -n $at route replace 10.77.0.0/24 dev "$(of $at)"; done
whole

# ---- Cut for good
steps="$usual training.max_steps=1000000 checkpoint.every_steps=5 hooks=[$source/tests/e2e/slow.lua]"
both cut distributed.heartbeat=5
wait_steps cut 10
cable down
wait
for r in 0 1; do
  spoke cut $r
  printf '%s\n' "hang error: rank $((1 - r)) has shown no sign of life for 5 s: " 'network between is down' 'raise distributed.heartbeat' >patterns
  verdict "a cable that is cut: rank $r names the other one" 72
done
check "... nothing is left running" gone cut
cable up
check "... the last checkpoint is intact" "$graphrun" ckpt verify cut/checkpoints

both none distributed.heartbeat=0 distributed.timeout=30
wait_steps none 10
cable down
wait
for r in 0 1; do
  spoke none $r
  printf '%s\n' "hang error: a collective with the machine of rank $((1 - r)) did not complete within 30 s" >patterns
  verdict "... without a heartbeat distributed.timeout ends rank $r" 72
done
cable up

# One direction alone: rank 1 receives nothing, and what it sends arrives.
both half distributed.heartbeat=5
wait_steps half 10
ip netns exec $b iptables -A INPUT -i grb$$ -j DROP
wait
spoke half 1
printf '%s\n' 'hang error: rank 0 has shown no sign of life for 5 s: ' >patterns
verdict "a cable that is cut in one direction: rank 1 names the other one" 72
spoke half 0
check "... so does rank 0" grep -qE 'error: rank 1 (has shown no sign of life|died)' "$log"
check "... and both end" test "$code" = 71 -o "$code" = 72
whole

# Two ranks on each machine, of which only the first ones are connected.
more=WORLD_SIZE=4
for r in 0 1 2 3; do on $([ $r -lt 2 ] && echo $a || echo $b) $r four distributed.heartbeat=5; done
watcher=$!
wait_steps four 10
cable down
wait
check "a cable between two machines of two ranks that is cut: all end" test "$(codes four)" = "72 72 72 72 "
for r in 0 2; do
  other=$((2 - r))
  check "... rank $r, on one of them, names one of the other" \
    grep -qE "rank ($other|$((other + 1))) has shown no sign of life for 5 s: its process is stopped, or its machine" four.$r.log
done
check "... nothing is left running" gone four
cable up
more=WORLD_SIZE=2

# ---- Cut for a while: shorter than the heartbeat, which is far longer than the system's own time-outs would be
steps="$usual training.max_steps=40 checkpoint.every_steps=20 hooks=[$source/tests/e2e/slow.lua]"
both not-cut
wait
both mended distributed.heartbeat=100000
wait_steps mended 10
cable down
sleep 40 # at least: for a run that would not outlive it to end
check "a cable that is cut for a while: the ranks wait" test ! -e mended.0.code -a ! -e mended.1.code
cable up
wait_steps mended 15
other_end down
sleep 25 # the same
check "... also at the end of rank 1" test ! -e mended.0.code -a ! -e mended.1.code
other_end up
wait
spoke mended 0
check "... and go on" test "$(codes mended)" = "0 0 "
check "... to the same checkpoints" same_files not-cut/checkpoints mended/checkpoints
check "... and losses" same_metrics not-cut mended

# ---- Cut before all ranks are there
connected() { ip netns exec $b cat /proc/net/tcp | grep -q ":$(printf %04X 29555) 01 "; }
cable down
both never distributed.timeout=20
wait
spoke never 0
printf '%s\n' 'hang error: rank 1 did not join within 20 s' 'hint: .*distributed.timeout' >patterns
verdict "a cable that is cut from the beginning: rank 0 names who is missing" 72
spoke never 1
printf '%s\n' 'hang error: rank 0 was not found within [0-9.]+ s' "on port 29555 of '10.77.0.1'" 'hint: has rank 0 started' >patterns
verdict "... so does rank 1" 72
both late
sleep 3 # at least: for attempts that fail
cable up
wait
check "... and if it is mended in time they train" test "$(codes late)" = "0 0 "
check "... the same bytes" same_files not-cut/checkpoints late/checkpoints
more=WORLD_SIZE=3
both third distributed.timeout=30
within connected
cable down
wait
spoke third 0
printf '%s\n' 'hang error: ranks? (1, )?2 did not join within 30 s' >patterns
verdict "a cable that is cut while ranks wait for others: rank 0 names who is missing" 72
spoke third 1
printf '%s\n' 'hang error: rank 0 (does not answer|was not found) within [0-9.]* s' 'hint: .*distributed.timeout' >patterns
verdict "... and rank 1 whom it does not hear" 72
counts
