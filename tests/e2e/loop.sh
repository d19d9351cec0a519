# loop.sh - what the training loop does at which step: the learning rate, evaluations, the last step.
# An epoch of the test's data has 4 steps.
. "${0%/*}/lib.sh"
make_data

# column OUT FILE KEY: the values of a key in the lines of a file, on one line.
column() { sed "s/.*\"$3\": \([^,}]*\).*/\1/" "$1/$2" | tr '\n' ' '; }
evaluated() { column "$1" evals.jsonl steps; }
of_epochs() { column "$1" evals.jsonl epoch; }

# ---- The learning rate
ran "a warm-up of 5 steps" warm training.max_steps=7 training.lr=1e-3 training.warmup_steps=5
check "... begins above 0, rises evenly and reaches the rate in its last step" \
  test "$(column warm metrics.jsonl lr)" = "0.0002 0.0004 0.0006 0.0008 0.001 0.001 0.001 "
ran "a warm-up of 1 step" one training.max_steps=2 training.lr=1e-3 training.warmup_steps=1
ran "no warm-up" none training.max_steps=2 training.lr=1e-3 training.warmup_steps=0
check "... is the same" same_metrics one none
check "... which has the rate from the first step on" test "$(column none metrics.jsonl lr)" = "0.001 0.001 "
# The rate that is logged is the one that is used: Adam's first step moves a weight by it.
ran "a first step at a small rate" small training.max_steps=2 training.lr=1e-9 training.warmup_steps=0 \
  model.params.dropout=0
ran "a first step that is warmed up" warmed training.max_steps=2 training.lr=1e-1 training.warmup_steps=100000000 \
  model.params.dropout=0
check "... moves as little" test "$(column small metrics.jsonl loss | cut -c1-40)" = \
  "$(column warmed metrics.jsonl loss | cut -c1-40)"

ran "a first step at a rate that is not small" large training.max_steps=2 training.lr=1e-2 training.warmup_steps=1 \
  model.params.dropout=0
check "... moves more" test "$(loss large 0)/$(loss large 1)" != "$(loss small 0)/$(loss small 1)"
check "... from the same weights" test "$(loss large 0)" = "$(loss small 0)"

# ---- The last step: the first of max_steps and max_epochs, and either alone
steps() { # NAME WANTED max_steps max_epochs
  ran "$1" "last$3.$4" training.max_steps="$3" training.max_epochs="$4" training.eval_every=0
  check "... ends after step $2" test "$(steps_of "last$3.$4")" = "$2"
}
steps "max_steps before max_epochs" 6 6 3
steps "max_epochs before max_steps" 8 100 2
steps "max_steps where max_epochs ends, too" 8 8 2
steps "max_steps alone" 5 5 0
steps "max_epochs alone" 4 0 1
check "an epoch that max_steps cuts short has no line" test "$(column last6.3 epochs.jsonl steps)" = "4 "

# ---- Evaluations: at the ends of every so many epochs, and at the last step, once
evals() { # NAME EVERY STEPS WANTED EPOCHS
  ran "$1" "every$2.$3" training.eval_every="$2" training.max_steps="$3" logging.show_samples=0
  check "... evaluates after steps $4" test "$(evaluated "every$2.$3")" = "$4 "
  check "... of epochs $5" test "$(of_epochs "every$2.$3")" = "$5 "
}
evals "every epoch" 1 12 "4 8 12" "0 1 2"
evals "every second epoch, and a part of one" 2 22 "8 16 22" "1 3 5"
evals "every third epoch, and the last" 3 16 "12 16" "2 3"
evals "at the end alone" 0 8 "8" "1"
counts
