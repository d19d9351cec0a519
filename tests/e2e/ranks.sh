# ranks.sh - the number of ranks changes nothing but the time; the same command leaves the same bytes;
# ranks that see different things say so.
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
  below "$cer" 0.2

# Strategies are layouts: the sums may be rounded otherwise, nothing else differs.
for strategy in zero1 fsdp; do
  ran "$strategy on 2 ranks" $strategy training.max_steps=50 distributed.ranks=2 \
    distributed.backend=loopback distributed.strategy=$strategy
  check "$strategy: the 50th loss is one rank's to 1e-3" \
    near "$(loss one 49)" "$(loss $strategy 49)" 1e-3
done

# dp is ddp on threads.
ran "dp on 2 ranks" dp training.max_steps=50 distributed.ranks=2 distributed.strategy=dp
check "dp: ranks are threads" grep -q "2 ranks as threads of this process" "$log"
check "dp: the checkpoints of ddp, byte for byte" same_files threads2/checkpoints dp/checkpoints

# Twice the same, with workers that race, threads in a rank, and checkpoints on the way.
for run in again1 again2; do
  ran "$run" $run training.max_steps=40 distributed.ranks=2 distributed.backend=loopback \
    distributed.threads=2 data.workers=3 checkpoint.every_steps=10 checkpoint.keep_last=0 \
    checkpoint.keep_best=0
done
check "two runs of one command: the same checkpoints, byte for byte" \
  same_files again1/checkpoints again2/checkpoints
check "two runs of one command: the same metrics, times aside" same_metrics again1 again2
check "of 40 steps every tenth is kept" test "$(ls again1/checkpoints | wc -l)" = 4

# A run of one rank does not speak of ranks.
echo 'return { lr = function(ctx) error("no rate") end }' >fails.lua
tones fails distributed.ranks=1 "hooks=[fails.lua]"
printf '%s\n' 'stopping at step 0: it cannot go on' 'hook error: .*no rate' >patterns
verdict "a hook that fails, on one rank" 70
check "... is not called a rank" test "$(grep -c 'a rank failed' "$log")" = 0

# Ranks that are started with different configurations, or see different files: rank 0's
# configuration is what all run, and what differs is named.
if ! has_mpi || [ -z "$(mpirun --version 2>/dev/null | grep 'Open MPI')" ]; then
  skip "ranks that see different things" "no Open MPI"
  counts
  exit
fi
mkdir first other
# two FIRST... -- OTHER...: rank 0 in the folder `first`, rank 1 in `other`, with arguments of their own.
two() {
  of_first=
  while [ "$1" != -- ]; do
    of_first="$of_first $1"
    shift
  done
  shift
  # shellcheck disable=SC2086
  limited env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
    OMPI_MCA_rmaps_base_oversubscribe=1 mpirun -n 1 -wdir "$scratch/first" "$graphrun" \
    "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl "model.graph=$source/graphs/lmu_asr.yaml" \
    "output.dir=$scratch/two" distributed.ranks=auto training.max_steps=6 $of_first : -n 1 -wdir "$scratch/other" \
    "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=data/tones.jsonl \
    "model.graph=$source/graphs/lmu_asr.yaml" "output.dir=$scratch/two" distributed.ranks=auto \
    training.max_steps=6 "$@"
}
# differs NAME PATTERN -- ARGUMENTS...: an error that names what is not the same, once.
differs() {
  name=$1
  printf '%s\n' "$2" 'hint: every rank must see the same files and data' >patterns
  shift 3
  two "$@" -- "$@"
  verdict "$name" 69
  check "... once" test "$(grep -c ' error: ' "$log")" = 1
}
cp -r data first && cp -r data other
two -- training.max_steps=9 checkpoint.every_steps=2
printf '%s\n' 'rank 1. warning: .*another configuration than rank 0: training.max_steps is 9 here and 6 there' >patterns
verdict "ranks with different arguments" 0
check "... run what rank 0 says" test "$(steps_of two)" = 6
check "... and save when it says" test "$(ls two/checkpoints)" = step-00000006
two modl.graph=1 --
printf '%s\n' "there is no key 'modl.graph'" >patterns
verdict "a configuration that is wrong on rank 0" 65
two -- modl.graph=1
printf '%s\n' "rank 1. warning: this rank uses rank 0's configuration.*no key 'modl.graph'" >patterns
verdict "a configuration that is wrong on rank 1" 0

sed -i '7s/"text": "/"text": "AAA/' other/data/tones.jsonl
differs "another transcript" 'data/tones.jsonl:.* rank 1 has other data than rank 0: here .*"AAA' --
head -n 12 data/tones.jsonl >other/data/tones.jsonl
differs "fewer recordings" 'rank 1 has other data than rank 0: here no more samples, there "data/wavs/' --
cp data/tones.jsonl other/data/
echo more >>other/data/wavs/008.wav
differs "another recording" 'data/tones.jsonl:9:16: .*here "data/wavs/008.wav" of' --
rm other/data/wavs/008.wav
differs "a recording that is missing" 'data/tones.jsonl:9:16: .*008.wav", which is not there' --
cp data/wavs/008.wav other/data/wavs/
echo 'return { on_step_end = function(ctx) end }' | tee first/h.lua >other/h.lua
cp "$source/graphs/lmu_asr.yaml" first/g.yaml && cp first/g.yaml other/g.yaml
two hooks=[h.lua] model.graph=g.yaml -- hooks=[h.lua] model.graph=g.yaml
check "the same hook and model in two folders" test "$code" = 0
echo '-- other' >>other/h.lua && sed 's/ctx/cty/' first/h.lua >other/same_size.lua && cp first/h.lua first/same_size.lua
differs "a hook of the same size" "rank 1 has another hooks 'same_size.lua'" -- hooks=[same_size.lua]
differs "another hook" "rank 1 has another hooks 'h.lua' than rank 0: here 52 bytes" -- hooks=[h.lua]
rm other/h.lua
differs "a hook that only rank 0 sees" "rank 1 has another hooks 'h.lua' than rank 0: here it cannot be read" -- \
  hooks=[h.lua]
# Hooks, the second of which alone differs; and files that are longer than what is read of them.
cp first/h.lua other/h.lua
echo 'return {}' | tee first/second.lua >other/second.lua
echo '-- other' >>other/second.lua
differs "another second hook" "rank 1 has another hooks 'second.lua' than rank 0" -- 'hooks=[h.lua,second.lua]'
head -c 1100000 /dev/zero | tee first/w.safetensors >other/w.safetensors
echo >>other/w.safetensors
differs "longer weights" "rank 1 has another model.init_from 'w.safetensors' than rank 0: here 1100001 bytes" -- model.init_from=w.safetensors
export GRAPHRUN_TEST_NOTE=confidential
two -- 'checkpoint.dir=${oc.env:GRAPHRUN_TEST_NOTE}'
printf '%s\n' 'checkpoint.dir is another value here and another value there' >patterns
verdict "a value of the environment" 0
check "... which is not printed" test "$(grep -c confidential "$log")" = 0
echo '# other' >>other/g.yaml
differs "another model" "rank 1 has another model.graph 'g.yaml' than rank 0" -- model.graph=g.yaml
rm other/data/tones.jsonl
two --
printf '%s\n' "no manifest 'data/tones.jsonl'" 'on rank 1 of 2' >patterns
verdict "a manifest that only rank 0 sees" 66
cp data/tones.jsonl other/data/
two output.dir=here -- output.dir=here
printf '%s\n' "the folder of the run, 'here', which rank 0 has made, is not there" >patterns
verdict "a run's folder that only rank 0 sees" 74

# Ranks that are threads: what is wrong on one of them is said, and not what the others make of it.
echo >taken
tones taken/x distributed.ranks=3 distributed.backend=loopback training.max_steps=1
printf '%s\n' "cannot make directory '.*/taken/x': Not a directory" 'on rank 0 of 3' >patterns
verdict "a folder that rank 0 cannot make" 74
counts
