# verdict.sh - the launcher's exit code is made from the ranks' records, whatever mpirun returns: here
# an mpirun that lies stands first in the PATH.
. "${0%/*}/lib.sh"
has_mpi || {
  skip "mpirun that lies" "no MPI"
  counts
  exit
}
make_data
mkdir bin
mpirun=$(command -v mpirun)
export mpirun ending
# Runs the ranks, if there are to be some, and then does as it is told.
cat >bin/mpirun <<'END'
#!/bin/sh
case $ending in
  none*) ;;
  late*) "$mpirun" "$@" && sleep 6 ;;
  one*) shift 2 && "$mpirun" -n 1 "$@" ;;
  slow*)
    trap 'exit 1' TERM
    "$mpirun" "$@"
    while true; do sleep 0.1; done
    ;;
  *) "$mpirun" "$@" ;;
esac
real=$?
case ${ending#* } in
  kill*) kill "${ending##*kill}" $$ ;;
  real) exit $real ;;
  *) exit "${ending#* }" ;;
esac
END
chmod +x bin/mpirun
PATH=$scratch/bin:$PATH

# lies NAME ENDING CODE PATTERN... -- [key=value ...]
runs=0
lies() {
  lie=$1 ending=$2 expected=$3
  shift 3
  : >"$scratch/patterns"
  while [ "$1" != -- ]; do
    printf '%s\n' "$1" >>"$scratch/patterns"
    shift
  done
  shift
  runs=$((runs + 1))
  [ $# -gt 0 ] || set -- training.max_steps=2
  tones "lie$runs" training.eval_every=0 distributed.ranks=auto "$@"
  verdict "$lie" "$expected"
}

for own in 1 2 77 134 137 255; do
  lies "all ranks are done, mpirun ends with $own" "all $own" 0 \
    "mpirun ended with exit code $own although all ranks have ended without an error" --
done
lies "... or is killed" "all kill-9" 0 "mpirun was killed by SIGKILL although all ranks have ended" --
lies "all ranks are done, mpirun does not end and returns 1 when it is told to" "slow 1" 0 \
  "mpirun .* although all ranks have ended without an error" --
lies "mpirun ends with 0" "all 0" 0 --
check "... and nothing is said of it" sh -c "! grep -q although '$log'"

lies "all ranks are done, mpirun takes its time to end" "late 0" 0 --
check "... and nothing is said of it" sh -c "! grep -q although '$log'"

# No rank was started: 0 is no success, and no other code is passed on.
for own in 0 1 2 3 64 65 71 75 76 126 127 143 255; do
  lies "no rank is started, mpirun ends with $own" "none $own" 69 \
    "launch error: mpirun ended with exit code $own before all ranks had started" "hint: .*mpirun -n 2 hostname" --
done
lies "... or is killed" "none kill-9" 71 "mpirun was killed by SIGKILL" --

# A rank is killed while the ranks find each other: what another one meets then is not the cause.
mkdir killed
cat >killed/mpirun <<S
#!/bin/sh
shift 2
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 GRAPHRUN_WAIT_FOR_DEBUGGER=1 "\$@" 2>"$scratch/said" &
while ! grep -q 'waits for a debugger' "$scratch/said"; do sleep 0.1; done
kill -9 \$!
wait \$!
OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "\$@"
S
chmod +x killed/mpirun
usual=$PATH PATH=$scratch/killed:$PATH
tones killed training.max_steps=2 distributed.ranks=2
printf '%s\n' 'rank died error: rank 1 was killed by SIGKILL' >patterns
verdict "a rank that is killed while the others look for it is the cause" 71
PATH=$usual

# One of two has a record.
for own in 0 1 5 71 255; do
  lies "a rank without a record, mpirun ends with $own" "one $own" 71 \
    "rank died error: rank 1 has left no record of how it ended; mpirun ended with exit code $own" --
done

# A rank's error counts, and its code.
for own in 0 1 255; do
  lies "a hook has failed, mpirun ends with $own" "all $own" 70 "hook error: .*on purpose" -- \
    training.max_steps=9 "hooks=[$source/tests/e2e/fails.lua]"
done
counts
