// listing.c - see listing.h.
#include "runtime/data/listing.h"
#include <assert.h>
#include "base/grow.h"
#include "base/work.h"

enum { MAX_FILES = 1 << 30 };

gr_listing gr_listing_make(const gr_source_request *r, const char *what) {
  return (gr_listing){.arena = r->arena,
                      .ops = r->ops,
                      .what = what,
                      .classes = gr_classes_make(r->arena),
                      .inputs = r->predicts};
}

gr_status gr_listing_add(gr_listing *l, const gr_listed *file) {
  GR_TRY(gr_work_step(0));
  if (l->count >= MAX_FILES)
    return gr_fail(GR_ERR_DATA, GR_NOWHERE, "there are more than 2^30 %s", l->what);
  GR_GROW(l->arena, l->file, l->count, l->room);
  l->file[l->count] = *file;
  l->file[l->count].info.key = gr_hash_text(file->name);
  l->file[l->count++].info.length = 1;
  return GR_OK;
}

static gr_status add_row(gr_listing *l, const gr_source_request *r, const gr_file_list *list,
                         uint32_t row) {
  const char *name = gr_file_list_name(l->arena, list, row);
  gr_listed file = {
      .name = name,
      .path = gr_file_list_path(l->arena, list, name),
      .info = {.loc = gr_file_list_place(list, row), .label = 1 + list->class_of[row]}};
  GR_TRY(gr_file_list_member(list, row, "path", &file.member));
  GR_TRY(gr_file_list_split(list, row, gr_hash_text(name), r->validation, &file.info.split));
  GR_TRY(gr_file_list_weight(list, row, &file.info.has_weight, &file.info.weight));
  return gr_listing_add(l, &file);
}

gr_status gr_listing_rows(gr_listing *l, const gr_source_request *r, gr_file_list *list,
                          uint32_t limit) {
  GR_TRY(gr_file_list_classes(list, l->arena, &l->classes));
  l->text |= list->label_column >= 0 && gr_array_is_text(&list->label);
  for (uint32_t row = 0; row < list->csv.rows && (!limit || row < limit); row++)
    GR_TRY(add_row(l, r, list, row));
  if (limit && limit < list->csv.rows)
    gr_omitted_add(l->arena, r->limited, list->csv.rows - limit, gr_file_list_place(list, limit),
                   NULL);
  return GR_OK;
}

gr_status gr_listing_check_archive(const gr_listing *l, const char *path) {
  if (!gr_archive_named(path) || gr_source_reads(l->ops, path)) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, GR_NOWHERE, "%s are not read from archives, as '%s' is one",
                         l->what, path),
                 "unpack it: tar -xf %s", path);
}

gr_status gr_listing_open(gr_listing *l, const gr_listing_part *p, const char *label,
                          gr_file_list *out) {
  GR_TRY(gr_listing_check_archive(l, p->path));
  gr_status s = gr_file_list_open(l->arena, p->path, l->what, label, "split", out);
  if (s && label && out->columns_known && gr_csv_find(&out->csv, label) < 0)
    s = gr_hint(s, "data.%s.label names another column of labels", l->ops->name);
  return s ? s : gr_listing_check_split(l, p, out);
}

gr_status gr_listing_check_split(gr_listing *l, const gr_listing_part *p,
                                 const gr_file_list *rows) {
  const char *name = l->ops->name, *key = l->ops->path_key;
  if (rows->split_column < 0 || p->split == GR_SPLIT_BY_KEY) return GR_OK;
  return gr_hint(gr_about(gr_fail(GR_ERR_DATA, (gr_loc){p->path, 1, 1},
                                  "the column split and data.%s.eval_%s both say what is for "
                                  "validation",
                                  name, key),
                          gr_arena_printf(l->arena, "eval_%s", key)),
                 "give one of them");
}

gr_status gr_listing_add_list(gr_listing *l, const gr_source_request *r, const gr_listing_part *p,
                              gr_file_list *rows) {
  uint32_t before = l->count;
  GR_TRY(gr_listing_rows(l, r, rows, r->limit));
  for (uint32_t i = before; i < l->count && p->split != GR_SPLIT_BY_KEY; i++)
    l->file[i].info.split = p->split;
  return GR_OK;
}

static bool is_list(const char *path) {
  return gr_ends_in(path, ".csv") || gr_ends_in(path, ".tsv") || gr_ends_in(path, ".jsonl") ||
         gr_archive_named(path);
}

// The rows of a list of files to predict.
static gr_status add_input_list(gr_listing *l, const char *path) {
  gr_file_list list;
  GR_TRY(gr_listing_check_archive(l, path));
  GR_TRY(gr_file_list_open(l->arena, path, l->what, NULL, "other columns", &list));
  for (uint32_t row = 0; row < list.csv.rows; row++) {
    GR_TRY(gr_file_list_check(&list, row, list.path_column));
    const char *name = gr_file_list_name(l->arena, &list, row);
    gr_listed file = {
        .name = name,
        .path = gr_file_list_path(l->arena, &list, name),
        .info = {.loc = gr_file_list_place(&list, row), .split = GR_SPLIT_VALIDATION}};
    GR_TRY(gr_file_list_member(&list, row, "path", &file.member));
    GR_TRY(gr_listing_add(l, &file));
  }
  return GR_OK;
}

gr_status gr_listing_inputs(gr_listing *l, const gr_source_request *r) {
  for (int i = 0; i < r->n_inputs; i++) {
    const gr_listed file = {
        .name = r->inputs[i], .path = r->inputs[i], .info.split = GR_SPLIT_VALIDATION};
    GR_TRY(is_list(file.path) ? add_input_list(l, file.path) : gr_listing_add(l, &file));
  }
  return GR_OK;
}

// The file has two labels, that of `before`, and another in a row after it.
static gr_status two_labels(const gr_listing *l, const gr_listed *before, const gr_listed *file) {
  const char *const *names = l->classes.found.keys;
  gr_loc loc = before->info.loc;
  gr_status s =
      gr_fail(GR_ERR_DATA, file->info.loc, "'%s' has the label '%s' here, and '%s' in %s:%d",
              file->name, names[file->info.label - 1], names[before->info.label - 1],
              loc.file ? loc.file : before->path, loc.line);
  return gr_hint(gr_about(s, l->ops->path_key),
                 "a file is of one class: correct or leave out one of the rows");
}

gr_status gr_listing_check_labels(const gr_listing *l, const gr_array *part) {
  gr_arena *a = gr_arena_create();
  gr_map seen = gr_map_make(a);
  gr_status s = GR_OK;
  uint32_t other;
  for (uint32_t i = 0; i < l->count && !s; i++) {
    const gr_listed *file = &l->file[i];
    const char *key = file->path;
    if (part) key = gr_arena_printf(a, "%s %s", gr_array_text(a, part, i), key);
    if (!gr_map_find(&seen, key, &other))
      gr_map_put(&seen, key, i);
    else if (l->file[other].info.label != file->info.label)
      s = two_labels(l, &l->file[other], file);
  }
  return gr_arena_end(a, s);
}

gr_status gr_listing_number(gr_listing *l, const gr_json *record) {
  gr_names recorded = gr_names_recorded(l->arena, record, "class_names");
  int32_t *number;  // by place in the order of additions
  GR_TRY(gr_classes_number(&l->classes, l->arena, l->text, &recorded, &number));
  for (uint32_t i = 0; i < l->count; i++) {
    assert(l->file[i].info.label > 0);
    l->file[i].info.label = 1 + number[l->file[i].info.label - 1];
  }
  return GR_OK;
}

gr_status gr_listing_about(gr_status s, const char *key) {
  return s && !gr_status_about(s) ? gr_about(s, key) : s;
}

// ---- Functions of sources -----------------------------------------------------------------------

uint32_t gr_listing_count(const void *self) { return ((const gr_listing *)self)->count; }

gr_sample_info gr_listing_info(const void *self, uint32_t sample) {
  const gr_listing *l = self;
  assert(sample < l->count);
  return l->file[sample].info;
}

void gr_listing_name_of(const void *self, uint32_t sample, gr_text *out) {
  gr_text_put(out, ((const gr_listing *)self)->file[sample].name);
}

gr_classes *gr_listing_classes(void *self) { return &((gr_listing *)self)->classes; }
