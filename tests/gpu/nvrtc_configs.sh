#!/bin/sh
# nvrtc_configs.sh - every kernel of the programs of configs/ as they are planned for GPUs, compiled by NVRTC, where it is
# installed: of every other configuration in bf16, and of those between in fp32, with their loops in fp16; with `all`
# every kernel in each.
#   nvrtc_configs.sh GRAPHRUN SOURCE TEST_NVRTC [sm_75 ... sm_120 | each | all] [table]
graphrun=$1 source=$2 test_nvrtc=$3
shift 3
dumps=$(mktemp -d "${TMPDIR:-/tmp}/graphrun-nvrtc-XXXXXX") || exit 1
trap 'rm -rf "$dumps"' EXIT
all=
case " $* " in *' all '*) all=1 ;; esac
# The test that plans each configuration calls this instead of graphrun.
cat >"$dumps/plan" <<END
#!/bin/sh
# The model of tiny.yaml, whose precision is a setting of Transformers.
case "\$*" in *whisper/guide.yaml*) exit 0 ;; esac
precisions="fp32 bf16 fp16"
echo >>"$dumps/planned"
number=\$(wc -l <"$dumps/planned")
if [ -z "$all" ]; then
  [ \$((number % 2)) = 0 ] && precisions=bf16 || precisions="fp32 fp16"
fi
for precision in \$precisions; do
  "$graphrun" "\$@" device=cuda training.precision=\$precision --dump=schedule \
    >"$dumps/\$precision-\$((1000 + number)).gr" || exit 1
done
END
chmod +x "$dumps/plan"
sh "$source/tests/docs/configs.sh" "$dumps/plan" || exit 1
case " $* " in
*' all '*) "$test_nvrtc" "$@" "$dumps"/*.gr ;;
*) "$test_nvrtc" "$@" "$dumps"/fp32-*.gr "$dumps"/bf16-*.gr && "$test_nvrtc" "$@" scan "$dumps"/fp16-*.gr ;;
esac
