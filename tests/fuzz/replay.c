// replay.c - runs a fuzz target on every file of the folders given, and counts the memory that it
// takes (fuzz_memory). Where there is no libFuzzer,
//   TARGET --mutate SEED COUNT FOLDER...
// searches too: COUNT mutants of those files, told apart by SEED, by the target's own mutator or by
// the one below. The one that a property does not hold for is left in the file `finding`.
#include <dirent.h>
#include <signal.h>
#include <unistd.h>
#include "fuzz.h"
#include "meter.h"

enum { MAX_FILES = 1000, MAX_BYTES = 1 << 16 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
    __attribute__((weak));

// ---- One input --------------------------------------------------------------------

// In memory of its own size, so that a sanitizer sees a read beyond it.
static void run_target(const void *data, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  HOLDS(copy);
  memcpy(copy, data, size);
  fuzz_meter_begin();
  LLVMFuzzerTestOneInput(copy, size);
  size_t peak = fuzz_meter_peak();
  free(copy);
  if (!&fuzz_memory || !fuzz_meter_counts()) return;
  size_t most = fuzz_memory.base + fuzz_memory.factor * size;
  if (peak > most) fprintf(stderr, "%zu bytes of input took %zu of memory\n", size, peak);
  HOLDS(peak <= most);
}

// ---- Mutants ----------------------------------------------------------------------

static uint64_t drawn;
static size_t draw(size_t below) {  // splitmix64
  uint64_t z = drawn += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return below ? (size_t)((z ^ z >> 31) % below) : 0;
}

// Replaces `old` bytes at `offset` by `n` of `with`.
static size_t splice(uint8_t *data, size_t size, size_t most, size_t offset, size_t old,
                     const void *with, size_t n) {
  if (offset + old > size || size - old + n > most) return size;
  memmove(data + offset + n, data + offset + old, size - offset - old);
  memcpy(data + offset, with, n);
  return size - old + n;
}

static size_t put_number(uint8_t *data, size_t size) {
  static const uint64_t odd[] = {0,          1,          0x7f,       0x80,        0xff,
                                 0x7fff,     0x8000,     0xffff,     0x7fffffff,  0x80000000,
                                 0xffffffff, UINT64_MAX, 0x01000000, 0x100000000, INT64_MAX};
  uint64_t v = odd[draw(sizeof odd / sizeof *odd)];
  size_t n = (size_t)1 << draw(4), offset = draw(size);
  bool big = draw(2);
  for (size_t i = 0; i < n && offset + i < size; i++)
    data[offset + i] = (uint8_t)(v >> 8 * (big ? n - 1 - i : i));
  return size;
}

static size_t put_word(uint8_t *data, size_t size, size_t most) {
  static const char *const words[] = {"\n",       ",",
                                      "\"",       "nan",
                                      "-1",       "99999999999999999999",
                                      "1e999",    "\xef\xbb\xbf",
                                      "{",        "}",
                                      "[",        ":",
                                      " ",        "\r\n",
                                      "\xff\xfe", "../",
                                      "\\u0000",  "abc",
                                      "0",        "'"};
  const char *w = words[draw(sizeof words / sizeof *words)];
  size_t offset = draw(size + 1), old = draw(3) ? 0 : draw(8);
  return splice(data, size, most, offset, old, w, strlen(w));
}

static size_t copy_range(uint8_t *data, size_t size, size_t most) {
  uint8_t range[64];
  size_t n = 1 + draw(sizeof range), first = draw(size);
  if (first + n > size) n = size - first;
  memcpy(range, data + first, n);
  return splice(data, size, most, draw(size + 1), draw(2) ? n : 0, range, n);
}

static size_t mutate(uint8_t *data, size_t size, size_t most, unsigned seed) {
  drawn = seed;
  if (!size) return size;
  switch (draw(6)) {
    case 0:
      data[draw(size)] ^= (uint8_t)(1 << draw(8));
      return size;
    case 1:
      return put_number(data, size);
    case 2:
      return put_word(data, size, most);
    case 3:
      return copy_range(data, size, most);
    case 4:
      return splice(data, size, most, draw(size), 1 + draw(16), "", 0);
    default:
      return 1 + draw(size);  // cut short
  }
}

// ---- Searching --------------------------------------------------------------------

static struct {
  uint8_t data[MAX_BYTES];
  size_t size;
} mutant;

static struct {
  char *text;
  size_t size;
} files[MAX_FILES];
static int n_files;

static void keep_finding(int number) {
  FILE *f = fopen("finding", "w");
  if (f) fwrite(mutant.data, 1, mutant.size, f), fclose(f);
  signal(number, SIG_DFL);
  raise(number);
}

static void keep_file(const char *text, size_t size) {
  if (n_files == MAX_FILES || size > MAX_BYTES) return;
  char *copy = malloc(size + 1);
  HOLDS(copy);
  memcpy(copy, text, size);
  files[n_files].text = copy, files[n_files++].size = size;
}

static int search(unsigned seed, unsigned count) {
  size_t (*mutator)(uint8_t *, size_t, size_t, unsigned) = LLVMFuzzerCustomMutator;
  HOLDS(n_files);
  if (!mutator) mutator = mutate;
  signal(SIGABRT, keep_finding), signal(SIGSEGV, keep_finding), signal(SIGFPE, keep_finding);
  for (unsigned i = 0; i < count; i++) {
    unsigned of = (seed + i) * 2654435761U;
    int file = (int)((of >> 8) % (unsigned)n_files);
    mutant.size = files[file].size;
    memcpy(mutant.data, files[file].text, mutant.size);
    for (unsigned k = 0; k <= i % 2; k++)
      mutant.size = mutator(mutant.data, mutant.size, MAX_BYTES, of + k);
    run_target(mutant.data, mutant.size);
  }
  for (int i = 0; i < n_files; i++) free(files[i].text);
  printf("%u mutants of %d inputs\n", count, n_files);
  return 0;
}

// ---- Replaying --------------------------------------------------------------------

static bool searching;

static int replay_file(const char *path) {
  gr_arena *a = gr_arena_create();
  char *text;
  size_t len;
  gr_status s = gr_file_read(a, path, 1 << 22, &text, &len);
  if (s)
    gr_status_print(stderr, s);
  else if (searching)
    keep_file(text, len);
  else
    run_target(text, len);
  bool bad = s != NULL;
  gr_status_drop(s);
  gr_arena_destroy(a);
  return bad ? -1 : 1;
}

// In the order of their names, so that a search is the same on any machine.
static int replay_folder(const char *folder) {
  char path[4096];
  struct dirent **list;
  int n = 0, all = scandir(folder, &list, NULL, alphasort);
  for (int i = 0; i < all; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
    if (n >= 0 && list[i]->d_name[0] != '.') n = replay_file(path) < 0 ? -1 : n + 1;
    free(list[i]);
  }
  if (all >= 0) free(list);
  return all < 0 ? -1 : n;
}

int main(int argc, char **argv) {
  gr_log_open(GR_ERROR, 0, 1);
  searching = argc > 4 && !strcmp(argv[1], "--mutate");
  for (int i = searching ? 4 : 1; i < argc; i++) {
    int n = replay_folder(argv[i]);
    if (n <= 0) {
      fprintf(stderr, "%s: nothing to replay\n", argv[i]);
      return 1;
    }
    printf("%s: %d inputs\n", argv[i], n);
  }
  return searching ? search((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3])) : 0;
}
