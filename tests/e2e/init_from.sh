# init_from.sh - weights from elsewhere: renamed, missing, left out, in several files and of other
# programs; on any number of ranks; and what is wrong with them, at its place.
. "${0%/*}/lib.sh"

awk 'BEGIN { srand(3); print "a,b,c,kind"
  for (i = 0; i < 60; i++) { k = i % 3; printf "%.3f,%.3f,%.3f,%s\n", rand() + k, rand(), rand() - k, substr("redbluegrey", k * 3 + 1, 3) }
}' >kinds.csv
cat >base.yaml <<YAML
model: {graph: ${source}/graphs/mlp.yaml, params: {dim: 8, layers: 2, dropout: 0.0}}
data: {source: table, table: {path: kinds.csv, label: kind}}
training: {batch_size: 12, lr: 1e-2, max_steps: 3, eval_every: 0, final_train_eval: false, seed: 2}
distributed: {ranks: 1}
YAML
# The same network under other names, and one with another head.
sed 's/name: body/name: trunk.layers/; s/name: head/name: out/' "$source/graphs/mlp.yaml" >other.yaml
run() {
  run_out=$1
  shift
  limited "$graphrun" base.yaml "output.dir=$run_out" "$@"
}
# bad NAME CODE PATTERN INIT_FROM: a run of the other network that cannot begin.
bad() {
  printf '%s\n' "$3" >patterns
  run none model.graph=other.yaml "model.init_from=$4"
  verdict "$1" "$2"
}
same_loss() {
  if [ "$code" = 0 ] && near "$want" "$(loss "$2" 0)" 1e-5; then ok "$1"; else fail "$1" "exit code $code, not $want"; fi
}

run first
check "a run to begin from" test "$code" = 0
limited "$graphrun" export first all.safetensors --optimizer
limited "$graphrun" export first weights.safetensors
check "... exported" test "$code" = 0
run begun model.init_from=weights.safetensors
want=$(loss begun 0)
check "the short form" test "$code" = 0
check "... says what it takes" grep -q "6 tensors are those of weights.safetensors" "$log"

# ---- The list
rename='rename:[{body.*:"trunk.layers.*"},{head.*:"out.*"}]'
run list 'model.init_from=[{from:weights.safetensors}]'
same_loss "the list with one file" list
for of in 1/ddp 2/ddp 3/fsdp; do
  run "renamed-${of%/*}" model.graph=other.yaml "model.init_from=[{from:weights.safetensors,$rename}]" \
    distributed.ranks="${of%/*}" distributed.strategy="${of#*/}" distributed.backend=loopback
  same_loss "renamed, on ${of%/*} ranks, ${of#*/}" "renamed-${of%/*}"
done
check "... says so" grep -q "6 tensors are those of weights.safetensors, 6 of them renamed" "$log"
run from-run model.graph=other.yaml "model.init_from=[{from:first,$rename}]"
same_loss "from a run's folder, without its optimizer" from-run
run from-all model.graph=other.yaml "model.init_from=[{from:all.safetensors,$rename,allow_unused:['*.m','*.v',step]}]"
same_loss "unused tensors that are allowed" from-all
check "... are named" grep -Eq "13 are left there: .*\.m" "$log"
run two model.graph=other.yaml 'model.init_from=[{from:weights.safetensors,rename:[{body.*:"trunk.layers.*"},{head.*:null}]},{from:weights.safetensors,rename:[{head.*:"out.*"},{*:null}]}]'
same_loss "from two files, each in part" two
check "... what each gives" grep -q "2 tensors are those of weights.safetensors, 2 of them renamed" "$log"
sed 's/egr/blu/' kinds.csv >pairs.csv
cat >head.yaml <<YAML
defaults: [base, _self_]
data: {table: {path: pairs.csv}}
model:
  graph: other.yaml
  init_from:
    - from: weights.safetensors
      rename: [{"body.*": "trunk.layers.*"}, {"head.*": null}]
      allow_missing: ["out.*"]
YAML
limited "$graphrun" head.yaml output.dir=head
check "a head of another size" test "$code" = 0
check "... and is named" grep -q "2 are missing and keep their initial values: out.weight, out.bias" "$log"
check "... and so is what is left" grep -q "2 are left there: head" "$log"
limited "$graphrun" head.yaml output.dir=head training.max_steps=4
check "a resumed run loads its own" grep -q "resumed from" "$log"
mv weights.safetensors moved
limited "$graphrun" eval head
check "eval does not need them" test "$code" = 0
mv moved weights.safetensors

# ---- Wrong
# A packed tensor is split into parts of equal size.
cat >packed.yaml <<YAML
params: {classes: "???"}
inputs: {x: {shape: [n, c]}, y: {shape: [n], dtype: i32}}
nodes:
  - p: {linear: x, out: 12, name: in_proj}
  - q: {slice: p, axis: 1, size: 4}
  - k: {slice: p, axis: 1, from: 4, size: 4}
  - v: {slice: p, axis: 1, from: 8, size: 4}
  - h: {mul: [q, k]}
  - h: {add: [h, v]}
  - logits: {linear: h, out: classes, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
YAML
sed '/p: .linear/d; s/ - \([qkv]\): .*/ - \1: {linear: x, out: 4, name: attend.\1}/' packed.yaml >parts.yaml
sed -i 's/params: {dim: 8, layers: 2, dropout: 0.0}/params: {}/' base.yaml
run packed model.graph=packed.yaml
limited "$graphrun" export packed packed.safetensors
run packed-begun model.graph=packed.yaml model.init_from=packed.safetensors
want=$(loss packed-begun 0)
for of in 1/ddp 2/ddp 2/fsdp; do
  run "parts-${of%/*}${of#*/}" model.graph=parts.yaml \
    'model.init_from=[{from:packed.safetensors,rename:[{in_proj.*:[attend.q.*,attend.k.*,attend.v.*]}]}]' \
    distributed.ranks="${of%/*}" distributed.strategy="${of#*/}"
  same_loss "a packed tensor in parts, on ${of%/*} ranks, ${of#*/}" "parts-${of%/*}${of#*/}"
done
packed() { bad "$1" "$2" "$3" "[{from:packed.safetensors,rename:[{$4}]}]"; }
packed "parts that do not divide a tensor" 78 "'in_proj.bias' .* cannot be split into 5 equal parts: f32.12." 'in_proj.*:[a.*,b.*,c.*,d.*,e.*]'
packed "one part" 65 "'in_proj.\*' is split into 1 part" 'in_proj.*:[a.*]'
packed "parts with other stars" 65 "'in_proj.\*' has 1 .*, and its new name 'b' has 0" 'in_proj.*:[a.*,b]'
sed -i 's/params: {}/params: {dim: 8, layers: 2, dropout: 0.0}/' base.yaml
want=$(loss begun 0)
bad "an unknown key" 65 "has no 'renames'" '[{from:weights.safetensors,renames:[]}]'
check "... with a guess" grep -q "did you mean 'rename'" "$log"
bad "no path" 65 "needs 'from', the path of weights" '[{rename:[]}]'
bad "a path alone in a list" 65 "needs 'from', the path of weights" '[weights.safetensors]'
bad "no file" 78 "cannot open the weights 'weights.safetensor'" '[{from:weights.safetensor}]'
bad "renames that are no list" 65 "'rename' of model.init_from must be a list of mappings" '[{from:weights.safetensors,rename:{a:b}}]'
bad "a rename to a number" 65 "'rename' of model.init_from must be .* or to null, found an integer" '[{from:weights.safetensors,rename:[{a:1}]}]'
bad "a pattern that is a number" 65 "'allow_missing' of model.init_from must be a list of patterns, found an integer" '[{from:weights.safetensors,allow_missing:[1]}]'
bad "another number of stars" 65 "'head.\*' has 1 .*, and its new name 'out' has 0" '[{from:weights.safetensors,rename:[{head.*:out}]}]'
bad "a rename of nothing" 65 "'haed.\*' of rename matches no tensor of 'weights.safetensors'" '[{from:weights.safetensors,rename:[{haed.*:"out.*"}]}]'
check "... with a guess" grep -q "did you mean 'head.\*'" "$log"
bad "missing weights that match nothing" 65 "'outs.\*' of allow_missing matches no tensor of the model" '[{from:weights.safetensors,allow_missing:["outs.*"]}]'
bad "unused tensors that match nothing" 65 "'tail.\*' of allow_unused matches no tensor of 'weights" '[{from:weights.safetensors,allow_unused:["tail.*"]}]'
bad "two of one name" 65 "are both called '.*weight' then" '[{from:weights.safetensors,rename:[{body.0.*:"out.*"},{body.1.*:"out.*"}]}]'
bad "missing and unused" 78 "6 of the model's 6 weights do not fit 'weights.safetensors'" '[{from:weights.safetensors}]'
check "... with the rename that helps" grep -q 'out.bias f32\[3\] is not there; rename: \[{"head.\*": "out.\*"}\] takes .head.bias' "$log"
check "... and what is not used" grep -q "6 tensors of 'weights.safetensors' are not used" "$log"
run none data.table.path=pairs.csv 'model.init_from=[{from:weights.safetensors}]'
echo "head.weight is f32\[3,8\] there, and f32\[2,8\] in the model" >patterns
verdict "another shape" 78
echo '{"weight_map": {"head.weight": "gone.safetensors"}}' >gone.index.json
bad "an index without its file" 78 "gone.safetensors" gone.index.json
check "... says which names it" grep -q "'gone.index.json' names the file 'gone.safetensors'" "$log"
echo '{"weights": {}}' >empty.index.json
bad "an index that is none" 78 "there is no \"weight_map\"" empty.index.json
echo '{"weight_map": {"head.wait": "weights.safetensors"}}' >wrong.index.json
bad "an index with a tensor that is not there" 78 "'weights.safetensors' lacks a tensor of it: head.wait" wrong.index.json
echo '{"weight_map": {"head.weight": "../weights.safetensors"}}' >outside.index.json
bad "an index that leaves its folder" 78 "no name of a file: head.weight" outside.index.json
echo "no archive" >bad.npz
bad "an .npz that is none" 66 "'bad.npz' is no .npz file" bad.npz

# ---- Of other programs
for part in body.0 body.1 head; do
  for of in weight bias; do printf '"%s.%s": "weights.safetensors", ' "$part" "$of"; done
done | sed 's/^/{"metadata": {"total_size": 1}, "weight_map": {/; s/, $/}}/' >model.safetensors.index.json
run index model.init_from=model.safetensors.index.json
same_loss "an index of safetensors" index
cat >npz.py <<'PY'
import json, struct, sys, zipfile
raw = open("weights.safetensors", "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
with zipfile.ZipFile("weights.npz", "w") as z:
    for name, t in json.loads(raw[8 : 8 + n]).items():
        if name == "__metadata__":
            continue
        first, end = t["data_offsets"]
        values = struct.unpack("<%df" % ((end - first) // 4), raw[8 + n + first : 8 + n + end])
        wide = name == "head.weight"  # of f64
        head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % ("<f8" if wide else "<f4", "".join("%d," % d for d in t["shape"]))
        head += " " * (63 - (10 + len(head)) % 64) + "\n"
        data = struct.pack("<%d%s" % (len(values), "d" if wide else "f"), *values)
        z.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
PY
if python3 npz.py 2>/dev/null; then
  run npz model.init_from=weights.npz
  same_loss "an .npz file" npz
  run npz2 model.graph=other.yaml "model.init_from=[{from:weights.npz,$rename}]" distributed.ranks=2 \
    distributed.strategy=fsdp distributed.backend=loopback
  same_loss "... renamed, sharded over two ranks" npz2
else
  skip "an .npz file" "no python3"
fi

# ---- Folders as Hugging Face writes them, with a file of names
mkdir hub shards
cp weights.safetensors hub/model.safetensors
cat >names.yaml <<YAML
names: [{"body.*": "trunk.layers.*"}, {"head.*": "out.*"}, {"others.*": null}]
YAML
run folder model.graph=other.yaml 'model.init_from=[{from:hub,rename:names.yaml}]'
same_loss "a folder with model.safetensors, and a file of names" folder
run folder-alone model.init_from=hub
same_loss "... alone" folder-alone
printf '{"weight_map": {"head.weight": "model-00001-of-00002.safetensors"}}' >shards/model.safetensors.index.json
bad "a missing file of an index" 78 "names the file 'model-00001-of-00002.safetensors', which is not in its folder" shards
printf 'names: {a: b}' >bad.yaml
bad "names that are no list" 65 '`names` must be a list of mappings' '[{from:hub,rename:bad.yaml}]'
printf 'rename: []' >bad.yaml
bad "a file without names" 65 'has no `names:`' '[{from:hub,rename:bad.yaml}]'
bad "a file of names that is not there" 65 "cannot open the names 'nowhere.yaml'" '[{from:hub,rename:nowhere.yaml}]'
printf 'x' >old.pt
bad "a pickle" 78 "'old.pt' is a pickle of PyTorch" old.pt
printf 'x' >net.onnx
bad "a model of ONNX" 78 "'net.onnx' is a model of ONNX, and no file of weights alone" net.onnx
printf 'x' >fc.npy
bad "one array" 78 "'fc.npy' is one array, which does not say what weight it is" fc.npy

counts
