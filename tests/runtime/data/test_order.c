// test_order.c - which batches an epoch has, for all small numbers of utterances in three buckets.
#include "runtime/data/parts.h"
#include "tests/runtime/data/fixture.h"

enum { BUCKETS = 3, MOST = 7 };
static const int each[][BUCKETS] = {{3, 3, 3}, {4, 3, 2}, {2, 5, 1}};  // batches by bucket
static const int *batch;

typedef struct corpus {
  gr_dataset data;
  gr_bucket_info buckets[BUCKETS];
  uint32_t lists[BUCKETS][MOST], *members[BUCKETS];
  int bucket_of[BUCKETS * MOST];
} corpus;

// As many utterances of training in each bucket as n, written in the base MOST + 1, says.
static void make_corpus(corpus *c, unsigned n) {
  memset(c, 0, sizeof *c);
  c->data.buckets = c->buckets, c->data.n_buckets = BUCKETS;
  c->data.contract = (gr_contract){.buckets = c->buckets, .n_buckets = BUCKETS};
  c->data.members[GR_SPLIT_TRAIN] = c->members;
  for (int b = 0; b < BUCKETS; b++, n /= MOST + 1) {
    uint32_t *count = &c->buckets[b].count[GR_SPLIT_TRAIN];
    c->members[b] = c->lists[b];
    for (; *count < n % (MOST + 1); ++*count, c->data.count++)
      c->lists[b][*count] = c->data.count, c->bucket_of[c->data.count] = b;
  }
}

static void check_batch(const corpus *c, const gr_order *o, const gr_order_batch *b, int *seen) {
  CHECK(b->count > 0 && (int)b->count <= batch[b->bucket], "a batch of %u", b->count);
  for (uint32_t i = b->first; i < b->first + b->count; i++) {
    CHECK(!seen[o->samples[i]]++, "utterance %u comes again", o->samples[i]);
    CHECK(c->bucket_of[o->samples[i]] <= b->bucket, "utterance %u is too long for its batch",
          o->samples[i]);
  }
}

// Rows without an utterance cost as much as others, and rows of longer buckets cost more. So the
// rest of a bucket moves up where that saves a batch, which is where rows are empty, and only
// there.
static void check_batches(const corpus *c, const gr_order *o) {
  uint32_t batches[BUCKETS] = {0}, rows[BUCKETS] = {0};
  for (uint32_t i = 0; i < o->n; i++)
    batches[o->batches[i].bucket]++, rows[o->batches[i].bucket] += o->batches[i].count;
  for (int b = 0, above; b < BUCKETS; b++) {
    uint32_t examples = c->buckets[b].count[GR_SPLIT_TRAIN], most = (uint32_t)batch[b],
             rest = rows[b] % most;
    CHECK(batches[b] <= (examples + most - 1) / most, "bucket %d has %u batches of %u of its own",
          b, batches[b], examples);
    for (above = b + 1; above < BUCKETS && !c->buckets[above].count[GR_SPLIT_TRAIN];) above++;
    if (!rest || above == BUCKETS) continue;
    uint32_t empty = batches[above] * (uint32_t)batch[above] - rows[above];
    CHECK(rest > empty, "%u of bucket %d are left where bucket %d has %u empty rows", rest, b,
          above, empty);
  }
}

static void every_small_corpus(void) {
  static corpus c;
  bool alike = batch == each[0];
  gr_arena *arena = gr_arena_create();
  for (unsigned n = 0; n < (MOST + 1) * (MOST + 1) * (MOST + 1); n++)
    for (int shuffle = 0; shuffle < 2; shuffle++) {
      int seen[BUCKETS * MOST] = {0}, before = check_failed;
      make_corpus(&c, n);
      gr_order_spec spec = {.batch = alike ? batch[0] : 0,
                            .of_bucket = alike ? NULL : batch,
                            .seed = 5,
                            .shuffle = shuffle};
      gr_order o = gr_order_make(arena, &c.data, &spec);
      gr_order_fill(&o, &c.data, &spec, 1);
      for (uint32_t i = 0; i < o.n; i++) check_batch(&c, &o, o.batches + i, seen);
      for (uint32_t u = 0; u < c.data.count; u++) CHECK(seen[u], "utterance %u is lost", u);
      check_batches(&c, &o);
      CHECK(
          o.n == gr_contract_batches(&c.data.contract, GR_SPLIT_TRAIN, spec.batch, spec.of_bucket),
          "%u batches", o.n);
      CHECK(check_failed == before, "above: %u, %u and %u utterances, %sshuffled",
            c.buckets[0].count[0], c.buckets[1].count[0], c.buckets[2].count[0],
            shuffle ? "" : "not ");
    }
  gr_arena_destroy(arena);
}

static void batches_by_bucket(void) {
  for (size_t i = 0; i < sizeof each / sizeof *each; i++) batch = each[i], every_small_corpus();
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"batches_by_bucket", batches_by_bucket});
}
