# ranks.sh - the number of ranks changes nothing but the time; the same command leaves the same bytes.
. "${0%/*}/lib.sh"
make_data

# 27 training samples in batches of 8: three ranks have rows without a sample in every batch.
ran "one rank" one training.max_steps=50 distributed.ranks=1
for n in 2 3; do
  ran "$n ranks as threads" threads$n training.max_steps=50 distributed.ranks=$n \
    distributed.backend=loopback
  check "$n ranks as threads: weights are bit-equal" grep -q "bit-equal on all $n ranks" "$log"
  if has_mpi; then
    ran "$n ranks as processes" mpi$n training.max_steps=50 distributed.ranks=$n
    check "$n ranks as processes: weights are bit-equal" grep -q "bit-equal on all $n ranks" "$log"
    check "$n ranks: threads and processes leave the same bytes" \
      same_files threads$n/checkpoints mpi$n/checkpoints
  else
    skip "$n ranks as processes" "no MPI"
  fi
done
for run in threads2 threads3 mpi2 mpi3; do
  [ -d $run ] || continue
  check "$run: the first loss is one rank's to 1e-6" near "$(loss one 0)" "$(loss $run 0)" 1e-6
  check "$run: the 50th loss is one rank's to 1e-3" near "$(loss one 49)" "$(loss $run 49)" 1e-3
done

# It learns nearly every letter of the recordings it was trained on.
ran "250 steps" learnt training.max_steps=250 distributed.ranks=2 distributed.backend=loopback
cer=$(sed -n 's/^training set:.* cer \([0-9.]*\).*/\1/p' "$log")
check "... to a character error rate ($cer) below 0.2" \
  awk -v cer="$cer" 'BEGIN { exit !(cer != "" && cer < 0.2) }'

# Strategies are layouts: the sums may be rounded otherwise, nothing else differs.
for strategy in zero1 fsdp; do
  ran "$strategy on 2 ranks" $strategy training.max_steps=50 distributed.ranks=2 \
    distributed.backend=loopback distributed.strategy=$strategy
  check "$strategy: the 50th loss is one rank's to 1e-3" \
    near "$(loss one 49)" "$(loss $strategy 49)" 1e-3
done

# Twice the same, with workers that race, threads in a rank, and checkpoints on the way.
for run in again1 again2; do
  ran "$run" $run training.max_steps=40 distributed.ranks=2 distributed.backend=loopback \
    distributed.threads=2 data.workers=3 checkpoint.every_steps=10 checkpoint.keep_last=0
done
check "two runs of one command: the same checkpoints, byte for byte" \
  same_files again1/checkpoints again2/checkpoints
check "two runs of one command: the same metrics, times aside" same_metrics again1 again2
check "of 40 steps every tenth is kept" test "$(ls again1/checkpoints | wc -l)" = 4
counts
