# package.sh - a package that tools/package makes of this build, used without the source and the build; $4: which.
. "${0%/*}/lib.sh"
kind=$4 build=${graphrun%/*}
none() {
  skip "the package $kind" "$1"
  counts
  exit
}
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt" 2>/dev/null; }
case $kind in deb) tools="cpack dpkg-deb dpkg-shlibdeps strip" ;; wheel) tools="dpkg-query zip python3" ;; *) tools=dpkg-query ;; esac
for tool in cmake readelf $tools; do command -v "$tool" >/dev/null 2>&1 || none "no $tool"; done
[ -f "$build/share/graphrun.1" ] || none "no build folder with the target pages"
! sanitised && [ "$(cached GR_COVERAGE)" = OFF ] || none "the build is instrumented"
version=$(cached CMAKE_PROJECT_VERSION)

# ---- Made, and put where nothing else is
expect "tools/package $kind" 0 "^/.*graphrun.$version.*: [1-9][0-9]* kB" -- "$source/tools/package" "$kind" "--build=$build" "--out=made"
file=$(ls "$scratch"/made/*) || { counts; exit; }
mkdir first
case $kind in
deb)
  check "it is unpacked" dpkg-deb -x "$file" first
  mv first "a root" && prefix="$scratch/a root/usr"
  ;;
tar)
  check "it is unpacked" tar -xzf "$file" -C first
  mv first/graphrun-* "another place" && prefix="$scratch/another place"
  ;;
wheel)
  python3 -m venv venv >"$(new_log)" 2>&1 && venv/bin/python -m pip --version >>"$log" 2>&1 || none "python3 -m venv makes none with pip"
  expect "pip installs it" 0 -- venv/bin/python -m pip install --no-index --disable-pip-version-check "$file"
  prefix=$scratch/venv
  ;;
esac
installed=$prefix/bin/graphrun

# alone COMMAND...: with nothing in the environment and, where the system allows it, without source and build.
cat >alone.sh <<'END'
mount -t tmpfs none "$1" && { [ ! -d "$2" ] || mount -t tmpfs none "$2"; } || exit 99
shift 2
exec "$@"
END
hide=
for way in "unshare -m" "unshare -rm"; do
  if [ -z "$hide" ] && $way sh alone.sh "$source" "$build" test ! -f "$source/LICENSE" -a -x "$installed" 2>/dev/null; then hide=$way; fi
done
if [ -n "$hide" ]; then ok "source and build are hidden by $hide"; else skip "source and build are hidden" "no unshare, or not allowed"; fi
alone() {
  set -- env -i PATH=/usr/bin:/bin "HOME=$scratch/home" LD_DEBUG=libs "LD_DEBUG_OUTPUT=$scratch/loads/of" "$@"
  # shellcheck disable=SC2086
  if [ -n "$hide" ]; then set -- $hide sh "$scratch/alone.sh" "$source" "$build" "$@"; fi
  limited "$@"
}
# works NAME CODE PATTERN... -- COMMAND...: as expect, alone.
works() {
  works_name=$1 works_code=$2
  shift 2
  : >"$scratch/patterns"
  while [ "$1" != -- ]; do
    printf '%s\n' "$1" >>"$scratch/patterns"
    shift
  done
  shift
  alone "$@"
  verdict "$works_name" "$works_code"
}
mkdir home loads work && cd work || exit 1

# ---- What a user does
works "--version" 0 "^graphrun $version" -- "$installed" --version
cp "$log" versions
works "new" 0 "^p: a project" -- "$installed" new p --data=table
works "training" 0 "^validation set: .*f1_macro" -- "$installed" p/config.yaml output.dir=p/run training.max_epochs=3
works "two ranks" 0 "^validation set: " -- "$installed" p/config.yaml output.dir=p/two training.max_epochs=1 distributed.ranks=2
works "predict" 0 '^\{"input": ' -- "$installed" predict p/run p/test.csv
works "a configuration that is installed, with a hook and a model" 0 "^validation set: " -- "$installed" configs/table.yaml data.table.path=p/data.csv \
  data.table.label=fruit training.max_epochs=1 'hooks=[hooks/cosine.lua]' model.graph=graphs/mlp.yaml output.dir=q
if [ -f "$build/graphrun_onnx.so" ]; then works "export" 0 "^model.onnx: " -- "$installed" export p/run model.onnx; fi

# ---- What is in it
for module in "$build"/graphrun_*.so; do
  name=${module##*/graphrun_} name=${name%.so}
  case $kind,$name in
  tar,mpi | wheel,mpi | tar,local | wheel,local | tar,libav | wheel,libav)
    check "graphrun_$name.so is left out" test ! -e "$prefix/lib/graphrun/graphrun_$name.so"
    ;;
  *) check "graphrun_$name.so is there" test -s "$prefix/lib/graphrun/graphrun_$name.so" ;;
  esac
done
check "--version prints versions" grep -q "^ *libyaml .*[0-9]" versions
check "... and finds all else" sh -c '! grep "not found" versions | grep -vE "^ +(CUDA|cuDNN|NCCL) |no graphrun_(mpi|libav).so"'
cat "$scratch"/loads/* | sed -n 's|.*calling init: ||p' | LC_ALL=C sort -u >loaded
check "libraries are loaded" grep -q '/libc.so.6$' loaded
check "... none of the build" sh -c '! grep -F -e "$1/" -e "$2/" loaded' sh "$source" "$build"
if [ "$kind" != deb ]; then
  # --version loads NVIDIA's, which a machine with a GPU has.
  others='/(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cu[a-z_]+|nv[a-z_-]+|nccl))\.so[^/]*$'
  check "... but of libc, C++ and NVIDIA all of the package" sh -c '! grep -vF "$1/" loaded | grep -vE "$2"' sh "$prefix" "$others"
  for library in "$prefix"/lib/graphrun/libyaml-*; do
    check "the licences of libraries are there" sh -c '[ ! -f "$1" ] || ls "$2"/share/doc/graphrun/licenses | grep libyaml' sh "$library" "$prefix"
  done
fi
if [ "$(cached CMAKE_BUILD_TYPE)" = Debug ]; then
  skip "no file names the source or the build" "assertions name files"
else
  check "no file names the source or the build" sh -c '! grep -rlF -e "$1/" -e "$2/" "$3/bin/graphrun" "$3/lib/graphrun" "$3/share/graphrun" "$3/share/doc/graphrun"' sh "$source" "$build" "$prefix"
fi
check "a manual page" sh -c 'ls "$1"/share/man/man1/graphrun.1*' sh "$prefix"
check "completion for bash" test -s "$prefix/share/bash-completion/completions/graphrun"
check "completion for zsh" sh -c 'ls "$1"/share/zsh/*/_graphrun' sh "$prefix"
check "completion for fish" test -s "$prefix/share/fish/vendor_completions.d/graphrun.fish"
if command -v qemu-x86_64 >/dev/null 2>&1 && grep -q avx2 /proc/cpuinfo && [ "$(cached GR_NATIVE)" = ON ]; then
  expect "a processor without AVX2 is refused" 69 "error: .*processors with AVX" "^hint: " -- qemu-x86_64 -cpu Nehalem "$installed" --version
else
  skip "a processor without AVX2 is refused" "no qemu-x86_64, or not built for this machine's AVX2"
fi

# ---- What the kinds' own tools say
cd "$scratch" || exit 1
case $kind in
deb)
  field() { dpkg-deb -f "$file" "$1" | grep -qE "$2"; }
  check "Version" field Version "^$version-1$"
  check "Depends" field Depends "libyaml-0-2.*"
  if [ -f "$build/graphrun_mpi.so" ]; then
    check "Suggests MPI" field Suggests "mpi"
    check "Depends on no MPI" sh -c '! dpkg-deb -f "$1" Depends Recommends | grep mpi' sh "$file"
  fi
  check "the checksums are right" sh -c 'dpkg-deb -e "$1" control && cd "$2/.." && md5sum -c --quiet "$3/control/md5sums"' sh "$file" "$prefix" "$scratch"
  if command -v lintian >/dev/null 2>&1; then
    # A module that calls nothing of libc is as it should be; the preset `package` adds calls to all.
    expect "lintian finds nothing" 0 -- lintian --allow-root --fail-on error,warning --suppress-tags library-not-linked-against-libc "$file"
  else
    skip "lintian finds nothing" "no lintian"
  fi
  ;;
wheel)
  cat >record.py <<'END'
import base64, csv, hashlib, io, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    record = next(n for n in z.namelist() if n.endswith(".dist-info/RECORD"))
    rows = {r[0]: r[1:] for r in csv.reader(io.StringIO(z.read(record).decode()))}
    assert sorted(rows) == sorted(z.namelist()), "RECORD has other files"
    assert rows.pop(record) == ["", ""]
    for name, (digest, size) in rows.items():
        data = z.read(name)
        want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert digest == "sha256=" + want and int(size) == len(data), name
END
  check "RECORD has every file, its hash and its size" python3 record.py "$file"
  if command -v auditwheel >/dev/null 2>&1; then
    tag=$(echo "$file" | sed 's/.*-\(manylinux_.*\)\.whl/\1/')
    expect "auditwheel agrees with the tag" 0 "\"$tag\"" -- sh -c 'auditwheel show "$1" | tr "\n" " " | sed "s/\. .*//"' sh "$file"
  else
    skip "auditwheel agrees with the tag" "no auditwheel"
  fi
  expect "pip removes it" 0 -- venv/bin/python -m pip uninstall -qy graphrun
  check "... with all files" sh -c '! find venv -name "*graphrun*" -type f | grep .'
  ;;
esac
counts
