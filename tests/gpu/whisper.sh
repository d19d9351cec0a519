# whisper.sh - an encoder and a decoder on the device cuda, in fp32 and bf16: the CPU's losses, and what it writes is what
# one GPU writes on any number of them.   whisper.sh GRAPHRUN SOURCE MAKE_TONES STANDIN
# shellcheck disable=SC2086
. "${0%/gpu/*}/e2e/lib.sh"
standin=$4 limit=400
. "${0%/gpu/*}/gpu/lib.sh"
make_data
gpus=2
if real && [ "${GPUS:-1}" -lt 2 ]; then gpus=1; fi

# ---- Training, with an evaluation that writes
few="model.params.dropout=0 training.batch_size=4 training.max_steps=3 training.eval_every=3 generation.max_tokens=6 checkpoint.metric=cer"
pairs limited cpu $few device=cpu distributed.ranks=1
ended_well "3 steps on the CPU"
for precision in fp32 bf16; do
  for n in $(seq 1 $gpus); do
    use_gpus "$n"
    pairs limited $precision$n $few device=cuda distributed.ranks="$n" training.precision=$precision
    ended_well "3 steps in $precision on GPUs: $n"
    check "... the losses follow the CPU's" follows $precision$n cpu 3
    check "... whose evaluation writes" grep -q '"validation.cer": [0-9]' $precision$n/evals.jsonl
  done
done
check "bf16 is not fp32" other_metrics fp321 bf161

# ---- What one that has learned writes
pairs limited learned model.params.dropout=0 training.max_steps=250 training.lr=5e-3 device=cpu distributed.ranks=1
ended_well "one that has learned"
head -n 6 data/tones.jsonl >data/few.jsonl
said() { "$graphrun" predict learned data/few.jsonl generation.max_tokens=8 "$@" 2>"$(new_log)"; }
for beams in 1 3; do
  for precision in fp32 bf16; do
    keys="generation.beams=$beams training.precision=$precision"
    use_gpus 1
    said $keys device=cuda distributed.ranks=1 >one
    check "written in $precision on a GPU, beams: $beams" sh -c 'test "$(sed "s/.*text//" one | sort -u | grep -c .)" -gt 2'
    if [ $precision = fp32 ]; then
      said $keys device=cpu distributed.ranks=1 >cpu.text
      check "... is what the CPU writes" cmp cpu.text one
    fi
    [ "$gpus" = 1 ] && continue
    # Each strategy with either precision, and with either number of beams.
    case $beams$precision in 1fp32 | 3bf16) strategy=ddp ;; *) strategy=fsdp ;; esac
    use_gpus 2
    said $keys device=cuda distributed.ranks=2 distributed.strategy=$strategy >two
    check "... token for token under $strategy on 2 GPUs" cmp one two
  done
done
counts
