# new.sh - `graphrun new`: what it makes of each kind and of the user's own data; new_kinds.sh uses each.
. "${0%/*}/lib.sh"
mkdir empty && cd empty || exit 1
# commented FILE: each line with a key has a comment, or follows one.
commented() { awk '/^ *#/ { said = 1; next } /^ *(- )?[a-z_]+:/ && !/ # / && !said { print; bad = 1 } { said = 0 } END { exit bad }' "$1"; }
for kind in $(project_kinds); do
  expect "new --data=$kind" 0 "^made/$kind: a project" "cd made/$kind && graphrun config.yaml" -- "$graphrun" new "made/$kind/" --data=$kind
  cd made/$kind || exit 1
  for file in config.yaml graph.yaml hook.lua README.md; do check "... has $file" test -s $file; done
  check "... each key of its configuration has a comment" commented config.yaml
  check "... and its model has a report" grep -q '^report:' graph.yaml
  cd ../..
done
awk -F, 'NR == 1 || $4 != 1 || n++ < 20' made/series/data.csv >cut.csv
expect "a recording of fewer moments than a window" 0 "^skipped 1 of [0-9]* samples: 1 series of fewer rows than a window \(cut.csv:[0-9]+\)$" -- "$graphrun" data inspect made/series/config.yaml data.table.path=cut.csv
# ---- The user's own data
tr , ';' <made/table/data.csv >semicolons.csv
sed 1d made/regression/data.csv >headless.csv
made_from() { # NAME DATA KIND SAID...: makes own/NAME of the data, and trains it a little
  from_name=$1 from_data=$2 from_kind=$3
  shift 3
  expect "new --from=$from_data" 0 "^own/$from_name: a project for $from_kind" "$@" -- "$graphrun" new "own/$from_name" --from="$from_data"
  check "... each key has a comment" commented "own/$from_name/config.yaml"
  check "... has no data of its own" sh -c '! ls "$1" | grep -v data.jsonl | grep -q data' sh "own/$from_name"
  (cd "own/$from_name" && exec "$graphrun" config.yaml output.dir=run training.max_epochs=1 >"$(new_log)" 2>&1)
  check "... which trains" test -s "own/$from_name/run/training_results.json"
}
made_from semicolons semicolons.csv "rows of numbers with a class" "to predict: 'fruit', 3 classes"
made_from headless headless.csv "rows of numbers with a value" "to predict: 'c4', a number"
# Texts as JSON lines, series, and rows of series.
sed -n 's/^\(.*\),\([a-z]*\)$/{"id": 1, "topic": "\2", "message": "\1"}/p' made/texts/data.csv | sed 1d >letters.jsonl
{
  printf '@timeStamps false\n@dimensions 2\n@equalLength true\n@classLabel true rest swing shake\n@data\n'
  awk -F, 'NR > 1 { a = a (n ? "," : "") $1; b = b (n ? "," : "") $2; if (++n == 128) { print a ":" b ":" $3; n = 0; a = b = "" } }' made/series/data.csv
} >motion_TRAIN.ts
cp motion_TRAIN.ts motion_TEST.ts
{
  printf '@relation motion\n'
  awk 'BEGIN { for (i = 1; i <= 128; i++) print "@attribute t" i " numeric" }'
  printf '@attribute kind {rest,swing,shake}\n@data\n'
  sed -n 's/:.*:/,/p' motion_TRAIN.ts | grep -v '^@'
} >motion.arff
made_from letters letters.jsonl "texts with a class" "texts, in 'message'; to predict: 'topic', 3 classes"
# Texts beside texts: the longer ones are read.
awk 'BEGIN { print "id\tshort\tlong"; for (i = 0; i < 60; i++) print i "\tyes, " i " of them\tthere are " i " houses and a garden" }' >pairs.tsv
made_from pairs pairs.tsv "texts with a text to write for each" "60 texts, in 'long'; to write: those in 'short'"
expect "new --from a table whose text is short" 0 "3000 texts, in 'words'; to write: those in 'date'" -- "$graphrun" new own/dates --from=made/pairs/data.csv --label=date
made_from motion motion_TRAIN.ts "recordings of sensors" "60 series of 2 channels, 3 classes"
check "... with the other file for validation" grep -q 'eval_path: .*motion_TEST.ts' own/motion/config.yaml
made_from rows motion.arff "recordings of sensors" "60 series, 3 classes"
printf '@relation r\n@attribute a real\n@attribute kind {u,v}\n@data\n%s' "$(awk 'BEGIN { for (i = 0; i < 60; i++) print i % 2 + i / 100 (i % 2 ? ",v" : ",u") }')" >flowers.arff
made_from flowers flowers.arff "rows of numbers with a class" "to predict: 'kind', 2 classes"
# Series of one moment, and a text with nothing left for validation.
printf '@univariate true\n@classLabel true a b\n@data\n%s' "$(awk 'BEGIN { for (i = 0; i < 40; i++) print i % 2 + i / 100 (i % 2 ? ":b" : ":a") }')" >short.ts
made_from short short.ts "recordings of sensors" "40 series of 1 channel, 2 classes"
printf '%100s' text >few.txt
made_from few few.txt text "none of 1 samples is for validation: .*a larger data.validation_fraction than 0.1"
printf '@targetLabel true\n@data\n1,2:3\n' >values.ts
expect "new --from series with values to predict" 2 "values.ts:1.* no classes" -- "$graphrun" new own/values --from=values.ts
sed 's/^path,/file_name,/' made/captions/data.csv >made/captions/metadata.csv
expect "... whose names are in file_name" 0 "a list of 600 images; to write: the texts in 'caption'" -- "$graphrun" new own/metadata --from=made/captions/metadata.csv
samples=$source/tests/golden/parquet_samples
made_from packed "$samples/images-[01].parquet" "images with classes" "10 images; to predict: 'label', 2 classes"
expect "... with texts" 0 "5 images; to predict: 'caption', 3 classes" -- "$graphrun" new own/packed_texts --from="$samples/images-0.parquet" --label=caption
made_from captions made/captions/data.csv "images with a text to write for each" "a list of 600 images; to write: the texts in 'caption'"
(echo path,kind,size && for image in made/image/images/*/0*; do
  kind=${image%/*} && echo "$image,${kind##*/},${#image}"
done) >kinds.csv
cut -d, -f1,2 kinds.csv >kind.csv
awk -F, -v OFS=, 'NR > 1 { $2 = NR / 2; $3 = NR % 5 } NR == 1 { $2 = "size"; $3 = "price" } { print }' kinds.csv >kinds3.csv
expect "new --from a list of images with classes that are called otherwise" 0 "^[0-9]+ images; to predict: 'kind', 3 classes" -- "$graphrun" new own/kind --from=kind.csv
check "... by that name" grep -q '^    label: "kind" ' own/kind/config.yaml
expect "... which trains" 0 "^validation set: " -- sh -c "cd own/kind && '$graphrun' config.yaml output.dir=run training.max_epochs=1 distributed.ranks=1"
expect "... that the user names" 0 "^[0-9]+ images; to predict: 'kind', 3 classes" -- "$graphrun" new own/kinds --from=kinds.csv --label=kind
expect "... or misspells" 2 "kinds.csv:1:1: .*there is no column 'Kind'" "did you mean 'kind'.; it has: path, kind, size" -- "$graphrun" new own/no --from=kinds.csv --label=Kind
expect "... of which none is clear" 2 "kinds3.csv:1:1: .*it is not clear what to predict" "hint: --label=COLUMN names .*; there are: size, price" -- "$graphrun" new own/no --from=kinds3.csv
expect "... of numbers, in Parquet files" 0 "5 images; to predict: 'price', a number" -- "$graphrun" new own/prices --from="$samples/images-0.parquet" --label=price
made_from packed_masks "$samples/masks.parquet" "images with a class for each pixel" "^images with 6 masks, of 3 classes"
expect "... of two columns of images" 66 "has two columns of images, 'left.bytes' and 'right.bytes'" "hint: .*dataset.rename_column\('left', 'image'\)" -- "$graphrun" new own/no --from="$samples/images-two.parquet"
# Folders of tables, with a file for each split, as data sets of the Hub and of Kaggle have them.
mkdir -p shards/data kaggle mixed && cp "$samples/images-0.parquet" shards/data/train-00000-of-00002.parquet
cp "$samples/images-1.parquet" shards/data/train-00001-of-00002.parquet && cp "$samples/images-1.parquet" shards/data/test-00000-of-00001.parquet
made_from shards shards "images with classes" "^read: '.*/shards/data/train\*.parquet'" "^10 images; to predict: 'label', 2 classes" "^for validation: '.*/shards/data/test-00000-of-00001.parquet'"
cp made/table/data.csv kaggle/train.csv && cp made/table/test.csv kaggle/val.csv && echo a,b >kaggle/sample_submission.csv
made_from kaggle kaggle "rows of numbers with a class" "^read: '.*/kaggle/train.csv'" "^for validation: '.*/kaggle/val.csv'" "^not used: '.*/kaggle/sample_submission.csv'"
check "... which is validated on" grep -q '^    eval_path: ".*/kaggle/val.csv" ' own/kaggle/config.yaml
expect "data.table.path of such a folder" 66 "cannot open the file 'kaggle': it is a folder" "hint: files are read: those in it are 'kaggle/train.csv'" -- "$graphrun" own/kaggle/config.yaml data.table.path=kaggle
expect "... data.image.path" 66 "the folder 'shards' has no images, and tables" "hint: images of these, .* are named by 'shards/data/train\*.parquet'" -- "$graphrun" own/shards/config.yaml data.image.path=shards
expect "... predict" 66 "no file in the folder 'shards/data'" "hint: .*; name its tables: shards/data/train\*.parquet" -- "$graphrun" predict own/shards/run shards/data
cp made/table/data.csv mixed/a.csv && cp "$samples/kinds-0.parquet" mixed/b.parquet
expect "new --from a folder of tables of two kinds" 2 "mixed' has no two folders" -- "$graphrun" new own/mixed --from=mixed
made_from images made/image/images images "180 images of 3 classes"
mkdir -p deep/all/circle/old deep/all/square && cp made/image/images/circle/0* deep/all/circle/old && cp made/image/images/square/0* deep/all/square
made_from deep deep images "20 images of 2 classes"
mkdir -p parts/train parts/val parts/test && cp -r deep/all/* parts/train && cp -r deep/all/* parts/val && cp -r deep/all/* parts/test
made_from parts parts images "^20 images to train on, 20 of '.*/parts/val' for validation" "^not used: '.*/parts/test'"
check "... from the folders of the splits" grep -q 'eval_path: .*parts/val"' own/parts/config.yaml
printf 'file,kind\ndeep/none/none.ppm,a\n' >files.csv
# Images beside their masks, whose bytes are classes.
mkdir -p own/pets/images own/pets/masks
for i in 1 2 3 4 5 6; do
  printf 'P6 2 2 255\n%012d' "$i" >"own/pets/images/$i.ppm"
  printf 'P5 2 2 255\n\000\001\001\000' >"own/pets/masks/$i.pgm"
done
expect "new --from images with masks" 0 '^images with 6 masks, of 2 classes$' -- "$graphrun" new own/pixels --from=own/pets
check "... whose values are counted" grep -q '^    mask_values: 2 ' own/pixels/config.yaml
printf 'P5 2 2 255\n\000\001\377\007' >own/pets/masks/3.pgm
expect "... or listed, without 255" 0 '^images with 6 masks, of 3 classes$' -- "$graphrun" new own/pixels3 --from=own/pets
check "... in the configuration" grep -q '^    mask_values: \[0, 1, 7\] ' own/pixels3/config.yaml
expect "... which trains" 0 'mean_iou' -- sh -c "cd own/pixels3 && '$graphrun' config.yaml output.dir=run training.max_epochs=1 distributed.backend=loopback"
printf 'P6 1 1 255\nabc' >own/pets/masks/4.ppm
expect "... and none of colours" 66 "the mask '.*own/pets/masks/4.ppm' has 3 channels" 'hint: the value of a pixel is its class' -- "$graphrun" new own/colours --from=own/pets
# A folder with a list of its images, as an image folder of Hugging Face's datasets has one.
cp -r made/image_regression/images own/measured && sed 's/^path,/file_name,/; s/^images\///' made/image_regression/data.csv >own/measured/metadata.csv
made_from numbered own/measured "images with a value to predict" "^300 images; to predict: 'pixels', a number"
check "... around their mean" grep -q '^  params: {filters: 8, center: 14[0-9.]*, scale: [0-9.]*} ' own/numbered/config.yaml
sed '1s/pixels/class_id/' own/measured/metadata.csv >own/measured/classes.csv
expect "... whose name says classes" 0 "^300 images; to predict: 'class_id', 1[0-9]* classes" -- "$graphrun" new own/pixel_classes --from=own/measured/classes.csv
mkdir -p flat/train flat/test && cp own/pets/images/* flat/train && cp own/pets/images/* flat/test
expect "new --from folders called as splits, without classes" 2 "flat' has images in folders called as splits are" "hint: .*metadata.csv, and --from=.*flat/train" -- "$graphrun" new own/flat --from=flat
expect "new --from a list of images with other columns" 66 "files.csv:1:1: .*'file' names files, and this is no list" "hint: a list has the columns path and label" -- "$graphrun" new own/files --from=files.csv
made_from clips made/video/clips/list.csv "clips of videos" "120 videos"
# short FRAMES: a list of 24 videos of that many frames and more
short() {
  echo path,label >"short$1.csv"
  for i in $(seq 24); do
    frames=$(($1 + i % 3))
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': ($frames, 16, 16), }" >"short$1-$i.npy"
    head -c $((frames * 256)) /dev/zero | tr '\0' "$([ $((i % 2)) = 0 ] && echo d || echo Z)" >>"short$1-$i.npy"
    echo "short$1-$i.npy,c$((i % 2))" >>"short$1.csv"
  done
}
short 5 && short 2 && short 1
made_from short5 short5.csv "clips of videos" "clips of 5 frames, as the shortest video has"
made_from short2 short2.csv "clips of videos" "clips of 2 frames, as the shortest video has"
expect "new --from videos of one frame" 66 "short1.csv:4:1: .*has 1 frame, a clip has 2" "hint: longer videos; or take it out$" -- "$graphrun" new own/stills --from=short1.csv
made_from speech made/speech/data/manifest.jsonl recordings 'symbols: "ABCDEF"'
made_from text made/text/data.txt text
tr ABCDEF abcdef <made/speech/data/manifest.jsonl >made/speech/data/small.jsonl
made_from small made/speech/data/small.jsonl recordings 'symbols: "abcdef"'
# Recordings: with a list as LJSpeech's, with one as audio folders have, and with texts beside them.
mkdir -p lj/wavs hub beside
cp made/speech/data/*.wav lj/wavs && cp made/speech/data/*.wav hub && cp made/speech/data/*.wav beside && rm beside/119.wav
sed 's/.*"audio_path": "\([0-9]*\).wav", "text": "\([A-F]*\)".*/\1|x|\2/' made/speech/data/manifest.jsonl >lj/metadata.csv
{ echo file_name,transcription && sed 's/\(.*\)|x|\(.*\)/\1.wav,\2/' lj/metadata.csv; } >hub/metadata.csv
while IFS='|' read -r name _ said; do echo "$said" >"beside/$name.txt"; done <lj/metadata.csv
rm beside/000.txt
made_from ljspeech lj recordings '120 recordings with their texts; symbols: "ABCDEF"'
made_from listed lj/metadata.csv recordings '120 recordings with their texts'
check "... the same project" cmp own/ljspeech/manifest.jsonl own/listed/manifest.jsonl
made_from hub hub recordings '120 recordings with their texts'
expect "predict of a folder that holds none" 66 "hint: it takes recordings \(.wav, .flac, .mp3, .ogg, .opus\), and lists of them" -- "$graphrun" predict own/hub/run own
# As LibriSpeech, Common Voice and ESC-50 are unpacked.
for split in train-clean-100 dev-clean test-clean; do
  mkdir -p "libri/$split/84/1"
  case $split in train*) some='0[0-7][0-9]' ;; dev*) some=08 ;; *) some=09 ;; esac
  sed -n "/^$some/s/|x|/ /p" lj/metadata.csv >"libri/$split/84/1/84-1.trans.txt"
  cut -d' ' -f1 "libri/$split/84/1/84-1.trans.txt" | while read -r name; do cp "made/speech/data/$name.wav" "libri/$split/84/1"; done
done
made_from libri libri recordings '^80 recordings with their texts, and 10 for validation; symbols: "ABCDEF"' "^not used: '.*/libri/test-clean/84/1/84-1.trans.txt'"
check "... of their own manifest" grep -q '"audio_path": ".*/libri/dev-clean/84/1/08[0-9].wav"' own/libri/validation.jsonl
check "... which the configuration names" grep -q '^    eval_manifest: "validation.jsonl" ' own/libri/config.yaml
mkdir -p voices/clips && cp hub/*.wav voices/clips
for split in train dev test validated; do
  case $split in train) some='0[0-7][0-9]' ;; dev) some=08 ;; test) some=09 ;; *) some= ;; esac
  { printf 'client_id\tpath\tsentence\n' && sed -n "/^$some/s/\(.*\)|x|\(.*\)/a\t\1.wav\t\2/p" lj/metadata.csv; } >voices/$split.tsv
done
made_from voices voices recordings '^80 recordings with their texts, and 10 for validation; symbols: "ABCDEF"' "^not used: '.*/voices/test.tsv'"
mkdir -p esc/audio esc/meta && cp hub/0[0-3]*.wav esc/audio
{ echo filename,fold,category,take && sed -n 's/^\(0[0-3].\).*/\1.wav,1,dog,A/p' lj/metadata.csv | sed '1~2s/dog/cat/'; } >esc/meta/esc.csv
expect "new --from=a folder whose list is in its folder meta" 0 "a list of 40 recordings; to predict: 'category', 2 classes" -- "$graphrun" new own/esc --from=esc
sed -i '1s/category/animal/' esc/meta/esc.csv
expect "... with a column that could be anything" 66 "esc.csv:1:1: .*it is not clear which one has their texts" "--label=COLUMN; there are: fold, animal, take" -- "$graphrun" new own/animals --from=esc
expect "... with its classes" 0 "a list of 40 recordings; to predict: 'animal', 2 classes" -- "$graphrun" new own/animals --from=esc --label=animal
# Texts in a folder for each class, as IMDb's are unpacked.
for part in train test; do
  for class in pos neg; do
    mkdir -p imdb/$part/$class
    for i in 1 2 3 4 5 6 7 8 9 10; do printf 'a %s film\nof %s\n' $class $i >imdb/$part/$class/$i.txt; done
  done
done
mkdir imdb/train/unsup && echo more >imdb/train/unsup/1.txt && echo 7 >imdb/train/urls.txt
made_from imdb imdb "texts with a class" "^20 texts of 2 classes, and 20 for validation" "^not used: '.*/imdb/train/unsup', which '.*/imdb/test' does not have"
check "... as lines of the project" grep -qx '{"text": "a neg film\\nof 10\\n", "label": "neg"}' own/imdb/data.jsonl
# In tables: whatever their columns are called, in a folder of their own, and given as the table.
mkdir -p shelf/clips && cp hub/*.wav shelf/clips
{ printf 'number;clip;said\n' && sed 's/\(.*\)|x|\(.*\)/\1;clips\/\1.wav;\2/' lj/metadata.csv; } >shelf/list.csv
made_from shelf shelf recordings '120 recordings with their texts; symbols: "ABCDEF"'
made_from sheet shelf/list.csv recordings '120 recordings with their texts; symbols: "ABCDEF"'
check "... with epochs for 800 steps" grep -q '^  max_epochs: 133 ' own/shelf/config.yaml
check "... the same manifest" cmp own/shelf/manifest.jsonl own/sheet/manifest.jsonl
sed 's/said/said;by/; 2,$s/$/;someone/' shelf/list.csv >shelf/spoken.csv
expect "new --from=a table of recordings and two texts" 66 "spoken.csv:1:1: .*'clip' names recordings, and it is not clear which one has their texts" \
  "hint: call that one text; or of recordings with classes --label=COLUMN" -- "$graphrun" new own/spoken --from=shelf/spoken.csv
expect "new --from=a folder with two lists of recordings" 2 "'.*/shelf/list.csv' and '.*/shelf/spoken.csv' both name recordings" "hint: .*--from=.*list.csv" -- \
  "$graphrun" new own/shelves --from=shelf
# The test set's recordings have no text either.
made_from beside beside recordings '118 recordings with their texts, [0-9]+ without one left out'
printf '\n999|A\n' >>lj/metadata.csv
expect "new --from a list of a recording that is not there" 66 "metadata.csv:122:1: .*no recording '999'" "wavs" -- "$graphrun" new own/lost --from=lj
echo 999.wav,A >>hub/metadata.csv
expect "... with a line of names" 66 "metadata.csv:122:1: .*no recording '999.wav'" -- "$graphrun" new own/lost --from=hub
mkdir tabular && tr , '|' <made/table/data.csv >tabular/metadata.csv
made_from tabular tabular/metadata.csv "rows of numbers with a class"
printf 'a,b,c\n1,2,x\n3,,y\n5,6,x\n%s' "$(awk 'BEGIN { for (i = 0; i < 60; i++) print i "," i * i ",x\n" i "," (-i) ",y" }')" >gaps.csv
made_from gaps gaps.csv "rows of numbers with a class" "gaps.csv:3:1: the column .b. has no value" "^skipped 1 of 123 samples: 1 unreadable$" "123 rows of 3 columns;"
# Every command that opens the data says once, in the same words, what it leaves out.
check "... and so does the run's log" sh -c 'test "$(grep -cE "^warning: skipped: .*gaps.csv:3:1: |^.rank 0. warning: skipped: .*gaps.csv:3:1: |^skipped 1 of 123 samples: 1 unreadable$" own/gaps/run/run.log)" = 2'
for verb in "eval own/gaps/run" "eval own/gaps/run --json" "predict own/gaps/run gaps.csv" "export own/gaps/run gaps.onnx" \
  "replay own/gaps/run --step=1 --print=loss.sum" "plan own/gaps/config.yaml" "hooks own/gaps/config.yaml" \
  "data inspect own/gaps/config.yaml" "data inspect own/gaps/config.yaml --json"; do
  # shellcheck disable=SC2086
  limited "$graphrun" $verb
  check "$verb says what is skipped, once" sh -c 'test "$1" = 0 && test "$(grep -c "warning: skipped: .*gaps.csv:3:1: " "$2")" = 1 && test "$(grep -c "^skipped 1 of 123 samples: 1 unreadable$" "$2")" = 1' sh "$code" "$log"
done
printf 'a,b,kind,client\n%s\n' "$(awk 'BEGIN { for (i = 0; i < 90; i++) print i ".5," i * i % 7 ",k" i % 3 ",id" (i % 4 ? i : 0) }')" >clients.csv
# Of many classes a confusion matrix has more counts than the model has weights.
awk 'BEGIN { OFS = ","; print "a,b,kind"; for (i = 0; i < 4000; i++) print (i * 7) % 13 / 13, (i * 5) % 11 / 11, "n" i % 1100 }' >many.csv
expect "new --from a table of 1100 classes" 0 "^no confusion matrix and no F1: it would have 1.2 million counts$" -- \
  "$graphrun" new own/many --from=many.csv --label=kind
(cd own/many && exec "$graphrun" config.yaml output.dir=run training.max_epochs=1 >"$(new_log)" 2>&1)
check "... which trains" test -s own/many/run/training_results.json
check "... has none" sh -c '! grep -q "confusion\|sums\|report" own/many/graph.yaml'
expect "new --from a table whose last column names clients, some often" 0 "to predict: 'kind', 3 classes" "1 left out: client" -- "$graphrun" new own/clients --from=clients.csv
printf 'a,b,kind,number\n%s\n' "$(awk 'BEGIN { for (i = 0; i < 90; i++) print i ".5," i * i % 7 "," (i % 3 ? "k" : "K ") "," i }')" >counted.csv
expect "... whose last column counts the rows, with a class written in two ways" 0 "to predict: 'kind', 2 classes" \
  "^the classes 'K ' and 'k' differ in blanks or capitals alone$" -- "$graphrun" new own/sized --from=counted.csv
sed 's/,[^,]*$//; 2,$s/,K *$/,0.0/; 2,$s/,k$/,1.0/' counted.csv >floats.csv
made_from floats floats.csv "rows of numbers with a class" "to predict: 'kind', 2 classes"
{ echo text,label && awk 'BEGIN { for (i = 0; i < 60; i++) print (i % 2 ? "good caf\351 and more,a" : "poor caf\351 and less,b") }'; } >latin.csv
made_from latin latin.csv "texts with a class" "60 texts, in 'text'; to predict: 'label', 2 classes"
printf '{"a": 1, "x": \n' >cut.jsonl
expect "... of a line of JSON that is cut" 66 "cut.jsonl:1:15: .*expected a value" "hint: each line is an object of JSON" -- "$graphrun" new own/cut --from=cut.jsonl
sed 's/,[^,]*$/,5.5/; 1s/,5.5/,target/' counted.csv >level.csv
expect "... of one number to predict" 2 "level.csv:2:1: .*of one value in 'target'" "--label=COLUMN" -- "$graphrun" new own/level --from=level.csv
sed 1q counted.csv >names.csv
expect "... without rows" 66 "names.csv:1:1: .*no rows, only a line of names" "hint: " -- "$graphrun" new own/names --from=names.csv
{ echo 'sep=;' && cat semicolons.csv; } >excel.csv
made_from excel excel.csv "rows of numbers with a class" "600 rows of 4 columns; to predict: 'fruit', 3 classes"
sed 's/,[^,]*$//' counted.csv | awk -F, 'NR > 1 { print ($3 == "k" ? "spam\tfree prize, call now this number " : "ham\twill you come home for lunch ") NR }' >bare.tsv
made_from bare bare.tsv "texts with a class" "90 texts, in 'c1'; to predict: 'c0', 2 classes"
mkdir years && { sed -n 1p counted.csv && sed -n 2,40p counted.csv; } >years/a.csv && { sed -n 1p counted.csv && sed -n '41,$p' counted.csv; } >years/b.csv
made_from years 'years/*.csv' "rows of numbers with a class" "90 rows of 4 columns; to predict: 'kind', 2 classes"
expect "new --from a pattern of texts" 66 "^data error: years/.*.csv.txt: cannot open" "hint: .*a path is that of one file" -- \
  sh -c 'cp years/a.csv years/a.csv.txt && exec "$1" new own/books --from="years/*.csv.txt"' sh "$graphrun"
tr , '|' <made/table/data.csv >fields.txt
made_from fields fields.txt "rows of numbers with a class" "600 rows of 4 columns"
made_from parquet "$source/tests/golden/parquet_samples/kinds-0.parquet" "rows of numbers with a class" "100 rows of 5 columns; to predict: 'kind', 3 classes"
expect "... of Parquet with recordings" 2 "speech-0.parquet' has recordings in it" "hint: --label=COLUMN .*--data=speech" -- "$graphrun" new own/heard --from="$source/tests/golden/parquet_samples/speech-0.parquet"
printf 'name,kind\n%s\n' "$(awk 'BEGIN { for (i = 0; i < 40; i++) print "n" i ",k" i % 2 }')" >words.csv
expect "new --from a table without numbers" 2 "words.csv:1:1: .*no column but 'kind' is of numbers" "--label=COLUMN" -- "$graphrun" new own/words --from=words.csv
expect "new --from with another label" 0 "to predict: 'rooms', [0-9]+ classes" -- "$graphrun" new own/rooms --from=made/regression/data.csv --label=rooms
expect "... that is not there" 2 "data.csv:1:1: .*there is no column 'room'" "did you mean 'rooms'" -- "$graphrun" new own/room --from=made/regression/data.csv --label=room
expect "new --from what is not there" 2 "there is no 'nothing.csv'" -- "$graphrun" new own/nothing --from=nothing.csv
expect "... what has no kind" 2 "not known what .*hook.lua" "a table \\(.csv" -- "$graphrun" new own/lua --from=made/table/hook.lua
expect "... arrays that are none" 66 "'.*/x.npz' is no .npz file" "hint: an .npz file is what numpy.savez writes" -- sh -c ': >x.npz; exec "$@"' sh "$graphrun" new own/arrays --from=x.npz
expect "... a folder without classes" 2 "no two folders of images, of recordings or of videos" -- "$graphrun" new own/flat --from=made/image/images/circle
other=env # root reads everything
[ "$(id -u)" != 0 ] || other="setpriv --reuid=65534 --regid=65534 --clear-groups"
if $other "$graphrun" --version >/dev/null 2>&1; then
  mkdir -p sealed/cats sealed/dogs && cp made/image/images/circle/00.ppm sealed/cats && chmod 000 sealed/dogs
  mkdir theirs && chmod 777 theirs
  chmod 755 "$scratch" . sealed sealed/cats
  # shellcheck disable=SC2086
  expect "... a folder that may not be read" 66 "cannot read the folder .*sealed/dogs': Permission denied" -- $other "$graphrun" new theirs/sealed --from=sealed
  mkdir -p parted/train parted/val && cp -r deep/all/* parted/train && chmod -R a+rX parted && chmod 000 parted/val
  # shellcheck disable=SC2086
  expect "... nor is it left out" 66 "cannot read the folder .*parted/val': Permission denied" -- $other "$graphrun" new theirs/parted --from=parted
  chmod 755 sealed/dogs parted/val
fi
expect "... with --data" 2 "two projects" -- "$graphrun" new own/both --from=semicolons.csv --data=table
printf 'a,b\n1,2\n3\n' >broken.csv
expect "... a broken table" 66 "broken.csv:3" -- "$graphrun" new own/broken --from=broken.csv
printf 'a\n1\n2\n' >narrow.csv
expect "... a table of one column" 66 "narrow.csv:1" "a column to predict" -- "$graphrun" new own/narrow --from=narrow.csv
sed 's/$/,/' made/table/data.csv >trailing.csv
made_from trailing trailing.csv "rows of numbers with a class" "600 rows of 5 columns; to predict: 'fruit', 3 classes"
if printf x | iconv -f UTF-8 -t UTF-16 >wide.csv 2>/dev/null; then
  iconv -f UTF-8 -t UTF-16 made/table/data.csv >wide.csv
  made_from wide wide.csv "rows of numbers with a class" "to predict: 'fruit', 3 classes"
else
  skip "a table in UTF-16" "no iconv"
fi
awk -F, -v OFS=, 'NR > 1 { $5 = sprintf("%.4f", $5 / 100 + 1e5) } 1' made/regression/data.csv >far.csv
expect "values that are far from 0 and near each other" 0 "to predict: 'price', a number" -- "$graphrun" new own/far --from=far.csv
limited "$graphrun" own/far/config.yaml output.dir=own/far/run distributed.ranks=1
check "... are learnt as others" compare "$(sed -n 's/.*"validation.r2": \([0-9.e-]*\).*/\1/p' own/far/run/evals.jsonl | tail -n 1)" 0.9 1 'b < a && a <= c'
sed 's/fruit/weight/' made/table/data.csv >twice.csv
expect "new --from a table with a name twice" 66 "twice.csv:1:1: .*two columns are called 'weight'" -- "$graphrun" new own/twice --from=twice.csv
sed 's/pear\|plum/apple/' made/table/data.csv >apples.csv
expect "new --from a table of one class" 2 "apples.csv:2:1: .*one class in 'fruit'" "--label=COLUMN" -- "$graphrun" new own/apples --from=apples.csv
sed 's/\./,/g; s/,\([a-z]*\)$/;\1/' made/table/data.csv | sed '1s/,/;/g; 1!s/\([0-9]*,[0-9]*\),/\1;/g' >decimal.csv
expect "new --from a table with commas in its numbers" 66 "decimal.csv:2:.*in the column 'weight' is no number" "hint: .*a point.*tr , . <.*decimal.csv >NEW.csv" -- "$graphrun" new own/decimal --from=decimal.csv
check "... and makes nothing" sh -c '! ls own | grep -E "^(twice|apples|decimal|room|nothing|lua|arrays|flat|both|broken|narrow|lost|words)$"'

expect "new without a kind is a table" 0 -- "$graphrun" new plain
check "... with the same files" sh -c 'diff -r plain made/table'
expect "new where something is" 2 "'plain' is there already" "hint: " -- "$graphrun" new plain
check "... changes nothing" diff -r plain made/table
expect "new of a kind that is none" 2 "no kind of project 'tabel'" "did you mean 'table'" -- "$graphrun" new x --data=tabel
check "... makes nothing" test ! -e x
expect "new of nothing" 2 "graphrun new NAME" -- "$graphrun" new
(ulimit -f 8 && "$graphrun" new cut >"$(new_log)" 2>&1)
code=$?
check "new with no room for all files" test "$code" = 74
check "... leaves none" sh -c '! ls -a | grep -E "^(cut|.tmp-cut)$"'
expect "new in a file" 74 "plain/config.yaml" -- "$graphrun" new plain/config.yaml/x
check "completion of kinds" sh -c '"$1" config --complete "graphrun new x --data=s" | grep -qx -- --data=speech' sh "$graphrun"
counts
