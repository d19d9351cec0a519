# mistakes.sh - 248 ordinary mistakes of a new user: each is refused with its exit code, or warned of where the command
# goes on all the same, with one message that names the place, what was expected and found, and what to do. A line of
# the table is
#
#   NAME | EXIT CODE | what the lines of its output, joined, match | COMMAND
. "${0%/*}/lib.sh"
gr() { timeout -k 5 "$limit" "$graphrun" "$@"; }
for kind in table image text speech segmentation; do
  gr new $kind --data=$kind >"$(new_log)" 2>&1 || fail "the project $kind" "exit code $?"
  sed -i 's/^hooks.*//' $kind/config.yaml
done
quick="distributed.ranks=1 training.max_epochs=1 logging.show_samples=0"
# KIND [key=value ...]: a run of that project, which is refused.
# shellcheck disable=SC2086
project() {
  kind=$1
  shift
  gr "$kind/config.yaml" output.dir=out $quick "$@"
}
table() { project table "$@"; }
image() { project image "$@"; }
text() { project text "$@"; }
speech() { project speech "$@"; }
masks() { project segmentation "$@"; }
# changed OLD NEW SED: a file with one mistake.
changed() { sed "$3" "$1" >"$2" && ! cmp -s "$1" "$2" || echo "the pattern changes nothing: $3"; }
# config | graph KIND SED [key=value ...]: with a mistake in that file of the project.
# shellcheck disable=SC2086
config() {
  kind=$1
  changed $kind/config.yaml $kind/c.yaml "$2"
  shift 2
  gr $kind/c.yaml output.dir=out $quick "$@"
}
graph() {
  kind=$1
  changed "$kind/graph.yaml" "$kind/g.yaml" "$2"
  shift 2
  project "$kind" "model.graph=$kind/g.yaml" "$@"
}
# csv SED: with a mistake in the table; hook TEXT: with that script.
csv() {
  changed table/data.csv table/d.csv "$1"
  table data.table.path=table/d.csv
}
hook() {
  echo "$1" >h.lua
  table 'hooks=[h.lua]'
}
gr table/config.yaml output.dir=table/run $quick >"$(new_log)" 2>&1 || fail "a run" "exit code $?"
while IFS= read -r line; do
  name=${line%% | *} line=${line#* | }
  want=${line%% | *} line=${line#* | }
  rm -rf out
  grade "$name" "$want" "${line%% | *}" "${line#* | }"
done <<'MISTAKES'
a key misspelt in a file | 65 | table/c.yaml:19:3: config error: unknown key 'batchsize' in training.*hint: did you mean 'training.batch_size'. | config table 's/batch_size/batchsize/'
a key without its section | 65 | argument [0-9]+:1:1: config error: could not override 'lr': there is no key 'lr'.*hint: did you mean 'training.lr'. | table lr=0.1
a key in the wrong section | 65 | table/c.yaml:19:3: config error: unknown key 'ranks' in training.*hint: did you mean 'distributed.ranks'. | config table 's/^training:/training:\n  ranks: 2/'
a word for a number | 65 | argument [0-9]+:1:13: config error: 'training.lr' must be a number of at least 0, but is "fast", a string.*hint: training.lr: learning rate, before warm-up, scaling and | table training.lr=fast
a number with a unit | 65 | argument [0-9]+:1:21: config error: 'training.batch_size' must be an integer from 1 to 1000000000 or a mapping, but.*hint: training.batch_size: number of samples in one step; see | table training.batch_size=32k
a letter after a number | 65 | argument [0-9]+:1:13: config error: 'training.lr' must be a number of at least 0, but is "1e-3x", a.*hint: training.lr: learning rate, before warm-up, scaling and | table training.lr=1e-3x
a comma for the decimal point | 2 | argument [0-9]+:1:13: usage error: 'training.lr' is a sweep, but this command makes a single run.*hint: for a list write training.lr=.0,001.; for a string with | table training.lr=0,001
no value after = | 65 | argument [0-9]+:1:13: config error: 'training.lr' must be a number of at least 0, but is "", a string.*hint: training.lr: learning rate, before warm-up, scaling and | table training.lr=
a fraction for a whole number | 65 | argument [0-9]+:1:21: config error: 'training.batch_size' must be an integer from 1 to 1000000000 or a mapping, but.*hint: training.batch_size: number of samples in one step; see | table training.batch_size=16.5
another word for true | 65 | argument [0-9]+:1:22: config error: 'data.table.normalize' must be true or false, but is "ja", a string.*hint: data.table.normalize: normalizes each component of an | table data.table.normalize=ja
a key without its value in a file | 65 | table/c.yaml:21:6: config error: 'training.lr' must be a number of at least 0, but is null.*hint: training.lr: learning rate, before warm-up, scaling and | config table 's/lr: 5e-3/lr:/'
a limit of memory that is no size | 65 | argument [0-9]+:1:17: config error: 'training.memory' must be a size, but is 'lots'.*hint: a number and kB, MB, GB or TB, or KiB, MiB, GiB or TiB: | table training.memory=lots
less memory than any plan needs | 65 | argument [0-9]+:1:17: config error: training.memory is 1.0 kB, but a rank needs .* kB, and at least.*hint: training.precision=bf16 .* | table training.memory=1KiB
a key as a flag | 2 | usage error: there is no flag --lr.*hint: keys have no dashes: training.lr=VALUE | table --lr 0.1
a key with dashes | 2 | usage error: there is no flag --training.lr.*hint: keys have no dashes: training.lr=VALUE | table --training.lr=0.1
+ before a key that is there | 65 | argument [0-9]+:1:2: config error: could not add 'training.lr': it exists already.*hint: to change it, write training.lr=0.1; to add or change | table +training.lr=0.1
~ before a key that is not there | 65 | argument [0-9]+:1:2: config error: could not delete 'training.warmup': it does not exist.*hint: remove this argument | table ~training.warmup
++ before a key that does not exist | 65 | argument [0-9]+:1:3: config error: unknown key 'lrr' in training.*hint: did you mean 'training.lr'. | table ++training.lrr=1
spaces around = | 2 | argument [0-9]+:1:12: usage error: 'training.lr' has no '='.*hint: write KEY=VALUE, .KEY=VALUE to add a key, or ~KEY to | table training.lr = 0.1
: for = | 2 | argument [0-9]+:1:12: usage error: 'training.lr:0.1' has no '='.*hint: write KEY=VALUE, .KEY=VALUE to add a key, or ~KEY to | table training.lr:0.1
a script in the place of the configuration | 2 | usage error: 'train.py' is neither a command nor a configuration file.*hint: there is no script: graphrun CONFIG.yaml; `graphrun new | gr train.py --config-name=table
--config before the configuration | 2 | usage error: there is no flag --config.*hint: a configuration has no flag: graphrun CONFIG.yaml | gr --config table/config.yaml
the section trainer on the command line | 65 | argument [0-9]+:1:1: config error: could not override 'trainer.max_epochs': there is no key.*hint: did you mean 'training.max_epochs'. | table trainer.max_epochs=3
the section trainer in a file | 65 | table/c.yaml:18:1: config error: unknown key 'trainer' in the configuration.*hint: did you mean 'training'. | config table 's/^training:/trainer:/'
learning_rate of Transformers | 65 | argument [0-9]+:1:1: config error: could not override 'training.learning_rate': there is no key.*hint: did you mean 'training.lr'. | table training.learning_rate=1e-3
num_train_epochs of Transformers | 65 | argument [0-9]+:1:1: config error: could not override 'training.num_train_epochs': there is no key.*hint: did you mean 'training.max_epochs'. | table training.num_train_epochs=3
fp16 of Transformers | 65 | argument [0-9]+:1:1: config error: could not override 'training.fp16': there is no key 'training.fp16'.*hint: did you mean 'training.precision'. | table training.fp16=true
a class for an optimizer | 65 | argument [0-9]+:1:20: config error: 'training.optimizer' must be 'sgd', 'adam', 'adamw', 'lion', 'rmsprop', 'adagrad'.*hint: training.optimizer: name of the optimizer; its | table training.optimizer=torch.optim.Adam
a class to be called | 65 | table/c.yaml:19:3: config error: unknown key '_target_' in training.*hint: no code is called: model.graph names the model's file, | config table 's/^training:/training:\n  _target_: torch.optim.Adam/'
a scheduler as a key | 65 | argument [0-9]+:1:1: config error: could not override 'training.scheduler': there is no key.*hint: a schedule of the learning rate is a hook: | table training.scheduler=cosine
a parameter that the optimizer lacks | 65 | argument [0-9]+:1:1: config error: adamw has no parameter 'nesterov'.*hint: it has: beta1, beta2, eps, weight_decay | table training.optimizer_params.nesterov=true
one without a value | 65 | argument [0-9]+:1:1: config error: adamw has no parameter 'nesterov'.*hint: it has: beta1 | table training.optimizer_params.nesterov=null
a parameter of a group that its optimizer lacks | 65 | argument [0-9]+:1:[0-9]+: config error: .*'nesterov' | table "training.groups=[{match: '*', nesterov: null}]"
parameters of an optimizer that are a list | 65 | argument [0-9]+:1:27: config error: training.optimizer_params must be a mapping, but is a list.*hint: such as .weight_decay: 0.01. | table 'training.optimizer_params=[1]'
the learning rate among them | 65 | argument [0-9]+:1:28: config error: adamw has no parameter 'lr'.*hint: the learning rate is training.lr | table 'training.optimizer_params={lr: 1}'
one of two numbers that is one | 65 | argument [0-9]+:1:[0-9]+: config error: 'training.optimizer_params.betas' of adamw must be a list of 2 numbers, but is a list of 1 | table 'training.optimizer_params={betas: [0.9]}'
one of two numbers that is a word | 65 | argument [0-9]+:1:[0-9]+: config error: 'training.optimizer_params.betas' of adamw must be a list of 2 numbers, but is a string | table 'training.optimizer_params={betas: x}'
the second of two that is out of range | 65 | argument [0-9]+:1:[0-9]+: config error: 'training.optimizer_params.betas.1.' must be a number of at least 0 and below 1, but is 2.*hint: beta2: .*; default: 0.999 | table 'training.optimizer_params={betas: [0.9, 2]}'
a switch of an optimizer that is a number | 65 | argument [0-9]+:1:[0-9]+: config error: 'training.optimizer_params.nesterov' must be true or false, but is 2.*hint: nesterov: .*; default: true | table training.optimizer=muon 'training.optimizer_params={nesterov: 2}'
two mistakes in them | 65 | has no parameter 'alpha'.*has no parameter 'gamma' | table 'training.optimizer_params={alpha: 1, gamma: 2}'
a rule of a layout that is a number | 65 | argument [0-9]+:1:21: config error: a rule of distributed.layout is no mapping.*hint: as in .match: | gr plan table/config.yaml distributed.ranks=2 distributed.strategy=tp 'distributed.mesh={tp: 2}' 'distributed.layout=[5]'
a rule of a layout without a pattern | 65 | argument [0-9]+:1:21: config error: a rule of distributed.layout has no 'match', the pattern of weights' names.*hint: as in .match: | gr plan table/config.yaml distributed.ranks=2 distributed.strategy=tp 'distributed.mesh={tp: 2}' 'distributed.layout=[{tp: S0}]'
a rule of a layout with a number for a pattern | 65 | argument [0-9]+:1:21: config error: a rule of distributed.layout has a 'match' that is no pattern of names.*hint: as in .match: | gr plan table/config.yaml distributed.ranks=2 distributed.strategy=tp 'distributed.mesh={tp: 2}' 'distributed.layout=[{match: 5, tp: S0}]'
a rule of a layout for another axis | 65 | argument [0-9]+:1:32: config error: a mesh has no axis 'pp'.*hint: did you mean 'dp' | gr plan table/config.yaml distributed.ranks=2 distributed.strategy=tp 'distributed.mesh={tp: 2}' 'distributed.layout=[{match: a, pp: S0}]'
a layout on an axis that no weight has | 65 | argument [0-9]+:1:36: config error: distributed.layout: 'S9' is no layout on the mesh axis 'tp'.*hint: R: replicated on every rank | gr plan table/config.yaml distributed.ranks=2 distributed.strategy=tp 'distributed.mesh={tp: 2}' 'distributed.layout=[{match: a, tp: S9}]'
no layout at all | 65 | argument [0-9]+:1:20: config error: distributed.layout must be a list of rules, found null.*hint: as in | gr plan table/config.yaml distributed.ranks=2 distributed.strategy=tp 'distributed.mesh={tp: 2}' distributed.layout=null
momentum of an optimizer without it | 65 | argument [0-9]+:1:1: config error: adamw does not read training.momentum.*hint: remove it, or set training.optimizer to one that does: | table training.momentum=0.9
one number for two | 65 | argument [0-9]+:1:16: config error: 'training.betas' must be a list of 2, each a number of at least 0.*hint: training.betas: beta1 and beta2 of optimizers that have | table 'training.betas=0.9'
a brace that is not closed | 65 | table/c.yaml:10:1: config error: did not find expected ',' or '.'.*hint: close the list or mapping that starts there; a string | config table 's/layers: 2}/layers: 2/'
a tab in YAML | 65 | table/c.yaml:11:1: config error: found character that cannot start any token.*hint: indent with spaces: this line starts with a tab | config table 's/^  source:/\tsource:/'
a key given twice | 65 | table/c.yaml:22:3: config error: the key 'lr' is given twice.*hint: remove one of them | config table 's/^training:/training:\n  lr: 1/'
no space after a colon | 65 | table/c.yaml:21:3: config error: there is no ':' after this key.*hint: check the indentation, and that every key is followed | config table 's/lr: 5e-3/lr:5e-3/'
a line indented too far | 65 | table/c.yaml:21:6: config error: mapping values are not allowed in this context.*hint: indent this line as its neighbours; a string that | config table 's/^  optimizer: adamw .*/  optimizer: adamw/; s/^  lr:/   lr:/'
a line indented too far, below a comment | 65 | table/c.yaml:21:4: config error: did not find expected key.*hint: check the indentation, and that every key is followed | config table 's/^  lr:/   lr:/'
a quote that is not closed | 65 | table/c.yaml:14:12: config error: this quote is never closed.*hint: close the quote that begins there; inside single quotes | config table 's/label: fruit /label: "fruit/'
an interpolation of nothing | 65 | table/c.yaml:21:7: config error: 'training.lr' refers to 'training.rate', which does not exist.*hint: paths start at the root; '...x.' is a sibling, '....x.' | config table 's/lr: 5e-3/lr: ${training.rate}/'
a variable of the environment that is not set | 65 | table/c.yaml:21:7: config error: the environment variable 'LR' is not set.*hint: set it, or give a default: ..oc.env:LR,DEFAULT. | config table 's/lr: 5e-3/lr: ${oc.env:LR}/'
a default that is not there | 65 | table/c.yaml:6:12: config error: there is no configuration 'base'.*hint: searched: 'table'; add other folders with 'hydra: | config table 's/^model:/defaults: [base]\nmodel:/'
a configuration in Latin-1 | 65 | table/c.yaml:18:7: config error: invalid trailing UTF-8 octet.*hint: write the file in UTF-8, without control characters | config table 's/^training:/# caf\xe9\ntraining:/'
an empty configuration | 65 | e.yaml:1:1: config error: 'model.graph' is not given.*hint: path of the model's file, in the graph language, or of | : >e.yaml; gr e.yaml
a configuration misspelt | 65 | config error: there is no configuration file 'table/confg.yaml'.*hint: did you mean 'table/config.yaml'. | gr table/confg.yaml
a folder for a configuration | 2 | usage error: 'table' is a folder, not a configuration.*hint: give the path of one of its .yaml files | gr table
a model for a configuration | 65 | table/graph.yaml:1:1: config error: 'table/graph.yaml' is the file of a model, not a configuration.*hint: a configuration names it: model: .graph: | gr table/graph.yaml
a configuration named .yml | 65 | config error: cannot find primary config 'c2.yml' in 'table'.*hint: rename 'table/c2.yml': only .yaml files are read | cp table/config.yaml table/c2.yml; gr table/c2.yml output.dir=out $quick
a command misspelt | 2 | usage error: 'tran' is neither a command nor a configuration file.*hint: did you mean 'graphrun train'. | gr tran table/config.yaml
a longer word for a command | 2 | usage error: 'evaluate' is neither a command nor a configuration file.*hint: did you mean 'graphrun eval'. | gr evaluate table/run
a new project in a folder that is there | 2 | usage error: 'table' is there already.*hint: the folder is written as a new one: give it | gr new table
a kind of project misspelt | 2 | usage error: there is no kind of project 'tabel'.*hint: did you mean 'table'. there are table .rows of numbers | gr new x --data=tabel
a project for data that are not there | 2 | usage error: --from: there is no 'nothing.csv'.*hint: the path of your data: a file, or a folder with a | gr new x --from=nothing.csv
data misspelt | 66 | argument [0-9]+:1:17: data error: cannot open the file 'table/dat.csv': there is no such file.*hint: did you mean 'table/data.csv'.; '.' in a path stands | table data.table.path=table/dat.csv
a folder for a table | 66 | argument [0-9]+:1:17: data error: cannot open the file 'table': it is a folder.*hint: only regular files are read: name one in it | table data.table.path=table
the label in other capitals | 65 | argument [0-9]+:1:18: config error: 'table/data.csv' has no column 'Fruit'.*hint: did you mean 'fruit'. it has: weight, diameter, sugar, | table data.table.label=Fruit
a feature misspelt | 65 | argument [0-9]+:1:21: config error: 'table/data.csv' has no column 'weigth'.*hint: did you mean 'weight'. it has: weight, diameter, sugar, | table 'data.table.features=[weigth]'
a row with too many fields | 66 | table/d.csv:7:1: data error: this line has 6 fields, the first has 4.*hint: a field with the delimiter ',' in it is put in quotes | csv '7s/$/,1,2/'
text in a column of numbers | 66 | table/d.csv:9:1: data error: 'n.a.' in the column 'weight' is no number, as 599 other cells of it.*hint: correct the cell; data.table.on_bad_cell=missing takes | csv '9s/^[^,]*/n.a./'
an empty table | 66 | table/d.csv:1:1: data error: the table is empty.*hint: copy or write the file again, or name another | csv 'd'
a table without rows | 66 | table/d.csv:1:1: data error: 'table/d.csv' has no rows, only a line of names.*hint: a row is a sample: write some, or name another file | csv '2,$d'
a quote in a table that is not closed | 66 | table/d.csv:5:1: data error: a quoted field does not end.*hint: close it with '"'; inside it a quote is written twice | csv '5s/^/"/'
a table in Latin-1 | 65 | table/config.yaml:14:12: config error: 'table/d.csv' has no column 'fruit'.*hint: it has: weight, diameter, sugar, fr | csv '1s/fruit/fr\xfcit/'
NaN in a table | 66 | table/d.csv:9:1: data error: the column 'weight' has no value in this line.*hint: fill it in; or take it out, or leave out all such | csv '9s/^[^,]*/nan/'
CSV named .parquet | 66 | argument [0-9]+:1:17: data error: 'table/c.parquet' is no Parquet file: it does not begin with PAR1.*hint: copy or write the file again | cp table/data.csv table/c.parquet; table data.table.path=table/c.parquet
a spreadsheet | 66 | argument [0-9]+:1:17: data error: 'table/c.xlsx' does not say what kind of table it is.*hint: its name ends in .csv, .tsv, .parquet, .txt, .jsonl, | cp table/data.csv table/c.xlsx; table data.table.path=table/c.xlsx
the wrong delimiter | 66 | table/data.csv:1:1: data error: between ';' this line has 1 field; between ',' each of the first 16.*hint: set data.table.delimiter: ",", or put fields with ',' | table "data.table.delimiter=';'"
a window longer than the table | 66 | table/data.csv:1:1: data error: no series of 'table/data.csv', which has 600 rows, has the 100000.*hint: a smaller data.table.window, or longer series | table data.table.window=100000
files of other lengths side by side | 66 | argument [0-9]+:1:17: data error: 'extra' in 'ex.csv' has 99 rows, others have 600.*hint: a row is one sample: all columns have as many, fewer | head -n 100 table/data.csv | cut -d, -f1 | sed '1s/.*/extra/' >ex.csv; table "data.table.path=[table/data.csv,ex.csv]"
validation data with other columns | 66 | ab.csv:1:1: data error: 'ab.csv' has no column 'fruit', the label of 'table/data.csv'.*hint: it has: a, b | printf 'a,b\n1,2\n' >ab.csv; table data.table.eval_path=ab.csv
a key of another source | 65 | argument [0-9]+:1:17: config error: 'data.image.size' is a key of the source 'image', and data.source is.*hint: remove it, or set data.source=image | table data.image.size=3
a path without its source | 65 | argument [0-9]+:1:1: config error: could not override 'data.path': there is no key 'data.path'.*hint: did you mean 'data.table.path'. | table data.path=table/data.csv
per cent for a fraction | 65 | argument [0-9]+:1:26: config error: 'data.validation_fraction' must be a number of at least 0 and below.*hint: data.validation_fraction: fraction of the samples used | table data.validation_fraction=20
an empty folder of images | 66 | argument [0-9]+:1:17: data error: the folder 'empty' has no folders with images.*hint: it has a folder for each class, whose name is the | mkdir -p empty; image data.image.path=empty
images without folders of classes | 66 | argument [0-9]+:1:17: data error: the folder 'image/images/circle' has images and no folders: their.*hint: it has a folder for each class, whose name is the | image data.image.path=image/images/circle
text named .jpg | 66 | data error: 'bad/a/00.jpg' is no image that is read.*hint: PNG, JPEG, PPM, PGM and .npy are, whatever a file's | mkdir -p bad/a bad/b; cp image/images/circle/0*.ppm bad/a; cp image/images/square/0*.ppm bad/b; echo hello >bad/a/00.jpg; image data.image.path=bad
a size as text | 65 | argument [0-9]+:1:17: config error: 'data.image.size' must be a list of 2, each an integer from 1 to.*hint: data.image.size: height and width of every sample, such as | image data.image.size=24x24
a transform misspelt | 65 | argument [0-9]+:1:19: config error: there is no transform 'flipp'.*hint: did you mean 'flip'.; there are flip, crop, rotate, | image 'data.transforms=[{flipp: {p: 0.5}}]'
a parameter that the transform lacks | 65 | argument [0-9]+:1:26: config error: the transform 'flip' has no parameter 'prob'.*hint: there are p, axis | image 'data.transforms=[{flip: {prob: 0.5}}]'
an op misspelt | 65 | table/g.yaml:12:13: config error: there is no op or block 'reul'.*hint: did you mean 'relu'.; the first key of a node is its | graph table 's/{relu: x}/{reul: x}/'
a layer of PyTorch | 65 | table/g.yaml:11:13: config error: there is no op or block 'nn.Linear'.*hint: did you mean 'linear'.; the first key of a node is its | graph table 's/{linear: x, out: width}/{nn.Linear: x, out: width}/'
an attribute of PyTorch | 65 | table/g.yaml:11:24: config error: block 'linear' has no 'out_features'.*hint: did you mean 'out'.; allowed keys: out, bias, init, | graph table 's/out: width/out_features: width/'
an op written as a call | 65 | table/g.yaml:12:12: config error: 'relu.x.' is not defined here.*hint: a node is a mapping of its op: .relu: x., not relu.x. | graph table 's/{relu: x}/relu(x)/'
dropout in per cent | 65 | table/g.yaml:13:13: type error: dropout with p 50 is not possible.*hint: p is the probability that an element is dropped, at | graph table 's/dropout: 0.1}/dropout: 50}/'
a name that is not defined | 65 | table/g.yaml:12:19: config error: 'h' is not defined here.*hint: there are: x, y | graph table 's/{relu: x}/{relu: h}/'
a parameter misspelt in the model | 65 | table/g.yaml:11:29: config error: there is no parameter or dimension 'widht' here.*hint: did you mean 'width'. | graph table 's/out: width/out: widht/'
a sum of numbers and classes | 65 | table/g.yaml:12:13: type error: operand 2 is i32, but operand 1 is f32.*hint: the op 'cast' converts one of them to the dtype of the | graph table 's/{relu: x}/{add: [x, y]}/'
sizes that do not fit | 65 | table/g.yaml:15:14: type error: matmul: x f32.32,32. and w f32.7,3.: sizes 32 and 7 differ.*hint: `graphrun ops matmul` says what it takes | graph table 's/- logits: {linear.*/- w: {param: [7, classes], init: normal, name: w}\n  - logits: {matmul: [x, w]}/'
a loss without labels | 65 | table/g.yaml:15:12: type error: takes 2 operands, got 1.*hint: `graphrun ops cross_entropy` says what it takes | graph table 's/cross_entropy: \[logits, y\]/cross_entropy: logits/'
an input that the data do not give | 65 | table/g.yaml:5:3: config error: the data gives no 'features' for this input.*hint: it gives x f32.32,3., y i32.32., class_weight f32.32. | graph table 's/^  x: {shape/  features: {shape/'
a division by zero | 65 | table/g.yaml:11:35: config error: division by zero in the expression 'width / 0'.*hint: numbers, parameters and dimensions between operators: | graph table 's/out: width/out: width \/ 0/'
a script for a model | 65 | argument [0-9]+:1:13: config error: 'm.py' is no model: it has neither inputs nor nodes.*hint: a model is a file in the graph language, such as | echo 'import torch' >m.py; table model.graph=m.py
a configuration for a model | 65 | argument [0-9]+:1:13: config error: 'table/config.yaml' is no model: it is a configuration.*hint: a model is a file in the graph language, such as | table model.graph=table/config.yaml
a word for a size | 65 | argument [0-9]+:1:20: config error: model.params.width is an integer, found a string.*hint: give an integer, as its default is | table model.params.width=big
a negative size | 65 | graphs/blocks.yaml:26:24: config error: axis 0 of a shape is -3, and must be at least 1.*hint: sizes are computed from params: of the file, which | table model.params.width=-3
more ranks than samples | 65 | argument [0-9]+:1:19: config error: 64 ranks cannot share batches of 32: some would have no sample.*hint: fewer ranks, a larger training.batch_size, or | table distributed.ranks=64 training.batch_size=32
a device that does not exist | 65 | argument [0-9]+:1:8: config error: 'device' must be 'auto', 'gpu', 'cuda', 'cpu' or 'null', but is.*hint: did you mean 'gpu'. | table device=tpu
a mesh as text | 65 | argument [0-9]+:1:18: config error: distributed.mesh must map axes to sizes, found a string.*hint: as in 'distributed.mesh=.dp:2,tp:2.', in quotes: shells | table distributed.strategy=tp distributed.mesh=2x2
a pattern of blocks without match | 65 | argument [0-9]+:1:21: config error: 'layers..' matches no block or part of the model.*hint: its blocks are: linear, add_bias; a part is a path such | table 'training.recompute=[layers.*]'
a path of blocks that is none | 65 | argument [0-9]+:1:20: config error: 'body' matches no block or part of the model.*hint: did you mean 'body\.\*'\? | table training.recompute=body
adapters of no layer | 65 | argument [0-9]+:1:20: config error: '..q' of model.lora matches no linear layer.*hint: the path of a layer is, for | table 'model.lora={match: "*.q", rank: 4}'
a group of no weight | 65 | argument [0-9]+:1:26: config error: 'actor..' matches no weight of the model.*hint: a weight's name is, for example, 'body.0.weight' | table 'training.groups=[{match: "actor.*", lr: 1e-3}]'
weights of other sizes | 78 | argument [0-9]+:1:17: checkpoint error: 5 of the model's 6 weights do not fit 'w.safetensors'.*hint: weights go by name, which `rename:` of model.init_from | gr export table/run w.safetensors >/dev/null; table model.init_from=w.safetensors model.params.width=16
a pickle of PyTorch | 78 | checkpoint error: 'w.pt' is a pickle of PyTorch, which is not read: reading one runs code of the.*hint: convert it where it is trusted: python3 -c 'import | echo x >w.pt; table model.init_from=w.pt
resuming another model | 78 | checkpoint error: tensor 'body.0.weight' is f32.16, 3. here and f32.32, 3. in checkpoint.*hint: the model must have the sizes of the run that wrote the | table checkpoint.resume=$(ls -d table/run/checkpoints/step-* | tail -1) model.params.width=16
a metric misspelt | 65 | argument [0-9]+:1:19: config error: the model has no metric 'acuracy'.*hint: did you mean 'accuracy'. it has: loss, accuracy, | table checkpoint.metric=acuracy
importing two files | 2 | usage error: one file is imported at a time.*hint: graphrun import FILE.onnx .-o GRAPH.yaml. .--flat. | gr import a.onnx b.onnx
exporting to .pt | 2 | usage error: cannot export to 'model.pt': the file's ending decides its format, and must be.*hint: PyTorch, JAX and Hugging Face read FILE.safetensors, | gr export table/run model.pt
predict with its arguments swapped | 2 | usage error: 'table/data.csv' is a file, not the folder of a run.*hint: the folder comes first: `graphrun predict RUN | gr predict table/data.csv table/run
predicting rows without a feature | 66 | two.csv:1:1: data error: 'two.csv' has no column 'sugar', a feature of the run.*hint: it has: weight, diameter | cut -d, -f1,2 table/data.csv >two.csv; gr predict table/run two.csv
a plot as PNG | 2 | usage error: 'x.png' would be a picture of another kind: SVG is written.*hint: name it x.svg, which browsers show | gr plot table/run --out=x.png
what ckpt cannot do | 2 | usage error: graphrun ckpt cannot do 'lst': it can list, show and verify.*hint: graphrun ckpt list.show.verify DIRECTORY: a run's folder, its | gr ckpt lst table/run
a hook that reads what is not given | 70 | h.lua:1:1: hook error: attempt to perform arithmetic on a nil value .field 'gamma'..*hint: hooks_params.gamma, which this hook reads, is not | hook 'return { lr = function(ctx) return ctx.lr * ctx.params.gamma end }'
a hook that calls what does not exist | 70 | h.lua:1:1: hook error: there is no global 'foo'.*hint: declare it with 'local' before its use; hooks have no | hook 'return { on_step_end = function(ctx) foo(ctx) end }'
an event misspelt in a hook | 70 | h.lua:1:1: hook error: there is no event 'on_epoch_ends'.*hint: did you mean 'on_epoch_end'. | hook 'return { on_epoch_ends = function(ctx) end }'
a hook in Python | 70 | h.py:1:1: hook error: syntax error near 'f'.*hint: a hook is a script of Lua that returns its functions .docs/hooks.md.: return | echo 'def f(): pass' >h.py; table hooks=[h.py]
metrics of texts of a classifier | 65 | argument [0-9]+:1:23: config error: training.text_metrics: the model predicts no tokens with lengths.*hint: generation.max_tokens makes a model that generates do | table 'training.text_metrics={wer: {}}'
a tokenizer that is none | 66 | tok2.json:1:1: data error: the file has no "model".*hint: it should be the tokenizer.json of Hugging Face's | echo '{}' >tok2.json; text data.tokenizer=tok2.json
a file of ONNX that is none | 65 | config error: 'm.onnx' is no file of ONNX, or damaged.*hint: files of ONNX are protocol buffers, as | echo hello >m.onnx; gr import m.onnx
a plan that is none | 65 | config error: cannot find primary config 'x.plan' in '.'.*hint: rename './x.plan': only .yaml files are read; --diff | echo x >x.plan; gr plan table/config.yaml --diff=x.plan
kHz for a sample rate | 65 | argument [0-9]+:1:18: config error: 'data.speech.sample_rate' must be an integer from 1000 to 1000000,.*hint: data.speech.sample_rate: recordings are resampled to | speech data.sample_rate=16kHz
a table for a manifest | 66 | data error: 'table/data.csv' is a table, and recordings with transcripts are listed by a manifest.*hint: a line of a manifest is ."audio_path": "a.wav", "text": | speech data.manifest=table/data.csv
predicting onto the table | 74 | i/o error: cannot write 'in.txt': it is there, and is no file that this command writes.*hint: name another file, or remove it | cp table/data.csv in.txt; gr predict table/run in.txt --out=in.txt || { code=$?; cmp table/data.csv in.txt && exit $code; }
the report onto a table | 74 | i/o error: cannot write 'in.csv': it is there, and is no file that this command writes.*hint: name another file, or remove it | cp table/data.csv in.csv; gr report table/run --out=in.csv
a plot onto a configuration | 74 | i/o error: cannot write 'k.yaml': it is there, and is no file that this command writes.*hint: name another file, or remove it | cp table/config.yaml k.yaml; gr plot table/run --out=k.yaml
importing onto a graph | 74 | i/o error: cannot write 'g.yaml': it is there, and is no file that this command writes.*hint: name another file, or remove it | cp table/graph.yaml g.yaml; gr export table/run q.onnx; gr import q.onnx -o g.yaml
infinity as YAML has it | 65 | argument [0-9]+:1:13: config error: 'training.lr' must be a number of at least 0, but is ".inf", a string.*hint: numbers are written as 20, 1e-3 or inf on the command | table training.lr=.inf
a hexadecimal number | 65 | argument [0-9]+:1:21: config error: 'training.batch_size' must be an integer from 1.*hint: numbers are written as 20, 1e-3 or inf on the command | table training.batch_size=0x20
exporting without a file | 2 | usage error: no file is given to write.*hint: graphrun export RUN FILE.safetensors.FILE.npz.FILE.onnx | gr export table/run
looking at no data | 2 | usage error: no configuration is given.*hint: graphrun data inspect CONFIG.yaml; .graphrun new NAME. makes a project | gr data inspect
a new project without --from | 2 | usage error: 'table/data.csv' is one argument too many.*hint: did you mean --from=table/data.csv. *$ | gr new unnamed table/data.csv
a new project of a file whose name is misspelt | 2 | usage error: --from: there is no 'table/dta.csv'.*hint: did you mean 'table/data.csv'. *$ | gr new misspelt --from=table/dta.csv
a new project with a blank in its name | 0 | to train: *cd 'of blanks' && graphrun config.yaml | gr new 'of blanks' --from=table/data.csv | tr T t
a new project without a name | 2 | usage error: no name is given.*hint: graphrun new NAME | gr new
a label that the data lack | 2 | table/data.csv:1:1: usage error: --label: there is no column 'Fruits'.*hint: did you mean 'fruit'.; it has: weight, diameter, sugar, fruit | gr new x --from=table/data.csv --label=Fruits
--version misspelt | 2 | usage error: there is no flag --verison.*hint: did you mean --version. | gr --verison
evaluating a configuration | 2 | usage error: 'table/config.yaml' is a configuration, not the folder of a run.*hint: .graphrun table/config.yaml. trains it | gr eval table/config.yaml
exporting a program that is not there | 2 | usage error: the model has no program 'actor'.*hint: it has: train, eval | gr export table/run m.onnx --program=actor
importing a pickle | 2 | usage error: 'w.pt' does not end in .onnx.*hint: graphrun import FILE.onnx | gr import w.pt
params of a model of ONNX | 65 | table/config.yaml:8:12: config error: the model has no 'width'.*hint: remove it: nothing is allowed here | table model.graph=q.onnx 'model.loss={cross_entropy: [logits, y]}'
a search without trials | 65 | argument [0-9]+:1:24: config error: hydra.sweeper.n_trials must be a whole number from 1 to 10000, but is 0 | gr -m table/config.yaml hydra/sweeper=optuna hydra.sweeper.n_trials=0 'training.lr=interval(0.001,1)'
a metric for the loss | 65 | table/g.yaml:16:11: unsupported error: op 'accuracy' has no gradient.*hint: .train:. names a loss that does not depend on it, such as cross_entropy | graph table 's/^train: loss/train: acc/'
a dtype of PyTorch | 65 | table/g.yaml:5:29: config error: 'float32' is not a dtype.*hint: f32, i32, i64 or u8 | graph table 's/dtype: f32}/dtype: float32}/'
two ops in a node | 65 | table/g.yaml:12:22: config error: op 'relu' has no attribute 'tanh'.*hint: 'tanh' is an op: give it a node of its own | graph table 's/{relu: x}/{relu: x, tanh: x}/'
images that are not read | 66 | argument [0-9]+:1:17: data error: the folder 'gif' has no images that are read: 'gif/a/1.gif' is none, by its name.*hint: images are .png, .jpg, .jpeg, .ppm, .pgm and .npy: convert the others | mkdir -p gif/a gif/b; echo GIF >gif/a/1.gif; echo GIF >gif/b/1.gif; image data.image.path=gif
a table that is packed | 66 | z.csv:1:[0-9]+: data error: there is a NUL byte: this is no text.*hint: it is packed by gzip: gunzip unpacks it | gzip -nc table/data.csv >z.csv; table data.table.path=z.csv
a text that is a number | 66 | m.jsonl:1:29: data error: expected text in double quotes as the value of "text".*hint: a line of a manifest is ."audio_path": "a.wav", "text": | echo '{"audio_path": "a", "text": 5}' >m.jsonl; speech data.manifest=m.jsonl
a manifest without texts | 66 | m.jsonl:1:1: data error: the key "text" is missing.*hint: a line of a manifest is ."audio_path": "a.wav", "text": | echo '{"audio_path": "a", "transcript": "A"}' >m.jsonl; speech data.manifest=m.jsonl
a number for the params of hooks | 65 | argument [0-9]+:1:14: config error: hooks_params must be a mapping, but is a float.*hint: hooks_params.NAME=VALUE sets | table hooks_params=0.9
a run whose checkpoint is cut short | 78 | checkpoint error: the best checkpoint, of step [0-9]+, cannot be read: .*is damaged.*hint: none that is there can be read: .graphrun ckpt verify | cp -r table/run cut; truncate -s 50 cut/checkpoints/step*/*; gr eval cut
images in a folder within the folder | 66 | argument [0-9]+:1:17: data error: all [0-9]+ images are of one class, 'images'.*hint: if the folders in it are the classes, name it: data.image.path=nest/images | mkdir -p nest; cp -r image/images nest; image data.image.path=nest
a size with a fraction | 65 | table/g.yaml:11:29: config error: 'out' is an integer, found a float, 41.6.*hint: floor.x. rounds down | graph table 's/out: width}/out: width * 1.3}/'
a metric misspelt in a hook | 70 | h.lua:1:1: hook error: attempt to perform arithmetic on a nil value .field 'acc'..*hint: there is no such field: ctx.metrics has loss and the | hook 'return { on_eval_end = function(ctx) print(ctx.metrics.acc + 1) end }'
help for what is no command | 2 | usage error: 'trian' is neither a command nor a configuration file.*hint: did you mean 'graphrun train'. | gr help trian
a run's folder to resume from | 78 | checkpoint error: 'table/run' is not a checkpoint.*hint: correct the path; it is the folder of a run, which output.dir=table/run goes on with | table checkpoint.resume=table/run
NumPy's weights named safetensors | 78 | checkpoint error: 'n.safetensors' is damaged or not a safetensors file.*hint: copy or export it again | gr export table/run n.npz; cp n.npz n.safetensors; table model.init_from=n.safetensors
no batch in a run of a sweep | 65 | training.batch_size=0 .*in run 0 of the sweep | gr -m table/config.yaml 'training.batch_size=range(0,3)' $quick
a sweep over no value | 2 | no value to sweep over.*hint: range.A,B. ends before B | gr -m table/config.yaml 'training.seed=range(3,3)' $quick
a host of no machine | 72 | hang error: rank 0 was not found within [0-9.]+ s: no machine is called 'no.such.invalid' here.*hint: correct the name | export RANK=0 WORLD_SIZE=2 MASTER_ADDR=no.such.invalid MASTER_PORT=29500; gr table/config.yaml distributed.timeout=1 output.dir=out
a learning rate for an evaluation | 0 | warning: argument [0-9]+:1:13: 'training.lr' has no effect: nothing is trained | gr eval table/run training.lr=0.1
epochs for an export | 0 | warning: argument [0-9]+:1:21: 'training.max_epochs' has no effect: nothing is trained | gr export table/run q.onnx training.max_epochs=3
a search between fractions for a whole number | 65 | argument [0-9]+:1:21: config error: 'training.batch_size' must be an integer.* but is 8.0 .*training.batch_size=8.0.*in a trial with the first values.*whole numbers are searched by int | gr -m table/config.yaml hydra/sweeper=optuna hydra.sweeper.n_trials=2 'training.batch_size=interval(8,64)' $quick
a group of configurations that is not there | 65 | argument [0-9]+:1:2: config error: could not add 'model': it exists already.*hint: it is a section, whose keys are model.KEY=VALUE; and no folder that is searched has a folder 'model' of | table +model=resnet
a configuration for a section | 65 | argument [0-9]+:1:7: config error: 'model' must be a mapping, but is a string.*hint: its keys are listed by .graphrun config --help model.; 'defaults: ..model: resnet..' takes model/resnet.yaml | table model=resnet
an option that a group has not | 65 | ^argument [0-9]+:1:8: config error: there is no configuration 'model/resnet'.*the options of 'model' are: mlp *$ | mkdir -p table/model; echo 'graph: graph.yaml' >table/model/mlp.yaml; sed '1i defaults: [{model: mlp}, _self_]' table/config.yaml >table/c.yaml; gr table/c.yaml +model=resnet
a layout that is none | 65 | argument [0-9]+:1:42: config error: distributed.layout: 'Q' is no layout on the mesh axis 'dp'.*hint: R: replicated on every rank; S0, S1 | table 'distributed.layout=[{match: "body*", dp: Q}]'
a layout without match | 65 | table/c.yaml:[0-9]+:24: config error: a rule of distributed.layout has no 'match'.*hint: as in .match: | config table 's/^distributed:.*/distributed: {layout: [{mtch: "body*", dp: S0}]}/' 
a metric misspelt in a search | 65 | ^argument [0-9]+:1:19: config error: the model has no metric 'acuracy'.*in a trial with the first values.*hint: did you mean 'accuracy'. it has: loss, accuracy, f1_macro *$ | gr -m table/config.yaml hydra/sweeper=optuna hydra.sweeper.n_trials=2 'training.lr=interval(0.001,1)' checkpoint.metric=acuracy $quick
a metric misspelt in a sweep | 65 | ^argument [0-9]+:1:19: config error: the model has no metric 'acuracy'.*in run 0 of the sweep.*f1_macro *$ | gr -m table/config.yaml training.lr=1e-3,1e-2 checkpoint.metric=acuracy $quick
less memory than the weights | 65 | argument [0-9]+:1:17: config error: training.memory is 1.0 kB.*hint: .*a smaller model .model.params.width is 32, model.params.layers is 2.: weights and the optimizer's states alone need | table training.memory=1KiB
less memory than the batch | 65 | argument [0-9]+:1:17: config error: training.memory is 25.6 kB.*hint: .*training.batch_size=[0-9] fits, and is 512 here | table training.memory=25KiB training.batch_size=512 training.accumulate=1 'training.recompute=[]'
a symbol that the vocabulary lacks | 0 | skipped 62 of 120 utterances.*recordings are skipped for 'F' .62.: add what is spoken to data.speech.vocab | speech data.vocab=ABCDE
an unknown symbol that may not be | 66 | speech/data/manifest.jsonl:[0-9]+:35: data error: the symbol 'F' of .*hint: add it to data.speech.vocab, let data.speech.text.drops or .spaces remove it | speech data.vocab=ABCDE data.speech.text.unknown=fail
a new project of series with a word among numbers | 66 | x.ts:7:1: data error: 'x' in the column 'dim_0' is no number.*hint: correct the cell | printf '@problemName p\n@timeStamps false\n@univariate true\n@classLabel true a b\n@data\n1,2,3:a\n2,x,4:b\n' >x.ts; gr new series2 --from=x.ts || { code=$?; test ! -e series2 && exit $code; }
a new project of videos smaller than its network takes | 65 | ^type error: dots.csv: max_pool: axis 2 has 1 elements .*hint: the samples are too small for this kind of project: longer or larger ones *$ | { printf "\223NUMPY\001\000v\000%-117s\n" "{'descr': '|u1', 'fortran_order': False, 'shape': (8, 2, 2, 3), }"; printf '%96s' x; } >dot.npy; cp dot.npy dash.npy; printf 'path,label\ndot.npy,a\ndash.npy,b\n' >dots.csv; gr new dots --from=dots.csv || { code=$?; test ! -e dots && exit $code; }
a new project of images that leave one class for training | 66 | ^data error: pair: all training samples are of one class, .* and the first of another is for validation.*hint: samples of at least two classes | mkdir -p pair/a pair/b; cp image/images/circle/00.ppm pair/a/0.ppm; cp image/images/circle/00.ppm pair/b/0.ppm; gr new pairs --from=pair
cells that are missing in a column with a comma in its name | 0 | skipped 3 of 60 samples: 3 unreadable 2 features: 'age, in years', size; 1 left out: | awk 'BEGIN { print "\"age, in years\",size,who,kind"; for (i = 0; i < 60; i++) print (i % 20 ? 20 + i : "NA") "," i * i % 7 ",w" i ",k" i % 2 }' >ages.csv; gr new ages --from=ages.csv && rm -rf ages/run && gr ages/config.yaml output.dir=ages/run training.max_epochs=1 >ages.log 2>&1 && ! grep -E 'weighed 0' ages.log && grep -vE 'skipped: |samples; global|parameters' ages.log
the range of a column with missing cells | 0 | age, in years +i64 +feature +.60. +21 to 79 +3 missing, first in line 2 | gr data inspect ages/config.yaml
a new project of images one of which is cut short | 66 | ^data error: the image '.*/short/square/00.ppm' is cut short.*hint: copy or save it again | cp -r image/images short; truncate -s 90 short/square/00.ppm; gr new shorts --from=short || { code=$?; test ! -e shorts && exit $code; }
a new project whose label names the rows | 66 | named.csv:1:1: data error: the label 'class' has 40 classes in 40 rows.*hint: --label=COLUMN predicts another column *$ | { echo a,b,class; for i in $(seq 40); do echo $i.5,$((i * i)),n$i; done; } >named.csv; gr new named --from=named.csv || { code=$?; test ! -e named && exit $code; }
a configuration with another ending | 65 | config error: there is no configuration file 'table/config.yml'.*hint: did you mean 'table/config.yaml'. | gr table/config.yml
numbers with units in a new project | 2 | priced.csv:1:1: usage error: no column but 'kind' is of numbers.*hint: .*numbers have no units: 12.5, not | { echo price,share,kind; for i in $(seq 40); do echo "\$$i.50,$i%,k$((i % 2))"; done; } >priced.csv; gr new priced --from=priced.csv
rows to predict without a line of names | 66 | bare.csv:1:1: data error: 'bare.csv' has no column '.*', a feature of the run.*hint: .*if its first line is a row, put the line of names before it | sed 1d table/data.csv | cut -d, -f1-4 >bare.csv; gr predict table/run bare.csv
a field of what is nil in a hook | 70 | h.lua:1:1: hook error: attempt to index a nil value .local 'm'.*hint: 'm' is nil here; nil is a local before it has a value | hook 'return { on_step_end = function(ctx) local m = ctx.metrics.foo; print(m.x) end }'
a comparison with nil in a hook | 70 | h.lua:1:1: hook error: attempt to compare .*hint: one side is nil; nil is a local | hook 'local best; return { on_eval_end = function(ctx) return ctx.metrics.loss < best end }'
a field of a number in a hook | 70 | h.lua:1:1: hook error: attempt to index a number value.*hint: a number has no fields | hook 'return { on_step_end = function(ctx) print(ctx.loss.x) end }'
predictions as a table | 2 | usage error: 'p.csv' would be a file of another kind: predictions are JSON lines.*hint: name it p.jsonl | gr predict table/run table/data.csv --out=p.csv
images for a configuration | 2 | usage error: 'image/images' is a folder, not a configuration.*hint: .*`graphrun new NAME --from=image/images` makes a project for it *$ | gr image/images
a table for a configuration | 2 | usage error: 'table/data.csv' is a table, not a configuration.*hint: .*`graphrun new NAME --from=table/data.csv` makes a project for it *$ | gr table/data.csv
data that have moved since the run | 66 | moved/.hydra/config.yaml:[0-9]+:[0-9]+: data error: cannot open the file 'old.csv': there is no such file.*hint: if it has moved: data.table.path=PATH *$ | cp table/data.csv old.csv; gr table/config.yaml data.table.path=old.csv output.dir=moved $quick >said 2>&1; rm old.csv; gr eval moved
predicting a text instead of its file | 66 | data error: there is no text 'well done'.*hint: correct the path | gr new texts --data=texts >said && gr texts/config.yaml output.dir=texts/run $quick >said 2>&1; gr predict texts/run 'well done'
predicting a folder with other files | 0 | ^1 other in the folder 'table/more' is not predicted *$ | mkdir table/more; cp table/data.csv table/more; echo text >table/more/notes.md; gr predict table/run table/more distributed.ranks=1 2>&1 >said | grep -v 'weights of'
predicting images by a model of tables | 2 | usage error: --out=masks/ is a folder for images, and the model predicts none.*hint: .*else --out=FILE.jsonl *$ | gr predict table/run table/data.csv --out=masks/
predicting by a project | 65 | config error: 'table' is not the folder of a run.*hint: did you mean 'table/run'. | gr predict table table/data.csv
exporting a folder of checkpoints to ONNX | 65 | config error: 'table/run/checkpoints' is not the folder of a run.*hint: did you mean 'table/run'. | gr export table/run/checkpoints m.onnx
a command of other programs | 2 | usage error: 'completion' is neither a command nor.*hint: did you mean 'graphrun config --completion=bash'. | gr completion bash
replaying no step | 2 | usage error: which step is not given: --step=N.*hint: graphrun replay RUN --step=N | gr replay table/run
an argument too many | 2 | usage error: 'table' is one argument too many.*hint: graphrun check .--ranks=N. | gr check table
a flag without its value | 2 | usage error: --diff needs a value: PLAN.*hint: graphrun plan CONFIG.yaml | gr plan table/config.yaml --diff
a list for the values of a sweep | 65 | argument [0-9]+:1:13: config error: 'training.lr' must be a number.*but is a list of 2.*hint: .*the values of a sweep have no brackets: KEY=1,2,3 | gr -m table/config.yaml 'training.lr=[1e-3,1e-2]' $quick
a value of masks twice | 65 | argument [0-9]+:1:24: config error: data.image.mask_values has a value twice.*hint: each value is of one class | masks 'data.image.mask_values=[0,1,1]'
pixels that are not counted and are a class | 65 | argument [0-9]+:1:24: config error: pixels of the value 2 are not to be counted, and are the class 2 .*hint: leave the value out | masks data.image.mask_ignore=2
pixels that are not counted of images without masks | 65 | argument [0-9]+:1:1: config error: 'data.image.mask_ignore' has no effect: images have no masks.*hint: data.image.mask_values | image data.image.mask_ignore=2
pixels that are not counted of masks that are images | 65 | argument [0-9]+:1:1: config error: 'data.image.mask_ignore' has no effect: all pixels of masks that are images count.*hint: data.image.mask_values | masks data.image.mask_values=pixels data.image.mask_ignore=2
a model of classes and masks that are images | 65 | segmentation/graph.yaml:[0-9]+:14: type error: the input 'y' has 3 axes, the data gives u8.16,24,24,3..*hint: name as many axes | masks data.image.mask_values=pixels model.params.classes=4
a label beside masks | 65 | argument [0-9]+:1:1: config error: 'data.image.label' has no effect: data.image.mask_values makes masks the labels.*hint: remove one | masks data.image.label=kind
masks for validation without images | 65 | argument [0-9]+:1:23: config error: masks for validation are given, and no images.*hint: data.image.eval_path=FOLDER | masks data.image.eval_masks=segmentation/masks
ignore_index | 65 | there is no key 'data.image.ignore_index'.*hint: did you mean 'data.image.mask_ignore' | masks data.image.ignore_index=255
a size that pooling does not divide | 65 | segmentation/graph.yaml:[0-9]+:9: type error: axis 1 is 10 in operand 2, but 11 in operand 1.*hint: .*multiples of the strides | masks data.image.size=22
masks smaller than their images in a new project | 66 | data error: the mask '.*small/masks/0.pgm' has 2 x 2 pixels, its image 24 x 24 | mkdir -p small/images small/masks; for i in 0 1 2; do cp segmentation/images/00$i.ppm small/images/$i.ppm; printf 'P5 2 2 255 \0\1\0\1' >small/masks/$i.pgm; done; gr new smalls --from=small || { code=$?; test ! -e smalls && exit $code; }
the folder of the images alone for a new project | 2 | has no two folders of images.*hint: .*images/1.png and masks/1.png | gr new alone --from=segmentation/images
a mask to write | 2 | usage error: 'mask.png' would be a file of another kind.*hint: --out=FOLDER/.*--out=mask/ *$ | gr predict table/run table/data.csv --out=mask.png
a separator of labels that are none | 65 | argument [0-9]+:1:1: config error: 'data.table.label_separator' has no effect: it is between the labels of a list.*hint: remove it, or give label_is | table data.table.label_separator=/
labels with another separator | 66 | tags.csv:1:1: data error: no row of 'tags' has the separator '.' of its labels, and 2 of 2 labels have ';' in them, as 'a;b'.*hint: data.image.label_separator=.';'. separates them | (echo path,tags; for i in 00 01 02; do echo "image/images/circle/$i.ppm,a;b"; echo "image/images/square/$i.ppm,b;c"; done) >tags.csv; image data.image.path=tags.csv data.image.label=tags data.image.label_is=labels data.sampler=shuffle
... which are labels as they are | 0 | tags +text +label: labels | gr data inspect image/config.yaml data.image.path=tags.csv data.image.label=tags data.image.label_is=labels data.sampler=shuffle "data.image.label_separator='|'"
labels of a list beside a sampler by classes | 65 | data.sampler is by classes, and samples of this data have none.*hint: .*data.sampler=shuffle needs none | image data.image.path=tags.csv data.image.label=tags data.image.label_is=labels "data.image.label_separator=';'"
a column of labels called otherwise | 66 | tags.csv:1:1: data error: the list of images has no column 'label'.*hint: .*data.image.label names another | image data.image.path=tags.csv
labels that are texts as values | 66 | argument [0-9]+:1:21: data error: the label 'tags' of 'tags.csv' is text, not a value.*hint: data.image.label_is=class takes text | image data.image.path=tags.csv data.image.label=tags data.image.label_is=value
an operand too many of a block | 65 | table/g.yaml:[0-9]+:[0-9]+: config error: block 'bce_with_logits' takes 2 operands, found 3.*hint: .bce_with_logits: .x, y..; `graphrun ops bce_with_logits` | graph table 's/{cross_entropy: .logits, y.}/{bce_with_logits: [logits, 1, y]}/'
a comparison as an expression | 65 | table/g.yaml:[0-9]+:[0-9]+: config error: 'logits > 1' is not defined here.*hint: tensors are combined by ops: .greater | graph table 's/{cross_entropy: .logits, y.}/"logits > 1"/'
an interval from high to low | 2 | argument [0-9]+:1:13: usage error: 'training.lr' goes from 0.1 to 0.0001.*hint: interval.LEAST, MOST. | gr -m table/config.yaml hydra/sweeper=optuna hydra.sweeper.n_trials=2 'training.lr=interval(1e-1,1e-4)' $quick
a logarithm of 0 | 2 | argument [0-9]+:1:13: usage error: 'training.lr' begins at 0, which has no logarithm.*hint: begin above 0 | gr -m table/config.yaml hydra/sweeper=optuna hydra.sweeper.n_trials=2 'training.lr=tag(log,interval(0,1e-1))' $quick
several numbers of ranks for a plan | 65 | argument [0-9]+:1:19: config error: 'distributed.ranks' must be .*hint: .*`graphrun plan --ranks=1..8` | gr plan table/config.yaml distributed.ranks=1..8
weights of PyTorch to import | 2 | usage error: 'w.pt' does not end in .onnx.*hint: .*of PyTorch torch.onnx.export | echo PK >w.pt; gr import w.pt
a model of ONNX for a configuration | 2 | usage error: 'n.onnx' is a model of ONNX, not a configuration.*hint: a configuration names it: model: .graph: n.onnx | echo ONNX >n.onnx; gr n.onnx
!= in a hook | 70 | h.lua:1:1: hook error: .*near '!'.*hint: Lua writes a ~= b | hook 'return { on_step_end = function(ctx) if ctx.step != 3 then end end }'
+= in a hook | 70 | h.lua:1:1: hook error: .*near '.'.*hint: Lua has no .= | hook 'local n = 0; return { on_step_end = function(ctx) n += 1 end }'
an event of Keras | 70 | h.lua:1:1: hook error: there is no event 'on_train_begin'.*hint: did you mean 'on_start' | hook 'return { on_train_begin = function(ctx) end }'
an event of Lightning | 70 | h.lua:1:1: hook error: there is no event 'on_train_batch_end'.*hint: did you mean 'on_step_end' | hook 'return { on_train_batch_end = function(ctx) end }'
several values for a hook as a list | 65 | argument [0-9]+:1:[0-9]+: config error: hooks_params.milestones: scripts take numbers, strings and bools, found a list.*hint: several values are a text.*"30,60" | table "hooks=[$source/hooks/multi_step.lua]" 'hooks_params={milestones: [20, 10]}'
Nesterov's momentum of none | 65 | argument [0-9]+:1:[0-9]+: config error: nesterov has no effect: the momentum of sgd is 0.*hint: training.momentum=0.9 is usual | table training.optimizer=sgd 'training.optimizer_params={nesterov: true}'
classes for soft labels | 65 | table/g.yaml:[0-9]+:[0-9]+: type error: axis 'c' of 'p' is [0-9]+, and [0-9]+ in an operand before it.*hint: {soft_cross_entropy: .x, p.}; `graphrun ops soft_cross_entropy` says what they are | graph table 's/{cross_entropy: .logits, y./{soft_cross_entropy: [logits, y]/'
a list of images without a line of names | 66 | bare.csv:1:1: data error: two columns are called '0'.*hint: give each a name of its own; if the first line is a row, write one above it that names them | echo a.png,0,0 >bare.csv; echo b.png,1,1 >>bare.csv; image data.image.path=bare.csv
a list of images of which none is there, with what cannot be read left out | 76 | no finite gradient.*hint: [0-9]+ samples could not be read, and a batch without others has no gradient: .graphrun data inspect | (echo path,label; for i in 1 2 3 4 5 6 7 8; do echo "gone/a$i.ppm,a"; echo "gone/b$i.ppm,b"; done) >lost.csv; image data.image.path=lost.csv data.skip_unreadable=true training.batch_size=2
MISTAKES
counts
