# masks.sh - images with masks, from outside: pixels by class, rows without a mask, and predicted images of the size of
# their files.
. "${0%/*}/lib.sh"
"$graphrun" new made --data=segmentation >"$(new_log)" 2>&1 || fail "the project" "exit code $?"
sed -i 's/^hooks.*//' made/config.yaml
# Masks of 2 x 2 pixels, of which 255 is not counted.
mkdir -p few/images few/masks
for i in 0 1 2 3; do
  printf 'P5\n2 2\n255\nabcd' >few/images/$i.pgm
  printf 'P5\n2 2\n255\n\0\0\1\377' >few/masks/$i.pgm
done
few="data.image.path=few/images data.image.masks=few/masks data.image.mask_values=3 data.image.size=2 data.validation_fraction=0 data.transforms=[]"
# shellcheck disable=SC2086
expect "pixels by class" 0 '^pixels of 4 of 4 masks .classes 3. ' '^ +0 0 +8 +0 +66.67% +0.5000 #' '^ +1 1 +4 +0 +33.33% +1.0000 #' \
  '^ +2 2 +0 +0 +0.00% +- *$' '^  not counted +4 +0$' -- "$graphrun" data inspect made/config.yaml $few
# shellcheck disable=SC2086
expect "... of both splits" 0 '^pixels of 8 of 8 masks ' '^ +0 0 +8 +8 +66.67% +0.5000 #' -- "$graphrun" data inspect made/config.yaml $few \
  data.image.eval_path=few/images data.image.eval_masks=few/masks
printf 'P5\n2 2\n255\nabcd' >few/masks/3.pgm
# shellcheck disable=SC2086
expect "... without masks that are none" 0 '^pixels of 3 of 4 masks ' '^masks that cannot be read: 1, which .*--audio. lists$' -- "$graphrun" data inspect made/config.yaml $few
# shellcheck disable=SC2086
expect "... in the proportions of the network's input" 0 '^ +0 0 +24 +' -- \
  "$graphrun" data inspect made/config.yaml $few data.image.size=4

# ---- Rows without a mask
(echo path,mask && for i in 0 1 2; do echo few/images/$i.pgm,few/masks/$i.pgm; done) >list.csv
rows="data.image.path=rows.csv data.image.masks=null data.image.mask_values=3 data.image.size=4 data.validation_fraction=0 data.transforms=[] training.max_epochs=1 logging.show_samples=0 distributed.ranks=1"
train() { # NAME CODE PATTERN [key=value ...]
  rm -rf out
  train_name=$1 train_code=$2 train_pattern=$3
  shift 3
  # shellcheck disable=SC2086
  expect "$train_name" "$train_code" "$train_pattern" -- "$graphrun" made/config.yaml output.dir=out $rows "$@"
}
(cat list.csv && echo few/images/3.pgm,) >rows.csv
train "an empty cell for a mask" 66 "^rows.csv:5:1: data error: there is no mask in this line"
train "... is skipped" 0 "^skipped 1 of 4 images: 1 unreadable$" data.skip_unreadable=true
check "... at its place" grep -q "warning: skipped: rows.csv:5:1: there is no mask in this line" "$log"
(cat list.csv && echo few/images/3.pgm,few/masks/gone.pgm) >rows.csv
train "a mask that is not there" 66 "^rows.csv:5:1: data error: cannot open 'few/masks/gone.pgm'"
train "... is skipped" 0 "^warning: skipped: rows.csv:5:1: cannot open 'few/masks/gone.pgm'" data.skip_unreadable=true
(cat list.csv && echo few/images/3.pgm,few/masks/3.pgm) >rows.csv
train "a mask of other values" 66 "^rows.csv:5:1: data error: the mask 'few/masks/3.pgm' has the value 97"
train "... is skipped" 0 "^warning: skipped: rows.csv:5:1: the mask 'few/masks/3.pgm' has the value 97" data.skip_unreadable=true
rm few/masks/3.pgm
# shellcheck disable=SC2086
expect "an image of a folder without its mask" 66 "data error: cannot open 'few/masks/3.png'" \
  "it is the mask of 'few/images/3.pgm', and is called as the image, with .png, _mask.png, .pgm or .npy behind it" -- \
  "$graphrun" made/config.yaml output.dir=none $few data.image.size=4

# ---- Predicted images
expect "a run" 0 "^results: " -- "$graphrun" made/config.yaml output.dir=run training.max_epochs=1 logging.show_samples=0 distributed.ranks=1 \
  data.image.path=made/images data.image.masks=made/masks
mkdir new
dd if=/dev/zero bs=4500 count=1 2>"$(new_log)" | tr '\0' 'a' | (printf 'P6\n50 30\n255\n' && cat) >new/wide.ppm
cp made/images/000.ppm new/same.ppm
size() { echo $(od -An -tu1 -j16 -N8 "$1"); } # of a PNG, a byte each
for resize in stretch cover crop; do
  expect "masks of images that are resized ($resize)" 0 -- "$graphrun" predict run new --out=$resize/ data.image.resize=$resize
  check "... have the size of their files" test "$(size $resize/mask/wide.png) $(size $resize/mask/same.png)" = "0 0 0 50 0 0 0 30 0 0 0 24 0 0 0 24"
done
counts
