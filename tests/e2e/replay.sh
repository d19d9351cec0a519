# replay.sh - a step of a run that is run again: its bits, its values, and two runs compared node by node.
. "${0%/*}/lib.sh"

mkdir tmp && export TMPDIR="$scratch/tmp" # for what is compared, of which nothing may be left
awk 'BEGIN { print "a,b,c,y"; for (i = 0; i < 48; i++) printf "%g,%g,%g,%d\n", 0.5 + i % 7 / 10, 0.4 + i % 5 / 10, 1 + i % 3, i % 3 }' >t.csv
cat >m.yaml <<YAML
params: {features: 3, classes: 3, hidden: 8, p: 0.5}
inputs:
  x: {shape: [n, features]}
  y: {shape: [n], dtype: i32}
nodes:
  - h: {linear: x, out: hidden, name: body}
  - h: {relu: h}
  - h: {dropout: h, p: p}
  - logits: {linear: h, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
YAML
cat >c.yaml <<YAML
model: {graph: m.yaml}
data: {source: table, table: {path: t.csv, label: y, normalize: false}, validation_fraction: 0.25}
training: {batch_size: 8, max_epochs: 3, lr: 1e-2, seed: 1, optimizer: adam, accumulate: 2}
distributed: {ranks: 1, backend: loopback}
checkpoint: {every_steps: 3, keep_last: 0, keep_best: 0}
logging: {progress: false}
YAML
run() { # OUT [key=value ...]
  run_out=$1
  shift
  limited "$graphrun" c.yaml "output.dir=$run_out" "$@"
  [ "$code" = 0 ] || fail "the run $run_out" "exit code $code"
}
# bits NAME RUN STEP: the states after the step that is replayed are those of the run's checkpoint of that step, which is
# what the next one begins from.
bits() {
  bits_name=$1 bits_run=$2 bits_step=$3
  rm -rf after next
  expect "$bits_name: step $bits_step again" 0 -- "$graphrun" replay "$bits_run" --step="$bits_step" '--print=*.next' --save=after
  expect "... the next one begins at its checkpoint" 0 "resumed from .*step-0*$bits_step: step $bits_step" -- \
    "$graphrun" replay "$bits_run" --step=$((bits_step + 1)) --save=next
  check "... and has the bits that were replayed" same_states
}
same_states() {
  n=0
  for file in after/rank*/*.next.npy; do
    cmp "$file" "next/${file#after/}" 2>/dev/null || cmp "$file" "$(echo "$file" | sed 's/^after/next/;s/\.next\.npy/.npy/')" || return 1
    n=$((n + 1))
  done
  [ $n -ge 8 ]
}

# ---- The same bits, with dropout and micro-steps
run one
find one -type f -exec cksum {} + | sort >before
bits "one rank" one 6
bits "at the end of an epoch and past an evaluation" one 12
expect "without a checkpoint from before" 0 "from the initial states" -- "$graphrun" replay one --step=2 --save=early
check "... other states than later" sh -c '! cmp -s early/rank0/body.weight.npy next/rank0/body.weight.npy'
find one -type f -exec cksum {} + | sort >now
check "the run's folder stays as it was" cmp before now
run two distributed.ranks=2
bits "two ranks" two 6
run sharded distributed.ranks=2 distributed.strategy=fsdp training.accumulate=1 training.grad_clip=0.1
bits "sharded" sharded 6
run narrow training.precision=bf16
bits "in bf16" narrow 9
run resumed training.max_steps=7
run resumed training.max_steps=14
bits "after a resume" resumed 12
if has_mpi; then
  run processes distributed.ranks=2 distributed.backend=auto
  bits "ranks that are processes" processes 6
  expect "... each rank prints" 0 "^head.bias  rank 0" "^head.bias  rank 1" -- "$graphrun" replay processes --step=6 --print=head.bias
else
  skip "ranks that are processes" "there is no MPI"
fi
cat >h.lua <<LUA
return { lr = function(ctx) graphrun.append("seen.csv", ctx.step .. "\n") return ctx.base_lr / (1 + ctx.step) end }
LUA
run hooked 'hooks=[h.lua]'
find hooked -type f -exec cksum {} + | sort >before
bits "with a hook that sets the learning rate" hooked 6
expect "... which it does" 0 "^lr  rank 0 .* max 0.002 " -- "$graphrun" replay hooked --step=5 --print=lr
find hooked -type f -exec cksum {} + | sort >now
check "... and appends nothing" cmp before now
make_data
ran "a run with loops" loops training.max_steps=8 checkpoint.every_steps=3 checkpoint.keep_last=0 distributed.ranks=2 distributed.backend=loopback
bits "loops, on two ranks" "$scratch/loops" 6
pairs limited pairs training.max_steps=8 checkpoint.every_steps=3 checkpoint.keep_last=0 distributed.ranks=1
bits "an encoder and a decoder" "$scratch/pairs" 6

cat >stop.lua <<LUA
return { on_step_end = function(ctx) if ctx.step == 3 then return {stop = "enough"} end end }
LUA
cat >nan.yaml <<YAML
params: {features: 3, classes: 3}
inputs:
  x: {shape: [n, features]}
  y: {shape: [n], dtype: i32}
nodes:
  - z: {add_scalar: x, by: -0.5}
  - z: {log: z}
  - logits: {linear: z, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
YAML
run stopped 'hooks=[stop.lua]'
limited "$graphrun" c.yaml output.dir=skips model.graph=nan.yaml training.accumulate=1 training.max_steps=1

# ---- What is printed
again() { # NAME CODE PATTERN... -- ARGUMENTS of replay one
  name=$1 want=$2
  shift 2
  patterns=
  while [ "$1" != -- ]; do
    patterns="$patterns$1
"
    shift
  done
  shift
  printf '%s' "$patterns" >"$scratch/patterns"
  limited "$graphrun" replay "$@"
  verdict "$name" "$want"
}
again "values by pattern" 0 "^head.matmul  rank 0  f32\[4,3\]  .*yaml:9:14  min -?[0-9.]+  max [0-9.]+  mean .*  l2 [0-9.]+  not_finite 0  first " \
  "^head.matmul@2  " "^head.weight.grad  " "^head.weight.next  " -- one --step=4 '--print=head.*'
check "... and no others" sh -c "! grep -q '^body' '$log'"
again "a step that was skipped" 0 "^log  rank 0 .*yaml:7:9  .*  not_finite [1-9]" "the first [a-zN]* is of 'log'" -- skips --step=1 --print=log
again "as JSON" 0 '^\{"name": "head.bias.grad", "rank": 0, "type": "f32\[3\]", "place": ".*yaml:9:14", "min": .*, "not_finite": 0, "first": \[.*\]\}$' \
  -- one --step=4 --print=head.bias.grad --json
again "a step of which nothing is asked" 2 "nothing is asked of the step" "hint: --print" -- one --step=4
check "files that NumPy reads" test "$(head -c 6 early/rank0/body.weight.npy | tail -c 5)" = NUMPY

# ---- Two runs: the first line is that of the first node that differs
first() { # NAME PATTERN OF THE FIRST LINE -- ARGUMENTS
  name=$1 pattern=$2
  shift 3
  limited "$graphrun" replay "$@" 2>errors
  "$graphrun" replay "$@" >lines 2>/dev/null
  if [ "$code" = 1 ] && head -1 lines | grep -Eq -e "$pattern"; then ok "$name"; else
    cp lines "$log"
    fail "$name" "exit code $code, the first line is not /$pattern/"
  fi
}
expect "a run against itself" 0 "^no difference in [0-9]+ values:  same [0-9]+  differ 0  other_shape 0  only_here 0  only_there 0$" -- \
  "$graphrun" replay one --step=5 --against=one
run rate training.lr=2e-2
first "another learning rate" "^lr  rank 0  f64\[\] .* here 0.01  there 0.02$" -- one --step=1 --against=rate
check "... and then the update that it changes" sh -c 'sed -n 2p lines | grep -q "^optimize:body.weight.adam  rank 0 .*yaml:6:9  differ"'
first "... later, the states" "^lr  rank 0" -- one --step=4 --against=rate
first "another seed" "^x  rank 0 " -- one --step=1 --against=one training.seed=2
first "another seed, of weights" "^body.weight  rank 0 " -- one --step=1 --against=one training.seed=2 '--print=body.*'
first "bf16" "^body.matmul  rank 0 .*yaml:6:9  differ 32  of 32  most 0.00[0-9]+  relative " -- one --step=1 --against=narrow
again "... within a tolerance" 0 "^no difference in .* only_there [1-9]" -- one --step=1 --against=narrow --tolerance=0.05
sed 's/relu: h/tanh: h/' m.yaml >m2.yaml
run other model.graph=m2.yaml
first "another op: what has its results" "^dropout  rank 0 .*yaml:8:9  differ" -- one --step=1 --against=other
check "... the ops themselves are counted" grep -Eq "only_here [1-9][0-9]*  only_there [1-9]" lines
first "another rate of dropout" "^dropout  rank 0 .*yaml:8:9" -- one --step=1 --against=one model.params.p=0.25
first "clipping" "^finite_check:finite_check.finite_check  rank 0" -- one --step=1 --against=one training.grad_clip=0.1
first "another optimizer's setting" "^optimize:body.weight.adam.1  rank 0 .*yaml:6:9" -- one --step=1 --against=one training.betas='[0.8,0.999]'
awk -F, -v OFS=, 'NR == 12 { $2 = 7 } { print }' t.csv >t2.csv
run whole data.validation_fraction=0.0
run cell data.validation_fraction=0.0 data.table.path=t2.csv
cell() { # RUN OTHER: the step whose batch has the cell
  for step in 1 2 3 4 5 6; do
    limited "$graphrun" replay "$1" --step=$step --against="$2" --print=x
    [ "$code" = 0 ] || break
  done
}
cell whole cell
first "one cell of the data" "^x  rank 0  f32\[8,3\]    differ 1  of 24  .* there 7$" -- whole --step=$step --against=cell
run two_whole distributed.ranks=2 data.validation_fraction=0.0
run two_cells distributed.ranks=2 data.validation_fraction=0.0 data.table.path=t2.csv
cell two_whole two_cells
first "... on the rank that reads it" "^x  rank [01]  f32\[4,3\]    differ 1  of 12  .* there 7$" -- two_whole --step=$step --against=two_cells
again "other ranks: what has other shapes is counted" 1 "other_shape [1-9]" -- one --step=1 --against=two
again "another strategy has the same values" 1 "^of .* only_there [1-9]" -- one --step=1 --against=one distributed.strategy=fsdp distributed.ranks=2
expect "values of fast kernels" 0 -- "$graphrun" replay one --step=5 --save=fast
again "... and of reference kernels" 0 "^no difference in 1[0-9][0-9] " -- one --step=5 --against=fast --plain --tolerance=1e-5
again "a folder of values" 1 "^head.weight  rank 0" "^of " -- two --step=2 --against=early
again "a folder that has values already" 2 "'early' has the values of another replay" "hint: remove it" -- one --step=3 --save=early
expect "a folder whose name looks like a pattern" 0 -- "$graphrun" replay one --step=2 '--save=lr=[1,2]'
touch 'lr=[1,2]/rank0/more.npy'
again "... of which all files are counted" 0 "^no difference in [1-9][0-9]* values:  .*  only_here 0  only_there 1$" -- one --step=2 '--against=lr=[1,2]'
again "... and has values already" 2 "has the values of another replay" -- one --step=3 '--save=lr=[1,2]'
mkdir -p others/rank0
again "a folder that has no value of the step" 1 "^no difference in 0 values:.* only_here" "no value is compared: 'others' has others" -- one --step=3 --against=others
first "as JSON" '^\{"name": "lr", .*"differ": 1, "of": 1, "most": 0.01, .*\}$' -- one --step=1 --against=rate --json
check "... with what there is in all" sh -c 'tail -1 lines | grep -Eq "^\{\"values\": [0-9]+, \"same\": [0-9]+, \"differ\": [0-9]+, .*\}$"'
check "nothing is left of what was compared" test -z "$(ls -A tmp)"

# ---- What cannot be
again "no step" 2 "which step is not given: --step=N" -- one
again "a step past the end" 2 "step 16 is past the run's end: it has 15 steps" -- one --step=16 --print=lr
again "a step that a hook has prevented" 2 "the run was stopped after step 4, before that: enough" -- stopped --step=9 --print=lr
again "a name that nothing has" 2 "no value is named 'haed.weight'" "did you mean 'head.weight'" -- one --step=2 --print=haed.weight
again "a pattern that nothing has" 2 "no value is named 'zz\*'" "print='\*' prints all" -- one --step=2 '--print=zz*'
again "a tolerance that is none" 2 "tolerance is no number from 0: 'x'" -- one --step=2 --against=one --tolerance=x
again "a tolerance of nothing" 2 "tolerance is of what --against compares" -- one --step=2 --print=lr --tolerance=1
again "no run at all" 2 "no run is given" -- --step=2 --against=one
# A build with the address sanitiser finds here what is left in memory: no MPI is in this process.
leaks="env ASAN_OPTIONS=detect_leaks=1"
expect "both to write and to compare with a run" 2 "takes a folder of another --save" -- \
  $leaks "$graphrun" replay one --step=2 --against=one --save=x
expect "nowhere to write what is compared" 74 "is not a directory" -- $leaks env TMPDIR="$PWD/t.csv" "$graphrun" replay one --step=2 --against=one
again "a device that computes nothing" 0 "nothing was computed" -- one --step=2 --print=lr device=null
again "no run" 65 "there is no folder 'nothing'" -- nothing --step=2 --print=lr
again "against no run" 65 "there is no folder 'nothing'" -- one --step=2 --against=nothing
again "without a GPU" 69 "cuda" -- one --step=2 --print=lr device=cuda
again "help" 0 "^graphrun replay RUN --step=N" "--against RUN" -- --help
counts
