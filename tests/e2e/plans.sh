# plans.sh - plan files, differences of plans, and tables of predictions for other ranks, devices and clusters.
. "${0%/*}/lib.sh"
ln -s "$source/configs" configs && ln -s "$source/graphs" graphs
digits=configs/digits.yaml
member() { grep -o "\"$2\": [^,}]*" "$1" | head -1 | sed 's/.*: //'; }

# ---- Files
expect "a plan file" 0 '^plan of configs/digits.yaml for 2 ranks' -- "$graphrun" plan $digits --ranks=2 --write=two.json
"$graphrun" plan $digits --ranks=2 --json >json.json 2>/dev/null
check "... is what --json prints" cmp two.json json.json
"$graphrun" plan $digits --ranks=2 --write=again.json >/dev/null 2>&1
check "... the same bytes each time" cmp two.json again.json
check "... with a version" grep -q '^{"version": 1, "ranks": 2, ' two.json
check "... whose memory adds up" awk '/"memory": / {
  gsub(/[{}"]/, ""); sub(/.*memory: /, ""); n = split($0, part, /, */)
  for (i = 1; i <= n; i++) { split(part[i], pair, ": "); if (pair[1] == "all") all = pair[2]; else sum += pair[2] }
  exit !(all > 0 && sum == all) }' two.json
expect "a plan file that cannot be written" 74 "gone/x.json" -- "$graphrun" plan $digits --write=gone/x.json

# ---- Differences
expect "a plan against itself" 0 '^a: two.json$' '^the same programs, collectives, memory and times$' -- \
  "$graphrun" plan --diff two.json $digits
expect "... as JSON" 0 '^\[\]$' -- "$graphrun" plan --diff=two.json $digits --json
expect "a file against a file" 0 -- "$graphrun" plan --diff two.json again.json
expect "an override" 1 '^programs\.train\.all\.nodes +[0-9]+ +[0-9]+ +[+-]' '^memory\.optimizer .* -49\.' '^states\..*layout\.dp +"R" +"S[01]"$' \
  '^[0-9]+ figures differ$' -- "$graphrun" plan --diff two.json $digits distributed.strategy=zero1
check "... is no error" sh -c '! grep -q error "$1"' sh "$log"
limited sh -c '"$1" plan --diff two.json configs/digits.yaml distributed.strategy=zero1 --json 2>/dev/null' sh "$graphrun"
cp "$log" zero1.json
check "... as JSON" grep -q '"path": "programs.train.all.nodes", "a": [0-9]*, "b": [0-9]*}' zero1.json
check "... as many as are counted" test "$code" = 1
expect "two configurations, for more ranks" 1 '^step\.collectives +0 +1' '^ranks +1 +4 ' -- \
  sh -c '"$1" plan configs/digits.yaml --ranks=1 --write=one.json >/dev/null && "$1" plan --diff one.json configs/digits.yaml --ranks=4' sh "$graphrun"
expect "a collective that is not there before" 1 '^programs\.train\.all\.moves\.all_reduce\.count +- +1 +new$' -- \
  "$graphrun" plan --diff one.json $digits --ranks=4
expect "... and one that is not there any more" 1 '^programs\.train\.all\.moves\.all_reduce\.count +1 +- +gone$' -- \
  sh -c '"$1" plan configs/digits.yaml --ranks=4 --write=four.json >/dev/null && "$1" plan --diff four.json one.json' sh "$graphrun"
make_data
ran "a run" run training.max_steps=2 distributed.ranks=2
expect "a run against its configuration" 0 '^b: .*/run$' -- "$graphrun" plan --diff "$scratch/run/plan.json" "$scratch/run"
expect "... against others" 1 -- "$graphrun" plan --diff "$scratch/run" two.json

printf '{"version": 1, "programs": [' >torn.json
expect "a damaged file" 65 '^torn.json:1:29: config error: this is no plan file: expected a value, found the end' -- "$graphrun" plan --diff torn.json $digits
printf '{"version": 2, "programs": []}' >newer.json
expect "a newer file" 65 "'newer.json' has format version 2; this graphrun reads version 1" 'hint: use the graphrun that wrote it, or a newer one' -- \
  "$graphrun" plan --diff newer.json $digits
printf '[]' >list.json
expect "another file" 65 "'list.json' is no plan file: it has no version" 'hint: .*--write=FILE' -- "$graphrun" plan --diff list.json $digits
for ranks in -5 0 5000000000 null; do
  sed "s/\"ranks\": 2/\"ranks\": $ranks/" two.json >edited.json
  expect "a file for $ranks ranks" 65 "'edited.json' is no plan file: its ranks are no number from 1 to" -- "$graphrun" plan --diff edited.json $digits
done
expect "a file that is not there" 74 "gone.json" -- "$graphrun" plan --diff gone.json $digits
expect "one plan" 2 "--diff compares two plans" 'hint: ' -- "$graphrun" plan --diff two.json
expect "ranks of files" 2 "'two.json' is a plan that is made already" -- "$graphrun" plan --diff one.json two.json --ranks=4
expect "overrides of a file" 2 "'two.json' is a plan that is made already: key=value and --ranks change nothing" 'hint: ' -- "$graphrun" plan --diff one.json two.json training.lr=1
expect "a table of differences" 2 "--diff compares two plans, and no table" -- "$graphrun" plan --diff two.json $digits --ranks=1,2

# ---- Tables
expect "a table" 0 '^configs/digits.yaml, predicted and not measured$' '^H100 +ddp +1 .* fits by .* 1\.00 +100% ' '^H100 +ddp +8 ' '^B200 +fsdp +4 ' \
  '^B200: 148 processors, 8 a machine, 900.0 GB/s each within' -- "$graphrun" plan $digits --ranks=1..8 --device=h100,b200 --strategy=ddp,fsdp
check "... has a row for each" test "$(grep -c '^[HB][12]00  ' "$log")" = 16
check "... the same each time" sh -c '"$1" plan configs/digits.yaml --ranks=1..8 --device=h100,b200 --strategy=ddp,fsdp 2>&1 | cmp - "$2"' sh "$graphrun" "$log"
expect "ranks that a batch does not have rows for" 0 '^H100 +ddp +32 ' '^H100 .* 1024  not planned: 1024 ranks cannot share batches of' -- \
  "$graphrun" plan $digits --ranks=32,1024 --device=h100
expect "... all of them" 65 '1024 ranks cannot share batches of' 'hint: fewer ranks' -- "$graphrun" plan $digits --ranks=1024 --device=h100
expect "a table without a device: those of the configuration's" 0 '^CPU +ddp +2 ' -- "$graphrun" plan $digits --ranks=1,2 device=cpu
"$graphrun" plan $digits --ranks=1,2 --device=h100,cpu cost.per_gpu_hour=3.6 --json >rows.json 2>>"$log"
check "... as JSON, with costs" awk '/"device": "H100".*"ranks": 2,/ {
  for (i = 1; i < NF; i++) value[$i] = $(i + 1) + 0
  cost = 2 * 3.6 / 3600 * value["\"epoch_s\":"]; found = value["\"cost\":"]
  good = found > 0 && (found - cost) ^ 2 < 1e-12 * cost ^ 2 }
  END { exit !good }' rows.json
expect "a picture of it" 0 -- "$graphrun" plan $digits --ranks=1..4 --device=h100,a100 --svg=scaling.svg
check "... has both panels and their curves" sh -c 'grep -q ">speed-up</text>" scaling.svg && grep -q ">efficiency</text>" scaling.svg &&
  test "$(grep -c ">A100 ddp</text>" scaling.svg)" = 2'

cat >cluster.yaml <<'YAML'
gpus_per_node: 2
nodes: 4
memory: 100000
within: {bandwidth: 300e9, latency: 1e-6}
between: {bandwidth: 1e9, latency: 50e-6}
YAML
"$graphrun" plan $digits --ranks=2,4,8,16 --device=h100 --cluster=cluster.yaml >cluster.txt 2>>"$log"
"$graphrun" plan $digits --ranks=2,4 --device=h100 >usual.txt 2>>"$log"
check "a cluster: too little memory" grep -q '^H100 .* 2 .*, too large by ' cluster.txt
check "... more ranks than it has" grep -q '^H100 .* 16  not planned: the cluster has 8 devices$' cluster.txt
check "... its links" grep -q '^H100: 132 processors, 2 a machine, 300.0 GB/s each within and 1.0 GB/s between machines' cluster.txt
step() { awk -v ranks="$1" '$3 == ranks { sub(/.* by [0-9.]+ [kMGT]?B +/, ""); print $1 * ($2 == "ms" ? 1000 : 1) }' "$2"; }
check "... are slow between machines alone" sh -c 'awk "BEGIN { exit !($1 > 0 && $2 > $1) }"' sh "$(step 4 usual.txt)" "$(step 4 cluster.txt)"
wrong() {
  wrong_name=$1
  printf "$2" >wrong.yaml
  shift 2
  expect "$wrong_name" 65 "$@" -- "$graphrun" plan $digits --ranks=2 --device=h100 --cluster=wrong.yaml
}
wrong "a key that clusters do not have" 'gpus_per_nod: 8\n' "wrong.yaml:1:1: config error: nothing reads 'gpus_per_nod'" "hint: .*a cluster has gpus_per_node, nodes, memory"
wrong "... in a section" 'within: {speed: 8}\n' "wrong.yaml:1:10: config error: nothing reads 'within.speed'"
wrong "a number that is none" 'nodes: two\n' "wrong.yaml:1:8: config error: 'nodes' must be a float, but is a string"
wrong "half a machine" 'nodes: 1.5\n' "wrong.yaml:1:8: config error: nodes is a whole number above 0, found 1.5"
wrong "a bandwidth of 0" 'between: {bandwidth: 0}\n' "wrong.yaml:1:22: config error: between.bandwidth is a number above 0, found 0"
wrong "a section that is a number" 'between: 5\n' "wrong.yaml:1:10: config error: between is a mapping, found an integer"
wrong "a list" '[1, 2]\n' "wrong.yaml:1:1: config error: a cluster is a mapping, found a list"
expect "a cluster that is not there" 65 "gone.yaml" -- "$graphrun" plan $digits --cluster=gone.yaml
expect "a device that is not known" 2 "--device has no 'h300'" "hint: there are: a100, h100" -- "$graphrun" plan $digits --device=h300
expect "no device" 2 "--device has no ''" -- "$graphrun" plan $digits --device=
expect "a strategy that is not known" 2 "--strategy has no 'ddq'" 'hint: there are: ddp, ' -- \
  "$graphrun" plan $digits --ranks=2 --device=h100 --strategy=DDP,ddq
expect "a range that ends below its begin" 2 "--ranks must be a number from 1 to 1000000, but is '4..2'" -- "$graphrun" plan $digits --ranks=1,4..2
expect "no number of ranks" 2 "--ranks must be a number from 1 to 1000000, but is 'x'" -- "$graphrun" plan $digits --ranks=1,x
expect "... or none at all" 2 "--ranks must be a number from 1 to 1000000, but is ''" -- "$graphrun" plan $digits --ranks=1,
for graphs in --dump --stop-after; do
  expect "graphs of a table: $graphs" 2 "$graphs is of one plan" -- "$graphrun" plan $digits --ranks=1,2 $graphs=fuse
  expect "graphs beside JSON: $graphs" 2 "$graphs prints graphs, which are no JSON" -- "$graphrun" plan $digits --json $graphs=fuse
  expect "graphs of a comparison: $graphs" 2 "--diff compares two plans" -- "$graphrun" plan --diff two.json $digits $graphs=fuse
done
expect "--expand without --svg" 2 "--expand is of the picture" -- "$graphrun" plan $digits --expand='*'
check "... is said before the plan" sh -c '! grep -q "^plan of" "$1"' sh "$log"
expect "a file of a table" 2 "--write is of one plan" 'hint: ' -- "$graphrun" plan $digits --ranks=1,2 --write=x.json
counts
