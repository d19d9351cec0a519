// runs_scaling.c - how the speed of runs grows with their ranks, and what training costs on them.
// See runs_table.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/runs_table.h"
#include "runtime/report/series.h"

typedef struct scaled {
  const char *path;
  int64_t ranks;
  double speed;        // samples a second
  double ideal, up;    // times the speed of the first run: if it grew with the ranks, and measured
  double hours, cost;  // of a million samples; NaN: without a price
} scaled;

static gr_status measure(gr_arena *a, const gr_ranked_run *r, scaled *out) {
  gr_series_list all;
  gr_status none = gr_series_read(a, r->path, &all);
  gr_status_drop(none);  // a run that has not begun has no values
  const gr_series *s = gr_series_find(&all, "samples_per_s");
  *out = (scaled){r->path, r->ranks, s ? gr_series_steady(a, s) : NAN};
  if (out->ranks > 0 && out->speed > 0) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "the speed of '%s' is not known: %s", r->path,
                         out->ranks > 0 ? "it has logged no samples a second, or too few steps"
                                        : "the run has not ended"),
                 "--scaling is for runs that have ended, with a few tens of steps");
}

// By ranks; runs on as many stay in the order of their names.
static void sort(scaled *v, int n) {
  for (int i = 1; i < n; i++) {
    scaled moved = v[i];
    int slot = i;
    for (; slot && v[slot - 1].ranks > moved.ranks; slot--) v[slot] = v[slot - 1];
    v[slot] = moved;
  }
}

// What follows from the speeds, relative to the run on the fewest ranks.
static void compare(scaled *v, int n, double price) {
  for (int i = 0; i < n; i++) {
    v[i].ideal = (double)v[i].ranks / (double)v[0].ranks;
    v[i].up = v[i].speed / v[0].speed;
    v[i].hours = 1e6 / v[i].speed / 3600;
    v[i].cost = price > 0 ? v[i].hours * price * (double)v[i].ranks : NAN;
  }
}

static void print(gr_arena *a, const scaled *v, int n, bool costs) {
  int width = 3;
  for (int i = 0; i < n; i++) width = (int)fmax(width, (double)strlen(v[i].path));
  printf("%-*s  ranks  samples/s  speed-up  ideal  efficiency  hours%s\n", width, "run",
         costs ? "    cost" : "");
  for (int i = 0; i < n; i++) {
    const scaled *r = &v[i];
    gr_text line = gr_text_make(a);
    gr_text_printf(&line, "%-*s  %5lld  %9.5g  %8.2f  %5.2f  %9.0f%%  %5.3g", width, r->path,
                   (long long)r->ranks, r->speed, r->up, r->ideal, 100 * r->up / r->ideal,
                   r->hours);
    if (costs) gr_text_printf(&line, "  %6.4g", r->cost);
    gr_print_line(stdout, line.chars, line.len);
    putchar('\n');
  }
  printf("speed: the median of the steps; hours%s: of a million samples\n",
         costs ? " and cost" : "");
}

static void print_json(gr_arena *a, const scaled *v, int n) {
  gr_text out = gr_text_make(a);
  for (int i = 0; i < n; i++) {
    gr_text_put(&out, i ? ",\n {" : "[\n {");
    gr_text_json_member(&out, "run", v[i].path);
    gr_text_printf(&out, ", \"ranks\": %lld", (long long)v[i].ranks);
    gr_runs_put_number(&out, "samples_per_s", v[i].speed);
    gr_runs_put_number(&out, "speed_up", v[i].up);
    gr_runs_put_number(&out, "efficiency", v[i].up / v[i].ideal);
    gr_runs_put_number(&out, "hours_per_million", v[i].hours);
    gr_runs_put_number(&out, "cost_per_million", v[i].cost);
    gr_text_put(&out, "}");
  }
  puts(out.chars);
  puts("]");
}

static gr_status read_price(const char *text, double *out) {
  char *end = NULL;
  *out = text ? strtod(text, &end) : 0;
  if (!text || (end != text && !*end && isfinite(*out) && *out > 0)) return GR_OK;
  return gr_fail(GR_ERR_USAGE, GR_NOWHERE,
                 "--price is what a rank costs an hour, a number above 0, but is '%s'", text);
}

gr_status gr_runs_scaling(const gr_runs_table *t, const char *price, bool json) {
  scaled *v = GR_NEW(t->arena, scaled, t->n + 1);
  double an_hour;
  GR_TRY(read_price(price, &an_hour));
  for (int i = 0; i < t->n; i++) GR_TRY(measure(t->arena, &t->runs[i], &v[i]));
  sort(v, t->n);
  compare(v, t->n, an_hour);
  if (json)
    print_json(t->arena, v, t->n);
  else
    print(t->arena, v, t->n, an_hour > 0);
  return GR_OK;
}
