#!/bin/sh
# parquet_live.sh TEST_DATA_PARQUET PARQUET_PY - reads 200 files that pyarrow makes, of the Python that
# GR_PARQUET_PYTHON names.
set -eu
python=${GR_PARQUET_PYTHON:-python3}
if ! "$python" -c 'import pyarrow.parquet' 2>/dev/null; then
  echo "  SKIPPED: $python has no pyarrow (GR_PARQUET_PYTHON names one that has)"
  exit 0
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/graphrun-parquet-XXXXXX")
trap 'rm -rf "$folder"' EXIT
"$python" "$2" "$folder" 200
"$1" --folder "$folder"
