#!/bin/sh
# nvrtc_known.sh - makes nvrtc_known.tsv again: what the NVRTC of this machine says of every text that test_nvrtc compiles.
#   nvrtc_known.sh BUILD
build=$(cd "$1" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
made=$(mktemp "${TMPDIR:-/tmp}/nvrtc-known-XXXXXX") || exit 1
trap 'rm -f "$made"' EXIT
"$build/tests/test_nvrtc" each lines >"$made" || exit 1
sh tests/gpu/nvrtc_configs.sh "$build/graphrun" "$PWD" "$build/tests/test_nvrtc" each lines >>"$made" || exit 1
{
  echo '# What NVRTC says of the kernels (nvrtc_known.h), by nvrtc_known.sh.'
  grep -E '^[0-9a-f]{16}[[:blank:]]' "$made" | LC_ALL=C sort -u
} >tests/gpu/nvrtc_known.tsv
