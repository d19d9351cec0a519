# memory.sh - what a run needs is compared with the memory that is free before any is allocated. Sizes
# are beyond all machines, or those of a limit that the test sets.
. "${0%/*}/lib.sh"
for i in 1 2 3 4 5 6 7 8; do echo "$i,2,3,4,5,6,7,8,$((i % 2))"; done >rows.csv
# model NAME OUT: two layers of so many features.
model() {
  cat >"$1.yaml" <<Y
inputs: {x: {shape: [n, 8], dtype: f32}, y: {shape: [n], dtype: i32}}
nodes:
  - h: {linear: x, out: $2, name: first}
  - h: {linear: h, out: ${3:-$2}, name: second}
  - z: {linear: h, out: 2, name: head}
  - loss: {cross_entropy: [z, y]}
train: loss
Y
}
model huge 1000000
model long 1000000 8
model wide 4096
cat >run.yaml <<Y
model: {graph: $scratch/huge.yaml}
data: {source: table, validation_fraction: 0.0, table: {path: $scratch/rows.csv, header: false, label: c8}}
distributed: {threads: 1}
training: {batch_size: 8, optimizer: adam, lr: 0.1, max_epochs: 1}
Y
does_not_fit='needs? [0-9.]+ [GT]B of memory on this machine \([0-9.]+ [GT]B planned, [0-9.]+ [GT]B to save checkpoints from'

# ---- Planned
expect "a plan for another machine is no error" 0 "^memory  " "^memory here 2 ranks $does_not_fit" \
  'it does not fit by [0-9.]+ [GT]B; ' 'distributed.strategy=zero1 needs [0-9.]+ [GT]B less' \
  'distributed.strategy=fsdp needs [0-9.]+ [GT]B less' 'distributed.ranks=1 needs [0-9.]+ [GT]B less' \
  -- "$graphrun" plan run.yaml --ranks=2
"$graphrun" plan run.yaml --ranks=2 >out 2>/dev/null
check "... what is of this machine is not on standard output" sh -c '! grep -q "memory here" out'
expect "... nor without a copy for checkpoints" 0 'checkpoint.async=false needs [0-9.]+ [GT]B less' -- "$graphrun" plan run.yaml --ranks=2
expect "... which the key leaves out" 0 '\([0-9.]+ [GT]B planned, [0-9.]+ [GT]B to save' -- "$graphrun" plan run.yaml --ranks=2 checkpoint.async=false
check "... and is not offered again" sh -c '! grep -q "checkpoint.async=false needs" "$1"' sh "$log"
expect "a large batch is offered micro-steps" 0 'training.accumulate=[0-9]+ needs [0-9.]+ [GT]B less' \
  -- "$graphrun" plan run.yaml "model.graph=$scratch/long.yaml" training.batch_size=1000000 --ranks=1
expect "what fits" 0 '^memory here 1 rank needs [0-9.]+ MB of memory on this machine \(.*\): it fits, ' \
  -- "$graphrun" plan run.yaml "model.graph=$scratch/wide.yaml" --ranks=1

# ---- Begun
for how in '1' '2 distributed.backend=loopback' 2; do
  # shellcheck disable=SC2086
  expect "ranks=$how: it ends before it begins" 69 "launch error: [12] ranks? $does_not_fit" 'GB are free \(' \
    'hint: .*memory.check=warn' -- "$graphrun" run.yaml output.dir=none distributed.ranks=$how
  check "... and leaves nothing" test ! -e none
done

# ---- A limit of the process. The sanitizers take more address space than any.
if sanitised; then
  skip "ulimit -v" "a sanitizer"
  counts
  exit
fi
expect "ulimit -v" 69 'launch error: 2 ranks need 3[0-9]+.[0-9] MB .*and [0-9.]+ MB are free \(`ulimit -v`\)' \
  'hint: distributed.ranks=1 needs ' -- sh -c \
  "ulimit -v 300000; exec '$graphrun' run.yaml model.graph=$scratch/wide.yaml output.dir=v training.optimizer=sgd distributed.ranks=2 distributed.backend=loopback"
check "... and leaves nothing" test ! -e v
expect "... with memory.check=warn it is tried" 69 'warning: 2 ranks need .*`ulimit -v`' 'while allocating' -- sh -c \
  "ulimit -v 300000; exec '$graphrun' run.yaml model.graph=$scratch/wide.yaml output.dir=v training.optimizer=sgd memory.check=warn distributed.ranks=2 distributed.backend=loopback"
counts
