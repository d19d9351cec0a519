# generate.sh - text that a model generates with a cache: token for token that of running the whole window again for each
# token, on any number of ranks and under every strategy; and how it is chosen.
. "${0%/*}/lib.sh"

# Six words in a random order: what follows differs from prompt to prompt.
awk 'BEGIN { n = split("abc bdfe cgag dbb eaf gcd", w, " "); s = 7
  for (i = 0; i < 900; i++) { s = (s * 1103 + 12345) % 65536; printf "%s ", w[1 + int(s / 64) % n] } }' >text.txt
cat >small.yaml <<YAML
model: {graph: $source/graphs/gpt.yaml, params: {dim: 32, layers: 2, heads: 2, dropout: 0.0}}
data: {source: corpus, corpus: {path: text.txt, context: 32}, validation_fraction: 0.2}
training: {batch_size: 6, optimizer: adamw, lr: 3e-3, max_epochs: 16, eval_every: 0, seed: 1, final_train_eval: false}
distributed: {ranks: 1}
YAML
expect "trains" 0 -- "$graphrun" small.yaml output.dir=run
printf 'ab' >a.txt
printf 'abc bd' >b.txt
printf 'g' >c.txt
printf 'abc bdfe cgag e' >d.txt
predict() { # predict [key=value ...]: what continues the four texts
  "$graphrun" predict run a.txt b.txt c.txt d.txt "$@" 2>predict.log | sed 's/"next": [0-9]*, //'
}

# The same model without `programs:` makes each token by the whole window.
sed '/^programs:/,$d' "$source/graphs/gpt.yaml" >window.yaml
predict --tokens=26 model.graph=window.yaml >window
check "the window for each token" sh -c 'test "$(grep -c text window)" = 4'
check "... continues prompts differently" sh -c 'test "$(sed "s/.*text//" window | sort -u | grep -c .)" -gt 2'
predict --tokens=26 >cache
check "a cache gives the same tokens, also past the context" cmp window cache
for ranks in 2 3; do
  predict --tokens=26 distributed.ranks=$ranks >ranks
  check "... on $ranks ranks" cmp window ranks
done
for strategy in fsdp tp zero2; do
  predict --tokens=26 distributed.ranks=2 distributed.strategy=$strategy >ranks
  check "... under $strategy" cmp window ranks
done
# The same with rotary positions, which a cache keeps turned.
expect "trains with rotary positions" 0 -- "$graphrun" small.yaml output.dir=turned model.params.rotary=100 training.max_epochs=8
turned() { "$graphrun" predict turned a.txt b.txt c.txt d.txt --tokens=26 "$@" 2>predict.log | sed 's/"next": [0-9]*, //'; }
turned model.graph=window.yaml >window_turned
check "... which continues prompts otherwise" sh -c '[ "$(grep -c text window_turned)" = 4 ] && ! cmp -s window window_turned'
for how in "1 ddp" "3 ddp" "2 fsdp" "2 tp"; do
  turned distributed.ranks="${how% *}" distributed.strategy="${how#* }" >ranks
  check "... by a cache on $how as by the window" cmp window_turned ranks
done
predict generation.max_tokens=12 >by_key
predict --tokens=12 >by_flag
check "generation.max_tokens is --tokens" cmp by_key by_flag
# A second of processor time is many times what comes before the first token.
generates() { [ "$(cut -d ' ' -f 14 "/proc/$pid/stat")" -ge 100 ]; }
for ranks in 1 2; do
  behind "$graphrun" predict run a.txt --tokens=1000000 distributed.ranks=$ranks distributed.backend=loopback
  await generates
  kill -TERM "$pid"
  ended
  printf '%s\n' '^stopped error: stopped by a signal' >patterns
  verdict "SIGTERM between the tokens of a text, on $ranks ranks" 75
done
# shellcheck disable=SC2016
check "the loop holds no collective, and a rank makes the rows that it has" sh -c '
  "$0" plan "$1/small.yaml" --ranks=2 generation.max_tokens=5 | sed -n "/^program eval/,/^program init/p" |
    grep "over dp *1 collectives, *16 B"' "$graphrun" "$PWD"

# A token that ends a text: the space. All texts end before their last token.
predict --tokens=12 generation.end=32 >ended
check "a token ends a text" sh -c '! grep -q "text\": \"[^\"]* " ended && [ "$(wc -c <ended)" -lt "$(wc -c <by_flag)" ]'
predict --tokens=12 generation.end=32 distributed.ranks=3 >ranks
check "... on 3 ranks, which end at other steps" cmp ended ranks
predict --tokens=12 'generation.suppress=[97, 32]' >without
check "tokens that are suppressed" sh -c '! grep -q "text\": \"[^\"]*[a ]" without'

# Random tokens
for way in temperature=0.8 'temperature=1 top_k=3' 'temperature=1 top_p=0.5'; do
  keys=$(for k in $way; do printf 'generation.%s ' "$k"; done)
  # shellcheck disable=SC2086
  predict --tokens=12 $keys >one
  # shellcheck disable=SC2086
  predict --tokens=12 $keys distributed.ranks=2 >two
  check "$way: the same draws on two ranks" cmp one two
  check "... and not the likeliest" sh -c '! cmp -s one by_flag'
done
predict --tokens=12 generation.temperature=1 generation.top_k=1 >likeliest
check "the likeliest of one is the likeliest" cmp likeliest by_flag
predict --tokens=12 generation.temperature=1 generation.top_p=0.001 >likeliest
check "... and of a small probability" cmp likeliest by_flag

# Beams: a loop without a cache, whose rows need not move, runs the whole window for each token.
awk '/- token: .*rows, / {next}
  /- logits: .gpt: .token, positions, moves/ {
    sub("token, positions, moves", "rows"); sub(", cache: context", ""); print
    n = index($0, "-")
    printf "%*s- here: {one_hot: positions, classes: context}\n", n - 1, ""
    printf "%*s- here: {reshape: here, shape: [1, context]}\n", n - 1, ""
    printf "%*s- here: {broadcast: here, axis: 0, size: n * beams}\n", n - 1, ""
    printf "%*s- logits: {matmul: [here, logits]}\n", n - 1, ""
    next }
  1' "$source/graphs/gpt.yaml" >beams.yaml
check "a search without a cache" sh -c '[ "$(grep -c "matmul: .here, logits" beams.yaml)" = 1 ]'
for penalty in 0 1 2; do
  keys="--tokens=12 generation.beams=3 generation.length_penalty=$penalty generation.end=32"
  # shellcheck disable=SC2086
  predict $keys model.graph=beams.yaml >window3
  check "3 beams, length penalty $penalty, write something" sh -c '[ "$(grep -c text window3)" = 4 ]'
  # shellcheck disable=SC2086
  predict $keys >"beams$penalty"
  check "... and a cache gives the same" cmp window3 "beams$penalty"
  for ranks in 2 3; do
    # shellcheck disable=SC2086
    predict $keys distributed.ranks=$ranks >ranks
    check "... on $ranks ranks" cmp window3 ranks
  done
done
check "the penalty of a length changes what is found" sh -c '! cmp -s beams0 beams2'
predict --tokens=12 generation.beams=3 >beams
check "... and beams find other than the likeliest tokens" sh -c '! cmp -s beams by_flag'
for strategy in fsdp tp zero2; do
  predict --tokens=12 generation.beams=3 distributed.ranks=2 distributed.strategy=$strategy >ranks
  check "3 beams under $strategy" cmp beams ranks
done
predict --tokens=12 generation.beams=3 distributed.ranks=3 distributed.strategy=fsdp >ranks
check "... under fsdp on 3 ranks" cmp beams ranks
# shellcheck disable=SC2016
check "a rank searches for the rows that it has" sh -c '
  "$0" plan "$1/small.yaml" --ranks=2 generation.max_tokens=5 generation.beams=3 |
    sed -n "/^program eval/,/^program init/p" | grep "over dp *1 collectives, *16 B"' "$graphrun" "$PWD"
expect "beams do not draw" 65 'generation.temperature is for one beam' -- \
  "$graphrun" plan small.yaml generation.max_tokens=5 generation.beams=3 generation.temperature=1

sed 's/ top_k: 0,//' window.yaml >plain.yaml
expect "a model that does not do it" 65 "generation.top_k is given, but the model has no parameter 'top_k'" -- \
  "$graphrun" plan small.yaml model.graph=plain.yaml generation.top_k=3
expect "a probability above 1" 65 "generation.top_p" "at most 1|<= 1" -- "$graphrun" plan small.yaml generation.top_p=2
counts
