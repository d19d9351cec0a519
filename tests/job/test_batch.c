// test_batch.c - training.batch_size by bucket: the sizes that are chosen, on a model and data that
// are declared alone.
#include <string.h>
#include "job/figures.h"
#include "job/fit.h"
#include "job/parts.h"
#include "tests/check.h"

enum { BUCKETS = 3 };
static const int lengths[BUCKETS] = {8, 24, 56}, counts[BUCKETS] = {50, 21, 3};

static const char config[] =
    "model: {graph: " GR_SOURCE_DIR
    "/docs/tour/mlp.yaml}\n"
    "data:\n"
    "  features: {mels: 8}\n"
    "  expect:\n"
    "    metadata: {vocab: 29, mels: 8, blank: 28}\n"
    "    fields: {x: [f32, length, 8], lengths: [i32], targets: [i32, extent], target_lengths: "
    "[i32]}\n"
    "    buckets:\n"
    "      - {length: 8, train: 50, validation: 2, extents: {targets: 3}}\n"
    "      - {length: 24, train: 21, validation: 2, extents: {targets: 3}}\n"
    "      - {length: 56, train: 3, validation: 2, extents: {targets: 3}}\n";

// The job of that configuration with these overrides, planned for so many ranks.
static gr_status plan(gr_arena *a, const char **overrides, int n, int ranks, gr_job *j) {
  static const gr_command command = {.name = "plan", .plans = true, .kind = GR_RUN_TRAIN};
  FILE *f = fopen("test_batch.yaml", "w");
  fputs(config, f);
  fclose(f);
  gr_args args = {.program = "graphrun",
                  .command = &command,
                  .config = "test_batch.yaml",
                  .overrides = overrides,
                  .n_overrides = n,
                  .ranks = ranks};
  gr_status s = gr_job_compose(a, &args, j);
  return s ? s : gr_job_fit(j, ranks);
}

static const gr_batch_settings *batch_of(const gr_job *j) { return &j->spec.set.options.batch; }

// 1 to 8, and the multiples of 8: the next.
static int next_size(int n) { return n < 8 ? n + 1 : n + 8; }
static bool is_size(int n) { return n >= 1 && (n <= 8 || n % 8 == 0); }

static void by_length(void) {
  for (int n = 56; n < 1000; n += 37)
    for (int ranks = 1; ranks <= 2; ranks++) {
      gr_arena *a = gr_arena_create();
      gr_job j = {0};
      const char *overrides[] = {gr_arena_printf(a, "training.batch_size={total_length: %d}", n),
                                 "training.batch_is=per_rank"};
      MUST(plan(a, overrides, 2, ranks, &j));
      for (int b = 0; b < BUCKETS; b++) {
        int size = batch_of(&j)->global_of[b] / ranks, each = (counts[b] + ranks - 1) / ranks;
        CHECK(size * ranks == batch_of(&j)->global_of[b] && (is_size(size) || size == each),
              "%d of %d", size, n);
        CHECK(size * lengths[b] <= n, "%d of length %d have no room in %d", size, lengths[b], n);
        bool larger = next_size(size) * lengths[b] <= n;
        CHECK(!larger || size >= each, "%d of length %d leave room in %d", size, lengths[b], n);
        CHECK(size <= each, "%d for %d samples", size, each);
        CHECK(batch_of(&j)->rows_of[b] == size, "%d rows", batch_of(&j)->rows_of[b]);
      }
      gr_job_close(&j);
      gr_arena_destroy(a);
    }
}

// What a rank needs with batches of these sizes.
static double bytes_of(gr_job *like, const int *sizes, int bucket) {
  gr_job with = *like;
  with.arena = gr_arena_create();
  with.spec.batches = sizes;
  MUST(gr_job_read(&with, 1));
  MUST(gr_job_plan(&with, 1));
  const char *name = gr_contract_bucket_name(with.arena, with.spec.contract, bucket);
  double bytes = gr_batch_bytes(&with, name);
  gr_arena_destroy(with.arena);
  return bytes;
}

// The batch of each bucket fits, and the next larger one does not, or is not needed.
static void by_memory(void) {
  for (int kb = 60; kb <= 300; kb += 80) {
    gr_arena *a = gr_arena_create();
    gr_job j = {0}, two = {0}, mesh = {0};
    const char *overrides[] = {gr_arena_printf(a, "training.batch_size={memory: %dkB}", kb)};
    MUST(plan(a, overrides, 1, 1, &j));
    const gr_plan_figures *f = gr_job_count(&j, NULL, 0);
    double most = 0;
    for (int b = 0; b < BUCKETS; b++) {
      int sizes[BUCKETS];
      memcpy(sizes, batch_of(&j)->global_of, sizeof sizes);
      double bytes = f->use.buckets[b].bytes;
      most = bytes > most ? bytes : most;
      CHECK((is_size(sizes[b]) || sizes[b] == counts[b]) && bytes <= 1e3 * kb,
            "%d need %.0f of %d kB", sizes[b], bytes, kb);
      CHECK(bytes == bytes_of(&j, sizes, b), "bucket %d is planned with %.0f", b, bytes);
      bool all = sizes[b] >= counts[b];
      sizes[b] = next_size(sizes[b]);
      CHECK(all || bytes_of(&j, sizes, b) > 1e3 * kb, "%d fit in %d kB", sizes[b], kb);
    }
    CHECK(most == f->bytes, "all need %.0f, the largest bucket %.0f", f->bytes, most);
    MUST(plan(a, overrides, 1, 2, &two));
    CHECK(!memcmp(batch_of(&two)->global_of, batch_of(&j)->global_of, BUCKETS * sizeof(int)),
          "other batches on 2 ranks, of %d kB", kb);
    const char *meshed[] = {overrides[0], "distributed.strategy=hsdp",
                            "distributed.mesh={replicate: 1, shard: 2}"};
    MUST(plan(a, meshed, 3, 2, &mesh));
    CHECK(!memcmp(batch_of(&mesh)->global_of, batch_of(&j)->global_of, BUCKETS * sizeof(int)),
          "other batches on a mesh, of %d kB", kb);
    gr_job_close(&j);
    gr_arena_destroy(a);
  }
}

// Micro-steps divide a batch, which is as many times as large.
static void micro_steps(void) {
  gr_arena *a = gr_arena_create();
  gr_job one = {0}, four = {0};
  const char *overrides[] = {"training.batch_size={memory: 60kB}", "training.accumulate=2"};
  MUST(plan(a, overrides, 1, 1, &one));
  MUST(plan(a, overrides, 2, 1, &four));
  for (int b = 0; b < BUCKETS; b++) {
    const gr_batch_settings *s = batch_of(&four);
    CHECK(s->global_of[b] == 2 * s->rows_of[b] && s->micro_batches == 2, "bucket %d", b);
    CHECK(s->micro_of[b] == s->rows_of[b], "an evaluation has batches of a micro-step");
  }
  gr_arena_destroy(a);
}

// Every value that cannot be is refused at its place.
static void refused(void) {
  static const char *const wrong[][2] = {
      {"training.batch_size={memory: 1kB}", "has no room for a sample of t8"},
      {"training.batch_size={memory: 1}", "must be a size, but is an integer"},
      {"training.batch_size=5 training.numerics=canonical", "cannot be cut into 8 virtual shards"},
      {"training.batch_size={memory: 1kB, total_length: 3}", "either 'memory' or 'total_length'"},
      {"training.batch_size={}", "either 'memory' or 'total_length'"},
      {"training.batch_size={rows: 3}", "either 'memory' or 'total_length'"},
      {"training.batch_size={total_length: 0}", "either 'memory' or 'total_length'"},
      {"training.batch_size={total_length: 55}", "no room for a sample of the longest"},
      {"training.batch_size=[3]", "must be an integer from 1 to 1000000000 or a mapping"},
      {"loop=[train] training.batch_size={total_length: 99}", "not for a `loop:`"},
      {"training.memory=1GB training.batch_size={memory: 1GB}", "training.memory chooses"},
      {"training.accumulate=9 training.batch_size={total_length: 60}", "no room for a sample"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    gr_arena *a = gr_arena_create();
    gr_job j = {0};
    char *text = gr_arena_strdup(a, wrong[i][0]), *second = strstr(text, " training.");
    const char *overrides[] = {text, second ? second + 1 : NULL};
    if (second) *second = 0;
    gr_status s = plan(a, overrides, second ? 2 : 1, 1, &j);
    CHECK(s && strstr(gr_status_text(s), wrong[i][1]), "%s: %s", wrong[i][0],
          s ? gr_status_text(s) : "is taken");
    CHECK(!s || gr_status_loc(s).file, "%s: no place", wrong[i][0]);
    gr_status_drop(s);
    gr_arena_destroy(a);
  }
}

int main(int argc, char **argv) {
  gr_settings_register();
  return RUN(argc, argv, {"by_length", by_length}, {"by_memory", by_memory},
             {"micro_steps", micro_steps}, {"refused", refused});
}
