# picture.sh - `plan --svg` draws a training step by the blocks of its model, and a run keeps the picture.
. "${0%/*}/lib.sh"

awk 'BEGIN { srand(5); print "a,b,kind"
  for (i = 0; i < 96; i++) { k = int(2 * rand()); printf "%.3f,%.3f,%s\n", k + rand(), rand() - k, k ? "red" : "blue" }
}' >rows.csv
cat >model.yaml <<'YAML'
params: {layers: 5}
inputs: {x: {shape: [n, 2]}, y: {shape: [n], dtype: i32}}
nodes:
  - h: {linear: x, out: 64, name: stem}
  - h: {relu: h}
  - repeat: layers
    name: layers.$i
    nodes:
      - g: {layer_norm: h, name: norm}
      - g: {linear: g, out: 128, name: up}
      - g: {gelu: g}
      - g: {linear: g, out: 64, name: down}
      - h: {add: [h, g]}
  - logits: {linear: h, out: 2, name: head}
  - loss: {cross_entropy: [logits, y]}
train: loss
YAML
cat >run.yaml <<'YAML'
model: {graph: model.yaml}
data: {source: table, validation_fraction: 0.25, table: {path: rows.csv, label: kind}}
training: {batch_size: 16, max_steps: 2, max_epochs: 0, optimizer: adam}
distributed: {ranks: 2}
YAML
# drawn OUT [argument ...]: draws into OUT.
drawn() {
  drawn_out=$1
  shift
  limited "$graphrun" plan run.yaml "--svg=$drawn_out" "$@"
}
# texts FILE: the texts of the picture, one a line.
texts() { sed -n 's/.*<text [^>]*>\([^<]*\)<\/text>.*/\1/p' "$1"; }
# has NAME FILE PATTERN: a text of the picture is the pattern.
has() {
  texts "$2" >texts
  if grep -Eqx "$3" texts; then ok "$1"; else fail "$1" "no text is $3"; fi
}
# lacks NAME FILE PATTERN
lacks() {
  texts "$2" >texts
  if grep -Eqx "$3" texts; then fail "$1" "a text is $3"; else ok "$1"; fi
}

drawn ddp.svg
check "a plan is drawn" test "$code" = 0
has "repeated blocks are drawn once, with their number and all their weights" ddp.svg 'layers\.0–4  ×5   83\.5 k'
check "... over the lines that pass by" awk '/gp-lf\)/ && /<path d/ { last = NR } /class="s h"/ && !first { first = NR }
  END { exit !(first > last && last) }' ddp.svg
has "a layer is drawn by its parts" ddp.svg 'up'
lacks "... of the first alone" ddp.svg 'layers\.1.*'
has "a part has its ops" ddp.svg 'matmul, bias_add, gelu'
has "... and beside them what their gradients are computed by" ddp.svg 'gelu_grad, bias_add_grad, matmul ×2'
# The mean over a frozen encoder is read by the gradient of the layer after it, and has none itself.
limited "$graphrun" plan "$source/configs/har/vit.yaml" --svg=vit.svg
check "... what is kept has an arrow to the box of what reads it" awk 'text && !/^<g>/ { bad = 1 }
  { text = /text-anchor="middle">[0-9.]+ [kMG]?B</; n += text; if (text && !arrow) bad = 1; arrow = /class="l ll"/ }
  END { exit bad || !n }' vit.svg
has "gradients are reduced" ddp.svg 'all_reduce .*'
has "the update is drawn" ddp.svg 'update: .*'
has "inputs are drawn" ddp.svg 'x f32\[8,2\], y i32\[8\].*'
weights=$((5 * (2 * 64 + 64 * 128 + 128 + 128 * 64 + 64) + 2 * 64 + 64 + 64 * 2 + 2))
check "the parameters are counted" sh -c "grep -q '; 83\.8 k parameters' ddp.svg && [ $weights = 83842 ]"
drawn again.svg
check "a picture has the same bytes each time" cmp ddp.svg again.svg
drawn fsdp.svg distributed.strategy=fsdp
has "fsdp gathers weights" fsdp.svg 'all_gather .*'
has "... scatters gradients" fsdp.svg 'reduce_scatter .*'
has "... and splits weights" fsdp.svg 'dp:S0'
expect "a model with three collectives at a block" 0 -- "$graphrun" plan "$source/configs/whisper/large-v3.yaml" device=cuda --ranks=64 \
  distributed.strategy=fsdp --svg=many.svg
# The rectangles of collectives, by column and height: "x y height".
pills() { sed -n 's/.*<rect x="\([0-9]*\)" y="\([0-9]*\)".* height="\([0-9]*\)" rx=.* class="c[0-9]".*/\1 \2 \3/p' many.svg | sort -n -k1 -k2; }
check "... draws them below each other" sh -c "$(pills | awk '$1 == x && $2 < end { bad = 1 } { x = $1; end = $2 + $3; n++ } END { print (bad || n < 20 ? "false" : "true") }')"
drawn one.svg distributed.ranks=1
lacks "one rank moves nothing" one.svg 'all_reduce.*'
drawn open.svg '--expand=layers.3'
has "a pattern opens one layer" open.svg '3   16\.7 k'
has "... and leaves those before it folded" open.svg '0–2  ×3   50\.1 k'
has "... those after it by themselves" open.svg '4   16\.7 k'
has "... every op of it has a box" open.svg 'gelu'
expect "a pattern that matches no block" 2 "no block of the model matches 'layer'" "blocks are stem, layers, layers\.0" -- \
  "$graphrun" plan run.yaml --svg=x.svg --expand=layer
check "... draws nothing" test ! -e x.svg
expect "a pattern without a picture" 2 "of the picture that --svg=FILE draws" -- "$graphrun" plan run.yaml --expand=layers.3
expect "a picture in a folder that is not there" 74 "cannot write 'gone/x.svg'" -- "$graphrun" plan run.yaml --svg=gone/x.svg
if command -v python3 >/dev/null 2>&1; then
  for picture in ddp fsdp one open; do
    check "$picture is well-formed XML" python3 -c "import xml.dom.minidom; xml.dom.minidom.parse('$picture.svg')"
  done
else
  skip "pictures are well-formed XML" "no python3"
fi
sed 's/layers\.\$i/a<b\&.$i/' model.yaml >odd.yaml
expect "names with characters of XML" 0 -- "$graphrun" plan run.yaml model.graph=odd.yaml --svg=odd.svg
lacks "... are escaped" odd.svg '.*a<b.*'
expect "a run keeps the picture of its plan" 0 -- "$graphrun" run.yaml output.dir=run
check "... in its folder" grep -q '</svg>' run/plan.svg
counts
