# report.sh - what a run shows of itself: its page, its log and its results, however it ends.
. "${0%/*}/lib.sh"

mkdir -p data
awk 'BEGIN { srand(3); print "id,width,weight,kind"
  for (i = 0; i < 240; i++) { k = int(3 * rand())
    printf "r%d,%.4f,%.2f,%s\n", i, k + 0.6 * rand(), 1000 * (k == 1) + 400 * rand(), substr("redbluegrey", k * 3 + 1, 3) }
}' >data/kinds.csv
cat >table.yaml <<YAML
model: {graph: $source/graphs/mlp.yaml, params: {dim: 16, layers: 1}}
data: {source: table, validation_fraction: 0.25, table: {path: $scratch/data/kinds.csv, label: kind}}
training: {batch_size: 16, lr: 1e-2, max_epochs: 4, eval_every: 2, seed: 2}
distributed: {ranks: 2, backend: loopback}
checkpoint: {metric: accuracy, mode: max}
YAML
# well_formed WHAT python3 page.py PAGE WORD...: elements that begin end, in order, nothing is loaded, and the
# words are in the tables without scripts or in the JSON.
cat >page.py <<'PY'
import html.parser, json, sys
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.text, self.data = [], "", ""
    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            assert name not in ("src", "href") or value.startswith("data:") or value.startswith("./"), value
        if tag != "meta": self.open.append(("data" if ("id", "data") in attrs else tag, tag))
    def handle_endtag(self, tag):
        assert self.open.pop()[1] == tag, (tag, self.getpos())
    def handle_startendtag(self, tag, attrs): pass
    def handle_data(self, data):
        inside = self.open[-1][0] if self.open else ""
        if inside == "data": self.data += data
        elif inside not in ("script", "style"): self.text += data
page = Page()
page.feed(open(sys.argv[1], encoding="utf-8").read())
assert not page.open, page.open
data = json.dumps(json.loads(page.data), ensure_ascii=False)
for word in sys.argv[2:]: assert word in page.text or word in data, word
PY
well_formed() {
  if command -v python3 >/dev/null 2>&1; then
    check "$@"
  else
    skip "$1" "no python3"
  fi
}
# drawn WHAT PAGE PATTERN...: the page's scripts draw it without an error, and each pattern is in a line of what
# tests/e2e/page.js says of it.
drawn() {
  what=$1 page=$2
  shift 2
  if ! command -v node >/dev/null 2>&1; then
    skip "$what" "no node"
    return
  fi
  if ! node "$source/tests/e2e/page.js" "$page" >drawn.txt 2>&1 || grep -q "WRONG\|could not be drawn" drawn.txt; then
    fail "$what" "$(grep -m1 'Error\|WRONG\|could not be drawn' drawn.txt)"
    return
  fi
  for pattern in "$@"; do
    grep -Eq -- "$pattern" drawn.txt || { fail "$what" "no '$pattern'"; return; }
  done
  ok "$what"
}
# fits WHAT PAGE: in a browser whose window is as wide as a phone, the page does not scroll sideways.
fits() {
  if ! command -v chromium >/dev/null 2>&1; then
    skip "$1" "no chromium"
    return
  fi
  measure='setTimeout(() => { document.title = `${document.documentElement.scrollWidth} of ${innerWidth}`; }, 500);'
  sed "s|</body>|<script>$measure</script></body>|" "$2" >narrow.html
  timeout -k 5 "$limit" chromium --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" --window-size=400,800 \
    --virtual-time-budget=5000 --dump-dom "file://$PWD/narrow.html" >dom.html 2>/dev/null
  widths=$(sed -n 's|.*<title>\([0-9]* of [0-9]*\)</title>.*|\1|p' dom.html)
  if [ -z "$widths" ]; then
    skip "$1" "chromium does not start"
  elif [ "${widths% of *}" -le "${widths#* of }" ]; then
    ok "$1"
  else
    fail "$1" "$widths pixels"
  fi
}

# ---- The page of a run
expect "a run on two ranks" 0 -- "$graphrun" table.yaml output.dir=run 'vars={x: "<b>&"}'
check "... makes a page" test -s run/report.html
accuracy=$(sed -n 's/.*"validation.accuracy": \([^,}]*\).*/\1/p' run/training_results.json | head -1)
well_formed "... of HTML, with its metrics, values and where they are from" python3 page.py run/report.html done \
  "$(printf %.6g "$accuracy")" "table.yaml:3:32" "argument 2" '<b>&' '"dp": 2'
drawn "... whose scripts draw it" run/report.html '^span.badge good: done$' "^b: $(printf %.4f "$accuracy")$" '^span: best accuracy$' \
  '^h2: Configuration$' '^h2: The step as a graph$' '^td.value: .*<b>&' '^td.from: table.yaml:3:32$' '^td.from: argument 2$' '^p: 2 ranks \(dp = 2\)' \
  '^svg: Loss over step: training from [0-9.]+ to .*; validation from ' '^span.k1: validation$' '^h2: Time$' '^h2: Samples$' \
  '^b: Gradient norm$' '^axes: .* 0 10 20 30 40$' '^hover: step 48 \| training[0-9.]+ \| validation[0-9.]+$' \
  '^left: step 47 \| .* at 48$' '^zoomed: .* (1[5-9]|2[0-9]) ' '^reset: .* 0 10 20 30 40$' '^other scale: '
fits "... within the width of a phone" run/report.html
expect "the plan is what plan prints" 0 -- sh -c '"$1" plan table.yaml --json >plan.json' sh "$graphrun"
check "... but for the output" cmp plan.json run/plan.json
check "... and the samples that it prints" test "$(wc -l <run/samples.jsonl)" = 3
check "... with their inputs" test "$(grep -c '"input": {"shape": .2., "values": ' run/samples.jsonl)" = 3
cat >events.py <<'PY'
import sys
try:
    from tensorboard.backend.event_processing import event_accumulator
    from tensorboard.plugins.hparams import plugin_data_pb2
    from tensorboard.util import tensor_util
except ImportError:
    sys.exit(77)
events = event_accumulator.EventAccumulator(sys.argv[1])
events.Reload()
def hparams(tag):
    data = plugin_data_pb2.HParamsPluginData()
    data.ParseFromString(events.SummaryMetadata(tag).plugin_data.content)
    return data
start = hparams("_hparams_/session_start_info").session_start_info.hparams
assert start["training.lr"].number_value == 0.01 and start["data.table.label"].string_value == "kind", start
assert "output.dir" not in start and "training.accumulate" not in start, start
assert hparams("_hparams_/session_end_info").session_end_info.status == 1
graph = events.Graph().node
names = {n.name for n in graph}
assert len(names) == len(graph) and all(i in names for n in graph for i in n.input), names
assert any(n.op == "matmul" and n.name.startswith("body/0/") for n in graph), names
texts = tensor_util.make_ndarray(events.Tensors("samples/validation")[0].tensor_proto)
assert texts.shape == (4, 3) and texts[0, 2] == b"predicted", texts
assert [t.step for t in events.Tensors("samples/validation")] == [23, 47]
# Every evaluation is there once: two, of which the second closes the run.
for tag in ("eval/validation.loss", "eval/validation.accuracy"):
    assert [e.step for e in events.Scalars(tag)] == [23, 47], events.Scalars(tag)
assert sorted(t for t in events.Tags()["scalars"] if "accuracy" in t) == ["epoch/train.accuracy", "eval/validation.accuracy"]
PY
python3 events.py run >"$scratch/said" 2>&1
case $? in
  0) ok "TensorBoard reads hyper-parameters, graph, samples, and each evaluation once" ;;
  77) skip "TensorBoard reads hyper-parameters, graph, samples" "TensorBoard is not installed" ;;
  *) fail "TensorBoard reads hyper-parameters, graph, samples" "$(tail -1 "$scratch/said")" ;;
esac
# In TensorBoard every evaluation has its samples, under one tag; in the run's folder and on the console those of the last.
check "each evaluation has its samples in TensorBoard" test "$(cat run/events.out.* | grep -ao 'samples/validation' | wc -l)" = 2
check "... the run's folder those of the last" sh -c 'test "$(sed "s/, .*//" run/samples.jsonl | sort -u)" = "{\"steps\": 48"'
check "... which are printed once" test "$(grep -c "validation samples with their labels" run/run.log)" = 1
rm run/training_results.json
expect "a run that is resumed at its end" 0 "3 of [0-9]+ validation samples" -- "$graphrun" table.yaml output.dir=run checkpoint.resume=auto 'vars={x: "<b>&"}'
check "... adds none" test "$(cat run/events.out.* | grep -ao 'samples/validation' | wc -l)" = 2
# An evaluation is one line of the console, one of evals.jsonl, and the last one is in the results.
check "each evaluation is once in evals.jsonl" sh -c 'test "$(sed "s/, .*//" run/evals.jsonl | tr -d "\n")" = "{\"steps\": 24{\"steps\": 48"'
check "... and in the log" test "$(grep -c "step [0-9]*  validation" run/run.log)" = 2
check "... the closing one in the results" grep -q "\"validation.accuracy\": $accuracy" run/training_results.json
check "... and in evals.jsonl" sh -c 'tail -1 run/evals.jsonl | grep -q "\"validation.accuracy\": $1"' sh "$accuracy"
check "... and at the end of the log" grep -q "^validation set: .*accuracy $(printf %.4f "$accuracy")" run/run.log
expect "a run whose end is in no epoch's end" 0 -- "$graphrun" table.yaml output.dir=short training.max_steps=30 training.eval_every=1
check "... is evaluated there, once" sh -c 'test "$(sed "s/, .*//" short/evals.jsonl | tr -d "\n")" = "{\"steps\": 12{\"steps\": 24{\"steps\": 30"'
check "... and says so, once" test "$(grep -c "step 30  validation" short/run.log)" = 1

# ---- The live line: on a terminal of 40 columns; none where it is no terminal
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
  for how in loopback auto; do
    TERM=xterm LC_ALL=C limited script -qec "stty cols 40; '$graphrun' table.yaml output.dir=live-$how training.max_epochs=30 \
      distributed.backend=$how logging.show_samples=0" live
    check "a terminal shows the phases and the steps ($how)" sh -c 'tr "\r" "\n" <live >lines &&
      grep -q "^planning" lines && grep -q "^reading the data" lines && grep -q "^epoch [0-9]*  step [0-9]*/360  loss" lines'
    # A progress line ends with an erased rest of the line, ESC [ K.
    check "... within its columns" sh -c 'grep "$(printf "\033\[K")\$" lines | sed "s/$(printf "\033")\[[0-9]*[mK]//g" | awk "length > 39 { exit 1 }"'
  done
else
  skip "a terminal shows the phases and the steps" "no script"
fi
check "no terminal, no live line" sh -c '! grep -q "planning\|reading the data\|$(printf "\033")" "$0"' run/run.log

# ---- The page again
cp run/report.html first.html
expect "report" 0 '^run/report.html$' -- "$graphrun" report run/
check "... of the same files is the same page" cmp run/report.html first.html
expect "report to another file" 0 '^other.html$' -- "$graphrun" report run --out=other.html
check "... the same" cmp other.html first.html
expect "a run without a page" 0 -- "$graphrun" table.yaml output.dir=bare logging.report=false
check "... has none" test ! -e bare/report.html

# ---- Runs that end in another way
expect "a run whose hook fails" 70 -- "$graphrun" table.yaml output.dir=failed "hooks=[$source/tests/e2e/fails.lua]"
well_formed "... has a page with the reason" python3 page.py failed/report.html failed "on purpose"
check "... which its log has" grep -q "on purpose" failed/run.log
cp -r run dead && rm dead/training_results.json dead/report.html && printf '{"step": 5, "lo' >>dead/metrics.jsonl
expect "report of a run that was killed" 0 -- "$graphrun" report dead
well_formed "... says so" python3 page.py dead/report.html unfinished
drawn "... and why" dead/report.html '^pre.notice bad: The run has not ended by itself: it was killed'
(
  exec 9>dead/.run.lock
  flock 9 2>/dev/null || exit 9
  limited "$graphrun" report dead
  exit "$code"
)
if [ $? = 9 ]; then
  skip "report of a run that runs" "no flock"
else
  well_formed "report of a run that runs" python3 page.py dead/report.html running
fi

if has_mpi; then
  make_data
  begin killed distributed.ranks=2 training.max_epochs=1000000 logging.tensorboard=false
  wait_steps killed 3
  kill -9 "$(rank_of killed 0)"
  ended
  check "rank 0 is killed" test "$code" = 71
  check "... which the log says, for rank 0 could not" grep -q "rank 0 was killed by SIGKILL" killed/run.log
  check "... once" test "$(grep -c "rank 0 was killed" killed/run.log)" = 1
else
  skip "rank 0 is killed" "no MPI"
fi

# ---- Sweeps
expect "a sweep" 0 '^run +status +steps +best accuracy +at step +last +lr$' '^sweep/[01] +done +[0-9]+ ' '^report: sweep/report.html$' -- \
  "$graphrun" -m table.yaml training.lr=1e-4,2e-2 distributed.ranks=1 hydra.sweep.dir=sweep training.max_epochs=2
check "... whose table is ordered by the metric" sh -c 'sed -n "/^run /,\$p" "$1" | sed -n 2p | grep -q "^sweep/1 .*0.02$"' sh "$log"
check "... leaves what was composed without the sweep" sh -c 'head -2 sweep/multirun.yaml | tr -d "\n" | grep -q "^hydra:  mode: MULTIRUN" &&
  grep -q "^    - training.lr=1e-4,2e-2$" sweep/multirun.yaml && sed -n "/^training:/,/^[a-z]/p" sweep/multirun.yaml | grep -q "lr: 0.01"'
printf 'name: graphrun\nbest_params:\n  training.lr: 0.02\nbest_value: ' >best.yaml
check "... and the best parameters" sh -c 'head -c "$(wc -c <best.yaml)" sweep/optimization_results.yaml | cmp - best.yaml'
mkdir rates
printf '# @package _global_\ntraining: {lr: 1e-4}\n' >rates/slow.yaml
printf '# @package _global_\ntraining: {lr: 2e-2}\n' >rates/fast.yaml
expect "a sweep over a choice" 0 '^chosen/1 +done' -- \
  "$graphrun" -m table.yaml +rates=slow,fast distributed.ranks=1 hydra.sweep.dir=chosen training.max_epochs=2
check "... whose best run's is written by its name" grep -qx '  +rates: fast' chosen/optimization_results.yaml
cp sweep/report.html first.html
expect "report of a sweep" 0 '^sweep/report.html$' -- "$graphrun" report sweep
check "... is the page that the sweep has made" cmp sweep/report.html first.html
check "... with links to those of the runs" grep -q '<a href="./1/report.html">' first.html
well_formed "... which has what differs" python3 page.py first.html training.lr
drawn "... whose scripts draw it" first.html '^h2: What differs, and the best accuracy$' '^svg: 2 runs over training.lr, best accuracy$' \
  '^title: lr=0.02$' '^b: validation.accuracy$' '^href: ./1/report.html$' '^hover: step [0-9]+ \| lr=0.02[0-9.]+ \| lr=1e-4|^hover: step .*lr='
fits "... within the width of a phone" first.html
drawn "... whose parallel coordinates are as wide as a screen" first.html '^parallel: 0 0 1066 280$'
PAGE_WIDTH=400 drawn "... and as a phone" first.html '^parallel: 0 0 346 144$'
expect "the JSON of a page" 0 '"kind": "run"' '"key": "validation.accuracy"' '"status": "done"' -- "$graphrun" report run --json
expect "... of a folder" 0 '"kind": "runs"' '"differs": .*"training.lr": "0.02"' -- "$graphrun" report sweep --json
expect "a sweep over ranks" 0 -- "$graphrun" -m table.yaml distributed.ranks=1,2 hydra.sweep.dir=scaled training.max_epochs=2
drawn "... has how speed grows with them" scaled/report.html '^b: Samples per second by ranks$' '^h2: Scaling$' '^td.n: 2.00$'
expect "runs of a sweep" 0 '^sweep/1 +done' -- "$graphrun" runs sweep
printf 'a,b,kind\n1,\0,red\n' >bad.csv
expect "a sweep of which a run fails" 69 '^half/0 +done' "run 1 .half/1. ended with code 66" '1 of 2 runs failed, the first with code 66' -- \
  "$graphrun" -m table.yaml "data.table.path=$scratch/data/kinds.csv,bad.csv" hydra.sweep.dir=half training.max_epochs=1
check "... has the page of the others" grep -q '<a href="./0/report.html">' half/report.html
new_log >/dev/null
timeout -k 5 "$limit" "$graphrun" -m table.yaml training.lr=1e-3 training.max_epochs=1000000 training.eval_every=0 distributed.ranks=1 \
  hydra.sweep.dir=killed >>"$log" 2>&1 </dev/null &
watcher=$! sweep='' one=''
while [ -z "$sweep" ] && kill -0 "$watcher" 2>/dev/null; do sweep=$(children "$watcher"); done
while [ -z "$one" ] && kill -0 "$watcher" 2>/dev/null; do one=$(children "$sweep"); done
kill -9 "$one"
ended
printf '%s\n' 'run 0 .killed/0. ended with code 137' '1 of 1 runs failed, the first with code 137' >patterns
verdict "a sweep of which a run is killed" 69
expect "a sweep that is only listed" 0 -- "$graphrun" -m table.yaml training.lr=1,2 hydra.sweep.dir=listed --dry-run --jobs=1024
check "... writes nothing" test ! -e listed
expect "a flag of a sweep is one of its runs" 0 '^ *seconds +% +runs .* op$' -- \
  "$graphrun" -m table.yaml training.lr=1e-3 hydra.sweep.dir=flagged training.max_epochs=1 distributed.ranks=1 --profile
expect "a sweep over two keys changes the last one first" 0 '^#1: listed/1: training.lr=1 training.seed=4( |$)' \
  '^#2: listed/2: training.lr=2 training.seed=3( |$)' -- \
  "$graphrun" -m table.yaml training.lr=1,2 training.seed=3,4 hydra.sweep.dir=listed --dry-run
expect "more runs at a time than there may be" 2 "must be a number from 1 to 1024, but is '1025'" -- \
  "$graphrun" -m table.yaml training.lr=1,2 hydra.sweep.dir=listed --dry-run --jobs=1025

# A value that results lack is named, but not where the run has failed before it could have it.
echo 'return { on_epoch_start = function(ctx) if ctx.epoch == 2 then error("no more") end end }' >ends.lua
lacks="training.eval_every=1 +logging.results.mine=history.validation.acc"
# shellcheck disable=SC2086
{
  expect "a value that results lack" 0 "training_results.json has no value 'history.validation.acc'" -- \
    "$graphrun" table.yaml output.dir=lacks training.max_epochs=2 $lacks
  expect "... in a run that fails" 70 'no more' -- "$graphrun" table.yaml output.dir=ends 'hooks=[ends.lua]' $lacks
}
check "... is not named" sh -c '! grep -q "has no value" "$1"' sh "$log"

# ---- The worst mistakes of an evaluation
short="training.max_epochs=1 training.lr=1e-4 logging.show_samples=0"
# shellcheck disable=SC2086
{
  expect "a run that makes mistakes" 0 -- "$graphrun" table.yaml output.dir=wrong $short
  expect "... as many as are asked for" 0 -- "$graphrun" table.yaml output.dir=wrong1 $short logging.mistakes=5 distributed.ranks=1
  expect "... none" 0 -- "$graphrun" table.yaml output.dir=wrong0 $short logging.mistakes=0
}
check "... has the worst first" sh -c 'test "$(wc -l <wrong/mistakes.jsonl)" = 12 && sed "s/.*\"loss\": //; s/,.*//" wrong/mistakes.jsonl | sort -grc'
check "... on any number of ranks" sh -c 'sed "s/\"loss.*input/input/" wrong1/mistakes.jsonl >one && sed "s/\"loss.*input/input/" wrong/mistakes.jsonl | head -5 | cmp - one'
check "... none if none are asked for" test ! -s wrong0/mistakes.jsonl
drawn "... and draws the columns of a row" wrong/report.html '^h2: Worst mistakes$' '^td.key: width$' '^b.differs: (red|blu|egr)$'
cp wrong/mistakes.jsonl mistakes.jsonl && rm wrong/training_results.json
# shellcheck disable=SC2086
expect "a run that is resumed where it has ended" 0 -- "$graphrun" table.yaml output.dir=wrong $short checkpoint.resume=auto
check "... keeps them" cmp mistakes.jsonl wrong/mistakes.jsonl
for kind in image series video speech regression; do
  "$graphrun" new "p-$kind" --data=$kind >/dev/null
  expect "mistakes of $kind" 0 -- "$graphrun" "p-$kind/config.yaml" "output.dir=p-$kind/run" training.max_epochs=1 training.eval_every=1 distributed.ranks=1
done
drawn "... draws images" p-image/run/report.html '^canvas: picture of .*ppm$' '^pixels: several shades$' '^small: (circle|square|triangle)/'
drawn "... draws series" p-series/run/report.html '^svg: input over moment: acc_x from .*; acc_y from '
drawn "... draws frames of videos" p-video/run/report.html '^canvas: picture of ' '^pixels: several shades$'
drawn "... draws spectrograms" p-speech/run/report.html '^canvas: spectrogram of .*wav$' '^pixels: several shades$'
drawn "... and values" p-regression/run/report.html '^td.key: area$' '^h2: Worst mistakes$'
check "... each within its bound" sh -c 'for f in p-*/run/mistakes.jsonl; do awk "length > 26000 { exit 1 }" "$f" || exit 1; done'

# ---- Wrong arguments
expect "report of no run" 2 "no run is given" "hint: graphrun report outputs/" -- "$graphrun" report
expect "report of no folder" 66 "there is no folder 'nowhere'" "hint:" -- "$graphrun" report nowhere
expect "report of a folder that is no run's" 66 "'data' is not the folder of a run" "hint:" -- "$graphrun" report data
expect "report of two runs" 2 "'dead' is one argument too many" -- "$graphrun" report run dead
expect "report where it cannot be written" 74 "cannot write 'gone/r.html'" "hint:" -- "$graphrun" report run --out=gone/r.html

counts
