# package_root.sh - the packages of the preset `package`, each on a Debian that has nothing but its minimal packages. Needs
# root, debootstrap and a mirror of Debian; the packages are used without network.
. "${0%/*}/lib.sh"
none() {
  skip "packages on a minimal Debian" "$1"
  counts
  exit
}
[ "$(id -u)" = 0 ] || none "not root"
for tool in debootstrap apt-get unshare chroot cpack zip; do command -v "$tool" >/dev/null 2>&1 || none "no $tool"; done
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mirror=$(apt-get indextargets --format '$(SITE)' "Created-By: Packages" 2>/dev/null | grep -v security | head -n 1)
root=$scratch/root
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$(new_log)" 2>&1 || none "debootstrap: $(grep -E '^[EW]: ' "$log" | head -n 1)"
# $inside [-n] COMMAND...: in the root, with -n without network. Its mounts end with it.
cat >inside.sh <<'END'
root=${0%/*}/root network=
if [ "$1" = -n ]; then network=-n && shift; fi
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
  unshare -mpf $network sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$root" "$@"
END
inside="sh $scratch/inside.sh"
build=$scratch/build
# With less optimisation, which nothing here depends on and which takes two thirds of the time.
expect "the preset is built" 0 -- sh -c 'cd "$1" && cmake --preset package -B "$2" -DCMAKE_BUILD_TYPE=Quick \
  -DCMAKE_C_FLAGS_QUICK="-O1 -DNDEBUG" && cmake --build "$2" -j "$(nproc)" --target graphrun pages' \
  sh "$source" "$build"
for kind in tar wheel deb; do expect "tools/package $kind" 0 "^/" -- "$source/tools/package" $kind "--build=$build" "--out=$root/root"; done
if command -v lintian >/dev/null 2>&1; then
  expect "lintian finds nothing" 0 -- sh -c 'exec lintian --allow-root --fail-on error,warning "$1"/*.deb' sh "$root/root"
else
  skip "lintian finds nothing" "no lintian"
fi

# works HOW PROGRAM: what a user does, in a folder of its own.
works() {
  expect "$1: --version" 0 "^ +oneDNN .*[0-9]\.[0-9]" "^ +zlib .*[0-9]\.[0-9]" -- $inside -n "$2" --version
  for kind in table image; do
    expect "$1: new --data=$kind" 0 "^/root/$1-$kind: a project" -- $inside -n "$2" new "/root/$1-$kind" --data=$kind
    expect "$1: training" 0 "^validation set: " -- $inside -n "$2" "/root/$1-$kind/config.yaml" "output.dir=/root/$1-$kind/run" training.max_epochs=2
  done
  expect "$1: two ranks" 0 "^validation set: " -- $inside -n "$2" "/root/$1-table/config.yaml" "output.dir=/root/$1-two" training.max_epochs=2 distributed.ranks=2
  expect "$1: predict a table" 0 '^\{"input": ' -- $inside -n "$2" predict "/root/$1-table/run" "/root/$1-table/test.csv"
  expect "$1: predict an image" 0 '^\{"input": ' -- $inside -n "$2" predict "/root/$1-image/run" "/root/$1-image/images/circle/00.ppm"
}
expect "the tarball is unpacked" 0 -- $inside -n sh -c 'cd /opt && tar -xzf /root/graphrun-*.tar.gz && mv graphrun-* g'
works tar /opt/g/bin/graphrun
expect "Debian's Python" 0 -- $inside apt-get install -qy --no-install-recommends python3-venv
expect "pip install" 0 -- $inside -n sh -c 'python3 -m venv /venv && /venv/bin/pip install --no-index /root/graphrun-*.whl'
works wheel /venv/bin/graphrun
expect "apt-get install" 0 -- $inside sh -c 'apt-get install -qy --no-install-recommends /root/graphrun_*.deb'
works deb graphrun
expect "deb: what is not installed is named" 0 "libsndfile .*not found: .*libsndfile.so" "MPI .*not found: .*libmpi.so" -- $inside -n graphrun --version
expect "apt-get install with what is recommended" 0 -- $inside sh -c 'apt-get remove -qy graphrun && apt-get install -qy /root/graphrun_*.deb'
expect "deb: libraries that it recommends" 0 "libsndfile .*[0-9]\.[0-9]" "libav .*[0-9]\.[0-9]" "protobuf-c .*[0-9]\.[0-9]" -- $inside -n graphrun --version
expect "apt-get install openmpi-bin" 0 -- $inside apt-get install -qy --no-install-recommends openmpi-bin
# MPI needs the loopback interface.
expect "deb: MPI" 0 "^2 ranks: as configured" "^validation set: " -- $inside graphrun /root/deb-table/config.yaml output.dir=/root/mpi training.max_epochs=2 distributed.ranks=2
expect "deb: removed" 0 -- $inside apt-get purge -qy graphrun
check "... with all its files" sh -c '! find "$1/usr" -name "*graphrun*" | grep .' sh "$root"
counts
