# device.sh - device=null: a whole run of every strategy is checked, on any number of ranks, and leaves nothing.
. "${0%/*}/lib.sh"
make_data

# nulled NAME RANKS [key=value ...]: all steps, evaluations and copies, and no file.
nulled() {
  nulled_name=$1 nulled_ranks=$2
  shift 2
  tones none device=null distributed.backend=loopback "distributed.ranks=$nulled_ranks" training.max_steps=6 \
    model.params.heads=4 checkpoint.every_steps=3 "$@"
  printf '%s\n' 'device null: nothing is computed, and nothing is written; hooks are not called' \
    'device null: 6 steps, [1-9] evaluations? and 3 copies of the weights to the host' \
    '[0-9]+ calls of kernels, [0-9]+ of them collectives, .* were checked' \
    '^nothing was computed, and nothing is written' >patterns
  verdict "$nulled_name on $nulled_ranks" 0
  check "$nulled_name on $nulled_ranks: no metric is printed" sh -c "! grep -Eq 'loss|set:|bit-equal' '$log'"
}
nulled ddp 1
for ranks in 2 3; do
  nulled ddp $ranks
  nulled zero1 $ranks distributed.strategy=zero1
  nulled zero2 $ranks distributed.strategy=zero2
  nulled fsdp $ranks distributed.strategy=fsdp
done
nulled "in line" 2 distributed.strategy=fsdp distributed.overlap=false
nulled tp 2 distributed.strategy=tp
nulled mesh auto distributed.strategy=fsdp_tp 'distributed.mesh={dp: 3, tp: 2}'
nulled hsdp auto distributed.strategy=hsdp 'distributed.mesh={replicate: 2, shard: 2}'
nulled "micro-steps" 2 training.batch_size=7 training.accumulate=2 distributed.strategy=fsdp \
  distributed.fsdp.state_dict_type=full
nulled "many ranks" 8 distributed.strategy=zero2
check "nothing is written" sh -c "! ls -d none outputs 2>/dev/null"
if has_mpi; then nulled "processes" 2 distributed.backend=mpi; fi

# Weights of a real run are read and uploaded; hooks are not called; a run begins at a checkpoint's step.
ran "a real run" real training.max_steps=2
check "a real run: its results name the device" grep -q '"device": "cpu"' real/training_results.json
echo 'function on_step_end(ctx) error("called") end' >hook.lua
nulled "weights" 2 model.init_from=real "hooks=[$scratch/hook.lua]"
tones none device=null training.max_steps=4 checkpoint.resume="$(ls -d real/checkpoints/step-*)"
printf '%s\n' 'resumed from .*: step 2' 'device null: 4 steps' >patterns
verdict "from a checkpoint" 0
tones none device=null checkpoint.resume=auto
printf '%s\n' 'device null: 10 steps' >patterns
verdict "resume=auto: there is no folder to look in" 0

for word in npu nul '' '"~"'; do
  tones none device=$word
  printf '%s\n' "1:[0-9]+: config error: 'device' must be 'auto', 'gpu', 'cuda', 'cpu' or 'null', but is (\"|null)" 'hint: ' >patterns
  verdict "device=$word is refused" 65
done
for value in '' ' ~' ' !!null'; do
  sed "\$a device:$value" "$source/tests/e2e/tones.yaml" >nothing.yaml
  limited "$graphrun" plan nothing.yaml "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml"
  printf '%s\n' "nothing.yaml:[0-9]+:[0-9]+: config error: 'device' must be 'auto', 'gpu', 'cuda', 'cpu' or 'null', but is null" 'hint: ' >patterns
  verdict "device:$value in a file is refused" 65
done
for value in null '"null"' NULL; do
  sed "\$a device: $value" "$source/tests/e2e/tones.yaml" >written.yaml
  limited "$graphrun" written.yaml "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" training.max_steps=2
  printf '%s\n' 'device null: 2 steps' >patterns
  verdict "device: $value in a file" 0
done
check "nothing is written" sh -c "! ls -d none outputs 2>/dev/null"
counts
