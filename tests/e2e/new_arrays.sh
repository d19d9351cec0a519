# new_arrays.sh - `graphrun new --from` of arrays: .npz, .npy and IDX.
. "${0%/*}/lib.sh"
cat >arrays.py <<'PY'
import gzip, os, struct, sys, zipfile

def npy(descr, shape, values, fortran=False):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }" % (descr, fortran, "".join("%d," % d for d in shape))
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    kind = {"u1": "B", "f4": "f", "f8": "d", "i8": "q"}[descr[1:]]
    data = struct.pack("%s%d%s" % (">" if descr[0] == ">" else "<", len(values), kind), *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data

def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with gzip.open(path, "wb") if path.endswith(".gz") else open(path, "wb") as f:
        f.write(data)

def npz(path, **arrays):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with zipfile.ZipFile(path, "w") as z:
        for name, data in arrays.items():
            z.writestr(name + ".npy", data)

def idx(shape, values):
    return struct.pack(">BBBB%dI" % len(shape), 0, 0, 8, len(shape), *shape) + bytes(values)

SIDE = 12
def images(n, channels=1, first=False):
    out = []
    for i in range(n):
        for j in range(SIDE * SIDE * channels):
            pixel = j % (SIDE * SIDE) if first else j // channels
            out.append(200 + i % 7 if pixel // SIDE // 4 == i % 3 else i * j % 30)
    return out

def classes(n): return [i % 3 for i in range(n)]
def series(n, moments): return [((i % 3 + 1) * t % 16) / 8 - 1 + i / 500 for i in range(n) for t in range(moments)]

for n, split in ((60, "train"), (15, "test")):
    write("raw/%s-images-idx3-ubyte.gz" % ("t10k" if split == "test" else split), idx([n, SIDE, SIDE], images(n)))
    write("raw/%s-labels-idx1-ubyte" % ("t10k" if split == "test" else split), idx([n], classes(n)))
    write("four/X_%s.npy" % split, npy(">f8", [n, 4], [i % 5 + i / 50 for i in range(4 * n)], True))
    write("four/y_%s.npy" % split, npy("<f4", [n], [i / 7 for i in range(n)]))
    npz("apart/%s.npz" % split, X=npy("<f4", [n, 32, 2], series(n, 64)), y=npy("<i8", [n], classes(n)))
npz("mnist.npz", x_train=npy("|u1", [60, SIDE, SIDE], images(60)), y_train=npy("|u1", [60], classes(60)),
    x_test=npy("|u1", [15, SIDE, SIDE], images(15)), y_test=npy("|u1", [15], classes(15)))
npz("first.npz", images=npy("<f4", [60, 3, SIDE, SIDE], images(60, 3, True)), labels=npy("<i8", [60, 1], classes(60)))
npz("values.npz", image=npy("|u1", [60, SIDE, SIDE], images(60)), age=npy("<f8", [60], [i % 4 + 0.5 for i in range(60)]))
npz("channels.npz", data=npy("<f8", [60, 2, 32], series(60, 64)), target=npy("<i8", [60], classes(60)))
npz("alone.npz", x=npy("|u1", [6, SIDE, SIDE], images(6)))
npz("hot.npz", x=npy("<f4", [6, 2], range(12)), y=npy("<f4", [6, 3], range(18)))
npz("five.npz", x=npy("<f4", [6, 1, 1, 2, 2], range(24)), y=npy("<i8", [6], classes(6)))
npz("two.npz", a=npy("<f4", [6, 2], range(12)), b=npy("<f4", [6, 2], range(12)), y=npy("<i8", [6], classes(6)))
write("cut-images-idx3-ubyte", idx([60, SIDE, SIDE], images(59)))
write("cut-labels-idx1-ubyte", idx([60], classes(60)))
PY
if ! python3 arrays.py 2>"$(new_log)"; then
  skip "arrays" "there is no python3 to make them: $(tail -n 1 "$log")"
  counts
  exit
fi
# serves NAME DATA KIND FILE SAID...: a project of the data, which trains, evaluates and predicts the file
serves() {
  of_name=$1 of_data=$2 of_kind=$3 of_file=$4
  shift 4
  expect "new --from=$of_data" 0 "^p/$of_name: a project for $of_kind" "$@" -- "$graphrun" new "p/$of_name" --from="$of_data"
  expect "... which trains" 0 "training set: " -- sh -c "cd p/$of_name && '$graphrun' config.yaml output.dir=run training.max_epochs=1 distributed.ranks=1"
  expect "... evaluates" 0 "^all samples: " -- "$graphrun" eval "p/$of_name/run" --split=all
  expect "... and predicts" 0 '^{"input": "' -- "$graphrun" predict "p/$of_name/run" "$of_file"
}
serves keras mnist.npz "images with classes" mnist.npz "^60 images, in 'x' \[60, 12, 12\] of u8; to predict: 'y', 3 classes$" "^for validation: the arrays called as a split is$"
serves idx raw "images with classes" raw/t10k-images-idx3-ubyte.gz "^60 images, in 'images' \[60, 12, 12\] of u8; to predict: 'labels', 3 classes$" "^for validation: 't10k-images-idx3-ubyte.gz'$"
serves first first.npz "images with classes" first.npz "^60 images, in 'images' \[60, 3, 12, 12\] of f32; to predict: 'labels', 3 classes$"
check "... of which the channels are moved" grep -q 'transpose: x, perm: \[0, 2, 3, 1\]' p/first/graph.yaml
serves values values.npz "images with a value" values.npz "^60 images, in 'image' .*; to predict: 'age', a number$"
serves four four/X_train.npy "rows of numbers with a value" four/X_test.npy "^60 rows, in 'X' \[60, 4\] of f64; to predict: 'y', a number$" "^for validation: 'X_test.npy'$"
serves apart apart "recordings of sensors" apart/test.npz "^60 series, in 'X' \[60, 32, 2\] of f32; to predict: 'y', 3 classes$" "^for validation: 'test.npz'$"
serves channels channels.npz "recordings of sensors" channels.npz "^60 series, in 'data' \[60, 2, 32\] of f64"
check "... whose channels come first" grep -q "channels: all" p/channels/config.yaml

# refused NAME PATTERN...: no project of it
refused() {
  of_name=$1
  shift
  expect "no project of $of_name" 2 "$@" -- "$graphrun" new p/no --from="$of_name"
}
refused alone.npz "'.*/alone.npz': of its arrays none is to be predicted, y, with as many rows as x; it has: x \[6, 12, 12\] of u8$" "hint: numpy.savez.'data.npz', x=..., y=.*--label=NAME"
refused hot.npz "of one class or value for each row, .*y.argmax.*; it has: x \[6, 2\] of f32, y \[6, 3\] of f32$"
refused five.npz "there is no project for a class of each 'x'; it has: x \[6, 1, 1, 2, 2\] of f32" "hint: rows \[n, features\]; series"
refused two.npz "none is what it is to be predicted of, x; it has: a \[6, 2\] of f32, b \[6, 2\] of f32, y \[6\] of i64$"
expect "IDX that is cut short" 66 "'.*/cut-images-idx3-ubyte' is no IDX file: it is cut short" "hint: copy or write it again" -- "$graphrun" new p/no --from=cut-images-idx3-ubyte
counts
