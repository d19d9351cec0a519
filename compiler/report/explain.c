// explain.c - the plan report that `graphrun plan` prints.
#include "compiler/report/explain.h"
#include <inttypes.h>
#include <string.h>
#include "compiler/report/parts.h"
#include "ops/kernels/gpu.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

static void explain_memory(FILE *f, const gr_plan_figures *figures) {
  const gr_plan *p = figures->plan;
  char s[32], a[32], all[32];
  fprintf(f, "memory      %s on each rank: states %s, arena %s", gr_bytes_text(figures->bytes, all),
          gr_bytes_text((double)p->state_bytes, s), gr_bytes_text((double)p->arena_bytes, a));
  if (p->upload_bytes) fprintf(f, ", uploads %s", gr_bytes_text((double)p->upload_bytes, s));
  if (p->reserved_bytes)
    fprintf(f, ", working memory of the device's libraries %s",
            gr_bytes_text((double)p->reserved_bytes, s));
  if (p->host_bytes)
    fprintf(f, "; in host memory %s of states", gr_bytes_text((double)p->host_bytes, s));
  fputs("; nothing else is allocated\n", f);
  for (uint32_t i = 0; i < p->n_programs; i++) {
    const gr_plan_frame *m = &p->programs[i].frame;
    fprintf(f, "  %-14s %4u nodes, %11s, arena %10s, no plan could do with less than %s\n",
            p->programs[i].name, m->g->n_nodes, gr_flops_text(figures->programs[i].flops, all),
            gr_bytes_text((double)m->bytes, a), gr_bytes_text((double)m->lower_bound, s));
  }
}

static void explain_passes(FILE *f, const gr_notes *n) {
  char bytes[32];
  fprintf(f, "  passes\n");
  for (int i = 0; i < n->n_passes; i++) {
    const gr_pass_note *p = &n->passes[i];
    fprintf(f, "    %-20s %5u nodes", p->pass, p->nodes);
    if (p->in_loops) fprintf(f, ", %u more in loops", p->in_loops);
    if (p->collectives) fprintf(f, ", %u collectives", p->collectives);
    fprintf(f, "; %.0f calls, %s", p->calls, gr_bytes_text(p->bytes, bytes));
    fputc('\n', f);
  }
}

// The first ten.
static void explain_nodes(FILE *f, const gr_node *const *nodes, uint32_t n) {
  for (uint32_t i = 0; i < n && i < 10; i++) {
    fprintf(f, "    %s", nodes[i]->op->name);
    gr_put_place(f, nodes[i]);
    fputc('\n', f);
  }
}

static void explain_unused(FILE *f, const gr_notes *n) {
  fprintf(f, "  find_unused_parameters: %u\n", n->n_unused);
  for (uint32_t i = 0; i < n->n_unused; i++)
    fprintf(f, "    no gradient of the loss reaches %s: it is not trained\n", n->unused[i]);
  if (n->n_dead)
    fprintf(f, "  dead branches: %u nodes reach nothing that is asked for\n", n->n_dead);
  explain_nodes(f, n->dead, n->n_dead);
}

static void explain_mixed(FILE *f, const gr_notes *n) {
  if (n->n_mixed)
    fprintf(f, "  mixed rows: %u nodes mix the rows of a batch, with those that pad it\n",
            n->n_mixed);
  explain_nodes(f, n->mixed, n->n_mixed);
}

static void explain_confined(FILE *f, const gr_notes *n) {
  if (n->n_confined)
    fprintf(f,
            "  the optimizer cannot update uneven slices of columns: split otherwise, or whole\n");
  for (uint32_t i = 0; i < n->n_confined; i++) fprintf(f, "    %s\n", n->confined[i]);
}

// "5 carried (3 in place, 2 copied)"
static void explain_carries(FILE *f, const gr_plan_frame *body) {
  fprintf(f, "%d carried", body->n_carry);
  for (int how = 0, listed = 0; how < GR_CARRY_COUNT; how++) {
    int n = 0;
    for (int k = 0; k < body->n_carry; k++) n += (int)body->carry[k] == how;
    if (n) fprintf(f, "%s%d %s", listed++ ? ", " : " (", n, gr_carry_updates[how]);
  }
  fputs(body->n_carry ? "), " : ", ", f);
}

// Why a GPU runs the loop's nodes one by one, if it does.
static void explain_launches(FILE *f, const gr_graph *g, const gr_node *loop) {
  gr_op_call call;
  gr_op_call_of(g, loop, &call);
  gr_status s = gr_gpu_check(&call);
  if (s) fprintf(f, "%26s%s\n", "", gr_status_text(s));
  gr_status_drop(s);
}

static void explain_loops(FILE *f, const gr_plan_frame *frame, bool gpu) {
  bool any = false;
  for (uint32_t i = 0; i < frame->g->n_nodes; i++) {
    const gr_node *n = &frame->g->nodes[i];
    if (n->op != &gr_op_scan) continue;
    const gr_scan *s = n->attr;
    int products = 0;
    char b[32];
    for (uint32_t k = 0; k < s->body->n_nodes; k++) {
      gr_op_call call;
      gr_op_call_of(s->body, &s->body->nodes[k], &call);
      products += gr_op_contracts(&call);
    }
    if (!any) fprintf(f, "  loops\n");
    any = true;
    if (s->steps == 1 && !strcmp(n->created_by, "join_small")) {
      fprintf(f, "    %-20s %5u small nodes in one kernel\n", n->scope ? n->scope : "",
              s->body->n_nodes);
      continue;
    }
    fprintf(f, "    %-20s %5lld steps%s of %u nodes (%d products), ", n->scope ? n->scope : "",
            (long long)s->steps, s->reverse ? " back" : "", s->body->n_nodes, products);
    explain_carries(f, frame->body[i]);
    fprintf(f, "%s of its own\n", gr_bytes_text((double)frame->body[i]->bytes, b));
    if (gpu) explain_launches(f, frame->g, n);
  }
}

// Nodes with a narrow result, and what the values of these take.
typedef struct narrowed {
  uint32_t nodes, in_loops, casts, all;
  double bytes;
} narrowed;

static void count_narrow(const gr_graph *g, bool in_loop, narrowed *out) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const gr_node *n = &g->nodes[i];
    const gr_type *t = &gr_at(g, n->out)->type;
    bool narrow = n->n_in && gr_is_narrow(gr_at(g, n->in[0])->type.dtype);
    if (n->op == &gr_op_scan) count_narrow(((const gr_scan *)n->attr)->body, true, out);
    out->all++, out->casts += n->op == &gr_op_cast;
    out->nodes += narrow && n->op != &gr_op_cast;
    out->in_loops += narrow && n->op != &gr_op_cast && in_loop;
    if (!in_loop && gr_is_narrow(t->dtype)) out->bytes += (double)gr_type_bytes(t);
  }
}

static void explain_precision(FILE *f, const gr_graph *g) {
  narrowed n = {0};
  char b[32];
  count_narrow(g, false, &n);
  if (n.nodes)
    fprintf(f,
            "  precision   %u of %u nodes read bf16 or f16, %u of them in loops; %u casts; narrow "
            "values take %s, half of what they would in f32\n",
            n.nodes, n.all, n.in_loops, n.casts, gr_bytes_text(n.bytes, b));
}

static void explain_program(FILE *f, gr_arena *arena, const gr_program_figures *figures, bool gpu) {
  if (!figures) return;
  const gr_program *p = figures->program;
  fprintf(f, "program %s\n", p->name);
  explain_passes(f, &p->notes);
  if (p->trains) {
    explain_unused(f, &p->notes);
    explain_confined(f, &p->notes);
  }
  explain_mixed(f, &p->notes);
  explain_precision(f, p->frame.g);
  explain_loops(f, &p->frame, gpu);
  gr_explain_peak(f, arena, figures);
  gr_explain_moves(f, arena, figures);
}

void gr_plan_explain(FILE *f, const gr_plan_figures *figures) {
  gr_arena *arena = gr_arena_create();
  const gr_plan *p = figures->plan;
  gr_explain_states(f, figures);
  gr_explain_weights(f, p);
  explain_memory(f, figures);
  fprintf(f, "plan        %016" PRIx64 "\n", p->hash);
  const char *kind;
  for (int i = 0; (kind = gr_plan_kind(p, i)); i++)
    explain_program(f, arena, gr_figures_largest(figures, kind), figures->plan->gpu);
  gr_arena_destroy(arena);
}
