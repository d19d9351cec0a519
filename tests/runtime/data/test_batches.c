// test_batches.c - batches whose sizes differ by bucket: the same rows on any number of ranks.
#include "tests/runtime/data/tally.h"

enum { CORPUS = 60 };

// Rows of batches whose sizes differ by bucket, and are divided among micro-steps.
static void batches_by_bucket(void) {
  static tally one, other;
  static const int sizes[GR_MAX_BUCKETS] = {7, 4, 3, 2, 1};
  fixture_data corpus = fixture_spec(fixture_corpus("batches", CORPUS));
  corpus.options.validation_fraction = 0.2;
  gr_dataset *d;
  MUST(fixture_open(&corpus, &d));
  gr_loader_spec spec = plain();
  spec.batch = 0, spec.of_bucket = sizes, one.n = 0;
  read_all(d, spec, 1, &one);
  for (int ranks = 1; ranks <= 3; ranks++)
    for (spec.micro = 1; spec.micro <= 3; spec.micro++) {
      spec.workers = ranks - 1, other.n = 0;
      read_all(d, spec, ranks, &other);
      for (int i = 0, k = 0, more; i < one.n; i += sizes[one.rows[i].bucket], k += more) {
        int size = sizes[one.rows[i].bucket], of = ranks * spec.micro;
        more = (size + of - 1) / of * of;
        for (int r = 0; r < more; r++)
          CHECK(r < size ? same_row(&one.rows[i + r], &other.rows[k + r])
                         : other.rows[k + r].weight == 0,
                "row %d of batch %u, %d ranks, %d micro-steps", r, one.rows[i].index, ranks,
                spec.micro);
      }
    }
  CHECK(one.n > 0, "no rows");
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"batches_by_bucket", batches_by_bucket});
}
