# verbs.sh - what is done with a run after it has trained, or while it does: eval.
. "${0%/*}/lib.sh"

# Three kinds around three points, the second coordinate on another scale.
mkdir -p project/graphs project/configs project/data empty
cp "$source"/graphs/mlp.yaml project/graphs/net.yaml
awk 'BEGIN { srand(3); print "id,width,weight,kind"
  for (i = 0; i < 240; i++) { k = int(3 * rand())
    printf "r%d,%.4f,%.2f,%s\n", i, k + 0.6 * rand(), 1000 * (k == 1) + 400 * rand(), substr("redbluegrey", k * 3 + 1, 3) }
}' >project/data/kinds.csv
cat >project/configs/table.yaml <<YAML
model: {graph: graphs/net.yaml, params: {dim: 16, layers: 1}}
data: {source: table, validation_fraction: 0.25, table: {path: data/kinds.csv, label: kind}}
training: {batch_size: 16, lr: 1e-2, max_epochs: 8, eval_every: 2, seed: 2}
distributed: {ranks: 1}
checkpoint: {metric: accuracy, mode: max, keep_last: 0, keep_best: 2}
hooks: [hooks/gone.lua]
YAML
mkdir project/hooks
echo 'return { lr = function(ctx) return ctx.base_lr end }' >project/hooks/gone.lua
run=$scratch/project/run
(cd project && limited "$graphrun" configs/table.yaml output.dir=run && [ "$code" = 0 ]) ||
  { fail "a run to use" "it failed" && counts; exit 1; }

# value KEY: of the JSON in $log.
value() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" "$log" | tail -1; }
result() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" "$run/training_results.json" | head -1; }

# ---- eval: from another folder, with the hook gone and the model changed since
rm project/hooks/gone.lua
sed 's/relu/tanh/' "$source/graphs/mlp.yaml" >project/graphs/net.yaml
cd empty || exit 1
for split in train validation; do
  expect "eval of the $split split" 0 '^\{"checkpoint": ".*/step-0+[0-9]+", "step": [0-9]+, "split": "'$split'", "samples": [0-9]+' -- \
    "$graphrun" eval "$run" --which=last --split=$split --json
  for metric in loss accuracy; do
    check "... its $metric is that of the run's end, to the last digit" \
      test -n "$(value $metric)" -a "$(value $metric)" = "$(result $split.$metric)"
  done
done
one=$(value loss)
expect "eval prints what a run prints" 0 "^validation set: loss [0-9.]+ accuracy [0-9.]+$" "predicted +(red|blu|egr)" \
  "^weights of .*/step-" -- "$graphrun" eval "$run"
for how in "distributed.ranks=2" "distributed.ranks=3 distributed.strategy=fsdp" \
  "distributed.ranks=2 distributed.backend=loopback distributed.strategy=zero1"; do
  # shellcheck disable=SC2086
  expect "eval with $how" 0 -- "$graphrun" eval "$run" --which=last --json $how
  check "... gives the same loss" near "$one" "$(value loss)" 1e-5
done
expect "the best is the default" 0 -- "$graphrun" eval "$run" --json
check "... and is the run's" test "$(value step)" = "$(result best_step)" -a "$(value accuracy)" = "$(result best_value)"
first=$(ls "$run/checkpoints" | sed -n 's/^step-0*//p' | head -1)
expect "a step" 0 '"step": '"$first", -- "$graphrun" eval "$run" --which="$first" --json
expect "all samples" 0 '"split": "all", "samples": 240,' -- "$graphrun" eval "$run" --split all --json
head -61 ../project/data/kinds.csv >other.csv
expect "other data, on the run's scale" 0 '"samples": 60,' -- \
  "$graphrun" eval "$run" data.table.path=other.csv --split=all --json
check "... is classified as well" near "$(value accuracy)" 1 0.06
check "eval writes nothing" test "$(ls)" = other.csv

# A run that has not ended: its newest checkpoint says which is the best.
cp -r "$run" running && rm running/training_results.json
expect "the best of a run that has not ended" 0 '"step": '"$(result best_step)", -- "$graphrun" eval running --json
rm -r "running/checkpoints/step-$(printf %08d "$(result best_step)")"
expect "a best checkpoint that is gone" 78 "the best checkpoint, of step [0-9]+, is not in" "hint: .*--which=last" -- \
  "$graphrun" eval running

# ---- Bad input
expect "eval of no run" 2 "no run is given" "hint: " -- "$graphrun" eval
expect "eval of a folder that is none" 65 "there is no folder 'nowhere'" -- "$graphrun" eval nowhere
expect "eval of another folder" 65 "not the folder of a run" "hint: " -- "$graphrun" eval ..
expect "a step that is not there" 78 "that checkpoint, of step 7, is not in" "there are the steps $first" -- "$graphrun" eval "$run" --which=7
expect "which, misspelt" 2 "best, last or the number of a step, but is 'lst'" -- "$graphrun" eval "$run" --which=lst
expect "a split misspelt" 2 "validation, train or all, but is 'val'" -- "$graphrun" eval "$run" --split=val
expect "a split without samples" 66 "there are no samples: validation set" "hint: --split" -- \
  "$graphrun" eval "$run" data.validation_fraction=0.0
expect "another model than the weights'" 78 "head.weight|body.0.weight" -- "$graphrun" eval "$run" model.params.dim=8
expect "a key that is none" 65 "traning" -- "$graphrun" eval "$run" traning.lr=1
expect "a flag of another command" 2 "--ranks is not a flag of this command" -- "$graphrun" eval "$run" --ranks=2
mkdir hollow && cp -r "$run/.hydra" hollow
expect "a run without checkpoints" 78 "there is no checkpoint in 'hollow/checkpoints'" -- \
  "$graphrun" eval hollow model.graph="$source/graphs/mlp.yaml"
expect "eval on a device that computes nothing" 65 "the device 'null' computes nothing" -- "$graphrun" eval "$run" device=null

# ---- Completion
offers() { "$graphrun" config --complete "$1" | grep -qxF -e "$2"; }
check "completion of a run" offers "graphrun eval $run" "$run/"
check "... of which checkpoint" offers "graphrun eval $run --which=l" "--which=last"
check "... of the split" offers "graphrun eval $run --split " "train"
check "... of keys" offers "graphrun eval $run data.valid" "data.validation_fraction="
counts
