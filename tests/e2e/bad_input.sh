# bad_input.sh - every mistake gets one message: its place, what to do, and an exit code.
. "${0%/*}/lib.sh"
make_data
mkdir graphs
cp "$source"/graphs/*.yaml graphs
sed "s|???.*|data/tones.jsonl|" "$source/tests/e2e/tones.yaml" >base.yaml
# changed NEW OLD-FILE SED: a file with one mistake.
changed() {
  sed "$3" "$2" >"$1"
  if cmp -s "$1" "$2"; then fail "making $1" "the pattern changes nothing: $3"; fi
}
run() { # NAME CODE PATTERN... -- key=value ...: of base.yaml
  name=$1 want=$2
  shift 2
  : >patterns
  while [ "$1" != -- ]; do
    printf '%s\n' "$1" >>patterns
    shift
  done
  shift
  limited "$graphrun" base.yaml output.dir=out "$@"
  verdict "$name" "$want"
}

# ---- Configuration
changed c1.yaml base.yaml 's/max_steps: 10/max_stps: 10/'
expect "an unknown key in a file" 65 "c1.yaml:18:[0-9]+: .*max_stps" "did you mean 'training.max_steps'" -- \
  "$graphrun" c1.yaml
run "an unknown key on the command line" 65 "argument [0-9]+:1:1: .*max_stps" "max_steps" -- training.max_stps=3
run "an unknown section" 65 "argument [0-9]+:1:1: " "did you mean 'training" -- trainng.lr=1
printf 'model: {graph: graphs/lmu_asr.yaml}\ntraining:\n  lr: fast\n  batch_size: -3\n  optimizer: adm\n' >c2.yaml
expect "all mistakes at once" 65 "c2.yaml:3:7: " "c2.yaml:4:15: " "c2.yaml:5:14: " "did you mean 'adam'" -- \
  "$graphrun" c2.yaml
run "a wrong type" 65 "argument [0-9]+:1:21: .*integer" "hint: " -- training.batch_size=many
run "out of range" 65 "argument [0-9]+:1:13: .*at least 0" "hint: " -- training.lr=-1
run "an integer too large" 65 "argument [0-9]+:1:20: " "hint: " -- training.max_steps=99999999999999999999
run "a word not on the list" 65 "argument [0-9]+:1:20: " "did you mean 'adamw'" -- training.optimizer=adamww
run "a strategy that needs a mesh" 65 "argument [0-9]+:1:22: .*hsdp needs" "hint: .*distributed.mesh" -- \
  distributed.strategy=hsdp distributed.ranks=2
run "more ranks than samples in a batch" 65 "argument [0-9]+:1:19: .*100000 ranks" "hint: " -- \
  distributed.ranks=100000
run "a second configuration" 2 "'other.yaml' is a second configuration" "hint: .*defaults" -- other.yaml
run "an argument without '='" 2 "argument [0-9]+:1:12: " "hint: write KEY=VALUE" -- training.lr
expect "??? left" 65 "tones.yaml:8:13: .*data.manifest.*\?\?\?" "hint: .*data.manifest=VALUE" -- \
  "$graphrun" "$source/tests/e2e/tones.yaml"
printf 'model: {graph: a.yaml\ntraining:\n  lr: 1\n' >c3.yaml
expect "broken YAML" 65 "c3.yaml:2:9: " "c3.yaml:1:8: " "hint: " -- "$graphrun" c3.yaml
printf 'model:\n  graph: graphs/lmu_asr.yaml\n  graph: b.yaml\n' >c4.yaml
expect "a key twice" 65 "c4.yaml:3:3: " -- "$graphrun" c4.yaml
printf 'defaults: [nothing_here, _self_]\n' >c5.yaml
expect "a missing default" 65 "c5.yaml:1:12: .*nothing_here" -- "$graphrun" c5.yaml
run "an interpolation of nothing" 65 "argument [0-9]+:1:13: .*vars.x" -- 'training.lr=${vars.x}'
expect "no such configuration" 65 "no configuration file 'none.yaml'" "hint: " -- "$graphrun" none.yaml

# ---- Model
run "no such model" 65 "argument [0-9]+:1:13: .*none.yaml" "hint: searched: " -- model.graph=none.yaml
run "no such parameter of the model" 65 "argument [0-9]+:1:1: .*'hiden'" "did you mean 'hidden'" -- model.params.hiden=3
run "a parameter that the data know better" 65 "argument [0-9]+:1:21: .*vocab" "hint: remove it" -- +model.params.vocab=99
run "a check of the model" 65 "lmu_asr.yaml:[0-9]+:[0-9]+: .*subsample is 1, 2 or 4" -- model.params.subsample=3
run "frozen weights that are not there" 65 "argument [0-9]+:1:15: .*'layer.0.\*' matches no weight" \
  "did you mean 'layers.0.\*'" -- "model.freeze=[layer.0.*,'*.norm.weight']"
run "nothing left to train" 65 "lmu_asr.yaml:[0-9]+:8: .*no weight to train" "hint: .*freeze" -- "model.freeze=['*']"
run "more samples than a batch can have" 65 "argument [0-9]+:1:21: .*200000000 samples on each of 10 ranks are 2000000000" \
  "hint: " -- training.batch_size=200000000 training.batch_is=per_rank distributed.ranks=10
run "no such metric" 65 "argument [0-9]+:1:19: .*'cre'" "did you mean 'cer'" -- checkpoint.metric=cre
changed graphs/shape.yaml graphs/lmu_asr.yaml 's/{linear: x, out: vocab, .*}/{add: [x, logits0]}/;s/^nodes:/nodes:\n  - logits0: {linear: x, out: 7, name: other}/'
run "a shape error" 65 "shape.yaml:[0-9]+:[0-9]+: .*" "axis|shape|size" -- model.graph=graphs/shape.yaml
changed graphs/op.yaml graphs/lmu_asr.yaml 's/linear: x, out: vocab/liner: x, out: vocab/'
run "an unknown op" 65 "op.yaml:[0-9]+:14: .*'liner'" "did you mean 'linear'" -- model.graph=graphs/op.yaml
changed graphs/name.yaml graphs/lmu_asr.yaml 's/ctc_greedy: \[logits/ctc_greedy: [logit/'
run "an unknown name" 65 "name.yaml:[0-9]+:42: .*'logit'" "did you mean 'logits'" -- model.graph=graphs/name.yaml
changed graphs/ahead.yaml graphs/lmu_asr.yaml 's/{linear: x, out: hidden, name: input_projection}/{add: [x, logits]}/'
run "a name before it is defined" 65 "ahead.yaml:[0-9]+:18: .*before it is defined" "hint: nodes run in order" -- \
  model.graph=graphs/ahead.yaml
changed graphs/attr.yaml graphs/lmu_asr.yaml 's/name: input_projection}/name: input_projection, units: 4}/'
run "an unknown attribute" 65 "attr.yaml:[0-9]+:57: .*'units'" "hint: " -- model.graph=graphs/attr.yaml
changed graphs/aim.yaml graphs/lmu_asr.yaml 's/^train: loss/train: lost/'
run "nothing to train" 65 "aim.yaml:[0-9]+:8: .*'lost'" "did you mean 'loss'" -- model.graph=graphs/aim.yaml

printf 'inputs:\n  x: {shape: [n, t, c]}\n  y: {shape: [n], dtype: i32}\nnodes:\n  - m: {mean: x, axes: [1]}\n%s\ntrain: loss\n' \
  '  - logits: {linear: m, out: 4, name: head}
  - loss: {cross_entropy: [logits, y]}' >graphs/zeros.yaml
sed '/params:/d;s/metric: cer/metric: loss/' base.yaml >noparams.yaml
for command in plan train; do
  expect "an input that the data do not give: $command" 65 "zeros.yaml:3:3: .*gives no 'y'" \
    "hint: it gives x f32.8,[0-9]+,16., lengths i32.8." -- \
    "$graphrun" $command noparams.yaml model.graph=graphs/zeros.yaml output.dir=out
  expect "inputs of another shape than the data's: $command" 65 "mlp.yaml:4:14: .*'x' has 2 axes" \
    "f32.8,[0-9]+,16." "mlp.yaml:5:3: .*no 'y'" -- \
    "$graphrun" $command noparams.yaml model.graph=graphs/mlp.yaml output.dir=out
done
changed graphs/mels.yaml graphs/lmu_asr.yaml 's/x: {shape: \[n, t, mels\]/x: {shape: [n, t, 2 * mels]/'
run "an axis that is not the data's" 65 "mels.yaml:[0-9]+:21: .*axis 2 of the input 'x' is 32" -- \
  model.graph=graphs/mels.yaml
changed graphs/wpe.yaml graphs/lmu_asr.yaml 's/^nodes:/nodes:\n  - wpe: {param: [t, mels]}\n  - x: {add: [x, wpe]}/'
run "a weight as long as a bucket" 65 "wpe.yaml:[0-9]+:11: .*'wpe' is f32.* in bucket t[0-9]+ and" "hint: " -- \
  model.graph=graphs/wpe.yaml

# ---- Data
run "no such manifest" 66 "argument [0-9]+:1:15: .*none.jsonl" "hint: .*audio_path" -- data.manifest=none.jsonl
line() { # FILE LINE: tones.jsonl with one line more
  cp data/tones.jsonl "data/$1"
  printf '%s\n' "$2" >>"data/$1"
}
line audio.jsonl '{"audio_path": "none.wav", "text": "AB", "duration": 0.18}'
run "a recording that is not there" 66 "none.wav" "audio.jsonl:41:16: " "hint: .*relative to its folder" -- \
  data.manifest=data/audio.jsonl
run "... or left out" 0 "skipped: .*none.wav" -- data.manifest=data/audio.jsonl data.skip_unreadable=true \
  output.dir=skip
head -c 4000 "$graphrun" >data/noise.wav
line noise.jsonl '{"audio_path": "noise.wav", "text": "AB", "duration": 0.18}'
run "audio that is not audio" 66 "noise.wav" "noise.jsonl:41:16: " "hint: .*skip_unreadable" -- \
  data.manifest=data/noise.jsonl
if has_module sndfile; then
  cp -R data later && nans later/wavs/021.wav # which is not in the first batch
  run "samples that are no numbers" 66 "wavs/021.wav': sample 0 is not a number" "tones.jsonl:22:16: " -- \
    data.manifest=later/tones.jsonl
  check "... nothing is lost: what was done is saved" "$graphrun" ckpt verify out
else
  skip "samples that are no numbers" "no libsndfile"
fi
head -c 900 data/wavs/002.wav >data/short.wav
line short.jsonl '{"audio_path": "short.wav", "text": "AB", "duration": 0.63}'
run "audio that is cut off" 66 "short.wav" "short.jsonl:41:16: " "hint: " -- data.manifest=data/short.jsonl
cp data/wavs/000.wav data/zero.wav
line empty.jsonl '{"audio_path": "zero.wav", "text": "", "duration": 0.18}'
run "an empty transcript" 0 "skipped 1 of 41 .*empty" -- data.manifest=data/empty.jsonl output.dir=empty
run "... that is to fail" 66 "empty.jsonl:41:[0-9]+: .*empty" -- data.manifest=data/empty.jsonl data.text.unknown=fail
line symbol.jsonl '{"audio_path": "zero.wav", "text": "ABZ", "duration": 0.18}'
run "a symbol that is not in the vocabulary" 66 "symbol.jsonl:41:[0-9]+: .*'Z'" "hint: " -- \
  data.manifest=data/symbol.jsonl data.text.unknown=fail
run "... or left out" 0 "skipped 1 of 41 " -- data.manifest=data/symbol.jsonl output.dir=symbol
line json.jsonl '{"audio_path": "zero.wav", "text": '
run "a broken line" 66 "json.jsonl:41:[0-9]+: " -- data.manifest=data/json.jsonl
line key.jsonl '{"audio": "zero.wav", "text": "AB"}'
run "a line without audio_path" 66 "key.jsonl:41:[0-9]+: .*audio_path" "hint: " -- data.manifest=data/key.jsonl
: >data/none.jsonl
run "an empty manifest" 66 "none.jsonl:1:1: .*no recordings" -- data.manifest=data/none.jsonl
run "a symbol twice in the vocabulary" 65 "'A' twice" "data.vocab" -- data.vocab=AAB

# ---- Files
run "output that is a file" 74 "base.yaml.* is not a directory" -- output.dir=base.yaml
run "output where nothing can be written" 74 "cannot make directory '/proc/nothing'" -- output.dir=/proc/nothing
if [ "$(id -u)" != 0 ]; then
  mkdir sealed && chmod 555 sealed
  run "output without permission" 74 "sealed/out.*ermission denied" -- output.dir=sealed/out
fi
expect "standard output that is full" 74 "cannot write to standard output" -- \
  sh -c "'$graphrun' ops >/dev/full"
if full_disk full; then
  printf '%s\n' "No space left on device" "older ones are as they were" "hint: free space" "could not be saved" \
    "checkpoint.resume=auto output.dir=.*full/run" >patterns
  verdict "a full disk" 74
  check "... what was saved before is intact" "$graphrun" ckpt verify full/run
  head -c 1073741824 /dev/zero >full/rest 2>/dev/null # until nothing is left
  # shellcheck disable=SC2086
  run "a disk without one free byte" 74 "cannot write 'full/run/" -- \
    output.dir=full/run $disk_run logging.jsonl=true training.max_steps=400 checkpoint.resume=auto
  rm full/rest && mv full/run/checkpoints freed
  # shellcheck disable=SC2086
  run "... after which the run goes on" 0 "resumed from freed/step-" -- \
    output.dir=freed_run $disk_run checkpoint.dir=freed checkpoint.resume=auto
else
  skip "a full disk" "needs root and a tmpfs"
fi

# ---- Checkpoints
run "a run" 0 -- output.dir=good training.max_steps=20 checkpoint.every_steps=10
expect "standard output of ranks that is full" 74 "cannot write to standard output" -- \
  sh -c "'$graphrun' eval good distributed.ranks=2 >/dev/full"
# flip FILE PART: turns one byte over, at a 32nd of the file
flip() {
  size=$(wc -c <"$1")
  at=$((size / 32 * $2))
  byte=$(od -An -tu1 -j $at -N 1 "$1")
  # shellcheck disable=SC2059
  printf "\\$(printf %o $((255 - byte)))" | dd of="$1" bs=1 seek=$at conv=notrunc 2>/dev/null
}
last=checkpoints/step-00000020
for part in 1 16 31; do
  for file in rank-00000.safetensors.zst manifest.json; do
    rm -rf flipped && cp -r good flipped
    flip flipped/$last/$file $part
    expect "one byte turned in $file ($part/32): verify" 78 "step-00000020" -- \
      "$graphrun" ckpt verify flipped
    run "... resume by name is refused" 78 "$last" -- output.dir=refused training.max_steps=25 \
      checkpoint.resume=flipped/$last
  done
done
run "... resume=auto takes the one before, and says so" 0 "warning.*step-00000020" \
  "resumed from .*step-00000010" -- output.dir=flipped training.max_steps=25 checkpoint.resume=auto
run "another model than the checkpoint's" 78 "f32.16.* here and f32.32.*" "hint: " -- output.dir=good \
  checkpoint.resume=good/checkpoints/step-00000020 model.params.hidden=16
run "another batch than the checkpoint's" 78 "batches of 8, this run has 16" "hint: " -- output.dir=good \
  checkpoint.resume=good/checkpoints/step-00000020 training.batch_size=16
run "a checkpoint that is none" 78 "'data' is not a checkpoint" "hint: " -- checkpoint.resume=data
check "... and the good one is as it was" "$graphrun" ckpt verify good

# ---- Numbers
run "a rate that explodes" 76 "no finite gradient" "hint: .*a smaller" -- output.dir=lr training.lr=1e30
run "... for many steps" 76 "no finite gradient in the [0-9]+ steps" "hint: .*a smaller" -- output.dir=lr2 \
  training.lr=1e30 training.max_steps=200
check "... but not for longer than ten of them" test "$(steps_of lr2)" = 11
run "... in a short run, a tenth of it" 76 "no finite gradient in the 4 steps up to step 5" -- \
  output.dir=lr3 training.lr=1e30 training.max_steps=40
counts
