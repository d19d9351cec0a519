// plan_table.c - `graphrun plan --ranks=1,2,4 --device=h100,b200`: a table of predictions. See
// plan_parts.h.
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include "cli/plan_parts.h"
#include "cli/runs_table.h"
#include "cli/show_plot.h"
#include "compiler/report/parts.h"
#include "compose/schema/schema.h"
#include "job/cluster.h"
#include "job/scaling.h"

enum { MAX_WORDS = 16 };

bool gr_plan_is_table(const gr_plan_flags *f, int n_ranks) {
  return n_ranks > 1 || f->device || f->strategy || f->cluster;
}

// ---- What is asked for --------------------------------------------------------------------------

static gr_status split(gr_arena *a, const char *flag, const char *list, const char **out, int *n) {
  for (size_t len = 0; list; list = list[len] ? list + len + 1 : NULL) {
    len = strcspn(list, ",");
    if (*n == MAX_WORDS)
      return gr_fail(GR_ERR_USAGE, GR_NOWHERE, "%s has more than %d words", flag, MAX_WORDS);
    out[(*n)++] = gr_arena_strndup(a, list, len);
  }
  return GR_OK;
}

static gr_status read_strategies(gr_arena *a, const char *list, const char **out, int *n) {
  const char *known[MAX_WORDS];
  int n_known = gr_schema_choices(a, gr_schema_find("distributed.strategy"), known, MAX_WORDS);
  GR_TRY(split(a, "--strategy", list, out, n));
  for (int i = 0; i < *n; i++) {
    int k = 0;
    while (k < n_known && strcasecmp(out[i], known[k]) != 0) k++;
    if (k == n_known)
      return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--strategy has no '%s'", out[i]),
                     "there are: %s", gr_text_names(a, known, n_known));
  }
  return GR_OK;
}

// Without --device those of the configuration's device.
static gr_status read_targets(const gr_job *j, const char *list, gr_target *out, int *n) {
  const char *words[MAX_WORDS];
  int n_words = 0;
  if (list) GR_TRY(split(j->arena, "--device", list, words, &n_words));
  for (const gr_chip *c = gr_chips; !list && c->name && n_words < MAX_WORDS; c++)
    if (!c->cpu == j->spec.device->gpu) words[n_words++] = c->word;
  for (; *n < n_words; ++*n) {
    const gr_chip *c = gr_chip_find(words[*n]);
    if (!c)
      return gr_hint(gr_fail(GR_ERR_USAGE, GR_NOWHERE, "--device has no '%s'", words[*n]),
                     "there are: a100, h100, h200, b200, 4090, cpu");
    out[*n] = gr_target_of(c);
  }
  return GR_OK;
}

// ---- Text ---------------------------------------------------------------------------------------

static const char *time_text(double seconds, char buf[32]) {
  static const struct {
    double unit;
    const char *name;
  } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}, {1e-3, "ms"}, {0, "us"}};
  int i = 0;
  while (units[i].unit > 0 && !(seconds >= units[i].unit)) i++;
  snprintf(buf, 32, "%.3g %s", seconds / (units[i].unit > 0 ? units[i].unit : 1e-6), units[i].name);
  return seconds > 0 ? buf : "-";
}

static const char *number_text(double value, char buf[32]) {
  snprintf(buf, 32, value < 1000 ? "%.4g" : "%.0f", value);
  return isfinite(value) ? buf : "-";
}

static void print_memory(const gr_scaled *r) {
  char need[32], room[32], says[64] = "";
  gr_bytes_text(r->bytes, need);
  if (isfinite(r->room))
    snprintf(says, sizeof says, ", %s %s", r->room >= 0 ? "fits by" : "too large by",
             gr_bytes_text(fabs(r->room), room));
  printf("  %9s%-23s", need, says);
}

static void print_row(const gr_scaled *r) {
  char step[32], hidden[32], moved[32], speed[32], epoch[32], cost[32];
  printf("%-8s  %-8s  %5d", r->target->chip->name, r->strategy, r->ranks);
  if (r->why) {
    printf("  not planned: ");
    gr_print_line(stdout, r->why, strlen(r->why));
    putchar('\n');
    return;
  }
  print_memory(r);
  printf("  %8s  %11s  %8s  %9s  %8.2f  %9.0f%%  %8s  %8s\n", time_text(r->step.all, step),
         time_text(r->step.collectives, moved), time_text(r->step.hidden, hidden),
         number_text(r->samples, speed), r->up, 100 * r->efficiency, time_text(r->epoch, epoch),
         number_text(r->cost, cost));
}

static void print_device(const gr_target *t) {
  char within[32], between[32];
  const gr_cluster *c = &t->cluster;
  printf("%s: %d processors, %.0f a machine, %s/s each within and %s/s between machines (%s)\n",
         t->chip->name, t->chip->processors, c->per_node,
         gr_bytes_text(c->within.bandwidth, within), gr_bytes_text(c->between.bandwidth, between),
         t->source);
}

static void print(const gr_job *j, const gr_scaling *asked, const gr_scaled *rows, int n) {
  printf(
      "%s, predicted and not measured\n%-8s  %-8s  ranks  %-32s  %8s  %11s  %8s  samples/s  "
      "speed-up  efficiency  %8s  %8s\n",
      j->args.config, "device", "strategy", "memory a rank", "step", "collectives", "hidden",
      "epoch", "cost");
  for (int i = 0; i < n; i++) print_row(&rows[i]);
  for (int i = 0; i < asked->n_targets; i++) print_device(&asked->targets[i]);
}

// ---- JSON ---------------------------------------------------------------------------------------

#define OF(field) offsetof(gr_scaled, field)
static const struct {
  const char *name;
  size_t offset;
} columns[] = {{"memory_bytes", OF(bytes)},
               {"room_bytes", OF(room)},
               {"step_s", OF(step.all)},
               {"kernels_s", OF(step.kernels)},
               {"collectives_s", OF(step.collectives)},
               {"hidden_s", OF(step.hidden)},
               {"samples_per_s", OF(samples)},
               {"speed_up", OF(up)},
               {"efficiency", OF(efficiency)},
               {"epoch_s", OF(epoch)},
               {"cost", OF(cost)}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double value_of(const gr_scaled *r, size_t offset) {
  return *(const double *)((const char *)r + offset);
}

static void put_row(gr_text *t, const gr_scaled *r) {
  gr_text_put(t, "{");
  gr_text_json_member(t, "device", r->target->chip->name);
  gr_text_json_member(t, "strategy", r->strategy);
  gr_text_printf(t, ", \"ranks\": %d", r->ranks);
  for (int i = 0; i < COLUMNS && !r->why; i++)
    gr_runs_put_number(t, columns[i].name, value_of(r, columns[i].offset));
  if (r->why) gr_text_json_member(t, "not_planned", r->why);
  gr_text_put(t, "}");
}

static void print_json(gr_arena *a, const gr_scaled *rows, int n) {
  gr_text t = gr_text_make(a);
  for (int i = 0; i < n; i++) {
    gr_text_put(&t, i ? ",\n " : "[\n ");
    put_row(&t, &rows[i]);
  }
  gr_text_put(&t, "]\n");
  fputs(t.chars, stdout);
}

// ---- A picture ----------------------------------------------------------------------------------

// A curve for each device and strategy, whose values are at an offset in the rows.
static gr_panel make_panel(gr_arena *a, const char *title, const gr_scaled *rows, int n, int each,
                           size_t offset) {
  gr_curve *curves = GR_NEW(a, gr_curve, n / each);
  for (int c = 0; c < n / each; c++) {
    const gr_scaled *first = &rows[c * each];
    double *x = GR_NEW(a, double, each), *y = GR_NEW(a, double, each);
    for (int i = 0; i < each; i++) {
      x[i] = first[i].ranks;
      y[i] = first[i].why ? NAN : value_of(&first[i], offset);
    }
    const char *name = gr_arena_printf(a, "%s %s", first->target->chip->name, first->strategy);
    curves[c] = (gr_curve){.name = name, .x = x, .y = y, .n = each};
  }
  return (gr_panel){.title = title,
                    .x_label = "ranks",
                    .curves = curves,
                    .n = n / each,
                    .log_x = true,
                    .log = offset == OF(up)};
}

static gr_status draw(gr_arena *a, const char *path, const gr_scaled *rows, int n, int each) {
  gr_panel panels[] = {make_panel(a, "speed-up", rows, n, each, OF(up)),
                       make_panel(a, "efficiency", rows, n, each, OF(efficiency))};
  return gr_show_plot(a, panels, 2, path);
}

// ---- All ----------------------------------------------------------------------------------------

gr_status gr_plan_table(gr_job *j, const gr_plan_flags *f, const int *ranks, int n_ranks) {
  gr_target targets[MAX_WORDS];
  const char *strategies[MAX_WORDS];
  gr_scaling asked = {.targets = targets, .strategies = strategies};
  gr_scaled *rows;
  int usual = gr_job_usual_ranks(j), n;
  asked.ranks = n_ranks ? ranks : &usual, asked.n_ranks = n_ranks ? n_ranks : 1;
  GR_TRY(read_targets(j, f->device, targets, &asked.n_targets));
  if (f->cluster) GR_TRY(gr_cluster_read(j->arena, f->cluster, targets, asked.n_targets));
  if (f->strategy) GR_TRY(read_strategies(j->arena, f->strategy, strategies, &asked.n_strategies));
  GR_TRY(gr_job_scale(j, &asked, &rows, &n));
  if (j->args.json)
    print_json(j->arena, rows, n);
  else
    print(j, &asked, rows, n);
  return f->svg ? draw(j->arena, f->svg, rows, n, asked.n_ranks) : GR_OK;
}
