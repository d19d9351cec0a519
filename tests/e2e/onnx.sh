# Export to ONNX: of every kind of project, each op's cases, and what is refused. Where a Python has onnx and
# onnxruntime (GR_ONNX_PYTHON names it), what the files compute is compared with what graphrun computes.
. "$(dirname "$0")/lib.sh"
python=${GR_ONNX_PYTHON:-python3}
tools=$(dirname "$graphrun")/tests

if ! "$graphrun" --version | grep -q 'built with .*protobuf-c'; then
  expect "without protobuf-c the error says what to install" 69 "built without protobuf-c" "libprotobuf-c-dev" -- \
    "$graphrun" export run model.onnx
  skip "export to ONNX" "no protobuf-c in this build"
  counts
  exit
fi
live=no
if "$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then live=yes; fi

# Every kind of project
for kind in table regression series image video speech texts text rl; do
  program=eval
  [ $kind != rl ] || program=policy
  "$graphrun" new $kind --data=$kind >/dev/null 2>&1
  expect "$kind trains" 0 -- "$graphrun" $kind/config.yaml output.dir=$kind/run distributed.ranks=1 training.max_epochs=1
  mkdir models.$kind
  expect "... and is exported" 0 "models.$kind/model.onnx: [0-9]+ nodes" "outputs " -- \
    "$graphrun" export $kind/run models.$kind/model.onnx
  mkdir beside.$kind
  expect "... and with its weights beside it" 0 "weights  beside.$kind/model.onnx.data" -- \
    "$graphrun" export $kind/run beside.$kind/model.onnx --external-data
  [ $live = no ] || check "... beside what it predicts" "$tools/onnx_reference" $kind/run models.$kind $program 3 \
    distributed.ranks=1 training.precision=fp32
  cp models.$kind/*.npy beside.$kind 2>/dev/null
done
expect "the batch is of any size, and so is a series" 0 'inputs   x f32\[n,t,[0-9]+\]' -- "$graphrun" export series/run a.onnx
"$graphrun" export series/run b.onnx >/dev/null
made="x +is made before, which the file does not do:"
expect "columns that are normalized before are named" 0 "$made normalized: \(x - mean\)" -- "$graphrun" export table/run columns.onnx
expect "... and how images are read" 0 "$made bytes.*resize\(\(24, 24\), Image.BILINEAR\)" -- "$graphrun" export image/run columns.onnx
expect "... and features of recordings" 0 "$made features of recordings, \[frames, 16\]" -- "$graphrun" export speech/run columns.onnx
expect "... and bytes of texts" 0 "$made the first [0-9]+ bytes in UTF-8 of a text" -- "$graphrun" export texts/run columns.onnx
expect "... and of text" 0 "$made the last [0-9]+ bytes in UTF-8 of a text" -- "$graphrun" export text/run columns.onnx
expect "... and frames of videos" 0 "$made bytes 0 to 255 of [0-9]+ frames" -- "$graphrun" export video/run columns.onnx
check "... also in the file" grep -q "graphrun.preprocessing" columns.onnx
expect "a policy's x is made by no data" 0 "inputs   x f32" -- "$graphrun" export rl/run columns.onnx --program=policy
check "... no line says so" sh -c '! grep -q "is made before" "$1"' sh "$log"
check "the same bytes again" cmp a.onnx b.onnx
expect "a policy is exported by its name, too" 0 "inputs   x f32\[n,4\]" "action i32\[n\]" -- \
  "$graphrun" export rl/run policy.onnx --program=policy

# docs/onnx.md has what tests/onnx/shipped.sh prints of each configuration and kind.
for model in $(shipped) $(project_kinds | sed s/^/new-/); do
  check "docs/onnx.md has a row of $model" grep -q "^| $model | " "$source/docs/onnx.md"
done

# One batch differs in its size from what the model was traced with; in onnxruntime all are as in graphrun.
if [ $live = yes ]; then
  check "onnxruntime computes the same, within 1e-5" "$python" "$source/tests/onnx/in_onnxruntime.py" 1e-5 models.*
  check "... with weights in another file, too" "$python" "$source/tests/onnx/in_onnxruntime.py" 1e-5 beside.*
  mkdir ops
  check "each case of each op is written" "$tools/onnx_op_cases" ops
  check "... and computes what the reference kernel does" "$python" "$source/tests/onnx/in_onnxruntime.py" 1e-5 ops/*
  tail -3 "$scratch/said"
else
  skip "what the files compute" "no onnx, onnxruntime and numpy in $python (GR_ONNX_PYTHON names another)"
fi

# What is refused
expect "another ending" 2 "must be .safetensors, .npz or .onnx" -- "$graphrun" export table/run model.pt
expect "a folder of checkpoints has no model" 65 "is not the folder of a run" -- \
  "$graphrun" export table/run/checkpoints model.onnx
expect "the optimizer's states" 2 "a file of ONNX has no such states" -- "$graphrun" export table/run m.onnx --optimizer
expect "a program of weights alone" 2 "only a FILE.onnx has a program" -- \
  "$graphrun" export table/run m.npz --program=eval
expect "a program that is not there" 2 "no program 'policyy'" "did you mean 'policy'" -- \
  "$graphrun" export rl/run m.onnx --program=policyy
expect "a program without inputs of its own" 2 "'rollout' cannot be exported" -- \
  "$graphrun" export rl/run m.onnx --program=rollout
expect "a run cannot have a program that others give inputs" 65 "'policy' takes inputs of its own" -- \
  "$graphrun" rl/config.yaml output.dir=no 'loop=[rollout, policy]'
sed 's/^predict:.*/predict: {noise: noise}/; s/^nodes:/nodes:\n  - noise: {sample_normal: x}/' table/graph.yaml >table/noise.yaml
expect "random numbers train" 0 -- "$graphrun" table/config.yaml model.graph=table/noise.yaml output.dir=noise \
  distributed.ranks=1 training.max_epochs=1
expect "... and are not exported: the op, its line, and why" 65 "model.yaml:[0-9]+:[0-9]+" \
  "'sample_normal' cannot be written to ONNX: its random numbers" -- "$graphrun" export noise m.onnx
check "a file that is refused is not there" test ! -e m.onnx
counts
