// test_plot.c - curves as SVG and as text: ticks, ranges, gaps, names, and values of any size.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/report/plot.h"
#include "tests/check.h"

static bool close_to(double a, double b) { return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b) + 1); }

// Ticks ascend, are inside, and have different labels that say their value.
static void check_ticks(const gr_axis *a, double low, double high) {
  CHECK(a->low < a->high && a->low <= low && a->high >= high, "%g to %g", a->low, a->high);
  CHECK(a->n >= 2 && a->n <= GR_TICKS, "%d ticks from %g to %g", a->n, low, high);
  for (int i = 0; i < a->n; i++) {
    double place = gr_axis_place(a, a->tick[i]);
    CHECK(place >= -1e-6 && place <= 1 + 1e-6, "%g is at %g", a->tick[i], place);
    CHECK(!i || a->tick[i] > a->tick[i - 1], "%g after %g", a->tick[i], a->tick[i - 1]);
    CHECK(!i || strcmp(a->label[i], a->label[i - 1]), "two ticks are called %s", a->label[i]);
    CHECK(fabs(atof(a->label[i]) - a->tick[i]) <= 1e-3 * (a->high - a->low) + 1e-5 * a->high,
          "%s is %g", a->label[i], a->tick[i]);
  }
}

static void ticks(void) {
  static const double ranges[][2] = {{0, 1},       {0.3, 0.31},     {-5, 5},   {0, 1e9},
                                     {1e-9, 3e-9}, {7, 7},          {0, 0},    {-1e-3, 1e-3},
                                     {99999, 1e5}, {1e-300, 1e300}, {2, 1e308}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    gr_axis a = gr_axis_make(ranges[i][0], ranges[i][1], false, 6);
    check_ticks(&a, ranges[i][0], ranges[i][1]);
  }
  gr_axis a = gr_axis_make(0, 10, false, 5);
  CHECK(a.n == 6 && !strcmp(a.label[0], "0") && !strcmp(a.label[5], "10"), "%d %s", a.n,
        a.label[0]);
  a = gr_axis_make(0, 0.002, false, 5);
  CHECK(!strcmp(a.label[1], "0.0005"), "%s", a.label[1]);
}

static void log_ticks(void) {
  static const double ranges[][2] = {{1, 1000}, {0.58, 2.7}, {1e-12, 1e12}, {3, 3}, {0.5, 0.6}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    gr_axis a = gr_axis_make(ranges[i][0], ranges[i][1], true, 6);
    check_ticks(&a, ranges[i][0], ranges[i][1]);
  }
  gr_axis a = gr_axis_make(1, 1000, true, 6);
  CHECK(a.n == 4 && a.tick[3] > 999 && close_to(gr_axis_place(&a, 10), 1.0 / 3), "%d", a.n);
}

static int count(const char *text, const char *what) {
  int n = 0;
  for (; (text = strstr(text, what)); text++) n++;
  return n;
}

// Of ranks, whose numbers are read as they are; those that are too close have no room.
static void ticks_of_ranks(void) {
  const double x[] = {1, 2, 4, 8, 16, 31, 32}, y[] = {1, 2, 4, 8, 15, 29, 30};
  const gr_curve c = {.name = "c", .x = x, .y = y, .n = 7};
  const gr_panel p = {.x_label = "ranks", .curves = &c, .n = 1, .log_x = true};
  gr_axis across, up;
  CHECK(gr_axis_fit(&p, 8, 6, &across, &up) && across.n == 6, "%d ticks", across.n);
  for (int i = 0; i < 6 && i < across.n; i++)
    CHECK(across.tick[i] == x[i] && atof(across.label[i]) == x[i], "%s", across.label[i]);
}

static void draws_svg(void) {
  gr_arena *a = gr_arena_create();
  const double x[] = {1, 2, 3, 4, 5}, y[] = {3, 2, NAN, 1, -1}, flat[] = {2, 2, 2, 2, INFINITY};
  const gr_curve curves[] = {{.name = "a <b> & \"c\"\n", .x = x, .y = y, .n = 5},
                             {.name = "flat", .x = x, .y = flat, .n = 5}};
  gr_panel p[] = {{.title = "loss", .x_label = "step", .curves = curves, .n = 2},
                  {.title = "logged", .x_label = "step", .curves = curves, .n = 1, .log = true},
                  {.title = "empty", .x_label = "step", .curves = curves, .n = 0}};
  gr_text t = gr_text_make(a), u = gr_text_make(a);
  gr_plot_svg(&t, p, 3);
  gr_plot_svg(&u, p, 3);
  CHECK(!strcmp(t.chars, u.chars), "the same curves give other bytes");
  CHECK(count(t.chars, "<svg") == 1 && count(t.chars, "</svg>") == 1, "one document");
  CHECK(count(t.chars, "<g ") == 3 && count(t.chars, "</g>") == 3, "three panels");
  CHECK(strstr(t.chars, "a &#60;b&#62; &#38; &#34;c&#34;</text>"), "names are escaped");
  CHECK(count(t.chars, "<path") == 3 && count(t.chars, "no finite value") == 1, "paths");
  // Around the NaN there are two pieces; the logarithmic one also lacks the last point.
  const char *first = strstr(t.chars, " d=\"");
  CHECK(count(first, "M") - count(strstr(first, "\"/>"), "M") == 2, "a gap: %.80s", first);
  CHECK(!strstr(t.chars, "nan") && !strstr(t.chars, "inf"), "numbers");
  CHECK(count(t.chars, "<circle") == 4 + 4 + 3, "%d points", count(t.chars, "<circle"));
  gr_arena_destroy(a);
}

// A long curve is drawn by the span of its values in each pixel, and keeps its extremes.
static void thins_long_curves(void) {
  enum { N = 200000 };
  gr_arena *a = gr_arena_create();
  double *x = GR_NEW(a, double, N), *y = GR_NEW(a, double, N);
  for (int i = 0; i < N; i++) x[i] = i, y[i] = i == 77777 ? 100 : sin(i * 0.1);
  const gr_curve c = {.name = "c", .x = x, .y = y, .n = N};
  const gr_panel p = {.title = "long", .x_label = "step", .curves = &c, .n = 1};
  gr_text t = gr_text_make(a);
  gr_plot_svg(&t, &p, 1);
  CHECK(t.len < 60000, "%zu bytes", t.len);
  gr_axis ax, ay;
  CHECK(gr_axis_fit(&p, 8, 6, &ax, &ay) && ay.high >= 100, "the range");
  char top[32];
  snprintf(top, sizeof top, " %.1f", 260 * (1 - gr_axis_place(&ay, 100)));
  CHECK(strstr(t.chars, top), "the highest point, at%s, is drawn", top);
  gr_arena_destroy(a);
}

static void draws_text(void) {
  gr_arena *a = gr_arena_create();
  const double x[] = {0, 50, 100}, y[] = {0, 5, 10}, z[] = {10, 5, 0};
  const gr_curve curves[] = {{.name = "up", .x = x, .y = y, .n = 3},
                             {.name = "down", .x = x, .y = z, .n = 3}};
  gr_panel p = {.title = "loss", .x_label = "step", .curves = curves, .n = 1};
  gr_plot_terminal how = {.columns = 60, .rows = 15};
  gr_text t = gr_text_make(a), u = gr_text_make(a), v = gr_text_make(a);
  gr_plot_text(&t, &p, &how);
  CHECK(count(t.chars, "*") > 20 && strstr(t.chars, " 10 +") && strstr(t.chars, "* up"), "%s",
        t.chars);
  p.n = 2;
  gr_plot_text(&u, &p, &how);
  CHECK(count(u.chars, "a") > 20 && strstr(u.chars, "a up") && strstr(u.chars, "b down"), "%s",
        u.chars);
  how = (gr_plot_terminal){.columns = 10, .rows = 1, .unicode = true, .colour = true};
  gr_plot_text(&v, &p, &how);
  CHECK(strstr(v.chars, "\033[34m") && strstr(v.chars, "┤"), "%s", v.chars);
  for (const char *line = t.chars; *line; line = strchr(line, '\n') + 1)
    CHECK(strcspn(line, "\n") <= 60, "a line of %zu columns", strcspn(line, "\n"));
  gr_arena_destroy(a);
}

int main(int argc, char **argv) {
  return RUN(argc, argv, {"ticks", ticks}, {"logarithmic ticks", log_ticks},
             {"ticks of ranks", ticks_of_ranks}, {"draws SVG", draws_svg},
             {"thins long curves", thins_long_curves}, {"draws text", draws_text});
}
