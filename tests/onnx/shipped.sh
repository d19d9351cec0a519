#!/bin/sh
# Trains each configuration of configs/ for two steps on the data that its `prepare` makes, exports it, and compares
# what onnxruntime computes of a batch with graphrun: minutes, and data of other packages, so no test of ctest.
#   tests/onnx/shipped.sh FOLDER [NAME...]     FOLDER has data/ and gets out/; GR_ONNX_PYTHON names a Python with
#                                              numpy, onnx and onnxruntime
# Of data, table-data needs Debian's python3-sklearn (or --from), watch.npy seglearn; docs/examples.md has the commands.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" && cd "$1"
shift
chosen=" $* "
python=${GR_ONNX_PYTHON:-python3}
graphrun=$source/build/graphrun

# one NAME CONFIG PROGRAM key=value ...
one() {
  name=$1 config=$source/configs/$2 program=$3
  shift 3
  [ "$chosen" = "  " ] || case $chosen in *" $name "*) ;; *) return 0 ;; esac
  rm -rf "out/$name" && mkdir -p "out/$name"
  "$graphrun" "$config" output.dir="out/$name/run" distributed.ranks=1 training.eval_every=0 "$@" >"out/$name/log" 2>&1 ||
    { echo "$name: does not train"; tail -5 "out/$name/log"; return 0; }
  "$graphrun" export "out/$name/run" "out/$name/model.onnx" training.batch_size=3 >"out/$name/exported"
  "$source/build/tests/onnx_reference" "out/$name/run" "out/$name" "$program" distributed.ranks=1 \
    training.precision=fp32 training.batch_size=3
  sed -n '2,$p' "out/$name/exported" | sed "s/^/$name/"
  "$python" "$source/tests/onnx/in_onnxruntime.py" 1e-5 "out/$name" | sed "s/^/$name  /"
  rm -rf "out/$name/run/checkpoints"
}
two() { one "$@" training.max_steps=2; }
ppo() { one "$@" training.max_epochs=1 model.params.envs=4 model.params.steps=4 model.params.minibatch=16; }

two digits digits.yaml eval
two table table.yaml eval
[ -f data/sequences.npz ] || "$python" -c '
import numpy
draw = numpy.random.default_rng(1).integers
numpy.savez("data/sequences.npz", x=draw(0, 20, (200, 24)).astype("i4"), y=draw(0, 3, 200).astype("i4"))'
two encoder encoder.yaml eval training.batch_size=4
two gpt gpt.yaml eval training.batch_size=4
two har_pretrain har/pretrain.yaml eval data.limit=256
two har_small har/small.yaml eval training.batch_size=4 model.init_from=null model.freeze=[] data.limit=256
two har_vit har/vit.yaml eval training.batch_size=2 data.limit=256
two har_dp har/dp.yaml eval training.batch_size=2 data.limit=256
two watch har/watch.yaml eval
two watch_plots har/watch_plots.yaml eval
two motions video/motions.yaml eval
two cnn3d video/cnn3d.yaml eval data.video.path=data/motions/list.csv data.video.frames=9 training.batch_size=2
two cnn3d_3m video/cnn3d_3m.yaml eval data.video.path=data/motions/list.csv data.video.frames=9 training.batch_size=2
two multi_gpu multi_gpu.yaml eval training.batch_size=4
two single_gpu single_gpu.yaml eval training.batch_size=4 device=cpu
two lmu_asr_full lmu_asr_full.yaml eval training.batch_size=2
ppo ppo_paper ppo/paper.yaml actor
ppo ppo_clstm ppo/clstm.yaml actor
ppo ppo_market ppo/market.yaml actor
