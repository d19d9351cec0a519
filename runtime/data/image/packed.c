// packed.c - images within Parquet files: lists their rows, and reads them; reads those in
// archives, too. See image.h.
#include <stdlib.h>
#include <string.h>
#include "base/map.h"
#include "runtime/data/image/image.h"

static const gr_packed_words words = {"image", "images", "image", .except = "mask"};
const gr_packed_words gr_image_packed_masks = {"mask", "masks", "mask", .strict = true};

// ---- Files --------------------------------------------------------------------------------------

static gr_status open_files(gr_image *m, const gr_names *files, const gr_packed_words *w,
                            gr_packed **out) {
  gr_image_files *f = GR_NEW(m->list.arena, gr_image_files, 1);
  uint32_t ignored;
  *f = (gr_image_files){.file = GR_NEW(m->list.arena, gr_packed, files->n), .next = m->files};
  m->files = f, *out = f->file;
  return gr_packed_open_all(m->list.arena, files->items, files->n, w, m->kept, f->file, &f->n,
                            &ignored);
}

void gr_image_close_files(gr_image *m) {
  gr_kept_close(m->kept);
  for (gr_image_files *f = m->files; f; f = f->next)
    for (int i = 0; i < f->n; i++) gr_packed_close(&f->file[i]);
}

size_t gr_image_file_bytes(const gr_image *m) {
  size_t all = 0;
  for (const gr_image_files *f = m->files; f; f = f->next) all += gr_packed_bytes(f->file, f->n);
  return all;
}

void gr_image_note_files(const gr_image *m, gr_text *out) {
  for (const gr_image_files *f = m->files; f; f = f->next)
    gr_packed_note(f->file, f->n, m->cache_bytes, out);
}

// ---- Rows ---------------------------------------------------------------------------------------

typedef struct columns {
  gr_names only;
  const char *names[GR_MAX_FIELDS];
} columns;

static void add_column(columns *c, const gr_packed *p, const char *name) {
  if (name && gr_parquet_find(&p->file, name) >= 0 && c->only.n < GR_MAX_FIELDS)
    c->names[c->only.n++] = name;
}

// The columns beside the images: of their paths, labels, split and weight. `label`: NULL: there is
// none.
static gr_status find_columns(const gr_image *m, const gr_packed *p, const char *label,
                              columns *out) {
  const gr_names *labels = &m->values.spec.labels;
  char what[200];
  *out = (columns){.only.items = out->names};
  snprintf(what, sizeof what, "'%.190s'", label ? label : "");
  if (label && gr_parquet_find(&p->file, label) < 0)
    return gr_about(gr_packed_no_column(&p->file, what,
                                        "data.image.label names that of the labels; null: images "
                                        "have none"),
                    "label");
  if (p->names >= 0) add_column(out, p, p->file.columns[p->names].name);
  add_column(out, p, label);
  for (int i = 1; label && i < labels->n; i++) add_column(out, p, labels->items[i]);
  add_column(out, p, "split"), add_column(out, p, "weight");
  return GR_OK;
}

// A row's name is its path, where no row before has it, else that and its place.
static void name_rows(gr_arena *a, const gr_packed *p, gr_file_list *rows) {
  const char **names = GR_NEW(a, const char *, rows->csv.rows + 1);
  int column = p->names < 0 ? -1 : gr_csv_find(&rows->csv, p->file.columns[p->names].name);
  const gr_column *paths = column < 0 ? NULL : &rows->csv.columns[column];
  gr_map seen = gr_map_make(a);
  for (uint32_t i = 0; i < rows->csv.rows; i++) {
    gr_loc loc = gr_csv_place(&rows->csv, i);
    const char *place = gr_arena_printf(a, "%s:%d", loc.file, loc.line);
    bool there = paths && paths->type == GR_COLUMN_TEXT && *paths->texts[i];
    names[i] = there ? paths->texts[i] : place;
    if (gr_map_find(&seen, names[i], NULL))
      names[i] = gr_arena_printf(a, "%s of %s", names[i], place);
    gr_map_put(&seen, names[i], i);
  }
  rows->path = (gr_array){.element = GR_ELEMENT_TEXTS,
                          .size = sizeof *names,
                          .rank = 1,
                          .dim = {rows->csv.rows},
                          .count = rows->csv.rows,
                          .data = (const unsigned char *)names};
}

static gr_status read_rows(gr_image *m, const gr_names *files, const gr_packed *p,
                           const char *label, gr_file_list *out) {
  gr_arena *a = m->list.arena;
  columns c;
  gr_table_column *refused;
  int n_refused;
  GR_TRY(find_columns(m, p, label, &c));
  *out = (gr_file_list){.what = m->list.what, .columns_known = true, .path_column = -1};
  GR_TRY(gr_columns_read_parquet(a, files, &c.only, &out->csv, &refused, &n_refused));
  for (int i = 0; i < n_refused; i++)
    if (label && !strcmp(refused[i].name, label))
      return gr_about(gr_parquet_refuse(files->items[0], label, refused[i].refused), "label");
  gr_file_list_find(out, label);
  name_rows(a, p, out);
  return GR_OK;
}

gr_status gr_image_list_packed(gr_image *m, const gr_source_request *r, const gr_listing_part *p,
                               const char *label) {
  gr_listing *l = &m->list;
  gr_names files;
  gr_packed *packed, *masks = NULL;
  gr_file_list rows;
  uint32_t before = l->count;
  bool classes = true;
  GR_TRY(gr_file_list_match(l->arena, p->path, &files));
  GR_TRY(open_files(m, &files, &words, &packed));
  if (gr_image_has_masks(&m->spec) && !l->inputs)
    GR_TRY(gr_about(open_files(m, &files, &gr_image_packed_masks, &masks), "mask_values"));
  GR_TRY(read_rows(m, &files, packed, label, &rows));
  GR_TRY(gr_listing_check_split(l, p, &rows));
  if (label) GR_TRY(gr_image_take_labels(m, &rows, &classes));
  if (!classes) rows.label_column = -1;
  GR_TRY(gr_listing_add_list(l, r, p, &rows));
  for (uint32_t i = before, k = 0; i < l->count; i++) {
    gr_listed *file = &l->file[i];
    while (k + 1 < (uint32_t)files.n && packed[k + 1].first <= i - before) k++;
    file->packed = &packed[k];
    file->path = gr_arena_printf(l->arena, "%s:%d", file->info.loc.file, file->info.loc.line);
    if (masks) file->packed_mask = &masks[k], file->mask = file->path;
  }
  return GR_OK;
}

// ---- Reading ------------------------------------------------------------------------------------

static gr_status read_packed(const gr_packed *packed, const gr_listed *file,
                             const gr_picture_use *use, gr_picture *out) {
  gr_packed_file f;
  gr_status s = gr_packed_read(packed, file->info.loc.line - 1, file->path, &f);
  s = s ? s : gr_picture_decode(file->path, f.bytes.first, f.bytes.n, use, out);
  bool read = !s && out;
  s = gr_packed_end(&f, s);
  if (s && read) free(out->pixels);
  return s;
}

static gr_status read_member(const gr_member *m, const char *path, const gr_picture_use *use,
                             gr_picture *out) {
  gr_mapping map;
  const unsigned char *bytes;
  GR_TRY(gr_member_open(m, path, &map, &bytes));
  gr_status s = gr_picture_decode(path, bytes, (size_t)m->bytes, use, out);
  bool read = !s && out;
  s = gr_mapping_end(&map, s);
  if (s && read) free(out->pixels);
  return s;
}

static gr_status read_file(const gr_member *m, const char *path, const gr_picture_use *use,
                           gr_picture *out) {
  if (m->archive) return read_member(m, path, use, out);
  return out ? gr_picture_read(path, use, out) : gr_picture_probe(path, use);
}

gr_status gr_image_read_file(const gr_listed *f, const gr_picture_use *use, gr_picture *out) {
  if (f->packed) return read_packed(f->packed, f, use, out);
  gr_status s = read_file(&f->member, f->path, use, out);
  bool listed = f->info.loc.line > 0 && !f->member.archive;
  if (!s || !listed || gr_is_file(f->path) || gr_file_kind(f->path)) return s;
  return gr_hint(s, "paths of a list are relative to its folder");
}

gr_status gr_image_read_mask_file(const gr_listed *f, const gr_picture_use *use, gr_picture *out) {
  return f->packed_mask ? read_packed(f->packed_mask, f, use, out)
                        : read_file(&f->member_mask, f->mask, use, out);
}
