# compat.sh - a guide's own configuration of Hugging Face's Trainer (configs/whisper/guide.yaml) trains, and the run says
# what each of its settings became.
. "${0%/*}/lib.sh"
make_data
# tiny OUT CONFIG [key=value ...]: with less of everything, on the tones.
tiny() {
  tiny_out=$1
  shift
  limited "$graphrun" "$@" "data.manifest=$scratch/data/tones.jsonl" "output.dir=$scratch/$tiny_out" \
    data.vocab="$source/configs/whisper/letters.txt" data.speech.sample_rate=8000 data.speech.text.case=lower \
    'data.speech.text.prefix=["<s>"]' 'data.speech.text.suffix=["</s>"]' data.speech.features.seconds=0.8 \
    data.speech.features.hop=80 model.params.audio_context=40 model.params.text_context=16 model.params.dim=32 \
    model.params.layers=1 model.params.heads=2 distributed.backend=loopback distributed.threads=1 logging.progress=false \
    training.final_train_eval=false
}
guide="$source/configs/whisper/guide.yaml"
shorter="compat.huggingface.generation_max_length=12 compat.huggingface.warmup_steps=1 compat.huggingface.label_smoothing_factor=0.1"

says() { check "$1" grep -Fqx "$2" "$log"; }

# shellcheck disable=SC2086
tiny run "$guide" $shorter compat.huggingface.max_steps=2 distributed.ranks=2
check "the guide's configuration trains" test "$code" = 0
check "... two steps" test "$(steps_of run)" = 2
check "... of 2 ranks x 4 micro-steps x 4" grep -Eq 'global batch 32 = 2 ranks x 4 micro-steps x 4' "$log"
says "the batch" 'compat: per_device_train_batch_size 4 -> training.batch_size 16, training.batch_is per_rank'
says "the schedule" 'compat: lr_scheduler_type cosine -> hooks hooks/transformers.lua, hooks_params.schedule cosine'
says "the length, without the symbols before" 'compat: generation_max_length 12 -> generation.max_tokens 11'
says "the strategy" 'compat: fsdp full_shard auto_wrap -> distributed.strategy fsdp, distributed.fsdp.sharding_strategy full_shard'
says "what has no effect" 'compat: num_train_epochs 50 -> nothing: max_steps overrides it'
says "what is left out" 'compat: what it leaves out, as in Transformers: training.optimizer adamw'
check "a line for each setting, and one for the others" test "$(grep -c '^compat: ' "$log")" = \
  $(($(grep -cE '^ *(fsdp_)?[a-z_0-9]+: ' "$source/configs/whisper/training_arguments.yaml") + 2))
check "the first step has the rate 0, as there, and the second all of it" test \
  "$(sed -n 's/.*"lr": \([^,]*\),.*/\1/p' run/metrics.jsonl | tr '\n' ' ')" = "0.0 5e-05 "
check "evaluation writes, and its words decide" grep -Eq '"best_metric": "wer"' run/training_results.json
check "... the best and two others are kept" test "$(ls -d run/checkpoints/step-* | wc -l)" -le 3
check "its run is evaluated" "$graphrun" eval run distributed.ranks=1
# The same, by this program's own keys.
cat >own.yaml <<'END'
defaults: [common, _self_]
model: {params: {smoothing: 0.1}}
training:
  {batch_size: 16, batch_is: per_rank, accumulate: 4, precision: fp16, optimizer: adamw, lr: 5e-5, weight_decay: 0.01,
   decay_biases_and_norms: false, grad_clip: 1.0, seed: 42, max_steps: 2, max_epochs: 1000000000, log_every: 25,
   text_metrics: {wer: {normalise: basic}}}
distributed:
  strategy: fsdp
  fsdp: {wrap: ["encoder.layers.*", "decoder.layers.*"], backward_prefetch: backward_pre, state_dict_type: full}
hooks: [hooks/transformers.lua, hooks/early_stop.lua]
hooks_params: {schedule: cosine, warmup_steps: 1, metric: wer, patience: 3}
checkpoint: {keep_last: 2, keep_best: 1, metric: wer, mode: min}
generation: {max_tokens: 11}
END
(cd "$source" && tiny own "$scratch/own.yaml" --config-dir "$source/configs/whisper" distributed.ranks=2)
check "the same by this program's own keys" same_metrics run own
check "... with the same checkpoints" same_tensors run/checkpoints own/checkpoints
limited "$graphrun" config "$guide" data.manifest=data/tones.jsonl --explain training.lr
check "where a value comes from" grep -Eq 'training_arguments.yaml:9:16' "$log"

# ---- What else the guide asks for
# shellcheck disable=SC2086
tiny stops "$guide" $shorter compat.huggingface.num_train_epochs=9 distributed.ranks=2 hooks_params.patience=2
check "an early stop by the word error rate" grep -q '"ended": "stopped: wer has not improved on' stops/training_results.json
# shellcheck disable=SC2086
tiny masked "$guide" $shorter compat.huggingface.max_steps=2 distributed.ranks=2 data.speech.augment.freq_masks=2 \
  data.speech.augment.freq_width=10 data.speech.augment.time_masks=2 data.speech.augment.time_width=10
check "masks of SpecAugment change what is learned" other_metrics run masked
for name in gpu_count metrics total_training_time date configuration epoch_times time_in_steps time_for_data; do
  check "training_results.json has $name" grep -Eq "^ \"$name\": [^n]" run/training_results.json
done
check "... a time for each epoch" grep -Eq '^ "epoch_times": \[[0-9.e-]+, [0-9.e-]+\]' run/training_results.json
# shellcheck disable=SC2086
tiny ranks "$guide" $shorter compat.huggingface.max_steps=2 distributed.ranks=2 logging.ranks=all
check "lines of every rank, with its number" sh -c 'grep -q "^\[rank 0\]" "$1" && grep -q "^\[rank 1\]" "$1"' sh "$log"

refused() { # NAME PATTERN key=value ...
  name=$1 pattern=$2
  shift 2
  # shellcheck disable=SC2086
  tiny none plan "$guide" $shorter "$@"
  printf '%s\n' "$pattern" >patterns
  verdict "$name" 65
}
refused "what cannot be honoured" 'argument [0-9]+:1:48: .*use_orig_params cannot be honoured: weights keep' \
  compat.huggingface.fsdp_config.use_orig_params=false
refused "a key with another value" 'training_arguments.yaml:9:16: .*learning_rate asks for training.lr=5e-05, but it is 0.001' training.lr=1e-3
refused "a class that the model does not have" "'T5Block' matches no block, part or weight" distributed.ranks=2 \
  'compat.huggingface.fsdp_config.fsdp_transformer_layer_cls_to_wrap=[T5Block]'
refused "a setting that is none" "there is no key 'compat.huggingface.learning_rates'" compat.huggingface.learning_rates=1
counts
