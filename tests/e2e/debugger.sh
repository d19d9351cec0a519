# debugger.sh - ranks that wait for a debugger: GRAPHRUN_WAIT_FOR_DEBUGGER.
. "${0%/*}/lib.sh"
make_data
export DEBUGINFOD_URLS=
waiting() { grep -qE "rank $1 waits for a debugger: gdb -p [0-9]+" "$log"; }
waiter() { sed -n "s/.*rank $1 waits for a debugger: gdb -p \([0-9]*\) .*/\1/p" "$log"; }
may_attach() { # a child that does nothing
  command -v gdb >/dev/null 2>&1 || return
  sleep 600 &
  gdb -nx -q -batch -p $! >"$scratch/attached" 2>&1
  kill $! && ! grep -qE 'ptrace|Could not attach' "$scratch/attached"
}

export GRAPHRUN_WAIT_FOR_DEBUGGER
for no_rank in first -1; do
  GRAPHRUN_WAIT_FOR_DEBUGGER=$no_rank
  printf '%s\n' "launch error: GRAPHRUN_WAIT_FOR_DEBUGGER='$no_rank' is neither a rank, such as 0, nor all" >patterns
  tones bad distributed.ranks=1
  verdict "$no_rank is no rank" 69
done
GRAPHRUN_WAIT_FOR_DEBUGGER=7
ran "a rank that there is not" other distributed.ranks=1

# Threads of one process wait as one.
GRAPHRUN_WAIT_FOR_DEBUGGER=1
begin stopped distributed.ranks=2 distributed.backend=loopback
await waiting 1
check "a rank waits" test ! -e stopped/metrics.jsonl
kill -TERM "$pid"
ended
check "... until it is stopped" test "$code" = 75

for ranks in 1 2; do
  if ! may_attach; then
    skip "a debugger attaches to a rank of $ranks" "no gdb that may attach to a process"
  elif [ $ranks = 2 ] && ! has_mpi; then
    skip "a debugger attaches to a rank of $ranks" "no MPI"
  else
    GRAPHRUN_WAIT_FOR_DEBUGGER=$((ranks - 1))
    begin "run$ranks" distributed.ranks=$ranks
    await waiting $((ranks - 1))
    timeout "$limit" gdb -nx -q -batch -p "$(waiter $((ranks - 1)))" -ex 'break gr_run_rank' -ex continue -ex backtrace \
      -ex detach >"$scratch/attached" 2>&1
    ended
    check "a debugger attaches to a rank of $ranks" grep -qE '^#0 .*gr_run_rank' "$scratch/attached"
    check "... which then goes on" test "$code" = 0
  fi
done
counts
