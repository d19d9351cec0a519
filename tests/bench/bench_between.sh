# bench_between.sh - what two ranks on two machines (network namespaces) send each other in a second, over cables of 1 and
# 10 Gbit/s without and with a delay of 5 ms: `graphrun check` on both, of one program or of several in turn.
#
#   sh $PWD/tests/bench/bench_between.sh $PWD/build/tests/make_delay ROUNDS PROGRAM...
#
# Needs root, ip, tc and /dev/net/tun, and processors that do nothing else: with RUN="chrt -r 1" in the environment the
# ranks come before other programs.
make_delay=$1 rounds=$2
shift 2
a=gr-a-$$ b=gr-b-$$ work=$(mktemp -d)
trap '[ -z "$cable" ] || kill "$cable"; for at in $a $b; do ip netns del $at 2>/dev/null; done; rm -rf "$work"' EXIT
cable=
rank() { # RANK NAMESPACE PROGRAM
  ip netns exec "$2" unshare --uts sh -c 'hostname "$1" && shift && exec "$@"' sh "$2" env RANK="$1" WORLD_SIZE=2 \
    MASTER_ADDR=10.77.0.1 MASTER_PORT=29555 timeout 60 $RUN "$3" check --json >"$work/$1" 2>&1 </dev/null
}
number() { grep -o "$1[^,}]*" "$work/0" | sed 's/.*[: ]//' | tail -1; }
for delay in 0 5; do
  for rate in 1gbit 10gbit; do
    ip netns add $a && ip netns add $b || exit 77
    if [ $delay = 0 ]; then
      ip link add gra$$ netns $a type veth peer name grb$$ netns $b || exit 77
    else
      $RUN "$make_delay" $a gra$$ $b grb$$ $delay &
      cable=$!
      while ! ip -n $b link show grb$$ >/dev/null 2>&1; do kill -0 $cable || exit 77; done
    fi
    for end in a:1 b:2; do
      at=gr-${end%:*}-$$ device=gr${end%:*}$$
      ip -n $at addr add 10.77.0.${end#*:}/24 dev $device && ip -n $at link set $device up && ip -n $at link set lo up &&
        tc -n $at qdisc add dev $device root tbf rate $rate burst 1mb latency 100ms || exit 77
    done
    for _ in $(seq "$rounds"); do
      for program in "$@"; do
        rank 0 $a "$program" &
        first=$!
        rank 1 $b "$program"
        wait $first
        awk -v what="$rate, $delay ms, $program" -v small="$(number '"seconds": ')" -v large="$(number '"bytes_per_s": ')" \
          -v sum="$(grep '"all-reduce"' "$work/0" | grep -o '"number": [^}]*' | sed 's/.* //')" \
          'BEGIN { printf "%s: all-reduce %.0f MB/s, exchange %.0f MB/s each way, small %.1f us\n", what, sum / 1e6, large / 1e6, 1e6 * small }'
      done
    done
    [ -z "$cable" ] || { kill "$cable"; wait "$cable"; } 2>/dev/null
    cable=
    ip netns del $a && ip netns del $b
  done
done
