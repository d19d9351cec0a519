# bad_data.sh - recordings, manifests and vocabularies that are not what they should be: each is
# named with its place, nothing hangs, and data.skip_unreadable leaves out what can be left out.
. "${0%/*}/lib.sh"
make_data
mkdir graphs
cp "$source"/graphs/*.yaml graphs
sed "s|???.*|data/tones.jsonl|" "$source/tests/e2e/tones.yaml" >base.yaml
run() { # NAME CODE PATTERN... -- key=value ...: of base.yaml
  name=$1 want=$2
  shift 2
  : >patterns
  while [ "$1" != -- ]; do
    printf '%s\n' "$1" >>patterns
    shift
  done
  shift
  limited "$graphrun" base.yaml output.dir=out checkpoint.resume=none "$@"
  verdict "$name" "$want"
}
line() { # FILE LINE...: tones.jsonl with more lines
  cp data/tones.jsonl "data/$1"
  name=$1
  shift
  printf '%s\n' "$@" >>"data/$name"
}

# ---- What is no regular file is refused, not waited for
mkfifo fifo data/fifo.wav
run "a FIFO as manifest" 66 "argument [0-9]+:1:15: .*'fifo': it is a FIFO" "hint: only regular files" -- data.manifest=fifo
run "... as model" 65 "argument [0-9]+:1:13: .*'fifo': it is a FIFO" "hint: only regular files" -- model.graph=fifo
run "... as hook" 65 "'fifo': it is a FIFO" "hint: only regular files" -- 'hooks=[fifo]'
run "a device as manifest" 66 "it is a character device" -- data.manifest=/dev/zero
line fifo.jsonl '{"audio_path": "fifo.wav", "text": "AB", "duration": 0.18}'
run "... as a recording" 66 "fifo.wav': it is a FIFO" "fifo.jsonl:41:1: " -- data.manifest=data/fifo.jsonl
run "... that is left out" 0 "left out.*fifo.wav': it is a FIFO" -- data.manifest=data/fifo.jsonl \
  data.skip_unreadable=true
line fifo2.jsonl '{"audio_path": "fifo.wav", "text": "AB"}'
run "... without a duration" 66 "fifo.wav': it is a FIFO" "fifo2.jsonl:41:1: " -- data.manifest=data/fifo2.jsonl
expect "... as the configuration" 65 "'fifo'" -- "$graphrun" config fifo

counts
