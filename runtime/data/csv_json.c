// csv_json.c - JSON lines (https://jsonlines.org): one object on each line. See csv_kinds.h.
#include <string.h>
#include "base/json.h"
#include "base/map.h"
#include "base/work.h"
#include "runtime/data/csv_kinds.h"

// Cells for each byte of a file: objects of few bytes with other members each would take many.
enum { CELLS_A_BYTE = 4, SMALL = 1 << 16 };

typedef struct members {
  gr_cut *cut;
  gr_map index;  // of all lines, to the number of the column
  size_t lines;
  const gr_json **values;  // of a line, [index.n]; NULL: it has none
} members;

// Reads the line at the cursor, and goes to the next. *out is NULL where there is nothing in it.
static gr_status read_line(gr_cut *r, gr_arena *a, const gr_json **out) {
  gr_json_error why;
  char *line = r->line_start = r->cursor;
  char *end = memchr(line, '\n', (size_t)(r->end - line));
  gr_loc loc = {r->path, r->number++, 1};
  *out = NULL;
  if (!end) end = r->end;
  r->cursor = end + (end < r->end);
  GR_TRY(gr_work_step(0));
  if (strspn(line, " \t\r") >= (size_t)(end - line)) return GR_OK;
  if (!gr_json_read(a, line, (size_t)(end - line), out, &why)) {
    loc.col = why.col;
    return gr_hint(gr_fail(GR_ERR_DATA, loc, "%s, found %s", why.why, why.found),
                   "each line is an object of JSON: complete the line, or remove it");
  }
  loc.col += (*out)->offset;
  if ((*out)->kind == GR_JSON_OBJECT) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_DATA, loc, "expected one JSON object on each line"),
                 "a line is {\"text\": \"well done\", \"label\": \"good\"}");
}

typedef gr_status take_line(members *, const gr_json *object);

static gr_status each_line(members *m, take_line *take) {
  gr_cut before = *m->cut;
  gr_status s = GR_OK;
  while (m->cut->cursor < m->cut->end && !s) {
    gr_arena *scratch = gr_arena_create();
    const gr_json *object;
    s = read_line(m->cut, scratch, &object);
    if (!s && object) s = take(m, object);
    gr_arena_destroy(scratch);
  }
  m->cut->cursor = before.cursor, m->cut->number = before.number;
  return s;
}

static gr_status take_names(members *m, const gr_json *object) {
  const gr_cut *r = m->cut;
  m->lines++;
  for (const gr_json *v = object->first; v; v = v->next)
    if (!gr_map_find(&m->index, v->name, NULL))
      gr_map_put(&m->index, gr_arena_strdup(r->arena, v->name), m->index.n);
  if (m->index.n <= GR_CSV_COLUMNS &&
      m->index.n * m->lines <= CELLS_A_BYTE * (size_t)(r->end - r->text) + SMALL)
    return GR_OK;
  return gr_hint(
      gr_fail(GR_ERR_DATA, (gr_loc){r->path, r->number - 1, 1},
              "the lines so far have %u different keys: too many for columns", m->index.n),
      "objects of a table have the same keys");
}

// A number is the text of the file, so that it has all of its digits.
static char *cell_of(const gr_cut *r, const gr_json *v) {
  const char *text = r->line_start + (v ? v->offset : 0);
  if (!v || v->kind == GR_JSON_NULL) return gr_arena_strdup(r->arena, "");
  if (v->kind == GR_JSON_TEXT) return gr_arena_strdup(r->arena, v->text);
  if (v->kind == GR_JSON_BOOL) return gr_arena_strdup(r->arena, v->i ? "1" : "0");
  if (gr_json_is_number(v)) return gr_arena_strndup(r->arena, text, strcspn(text, ",} \t\r\n"));
  gr_text t = gr_text_make(r->arena);
  gr_json_put(&t, v);
  return t.chars;
}

static gr_status take_cells(members *m, const gr_json *object) {
  gr_cut *r = m->cut;
  uint32_t c;
  memset(m->values, 0, m->index.n * sizeof(const gr_json *));
  for (const gr_json *v = object->first; v; v = v->next)
    if (gr_map_find(&m->index, v->name, &c)) m->values[c] = v;
  for (c = 0; c < m->index.n; c++) {
    const gr_json *v = m->values[c];
    bool valued = v && v->kind != GR_JSON_TEXT && v->kind != GR_JSON_NULL;
    if (valued && !r->valued[c]) r->valued[c] = (uint32_t)r->n_rows + 1;
    GR_TRY(gr_cut_cell(r, cell_of(r, v)));
  }
  return gr_cut_end_row(r, r->number - 1, (int)m->index.n);
}

gr_status gr_cut_json(gr_cut *r) {
  members m = {.cut = r, .index = gr_map_make(r->arena)};
  GR_TRY(each_line(&m, take_names));
  if (!m.index.n)
    return gr_fail(GR_ERR_DATA, (gr_loc){r->path, 1, 1}, "the file has no lines with values");
  m.values = GR_NEW(r->arena, const gr_json *, m.index.n);
  if (!r->valued) r->valued = GR_NEW(r->arena, uint32_t, m.index.n);
  GR_TRY(gr_cut_names(r, (char *const *)m.index.keys, (int)m.index.n, 1));
  return each_line(&m, take_cells);
}
