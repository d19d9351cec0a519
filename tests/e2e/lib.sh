# lib.sh - what the end-to-end tests share. Each is run as
#
#   sh TEST.sh GRAPHRUN SOURCE MAKE_TONES
#
# in a scratch folder of its own, prints one line a test and closes with the counts.
graphrun=$1 source=$2 make_tones=$3
passed=0 failed=0 skipped=0
limit=600 # seconds for one run: it ends those that hang, and is far more than any needs on a busy machine
sanitised() { ldd "$graphrun" 2>/dev/null | grep -qE 'libasan|libtsan'; }
if sanitised; then limit=1200; fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/graphrun-e2e-XXXXXX") || exit 1
# A test that ends without its counts has failed, whatever its last command says.
counted=
trap 'status=$?; rm -rf "$scratch"; [ -n "$counted" ] || status=1; exit $status' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
log=$scratch/log
# new_log: a new file for what is printed next. What an earlier command has left behind may still write to the file that
# it has, over the lines of another one. In the background it is called before, so that the command is the first child.
new_log() {
  rm -f "$log"
  echo "$log"
}

# ok NAME | fail NAME WHY | skip NAME WHY. The line of a failure ends with the last thing that was printed: it may be all
# that is known of a run elsewhere.
ok() {
  passed=$((passed + 1))
  echo "ok $1"
}
fail() {
  failed=$((failed + 1))
  echo "FAIL $1: $2$(tail -n 2 "$log" 2>/dev/null | tr '\n' ' ' | cut -c1-300 | sed 's/^/; it closed with: /')"
  if [ -s "$log" ]; then sed 's/^/    | /;30q' "$log"; fi
}
skip() {
  skipped=$((skipped + 1))
  echo "SKIPPED: $1: $2"
}

# project_kinds: those of `graphrun new`.
project_kinds() { sed -n 's/^GR_NEW_KIND(\([^,]*\),.*/\1/p' "$source/cli/new/kinds.def"; }

# shipped: the configurations that are runs of their own.
shipped() {
  (cd "$source" && find configs -name '*.yaml' | sort) | while read -r shipped_config; do
    case $shipped_config in # parts of others
      configs/distributed.yaml | configs/ppo/base.yaml | configs/whisper/common.yaml | configs/whisper/fine_tune.yaml | configs/whisper/names.yaml | configs/whisper/training_arguments.yaml) ;;
      configs/launch/*) ;; # of other programs
      *) echo "$shipped_config" ;;
    esac
  done
}

# check NAME COMMAND...: the command's success is the test's.
check() {
  check_name=$1
  shift
  if "$@" >"$scratch/said" 2>&1; then ok "$check_name"; else fail "$check_name" "not so: $*$(sed 's/^/; /;4q' "$scratch/said")"; fi
}

# limited COMMAND...: its output in $log, its exit code in $code.
limited() {
  timeout -k 5 "$limit" "$@" >"$(new_log)" 2>&1 </dev/null
  code=$?
}

# expect NAME CODE PATTERN... -- COMMAND...: ends with CODE, and prints every pattern.
expect() {
  expect_name=$1 expect_code=$2
  shift 2
  : >"$scratch/patterns"
  while [ "$1" != -- ]; do
    printf '%s\n' "$1" >>"$scratch/patterns"
    shift
  done
  shift
  limited "$@"
  verdict "$expect_name" "$expect_code"
}

# grade NAME CODE PATTERN COMMAND: runs it in a shell of its own; the pattern is one of all that it says, on one line.
grade() {
  (eval "$4") >"$(new_log)" 2>&1 </dev/null
  code=$?
  tr '\n' ' ' <"$log" >joined
  if [ "$code" != "$2" ]; then
    fail "$1" "exit code $code instead of $2"
  elif grep -Eq -e "$3" joined; then
    ok "$1"
  else
    fail "$1" "it does not say /$3/"
  fi
}

# verdict NAME CODE: judges $code and $log by the lines of the file `patterns`.
verdict() {
  why=
  [ "$code" = "$2" ] || why="exit code $code instead of $2"
  while read -r pattern; do
    grep -Eq -e "$pattern" "$log" || why="${why:+$why; }it does not say /$pattern/"
  done <"$scratch/patterns"
  if [ -z "$why" ]; then ok "$1"; else fail "$1" "$why"; fi
}

# The data, and a run of the small configuration: tones OUT [key=value ...] in $code and $log.
make_data() {
  "$make_tones" "$scratch/data" || exit 1
}
tones() {
  tones_out=$1
  shift
  limited "$graphrun" "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" "output.dir=$scratch/$tones_out" ${tones_keys-} "$@"
}
# ran NAME OUT [key=value ...]: a run that must end well.
ran() {
  ran_name=$1
  shift
  tones "$@"
  if [ "$code" = 0 ]; then ok "$ran_name"; else fail "$ran_name" "exit code $code"; fi
}

# behind COMMAND...: in the background; $pid is its process.
behind() {
  new_log >/dev/null
  timeout -k 5 "$limit" "$@" >>"$log" 2>&1 </dev/null &
  watcher=$!
  pid=
  while [ -z "$pid" ] && kill -0 "$watcher" 2>/dev/null; do pid=$(children "$watcher"); done
}
# begin OUT [key=value ...]: the same in the background.
begin() {
  begin_out=$1
  shift
  mkdir -p "$begin_out"
  behind "$graphrun" "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" "output.dir=$scratch/$begin_out" "$@"
}
# ended: waits for what begin has begun; its exit code in $code.
ended() {
  wait "$watcher" 2>/dev/null
  code=$?
}

# pairs HOW OUT [key=value ...]: an encoder and a decoder, configs/whisper/nano.yaml with less of everything, on the tones;
# HOW: limited or behind.
pairs() {
  pairs_how=$1 pairs_out=$2
  shift 2
  "$pairs_how" "$graphrun" "$source/configs/whisper/nano.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "output.dir=$scratch/$pairs_out" data.validation_fraction=0.2 data.speech.features.seconds=0.8 data.speech.features.hop=80 \
    model.params.audio_context=40 model.params.text_context=16 model.params.dim=32 model.params.layers=1 training.batch_size=12 \
    training.max_epochs=0 training.max_steps=20 training.eval_every=0 training.final_train_eval=false \
    hooks_params.warmup_steps=5 checkpoint.every_epochs=0 checkpoint.metric=loss generation.max_tokens=0 training.text_metrics=null \
    distributed.backend=loopback distributed.threads=1 logging.progress=false "$@"
}

# processes OUT: of a run, by their arguments; the watcher too. Quick: a run does not wait. grep finds itself: it has ended.
processes() {
  for at in $(grep -lzxF "output.dir=$scratch/$1" /proc/[0-9]*/cmdline 2>/dev/null); do
    at=${at%/cmdline}
    [ -d "$at" ] || continue
    echo "${at##*/}"
  done
}

# rank_of OUT RANK: the process of a rank, by what its launcher has left in its environment. A rank that starts
# another program (hooks, say) is two processes of one command line for a moment; the new one is left out.
rank_of() {
  ranks=
  for at in $(processes "$1"); do
    grep -qzxE "(OMPI_COMM_WORLD_RANK|PMI_RANK|RANK)=$2" "/proc/$at/environ" 2>/dev/null &&
      [ "$(readlink "/proc/$at/exe")" = "$(readlink -f "$graphrun")" ] && ranks="$ranks $at "
  done
  for at in $ranks; do
    case $ranks in *" $(sed 's/.*) [A-Z] \([0-9]*\) .*/\1/' "/proc/$at/stat" 2>/dev/null) "*) ;; *) echo "$at" ;; esac
  done
}
# Nothing of a run is left.
none_left() {
  for at in $(processes "$1"); do
    case $(cat "/proc/$at/stat" 2>/dev/null) in *') Z '*) ;; ?*) return 1 ;; esac
  done
}
# within COMMAND...: waits until it succeeds; false: not within `limit` seconds.
within() {
  tries=0
  while ! "$@" && [ $tries -lt $((limit * 10)) ]; do sleep 0.1 && tries=$((tries + 1)); done
  "$@"
}
# gone OUT: waits until nothing of it is left.
gone() { within none_left "$1"; }
# await COMMAND...: until it succeeds, or the run that `begin` has begun has ended. At first it looks often.
await() {
  await_tries=0
  while ! "$@" 2>/dev/null; do
    kill -0 "$watcher" 2>/dev/null || return
    if [ $await_tries -lt 50 ]; then sleep 0.02; else sleep 0.05; fi
    await_tries=$((await_tries + 1))
  done
}

# The processes whose parent is this one, without ps, which may not be there.
children() {
  for stat in /proc/[0-9]*/stat; do
    { read -r line <"$stat"; } 2>/dev/null || continue
    of=${line%% *} line=${line##*) }
    line=${line#* }
    [ "${line%% *}" = "$1" ] && echo "$of"
  done
}

# wait_steps OUT STEPS: waits until a run has done so many steps; false: it has ended before.
wait_steps() { "${make_tones%/*}/wait_lines" "$1/metrics.jsonl" "$2" "$watcher"; }
steps_of() {
  if [ -f "$1/metrics.jsonl" ]; then wc -l <"$1/metrics.jsonl"; else echo 0; fi
}

# What two runs of one command share: metrics without the clock.
timeless() {
  sed -E 's/, "(samples_per_s|wall)": [^,}]*//g' "$1/metrics.jsonl"
}
same_metrics() {
  timeless "$1" >"$scratch/left" && timeless "$2" >"$scratch/right" &&
    [ -s "$scratch/left" ] && cmp -s "$scratch/left" "$scratch/right"
}
other_metrics() {
  timeless "$1" >"$scratch/left" && timeless "$2" >"$scratch/right" &&
    [ -s "$scratch/left" ] && [ -s "$scratch/right" ] && ! cmp -s "$scratch/left" "$scratch/right"
}
same_files() {
  [ -n "$(ls -A "$1")" ] && diff -r "$1" "$2" >"$scratch/diff" 2>&1
}

# from OUT: resumes from its newest checkpoint, also with another configuration than that of its run.
from() { echo "checkpoint.resume=$(ls -d "$scratch/$1"/checkpoints/step-* | tail -1)"; }
# The tensors of two folders of checkpoints are the same bytes; their manifests name their runs.
same_tensors() {
  [ -n "$(ls -A "$1")" ] && diff -r -x manifest.json "$1" "$2" >"$scratch/diff" 2>&1
}

# new_port: sets $port, to one that nothing listens on, below the range that the system gives out by itself.
port=$((20000 + $$ % 9000))
new_port() {
  port=$((port + 17))
  while grep -qi ": *[0-9A-F]*:$(printf %04X $port) " /proc/net/tcp /proc/net/tcp6 2>/dev/null; do
    port=$((port + 17))
  done
}

# loss OUT STEP: of that row.
loss() {
  sed -n "$(($2 + 1))s/.*\"loss\": \([^,]*\),.*/\1/p" "$1/metrics.jsonl"
}
# valid_loss OUT: of its validation set, at the end.
valid_loss() {
  sed -n 's/.*"validation.loss": \([^,}]*\).*/\1/p' "$1/training_results.json" | head -1
}

# Comparisons, which hold of numbers alone: for awk a word is 0, nothing is less than all, and NaN may be equal.
#   near A B RELATIVE    close_to A B MOST: |A - B|    below A B [MARGIN]: A < B - MARGIN
#   pairs_within MOST LEAST: at least LEAST lines are two such numbers each, and no line is anything else
distance='function number(x) { return x ~ /^[-+]?[0-9]+[.]?[0-9]*([eE][-+]?[0-9]+)?$/ }
  function size(x) { return x < 0 ? -x : x }'
compare() { # A B C CONDITION
  awk -v a="$1" -v b="$2" -v c="$3" "$distance BEGIN { exit !(number(a) && number(b) && number(c) && $4) }"
}
near() { compare "$1" "$2" "$3" 'size(a - b) <= c * size(a)'; }
close_to() { compare "$1" "$2" "$3" 'size(a - b) <= c'; }
below() { compare "$1" "$2" "${3:-0}" 'a < b - c'; }
pairs_within() {
  awk -v most="$1" -v least="$2" "$distance"'
    NF != 2 || !number($1) || !number($2) || size($1 - $2) > most { bad = 1 }
    END { exit bad || NR < least }'
}

# full_disk DIR [key=value ...]: a run of `tones` in DIR/run whose second checkpoint finds no room. The
# disk has room for what such a run writes with one checkpoint and a half, as measured here: blocks,
# and what a run writes, differ between machines. The weights are most of it, so that the half suffices
# for what is written after the failure. Steps write nothing, since a line that finds no room while the
# checkpoint is being written would be the error. False: there can be no such disk.
full_disk() {
  disk=$1
  shift
  mkdir -p "$disk"
  [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=1g none "$disk" 2>/dev/null || return
  trap 'umount "$disk"; cd /; rm -rf "$scratch"' EXIT
  disk_run="training.max_steps=20 checkpoint.every_steps=5 checkpoint.keep_last=0 model.params.hidden=768
    logging.jsonl=false logging.tensorboard=false"
  # shellcheck disable=SC2086
  tones "$disk/run" $disk_run "$@"
  all=$(du -sk "$disk" | cut -f1) one=$(du -sk "$disk/run/checkpoints/step-00000005" | cut -f1)
  rest=$((all - $(du -sk "$disk/run/checkpoints" | cut -f1)))
  check "a checkpoint, of $one kB, is most of a run beside $rest kB" test $((one / 2)) -gt $((2 * rest))
  umount "$disk" && mount -t tmpfs -o "size=$((rest + one + one / 2))k" none "$disk" || return
  # shellcheck disable=SC2086
  tones "$disk/run" $disk_run "$@"
}

has_module() { [ -f "${graphrun%/*}/graphrun_$1.so" ]; }
has_mpi() { command -v mpirun >/dev/null 2>&1 && has_module mpi; }

# nans FILE: the recording becomes one of as many samples that are no numbers. No head shows that, so that a
# run ends at the batch that reads it. Floats are read by libsndfile.
le32() { printf "\\$(printf %o $(($1 & 255)))\\$(printf %o $(($1 >> 8 & 255)))\\$(printf %o $(($1 >> 16)))\\0"; }
nans() { # WAV: as long as it was
  bytes=$((2 * ($(wc -c <"$1") - 44)))
  {
    printf 'RIFF' && le32 $((bytes + 36)) && printf 'WAVEfmt \020\0\0\0\003\0\001\0' && le32 8000
    le32 32000 && printf '\004\0\040\0data' && le32 $bytes
    head -c $bytes /dev/zero | tr '\0' '\377'
  } >nans.wav
  mv nans.wav "$1"
}

# Closes a test program. One in which everything was skipped is skipped, which ctest knows by 77; the
# counts are kept for docs.systems, which asks what has run.
counts() {
  counted=1
  echo "$passed passed, $failed failed, $skipped skipped"
  if [ -n "${GRAPHRUN_RAN:-}" ]; then
    mkdir -p "${GRAPHRUN_RAN%/*}" && echo "$passed passed, $failed failed, $skipped skipped" >"$GRAPHRUN_RAN"
  fi
  [ "$failed" = 0 ] || return 1
  [ "$passed$skipped" = "0$skipped" ] && [ "$skipped" != 0 ] && return 77
  return 0
}

# A checksum of a tensor as graphrun export writes it: weight OUT STEP NAME [--no-ema]
weight() {
  "$graphrun" export "$scratch/$1" one.safetensors "--which=$2" ${4:-} >/dev/null 2>&1 || return
  head_bytes=$(od -An -tu8 -N8 one.safetensors | tr -d ' ')
  range=$(tail -c +9 one.safetensors | head -c "$head_bytes" |
    sed -n "s/.*\"$3\":{[^}]*\"data_offsets\":\[\([0-9]*\),\([0-9]*\)\].*/\1 \2/p")
  tail -c +$((9 + head_bytes + ${range% *})) one.safetensors | head -c $((${range#* } - ${range% *})) | cksum
}
