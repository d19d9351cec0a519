# damaged.sh - files of data that are missing, empty, cut short or something else are found before a run
# has a folder, on any number of ranks, by their heads or in the first batch: with place, cause and cure.
. "${0%/*}/lib.sh"
pictures=$source/tests/fuzz/corpus/picture
cp "$source/cli/new/image/graph.yaml" graph.yaml
cat >image.yaml <<'YAML'
model: {graph: graph.yaml, params: {filters: 2}}
data: {source: image, image: {path: good/list.csv, size: 8}}
training: {batch_size: 16, optimizer: adam, lr: 1e-3, max_steps: 2, seed: 1}
distributed: {ranks: 1}
YAML
ppm() { # FILE BYTE: 8 x 8 of one colour
  printf 'P6\n8 8\n255\n' >"$1"
  head -c 192 /dev/zero | tr '\0' "$2" >>"$1"
}
# Lines 2 to 13 of the list: 8 images to train on, then 4 for validation. Those of a library are there
# where this build has it.
images() { # FOLDER
  mkdir "$1"
  echo path,label,split >"$1/list.csv"
  for i in 2 3 4 5 6 7 8 9 10 11 12 13; do
    part=train class=a
    [ $i -gt 9 ] && part=validation
    [ $((i % 2)) = 0 ] && class=b
    ppm "$1/$i" "$class"
    echo "$i,$class,$part" >>"$1/list.csv"
  done
  if has_module png; then cp "$pictures/rgb.png" "$1/4" && cp "$pictures/gray.png" "$1/11"; fi
  if has_module jpeg; then cp "$pictures/rgb.jpg" "$1/5"; fi
}
images good
for ranks in 1 2; do
  expect "good images on $ranks" 0 "8 training and 4 validation samples" -- \
    "$graphrun" image.yaml output.dir=on$ranks distributed.ranks=$ranks
done

one_error() { [ "$(grep -c '^[^ ].*error: ' "$log")" = 1 ]; }
# broken NAME LINE PATTERN: the image of that line is what the input is; without input it is missing.
broken() {
  rm -rf bad
  images bad
  rm "bad/$2"
  if [ "$4" != - ]; then cp "$4" "bad/$2"; fi
  for ranks in 1 2; do
    expect "$1, on $ranks" 66 "^bad/list.csv:$2:1: data error: .*$3" \
      "hint: .*take it out, or leave out all such images with data.skip_unreadable=true" -- \
      "$graphrun" image.yaml data.image.path=bad/list.csv output.dir=out distributed.ranks=$ranks
    check "... by one error, before there is a folder" sh -c "[ ! -e out ] && [ \$(grep -c '^[^ ].*error: ' '$log') = 1 ]"
  done
  expect "... of a plan, which reads no samples" 0 "" -- "$graphrun" plan image.yaml data.image.path=bad/list.csv
  expect "... found by inspect" 66 "samples that cannot be used: 1$" "^bad/list.csv:$2:1: .*$3" -- \
    "$graphrun" data inspect image.yaml data.image.path=bad/list.csv --audio
  expect "... found by eval" 66 "^bad/list.csv:$2:1: data error: .*$3" "hint: " -- \
    "$graphrun" eval on1 data.image.path=bad/list.csv --split=all
  if [ "$4" != - ]; then
    expect "... and by predict" 66 "$3" "hint: " -- "$graphrun" predict on1 "good/2" "bad/$2" --out=predicted
  else
    expect "... and by predict" 66 "bad/$2': No such file" -- "$graphrun" predict on1 "good/2" "bad/$2" --out=predicted
  fi
  check "... which writes nothing" test ! -e predicted
}
: >empty
echo hello >text
ppm whole a
head -c 100 whole >cut
broken "an image that is missing" 6 "cannot open 'bad/6': No such file" -
broken "an empty file" 6 "'bad/6' is an empty file" empty
broken "a text" 12 "'bad/12' is no image" text
broken "an image that is cut short" 13 "'bad/13' is cut short" cut
if has_module png; then
  head -c 20 "$pictures/rgb.png" >head.png
  head -c 60 "$pictures/rgb.png" >pixels.png
  broken "a PNG whose head is cut" 4 "PNG image 'bad/4' cannot be read" head.png
  broken "a PNG whose pixels are damaged, to train on" 4 "PNG image 'bad/4' cannot be read" pixels.png
  broken "... and for validation" 11 "PNG image 'bad/11' cannot be read" pixels.png
else
  skip "PNG" "no libpng"
fi
if has_module jpeg; then
  head -c 100 "$pictures/rgb.jpg" >head.jpg
  head -c 640 "$pictures/rgb.jpg" >pixels.jpg
  broken "a JPEG whose head is cut" 5 "JPEG image 'bad/5' cannot be read" head.jpg
  broken "a JPEG whose pixels are damaged" 5 "JPEG image 'bad/5' cannot be read" pixels.jpg
else
  skip "JPEG" "no libjpeg-turbo"
fi

# ---- Recordings: the last line of the manifest, of which each rank looks at a part.
make_data
n=$(wc -l <data/tones.jsonl)
sed '$s/wavs\/[0-9]*/last/' data/tones.jsonl >data/last.jsonl
last=data/wavs/$(sed -n '$s/.*wavs\/\([0-9]*\).*/\1/p' data/tones.jsonl).wav
tones trained training.max_steps=2
for kind in missing empty cut head text; do
  rm -f data/last.wav
  case $kind in
    missing) said="cannot open '.*last.wav': No such file" ;;
    empty) : >data/last.wav && said="last.wav' is an empty file" ;;
    cut) head -c 900 "$last" >data/last.wav && said="last.wav' is cut short" ;;
    head) head -c 30 "$last" >data/last.wav && said="last.wav' is cut short" ;;
    text) echo hello >data/last.wav && said="last.wav' is not a" ;;
  esac
  for ranks in 1 2; do
    tones out "data.manifest=$scratch/data/last.jsonl" distributed.ranks=$ranks
    printf '%s\n' "last.jsonl:$n:[0-9]+: data error: .*$said" "hint: .*skip_unreadable=true" >patterns
    verdict "a recording: $kind, on $ranks" 66
    check "... before there is a folder" test ! -e out
  done
  expect "... found by eval" 66 "last.jsonl:$n:[0-9]+: data error: .*$said" -- \
    "$graphrun" eval trained "data.manifest=$scratch/data/last.jsonl" --split=all
done

# ---- Of several files, all are looked for before the first is read, which is broken, too.
printf 'a,b\n1,2\n"x\n' >broken.csv
mkdir folder.csv folder.txt
cat >table.yaml <<YAML
model: {graph: $source/graphs/mlp.yaml}
data: {source: table, table: {path: [broken.csv, folder.csv], features: [a], label: b}}
YAML
expect "the second file of a table" 66 "table.yaml:2:[0-9]+: data error: .*'folder.csv': it is a folder" -- \
  "$graphrun" data inspect table.yaml
printf 'zzz\n' >broken.txt
printf 'a\nb\n' >vocab.txt
cat >corpus.yaml <<YAML
model: {graph: $source/graphs/gpt.yaml}
data: {source: corpus, corpus: {path: [broken.txt], eval_path: folder.txt, vocab: vocab.txt, context: 8}}
YAML
expect "the second text" 66 "corpus.yaml:2:[0-9]+: data error: .*'folder.txt': it is a folder" -- \
  "$graphrun" data inspect corpus.yaml
mkdir market
printf 'timestamp,open\n1,x\n' >market/A.csv
mkdir market/B.csv
cat >market.yaml <<YAML
model: {graph: $source/graphs/mlp.yaml}
data: {source: market, market: {path: market}}
YAML
expect "the second ticker" 66 "data error: .*'market/B.csv': it is a folder" -- "$graphrun" data inspect market.yaml
# Floats, which is said when the video is opened.
printf '\223NUMPY\001\000v\000%-117s\nfour' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1), }" >wrong.npy
printf 'path,label\nwrong.npy,a\nmissing.npy,b\n' >videos.csv
cat >video.yaml <<YAML
model: {graph: $source/graphs/cnn3d.yaml}
data: {source: video, video: {path: videos.csv, frames: 4}}
YAML
expect "the second video" 66 "videos.csv:3:1: data error: cannot open 'missing.npy'" "hint: .*take it out" -- \
  "$graphrun" data inspect video.yaml

# All that is damaged is listed, of every kind of data.
for i in 1 2; do
  {
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 8, 8), }"
    head -c 256 /dev/zero
  } >good$i.npy
done
printf 'path,label\nwrong.npy,a\ngood1.npy,a\nmissing.npy,b\ngood2.npy,b\n' >videos.csv
expect "all damaged videos" 66 "samples that cannot be used: 2$" "^videos.csv:2:1: the video 'wrong.npy' is of f32" \
  "^videos.csv:4:1: cannot open 'missing.npy'" "hint: repair them" -- "$graphrun" data inspect video.yaml --audio
printf 'a,b\n1,x\n2,y\nnan,x\n3,y\n' >broken.csv
expect "all damaged rows" 66 "samples that cannot be used: 1$" "^broken.csv:4:1: " -- \
  "$graphrun" data inspect table.yaml data.table.path=broken.csv --audio
printf 'abab\nba\nabababababababab' >broken.txt
expect "a text" 0 "samples that cannot be used: 0$" -- "$graphrun" data inspect corpus.yaml data.corpus.path=broken.txt \
  data.corpus.eval_path=null data.corpus.vocab=bytes --audio

# ---- A signal while the first batch is made, which takes very long: there is no folder yet.
mkdir large
{
  printf 'P6\n4000 4000\n255\n'
  head -c 48000000 /dev/zero
} >large/a
ln large/a large/b
{
  echo path,label,split
  for i in $(seq 2000); do echo a,a,train && echo b,b,train; done
} >large/list.csv
for ranks in 1 2; do
  backend=loopback
  new_log >/dev/null
  timeout -k 5 "$limit" "$graphrun" image.yaml data.image.path=large/list.csv data.cache_mb=0 training.batch_size=4000 \
    output.dir="$scratch/large/out" distributed.ranks=$ranks distributed.backend=$backend >>"$log" 2>&1 </dev/null &
  watcher=$!
  pid=
  while [ -z "$pid" ] && kill -0 "$watcher" 2>/dev/null; do pid=$(children "$watcher"); done
  begun() { grep -q "making the first batches" "$log"; }
  await begun
  kill -TERM "$pid"
  ended
  printf '%s\n' '^stopped error: stopped by a signal while making the first batches' 'hint: ' >patterns
  verdict "SIGTERM while the first batch is made, on $ranks" 75
  check "... there is no folder yet" test ! -e large/out
done
counts
