// scan_block_text.c - the text of the kernel of a loop in one block: see scan_block.c. In it
//
//   at   the addresses of the loop's operands, results and memory, in shared memory: there are more
//        than the compiler finds registers for
//   sD   the step of the loop in so many others, from 0 on
#include <string.h>
#include "ops/kernels/gpu_join.h"
#include "ops/loop/scan_block.h"

GR_CU(scan_block);

#define PUT(...) gr_text_printf(&w->text, __VA_ARGS__)
#define FORMAT(...) gr_arena_printf(w->arena, __VA_ARGS__)

// ---- Memory -------------------------------------------------------------------------------------

// Where a place is: in shared memory, if it found room there, else in working memory.
static const char *place_at(gr_block_writer *w, int place) {
  const gr_block_place *p = &w->place[place - 1];
  return p->shared ? FORMAT("(at[SHARED] + %zu)", p->shared - 1)
                   : FORMAT("(at[MEMORY] + %zu)", p->memory);
}

// ---- Addresses ----------------------------------------------------------------------------------

static long long bytes_of(const gr_block_frame *f, gr_val v) {
  return (long long)gr_type_bytes(&gr_at(f->g, v)->type);
}

// Whether blocks have parts of a value of the loop's own body.
static bool is_divided(const gr_block_writer *w, const gr_block_frame *f, gr_val v) {
  return !f->depth && w->lay && w->lay[v.id] >= 0;
}

// A slice of a stack in a step, which has the rows of all blocks.
static const char *slice_at(gr_block_writer *w, const gr_block_frame *f, const char *stack,
                            gr_val v, const char *step) {
  const char *t = f->s->reverse ? FORMAT("%lld - %s", (long long)f->s->steps - 1, step) : step;
  return FORMAT("(%s + (%s) * %lldLL)", stack, t,
                bytes_of(f, v) * (is_divided(w, f, v) ? w->parts : 1));
}

// The address of a value that is no carry, in a step.
static const char *value_at(gr_block_writer *w, const gr_block_frame *f, gr_val v,
                            const char *step) {
  if (gr_at(f->g, v)->role != GR_TEMP) {
    const char *operand = f->in_at[gr_scan_operand(f->s, v.id)];
    return gr_scan_is_seq(f->s, v.id) ? slice_at(w, f, operand, v, step) : operand;
  }
  int yield = gr_block_yield_of(f, v);
  if (yield >= 0) return slice_at(w, f, f->out_at[f->s->n_carry + yield], v, step);
  int last = gr_block_written_at_once(f, v);
  if (last >= 0) return f->out_at[last];
  const char *place = f->home[v.id] ? place_at(w, f->home[v.id]) : NULL;
  if (gr_block_is_next(f, v))
    return FORMAT("(%s + (%s & 1) * %lldLL)", place, step, bytes_of(f, v));
  return place;
}

// Where a carry is read: as it was written in the step before, if there was one.
static const char *carry_at(gr_block_writer *w, const gr_block_frame *f, gr_val leaf) {
  int k = gr_scan_operand(f->s, leaf.id);
  const char *none = w->zeros ? place_at(w, 1) : "(const char *)0";  // no carry of zeros is read
  const char *first = k < 0 ? none : f->in_at[k];
  gr_val next = gr_at(f->g, leaf)->next;
  if (next.id == leaf.id) return first;
  const char *before = FORMAT("(s%d - 1)", f->depth);
  return FORMAT("(s%d ? (const char *)%s : (const char *)%s)", f->depth,
                value_at(w, f, next, before), first);
}

static void find_addresses(gr_block_writer *w, gr_block_frame *f) {
  const char *step = FORMAT("s%d", f->depth);
  f->address = GR_NEW(w->arena, const char *, f->g->n_values + 1);
  f->address[0] = "(const char *)0";
  for (uint32_t id = 1; id < f->g->n_values; id++)
    f->address[id] = gr_scan_is_carry(f->s, id) ? carry_at(w, f, (gr_val){id})
                                                : value_at(w, f, (gr_val){id}, step);
}

// ---- Functions ----------------------------------------------------------------------------------

// Forgets the macros that a text has defined.
static void put_undefined(gr_text *out, const char *text) {
  for (const char *p = text; (p = strstr(p, "#define ")); p += 8) {
    if (p > text && p[-1] != '\n') continue;
    gr_text_put(out, "#undef ");
    gr_text_putn(out, p + 8, strcspn(p + 8, " (\n"));
    gr_text_put(out, "\n");
  }
}

static void put_function(gr_block_writer *w, const gr_gpu_kernel *k, const char *text) {
  gr_text *out = &w->functions;
  bool part = k->threads < GR_BLOCK_THREADS;
  gr_text_printf(out, "namespace n%d {\n", w->n_functions);
  if (part)
    gr_text_printf(out, "#undef gr_member_dim\n#define gr_member_dim loop_threads<%d>()\n",
                   k->threads);
  gr_gpu_put_functions(out, text);
  put_undefined(out, text);
  if (part) gr_text_put(out, "#undef gr_member_dim\n#define gr_member_dim blockDim\n");
  gr_text_put(out, "}\n");
}

// The function that a kernel has become.
static gr_block_function *function_of(gr_block_writer *w, const gr_gpu_call *d,
                                      const gr_gpu_kernel *k) {
  gr_text text = gr_text_make(w->arena);
  gr_gpu_own_source(d, k, &text);
  for (int i = 0; i < w->n_functions; i++) {
    gr_block_function *f = &w->function[i];
    if (f->threads == k->threads && !strcmp(f->text, text.chars)) return f;
  }
  put_function(w, k, text.chars);
  gr_block_function *f = &w->function[w->n_functions++];
  *f = (gr_block_function){.text = text.chars, .threads = k->threads, .called = -1};
  if (!k->warps) w->declared += k->declared;
  return f;
}

// ---- Launches -----------------------------------------------------------------------------------

static void put_wait(gr_block_writer *w) { PUT("__syncthreads();\n"), w->level++; }

static const char *ref_at(gr_block_writer *w, const gr_block_frame *f, uint32_t i, gr_gpu_ref r) {
  const gr_node *n = &f->g->nodes[i];
  switch (r.space) {
    case GR_GPU_NOTHING:
      return "(const char *)0";
    case GR_GPU_IN:
      return FORMAT("(%s + %zu)", f->address[n->in[r.index].id], r.offset);
    case GR_GPU_OUT:
      return FORMAT("(%s + %zu)", f->address[gr_out(n, r.index).id], r.offset);
    case GR_GPU_SCRATCH:
      return FORMAT("(%s + %zu)", place_at(w, f->work[i]), r.offset);
  }
  return NULL;
}

static void put_number(gr_block_writer *w, gr_gpu_number n) {
  long long bits = n.i;
  if (n.real) memcpy(&bits, &n.r, sizeof bits);
  PUT(n.real ? ", __longlong_as_double(0x%llxLL)" : ", (long long)0x%llxLL", bits);
}

static void put_call(gr_block_writer *w, const gr_block_frame *f, uint32_t i,
                     const gr_gpu_kernel *k, const gr_block_function *function) {
  const gr_node *n = &f->g->nodes[i];
  if (k->threads < GR_BLOCK_THREADS) PUT("if (threadIdx.x < %d) ", k->threads);
  PUT("n%d::%s(", (int)(function - w->function), k->entry);
  for (int a = 0; a < n->n_in; a++) PUT("%sloop_at{%s}", a ? ", " : "", f->address[n->in[a].id]);
  for (int a = 0; a < n->n_out; a++)
    PUT("%sloop_at{%s}", a || n->n_in ? ", " : "", f->address[gr_out(n, a).id]);
  if (f->call[i].scratch) PUT(", loop_at{%s}", place_at(w, f->work[i]));
  for (int a = 0; a < k->n_numbers; a++) put_number(w, k->number[a]);
  PUT(");\n");
}

// A function that declares shared memory is not called again before all threads have left it.
static void put_kernel(gr_block_writer *w, const gr_block_frame *f, uint32_t i,
                       const gr_gpu_kernel *k) {
  gr_block_function *function = function_of(w, &f->call[i], k);
  if (function->called == w->level && strstr(function->text, "__s")) put_wait(w);
  if (k->blocks > 1)
    PUT("for (unsigned b = 0; b < %lldu; b++) {\nloop_block(b, %lldu);\n", (long long)k->blocks,
        (long long)k->blocks);
  put_call(w, f, i, k, function);
  function->called = w->level;
  if (k->blocks > 1) PUT("}\nloop_block(0, 1);\n"), w->level++;
}

static void put_product(gr_block_writer *w, const gr_block_frame *f, uint32_t i,
                        const gr_gpu_gemm *p) {
  gr_gpu_ref bias = p->epilogue == GR_GPU_PLAIN ? (gr_gpu_ref){0} : p->bias;
  PUT("loop_product<%s, %s, %s, %d, %d, %d>(", gr_gpu_type(p->in), gr_gpu_type(p->out),
      p->in == GR_F64 ? "double" : "float", p->ta, p->tb, p->epilogue == GR_GPU_BIAS_RELU);
  PUT("loop_at{%s}, loop_at{%s}, ", ref_at(w, f, i, p->a), ref_at(w, f, i, p->b));
  PUT("loop_at{%s}, loop_at{%s}", ref_at(w, f, i, p->c), ref_at(w, f, i, bias));
  const int64_t number[] = {p->m,   p->n,   p->k,        p->batch,    p->lda,
                            p->ldb, p->ldc, p->stride_a, p->stride_b, p->stride_c};
  for (size_t a = 0; a < sizeof number / sizeof *number; a++)
    put_number(w, (gr_gpu_number){.i = number[a]});
  PUT(");\n");
}

static void put_copy(gr_block_writer *w, const char *to, const char *source, size_t bytes) {
  PUT("loop_copy(%s, %s, %zu);\n", to, source, bytes);
}

static void put_launch(gr_block_writer *w, const gr_block_frame *f, uint32_t i,
                       const gr_gpu_launch *l) {
  if (l->kind == GR_GPU_KERNEL)
    put_kernel(w, f, i, &l->kernel);
  else if (l->kind == GR_GPU_GEMM)
    put_product(w, f, i, &l->gemm);
  else
    put_copy(w, ref_at(w, f, i, l->copy.target), ref_at(w, f, i, l->copy.source), l->copy.bytes);
}

// ---- Loops --------------------------------------------------------------------------------------

static void put_frame(gr_block_writer *w, gr_block_frame *f);

static void put_inner(gr_block_writer *w, const gr_block_frame *f, uint32_t i) {
  const gr_node *n = &f->g->nodes[i];
  gr_block_frame *inner = f->in[i];
  inner->in_at = GR_NEW(w->arena, const char *, n->n_in + 1);
  inner->out_at = GR_NEW(w->arena, const char *, n->n_out + 1);
  for (int k = 0; k < n->n_in; k++) inner->in_at[k] = f->address[n->in[k].id];
  for (int k = 0; k < n->n_out; k++)
    if (k >= inner->s->n_carry || inner->last_read[k])
      inner->out_at[k] = f->address[gr_out(n, k).id];
  put_frame(w, inner);
}

static void put_level(gr_block_writer *w, gr_block_frame *f, int level) {
  for (uint32_t i = 0; i < f->g->n_nodes; i++) {
    int k = level - f->level[i];
    if (k >= 0 && k < f->call[i].n) put_launch(w, f, i, &f->call[i].launch[k]);
  }
  for (uint32_t i = 0; i < f->g->n_nodes; i++)
    if (f->in[i] && f->level[i] == level) put_inner(w, f, i);
}

// Yields of leaves, and of values that are another yield too.
static void put_yields(gr_block_writer *w, const gr_block_frame *f) {
  bool any = false;
  for (uint32_t j = 0; j < f->g->n_results; j++) {
    gr_val v = f->g->results[j];
    if (gr_at(f->g, v)->role == GR_TEMP && gr_block_yield_of(f, v) == (int)j) continue;
    if (!any) put_wait(w);
    any = true;
    put_copy(w, slice_at(w, f, f->out_at[f->s->n_carry + (int)j], v, FORMAT("s%d", f->depth)),
             f->address[v.id], (size_t)bytes_of(f, v));
  }
}

// The last value of a carry: what is the same for all rows is one block's to write.
static void put_last(gr_block_writer *w, const gr_block_frame *f, int c) {
  gr_val leaf = gr_scan_carry(f->s, c);
  bool one = !f->depth && w->lay && w->lay[leaf.id] == GR_REPLICATE;
  if (one) PUT("if (blockIdx.x == 0) ");
  put_copy(w, f->out_at[c], f->address[leaf.id], (size_t)bytes_of(f, leaf));
}

static void put_frame(gr_block_writer *w, gr_block_frame *f) {
  int d = f->depth;
  find_addresses(w, f);
  PUT("{\nint s%d = 0;\nfor (; s%d < %lld; s%d++) {\n", d, d, (long long)f->s->steps, d);
  for (int level = 0; level < f->levels; level++) {
    if (level) put_wait(w);
    put_level(w, f, level);
  }
  put_yields(w, f);
  put_wait(w);
  PUT("}\n");
  for (int c = 0; c < f->s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(f->s, c), next = gr_at(f->g, leaf)->next;
    if (gr_block_yield_of(f, next) < 0 && gr_block_written_at_once(f, next) == c) continue;
    if (f->out_at[c]) put_last(w, f, c);
  }
  PUT("}\n");
}

// The block's part of an operand or a result that is the value `v` of the body, or a stack of it.
static void put_part(gr_block_writer *w, gr_val v) {
  if (is_divided(w, w->frame, v)) PUT(" + blockIdx.x * %lldLL", bytes_of(w->frame, v));
}

static gr_val leaf_of(const gr_scan *s, int operand) {
  uint32_t leaf = 1;
  while (gr_scan_operand(s, leaf) != operand) leaf++;
  return (gr_val){leaf};
}

// The value of the body that a result is.
static gr_val result_of(const gr_scan *s, int k) {
  return k < s->n_carry ? gr_scan_carry(s, k) : s->body->results[k - s->n_carry];
}

// A block's sum of its rows has a place in its working memory.
static void find_sums(gr_block_writer *w) {
  const gr_scan *s = w->frame->s;
  for (int c = 0; w->lay && c < s->n_carry; c++) {
    gr_val leaf = gr_scan_carry(s, c);
    size_t bytes = ((size_t)bytes_of(w->frame, leaf) + 15) / 16 * 16;
    if (w->lay[leaf.id] != GR_PARTIAL) continue;
    w->frame->out_at[c] = FORMAT("(at[MEMORY] + %zu)", w->scratch);
    w->sums[c] = 1 + w->scratch;
    w->scratch += bytes;
  }
}

static void put_operands(gr_block_writer *w) {
  const gr_op_call *call = w->c->call;
  gr_block_frame *f = w->frame;
  f->in_at = GR_NEW(w->arena, const char *, call->n_in + 1);
  f->out_at = GR_NEW(w->arena, const char *, call->n_out + 1);
  PUT("enum { SHARED = %d, MEMORY };\n", call->n_in + call->n_out);
  PUT("__shared__ const char *at[MEMORY + 1];\nif (threadIdx.x == 0) {\nat[SHARED] = shared;\n");
  for (int k = 0; k < call->n_in; k++) {
    f->in_at[k] = FORMAT("at[%d]", k);
    PUT("at[%d] = (const char *)in%d", k, k);
    put_part(w, leaf_of(f->s, k)), PUT(";\n");
  }
  for (int k = 0; k < call->n_out; k++) {
    f->out_at[k] = FORMAT("at[%d]", call->n_in + k);
    PUT("at[%d] = (const char *)out%d", call->n_in + k, k);
    put_part(w, result_of(f->s, k)), PUT(";\n");
  }
  PUT("at[MEMORY] = (const char *)scratch%s;\n}\n", w->lay ? " + blockIdx.x * MEMORY_BYTES" : "");
  find_sums(w);
}

void gr_block_write_kernel(gr_block_writer *w) {
  const gr_op_call *call = w->c->call;
  PUT("extern __shared__ __align__(16) char shared[];\n");
  gr_block_find_places(w);
  put_operands(w);
  PUT("loop_block(0, 1);\n");
  if (w->zeros) put_copy(w, place_at(w, 1), "(const char *)0", w->zeros);
  put_wait(w);
  put_frame(w, w->frame);
  w->scratch = (w->scratch + 255) / 256 * 256;  // blocks have lines of the cache for themselves
  const char *body = w->text.chars;
  w->text = gr_text_make(w->arena);
  for (int k = 0; k < call->n_in; k++) PUT("#undef IN%d\n", k);
  for (int k = 0; k < call->n_out; k++) PUT("#undef OUT%d\n", k);
  gr_text_put(&w->text, gr_gpu_member_text);
  gr_text_put(&w->text, gr_cu_scan_block);
  gr_text_put(&w->text, w->functions.chars);
  if (w->lay) PUT("#define MEMORY_BYTES %zuLL\n", w->scratch);
  PUT("extern \"C\" __global__ void __launch_bounds__(%d, 1) loop(", GR_BLOCK_THREADS);
  for (int k = 0; k < call->n_in; k++) PUT("%sconst void *in%d", k ? ", " : "", k);
  for (int k = 0; k < call->n_out; k++) PUT("%svoid *out%d", k || call->n_in ? ", " : "", k);
  if (w->scratch) PUT(", void *scratch");
  PUT(") {\n%s", w->scratch ? "" : "const char *const scratch = 0;\n");
  gr_text_put(&w->text, body);
  PUT("}\n");
}

// The sums of all blocks, each of which has left those of its rows.
void gr_block_add_sums(gr_block_writer *w) {
  const gr_op_call *call = w->c->call;
  bool any = false;
  int64_t most = 1;
  w->text = gr_text_make(w->arena);
  PUT("extern \"C\" __global__ void sums(");
  for (int k = 0; k < call->n_in; k++) PUT("const void *, ");
  for (int k = 0; k < call->n_out; k++) PUT("OUT%d *out%d, ", k, k);
  PUT("const char *scratch) {\n");
  for (int c = 0; c < w->frame->s->n_carry; c++) {
    const gr_type *t = &call->out[c];
    if (!w->sums[c]) continue;
    any = true, most = gr_type_count(t) > most ? gr_type_count(t) : most;
    PUT("  for (long long i = GR_FIRST; i < %lld; i += GR_ALL) {\n"
        "    gr_wide<OUT%d> sum = 0;\n"
        "    for (int part = 0; part < %lld; part++)\n"
        "      sum += gr_get((const OUT%d *)(scratch + part * %zuLL + %zu), i);\n"
        "    gr_put(out%d, i, sum);\n  }\n",
        (long long)gr_type_count(t), c, (long long)w->parts, c, w->scratch, w->sums[c] - 1, c);
  }
  PUT("}\n");
  if (any) gr_gpu_kernel_add(w->c, w->text.chars, "sums", gr_gpu_items(most), GR_GPU_BLOCK);
}
