# whisper.sh - an encoder and a decoder: configs/whisper counts as its paper does, and trains the same with any number of
# workers, from windows of tones and the symbols before and after their transcripts. On ranks: whisper_ranks.sh.
. "${0%/*}/lib.sh"
make_data

# ---- Sizes
# The vocabulary of the multilingual models has 51865 symbols and that of large-v3 one more, a blank among them.
vocabulary() {
  awk -v n="$1" 'BEGIN {
    print "<|startoftranscript|>\n<|es|>\n<|transcribe|>\n<|notimestamps|>\n<|endoftext|>\n<space>"
    for (i = 65; i < 71; i++) printf "%c\n", i
    for (i = 13; i < n; i++) print "word" i }' >"vocab$1"
}
vocabulary 51865
vocabulary 51866
for size in 589,824:tiny:37,184,640:37,760,640 1,179,648:base:71,825,920:72,593,920 \
  3,538,944:small:240,582,912:241,734,912 9,437,184:medium:762,321,920:763,857,920 \
  15,728,640:large-v3:1,541,570,560:1,543,490,560; do
  adapter=${size%%:*} size=${size#*:}
  name=${size%%:*} counts=${size#*:} vocab=vocab51865
  [ "$name" = large-v3 ] && vocab=vocab51866
  expect "$name has ${counts#*:} parameters" 0 "parameters  ${counts%:*} trained numbers of ${counts#*:}\$" -- \
    "$graphrun" plan "$source/configs/whisper/$name.yaml" data.manifest=data/tones.jsonl "data.vocab=$scratch/$vocab" --ranks=1
  expect "... of which an adapter of all attention trains $adapter" 0 "parameters  $adapter trained numbers of" -- \
    "$graphrun" plan "$source/configs/whisper/$name.yaml" data.manifest=data/tones.jsonl "data.vocab=$scratch/$vocab" --ranks=1 \
    "model.lora={match:'*.{q,k,v,o}',rank:16,alpha:32}"
done

expect "a decoder of fewer layers, where the default names another parameter" 0 'numbers of 30,663,168$' -- \
  "$graphrun" plan "$source/configs/whisper/tiny.yaml" data.manifest=data/tones.jsonl "data.vocab=$scratch/vocab51865" \
  model.params.decoder_layers=1 --ranks=1
expect "... and not of a word" 65 'model.params.decoder_layers is an integer, found a string' -- \
  "$graphrun" plan "$source/configs/whisper/tiny.yaml" data.manifest=data/tones.jsonl "data.vocab=$scratch/vocab51865" \
  model.params.decoder_layers=few --ranks=1

# Without data, of what the configuration declares: 30 seconds, and transcripts as long as the decoder takes.
large() { "$graphrun" plan "$source/configs/whisper/large-v3.yaml" device=cuda distributed.strategy=fsdp "$@" >"$(new_log)" 2>&1; }
memory() { sed -n 's/^memory  *\([0-9.]*\) GB on each rank.*/\1/p' "$log"; }
for n in 4 8; do
  check "large-v3 on $n GPUs" large --ranks=$n
  memory >memory$n
  check "... moves weights and their gradients alone" sh -c '! grep -q "needs all of it" "$1"' sh "$log"
done
check "... and takes less of each on more of them" compare "$(cat memory4)" "$(cat memory8)" 0 'c < b && b < a'

# ---- Training
# trains OUT [key=value ...]: 20 steps of it.
trains() {
  pairs limited "$@"
  check "$1 runs" test "$code" = 0
}
trains one distributed.ranks=1
check "the first loss is that of a guess among 38 symbols" near "$(loss one 0)" 3.64 0.1
for workers in 0 3; do
  trains workers$workers distributed.ranks=1 data.workers=$workers data.cache_mb=0
  check "... $workers workers without a cache give the same" same_metrics one workers$workers
done
# Frames of the silence that fills a window, and labels that count nothing, are a part of every batch.
trains learns distributed.ranks=1 training.max_steps=250 model.params.dropout=0 model.params.smoothing=0 training.lr=5e-3
check "in 250 steps it learns to write what it hears" below "$(loss learns 249)" 1

# ---- Transcripts
# The same model makes each symbol by the whole text so far, without a cache.
awk '/- token: / {next}
  /- logits: .decode: .token/ {
    sub("token, memory, positions", "text, memory"); sub(", cache: prefix . max_tokens", ""); print
    n = index($0, "-")
    printf "%*s- here: {one_hot: positions, classes: prefix + max_tokens}\n", n - 1, ""
    printf "%*s- here: {reshape: here, shape: [1, prefix + max_tokens]}\n", n - 1, ""
    printf "%*s- here: {broadcast: here, axis: 0, size: n}\n", n - 1, ""
    printf "%*s- logits: {matmul: [here, logits]}\n", n - 1, ""
    next }
  1' "$source/graphs/whisper.yaml" >window.yaml
check "a model without a cache" sh -c '! grep -q "cache: prefix" window.yaml'
# said [key=value ...]: what the trained model writes of all tones
said() {
  "$graphrun" predict "$scratch/learns" data/tones.jsonl generation.max_tokens=12 "$@" 2>predict.log
}
said model.graph=window.yaml >window
check "transcripts, not all of them the same" sh -c 'test "$(sed "s/.*text//" window | sort -u | grep -c .)" -gt 5'
said >cache
check "a cache gives the same" cmp window cache
"$graphrun" eval "$scratch/learns" generation.max_tokens=12 >evaluated 2>&1
check "evaluation counts the mistakes in them" grep -Eq 'cer [0-9.]+ .*wer [0-9.]+' evaluated
said 'generation.suppress=[3, 4, 5]' >without
check "symbols that are suppressed" sh -c '! cmp -s without cache'
for way in temperature=0.8 'temperature=1 top_k=3' 'temperature=4 top_p=0.5'; do
  keys=$(for k in $way; do printf 'generation.%s ' "$k"; done)
  # shellcheck disable=SC2086
  said $keys >drawn1
  # shellcheck disable=SC2086
  said $keys distributed.ranks=2 >drawn2
  check "$way: the same draws on two ranks" cmp drawn1 drawn2
  check "... and not the likeliest" sh -c "! cmp -s drawn1 cache"
done
# Beams: that of the window has no cache whose rows move.
awk '/- token: / {next}
  /- logits: .decode: .(token|rows)/ {
    sub("token, copies, positions, moves", "rows, copies"); sub("token, memory, positions", "text, memory")
    sub(", cache: prefix . max_tokens", ""); print
    n = index($0, "-"); rows = /copies/ ? "n * beams" : "n"
    printf "%*s- here: {one_hot: positions, classes: prefix + max_tokens}\n", n - 1, ""
    printf "%*s- here: {reshape: here, shape: [1, prefix + max_tokens]}\n", n - 1, ""
    printf "%*s- here: {broadcast: here, axis: 0, size: %s}\n", n - 1, "", rows
    printf "%*s- logits: {matmul: [here, logits]}\n", n - 1, ""
    next }
  1' "$source/graphs/whisper.yaml" >beams.yaml
for penalty in 0 1 2; do
  said model.graph=beams.yaml generation.beams=5 generation.length_penalty=$penalty >window5
  check "5 beams, length penalty $penalty, write something" sh -c '[ "$(grep -c text window5)" = "$(grep -c text window)" ]'
  said generation.beams=5 generation.length_penalty=$penalty >beams
  check "... and a cache gives the same" cmp window5 beams
done
check "... which is not what one finds" sh -c '! cmp -s beams cache'
said generation.max_tokens=3 >short
check "no more symbols than asked for" sh -c '! grep -Eq "text\": \"[^\"]{4}" short'

# ---- What cannot be
refused() { # NAME PATTERN key=value ...
  name=$1 pattern=$2
  shift 2
  expect "$name" 65 "$pattern" -- "$graphrun" plan "$source/configs/whisper/nano.yaml" data.manifest=data/tones.jsonl "$@"
}
refused "windows of another length" 'audio_context must be half the frames of a window' data.speech.features.seconds=5
refused "transcripts longer than the decoder" 'text_context has no room for the longest transcript' \
  model.params.text_context=3 generation.max_tokens=0 checkpoint.metric=loss training.text_metrics=null
refused "a prefix that is no symbol" "the symbol '<bos>' is not in the vocabulary" 'data.speech.text.prefix=["<bos>"]'
refused "a suffix alone" 'data.speech.text.suffix needs data.speech.text.prefix' 'data.speech.text.prefix=[]'
refused "more symbols than the decoder has room for" 'no room for the prefix and generation.max_tokens' \
  generation.max_tokens=500
refused "transcripts without an end" 'up to the symbol that ends one' generation.max_tokens=5 \
  'data.speech.text.suffix=[]'
refused "a window longer than any" 'and may have 16777216 at most' data.speech.features.seconds=14000 \
  data.speech.features.hop=1
counts
