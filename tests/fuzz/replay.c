// replay.c - runs a fuzz target on every file of the folders given.
#include <dirent.h>
#include "fuzz.h"

static int replay_file(const char *path) {
  gr_arena *a = gr_arena_create();
  char *text;
  size_t len;
  gr_status s = gr_file_read(a, path, 1 << 22, &text, &len);
  if (s)
    gr_status_print(stderr, s);
  else
    LLVMFuzzerTestOneInput((const uint8_t *)text, len);
  bool bad = s != NULL;
  gr_status_drop(s);
  gr_arena_destroy(a);
  return bad ? -1 : 1;
}

static int replay_folder(const char *folder) {
  char path[4096];
  int n = 0;
  DIR *d = opendir(folder);
  if (!d) return -1;
  for (const struct dirent *e = readdir(d); e && n >= 0; e = readdir(d)) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    n = replay_file(path) < 0 ? -1 : n + 1;
  }
  closedir(d);
  return n;
}

int main(int argc, char **argv) {
  gr_log_open(GR_ERROR, 0, 1);
  for (int i = 1; i < argc; i++) {
    int n = replay_folder(argv[i]);
    if (n <= 0) {
      fprintf(stderr, "%s: nothing to replay\n", argv[i]);
      return 1;
    }
    printf("%s: %d inputs\n", argv[i], n);
  }
  return 0;
}
