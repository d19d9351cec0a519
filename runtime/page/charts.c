// charts.c - the curves of a page: a figure for each kind of value that was logged. See parts.h.
#include <math.h>
#include <string.h>
#include "runtime/page/parts.h"

enum { WIDE = 1080, HALF = 530, HIGH = 300, LOW = 210, MAX_CURVES = 32, MANY = 120 };

// ---- Which values are in which figure -------------------------------------------------------

static const char *without(const char *key, const char *prefix) {
  size_t n = strlen(prefix);
  return strncmp(key, prefix, n) ? NULL : key + n;
}

// "validation.f1.walking" is in the figure "f1".
static const char *figure_of(gr_arena *a, const char *key) {
  const char *at = without(key, "train.");
  if (!at) at = without(key, "validation.");
  if (!at) at = key;
  return gr_arena_strndup(a, at, strcspn(at, "."));
}

// Times, and what another value says already.
static bool is_shown(const gr_series_list *all, const char *key) {
  if (!strcmp(key, "seconds")) return false;
  return strcmp(key, "train_loss") || !gr_series_find(all, "train.loss");
}

static const char *title_of(const char *figure) {
  static const char *const titles[][2] = {{"loss", "Loss"},
                                          {"lr", "Learning rate"},
                                          {"grad_norm", "Gradient norm"},
                                          {"samples_per_s", "Samples per second"},
                                          {"loss_scale", "Loss scale"}};
  for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
    if (!strcmp(titles[i][0], figure)) return titles[i][1];
  return figure;
}

static const char *name_of(gr_arena *a, const char *key, const char *figure) {
  const char *of = without(key, "train."), *whose = "training";
  if (!of && (of = without(key, "validation."))) whose = "validation";
  if (!of) of = key, whose = strcmp(key, "loss") ? "" : "training";
  const char *rest = !strcmp(of, figure) ? "" : of + strlen(figure) + 1;
  if (!*whose && !*rest) return title_of(figure);
  return gr_arena_printf(a, "%s%s%s", whose, *whose && *rest ? " " : "", rest);
}

// ---- Curves ---------------------------------------------------------------------------------

// The mean of the finite values around each point: a fortieth of the curve.
static gr_curve smoothed(gr_arena *a, const gr_series *s) {
  double *y = GR_NEW(a, double, s->n), sum = 0;
  int half = s->n / 80, from = 0, to = 0, count = 0;
  for (int i = 0; i < s->n; i++) {
    for (; to < s->n && to <= i + half; to++)
      if (isfinite(s->y[to])) sum += s->y[to], count++;
    for (; from < i - half; from++)
      if (isfinite(s->y[from])) sum -= s->y[from], count--;
    y[i] = count ? sum / count : (double)NAN;
  }
  return (gr_curve){.x = s->x, .y = y, .n = s->n};
}

// Values of each step vary more than what they say: their mean is drawn over them.
static bool is_rough(const gr_series *s) {
  return s->n >= MANY && strcmp(s->key, "lr") && strcmp(s->key, "loss_scale");
}

gr_curve gr_page_mean(gr_arena *a, const gr_series *s, const char *name, int colour) {
  gr_curve c = {.x = s->x, .y = s->y, .n = s->n};
  if (is_rough(s)) c = smoothed(a, s);
  c.name = name, c.colour = colour;
  return c;
}

static void add_curve(gr_arena *a, const gr_series *s, const char *figure, gr_panel *p,
                      gr_curve *curves, int colour) {
  gr_curve c = {.x = s->x, .y = s->y, .n = s->n, .colour = colour};
  bool rough = is_rough(s);
  if (rough) c.faint = true, curves[p->n++] = c, c = smoothed(a, s), c.colour = colour;
  c.name = name_of(a, s->key, figure);
  curves[p->n++] = c;
}

// Losses and norms that fall by orders of magnitude are seen on a logarithmic axis.
static bool is_steep(const gr_panel *p, const char *figure) {
  double low = INFINITY, high = 0;
  if (strcmp(figure, "loss") && strcmp(figure, "grad_norm") && strcmp(figure, "lr")) return false;
  for (int c = 0; c < p->n; c++)
    for (int i = 0; i < p->curves[c].n; i++) {
      double y = p->curves[c].y[i];
      if (!isfinite(y)) continue;
      if (y <= 0) return false;
      low = fmin(low, y), high = fmax(high, y);
    }
  return high > 100 * low;
}

static void put_legend(gr_text *t, const gr_panel *p) {
  for (int c = 0; c < p->n; c++) {
    if (!p->curves[c].name || !strcmp(p->curves[c].name, p->title)) continue;
    gr_text_printf(t, "<span class=\"k%d\">", gr_plot_colour(p, c));
    gr_html(t, p->curves[c].name);
    gr_text_put(t, "</span>");
  }
}

void gr_page_figure(gr_text *t, const gr_panel *p, bool wide) {
  gr_text_printf(t, "<figure%s><figcaption><b>", wide ? " class=\"wide\"" : "");
  gr_html(t, p->title);
  gr_text_put(t, "</b>");
  put_legend(t, p);
  if (p->log) gr_text_put(t, "<i>logarithmic</i>");
  gr_text_put(t, "</figcaption>\n");
  gr_plot_inline(t, p, wide ? WIDE : HALF, wide ? HIGH : LOW);
  gr_text_put(t, "</figure>\n");
}

// Training and validation have the same two colours in all figures; parts of them the others.
static int colour_of(const char *key, const char *figure) {
  const char *train = without(key, "train."), *validation = without(key, "validation.");
  if (!strcmp(train ? train : key, figure)) return 1;
  if (validation && !strcmp(validation, figure)) return 2;
  return 3;
}

// The curves of a figure with one of the two colours, or of all others (3).
static void add_curves(gr_arena *a, const gr_series_list *all, const char *figure, int colour,
                       gr_panel *p, gr_curve *curves) {
  const gr_series *own = gr_series_find(all, figure);
  int others = 0;
  for (int i = 0; i < all->n && others < MAX_CURVES; i++) {
    const gr_series *s = &all->at[i];
    const char *of = without(s->key, "train.");
    if (strcmp(figure_of(a, s->key), figure) || !is_shown(all, s->key)) continue;
    if (own && of && !strcmp(of, figure)) continue;  // the mean of what is drawn for each step
    int now = colour_of(s->key, figure);
    if (now == colour) add_curve(a, s, figure, p, curves, now == 3 ? now + others++ : now);
  }
}

static void put_figure(gr_text *t, const gr_series_list *all, const char *figure, double marked) {
  gr_curve *curves = GR_NEW(t->arena, gr_curve, 2 * MAX_CURVES + 8);
  gr_panel p = {.title = title_of(figure), .x_label = "step", .curves = curves, .marked = marked};
  for (int colour = 1; colour <= 3; colour++) add_curves(t->arena, all, figure, colour, &p, curves);
  p.log = is_steep(&p, figure);
  gr_page_figure(t, &p, !strcmp(figure, "loss"));
}

// ---- All figures ----------------------------------------------------------------------------

// Losses, then metrics of evaluations, then the rest as it was logged.
static int order_of(const gr_series_list *all, const char *figure) {
  if (!strcmp(figure, "loss")) return 0;
  for (int i = 0; i < all->n; i++) {
    const char *of = without(all->at[i].key, "validation.");
    size_t n = strlen(figure);
    if (of && !strncmp(of, figure, n) && (!of[n] || of[n] == '.')) return 1;
  }
  return 2;
}

void gr_page_charts(gr_text *t, const gr_series_list *all, double marked) {
  gr_map seen = gr_map_make(t->arena);
  for (int i = 0; i < all->n; i++) {
    const char *figure = figure_of(t->arena, all->at[i].key);
    if (is_shown(all, all->at[i].key) && !gr_map_find(&seen, figure, NULL))
      gr_map_put(&seen, figure, seen.n);
  }
  gr_text_put(t, "<section class=\"charts\">\n");
  if (!seen.n) gr_text_put(t, "<p class=\"none\">Nothing has been logged yet.</p>\n");
  for (int order = 0; order < 3; order++)
    for (uint32_t i = 0; i < seen.n; i++)
      if (order_of(all, seen.keys[i]) == order) put_figure(t, all, seen.keys[i], marked);
  gr_text_put(t, "</section>\n");
}
