// certificate.c - what is proved of a plan, on what that rests, and what is not: claims.def, for
// this plan's ranks, communicators and collectives.
#include <string.h>
#include "compiler/plan/prove.h"
#include "compiler/report/explain.h"
#include "compiler/report/parts.h"

static const char *const kinds[] = {
    [GR_PROVED] = "proved", [GR_ASSUMED] = "assumed", [GR_UNPROVED] = "not_proved"};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

// "2 of 4 ranks over dp"
static void print_communicators(FILE *f, const gr_mesh *m) {
  int ranks = gr_mesh_ranks(m), n = 0;
  for (int a = 0; a < m->n_axes; a++)
    if (m->axis[a].size > 1 && a != gr_mesh_virtual(m))
      fprintf(f, "%s%d of %d ranks over %s",
              n++ ? ", " : "; communicators: ", ranks / m->axis[a].size, m->axis[a].size,
              m->axis[a].name);
}

// "; collectives in one order: train.t56 1, eval.t56 1"
static void print_collectives(FILE *f, const gr_plan_figures *figures) {
  int n = 0;
  for (uint32_t i = 0; i < figures->plan->n_programs; i++) {
    const gr_program_figures *p = &figures->programs[i];
    if (p->all.collectives)
      fprintf(f, "%s%s %d", n++ ? ", " : "; collectives: ", p->program->name, p->all.collectives);
  }
}

// In lines of words, below each other.
static void print_words(FILE *f, const char *says) {
  enum { INDENT = 17, WIDTH = 116 };
  for (int column = INDENT; *says;) {
    int n = (int)strcspn(says, " ");
    if (column > INDENT && column + n >= WIDTH) column = INDENT, fprintf(f, "\n%*s", INDENT, "");
    fprintf(f, "%s%.*s", column > INDENT ? " " : "", n, says);
    column += n + 1, says += n + (says[n] == ' ');
  }
  fputc('\n', f);
}

static void print_claims(FILE *f, int kind) {
  const gr_claim *c;
  for (int i = 0; (c = gr_plan_claim(i)); i++) {
    if ((int)c->kind != kind) continue;
    fprintf(f, "  %-14s ", c->name);
    print_words(f, c->says);
  }
}

void gr_plan_certify(FILE *f, const gr_plan_figures *figures) {
  const gr_plan *p = figures->plan;
  int ranks = figures->ranks;
  fprintf(f, "proved      of %u programs on %d rank%s", p->n_programs, ranks, gr_text_s(ranks));
  print_communicators(f, &p->mesh);
  print_collectives(f, figures);
  fputc('\n', f);
  print_claims(f, GR_PROVED);
  fprintf(f, "assumed\n");
  print_claims(f, GR_ASSUMED);
  fprintf(f, "not proved\n");
  print_claims(f, GR_UNPROVED);
}

static void put_communicators(gr_text *t, const gr_mesh *m) {
  for (int a = 0; a < m->n_axes; a++) {
    if (a == gr_mesh_virtual(m)) continue;
    gr_text_json_next(t), gr_text_put(t, "{");
    gr_text_json_member(t, "axis", m->axis[a].name);
    gr_text_printf(t, ", \"ranks\": %d, \"communicators\": %d}", m->axis[a].size,
                   gr_mesh_ranks(m) / m->axis[a].size);
  }
}

void gr_plan_put_certificate(gr_text *t, const gr_plan *p) {
  const gr_claim *c;
  gr_text_put(t, "{\"communicators\": [");
  put_communicators(t, &p->mesh);
  gr_text_put(t, "]");
  for (int kind = 0; kind < N_KINDS; kind++) {
    gr_text_printf(t, ",\n  \"%s\": {", kinds[kind]);
    for (int i = 0; (c = gr_plan_claim(i)); i++)
      if ((int)c->kind == kind) gr_text_json_member(t, c->name, c->says);
    gr_text_put(t, "}");
  }
  gr_text_put(t, "}");
}
