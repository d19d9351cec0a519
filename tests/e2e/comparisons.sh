# comparisons.sh - what tests compare numbers by (lib.sh) holds of no word, of nothing and of no NaN.
. "${0%/*}/lib.sh"
not() { ! "$@"; }
check "near" near 1000 1000.9 1e-3
check "... not too far" not near 1000 1001.1 1e-3
check "close_to" close_to -1e-3 1E-3 0.002
check "... not too far" not close_to 1 1.2 0.1
check "below" below -2.5 +1
check "... by a margin" not below 1 1.4 0.5
lines() { printf '%s\n' "$@"; }
close_pairs() { lines "$@" | pairs_within 0.1 2; }
check "pairs of numbers" close_pairs "1 1.05" "-2e1	-20"
check "... too far apart" not close_pairs "1 1.05" "2 2.2"
check "... too few" not close_pairs "1 1"
for word in nan -nan NaN inf null '' word 1x . -; do
  check "near '$word'" not near "$word" "$word" 1e9
  check "... and a number" not near 0.5 "$word" 1e9
  check "close_to '$word'" not close_to "$word" 0 1e9
  check "below '$word'" not below "$word" 1e9
  check "... and above it" not below -1e9 "$word"
  check "pairs with '$word'" not close_pairs "1 1" "1 1" "$word $word"
done
counts
