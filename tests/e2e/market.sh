# market.sh - prices of tickers as tables that models gather from: on any number of ranks, resumed, with other
# data; and what is wrong with them, at its place.
. "${0%/*}/lib.sh"

expect "prices are made" 0 "prices: 3 tickers, 400 days" -- \
  "$source/tools/market-data" --tickers=3 --days=400 --swing=0.08 --reversion=0.3 prices
"$source/tools/market-data" --tickers=3 --days=400 --swing=0.08 --reversion=0.3 again >/dev/null
check "the same ones each time" cmp prices/T02.csv again/T02.csv
"$source/tools/market-data" --tickers=3 --days=400 --seed=2 again >/dev/null
check "others with another seed" sh -c '! cmp -s prices/T02.csv again/T02.csv'
expect "a number that is none" 2 "is not a number" -- "$source/tools/market-data" --days=many

# The next day's change, of the features of a day
cat >model.yaml <<YAML
params: {tickers: 1, features: 1, days: 1, train_days: 1}
inputs: {day: {shape: [n], dtype: i32}}
buffers:
  close: {shape: [days, tickers], init: data}
  features: {shape: [days, tickers * features], init: data}
nodes:
  - next: {add: [day, 1]}
  - next: {min: [next, days - 1]}
  - p: {embedding: [day, close]}
  - q: {embedding: [next, close]}
  - r: {div: [q, p]}
  - r: {log: r}
  - r: {scale: r, by: 20}
  - x: {embedding: [day, features]}
  - y: {linear: x, out: tickers, gain: 0.01, name: l}
  - loss: {mse: [y, r]}
train: loss
YAML
cat >market.yaml <<YAML
model: {graph: model.yaml}
data: {source: market, market: {path: prices, turbulence_days: 60}, validation_fraction: 0.25}
training: {batch_size: 30, optimizer: adam, lr: 3e-3, max_epochs: 4, eval_every: 4, seed: 3}
distributed: {ranks: 1}
logging: {show_samples: 0}
YAML
expect "the report of the data" 0 "^train +300 days" "^validation +100 days" "3 tickers on 400 days, 2010-01-04 to" \
  "turbulence exceeds its limit, [0-9.]*, on 2[2-5] training days" -- "$graphrun" data inspect market.yaml
expect "tables in the plan" 0 "tables +2 states, 7,200 numbers" -- "$graphrun" plan market.yaml

for ranks in 1 2 3; do
  expect "trains on $ranks" 0 "validation set: loss" -- \
    "$graphrun" market.yaml output.dir=on$ranks distributed.ranks=$ranks
done
same_losses() {
  awk -F '[:,]' '{ for (i = 1; i < NF; i++) if ($i ~ /"loss"/) print $(i + 1) }' "$1/metrics.jsonl" >"$1.losses"
  paste one.losses "$1.losses" | pairs_within 1e-5 30
}
awk -F '[:,]' '{ for (i = 1; i < NF; i++) if ($i ~ /"loss"/) print $(i + 1) }' on1/metrics.jsonl >one.losses
check "the same losses on 2" same_losses on2
check "the same losses on 3" same_losses on3
value() { sed -n 's/.*validation set: loss \([0-9.]*\).*/\1/p' "$1"; }
check "it learns that prices return" compare "$(value on1/run.log)" 0 1.5 'b < a && a < c'

# A checkpoint has no tables: it takes those of the data.
expect "no table in the checkpoint" 0 "l.weight" -- "$graphrun" ckpt show "$(ls -d on1/checkpoints/step-* | tail -1)"
check "nor their names" sh -c '! grep -q "close\|features" "$1"' sh "$log"
expect "half of a run" 0 "resume" -- sh -c '"$1" market.yaml output.dir=half training.max_epochs=2 && "$1" market.yaml output.dir=half' sh "$graphrun"
check "resumed, bit for bit" sh -c 'tail -1 half/metrics.jsonl | sed "s/.*\"loss\"/loss/; s/, \"lr.*//" >a; tail -1 on1/metrics.jsonl | sed "s/.*\"loss\"/loss/; s/, \"lr.*//" >b; cmp a b'
"$source/tools/market-data" --tickers=3 --days=350 --seed=4 other >/dev/null
expect "of other days, another number of them" 0 "validation set: loss" -- \
  "$graphrun" eval on1 data.market.path=other

# Files beside the prices belong to the folder that the run was made of, by their names as well.
mkdir noted && cp prices/*.csv noted && echo text >noted/a.txt
expect "a run of a folder with a note" 0 -- "$graphrun" market.yaml output.dir=of_noted data.market.path=noted training.max_epochs=1
expect "... again" 0 'nothing left to do' -- "$graphrun" market.yaml output.dir=of_noted data.market.path=noted training.max_epochs=1
mv noted/a.txt noted/b.txt
expect "... is another one when the note has another name" 78 'data.market.path has other contents' -- \
  "$graphrun" market.yaml output.dir=of_noted data.market.path=noted training.max_epochs=1

# What is wrong
mkdir empty bad
expect "no such folder" 66 "cannot open the folder 'nowhere'" "one CSV file for each ticker" -- "$graphrun" market.yaml data.market.path=nowhere
expect "an empty folder" 66 "there is no CSV file in 'empty'" -- "$graphrun" market.yaml data.market.path=empty
cp prices/T00.csv bad/A.csv
sed 's/close/end/' prices/T01.csv >bad/B.csv
expect "no such column" 66 "bad/B.csv:1:1: .*there is no column 'close'" -- "$graphrun" market.yaml data.market.path=bad
sed '7s/,[^,]*$//' prices/T01.csv >bad/B.csv
expect "a line that is too short" 66 "bad/B.csv:7" -- "$graphrun" market.yaml data.market.path=bad
sed '9s/^[^,]*/2009-01-01/' prices/T01.csv >bad/B.csv
expect "days that do not ascend" 66 "bad/B.csv:9:1: .*2009-01-01 does not come after" -- "$graphrun" market.yaml data.market.path=bad
sed '5s/,[0-9.]*,/,nan,/' prices/T01.csv >bad/B.csv
expect "a price that is none" 66 "bad/B.csv:5:1: .*the open of .* is missing" -- "$graphrun" market.yaml data.market.path=bad
sed '5d;7d' prices/T01.csv >bad/B.csv
expect "days that one ticker lacks" 0 "^days that others lack are left out: A 2$" -- "$graphrun" market.yaml data.market.path=bad output.dir=fewer training.max_epochs=1
sed 's/^20/30/' prices/T01.csv >bad/B.csv
expect "no day in common" 66 "have 0 days in common" -- "$graphrun" market.yaml data.market.path=bad
sed 's/close: {shape: \[days, tickers\]/close: {shape: [days + 1, tickers]/' model.yaml >odd.yaml
expect "a table of another size" 65 "odd.yaml:4:3: .*'close' is f32\[401,3\], and the table of the data f32\[400,3\]" -- \
  "$graphrun" plan market.yaml model.graph=odd.yaml
sed 's/close/closes/g' model.yaml >odd.yaml
expect "no such table" 65 "odd.yaml:4:3: .*the data have no table 'closes'" "did you mean 'close'" -- \
  "$graphrun" plan market.yaml model.graph=odd.yaml

counts
