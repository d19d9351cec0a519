// test_parquet.c - Parquet files that pyarrow has written (golden/parquet.py) have the values that
// it says; what is damaged or not read is an error that says so.
//
//   test_data_parquet --folder FOLDER      reads all files of a folder instead
#include "base/text.h"
#include "runtime/data/file_list.h"
#include "runtime/data/parquet/parquet.h"
#include "tests/runtime/data/fixture.h"

static gr_arena *arena;

// ---- Values as golden/parquet.py prints them ----------------------------------------------------

static void put_number(gr_text *out, const gr_parquet_column *c, const unsigned char *p) {
  gr_array a = {
      .element = c->element, .size = c->size, .rank = 1, .dim = {1}, .count = 1, .data = p};
  int64_t whole;
  double v;
  uint64_t bits;
  if (c->element != GR_ELEMENT_FLOAT && gr_array_integer(&a, 0, &whole)) {
    gr_text_printf(out, " %lld", (long long)whole);
  } else if (c->element == GR_ELEMENT_FLOAT) {
    v = gr_array_number(&a, 0);
    memcpy(&bits, &v, sizeof bits);
    gr_text_printf(out, " %016llx", (unsigned long long)bits);
  } else {
    memcpy(&bits, p, sizeof bits);
    gr_text_printf(out, " %llu", (unsigned long long)bits);
  }
}

static void put_page(gr_text *out, const gr_parquet_reader *r, const gr_parquet_column *c) {
  for (int32_t i = 0; i < r->n; i++) {
    if (r->there && !r->there[i]) {
      gr_text_put(out, " -");
    } else if (r->fixed) {
      put_number(out, c, r->fixed + (size_t)i * c->size);
    } else {
      gr_text_put(out, " x");
      for (size_t k = 0; k < r->texts[i].n; k++) gr_text_printf(out, "%02x", r->texts[i].first[k]);
    }
  }
}

static gr_status put_column(gr_arena *a, gr_text *out, const gr_parquet *p, int column) {
  gr_parquet_pages list;
  GR_TRY(gr_parquet_list(a, p, column, &list));
  gr_parquet_reader r = gr_parquet_reader_open(&list);
  gr_status s = GR_OK;
  gr_text_put(out, p->columns[column].name);
  for (int i = 0; i < list.n && !s; i++) {
    s = gr_parquet_read(&r, i);
    if (!s) put_page(out, &r, &p->columns[column]);
  }
  gr_text_put(out, "\n");
  gr_parquet_reader_close(&r);
  return s;
}

static gr_status put_file(gr_arena *a, const char *path, gr_text *out) {
  gr_parquet p;
  GR_TRY(gr_parquet_open(a, path, &p));
  gr_text_printf(out, "%lld %d\n", (long long)p.rows, p.n_columns);
  gr_status s = GR_OK;
  for (int i = 0; i < p.n_columns && !s; i++) s = put_column(a, out, &p, i);
  gr_parquet_close(&p);
  return s;
}

static bool is_left_out(gr_status s) {
  const char *text = gr_status_text(s);
  return strstr(text, "graphrun is built without") != NULL;
}

// Whether all files of a folder are as their texts say; returns how many were read.
static int read_folder(const char *folder) {
  gr_names names;
  int n = 0;
  MUST(gr_file_list_folder(arena, folder, &names));
  for (int i = 0; i < names.n; i++) {
    gr_arena *a = gr_arena_create();
    gr_text found = gr_text_make(a);
    const char *dot = strstr(names.items[i], ".parquet");
    char *wanted = NULL;
    if (dot) {
      gr_status s = put_file(a, gr_arena_printf(a, "%s/%s", folder, names.items[i]), &found);
      if (s && is_left_out(s)) {
        gr_status_drop(s);
      } else {
        MUST(s);
        MUST(gr_file_read(
            a,
            gr_arena_printf(a, "%s/%.*s.txt", folder, (int)(dot - names.items[i]), names.items[i]),
            1 << 26, &wanted, NULL));
        CHECK(!strcmp(found.chars, wanted), "%s has\n%.300s\nnot\n%.300s", names.items[i],
              found.chars, wanted);
        n++;
      }
    }
    gr_arena_destroy(a);
  }
  return n;
}

static void reads_golden_files(void) {
  int n = read_folder(GR_GOLDEN "/parquet");
  CHECK(n >= 6, "%d files were read", n);
}

// ---- Mistakes -----------------------------------------------------------------------------------

static gr_status open_bytes(const char *bytes, size_t n) {
  const char *path = fixture_path("x.parquet");
  fixture_bytes(path, bytes, n);
  gr_parquet p;
  gr_status s = gr_parquet_open(arena, path, &p);
  gr_parquet_close(&p);
  return s;
}

static void refuses(const char *bytes, size_t n, const char *why) {
  gr_status s = open_bytes(bytes, n);
  CHECK(s && strstr(gr_status_text(s), why), "%s, not %s", s ? gr_status_text(s) : "read", why);
  gr_status_drop(s);
}

static void refuses_other_files(void) {
  refuses("", 0, "it is empty");
  refuses("PAR1", 4, "it is too short");
  refuses("a,b\n1,2\n3,4\n", 12, "does not begin with PAR1");
  refuses("PAR1....\1\0\0\0....", 16, "probably cut short");
  refuses("PAR1....\1\0\0\0PARE", 16, "is encrypted");
  refuses("PAR1....\77\0\0\0PAR1", 16, "longer than the file");
  refuses("PAR1\0\1\0\0\0PAR1", 13, "have no schema");
}

// Cut at any byte, a file is an error, and its metadata are never read beyond their end.
static void refuses_files_cut_short(void) {
  char *bytes;
  size_t n;
  MUST(gr_file_read(arena, GR_GOLDEN "/parquet/1.parquet", 1 << 20, &bytes, &n));
  for (size_t cut = 0; cut < n; cut += 7) {
    gr_status s = open_bytes(bytes, cut);
    CHECK(s && gr_status_code(s) == GR_ERR_DATA, "cut to %zu bytes", cut);
    gr_status_drop(s);
  }
}

int main(int argc, char **argv) {
  arena = gr_arena_create();
  int code = 0;
  if (argc > 2 && !strcmp(argv[1], "--folder")) {
    int n = setjmp(check_out) ? 0 : read_folder(argv[2]);
    printf("%d files of %s were read, %d differ\n", n, argv[2], check_failed);
    code = !n || check_failed;
  } else {
    code = RUN(argc, argv, {"reads_golden_files", reads_golden_files},
               {"refuses_other_files", refuses_other_files},
               {"refuses_files_cut_short", refuses_files_cut_short});
  }
  gr_arena_destroy(arena);
  return code;
}
