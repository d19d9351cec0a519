# new_speech.sh - `graphrun new --from` of recordings with transcripts, as other programs list them.
. "${0%/*}/lib.sh"
"$graphrun" new made --data=speech >"$(new_log)" 2>&1
mkdir -p nemo kaldi/wav kaldi/data/train kaldi/data/dev kaldi/data/test
head -n 40 made/data/manifest.jsonl | sed 's/.*"\([0-9]*\).wav", "text": "\([A-F]*\)".*/\1 \2/' >said
while read -r number text; do
  cp "made/data/$number.wav" nemo && cp "made/data/$number.wav" kaldi/wav
  case $number in 03[0-4]) split=dev ;; 03*) split=test ;; *) split=train ;; esac
  printf '{"audio_filepath": "%s.wav", "duration": 0.5, "text": "%s"}\n' "$number" "$text" >>nemo/manifest.json
  printf '{"audio_filepath": "%s/nemo/%s.wav", "duration": 0.5, "text": "%s"}\n' "$PWD" "$number" "$text" >>absolute.jsonl
  echo "u-$number wav/$number.wav" >>kaldi/data/$split/wav.scp && echo "u-$number $text" >>kaldi/data/$split/text
done <said
# serves NAME DATA SAID...: a project of the data, which trains, evaluates and predicts
serves() {
  of_name=$1 of_data=$2
  shift 2
  expect "new --from=$of_data" 0 "^p/$of_name: a project for recordings with transcripts" "$@" -- "$graphrun" new "p/$of_name" --from="$of_data"
  expect "... which trains" 0 "training set: " -- sh -c "cd p/$of_name && '$graphrun' config.yaml output.dir=run training.max_epochs=1 distributed.ranks=1"
  expect "... evaluates" 0 "^all samples: " -- "$graphrun" eval "p/$of_name/run" --split=all
  expect "... and predicts" 0 '^{"input": "' -- "$graphrun" predict "p/$of_name/run" nemo/000.wav
}
serves nemo nemo/manifest.json '^40 recordings with their texts; symbols: "ABCDEF"$'
serves absolute absolute.jsonl '^40 recordings with their texts; symbols: "ABCDEF"$'
serves kaldi kaldi '^30 recordings with their texts, and 5 for validation; symbols: "ABCDEF"$' "^not used: '.*/kaldi/data/test/text'$"
check "... with the texts of the recordings" grep -q "/kaldi/data/train/../../wav/000.wav\", \"text\": \"$(sed -n 's/^000 //p' said)\"" p/kaldi/manifest.jsonl
serves scp kaldi/data/dev/wav.scp '^5 recordings with their texts; symbols:'
echo "u-1 sph2pipe -f wav a.sph |" >kaldi/data/dev/wav.scp
expect "a command in wav.scp" 66 "dev/wav.scp:1:1: .*'sph2pipe -f wav a.sph |' is no path of a recording" "hint: NAME PATH, of a file; what a command writes" -- "$graphrun" new p/no --from=kaldi/data/dev
echo "u-1 ../../wav/000.wav" >kaldi/data/dev/wav.scp
expect "a text of no recording" 66 "dev/text:1:1: .*wav.scp has no recording 'u-030'" "hint: texts of parts" -- "$graphrun" new p/no --from=kaldi/data/dev
check "what is no project makes none" test ! -e p/no
counts
