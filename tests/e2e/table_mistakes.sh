# table_mistakes.sh - tables as people have them: what is wrong with a file is said at its place, with
# its cause and what to do, before a run has a folder; what is left out or ignored is said in a line.
. "${0%/*}/lib.sh"

# table OUT [key=value ...]: a run of a small network.
table() {
  table_out=$1
  shift
  limited "$graphrun" "$scratch/table.yaml" "output.dir=$scratch/$table_out" "$@"
}
# refused NAME PATTERN... -- [key=value ...]: with a data error or one of the configuration, and no folder.
refused() {
  refused_name=$1
  shift
  : >patterns
  while [ "$1" != -- ]; do
    printf '%s\n' "$1" >>patterns
    shift
  done
  shift
  rm -rf refused
  table refused "$@"
  refused_code=66
  if [ "$code" = 65 ]; then refused_code=65; fi
  verdict "$refused_name" $refused_code
  if [ -e refused ]; then fail "... before the run has a folder" "there is one"; fi
}
# says NAME PATTERN [key=value ...]: a run that ends well and prints this line.
says() {
  says_name=$1
  printf '%s\n' "$2" >patterns
  shift 2
  rm -rf said.run
  table said.run "$@"
  verdict "$says_name" 0
}
# silent NAME TEXT: the last run printed no such text.
silent() { check "$1" sh -c "! grep -q '$2' '$log'"; }

# Two kinds of 60 rows, the first column on both sides of 0.8 but for some.
awk 'BEGIN { srand(4); print "width,weight,kind"
  for (i = 0; i < 60; i++) { k = int(2 * rand())
    printf "%.4f,%.2f,%s\n", k + 0.6 * rand(), 400 * rand(), k ? "red" : "blue" }
}' >good.csv
cat >table.yaml <<YAML
model: {graph: $source/graphs/mlp.yaml, params: {dim: 8, layers: 1}}
data: {source: table, validation_fraction: 0.25, table: {path: good.csv, label: kind}}
training: {batch_size: 16, lr: 1e-2, max_epochs: 1, seed: 2}
logging: {show_samples: 0}
distributed: {ranks: 1}
YAML
table run
check "the table that is changed below is good" test "$code" = 0
# column NAME EXPRESSION: good.csv with another column, of an awk expression of the row i, from 1.
column() {
  awk -F, -v OFS=, "NR == 1 { print \$0, \"$1\"; next } { i = NR - 1; print \$0, $2 }" good.csv
}

# ---- Delimiters
# other NAME DELIMITER SAID: is read as the same file with commas, which a line says; set to commas it
# is an error whose hint, as an argument, is the cure.
other() {
  tr , "$2" <good.csv >other.csv
  says "fields between $1" "^'other.csv' is read with $3 between fields\$" data.table.path=other.csv
  check "... the same run" same_metrics run said.run
  refused "... where commas are set" "other.csv:1:1: data error: between ',' this line has 1 field; between '.*' each of the first 16 lines has 3" \
    'hint: set data.table.delimiter: ".*", or put fields with .* in quotes; as an argument: ' -- data.table.path=other.csv 'data.table.delimiter=","'
  argument=$(sed -n "s/.*as an argument: '\(.*\)'\$/\1/p" "$log")
  table cured.$1 data.table.path=other.csv "$argument"
  check "... are read as the hint says" same_metrics run cured.$1
  expect "... predicting such a file says the same" 0 "^'other.csv' is read with $3 between fields" '"class": ' -- "$graphrun" predict run other.csv
  expect "... and evaluating it" 0 "^'other.csv' is read with $3 between fields" -- "$graphrun" eval run data.table.path=other.csv
}
other semicolons ';' "';'"
other tabs "$(printf '\t')" tabs
other bars '|' "'.'"
other blanks ' ' "' '"
refused "a delimiter that is set and is not the file's" "good.csv:1:1: data error: between ';' this line has 1 field; between ','" -- \
  'data.table.delimiter=";"'
sed 's/\./,/g; 1!s/^\([^,]*,[^,]*\),\([^,]*,[^,]*\),/\1;\2;/; 1s/,/;/g' good.csv >german.csv
refused "semicolons and decimal commas" "german.csv:2:1: data error: '[01],[0-9]*' in the column 'width' is no number" \
  "hint: numbers have a point before their decimals, and no commas; .tr , . <german.csv >NEW.csv. changes that" -- \
  data.table.path=german.csv
tr , . <german.csv >point.csv
table cured.german data.table.path=point.csv 'data.table.delimiter=";"'
check "... are read as the hints say" same_metrics run cured.german
sed 's/,\([^,]*\),/,"1,\1",/; 1s/"1,\(.*\)"/\1/' good.csv >thousands.csv
refused "separators of thousands" "thousands.csv:2:[0-9]+: data error: '1,[0-9.]*' in the column 'weight' is no number" \
  "hint: numbers have a point before their decimals, and no commas;" -- data.table.path=thousands.csv
sed 's/"\(.*\)"/\1/; 1!s/^\([^,]*\),\(.*\),\([^,]*\)$/\1;\2;\3/; 1s/,/;/g' thousands.csv >spread.csv
refused "... between other delimiters" "spread.csv:2:[0-9]+: data error: '1,[0-9.]*' in the column 'weight'" "hint: .*.tr -d , <spread.csv >NEW.csv." -- \
  data.table.path=spread.csv 'data.table.delimiter=";"'
printf 'animal kind\nbig cat\nsmall dog\n' >words.csv
refused "one column of two words in each line" "words.csv:1:1: data error: between ',' this line has 1 field; between ' ' each" -- \
  data.table.path=words.csv data.table.label=null 'data.table.delimiter=","'
sed 's/.*/"&"/' words.csv >quoted.csv
refused "... in quotes is one column" "'quoted.csv' has no column of numbers" -- data.table.path=quoted.csv data.table.label=null
# One column may have anything in its texts.
printf 'note\na;b\nc\nd;e;f\n' >notes.csv
refused "one column of texts is one column" "'notes.csv' has no column of numbers for the features" -- data.table.path=notes.csv data.table.label=null
sed '30s/$/,1/' good.csv >more.csv
refused "a line with another cell" "more.csv:30:1: data error: this line has 4 fields, the first has 3" "hint: .*','.* is put in quotes" -- \
  data.table.path=more.csv
sed '30s/,[^,]*$//' good.csv >less.csv
refused "a line without one" "less.csv:30:1: data error: this line has 2 fields, the first has 3" "hint: a field with nothing in it has its ',', too" -- \
  data.table.path=less.csv

{ echo '# of 2021' && cat good.csv; } >comment.csv
refused "a line before the line of names" "comment.csv:2:1: data error: this line has 3 fields, the first has 1" \
  "hint: the first line names all columns: remove lines before it" -- data.table.path=comment.csv
tr '\n' '\r' <good.csv >mac.csv
refused "lines that end in CR" "mac.csv:1:18: data error: lines end in CR alone" "hint: .tr '.r' '.n' <mac.csv >NEW.csv." -- data.table.path=mac.csv
sed '9s/[^,]*$/r\xf6d/' good.csv >latin.csv
says "text of Windows" "^'latin.csv' is read as WINDOWS-1252\$" data.table.path=latin.csv
check "... its letters are letters" grep -q '"röd"' said.run/data.json
refused "... where UTF-8 is set" "latin.csv:9:[0-9]+: data error: the byte 0xf6 is not UTF-8" "hint: .iconv -f WINDOWS-1252 -t UTF-8 <latin.csv" -- \
  data.table.path=latin.csv data.table.encoding=utf-8
sed '9s/[^,]*$/r\x81d/' good.csv >other.csv
refused "... that is neither" "other.csv:9:[0-9]+: data error: the byte 0x81, or the end of the file, is not WINDOWS-1252" "hint: .iconv -f ENCODING" -- \
  data.table.path=other.csv
iconv -t UTF-16 <good.csv >wide.csv
says "text in UTF-16" "^'wide.csv' is read as UTF-16\$" data.table.path=wide.csv
check "... is the same" same_metrics run said.run
iconv -t UTF-16LE <good.csv >wide.csv
refused "... without its mark" "wide.csv:1:2: data error: there is a NUL byte: this is no text" -- data.table.path=wide.csv
table wide data.table.path=wide.csv data.table.encoding=utf-16
check "... is the same where it is set" same_metrics run wide
printf '\377' >>wide.csv
refused "... cut within a letter" "wide.csv:62:1: data error: the byte 0xff, or the end of the file, is not UTF-16" -- \
  data.table.path=wide.csv data.table.encoding=utf-16

# ---- The line of names
sed '1d; s/red/1/; s/blue/0/' good.csv >numbers.csv
says "no line of names, and numbers only" "^'numbers.csv' is read without a line of names\$" data.table.path=numbers.csv data.table.label=c2
refused "... where there should be one" "numbers.csv:1:1: data error: the first line should name the columns, and has numbers only" \
  "hint: data.table.header=false names the columns c0, c1, ...; names that are numbers are put in quotes" -- data.table.path=numbers.csv data.table.header=true
says "... read as the hint says" '^2 features: c0, c1$' data.table.path=numbers.csv data.table.header=false data.table.label=c2
sed 1d good.csv >rows.csv
says "no line of names, and text beside fractions" "^'rows.csv' is read without a line of names\$" data.table.path=rows.csv data.table.label=c2
check "... is the same" same_metrics run said.run
refused "... where there should be one" "'rows.csv' has no column 'kind'" \
  "hint: it has: .*; if its first line is a row, data.table.header=false names the columns c0, c1" -- data.table.path=rows.csv data.table.header=true
refused "a line of names that is read as a row" "good.csv:1:1: data error: 'width' in the column 'c0' is no number, as 60 other cells" \
  "hint: if the first line names the columns, data.table.header=true; correct the cell" -- data.table.header=false data.table.label=c2
{ echo 0,1,2 && cat numbers.csv; } >counted.csv
says "names that count are names" '^2 features: 0, 1$' data.table.path=counted.csv 'data.table.label="2"'
{ echo '"1990","1985","3"' && cat numbers.csv; } >quoted.csv
says "... and in quotes all are" '^2 features: 1990, 1985$' data.table.path=quoted.csv 'data.table.label="3"'

# ---- Files beside each other
cut -d, -f2- good.csv >lacks.csv
refused "a file for validation without a feature" "lacks.csv:1:1: data error: 'lacks.csv' has no column 'width', a feature of 'good.csv'" \
  "hint: it has: weight, kind" -- data.table.eval_path=lacks.csv
sed 1s/kind/sort/ good.csv >sort.csv
refused "... without the label" "sort.csv:1:1: data error: 'sort.csv' has no column 'kind', the label of 'good.csv'" -- data.table.eval_path=sort.csv
column extra i%7 >extra.csv
says "... with another column" "^1 other column of 'extra.csv' is not used: extra$" data.table.eval_path=extra.csv
says "... that is trained on" "^'good.csv' is for training and for validation: metrics say nothing of other data$" data.table.eval_path=good.csv
awk -F, -v OFS=, '{ print $3, $2, $1 }' good.csv >order.csv
table order data.table.eval_path=order.csv
table same data.table.eval_path=good.csv
check "... with its columns in another order is the same" same_metrics same order
head -n 1 good.csv >names.csv
refused "... without rows" "names.csv:1:1: data error: 'names.csv' has no rows, only a line of names" -- data.table.eval_path=names.csv
refused "a file to train on without rows" "names.csv:1:1: data error: 'names.csv' has no rows" -- data.table.path=names.csv
sed '2,$s/[^,]*$/0.5/' good.csv >fractions.csv && sed 's/blue/0/; s/red/1/' good.csv >whole.csv
refused "labels that are classes in one file and values in the other" \
  "fractions.csv:1:1: data error: the label 'kind' of 'fractions.csv' is fractions, that of 'whole.csv' classes" "hint: data.table.label_is=" -- \
  data.table.path=whole.csv data.table.eval_path=fractions.csv
refused "a list of files with the same columns" "'good.csv' and 'extra.csv' both have a column 'width'" \
  "hint: a list of files is one table, whose columns are side by side; a pattern of paths .*has the rows of all" -- 'data.table.path=[good.csv,extra.csv]'
head -n 40 good.csv | sed '1s/.*/a,b,c/' >beside.csv
refused "... with another number of rows" "'a' in 'beside.csv' has 39 rows, others have 60" "hint: .*has the rows of all" -- \
  'data.table.path=[good.csv,beside.csv]'
refused "a pattern that matches nothing" "argument [0-9]+:1:17: data error: cannot open the file 'none/\*.csv'" "hint: '\*' in a path stands for any letters" -- \
  'data.table.path=none/*.csv'

# ---- The rows of several files
mkdir parts && head -n 31 good.csv >parts/a.csv && { head -n 1 good.csv && tail -n 30 good.csv; } | tr , ';' | iconv -t UTF-16 >parts/b.csv
says "a pattern of paths" "^'parts/b.csv' is read with ';' between fields, as UTF-16\$" 'data.table.path=parts/*.csv'
check "... has the rows of all files, in their order" same_metrics run said.run
"$graphrun" predict run good.csv 2>/dev/null | sed 's/.*"class"//' >want
"$graphrun" predict run parts 2>/dev/null | sed 's/.*"class"//' >got
check "... as a folder to predict has" cmp want got
expect "... a folder of which no file is one" 66 "no file in the folder 'pictures' is one that the source 'table' predicts" "hint: it takes CSV" -- \
  sh -c "mkdir -p pictures && touch pictures/x.png && '$graphrun' predict run pictures"
rm -r pictures
sed '1s/weight/height/' good.csv >parts/c.csv
refused "... of which one has another column" "parts/c.csv:1:7: data error: the column 2 is 'height', and 'weight' in 'parts/a.csv'" \
  "hint: files whose rows follow each other have the same columns" -- 'data.table.path=parts/*.csv'
cut -d, -f1,2 good.csv >parts/c.csv
refused "... fewer columns" "parts/c.csv:1:1: data error: this line has 2 fields, those of 'parts/a.csv' have 3" -- 'data.table.path=parts/*.csv'
sed 1d good.csv >parts/c.csv
refused "... no line of names" "parts/c.csv:1:1: data error: this line does not name the columns, and that of 'parts/a.csv' does" -- \
  'data.table.path=parts/*.csv'
sed '9s/^[^,]*/x/' good.csv >parts/c.csv
refused "... a text among numbers" "parts/c.csv:9:1: data error: 'x' in the column 'width' is no number, as 119 other cells" -- 'data.table.path=parts/*.csv'
: >parts/c.csv
refused "... no text" "parts/c.csv:1:1: data error: the table is empty" -- 'data.table.path=parts/*.csv'
cp good.csv sheet.xlsx
refused "a spreadsheet" "'sheet.xlsx' does not say what kind of table it is" "hint: .*save a spreadsheet as CSV" -- data.table.path=sheet.xlsx
cp good.csv CAPITALS.CSV
says "endings in capitals" '^2 features: width, weight$' data.table.path=CAPITALS.CSV

# ---- Text, numbers and what names the rows
column half '(i % 2 ? "x" i % 3 : i * 7 % 11)' >half.csv
says "a column of which half are numbers is text" '^2 features: width, weight; 1 left out: half \(text, 30 of 60 cells are numbers\)$' \
  data.table.path=half.csv
column half '(i > 31 ? "x" i % 3 : i * 7 % 11)' >more.csv
refused "one number more makes it a column of numbers" "more.csv:33:[0-9]+: data error: 'x2' in the column 'half' is no number, as 31 other cells" \
  "hint: correct the cell; data.table.on_bad_cell=missing.*; data.table.features=\[...\] names the columns to use" -- data.table.path=more.csv
column some '(i % 9 ? "x" i % 3 : i)' >some.csv
says "a column of text with some numbers stays text" 'some \(text, 6 of 60 cells are numbers\)$' data.table.path=some.csv
refused "... and as a feature it is an error at its first text" "some.csv:2:[0-9]+: data error: 'x1' in the column 'some' is no number, as 6 other" -- \
  data.table.path=some.csv 'data.table.features=[some]'
column id '"r" i * 7919 % 1009' >id.csv
says "text that names the rows is left out" '^2 features: width, weight; 1 left out: id \(text, names the rows\)$' data.table.path=id.csv
refused "... as a feature it is an error" "the column 'id' of 'id.csv' is text, not numbers: 'r[0-9]*' in line 2" \
  "hint: it has 60 values in 60 rows, as a name has: leave it out of the features" -- data.table.path=id.csv 'data.table.features=[width,id]'
refused "... and as the label" "id.csv:1:1: data error: the label 'id' has 60 classes in 60 rows: too few of each to learn" \
  "hint: another column for data.table.label" -- data.table.path=id.csv data.table.label=id
column id 'i * 7919 % 1009' >price.csv
refused "whole numbers that are no classes" "price.csv:1:1: data error: the label 'id' has 60 classes in 60 rows" \
  "hint: data.table.label_is=value for numbers to be predicted" -- data.table.path=price.csv data.table.label=id
refused "a label of numbers with a text among them" "price.csv:5:[0-9]+: data error: 'none' in the column 'id' is no number, as 59 other" \
  "hint: .*data.table.label_is=class takes every text for a class" -- data.table.path=price.csv data.table.label=id \
  "data.table.path=$(sed '5s/[^,]*$/none/' price.csv >price.none && mv price.none price.csv && echo price.csv)"
sed '5s/[^,]*$/-/' whole.csv >unknown.csv
refused "a class of numbers that is not known" "unknown.csv:5:[0-9]+: data error: '-' in the column 'kind' is no number" \
  "hint: correct the cell; data.table.on_bad_cell=missing" -- data.table.path=unknown.csv
says "... as a missing cell leaves its row out, and classes stay classes" '^skipped 1 of 60 samples: 1 unreadable$' data.table.path=unknown.csv \
  data.table.on_bad_cell=missing data.skip_unreadable=true
check "... with the names of numbers" grep -q '"class_names": \["0", "1"\]' said.run/data.json
says "... as a class is one" '^the class|^2 features' data.table.path=unknown.csv data.table.label_is=class
check "... of three" grep -q '"class_names": \["-", "0", "1"\]' said.run/data.json

# ---- Numbers that f32 rounds
column time '1700000000 + 7 * i' >time.csv
says "times that f32 does not tell apart" "^'time' is from 1700000007 to 1700000420, where f32 has steps of 128, and differences are lost: data.table.normalize=true" \
  data.table.path=time.csv data.table.normalize=false
says "... normalized they are" '^3 features: width, weight, time$' data.table.path=time.csv
silent "... and nothing is said" 'steps of'
cat >value.yaml <<YAML
inputs: {x: {shape: [n, c], dtype: f32}, y: {shape: [n], dtype: f32}}
nodes: [v: {linear: x, out: 1, name: head}, v: {reshape: v, shape: [n]}, e: {sub: [v, y]}, loss: {square: e}]
train: loss
YAML
says "... as labels that are values" "^'time' is from .*: learn the difference from one of them$" data.table.path=time.csv data.table.label=time \
  data.table.label_is=value model.graph=value.yaml '~model.params'
column far '1700000000 + 7000 * i' >far.csv
says "... that are far enough apart" '^3 features: width, weight, far$' data.table.path=far.csv data.table.normalize=false
silent "... are rounded as any number is" 'steps of'

column color '(i % 2 ? "green" : "grey")' >color.csv
says "text of few values is left out" 'left out: color \(text, 2 values\); data.table.one_hot=\[color\] takes texts, too$' data.table.path=color.csv
refused "... as a feature it is an error" "the column 'color' of 'color.csv' is text" \
  "hint: it has 2 values: data.table.one_hot=\[color\] makes a feature of 0 and 1 of each; or replace it by numbers" -- data.table.path=color.csv 'data.table.features=[width,color]'
column number 'i + 6' >number.csv
says "a column that counts the rows is left out" '1 left out: number \(counts the rows\)$' data.table.path=number.csv
head -n 16 number.csv >few.csv
says "... of at least 16 rows" '^3 features: width, weight, number$' data.table.path=few.csv
cut -d, -f3,4 number.csv >only.csv
says "... unless there is no other" '^1 feature: number$' data.table.path=only.csv
awk -F, -v OFS=, '{ print NR == 1 ? "" : NR * 37 % 61, $0 }' good.csv >index.csv
says "an index without a name is left out in any order" '^2 features: width, weight; 1 left out: c0 \(counts the rows\)$' data.table.path=index.csv
sed '1s/^/place/' index.csv >place.csv
for id in id client_id ClientID 'Unnamed: 0'; do
  sed "1s/^/$id/" index.csv >id.csv
  says "... called $id, too" "^2 features: width, weight; 1 left out: $id \(counts the rows\)\$" data.table.path=id.csv
done
sed '1s/^/grid/' index.csv >grid.csv
says "... called grid it is a column" '^3 features: grid, width, weight$' data.table.path=grid.csv
says "... with a name it is a column" '^3 features: place, width, weight$' data.table.path=place.csv

sed 's/$/,/' good.csv >trailing.csv
says "a column without values is left out" '^2 features: width, weight; 1 left out: c3 \(no values\)$' data.table.path=trailing.csv
refused "the label among the features" "argument [0-9]+:1:21: config error: the column 'kind' is the label, and is among data.table.features" \
  "hint: .*the model would read what it is to predict" -- data.table.path=whole.csv 'data.table.features=[width,kind]'

refused "features that are no list" "'good.csv' has no column 'width,weight'" "hint: .*several are a list: data.table.features=\[width,weight\]" -- \
  'data.table.features="width,weight"'

# ---- Splits
says "no row for validation" '^none of 60 samples is for validation: nothing is evaluated, and no checkpoint is the best; a larger data.validation_fraction than 1e-09' \
  data.validation_fraction=1e-9
says "... as asked for" '^60 training and 0 validation samples' data.validation_fraction=0
silent "... is no news" 'is for validation'
column split '"train"' >train.csv
says "... by a column" '^none of 60 samples is for validation' data.table.path=train.csv data.table.split=split
column split '"val"' >val.csv
refused "all rows for validation" "val.csv:1:1: data error: nothing is left to train on: 60 go to validation" "hint: .*marked for training" -- \
  data.table.path=val.csv data.table.split=split
column split '(i % 5 ? "train" : "test")' >test.csv
refused "rows for tests" "test.csv:6:1: data error: the split in this line is 'test'" \
  "hint: it is train or validation, or 0 or 1; .*taken to another file, for .graphrun eval RUN" -- data.table.path=test.csv data.table.split=split
column split '($3 == "red" ? "train" : "val")' >red.csv
first=$(grep -n blue red.csv | head -n 1 | cut -d: -f1)
refused "training on one class" \
  "red.csv:$first:1: data error: all training samples are of one class, 'red', and the first of another is for validation: there is nothing" \
  "hint: samples of at least two classes for training" -- data.table.path=red.csv data.table.split=split
says "... to try the first rows" "^the class '.*' has no samples$" data.limit=1 data.validation_fraction=0
sed '2,5s/[^,]*$/green/' good.csv | head -n 5 >green.csv
says "a class that only validation has" \
  "^the class 'green' has 4 validation samples and none for training: the model does not learn it, and metrics such as accuracy count them as wrong; the first is in green.csv:2$" \
  data.table.eval_path=green.csv training.max_epochs=20
check "... accuracy counts none of it" grep -q '^validation set: .*accuracy 0.0000' "$log"
expect "... data inspect says so, too" 0 "^the class 'green' has 4 validation samples and none for training" -- \
  "$graphrun" data inspect table.yaml data.table.eval_path=green.csv

awk -F, -v OFS=, 'NR > 1 { $3 = "class" NR } { print }' good.csv | head -n 11 >ten.csv
says "many such classes are counted" "^2 other classes have no training samples, too$" data.table.eval_path=ten.csv
check "... after eight" test "$(grep -c "^the class 'class[0-9]*' has 1 validation sample and none for training" "$log")" = 8

# ---- What the model needs and the table does not give
refused "no label" "the data gives no 'y'" "hint: .*data.table.label=COLUMN makes that column y" -- data.table.label=null
refused "a label of fractions for a classifier" "the input 'y' is i32, the data gives f32" "hint: .*data.table.label_is=class makes a y of i32" -- \
  data.table.label=weight
sed 's/\(y: {shape: .*dtype: \)i32/\1f32/' "$source/graphs/mlp.yaml" >regress.yaml
refused "classes for a regression" "the input 'y' is f32, the data gives i32" "hint: .*data.table.label_is=value makes a y of f32" -- \
  model.graph=regress.yaml data.table.path=whole.csv

# ---- Using a run's weights on other files
# uses NAME PATTERN FILE [key=value ...]: predicting the file and evaluating it are both refused so.
uses() {
  uses_name=$1 uses_pattern=$2 uses_file=$3
  shift 3
  expect "predicting $uses_name" 66 "$uses_pattern" "hint: " -- "$graphrun" predict run "$uses_file" "$@"
  expect "evaluating $uses_name" 66 "$uses_pattern" "hint: " -- "$graphrun" eval run "data.table.path=$uses_file" --split=all "$@"
}
uses "a file without a feature" "lacks.csv:1:1: data error: 'lacks.csv' has no column 'width', a feature of the run" lacks.csv
uses "a file without a line of names" "rows.csv:1:1: data error: 'rows.csv' has no column '(width|kind)', (a feature|the label) of the run" rows.csv
uses "numbers without a line of names" "numbers.csv:1:1: data error: 'numbers.csv' has no column '(width|kind)', (a feature|the label) of the run" numbers.csv
uses "a file without rows" "names.csv:1:1: data error: 'names.csv' has no rows" names.csv
sed '7s/^[^,]*/abc/' good.csv >abc.csv
uses "a bad cell" "abc.csv:7:1: data error: 'abc' in the column 'width' is no number" abc.csv
sed '7s/^[^,]*//' good.csv >hole.csv
uses "an empty cell" "hole.csv:7:1: data error: the column 'width' has no value in this line" hole.csv
expect "evaluating a class that the run does not know" 66 "green.csv:2:1: data error: the label 'green' is none of the 2 classes of the run" \
  "hint: its classes: blue, red; leave out" -- "$graphrun" eval run data.table.path=green.csv --split=all
expect "evaluating a file without the label" 66 "sort.csv:1:1: data error: 'sort.csv' has no column 'kind', the label of the run" -- \
  "$graphrun" eval run data.table.path=sort.csv --split=all
expect "predicting it" 0 "1 other column of 'sort.csv' is not used: sort" '"class": "(red|blue)"' -- "$graphrun" predict run sort.csv
"$graphrun" predict run good.csv 2>/dev/null | sed 's/good.csv//' >want
"$graphrun" eval run --split=all >want.eval 2>/dev/null
for file in order extra; do
  "$graphrun" predict run $file.csv 2>/dev/null | sed "s/$file.csv//" >got
  check "predictions of $file.csv are the same" cmp want got
  limited "$graphrun" eval run data.table.path=$file.csv --split=all
  check "... and metrics" sh -c "grep '^all samples: ' want.eval >a && grep '^all samples: ' '$log' >b && cmp a b"
done
check "a column that the run does not use is named" grep -q "^1 other column of 'extra.csv' is not used: extra" "$log"
expect "... predicting, too" 0 "1 other column of 'extra.csv' is not used: extra" -- "$graphrun" predict run extra.csv

mkdir -p folder
expect "predicting an empty folder" 66 "no file in the folder 'folder' is one that the source 'table' predicts" "hint: it takes CSV" -- "$graphrun" predict run folder
expect "predicting a file that is not there" 66 "there is no file 'none.csv'" "hint: correct the path" -- "$graphrun" predict run none.csv
expect "a file in the place of the run" 2 "'good.csv' is a file, not the folder of a run" \
  "hint: the folder comes first: .graphrun predict RUN good.csv., .graphrun eval RUN data.table.path=good.csv." -- "$graphrun" predict good.csv
expect "evaluating a file without its key" 2 "'good.csv' is a file without the key that names it" "hint: data.table.path=good.csv$" -- \
  "$graphrun" eval run good.csv
expect "... training on it" 2 "'good.csv' is a file without the key that names it" "hint: data.table.path=good.csv$" -- "$graphrun" table.yaml good.csv

# ---- Folders of images for each class
"$graphrun" new pictures --data=image >/dev/null
pictures() {
  limited "$graphrun" pictures/config.yaml training.max_epochs=1 distributed.ranks=1 logging.show_samples=0 "output.dir=$scratch/$1"
}
pictures shown.before
classes=$(grep -o '"class_names": [^]]*' shown.before/data.json)
mkdir -p pictures/images/__MACOSX/circle
for name in .DS_Store Thumbs.db desktop.ini __MACOSX/circle/._00.ppm circle/.DS_Store circle/Thumbs.db circle/._00.ppm; do
  echo no image >"pictures/images/$name"
done
pictures shown
check "what systems add to folders is no class" test "$(grep -o '"class_names": [^]]*' shown/data.json)" = "$classes"
check "... nor an image, nor worth a line" sh -c "[ '$code' = 0 ] && ! grep -qi 'skipped\|thumbs\|has no samples' '$log'"
check "... and changes nothing" same_metrics shown.before shown
mkdir pictures/images/star
pictures empty
check "a class folder without a file is named" grep -q "^the class 'star' has no samples" "$log"
expect "... data inspect names it, too" 0 "^the class 'star' has no samples" -- "$graphrun" data inspect pictures/config.yaml
for kind in pictures/images/*/; do
  case $kind in */circle/ | */star/) ;; *) rm -r "$kind" ;; esac
done
pictures one
printf '%s\n' "all training samples are of one class, 'circle': there is nothing to tell apart" >patterns
verdict "... the only other class has all images" 66

# ---- Lists of files
list() { limited "$graphrun" plan pictures/config.yaml "data.image.path=$1"; }
(cd pictures && for i in 00 01 02; do echo "images/circle/$i.ppm,circle" && echo "images/square/$i.ppm,square"; done) >pairs
(cd pictures && { echo 'path;label' && tr , ';' <../pairs; } >semicolons.csv && echo path,label >rowless.csv)
list pictures/semicolons.csv
printf '%s\n' "pictures/semicolons.csv:1:1: data error: between ',' this line has 1 field; between ';' each of the first 7 lines has 2" \
  "hint: fields of this file are separated by ',': .tr ';' ',' <.*semicolons.csv >NEW.csv." >patterns
verdict "a list between semicolons" 66
(cd pictures && tr ';' ',' <semicolons.csv >commas.csv)
list pictures/commas.csv
check "... is read as the hint says" test "$code" = 0
list pictures/rowless.csv
printf '%s\n' "pictures/rowless.csv:1:1: data error: the list of images has no rows, only a line of names" >patterns
verdict "a list without rows" 66

# ---- A table in the place of a configuration
expect "data inspect of a table" 2 "usage error: 'good.csv' is a table, not a configuration" \
  "hint: graphrun data inspect CONFIG.yaml data.source=table data.table.path=good.csv; .graphrun new NAME --from=good.csv" -- "$graphrun" data inspect good.csv
expect "... that is not there" 2 "'none.csv' is a table, not a configuration, and does not exist" -- "$graphrun" data inspect none.csv
expect "... of a video" 2 "'clip.mp4' is a video, not a configuration, and does not exist" \
  "hint: .*data.source=video, with a file that lists such files; .graphrun new NAME --data=video. makes" -- "$graphrun" data inspect clip.mp4
expect "... of a manifest" 2 "'a.jsonl' is a manifest of recordings" "data.source=speech data.speech.manifest=a.jsonl; .*--data=speech" -- \
  "$graphrun" data inspect a.jsonl
expect "... as the hint says" 0 'width +f64 +feature' -- "$graphrun" data inspect table.yaml data.source=table data.table.path=good.csv
expect "data inspect of a folder" 2 "'pictures/images' is a folder, not a configuration" "hint: .*data.image.path=pictures/images, if" -- \
  "$graphrun" data inspect pictures/images
expect "... that has some" 2 "'pictures' is a folder, not a configuration" "hint: give the path of one of its .yaml files" -- "$graphrun" data inspect pictures
expect "data inspect of a run" 2 "'run' is a folder, not a configuration" "hint: the configuration of this run is run/.hydra/config.yaml" -- "$graphrun" data inspect run
for command in "" plan config -m; do
  # shellcheck disable=SC2086
  expect "a table for a configuration: graphrun $command" 2 "'good.csv' is a table, not a configuration" "hint: graphrun .*CONFIG.yaml" -- \
    "$graphrun" $command good.csv
done
counts
