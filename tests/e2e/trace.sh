# trace.sh - profile.steps: a file for each rank that shows what it did in those steps, and when.
. "${0%/*}/lib.sh"
make_data
cat >"$scratch/lr.lua" <<'L'
return { lr = function(ctx) return ctx.base_lr end }
L
# shown FILE NAME: how many spans of that name.
shown() { grep -c "\"name\":\"$2\",\"ph\":\"X\"" "$1"; }

ran "a run on two ranks whose steps 2 and 3 are traced" traced distributed.ranks=2 training.max_steps=6 \
  profile.steps=2:4 "hooks=[$scratch/lr.lua]"
check "... says where the trace is" grep -q "trace: .*/trace.0.json, and one of each other rank" "$log"
for rank in 0 1; do
  file=traced/trace.$rank.json
  check "... rank $rank has two steps" test "$(shown $file step)" = 2
  check "... that are the third and the fourth" test "$(grep -o '"step":[0-9]*' $file | tr '\n' ' ')" = '"step":2 "step":3 '
  check "... two runs of a program" test "$(grep -c '"name":"train.t[0-9]*","ph"' $file)" = 2
  check "... its products, by where they are in the model" grep -q '"name":"matmul".*"of":"[a-z].*"at":".*yaml:[0-9]*:[0-9]*","flops":[1-9]' $file
  check "... its collectives in another lane" grep -q '"name":"all_reduce","ph":"X","pid":'$rank',"tid":4' $file
  check "... the copies of inputs and results" test "$(shown $file inputs)/$(shown $file results)" = 2/2
  check "... and waits for data" test "$(shown $file 'next batch')" -ge 2
done
check "the hook is in the trace of rank 0" test "$(shown traced/trace.0.json lr)" -ge 2
ran "the same without a trace" plain distributed.ranks=2 training.max_steps=6 "hooks=[$scratch/lr.lua]"
check "... computes the same" same_metrics traced plain
check "... and writes none" test ! -e plain/trace.0.json
ran "a run that ends before the last traced step" short training.max_steps=3 distributed.ranks=1 profile.steps=2:100
check "... has traced what there was" test "$(shown short/trace.0.json step)" = 1
for bad in 5 5:5 7:3 -1:2 a:b 1:2:3; do
  expect "profile.steps=$bad" 65 "expected FIRST:END, found '$bad'" "profile.steps=20:25" -- \
    "$graphrun" "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" "output.dir=$scratch/bad" "profile.steps=\"$bad\""
done
ran "a run that ends before the first traced step says so" none training.max_steps=3 distributed.ranks=1 profile.steps=9:10
check "..." grep -q "profile.steps=9:10: no trace" "$log"
ran "a run without workers" own data.workers=0 distributed.ranks=1 training.max_steps=4 profile.steps=2:4
check "... is not ready for any step" test "$(shown own/trace.0.json 'not ready')" = 2
check "... and says that all waited" grep -Eq "steps waited [0-9.]+ ms for data, for 4 of 4 batches$" "$log"
check "... and how long, in its results" grep -Eq '"total_data_seconds": (0\.[0-9]*[1-9]|[1-9])' own/training_results.json
ran "a run without workers, of three epochs" epochs data.workers=0 distributed.ranks=1 training.max_steps=12
check "... says how long after the first" grep -Eq "waited .* for 12 of 12 batches; after the first epoch [0-9.]+ ms for 8 of 8$" "$log"
check "... and of each epoch" test "$(grep -Ec '"data_seconds": (0\.[0-9]*[1-9]|[1-9])' epochs/epochs.jsonl)" = 3
awk -F'"data_seconds": ' '{sum += $2} END {print sum}' epochs/epochs.jsonl >sum
check "... which add up" near "$(cat sum)" "$(sed -n 's/.*"total_data_seconds": \([0-9.e-]*\).*/\1/p' epochs/training_results.json)" 1e-2
counts
