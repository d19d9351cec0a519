// test_cache.c - what tests keep between runs (tests/cache.h): whole entries, or none.
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/cache.h"
#include "tests/check.h"

static char folder[] = "/tmp/graphrun-cache-XXXXXX", path[400];

static cache_key key_of(const char *a, const char *b) {
  cache_key k = cache_key_start();
  cache_key_add(&k, a, strlen(a));
  cache_key_add(&k, b, strlen(b));
  return k;
}

// The files in the folder of a kind; the path of the last one is in `path`.
static int count_files(const char *kind) {
  char in[300];
  int n = 0;
  snprintf(in, sizeof in, "%s/new/folders/%s", folder, kind);
  DIR *d = opendir(in);
  for (struct dirent *e; d && (e = readdir(d));)
    if (e->d_name[0] != '.') n++, snprintf(path, sizeof path, "%s/%.60s", in, e->d_name);
  if (d) closedir(d);
  return n;
}

static bool finds(const char *kind, const cache_key *k, const char *text) {
  char *data = NULL;
  size_t n = 0;
  if (!cache_read(kind, k, &data, &n)) return false;
  bool same = n == strlen(text) && !strcmp(data, text);
  CHECK(same, "'%s' instead of '%s'", data, text);
  free(data);
  return same;
}

static void entries(void) {
  const cache_key a = key_of("a", "b"), b = key_of("ab", ""), c = key_of("", "ab");
  CHECK(!finds("kind", &a, "first"), "an empty cache has an entry");
  cache_write("kind", &a, "first", 5);
  CHECK(finds("kind", &a, "first"), "it is not kept");
  CHECK(!finds("kind", &b, "first") && !finds("kind", &c, "first"),
        "where a part of a key ends does not count");
  cache_write("kind", &b, "", 0);
  CHECK(finds("kind", &b, "") && finds("kind", &a, "first"), "of two, one is kept");
  cache_write("other", &c, "third", 5);
  CHECK(!finds("kind", &c, "third"), "kinds are one folder");
  CHECK(count_files("kind") == 2, "%d files", count_files("kind"));
}

static void damaged(void) {
  const cache_key k = key_of("damaged", "");
  for (int way = 0; way < 4; way++) {
    cache_write("damaged", &k, "what was made", 13);
    CHECK(count_files("damaged") == 1, "%d files", count_files("damaged"));
    struct stat st;
    CHECK(!stat(path, &st), "%s", path);
    char *data = NULL;
    size_t n = 0;
    FILE *f = fopen(path, way == 1 ? "ab" : "r+b");
    if (way == 1) fputc('x', f);  // longer
    if (way == 2) fseek(f, -3, SEEK_END), fputc('x', f);
    if (way == 3) fputc('x', f);  // the head
    fclose(f);
    if (!way) CHECK(!truncate(path, st.st_size - 1), "truncate");
    CHECK(!cache_read("damaged", &k, &data, &n), "damage %d is not noticed", way);
  }
}

// Processes that write one entry at once, and read it whatever the others do.
static void at_once(void) {
  enum { PROCESSES = 6, ROUNDS = 200, BYTES = 20000 };
  const cache_key k = key_of("at", "once");
  static char text[BYTES + 1];
  memset(text, 'y', BYTES);
  cache_write("at_once", &k, text, BYTES);
  for (int p = 0; p < PROCESSES; p++) {
    if (fork()) continue;
    int missed = 0;
    for (int i = 0; i < ROUNDS; i++) {
      if (p % 2) cache_write("at_once", &k, text, BYTES);
      missed += !finds("at_once", &k, text);
    }
    _exit(missed || check_failed);
  }
  for (int p = 0, status; p < PROCESSES; p++) {
    wait(&status);
    CHECK(status == 0, "a process missed the entry");
  }
  CHECK(count_files("at_once") == 1, "%d files: unfinished ones are left", count_files("at_once"));
}

// Of processes that find no entry at once, one makes it.
static void made_once(void) {
  enum { PROCESSES = 4 };
  const cache_key k = key_of("made once", "");
  char made[sizeof folder + 10];
  snprintf(made, sizeof made, "%s/made", folder);
  for (int p = 0; p < PROCESSES; p++) {
    if (fork()) continue;
    int lock = cache_lock("locked", &k), other = open(made, O_WRONLY | O_CREAT | O_APPEND, 0600);
    bool there = finds("locked", &k, "text");
    if (!there && write(other, "x", 1) != 1) _exit(1);
    usleep(20000);  // so that without a lock each of them finds none
    if (!there) cache_write("locked", &k, "text", 4);
    cache_unlock(lock);
    _exit(lock < 0);
  }
  for (int p = 0, status; p < PROCESSES; p++) {
    wait(&status);
    CHECK(status == 0, "a process got no lock");
  }
  struct stat info;
  CHECK(!stat(made, &info) && info.st_size == 1, "it was made %lld times", (long long)info.st_size);
}

static void none(void) {
  const cache_key k = key_of("none", "");
  setenv("GRAPHRUN_TEST_CACHE", "", 1);
  cache_write("kind", &k, "text", 4);
  CHECK(!finds("kind", &k, "text"), "an empty GRAPHRUN_TEST_CACHE is a cache");
  CHECK(cache_lock("kind", &k) < 0, "without a cache there is a lock");
  setenv("GRAPHRUN_TEST_CACHE", "/proc/none", 1);
  cache_write("kind", &k, "text", 4);
  CHECK(!finds("kind", &k, "text"), "/proc/none is a cache");
}

int main(int argc, char **argv) {
  char into[300], command[400];
  if (!mkdtemp(folder)) return 1;
  snprintf(into, sizeof into, "%s/new/folders", folder);
  setenv("GRAPHRUN_TEST_CACHE", into, 1);
  int code = RUN(argc, argv, {"entries", entries}, {"damaged", damaged}, {"at_once", at_once},
                 {"made_once", made_once}, {"none", none});
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return system(command) || code;
}
