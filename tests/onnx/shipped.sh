#!/bin/sh
# Makes the table of docs/onnx.md: trains each configuration that is a run of its own, and a project of each kind of
# `graphrun new`, for a few steps, exports it, and prints a row of what onnx, onnxruntime and Netron say of the file
# (row.py). Minutes, and data and programs that are not in this repository, so no test of ctest.
#   tests/onnx/shipped.sh FOLDER [NAME...]     FOLDER keeps data/ and gets out/; NAME: of rows, as configs/gpt.yaml or
#                                              new-table; GR_ONNX_PYTHON: a Python with numpy, onnx, onnxruntime and,
#                                              for pictures, netron (and chromium on the PATH);
#                                              GR_BUILD: a build that is not build/
# Data of other packages must be in FOLDER before: data/digits.npz and data/wine.csv (tools/table-data), data/watch
# (tools/watch-data); recordings are those of asterisk-core-sounds-en and -en-wav.
mkdir -p "$1" || exit
folder=$(cd "$1" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
shift
chosen=" $* "
build=${GR_BUILD:-$root/build}
set -- "$build/graphrun" "$root" "$build/tests/make_tones"
. "$root/tests/e2e/lib.sh"
python=${GR_ONNX_PYTHON:-python3}
cd "$folder" || exit

make_all_data() {
  mkdir -p data
  [ -d data/har ] || "$source/tools/har-data"
  [ -d data/motions ] || "$source/tools/video-data"
  [ -d data/market ] || "$source/tools/market-data"
  [ -d data/market18 ] || "$source/tools/market-data" --tickers=18 data/market18
  [ -d data/market30 ] || "$source/tools/market-data" --tickers=30 data/market30
  [ -f data/speech.jsonl ] || "$graphrun" data import asterisk data/speech.jsonl
  [ -d data/tones ] || "$make_tones" data/tones
  [ -f data/vocab.txt ] || "$python" -c '
print("<|startoftranscript|>", "<|es|>", "<|transcribe|>", "<|notimestamps|>", "<|endoftext|>", "<space>", *"ABCDEF",
      *(f"word{i}" for i in range(12, 51864)), sep="\n")' >data/vocab.txt
  [ -f data/sequences.npz ] || "$python" -c '
import numpy
draw = numpy.random.default_rng(1).integers
numpy.savez("data/sequences.npz", x=draw(0, 20, (200, 512)).astype("i4"), y=draw(0, 6, 200).astype("i4"))'
} >"$folder/data.log" 2>&1

# Two steps, and few samples to evaluate after them; of reinforcement learning, one epoch of a small rollout.
few="training.max_steps=2 training.eval_every=0 data.limit=24 data.expect=null"
rollout="training.max_epochs=1 training.eval_every=0 model.params.envs=4 model.params.steps=4 model.params.minibatch=16"
letters="$few data.manifest=data/speech.jsonl generation.max_tokens=0 training.text_metrics=null checkpoint.metric=loss
  training.batch_size=4"
# The tones, by the vocabulary's size; SGD and no copy for checkpoints, as those of a large model have no room on a small
# machine.
tones="data.limit=8 data.expect=null data.manifest=data/tones/tones.jsonl data.vocab=data/vocab.txt"
words="$tones training.max_steps=2 training.eval_every=0 training.batch_size=1 training.batch_is=global training.optimizer=sgd
  checkpoint.async=false"
guided="$tones compat.huggingface.max_steps=2 compat.huggingface.warmup_steps=1 compat.huggingface.generation_max_length=8
  compat.huggingface.per_device_train_batch_size=1 compat.huggingface.per_device_eval_batch_size=1
  compat.huggingface.gradient_accumulation_steps=1 compat.huggingface.fp16=false"
# arguments CONFIG: what it needs beside few steps: smaller batches, and no run that is not there.
arguments() {
  case $1 in
  configs/base_config.yaml | configs/single_gpu.yaml | configs/multi_gpu.yaml | configs/gpt.yaml)
    echo "$few training.batch_size=4 device=cpu" ;;
  configs/lmu_asr_full.yaml) echo "$few training.batch_size=2" ;;
  configs/encoder.yaml) echo "$few training.batch_size=1 training.precision=fp32" ;;
  configs/har/small.yaml) echo "$few training.batch_size=4 model.init_from=null model.freeze=[]" ;;
  configs/har/vit.yaml | configs/har/dp.yaml) echo "$few training.batch_size=1 training.batch_is=global training.precision=fp32" ;;
  configs/video/cnn3d*) echo "$few data.video.path=data/motions/list.csv data.video.frames=9 training.batch_size=2" ;;
  configs/ppo/*) echo "$rollout" ;;
  configs/whisper/nano.yaml) echo "$letters" ;;
  configs/whisper/english.yaml) echo "$letters model.init_from=null" ;;
  configs/whisper/student.yaml) echo "$letters ~model.teacher" ;;
  configs/whisper/guide.yaml) echo "$guided" ;;
  configs/whisper/*) echo "$words" ;;
  *) echo "$few" ;;
  esac
}
# program CONFIG: the one that is exported.
program() {
  case $1 in
  configs/ppo/*) echo actor ;;
  configs/whisper/*) echo step ;;
  new-rl) echo policy ;;
  new-pairs | new-captions) echo step ;;
  *) echo eval ;;
  esac
}

# scored NAME OUT: of a model that predicts symbols alone, one that predicts by what they are chosen, too.
scored() {
  case $1 in
  configs/base_config.yaml | configs/single_gpu.yaml | configs/multi_gpu.yaml | configs/lmu_asr_full.yaml) scored_by=logits of=graphs/lmu_asr.yaml ;;
  configs/gpt.yaml) scored_by=last of=graphs/gpt.yaml ;;
  new-speech) scored_by=logits of=cli/new/speech/graph.yaml ;;
  new-text) scored_by=last of=cli/new/text/graph.yaml ;;
  *) return ;;
  esac
  sed "s/^predict: {/&$scored_by: $scored_by, /" "$source/$of" >"$2/graph.yaml"
  echo "model.graph=$2/graph.yaml"
}

# row NAME CONFIG key=value ...: trains, exports, computes batches of two and of three samples, and prints the row.
row() {
  name=$1 config=$2 out=out/$1
  shift 2
  [ "$chosen" = "  " ] || case $chosen in *" $name "*) ;; *) return ;; esac
  rm -rf "$out" && mkdir -p "$out/2" "$out/3"
  at=$(program "$name")
  why=
  # shellcheck disable=SC2086,SC2046
  {
    "$graphrun" "$config" output.dir="$out/run" distributed.ranks=1 logging.progress=false \
      training.final_train_eval=false $(scored "$name" "$out") "$@" >"$out/trained" 2>&1 || why="is not trained"
    [ -n "$why" ] || "$graphrun" export "$out/run" "$out/model.onnx" >"$out/exported" 2>&1 || why="is not exported"
    for rows in 2 3; do
      one="distributed.ranks=1 training.precision=fp32"
      [ "$at" != eval ] || one="$one training.batch_size=$rows" # others have inputs of their own
      [ -n "$why" ] || "$build/tests/onnx_reference" "$out/run" "$out/$rows" "$at" $rows $one >"$out/computed" 2>&1 || why="is not computed"
    done
  }
  rm -rf "$out/run/checkpoints"
  "$python" "$root/tests/onnx/row.py" "$name" "$out" "$why"
}

make_all_data
echo '| model | nodes | checker | onnxruntime, batch of 2 | batch of 3 | Netron |'
echo '|---|---|---|---|---|---|'
for config in $(shipped); do
  # shellcheck disable=SC2046
  row "$config" "$source/$config" $(arguments "$config")
done
for kind in $(project_kinds); do
  [ -d "new-$kind" ] || "$graphrun" new "new-$kind" --data="$kind" >/dev/null
  row "new-$kind" "new-$kind/config.yaml" training.max_epochs=1
done
counted=1
