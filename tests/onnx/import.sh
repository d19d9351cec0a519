# import.sh - files of ONNX as models: models that PyTorch has exported (tests/golden/onnx_models.py) have its loss and
# its gradients here, whole and sharded, and what is wrong with a file is said.
#
#   sh import.sh GRAPHRUN SOURCE GRADIENTS
gradients=$3
. "$2/tests/e2e/lib.sh" "$1" "$2" none
golden=$source/tests/golden/onnx
cat >"$scratch/import.yaml" <<'END'
model: {loss: {cross_entropy: [logits, y]}, metrics: {accuracy: {accuracy: [logits, y]}}}
data: {source: table, validation_fraction: 0, table: {label: y, normalize: false}}
training: {batch_size: 6, max_steps: 1, optimizer: sgd, lr: 1, optimizer_params: {momentum: 0}}
END
if "$graphrun" import "$golden/mlp.onnx" 2>&1 | grep -q 'without protobuf-c'; then
  skip import "this graphrun was built without protobuf-c"
  counts
fi

# step OUT MODEL DATA [key=value ...]: one step.
step() {
  step_out=$1 step_model=$2 step_data=$3
  shift 3
  dtype=f32
  case $step_data in
    transformer | causal | bert | roberta | gpt2 | llama | qwen2 | gemma2 | distilbert | t5) dtype=i32 ;;
  esac
  limited "$graphrun" "$scratch/import.yaml" "model.graph=$step_model" "data.table.path=$golden/${step_data}_data.npz" \
    "data.table.dtype=$dtype" "output.dir=$scratch/$step_out" "$@"
}
# same NAME OUT BEFORE DATA: the step was PyTorch's.
same() {
  loss=$(sed -n '1s/.*"loss": \([^,]*\),.*/\1/p' "$scratch/$2/metrics.jsonl")
  limited "$gradients" "$3" "$scratch/$2/checkpoints/step-00000001" "$golden/$4_grads.npz" "${loss:-none}"
  if [ "$code" = 0 ]; then ok "$1"; else fail "$1" "code $code"; fi
}

# By the older exporter of PyTorch, and by the newer one, where there is a file of it.
for file in "$golden"/*.onnx; do
  model=$(basename "$file" .onnx)
  data=${model%_dynamo}
  expect "$model: imported" 0 'weights, for model.init_from' -- \
    "$graphrun" import "$golden/$model.onnx" -o "$scratch/$model.yaml"
  step "$model" "$golden/$model.onnx" "$data" distributed.ranks=1
  same "$model: PyTorch's loss and gradients" "$model" "$scratch/$model.safetensors" "$data"
  step "$model-text" "$scratch/$model.yaml" "$data" distributed.ranks=1 "model.init_from=$scratch/$model.safetensors"
  same "$model: and as text with its weights" "$model-text" "$scratch/$model.safetensors" "$data"
done
# Folded, the nodes that a model repeats are one repeat: the same model, bit for bit.
losses() { sed 's/.*"loss": \([^,]*\),.*/\1/' "$scratch/$1/metrics.jsonl"; }
for model in transformer causal_dynamo vit convnext; do
  data=${model%_dynamo}
  limited "$graphrun" import --flat "$golden/$model.onnx" -o "$scratch/$model.flat.yaml"
  for text in $model $model.flat; do
    step "bits-$text" "$scratch/$text.yaml" "$data" distributed.ranks=1 "model.init_from=$scratch/$text.safetensors" \
      training.max_steps=3 training.lr=0.1
  done
  if grep -q 'repeat:' "$scratch/$model.yaml" && ! grep -q 'repeat:' "$scratch/$model.flat.yaml" &&
    [ "$(losses "bits-$model")" = "$(losses "bits-$model.flat")" ] && [ "$(losses "bits-$model" | wc -l)" = 3 ] &&
    cmp -s "$scratch/$model.safetensors" "$scratch/$model.flat.safetensors"; then
    ok "$model: what it repeats is folded, and trains the same"
  else
    fail "$model: what it repeats is folded, and trains the same" "$(losses "bits-$model")"
  fi
done
# Linear layers that follow each other through pointwise ops are split by tp.
for strategy in ddp fsdp tp fsdp_tp; do
  mesh=null
  [ $strategy = fsdp_tp ] && mesh='{dp:1,tp:2}'
  for model in resnet vit transformer_dynamo lstm gru unet mobile; do
    step "$model-$strategy" "$golden/$model.onnx" "${model%_dynamo}" distributed.ranks=2 "distributed.strategy=$strategy" \
      "distributed.mesh=$mesh"
    same "$model: $strategy on two ranks" "$model-$strategy" "$scratch/$model.safetensors" "${model%_dynamo}"
  done
done

# What nodes may say that PyTorch's exporters do not write: y is what onnxruntime makes of x, so that the loss is 0.
sed 's/cross_entropy/mse/; s/, metrics: .*/}/' "$scratch/import.yaml" >"$scratch/forms.yaml"
for file in "$golden"/forms/*.onnx; do
  form=$(basename "$file" .onnx)
  limited "$graphrun" "$scratch/forms.yaml" "model.graph=$file" "data.table.path=$golden/forms/$form.npz" \
    "output.dir=$scratch/form-$form" distributed.ranks=1
  check "$form: as onnxruntime computes it" awk -F'"loss": ' '!(NR == 1 && $2 + 0 < 1e-12 && $2 != "") { exit 1 }' \
    "$scratch/form-$form/metrics.jsonl"
done
# What is read is exported again: a model of ONNX that computes the same in onnxruntime.
python=${GR_ONNX_PYTHON:-python3}
if "$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
  for file in "$golden"/forms/*.onnx "$golden"/einsums*.onnx "$golden"/experts*.onnx "$golden"/states*.onnx \
    "$golden"/indices*.onnx "$golden"/vectors*.onnx; do
    name=$(basename "$file" .onnx) values=$golden/forms/$(basename "$file" .onnx).npz config=forms
    [ -f "$values" ] && [ "$file" = "$golden/forms/$name.onnx" ] || values=$golden/${name%_dynamo}_data.npz config=import
    dir=$scratch/back/$config-$name
    mkdir -p "$dir"
    limited "$graphrun" "$scratch/$config.yaml" "model.graph=$file" "data.table.path=$values" "output.dir=$dir/run" \
      training.lr=0 distributed.ranks=1
    limited "$graphrun" export "$dir/run" "$dir/model.onnx"
    check "$config-$name: is exported" "$python" "$source/tests/onnx/there_and_back.py" "$file" "$values" "$dir"
  done
  check 'and computes the same' "$python" "$source/tests/onnx/in_onnxruntime.py" 1e-5 "$scratch"/back/*
  tail -3 "$scratch/said"
else
  skip 'what is exported again' "no onnx, onnxruntime and numpy in $python (GR_ONNX_PYTHON names another)"
fi
# What a file says to be no parameter does not train.
for part in features mask; do
  check "buffers: $part" grep -q "name: \"$part\", train: false" "$scratch/buffers_dynamo.yaml"
done

# The run keeps the model as text, with its loss, and needs the file no more.
cp "$golden/mlp.onnx" "$scratch/gone.onnx"
step kept "$scratch/gone.onnx" mlp distributed.ranks=1
rm "$scratch/gone.onnx"
expect 'a run of a file that is gone is evaluated' 0 'training set: loss' -- "$graphrun" eval "$scratch/kept" --split=train
expect 'and exported' 0 'outputs  logits' -- "$graphrun" export "$scratch/kept" "$scratch/back.onnx"
expect 'what was exported is read' 0 'logits: .linear' -- "$graphrun" import "$scratch/back.onnx"

# A Sum of two values is an Add of them.
LC_ALL=C sed 's/\x22\x03Add/\x22\x03Sum/g' "$golden/resnet.onnx" >"$scratch/sum.onnx"
check 'a file with Sum' sh -c "! cmp -s '$golden/resnet.onnx' '$scratch/sum.onnx'"
for model in "$golden/resnet" "$scratch/sum"; do
  limited "$graphrun" import "$model.onnx" -o "$scratch/$(basename "$model")-as.yaml"
done
check 'a Sum is read as an Add' cmp "$scratch/resnet-as.yaml" "$scratch/sum-as.yaml"

# Sizes that the exporters left open are letters, also of a model with fewer positions than the sizes tried first; what
# depends on them, as a mask of the future, is computed. Other lengths than the export's train.
printf 'y,a,b,c,d\n0,5,6,7,8\n1,6,7,8,9\n2,8,7,6,5\n0,9,9,9,9\n1,5,5,5,5\n2,5,9,5,9\n' >"$scratch/four.csv"
for model in distilbert distilbert_dynamo qwen2_dynamo t5; do
  check "$model: its length is open" grep -q 'x: {shape: .n, time\]' "$scratch/$model.yaml"
  expect "$model: trains with another length" 0 'loss' -- "$graphrun" "$scratch/import.yaml" \
    "model.graph=$golden/$model.onnx" "data.table.path=$scratch/four.csv" data.table.dtype=i32 \
    "output.dir=$scratch/four-$model" distributed.ranks=1
done
# Of an If the branch that is taken with those sizes is read; other sizes are refused.
expect 'sizes with another branch' 65 'another branch of the node If_17 .If. is for such sizes' \
  '.3 < time. is not true: time is 3' -- "$graphrun" plan "$scratch/import.yaml" "model.graph=$golden/branches.onnx" \
  "data.table.path=$golden/random/short.npz"
expect 'a branch that the data decide' 65 "node '[^']*' .If. has a condition that the data decide" 'torch.where' -- \
  "$graphrun" import "$golden/random/data_branch.onnx"
# Paths that are left out at random are dropouts of a factor, and noise is drawn.
for model in depth depth_dynamo; do
  limited "$graphrun" import "$golden/random/$model.onnx" -o "$scratch/$model.yaml"
  for part in 'dropout: .*, p: 0.25' 'dropout: .*, p: 0.5' 'sample_normal: '; do
    check "$model: $part" grep -q "$part" "$scratch/$model.yaml"
  done
  check "$model: no floor is left" sh -c "! grep -q 'cast\|sample_uniform' '$scratch/$model.yaml'"
done

# Weights that the exporter has merged, as they were equal, are said; those of a model that has trained are not.
expect 'equal weights that are written once' 0 \
  "warning: .*fresh.onnx': the weight '[^']*' is all one number, and 2 nodes read it, so that they train one" -- \
  "$graphrun" import "$golden/merged/fresh.onnx"
limited "$graphrun" import "$golden/vit.onnx" -o "$scratch/quiet.yaml"
check 'others are no warning' sh -c "! grep -q warning '$log'"

# Inputs by other names, and what is wrong.
step renamed "$golden/mlp.onnx" mlp distributed.ranks=1 'model.inputs={x: samples}'
: >"$scratch/patterns"
echo "the data gives no 'samples'" >"$scratch/patterns"
verdict 'an input that the data have not' 65
step unknown "$golden/mlp.onnx" mlp distributed.ranks=1 'model.inputs={z: x}'
echo "the model's file has no input 'z'" >"$scratch/patterns"
verdict 'an input that the file has not' 65
sed 's/loss: .*metrics/metrics/' "$scratch/import.yaml" >"$scratch/no_loss.yaml"
expect 'no loss is stated' 65 'but not its loss' 'model.loss=' -- \
  "$graphrun" "$scratch/no_loss.yaml" "model.graph=$golden/mlp.onnx" "data.table.path=$golden/mlp_data.npz"
# Weights beside the model, as onnx.save writes them, and as export does: the same model.
mkdir outside && cp "$golden/external/"* outside
step beside outside/mlp.onnx mlp distributed.ranks=1
same 'weights in another file' beside "$scratch/mlp_dynamo.safetensors" mlp
expect 'a run is exported with them beside' 0 'weights  outside/back.onnx.data' -- \
  "$graphrun" export beside outside/back.onnx --external-data
expect '... in a file of ONNX alone' 2 'only a FILE.onnx has such' -- \
  "$graphrun" export beside outside/back.npz --external-data
limited "$graphrun" export beside inside.onnx
for kind in outside/back inside; do limited "$graphrun" import $kind.onnx -o $kind.yaml; done
check '... and read again' cmp outside/back.yaml inside.yaml
check '... bit for bit' cmp outside/back.safetensors inside.safetensors
check 'weights in another folder are found' sh -c "cd / && '$graphrun' import '$scratch/outside/mlp.onnx'"
# places NAME WHY SED: where body.weight is, or all are, changed by text of the same length.
places() {
  LC_ALL=C sed "$3" "$golden/external/mlp.onnx" >outside/moved.onnx
  expect "$1" 65 "$2" "in 'outside/moved.onnx', at the tensor '[a-z.]+'" 'copy the files' -- \
    "$graphrun" import outside/moved.onnx
}
cp outside/mlp.data secretly && mkdir outside/in && cp outside/mlp.data outside/in/w
ln -s ../secretly outside/a.linked && ln -s in outside/l && mkfifo outside/fifo.one
head -c 700 outside/mlp.data >outside/cut.data
places 'a path to the folder above' "cannot read '../mlp.d' in 'outside/': it is not below" 's|mlp.data|../mlp.d|'
places 'a path by a folder to the one above' "cannot read 'in/../..' .* it is not below" 's|mlp.data|in/../..|'
places 'a path from the root' "cannot read '/dev/mem' .* it is not below" 's|mlp.data|/dev/mem|'
places 'a link' "cannot read 'a.linked' .* it is a symbolic link" 's|mlp.data|a.linked|'
places 'a link to a folder' "cannot read 'l/.///.w' .* it is a symbolic link" 's|mlp.data|l/.///.w|'
places 'a FIFO' "cannot read 'fifo.one' .* it is not a regular file" 's|mlp.data|fifo.one|'
places 'a folder' "cannot read 'in/././.' .* it is not a regular file" 's|mlp.data|in/././.|'
places 'no file' "cannot read 'mlp.none' .* No such file" 's|mlp.data|mlp.none|'
places 'a file that is cut' "'cut.data' has 700 bytes, and the tensor there 192 from byte 512 on" 's|mlp.data|cut.data|'
places 'a length that the shape has not' "has 321 bytes there, and its shape 320" 's|length\x12\x03320|length\x12\x03321|'
places 'an offset that is no number' "its offset is '-', which is not a number" 's|offset\x12\x010|offset\x12\x01-|'
places 'a tensor without a place' 'it has no location' 's|location|locatiom|'
head -c 900 "$golden/mlp.onnx" >"$scratch/cut.onnx"
expect 'a file that is cut' 65 'is no file of ONNX, or damaged' -- "$graphrun" import "$scratch/cut.onnx"
echo text >"$scratch/text.onnx"
expect 'a file that is text' 65 'is no file of ONNX, or damaged|has no graph' -- "$graphrun" import "$scratch/text.onnx"
sed "s/LayerNormalization/LayerNormalizatiox/g" "$golden/mlp.onnx" >"$scratch/other.onnx"
expect 'a node that is not known' 65 "node '/norm/LayerNormalizatio.' is a LayerNormalizatiox, which is not read" -- \
  "$graphrun" import "$scratch/other.onnx"
cp "$source/tests/fuzz/corpus/onnx/split_bounds" "$scratch/split.onnx"
expect 'a part that an axis does not have' 65 "node 'split' .Split. has a part of 9223372036854775807 of an axis of 8" -- \
  "$graphrun" import "$scratch/split.onnx"
expect 'a loss beside one' 65 'states its loss itself' -- "$graphrun" "$scratch/import.yaml" \
  "model.graph=$source/graphs/mlp.yaml" "data.table.path=$golden/mlp_data.npz"
counts
