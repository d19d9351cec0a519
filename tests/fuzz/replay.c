// replay.c - runs a fuzz target on every file of the folders given. Where there is no libFuzzer,
//   TARGET --mutate SEED COUNT FOLDER...
// searches too, if the target has a mutator: COUNT mutants of those files, told apart by SEED. The
// one that a property does not hold for is left in the file `finding`.
#include <dirent.h>
#include <signal.h>
#include <unistd.h>
#include "fuzz.h"

enum { MAX_FILES = 1000, MAX_BYTES = 1 << 16 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
    __attribute__((weak));

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
  HOLDS(LLVMFuzzerCustomMutator && n_files);
  signal(SIGABRT, keep_finding), signal(SIGSEGV, keep_finding), signal(SIGFPE, keep_finding);
  for (unsigned i = 0; i < count; i++) {
    unsigned of = (seed + i) * 2654435761U;
    int from = (int)((of >> 8) % (unsigned)n_files);
    mutant.size = files[from].size;
    memcpy(mutant.data, files[from].text, mutant.size);
    for (unsigned k = 0; k <= i % 2; k++)
      mutant.size = LLVMFuzzerCustomMutator(mutant.data, mutant.size, MAX_BYTES, of + k);
    LLVMFuzzerTestOneInput(mutant.data, mutant.size);
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
    LLVMFuzzerTestOneInput((const uint8_t *)text, len);
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
