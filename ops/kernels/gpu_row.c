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

// The index of the part that makes value v; *result: which of the part's results it is.
static int maker_of(const gr_gpu_parts_of *p, uint32_t v, int *result) {
  int k = 0;
  while (k < p->n && v >= p->part[k].out + (uint32_t)p->part[k].call->n_out) k++;
  *result = (int)(v - p->part[k].out);
  return k;
}

const gr_type *gr_gpu_value(const gr_gpu_parts_of *p, uint32_t v) {
  int result;
  if (v <= (uint32_t)p->g->call->n_in) return &p->g->call->in[v - 1];
  const gr_gpu_part *part = &p->part[maker_of(p, v, &result)];
  return &part->call->out[result];
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

// The first value that a part makes of its sums over all rows, and whether a value is one.
static uint32_t first_sum(const gr_gpu_part *part) {
  return part->out + (uint32_t)(part->call->n_out - gr_fused_sums(part->call->op));
}

static bool is_sum(const gr_gpu_parts_of *p, uint32_t v) {
  int result;
  return v > (uint32_t)p->g->call->n_in && v >= first_sum(&p->part[maker_of(p, v, &result)]);
}

static int count_sums(const gr_gpu_parts_of *p) {
  int n = 0;
  for (int k = 0; k < p->n; k++) n += gr_fused_sums(p->part[k].call->op);
  return n;
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
static const char *argument_end(const char *cursor) {
  for (int depth = 1; *cursor; cursor++) {
    depth += (*cursor == '(') - (*cursor == ')');
    if (!depth) break;
  }
  return cursor;
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
  const gr_gpu_part *part = &p->part[k];
  uint32_t v = part->out;
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

// Adds a row's terms to the sums over all rows.
static void put_sums(gr_text *t, const gr_gpu_parts_of *p, const gr_gpu_part *part) {
  const char *rest = part->call->op->column_sums;
  for (uint32_t v = first_sum(part); rest && *rest; v++) {
    size_t length = strcspn(rest, ";");
    const char *term = gr_arena_printf(p->g->arena, "%.*s", (int)length, rest);
    PUT("    row_each<N>(n, " EACH);
    put_operands(t, p, part, term, false);
    PUT("s%u.add(k, i, (W)(%s)); });\n", v, term);
    rest += length + strspn(rest + length, "; ");
  }
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
      put_sums(t, p, part);  // first: the result may take over an operand's memory
      put_result(t, p, k, s);
      return;
    }
    put_statement(t, p, part, s, name);
    rest += length + strspn(rest + length, "; ");
  }
}

static void put_tile_part(gr_text *t, const gr_gpu_parts_of *p, int k) {
  gr_text call = gr_text_make(p->g->arena);
  gr_text_printf(&call, "part_%u(", p->part[k].out);
  for (int j = 0; j < p->part[k].call->n_in; j++)
    gr_text_printf(&call, "%sv%u(k, i)", j ? ", " : "", p->part[k].in[j]);
  gr_text_put(&call, ")");
  put_result(t, p, k, call.chars);
}

static void put_part(gr_text *t, const gr_gpu_parts_of *p, int k) {
  uint32_t v = p->part[k].out;
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
    if (is_sum(p, p->result[k])) continue;
    if (lead && !leads)
      PUT("  team_sync();  // an operand may be there, which others still read\n");
    leads |= lead;
    if (lead)
      PUT("  if (LANE == 0) gr_put(out%d, r, v%u);\n", k, p->result[k]);
    else if (p->n > 1)
      PUT("  row_put<N>(out%d, n, " EACH "return v%u(k, i); });\n", k, p->result[k]);
  }
}

// What stands between pointers and numbers: sums over all rows are objects of the team, or memory.
static void put_sum_names(gr_text *t, const gr_gpu_parts_of *p, const char *before) {
  for (int k = 0; k < p->n; k++)
    for (int j = 0; j < gr_fused_sums(p->part[k].call->op); j++)
      PUT("%ss%u, ", before, first_sum(&p->part[k]) + (uint32_t)j);
}

static void put_parameters(gr_text *t, const gr_gpu_parts_of *p, const char *row, bool typed) {
  const gr_op_call *s = p->g->call;
  const char *type = typed ? "long long " : "";
  PUT("%s%s, %sn, %sabove", type, row, type, type);
  for (int k = 0; k < s->n_in; k++)
    if (is_integer(&s->in[k])) PUT(", %seach%d", type, k);
  PUT("%s", typed ? PLACE_PARAMETERS(p) : PLACES(p));
}

static void put_row(gr_text *t, const gr_gpu_parts_of *p) {
  PUT("template <int N>\n__device__ void fused_row(");
  gr_gpu_put_pointers(t, p->g->call, true);
  put_sum_names(t, p, "column_sums<N> &");
  put_parameters(t, p, "r", true);
  PUT(") {\n");
  put_loads(t, p);
  for (int k = 0; k < p->n; k++) put_part(t, p, k);
  put_stores(t, p);
  PUT("}\n\n");
}

// Moves the pointers of values of the space's sizes by so many elements.
static void put_moves(gr_text *t, const gr_gpu_parts_of *p, const char *indent, const char *by) {
  const gr_op_call *s = p->g->call;
  for (int k = 0; k < s->n_in + s->n_out; k++) {
    int j = k < s->n_in ? k : k - s->n_in;
    const gr_type *type = k < s->n_in ? &s->in[j] : &s->out[j];
    if (gr_fused_kind_of(type, p->space) == GR_FUSED_LIKE)
      PUT("%s%s%d += %s;\n", indent, k < s->n_in ? "in" : "out", j, by);
  }
}

// Several rows, and the team's sums over them, which go to its part of the working memory.
static void put_rows(gr_text *t, const gr_gpu_parts_of *p) {
  int n = 0;
  PUT("template <int N>\n__device__ void fused_rows(");
  gr_gpu_put_pointers(t, p->g->call, true);
  PUT("W *sums, long long from, ");
  put_parameters(t, p, "to", true);
  PUT(") {\n");
  for (int k = 0; k < p->n; k++)
    for (int j = 0; j < gr_fused_sums(p->part[k].call->op); j++)
      PUT("  column_sums<N> s%u(sums + %d * n, n);\n", first_sum(&p->part[k]) + (uint32_t)j, n++);
  put_moves(t, p, "  ", "from * n");
  PUT("  for (long long r = from; r < to; r++) {\n    fused_row<N>(");
  gr_gpu_put_pointers(t, p->g->call, false);
  put_sum_names(t, p, "");
  put_parameters(t, p, "r", false);
  PUT(");\n");
  put_moves(t, p, "    ", "n");
  PUT("  }\n");
  for (int k = 0; k < p->n; k++)
    for (int j = 0; j < gr_fused_sums(p->part[k].call->op); j++)
      PUT("  s%u.write(n);\n", first_sum(&p->part[k]) + (uint32_t)j);
  PUT("}\n\n");
}

static void put_call(gr_text *t, const gr_gpu_parts_of *p, const char *pack) {
  bool sums = count_sums(p);
  PUT("    %s<%s>(", sums ? "fused_rows" : "fused_row", pack);
  gr_gpu_put_pointers(t, p->g->call, false);
  if (sums) PUT("scratch + ROW * %d * n, from, ", count_sums(p));
  put_parameters(t, p, sums ? "to" : "r", false);
  PUT(");\n");
}

// Asks whether packs are aligned: rows are, where the first is.
static void put_entry(gr_text *t, const gr_gpu_parts_of *p) {
  const gr_op_call *s = p->g->call;
  PUT("extern \"C\" __global__ void __launch_bounds__(THREADS, 1) fused(");
  gr_gpu_put_pointers(t, s, true);
  if (count_sums(p)) PUT("W *scratch, ");
  put_parameters(t, p, "rows", true);
  if (count_sums(p))
    PUT(", long long chunk) {\n  const long long from = ROW * chunk;\n"
        "  const long long to = rows - from < chunk ? rows : from + chunk;\n"
        "  if (from >= rows) return;\n");
  else
    PUT(") {\n  const long long r = ROW;\n  if (r >= rows) return;\n");
  if (!count_sums(p)) put_moves(t, p, "  ", "r * n");
  PUT("  bool packs = true;\n");
  for (int k = 0; k < s->n_in + s->n_out; k++) {
    int j = k < s->n_in ? k : k - s->n_in;
    const gr_type *type = k < s->n_in ? &s->in[j] : &s->out[j];
    if (gr_fused_kind_of(type, p->space) != GR_FUSED_LEAD)
      PUT("  packs &= gr_aligned(%s%d);\n", k < s->n_in ? "in" : "out", j);
  }
  PUT("  if (packs)\n");
  put_call(t, p, "PACK");
  PUT("  else\n");
  put_call(t, p, "1");
  PUT("}\n");
}

// The kernel that adds up the sums of all teams.
static void put_totals(gr_text *t, const gr_gpu_parts_of *p) {
  int n = 0;
  PUT("\nextern \"C\" __global__ void __launch_bounds__(256, 1) fused_sums(");
  gr_gpu_put_pointers(t, p->g->call, true);
  PUT("const W *scratch, long long teams, long long n) {\n  long long i;\n  W total;\n"
      "  if (!team_totals(scratch, teams, %d * n, &i, &total)) return;\n",
      count_sums(p));
  for (int k = 0; k < p->n; k++)
    for (int j = 0; j < gr_fused_sums(p->part[k].call->op); j++, n++)
      for (int out = 0; out < p->g->call->n_out; out++)
        if (p->result[out] == first_sum(&p->part[k]) + (uint32_t)j)
          PUT("  if (i / n == %d) gr_put(out%d, i %% n, total);\n", n, out);
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

// Each team has so many rows that the teams are enough for every GPU and their sums are little.
static void describe_sums(const gr_gpu_parts_of *p, gr_text *t) {
  enum { TEAMS = 1024, LEAST_ROWS = 4, MAX_THREADS = 512 };
  int64_t rows = gr_rows(p->space), n = gr_last(p->space), columns = count_sums(p) * n;
  int64_t each = gr_max_i64(LEAST_ROWS, (rows + TEAMS - 1) / TEAMS),
          teams = (rows + each - 1) / each;
  gr_dtype widest = gr_gpu_widest(p);
  gr_gpu_take_scratch(p->g, (size_t)(teams * columns) * gr_gpu_wide(widest));
  put_rows(t, p);
  put_entry(t, p);
  put_totals(t, p);
  gr_gpu_kernel *k = gr_gpu_rows(p->g, t->chars, "fused", widest, teams, n, MAX_THREADS);
  const char *source = k->source, *defines = k->defines;
  put_numbers(p, k);
  gr_gpu_int(k, each);
  k = gr_gpu_kernel_add(p->g, source, "fused_sums", (columns + 31) / 32 * 256, 256);
  k->defines = defines;
  gr_gpu_int(k, teams), gr_gpu_int(k, n);
}

void gr_gpu_rows_of_parts(const gr_gpu_parts_of *p, gr_text *t) {
  put_row(t, p);
  if (count_sums(p)) {
    describe_sums(p, t);
    return;
  }
  put_entry(t, p);
  put_numbers(p, gr_gpu_rows(p->g, t->chars, "fused", gr_gpu_widest(p), gr_rows(p->space),
                             gr_last(p->space), 1024));
}

gr_status gr_gpu_row(gr_gpu_call *g) {
  const gr_op_call *s = g->call;
  bool fits = s->n_in <= GR_FUSED_ARGS && s->n_out == 1 + gr_fused_sums(s->op);
  if (!fits || !gr_gpu_row_formula(g->arena, s)[0]) return gr_gpu_refuse(s);
  bool folds = gr_type_count(&s->in[0]) > gr_type_count(&s->out[0]);
  gr_gpu_parts_of p = {.g = g, .space = folds ? &s->in[0] : &s->out[0], .n = 1};
  p.part[0] = (gr_gpu_part){s, {1, 2, 3}, (uint32_t)s->n_in + 1};
  for (int k = 0; k < s->n_out; k++) p.result[k] = p.part[0].out + (uint32_t)k;
  gr_text text = gr_text_make(g->arena);
  gr_gpu_rows_of_parts(&p, &text);
  return GR_OK;
}
