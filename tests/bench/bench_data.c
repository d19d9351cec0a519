// bench_data.c - time of reading samples: one epoch of a source, without a cache, by this thread
// alone or by workers. tools/bench-data makes the files and compares it with PyTorch's readers.
//   bench_data speech|image|text PATH [ROUNDS [WORKERS|heads]]
// prints the medians of the rounds in microseconds a sample: of processors, all threads together,
// and from the first to the last batch; with `heads`, which only looks at the files as a run does
// before it begins, of that.
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "base/port.h"
#include "runtime/data/corpus/corpus.h"
#include "runtime/data/image/image.h"
#include "runtime/data/loader.h"
#include "runtime/data/speech/speech.h"

enum { BATCH = 8, MAX_ROUNDS = 64 };

static void must(gr_status s) {
  if (!s) return;
  gr_status_print(stderr, s);
  exit(1);
}

typedef struct times {
  double processor, elapsed;  // microseconds
} times;

static double seconds_of(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static times now(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (times){1e6 * (seconds_of(u.ru_utime) + seconds_of(u.ru_stime)), 1e6 * gr_seconds()};
}

static gr_dataset *open_data(gr_arena *a, const char *kind, const char **path) {
  static const gr_dataset_options o = {.n_buckets = 1};
  gr_dataset *d;
  gr_vocab vocab;
  must(gr_vocab_make(a, "ab ", -1, &vocab));
  gr_vocab *kept = GR_NEW(a, gr_vocab, 1);
  *kept = vocab;
  gr_speech_spec speech = {
      .train = *path, .vocab = kept, .features = {16000, 400, 160, 512, 80, 0, 0, true}};
  gr_image_spec image = {.path = *path, .height = 224, .width = 224, .channels = 3};
  gr_corpus_spec corpus = {.paths = {path, 1}, .vocab = "bytes", .context = 512, .shift = true};
  bool is_speech = !strcmp(kind, "speech"), is_image = !strcmp(kind, "image");
  const gr_source_ops *ops = is_speech  ? &gr_source_speech
                             : is_image ? &gr_source_image
                                        : &gr_source_corpus;
  const void *spec = is_speech ? (void *)&speech : is_image ? (void *)&image : (void *)&corpus;
  must(gr_dataset_create(ops, spec, &o, &d));
  return d;
}

static times round_of(gr_dataset *d, int workers) {
  gr_loader_spec spec = {.split = GR_SPLIT_TRAIN,
                         .batch = BATCH,
                         .ranks = 1,
                         .epochs = 1,
                         .prefetch = workers ? 3 : 1,
                         .workers = workers,
                         .seed = 1,
                         .shuffle = true};
  gr_loader *l;
  const gr_batch *b;
  times start = now();
  must(gr_loader_open(d, &spec, &l));
  do must(gr_loader_next(l, &b));
  while (b);
  gr_loader_close(l);
  times to = now();
  double n = gr_dataset_count(d, GR_SPLIT_TRAIN);
  return (times){(to.processor - start.processor) / n, (to.elapsed - start.elapsed) / n};
}

static times heads_of(gr_dataset *d) {
  times start = now();
  must(gr_dataset_check_files(d, 0, 1));
  times to = now();
  double n = gr_dataset_samples(d);
  return (times){(to.processor - start.processor) / n, (to.elapsed - start.elapsed) / n};
}

static int by_number(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_medians(const times *t, int n) {
  double processor[MAX_ROUNDS], elapsed[MAX_ROUNDS];
  for (int i = 0; i < n; i++) processor[i] = t[i].processor, elapsed[i] = t[i].elapsed;
  qsort(processor, (size_t)n, sizeof *processor, by_number);
  qsort(elapsed, (size_t)n, sizeof *elapsed, by_number);
  printf("%.1f %.1f\n", processor[n / 2], elapsed[n / 2]);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return fprintf(stderr, "bench_data speech|image|text PATH [ROUNDS [WORKERS|heads]]\n"), 2;
  bool heads = argc > 4 && !strcmp(argv[4], "heads");
  int rounds = argc > 3 ? atoi(argv[3]) : 5, workers = argc > 4 ? atoi(argv[4]) : 0;
  times t[MAX_ROUNDS];
  if (rounds < 1 || rounds > MAX_ROUNDS) return 2;
  gr_arena *a = gr_arena_create();
  const char *path = argv[2];
  gr_dataset *d = open_data(a, argv[1], &path);
  if (heads) {
    for (int i = 0; i < rounds; i++) t[i] = heads_of(d);
  } else {
    round_of(d, workers);  // libraries are loaded
    for (int i = 0; i < rounds; i++) t[i] = round_of(d, workers);
  }
  print_medians(t, rounds);
  gr_dataset_close(d);
  gr_arena_destroy(a);
  return 0;
}
