# machines.sh - two machines with a cable between them: network namespaces with names of their own. After lib.sh.
a=gr-a-$$ b=gr-b-$$
# False: this system does not allow it.
two_machines() {
  [ "$(id -u)" = 0 ] && command -v ip >/dev/null && command -v unshare >/dev/null && ip netns add $a && ip netns add $b &&
    ip link add gra$$ netns $a type veth peer name grb$$ netns $b && ip -n $a addr add 10.77.0.1/24 dev gra$$ &&
    ip -n $b addr add 10.77.0.2/24 dev grb$$ && ip -n $a link set gra$$ up && ip -n $b link set grb$$ up &&
    ip -n $a link set lo up && ip -n $b link set lo up && ip netns exec $a unshare --uts hostname "$a"
}
no_machines() {
  ip netns del $a
  ip netns del $b
} 2>/dev/null
# on MACHINE RANK OUT [key=value ...]: in the background; its output is in OUT.RANK.log, and its exit code in
# OUT.RANK.code. $more: further variables; $steps: further keys
more=WORLD_SIZE=2
on() {
  at=$1 r=$2 out=$3
  shift 3
  # shellcheck disable=SC2086
  (
    ip netns exec "$at" unshare --uts sh -c 'hostname "$1" && shift && exec "$@"' sh "$at" env RANK="$r" $more \
      MASTER_ADDR=10.77.0.1 MASTER_PORT=29555 timeout -k 5 "$limit" "$graphrun" "$source/tests/e2e/tones.yaml" \
      "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" "output.dir=$scratch/$out" \
      $steps "$@" >"$out.$r.log" 2>&1 </dev/null
    echo $? >"$out.$r.code"
  ) &
}
codes() { cat "$1".*.code | tr '\n' ' '; }
# spoke OUT RANK: what that rank has said becomes $log, and its exit code $code.
spoke() {
  cp "$1.$2.log" "$log"
  code=$(cat "$1.$2.code")
}
