# new_layouts.sh - `graphrun new --from` of data laid out as archives unpack them, and of untidy folders.
. "${0%/*}/lib.sh"
mkdir empty && cd empty || exit 1
"$graphrun" new made/image --data=image >"$(new_log)" 2>&1
"$graphrun" new made/speech --data=speech >"$(new_log)" 2>&1
"$graphrun" new made/audio --data=audio >"$(new_log)" 2>&1
"$graphrun" new made/video --data=video >"$(new_log)" 2>&1
# project_of NAME DATA KIND SAID...: makes p/NAME of the data
project_of() {
  of_name=$1 of_data=$2 of_kind=$3
  shift 3
  expect "new --from=$of_data" 0 "^p/$of_name: a project for $of_kind" "$@" -- "$graphrun" new "p/$of_name" --from="$of_data"
}
trains() { expect "... which trains" 0 "^(training set: |\[rank 0\] training set: )" -- sh -c "cd p/$1 && '$graphrun' config.yaml output.dir=run training.max_epochs=1 distributed.ranks=1"; }
# serves NAME FILE: it trains, evaluates all, and predicts the file
serves() {
  trains "$1"
  expect "... evaluates" 0 "^all samples: " -- "$graphrun" eval "p/$1/run" --split=all
  expect "... and predicts" 0 '^{"input": "' -- "$graphrun" predict "p/$1/run" "$2"
}
# fill FOLDER...: two images each
fill() { for folder; do mkdir -p "$folder" && cp made/image/images/circle/0[01].ppm "$folder"; done; }

# ---- Images by class
fill sets/seg_train/seg_train/sea sets/seg_train/seg_train/ice sets/seg_test/seg_test/sea sets/seg_test/seg_test/ice sets/seg_pred/seg_pred
project_of sets sets images "^4 images to train on, 4 of '.*/sets/seg_test/seg_test' for validation"
check "... of the folders within" grep -q '^    path: ".*/sets/seg_train/seg_train" ' p/sets/config.yaml
trains sets
fill kept/train/sea kept/train/ice kept/test
project_of kept kept images "^4 images to train on$" "^not used: '.*/kept/test'"
fill digits/0 digits/1 words/true words/false traffic/bus traffic/train hidden/sea hidden/ice hidden/.cache
project_of digits digits images "^4 images of 2 classes: '0', '1'$"
project_of words words images "^4 images of 2 classes: 'false', 'true'$"
project_of traffic traffic images "^4 images of 2 classes: 'bus', 'train'$"
mkdir -p told/bus told/train && for i in 1 2 3 4 5 6 7 8; do echo "a bus of $i" >told/bus/$i.txt && echo "a train of $i" >told/train/$i.txt; done
project_of told told "texts with a class" "^16 texts of 2 classes$"
project_of hidden hidden images "^4 images of 2 classes: 'ice', 'sea'$"
fill many/1 many/2 many/3 many/4 many/5 many/6
project_of many many images "^12 images of 6 classes: '1', '2', '3', '4', '5', ...$"
fill years/train2017 years/val2017 pairs/left/train pairs/left/val pairs/fine/train pairs/fine/val
expect "folders of splits with a year" 2 "'.*/years' has images in folders called as splits are" "hint: .* and --from=.*/years/train2017$" -- "$graphrun" new p/no --from=years
expect "splits within folders that are no classes" 2 "'.*/pairs' has images in folders called as splits are" "hint: .*metadata.csv$" -- "$graphrun" new p/no --from=pairs
mkdir -p shots/a shots/b && : >shots/a/1.webp && : >shots/b/2.webp && : >shots/b/notes && : >shots/b/1.WEBP
expect "a folder of nothing that is read" 2 "'.*/shots' has no two folders of .*: it has 3 .webp, 1 without an ending$" -- "$graphrun" new p/no --from=shots
mkdir -p hollow/a/b
expect "a folder without files" 2 "'.*/hollow/a/b' has no two folders of .*: it has no files$" -- "$graphrun" new p/no --from=hollow

# ---- Lists of files that are elsewhere, or are called otherwise
# images FOLDER FROM TO FIRST: images of these numbers, which are called by numbers from FIRST on
images() {
  mkdir -p "$1"
  for i in $(seq "$2" "$3"); do cp "made/image/images/circle/0$((i % 10)).ppm" "$1/$(printf %03d $((i - $2 + $4))).ppm"; done
}
# numbered FORMAT TO: a line for each number to TO, of it and its class
numbered() { for i in $(seq "$2"); do printf "$1\n" "$i" "$((i % 2))"; done; }
# made_list NAME LINE...: the list that the project has
made_list() {
  list=p/$1/files.csv
  shift
  for line; do check "... whose list has $line" grep -q "$line" "$list"; done
}
images dogs/train 1 20 1 && images dogs/test 1 8 101 && (echo id,breed && numbered '%03d,k%d' 20) >dogs/labels.csv
(echo id,k0,k1 && numbered '%d,0.5,0.%d' 8 | sed 's/^/10/') >dogs/sample_submission.csv
project_of dogs dogs images "^read: '.*/dogs/labels.csv'" "^not used: '.*/dogs/sample_submission.csv'" "^written: files.csv" "^20 images; to predict: 'breed', 2 classes"
made_list dogs '^path,breed$' '/dogs/train/003.ppm",k1$'
serves dogs dogs/test/101.ppm
project_of dogs_list dogs/labels.csv images "^20 images; to predict: 'breed', 2 classes"
check "... the same list" cmp p/dogs/files.csv p/dogs_list/files.csv
images cifar/train 1 20 1 && images cifar/test 1 20 1 && (echo id,label && numbered '%d,%d' 20) >cifar/trainLabels.csv
project_of cifar cifar images "^20 images; to predict: 'label', 2 classes"
check "... of those for training alone" sh -c '! grep -q /test/ p/cifar/files.csv'
mv cifar/trainLabels.csv cifar/all.csv
project_of cifar_all cifar images "^20 images; to predict: 'label', 2 classes"
check "... also where its name does not say so" cmp p/cifar/files.csv p/cifar_all/files.csv
images both/train 1 20 1 && images both/val 21 28 1 && (echo image,age && numbered '%d,2.%d' 20) >both/train.csv && (echo image,age && numbered '%d,2.%d' 8) >both/val.csv
project_of both both "images with a value to predict" "^20 images; to predict: 'age'" "^for validation: '.*/both/val.csv'" "^written: validation.csv"
check "... each of its folder" grep -q '/both/val/008.ppm",2$' p/both/validation.csv
serves both both/val/001.ppm
images parts/train/x 1 20 1 && images parts/test/x 1 8 101 && (echo 'file;kind' && numbered 'parts\\train\\x\\%03d.ppm;k%d' 20 && numbered 'parts\\test\\x\\10%d.ppm;k%d' 8) >parts/all.txt
project_of parts parts/all.txt images "^for validation: 8 files, by their folders$" "^28 images"
made_list parts '/parts/train/x/020.ppm",train,k0$' '/parts/test/x/108.ppm",validation,k0$'
images kept2/imgs 1 30 1 && (printf 'image\tkind\tsubset\n' && numbered '%03d.ppm\tk%d' 30 | awk -v OFS='\t' '{ print $0, (NR > 26 ? "test" : NR > 20 ? "valid" : "train") }') >kept2/all.tsv
project_of subset kept2 images "^for validation: 6 files, by 'subset'; not used: 4 for a test$" "^26 images"
rm kept2/imgs/005.ppm
project_of fewer kept2/all.tsv images "^1 row without a file left out, the first '005.ppm'$" "^25 images"
# Places are those of the list that is there, not of the one that the project would have.
images lines/imgs 1 30 1 && rm lines/imgs/003.ppm
(printf 'id,label,note\n1,k1,"two\nlines"\n' && for i in $(seq 2 30); do echo "$i,$([ "$i" = 20 ] || echo k$((i % 2))),"; done) >lines/all.csv
expect "a label that is missing in a list that is written again" 66 "/lines/all.csv:22:1: data error: there is no label in this line" \
  "22 [|] 20,,$" -- "$graphrun" new p/no --from=lines
expect "... a column for its labels that it lacks" 2 "/lines/all.csv:1:1: usage error: --label: there is no column 'kind'" "hint: it has: " \
  -- "$graphrun" new p/no --from=lines --label=kind
rm kept2/imgs/00*.ppm
expect "... not of a list of which many are not there" 66 "all.tsv:1:1: .*'image' names files, and this is no list" -- "$graphrun" new p/no --from=kept2
rm kept2/all.tsv && images kept2/imgs 1 30 1 && numbered 'imgs/%03d.ppm,k%d' 30 >kept2/bare.csv
project_of bare kept2/bare.csv images "^30 images; to predict: 'c1', 2 classes"
numbered 'imgs/%03d.ppm,%d' 30 >kept2/bare.csv
expect "a list without a line of names" 66 "bare.csv:1:1: .*the first line names a file" "hint: write a line above it: path,label" -- "$graphrun" new p/no --from=kept2
(echo Id,width,kind && numbered '%d,0.%d' 30 | awk -F, '{ print $0 ",k" NR % 2 }') >kept2/flowers.csv
project_of flowers kept2/flowers.csv "rows of numbers with a class" "to predict: 'kind', 2 classes"
(echo image,words && numbered '%03d.ppm,a picture of %d and more' 30 | awk '{ print $0, NR }') >kept2/captions.csv && rm kept2/bare.csv kept2/flowers.csv
project_of captions kept2 "images with a text to write" "to write: the texts in 'words'"
serves captions kept2/imgs/001.ppm
mkdir -p sets8/metadata && echo slice_file_name,fsID,start,fold,classID,class >sets8/metadata/all.csv
for kind in rise fall hum; do
  for i in 0 1 2 3 4 5 6 7 8 9; do
    mkdir -p "sets8/audio/fold$((i % 5 + 1))" && cp "made/audio/sounds/$kind/0$i.wav" "sets8/audio/fold$((i % 5 + 1))/$kind-$i-0.wav"
    echo "$kind-$i-0.wav,$i,0.5,$((i % 5 + 1)),1,$kind" >>sets8/metadata/all.csv
  done
done
project_of sets8 sets8 "recordings with a class" "^for validation: 6 files, by 'fold', those of 5$" "^a list of 30 recordings; to predict: 'class', 3 classes"
check "... which stay apart" sh -c '! grep -v "/fold5/.*,validation," p/sets8/files.csv | grep -q "fold5\|validation"'
serves sets8 sets8/audio/fold1/hum-0-0.wav
mkdir -p told2/audio && cp made/speech/data/*.wav told2/audio && { echo 'file;words' && sed -n 's/.*"audio_path": "\([0-9]*\).wav", "text": "\([A-F]*\)".*/\1;\2/p' made/speech/data/manifest.jsonl; } >told2/list.csv
project_of told2 told2 "recordings with transcripts" '^120 recordings with their texts; symbols: "ABCDEF"'
mkdir -p told3/audio && cp made/speech/data/*.wav told3/audio && { echo 'file,text,split' && sed '1d; s/;/,/; s/$/,train/' told2/list.csv | sed '1,20s/train$/dev/; 21,50s/train$/test/'; } >told3/list.csv
project_of told3 told3 "recordings with transcripts" '^70 recordings with their texts, and 20 for validation' "^not used: '.*/told3/list.csv, rows for a test'$"
check "... of which none is in both" sh -c '! grep -qxFf p/told3/validation.jsonl p/told3/manifest.jsonl'
serves told2 told2/audio/000.wav
mkdir seen && cp -r made/video/clips seen/vids && rm -f seen/vids/*.csv && { echo clip,label && ls seen/vids | sed 's/\([a-z]*\)\(.*\).npy/\1\2,\1/'; } >seen/list.csv
project_of seen seen "clips of videos" "^a list of [0-9]* videos"
serves seen seen/vids/down00.npy

# ---- Masks
# masked IMAGES MASKS N FIRST: images, of which those from FIRST on have masks
masked() {
  mkdir -p "$1" "$2"
  for i in $(seq "$3"); do
    printf 'P6 8 8 255\n%0192d' "$i" >"$1/$i.ppm"
    [ "$i" -lt "$4" ] || { printf 'P5 8 8 255\n' && printf %032d%032d 0 11111111 | tr 01 '\000\001'; } >"$2/$i.pgm"
  done
}
masked kit/VOC/JPEGImages kit/VOC/SegmentationClass 12 3 && mkdir -p kit/VOC/Annotations && echo '<a/>' >kit/VOC/Annotations/1.xml
project_of voc kit "images with a class for each pixel" "^images with 10 masks, of 2 classes$" "^2 images without a mask left out$"
check "... as a list of the others" sh -c 'test "$(wc -l <p/voc/masked.csv)" = 11 && grep -q "/JPEGImages/3.ppm\",\".*/SegmentationClass/3.pgm\"$" p/voc/masked.csv'
trains voc
masked cells/train/images cells/train/masks 8 1 && masked cells/val/images cells/val/masks 4 1 && masked cells/test/images cells/test/masks 2 1
project_of cells cells "images with a class for each pixel" "^images with 8 masks" "^for validation: '.*/cells/val/images'" "^not used: '.*/cells/test/images'"
check "... and its masks" grep -q '^    eval_masks: ".*/cells/val/masks" ' p/cells/config.yaml
trains cells

# ---- Recordings with their texts in folders of speakers
# said FOLDER TEXTS ENDING BEFORE FROM TO: recordings and their texts, with words before them
said() {
  mkdir -p "$1" "$2"
  sed -n "$5,$6s/.*\"audio_path\": \"\([0-9]*\).wav\", \"text\": \"\([A-F]*\)\".*/\1 \2/p" made/speech/data/manifest.jsonl |
    while read -r number text; do cp "made/speech/data/$number.wav" "$1/$7$number$8.wav" && echo "$4$text" >"$2/$7$number.$3"; done
}
said voices/s1 voices/s1 txt '' 1 40 '' '' && said voices/s2 voices/s2 txt '' 41 80 '' ''
project_of voices voices "recordings with transcripts" '^80 recordings with their texts; symbols: "ABCDEF"'
trains voices
said vctk/wav48/p1 vctk/txt/p1 txt '' 1 20 p1_ _mic1 && said vctk/wav48/p2 vctk/txt/p2 txt '' 21 40 p2_ '' && echo ID AGE >vctk/about.txt
project_of vctk vctk "recordings with transcripts" '^40 recordings with their texts; symbols: "ABCDEF"'
said timit/TRAIN/DR1/F timit/TRAIN/DR1/F TXT '0 4000 ' 1 20 S '' && said timit/TEST/DR1/F timit/TEST/DR1/F TXT '0 4000 ' 21 30 S ''
project_of timit timit "recordings with transcripts" '^20 recordings with their texts; symbols: "ABCDEF"' "^not used: '.*/timit/TEST/DR1/F/S"
said orders/yes unused txt '' 1 10 '' '' && said orders/no unused txt '' 11 20 '' '' && echo a note >orders/no/010.txt
project_of orders orders "recordings with a class" "^20 recordings of 2 classes: 'no', 'yes'$"

# ---- Tables
# rows N: lines of two numbers and a class
rows() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print i % 7 / 8 "," i % 5 / 4 "," (i % 3 ? "u" : "v") }'; }
mkdir -p ucr two kaggle
awk 'BEGIN { for (i = 0; i < 40; i++) { printf "%d", i % 2 + 1; for (k = 0; k < 20; k++) printf "\t%.3f", (i * k % 11) / 7; print "" } }' >ucr/Gun_TRAIN.tsv
cp ucr/Gun_TRAIN.tsv ucr/Gun_TEST.tsv
project_of ucr ucr "rows of numbers with a class" "^read: '.*/ucr/Gun_TRAIN.tsv'" "to predict: 'c0', 2 classes" "^for validation: '.*/ucr/Gun_TEST.tsv'"
trains ucr
for part in a_train b_train b_test; do { echo a,b,label && rows 40; } >two/$part.csv; done
expect "new --from tables for training of which no pattern is" 2 "'.*/two' has no two folders .* it has 3 .csv$" -- "$graphrun" new p/no --from=two
{ echo id,died,size,port && rows 60 | awk -F, -v OFS=, '{ print NR, NR % 2, $1, $3 }'; } >kaggle/train.csv
cut -d, -f1,3,4 kaggle/train.csv >kaggle/test.csv
project_of kaggle kaggle "rows of numbers with a class" "to predict: 'died', 2 classes" "^not used: '.*/kaggle/test.csv'"
awk 'BEGIN { for (i = 0; i < 40; i++) printf "\"%d\",\"news of %d\",\"there is a story of %d and more\"\n", i % 4 + 1, i, i }' >news.csv
project_of news news.csv "texts with a class" "^40 texts, in 'c2'; to predict: 'c0', 4 classes"
trains news
{ echo id,label && awk 'BEGIN { for (i = 0; i < 18; i++) print "a" i "," (i % 2 ? "u" : "v") }'; } >ids.csv
expect "new --from a table of names alone" 2 "ids.csv:1:1: .*no column but 'label' is of numbers" -- "$graphrun" new p/no --from=ids.csv
rows 40 | awk -F, '{ print $1, $2, NR % 2 }' >blanks.txt
project_of blanks blanks.txt "rows of numbers with a class" "^40 rows of 3 columns; to predict: 'c2', 2 classes"
rows 40 | awk -F, '{ printf " %8.3f %8.3f %d\n", $1, $2, NR % 2 }' >aligned.txt
expect "new --from aligned columns" 66 "aligned.txt:1:1: .*aligned by several blanks" "hint: .*sed -E" -- "$graphrun" new p/no --from=aligned.txt
expect "... as the error advises" 0 "^40 rows of 3 columns" -- sh -c "sed -E 's/^ +//; s/ +/,/g' aligned.txt >aligned.csv && exec '$graphrun' new p/aligned --from=aligned.csv"
awk 'BEGIN { for (i = 0; i < 30; i++) print "images/" i ".jpg " i % 2 }' >list.txt
expect "new --from a list of images as a text" 66 "list.txt:1:1: .*names files, and this is no list of them" -- "$graphrun" new p/no --from=list.txt
(echo filename,label && for i in 0 1 2 3 4 5; do echo "gone/9$i.ppm,k$((i % 2))"; done) >gone.csv
expect "new --from a list of images that are not there" 66 "gone.csv:2:1: .*cannot open '.*/gone/90.ppm'" \
  "hint: correct the path; paths of a list are relative to its folder; or take it out$" -- "$graphrun" new p/no --from=gone.csv
rows 40 >iris.data
expect "new --from a table of another name" 2 "'iris.data' has the rows of a table" "hint: .* cp .*/iris.data table.csv" -- "$graphrun" new p/no --from=iris.data
expect "... as the error advises" 0 "to predict: 'c2', 2 classes" -- sh -c "cp iris.data table.csv && exec '$graphrun' new p/iris --from=table.csv"
mkdir -p hub/train hub/test gun
for part in train/0000 train/0001 test/0000; do { echo a,b,label && for i in $(seq 30); do echo "$i.5,$((i % 7)),$((i % 2))"; done; } >hub/$part.csv; done
project_of hub hub "rows of numbers with a class" "^read: '.*/hub/train/\*.csv'$" "^60 rows of 3 columns" "^for validation: '.*/hub/test/0000.csv'$"
trains hub
for split in TRAIN TEST; do
  { printf '@timeStamps false\n@univariate true\n@classLabel true 0 1\n@data\n' && for i in $(seq 30); do echo "$i,1,$((i % 2)),4,5,6,7,8:$((i % 2))"; done; } >gun/Gun_$split.ts
done
project_of gun gun "recordings of sensors" "^30 series of 1 channel, 2 classes$"
check "... whose test is for validation" grep -q 'eval_path: ".*/gun/Gun_TEST.ts"' p/gun/config.yaml
trains gun
check "what is no project makes none" test ! -e p/no
counts
