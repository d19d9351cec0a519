# command.sh - the command of add-a-command.md: its help, its flags, its completion and what it
# prints.   command.sh GRAPHRUN SOURCE MAKE_TONES
. "${0%/docs/*}/e2e/lib.sh"
make_data

check "help lists it" sh -c '"$1" --help | grep -q "graphrun weights CONFIG.yaml"' - "$graphrun"
check "it has help" sh -c '"$1" weights --help | grep -q -- "--above N  *only those"' - "$graphrun"
check "its flag is completed" sh -c '"$1" config --complete "graphrun weights --ab" | grep -qx -- --above' - "$graphrun"
tones="$source/tests/e2e/tones.yaml data.manifest=$scratch/data/tones.jsonl model.graph=$source/graphs/lmu_asr.yaml"
shown() { "$graphrun" weights $tones "$@" >shown 2>"$(new_log)"; }
check "it prints weights" shown
all=$(wc -l <shown)
trained=$("$graphrun" plan $tones 2>/dev/null | sed -n 's/^parameters *\([0-9,]*\) .*/\1/p' | tr -d ,)
check "... all that are trained" [ "$(awk '{n += $2} END {print n}' shown)" = "$trained" ]
check "... those above a size" shown --above=100
check "... which are fewer" [ "$(wc -l <shown)" -lt "$all" ]
! shown --above=0
check "a flag's value is checked" grep -q 'must be a number from 1 to' "$log"
! "$graphrun" plan --above=3 2>"$(new_log)"
check "other commands name it for its flag" grep -q 'it is a flag of `graphrun weights`' "$log"
counts
