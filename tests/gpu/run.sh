#!/bin/sh
# run.sh - tests and measures the device cuda on this machine's GPUs, with NVIDIA's own libraries. It needs no network.
#
#   tests/gpu/run.sh [-o FOLDER] [-t SECONDS] [-l SECONDS] [-f] [STEP ...]
#
#   -o FOLDER   where results go: for each step a log and a line of JSON, all in results.json and results.md (docs/gpu)
#   -t SECONDS  of all steps together: what is left bounds each step, and steps without time are skipped
#   -l SECONDS  of each step, instead of its own limit
#   -f          also repeats steps that have passed with these files on this GPU, which are left out otherwise
#   STEP        of: machine build ops gemm convolution attention loops queues train whisper profile nccl ranks faults sanitize bench; all by default, in this order
#
# GRAPHRUN_BUILD=FOLDER is a build that is there already, such as tools/portable makes: nothing is compiled then.
# BENCH_MODELS=lmu_asr,... are those that the step bench measures; BENCH_TINY=1 makes them small, for the test of this script.
# Closes with one line: N passed, N failed, N skipped.
set -u
source=$(cd "${0%/*}/../.." && pwd) || exit 1
all="machine build ops gemm convolution attention loops queues train whisper profile nccl ranks faults sanitize bench"

limit_of() { # seconds
  case $1 in
    machine) echo 60 ;;
    build | bench) echo 400 ;;
    ops | train | whisper | profile | sanitize) echo 240 ;;
    *) echo 120 ;;
  esac
}

# ---- What is on this machine -------------------------------------------------------------------------

# Folders that libraries of NVIDIA's may be in, beside those that the loader searches.
library_folders() {
  for at in /usr/local/nvidia/lib64 /usr/local/nvidia/lib "${CUDA_HOME:-/usr/local/cuda}/lib64" \
    "${CUDA_HOME:-/usr/local/cuda}/extras/CUPTI/lib64" /usr/local/cuda/compat; do
    echo "$at"
  done
  python3 -c 'import site, sys, glob
for at in site.getsitepackages() + [p for p in sys.path if p.endswith("-packages")]:
    print("\n".join(glob.glob(at + "/nvidia/*/lib")))' 2>/dev/null
}
loader_finds() { # NAME*: in the loader's cache or LD_LIBRARY_PATH
  ldconfig -p 2>/dev/null | grep -q "^[[:space:]]*$1" && return
  old_ifs=$IFS
  IFS=:
  for at in ${LD_LIBRARY_PATH-}; do
    for found in "$at/$1"*; do [ -e "$found" ] && IFS=$old_ifs && return; done
  done
  IFS=$old_ifs
  return 1
}
find_libraries() {
  for name in libcuda.so.1 libnvrtc.so.1 libcublasLt.so.1 libcudnn.so.9 libnccl.so.2 libcupti.so.1; do
    loader_finds $name && continue
    for at in $(library_folders); do
      for found in "$at/$name"*; do
        [ -e "$found" ] || continue
        LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$at
        break 2
      done
    done
  done
  export LD_LIBRARY_PATH
}
# Headers of the toolkit: of an installation, or of Python packages.
find_headers() {
  [ -e "${CUDA_HOME:-/usr/local/cuda}/include/cuda.h" ] && return
  for at in $(library_folders); do
    if [ -e "${at%/lib}/include/cuda.h" ]; then
      CUDA_HOME=${at%/lib}
      export CUDA_HOME
      return
    fi
  done
}
has() { command -v "$1" >/dev/null 2>&1; }
count_gpus() { "$build/tests/bench_gpu" machine 2>/dev/null | grep -o '"name"' | wc -l; }

# ---- Steps: each is a process of its own. 77: skipped, for the reason that it prints last --------------

leave_out() {
  echo "SKIPPED: $1"
  exit 77
}
step_machine() {
  date -u
  uname -a
  grep -m1 'model name' /proc/cpuinfo
  echo "$(nproc) processors, $(awk '/MemTotal/ { print int($2 / 1000) }' /proc/meminfo) MB of memory"
  if has nvidia-smi; then nvidia-smi; else echo "no nvidia-smi"; fi
  for tool in cmake ninja make gcc g++ nvcc compute-sanitizer python3; do echo "$tool: $(command -v $tool || echo none)"; done
  echo "LD_LIBRARY_PATH=$LD_LIBRARY_PATH"
  python3 -c 'import torch; print("torch", torch.__version__, "cuda", torch.version.cuda, torch.cuda.is_available())' 2>&1 | tail -n 1
}
step_build() {
  if [ -n "${GRAPHRUN_BUILD:-}" ]; then
    [ -x "$build/graphrun" ] || { echo "GRAPHRUN_BUILD=$GRAPHRUN_BUILD has no graphrun" && exit 1; }
    "$build/graphrun" ops tanh >/dev/null && echo "using $build"
    exit
  fi
  for tool in cmake cc; do
    has $tool || { echo "there is no $tool: GRAPHRUN_BUILD=FOLDER names a build; tools/portable makes one elsewhere" && exit 1; }
  done
  if ! [ -f "$build/CMakeCache.txt" ]; then
    cmake -S "$source" -B "$build" -DGR_MPI=OFF -DGR_ONEDNN=OFF -DGR_SNDFILE=OFF -DGR_SOXR=OFF || exit 1
  fi
  cmake --build "$build" -j "$(nproc)" --target graphrun make_tones bench_gpu test_gpu_ops test_cublaslt test_gpu_gemm \
    test_gpu_loops test_gpu_small test_gpu_rows test_gpu_queues test_gpu_timings test_nccl
}
step_ops() { "$build/tests/test_gpu_ops"; }
step_gemm() { "$build/tests/test_cublaslt" table && "$build/tests/test_gpu_gemm"; }
step_convolution() { script convolution "$build/tests/test_gpu_ops"; }
step_attention() { script attention "$build/tests/test_gpu_ops"; }
step_loops() { "$build/tests/test_gpu_loops" && "$build/tests/test_gpu_small" && "$build/tests/test_gpu_rows"; }
step_queues() { "$build/tests/test_gpu_queues"; }
step_nccl() {
  [ -x "$build/tests/test_nccl" ] || leave_out "it was built without NCCL's header"
  loader_finds libnccl.so.2 || leave_out "libnccl.so.2 is not on this machine"
  "$build/tests/test_nccl"
}
script() { sh "$source/tests/gpu/$1.sh" "$build/graphrun" "$source" "$build/tests/make_tones" - "${2-}"; }
step_train() { script train; }
step_whisper() { script whisper; }
step_profile() {
  "$build/tests/test_gpu_timings" && script profile
}
step_ranks() { script ranks; }
step_faults() { script faults; }
step_sanitize() {
  has compute-sanitizer || PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin
  has compute-sanitizer || leave_out "compute-sanitizer is not on this machine"
  compute-sanitizer --tool memcheck "$build/tests/bench_gpu" ceilings 64 1 >"$out/sanitize.try" 2>&1
  if grep -q 'Device not supported' "$out/sanitize.try"; then leave_out "compute-sanitizer does not support this machine's GPU"; fi
  rm -f "$out/sanitize.try"
  bad=0
  check() { # TOOL PROGRAM [ARG ...]
    echo "---- $*"
    GRAPHRUN_CUDA_GRAPH=0 timeout -k 5 100 compute-sanitizer --tool "$1" --error-exitcode 97 --print-limit 20 "$build/tests/$2" \
      "$3" "${4-}" || bad=$((bad + 1))
  }
  for op in softmax layer_norm cross_entropy ctc_loss_with_residuals embedding_grad dropout; do check memcheck test_gpu_ops cases $op; done
  for op in softmax layer_norm ctc_loss_with_residuals embedding_grad; do check racecheck test_gpu_ops cases $op; done
  for op in layer_norm ctc_loss_with_residuals; do check synccheck test_gpu_ops cases $op; done
  check memcheck test_gpu_loops ""
  [ $bad = 0 ] || echo "$bad of these failed"
  [ $bad = 0 ]
}
step_bench() {
  has python3 || leave_out "tools/bench-gpu needs python3"
  "$source/tools/bench-gpu" --build "$build" --out "$out" --limit "$limit" ${BENCH_TINY:+--tiny} ${BENCH_MODELS:+--only $BENCH_MODELS}
}

# ---- Running them ------------------------------------------------------------------------------------

if [ "${1-}" = --step ]; then
  "step_$2"
  exit
fi
out=$source/docs/gpu budget=0 one= again=
while getopts o:t:l:f option; do
  case $option in
    o) out=$OPTARG ;;
    t) budget=$OPTARG ;;
    l) one=$OPTARG ;;
    f) again=1 ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
steps=${*:-$all}
for step in $steps; do
  case " $all " in
    *" $step "*) ;;
    *) echo "run.sh: there is no step '$step'; steps are: $all" >&2 && exit 2 ;;
  esac
done
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
build=${GRAPHRUN_BUILD:-$source/build-gpu}
case $build in /*) ;; *) build=$(pwd)/$build ;; esac
GRAPHRUN_CACHE=${GRAPHRUN_CACHE-${TMPDIR:-/tmp}/graphrun-kernels} # the first step that compiles a kernel does so for all
export source out build GRAPHRUN_CACHE
find_libraries
find_headers
began=$(date +%s) GPUS=0
if [ -x "$build/tests/bench_gpu" ]; then GPUS=$(count_gpus); fi
export GPUS

# What a result is of: the GPU and the files that were run.
key() {
  { "$build/tests/bench_gpu" machine; cat "$build/graphrun" "$build"/graphrun_cuda.so "$build"/tests/test_gpu_ops; } 2>/dev/null | cksum | tr ' ' -
}
# counts LOG CODE: passed, failed and skipped tests; a step without counts is one.
counts_of() {
  awk -v code="$2" '
    /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped/ { p += $1; f += $3; s += $5; own = 1 }
    END {
      if (code == 77) s++
      else if (code != 0 && !f) f++
      else if (!own) p++
      print p + 0, f + 0, s + 0
    }' "$1"
}
# record STEP RESULT SECONDS LIMIT CODE PASSED FAILED SKIPPED
record() {
  printf '{"step": "%s", "result": "%s", "seconds": %s, "limit_s": %s, "code": %s, "passed": %s, "failed": %s, "skipped": %s, "of": "%s"}\n' \
    "$@" "$(key)" >"$out/$1.json"
}
seconds_now() { date +%s.%N; }
run_step() {
  step=$1 limit=${one:-$(limit_of "$1")}
  if [ -z "$again" ] && [ "$step" != machine ] && [ "$step" != build ] &&
    grep -q "\"result\": \"passed\".*\"of\": \"$(key)\"" "$out/$step.json" 2>/dev/null; then
    echo "$step: has passed already (-f repeats it)"
    return
  fi
  if [ "$budget" -gt 0 ]; then
    left=$((budget - ($(date +%s) - began)))
    if [ $left -lt 10 ]; then
      echo "$step: skipped: no time is left of $budget s"
      [ -e "$out/$step.json" ] || record "$step" skipped 0 "$limit" 77 0 0 1
      return
    fi
    [ $left -ge "$limit" ] || limit=$left
  fi
  export limit
  from=$(seconds_now) code=0
  if [ "$GPUS" = 0 ] && [ "$step" != machine ] && [ "$step" != build ]; then
    echo "SKIPPED: there is no GPU that this process may use" >"$out/$step.log"
    code=77
  else
    timeout -k 5 "$limit" sh "$0" --step "$step" >"$out/$step.log" 2>&1 </dev/null || code=$?
  fi
  took=$(awk -v a="$from" -v b="$(seconds_now)" 'BEGIN { printf "%.1f", b - a }')
  if [ $code = 124 ] || [ $code = 137 ]; then echo "stopped after $limit s" >>"$out/$step.log"; fi
  # shellcheck disable=SC2046
  set -- $(counts_of "$out/$step.log" $code)
  result=passed
  if [ $code = 77 ]; then result=skipped; elif [ "$2" != 0 ]; then result=failed; fi
  record "$step" $result "$took" "$limit" $code "$@"
  echo "$step: $result in $took s: $1 passed, $2 failed, $3 skipped"
  if [ $result != passed ]; then grep -E 'FAIL|failed:|SKIPPED|error|stopped after' "$out/$step.log" | tail -n 12 | sed 's/^/    | /'; fi
}
summarise() {
  printf '{"machine": %s,\n "steps": [' "$("$build/tests/bench_gpu" machine 2>/dev/null || echo null)" >"$out/results.json"
  {
    echo "# Tests on a GPU"
    echo
    sed -n 's/^/    /p' "$out/machine.log" 2>/dev/null | grep -E 'NVIDIA|Driver|model name|processors|torch' | head -n 8
    echo
    echo "| step | result | seconds | passed | failed | skipped |"
    echo "|---|---|---|---|---|---|"
  } >"$out/results.md"
  comma=
  for step in $all; do
    [ -e "$out/$step.json" ] || continue
    printf '%s\n  %s' "$comma" "$(cat "$out/$step.json")" >>"$out/results.json"
    comma=,
    sed 's/[{}"]//g; s/, /\n/g' "$out/$step.json" | awk -F': ' '{ v[$1] = $2 } END {
      printf "| %s | %s | %s | %s | %s | %s |\n", v["step"], v["result"], v["seconds"], v["passed"], v["failed"], v["skipped"] }' >>"$out/results.md"
  done
  printf '\n]}\n' >>"$out/results.json"
}

for step in $steps; do
  run_step "$step"
  if [ "$step" = build ]; then GPUS=$(count_gpus); fi
done
summarise
echo "results: $out/results.md, results.json and the logs beside them"
# shellcheck disable=SC2086
set -- $(for step in $steps; do
  sed 's/[{}"]//g; s/, /\n/g' "$out/$step.json" 2>/dev/null
done | awk -F': ' '/^passed/ { p += $2 } /^failed/ { f += $2 } /^skipped/ { s += $2 } END { print p + 0, f + 0, s + 0 }')
echo "$1 passed, $2 failed, $3 skipped"
[ "$2" = 0 ]
