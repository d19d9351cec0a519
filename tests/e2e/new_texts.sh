# new_texts.sh - `graphrun new --from` of texts as they are handed around.
. "${0%/*}/lib.sh"
# serves NAME DATA KIND SAID...: a project of the data, which trains, evaluates and predicts
serves() {
  of_name=$1 of_data=$2 of_kind=$3
  shift 3
  expect "new --from=$of_data" 0 "^p/$of_name: a project for $of_kind" "$@" -- "$graphrun" new "p/$of_name" --from="$of_data"
  expect "... which trains" 0 "training set: " -- sh -c "cd p/$of_name && '$graphrun' config.yaml output.dir=run training.max_epochs=1 distributed.ranks=1"
  expect "... evaluates" 0 "^all samples: " -- "$graphrun" eval "p/$of_name/run" --split=all
  expect "... and predicts" 0 '^{"input": "' -- "$graphrun" predict "p/$of_name/run" message.txt
}
has() { check "... with its lines in $1" grep -qF "$2" "p/$1"; }
# lines FORMAT N: N lines, each with its number for the first %s, and the next one for the second
lines() { for i in $(seq "$2"); do printf '%s\n' "$1" | sed "s/%s/$i/; s/%s/$((i + 1))/"; done; }
echo "what is number 3" >message.txt

# 20 newsgroups: no endings, and WINDOWS-1252
for class in autos space; do
  for i in $(seq 12); do
    mkdir -p news/news-train/$class news/news-test/$class
    printf 'From: %s\n\nA caf\351 about %s, number %s.\n' $i $class $i >news/news-train/$class/$((51000 + i))
  done
  echo "Is it about $class?" >news/news-test/$class/61001
done
serves news news "texts with a class" "^24 texts of 2 classes, and 2 for validation$"
has news/data.jsonl 'A café about autos, number 1.'

# One text
mkdir -p books/deep split
lines "The old sailor sees house %s." 40 >books/1.txt
lines "One child paints the ship %s." 40 >books/deep/2.txt
cp books/1.txt split/wiki.train.txt && cp books/deep/2.txt split/wiki.valid.txt && echo "is not read" >split/wiki.test.txt
serves books books "text that a model continues" "^2 files, as one text of [0-9]* bytes$" "^written: data.txt$"
has books/data.txt "paints the ship 40."
serves split split "text that a model continues" "^written: validation.txt$"
has split/config.yaml 'eval_path: "validation.txt"'
check "... without the text for a test" sh -c '! grep -rq "not read" p/split/data.txt p/split/validation.txt'
lines '{"text": "The old sailor sees house number %s in the morning.", "meta": {"n": 1}}' 40 >only.jsonl
serves only only.jsonl "text that a model continues" "^written: data.txt$"
{ cat only.jsonl && echo '{"messages": []}'; } >mixed.jsonl
expect "lines of two kinds" 66 "mixed.jsonl:41:1: .*expected a text alone, as in the first line" "hint: lines of one kind" -- "$graphrun" new p/no --from=mixed.jsonl

# A text to write for each
lines '{"messages": [{"role": "user", "content": "What is %s and one?"}, {"role": "assistant", "content": "It is %s."}]}' 40 >chat.jsonl
{ echo && cat chat.jsonl; } >chat && mv chat chat.jsonl  # an empty line is none
serves chat chat.jsonl "texts with a text to write" "^40 texts, in 'text'; to write: those in 'target'$"
has chat/pairs.jsonl '{"text": "What is 3 and one?", "target": "It is 4."}'
echo '{"conversations": [{"from": "system", "value": "Be brief."}, {"from": "human", "value": "One?"}, {"from": "gpt", "value": "Two."}, {"from": "human", "value": "And?"}, {"from": "gpt", "value": "Three."}]}' >turns.jsonl
lines '{"conversations": [{"from": "human", "value": "Number %s?"}, {"from": "gpt", "value": "It is %s."}]}' 30 >>turns.jsonl
serves turns turns.jsonl "texts with a text to write"
has turns/pairs.jsonl '{"text": "Be brief.\nOne?\nTwo.\nAnd?", "target": "Three."}'
{ echo '[' && lines '{"instruction": "Add one to it", "input": "the number %s", "output": "the answer is %s"},' 40 | sed '$s/,$//' && echo ']'; } >tasks.json
serves tasks tasks.json "texts with a text to write" "^read: 'instruction' and 'input', as one text$"
has tasks/pairs.jsonl '{"text": "Add one to it\nthe number 3", "target": "the answer is 4"}'
{ echo "completion,prompt" && lines "it is the number %s today,what is number %s please" 40; } >prompts.csv
serves prompts prompts.csv "texts with a text to write" "^40 texts, in 'prompt'; to write: those in 'completion'$"
echo '{"data": [{"title": "a", "paragraphs": []}]}' >squad.json
expect "an object is no table" 2 "squad.json:1:1: .*no list of objects" 'hint: a line of .jsonl for each row: .*"target"' -- "$graphrun" new p/no --from=squad.json
mkdir mt && for split in train val; do
  lines "the house number %s is green" 40 >mt/$split.en && lines "das haus nummer %s ist gruen" 40 >mt/$split.de
done
serves both mt "texts with a text to write" "^read: texts that end in .de; --from=FILE of the other ones reads these$" "^written: validation.jsonl$"
serves en mt/train.en "texts with a text to write" "^read: texts that end in .en$"
has en/pairs.jsonl '{"text": "the house number 3 is green", "target": "das haus nummer 3 ist gruen"}'
echo "one more" >>mt/train.de
expect "texts of other numbers of lines" 2 "mt/train.en'" -- "$graphrun" new p/no --from=mt/train.en
check "what is no project makes none" test ! -e p/no
counts
