# overlap.sh - distributed.overlap on CPU ranks: collectives that a thread of their own runs beside kernels leave the bytes
# of those that run in line, by every strategy and every kind of rank, also on several machines; and a trace shows them.
. "${0%/*}/lib.sh"
make_data
short="training.max_steps=6 training.eval_every=0 distributed.ranks=auto"

# compared STRATEGY MESH [key=value ...]
compared() {
  strategy=$1 mesh=$2
  shift 2
  for overlap in true false; do
    # shellcheck disable=SC2086
    ran "$strategy $*, overlap=$overlap" $strategy.$overlap $short distributed.backend=loopback distributed.strategy=$strategy \
      "distributed.mesh=$mesh" distributed.overlap=$overlap "$@"
  done
  check "... the bytes are the same" same_files $strategy.true/checkpoints $strategy.false/checkpoints
  rm -rf "$strategy.true/checkpoints"
}
compared ddp '{dp: 3}'
compared zero1 '{dp: 2}' training.accumulate=2
compared fsdp '{dp: 2}'
compared hsdp '{replicate: 2, shard: 2}'
compared tp '{dp: 2, tp: 2}'

# Where the size of files is limited ranks share no memory, as on machines of their own.
few_files='ulimit -f 3000; exec "$@"'
# tcp OUT [key=value ...]: two ranks apart, connected by TCP; codes in OUT.0 and OUT.1.
tcp() {
  tcp_out=$1
  shift
  new_port
  for r in 1 0; do
    # shellcheck disable=SC2086
    (
      log=$tcp_out.$r.log
      limited env RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port sh -c "$few_files" sh "$graphrun" "$source/tests/e2e/tones.yaml" \
        "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" "output.dir=$scratch/$tcp_out" \
        $short distributed.strategy=fsdp "$@"
      echo "$code" >"$tcp_out.$r"
    ) &
  done
  wait
  cp "$tcp_out.0.log" "$log"
}
for overlap in true false; do
  tcp tcp.$overlap distributed.overlap=$overlap
  check "fsdp by TCP between machines, overlap=$overlap" test "$(cat tcp.$overlap.[01] | tr '\n' ' ')" = "0 0 "
done
check "... the bytes are the same" same_files tcp.true/checkpoints tcp.false/checkpoints
check "... and those of threads" same_files tcp.true/checkpoints fsdp.false/checkpoints
if has_mpi && mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
  for overlap in true false; do
    # shellcheck disable=SC2086
    limited env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,tcp \
      mpirun -n 2 sh -c "$few_files" sh "$graphrun" "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
      "model.graph=$source/graphs/lmu_asr.yaml" "output.dir=$scratch/mpi.$overlap" $short distributed.strategy=fsdp distributed.overlap=$overlap
    check "fsdp by MPI between machines, overlap=$overlap" test "$code" = 0
  done
  check "... the bytes are the same" same_files mpi.true/checkpoints mpi.false/checkpoints
  check "... and those of threads" same_files mpi.true/checkpoints fsdp.false/checkpoints
else
  skip "fsdp by MPI" "no Open MPI"
fi

# ---- Traces
shown() { grep -c "\"name\":\"$2\",\"ph\":\"X\"" "$1/trace.0.json"; }
for overlap in true false; do
  # shellcheck disable=SC2086
  ran "a trace, overlap=$overlap" trace.$overlap $short distributed.backend=loopback distributed.ranks=2 distributed.overlap=$overlap \
    profile.steps=2:4
done
check "has each collective once" test "$(shown trace.true all_reduce)" -gt 0 -a \
  "$(shown trace.true all_reduce)" = "$(shown trace.false all_reduce)"
check "... and what waits for them" test "$(shown trace.true 'wait for collectives')" -ge 2 -a \
  "$(shown trace.false 'wait for collectives')" = 0
counts
