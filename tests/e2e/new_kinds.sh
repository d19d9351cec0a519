# new_kinds.sh - a project of each kind of `graphrun new`, as its user would: train, evaluate, predict, export.
. "${0%/*}/lib.sh"
mkdir empty && cd empty || exit 1
for kind in $(project_kinds); do
  expect "new --data=$kind" 0 -- "$graphrun" new "made/$kind/" --data=$kind
  cd made/$kind || exit 1
  expect "... its data can be inspected" 0 "^train " -- "$graphrun" data inspect config.yaml
  expect "... it trains" 0 "^validation set: " -- "$graphrun" config.yaml output.dir=run
  check "... none of its nodes mixes samples with padding" sh -c '! grep "mixes the rows of a batch" "$1"' sh "$log"
  case $kind in
  table) input=test.csv metric=f1_macro bound='v > 0.85' ;;
  regression) input=test.csv metric=r2 bound='v > 0.9' ;;
  series) input=test.csv metric=f1_macro bound='v > 0.85' ;;
  video) input=clips/left00.npy metric=f1_macro bound='v > 0.85' ;;
  texts) input='message.txt test.csv' metric=f1_macro bound='v > 0.85' ;;
  pairs) input='message.txt test.csv' metric=wrong bound='v < 0.2' ;;
  captions) input='images/000.ppm test.csv' metric=wrong bound='v < 0.3' ;;
  rl) input='' metric=balanced bound='v > 150' ;;
  audio) input="sounds/rise/00.wav sounds/hum/00.wav" metric=f1_macro bound='v > 0.85' ;;
  speech) input="data/000.wav data/001.wav" metric=cer bound='v < 0.1' ;;
  image) input="images/circle/00.ppm images/square/00.ppm" metric=accuracy bound='v > 0.85' ;;
  image_regression) input="images/000.ppm test.csv" metric=r2 bound='v > 0.8' ;;
  segmentation) input=images/000.ppm metric=mean_iou bound='v > 0.9' ;;
  text) input="prompt.txt --tokens=20" metric=accuracy bound='v > 0.5' ;;
  esac
  check "... and learns" sh -c 'sed -n "s/^validation set: .*'$metric' //p" "$1" | awk "{ v = \$1; exit !('"$bound"') }"' sh "$log"
  expect "... eval" 0 "^validation set: " -- "$graphrun" eval run
  # shellcheck disable=SC2086
  [ -z "$input" ] || expect "... predict" 0 '^\{"input": ' -- "$graphrun" predict run $input
  if [ $kind = image ]; then
    echo text >images/square/notes.md
    expect "... a folder of them, with folders within it" 0 "^1 other in the folder 'images/' is not predicted" -- \
      "$graphrun" predict run images/ --out=all.jsonl
    (cd images && find . -name '*.ppm' | LC_ALL=C sort | sed 's/^\./images/') >want
    sed 's/.*"input": "\([^"]*\)".*/\1/' all.jsonl >got
    check "... in the order of their paths" cmp want got
    rm images/square/notes.md
  fi
  if [ $kind = segmentation ]; then
    expect "... its masks as images" 0 -- "$graphrun" predict run test/images --out=found/
    check "... one for each" test "$(cd found/mask && echo *.png | wc -w)" = 30
    check "... of its name" grep -q '{"input": "test/images/000.ppm", "mask": "found/mask/000.png"}' found/predictions.jsonl
    expect "... are what it predicts" 0 '^all samples: .* accuracy 1.0000 mean_iou 1.0000' -- \
      "$graphrun" eval run data.image.path=test/images data.image.masks=found/mask --split=all
    cat >same.yaml <<'YAML'
inputs: {x: {shape: [n, h, w, c], dtype: u8}, y: {shape: [n, h, w], dtype: i32}}
nodes:
  - f: {cast: x, to: f32}
  - f: {scale: f, by: 1 / 255}
  - logits: {conv2d: f, out: 4, kernel: 1, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
predict: {image: f, bytes: x}
YAML
    cat >same_run.yaml <<'YAML'
model: {graph: same.yaml}
data: {source: image, image: {path: images, masks: masks, mask_values: 4, size: 24}}
training: {batch_size: 16, max_steps: 1, max_epochs: 0}
distributed: {ranks: 1}
YAML
    expect "... a network whose output is its input" 0 -- "$graphrun" same_run.yaml output.dir=same
    mkdir -p twice/a twice/b && cp test/images/00[01].ppm twice/a && cp test/images/000.ppm twice/b
    expect "... writes colours" 0 -- "$graphrun" predict same twice --out=colours/ distributed.ranks=2
    check "... as files of other names where they would be one" test "$(cd colours/image && echo *)" = "000-2.png 000.png 001.png"
    values() { "$graphrun" predict same "$@" 2>/dev/null | sed 's/"input": "[^"]*"//'; }
    values twice/a/000.ppm twice/a/001.ppm >want
    for output in image bytes; do
      values colours/$output/000.png colours/$output/001.png >got
      check "... the same pixels of the output $output" cmp want got
    done
  fi
  case $kind in
  table | regression | series) test=data.table.path=test.csv ;;
  texts | pairs) test=data.texts.path=test.csv ;;
  image) test=data.image.path=test ;;
  captions | image_regression) test=data.image.path=test.csv ;;
  segmentation) test='data.image.path=test/images data.image.masks=test/masks' ;;
  video) test=data.video.path=clips/test.csv ;;
  audio) test=data.manifest=test ;;
  speech) test=data.manifest=data/test.jsonl ;;
  text) test=data.corpus.path=test.txt ;;
  rl) test= ;;
  esac
  # shellcheck disable=SC2086
  [ -z "$test" ] || expect "... has a test set" 0 "^all samples: loss .*$metric" -- "$graphrun" eval run $test --split=all
  [ -z "$test" ] || check "... which README.md names" grep -q "eval run $test" README.md
  expect "... export" 0 "^model.safetensors: [1-9]" -- "$graphrun" export run model.safetensors
  expect "... hooks" 0 "^[0-9]+ steps: lr" -- "$graphrun" hooks config.yaml
  expect "... plot" 0 "$metric" -- "$graphrun" plot run --key="validation.$metric"
  cd ../..
done
counts
