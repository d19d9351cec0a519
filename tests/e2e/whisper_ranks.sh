# whisper_ranks.sh - an encoder and a decoder on 1, 2 and 3 ranks under ddp, fsdp and tp: what is learned, what is written
# while it is learned and from its checkpoint, and how much of that is wrong.
. "${0%/*}/lib.sh"
make_data
# Six heads and twice as many channels as there are symbols divide by 2 and 3.
shape="model.params.dim=48 model.params.heads=6"
# metric OUT NAME ROW: of that evaluation
metric() { sed -n "$3s/.*\"validation.$2\": \([^,}]*\).*/\1/p" "$1/evals.jsonl"; }

# ---- Training, and evaluation in between, which writes
learn="$shape training.eval_every=3 training.max_steps=18 generation.max_tokens=8 checkpoint.metric=cer"
# shellcheck disable=SC2086
pairs limited one $learn distributed.ranks=1
check "18 steps on one rank" test "$code" = 0
check "... are evaluated twice, by what is written" test "$(grep -c '"validation.cer": [0-9]' one/evals.jsonl)" = 2
for strategy in ddp fsdp tp; do
  for n in 1 2 3; do
    run=$strategy$n
    # shellcheck disable=SC2086
    pairs limited $run $learn distributed.ranks=$n distributed.strategy=$strategy
    check "$strategy on $n ranks" test "$code" = 0
    check "... the first loss is one rank's to 1e-6" near "$(loss one 0)" "$(loss $run 0)" 1e-6
    check "... the last loss is one rank's to 1e-3" near "$(loss one 17)" "$(loss $run 17)" 1e-3
    for row in 1 2; do
      for name in loss accuracy cer wer; do
        check "... $name of evaluation $row to 1e-3" near "$(metric one $name $row)" "$(metric $run $name $row)" 1e-3
      done
    done
  done
done

# ---- Transcripts of one that has learned to write
# shellcheck disable=SC2086
pairs limited learned $shape distributed.ranks=1 training.max_steps=250 model.params.dropout=0 training.lr=5e-3
check "one that has learned" below "$(loss learned 249)" 1
# said [key=value ...]: what it writes of all tones; wrong [key=value ...]: what is wrong with those of validation
said() { "$graphrun" predict learned data/tones.jsonl generation.max_tokens=12 "$@" 2>predict.log; }
wrong() { "$graphrun" eval learned --json generation.max_tokens=12 "$@" 2>eval.log; }
for how in "greedily " "with five beams generation.beams=5" "with five beams for long texts generation.beams=5 generation.length_penalty=2"; do
  keys=
  for word in $how; do case $word in *=*) keys="$keys $word" ;; esac; done
  # shellcheck disable=SC2086
  said $keys >text && wrong $keys >score
  check "written ${how%% generation*}: not all the same" sh -c 'test "$(sed "s/.*text//" text | sort -u | grep -c .)" -gt 5'
  for strategy in ddp fsdp tp; do
    for n in 2 3; do
      # shellcheck disable=SC2086
      said $keys distributed.ranks=$n distributed.strategy=$strategy >ranks
      check "... token for token under $strategy on $n ranks" cmp text ranks
      # shellcheck disable=SC2086
      wrong $keys distributed.ranks=$n distributed.strategy=$strategy >ranks
      for name in cer wer; do
        check "... with the same $name" test -n "$(grep -o "\"$name\": [0-9.]*" score)" -a \
          "$(grep -o "\"$name\": [0-9.]*" score)" = "$(grep -o "\"$name\": [0-9.]*" ranks)"
      done
    done
  done
done
said distributed.ranks=2 distributed.strategy=zero2 >ranks
said >text
check "... and under zero2" cmp text ranks

# ---- In bf16
# shellcheck disable=SC2086
pairs limited bf16 $learn distributed.ranks=1 training.precision=bf16
check "18 steps in bf16" other_metrics one bf16
check "... the last loss is that of fp32 to 1e-2" near "$(loss one 17)" "$(loss bf16 17)" 1e-2
for how in "2 ddp" "3 ddp" "2 fsdp" "3 fsdp" "2 tp" "3 tp"; do
  n=${how% *} strategy=${how#* }
  # shellcheck disable=SC2086
  pairs limited narrow $learn distributed.ranks=$n distributed.strategy=$strategy training.precision=bf16 training.max_steps=6
  check "... under $strategy on $n ranks, the 6th to 1e-2" near "$(loss one 5)" "$(loss narrow 5)" 1e-2
done
for keys in "" "generation.beams=5"; do
  # shellcheck disable=SC2086
  said training.precision=bf16 $keys >text
  for how in "2 ddp" "3 ddp" "2 fsdp" "3 fsdp" "2 tp" "3 tp"; do
    n=${how% *} strategy=${how#* }
    # shellcheck disable=SC2086
    said training.precision=bf16 $keys distributed.ranks=$n distributed.strategy=$strategy >ranks
    check "written in bf16 $keys: token for token under $strategy on $n ranks" cmp text ranks
  done
done
counts
