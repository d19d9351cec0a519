# mesh.sh - meshes of several axes, from the command line: every strategy trains as one rank does, saves what
# any other mesh can go on from, and a mesh that cannot be is an error with its place.
. "${0%/*}/lib.sh"
make_data
# Four ranks at once take more memory under the sanitisers than a loaded machine may have time for.
if sanitised; then limit=900; fi

# Attention of four heads, dropout in and behind it, and LMU, which no mesh splits.
model="model.params.heads=4 training.max_steps=10 distributed.backend=loopback"
on() { # on NAME STRATEGY MESH [key=value ...]
  on_name=$1 on_strategy=$2 on_mesh=$3
  shift 3
  ran "$on_name" "$on_name" $model distributed.ranks=auto "distributed.mesh=$on_mesh" \
    distributed.strategy=$on_strategy "$@"
}
scores() { sed -n 's/^\(training\|validation\) set: //p' "$1"; }

ran "one rank" one $model
scores "$log" >scores
grep -q cer scores || fail "one rank" "no scores"
on tp2 tp '{tp: 2}'
on tp4 tp '{tp: 4}'
on dp2tp2 tp '{dp: 2, tp: 2}'
scores "$log" >scores.tp
on zero1tp zero1 '{dp: 2, tp: 2}'
on hsdp hsdp '{replicate: 2, shard: 2}'
check "hsdp: the scores are those of one rank" cmp scores scores.tp
check "hsdp: weights are bit-equal" grep -q "bit-equal on all 4 ranks" "$log"
on fsdptp fsdp_tp '{dp: 2, tp: 2}' checkpoint.every_steps=5 checkpoint.keep_last=0
for run in tp2 tp4 dp2tp2 zero1tp hsdp fsdptp; do
  check "$run: the first loss is one rank's to 1e-6" near "$(loss one 0)" "$(loss $run 0)" 1e-6
  check "$run: the 10th loss is one rank's to 2e-4" near "$(loss one 9)" "$(loss $run 9)" 2e-4
done
on threehsdp hsdp '{replicate: 2, shard: 2, tp: 2}' training.max_steps=2
check "three axes: the second loss is one rank's to 1e-6" near "$(loss one 1)" "$(loss threehsdp 1)" 1e-6

on padded fsdp_tp '{dp: 3, tp: 2}'
check "uneven slices: the 10th loss is one rank's to 2e-4" near "$(loss one 9)" "$(loss padded 9)" 2e-4

# Batches that do not divide, in micro-steps: padded rows weigh nothing, on any mesh.
odd='training.batch_size=7 training.accumulate=2 model.params.dropout=0.0'
ran "7 samples in micro-steps" odd $model $odd
on oddtp tp '{dp: 2, tp: 2}' $odd
on oddhsdp hsdp '{replicate: 2, shard: 2}' $odd
for run in oddtp oddhsdp; do
  check "$run: the 10th loss is one rank's to 2e-4" near "$(loss odd 9)" "$(loss $run 9)" 2e-4
done
# By rank: of the groups that share a batch.
ran "loss by rank" local $model training.loss_norm=local distributed.ranks=2
on localtp tp '{dp: 2, tp: 2}' training.loss_norm=local
check "loss by rank: that of as many groups" near "$(loss local 9)" "$(loss localtp 9)" 2e-4

# A group of tensor parallelism counts as one rank.
on scaled tp '{dp: 2, tp: 2}' training.max_steps=1 training.lr_scale=linear training.batch_is=per_rank
check "groups, not ranks, scale the rate and the batch" \
  grep -q 'global batch 16 = 2 rank groups x 8, lr 0.01,' "$log"

if has_mpi; then
  on mpi tp '{dp: 2, tp: 2}' distributed.backend=mpi
  check "threads and processes leave the same bytes" same_files dp2tp2/checkpoints mpi/checkpoints
else
  skip "ranks as processes" "no MPI"
fi

# ---- Saved on one mesh, gone on from on another -------------------------------------------------
middle=$scratch/fsdptp/checkpoints/step-00000005
check "the checkpoint of fsdp_tp verifies" "$graphrun" ckpt verify "$middle"
ran "one rank goes on from fsdp_tp" then1 $model checkpoint.resume="$middle"
on thenhsdp hsdp '{replicate: 2, shard: 2}' checkpoint.resume="$middle"
on thentp tp '{tp: 4}' checkpoint.resume="$middle"
for run in then1 thenhsdp thentp; do
  check "$run: the loss of step 9 is one rank's to 2e-4" near "$(loss one 9)" "$(loss $run 4)" 2e-4
done
# Each element is written by exactly one rank: the pieces' sizes add up to the tensors' shapes.
numbers() { # numbers KEY MANIFEST: the sum of the products of all lists of that name
  grep -o "\"$1\": \[[^]]*\]" "$2" | sed 's/.*\[//; s/\]//' |
    awk -F', *' '{ n = 1; for (i = 1; i <= NF; i++) n *= $i; sum += n } END { print sum + 0 }'
}
for run in tp4 dp2tp2 zero1tp hsdp fsdptp; do
  manifest=$run/checkpoints/step-00000010/manifest.json
  check "$run: each element is written once" test "$(numbers size $manifest)" = \
    "$(numbers shape one/checkpoints/step-00000010/manifest.json)"
done
on whole fsdp_tp '{dp: 2, tp: 2}' distributed.fsdp.state_dict_type=full
check "whole states: one rank's files" test "$(ls whole/checkpoints/step-00000010)" = \
  "$(ls one/checkpoints/step-00000010)"
"$graphrun" ckpt show "$scratch/one/checkpoints/step-00000010" | grep -E 'f32|i32' >shown.one
"$graphrun" ckpt show "$scratch/hsdp/checkpoints/step-00000010" | grep -E 'f32|i32' >shown.hsdp
check "... and whole states are those of one rank, by name and shape" cmp shown.one shown.hsdp

# ---- The plan -----------------------------------------------------------------------------------
tones plan
"$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
  "model.graph=$source/graphs/lmu_asr.yaml" distributed.ranks=auto 'distributed.mesh={dp: 2, tp: 2}' \
  distributed.strategy=fsdp_tp data.buckets=1 >plan.txt 2>&1
for pattern in '^ranks +4 \(dp=2 x tp=2\)' '^  layers.0.attention.q.weight +f32\[32,32\] +dp:S1 +tp:S0 ' \
  '^  layers.0.attention.o.weight +f32\[32,32\] +dp:S0 +tp:S1 ' '^  layers.0.lmu.W_h +f32\[32,32\] +dp:S0 +tp:R ' \
  '^    over dp .* sent by each rank' '^    over tp +[0-9]+ collectives'; do
  check "plan says /$pattern/" grep -Eq "$pattern" plan.txt
done
check "plan: nothing is gathered over tp" sh -c '! grep -q "all_gather *tp" plan.txt'

# ---- An encoder, and a decoder that attends to it -----------------------------------------------
split="distributed.ranks=auto distributed.strategy=tp"
transcribe="model={graph: $source/tests/e2e/transcribe.yaml, params: null}"
# shellcheck disable=SC2086
expect "a decoder is split by heads" 0 '^  decoder.layers.1.attention.q.weight +f32\[16,16\] +dp:R +tp:S0 ' \
  '^  decoder.layers.1.cross_attention.k.weight +f32\[16,16\] +dp:R +tp:S0 ' \
  '^  decoder.layers.1.cross_attention.o.weight +f32\[16,16\] +dp:R +tp:S1 ' \
  '^  decoder.layers.1.feed_forward.down.weight +f32\[16,64\] +dp:R +tp:S1 ' -- \
  "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" "$transcribe" \
  $split 'distributed.mesh={dp: 2, tp: 2}' data.buckets=1
expect "... which must divide them" 65 "the mesh axis tp must divide heads" -- \
  "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" "$transcribe" \
  $split 'distributed.mesh={tp: 2}' model.params.heads=1
ran "a decoder on one rank" decoder "$transcribe"
ran "... and on four" decodertp "$transcribe" $split 'distributed.mesh={dp: 2, tp: 2}' distributed.backend=loopback
check "... its 10th loss is one rank's to 1e-5" near "$(loss decoder 9)" "$(loss decodertp 9)" 1e-5

# ---- Errors -------------------------------------------------------------------------------------
wrong() { # wrong NAME COLUMN SAYS HINT -- key=value ...
  wrong_name=$1 wrong_at=$2 wrong_says=$3 wrong_hint=$4
  shift 5
  expect "$wrong_name" 65 "argument [0-9]+:$wrong_at: config error: .*$wrong_says" "hint: .*$wrong_hint" -- \
    "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" model.params.heads=4 "$@"
}
auto=distributed.ranks=auto
wrong "another number of ranks" 1:18 'dp=2 x tp=2 is of 4 ranks, and there are to be 3' 'ranks=auto' -- \
  'distributed.mesh={dp: 2, tp: 2}' distributed.ranks=3
wrong "another number of ranks to plan for" 1:18 'of 4 ranks, and there are to be 8' 'product is 8' -- \
  $auto 'distributed.mesh={dp: 2, tp: 2}' --ranks=8
wrong "no such axis" 1:19 "no axis 'tpp'" "did you mean 'tp'" -- $auto 'distributed.mesh={tpp: 2}'
wrong "a size of 0" 1:23 "'dp' has the size 0" 'at least 1' -- $auto 'distributed.mesh={dp: 0}'
wrong "a size below 0" 1:23 "'tp' has the size -2" 'at least 1' -- $auto 'distributed.mesh={tp: -2}'
wrong "a size that is no number" 1:23 "'tp' has the size \"two\"" 'at least 1' -- $auto 'distributed.mesh={tp: two}'
wrong "too many ranks" 1:35 'more than 1000000 ranks' 'product' -- $auto 'distributed.mesh={dp: 100000, tp: 100000}'
wrong "braces the shell took" 1:18 'found a string' 'quotes' -- $auto distributed.mesh=tp:2
wrong "no axes" 1:18 'empty' 'as in' -- $auto 'distributed.mesh={}'
wrong "an axis the strategy has not" 1:19 "hsdp has no mesh axis 'dp'" 'replicate, shard and tp' -- \
  $auto 'distributed.mesh={dp: 2, tp: 2}' distributed.strategy=hsdp
wrong "an axis the strategy needs" 1:22 "tp needs a mesh axis 'tp', and the mesh is dp=2" 'as in' -- \
  distributed.strategy=tp $auto 'distributed.mesh={dp: 2}'
wrong "tp without saying so" 1:18 "ddp needs a mesh axis 'dp', and the mesh is tp=2" 'strategy=tp' -- \
  $auto 'distributed.mesh={tp: 2}'
wrong "a mesh that must be given" 1:22 "fsdp_tp needs a mesh axis 'tp', and the mesh is not given" 'as in' -- \
  distributed.strategy=fsdp_tp distributed.ranks=4
wrong "a batch smaller than its groups" 1:18 '16 groups of ranks cannot share batches of 8' 'batch_size' -- \
  distributed.ranks=32 'distributed.mesh={dp: 16, tp: 2}'
"$graphrun" new rows >/dev/null
idle="$auto distributed.strategy=tp distributed.mesh={tp:2} training.max_steps=2"
# shellcheck disable=SC2086
expect "a mesh over which the model splits nothing" 0 '^ranks +2 \(tp=2\); nothing is split over tp: its ranks do the same work$' -- \
  "$graphrun" plan rows/config.yaml $idle
# shellcheck disable=SC2086
expect "... the run says so, too" 0 'warning: nothing is split over the axis tp of the mesh: its ranks do the same work' -- \
  "$graphrun" rows/config.yaml $idle output.dir=rows/idle
# shellcheck disable=SC2086
expect "... and not where a rule splits a weight" 0 '^ranks +2 \(tp=2\), [0-9]+ of [0-9]+ states split over them$' -- \
  "$graphrun" plan rows/config.yaml $idle "distributed.layout=[{match: 'body.0.*', tp: S0}]"
tp2="$auto distributed.strategy=tp distributed.mesh={tp:2}"
expect "heads that do not divide" 65 "the mesh axis tp must divide heads" -- "$graphrun" plan \
  "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" "model.graph=$source/graphs/lmu_asr.yaml" \
  $auto distributed.strategy=tp 'distributed.mesh={tp: 4}'
wrong "a rule of no weight" 1:47 "no weight is called '\*.r.weight'" "did you mean|lists the weights" -- \
  $tp2 "distributed.layout=[{match: '*.r.weight', tp: S0}]"
wrong "a rule for an axis that is not there" 1:53 "'input_projection.bias' is f32\[32\]: there is no axis 1" \
  'counted from 0' -- $tp2 "distributed.layout=[{match: input_projection.*, tp: S1}]"
wrong "a rule that does not divide" 1:54 "'ctc_projection.bias' is f32\[8\]: its axis 0, of 8, does not divide by tp=3" \
  "match:'ctc_projection.bias',tp:R" -- $auto distributed.strategy=tp 'distributed.mesh={tp:3}' model.params.use_attention=false \
  "distributed.layout=[{match: ctc_projection.bias, tp: S0}]"
wrong "an axis for two" 1:66 "axis 0 of weight 'input_projection.weight' is to be split over both" 'one axis of the mesh' -- \
  $auto 'distributed.mesh={dp: 2, tp: 2}' "distributed.layout=[{match: input_projection.weight, tp: S0, dp: S0}]"
wrong "no layout" 1:47 "an integer is no layout on the mesh axis 'tp'" 'S0, S1' -- $tp2 "distributed.layout=[{match: '*.q.weight', tp: 0}]"
wrong "a rule for no axis" 1:21 "a rule of distributed.layout has no axis of the mesh with its layout" 'match' -- $tp2 "distributed.layout=[{match: '*.q.weight'}]"
wrong "rules that are no list" 1:20 'must be a list of rules' 'as in' -- $tp2 "distributed.layout={match: a, tp: S0}"
counts
