// gpu_row.c - see gpu_row.h.
#include "ops/kernels/gpu_row.h"
#include <ctype.h>
#include <string.h>
#include "ops/kernels/gpu_parts.h"
#include "ops/kernels/operands.h"

const char *gr_gpu_row_formula(gr_arena *arena, const gr_op_call *s) {
  if (s->op->row) return s->op->row;
  char *text = GR_NEW(arena, char, GR_ROW_TEXT);
  if (s->op->row_of) s->op->row_of(s, text);
  return text;
}

gr_dtype gr_gpu_widest(const gr_gpu_parts_of *p) {
  const gr_op_call *s = p->g->call;
  gr_dtype widest = p->space->dtype;
  for (int k = 0; k < s->n_in + s->n_out; k++) {
    const gr_type *t = k < s->n_in ? &s->in[k] : &s->out[k - s->n_in];
    bool more = gr_dtypes[t->dtype].is_float && gr_dtypes[t->dtype].size > gr_dtypes[widest].size;
    if (more) widest = t->dtype;
  }
  return widest;
}

bool gr_gpu_has_places(const gr_gpu_parts_of *p) {
  for (int k = 0; k < p->n; k++)
    if (p->part[k].call->op->random) return true;
  return false;
}

void gr_gpu_put_pointers(gr_text *t, const gr_op_call *s, bool typed) {
  for (int k = 0; k < s->n_in; k++)
    gr_text_printf(t, typed ? "const IN%d *in%d, " : "in%d, ", k, k);
  for (int k = 0; k < s->n_out; k++) gr_text_printf(t, typed ? "OUT%d *out%d, " : "out%d, ", k, k);
}

// ---- Parts ----------------------------------------------------------------------------------

#define PUT(...) gr_text_printf(t, __VA_ARGS__)
#define EACH "[&](int k, long long i) { "

static uint32_t made_by(const gr_gpu_parts_of *p, int part) {
  return (uint32_t)(p->g->call->n_in + 1 + part);
}

// The operands that an expression names, with a value for each element (or, once, for a row).
static void put_operands(gr_text *t, const gr_gpu_parts_of *p, const gr_gpu_part *part,
                         const char *in, bool leads) {
  for (int k = 0; k < part->call->n_in; k++) {
    bool lead = gr_gpu_value_kind(p, part->in[k]) == GR_FUSED_LEAD;
    char name[16];
    snprintf(name, sizeof name, "x%d", k);
    if (lead == leads && strstr(in, name))
      PUT("const auto %s = v%u%s; ", name, part->in[k], lead ? "" : "(k, i)");
  }
  if (!leads && part->call->op->random) PUT("const long long at = GR_GLOBAL_OF(r * n + i); ");
}

// The length of "NAME = " at the beginning of a statement; 0: it is an expression.
static size_t name_of(const char *statement) {
  size_t n = 0;
  while (isalnum((unsigned char)statement[n])) n++;
  return n && !strncmp(statement + n, " = ", 3) ? n : 0;
}

// The end of the argument that begins after "(".
static const char *argument_end(const char *at) {
  for (int depth = 1; *at; at++) {
    depth += (*at == '(') - (*at == ')');
    if (!depth) break;
  }
  return at;
}

static void put_statement(gr_text *t, const gr_gpu_parts_of *p, const gr_gpu_part *part,
                          const char *s, size_t name) {
  const char *value = s + name + 3;
  bool sum = !strncmp(value, "sum(", 4), max = !strncmp(value, "max(", 4);
  if (!sum && !max) {
    PUT("    const auto %s;\n", s);
    return;
  }
  const char *end = argument_end(value + 4);
  const char *term = gr_arena_printf(p->g->arena, "%.*s", (int)(end - value - 4), value + 4);
  PUT("    const W %.*s = row_%s<N>(n, " EACH, (int)name, s, sum ? "sum" : "max");
  put_operands(t, p, part, term, false);
  PUT("return (W)(%s); })%s;\n", term, *end ? end + 1 : "");
}

// The element of a part's result: alone, it is written at once.
static void put_result(gr_text *t, const gr_gpu_parts_of *p, int k, const char *formula) {
  uint32_t v = made_by(p, k);
  const gr_gpu_part *part = &p->part[k];
  gr_dtype dtype = part->call->out[0].dtype;
  if (gr_gpu_value_kind(p, v) == GR_FUSED_LEAD) {
    PUT("    v%u = %s;\n", v, formula);
    return;
  }
  PUT(p->n == 1 ? "    row_put<N>(out0, n, " EACH : "    row_each<N>(n, " EACH);
  put_operands(t, p, part, formula, false);
  if (p->n == 1)
    PUT("return (W)(%s); });\n", formula);
  else
    PUT(gr_is_narrow(dtype) ? "v%u.at[k] = gr_rounded<%s>(%s); });\n" : "v%u.at[k] = %.0s%s; });\n",
        v, gr_dtypes[dtype].name, formula);
}

static void put_row_part(gr_text *t, const gr_gpu_parts_of *p, int k) {
  const gr_gpu_part *part = &p->part[k];
  const char *rest = gr_gpu_row_formula(p->g->arena, part->call);
  gr_gpu_constants(t, part->call);
  if (part->call->op->random) PUT("    gr_draw draw;\n");
  PUT("    ");
  put_operands(t, p, part, rest, true);
  PUT("\n");
  for (;;) {
    size_t length = strcspn(rest, ";"), name = name_of(rest);
    const char *s = gr_arena_printf(p->g->arena, "%.*s", (int)length, rest);
    if (!name) {
      put_result(t, p, k, s);
      return;
    }
    put_statement(t, p, part, s, name);
    rest += length + strspn(rest + length, "; ");
  }
}

static void put_tile_part(gr_text *t, const gr_gpu_parts_of *p, int k) {
  gr_text call = gr_text_make(p->g->arena);
  gr_text_printf(&call, "part_%u(", made_by(p, k));
  for (int j = 0; j < p->part[k].call->n_in; j++)
    gr_text_printf(&call, "%sv%u(k, i)", j ? ", " : "", p->part[k].in[j]);
  gr_text_put(&call, ")");
  put_result(t, p, k, call.at);
}

static void put_part(gr_text *t, const gr_gpu_parts_of *p, int k) {
  uint32_t v = made_by(p, k);
  bool lead = gr_gpu_value_kind(p, v) == GR_FUSED_LEAD;
  if (p->n > 1 || lead) PUT(lead ? "  W v%u;\n" : "  made v%u;\n", v);
  PUT("  {\n");
  if (p->part[k].call->op->tile)
    put_tile_part(t, p, k);
  else
    put_row_part(t, p, k);
  PUT("  }\n");
}

// ---- The kernel -------------------------------------------------------------------------------

#define PLACE_PARAMETERS(p) (gr_gpu_has_places(p) ? ", GR_GLOBAL" : "")
#define PLACES(p) (gr_gpu_has_places(p) ? ", base, run, size1, step1, size2, step2, step3" : "")

static bool is_integer(const gr_type *t) { return t->dtype == GR_I32; }

static void put_loads(gr_text *t, const gr_gpu_parts_of *p) {
  for (int k = 0; k < p->g->call->n_in; k++) {
    gr_fused_kind kind = gr_gpu_value_kind(p, (uint32_t)k + 1);
    if (kind != GR_FUSED_LEAD)
      PUT("  const row<N, IN%d> v%d(in%d, n);\n", k, k + 1, k);
    else if (is_integer(&p->g->call->in[k]))
      PUT("  const long long v%d = gr_get(in%d, gr_div(r, each%d));\n", k + 1, k, k);
    else
      PUT("  const W v%d = gr_get(in%d, r);\n", k + 1, k);
  }
}

static void put_stores(gr_text *t, const gr_gpu_parts_of *p) {
  bool leads = false;
  for (int k = 0; k < p->g->call->n_out; k++) {
    bool lead = gr_gpu_value_kind(p, p->result[k]) == GR_FUSED_LEAD;
    if (lead && !leads)
      PUT("  team_sync();  // an operand may be there, which others still read\n");
    leads |= lead;
    if (lead)
      PUT("  if (LANE == 0) gr_put(out%d, r, v%u);\n", k, p->result[k]);
    else if (p->n > 1)
      PUT("  row_put<N>(out%d, n, " EACH "return v%u(k, i); });\n", k, p->result[k]);
  }
}

static void put_parameters(gr_text *t, const gr_gpu_parts_of *p, const char *row, bool typed) {
  const gr_op_call *s = p->g->call;
  const char *type = typed ? "long long " : "";
  gr_gpu_put_pointers(t, s, typed);
  PUT("%s%s, %sn, %sabove", type, row, type, type);
  for (int k = 0; k < s->n_in; k++)
    if (is_integer(&s->in[k])) PUT(", %seach%d", type, k);
  PUT("%s%s", typed ? PLACE_PARAMETERS(p) : PLACES(p), typed ? ") {\n" : ");\n");
}

static void put_row(gr_text *t, const gr_gpu_parts_of *p) {
  PUT("template <int N>\n__device__ void fused_row(");
  put_parameters(t, p, "r", true);
  put_loads(t, p);
  for (int k = 0; k < p->n; k++) put_part(t, p, k);
  put_stores(t, p);
  PUT("}\n\n");
}

static void put_call(gr_text *t, const gr_gpu_parts_of *p, const char *pack) {
  PUT("    fused_row<%s>(", pack);
  put_parameters(t, p, "r", false);
}

// Moves the pointers of values of the space's sizes to the row, and asks whether packs are aligned.
static void put_entry(gr_text *t, const gr_gpu_parts_of *p) {
  const gr_op_call *s = p->g->call;
  PUT("extern \"C\" __global__ void __launch_bounds__(THREADS, 1) fused(");
  put_parameters(t, p, "rows", true);
  PUT("  const long long r = ROW;\n  if (r >= rows) return;\n  bool packs = true;\n");
  for (int k = 0; k < s->n_in + s->n_out; k++) {
    bool in = k < s->n_in;
    int j = in ? k : k - s->n_in;
    gr_fused_kind kind = gr_fused_kind_of(in ? &s->in[j] : &s->out[j], p->space);
    if (kind == GR_FUSED_LIKE) PUT("  %s%d += r * n;\n", in ? "in" : "out", j);
    if (kind != GR_FUSED_LEAD) PUT("  packs &= gr_aligned(%s%d);\n", in ? "in" : "out", j);
  }
  PUT("  if (packs)\n");
  put_call(t, p, "PACK");
  PUT("  else\n");
  put_call(t, p, "1");
  PUT("}\n");
}

static void put_numbers(const gr_gpu_parts_of *p, gr_gpu_kernel *k) {
  const gr_op_call *s = p->g->call;
  int64_t n = gr_last(p->space), rows = gr_rows(p->space);
  gr_gpu_int(k, rows), gr_gpu_int(k, n);
  gr_gpu_int(k, p->space->rank > 1 ? p->space->dim[p->space->rank - 2] : 1);
  for (int j = 0; j < s->n_in; j++)
    if (is_integer(&s->in[j])) gr_gpu_int(k, rows / gr_type_count(&s->in[j]));
  if (gr_gpu_has_places(p)) gr_gpu_global_of(p->g, k, p->space);
}

void gr_gpu_rows_of_parts(const gr_gpu_parts_of *p, gr_text *t) {
  put_row(t, p);
  put_entry(t, p);
  put_numbers(p, gr_gpu_rows(p->g, t->at, "fused", gr_gpu_widest(p), gr_rows(p->space),
                             gr_last(p->space), 1024));
}

gr_status gr_gpu_row(gr_gpu_call *g) {
  const gr_op_call *s = g->call;
  if (s->n_in > 3 || s->n_out != 1 || !gr_gpu_row_formula(g->arena, s)[0]) return gr_gpu_refuse(s);
  bool folds = gr_type_count(&s->in[0]) > gr_type_count(&s->out[0]);
  gr_gpu_parts_of p = {.g = g, .space = folds ? &s->in[0] : &s->out[0], .n = 1};
  p.part[0] = (gr_gpu_part){s, {1, 2, 3}};
  p.result[0] = (uint32_t)s->n_in + 1;
  gr_text text = gr_text_make(g->arena);
  gr_gpu_rows_of_parts(&p, &text);
  return GR_OK;
}
