// test_table_mapping.c - files that are cut short while they are mapped: the bytes that are gone
// read as zeros, and are found before they are used.
#define _GNU_SOURCE
#include <sys/resource.h>
#include <unistd.h>
#include "runtime/data/loader.h"
#include "runtime/data/mapping.h"
#include "runtime/data/table/table.h"
#include "tests/runtime/data/fixture.h"

// Whole pages, and the rest of one. A mapping of another file is not affected.
static void finds_what_is_gone(void) {
  enum { BYTES = 40000 };
  static unsigned char all[BYTES];
  const char *path = fixture_path("cut.npy");
  gr_mapping m, other;
  memset(all, 7, sizeof all);
  for (int cut = 0; cut < 2; cut++) {
    fixture_bytes(path, all, sizeof all);
    MUST(gr_mapping_open(path, &m));
    MUST(gr_mapping_check(&m));
    CHECK(!truncate(path, cut ? 100 : BYTES - 10), "truncate");
    unsigned sum = 0;
    for (size_t i = 0; i < m.bytes; i++) sum += m.data[i];
    CHECK(sum <= 7 * (cut ? 4096 : BYTES) && sum >= 7 * 100, "%u", sum);
    fixture_bytes(fixture_path("whole.npy"), all, sizeof all);
    MUST(gr_mapping_open(fixture_path("whole.npy"), &other));
    fixture_fails(gr_mapping_check(&m), GR_ERR_DATA, 0, "cut.npy' was cut short");
    // Written again by the time it is looked at: what was read in between is still wrong.
    CHECK(!truncate(path, BYTES), "truncate");
    if (cut) fixture_fails(gr_mapping_check(&m), GR_ERR_DATA, 0, "cut.npy' was cut short");
    MUST(gr_mapping_check(&other));
    gr_mapping_close(&m);
    gr_mapping_close(&m);
    gr_mapping_close(&other);
  }
}

// By the threads that fill batches, too.
static void ends_the_run(void) {
  enum { ROWS = 60000 };
  static unsigned char all[129 + ROWS];
  const char *path = fixture_path("rows.npy");
  int head = snprintf((char *)all, 129, "\x93NUMPY%c%c%c%c%-117s\n", 1, 0, 118, 0,
                      "{'descr': '|u1', 'fortran_order': False, 'shape': (60000, 1)}");
  for (int workers = 0; workers < 3; workers++) {
    gr_table_spec table = {.paths = {&path, 1}};
    gr_dataset_options o = {.n_buckets = 1, .validation_fraction = 0.1};
    gr_loader_spec spec = {
        .batch = 64, .ranks = 1, .workers = workers, .prefetch = 2, .shuffle = true};
    gr_dataset *d;
    gr_loader *l;
    const gr_batch *b;
    fixture_bytes(path, all, (size_t)head + ROWS);
    MUST(gr_dataset_create(&gr_source_table, &table, &o, &d));
    MUST(gr_loader_open(d, &spec, &l));
    for (int i = 0; i < 3; i++) MUST(gr_loader_next(l, &b));
    CHECK(!truncate(path, 4096), "truncate");
    gr_status s = GR_OK;
    for (int i = 0; i < 8 && !s; i++) s = gr_loader_next(l, &b);
    fixture_fails(s, GR_ERR_DATA, 0, "rows.npy' was cut short");
    gr_loader_close(l);
    gr_dataset_close(d);
  }
  gr_dataset *d;
  gr_table_spec table = {.paths = {&path, 1}};
  gr_dataset_options o = {.n_buckets = 1};
  fixture_fails(gr_dataset_create(&gr_source_table, &table, &o, &d), GR_ERR_DATA, 0,
                "is cut short");
}

// More files than the limit of open ones, which is raised.
static void many_files(void) {
  enum { FILES = 300, LIMIT = 128 };
  static gr_mapping map[FILES];
  struct rlimit before, low;
  const char *path = fixture_path("one.npy");
  fixture_bytes(path, "abc", 3);
  CHECK(!getrlimit(RLIMIT_NOFILE, &before), "getrlimit");
  if (before.rlim_max < FILES + 64) return;
  low = before, low.rlim_cur = LIMIT;
  CHECK(!setrlimit(RLIMIT_NOFILE, &low), "setrlimit");
  for (int i = 0; i < FILES; i++) MUST(gr_mapping_open(path, &map[i]));
  CHECK(map[FILES - 1].data[2] == 'c', "the last one's bytes");
  for (int i = 0; i < FILES; i++) gr_mapping_close(&map[i]);
  CHECK(!setrlimit(RLIMIT_NOFILE, &before), "setrlimit");
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"finds_what_is_gone", finds_what_is_gone}, {"ends_the_run", ends_the_run},
             {"many_files", many_files});
}
