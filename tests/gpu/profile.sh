# profile.sh - profiles and traces on the device cuda: captured programs measured by CUPTI, with what its records lack
# and whom it refuses; without it nodes one by one.   profile.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
use_gpus 1

steps="training.max_steps=6 training.eval_every=0 logging.show_samples=0 training.final_train_eval=false"
gpu() { # gpu OUT [key=value ...]
  # shellcheck disable=SC2086
  tones "$@" device=cuda $steps
}
one_by_one='nodes on the GPU are timed one by one, each with a wait and the cost of a launch:'
lacks="kernels, copies and fills of the GPU's programs"
# spans FILE LANE: begin, end and name of each, by the name of the lane.
spans() {
  lane=$(sed -n "s/.*\"tid\":\([0-9]*\),\"args\":{\"name\":\"$2\"}.*/\1/p" "$1")
  sed -n "s/.*{\"name\":\"\(.*\)\",\"ph\":\"X\",\"pid\":[0-9]*,\"tid\":$lane,\"ts\":\([0-9.]*\),\"dur\":\([0-9.]*\).*/\2 \3 \1/p" "$1" |
    awk '{ printf "%.3f %.3f %s\n", $1, $1 + $2, $3 }' | sort -n
}
# nodes FILE LANE: which there are, by their ops and places in the model.
nodes() {
  lane=$(sed -n "s/.*\"tid\":\([0-9]*\),\"args\":{\"name\":\"$2\"}.*/\1/p" "$1")
  sed -n "s/.*{\"name\":\"\(.*\)\",\"ph\":\"X\",\"pid\":[0-9]*,\"tid\":$lane,.*\"args\":{\"of\":\"\([^\"]*\)\".*/\1 \2/p" "$1" | sort -u
}
same_nodes() { nodes "$1" "$2" >a && nodes "$3" "$4" >b && [ "$(wc -l <a)" -gt 20 ] && cmp a b; }
one_after_the_other() { spans "$1" "$2" | awk '$1 < end - 0.0015 { exit 1 } { end = $2 } END { exit !NR }'; }
# beside FILE LANE OTHER: spans of the one are in time beside spans of the other.
beside() {
  spans "$1" "$2" >a
  spans "$1" "$3" >b
  awk 'NR == FNR { from[NR] = $1; to[NR] = $2; n = NR; next } { for (i = 1; i <= n; i++) if (from[i] < $2 && $1 < to[i]) found = 1 }
    END { exit !found }' a b
}
profiled() { sed -n '/us each/,/all of this rank/p' "$log" >"$1"; }

gpu plain
ended_well "a run on a GPU"
mkdir broken && echo nothing >broken/libcupti.so.13 && cp broken/libcupti.so.13 broken/libcupti.so.12
LD_LIBRARY_PATH=$PWD/broken:$LD_LIBRARY_PATH gpu host profile.steps=3:5
ended_well "a trace without CUPTI"
check "... shows nodes one by one" one_after_the_other host/trace.0.json compute
check "... computes the same" same_metrics plain host
gpu traced profile.steps=3:5
ended_well "a trace"
if ! [ -e "$standin/libcupti.so.13" ] && grep -q "$one_by_one" "$log"; then
  skip "times by CUPTI" "$(grep -o "$one_by_one.*" "$log")"
  counts
  exit
fi
check "... lacks nothing" sh -c "! grep -q -e \"$one_by_one\" -e \"$lacks\" '$log'"
check "... computes the same" same_metrics plain traced
check "... has the nodes that there are one by one" same_nodes host/trace.0.json compute traced/trace.0.json 'GPU: compute'
check "... one after the other" one_after_the_other traced/trace.0.json 'GPU: compute'
check "... uploads and downloads" test "$(spans traced/trace.0.json 'GPU: uploads and downloads' | awk '{ print $3 }' | sort -u | xargs)" = "download upload"
check "... and none on the host" test -z "$(nodes traced/trace.0.json compute)"
gpu profiled --profile
profiled by_gpu
ended_well "a profile"
check "... computes the same" same_metrics plain profiled
# 6 steps of 2 buckets, whose first runs are not counted.
check "... counts runs of nodes, not kernels" awk '$NF == "adam" { found = $3 == 4 } END { exit !found }' by_gpu
check "... and their rates" awk '$NF == "matmul" { found = $5 > 0 && $6 > 0 } END { exit !found }' by_gpu
check "... of programs that are captured" grep -Eq ' [1-9][0-9]* programs? captured' "$log"

if ! real || [ "${GPUS:-1}" -gt 1 ]; then
  use_gpus 2
  gpu fsdp distributed.strategy=fsdp distributed.ranks=2 distributed.backend=loopback profile.steps=3:5
  ended_well "a trace of two GPUs"
  check "... lacks nothing" sh -c "! grep -q -e \"$one_by_one\" -e \"$lacks\" '$log'"
  for rank in 0 1; do
    trace=fsdp/trace.$rank.json
    check "... rank $rank: kernels one after the other" one_after_the_other "$trace" 'GPU: compute'
    check "... rank $rank: gathers" one_after_the_other "$trace" 'GPU: collectives that gather'
    check "... rank $rank: sums, beside kernels" beside "$trace" 'GPU: compute' 'GPU: collectives that sum'
  done
  check "... the ranks have the same nodes" same_nodes fsdp/trace.0.json 'GPU: compute' fsdp/trace.1.json 'GPU: compute'
  use_gpus 1
fi
if real; then
  counts
  exit
fi

# ---- What the stand-in refuses, or leaves out
# lacking NAME WHAT PATTERN: a trace that says so once, and is written all the same.
lacking() {
  STANDIN_CUPTI=$2 gpu "lacking.${2%:*}" profile.steps=3:5
  printf '%s\n' "$3" >patterns
  verdict "$1" 0
  check "... computes the same" same_metrics plain "lacking.${2%:*}"
  check "... and is written" grep -q '"spans_left_out":0' "lacking.${2%:*}/trace.0.json"
}
LD_LIBRARY_PATH=$PWD/broken:$LD_LIBRARY_PATH gpu broken --profile
printf '%s\n' "$one_by_one CUPTI .* is not there: .*; install the CUDA toolkit's package cuda-cupti" 'us each' >patterns
verdict "a profile without CUPTI says so, and the cure" 0
check "... once" test "$(grep -c "$one_by_one" "$log")" = 1
lacking "who may not measure is told" refuse "$one_by_one CUPTI fails: cuptiActivityEnable returns CUPTI_ERROR_INSUFFICIENT_PRIVILEGES; .*NVreg_RestrictProfilingToAdminUsers"
check "... and measures one by one" same_nodes host/trace.0.json compute lacking.refuse/trace.0.json compute
lacking "so is who runs under another profiler" busy "$one_by_one CUPTI fails: cuptiSubscribe returns .*_MULTIPLE_SUBSCRIBERS_.* Nsight Systems"
lacking "dropped records are counted" drop:7 "of [1-9][0-9]* $lacks [1-9][0-9]* have no time; CUPTI's records: [1-9][0-9]* dropped for want of memory$"
lacking "so are records without times" untimed:5 "of [1-9][0-9]* $lacks [1-9][0-9]* have no time; CUPTI's records: [1-9][0-9]* without times$"
lacking "... of unknown kinds" unknown:9 "of [1-9][0-9]* $lacks 0 have no time; CUPTI's records: [1-9][0-9]* of unknown kinds$"
check "... between which all others are found" same_nodes host/trace.0.json compute lacking.unknown/trace.0.json 'GPU: compute'
lacking "... and what cannot be read" unreadable:100 "[1-9][0-9]* have no time; CUPTI's records: [1-9][0-9]* that cannot be read"
counts
