// fuzz_table.c - any bytes are a table of samples (CSV, JSON lines, ARFF, .ts, Parquet or NumPy's
// files), or texts with a class, or an error:
// with a label, a list of labels or none, as rows or in windows, with a split or by hash, in a
// format that is set or found.
#include "fuzz_source.h"
#include "runtime/data/table/table.h"
#include "runtime/data/texts/texts.h"

const fuzz_budget fuzz_memory = {8 << 20, 4000};

static const char *name_of(const uint8_t *data, size_t size) {
  static const struct {
    const char *begins, *name;
  } kinds[] = {
      {"PK", "x.npz"},         {"\x93NUMPY", "x.npy"}, {"PAR1", "x.parquet"}, {"{", "x.jsonl"},
      {"@relation", "x.arff"}, {"%", "x.arff"},        {"@", "x.ts"},         {"#", "x.ts"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t n = strlen(kinds[i].begins);
    if (size >= n && !memcmp(data, kinds[i].begins, n)) return kinds[i].name;
  }
  return "x.csv";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = fuzz_put(name_of(data, size), data, size);
  gr_table_spec specs[] = {{.label = "y", .csv.header = true, .normalize = true},
                           {.label = "y",
                            .split = "split",
                            .series = "id",
                            .csv.header = true,
                            .window = 2,
                            .stride = 1},
                           {.csv.header = false},
                           {.label = "y", .label_is = GR_LABEL_LIST}};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
    specs[i].paths = (gr_names){&path, 1};
    specs[i].csv.section = "data.table";
    specs[i].csv.delimiter = size % 5 ? ',' : ';';
    if (specs[i].label_is == GR_LABEL_LIST) specs[i].csv = gr_csv_any;
    fuzz_source(&gr_source_table, &specs[i]);
  }
  gr_texts_spec texts = {.path = path, .text = "text", .label = "y", .max_tokens = 8};
  texts.csv = specs[0].csv;
  fuzz_source(&gr_source_texts, &texts);
  return 0;
}
