# new_layouts.sh - `graphrun new --from` of data laid out as archives unpack them, and of untidy folders.
. "${0%/*}/lib.sh"
mkdir empty && cd empty || exit 1
"$graphrun" new made/image --data=image >"$(new_log)" 2>&1
"$graphrun" new made/speech --data=speech >"$(new_log)" 2>&1
# project_of NAME DATA KIND SAID...: makes p/NAME of the data
project_of() {
  of_name=$1 of_data=$2 of_kind=$3
  shift 3
  expect "new --from=$of_data" 0 "^p/$of_name: a project for $of_kind" "$@" -- "$graphrun" new "p/$of_name" --from="$of_data"
}
trains() { expect "... which trains" 0 "^(training set: |\[rank 0\] training set: )" -- sh -c "cd p/$1 && '$graphrun' config.yaml output.dir=run training.max_epochs=1 distributed.ranks=1"; }
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
project_of ucr ucr "rows of numbers with a class" "^read: '.*/ucr/Gun_TRAIN.tsv'" "to predict: 'c0', 2 classes" "^not used: '.*/ucr/Gun_TEST.tsv'"
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
mkdir -p album/images && cp made/image/images/circle/0*.ppm album/images && (echo filename,label && for i in 0 1 2 3 4 5; do echo "0$i.ppm,k$((i % 2))"; done) >album/labels.csv
expect "new --from a list that is not in the folder of its images" 66 "labels.csv:2:1: .*cannot open '.*/album/00.ppm'" \
  "hint: correct the path; paths of a list are relative to its folder; or take it out$" -- "$graphrun" new p/no --from=album
rows 40 >iris.data
expect "new --from a table of another name" 2 "'iris.data' has the rows of a table" "hint: .* cp .*/iris.data table.csv" -- "$graphrun" new p/no --from=iris.data
expect "... as the error advises" 0 "to predict: 'c2', 2 classes" -- sh -c "cp iris.data table.csv && exec '$graphrun' new p/iris --from=table.csv"
check "what is no project makes none" test ! -e p/no
counts
