# modules.sh - what large libraries are for is loaded when it is used, and only then.
. "${0%/*}/lib.sh"
make_data
tones="$source/tests/e2e/tones.yaml model.graph=$source/graphs/lmu_asr.yaml data.manifest=$scratch/data/tones.jsonl"
# loads COMMAND...: runs it; the names of all that the loader brought in are in the file `loaded`.
loads() {
  rm -f loader.*
  limited env LD_DEBUG=libs LD_DEBUG_OUTPUT=loader "$@"
  sed -n 's|.*calling init: .*/\([^/]*\)$|\1|p' loader.* | sort -u >loaded
}
usual='^(lib(c|m|dl|rt|pthread|yaml-0|lua5\.4|zstd|z|pcre2-8|utf8proc|asan|ubsan|tsan|gcc_s|stdc\+\+)|ld-linux.*)\.so'

# few NAME COMMAND...: loads nothing but the small libraries that composing and checkpoints need.
few() {
  few_name=$1
  shift
  loads "$graphrun" "$@"
  more=$(grep -Ev "$usual" loaded | tr '\n' ' ')
  if [ "$code" = 0 ] && [ -s loaded ] && [ -z "$more" ]; then
    ok "$few_name loads $(wc -l <loaded) libraries"
  else
    fail "$few_name loads few libraries" "exit code $code, $(wc -l <loaded) libraries, among them: $more"
  fi
}
# shellcheck disable=SC2086
{
  few "--help" --help
  few config config $tones
  few "completion" config --complete "graphrun $source/configs/multi_gpu.yaml training.o"
  few ops ops
  few plan plan $tones --ranks=2
  few "data inspect" data inspect $tones
}

# ---- Training loads what it uses
# shellcheck disable=SC2086
loads "$graphrun" $tones output.dir=one distributed.ranks=1
check "a run of one rank ends well" test "$code" = 0
check "a run of one rank needs no MPI" sh -c "[ -s loaded ] && ! grep -q mpi loaded"
if has_module onednn; then check "a run needs oneDNN" grep -q '^graphrun_onednn.so' loaded; fi
few "ckpt list" ckpt list one

# ---- From other places
ln -s "$graphrun" link
# shellcheck disable=SC2086
expect "a run through a link" 0 -- ./link $tones output.dir=linked distributed.ranks=1
mkdir alone && cp "$graphrun" alone
for module in onednn mpi; do
  if has_module $module; then
    ranks=$([ $module = mpi ] && echo 2 || echo 1)
    # Without oneDNN's a run would be slow; what MPI does, threads do.
    if [ $module = mpi ]; then
      # shellcheck disable=SC2086
      expect "mpi is missing: ranks are threads" 0 "^2 ranks as threads of this process" -- \
        alone/graphrun $tones output.dir=threads distributed.ranks=2
      expect "... but not of an mpirun" 69 "mpirun started 2 processes that this graphrun, without MPI, cannot join" "hint: " -- \
        env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 alone/graphrun $tones output.dir=none
    else
      # shellcheck disable=SC2086
      expect "$module is missing" 69 "no graphrun_$module.so beside the executable" "hint: .* keep them together" -- \
        alone/graphrun $tones output.dir=none distributed.ranks=$ranks
      check "$module is missing: one message" test 1 = "$(grep -c error: "$log")"
    fi
    echo "not a library" >alone/graphrun_$module.so
    # shellcheck disable=SC2086
    expect "$module is damaged" 69 "cannot load a part of graphrun: .*graphrun_$module.so" "hint: " -- \
      alone/graphrun $tones output.dir=none distributed.ranks=$ranks
    LC_ALL=C sed 's/graphrun module [0-9a-f]\{8\}/graphrun module 00000000/' "${graphrun%/*}/graphrun_$module.so" >alone/graphrun_$module.so
    # shellcheck disable=SC2086
    expect "$module is of another build" 69 "alone/graphrun_$module.so. belongs to another build of graphrun" "hint: .* of its own build" -- \
      alone/graphrun $tones output.dir=none distributed.ranks=$ranks
    cp "${graphrun%/*}/graphrun_$module.so" alone
  else
    skip "$module is missing" "built without it"
  fi
done
cp "${graphrun%/*}"/graphrun_*.so alone 2>/dev/null
# shellcheck disable=SC2086
expect "a run of a copy" 0 -- alone/graphrun $tones output.dir=copied distributed.ranks=2
# A path of more than 600 bytes, which mpirun is given, too.
deep=$(printf '%0200d' 0)
deep=$deep/$deep/$deep
mkdir -p "$deep" && mv alone/* "$deep"
# shellcheck disable=SC2086
expect "a run of a program whose path is long" 0 -- "$deep/graphrun" $tones output.dir=deep distributed.ranks=2
counts
