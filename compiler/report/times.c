// times.c - reports what the largest programs would do on a GPU. See explain.h.
#include "compiler/report/explain.h"
#include "compiler/report/parts.h"

static void print_seconds(FILE *f, const gr_plan_figures *all, const gr_program_figures *p) {
  fputs("\n    about", f);
  for (int i = 0; i < all->n_targets; i++)
    fprintf(f, "%s %.2f ms on %s", i ? "," : "", 1e3 * p->seconds[i].all,
            all->targets[i].chip->name);
  fputc('\n', f);
  if (p->seconds[0].copies > 0) {
    fputs("    of which copies of weights from host memory", f);
    for (int i = 0; i < all->n_targets; i++)
      fprintf(f, "%s %.2f", i ? "," : "", 1e3 * p->seconds[i].copies);
    fputc('\n', f);
  }
  if (!p->all.collectives) return;
  fputs("    of which collectives", f);
  for (int i = 0; i < all->n_targets; i++)
    fprintf(f, "%s %.2f", i ? "," : "", 1e3 * p->seconds[i].collectives);
  fputs(", beside kernels", f);
  for (int i = 0; i < all->n_targets; i++)
    fprintf(f, "%s %.2f", i ? "," : "", 1e3 * p->seconds[i].hidden);
  fputc('\n', f);
}

static void print_program(FILE *f, const gr_plan_figures *all, const gr_program_figures *p) {
  char bytes[32], flops[32];
  fprintf(f, "  %-14s %.0f launches, %s read and written, %s", p->program->name, p->launches,
          gr_bytes_text(p->bytes, bytes), gr_flops_text(p->flops, flops));
  if (p->barriers > 0) fprintf(f, ", %.0f waits for all blocks of a kernel", p->barriers);
  if (p->all.collectives)
    fprintf(f, ", %d collectives that send %s", p->all.collectives,
            gr_bytes_text(p->all.sent, bytes));
  if (p->linked > 0) fprintf(f, ", %s read in host memory", gr_bytes_text(p->linked, bytes));
  print_seconds(f, all, p);
  if (p->apart_launches > p->launches)
    fprintf(f, "    without fused nodes %.0f launches, %s read and written\n", p->apart_launches,
            gr_bytes_text(p->apart_bytes, bytes));
  for (int i = 0; i < p->n_missing; i++)
    fprintf(f, "    '%s' has no kernel for GPUs\n", p->missing[i]);
}

void gr_plan_predict(FILE *f, const gr_plan_figures *all) {
  fputs("on a GPU    one captured graph a program; times by the chips' data sheets, an estimate\n",
        f);
  if (all->plan->tf32) fputs("  products of f32 that libraries compute are in TF32\n", f);
  const char *kind;
  for (int i = 0; (kind = gr_plan_kind(all->plan, i)); i++)
    print_program(f, all, gr_figures_largest(all, kind));
}
