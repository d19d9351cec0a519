# paths.sh - paths whose names contain '=', as Hydra's override_dirname gives them to the folders of
# runs: every command takes them where it takes a path.
. "${0%/*}/lib.sh"

"$graphrun" new made --data=table >"$(new_log)" 2>&1 || { fail "a project" "graphrun new failed" && counts; exit 1; }
mkdir 'conf=1' && cp made/* 'conf=1'
config=conf=1/config.yaml run=multirun/training.lr=0.1,training.seed=3

expect "a configuration's path" 0 'output: multirun/training.lr=0.1,training.seed=3' -- \
  "$graphrun" $config training.max_epochs=2 "output.dir='$run'" training.lr=0.1
expect "a sweep whose folders are named by their overrides" 0 -- "$graphrun" -m $config training.lr=0.1,0.2 \
  training.max_epochs=1 hydra.sweep.dir=sweep 'hydra.sweep.subdir=${hydra.job.override_dirname}'
check "... " test -d sweep/training.lr=0.2,training.max_epochs=1
sweep1=sweep/training.lr=0.1,training.max_epochs=1 sweep2=sweep/training.lr=0.2,training.max_epochs=1
for command in plan config hooks "data inspect"; do
  # shellcheck disable=SC2086
  expect "$command of a configuration's path" 0 -- "$graphrun" $command $config training.lr=0.1
done

if [ -f "${graphrun%/*}/../hooks/cosine.lua" ] || [ -f "${graphrun%/*}/../share/graphrun/hooks/cosine.lua" ]; then
  expect "a hook of those that come with it" 0 -- "$graphrun" hooks $config 'hooks=[hooks/cosine.lua]' '~hooks_params'
else
  skip "a hook of those that come with it" "the build folder is not in the clone"
fi

# A path of more than 1,200 bytes, from 6 names of 200.
long=$(printf '%0200d' 0)
long=$long/$long/$long/$long/$long/$long
expect "a long path" 0 "^output: $long/run$" "report: $long/run/report.html" -- \
  "$graphrun" $config "output.dir='$long/run'" training.max_epochs=1 distributed.ranks=2
check "... has the run" test -s "$long/run/training_results.json" -a -d "$long/run/checkpoints"
expect "... which goes on" 0 "resum" -- \
  "$graphrun" $config "output.dir='$long/run'" training.max_epochs=2 checkpoint.resume=auto distributed.ranks=2
expect "... and predicts" 0 -- "$graphrun" eval "$long/run" distributed.ranks=2
expect "... and begins another one" 0 -- \
  "$graphrun" $config output.dir=tuned training.max_epochs=1 "model.init_from='$long/run'" distributed.ranks=2

# The folder of a run: from above it, from within its parent folder, with a slash at its end.
for path in $run $run/ "$scratch/$run"; do
  expect "eval $path" 0 'validation set: loss' -- "$graphrun" eval "$path" distributed.ranks=1
  expect "report $path" 0 'report.html$' -- "$graphrun" report "$path"
done
expect "eval on several ranks" 0 'validation set: loss' -- "$graphrun" eval $run distributed.ranks=2
expect "eval with the run behind an override" 0 'validation set: loss' -- "$graphrun" eval distributed.ranks=1 $run
cp made/data.csv 'in=1.csv'
expect "predict" 0 '"input": "in=1.csv:2"' -- "$graphrun" predict $run in=1.csv distributed.ranks=1
expect "predict into a file" 0 -- "$graphrun" predict $run in=1.csv distributed.ranks=1 --out=out=1.jsonl
check "... which is there" test -s out=1.jsonl
expect "export" 0 'out=1.safetensors: [0-9]+ tensors' -- "$graphrun" export $run out=1.safetensors
expect "plot" 0 'loss' -- "$graphrun" plot $run $sweep1 $sweep2
expect "runs" 0 'lr=0.1' 'lr=0.2' -- "$graphrun" runs sweep "$run"
for verb in list show verify; do
  expect "ckpt $verb" 0 'step' -- "$graphrun" ckpt $verb $run
done
expect "new" 0 -- "$graphrun" new new=1 --data=table
check "... which is there" test -f new=1/config.yaml
cd sweep || exit 1
expect "eval within the parent folder" 0 'validation set: loss' -- "$graphrun" eval training.lr=0.1,training.max_epochs=1
cd ..
expect "a run to begin with" 0 'tensors are those of' -- "$graphrun" $config training.max_epochs=1 output.dir=begun \
  "model.init_from='$run'"
expect "a run to resume" 0 'resumed from' -- "$graphrun" $config training.max_epochs=3 training.lr=0.1 "output.dir='$run'"

# An override stays one, also where a file or folder of its name exists.
mkdir training.lr=0.3 && : >training.seed=4
expect "an override that is a folder, too" 0 '"?lr"?: 0.3' -- "$graphrun" config $config training.lr=0.3
expect "an override that is a file, too" 0 'seed: 4' -- "$graphrun" config $config training.seed=4
expect "a folder that is an override, too, behind the run" 0 'validation set: loss' -- \
  "$graphrun" eval $run training.lr=0.3 training.seed=4

# What is nowhere is named as a path.
for command in eval predict; do
  expect "$command of nothing" 2 "there is no folder 'nowhere/a=1'" 'hint: .*override' -- "$graphrun" $command nowhere/a=1
  expect "$command of no folder beside this one" 65 "there is no folder './a=1'" -- "$graphrun" $command ./a=1
done
for command in report/66 plot/66 runs/2; do
  expect "${command%/*} of nothing" "${command#*/}" "there is no folder 'nowhere/a=1'" -- "$graphrun" "${command%/*}" nowhere/a=1
done
expect "export of nothing" 65 "there is no folder 'nowhere/a=1'" -- "$graphrun" export nowhere/a=1 x=1.safetensors
expect "a configuration that is nowhere" 65 "\./a=1.yaml" -- "$graphrun" ./a=1.yaml
counts
