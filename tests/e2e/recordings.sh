# recordings.sh - recordings with classes: projects of folders, lists, manifests and Parquet, and 38 ordinary mistakes:
# each is refused with its exit code and one message, or a line says what was made of it. A line of the table is
#
#   NAME | EXIT CODE | what the lines of its output, joined, match | COMMAND
. "${0%/*}/lib.sh"
gr() { timeout -k 5 "$limit" "$graphrun" "$@"; }
gr new audio --data=audio >"$(new_log)" 2>&1 || fail "the project" "exit code $?"
sounds=$scratch/audio/sounds
inspect() { gr data inspect audio/config.yaml "$@"; }

# ---- What archives have: words (Speech Commands), sounds in one folder (ESC-50)
cp -r "$sounds" words && mkdir words/_background_noise_ && cp words/hum/0*.wav words/_background_noise_ && : >words/README.md
expect "a folder of words with a folder of noise" 0 "^files that are no recordings by their names, and folders of background noise: 2 \(the first: words/README.md\)$" \
  "classes \(4\)" "^train +132 utterances" -- \
  "$graphrun" data inspect audio/config.yaml data.manifest=words
mkdir -p esc/audio esc/meta && echo filename,fold,target,category,take >esc/meta/esc.csv
for kind in rise fall hum; do
  for i in 0 1 2 3 4 5 6 7; do
    cp "$sounds/$kind/0$i.wav" "esc/audio/$kind-$i.wav"
    echo "$kind-$i.wav,1,7,$kind,A" >>esc/meta/esc.csv
  done
done
# made NAME DATA KIND SAID...: makes a project of the data, and trains it a little
made() {
  made_name=$1 made_data=$2
  shift 2
  expect "new --from=$made_data" 0 "^own/$made_name: a project for recordings with a class" "$@" -- "$graphrun" new "own/$made_name" --from="$made_data" $label
  (cd "own/$made_name" && exec "$graphrun" config.yaml output.dir=run training.max_epochs=1 >"$(new_log)" 2>&1)
  check "... which trains" grep -q f1_macro "own/$made_name/run/training_results.json"
}
label=
made words words "^160 recordings of 4 classes"
# One that is longer than a minute is left out; of many the first seconds are taken.
mkdir -p long/a long/b && cp words/hum/* long/a && cp words/rise/* long/b
{
  printf 'RIFF' && le32 980036 && printf 'WAVEfmt \020\0\0\0\001\0\001\0' && le32 8000
  le32 16000 && printf '\002\0\020\0data' && le32 980000
  head -c 980000 /dev/zero | tr '\0' '\001'
} >long/a/long.wav
made long long "^81 recordings of 2 classes"
check "... but the long one" grep -q '^    max_seconds: 60 ' own/long/config.yaml
cp long/a/long.wav long/b && cp long/a/long.wav long/b/2.wav
made longer long "^recordings are cut or padded to 10 seconds"
check "... by a key" grep -q 'features: {seconds: 10, mels' own/longer/config.yaml
mkdir -p split/train split/test && cp -r "$sounds"/* split/train && cp -r audio/test/* split/test
made split split "^160 recordings to train on, 40 of '.*/split/test' for validation"
label=--label=category
made esc esc/meta/esc.csv "^a list of 24 recordings; to predict: 'category', 3 classes"
check "... whose recordings are in another folder" grep -q '^".*/esc/audio/rise-0.wav",1,7,rise,A$' own/esc/files.csv
label=--label=speaker
made parquet "$source/tests/golden/parquet_samples/speech-0.parquet" "to predict: 'speaker', 2 classes"
label=
sed -n 's/^\([a-z]*\)-\([0-9]\).wav,.*/{"audio_path": "\1-\2.wav", "label": "\1"}/p' esc/meta/esc.csv >esc/audio/lines.jsonl
made lines esc/audio/lines.jsonl "^a manifest of recordings; to predict: 'label'"
(cd esc/audio && echo path,label && ls | sed -n 's/\(.*\)-\(.\).wav/\1-\2.wav,\1/p') >list.csv && mv list.csv esc/audio
made list esc/audio "^a list of 24 recordings; to predict: 'label', 3 classes"
tr , '\t' <esc/audio/list.csv >esc/list.tsv
made tabs esc/list.tsv "^a list of 24 recordings"

# ---- One run, in every command
cd audio || exit 1
expect "a run" 0 "^validation set: .*f1_macro" -- "$graphrun" config.yaml output.dir=run training.max_epochs=6
check "... records its classes" grep -q '"class_names": \["fall", "hum", "pulse", "rise"\], "class_weights"' run/data.json
check "... and its fields" grep -q '"x": \["f32", "length", 32\], "lengths": \["i32"\], "y": \["i32"\], "class_weight": \["f32"\]' run/data.json
check "... keeps spectrograms of its mistakes" grep -q '"reference": "[a-z]*", "predicted": "[a-z]*".*"input": {"shape": \[[0-9]*, 32\]' run/mistakes.jsonl
{ echo path,label && for i in 0 1 2; do echo "sounds/rise/0$i.wav,rise"; done; } >one.csv
expect "... a list of one class, by the run's numbers" 0 "^  fall +0 +0 +0 +0$" "^  rise +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+$" "^all samples: " -- \
  "$graphrun" eval run --split=all data.manifest=one.csv
gr predict run sounds >all.jsonl 2>"$(new_log)"
check "... a folder to predict" test "$(grep -c '"class": "' all.jsonl)" = 160
echo '{"audio_path": "sounds/hum/00.wav"}' >in.jsonl
expect "... a manifest without classes" 0 '^{"input": "sounds/hum/00.wav", "class": "' -- "$graphrun" predict run in.jsonl
expect "... a plan without the data" 0 "^plan of config.yaml" -- "$graphrun" plan config.yaml data.expect=run/data.json data.manifest=gone
expect "... an export" 0 "inputs +x f32.n,t,32." "features of recordings" -- "$graphrun" export run model.onnx
cd ..
for ranks in 1 3; do
  gr audio/config.yaml output.dir=ranks$ranks training.max_steps=4 distributed.ranks=$ranks distributed.backend=loopback \
    training.final_train_eval=false model.params.dropout=0 >"$(new_log)" 2>&1
done
sed 's/.*"loss": \([^,]*\),.*/\1/' ranks1/metrics.jsonl >one && sed 's/.*"loss": \([^,]*\),.*/\1/' ranks3/metrics.jsonl >three
check "one rank and three see the same samples" sh -c 'test "$(head -c 6 one)" = "$(head -c 6 three)"'

# ---- Mistakes
mkdir m && cp "$sounds"/rise/0[0-5].wav m
cd m || exit 1
list() { printf '%b' "$2" >"$1.csv"; }
list one 'path,label\n00.wav,x\n01.wav,x\n' && list lost 'path,label\n00.wav,x\nnone.wav,y\n' && list two 'path,label\n00.wav,x\n00.wav,y\n'
list numbers 'path,label,weight\n00.wav,1,1\n01.wav,2,1\n02.wav,10,1\n' && list parts 'path,label\n00.wav,1.5\n01.wav,2\n'
list split 'path,label,split\n00.wav,x,test\n01.wav,y,train\n' && list hole 'path,label\n00.wav,x\n01.wav,\n' && list semi 'path;label\n00.wav;x\n01.wav;y\n'
list bad 'path,label\n00.wav,x\nbad.wav,y\n' && echo text >bad.wav && list none 'path,label\n'
mkdir -p single/cat empty/cat empty/dog empty/none mixed/cat mixed/dog both/cat both/dog songs/cat songs/dog splits/train/a splits/train/b
for at in single/cat empty/cat empty/dog mixed/cat mixed/dog both/dog splits/train/a splits/train/b; do cp 0[0-3].wav $at; done
echo x >mixed/cat/x.m4a && echo x >mixed/README && printf 'P5 1 1 255\nx' >both/cat/a.pgm && : >songs/cat/a.m4a && : >songs/dog/b.m4a
echo '{"audio_path": "00.wav"}' >bare.jsonl
echo '{"audio_path": "00.wav", "label": ["a"]}' >listed.jsonl
cd ..
speech=$source/tests/golden/parquet_samples/speech-0.parquet
while IFS='|' read -r name wanted pattern command; do
  pattern=$(echo "$pattern" | sed 's/^ *//; s/ *$//')
  [ -z "$name" ] || grade "$(echo "$name" | sed 's/ *$//')" "$(echo $wanted)" "$pattern" "$command"
done <<'MISTAKES'
a column of labels called otherwise | 66 | numbers.csv:1:1: data error: the list of recordings has no column 'kind'.*hint: .*data.speech.label names another | inspect data.manifest=m/numbers.csv data.speech.label=kind
one class in a list | 66 | argument 1:1:15: data error: all 2 recordings are of one class, 'x'.*hint: a classifier needs recordings of at least two | inspect data.manifest=m/one.csv
one folder of a class | 66 | data error: all 4 recordings are of one class, 'cat' | inspect data.manifest=m/single
a vocabulary beside classes | 65 | argument 1:1:12: config error: 'data.speech.vocab' has no effect: data.speech.label says that recordings have classes.*hint: remove one | inspect data.vocab=ABC
rules of transcripts beside classes | 65 | config error: 'data.speech.text.case' has no effect | inspect data.text.case=lower
symbols before transcripts beside classes | 65 | config error: 'data.speech.text.prefix' has no effect | inspect 'data.text.prefix=[a]'
frames for CTC beside classes | 65 | config error: 'data.speech.subsampling' has no effect | inspect data.subsampling=4
a tokenizer beside classes | 65 | config error: data.tokenizer makes tokens of transcripts, and data.speech.label .*hint: remove one | inspect "data.tokenizer=$source/tests/golden/tokenizer/words.json"
neither transcripts nor classes | 66 | bare.jsonl:1:1: data error: the key "text" is missing.*hint: .*"text": "HELLO".*data.speech.label names their key | inspect data.manifest=m/bare.jsonl data.speech.label=null
no class in a manifest | 66 | bare.jsonl:1:1: data error: the key "label" is missing.*hint: .*"label": "yes" | inspect data.manifest=m/bare.jsonl
a list as a class | 66 | listed.jsonl:1:35: data error: expected text in double quotes or a whole number as the value of "label" | inspect data.manifest=m/listed.jsonl
a recording that is not there | 66 | lost.csv:3:1: data error: cannot open 'm/none.wav'.*hint: correct the path; paths of a list are relative to its folder, or to data.speech.root | inspect data.manifest=m/lost.csv
a recording that is none | 66 | bad.csv:3:1: data error: 'm/bad.wav' is not a recording | inspect data.manifest=m/bad.csv
numbers as labels, in their order | 0 | classes .3. .* 0 1 .* 1 2 .* 2 10 | inspect data.manifest=m/numbers.csv
numbers with fractions as labels | 66 | parts.csv:1:1: data error: labels of the list of recordings are numbers with fractions.*hint: classes are whole numbers or text | inspect data.manifest=m/parts.csv
a cell without a label | 66 | hole.csv:3:1: data error: there is no label in this line | inspect data.manifest=m/hole.csv
two labels of one recording | 66 | two.csv:3:1: data error: '00.wav' has the label 'y' here, and 'x' in m/two.csv:2 | inspect data.manifest=m/two.csv
a test split in a list | 66 | split.csv:2:1: data error: the split in this line is 'test'.*hint: it is train or validation | inspect data.manifest=m/split.csv
another delimiter | 66 | semi.csv:1:1: data error: between ',' this line has 1 field.*hint: .*tr ';' ',' | inspect data.manifest=m/semi.csv
a list of no recordings | 66 | none.csv:1:1: data error: the list of recordings has no rows | inspect data.manifest=m/none.csv
an empty folder of a class | 0 | the class 'none' has no samples | inspect data.manifest=m/empty
a folder of a split | 66 | data error: the folder 'm/splits/train' is a split by its name.*hint: data.speech.manifest=m/splits/train data.speech.eval_manifest=m/splits/val | inspect data.manifest=m/splits
recordings of one class alone | 66 | data error: the folder 'm/single/cat' has recordings and no folders: their classes are not known.*hint: .*cats/1.wav, dogs/1.wav | inspect data.manifest=m/single/cat
recordings that are not read | 66 | data error: the folder 'm/songs' has no recordings that are read: 'm/songs/cat/a.m4a' is none.*hint: recordings are .wav, .flac, .mp3, .ogg and .opus: convert | inspect data.manifest=m/songs
a folder without data.speech.label | 66 | argument 1:1:15: data error: 'm/empty' is a folder, and recordings with transcripts are listed by a manifest.*hint: .*data.speech.label=label | inspect data.manifest=m/empty data.speech.label=null
a list without data.speech.label | 66 | data error: 'm/numbers.csv' is a table, and .*hint: .*data.speech.label=COLUMN | inspect data.manifest=m/numbers.csv data.speech.label=null
a root beside a folder | 65 | argument 1:1:11: config error: data.speech.root has no effect: '.*sounds' is a folder | inspect data.root=/tmp
a folder that is not there | 66 | data error: cannot open the manifest 'audio/sound'.*hint: did you mean 'audio/sounds'.*may be in a folder | inspect data.manifest=audio/sound
no such column of Parquet | 66 | data error: '.*speech-0.parquet' has no column 'label'.*hint: it has: audio.bytes, audio.path, sentence, speaker; data.speech.label names | inspect "data.manifest=$speech"
numbers of classes in Parquet | 0 | classes .2. .* 0 0 .* 1 1 | inspect "data.manifest=$speech" data.speech.label=speaker
weights and buckets | 65 | config error: data.sampler draws from one bucket, and utterances are in [23] by their length.*hint: data.buckets=1 | inspect data.sampler=weighted 'data.sampler_weights={hum: 2}' data.buckets=3 data.features.seconds=0
a recogniser of classes | 65 | the data gives no 'targets' for this input.*hint: .*without data.speech.label recordings have transcripts | gr plan audio/config.yaml "model.graph=$source/cli/new/speech/graph.yaml" '~model.params.filters'
a classifier of transcripts | 65 | the data gives no 'y' for this input.*hint: .*data.speech.label names the key | gr plan audio/config.yaml data.speech.label=null "data.manifest=$source/docs/tour/speech.jsonl"
a class that the run does not have | 66 | data error: the label 'cat' is none of the 4 classes of the run.*hint: its classes: fall, hum, pulse, rise | gr eval audio/run data.manifest=m/empty --split=all
a folder of images and recordings for a new project | 2 | usage error: '.*both' has no two folders of images, of recordings or of videos.*hint: cats/1.png and dogs/1.png, or yes/1.wav | gr new own/both --from=m/both
a folder of recordings and others for a new project | 0 | files that are no recordings by their names.*: 2 .* 8 recordings of 2 classes | gr new own/mixed --from=m/mixed
Parquet without a label for a new project | 2 | usage error: '.*speech-0.parquet' has recordings in it.*hint: --label=COLUMN makes a project of their classes | gr new own/heard --from="$speech"
a list with another delimiter for a new project | 66 | semi.csv:1:1: data error: the column 'path' names recordings, and this is no list of them.*hint: .*path and label, with commas | gr new own/semi --from=m/semi.csv
MISTAKES
counts
