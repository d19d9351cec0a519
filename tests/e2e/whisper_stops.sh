# whisper_stops.sh - an encoder and a decoder whose validation writes: kill -9 between steps and while validation writes,
# resume, and the rest: the same weights and metrics, byte for byte.
. "${0%/*}/lib.sh"
"$make_tones" "$scratch/data" 120 || exit 1
# An epoch is 6 steps and ends with an evaluation of 54 words, of which five beams are searched.
long="data.validation_fraction=0.5 training.max_steps=42 training.eval_every=1 model.params.text_context=48 generation.max_tokens=40 generation.beams=5
  checkpoint.metric=cer checkpoint.every_steps=4 checkpoint.keep_last=2 training.lr=5e-3"
evals_of() { if [ -f "$1/evals.jsonl" ]; then wc -l <"$1/evals.jsonl"; else echo 0; fi; }
# Its last step ends an epoch, whose evaluation has not ended.
evaluates() { [ $(($(steps_of "$1") % 6)) = 0 ] && [ "$(evals_of "$1")" -lt $(($(steps_of "$1") / 6)) ]; }
trains() { ! evaluates "$1"; }
# reached OUT STEPS WHERE: it has done so many steps, and is there now
reached() { [ "$(steps_of "$1")" -ge "$2" ] && "$3" "$1"; }
# To look for the processes takes as long as an evaluation: one rank is the one that was begun.
kill_all() { if [ $ranks = 1 ]; then kill -9 "$pid"; else kill -9 $(processes "$1"); fi 2>/dev/null; }
same_evals() {
  sed -E 's/, "(seconds|samples_per_s|wall)": [^,}]*//g' "$1/evals.jsonl" >"$scratch/left"
  sed -E 's/, "(seconds|samples_per_s|wall)": [^,}]*//g' "$2/evals.jsonl" >"$scratch/right"
  [ -s "$scratch/left" ] && cmp "$scratch/left" "$scratch/right"
}

for ranks in 1 2; do
  keys="distributed.ranks=$ranks"
  [ $ranks = 2 ] && has_mpi && keys="$keys distributed.backend=mpi distributed.strategy=fsdp"
  # shellcheck disable=SC2086
  pairs limited straight$ranks $long $keys
  check "42 steps on $ranks ranks" test "$code/$(steps_of straight$ranks)/$(evals_of straight$ranks)" = 0/42/7
  check "... whose evaluations write" sh -c 'grep -q "\"validation.cer\": [0-9]" "$1" && grep -q "\"validation.wer\": [0-9]" "$1"' sh straight$ranks/evals.jsonl
  run=killed$ranks kills=0 writing=0
  for moment in "7 trains" "12 evaluates" "20 trains" "24 evaluates" "30 evaluates" "33 trains" "36 evaluates"; do
    # shellcheck disable=SC2086
    pairs behind $run $long $keys checkpoint.resume=auto
    # shellcheck disable=SC2086
    await reached $run $moment
    kill_all $run
    ended
    [ "$code" != 0 ] && kills=$((kills + 1)) && case $moment in *evaluates) evaluates $run && writing=$((writing + 1)) ;; esac
  done
  # shellcheck disable=SC2086
  pairs limited $run $long $keys checkpoint.resume=auto
  check "killed $kills times on $ranks ranks, resumed as often: ends well" test "$code" = 0 -a $kills -gt 0
  # On a fast machine a run may pass a moment, or its end, before it is looked at.
  if [ $kills = 7 ]; then
    check "... the last run began where a checkpoint was" grep -q "resumed from .*step-000000" "$log"
  else
    skip "on $ranks ranks, killed at all seven moments" "the run had passed $((7 - kills)) of them"
  fi
  if [ $writing -gt 0 ]; then
    ok "... $writing times while validation wrote"
  else
    skip "on $ranks ranks, killed while validation wrote" "no such moment was met"
  fi
  check "... the same weights, byte for byte" same_files straight$ranks/checkpoints/step-00000042 $run/checkpoints/step-00000042
  check "... the same checkpoints are kept" same_files straight$ranks/checkpoints $run/checkpoints
  check "... the same metrics, times aside" same_metrics straight$ranks $run
  check "... the same evaluations, of what is written too" same_evals straight$ranks $run
done
counts
