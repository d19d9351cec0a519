# version.sh - what `graphrun --version` says of the program, its commit and its libraries.
. "${0%/*}/lib.sh"
expect "--version" 0 "^graphrun [0-9]+\.[0-9]+" "^commit ([0-9a-f]{8}|not known)" "^compiled by .*[0-9]" \
  "^built with .*Lua, zstd$" "^    Lua +hooks +5\.[0-9]" "^    zstd .* [0-9]+\.[0-9]+" "^    libyaml .* 0\.[0-9]" -- "$graphrun" --version
for library in oneDNN:onednn libpng:png libav:libav soxr:soxr; do
  if has_module "${library#*:}"; then
    check "the version of ${library%:*}" sh -c '"$1" --version | grep -qE "^    $2 .* [^ ]*[0-9]+\.[0-9]+[^ ]*$"' sh "$graphrun" "${library%:*}"
  else
    skip "the version of ${library%:*}" "it is not in this build"
  fi
done
expect "--version --json" 0 '^.\"version\": \"[0-9.]+\", \"commit\": (\"[0-9a-f]{8}\"|null), \"modified\": (true|false), \"compiler\": ' \
  '^  .\"name\": \"zstd\", \"built\": true, \"version\": \"[0-9.]+\", \"file\": \"/.*\", \"error\": null.\]' -- "$graphrun" --version --json
expect "another word" 2 "'--version' does not take 'json'" "graphrun --version \[--json\]" -- "$graphrun" --version json

# ---- A run says the same of the program
make_data
ran "a run" run training.max_steps=1 distributed.ranks=1
program=$("$graphrun" --version --json | sed -n '1s/.*\("version".*"compiler": "[^"]*"\).*/\1/p')
check "about.json names the same program" grep -qF "$program" run/about.json

# ---- The commit that a build writes (tools/cmake/gr_commit.cmake)
commit() { cmake "-DROOT=$scratch/tree" "-DOUT=$scratch/commit.c" -P "$source/tools/cmake/gr_commit.cmake" >"$(new_log)" 2>&1 && cat commit.c; }
says() { commit | grep -qF "$1"; }
if command -v cmake >/dev/null 2>&1 && command -v git >/dev/null 2>&1; then
  git init -q . # that of another tree, around this one
  mkdir tree && echo one >tree/file
  check "a tree without git" says "gr_version_commit = NULL"
  in_tree() { git -C tree -c user.name=n -c user.email=e "$@"; }
  in_tree init -q . && in_tree add file && in_tree commit -q -m one
  check "a commit" says "gr_version_commit = \"$(in_tree rev-parse --short=8 HEAD)\""
  check "... of which nothing is modified" says "gr_version_modified = false"
  touch -d '2001-01-01' commit.c
  check "... written once" sh -c 'touch -d 2001-01-02 between; cmake "-DROOT=$1/tree" "-DOUT=$1/commit.c" -P "$2" && [ commit.c -ot between ]' \
    sh "$scratch" "$source/tools/cmake/gr_commit.cmake"
  touch tree/untracked
  check "a file that git does not know" says "gr_version_modified = false"
  echo two >tree/file
  check "a modified file" says "gr_version_modified = true"
else
  skip "the commit that a build writes" "no cmake, or no git"
fi
counts
