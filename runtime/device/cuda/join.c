// join.c - calls that may run at once: their launches, joined where they run the same code
// (ops/kernels/gpu_join.h). The table of a joined kernel is in the device's memory: it is written
// when the program is opened, and never changes.
#include <string.h>
#include "ops/kernels/gpu_join.h"
#include "runtime/device/cuda/parts.h"

struct gr_table {
  gr_table *next;
  CUdeviceptr memory;
};

typedef struct part {
  gr_step *step;
  const gr_launch *launch;  // of a launch that is not joined; NULL: it is
  bool scratch;
  CUdeviceptr table;
  long long members;
} part;

typedef struct joined_call {
  gr_cuda *device;
  int n;
  part *part;
} joined_call;

void gr_tables_close(gr_cuda *c) {
  for (gr_table *t = c->tables; t; t = t->next)
    if (t->memory) gr_cu.cuMemFree(t->memory);
  c->tables = NULL;
}

static gr_status upload(gr_cuda *c, const uint64_t *words, size_t n, CUdeviceptr *out) {
  gr_table *t = GR_NEW(c->arena, gr_table, 1);
  *t = (gr_table){.next = c->tables};
  c->tables = t;
  CU_TRY(cuMemAlloc(&t->memory, n * sizeof *words));
  *out = t->memory;
  return gr_staging_upload(c, &c->staging, t->memory, (const char *)words, n * sizeof *words);
}

// ---- Opening ------------------------------------------------------------------------------------

static uint64_t bits_of(const gr_gpu_number *n) {
  uint64_t bits;
  memcpy(&bits, n->real ? (const void *)&n->r : &n->i, sizeof bits);
  return bits;
}

// Writes a member's row; returns its number of words.
static int put_row(uint64_t *row, uint64_t first_block, const gr_gpu_call *g,
                   const gr_gpu_kernel *k, const gr_launch *l) {
  int n = 0;
  row[n++] = first_block, row[n++] = (uint64_t)k->blocks;
  for (int i = 0; i < l->n_in; i++) row[n++] = (uintptr_t)l->in[i];
  for (int i = 0; i < l->n_out; i++) row[n++] = (uintptr_t)l->out[i];
  if (g->scratch) row[n++] = (uintptr_t)l->scratch;
  for (int i = 0; i < k->n_numbers; i++) row[n++] = bits_of(&k->number[i]);
  return n;
}

static gr_status open_joined(gr_cuda *c, const gr_gpu_call *calls, const gr_gpu_joined *j,
                             const gr_launch *const *launches, part *out) {
  const gr_gpu_call *first = &calls[j->call[0]];
  gr_gpu_kernel all = first->launch[j->launch].kernel;
  gr_text text = gr_text_make(first->arena);
  gr_gpu_joined_source(first, &all, &text);
  uint64_t *rows = GR_NEW(first->arena, uint64_t, j->n * gr_gpu_row_words(first, &all));
  size_t words = 0;
  int64_t blocks = 0;
  for (int i = 0; i < j->n; i++) {
    int m = j->call[i];
    const gr_gpu_kernel *k = &calls[m].launch[j->launch].kernel;
    words += (size_t)put_row(rows + words, (uint64_t)blocks, &calls[m], k, launches[m]);
    blocks += k->blocks;
  }
  all.entry = "joined", all.blocks = blocks, all.n_numbers = 0;
  out->members = j->n;
  GR_TRY(gr_step_open_kernel(c, first, &all, text.chars, &out->step));
  return upload(c, rows, words, &out->table);
}

static gr_status open_part(gr_cuda *c, const gr_gpu_call *calls, const gr_gpu_joined *j,
                           const gr_launch *const *launches, part *out) {
  const gr_gpu_call *first = &calls[j->call[0]];
  if (j->n > 1) return open_joined(c, calls, j, launches, out);
  *out = (part){.launch = launches[j->call[0]], .scratch = first->scratch > 0};
  return gr_step_open(c, first, &first->launch[j->launch], &out->step);
}

// ---- Running ------------------------------------------------------------------------------------

static gr_status run(const gr_launch *l) {
  const joined_call *call = l->context;
  for (int i = 0; i < call->n; i++) {
    part *p = &call->part[i];
    void *args[] = {&p->table, &p->members};
    if (p->launch) {
      GR_TRY(gr_step_run(call->device, p->step, p->launch, p->scratch));
      continue;
    }
    call->device->launches++;
    GR_TRY(gr_step_launch(call->device, p->step, args));
  }
  return GR_OK;
}

static gr_status open_all(gr_cuda *c, gr_arena *work, int n, const gr_op_call *calls,
                          const gr_launch *const *launches, gr_device_kernel *out) {
  gr_gpu_call *described;
  gr_gpu_joined *joined;
  joined_call *made = GR_NEW(c->arena, joined_call, 1);
  GR_TRY(gr_gpu_describe_all(work, calls, launches, c->processors, n, &described));
  *made = (joined_call){.device = c, .n = gr_gpu_join(work, described, n, &joined)};
  made->part = GR_NEW(c->arena, part, made->n);
  for (int i = 0; i < made->n; i++)
    GR_TRY(open_part(c, described, &joined[i], launches, &made->part[i]));
  *out = (gr_device_kernel){run, made};
  return GR_OK;
}

gr_status gr_cuda_kernels(gr_device *d, int n, const gr_op_call *calls,
                          const gr_launch *const *launches, gr_device_kernel *out) {
  gr_arena *work = gr_arena_create();
  return gr_arena_end(work, open_all(gr_cuda_of(d), work, n, calls, launches, out));
}
