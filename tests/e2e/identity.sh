# identity.sh - a folder holds one run: what is started again goes on, has nothing left to do, or is
# refused; results are never relabelled; and members of a sweep are not continued by others.
. "${0%/*}/lib.sh"

awk 'BEGIN { srand(3); print "width,weight,kind"
  for (i = 0; i < 120; i++) { k = int(2 * rand()); printf "%.4f,%.2f,%s\n", k + 0.6 * rand(), 400 * rand(), k ? "red" : "blue" }
}' >kinds.csv
cp "$source/graphs/mlp.yaml" model.yaml
cat >late.lua <<'LUA'
return { on_step_end = function(ctx) if ctx.step >= 8 then return { stop = "enough" } end end }
LUA
cat >table.yaml <<YAML
model: {graph: model.yaml, params: {dim: 8, layers: 1}}
data: {source: table, validation_fraction: 0.25, table: {path: kinds.csv, label: kind}}
training: {batch_size: 16, lr: 1e-2, max_epochs: 2, seed: 2}
distributed: {ranks: 1}
YAML

# table OUT [key=value ...]
table() {
  table_out=$1
  shift
  limited "$graphrun" table.yaml "output.dir=$table_out" "$@"
}
# The files of a folder and what they contain, but for locks and the log.
state() { (cd "$1" && find . -type f ! -name '*.lock' ! -name run.log -exec cksum {} + | sort -k3); }
# refused NAME OUT PATTERN [key=value ...]: ends with 78, says the pattern, and changes nothing.
refused() {
  refused_name=$1 refused_out=$2
  state "$2" >before
  printf '%s\n' "$3" 'checkpoint.resume=[^ ]*/step-[0-9]+ to go on' 'checkpoint.resume=none' 'another output.dir' >patterns
  shift 3
  table "$refused_out" "$@"
  verdict "$refused_name" 78
  state "$refused_out" >after
  check "... and leaves the folder as it was" cmp before after
}
# nothing NAME OUT [key=value ...]: has nothing left to do, and changes nothing.
nothing() {
  nothing_name=$1 nothing_out=$2
  state "$2" >before
  printf '%s\n' 'nothing left to do: .* finished after [0-9]+ steps' >patterns
  shift 2
  table "$nothing_out" "$@"
  verdict "$nothing_name" 0
  state "$nothing_out" >after
  check "... and leaves the folder as it was" cmp before after
}
# went_on NAME EPOCHS: the last run ended well, with so many epochs in its results.
went_on() {
  if [ "$code" = 0 ] && grep -q "^ \"epochs\": $2,\$" "$table_out/training_results.json"; then ok "$1"; else fail "$1" "exit code $code, or not $2 epochs"; fi
}

table run
check "a run leaves its identity" test -s run/identity.json
check "... in the results, too" grep -Eq '^ "identity": "[0-9a-f]{16}"' run/training_results.json
nothing "the same again has nothing left to do" run
nothing "... nor on two ranks, without a report, with fewer epochs" run distributed.ranks=2 logging.report=false training.max_epochs=1
check "... what goes on are more epochs" grep -q '; a larger training.max_epochs goes on' "$log"
nothing "... with fewer steps" run training.max_epochs=9 training.max_steps=3
check "... what goes on are more of them" grep -q '; a larger training.max_steps goes on' "$log"
nothing "... with fewer of both" run training.max_epochs=1 training.max_steps=3
check "... what goes on are more of both" grep -q '; a larger training.max_steps and training.max_epochs goes on' "$log"
refused "another learning rate is refused, and named" run 'training.lr is 9, was 0.01' training.lr=9
refused "another parameter of the model is refused" run 'model.params is .*"dim": 9' model.params.dim=9
check "the results are those of the run that trained" grep -q '"lr": 0.01' run/training_results.json
cp kinds.csv kinds.bak
sed '2s/^[0-9.]*/0.1234/' kinds.bak >kinds.csv
refused "another value in the data is refused" run 'data.table.path has other contents'
cp kinds.bak kinds.csv
awk 'BEGIN { print "note"; for (i = 0; i < 120; i++) print "n" i }' >notes.csv
table noted 'data.table.path=[notes.csv,kinds.csv]'
sed 's/^n7$/seven/' notes.csv >changed && mv changed notes.csv
refused "another cell that the data leaves out is refused, in the first file of two" noted 'data.table.path has other contents' \
  'data.table.path=[notes.csv,kinds.csv]'
"$graphrun" export run a.safetensors >/dev/null 2>&1 && cp a.safetensors b.safetensors
table begun model.init_from=a.safetensors
went_on "a run that begins with weights" 2
refused "the same weights by another name are refused" begun 'model.init_from is .*b.safetensors' model.init_from=b.safetensors
cp model.yaml model.bak
sed 's/relu/gelu/' model.bak >model.yaml
refused "another model in the same file is refused" run 'model.graph has other contents'
cp model.bak model.yaml
echo '-- a remark' >>late.lua
refused "a hook that it did not have is refused" run 'hooks has other contents' hooks=[late.lua]
mkdir elsewhere
mv kinds.csv elsewhere/
nothing "the same data in another place are the same run" run data.table.path=elsewhere/kinds.csv
mv elsewhere/kinds.csv .
table run training.max_epochs=3
went_on "more epochs go on" 3
check "... from the last checkpoint" grep -q 'resumed from run/checkpoints/step-' "$log"
step=$(ls -d run/checkpoints/step-* | tail -1)
table run training.lr=2e-2 training.max_epochs=4 "checkpoint.resume=$step"
went_on "a checkpoint that is named goes on with what has changed" 4
check "... which results say" grep -q "\"resumed_from\": \"$step\"" run/training_results.json
check "... and the log" grep -q 'training.lr: 0.02, was 0.01' "$log"
refused "from then on the run is the changed one" run 'training.lr is 0.01, was 0.02'
nothing "... which is finished" run training.lr=2e-2 training.max_epochs=4
table run checkpoint.resume=none
went_on "resume=none starts from the beginning" 2
table fresh training.max_epochs=4
table fresh training.lr=0.5 checkpoint.resume=none
refused "after a shorter run from the beginning nothing is relabelled" fresh 'training.lr is 0.5, was 0.01' training.lr=0.5
refused "... by either configuration" fresh 'training.lr is 0.01, was 0.5' training.max_epochs=4
refused "... nor is the old one continued as the new" fresh 'training.lr is 0.5, was 0.01' training.lr=0.5 training.max_epochs=6

# A run that was killed, and one whose results were not written.
table stopped hooks=[late.lua] training.max_epochs=6
check "a hook stops a run" grep -q '"ended": "stopped: enough"' stopped/training_results.json
nothing "what a hook has stopped is finished" stopped hooks=[late.lua] training.max_epochs=6
ended_at() { sed -n 's/^ "steps": \([0-9]*\),$/\1/p' stopped/training_results.json; }
ended_at >steps.then && rm stopped/training_results.json
table stopped hooks=[late.lua] training.max_epochs=6
ended_at >steps.now
check "... also where its results were not written: it has no more steps" sh -c "test -s steps.now && cmp steps.then steps.now"
table stopped hooks=[late.lua] training.max_epochs=7
check "... and goes on with more epochs" grep -q 'resumed from' "$log"
table open training.max_epochs=1
rm open/training_results.json
table open training.max_epochs=1
went_on "a run whose results are missing writes them" 1
table open training.max_epochs=2 hooks=[late.lua]
rm open/training_results.json
table open training.max_epochs=3 training.lr=5e-3
went_on "a run that is not finished goes on with another learning rate" 3
check "... which it says" grep -q 'training.lr: 0.005, was 0.01' "$log"
table open training.max_epochs=4 training.lr=5e-3
rm open/training_results.json
sed '2s/^[0-9.]*/0.1234/' kinds.bak >kinds.csv
refused "a run that is not finished does not go on with other data" open 'data.table.path has other contents' training.max_epochs=5
cp kinds.bak kinds.csv
refused "results that are missing are not written under another configuration" open 'training.lr is 0.7' training.lr=0.7 training.max_epochs=4

# A start that fails leaves a folder to the run that trained.
echo 'return { on_start = function() error("not today") end }' >fails.lua
state run >before
printf '%s\n' 'not today' >patterns
table run training.lr=0.7 hooks=[fails.lua] checkpoint.resume=none
verdict "a start that fails" 70
state run >after
check "... leaves the folder as it was" cmp before after

# Versions without identities left their configuration, which is compared instead.
cat >forget.py <<'PY'
import pathlib, re
for m in pathlib.Path("older").glob("checkpoints/*/manifest.json"):
    kept = b"".join(l for l in m.read_bytes().splitlines(True) if b'"run.identity"' not in l)
    body = kept[: kept.rindex(b'"check": "') + len(b'"check": "')]
    h = 0xCBF29CE484222325
    for byte in body:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    m.write_bytes(body + b'%016x"\n}\n' % h)
r = pathlib.Path("older/training_results.json")
r.write_text(re.sub(r'\n "identity": [^\n]*', "", r.read_text()))
pathlib.Path("older/identity.json").unlink()
PY
table older
if python3 forget.py; then
  check "a checkpoint without an identity" test "$(grep -l run.identity older/checkpoints/*/manifest.json | wc -l)" = 0
  refused "... is of another run by its configuration" older 'training.lr is 9, was 0.01' training.lr=9
  nothing "... or of the same" older
  table older training.max_epochs=3
  went_on "... and goes on, longer" 3
else
  skip "checkpoints without identities" "python3 cannot take them away"
fi

# Sweeps.
sweep() { limited "$graphrun" -m table.yaml hydra.sweep.dir=sw training.max_epochs=1 "$@"; }
sweep training.lr=1e-3,1e-2
check "a sweep" test "$code" = 0
check "... has a best run" grep -q 'training.lr: 0.0' sw/optimization_results.yaml
cp sw/optimization_results.yaml best
printf '%s\n' "'sw/0' has another run" 'training.lr is 10, was 0.001' 'training.lr is 1e-06, was 0.01' 'in run 1 of the sweep' >patterns
sweep training.lr=10,1e-6
verdict "the same folder with other values is refused before anything trains" 78
check "... and the best run is what it was" cmp best sw/optimization_results.yaml
sweep training.lr=1e-3,1e-2
check "the same sweep again has nothing left to do" test "$code/$(grep -c 'nothing left to do' "$log")" = 0/2
check "... and the same best run" cmp best sw/optimization_results.yaml
sweep training.lr=1e-3,1e-2 logging.report=false
check "... also with keys that change nothing that is computed" test "$code/$(grep -c 'nothing left to do' "$log")" = 0/2

sweep training.lr=10,1e-6 checkpoint.resume=none
check "other values that begin anew are not refused" test "$code/$(grep -c 'nothing left to do' "$log")" = 0/0

counts
