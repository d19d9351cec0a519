// kinds.c - what a column of CSV holds: numbers, text with numbers among it, or text. See table.h.
#include <string.h>
#include "runtime/data/table/table.h"

bool gr_table_is_empty(const gr_table_column *c) {
  return c->csv && c->csv->columns[c->csv_column].missing == c->csv->rows;
}

// ---- Cells that are no numbers ------------------------------------------------------------------

// Of a number with commas: where it has a point, too, they separate thousands.
static gr_status hint_commas(gr_status s, const gr_csv *t, const char *found) {
  s = gr_hint(s, "numbers have a point before their decimals, and no commas");
  if (t->format.delimiter == ',') return s;
  return gr_hint(s, "`tr %s <%s >NEW.csv` changes that", strchr(found, '.') ? "-d ," : ", .",
                 t->path);
}

static gr_status hint_cell(gr_status s, const gr_table_column *c, const char *otherwise) {
  const gr_csv *t = c->csv;
  const gr_column *column = &t->columns[c->csv_column];
  if (!t->format.header && !column->first_text)
    s = gr_hint(s, "if the first line names the columns, data.table.header=true");
  bool commas = column->commas > 0;
  s = commas ? hint_commas(s, t, column->texts[column->first_text])
             : gr_hint(s,
                       "correct the cell; data.table.on_bad_cell=missing takes it for an empty "
                       "one; without a value a cell is empty, NA or ?");
  return gr_hint(s, "%s", otherwise);
}

static gr_status bad_cell(const gr_table_column *c, const char *about, const char *otherwise) {
  const gr_column *column = &c->csv->columns[c->csv_column];
  const char *found = column->texts[column->first_text];
  gr_loc loc = gr_csv_first_text(c->csv, c->csv_column);
  uint32_t n = column->numbers;
  gr_status s =
      n ? gr_fail(GR_ERR_DATA, loc,
                  "'%.40s' in the column '%s' is no number, as %u other cell%s of it %s", found,
                  c->name, n, gr_text_s(n), n == 1 ? "is" : "are")
        : gr_fail(GR_ERR_DATA, loc, "'%.40s' in the column '%s' is no number", found, c->name);
  return hint_cell(gr_about(s, about), c, otherwise);
}

static void make_numbers(const gr_table *t, gr_table_column *c) {
  gr_csv_make_numbers(t->arena, c->csv, c->csv_column);
  c->values = gr_csv_array(c->csv, c->csv_column);
}

// A column of text without any number, of which a key wants numbers.
static gr_status text_column(const gr_table_column *c, const char *key) {
  const gr_column *column = &c->csv->columns[c->csv_column];
  uint32_t rows, different = gr_csv_distinct(c->csv, c->csv_column, &rows);
  gr_loc first = gr_csv_first_text(c->csv, c->csv_column);
  gr_status s = gr_about(
      gr_fail(GR_ERR_DATA, GR_NOWHERE,
              "the column '%s' of '%s' is text, not numbers: '%.40s' in %s %d", c->name,
              c->csv->path, column->texts[column->first_text], gr_csv_unit(c->csv), first.line),
      key);
  if (strcmp(key, "features") != 0)
    return gr_hint(s, "replace it by numbers, or leave it out of data.table.%s", key);
  if (gr_csv_names_rows(different, rows))
    return gr_hint(s, "it has %u values in %u rows, as a name has: leave it out of the features",
                   different, rows);
  return gr_hint(
      s,
      "it has %u value%s: data.table.one_hot=[%s] makes a feature of 0 and 1 of each; or "
      "replace it by numbers, or leave it out of the features",
      different, gr_text_s(different), c->name);
}

gr_status gr_table_need_numbers(const gr_table *t, const char *key, gr_table_column *c) {
  const gr_array *a = &c->values;
  if (!gr_array_is_text(a)) return GR_OK;
  if (!c->csv)
    return gr_hint(gr_about(gr_fail(GR_ERR_DATA, GR_NOWHERE, "'%s' of '%s' is %s, not numbers",
                                    a->name, a->file, gr_array_type(a)),
                            key),
                   "leave it out of data.table.%s", key);
  const gr_column *column = &c->csv->columns[c->csv_column];
  bool flags = gr_csv_is_flags(c->csv, c->csv_column);
  if (!flags && !column->numbers && !column->commas) return text_column(c, key);
  if (!flags && (!t->spec.bad_is_missing || column->commas))
    return bad_cell(c, key,
                    gr_arena_printf(t->arena, "data.table.%s=[...] names the columns to use", key));
  make_numbers(t, c);
  return GR_OK;
}

gr_status gr_table_need_label(const gr_table *t, gr_table_column *c) {
  bool numbers = c->csv && gr_csv_mostly_numbers(c->csv, c->csv_column);
  if (!numbers || t->spec.label_is == GR_LABEL_CLASS || t->spec.label_is == GR_LABEL_LIST)
    return GR_OK;
  bool commas = c->csv->columns[c->csv_column].commas > 0;
  if (!t->spec.bad_is_missing || commas)
    return bad_cell(c, "label", "data.table.label_is=class takes every text for a class");
  make_numbers(t, c);
  return GR_OK;
}
