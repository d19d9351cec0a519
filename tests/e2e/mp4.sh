# mp4.sh - configs/video/motions.yaml on MP4 files: trained, evaluated and asked on them, on any number of
# ranks; and what is wrong with a file, at its line.
. "${0%/*}/lib.sh"
make_mp4=$5
mkdir clips
"$make_mp4" clips/probe.mp4 12 16 0 0 1 2>"$(new_log)"
if [ $? = 77 ]; then
  skip "MP4" "$(cat "$log")"
  counts
  exit
fi
echo path,label,split >clips/list.csv
for motion in rest:0:0 right:1:0 down:0:1; do
  dx=${motion#*:}
  for i in 0 1 2 3 4 5 6 7 8 9; do
    name=${motion%%:*}$i.mp4 part=train
    [ $((i % 5)) = 1 ] && part=validation
    "$make_mp4" clips/$name 12 16 "${dx%:*}" "${dx#*:}" $i || fail "make_mp4" "$name"
    echo "$name,${motion%%:*},$part" >>clips/list.csv
  done
done
train() { # OUT [key=value ...]
  out=$1
  shift
  limited "$graphrun" "$source/configs/video/motions.yaml" data.video.path=clips/list.csv data.video.color=gray \
    model.params.filters=2 training.batch_size=7 data.video.stride=3 "output.dir=$out" "$@"
}
judged() { # NAME CODE PATTERN...
  judged_name=$1 judged_code=$2
  shift 2
  printf '%s\n' "$@" >"$scratch/patterns"
  verdict "$judged_name" "$judged_code"
}

expect "the report of the data" 0 "^train +48 clips" "^validation +12 clips" \
  "30 videos of 360 frames in all, each frame \[16, 16, 1\]" -- \
  "$graphrun" data inspect "$source/configs/video/motions.yaml" data.video.path=clips/list.csv data.video.color=gray data.video.stride=3
for ranks in 1 2; do
  train on$ranks distributed.ranks=$ranks training.max_epochs=15 hooks_params.T_0=15
  judged "trains on $ranks" 0 "48 training and 12 validation samples; global batch 7 = $ranks rank" "^validation set: loss"
done
same_losses() {
  [ "$(steps_of on1)" -gt 20 ] && [ "$(steps_of on1)" = "$(steps_of on2)" ] || return 1
  for step in 0 7 20; do near "$(loss on1 $step)" "$(loss on2 $step)" 2e-3 || return 1; done
}
check "... with the losses of one" same_losses
check "... and learns to tell the motions" grep -Eq '^validation set: loss .* accuracy (1\.0000|0\.9)' "$log"
expect "eval" 0 "^validation set: loss .* accuracy (1\.0000|0\.9)" "right" -- "$graphrun" eval on2
"$make_mp4" new.mp4 9 16 1 0 77
expect "predict: a video of the size of those that were trained on" 0 \
  '^\{"input": "new.mp4\[4\]", "class": "right", ' -- "$graphrun" predict on2 new.mp4

# Of other sizes, in a new project: scaled, and cut as the shortest is.
"$make_mp4" clips/wide.mp4 5 48 1 0 3
{ sed 's/,[a-z]*$//' clips/list.csv && echo wide.mp4,right; } >clips/sizes.csv
expect "a new project of videos of several sizes" 0 "a list of 31 videos" "clips of 5 frames" -- "$graphrun" new sizes --from=clips/sizes.csv
expect "... trains" 0 "^validation set: loss" -- "$graphrun" sizes/config.yaml output.dir=sizes/run training.max_epochs=1

# In a folder for each class.
for motion in rest right; do mkdir -p kinds/$motion && cp clips/$motion*.mp4 kinds/$motion; done
expect "a new project of a folder for each class" 0 "^20 videos of 2 classes" -- "$graphrun" new kinds_of --from=kinds
expect "... trains" 0 "^validation set: loss" -- "$graphrun" kinds_of/config.yaml output.dir=kinds_of/run training.max_epochs=1
echo note >kinds/rest/note.txt
expect "... clips of a video are of one split" 0 "^train +[0-9]+ clips" "skipped 1 of .*: 1 files that are no videos by their names \(kinds/rest/note.txt\)" "20 videos of 240 frames" -- \
  "$graphrun" data inspect "$source/configs/video/motions.yaml" data.video.path=kinds data.video.color=gray data.expect=null
expect "... the first of them" 0 "^videos of the data set that data.limit leaves out: 19$" -- \
  "$graphrun" data inspect "$source/configs/video/motions.yaml" data.video.path=kinds data.video.color=gray data.expect=null data.limit=1
printf nothing >kinds/right/bad.mp4
expect "... one that cannot be read" 66 "the video 'kinds/right/bad.mp4' cannot be read" "hint: .*data.skip_unreadable=true" -- \
  "$graphrun" kinds_of/config.yaml data.video.path=kinds
expect "... is left out" 0 "^skipped .*, 1 unreadable" -- \
  "$graphrun" kinds_of/config.yaml output.dir=kinds_of/left data.video.path=kinds data.skip_unreadable=true training.max_epochs=1
mkdir splits && cp -r kinds splits/train && cp -r kinds splits/val && rm splits/*/right/bad.mp4
expect "folders of splits" 66 "the folder 'splits/train' is a split by its name" "hint: data.video.path=splits/train names one of them" -- \
  "$graphrun" kinds_of/config.yaml data.video.path=splits
expect "... in a new project" 0 "^20 videos to train on$" "^not used: '.*/splits/val'" -- "$graphrun" new splits_of --from=splits

# What cannot be used: one error each, at its line of the list.
one_error() { [ "$(grep -c '^[^ ].*error: ' "$log")" = 1 ] && grep -q 'hint: ' "$log"; }
refused() { # NAME FILE PATTERN
  cp "$2" clips/bad.mp4
  printf 'path,label\nrest0.mp4,a\nright0.mp4,b\nbad.mp4,b\n' >clips/bad.csv
  train bad data.video.path=clips/bad.csv
  judged "$1" 66 "^clips/bad.csv:4:1: .*$3"
  check "... by one error, with advice" one_error
  [ "$2" = wide.mp4 ] || expect "... also of predict" 66 "$3" -- "$graphrun" predict on2 "$2"
}
bytes=$(wc -c <clips/rest0.mp4)
head -c $((bytes / 2)) clips/rest0.mp4 >cut.mp4
refused "an MP4 that is cut short" cut.mp4 "mp4' cannot be read: "
{
  head -c 300 clips/rest0.mp4
  head -c $((bytes - 1500)) /dev/zero | tr '\0' '\377'
  tail -c 1200 clips/rest0.mp4
} >damaged.mp4
refused "an MP4 whose frames are damaged" damaged.mp4 "mp4' cannot be read: "
# One that is missing is found before an earlier one is decoded, and before there is a folder.
cp damaged.mp4 clips/hurt.mp4
printf 'path,label\nrest0.mp4,a\nhurt.mp4,b\nnone.mp4,b\n' >clips/none.csv
for ranks in 1 2; do
  train gone data.video.path=clips/none.csv distributed.ranks=$ranks
  judged "an MP4 that is missing, on $ranks" 66 "^clips/none.csv:4:1: data error: cannot open 'clips/none.mp4'" \
    "hint: .*take it out, or leave out all such clips"
  check "... before there is a folder" test ! -e gone
done
expect "... under plan" 66 "^clips/none.csv:4:1: .*none.mp4" -- "$graphrun" plan "$source/configs/video/motions.yaml" \
  data.video.path=clips/none.csv
expect "... of predict" 66 "cannot open 'none.mp4'" -- "$graphrun" predict on2 damaged.mp4 none.mp4
"$make_mp4" sound.mp4
refused "an MP4 with sound alone" sound.mp4 "cannot be read: it has no video that this FFmpeg decodes"
"$make_mp4" none.mp4 0 16 0 0 1
refused "an MP4 without frames" none.mp4 "mp4' cannot be read: "
: >empty.mp4
refused "an MP4 without bytes" empty.mp4 "mp4'"
echo hello >text.mp4
refused "a text that is named MP4" text.mp4 "it is no .npy file, and no MP4"
"$make_mp4" wide.mp4 12 24 0 0 1
refused "an MP4 of another size" wide.mp4 "frames of the video .* are \[24, 24, 1\], those of others \[16, 16, 1\]"
train scaled data.video.path=clips/bad.csv data.video.size=16 training.max_steps=1 data.validation_fraction=0.0
judged "... which is scaled if that is asked for" 0 "6 training and 0 validation"
printf 'path,label\nrest0.mp4,a\nright0.mp4,b\nbad.mp4,b\n' >clips/bad.csv
cp cut.mp4 clips/bad.mp4
expect "a damaged MP4 is left out if it may" 0 "^train +2 clips" "bad.mp4" -- \
  "$graphrun" data inspect "$source/configs/video/motions.yaml" data.video.path=clips/bad.csv data.video.color=gray data.video.stride=12 data.skip_unreadable=true data.validation_fraction=0.0
counts
