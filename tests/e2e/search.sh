# search.sh - sweeps that search: random, grid and tpe over a table's model, the same trials for the
# same command, stopped and gone on with, and what is wrong with a search, at its place.
. "${0%/*}/lib.sh"

awk 'BEGIN { srand(3); print "width,weight,kind"
  for (i = 0; i < 120; i++) { k = int(3 * rand())
    printf "%.4f,%.2f,%s\n", k + 0.6 * rand(), 1000 * (k == 1) + 400 * rand(), substr("redbluegrey", k * 3 + 1, 3) }
}' >kinds.csv
cat >search.yaml <<YAML
defaults: [{override hydra/sweeper: optuna}, _self_]
model: {graph: $source/graphs/mlp.yaml, params: {dim: 16, layers: 1}}
data: {source: table, validation_fraction: 0.25, table: {path: kinds.csv, label: kind}}
training: {batch_size: 16, max_epochs: 2, seed: 2}
distributed: {ranks: 1}
checkpoint: {every_steps: 10, metric: loss, mode: min}
hydra:
  sweeper:
    n_trials: 6
    params:
      training.lr: "tag(log, interval(1e-4, 1e-1))"
      model.params.dim: range(8,33,8)
      model.params.layers: int(interval(1,3))
YAML
tpe="hydra.sweeper.sampler.n_startup_trials=2"
# search OUT [key=value ...]
search() {
  search_out=$1
  shift
  limited "$graphrun" -m search.yaml "hydra.sweep.dir=$search_out" "$@"
}
# searched NAME CODE PATTERN... -- OUT [key=value ...]
searched() {
  searched_name=$1 searched_code=$2
  shift 2
  : >"$scratch/patterns"
  while [ "$1" != -- ]; do printf '%s\n' "$1" >>"$scratch/patterns" && shift; done
  shift
  search "$@"
  verdict "$searched_name" "$searched_code"
}
trials() { wc -l <"$1/trials.jsonl" | tr -d ' '; }

searched "tpe" 0 "^search: tpe, 6 trials, 1 at a time, for min loss" "^#5: tpe/5: training.lr=" -- tpe $tpe
check "... makes six runs" test "$(ls -d tpe/[0-9] | wc -l)" -eq 6
check "... and records them" test "$(trials tpe)" = 6
best=$(sed -n 's/^best_value: //p' tpe/optimization_results.yaml)
check "... and writes the best" grep -q "\"value\": $best}" tpe/trials.jsonl
check "... with its parameters" grep -Eq '^  model.params.layers: [123]$' tpe/optimization_results.yaml
check "... within their ranges" test "$(grep -Ec 'lr=0.0[0-9.e-]*", "model.params.dim=(8|16|24|32)", "model.params.layers=[123]"' tpe/trials.jsonl)" = 6
search again $tpe
check "the same command makes the same trials" cmp tpe/trials.jsonl again/trials.jsonl
search seed $tpe hydra.sweeper.sampler.seed=1
check "another seed makes others" test "$(grep -cxFf tpe/trials.jsonl seed/trials.jsonl)" = 0
search two $tpe --jobs 2
search two_again $tpe hydra.sweeper.n_jobs=2
check "two at a time, which may end in any order, too" cmp two/trials.jsonl two_again/trials.jsonl

# What a killed sweep leaves: the fourth run has ended, but is not in the record; the fifth has not
# begun.
rm -r again/4 again/5
head -3 tpe/trials.jsonl >again/trials.jsonl
search again $tpe
check "a sweep goes on where it was" cmp tpe/trials.jsonl again/trials.jsonl
searched "... and again makes nothing" 0 "^again/. +done" -- again $tpe
check "... anew" sh -c '! grep -q "^epoch" "$0"' "$log"
searched "more trials" 0 "^search: tpe, 8 trials" "^importance" "^  training.lr +[01]\.[0-9]" -- again $tpe hydra.sweeper.n_trials=8
head -6 again/trials.jsonl >first
check "... follow those that have ended" cmp tpe/trials.jsonl first
check "... and are recorded" test "$(trials again)" = 8
new_log >/dev/null
"$graphrun" -m search.yaml hydra.sweep.dir=stopped $tpe >>"$log" 2>&1 &
watcher=$!
await test -s stopped/trials.jsonl
kill $watcher 2>/dev/null
ended
search stopped $tpe
check "one that is stopped goes on" cmp tpe/trials.jsonl stopped/trials.jsonl
searched "the record of another search" 2 "stopped/trials.jsonl' is the record of another search: trial 0 was" -- \
  stopped $tpe hydra.sweeper.sampler.seed=1
sed 's/"params"/params/' tpe/trials.jsonl >again/trials.jsonl
searched "a damaged record" 2 "again/trials.jsonl:1:1: .*no record of a trial" -- again $tpe

searched "random" 0 "^search: random, 6 trials" -- random hydra/sweeper/sampler=random
# Startup trials are those of random; the first other one is proposed when two trials have ended
# that it may look at: number 2, and with --jobs 2, where trial k sees those before k - 1, number 3.
params() { sed -n "$(($2 + 1))s/, \"metric.*//p" "$1/trials.jsonl"; }
check "tpe begins as random does" test "$(params tpe 1)" = "$(params random 1)"
check "... and then looks at values" test "$(params tpe 2)" != "$(params random 2)"
check "... with --jobs 2 one later" test "$(params two 2)" = "$(params random 2)" -a "$(params two 3)" != "$(params random 3)"
searched "a class's name" 0 "^search: random, 2 trials" -- class \
  hydra.sweeper.sampler._target_=optuna.samplers.RandomSampler hydra.sweeper.n_trials=2
searched "grid" 0 "^search: grid, 4 trials" "^#3: grid/3: training.lr=0.01 model.params.dim=16" -- grid \
  hydra/sweeper/sampler=grid training.lr=1e-3,1e-2 'model.params.dim=choice(8,16)' model.params.layers=1
searched "the first trials of a grid" 0 "^search: grid, 3 trials" "^#2: grid3/2: .*dim=16 model.params.layers=1" -- grid3 \
  hydra/sweeper/sampler=grid training.lr=1e-3 hydra.sweeper.n_trials=3 'model.params.layers=int(interval(1,2))' \
  model.params.dim=8,16 --dry-run
sed 's/^nodes:/nodes:\n  - bad: {no_such_op: x}/' "$source/graphs/mlp.yaml" >bad.yaml
searched "a trial that fails" 69 "runs failed" "^fail/. +done" -- fail hydra/sweeper/sampler=random \
  model.graph="choice($source/graphs/mlp.yaml,bad.yaml)"
check "... is recorded" grep -q '"value": null' fail/trials.jsonl
searched "... and is not made again" 0 "^fail/. +done" -- fail hydra/sweeper/sampler=random \
  model.graph="choice($source/graphs/mlp.yaml,bad.yaml)"
searched "a dry run" 0 "^#1: dry/1: training.lr" "^4 more depend on the values of these" -- dry $tpe --dry-run
check "... makes nothing" test ! -e dry

# Successive halving: of trials that are no better than earlier ones the first epoch is all.
halving="hydra/sweeper/sampler=random hydra/sweeper/pruner=successive_halving hydra.sweeper.pruner.reduction_factor=2
  hydra.sweeper.n_trials=8 training.max_epochs=5"
epochs() { grep -c . "$1/epochs.jsonl"; }
rungs() { sed -n "$(($2 + 1))s/.*\"rungs\": //p" "$1/trials.jsonl" | tr , '\n' | grep -c '[0-9]'; }
searched "successive halving" 0 "^search: random, 8 trials, .*; the best 1/2 go on past epochs 1, 2, 4, " \
  "stopping at step [0-9]+: after [124] epochs loss has not reached [0-9.]+$" -- halving $halving
check "... the first trial runs to its end" test "$(epochs halving/0)" = 5 -a "$(rungs halving 0)" = 3
check "... some end at the first rung" grep -q '"rungs": \[[0-9.e-]*\]}' halving/trials.jsonl
check "... all are listed" test "$(grep -Ec '^halving/[0-7] +(done|stopped: after)' "$log")" = 8
same=0
for k in 1 2 3 4 5 6 7; do # a trial goes on past the first rung where its value is the median's or better
  expected=$(for i in $(seq 0 $k); do sed -n "$((i + 1))s/.*\"rungs\": \[\([0-9.e-]*\).*/\1/p" halving/trials.jsonl; done |
    awk '{ v[NR] = $1; own = $1 } END { for (i = 1; i <= NR; i++) less += v[i] < own; n = int(NR / 2); if (n < 1) n = 1
      print less < n ? "on" : "ends" }')
  found=ends
  [ "$(epochs halving/$k)" -gt 1 ] && found=on
  [ $expected = $found ] && same=$((same + 1))
done
check "... which go on is what the definition says" test $same = 7
search halving_again $halving
check "... the same command ends the same trials" cmp halving/trials.jsonl halving_again/trials.jsonl
rm -r halving_again/6 halving_again/7
head -6 halving/trials.jsonl >halving_again/trials.jsonl
search halving_again $halving
check "... and a sweep goes on where it was" cmp halving/trials.jsonl halving_again/trials.jsonl

wrong() { searched "$@"; }
wrong "a pruner that is not there" 65 "no pruner 'optuna.pruners.HyperbandPruner'" "successive_halving" -- wrong \
  +hydra.sweeper.pruner._target_=optuna.pruners.HyperbandPruner
wrong "an option of no pruner" 65 "no option 'patience' of a pruner" -- wrong $halving +hydra.sweeper.pruner.patience=1
wrong "a factor of 1" 65 "pruner.reduction_factor must be a whole number from 2" -- wrong $halving hydra.sweeper.pruner.reduction_factor=1
tried() { # tried NAME PATTERN VALUE: of training.stop_unless
  limited "$graphrun" search.yaml output.dir=tried training.lr=1e-3 model.params.dim=8 model.params.layers=1 \
    "training.stop_unless=$3" training.eval_every="${4-1}"
  printf '%s\n' "$2" >"$scratch/patterns"
  verdict "$1" 65
}
tried "no epochs" "a number of epochs from 1 to .* was expected before the ':', found 'x'" '{x:1}'
tried "no value" "the value after 2 epochs must be a finite number" '{2:best}'
tried "no map" "training.stop_unless must be a map, found an? int" 3
tried "no evaluations" "training.eval_every=0 makes none before the end" '{2:1.0}' 0
wrong "a direction against checkpoint.mode" 65 "argument 2:1:25: .*direction is maximize, but checkpoint.mode is min" \
  "search.yaml:6:[0-9]*: checkpoint.mode is here" -- wrong hydra.sweeper.direction=maximize
wrong "a class that is not there" 65 "no sampler 'CmaEsSampler'" "grid .GridSampler., random .RandomSampler., tpe .TPESampler." -- \
  wrong hydra.sweeper.sampler._target_=optuna.samplers.CmaEsSampler
wrong "a sampler that is not there" 65 "options of 'hydra/sweeper/sampler' are: grid, random, tpe" -- wrong hydra/sweeper/sampler=cmaes
wrong "an option that is not there" 65 "TPESampler has no option 'popsize'" "its options are seed" -- wrong +hydra.sweeper.sampler.popsize=1
wrong "an option's value that is not supported" 65 "multivariate=true is not supported" -- wrong hydra.sweeper.sampler.multivariate=true
wrong "an option of another kind" 65 "argument 2:1:28: .*sampler.seed must be a whole number" -- wrong hydra.sweeper.sampler.seed=x
wrong "a grid of an interval" 2 "the sampler 'grid' lists all values" -- wrong hydra/sweeper/sampler=grid
wrong "an interval without a sampler" 2 "no list of values" "hydra/sweeper=optuna" -- wrong hydra/sweeper=basic
wrong "a logarithm of 0" 2 "begins at 0, which has no logarithm" -- wrong 'training.lr=tag(log,interval(0,1))'
wrong "a logarithm of choices" 2 "have no logarithm" -- wrong 'training.lr=tag(log,choice(1,2))'
wrong "a choice that is wrong in itself" 65 "'training.optimizer' must be" -- wrong training.optimizer=adam,nix
wrong "a sampler in place of its group" 65 "argument [0-9]+:1:23: .*'hydra.sweeper.sampler' must be a mapping" "hydra/sweeper/sampler=NAME" -- \
  wrong hydra.sweeper.sampler=tpe
wrong "a sweeper's key without effect" 0 "warning: .*'hydra.sweeper.storage' has no effect here" -- wrong \
  hydra.sweeper.storage=sqlite:///x.db --dry-run
check "... run nothing" test ! -e wrong
counts
