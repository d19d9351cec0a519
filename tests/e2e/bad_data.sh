# bad_data.sh - recordings, manifests and vocabularies that are not what they should be: each is
# named with its place, nothing hangs, and data.skip_unreadable leaves out what can be left out.
. "${0%/*}/lib.sh"
make_data
mkdir graphs
cp "$source"/graphs/*.yaml graphs
sed "s|???.*|data/tones.jsonl|" "$source/tests/e2e/tones.yaml" >base.yaml
run() { # NAME CODE PATTERN... -- key=value ...: of base.yaml
  name=$1 want=$2
  shift 2
  : >patterns
  while [ "$1" != -- ]; do
    printf '%s\n' "$1" >>patterns
    shift
  done
  shift
  limited "$graphrun" base.yaml output.dir=out checkpoint.resume=none "$@"
  verdict "$name" "$want"
}
line() { # FILE LINE...: tones.jsonl with more lines
  cp data/tones.jsonl "data/$1"
  name=$1
  shift
  printf '%s\n' "$@" >>"data/$name"
}

# ---- What is no regular file is refused, not waited for
mkfifo fifo data/fifo.wav
run "a FIFO as manifest" 66 "argument [0-9]+:1:15: .*'fifo': it is a FIFO" "hint: only regular files" -- data.manifest=fifo
run "... as model" 65 "argument [0-9]+:1:13: .*'fifo': it is a FIFO" "hint: only regular files" -- model.graph=fifo
run "... as hook" 65 "'fifo': it is a FIFO" "hint: only regular files" -- 'hooks=[fifo]'
run "... as vocabulary" 66 "argument [0-9]+:1:12: .*'fifo': it is a FIFO" "hint: only regular files" -- data.vocab=fifo
run "a device as manifest" 66 "it is a character device" -- data.manifest=/dev/zero
line fifo.jsonl '{"audio_path": "fifo.wav", "text": "AB", "duration": 0.18}'
run "... as a recording" 66 "fifo.wav': it is a FIFO" "fifo.jsonl:41:16: " -- data.manifest=data/fifo.jsonl
run "... that is left out" 0 "skipped.*fifo.wav': it is a FIFO" -- data.manifest=data/fifo.jsonl \
  data.skip_unreadable=true
line fifo2.jsonl '{"audio_path": "fifo.wav", "text": "AB"}'
run "... without a duration" 66 "fifo.wav': it is a FIFO" "fifo2.jsonl:41:16: " -- data.manifest=data/fifo2.jsonl
expect "... as the configuration" 65 "'fifo'" -- "$graphrun" config fifo
run "a run to damage" 0 -- output.dir=saved training.max_steps=2
rm saved/metrics.jsonl saved/checkpoints/step-00000002/rank-00000.safetensors.zst
mkfifo saved/metrics.jsonl saved/checkpoints/step-00000002/rank-00000.safetensors.zst
expect "a FIFO in a checkpoint" 78 "step-00000002" -- "$graphrun" ckpt verify saved
expect "... among the weights to begin with" 78 "'fifo.*': it is a FIFO|is a FIFO" -- \
  sh -c "mkfifo fifo.safetensors && exec '$graphrun' base.yaml output.dir=out model.init_from=fifo.safetensors"
rm -r saved/checkpoints
run "... in place of a file of the run" 74 "saved/metrics.jsonl" -- output.dir=saved checkpoint.dir=other

# ---- One bad recording has a name, and can be left out: found while planning or in an epoch
# rate FILE BYTES: of a copy of a good recording
rate() {
  cp data/wavs/001.wav "data/$1"
  # shellcheck disable=SC2059
  printf "$2" | dd of="data/$1" bs=1 seek=24 conv=notrunc 2>/dev/null
}
rate one.wav '\001\000\000\000'
cp data/wavs/000.wav data/gone.wav
awk 'BEGIN { printf "{\"audio_path\": \"gone.wav\", \"duration\": 0.18, \"text\": \""
  for (i = 0; i < 1000000; i++) printf "ABCDEF ABC"
  print "\"}" }' >long
# bad NAME LINE PATTERN...: refused with its place, or left out and counted
bad() {
  bad_name=$1
  line bad.jsonl "$2"
  shift 2
  run "$bad_name" 66 "data/bad.jsonl:41:[0-9]+: data error: " "skip_unreadable=true" "$@" -- \
    data.manifest=data/bad.jsonl
  run "... left out" 0 "warning: skipped: data/bad.jsonl:41:[0-9]+: " "$@" \
    "^skipped 1 of 41 utterances: 1 unreadable|warning: 1 sample could not be used" -- data.manifest=data/bad.jsonl \
    data.skip_unreadable=true
  expect "... found by inspect --audio" 66 "samples that cannot be used: 1$" "^data/bad.jsonl:41:[0-9]+: " "$@" \
    "hint: repair them" -- "$graphrun" data inspect base.yaml data.manifest=data/bad.jsonl --audio
}
bad "a rate of 1 Hz" '{"audio_path": "one.wav", "text": "AB"}' "one.wav' declares 1 samples a second"
bad "... with a duration" '{"audio_path": "one.wav", "text": "AB", "duration": 0.2}' "one.wav' declares 1 samples a second"
bad "a transcript of 10 MB" "$(cat long)" "the transcript has 10000000 symbols, and recording 'data/gone.wav'"
bad "a duration of 999999 seconds" '{"audio_path": "gone.wav", "text": "AB", "duration": 999999}' \
  "gone.wav' lasts 999999 seconds, and may last 14400"
bad "a duration of two hours that is not true" '{"audio_path": "gone.wav", "text": "AB", "duration": 7200}' \
  "gone.wav' lasts 0.[0-9]+ seconds, the manifest says 7200.00"
bad "a duration of half a minute that is not true" '{"audio_path": "gone.wav", "text": "AB", "duration": 30}' \
  "gone.wav' lasts 0.[0-9]+ seconds, the manifest says 30.00"
bad "a missing file" '{"audio_path": "none.wav", "text": "AB", "duration": 0.2}' "cannot open 'data/none.wav'"
bad "a folder" '{"audio_path": "wavs", "text": "AB", "duration": 0.2}' "'data/wavs': it is a folder"
head -c 900 data/wavs/002.wav >data/short.wav
bad "a file that is cut off" '{"audio_path": "short.wav", "text": "AB", "duration": 0.63}' "short.wav' is cut short"
line far.jsonl '{"audio_path": "gone.wav", "text": "AB", "duration": 999999}'
run "max_seconds leaves out what says it is long" 0 "skipped 1 of 41 utterances: 1 longer than" -- \
  data.manifest=data/far.jsonl data.max_seconds=8
# Many: every one is listed by inspect, in the manifest's order, and 20 of them by a run.
cp data/tones.jsonl data/many.jsonl
for i in $(seq 30); do
  echo "{\"audio_path\": \"none$i.wav\", \"text\": \"AB\", \"duration\": 0.2}"
done >>data/many.jsonl
expect "inspect --audio names all" 66 "cannot be used: 30$" "many.jsonl:41:16: .*none1.wav" "many.jsonl:70:16: .*none30.wav" -- \
  "$graphrun" data inspect base.yaml data.manifest=data/many.jsonl --audio
grep '^data/many' "$log" | cut -d: -f2 >found
check "... in order, each once" sh -c 'seq 41 70 | cmp - found'
expect "... also those that training leaves out" 66 "cannot be used: 30$" "hint: .*training leaves them out, since data.skip_unreadable is true" -- \
  "$graphrun" data inspect base.yaml data.manifest=data/many.jsonl --audio data.skip_unreadable=true
expect "... and nothing where all is well" 0 "cannot be used: 0$" -- "$graphrun" data inspect base.yaml --audio
run "a run names 5" 0 "more utterances are skipped" "30 samples could not be used" -- \
  data.manifest=data/many.jsonl data.skip_unreadable=true
check "... of 30" test "$(grep -c 'skipped: data/many' "$log")" = 5
# With two processes or threads, each says what it has left out itself.
run "two ranks" 0 "could not be used" -- data.manifest=data/many.jsonl data.skip_unreadable=true distributed.ranks=2 \
  distributed.backend=loopback

# ---- Text of a user's file cannot reach the terminal as control characters
escape=$(printf '\033')
for raw in $(seq 40); do sed -n "${raw}p" data/tones.jsonl; done |
  sed 's/"text": "/"name": "n\\u001b[2J\\u009b\\u0007", &\\u001b[31m/' |
  awk '{ sub(/n\\u001b/, "n" NR "\\u001b"); print }' >data/escapes.jsonl
printf 'A\nB\nC\nD\nE\nF\n<space>\n%s\n[\n3\n1\nM\n' "$escape" >escapes.txt
# clean NAME: neither what was printed nor run.log has an escape
clean() {
  check "$1: nothing raw is printed" sh -c "! grep -q '$escape' '$log'"
}
run "control characters in transcripts and names" 0 'x1b\[2J' 'x1b\[31M' -- \
  data.manifest=data/escapes.jsonl data.vocab=escapes.txt
clean "a run"
check "... nor in run.log" sh -c "grep -q 'x1b' out/run.log && ! grep -q '$escape' out/run.log"
expect "... inspected" 0 "x1b" -- "$graphrun" data inspect base.yaml data.manifest=data/escapes.jsonl data.vocab=escapes.txt
clean "inspect"
run "... in an error" 66 "symbol '.x1b' of" -- data.manifest=data/escapes.jsonl data.text.unknown=fail
clean "an error"
printf '{"audio_path": "none%s[2J.wav", "text": "AB", "duration": 0.2}\n' '\u001b' >data/path.jsonl
run "... in a path" 66 'none.x1b\[2J.wav' -- data.manifest=data/path.jsonl
clean "a path"
run "... that is all there is" 66 'path.jsonl:1:1: .*none of 1 utterances can be read; .*none.x1b\[2J.wav' -- \
  data.manifest=data/path.jsonl data.skip_unreadable=true
clean "a warning"
changed=graphs/evil.yaml
sed 's/name: input_projection/name: "in\\e[31mput"/' "$source/graphs/lmu_asr.yaml" >$changed
expect "... in a model" 0 'x1b\[31m' -- "$graphrun" plan base.yaml model.graph=$changed --ranks=2
clean "plan"
run "... trained" 0 -- model.graph=$changed output.dir=evil
expect "... and saved" 0 'x1b\[31m' -- "$graphrun" ckpt show evil
clean "ckpt show"

# ---- Settings: every message has a place and a cure
yaml() { # NAME CODE PATTERN... -- data: of base.yaml with one key of `data` changed
  sed "s/$change/" base.yaml >changed.yaml
  if cmp -s base.yaml changed.yaml; then fail "making changed.yaml" "$change changes nothing"; fi
  expect "$@" "hint: " -- "$graphrun" data inspect changed.yaml
}
change='buckets: 2/buckets: 90' yaml "too many buckets" 65 "changed.yaml:12:12: .*from 1 to 32"
change='buckets: 2/buckets: 1:30' yaml "... in YAML's base 60" 65 "changed.yaml:12:12: .*from 1 to 32"
change='buckets: 2/buckets: [40, 80, 80]' yaml "bounds that do not rise" 65 "changed.yaml:12:21: .*rising"
change="buckets: 2/buckets: [$(seq -s ', ' 40 72)]" yaml "33 bounds" 65 "changed.yaml:12:12: .*buckets must be from 1 to 32, but is 33"
change='buckets: 2/buckets: []' yaml "no bounds at all" 65 "changed.yaml:12:12: .*buckets must be from 1 to 32"
change='window: 200/window: 400' yaml "a window larger than the transform" 65 \
  "changed.yaml:13:44: .*transform of 256 points cannot hold a window of 400" "hint: .*n_fft of at least 400"
change='n_fft: 256, window: 200/n_fft: 256' yaml "... that nobody has set" 65 "changed.yaml:13:31: .*window of 400"
change='mels: 16/mels: 400' yaml "more mel bands than bins" 65 \
  "changed.yaml:13:20: .*of 400 mel bands hold no bin of a Fourier transform of 256 points at 8000 .*31.2 Hz apart" \
  "hint: a features.mels of at most [0-9]+, or a features.n_fft of 2048"
most=$(sed -n 's/.*a features.mels of at most \([0-9]*\),.*/\1/p' "$log")
expect "... the number that it says is right" 0 -- "$graphrun" data inspect base.yaml "data.features.mels=$most"
expect "... and the most" 65 "hold no bin" -- "$graphrun" data inspect base.yaml "data.features.mels=$((most + 1))"
expect "... and so is the transform's" 0 -- "$graphrun" data inspect base.yaml data.features.mels=400 data.features.n_fft=2048
expect "mels=400 n_fft=256 of the shipped configurations" 65 "argument 1:1:20: .*hold no bin" -- \
  "$graphrun" data inspect "$source/configs/single_gpu.yaml" data.features.mels=400 data.manifest=data/tones.jsonl
printf 'model: {graph: a.yaml}\n\ntraining: {lr: 1\0}\n' >nul.yaml
expect "NUL in a configuration" 65 "nul.yaml:3:17: .*the character NUL" "hint: " -- "$graphrun" nul.yaml
change='hop: 80}/hop: 80, fmax: 5000}' yaml "an edge above half the rate" 65 "changed.yaml:13:64: .*half of 8000 samples"
change='hop: 80}/hop: 80, fmin: 4000}' yaml "edges the wrong way round" 65 "changed.yaml:13:64: .*from 4000 to 4000 Hz"
change='freq_width: 2/time_width: 9223372036854775807' yaml "a width that no integer holds" 65 "changed.yaml:14:40: "
change='vocab: "ABCDEF "/vocab: vocab\/none.txt' yaml "a vocabulary file that is not there" 66 \
  "changed.yaml:11:10: .*there is no vocabulary file 'vocab/none.txt'"
change='vocab: "ABCDEF "/vocab: symbols.lst' yaml "... whose name has no character twice" 66 "no vocabulary file"
change='vocab: "ABCDEF "/vocab: "ABCDEFA"' yaml "a symbol twice" 65 "changed.yaml:11:10: .*'A' twice"
change='vocab: "ABCDEF "/&\n  blank: 99' yaml "a blank beyond the vocabulary" 65 "changed.yaml:12:10: .*symbol 99 of 8"
printf 'A\nB\0\n' >nul.txt
change='vocab: "ABCDEF "/vocab: nul.txt' yaml "NUL in a vocabulary" 65 "nul.txt:2:1: .*zero byte"
printf '{"audio_path": "a\0.wav", "text": "AB"}\n' >>data/nul.jsonl
run "NUL in a manifest" 66 "data/nul.jsonl:1:18: .*0x00" -- data.manifest=data/nul.jsonl
change='vocab: "ABCDEF "/vocab: "abc"' yaml "nothing left to train on" 66 \
  "warning: 3 symbols of data.speech.vocab cannot occur.*: 'a', 'b', 'c'$" "tones.jsonl:1:1: .*40 with a symbol that is not in the vocabulary" "hint: .*data.speech.vocab"
for config in single_gpu multi_gpu lmu_asr_full; do
  expect "data inspect of $config" 0 "symbols .*blank" -- "$graphrun" data inspect "$source/configs/$config.yaml" \
    data.manifest=data/tones.jsonl
  check "... and every symbol of its vocabulary can occur" sh -c "! grep 'cannot occur' '$log'"
done
expect "the full model keeps its size" 0 "7,157,792 trained numbers" -- "$graphrun" plan \
  "$source/configs/lmu_asr_full.yaml" data.manifest=data/tones.jsonl
for n in frame_multiple=2147483647 buckets=4294967304 blank=4294967303 workers=4294967297 prefetch=4294967299 \
  features.hop=4294967376 features.mels=4294967312 features.n_fft=4294967552 features.window=4294967496 \
  sample_rate=4294975296 subsampling=4294967297 augment.freq_masks=4294967297 augment.time_warp=4294967297 \
  limit=4294967296 cache_mb=17592186044416 'buckets=[4294967336]'; do
  expect "an integer that 32 bits would cut: $n" 65 "argument 1:1:[0-9]+: .*(from -?[0-9]+ to|at most) [0-9]+" "hint: " -- \
    "$graphrun" data inspect base.yaml "data.$n"
done
run "workers under their other name" 65 "argument [0-9]+:1:22: .*4294967297" "hint: " -- \
  training.num_workers=4294967297
# Every key with everything that it may not be: a place, what was expected and a cure, or it is taken.
"$graphrun" config --help data | grep -o '^ *data\.[a-z_.]*' | tr -d ' ' | sort -u >keys
check "the keys of data" test "$(wc -l <keys)" -gt 30
for key in $(cat keys); do
  for value in -3 0 1e30 .nan abc '[1,x]' null '{a: 1}'; do
    limited "$graphrun" data inspect base.yaml "$key=$value"
    if [ "$code" = 0 ]; then continue; fi
    if { [ "$code" = 65 ] || [ "$code" = 66 ]; } && grep -q 'hint: ' "$log" &&
      grep -Eq '^(argument 1|base.yaml|data/tones.jsonl):[0-9]+:[0-9]+: (config|data) error: ' "$log"; then
      continue
    fi
    echo "$key=$value: $code" >>unplaced
    head -5 "$log" >>unplaced
  done
done
: >>unplaced
cp unplaced "$log"
check "every wrong value of every key has a place and a cure" test ! -s unplaced

# ---- A recording that is missing is found before the run has a folder, on any rank.
sed '$s/wavs\/[0-9]*/wavs\/none/' data/tones.jsonl >data/missing.jsonl
for ranks in 1 2; do
  tones absent data.manifest="$scratch/data/missing.jsonl" distributed.ranks=$ranks
  printf '%s\n' "missing.jsonl:$(wc -l <data/missing.jsonl):[0-9]+: data error: .*none.wav" \
    'hint: .*paths of a list are relative to its folder.*; or take it out, or leave out all such utterances with data.skip_unreadable=true' >patterns
  verdict "a recording that is missing, on $ranks rank(s)" 66
  check "... is found before the run has a folder" test ! -e absent
done
counts
