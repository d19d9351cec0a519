# hook_set.sh - values that hooks set while a run goes on: the numbers of a run that is configured with
# them, on one rank and several, with micro-steps and after a resume.
. "${0%/*}/lib.sh"
make_data
two="distributed.ranks=2"
has_mpi || two="distributed.ranks=2 distributed.backend=loopback"
numbers() { sed 's/, "set\.[^,]*//g; s/, "samples_per_s.*//' "$1/metrics.jsonl"; }
same_numbers() { numbers "$1" >a.numbers && numbers "$2" >b.numbers && diff a.numbers b.numbers; }
differ() { ! same_numbers "$1" "$2"; }

cat >start.lua <<'L'
return {
  on_start = function(ctx)
    return { set = { weight_decay = 0.05, beta1 = 0.8, clip = 0.5 } }
  end,
}
L
configured="training.weight_decay=0.05 training.betas=[0.8,0.999] training.grad_clip=0.5"
# shellcheck disable=SC2086
for how in "distributed.ranks=1" "$two distributed.strategy=zero1" "training.accumulate=2" \
  "distributed.ranks=1 training.optimizer=adamw" "training.decay_biases_and_norms=false"; do
  ran "constants: $how" constants $how $configured
  ran "... the same set by a hook" set $how training.adjustable=true "hooks=[$scratch/start.lua]"
  check "... every number is the same" same_numbers constants set
done
ran "neither" usual training.adjustable=true
check "... has other numbers" differ usual set
ran "... those of a plan of constants" plain
check "... bit for bit" same_numbers plain usual
for optimizer in "sgd training.momentum=0.5" "sgd training.momentum=0.5 training.optimizer_params.nesterov=true" \
  "lion training.betas=[0.5,0.99]"; do
  case $optimizer in
  sgd*) what="momentum = 0.25" is="training.momentum=0.25" ;;
  *) what="beta1 = 0.25" is="training.betas=[0.25,0.99]" ;;
  esac
  echo "return { on_start = function(ctx) return { set = { $what } } end }" >one.lua
  # shellcheck disable=SC2086
  ran "constants of ${optimizer%% *}" constants training.optimizer=$optimizer $is
  # shellcheck disable=SC2086
  ran "... the same set by a hook" set training.optimizer=$optimizer training.adjustable=true \
    "hooks=[$scratch/one.lua]"
  check "... every number is the same" same_numbers constants set
done
echo "return { on_start = function(ctx) return { set = { momentum = 0.5 } } end }" >one.lua
tones none training.optimizer=sgd training.adjustable=true "hooks=[$scratch/one.lua]"
check "momentum without its state" grep -q "'momentum' cannot be set: it is 0 in the configuration" "$log"

# ---- Groups, and values that change ------------------------------------------------------------

cat >groups.lua <<'L'
return {
  on_start = function(ctx)
    return { set = { groups = { ["*.bias"] = { lr_factor = 0.5, weight_decay = 0.1, clip = 0.25 } } } }
  end,
}
L
ran "constants of a group" constants \
  "training.groups=[{match:'*.bias',lr_factor:0.5,weight_decay:0.1,clip:0.25}]"
ran "... the same set by a hook" set training.adjustable=true "hooks=[$scratch/groups.lua]" \
  "training.groups=[{match:'*.bias',lr_factor:0.1,weight_decay:0,clip:1}]"
check "... every number is the same" same_numbers constants set
check "... and what is set is in the metrics" \
  grep -q '"set.lr_factor.\*.bias": 0.5' set/metrics.jsonl

cat >changes.lua <<'L'
return {
  on_before_optimizer = function(ctx)
    if ctx.step % 2 == 0 then return { set = { beta1 = 0.9 - ctx.step / 100 } } end
  end,
  on_step_end = function(ctx)
    if ctx.step == 3 then return { set = { clip = 0.125 } } end
  end,
}
L
# shellcheck disable=SC2086
ran "values that change" whole $two training.adjustable=true training.max_steps=10 \
  checkpoint.every_steps=5 "hooks=[$scratch/changes.lua]"
check "... from the next step on" \
  test "$(grep -c '"set.clip": 0.125' whole/metrics.jsonl)" = 6
check "... of on_before_optimizer from this one" grep -q '"step": 4,.*"set.beta1": 0.86' whole/metrics.jsonl
# shellcheck disable=SC2086
ran "the first half" parts $two training.adjustable=true training.max_steps=5 \
  checkpoint.every_steps=5 "hooks=[$scratch/changes.lua]"
# shellcheck disable=SC2086
ran "... and the second" parts $two training.adjustable=true training.max_steps=10 \
  checkpoint.every_steps=5 checkpoint.resume=auto "hooks=[$scratch/changes.lua]"
check "... every number is that of the whole" same_numbers whole parts
check "... also of what is set" \
  test "$(sed 's/, "samples_per_s.*//' whole/metrics.jsonl)" = "$(sed 's/, "samples_per_s.*//' parts/metrics.jsonl)"

# ---- graphrun hooks ----------------------------------------------------------------------------

expect "graphrun hooks lists what is set" 0 '"step": 3, "lr": 0.002, "set.beta1": 0.88\}' \
  '"step": 4, "lr": 0.0025, "set.beta1": 0.86\}' -- "$graphrun" hooks "$source/tests/e2e/tones.yaml" \
  "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" --steps=8 \
  --json training.adjustable=true "hooks=[$scratch/changes.lua]"
expect "... and draws it" 0 "^ +lr$" "^ +set.beta1$" -- "$graphrun" hooks \
  "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" --steps=8 training.adjustable=true \
  "hooks=[$scratch/changes.lua]"
tones none "hooks=[$scratch/changes.lua]"
check "a value that the plan holds as a constant" \
  grep -q "changes.lua:2.*'set' needs training.adjustable=true" "$log"
counts
