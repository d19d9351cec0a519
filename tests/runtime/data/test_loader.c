// test_loader.c - batches: the same on any number of ranks and threads, from any place on.
#include <pthread.h>
#include "tests/runtime/data/tally.h"

enum { CORPUS = 47 };

static gr_dataset *open_corpus(size_t cache) {
  static const char *manifest;
  if (!manifest) manifest = fixture_corpus("loader", CORPUS);
  fixture_data spec = fixture_spec(manifest);
  spec.options.validation_fraction = 0.2, spec.options.cache_bytes = cache;
  gr_dataset *d;
  MUST(fixture_open(&spec, &d));
  return d;
}

// The rows that are of the batch of BATCH; what is beyond weighs 0.
static bool same_rows(const tally *a, int per_a, const tally *b, int per_b) {
  if (a->n / per_a != b->n / per_b) return false;
  for (int k = 0; k < a->n / per_a; k++)
    for (int i = 0; i < BATCH; i++)
      if (!same_row(a->rows + k * per_a + i, b->rows + k * per_b + i)) return false;
  return true;
}

static void same_on_any_ranks_and_threads(void) {
  static tally one, other;
  gr_dataset *d = open_corpus(1 << 24);
  one.n = 0;
  read_all(d, plain(), 1, &one);
  CHECK(one.n == (int)gr_contract_batches(gr_dataset_contract(d), GR_SPLIT_TRAIN, BATCH, NULL) *
                     BATCH * EPOCHS,
        "%d rows", one.n);
  for (int ranks = 1; ranks <= 3; ranks++)
    for (int workers = 0; workers <= 3; workers++) {
      gr_loader_spec spec = plain();
      spec.workers = workers, spec.prefetch = 1 + workers, other.n = 0;
      read_all(d, spec, ranks, &other);
      int rows = (BATCH + ranks - 1) / ranks * ranks;
      CHECK(same_rows(&one, BATCH, &other, rows), "%d ranks, %d workers", ranks, workers);
      for (int i = 0; i < other.n; i++)
        CHECK(i % rows < BATCH ||
                  (other.rows[i].weight == 0 && other.rows[i].utterance == GR_NO_SAMPLE),
              "row %d is padding", i);
    }
  gr_dataset_close(d);
}

static void same_with_any_cache(void) {
  static tally one, other;
  gr_dataset *d = open_corpus(1 << 24);
  one.n = 0;
  read_all(d, plain(), 1, &one);
  gr_dataset_close(d);
  for (size_t bytes = 0; bytes <= 40000; bytes += 40000) {
    d = open_corpus(bytes);
    gr_loader_spec spec = plain();
    spec.workers = 2, other.n = 0;
    read_all(d, spec, 1, &other);
    CHECK(same_rows(&one, BATCH, &other, BATCH), "with %zu bytes", bytes);
    gr_dataset_close(d);
  }
}

// Threads that resample do not interfere: 8000 samples a second read as 11025.
static void same_when_resampled(void) {
#ifndef GR_HAVE_SOXR
  SKIP("built without soxr");
#endif
  static tally one, other;
  fixture_data data = fixture_spec(fixture_corpus("resampled", 20));
  data.speech.features.rate = 11025;
  for (int workers = 0; workers <= 3; workers += 3) {
    gr_dataset *d;
    gr_loader_spec spec = plain();
    tally *all = workers ? &other : &one;
    MUST(fixture_open(&data, &d));
    spec.workers = workers, spec.epochs = 1, all->n = 0;
    read_all(d, spec, 1, all);
    gr_dataset_close(d);
  }
  CHECK(same_rows(&one, BATCH, &other, BATCH), "3 workers and none");
}

static void every_one_once_an_epoch(void) {
  static tally all;
  gr_dataset *d = open_corpus(1 << 24);
  all.n = 0;
  read_all(d, plain(), 2, &all);
  int seen[EPOCHS][CORPUS] = {0}, moved = 0, last = -1;
  uint32_t first[EPOCHS] = {0};
  for (int i = 0; i < all.n; i++) {
    const row *r = all.rows + i;
    CHECK((r->weight == 1) == (r->utterance != GR_NO_SAMPLE), "weight of row %d", i);
    if (r->utterance == GR_NO_SAMPLE) continue;
    if (!seen[r->epoch][r->utterance]++ && r->epoch != (uint32_t)last)
      first[last = (int)r->epoch] = r->utterance;
    CHECK(gr_dataset_sample(d, r->utterance)->bucket <= r->bucket, "row %d fits", i);
    moved += gr_dataset_sample(d, r->utterance)->bucket < r->bucket;
  }
  for (uint32_t u = 0; u < gr_dataset_samples(d); u++)
    for (int e = 0; e < EPOCHS; e++)
      CHECK(seen[e][u] == (gr_dataset_sample(d, u)->split == GR_SPLIT_TRAIN),
            "utterance %u, epoch %d: %d", u, e, seen[e][u]);
  CHECK(first[0] != first[1], "epochs differ in order");
  CHECK(moved > 0, "some fill the empty rows of a larger bucket");
  gr_dataset_close(d);
}

// Who shares a batch with whom changes from epoch to epoch, not only the batches' order.
static void mixes_batches_anew(void) {
  static tally all;
  gr_dataset *d = open_corpus(1 << 24);
  uint32_t of[EPOCHS][CORPUS] = {{0}};
  int together[EPOCHS] = {0};
  all.n = 0;
  read_all(d, plain(), 1, &all);
  for (int i = 0; i < all.n; i++)
    if (all.rows[i].weight > 0)
      of[all.rows[i].epoch][all.rows[i].utterance] = all.rows[i].index + 1;
  for (int i = 0; i < CORPUS; i++)
    for (int j = 0; j < i; j++) {
      bool before = of[0][i] && of[0][i] == of[0][j];
      together[0] += before, together[1] += before && of[1][i] == of[1][j];
    }
  CHECK(together[1] < together[0] * 3 / 4, "%d of %d pairs stay together", together[1],
        together[0]);
  gr_dataset_close(d);
}

// An epoch in text: in which order buckets come; or who shares a batch with whom, whatever the
// order: of each utterance the first one of its batch.
static const char *order_of(gr_dataset *d, uint64_t seed, uint32_t epoch, bool buckets) {
  static char text[8][512];
  static int next;
  char *out = text[next++ % 8];
  static tally all;
  gr_loader_spec spec = plain();
  size_t n = 0;
  spec.seed = seed, spec.epoch = epoch, spec.epochs = 1, all.n = 0;
  read_all(d, spec, 1, &all);
  if (buckets)
    for (int i = 0; i < all.n && n < 480; i += BATCH)
      n += (size_t)snprintf(out + n, 512 - n, "%d ", all.rows[i].bucket);
  uint32_t of[CORPUS] = {0}, first[CORPUS + 1];
  for (int i = 0; i < all.n; i++)
    if (all.rows[i].utterance < CORPUS) of[all.rows[i].utterance] = all.rows[i].index + 1;
  for (int i = 0; i <= CORPUS; i++) first[i] = UINT32_MAX;
  for (uint32_t u = 0; u < CORPUS && !buckets && n < 480; u++) {
    if (of[u] && first[of[u]] == UINT32_MAX) first[of[u]] = u;
    n += (size_t)snprintf(out + n, 512 - n, "%u ", of[u] ? first[of[u]] : 99);
  }
  return out;
}

// Both draws depend on both: the members of batches, and in which order buckets come.
static void depends_on_seed_and_epoch(void) {
  gr_dataset *d = open_corpus(1 << 24);
  for (int buckets = 0; buckets < 2; buckets++) {
    const char *first = order_of(d, 5, 0, buckets);
    CHECK(!strcmp(first, order_of(d, 5, 0, buckets)), "the same again");
    bool by_seed = false, by_epoch = false;
    for (uint32_t i = 1; i < 4; i++) {
      by_seed = by_seed || strcmp(first, order_of(d, 5 + i, 0, buckets)) != 0;
      by_epoch = by_epoch || strcmp(first, order_of(d, 5, i, buckets)) != 0;
    }
    CHECK(by_seed && by_epoch, "buckets %d: by seed %d, by epoch %d", buckets, by_seed, by_epoch);
  }
  gr_dataset_close(d);
}

// One recording under eight names, with two seeds: sixteen different masks.
static void masks_differ_by_name_and_seed(void) {
  static tally all;
  const char *path = fixture_path("same.jsonl");
  char lines[1024] = "";
  fixture_wav(fixture_path("same.wav"), 8000, 1, 4000, 1);
  for (int i = 0; i < 8; i++)
    snprintf(lines + strlen(lines), 128,
             "{\"name\": \"%d\", \"audio_path\": \"same.wav\", \"text\": \"a\"}\n", i);
  fixture_text(path, lines);
  fixture_data data = fixture_spec(path);
  data.speech.augment = (gr_augment){1, 8, 1, 30, 0.9, 10};
  gr_dataset *d;
  MUST(fixture_open(&data, &d));
  gr_loader_spec spec = plain();
  spec.epochs = 1, all.n = 0;
  read_all(d, spec, 1, &all);
  spec.seed++;
  read_all(d, spec, 1, &all);
  int same = 0, pairs = 0;
  for (int i = 0; i < all.n; i++)
    for (int j = 0; j < i; j++) {
      if (all.rows[i].weight < 1 || all.rows[j].weight < 1) continue;
      same += all.rows[i].hash == all.rows[j].hash, pairs++;
    }
  CHECK(pairs == 16 * 15 / 2 && !same, "%d of %d pairs are the same", same, pairs);
  gr_dataset_close(d);
}

// The same recording in the same bucket: other masks in each epoch, or none.
static void masks_anew_in_each_epoch(void) {
  static tally all;
  for (int augment = 0; augment < 2; augment++) {
    gr_dataset *d = open_corpus(1 << 24);
    gr_loader_spec spec = plain();
    const row *before[CORPUS] = {NULL};
    int same = 0, other = 0;
    spec.augment = augment, all.n = 0;
    read_all(d, spec, 1, &all);
    for (int i = 0; i < all.n; i++) {
      const row *r = all.rows + i;
      if (r->utterance == GR_NO_SAMPLE) continue;
      const row *b = before[r->utterance];
      if (b && b->bucket == r->bucket) *(b->hash == r->hash ? &same : &other) += 1;
      before[r->utterance] = r;
    }
    CHECK(same + other > CORPUS / 2, "%d compared", same + other);
    CHECK(augment ? other > 4 * same : !other, "augment %d: %d are the same, %d not", augment, same,
          other);
    gr_dataset_close(d);
  }
}

static void goes_on_from_any_batch(void) {
  static tally all, rest;
  gr_dataset *d = open_corpus(1 << 24);
  uint32_t n = gr_contract_batches(gr_dataset_contract(d), GR_SPLIT_TRAIN, BATCH, NULL);
  all.n = 0;
  read_all(d, plain(), 1, &all);
  for (uint32_t first = 0; first <= n; first++) {
    gr_loader_spec spec = plain();
    spec.first = first, spec.workers = 2, rest.n = 0;
    read_all(d, spec, 1, &rest);
    int begin = (int)first * BATCH;
    CHECK(rest.n == all.n - begin, "from batch %u: %d rows", first, rest.n);
    for (int i = 0; i < rest.n && i < all.n - begin; i++)
      CHECK(same_row(rest.rows + i, all.rows + begin + i), "row %d from batch %u", i, first);
  }
  gr_loader_spec spec = plain();
  gr_loader *l;
  spec.first = n + 1;
  fixture_fails(gr_loader_open(d, &spec, &l), GR_ERR_DATA, 0, "cannot go on at batch");
  gr_dataset_close(d);
}

static void validation_is_whole_and_in_order(void) {
  static tally all;
  gr_dataset *d = open_corpus(1 << 24);
  gr_loader_spec spec = plain();
  spec.split = GR_SPLIT_VALIDATION, spec.shuffle = spec.augment = false, spec.epochs = 1;
  all.n = 0;
  read_all(d, spec, 3, &all);
  int n = 0;
  int64_t before = -1;
  for (int i = 0; i < all.n; i++) {
    uint32_t u = all.rows[i].utterance;
    if (u == GR_NO_SAMPLE) continue;
    int64_t place = (int64_t)gr_dataset_sample(d, u)->bucket * CORPUS + u;
    CHECK(gr_dataset_sample(d, u)->split == GR_SPLIT_VALIDATION && place > before, "row %d", i);
    before = place, n++;
  }
  int want = 0;
  for (uint32_t u = 0; u < gr_dataset_samples(d); u++)
    want += gr_dataset_sample(d, u)->split == GR_SPLIT_VALIDATION;
  CHECK(n == want && n > 0, "%d of %d", n, want);
  gr_dataset_close(d);
}

static void no_validation_is_no_batch(void) {
  fixture_data data = fixture_spec(fixture_corpus("small", 3));
  gr_dataset *d;
  gr_loader *l;
  const gr_batch *b;
  MUST(fixture_open(&data, &d));
  gr_loader_spec spec = plain();
  spec.split = GR_SPLIT_VALIDATION, spec.epochs = 0, spec.workers = 1;
  MUST(gr_loader_open(d, &spec, &l));
  MUST(gr_loader_next(l, &b));
  CHECK(!b, "the end at once");
  gr_loader_close(l);
  gr_dataset_close(d);
}

// Whether two rows have the same bytes in all fields but the last, the weight.
static bool same_values(const gr_batch *b, int i, int j) {
  bool same = true;
  for (int f = 0; f < b->n_fields - 1; f++) {
    size_t size = gr_type_bytes(&b->field[f].type) / (size_t)b->rows;
    const char *x = b->field[f].data;
    same &= !memcmp(x + (size_t)i * size, x + (size_t)j * size, size);
  }
  return same;
}

static void padding_repeats_samples(void) {
  gr_dataset *d = open_corpus(1 << 24);
  gr_loader_spec spec = plain();
  gr_loader *l;
  const gr_batch *b;
  spec.augment = false, spec.epochs = 1;
  MUST(gr_loader_open(d, &spec, &l));
  for (;;) {
    MUST(gr_loader_next(l, &b));
    if (!b) break;
    uint32_t samples = 0;
    gr_type type, of_targets;
    const float *all = fixture_field(b, "x", &type);
    const int32_t *targets = fixture_field(b, "targets", &of_targets);
    int64_t t = type.dim[1], mels = type.dim[2], u = of_targets.dim[1];
    const int32_t *lengths = fixture_field(b, "lengths", &type);
    const int32_t *target_lengths = fixture_field(b, "target_lengths", &type);
    for (int i = 0; i < b->rows; i++) {
      const float *x = all + i * t * mels;
      int64_t odd = 0;
      for (int64_t k = lengths[i] * mels; k < t * mels; k++) odd += x[k] != 0;
      for (int64_t k = target_lengths[i]; k < u; k++) odd += targets[i * u + k] != 0;
      CHECK(!odd, "row %d: %d values are not 0", i, (int)odd);
      CHECK(weight_of(b, i) > 0 || same_values(b, i, i % (int)b->samples), "row %d repeats one", i);
      samples += weight_of(b, i) > 0;
    }
    CHECK(samples == b->samples, "%u samples, it says %u", samples, b->samples);
  }
  gr_loader_close(l);
  gr_dataset_close(d);
}

static void closes_at_any_time(void) {
  gr_dataset *d = open_corpus(0);
  for (int i = 0; i < 40; i++) {
    gr_loader_spec spec = plain();
    gr_loader *l;
    const gr_batch *b;
    spec.workers = 1 + i % 3, spec.epochs = 0;
    MUST(gr_loader_open(d, &spec, &l));
    for (int k = 0; k < i % 4; k++) MUST(gr_loader_next(l, &b));
    gr_loader_close(l);
  }
  gr_loader_close(NULL);
  gr_dataset_close(d);
}

// Ranks as threads on one data set: they share its cache.
typedef struct rank_job {
  gr_dataset *data;
  int rank;
  tally *log;
} rank_job;
static void *run_rank(void *arg) {
  rank_job *job = arg;
  gr_loader_spec spec = plain();
  gr_loader *l = NULL;
  const gr_batch *b = NULL;
  spec.ranks = 2, spec.rank = job->rank, spec.workers = 2;
  gr_status s = gr_loader_open(job->data, &spec, &l);
  while (!s && !(s = gr_loader_next(l, &b)) && b) note(job->log, b);
  gr_loader_close(l);
  return s;
}
static void ranks_may_be_threads(void) {
  static tally one, both[2];
  gr_dataset *d = open_corpus(1 << 24);
  pthread_t threads[2];
  rank_job jobs[2];
  both[0].n = both[1].n = one.n = 0;
  for (int r = 0; r < 2; r++) {
    jobs[r] = (rank_job){d, r, both + r};
    CHECK(!pthread_create(threads + r, NULL, run_rank, jobs + r), "a thread");
  }
  for (int r = 0; r < 2; r++) {
    void *s;
    pthread_join(threads[r], &s);
    MUST((gr_status)s);
  }
  read_all(d, plain(), 1, &one);
  for (int i = 0; i < one.n; i++) {
    int k = i / BATCH, offset = i % BATCH;
    const row *r = both[offset / 3].rows + k * 3 + offset % 3;
    CHECK(r->utterance == one.rows[i].utterance && r->hash == one.rows[i].hash, "row %d", i);
  }
  gr_dataset_close(d);
}

int main(int argc, char **argv) {
  return RUN(
      argc, argv, {"same_on_any_ranks_and_threads", same_on_any_ranks_and_threads},
      {"same_with_any_cache", same_with_any_cache}, {"same_when_resampled", same_when_resampled},
      {"every_one_once_an_epoch", every_one_once_an_epoch},
      {"mixes_batches_anew", mixes_batches_anew},
      {"depends_on_seed_and_epoch", depends_on_seed_and_epoch},
      {"masks_differ_by_name_and_seed", masks_differ_by_name_and_seed},
      {"masks_anew_in_each_epoch", masks_anew_in_each_epoch},
      {"goes_on_from_any_batch", goes_on_from_any_batch},
      {"validation_is_whole_and_in_order", validation_is_whole_and_in_order},
      {"no_validation_is_no_batch", no_validation_is_no_batch},
      {"padding_repeats_samples", padding_repeats_samples},
      {"closes_at_any_time", closes_at_any_time}, {"ranks_may_be_threads", ranks_may_be_threads});
}
