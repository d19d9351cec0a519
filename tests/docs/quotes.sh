#!/bin/sh
# What docs/ quotes of the program is what the program says.
cd "$(dirname "$0")/../.." || exit 1
if tools/docs --check "$1"; then echo "1 passed, 0 failed, 0 skipped"; else echo "0 passed, 1 failed, 0 skipped" && exit 1; fi
