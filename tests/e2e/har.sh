# har.sh - activities of sensors by a vision transformer: sizes, and what a frozen encoder costs.
. "${0%/*}/lib.sh"

# ---- The transformer over bytes of 224 x 224: its plan needs no more than the shapes
printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (6, 224, 224, 3), }" >plots.npy
truncate -s $((128 + 6 * 224 * 224 * 3)) plots.npy
printf '%s\n' label a b c d e f >labels.csv
cat >vit.yaml <<YAML
model: {graph: $source/graphs/vit.yaml, freeze: ["encoder.*"]}
data: {source: table, validation_fraction: 0.0, table: {path: [plots.npy, labels.csv], features: plots, label: label, dtype: u8}}
training: {batch_size: 32, batch_is: per_rank, optimizer: adamw}
distributed: {ranks: 4}
YAML
expect "86 million parameters, of which the head's are trained" 0 \
  "^parameters +397,830 trained numbers of 86,205,702" "^  gradients +6 values, 397,830 numbers, 1.6 MB on" \
  "^    all_reduce +dp +1.6 MB  10 values, joined" -- "$graphrun" plan vit.yaml
arena() { sed -n "s/^  $1\.all .* arena  *\([0-9.]* [kMG]B\),.*/\1/p" "$log"; }
check "a step keeps nothing of the encoder for gradients: it needs the memory of an evaluation" \
  test "$(arena train)" = "$(arena eval)" -a -n "$(arena train)"
check "... and one all_reduce" test 1 = "$(sed -n '/^program train/,/^program eval/s/.*all_reduce  *dp.*/&/p' "$log" | wc -l)"
expect "all of it is trained where nothing is frozen" 0 "^parameters +86,205,702 trained numbers" \
  "^  gradients +205 values, 86,205,702 numbers, 344.8 MB" -- "$graphrun" plan vit.yaml 'model.freeze=[]'
expect "patches of 16" 0 "^parameters +397,830 trained numbers of 86,196,486" -- \
  "$graphrun" plan vit.yaml model.params.patch=16
expect "a patch that does not divide the image" 65 "patch must divide the height and the width" -- \
  "$graphrun" plan vit.yaml model.params.patch=15
dropouts() { "$graphrun" plan vit.yaml model.params.layers=2 --dump=lint "$@" | grep -c '= dropout .*encoder'; }
check "a frozen encoder drops as it trains" test "$(dropouts)" = 6
check "... unless its dropout is 0" test "$(dropouts model.params.encoder_dropout=0.0)" = 0
counts
