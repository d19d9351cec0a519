// states.c - reports the states of the model and the optimizer on each rank, and which are sharded.
#include <inttypes.h>
#include "compiler/report/parts.h"

enum { LARGE = 64000 };  // bytes; larger replicated states are listed

static const char *grouped(int64_t n, char buf[32]) {  // 7,157,792
  char digits[24];
  int len = snprintf(digits, sizeof digits, "%" PRId64, n), n_out = 0;
  for (int i = 0; i < len; i++) {
    if (i && digits[i - 1] != '-' && (len - i) % 3 == 0) buf[n_out++] = ',';
    buf[n_out++] = digits[i];
  }
  buf[n_out] = 0;
  return buf;
}

// Whether a training program compares the model with a teacher, whose states are named so.
static bool has_teacher(const gr_plan *p) {
  bool any = false;
  for (uint32_t i = 0; i < p->n_programs && !any; i++)
    any = gr_is(gr_graph_result(p->programs[i].frame.g, "metric." GR_TEACHER_KL ".sum"));
  return any;
}

static void explain_teacher(FILE *f, const gr_plan *p) {
  char n[32], b[32];
  int64_t numbers = 0;
  double bytes = 0;
  if (!has_teacher(p)) return;
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (!gr_is_of_teacher(s->name)) continue;
    bytes += (double)s->bytes;
    if (s->kind == GR_KIND_WEIGHT) numbers += gr_type_count(&s->global);
  }
  fprintf(f, "  the teacher's: %s numbers, frozen, %s on each rank, %.1f %% of all states\n",
          grouped(numbers, n), gr_bytes_text(bytes, b),
          100 * bytes / (double)gr_plan_states_end(p));
}

static void explain_kind(FILE *f, const gr_kind_figures *k, const char *name) {
  char n[32], b[32];
  if (k->count)
    fprintf(f, "  %-12s %4lld states, %s numbers, %s on each rank\n", name, (long long)k->count,
            grouped(k->numbers, n), gr_bytes_text(k->bytes, b));
}

// Counts gradients as the optimizer reads them, in a program that ends a step.
static void explain_gradients_of(FILE *f, const gr_plan *p, const gr_program *last, bool named) {
  char n[32], b[32];
  int64_t count = 0, numbers = 0;
  double bytes = 0;
  for (uint32_t i = 1; i < last->frame.g->n_values; i++) {
    const gr_value *v = &last->frame.g->values[i];
    if (v->role != GR_STATE || !gr_is(v->grad)) continue;
    const gr_value *grad = gr_at(last->frame.g, v->grad);
    gr_type whole = gr_type_global(&grad->type, &grad->layout, &p->mesh);
    count++, numbers += gr_type_count(&whole), bytes += (double)gr_type_bytes(&grad->type);
  }
  if (count)
    fprintf(f, "  %-10s %4lld values, %s numbers, %s on each rank, in the arena%s%s\n", "gradients",
            (long long)count, grouped(numbers, n), gr_bytes_text(bytes, b), named ? " of " : "",
            named ? last->kind : "");
}

static void explain_gradients(FILE *f, const gr_plan *p) {
  const char *kind;
  int n = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; (kind = gr_plan_kind(p, i)); i++) {
      const gr_program *last = gr_plan_largest(p, kind);
      bool ends = gr_is(gr_graph_result(last->frame.g, "ok"));
      if (pass && ends) explain_gradients_of(f, p, last, n > 1);
      n += !pass && ends;
    }
}

static bool is_split(const gr_plan_state *s) { return !gr_type_same(&s->type, &s->global); }

// The padding of a slice: its bytes beyond the largest slice that any rank needs.
static double padding_of(const gr_plan *p, const gr_plan_state *s) {
  double shares = 1;
  for (int a = 0; a < p->mesh.n_axes; a++)
    if (s->layout.placement[a] >= 0) shares *= p->mesh.axis[a].size;
  return (double)s->bytes - (double)gr_type_bytes(&s->global) / shares;
}

static void explain_split(FILE *f, const gr_plan *p) {
  char b[32];
  uint32_t split = 0, padded = 0;
  double padding = 0;
  for (uint32_t i = 0; i < p->n_states; i++) {
    split += is_split(&p->states[i]);
    padded += gr_layout_is_padded(&p->states[i].layout);
    if (gr_layout_is_padded(&p->states[i].layout)) padding += padding_of(p, &p->states[i]);
  }
  fprintf(f, "ranks       %d", gr_mesh_ranks(&p->mesh));
  for (int a = 0; a < p->mesh.n_axes; a++)
    fprintf(f, "%s%s=%d", a ? " x " : " (", p->mesh.axis[a].name, p->mesh.axis[a].size);
  fprintf(f, "%s", p->mesh.n_axes ? ")" : "");
  if (split) fprintf(f, ", %u of %u states split over them", split, p->n_states);
  if (padded)
    fprintf(f, "; %u in uneven slices, with %s of padding on each rank", padded,
            gr_bytes_text(padding, b));
  if (gr_plan_idle_axis(p))
    fprintf(f, "; nothing is split over %s: its ranks do the same work", gr_plan_idle_axis(p));
  fputc('\n', f);
}

static bool any_split(const gr_plan *p, int kind) {
  for (uint32_t i = 0; i < p->n_states; i++)
    if ((kind < 0 || (int)p->states[i].kind == kind) && is_split(&p->states[i])) return true;
  return false;
}

// If states are sharded, lists those that are replicated nevertheless; kinds that the strategy does
// not shard are summed in one line.
static void explain_whole(FILE *f, const gr_plan *p) {
  double bytes[GR_KIND_COUNT] = {0};
  bool said = false;
  char b[32];
  if (!any_split(p, -1)) return;
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (is_split(s) || s->bytes <= LARGE) continue;
    if (!said) fprintf(f, "  whole on every rank, of more than 64 kB:\n");
    said = true;
    bytes[s->kind] += (double)s->bytes;
    if (any_split(p, (int)s->kind) || s->kind == GR_KIND_BUFFER)
      fprintf(f, "    %10s  %s\n", gr_bytes_text((double)s->bytes, b), s->name);
  }
  for (int k = 0; k < GR_KIND_COUNT; k++)
    if (bytes[k] > 0 && k != GR_KIND_BUFFER && !any_split(p, k))
      fprintf(f, "    %10s  %s, which the strategy does not split\n", gr_bytes_text(bytes[k], b),
              gr_kind_names[k]);
}

void gr_explain_states(FILE *f, const gr_plan_figures *figures) {
  const gr_plan *p = figures->plan;
  char n[32];
  fprintf(f, "parameters  %s trained numbers", grouped(figures->trained, n));
  fprintf(f, figures->trained < figures->parameters ? " of %s\n" : "\n",
          grouped(figures->parameters, n));
  for (int k = 0; k < GR_KIND_COUNT; k++) explain_kind(f, &figures->kinds[k], gr_kind_names[k]);
  explain_teacher(f, p);
  explain_gradients(f, p);
  explain_split(f, p);
  explain_whole(f, p);
}
