#!/bin/sh
# Starts the ranks of one machine of several, and hands signals on:
#   RANKS_PER_NODE=4 NODES=2 NODE=0 MASTER_ADDR=HOST MASTER_PORT=PORT configs/launch/ranks.sh CONFIG.yaml [key=value ...]
# NODE is the machine's number; of an indexed Job of Kubernetes it is JOB_COMPLETION_INDEX.
set -u
: "${RANKS_PER_NODE:?}" "${NODES:?}" "${MASTER_ADDR:?}" "${MASTER_PORT:?}"
node=${NODE:-${JOB_COMPLETION_INDEX:?the number of this machine}}
export MASTER_ADDR MASTER_PORT WORLD_SIZE=$((RANKS_PER_NODE * NODES)) LOCAL_WORLD_SIZE="$RANKS_PER_NODE"
pids=
# shellcheck disable=SC2086
trap 'kill -TERM $pids 2>/dev/null' TERM INT HUP
local_rank=0
while [ "$local_rank" -lt "$RANKS_PER_NODE" ]; do
  RANK=$((node * RANKS_PER_NODE + local_rank)) "${GRAPHRUN:-graphrun}" "$@" distributed.ranks=auto &
  pids="$pids $!"
  local_rank=$((local_rank + 1))
done
# The first code that is not 0. A signal ends `wait` before the rank has ended: it is waited for again.
code=0
for pid in $pids; do
  wait "$pid"
  ended=$?
  while kill -0 "$pid" 2>/dev/null; do
    wait "$pid"
    ended=$?
  done
  [ "$code" != 0 ] || code=$ended
done
exit "$code"
