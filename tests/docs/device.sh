# device.sh - the device of add-a-device.md trains as the CPU does, by way of copies: the same metrics and the
# same bytes in checkpoints, and what it saved it goes on from.   device.sh GRAPHRUN SOURCE MAKE_TONES
. "${0%/docs/*}/e2e/lib.sh"
make_data

same_run() { same_metrics "$1" "$2" && same_files "$1/checkpoints" "$2/checkpoints"; }
pair() { # pair NAME [key=value ...]: on the CPU and on the device
  pair_name=$1
  shift
  ran "$pair_name on cpu" "$pair_name.cpu" checkpoint.every_steps=5 device=cpu "$@"
  ran "$pair_name on traced" "$pair_name.traced" checkpoint.every_steps=5 device=traced "$@"
  check "$pair_name: metrics and checkpoints are the same" same_run "$pair_name.cpu" "$pair_name.traced"
  check "$pair_name: the device reports" grep -Eq 'device traced, on rank 0: [0-9]+ nodes, [0-9]+ bytes uploaded' "$log"
}
two="distributed.ranks=2 distributed.backend=loopback"
pair one
pair ddp $two
check "ddp: sums are made by the device's communicators" grep -Eq 'on rank 0: .* [1-9][0-9]* collectives' "$log"
pair full $two distributed.strategy=fsdp distributed.fsdp.state_dict_type=full training.batch_size=7 training.accumulate=2
pair from model.init_from=one.cpu
ran "the other name" alias device=counting training.max_steps=1
check "the other name means the same device" grep -q "\"device\": \"traced\"" alias/training_results.json
for device in cpu traced; do
  ran "resumed on $device" "full.$device" $two distributed.strategy=fsdp distributed.fsdp.state_dict_type=full \
    training.batch_size=7 training.accumulate=2 device=$device checkpoint.resume=auto training.max_steps=15 \
    checkpoint.every_steps=5
done
check "resumed: metrics and checkpoints are the same" same_run full.cpu full.traced
check "results name the device" grep -q '"device": "traced"' one.traced/training_results.json

tones large device=traced model.params.hidden=4096
printf '%s\n' "and the device 'traced' has 67.1 MB" "\`graphrun plan\` says what needs it" >patterns
verdict "a plan that is larger than the device is refused" 69
tones unknown device=gpux
printf '%s\n' "'device' must be 'auto', 'gpu', 'cuda', 'cpu', 'null', 'counting' or 'traced', but is \"gpux\"" >patterns
verdict "a device that is not there is refused" 65
counts
