# buckets.sh - training.batch_size by bucket: how many batches of each size, the same losses on any number of ranks,
# gradients that are means over the samples of a step, the same bytes after a stop, and no more memory than is given.
. "${0%/*}/lib.sh"
make_data
# The recordings have 27 training samples in three buckets: 5, 8 and 14.
three="data.buckets=3 training.batch_size={total_length:256} training.eval_every=0 distributed.backend=loopback"
plans() { # [key=value ...]
  limited "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" data.buckets=3 "$@"
}
# The samples a second and the time of each step give the samples of a step only roughly; the plan gives them exactly.
sizes() { sed -n 's/^ *{"bucket": "[^"]*", "samples": \([0-9]*\),.*/\1/p' "$1" | tr '\n' ' '; }
of_plan() { # FILE FIELD
  grep -o "\"$2\": [0-9]*" "$1" | head -1 | sed 's/.* //'
}

# ---- Batches of each size: 256 are 10 of 24 frames, of which there are 5, 6 of 40 and 4 of 64.
plans 'training.batch_size={total_length:256}' --json
cp "$log" plan.json
check "the batch of each bucket" test "$(sizes plan.json)" = "5 6 4 "
ran "an epoch on one rank" epoch $three training.max_epochs=1 training.max_steps=0
# 5 of 5; 8 are 6 and 2, which fill the last batch of the 14: 16 are 4 batches of 4.
check "... 1 batch of 5, 1 of 6 and 4 of 4" test "$(steps_of epoch)" = 6
check "... which the run says" grep -q 'global batches of 5, 6, 4 by bucket, .* 6 steps an epoch' "$log"
check "... and its plan" grep -q '"bucket": "t64", "samples": 4, "rows": 4, ' epoch/plan.json
plans 'training.batch_size={total_length:256}'
check "a table of them" grep -qE '^  t40 +6 +6 +[0-9.]+ [kM]B$' "$log"

# ---- Ranks
for n in 1 2 3; do
  # shellcheck disable=SC2086
  ran "30 steps on $n ranks" "ranks$n" $three training.max_steps=30 distributed.ranks=$n
done
# shellcheck disable=SC2086
ran "... in micro-steps" micro $three training.max_steps=30 distributed.ranks=2 training.accumulate=2 \
  'training.batch_size={total_length:256}' model.params.dropout=0
# shellcheck disable=SC2086
ran "... and without" whole $three training.max_steps=30 model.params.dropout=0 distributed.ranks=1
for step in 0 5 11 29; do
  for n in 2 3; do
    check "the loss of step $step on $n ranks" near "$(loss ranks1 $step)" "$(loss ranks$n $step)" 1e-4
  done
done
# shellcheck disable=SC2086
ran "ranks that have a batch each" each $three training.max_steps=6 distributed.ranks=2 training.batch_is=per_rank
check "... have batches of twice as many, if there are samples" grep -q 'global batches of 6, 8, 8 by bucket' "$log"

# ---- Gradients: a step by bucket, on 3 ranks in 2 micro-steps, in rows that are not all full, is one of a single
# program that has all samples of the bucket: the loss, the norm, and the weights after it.
values() { # OUT: all numbers of its last checkpoint
  "$graphrun" export "$scratch/$1" values.safetensors --which=last >/dev/null 2>&1 || return
  tail -c +$((9 + $(od -An -tu8 -N8 values.safetensors | tr -d ' '))) values.safetensors | od -An -v -w4 -tf4
}
same_values() { # A B RELATIVE: to the largest
  values "$1" >left && values "$2" >right && paste left right | awk -v r="$3" "$distance"'
    !number($1) || !number($2) { exit bad = 1 }
    { d = size($1 - $2); m = size($1); if (d > worst) worst = d; if (m > most) most = m }
    END { print worst, most; exit !(!bad && NR > 1000 && worst <= r * most) }'
}
norm() { sed -n 's/.*"grad_norm": \([^,]*\),.*/\1/p' "$1/metrics.jsonl" | head -1; }
plain="training.max_steps=1 training.optimizer=sgd training.lr=1 training.warmup_steps=0 training.grad_clip=0
  training.eval_every=0 training.final_train_eval=false model.params.dropout=0 data.augment.freq_masks=0 data.validation_fraction=0
  distributed.backend=loopback checkpoint.every_steps=1"
i=0
for few in '1,7p' '8,20p' '21,40p'; do
  i=$((i + 1))
  sed -n "$few" data/tones.jsonl >data/few.jsonl
  n=$(sed -n "$few" data/tones.jsonl | wc -l)
  # shellcheck disable=SC2086
  ran "a program that has $n samples" "all$i" $plain data.manifest="$scratch/data/few.jsonl" data.buckets=1 \
    "training.batch_size=$n"
  # shellcheck disable=SC2086
  ran "... and their bucket, divided" "part$i" $plain data.manifest="$scratch/data/few.jsonl" data.buckets=1 \
    'training.batch_size={total_length:9999}' distributed.ranks=3 training.accumulate=2
  check "... the same loss" near "$(loss "all$i" 0)" "$(loss "part$i" 0)" 1e-6
  check "... the same length of the gradient" near "$(norm "all$i")" "$(norm "part$i")" 1e-5
  check "... the same weights" same_values "all$i" "part$i" 1e-6
done
# Of an epoch in which nothing is learned, the mean of the losses, each as often as it has samples, is the loss of a
# program that has them all: no sample counts more in its step than another.
still="training.lr=0 training.eval_every=0 training.warmup_steps=0 model.params.dropout=0 data.augment.freq_masks=0
  training.max_epochs=1 training.max_steps=0 training.final_train_eval=false distributed.backend=loopback"
# shellcheck disable=SC2086
ran "an epoch of one batch" one $still data.buckets=1 training.batch_size=27
# shellcheck disable=SC2086
ran "... and of batches by bucket" many $still data.buckets=3 'training.batch_size={total_length:99999}'
check "... 3 of them" test "$(steps_of many)" = 3
mean=$(for step in 0 1 2; do loss many $step; done | sort -n | tr '\n' ' ')
# The samples of a step are those of its bucket; which is which the losses do not say, so that one order must agree.
agrees() {
  awk -v l="$mean" -v want="$(loss one 0)" 'BEGIN { split(l, x, " "); split("5 8 14", n, " ")
    for (a = 1; a <= 3; a++) for (b = 1; b <= 3; b++) for (c = 1; c <= 3; c++) if (a != b && b != c && a != c) {
      d = (n[a] * x[1] + n[b] * x[2] + n[c] * x[3]) / 27 - want
      if (d < 1e-6 * want && d > -1e-6 * want) exit 0 }
    exit 1 }'
}
check "... whose mean over samples is its loss" agrees

# ---- Stopping in the middle of an epoch
long="$three training.max_steps=20 checkpoint.every_steps=4 checkpoint.keep_last=0 distributed.ranks=2"
# shellcheck disable=SC2086
ran "20 steps" straight $long
# shellcheck disable=SC2086
ran "... 16 of them, 4 into the third epoch" cut $long training.max_steps=16
# shellcheck disable=SC2086
ran "... and the rest" cut $long checkpoint.resume=auto
check "... the same bytes" same_tensors straight/checkpoints/step-00000020 cut/checkpoints/step-00000020
check "... and metrics" same_metrics straight cut
# shellcheck disable=SC2086
tones other $long training.max_steps=24 "$(from straight)" 'training.batch_size={total_length:300}'
check "batches of other sizes are refused" test "$code" != 0
check "... with both" grep -q "was made with batches of 5, 6, 4, this run has 5, 7, 4" "$log"

# ---- Memory
# bounded LIMIT [key=value ...]: every bucket's plan needs at most so many bytes, and the largest is what a rank allocates.
bounded() {
  bounded_limit=$1
  shift
  plans "training.batch_size={memory: ${bounded_limit}kB}" "$@" --json
  cp "$log" plan.json
  sed -n 's/^ *{"bucket".*"bytes": \([0-9]*\)}.*/\1/p' plan.json | sort -n >bytes
  [ "$(wc -l <bytes)" = 3 ] && [ "$(tail -1 bytes)" -le $((bounded_limit * 1000)) ] &&
    [ "$(tail -1 bytes)" = $(($(of_plan plan.json state_bytes) + $(of_plan plan.json arena_bytes))) ]
}
for limit in 700 1000 1500; do
  check "batches in $limit kB" bounded $limit
  sizes plan.json >"sizes$limit"
  check "... also in micro-steps" bounded $limit training.accumulate=2
  check "... and of each of 2 ranks" bounded $limit training.batch_is=per_rank --ranks=2
done
check "... more in more" sh -c '! cmp -s sizes700 sizes1500'
plans 'training.batch_size={memory: 700kB}' --json --ranks=2
check "... as many on more ranks" test "$(sizes "$log")" = "$(cat sizes700)"
ran "a run in 1000 kB" memory data.buckets=3 'training.batch_size={memory: 1000kB}'
check "... allocates what is planned" test "$(sizes memory/plan.json)" = "$(cat sizes1000)"
expect "... is evaluated" 0 '^validation set: loss' -- "$graphrun" eval memory
expect "... planned again" 0 '^batches  *samples a step' -- "$graphrun" plan memory
expect "... with the schedule of its rates" 0 -- "$graphrun" hooks "$source/tests/e2e/tones.yaml" \
  "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" data.buckets=3 \
  'training.batch_size={memory: 1000kB}' training.max_epochs=1 "hooks=[$source/hooks/step_decay.lua]"
"$graphrun" data inspect "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" data.buckets=3 --json >record.json
plans 'training.batch_size={memory: 1000kB}' data.expect=record.json
check "... without data" grep -qE '^  t64 +7 +7 +938.2 kB' "$log"

# ---- Data without lengths are one bucket; a loop has no buckets.
awk 'BEGIN { srand(3); print "a,b,kind"; for (i = 0; i < 60; i++) print rand() "," rand() "," i % 3 }' >kinds.csv
cat >table.yaml <<YAML
model: {graph: $source/graphs/mlp.yaml, params: {dim: 8, layers: 1}}
data: {source: table, validation_fraction: 0.0, table: {path: kinds.csv, label: kind}}
training: {batch_size: {total_length: 20}, max_epochs: 1}
YAML
expect "rows of a table" 0 'global batches of 16 by bucket, .* 4 steps an epoch' -- "$graphrun" table.yaml output.dir=rows
expect "... by memory" 0 'global batches of 60 by bucket, .* 1 step an epoch' -- "$graphrun" table.yaml output.dir=more \
  'training.batch_size={memory: 1GB}' '~training.batch_size.total_length'
expect "a loop" 65 "argument 1:1:21: config error: training.batch_size by bucket is for epochs of data, not for a \`loop:\`" -- \
  "$graphrun" plan "$source/configs/ppo/market.yaml" 'training.batch_size={memory: 8GiB}'
counts
