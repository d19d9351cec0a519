// pairs.c - generated dates as people write them, each with the same date in the form 1987-05-03.
#include "base/output.h"
#include "cli/new/new.h"

static const char *const months[] = {"January",   "February", "March",    "April",
                                     "May",       "June",     "July",     "August",
                                     "September", "October",  "November", "December"};

typedef struct date {
  int year, month, day;  // from 1
} date;

static date draw_date(const gr_rng *rng, uint64_t row) {
  return (date){1950 + (int)(gr_rng_u32(rng, 4 * row) % 100),
                1 + (int)(gr_rng_u32(rng, 4 * row + 1) % 12),
                1 + (int)(gr_rng_u32(rng, 4 * row + 2) % 28)};
}

static const char *ending(int day) {
  static const char *const endings[] = {"th", "st", "nd", "rd"};
  return day % 10 < 4 && day / 10 != 1 ? endings[day % 10] : "th";
}

static void put_words(gr_text *t, const date *d, uint32_t form) {
  const char *month = months[d->month - 1];
  if (form == 0)
    gr_text_printf(t, "%d %s %d", d->day, month, d->year);
  else if (form == 1)
    gr_text_printf(t, "%s %d%s %d", month, d->day, ending(d->day), d->year);
  else if (form == 2)
    gr_text_printf(t, "the %d%s of %s %d", d->day, ending(d->day), month, d->year);
  else if (form == 3)
    gr_text_printf(t, "%.3s %d %02d", month, d->day, d->year % 100);
  else
    gr_text_printf(t, "%d/%d/%d", d->day, d->month, d->year);
}

static void put_row(gr_text *t, const gr_rng *rng, uint64_t row) {
  date d = draw_date(rng, row);
  put_words(t, &d, gr_rng_u32(rng, 4 * row + 3) % 5);
  gr_text_printf(t, ",%d-%02d-%02d\n", d.year, d.month, d.day);
}

gr_status gr_new_pairs(gr_arena *a, const char *dir) {
  static const gr_new_rows rows = {".csv", "dates", "words,date\n", put_row, 3000, 200};
  static const char message[] = "the 3rd of May 1987";
  GR_TRY(gr_output_write(dir, "message.txt", message, sizeof message - 1));
  return gr_new_write_rows(a, dir, &rows);
}
