# sweep.sh - what graphrun takes from the hydra node: sweeps, folders of runs, saved configurations.
. "${0%/*}/../e2e/lib.sh"
make_data
cp "$source/tests/e2e/tones.yaml" base.yaml
cat >run.yaml <<YAML
defaults: [base, opt: cold, _self_]
data: {manifest: $scratch/data/tones.jsonl}
model: {graph: $source/graphs/lmu_asr.yaml}
training: {max_steps: 1}
vars: {number: '\${oc.select:hydra.job.num,none}', folder: '\${hydra:runtime.output_dir}'}
YAML
mkdir opt
printf '# @package training\nlr: 1e-2\n' >opt/hot.yaml
printf '# @package training\nlr: 1e-4\n' >opt/cold.yaml

expect "a dry run lists" 0 "^#0: s/0: opt=cold training.seed=1 " "^#3: s/3: opt=hot training.seed=2 " -- \
  "$graphrun" -m run.yaml opt='glob(*)' training.seed='range(1,3)' hydra.sweep.dir=s --dry-run
check "... and makes nothing" test ! -e s
expect "a sweep" 0 "^#1: s/b_opt=hot: opt=hot" -- "$graphrun" -m run.yaml opt=cold,hot hydra.sweep.dir=s \
  'hydra.sweep.subdir=b_${hydra.job.override_dirname}' --jobs 2
check "... has a folder for each run" test -s s/b_opt=cold/metrics.jsonl -a -s s/b_opt=hot/metrics.jsonl
check "... with its choice" grep -q "lr: 0.01" s/b_opt=hot/.hydra/config.yaml
check "... and its arguments" grep -qx -- "- opt=hot" s/b_opt=hot/.hydra/overrides.yaml
check "... and its number" grep -q "num: 1" s/b_opt=hot/.hydra/hydra.yaml
sed 's/^nodes:/nodes:\n  - bad: {no_such_op: x}/' "$source/graphs/lmu_asr.yaml" >bad.yaml
expect "a sweep with a run that fails" 69 "1 of 2 runs failed" "jobs that have not begun a run: #1" -- \
  "$graphrun" -m run.yaml model.graph="$source/graphs/lmu_asr.yaml,bad.yaml" hydra.sweep.dir=t
expect "a sweep of a file that is not there" 65 "cannot open the model 'nothing.yaml'" "in run 1 of the sweep" -- \
  "$graphrun" -m run.yaml model.graph="$source/graphs/lmu_asr.yaml,nothing.yaml" hydra.sweep.dir=w
check "... runs nothing" test ! -e w
expect "what all runs share is one error" 65 "cannot open the model 'nothing.yaml'" "in run 0 of the sweep" -- \
  "$graphrun" -m run.yaml training.lr=1e-3,2e-3 model.graph=nothing.yaml
check "... and not one for each" sh -c '[ "$(grep -c "cannot open" "$1")" = 1 ]' sh "$log"
expect "a sweep of a wrong value" 65 "'training.lr' must be a number" "in run 1 of the sweep" -- \
  "$graphrun" -m run.yaml training.lr=1,x hydra.sweep.dir=u
check "... runs nothing" test ! -e u
expect "a sweep of Hydra's keys" 2 "not supported" -- "$graphrun" -m run.yaml hydra.job.name=a,b
expect "--jobs without -m" 2 "add -m" -- "$graphrun" run.yaml --jobs 2
expect "--jobs of nothing" 2 "from 1 to 1024" -- "$graphrun" -m run.yaml --jobs=0
expect "--config-dir DIR with -m" 65 "no configuration 'opt/warm'" -- "$graphrun" -m --config-dir opt run.yaml opt=warm

expect "hydra.run.dir" 0 "output: r1" -- "$graphrun" run.yaml hydra.run.dir=r1
expect "... beside output.dir" 0 "'hydra.run.dir' has no effect: output.dir is set" "output: r0" -- \
  "$graphrun" run.yaml hydra.run.dir=r1 output.dir=r0
check "... holds the run" test -s r1/training_results.json -a -s r1/.hydra/config.yaml
expect "hydra.runtime.output_dir" 0 "folder: .*/r2$" -- \
  "$graphrun" config run.yaml hydra.run.dir=r2 --resolve --package vars
expect "hydra.output_subdir" 0 -- "$graphrun" run.yaml hydra.run.dir=r3 hydra.output_subdir=null
check "... null keeps no configuration" test ! -e r3/.hydra
expect "what has no effect is said once" 0 "warning: argument 2:1:17: 'hydra.job.chdir' has no effect" -- \
  "$graphrun" run.yaml hydra.run.dir=r4 hydra.job.chdir=true distributed.ranks=2
check "... by one process" test "$(grep -c chdir "$log")" = 1
expect "... and of a sweep for all of its runs" 0 "warning: argument 3:1:17: 'hydra.job.chdir' has no effect" -- \
  "$graphrun" -m run.yaml opt=cold,hot hydra.sweep.dir=r6 hydra.job.chdir=true
check "... too" test "$(grep -c 'chdir.*no effect' "$log")" = 1
# Keys that are read are of their types, whoever starts the run.
for wrong in "run=a|a mapping" "sweep=a|a mapping" "sweep.dir=[a]|a string, .* or null" "sweep.subdir=true|a string" \
  "output_subdir={a: 1}|a string" "sweeper=optuna|a mapping" "launcher=joblib|a mapping" "job=a|a mapping" "job.name=[a]|a string" \
  "mode=SWEEP|'RUN', 'MULTIRUN' or null"; do
  expect "hydra.$wrong" 65 "argument 1:1:.*'hydra.[a-z_.]*' must be ${wrong#*|}.*, but is " "hint: hydra" -- \
    "$graphrun" run.yaml "hydra.${wrong%|*}"
  expect "... of a sweep" 65 "argument 2:1:.*'hydra.[a-z_.]*' must be " -- \
    "$graphrun" -m run.yaml opt=cold,hot "hydra.${wrong%|*}"
done
expect "a key of a sweeper that is not chosen" 65 "no key 'hydra.sweeper.n_trials'" "with hydra/sweeper=optuna" -- \
  "$graphrun" -m run.yaml opt=cold,hot hydra.sweeper.n_trials=3
expect "a mode that -m makes" 65 "'hydra.mode' is MULTIRUN, and this is no sweep" "hint: -m makes one" -- \
  "$graphrun" run.yaml hydra.mode=MULTIRUN
expect "runs that would have one folder" 65 "its folder 'v/x' is that of run 0" "in run 1 of the sweep" "hydra.job.num" -- \
  "$graphrun" -m run.yaml opt=cold,hot hydra.sweep.dir=v hydra.sweep.subdir=x
check "... are found before any begins" test ! -e v
expect "a saved configuration runs" 0 "output: r5" -- "$graphrun" r1/.hydra/config.yaml output.dir=r5
expect "... also from a folder with '='" 0 "^training:" -- "$graphrun" config s/b_opt=hot/.hydra/config.yaml
counts
