# sharding.sh - zero1, zero2 and fsdp on numbers of ranks that divide nothing: the losses of one rank;
# checkpoints that any number of ranks reads; units of FSDP, by both names of every key.
. "${0%/*}/lib.sh"
make_data

threads="distributed.backend=loopback training.max_steps=20"
# shellcheck disable=SC2086
ran "one rank" one $threads distributed.ranks=1
for strategy in zero1 zero2 fsdp; do
  for n in 2 3 5 7; do
    # shellcheck disable=SC2086
    ran "$strategy on $n ranks" $strategy$n $threads distributed.ranks=$n distributed.strategy=$strategy
    check "... the first loss is one rank's to 1e-6" near "$(loss one 0)" "$(loss $strategy$n 0)" 1e-6
    check "... the 20th loss is one rank's to 1e-3" near "$(loss one 19)" "$(loss $strategy$n 19)" 1e-3
  done
done
# shellcheck disable=SC2086
ran "fsdp, micro-steps, on 3 ranks" micro $threads distributed.ranks=3 distributed.strategy=fsdp training.accumulate=2 \
  model.params.dropout=0
# shellcheck disable=SC2086
ran "micro-steps on one rank" micro1 $threads distributed.ranks=1 training.accumulate=2 model.params.dropout=0
check "... the 20th loss is one rank's to 1e-3" near "$(loss micro1 19)" "$(loss micro 19)" 1e-3

# A checkpoint of 3 ranks, by way of 5, 2 and 7, comes to the same bytes as directly: read, and written
# again without a step. With state_dict_type=full these are one file, without padding.
# passed_on FROM TO RANKS TYPE
passed_on() {
  # shellcheck disable=SC2086
  tones "$2" $threads distributed.ranks=$3 distributed.strategy=fsdp distributed.fsdp.state_dict_type=$4 \
    checkpoint.resume="$scratch/$1/checkpoints/step-00000020"
  check "a checkpoint of $1 goes to $3 ranks as $2" test "$code" = 0
}
passed_on fsdp3 direct 1 full
passed_on fsdp3 by5 5 sharded_state_dict
passed_on by5 by2 2 local
passed_on by2 by7 7 sharded
passed_on by7 around 1 full_state_dict
passed_on by7 full3 3 full
weights() { cat "$1"/checkpoints/step-00000020/*.zst; }
weights direct >direct.zst
for run in around full3; do
  weights $run >$run.zst
  check "$run: the bytes of the direct way" cmp direct.zst $run.zst
done
check "no part is empty, though 7 ranks share what has fewer rows" \
  sh -c "! grep -Eq '\"size\": *\[([0-9, ]*, )?0[],]' by7/checkpoints/*/manifest.json"
check "5 ranks write 5 parts" test "$(find by5 -name '*.zst' | wc -l)" = 5
check "... which verify" "$graphrun" ckpt verify by5/checkpoints
shapes() { "$graphrun" ckpt show "$1/checkpoints" | grep 'ctc_projection.bias '; }
check "shapes are those of the model" test -n "$(shapes direct)" -a "$(shapes direct)" = "$(shapes by7)"
tones weights distributed.ranks=5 distributed.backend=loopback distributed.strategy=fsdp training.max_steps=1 \
  model.init_from="$scratch/by7/checkpoints"
check "5 ranks begin with the weights of 7" test "$code" = 0
tones weights1 distributed.ranks=1 training.max_steps=1 model.init_from="$scratch/by7/checkpoints"
check "... as one does" near "$(loss weights 0)" "$(loss weights1 0)" 1e-6

# ---- Units
plan() {
  limited "$graphrun" plan "$source/tests/e2e/tones.yaml" "data.manifest=$scratch/data/tones.jsonl" \
    "model.graph=$source/graphs/lmu_asr.yaml" distributed.ranks=3 model.params.layers=3 "$@"
}
hash_of() {
  plan "$@"
  sed -n 's/^plan  *\([0-9a-f]*\)$/\1/p' "$log"
}
plan distributed.strategy=fsdp
check "plan names units" grep -Eq "all_gather .* values of layers.1, joined" "$log"
check "... and says what is padded" grep -q "in uneven slices, with .* of padding on each rank" "$log"
same="$(hash_of distributed.strategy=fsdp distributed.fsdp.wrap=attend)"
for way in distributed.fsdp.transformer_layer_cls_to_wrap=attend 'distributed.fsdp.wrap=[attend]' \
  training.fsdp_config.fsdp_transformer_layer_cls_to_wrap=attend 'distributed.fsdp.wrap=layers.*'; do
  check "$way is wrap=attend" test "$(hash_of distributed.strategy=fsdp "$way")" = "$same"
done
check "smaller units are another plan" test "$(hash_of distributed.strategy=fsdp distributed.fsdp.wrap=lmu)" != "$same"
for way in 'wrap=atend/did you mean .attend' 'wrap=WhisperEncoderLayer/matches no block, part or weight'; do
  plan distributed.strategy=fsdp "distributed.fsdp.${way%%/*}"
  check "${way%%/*} is refused" test "$code" = 65
  check "... and why" grep -q "${way#*/}" "$log"
done
none="$(hash_of distributed.strategy=fsdp distributed.fsdp.backward_prefetch=none)"
late="$(hash_of distributed.strategy=fsdp distributed.fsdp.forward_prefetch=false)"
pre="$(hash_of distributed.strategy=fsdp distributed.fsdp.backward_prefetch=BACKWARD_PRE)"
post="$(hash_of distributed.strategy=fsdp distributed.fsdp.backward_prefetch=backward_post)"
check "prefetches are other plans" test -n "$pre" -a "$pre" != "$post" -a "$pre" != "$none" -a "$post" != "$none"
check "... in the forward pass as well" test -n "$late" -a "$late" != "$pre" -a "$late" != "$none"
check "weights are gathered ahead by default" test "$pre" = "$(hash_of distributed.strategy=fsdp)"
seed="$(hash_of training.distributed_strategy=fsdp training.ddp_backend=mpi training.ddp_find_unused_parameters=false \
  training.fsdp_config.fsdp_backward_prefetch=backward_pre training.fsdp_config.fsdp_offload_params=false \
  training.fsdp_config.fsdp_state_dict_type=full_state_dict training.fsdp_config.fsdp_sharding_strategy=FULL_SHARD)"
check "the names of Hugging Face's trainer mean the same" test "$seed" = "$pre"
counts
