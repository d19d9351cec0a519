// dot.c - prints a program's graph for Graphviz: one cluster per scope of the model; nodes of
// autodiff and of the shard pass are coloured.
#include <string.h>
#include "compiler/report/explain.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

static const char *colour(const gr_node *n) {
  if (n->op->collective) return "#f4a261";
  if (n->op == &gr_op_scan) return "#ffe8a3";
  if (!strcmp(n->created_by, "autodiff")) return "#cfe2f3";
  if (!strcmp(n->created_by, "optimize") || !strcmp(n->created_by, "finite_check"))
    return "#d9ead3";
  return "#ffffff";
}

static void put_text(FILE *f, const char *s) {
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') fputc('\\', f);
    fputc(*s, f);
  }
}

static void put_node(FILE *f, const gr_graph *g, uint32_t i) {
  const gr_node *n = &g->nodes[i];
  char type[96];
  fprintf(f, "    n%u [fillcolor=\"%s\", label=\"%s\\n%s", i, colour(n), n->op->name,
          gr_type_text(&gr_at(g, n->out)->type, type));
  if (n->op == &gr_op_scan) {
    const gr_scan *s = n->attr;
    fprintf(f, "\\n%lld steps of %u nodes", (long long)s->steps, s->body->n_nodes);
  }
  fputs("\", tooltip=\"", f);
  if (n->loc.file) put_text(f, n->loc.file), fprintf(f, ":%d", n->loc.line);
  fputs("\"];\n", f);
}

static const char *scope_of(const gr_node *n) { return n->scope ? n->scope : ""; }

// All nodes of one scope form one cluster, regardless of their order.
static void put_scopes(FILE *f, const gr_graph *g) {
  gr_map scopes = gr_map_make(g->arena);
  for (uint32_t i = 0; i < g->n_nodes; i++) gr_map_put(&scopes, scope_of(&g->nodes[i]), i);
  for (uint32_t s = 0; s < scopes.n; s++) {
    bool boxed = *scopes.keys[s];
    if (boxed) {
      fprintf(f, "  subgraph cluster_%u {\n    label=\"", s);
      put_text(f, scopes.keys[s]);
      fputs("\";\n", f);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
      if (!strcmp(scope_of(&g->nodes[i]), scopes.keys[s])) put_node(f, g, i);
    if (boxed) fputs("  }\n", f);
  }
}

static void put_leaves(FILE *f, const gr_graph *g) {
  char type[96];
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    if (v->role == GR_TEMP) continue;
    fprintf(f, "  v%u [shape=%s, label=\"", i, v->role == GR_INPUT ? "ellipse" : "cylinder");
    put_text(f, v->name);
    fprintf(f, "\\n%s\"];\n", gr_type_text(&v->type, type));
  }
}

static void put_edge_from(FILE *f, const gr_graph *g, gr_val v) {
  const gr_value *value = gr_at(g, v);
  if (value->role == GR_TEMP)
    fprintf(f, "  n%u", value->node);
  else
    fprintf(f, "  v%u", v.id);
}

static void put_edges(FILE *f, const gr_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_in; k++) {
      put_edge_from(f, g, g->nodes[i].in[k]);
      fprintf(f, " -> n%u;\n", i);
    }
  for (uint32_t i = 1; i < g->n_values; i++)
    if (gr_is(g->values[i].next)) {
      put_edge_from(f, g, g->values[i].next);
      fprintf(f, " -> v%u [style=dashed, constraint=false];\n", i);
    }
  for (uint32_t i = 0; g->result_names && i < g->n_results; i++) {
    fprintf(f, "  r%u [shape=note, label=\"", i);
    put_text(f, g->result_names[i]);
    fputs("\"];\n", f);
    put_edge_from(f, g, g->results[i]);
    fprintf(f, " -> r%u;\n", i);
  }
}

void gr_plan_dot(FILE *f, const gr_program *p) {
  fputs("digraph \"", f);
  put_text(f, p->name);
  fputs("\" {\n  node [shape=box, style=filled, fillcolor=white, fontname=Helvetica];\n", f);
  put_leaves(f, p->frame.g);
  put_scopes(f, p->frame.g);
  put_edges(f, p->frame.g);
  fputs("}\n", f);
}
