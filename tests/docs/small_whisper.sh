# small_whisper.sh - the commands of docs/small-whisper.md, each as it is on the page, but that runs are cut short.
#   small_whisper.sh GRAPHRUN SOURCE
. "${0%/docs/*}/e2e/lib.sh"
page=$source/docs/small-whisper.md
short="training.max_epochs=0 training.max_steps=2 training.eval_every=0 training.final_train_eval=false data.limit=30
  generation.max_tokens=4 distributed.ranks=1 distributed.threads=1"
sed -n '/^```sh$/,/^```$/{/^```/!p}' "$page" >commands
check "the page has commands" test "$(grep -c . commands)" = 9
# The clone: what a run reads, and the build that is tested.
mkdir -p build && cp -R "$source/configs" "$source/graphs" "$source/hooks" . && ln -s "$graphrun" build/graphrun
sounds=/usr/share/asterisk/sounds
while read -r command; do
  case $command in
    apt-get*)
      for package in $(echo "$command" | grep -o 'asterisk[a-z-]*'); do
        check "$package is a recording's package" sh -c "echo $package | grep -Eq '^asterisk-core-sounds-e[ns]-wav\$'"
      done
      if [ ! -e $sounds/es/agent-loggedoff.wav ] || [ ! -e $sounds/en/vm-goodbye.wav ]; then
        skip "the commands" "the packages of this line are not installed: $command"
        break
      fi ;;
    *configs/*)
      limited sh -c "$command $(echo $short)"
      if [ "$code" = 0 ]; then ok "$command"; else fail "$command" "exit code $code"; fi ;;
    *)
      limited sh -c "$command"
      if [ "$code" = 0 ]; then ok "$command"; else fail "$command" "exit code $code"; fi ;;
  esac
done <commands
counts
