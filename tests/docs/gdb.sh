#!/bin/sh
# gdb.sh GRAPHRUN SOURCE MAKE_TONES: what gdb prints by tools/gdb/graphrun.py is what the program prints of the same
# values (docs/debugging.md).
. "${0%/*}/../e2e/lib.sh"
export DEBUGINFOD_URLS=
if [ "$(gdb -nx -q -batch -ex 'python print("has", "Python")' 2>/dev/null)" != "has Python" ]; then
  skip "gdb prints graphs" "no gdb with Python"
elif ! gdb -nx -q -batch -ex run --args /bin/true 2>&1 | grep -q 'exited normally'; then
  skip "gdb prints graphs" "gdb may not run programs here"
else
  printers=$source/tools/gdb/graphrun.py
fi
in_gdb() { # COMMANDS ARGUMENT...: what gdb prints
  commands=$1
  shift
  printf '%s\n' "set pagination off" "set cwd $source" "$commands" >gdb.cmd
  limited gdb -nx -q -batch -iex "add-auto-load-safe-path $source" -iex "add-auto-load-safe-path ${graphrun%/*}" \
    -x gdb.cmd --args "$graphrun" "$@"
}
# same_graphs LEAST ARGUMENT...: every graph that `plan` prints, of so many lines at least, by gdb as well.
same_graphs() {
  least=$1
  shift
  rm -f printed dumped
  in_gdb 'python
import gdb
printed = open("'$scratch'/printed", "w")
gdb.execute("break gr_graph_print", to_string=True)
gdb.execute("run plan '"$*"' >'$scratch'/dumped", to_string=True)
while gdb.selected_inferior().pid:
    printed.write(gdb.parse_and_eval("*g").format_string() + "\n")
    gdb.execute("continue", to_string=True)
end'
  for file in printed dumped; do grep -E '^ *(%|mesh |loss |result |[a-z]+ \{$|\}$)' $file >$file.lines; done
    [ "$(wc -l <dumped.lines)" -ge "$least" ] && cmp printed.lines dumped.lines
}
if [ -n "${printers:-}" ]; then
  check "the printers are loaded with the program" sh -c 'grep -q graphrun "$1"' sh \
    "$(in_gdb 'info pretty-printer global graphrun'; echo "$log")"
  check "gdb prints the graphs of all passes" same_graphs 500 docs/tour/run.yaml --ranks=2 --dump=all
  make_data
  check "... with bodies of loops" same_graphs 100 tests/e2e/tones.yaml "data.manifest=$scratch/data/tones.jsonl" \
    --dump=shard
  printf 'model: {graph: docs/tour/mlp.yaml}\ntraining:\n  lr: 1e-3\n  betas: [0.9, 0.5]\n' >run.yaml
  in_gdb 'break gr_conf_yaml
run
print *c' config "$scratch/run.yaml"
  printf '%s\n' '^\$1 = map of [0-9]+' 'training = map of [0-9]+ \(/.*run.yaml:3:3\)' 'lr = 0.001 \(/.*run.yaml:3:7\)' \
    'betas = list of 2 \(/.*run.yaml:4:10\)' '\[0\] = 0.9 \(/.*run.yaml:4:11\)' >patterns
  verdict "a configuration, with its places" 0
  printf 'training: {lr: fast}\n' >wrong.yaml
  in_gdb 'break gr_status_print
run
print s' config "$scratch/wrong.yaml"
  printf '%s\n' '^\$1 = /.*wrong.yaml:1:16: config error: .*fast.* \[.*\.c:[0-9]+\]$' >patterns
  verdict "an error, with its place and hint" 0
fi
counts
