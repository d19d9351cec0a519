// regression.c - generated rows: flats, whose price follows from their size, rooms, age and place.
#include "cli/new/new.h"

enum { NUMBERS = 8 };

static void put_row(gr_text *t, const gr_rng *rng, uint64_t row) {
  double u[NUMBERS];
  for (uint64_t i = 0; i < NUMBERS; i++) u[i] = gr_rng_uniform(rng, row * NUMBERS + i);
  double area = 30 + 120 * u[0], distance = 0.5 + 15 * u[1], age = 60 * u[2];
  int rooms = 1 + (int)(area / 35 + u[3]);
  double noise = u[4] + u[5] + u[6] - 1.5;
  double price = area * (3.2 - 0.12 * distance) * (1 - 0.004 * age) + 8 * rooms + 20 * noise;
  gr_text_printf(t, "%.0f,%d,%.1f,%.0f,%.1f\n", area, rooms, distance, age, price);
}

gr_status gr_new_regression(gr_arena *a, const char *dir) {
  static const gr_new_rows rows = {".csv",  "flats", "area,rooms,distance,age,price\n",
                                   put_row, 600,     100};
  return gr_new_write_rows(a, dir, &rows);
}
