// fuzz_table.c - any bytes are a table of samples (CSV, Parquet or NumPy's files) or an error:
// with a label, a list of labels or none, as rows or in windows, with a split or by hash, in a
// format that is set or found.
#include "fuzz_source.h"
#include "runtime/data/table/table.h"

const fuzz_budget fuzz_memory = {8 << 20, 4000};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bool npz = size > 1 && !memcmp(data, "PK", 2), npy = size > 5 && !memcmp(data, "\x93NUMPY", 6);
  bool parquet = size > 3 && !memcmp(data, "PAR1", 4);
  const char *name = parquet ? "x.parquet" : npz ? "x.npz" : npy ? "x.npy" : "x.csv";
  const char *path = fuzz_put(name, data, size);
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
  return 0;
}
