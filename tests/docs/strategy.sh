# strategy.sh - the strategy of add-a-strategy.md shards what its row says, and trains as ddp does.
#   strategy.sh GRAPHRUN SOURCE MAKE_TONES
. "${0%/docs/*}/e2e/lib.sh"
awk 'BEGIN { srand(7); print "width,weight,kind"
  for (i = 0; i < 96; i++) { k = i % 2; printf "%.4f,%.4f,%s\n", k + rand(), rand() - k, k ? "red" : "blue" }
}' >kinds.csv
cat >run.yaml <<YAML
model: {graph: $source/graphs/mlp.yaml, params: {dim: 32, layers: 1}}
data: {source: table, validation_fraction: 0.25, table: {path: kinds.csv, label: kind}}
training: {batch_size: 16, max_epochs: 2, seed: 1, lr: 1e-2, optimizer: adam}
distributed: {ranks: 4, backend: loopback}
logging: {progress: false}
YAML
mesh='distributed.mesh={replicate:2,shard:2}'
expect "the words of the key have it" 0 'hzero1' -- "$graphrun" config --help distributed.strategy
expect "it needs its axes" 65 "strategy hzero1 needs a mesh axis 'shard'" -- "$graphrun" run.yaml distributed.strategy=hzero1
expect "the plan has states in slices" 0 "states split over them" -- \
  "$graphrun" plan run.yaml distributed.strategy=hzero1 "$mesh"
"$graphrun" plan run.yaml distributed.strategy=hzero1 "$mesh" --json >plan.json 2>/dev/null
"$graphrun" plan run.yaml distributed.strategy=ddp --json >ddp.json 2>/dev/null
layouts() { sed -n "s/.*\"kind\": \"$1\".*\"layout\": {\([^}]*\)}.*/\1/p" plan.json | sort -u | tr '\n' ';'; }
check "... over the axis shard alone" sh -c 'case $1 in *\"shard\":\ \"S0\"*) true ;; *) false ;; esac' sh "$(layouts optimizer)"
check "... and every weight whole" test "$(layouts weight)" = '"replicate": "R", "shard": "R";'
expect "it trains" 0 '^validation set: loss' -- "$graphrun" run.yaml distributed.strategy=hzero1 "$mesh" output.dir=hzero1
expect "... and so does ddp" 0 '^validation set: loss' -- "$graphrun" run.yaml distributed.strategy=ddp output.dir=ddp
check "... to the same loss" near "$(valid_loss hzero1)" "$(valid_loss ddp)" 1e-4
counts
