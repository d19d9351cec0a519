# precision.sh - training in bf16 and fp16: the losses of fp32, of one rank on any number, weights in
# f32; a loss scale that finds its value on all ranks alike, and is resumed exactly; rules.
. "${0%/*}/lib.sh"
make_data
quick="distributed.backend=loopback training.max_steps=12 model.params.dropout=0"

field() { # OUT STEP NAME
  sed -n "$(($2 + 1))s/.*\"$3\": \([^,]*\),.*/\1/p" "$1/metrics.jsonl"
}
dtypes() { "$graphrun" ckpt show "$1/checkpoints" | sed 1d | grep -oE '(f32|f16|bf16|i32)\[?' | sort | uniq -c; }

# shellcheck disable=SC2086
ran "fp32" fp32 $quick
cp "$log" fp32.said
for precision in bf16 fp16; do
  # shellcheck disable=SC2086
  ran "$precision" $precision $quick training.precision=$precision training.loss_scale.init=1024
  cp "$log" "$precision.said"
  check "... its first loss is fp32's to 1e-3" near "$(loss fp32 0)" "$(loss $precision 0)" 1e-3
  check "... and is not the same" test "$(loss fp32 0)" != "$(loss $precision 0)"
  check "... its 12th to 2 %" near "$(loss fp32 11)" "$(loss $precision 11)" 0.02
  check "... and gradients are of its size" near "$(field fp32 0 grad_norm)" "$(field $precision 0 grad_norm)" 0.02
done
dtypes fp32 >dtypes.fp32
dtypes bf16 >dtypes.bf16
check "states are those of fp32" cmp dtypes.fp32 dtypes.bf16
for of in 2/ddp 3/ddp 2/zero1 3/zero2 2/fsdp 3/fsdp; do
  ranks=${of%/*} strategy=${of#*/}
  # shellcheck disable=SC2086
  ran "bf16, $strategy on $ranks ranks" ranks $quick training.precision=bf16 distributed.ranks=$ranks \
    distributed.strategy=$strategy
  check "... the first loss is one rank's to 1e-5" near "$(loss bf16 0)" "$(loss ranks 0)" 1e-5
  check "... the 12th to 2e-3" near "$(loss bf16 11)" "$(loss ranks 11)" 2e-3
done
# shellcheck disable=SC2086
ran "bf16 in micro-steps" micro $quick training.precision=bf16 training.accumulate=2
check "... the losses of the whole batch" near "$(loss bf16 11)" "$(loss micro 11)" 2e-3

# ---- Gradients sent in bf16
for strategy in ddp zero2 fsdp; do
  # shellcheck disable=SC2086
  ran "gradients sent in bf16, $strategy" sent $quick distributed.reduce_dtype=bf16 distributed.ranks=3 \
    distributed.strategy=$strategy
  check "... the 12th loss is one rank's to 1e-2" near "$(loss fp32 11)" "$(loss sent 11)" 1e-2
  check "... and not the same to 1e-7" compare "$(loss fp32 11)" "$(loss sent 11)" 1e-7 'size(a - b) > c'
  # shellcheck disable=SC2086
  ran "... and in micro-steps" parts-sent $quick distributed.reduce_dtype=bf16 distributed.ranks=3 \
    distributed.strategy=$strategy training.accumulate=2
  check "... the 12th loss is one rank's to 1e-2" near "$(loss fp32 11)" "$(loss parts-sent 11)" 1e-2
done
"$graphrun" plan "$source/tests/e2e/tones.yaml" "model.graph=$source/graphs/lmu_asr.yaml" \
  "data.manifest=$scratch/data/tones.jsonl" training.precision=bf16 >"$(new_log)" 2>&1
check "plan says what is narrow" grep -Eq "precision +[0-9]+ of [0-9]+ nodes read bf16" "$log"
"$graphrun" plan "$source/configs/gpt.yaml" "data.corpus.path=$source/docs/decisions.md" training.precision=bf16 \
  distributed.strategy=fsdp >"$(new_log)"
check "FSDP gathers weights as what they are cast to" grep -q "feed_forward.up.weight is split, .* needs it whole, as bf16" "$log"
check "... and moves no activation" sh -c '! grep -q "needs all of it" "$1"' - "$log"
narrow() { # what a plan of training.mixed_precision says, with more words
  "$graphrun" plan "$source/tests/e2e/tones.yaml" "model.graph=$source/graphs/lmu_asr.yaml" \
    "data.manifest=$scratch/data/tones.jsonl" training.mixed_precision=true "$@" >"$(new_log)" 2>&1 && grep -Eo "nodes read bf16|on CPUs that is fp32" "$log" | sort -u
}
check "training.mixed_precision is bf16 on GPUs" test "$(narrow device=cuda)" = "nodes read bf16"
check "... fp32 on CPUs, and says so" test "$(narrow device=cpu)" = "on CPUs that is fp32"
check "... and training.precision decides instead" test "$(narrow device=cuda training.precision=fp32)" = ""
check "... on CPUs, too" test "$(narrow device=cpu training.precision=bf16)" = "nodes read bf16"

# ---- What mixed precision costs is said before it is paid, in plans and runs alike: the memory of two
# plans, and the time by what the processor has.
plan() { # NAME ARGUMENT...: what a plan prints
  plan_name=$1
  shift
  "$graphrun" plan "$@" >"$plan_name.plan" 2>&1
}
planned() { sed -n 's/^memory  *\([0-9.]* [kMGT]*B\) on each rank.*/\1/p' "$1.plan"; }
cost() { sed -n 's/^precision  *\(.* of memory a rank.*\)/\1/p' "$1.plan"; }
tones="$source/tests/e2e/tones.yaml model.graph=$source/graphs/lmu_asr.yaml data.manifest=$scratch/data/tones.jsonl"
for config in "$tones" "$source/configs/gpt.yaml data.corpus.path=$source/docs/decisions.md distributed.strategy=fsdp"; do
  for precision in fp32 bf16 fp16; do
    # shellcheck disable=SC2086
    check "plan in $precision" plan $precision $config training.precision=$precision
  done
  for precision in bf16 fp16; do
    case $(cost $precision) in
      "$precision takes $(planned $precision) of memory a rank, "*" of the $(planned fp32) that fp32 plans"*"on "*" processor"*)
        ok "... what $precision needs, and fp32, is what they plan" ;;
      *) fail "... what $precision needs, and fp32, is what they plan" "$(cost $precision)" ;;
    esac
  done
  check "... nothing of fp32" test "$(cost fp32)" = ""
  # shellcheck disable=SC2086
  plan again $config training.precision=bf16
  check "... the same each time" test "$(cost again)" = "$(cost bf16)"
  # shellcheck disable=SC2086
  check "... a rule alone is mixed precision" plan rule $config "training.precision_rules=[{match: '*.matmul', dtype: bf16}]"
  check "... of which fp32 has none" sh -c 'case $1 in "mixed precision takes "*" of the $2 that fp32 plans"*) ;; *) false ;; esac' - "$(cost rule)" "$(planned fp32)"
  # shellcheck disable=SC2086
  check "... on a GPU" plan gpu $config training.precision=bf16 device=cuda
  check "... nothing is said" test "$(cost gpu)" = ""
done
printf '%s\n' "$(cat "$source/configs/gpt.yaml")" 'hydra: {job: {chdir: true}}' >warns.yaml
check "plan of a file with a warning" plan warns warns.yaml "model.graph=$source/graphs/gpt.yaml" "data.corpus.path=$source/docs/decisions.md" training.precision=bf16
check "... which is given once" test "$(grep -c "hydra.job.chdir' has no effect" warns.plan)/$(cost warns | wc -l)" = 1/1
check "fp16, which CPUs multiply in fp32, is slower" grep -q "fp32 is faster" fp16.plan
check "a run says what its plan does" grep -q "bf16 takes .* of memory a rank, .* that fp32 plans" bf16.said
check "... and nothing in fp32" sh -c '! grep -q "that fp32 plans" fp32.said'

# ---- The loss scale: 2^30 overflows; it is halved until the step is good, on all ranks together.
for ranks in 1 2 3; do
  # shellcheck disable=SC2086
  ran "fp16 from 2^30 on $ranks ranks" scale$ranks $quick training.max_steps=24 training.precision=fp16 \
    training.loss_scale.init=1073741824 distributed.ranks=$ranks
  check "... the first step is skipped, and the scale halved" test "$(field scale$ranks 0 loss_scale)" = 536870912.0
  # a rank of several sums over fewer samples, so that a larger scale may fit
  check "... until it fits" compare "$(field scale$ranks 23 loss_scale)" 1024 65536 'b <= a && a <= c'
  check "... and training goes on" near "$(loss fp32 0)" "$(loss scale$ranks 23)" 0.5
done
check "a skipped step leaves the weights" test "$(loss scale1 23)" != "$(loss scale1 0)"
# shellcheck disable=SC2086
ran "more than 50 skipped steps are no failure while the scale shrinks" long $quick training.max_steps=100 \
  training.precision=fp16 training.loss_scale.init=1e30
check "... and the last are good" test "$(field long 98 loss_scale)" = "$(field long 99 loss_scale)"
# shellcheck disable=SC2086
tones stuck $quick training.max_steps=100 training.precision=fp16 training.loss_scale.init=1e30 training.loss_scale.min=1e30
check "they are once it is at its smallest" test "$code" = 76
# A scale that grows is too large now and then: that step is the last, and the one to be saved.
grows="$quick training.precision=fp16 training.loss_scale.growth_interval=2 training.eval_every=0 checkpoint.every_epochs=0"
# shellcheck disable=SC2086
ran "a scale that grows every other step" grows $grows training.max_steps=40
at=$(sed -n 's/.*"loss_scale": \([^,}]*\).*/\1/p' grows/metrics.jsonl |
  awk '$1 > last && NR > 1 { grew = 1 } $1 < last && grew { print NR; exit } { last = $1 }')
# shellcheck disable=SC2086
ran "the last step is one that it is too large for ($at)" probe $grows training.max_steps="$at" checkpoint.every_steps="$at"
check "... its state is sound" sh -c "'$graphrun' ckpt show probe/checkpoints | grep -q 'run.finite *1'"
# shellcheck disable=SC2086
ran "... and is continued" probe $grows training.max_steps=40 checkpoint.every_steps="$at"
check "... as if it had not ended" test "$(loss probe 39)" = "$(loss grows 39)"
# shellcheck disable=SC2086
tones shrinking $quick training.max_steps=3 training.precision=fp16 training.loss_scale.init=1e30
printf '%s\n' "nothing was learned in 3 steps: the loss scale" "hint: .*training.loss_scale.init" >patterns
verdict "all steps are skipped, and it still shrinks" 76

# ---- Resumed in another precision
for way in fp32/fp16 fp16/fp32 fp16/bf16; do
  rm -rf other
  # shellcheck disable=SC2086
  ran "${way%/*}, stopped after 4" other $quick training.max_steps=4 training.precision=${way%/*} training.loss_scale.init=1024
  # shellcheck disable=SC2086
  ran "... goes on in ${way#*/}" other $quick training.precision=${way#*/} training.loss_scale.init=2048 "$(from other)"
  check "... and follows fp32" near "$(loss fp32 11)" "$(loss other 11)" 0.02
  case $way in
    */fp16)
      check "... with the first scale, and says so" sh -c \
        "grep -q 'has no loss scale: it begins at training.loss_scale.init, 2048' '$log' && [ '$(field other 11 loss_scale)' = 2048.0 ]" ;;
    *) check "... without a scale" test -z "$(field other 11 loss_scale)" ;;
  esac
done

# ---- Resumed in the middle of an interval of good steps
grows="training.precision=fp16 training.loss_scale.init=64 training.loss_scale.growth_interval=5 model.params.dropout=0.1"
# shellcheck disable=SC2086
ran "a scale that grows" whole $quick $grows training.max_steps=13
check "... after 5 steps and after 10" test "$(field whole 3 loss_scale)/$(field whole 4 loss_scale)/$(field whole 9 loss_scale)" = 64.0/128.0/256.0
# shellcheck disable=SC2086
ran "the same, stopped after 8" parts $quick $grows training.max_steps=8
# shellcheck disable=SC2086
ran "... and resumed" parts $quick $grows training.max_steps=13 checkpoint.resume=auto
check "... to the same metrics" same_metrics whole parts
check "... and bytes" same_files whole/checkpoints/step-00000013 parts/checkpoints/step-00000013

# ---- Rules
# shellcheck disable=SC2086
ran "bf16, but for everything" none $quick training.precision=bf16 "training.precision_rules=[{match: '*', dtype: f32}]"
check "... is fp32" same_tensors fp32/checkpoints none/checkpoints
# shellcheck disable=SC2086
ran "fp32, but for a place" some $quick "training.precision_rules=[{match: layers.0.lmu, dtype: bf16}]"
check "... is not" test "$(loss fp32 0)" != "$(loss some 0)"
for of in "match: layers.9.lmu, dtype: f32/matches 'layers.9.lmu'" "match: '*', dtype: f23/did you mean 'f32'" "matches: '*'/needs|is a pattern"; do
  expect "a wrong rule: {${of%/*}}" 65 "precision_rules" "${of#*/}" -- "$graphrun" plan "$source/tests/e2e/tones.yaml" \
    "model.graph=$source/graphs/lmu_asr.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "training.precision_rules=[{${of%/*}}]"
done
counts
