// table.c - generated rows: fruit of three kinds by weight, diameter and sugar, which overlap a
// little.
#include "cli/new/new.h"

enum { COLUMNS = 3, KINDS = 3 };

static void put_row(gr_text *t, const gr_rng *rng, uint64_t row) {
  static const struct {
    const char *name;
    double mean[COLUMNS], deviation[COLUMNS];
  } fruit[KINDS] = {{"apple", {180, 75, 10.5}, {25, 6, 1.2}},
                    {"pear", {190, 65, 12.0}, {25, 5, 1.2}},
                    {"plum", {60, 45, 11.5}, {15, 5, 1.4}}};
  uint32_t kind = gr_rng_u32(rng, 8 * row) % KINDS;
  for (uint64_t c = 0; c < COLUMNS; c++)
    gr_text_printf(
        t, "%.1f,",
        fruit[kind].mean[c] + fruit[kind].deviation[c] * gr_rng_normal(rng, 8 * row + 2 * (c + 1)));
  gr_text_printf(t, "%s\n", fruit[kind].name);
}

gr_status gr_new_table(gr_arena *a, const char *dir) {
  static const gr_new_rows rows = {".csv",  "fruit", "weight,diameter,sugar,fruit\n",
                                   put_row, 600,     100};
  return gr_new_write_rows(a, dir, &rows);
}
