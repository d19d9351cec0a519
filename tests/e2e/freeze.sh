# freeze.sh - weights that hooks freeze and unfreeze (training.freezable): frozen ones stay as they are to the
# bit, without gradients and collectives; losses are those of runs that are configured so; on ranks, after kills.
. "${0%/*}/lib.sh"
make_data
two="distributed.ranks=2"
has_mpi || two="distributed.ranks=2 distributed.backend=loopback"
front="subsample.*"
may="training.freezable=[subsample.*]"
losses() { sed -n 's/.*"loss": \([^,}]*\).*/\1/p' "$1/metrics.jsonl" | sed -n "$2"; }
same_losses() { test "$(losses "$1" "$3")" = "$(losses "$2" "$3")" && test -n "$(losses "$1" "$3")"; }
same_weight() { test -n "$(weight "$1" "$2" "$5")" && test "$(weight "$1" "$2" "$5")" = "$(weight "$3" "$4" "$5")"; }
other_weight() { test "$(weight "$1" "$2" "$5")" != "$(weight "$3" "$4" "$5")"; }

cat >later.lua <<'L'
return {
  on_start = function(ctx)
    if ctx.step == 0 then return { freeze = "subsample.*" } end
  end,
  on_step_end = function(ctx)
    if ctx.step == 4 then return { unfreeze = { "subsample.*" } } end
  end,
}
L
hook="hooks=[$scratch/later.lua]"

for how in "distributed.ranks=1" "$two distributed.strategy=zero1" "$two distributed.strategy=fsdp training.accumulate=2"; do
  # shellcheck disable=SC2086
  ran "frozen for five steps of ten: $how" later $how "$may" "$hook" checkpoint.every_steps=1 checkpoint.keep_last=20
  # shellcheck disable=SC2086
  ran "frozen by the configuration" frozen $how "model.freeze=[$front]"
  check "... the losses of the frozen steps are the same" same_losses later frozen 1,6p
  check "... those after them are not" test "$(losses later 7,10p)" != "$(losses frozen 7,10p)"
  check "... frozen weights stay as they are, to the bit" same_weight later 1 later 5 subsample.0.weight
  check "... others do not" other_weight later 1 later 5 ctc_projection.weight
  check "... and unfrozen ones do not" other_weight later 5 later 6 subsample.0.weight
  check "... the metrics say when" grep -q '"step": 5,.*"set.frozen.subsample.\*": 0' later/metrics.jsonl
  # shellcheck disable=SC2086
  ran "a plan in which they may be frozen, and are not" could $how "$may"
  # shellcheck disable=SC2086
  ran "... and one in which they may not" plain $how
  check "... train alike" same_losses could plain 1,10p
done

# ---- What a run does after it has unfrozen, against one that begins there ---------------------------

# Plain gradient descent keeps nothing of the steps before, and a batch of everything has no order.
all="training.optimizer=sgd training.batch_size=64 data.buckets=1 training.warmup_steps=0 training.lr=0.05 model.params.dropout=0 data.augment.freq_masks=0"
# shellcheck disable=SC2086
ran "gradient descent on all samples" sgd $all "$may" "$hook" checkpoint.every_steps=5
# shellcheck disable=SC2086
ran "... on frozen weights" sgd_frozen $all "model.freeze=[$front]" training.max_steps=5
# shellcheck disable=SC2086
ran "... and then on all of them" sgd_after $all "model.init_from=$scratch/sgd_frozen" training.max_steps=5
unfrozen() { losses sgd 6,10p >a.losses && losses sgd_after 1,5p | paste a.losses - | pairs_within 1e-4 5; }
check "... gives the losses of the run that unfreezes" unfrozen

# ---- Checkpoints ------------------------------------------------------------------------------------

cat >often.lua <<'L'
return {
  on_step_end = function(ctx)
    if ctx.step % 4 == 1 then return { freeze = "subsample.*" } end
    if ctx.step % 4 == 3 then return { unfreeze = "subsample.*" } end
  end,
}
L
# shellcheck disable=SC2086
ran "frozen again and again" whole $two "$may" "hooks=[$scratch/often.lua]" training.max_steps=40 checkpoint.every_steps=1
# shellcheck disable=SC2086
begin killed $two "$may" "hooks=[$scratch/often.lua]" checkpoint.every_steps=1 training.max_steps=1000000
wait_steps killed 3
kill -9 "$pid" 2>/dev/null
ended
gone killed
# shellcheck disable=SC2086
ran "killed and resumed" killed $two "$may" "hooks=[$scratch/often.lua]" checkpoint.resume=auto training.max_steps=40 checkpoint.every_steps=1
check "... every loss is that of the whole" same_losses whole killed 1,40p
check "... and the weights are, to the bit" same_weight whole last killed last subsample.0.weight
# shellcheck disable=SC2086
ran "stopped while frozen" stays "$may" "$hook" training.max_steps=3
ran "... and resumed without the hook" stays "$may" training.max_steps=6 "$(from stays)"
check "... they stay frozen" same_weight stays 3 stays 6 subsample.0.weight

# ---- The shipped hook, averages ---------------------------------------------------------------------

ran "unfreeze.lua" shipped "training.freezable=[subsample.0.*,subsample.1.*]" "hooks=[$source/hooks/unfreeze.lua]" \
  training.max_steps=12 checkpoint.every_steps=1 checkpoint.keep_last=20 training.ema_decay=0.5
check "... the first epoch trains neither" same_weight shipped 1 shipped 4 subsample.1.weight
check "... the second the last" other_weight shipped 4 shipped 5 subsample.1.weight
check "... and not the first" same_weight shipped 1 shipped 8 subsample.0.weight
check "... the third both" other_weight shipped 8 shipped 9 subsample.0.weight
expect "the plan has a program for each combination" 0 "^program train.frozen\(subsample.0.\*\)" \
  "^program train.frozen\(subsample.0.\*, subsample.1.\*\)" -- \
  "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" "training.freezable=[subsample.0.*,subsample.1.*]"

"$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" "$may" --ranks=2 --json >plan.json 2>"$(new_log)"
of() { grep -F "\"kind\": \"$1\"" plan.json | head -1 | sed "s/.*\"$2\": \([0-9]*\).*/\1/"; }
less() { test "$(of "train.frozen(subsample.*)" "$1")" -lt "$(of train "$1")"; }
check "frozen weights have no backward pass" less flops
check "... and no gradients that ranks send" less sent_bytes

# ---- Mistakes ---------------------------------------------------------------------------------------

tones none "$hook"
check "a plan without the programs" grep -q "later.lua:.*'freeze' needs training.freezable=" "$log"
tones none "training.freezable=[subsample.0.*]" "$hook"
check "another pattern" grep -q "has no pattern 'subsample.\*'; it has, for example, 'subsample.0.\*'" "$log"
tones none "training.freezable=[sub.*]"
check "a pattern of nothing" grep -q "'sub.\*' of training.freezable matches no weight" "$log"
tones none "training.freezable=[subsample.*,subsample.0.*]"
check "two patterns of a weight" grep -q "matches 'subsample.0.weight', and so does an earlier one" "$log"
tones none "training.freezable=[a,b,c,d,e]"
check "too many" grep -q "has 5 patterns, more than 4" "$log"
echo 'return { on_start = function(ctx) return { freeze = "*" } end }' >none.lua
tones none "training.freezable=['*']" "hooks=[$scratch/none.lua]"
check "nothing is left to train" test "$code" = 70
check "... which the error says" grep -q "it would train nothing" "$log"
echo 'return { on_start = function(ctx) return { freeze = 1 } end }' >number.lua
tones none "$may" "hooks=[$scratch/number.lua]"
check "no pattern" grep -q "'freeze' must be a pattern of weights or a list of them" "$log"
counts
