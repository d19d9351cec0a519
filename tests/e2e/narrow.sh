# narrow.sh - mixed precision never needs more memory than fp32: the plans of every shipped configuration, for a CPU and
# for a GPU, without its data.
. "${0%/*}/lib.sh"
cd "$source" || exit 1

# bytes KEY=VALUE...: what a rank's plan of $config takes.
bytes() {
  "$graphrun" plan "$config" "$@" distributed.ranks=1 --json 2>>"$log" | grep -oE '"(state|arena)_bytes": [0-9]+' | head -n 2 |
    awk '{sum += $2} END {print NR == 2 ? sprintf("%.0f", sum) : "no"}'
}
: >"$(new_log)"
for config in $(shipped); do
  [ "$config" = configs/whisper/guide.yaml ] && continue # that of tiny.yaml, in the precision that a setting of Transformers says
  for device in cpu cuda; do
    fp32=$(bytes device=$device training.precision=fp32)
    bf16=$(bytes device=$device training.precision=bf16)
    check "$config on $device: $bf16 bytes in bf16, $fp32 in fp32" test "$bf16" -le "$fp32"
  done
done
counts
