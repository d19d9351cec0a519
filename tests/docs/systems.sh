#!/bin/sh
# systems.sh - every "yes" of docs/systems.md names tests, each of them is in ctest's list, and none was
# skipped as a whole where tools/setup has installed everything.
#   systems.sh BUILD CTEST
cd "$(dirname "$0")/../.." || exit 1
build=$1 ctest=$2 failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAIL: docs/systems.md: $*"
  failed=$((failed + 1))
}
"$ctest" --test-dir "$build" -N 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: //p' >"$work/tests"
[ -s "$work/tests" ] || fail "ctest lists no test"

# A line a row that begins with yes: its name, a tab, and its regular expressions of tests.
sed 's/\\|/\x01/g' docs/systems.md | awk -F'|' '$4 ~ /^ *yes/ {
  name = $2; gsub(/ /, "", name); tests = ""
  while (match($0, /ctest -R ([^`]*)/)) {
    tests = tests " " substr($0, RSTART + 9, RLENGTH - 9); $0 = substr($0, RSTART + RLENGTH)
  }
  print name "\t" tests }' | tr '\001' '|' >"$work/rows"
rows=$(wc -l <"$work/rows")
[ "$rows" -ge 60 ] || fail "only $rows rows are read"
tab=$(printf '\t')
while IFS="$tab" read -r name tests; do
  [ -n "$tests" ] || fail "$name says yes and names no test"
  for of in $(echo "$tests" | tr -d "'"); do
    # Each alternative by itself: e2e.(a|b)|c is e2e.a, e2e.b and c.
    echo "$of" | sed 's/|\([^()]*\)(/ \1(/g; s/)|/) /g' | tr ' ' '\n' | while read -r part; do
      case $part in
        *'('*) inner=${part#*(} && inner=${inner%)*} && echo "$inner" | tr '|' '\n' | sed "s/^/${part%%(*}/" ;;
        *) echo "$part" | tr '|' '\n' ;;
      esac
    done >"$work/parts"
    while read -r part; do
      if ! grep -E -e "$part" "$work/tests" >"$work/found"; then
        case $part in
          gpu.*)
            if grep -qx gpu.standin "$work/tests"; then # it is there instead of those on the stand-ins
              echo "SKIPPED: $name: the build has no stand-ins for '$part'"
              continue
            fi
            ;;
        esac
        fail "$name: ctest has no test '$part'"
      fi
      while read -r test; do
        [ -f "$build/tests/ran/$test" ] && grep -q '^0 passed, 0 failed' "$build/tests/ran/$test" || continue
        if tools/setup --check >"$work/missing"; then
          fail "$name: $test was skipped"
        else
          echo "SKIPPED: $name: $test was skipped; $(cat "$work/missing")"
        fi
      done <"$work/found"
    done <"$work/parts"
  done
done <"$work/rows"
echo "$rows rows say yes, $failed failed"
[ "$failed" = 0 ]
