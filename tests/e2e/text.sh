# text.sh - a language model: trained on a text that repeats itself, evaluated, and asked to go on.
. "${0%/*}/lib.sh"

i=0
while [ $i -lt 130 ]; do
  printf 'abcdefghijklmnop. '
  i=$((i + 1))
done >text.txt
cat >small.yaml <<YAML
model: {graph: $source/graphs/gpt.yaml, params: {dim: 32, layers: 1, heads: 2, dropout: 0.0}}
data: {source: corpus, corpus: {path: text.txt, context: 24}, validation_fraction: 0.2}
training: {batch_size: 8, optimizer: adamw, lr: 1e-2, max_epochs: 12, eval_every: 12, seed: 1}
distributed: {ranks: 1}
YAML
expect "trains on bytes" 0 "train" "validation set: loss 0\.[0-9]+ accuracy 1\.0000" -- \
  "$graphrun" small.yaml output.dir=run
for ranks in 1 2 3; do
  expect "trains on $ranks" 0 -- "$graphrun" small.yaml output.dir=on$ranks distributed.ranks=$ranks training.max_epochs=1
  check "... with the loss of one" close_to "$(valid_loss on1)" "$(valid_loss on$ranks)" 1e-4
done

printf 'ab' >prompt.txt
printf 'no. abcdef' >other.txt
expect "continues files" 0 '^\{"input": "prompt.txt", "text": "cdefghijklmnop. ab"\}$' \
  '^\{"input": "other.txt", "text": "ghijklmnop. abcdef"\}$' -- \
  "$graphrun" predict run prompt.txt other.txt --tokens=18
expect "... on two ranks likewise" 0 '"text": "cdefghijklmnop. ab"' '"text": "ghijklmnop. abcdef"' -- \
  "$graphrun" predict run prompt.txt other.txt --tokens=18 distributed.ranks=2
expect "... beyond its context" 0 '"cdefghijklmnop. abcdefghijklmnop. abcdefghijklmnop. abcdefgh"' -- \
  "$graphrun" predict run prompt.txt --tokens=60
"$graphrun" predict run prompt.txt --tokens=40 model.params.temperature=5 >a 2>/dev/null
"$graphrun" predict run prompt.txt --tokens=40 model.params.temperature=5 >b 2>/dev/null
check "draws by temperature: the same draws for the same seed" sh -c "test -s a && cmp a b"
check "... and not the most likely" sh -c 'test -s a && ! grep -q "cdefghijklmnop. abcdef" a'
: >empty.txt
expect "an empty prompt" 66 "'empty.txt' is empty: nothing can follow" -- \
  "$graphrun" predict run empty.txt --tokens=3

# A model that has no next token
sed 's/^predict:.*/predict: {logits: logits}/' "$source/graphs/gpt.yaml" >logits.yaml
expect "trains another" 0 -- "$graphrun" small.yaml model.graph=logits.yaml training.max_epochs=1 output.dir=other
expect "a model without next" 65 "\-\-tokens continues text, but the model does not predict .next." -- \
  "$graphrun" predict other prompt.txt --tokens=3

# Data that cannot be used
printf 'short' >short.txt
expect "a text shorter than a sample" 66 "argument 1:" "has 4 tokens, and a sample takes 24" -- \
  "$graphrun" small.yaml data.corpus.path=short.txt
expect "a text that is not there" 66 "gone.txt" -- "$graphrun" small.yaml data.corpus.path=gone.txt
expect "a folder" 66 "a folder" -- "$graphrun" small.yaml data.corpus.path=run
printf 'o\nn\ne\n' >tokens.txt
expect "a character that is no token" 66 "text.txt:1:1: " "what follows here is not in the vocabulary" -- \
  "$graphrun" small.yaml data.corpus.vocab=tokens.txt
printf '%s\n' abcd e f g h i j kl mno p . '<space>' >tokens.txt
expect "tokens of a file" 0 "validation set: loss" -- \
  "$graphrun" small.yaml data.corpus.vocab=tokens.txt training.max_epochs=1 output.dir=tokens

# Tokens of a tokenizer: the run keeps a copy, which all that uses it reads
tok=$source/tests/golden/tokenizer
cp "$tok/words.json" ours.json
expect "trains on tokens of a tokenizer" 0 "validation set: loss" -- \
  "$graphrun" small.yaml data.tokenizer=ours.json training.max_epochs=20 output.dir=bpe
check "... and keeps it" cmp ours.json bpe/tokenizer.json
check "... and its hash" grep -q '"vocab": 704.*"tokenizer": "[0-9a-f]\{16\}"' bpe/data.json
rm ours.json
expect "continues a text by its copy" 0 '"text": "cdefghijklmnop. ab' -- \
  "$graphrun" predict bpe prompt.txt --tokens=40
expect "evaluates by its copy" 0 "validation" -- "$graphrun" eval bpe
expect "another tokenizer than the run's" 66 "the run was trained with another tokenizer" -- \
  "$graphrun" predict bpe prompt.txt --tokens=3 data.tokenizer="$tok/pieces.json"
expect "a tiktoken file on two ranks" 0 "validation set: loss" -- "$graphrun" small.yaml distributed.ranks=2 \
  data.tokenizer="$tok/ranks.tiktoken" "data.tokenizer_special=['<|endoftext|>']" training.max_epochs=1 output.dir=ranks
check "... keeps the file" cmp "$tok/ranks.tiktoken" ranks/tokenizer.tiktoken
expect "another key for tokens beside it" 65 "data.corpus.vocab says what tokens are, and so does data.tokenizer" -- \
  "$graphrun" small.yaml data.tokenizer="$tok/words.json" data.corpus.vocab=tokens.txt
expect "a tokenizer without text" 65 "has no text to make tokens of" -- "$graphrun" plan small.yaml \
  data.tokenizer="$tok/words.json" data.source=none '~data.corpus'
printf 'abc \377\n' >broken.txt
expect "a text that is not UTF-8" 66 "broken.txt:1:5: " "what follows here is not UTF-8" -- \
  "$graphrun" small.yaml data.tokenizer="$tok/words.json" data.corpus.path=broken.txt
counts
