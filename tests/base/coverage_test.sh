#!/bin/sh
# coverage_test.sh SOURCE CC: tools/coverage counts the lines of a small program that its runs have run.
source=$1 compiler=$2
if ! command -v python3 >/dev/null 2>&1 || ! command -v gcov >/dev/null 2>&1 || ! "$compiler" --version 2>/dev/null | grep -q 'Free Software'; then
  echo "SKIPPED: coverage: no Python, no gcov, or another compiler than GCC" && echo "0 passed, 0 failed, 1 skipped" && exit 77
fi
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/tree/one/two" "$scratch/build" && cd "$scratch/tree" || exit 1
printf 'int half(int);\nint main(int argc, char **argv) {\n  (void)argv;\n  return half(argc) - half(1);\n}\n' >one/main.c
printf 'int half(int x) {\n  if (x > 1)\n    return x / 2;\n  return 0;\n}\nint unused(void) {\n  return 3;\n}\n' >one/two/half.c
for file in one/main one/two/half; do
  "$compiler" --coverage -O0 -c "$scratch/tree/$file.c" -o "$scratch/build/${file##*/}.o" || exit 1
done
"$compiler" --coverage "$scratch"/build/*.o -o "$scratch/build/program" || exit 1
"$scratch/build/program" || exit 1
passed=0 failed=0
table() { "$source/tools/coverage" "$scratch/build" --root "$scratch/tree" "$@" >"$scratch/table" 2>&1; }
says() {
  if grep -qE "$1" "$scratch/table"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAIL: no /$1/ in" && cat "$scratch/table"; fi
}
table
says '^one +2 +2 +100.0%$'
says '^one/two +6 +3 +50.0%$'
says '^all +8 +5 +62.5%$'
table --lines one
says '^one/two/half.c: 3, 6-7$'
table --clear && table
says '^all +8 +0 +0.0%$'
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
