# launch.sh - configs/launch: the script for Slurm, that for the ranks of a machine, the manifest for Kubernetes and the
# container file do what they say.
. "${0%/*}/lib.sh"
make_data
launch=$source/configs/launch
for script in slurm ranks; do
  check "$script.sh parses" sh -n "$launch/$script.sh"
  if command -v shellcheck >/dev/null; then
    check "... and has no warnings" shellcheck -s sh "$launch/$script.sh"
  else
    skip "... and has no warnings" "no shellcheck"
  fi
done
tones="$source/tests/e2e/tones.yaml data.manifest=$scratch/data/tones.jsonl model.graph=$source/graphs/lmu_asr.yaml training.max_steps=4"

# ---- Slurm: a stand-in for srun starts two tasks of what it is asked to, and scontrol notes what it is asked.
mkdir bin
cat >bin/srun <<'END'
#!/bin/sh
[ "$1" = --kill-on-bad-exit=1 ] || exit 99
shift
[ -z "${SRUN_CODE:-}" ] || exit "$SRUN_CODE"
export SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=2 SLURM_NNODES=1
SLURM_PROCID=1 SLURM_LOCALID=1 "$@" &
SLURM_PROCID=0 SLURM_LOCALID=0 "$@"
code=$?
wait
exit $code
END
printf '#!/bin/sh\necho "$@" >requeued\n' >bin/scontrol
chmod +x bin/*
# slurm [NAME=VALUE ...] -- [key=value ...]
slurm() {
  slurm_env=
  while [ "$1" != -- ]; do slurm_env="$slurm_env $1" && shift; done
  shift
  new_port
  # shellcheck disable=SC2086
  limited env PATH="$scratch/bin:$PATH" GRAPHRUN="$graphrun" SLURM_JOB_ID=$port OUTPUT="$scratch/slurm" $slurm_env \
    sh "$launch/slurm.sh" $tones "$@"
}
slurm -- device=null
check "a job of Slurm without computing" test "$code" = 0
slurm --
check "... and with" test "$code" = 0
check "... of two ranks" grep -q '= 2 ranks x' "$log"
slurm -- training.max_steps=6
check "the same job again goes on where it stopped" grep -q 'resumed from .*slurm/checkpoints/step-00000004' "$log"
slurm SRUN_CODE=75 --
check "one that a signal stopped is queued again" grep -qx "requeue $port" requeued
check "... and ends with its code" test "$code" = 75
rm requeued
slurm SRUN_CODE=65 --
check "one that fails is not" sh -c "test ! -e requeued && test $code = 65"
expect "without a configuration" 64 'usage: sbatch' -- sh "$launch/slurm.sh"

# ---- Two machines, each with a rank: both are this one.
# machines OUT [key=value ...]: in the background
machines() {
  out=$1
  shift
  new_port
  for node in 0 1; do
    # shellcheck disable=SC2086
    RANKS_PER_NODE=1 NODES=2 JOB_COMPLETION_INDEX=$node MASTER_ADDR=127.0.0.1 MASTER_PORT=$port GRAPHRUN="$graphrun" \
      timeout "$limit" sh "$launch/ranks.sh" $tones "output.dir=$scratch/$out" "$@" >$node.log 2>&1 &
    eval "machine$node=$!"
  done
}
both() {
  wait "$machine0"
  code=$?
  wait "$machine1"
  code=$code/$?
  cat 0.log 1.log >"$(new_log)"
}
machines pods
both
check "two machines train" test "$code" = 0/0
check "... as one run" test "$(steps_of pods)" = 4
machines stopped training.max_steps=0 training.max_epochs=100000 checkpoint.every_epochs=0 training.eval_every=0
within test -s stopped/metrics.jsonl
kill -TERM "$machine1"
both
check "SIGTERM to one saves on all" test "$code" = 75/75
check "... a checkpoint" sh -c 'ls stopped/checkpoints/step-* >/dev/null'
expect "a machine without a number" 2 'the number of this machine' -- env RANKS_PER_NODE=1 NODES=2 MASTER_ADDR=h MASTER_PORT=1 \
  sh "$launch/ranks.sh" x.yaml

# ---- Kubernetes: every field that matters, by a list.
if python3 -c 'import yaml' 2>/dev/null; then
  check "the manifest is what is asked for" python3 "$source/tests/e2e/kubernetes.py" "$launch/kubernetes.yaml" "$source"
else
  skip "the manifest is what is asked for" "python3 has no yaml"
fi

# ---- The container file: what it copies and calls is there.
file=$launch/Containerfile
check "two stages of Debian 12" test "$(grep -c '^FROM debian:12' "$file")" = 2
for tool in setup package; do
  check "it calls tools/$tool" grep -q "tools/$tool" "$file"
  check "... which is there" test -x "$source/tools/$tool"
done
check "what it copies is there" sh -c 'for f in $(sed -n "s/^COPY \(configs[^ ]*\) .*/\1/p" "$2"); do test -x "$1/$f" || exit 1; done' \
  sh "$source" "$file"
check "the second stage lists no package by name" sh -c '! sed "1,/^FROM debian:12-slim/d" "$1" | grep -q "lib[a-z0-9]*-\|lib[a-z]*[0-9]"' sh "$file"
check "the packages of the first are tools/setup's, and dpkg-shlibdeps'" test \
  "$(sed -n 's/.*EXTRA_PACKAGES=\([^ ]*\).*/\1/p' "$file")" = dpkg-dev
expect "its command" 0 'graphrun trains neural networks' -- "$graphrun" "$(sed -n 's/^CMD \["\(.*\)"\]/\1/p' "$file")"
counts
