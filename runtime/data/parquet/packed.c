// packed.c - see packed.h.
#include "runtime/data/parquet/packed.h"
#include <string.h>
#include <strings.h>

bool gr_packed_named(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && !strcasecmp(dot, ".parquet");
}

gr_status gr_packed_no_column(const gr_parquet *p, const char *what, const char *hint) {
  gr_arena *a = gr_arena_create();
  gr_text list = gr_text_make(a);
  for (int i = 0; i < p->n_columns; i++)
    gr_text_printf(&list, "%s%s", i ? ", " : "", p->columns[i].name);
  gr_status s = gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has no column %s", p->path, what),
                        "it has: %s; %s", list.chars, hint);
  return gr_arena_end(a, s);
}

// NAME.path beside NAME.bytes; -1: it is not there, or not read.
static int find_names(const gr_parquet *p, const char *bytes) {
  size_t stem = strlen(bytes) - strlen("bytes");
  for (int i = 0; i < p->n_columns; i++)
    if (!strncmp(p->columns[i].name, bytes, stem) && !strcmp(p->columns[i].name + stem, "path"))
      return p->columns[i].text && !p->columns[i].refused ? i : -1;
  return -1;
}

static bool is_called(const char *column, const char *name) {
  size_t n = name ? strlen(name) : 0;
  return n && !strncmp(column, name, n) && !strcmp(column + n, ".bytes");
}

static gr_status refuse_second(const gr_parquet *p, const gr_packed_words *w, int first,
                               int second) {
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has two columns of %s, '%s' and '%s'",
                         p->path, w->many, p->columns[first].name, p->columns[second].name),
                 "of several the one called %s is read: in Python, "
                 "dataset.rename_column('%.*s', '%s')",
                 w->column, (int)strcspn(p->columns[first].name, "."), p->columns[first].name,
                 w->column);
}

// The column NAME.bytes of that name, else the only one of any; -1: there is none.
static gr_status find_column(const gr_parquet *p, const gr_packed_words *w, int *out) {
  int second = -1;
  *out = -1;
  for (int i = 0; i < p->n_columns; i++) {
    const char *name = p->columns[i].name;
    if (is_called(name, w->column)) return *out = i, GR_OK;
    if (w->strict || !gr_ends_in(name, ".bytes") || is_called(name, w->except)) continue;
    if (*out >= 0) second = i;
    if (*out < 0) *out = i;
  }
  return second < 0 ? GR_OK : refuse_second(p, w, *out, second);
}

static gr_status find_bytes(const gr_parquet *p, const gr_packed_words *w, int *out) {
  char what[64], hint[128];
  GR_TRY(find_column(p, w, out));
  snprintf(what, sizeof what, "of %s", w->many);
  snprintf(hint, sizeof hint, "datasets writes them as %s, a struct of bytes and path", w->column);
  if (*out < 0) return gr_packed_no_column(p, what, hint);
  if (p->columns[*out].element == GR_ELEMENT_BYTES) return GR_OK;
  snprintf(what, sizeof what, "has numbers and no %s", w->many);
  return gr_parquet_refuse(p->path, p->columns[*out].name, what);
}

gr_status gr_packed_open(gr_arena *a, const char *path, const gr_packed_words *w,
                         gr_kept_pages *kept, gr_packed *out) {
  int bytes;
  *out = (gr_packed){.words = w, .kept = kept};
  GR_TRY(gr_parquet_open(a, path, &out->file));
  GR_TRY(find_bytes(&out->file, w, &bytes));
  out->names = find_names(&out->file, out->file.columns[bytes].name);
  return gr_parquet_list(a, &out->file, bytes, &out->pages);
}

gr_status gr_packed_open_all(gr_arena *a, const char *const *paths, int n, const gr_packed_words *w,
                             gr_kept_pages *kept, gr_packed *out, int *opened, uint32_t *rows) {
  uint64_t all = 0;
  for (*opened = 0; *opened < n;) {
    gr_packed *p = &out[(*opened)++];
    GR_TRY(gr_packed_open(a, paths[*opened - 1], w, kept, p));
    p->first = (uint32_t)all;
    all += (uint64_t)p->file.rows;
    if (all >= INT32_MAX)
      return gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has too many rows: 2^31 or more", p->file.path);
  }
  *rows = (uint32_t)all;
  return all ? GR_OK : gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' has no rows", paths[0]);
}

void gr_packed_close(gr_packed *p) { gr_parquet_close(&p->file); }

size_t gr_packed_bytes(const gr_packed *p, int n) {
  size_t all = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < p[i].pages.n; k++) all += gr_kept_bytes(&p[i].pages, k);
  return all;
}

void gr_packed_note(const gr_packed *p, int n, size_t cache_bytes, gr_text *out) {
  size_t all = gr_packed_bytes(p, n), most = 0;
  int pages = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < p[i].pages.n; k++, pages++) {
      size_t bytes = gr_kept_bytes(&p[i].pages, k);
      most = bytes > most ? bytes : most;
    }
  if (all <= cache_bytes) return;
  gr_text_printf(out,
                 "%s%s are in %d pages of Parquet, which unpack to %.0f MB: data.cache_mb holds "
                 "%zu, and a page of up to %.1f MB is unpacked for each %s of the others (smaller "
                 "row groups, or more data.cache_mb)",
                 out->len ? "\n" : "", p->words->many, pages, (double)all / (1 << 20),
                 cache_bytes >> 20, (double)most / (1 << 20), p->words->one);
}

// ---- Reading ------------------------------------------------------------------------------------

gr_status gr_packed_at(const gr_packed *p, const gr_parquet_reader *r, uint32_t k, const char *name,
                       gr_bytes *out) {
  if (!r->there || r->there[k]) return *out = r->texts[k], GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "there is no %s in '%s': its bytes are missing",
                         p->words->one, name),
                 "files that the column of paths names are not read: datasets embeds them where it "
                 "writes with embed_external_files=True");
}

gr_status gr_packed_read(const gr_packed *p, int64_t row, const char *name, gr_packed_file *out) {
  int page = gr_parquet_page_of(&p->pages, row);
  const gr_parquet_reader *r;
  *out = (gr_packed_file){.of = p};
  GR_TRY(gr_kept_read(p->kept, &p->pages, page, &out->page, &r));
  return gr_packed_at(p, r, (uint32_t)(row - p->pages.pages[page].row), name, &out->bytes);
}

gr_status gr_packed_end(gr_packed_file *f, gr_status s) {
  if (!f->page) return s;
  gr_kept_release(f->of->kept, f->page);
  f->page = NULL;
  gr_status cut = gr_parquet_check(&f->of->file);
  if (!cut) return s;
  gr_status_drop(s);
  return cut;
}
