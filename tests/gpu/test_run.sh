# test_run.sh - tests/gpu/run.sh itself, on the stand-ins: what it runs, counts, leaves out, stops and repeats.
#   test_run.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
use_gpus 2
GRAPHRUN_BUILD=${graphrun%/*}
export GRAPHRUN_BUILD

# A compute-sanitizer that finds something with one of its tools.
mkdir bin
cat >bin/compute-sanitizer <<'END'
#!/bin/sh
[ "$2" != "$FINDS" ] || exit 97
END
chmod +x bin/compute-sanitizer
PATH=$scratch/bin:$PATH
run() { limited "$source/tests/gpu/run.sh" -o results "$@"; }

run machine build queues sanitize
queues=$(sed -n 's/^queues: passed in .*: \([0-9]*\) passed, 0 failed.*/\1/p' "$log") # tests of that step
printf '%s\n' '^machine: passed' '^build: passed' "^queues: passed in .* ${queues:-some} passed, 0 failed" \
  '^sanitize: passed' "^$((${queues:-0} + 3)) passed, 0 failed, 0 skipped" >patterns
verdict "steps by name, and their counts" 0
check "a result names the GPU" grep -q '"name": "Stand-in GPU 0"' results/results.json
check "and has a row for each step" test "$(grep -c '^| [a-z]* | passed |' results/results.md)" = 4
if command -v python3 >/dev/null 2>&1; then check "it is JSON" python3 -m json.tool results/results.json /dev/null; fi
run queues sanitize
printf '%s\n' '^queues: has passed already' '^sanitize: has passed already' \
  "^$((queues + 1)) passed, 0 failed" >patterns
verdict "what has passed is left out" 0
FINDS=racecheck
export FINDS
run -f sanitize
printf '%s\n' '^sanitize: failed in .*: 0 passed, 1 failed' '^0 passed, 1 failed, 0 skipped' >patterns
verdict "-f repeats it, and what a sanitizer finds is a failure" 1
run sanitize
verdict "and what has failed is repeated" 1
run -l 1 -f loops
printf '%s\n' '^loops: failed' 'stopped after 1 s' '^0 passed, 1 failed' >patterns
verdict "a step that takes too long is stopped" 1
run -t 5 -f queues
printf '%s\n' '^queues: skipped: no time is left of 5 s' >patterns
verdict "no step begins without time" 0

if command -v python3 >/dev/null 2>&1; then
  BENCH_TINY=1 BENCH_MODELS=mlp
  export BENCH_TINY BENCH_MODELS
  run -l 380 bench
  printf '%s\n' '^bench: passed' '^1 passed, 0 failed' >patterns
  verdict "tools/bench-gpu measures a model" 0
  row() { python3 -c "import json
b = json.load(open('results/speed.json'))
assert b['ceilings']['copy_gb_s'] > 0 and b['ceilings']['matmul_tflop_s']['bf16'] > 0, b
for r in b['rows']:
    assert $1, r
assert [r['precision'] for r in b['rows']] == ['bf16', 'fp32'], b"; }
  check "... with the time of a step and what the host does for it" row \
    "r['graphrun_step_s'] > 0 and r['graphrun_step_s'] >= r['host_launch_s'] > 0 and len(r['rounds']['graphrun']) == 2"
  check "... the start with and without compiled kernels" row "r['cold_start_s'] > 0 and r['warm_start_s'] > 0"
  check "... and what the plan counts" row "r['launches'] > 10 and r['bytes'] > 0 and r['flop'] > 0 and r['predicted_h200_ms'] > 0"
  check "... and a finite loss" row "0 < r['loss'] < 3"
  check "... as a table" test "$(grep -c '^| mlp | [bf][fp]' results/speed.md)" = 2
  STANDIN_GPUS=0
  limited "$source/tools/bench-gpu" --build "${graphrun%/*}" --out none
  printf '%s\n' 'SKIPPED: there is no GPU' >patterns
  verdict "tools/bench-gpu without a GPU" 0
else
  skip "tools/bench-gpu" "there is no python3"
fi
STANDIN_GPUS=0
limited "$source/tests/gpu/run.sh" -o none
steps=$(sed -n 's/^all="\(.*\)"$/\1/p' "$source/tests/gpu/run.sh" | wc -w)
printf '%s\n' 'there is no GPU that this process may use' "^2 passed, 0 failed, $((steps - 2)) skipped" >patterns
verdict "without a GPU all is skipped" 0
run chatter
printf '%s\n' "there is no step 'chatter'; steps are: machine build" >patterns
verdict "an unknown step" 2
counts
