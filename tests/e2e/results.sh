# results.sh - what a run says while it goes and leaves when it ends, however it ends.
. "${0%/*}/lib.sh"
make_data

# result OUT KEY: of training_results.json, as it stands there.
result() {
  sed -n "s/^ \"$2\": \(.*[^,]\),\{0,1\}$/\1/p" "$1/training_results.json"
}
rows_of() { if [ -f "$1" ]; then wc -l <"$1"; else echo 0; fi; }
has() { # NAME FILE PATTERN
  check "$1" grep -Eq -e "$3" "$2"
}
has_not() { # NAME FILE PATTERN
  check "$1" sh -c '! grep -Eq -e "$2" "$1"' sh "$2" "$3"
}

# ---- A run that ends well
ran "a run" done training.max_steps=10
check "its results say so" test "$(result done ended)/$(result done exit_code)" = '"done"/0'
has "run.log has the final metrics" done/run.log '^validation set: loss [0-9.]+ cer [0-9.]+'
has "... and each evaluation" done/run.log '^epoch 1  step 8  validation  loss [0-9.]+  cer [0-9.]+'
has_not "one is one" "$log" '1 ranks|1 steps|all 1 '
has "what is not the plan's memory is named" done/run.log \
  '^peak resident memory [0-9]+ MB: planned [0-9]+, program and libraries [0-9]+'
check "the parts add up to the whole" awk '/^peak resident/ {
  whole = $4; sub(/.*: /, ""); n = split($0, part, ", ")
  for (i = 1; i <= n; i++) { m = split(part[i], word, " "); sum += word[m] }
  exit !(sum > whole - n - 1 && sum < whole + n + 1) }' done/run.log
# shellcheck disable=SC2086
ran "the same in another folder" other training.max_steps=10
check "one configuration has one hash" test "$(result done config_hash)" = "$(result other config_hash)"
check "... of 16 digits" sh -c 'expr "$1" : "\"[0-9a-f]\{16\}\"$" >/dev/null' sh "$(result done config_hash)"
ran "with another learning rate" third training.max_steps=10 training.lr=1e-3
check "... has another" test "$(result done config_hash)" != "$(result third config_hash)"
ran "two ranks as threads" threads training.max_steps=10 distributed.ranks=2 distributed.backend=loopback
check "... are called that" test "$(result threads backend)" = '"threads"'
has "what ranks share is compared" "$log" '^[0-9]+ states are bit-equal on all 2 ranks'
if has_mpi; then
  ran "two ranks as processes" mpi training.max_steps=10 distributed.ranks=2
  check "... are called that" test "$(result mpi backend)" = '"mpi"'
fi
ran "split states" fsdp training.max_steps=10 distributed.ranks=2 distributed.backend=loopback \
  distributed.strategy=fsdp
has "... are said to have no second copy" "$log" 'bit-equal on all 2 ranks .*; [0-9]+ split, with no second copy'
ran "groups of ranks with the same parts" hsdp training.max_steps=10 distributed.ranks=4 distributed.backend=loopback \
  distributed.strategy=hsdp 'distributed.mesh={replicate:2,shard:2}'
has "... are compared, too" "$log" 'bit-equal on all 4 ranks .*; [0-9]+ more on all ranks that hold the same part'

# ---- The best evaluation, by what the evaluations' lines say
best_of() { # OUT KEY less|more -> value epoch steps of the first line that is best
  awk -v key="\"validation.$2\": " -v how="$3" '{
    v = substr($0, index($0, key) + length(key)) + 0
    if (NR == 1 || (how == "less" ? v < best : v > best)) {
      best = v; match($0, /"epoch": [0-9]+/); epoch = substr($0, RSTART + 9, RLENGTH - 9)
      match($0, /"steps": [0-9]+/); steps = substr($0, RSTART + 9, RLENGTH - 9)
    }
  } END { printf "%.6f %d %d\n", best, epoch, steps }' "$1/evals.jsonl"
}
reported() { # OUT
  printf '%.6f %d %d\n' "$(result "$1" best_value)" "$(result "$1" best_epoch)" "$(result "$1" best_step)"
}
many="training.max_steps=60 training.eval_every=1 model.params.dropout=0"
# shellcheck disable=SC2086
{
  ran "best is least" least $many checkpoint.metric=loss checkpoint.mode=min
  ran "best is most" most $many checkpoint.metric=cer checkpoint.mode=max
  ran "best by what the configuration does not say" unset $many '~checkpoint.metric'
  ran "no metric of that name" nothing $many checkpoint.metric=loss data.validation_fraction=0
}
check "the least loss is reported" test "$(reported least)" = "$(best_of least loss less)"
check "the most errors are reported" test "$(reported most)" = "$(best_of most cer more)"
check "they are not the same step" test "$(result least best_step)" != "$(result most best_step)"
check "unset is the loss, the least" test "$(reported unset)" = "$(best_of unset loss less)"
check "... and named" test "$(result unset best_metric)" = '"loss"'
check "without validation there is no best" test "$(result nothing best_metric)" = null
check "... and no evaluation" test "$(rows_of nothing/evals.jsonl)" = 0
check "the console marks as best what beats all before" test "$(grep -Ec '  best loss|  saved best model' least/run.log)" = \
  "$(awk '{ v = substr($0, index($0, "validation.loss\": ") + 18) + 0
            if (NR == 1 || v < best) { best = v; n++ } } END { print n }' least/evals.jsonl)"

has "the last evaluation says that it is saved" done/run.log '^epoch 2  step 10  validation .*  saved$'
ran "to an epoch's end" whole training.max_steps=8
has "... says so, too" whole/run.log '^epoch 1  step 8  validation .*  saved best model: step-00000008 '

# ---- Samples
samples() { # LOG: what is shown of them
  sed -n '/validation samples with their labels/,/^[^ ]* *set:/p' "$1" | grep '^  '
}
for n in 1 2 3; do
  ran "all samples on $n ranks" show$n training.max_steps=60 distributed.ranks=$n distributed.backend=loopback \
    logging.show_samples=300 model.params.dropout=0
  samples "$log" >shown$n
  grep -v predicted shown$n | awk '{print $1}' >names$n
done
check "all 13 validation samples are shown" test "$(rows_of names1)" = 13
check "... in the data's order" sort -c names1
check "the same on two ranks" cmp shown1 shown2
check "... and on three" cmp shown1 shown3
ran "five samples on two ranks" five training.max_steps=5 distributed.ranks=2 distributed.backend=loopback \
  logging.show_samples=5
samples "$log" | grep -v predicted | awk '{print $1}' >five.names
check "five are shown" test "$(rows_of five.names)" = 5
ran "five samples on one" five1 training.max_steps=5 logging.show_samples=5
samples "$log" | grep -v predicted | awk '{print $1}' >five1.names
check "... the same five" cmp five.names five1.names
has "the first is the set's first" five.names "^$(head -n 1 names1)$"
check "... and the others are from all of it" test "$(tail -n 1 five.names)" = "$(sed -n 11p names1)"
ran "no samples" no training.max_steps=5 logging.show_samples=0
has_not "none are shown" "$log" predicted
awk '{ sub(/}$/, ", \"name\": \"a-folder-with-a-long-name/that-says-nothing/of-the-take-" NR "\"}"); print }' \
  data/tones.jsonl >data/long.jsonl
ran "long names" long training.max_steps=5 data.manifest="$scratch/data/long.jsonl" logging.show_samples=2
has "keep their end" "$log" '^  \.\.\..*of-the-take-[0-9]+  '

# ---- Secrets of the environment
export TOKEN=very-secret-word
ran "a secret of the environment" secret training.max_steps=2 "+vars.token='\${oc.env:TOKEN}'" \
  "+vars.longer='bearer \${vars.token}'" "+vars.whole='\${vars.longer}'" \
  "hooks=[$source/tests/e2e/busy.lua]"
unset TOKEN
check "stands nowhere in the run's folder" sh -c '! grep -raq very-secret-word secret'
has "... but as it is written" secret/training_results.json '"token": "..oc.env:TOKEN."'
has "... also where another key refers to it" secret/training_results.json '"longer": "bearer ..vars.token."'
has "... or to that" secret/training_results.json '"whole": "..vars.longer."'

# ---- A run that goes on says what is other than before, and not where it is
mkdir before
(cd before && "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest=../data/tones.jsonl \
  "model.graph=$source/graphs/lmu_asr.yaml" training.max_steps=2 >"$(new_log)" 2>&1)
mv before/outputs/*/* before/run
tones before/run training.max_steps=4 checkpoint.resume=auto +vars.a=1
has "what is other is told" "$log" '^  training.max_steps: 4, was 2'
has "... of a new mapping, too" "$log" '^  vars.a: 1, was not given'
has_not "... but not its folder" "$log" '^  output'

# ---- A run that fails
echo 'return { on_step_end = function(ctx) if ctx.step == 5 then error("no luck") end end }' >fail.lua
failed() { # NAME OUT CODE PATTERN [key=value ...]
  failed_name=$1 out=$2 want=$3 pattern=$4
  shift 4
  tones "$out" "$@"
  check "$failed_name ends with $want" test "$code" = "$want"
  has "... results say why" "$out/training_results.json" "^ \"ended\": \"failed: .*$pattern"
  check "... and the exit code" test "$(result "$out" exit_code)" = "$want"
  has "... so does run.log" "$out/run.log" "error: .*$pattern"
  check "... no figures that were not made" test "$(result "$out" metrics)" = '{}'
}
failed "a hook that fails" hook 70 "no luck" "hooks=[$scratch/fail.lua]"
failed "... on two ranks" hook2 70 "no luck" "hooks=[$scratch/fail.lua]" distributed.ranks=2 \
  distributed.backend=loopback
failed "no finite gradient" nan 76 "no finite gradient" training.lr=1e9 training.max_steps=200
check "... evaluations before it are kept" test "$(rows_of nan/evals.jsonl)" -ge 1
# What another rank cannot do is known to rank 0, which writes the results. Which rank reads what is
# the same everywhere; of these recordings some rank but 0 needs one first, after the first batch.
for gone in 001 014 018 021 025; do
  rm -rf half half_run && cp -R data half && nans "half/wavs/$gone.wav"
  limited "$graphrun" "$source/tests/e2e/tones.yaml" data.manifest="$scratch/half/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" output.dir=half_run distributed.ranks=3 distributed.backend=loopback
  grep -q 'on rank [12] of 3' "$log" && [ -e half_run ] && break
done
if has_module sndfile; then
  check "a recording that is damaged ends a run" test "$code" = 66
  has "... of which another rank has read it" "$log" 'on rank [12] of 3'
  has "... its results name rank and recording" half_run/training_results.json "^ \"ended\": \"failed: rank [12]: .*wavs/$gone.wav"
else
  skip "a recording that is damaged ends a run" "no libsndfile, which reads recordings of floats"
fi
begin stopped training.max_steps=100000 "hooks=[$source/tests/e2e/slow.lua]"
wait_steps stopped 3
kill -TERM "$pid"
ended
check "a run that is stopped ends with 75" test "$code" = 75
has "... its results say so" stopped/training_results.json '^ "ended": "stopped by a signal at step [0-9]+; the state is saved"'
# After kill -9 there are no results, not those of the run that is gone on with.
begin done training.max_steps=100000 "$(from done)" "hooks=[$source/tests/e2e/slow.lua]"
wait_steps done 12
kill -9 "$pid"
ended
check "a run that is killed leaves no results of another" test ! -e done/training_results.json
# A run that is refused before it begins leaves those that are there.
tones other training.batch_size=4 "$(from other)"
check "a resume that is refused" test "$code" = 78
check "... keeps the results" test "$(result other ended)" = '"done"'
has "... run.log has the reason" other/run.log 'error: .*batches of 8'

# ---- A disk that is full
if full_disk full; then
  check "a full disk ends with 74" test "$code" = 74
  has "... results have the figures, and why" full/run/training_results.json '^ "ended": "failed: .*could not be saved'
  has "... of the end" full/run/training_results.json '^ "metrics": .*"validation.loss"'
else
  skip "a full disk" "needs root and a tmpfs"
fi

mkdir -p blocked/training_results.json/inside
tones blocked training.max_steps=4
check "results that cannot be written end a run with 74" test "$code" = 74
has "... which names them" "$log" "cannot write '.*blocked/training_results.json'"
has "... and shows the figures" "$log" '^validation set: loss'

# ---- On a terminal: one line in place, results below it
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
  terminal() { # OUT [key=value ...]: what the terminal gets, in $log
    terminal_out=$1
    shift
    TERM=xterm timeout -k 5 "$limit" script -qec "'$graphrun' '$source/tests/e2e/tones.yaml' data.manifest='$scratch/data/tones.jsonl' \
      model.graph='$source/graphs/lmu_asr.yaml' output.dir='$scratch/$terminal_out' logging.progress=true $*" \
      /dev/null >"$(new_log)" 2>&1 </dev/null
    code=$?
  }
  esc=$(printf '\033') cr=$(printf '\r')
  for of in "1" "2 distributed.backend=loopback" "2"; do
    [ "$of" != 2 ] || has_mpi || continue
    # shellcheck disable=SC2086
    terminal live training.max_steps=30 "hooks=[$source/tests/e2e/slow.lua]" distributed.ranks=$of
    check "on a terminal, ranks: $of" test "$code" = 0
    has "... the line is written over" "$log" "${cr}epoch [0-9]+  step [0-9]+/30 .*$esc\[K"
    has "... the last stays" "$log" "epoch 7  step 30/30 .*samples/s$cr*\$"
    has "... results stand on lines of their own" "$log" "^($cr$esc\[K)*validation set: loss"
    has "... and samples" "$log" "^($cr$esc\[K)*  wavs/003.wav  AFE"
    rm -rf live
  done
else
  skip "on a terminal" "no script program"
fi
counts
