# archives.sh - samples in .tar files: runs on them are those on the same files in folders and lists, on one rank and
# two, of images, masks, recordings and texts; what is wrong with one is said with its name.
. "${0%/*}/lib.sh"
archive() { # FILE FOLDER [a pattern of names]: as GNU tar writes it, sorted
  tar -C "$2" --sort=name --format="${4:-gnu}" -cf "$1" "${3:-.}"
}

# ---- Images with classes: a project's folders, and the same in two archives
"$graphrun" new pics --data=image >"$(new_log)" 2>&1 || fail "the project" "exit code $?"
for f in pics/images/*/*.ppm; do
  class=${f%/*}
  printf '%s\n' "${class##*/}" >"${f%.ppm}.cls"
done
archive shapes-000.tar pics/images ./circle pax
tar -C pics/images --sort=name --format=ustar -cf shapes-001.tar square triangle
rm pics/images/*/*.cls
pics() { # OUT [key=value ...]
  pics_out=$1
  shift
  limited "$graphrun" pics/config.yaml training.max_epochs=2 "output.dir=$scratch/$pics_out" "$@"
  check "a run on images, $pics_out" [ "$code" = 0 ]
}
for ranks in 1 2; do
  pics folders$ranks distributed.ranks=$ranks
  pics archives$ranks distributed.ranks=$ranks 'data.image.path=shapes-*.tar'
  check "... is the same on $ranks ranks: metrics" same_metrics folders$ranks archives$ranks
  check "... and weights, and classes" same_tensors folders$ranks/checkpoints archives$ranks/checkpoints
done
pics range distributed.ranks=1 "data.image.path='shapes-{000..001}.tar'"
check "a range of numbers is the pattern" same_metrics archives1 range
"$graphrun" predict folders1 pics/images/square/0*.ppm --out=files.jsonl >"$(new_log)" 2>&1
(cd pics/images && tar -cf "$scratch/few.tar" square/0*.ppm)
"$graphrun" predict archives1 few.tar --out=members.jsonl >"$(new_log)" 2>&1
said() { sed 's/.*"square/"square/; s,.*images/square,"square,' "$1"; }
said files.jsonl >files.said
said members.jsonl >members.said
check "predictions of members are those of the files" cmp files.said members.said
check "... and there are ten" test "$(grep -c square members.said)" = 10
limited "$graphrun" eval archives1
check "a run on archives is evaluated" [ "$code" = 0 ]

# ---- Masks beside images
"$graphrun" new masked --data=segmentation >"$(new_log)" 2>&1 || fail "the project of masks" "exit code $?"
mkdir pairs
for f in masked/images/*; do
  name=${f##*/}
  cp "$f" "pairs/$name" && cp "masked/masks/${name%.*}".* "pairs/${name%.*}.mask.png" 2>/dev/null
done
archive pairs.tar pairs .
masks() { # OUT [key=value ...]
  masks_out=$1
  shift
  limited "$graphrun" masked/config.yaml training.max_epochs=1 distributed.ranks=1 "output.dir=$scratch/$masks_out" "$@"
  check "a run on masks, $masks_out" [ "$code" = 0 ]
}
masks mask_files
masks mask_members data.image.path=pairs.tar data.image.masks=null
check "... is the same" same_metrics mask_files mask_members

# ---- Recordings with transcripts, and with classes
make_data
mkdir -p spoken
sed -E 's|.*"audio_path": "wavs/([0-9]*).wav", (.*)|\1 {\2|' data/tones.jsonl | while read -r key object; do
  mkdir -p spoken/wavs && cp "data/wavs/$key.wav" spoken/wavs && printf '%s\n' "$object" >"spoken/wavs/$key.json"
done
archive tones.tar spoken wavs
ran "a run on recordings in a manifest" tones_files distributed.ranks=2 training.max_steps=6
ran "... and in an archive" tones_members distributed.ranks=2 training.max_steps=6 "data.manifest=$scratch/tones.tar"
check "... is the same" same_metrics tones_files tones_members
"$graphrun" new audio --data=audio >"$(new_log)" 2>&1 || fail "the project of sounds" "exit code $?"
for f in audio/sounds/*/*.wav; do
  class=${f%/*}
  printf '%s\n' "${class##*/}" >"${f%.wav}.cls"
done
archive sounds.tar audio/sounds
rm audio/sounds/*/*.cls
sounds() { # OUT [key=value ...]
  sounds_out=$1
  shift
  limited "$graphrun" audio/config.yaml training.max_epochs=1 distributed.ranks=1 "output.dir=$scratch/$sounds_out" "$@"
  check "a run on recordings with classes, $sounds_out" [ "$code" = 0 ]
}
sounds sound_files
sounds sound_members data.manifest=sounds.tar
check "... is the same" same_metrics sound_files sound_members

# ---- Texts
"$graphrun" new mail --data=texts >"$(new_log)" 2>&1 || fail "the project of texts" "exit code $?"
mkdir mails
sed 1d mail/data.csv | awk -F, '{ n = sprintf("mails/%04d", NR); gsub(/"/, ""); m = $0; sub(/,[^,]*$/, "", m); print m >(n ".txt"); print $NF >(n ".cls"); close(n ".txt"); close(n ".cls") }'
archive mails.tar mails .
expect "texts with labels" 0 "^train +[0-9]+ texts" "classes \(" -- "$graphrun" data inspect mail/config.yaml data.texts.path=mails.tar \
  data.texts.text=text data.texts.label=label

# ---- Several sources of the same archive
mkdir both && n=0 && for f in pics/images/*/1*.ppm; do
  n=$((n + 1)) class=${f%/*} key=$(printf %03d $n)
  cp "$f" "both/$key.ppm"
  printf '{"label": "%s", "height": %d.5, "width": %d.25}' "${class##*/}" $((n % 7)) $((n % 3)) >"both/$key.json"
done
archive both.tar both
expect "images with numbers of their samples" 0 "^train +[0-9]+ rows" "height +f64 +feature" "width +f64 +feature" "classes \(3\)" -- \
  "$graphrun" data inspect pics/config.yaml 'data.source=[image,table]' data.image.path=both.tar data.table.path=both.tar
check "... where they are is none" sh -c "! grep -qE 'offset|bytes' '$log'"

# ---- Projects of archives
made() { # NAME DATA PATTERN...: the project trains
  made_name=$1 made_data=$2
  shift 2
  expect "new --from=$made_data" 0 "^own/$made_name: a project for" "$@" -- "$graphrun" new "own/$made_name" --from="$made_data"
  (cd "own/$made_name" && exec timeout -k 5 "$limit" "$graphrun" config.yaml output.dir=run training.max_epochs=1 training.eval_every=1) >"$(new_log)" 2>&1
  check "... which trains" test -s "own/$made_name/run/training_results.json"
}
mkdir shards && cp shapes-000.tar shards/train-000.tar && cp shapes-001.tar shards/train-001.tar && cp both.tar shards/val-000.tar
made images shards "^read: '.*/shards/train\*.tar'" "^180 images; to predict: 'label', 3 classes" "^for validation: '.*/shards/val-000.tar'"
made speech tones.tar "^archives of [0-9]+ recordings; symbols: "
made sounds sounds.tar "^archives of [0-9]+ recordings; to predict: 'label', 4 classes"
made mails mails.tar "'label'"
expect "there is none of masks" 2 "there is no project for archives of images with masks" "hint: unpack them, tar -xf FILE, and give their folder" -- \
  "$graphrun" new own/masks --from=pairs.tar

# ---- What is wrong
refused() { # NAME FILE PATTERN...
  refused_name=$1 refused_file=$2
  shift 2
  expect "$refused_name" 66 "$@" -- "$graphrun" plan pics/config.yaml "data.image.path=$refused_file"
}
head -c 6000 few.tar >cut.tar
refused "an archive that is cut short" cut.tar "the archive 'cut.tar' is cut short: 'square/0[0-9].ppm' has [0-9]+ bytes, and [0-9]+ are there" "hint: copy it again"
head -c 4096 /dev/zero | tr '\0' x >other.tar
refused "a file that is none" other.tar "the archive 'other.tar' is damaged at byte 0: there is no header of a member"
mkdir linked && ln -s ../pics/images/square/00.ppm linked/00.ppm && archive linked.tar linked 00.ppm
refused "links" linked.tar "'00.ppm' in 'linked.tar' is no file but a link" "hint: write the files themselves"
mkdir apart && cp pics/images/square/0[01].ppm apart && echo a >apart/00.cls && (cd apart && tar -cf ../apart.tar 00.ppm 01.ppm 00.cls)
refused "members that are apart" apart.tar "'00.cls' in 'apart.tar' is apart from the other members of its sample" "hint: .*--sort=name"
archive bare.tar pics/images square/00.ppm
refused "images without classes" bare.tar "bare.tar.*the list of images has no column 'label'"
refused "a range that is not all there" "'shapes-{000..002}.tar'" "cannot open 'shapes-002.tar'"
expect "videos" 66 "videos are not read from archives, as 'few.tar' is one" "hint: unpack it: tar -xf few.tar" -- \
  "$graphrun" plan "$source/configs/video/motions.yaml" data.video.path=few.tar
gzip -k few.tar
expect "one that is compressed" 66 "few.tar.gz:1:[0-9]+: " "gunzip unpacks it" -- "$graphrun" plan pics/config.yaml data.image.path=few.tar.gz
counts
