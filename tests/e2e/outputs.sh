# outputs.sh - the files that the program writes: targets are replaced at once or left unchanged, no
# link in a run's folder is followed, and what is not a regular file never makes a command wait.
. "$(dirname "$0")/lib.sh"
has() { # NAME FILE PATTERN
  check "$1" grep -Eq -e "$3" "$2"
}
make_data

cat >notes.lua <<'LUA'
return { on_step_end = function(ctx) graphrun.append("notes.txt", ctx.step .. "\n") end }
LUA
run() { # OUT [key=value ...]
  tones "$@" training.max_steps=4 "hooks=[$scratch/notes.lua]" profile.steps=1:3
}
run plain
check "a run" test "$code" = 0
(cd plain && find . -type f ! -path './checkpoints/*' | sed 's,^\./,,' | LC_ALL=C sort) >names
logs="run.log metrics.jsonl evals.jsonl epochs.jsonl events.out.tfevents.0000000000.graphrun notes.txt"
for name in $logs; do check "... writes $name" grep -qx "$name" names; done
# shellcheck disable=SC2086
grep -vxF "$(printf '%s\n' $logs)" names >whole
check "... and at least nine files at once" test "$(wc -l <whole)" -ge 9
check "... and leaves no temporary file" sh -c '! find plain -name "*tmp*" | grep .'

# ---- Links that were planted in the run's folder
mkdir -p links/.hydra
while read -r name; do
  echo victim >"victim.$(echo "$name" | tr / _)"
  ln -s "$scratch/victim.$(echo "$name" | tr / _)" "links/$name"
done <whole
run links
check "links in place of whole files" test "$code" = 0
while read -r name; do
  check "... $name is replaced" test -f "links/$name" -a ! -L "links/$name"
  check "... its target is unchanged" grep -qx victim "victim.$(echo "$name" | tr / _)"
done <whole
for name in $logs; do
  rm -rf linked victim && mkdir linked && echo victim >victim
  ln -s "$scratch/victim" "linked/$name"
  run linked
  case $name in
    notes.txt) expected=70 ;;
    *) expected=74 ;;
  esac
  check "a link in place of $name ends with $expected" test "$code" = "$expected"
  has "... which it names" "$log" "'$name' is a symbolic link"
  check "... its target is unchanged" grep -qx victim victim
done
mkdir -p linked.folder elsewhere && ln -s "$scratch/elsewhere" linked.folder/.hydra
run linked.folder
check "a link in place of .hydra ends with 74" test "$code" = 74
has "... which it names" "$log" "'.hydra' is a symbolic link"
check "... nothing is written there" sh -c '! ls -A elsewhere | grep .'

# ---- FIFOs, which have no reader
for name in run.log metrics.jsonl data.json notes.txt .hydra/config.yaml; do
  rm -rf fifo && mkdir -p fifo/.hydra && mkfifo "fifo/$name"
  run fifo
  case $name in
    notes.txt) expected=70 ;;
    *) expected=74 ;;
  esac
  check "a FIFO in place of $name ends with $expected" test "$code" = "$expected"
  has "... which it names" "$log" "cannot write '.*fifo/$name': it is a FIFO"
  check "... and which stays" test -p "fifo/$name"
done

# ---- Files that the user names
tones trained training.max_steps=4 checkpoint.every_steps=4
run=trained
predict() { # OUT
  limited "$graphrun" predict "$run" data/tones.jsonl "--out=$1"
}
predict out
check "predict into a file" test "$code" = 0
check "... lines" test "$(wc -l <out)" -gt 2
mkfifo pipe
predict pipe
check "into a FIFO without a reader" test "$code" = 74
has "... says so" "$log" "cannot write 'pipe': no process reads it"
timeout "$limit" cat pipe >piped &
reader=$!
exec 8>pipe # waits for the reader
predict pipe
exec 8>&-
wait $reader
check "into a FIFO with a reader" test "$code" = 0
check "... is the same, and it stays a FIFO" sh -c 'cmp out piped && test -p pipe'
"$graphrun" predict "$run" data/tones.jsonl --out=/dev/stdout 2>/dev/null </dev/null | grep '^{' >through
check "into /dev/stdout" cmp out through
echo before >appended
"$graphrun" predict "$run" data/tones.jsonl --out=/dev/stdout >>appended 2>/dev/null </dev/null
check "... that is appended to a file" sh -c '(echo before && cat out) | cmp - appended'
# A device node of this folder: nothing here may touch the machine's.
if mknod null c 1 3 2>/dev/null && ln -s null null.safetensors && (echo x >null) 2>/dev/null; then
  for command in "predict $run data/tones.jsonl --out=null" "report $run --out=null" \
    "plot $run --out=null" "export $run null.safetensors"; do
    # shellcheck disable=SC2086
    limited "$graphrun" $command
    check "${command%% *} into a device" test -c null
  done
else
  skip "writing into a device" "device nodes cannot be made here"
fi
echo victim >victim && ln -sf victim other.tmp
predict other
check "a link beside the file" grep -qx victim victim
check "... has no effect" cmp out other
ln -s here link && : >here
predict link
check "a link that the user names stays" test -L link
check "... and its target is replaced" cmp out here
predict "$scratch"
check "a folder is refused" test "$code" = 74
has "... named" "$log" "it is a folder"

# Two at once: each file is whole.
for i in 1 2 3; do
  rm -f same
  "$graphrun" predict "$run" data/tones.jsonl --out=same >/dev/null 2>&1 </dev/null &
  first=$!
  predict same
  wait $first
  check "two commands that write one file: $i" cmp out same
done
check "... leave no temporary file" sh -c '! ls -A | grep "^\.[0-9a-f]*\.tmp"'

# What was not written is not named as written.
mkdir -p unpaged/report.html
run unpaged
has "a page that cannot be written" "$log" "^i/o error: cannot write '.*unpaged/report.html': it is a folder"
has "... beside the results" unpaged/run.log "^results: .*unpaged/training_results.json"
check "... is not named" sh -c '! grep -q "^report: " unpaged/run.log'
has "... as others are" plain/run.log "^report: .*plain/report.html"

# A disk that is full leaves the old file.
if [ "$(id -u)" = 0 ] && mkdir full && mount -t tmpfs -o size=16k none full 2>/dev/null; then
  trap 'umount full; cd /; rm -rf "$scratch"' EXIT
  for command in "report $run --out=full/it" "export $run full/it.safetensors"; do
    old=full/it
    printf '<!doctype old' >before
    [ "${command%% *}" = report ] || { old=full/it.safetensors && printf '\0old' >before; }
    cp before "$old"
    # shellcheck disable=SC2086
    limited "$graphrun" $command
    check "${command%% *} on a full disk" test "$code" = 74
    has "... says why" "$log" "cannot write '$old': No space left on device"
    check "... the old file is unchanged" cmp before "$old"
    check "... and nothing else is left" test "$(find full -type f | wc -l)" = 1
    rm "$old"
  done
else
  skip "a full disk" "needs root and a tmpfs"
fi
counts
