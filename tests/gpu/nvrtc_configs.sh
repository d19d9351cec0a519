#!/bin/sh
# nvrtc_configs.sh - every kernel of the programs of configs/ as they are planned for GPUs, in fp32 and bf16, and their
# loops in fp16, compiled by NVRTC, where it is installed; with `all` every kernel in fp16 too.
#   nvrtc_configs.sh GRAPHRUN SOURCE TEST_NVRTC [sm_80 | sm_90 | sm_100 | each | all] [table]
graphrun=$1 source=$2 test_nvrtc=$3
shift 3
dumps=$(mktemp -d "${TMPDIR:-/tmp}/graphrun-nvrtc-XXXXXX") || exit 1
trap 'rm -rf "$dumps"' EXIT
# The test that plans each configuration calls this instead of graphrun.
cat >"$dumps/plan" <<END
#!/bin/sh
# The model of tiny.yaml, whose precision is a setting of Transformers.
case "\$*" in *whisper/guide.yaml*) exit 0 ;; esac
for precision in fp32 bf16 fp16; do
  file=\$(mktemp "$dumps/\$precision-XXXXXX.gr") || exit 1
  "$graphrun" "\$@" device=cuda training.precision=\$precision --dump=schedule >"\$file" || exit 1
done
END
chmod +x "$dumps/plan"
sh "$source/tests/docs/configs.sh" "$dumps/plan" || exit 1
case " $* " in
*' all '*) "$test_nvrtc" "$@" "$dumps"/*.gr ;;
*) "$test_nvrtc" "$@" "$dumps"/fp32-*.gr "$dumps"/bf16-*.gr && "$test_nvrtc" "$@" scan "$dumps"/fp16-*.gr ;;
esac
