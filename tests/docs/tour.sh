#!/bin/sh
# The tour's model trains: on recordings made here, on two ranks.   tour.sh GRAPHRUN FOLDER
cd "$(dirname "$0")/../.." || exit 1
graphrun=$1 out=$2
fail() { echo "FAIL: $*" >&2; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
rm -rf "$out" && mkdir -p "$out" && cp docs/tour/speech.jsonl "$out" || fail "no folder $out"

# 16-bit mono at 8 kHz; the samples are the bytes of lines of text.
wav() {
  awk -v bytes="$2" 'function le(v, n) {while (n--) {printf "\\%03o", v % 256; v = int(v / 256)}}
    BEGIN {printf "RIFF"; le(36 + bytes, 4); printf "WAVEfmt "; le(16, 4); le(1, 2); le(1, 2)
           le(8000, 4); le(16000, 4); le(2, 2); le(16, 2); printf "data"; le(bytes, 4)}' >"$out/head"
  # shellcheck disable=SC2059
  { printf "$(cat "$out/head")" && yes "$3" | head -c "$2"; } >"$out/$1.wav"
}
wav one 16000 "a tone" && wav two 16000 "another, lower" && wav three 12800 "short" && wav four 14400 "four"

"$graphrun" docs/tour/run.yaml data.manifest="$out/speech.jsonl" output.dir="$out/run" \
  distributed.ranks=2 distributed.backend=loopback >"$out/said" 2>&1 ||
  fail "the tour's model does not train: $(cat "$out/said")"
[ "$(wc -l <"$out/run/metrics.jsonl")" = 2 ] || fail "two epochs of one batch are two steps"
"$graphrun" ckpt verify "$out/run/checkpoints" >"$out/verified" || fail "$(cat "$out/verified")"
echo "1 passed, 0 failed, 0 skipped"
