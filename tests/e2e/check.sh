# check.sh - `graphrun check`: what it finds of this machine, of limits that are set here, and of stand-ins for GPUs.
# Rates and sizes are the machine's, and are not looked at.
. "${0%/*}/lib.sh"
standin=${graphrun%/*}/standin

# look COMMAND...: the findings as JSON in $log, which has a line for each; the exit code in $code, errors in `errors`.
look() {
  timeout -k 5 "$limit" "$@" >"$(new_log)" 2>errors </dev/null
  code=$?
}
# finds NAME "SECTION" "FINDING" STATE VALUE HINT: there is such a line; patterns. HINT '': null.
finds() {
  finds_hint="\"[^\"]*$6"
  [ -n "$6" ] || finds_hint=null
  if grep -Eq "\"section\": \"$2\", \"name\": \"$3\", \"state\": \"$4\", \"value\": \"[^\"]*$5.*\", \"hint\": $finds_hint" "$log"; then
    ok "$1"
  else
    fail "$1" "there is no finding $2, $3, $4, /$5/, /$6/"
  fi
}
# ends NAME CODE: of the last look; starts is true for 0 alone.
ends() {
  starts=true
  [ "$2" = 0 ] || starts=false
  if [ "$code" = "$2" ] && grep -q "\"starts\": $starts" "$log"; then ok "$1"; else fail "$1" "exit code $code instead of $2"; fi
}
# Ranks may take their time, but where one that does not come is to be missed.
long=--timeout=100000
# Without mpirun ranks are threads, wherever the test runs, and nothing of a launcher can fail.
alone="env PATH=/nonexistent"
mkdir room && cd room || exit 1

# ---- The whole, as text and as JSON
# shellcheck disable=SC2086
limited $alone "$graphrun" check $long
for section in machine GPUs libraries limits disk network rates; do
  check "a section $section" grep -qx "$section" "$log"
done
check "... of findings in columns" grep -Eq '^[-! ]   matrix product    [0-9.]+ [GM]FLOP/s' "$log"
check "... of which those with a mark have hints" sh -c \
  '[ "$(grep -c "^[-!]   " "$1")" = "$(grep -c "^ *hint: " "$1")" ] && grep -q "^-   two ranks " "$1"' sh "$log"
look "$graphrun" check $long --json
case $code in 0 | 69) ok "exit code 0 or 69" ;; *) fail "exit code 0 or 69" "it is $code" ;; esac
for row in machine:processors machine:instructions machine:memory GPUs:cuda libraries:found  \
  "disk:current folder" network:interfaces "rates:matrix product" "rates:memory copy" "rates:two ranks" rates:all-reduce; do
  check "a finding $row" grep -q "\"section\": \"${row%:*}\", \"name\": \"${row#*:}\"" "$log"
done
if command -v python3 >/dev/null 2>&1; then
  cat >parse.py <<'PY'
import json, sys
found = json.load(open(sys.argv[1]), parse_constant=lambda word: 1 / 0)
for f in found["findings"]:
    assert f["state"] in ("ok", "limits", "fails") and (f["hint"] is None) == (f["state"] == "ok"), f
    assert (f["number"] is None) == (f["unit"] is None), f
assert found["starts"] == all(f["state"] != "fails" for f in found["findings"])
PY
  check "it is JSON, with hints for what is not ok" python3 parse.py "$log"
else
  skip "it is JSON" "no python3"
fi
expect "a word" 2 "'x' is one argument too many" -- "$graphrun" check x

# ---- Limits, and no mpirun
# shellcheck disable=SC3045
look sh -c 'ulimit -n 64; ulimit -l 16; PATH=/nonexistent exec "$1" check '$long' --json' sh "$graphrun"
finds "few open files" limits "open files" limits 64 'ulimit -n 4096'
finds "little locked memory" limits "locked memory" limits '0\.0 MB' 'ulimit -l unlimited'
finds "no mpirun" rates "two ranks" limits "as threads of one process; .*" 'threads train as well.*openmpi-bin'
check "... with a rate" grep -Eq '"name": "all-reduce", "state": "(ok|limits)", "value": "[0-9]' "$log"
ends "... training starts" 0

# shellcheck disable=SC3045
expect "a stack that is too small for kernels" 69 "launch error: the stack is limited to 512 kB here, and kernels need 2048" \
  "hint: run .ulimit -s 8192. first" -- sh -c 'ulimit -s 512; exec "$1" check' sh "$graphrun"
# shellcheck disable=SC3045
expect "... is raised where that may be" 0 -- sh -c 'ulimit -S -s 128; exec "$1" check' sh "$graphrun"

# ---- Where a run cannot write
look env --chdir=/proc PATH=/nonexistent "$graphrun" check $long --json
finds "a folder that has no room" disk "current folder" fails '' 'output.dir=DIR'
ends "... training fails" 69

# ---- Ranks that are processes
if has_mpi; then
  mkdir bin && printf '#!/bin/sh\necho "mpirun has no slots" >&2\n: >started\nexit 3\n' >bin/mpirun && chmod +x bin/mpirun
  expect "no place for the constants" 74 "none/here.yaml" -- env "PATH=$PWD/bin:$PATH" "$graphrun" check --calibrate=none/here.yaml
  check "... is found before ranks are started" test ! -e started
  look env "PATH=$PWD/bin:$PATH" "$graphrun" check --json
  finds "an mpirun that fails" rates all-reduce fails 'mpirun ended with exit code 3' 'mpirun -n 2 hostname'
  ends "... is code 69" 69
  check "... which it was asked for" test -e started
  check "... and an error" grep -q "launch error: training cannot start here: 1 finding forbids it" errors
  look env TMPDIR=/nonexistent "$graphrun" check --json
  finds "no folder for temporary files" disk "temporary files" limits '/nonexistent cannot be written to' 'TMPDIR=DIR'
  finds "... without which processes do not start" rates all-reduce fails "cannot create the launcher's folder" 'set TMPDIR'
  mkdir part && cp "$graphrun" "${graphrun%/*}"/graphrun_onednn.so part 2>/dev/null
  look "$PWD/part/graphrun" check $long --json
  finds "no module for MPI" libraries MPI limits 'not found: .*graphrun_mpi.so' 'install'
  finds "... ranks are threads" rates "two ranks" limits 'there is no graphrun_mpi.so' 'threads train'
else
  skip "ranks that are processes" "this build, or this machine, is without MPI"
fi

# ---- Constants of this machine, which plans are predicted from
look $alone "$graphrun" check --ranks=3 $long --json --calibrate=here.yaml
check "every pair of three ranks is tried" test "$(grep -Eo '"ranks": \[[01], [12]\], "hosts": \["[^"]+", "[^"]+"\], "seconds": [0-9.e-]+, "bytes_per_s": [0-9.e+]+' "$log" |
  cut -d: -f2 | cut -d, -f1,2 | sort -u | wc -l)" = 3
check "the slowest is named" grep -Eq '"name": "slowest pair".*, ranks [01] .[^ ]*. and [12] .[^ ]*.; of 3 pairs"' "$log"
for row in links:within.bandwidth links:within.latency links:collective "a thread:matmul_f32" "a thread:copy" "a thread:call"; do
  check "a constant $row" grep -q "\"section\": \"${row%:*}\", \"name\": \"${row#*:}\"" "$log"
done
check "... in the file, with its unit" grep -Eq '^  matmul_f32: [0-9.e+]+  # FLOP/s$' here.yaml
check "... which says where it was written" grep -q "^# By graphrun .* on $(uname -n) (.*) with 3 ranks" here.yaml
predicts() { "$graphrun" plan "$source/configs/digits.yaml" --ranks=1,2 --device=cpu --json "$@" 2>/dev/null; }
predicts --cluster=here.yaml >first.json
predicts --cluster=here.yaml >second.json
predicts >usual.json
check "a plan is predicted from it" cmp first.json second.json
check "... and not from another processor" sh -c '! cmp -s first.json usual.json'
"$graphrun" new made >/dev/null
if command -v python3 >/dev/null 2>&1; then
  expect "a configuration is measured beside what is predicted" 0 'load [0-9.]+ on' '^config +1( +[0-9.-]+){7}$' \
    '^config +2( +[0-9.-]+){7}$' -- sh -c 'cd made && GRAPHRUN=$1 "$2/tools/bench-scale" --cluster=../here.yaml --ranks=1,2 --steps=4 --rounds=1 config.yaml' \
    sh "$graphrun" "$source"
else
  skip "a configuration is measured beside what is predicted" "no python3"
fi
for name in $(sed -n 's/^GR_EFFORT([A-Z_]*, "\(.*\)").*/\1/p' "$source/ir/effort.def") \
  $(sed -n 's/^GR_PRODUCT([A-Z_0-9]*, "\(.*\)").*/\1_f32 \1_bf16 \1_f16/p' "$source/ir/effort.def") conversion copy fetch call step; do
  check "the rate of $name" grep -Eq "^  $name: [1-9][0-9.e+-]*  # " here.yaml
done
sed 's/^  fetch: .*/  fetch: 1000/' here.yaml >far.yaml
step_of() { "$graphrun" plan "$1" --ranks=2 --device=cpu --cluster="$2" --json 2>/dev/null | grep -Eo '"step_s": [0-9.e-]+'; }
check "what a small model reads stays in the caches" test "$(step_of made/config.yaml here.yaml)" = "$(step_of made/config.yaml far.yaml)"
check "... what a larger one reads is fetched" sh -c 'echo "$1" | grep -Eq ": [0-9]{4}"' sh "$(step_of "$source/configs/digits.yaml" far.yaml)"
"$graphrun" new ears --data=speech >/dev/null
check "... what a step of a loop reads is not" sh -c 'echo "$1" | grep -Eq ": [0-9]{4}[.]"' sh "$(step_of ears/config.yaml far.yaml)"
sed -i 's/^  element: .*/  element: 1/' here.yaml
check "... each constant counts" sh -c '"$1" plan "$2/configs/digits.yaml" --device=cpu --cluster=here.yaml --json 2>/dev/null | grep -Eq "\"step_s\": [0-9]{4}"' \
  sh "$graphrun" "$source"
expect "a word in place of a constant" 65 "here.yaml:[0-9:]+ .*cpu.call" -- \
  sh -c 'sed -i "s/^  call: .*/  call: fast/" here.yaml; "$1" plan "$2/configs/digits.yaml" --cluster=here.yaml' sh "$graphrun" "$source"
expect "one that is not known" 65 "calls" -- \
  sh -c 'sed -i "s/^  call: .*/  calls: 1/" here.yaml; "$1" plan "$2/configs/digits.yaml" --cluster=here.yaml' sh "$graphrun" "$source"
expect "no place for the file" 74 "none/here.yaml" -- $alone "$graphrun" check --calibrate=none/here.yaml

# ---- Ranks of another launcher
new_port
by_hand="WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port"
# shellcheck disable=SC2086
env RANK=1 $by_hand timeout -k 5 "$limit" "$graphrun" check $long >other.log 2>&1 </dev/null &
# shellcheck disable=SC2086
look env RANK=0 $by_hand "$graphrun" check $long --json
wait
finds "ranks of a launcher" rates "2 ranks" ok 'of a launcher, on 1 machine' ''
check "... exchange messages" grep -Eq '"ranks": \[0, 1\].*"bytes_per_s": [0-9]' "$log"
check "... rank 0 reports" test ! -s other.log
check "... what they agree on is said once" test "$(grep -c '"name": "threads"' "$log")" = 1
check "... with the ranks that have it" grep -Eq '"name": "threads", .*"ranks": "0-1", ' "$log"
# shellcheck disable=SC2086,SC3045
env RANK=1 $by_hand timeout -k 5 "$limit" sh -c 'ulimit -n 64; cd /proc && exec "$1" check '$long sh "$graphrun" >other.log 2>&1 </dev/null &
# shellcheck disable=SC2086
look env RANK=0 $by_hand "$graphrun" check $long --json
wait
finds "a limit of another rank" limits "open files" limits 64 'ulimit -n 4096'
check "... is of that rank" grep -Eq '"name": "open files", "state": "limits", .*"ranks": "1", ' "$log"
finds "... which cannot write" disk "current folder" fails '' 'output.dir=DIR'
ends "... training fails" 69
check "... as one rank says" sh -c 'test ! -s other.log && grep -q "1 finding forbids it" errors'
# shellcheck disable=SC2086
env RANK=1 $by_hand timeout -k 5 "$limit" sh -c 'ulimit -n 64; exec "$1" check '$long sh "$graphrun" >other.log 2>&1 </dev/null &
# shellcheck disable=SC2086
limited env RANK=0 $by_hand "$graphrun" check $long
wait
check "as text ranks are said before a value" sh -c \
  'grep -Eq "^-   open files +rank 1: 64$" "$1" && grep -Eq "^    size of a file +ranks 0-1: " "$1"' sh "$log"
look env WORLD_SIZE=2 RANK=0 "$graphrun" check --json
finds "variables without an address keep their hint" rates all-reduce fails 'rank 0: .*MASTER_ADDR is not' 'torchrun sets them; .*unset WORLD_SIZE and RANK'
ends "... training fails" 69
# shellcheck disable=SC2086
look env RANK=0 $by_hand "$graphrun" check --json
finds "a rank that does not come" rates all-reduce fails 'rank 0: .*rank 1' '.*'
ends "... is named within 10 s" 69
check "... where --timeout does not say otherwise" grep -q '"hint": "a rank has 10 s to answer (--timeout): ' "$log"
# shellcheck disable=SC2086
look env RANK=0 $by_hand "$graphrun" check --timeout=1 --json
finds "... which it may" rates all-reduce fails 'rank 1 did not join within 1 s' 'a rank has 1 s to answer'

# ---- Ranks on two machines, which a firewall keeps apart once both have joined
. "${0%/*}/machines.sh"
checks() { # MACHINE RANK COMMAND...
  at=$1 r=$2
  shift 2
  ip netns exec "$at" unshare --uts sh -c 'hostname "$1" && shift && exec "$@"' sh "$at" env RANK="$r" WORLD_SIZE=2 \
    MASTER_ADDR=10.77.0.1 MASTER_PORT=29555 timeout -k 5 "$limit" "$graphrun" check --json "$@"
}
if two_machines 2>/dev/null && command -v iptables >/dev/null && ip netns exec $a iptables -L >/dev/null 2>&1; then
  checks $b 1 $long >other.log 2>&1 </dev/null &
  checks $a 0 $long --calibrate=two.yaml >"$(new_log)" 2>&1 </dev/null
  wait
  check "ranks of two machines exchange messages" grep -q "\"ranks\": \[0, 1\], \"hosts\": \[\"$a\", \"$b\"\]" "$log"
  check "... each machine has its findings" grep -Eq "\"value\": \"$b, Linux.*\"ranks\": \"1\"" "$log"
  check "... the file has what is between them" sh -c 'grep -q "^nodes: 2 " two.yaml && sed -n "/^between:/,/^cpu:/p" two.yaml | grep -Eq "^  bandwidth: [0-9]"'
  ip netns exec $a iptables -A INPUT -p tcp --syn ! --dport 29555 -j DROP
  checks $b 1 --timeout=30 >other.log 2>&1 </dev/null &
  checks $a 0 --timeout=30 >"$(new_log)" 2>&1 </dev/null
  wait
  # Rank 0 hears that from rank 1, unless a busy machine keeps rank 1 from saying it.
  finds "a machine that cannot connect is named" rates all-reduce fails \
    '(rank 1 has failed: cannot connect to rank 0 at 10.77.0.1, port [0-9]+: |rank 0: rank 1 did not connect within 30 s)' 'firewall'
  check "... by the other one, too" grep -q 'rank 1: cannot connect to rank 0 at 10.77.0.1' other.log
else
  skip "ranks on two machines" "needs root, ip, unshare and iptables"
fi
no_machines

# ---- Small file systems
if unshare -m true 2>/dev/null; then
  look unshare -m sh -c 'mount -t tmpfs -o size=1m none /dev/shm && mkdir tmp && mount -t tmpfs -o size=2m none tmp &&
    TMPDIR=$PWD/tmp PATH=/nonexistent exec "$1" check '$long' --json' sh "$graphrun"
  finds "a small /dev/shm" disk /dev/shm limits '1\.0 MB' '--shm-size'
  finds "a small folder for temporary files" disk "temporary files" limits '2\.1 MB' 'TMPDIR=DIR'
else
  skip "small file systems" "it takes a mount namespace"
fi

# ---- GPUs
if [ -f "$standin/libcuda.so.1" ] && ! sanitised; then
  mkdir lib && ln -s "$standin"/*.so* lib
  with_gpus="env LD_LIBRARY_PATH=$PWD/lib STANDIN_GPUS=2 STANDIN_TIMEOUT=300 PATH=/nonexistent"
  # shellcheck disable=SC2086
  look $with_gpus "$graphrun" check $long --json
  finds "two GPUs" GPUs cuda ok 2 ''
  finds "... with names, memory and links" GPUs "cuda 1" ok 'Stand-in GPU 1, .* GB free, direct links to 1 of 1' ''
  ends "... training starts" 0
  rm lib/libnccl.so.2 && echo broken >lib/libnccl.so.2
  # shellcheck disable=SC2086
  look $with_gpus STANDIN_DRIVER=12080 "$graphrun" check $long --json
  finds "several without NCCL" libraries NCCL fails 'not found' 'distributed.ranks=1'
  finds "an old driver" GPUs "cuda 0" fails 'the NVIDIA driver is for CUDA 12.8' 'install driver'
  ends "... training fails" 69
else
  skip "GPUs" "the stand-ins are not built"
fi
counts
