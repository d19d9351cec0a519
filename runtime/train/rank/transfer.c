// transfer.c - writes a program's inputs before it runs and reads its results afterwards. Their
// locations are found once, when a run is opened, so that a step looks nothing up. See rank.h.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ops/kernels/cpu.h"
#include "runtime/train/rank/rank.h"

typedef union cell {  // a scalar in host memory, transferred to or from the device
  char bytes[8];
  double align;
} cell;

typedef struct scalar {
  gr_exec_tensor tensor;  // .address NULL: the program has no such result
  cell to;
} scalar;

typedef struct metric {
  const char *name;
  scalar sum, weight;
} metric;

struct gr_program_io {
  const gr_program *program;
  gr_exec_tensor *inputs;  // as in gr_program_inputs
  cell *values;            // of `micro`, one per micro-batch
  cell *numbers;           // by input: the learning rate, or a value that hooks may set
  metric *metrics;
  int n_metrics;
  scalar grad_norm, ok, loss_scale;
  scalar *norm;     // of the gradients of groups of weights, "grad_norm.PATTERN"
  gr_named *norms;  // their names and last values
  int n_norms;
};

// ---- Opening a run -----------------------------------------------------------------------

static gr_status open_scalar(const gr_rank *r, const gr_program *p, const char *name, scalar *out) {
  *out = (scalar){.tensor = gr_exec_result(r->exec, p, name)};
  if (!out->tensor.address || (!out->tensor.type.rank && out->tensor.bytes <= sizeof out->to))
    return GR_OK;
  return gr_fail(GR_ERR_BUG, GR_NOWHERE, "the result '%s' of program '%s' is no scalar", name,
                 p->name);
}

// "metric.cer.sum" and "metric.cer.weight" are both already sums over the global batch.
static gr_status open_metrics(gr_rank *r, gr_program_io *io) {
  const gr_graph *g = io->program->frame.g;
  io->metrics = GR_NEW(r->arena, metric, g->n_results + 1);
  for (uint32_t i = 0; i < g->n_results; i++) {
    const char *name = g->result_names[i], *end = strrchr(name, '.');
    if (strncmp(name, "metric.", 7) || strcmp(end, ".sum")) continue;
    const char *plain = gr_arena_strndup(r->arena, name + 7, (size_t)(end - name - 7));
    metric *m = &io->metrics[io->n_metrics++];
    m->name = gr_run_metric_name(r, gr_run_metric_of(r->arena, io->program->kind, plain));
    GR_TRY(open_scalar(r, io->program, name, &m->sum));
    GR_TRY(open_scalar(r, io->program, gr_arena_printf(r->arena, "metric.%s.weight", plain),
                       &m->weight));
  }
  GR_TRY(open_scalar(r, io->program, "grad_norm", &io->grad_norm));
  GR_TRY(open_scalar(r, io->program, "loss_scale", &io->loss_scale));
  return open_scalar(r, io->program, "ok", &io->ok);
}

static gr_status open_norms(gr_rank *r, gr_program_io *io) {
  const gr_graph *g = io->program->frame.g;
  io->norm = GR_NEW(r->arena, scalar, GR_MAX_NORMS);
  io->norms = GR_NEW(r->arena, gr_named, GR_MAX_NORMS);
  for (uint32_t i = 0; i < g->n_results && io->n_norms < GR_MAX_NORMS; i++) {
    const char *name = g->result_names[i];
    if (strncmp(name, "grad_norm.", 10)) continue;
    GR_TRY(open_scalar(r, io->program, name, &io->norm[io->n_norms]));
    io->norms[io->n_norms++].name = name;
  }
  return GR_OK;
}

static void open_inputs(gr_rank *r, gr_program_io *io) {
  const gr_program_inputs *in = &r->spec->inputs[io->program - r->spec->plan->programs];
  int micro_batches = r->spec->set.options.batch.micro_batches;
  io->inputs = GR_NEW(r->arena, gr_exec_tensor, in->n + 1);
  io->values = GR_NEW(r->arena, cell, micro_batches + 1);
  io->numbers = GR_NEW(r->arena, cell, in->n + 1);
  for (int i = 0; i < in->n; i++) {
    io->inputs[i] = gr_exec_input(r->exec, io->program, in->items[i].name);
    for (int k = 0; in->items[i].field == GR_INPUT_MICRO && k < micro_batches; k++)
      gr_put(&io->values[k], in->items[i].type.dtype, 0, k);
  }
}

gr_status gr_run_open_transfers(gr_rank *r) {
  const gr_plan *p = r->spec->plan;
  r->io = GR_NEW(r->arena, gr_program_io, p->n_programs);
  for (uint32_t i = 0; i < p->n_programs; i++) {
    r->io[i].program = &p->programs[i];
    open_inputs(r, &r->io[i]);
    GR_TRY(open_metrics(r, &r->io[i]));
    GR_TRY(open_norms(r, &r->io[i]));
  }
  for (const gr_plan_state *s = p->states; s < p->states + p->n_states; s++) {
    gr_exec_tensor t = gr_exec_state(r->exec, s);
    size_t bytes = gr_exec_staging(r->exec, &t);
    r->staging_bytes = bytes > r->staging_bytes ? bytes : r->staging_bytes;
  }
  r->staging = r->staging_bytes ? malloc(r->staging_bytes) : NULL;
  if (r->staging || !r->staging_bytes) return GR_OK;
  return gr_fail(GR_ERR_LAUNCH, GR_NOWHERE, "no %.1f MB of memory to copy weights to",
                 (double)r->staging_bytes / 1e6);
}

static gr_program_io *io_of(const gr_rank *r, const gr_program *p) {
  return &r->io[p - r->spec->plan->programs];
}

// ---- Before a program runs ----------------------------------------------------------------------

gr_status gr_run_write_batch(gr_rank *r, const gr_program *p, const gr_batch *b) {
  const gr_program_inputs *inputs = &r->spec->inputs[p - r->spec->plan->programs];
  for (int i = 0; i < inputs->n; i++) {
    const gr_program_input *in = &inputs->items[i];
    if (in->field < 0) continue;
    const gr_field *field = &b->field[in->field];
    if (!gr_type_same(&in->type, &field->type))
      return gr_fail(GR_ERR_BUG, GR_NOWHERE, "'%s' is of another shape in this batch", in->name);
    GR_TRY(gr_exec_write(r->exec, &io_of(r, p)->inputs[i], field->data));
  }
  return GR_OK;
}

gr_status gr_run_write_values(gr_rank *r, const gr_step_values *values, const gr_program *p,
                              int micro) {
  const gr_program_inputs *inputs = &r->spec->inputs[p - r->spec->plan->programs];
  gr_program_io *io = io_of(r, p);
  for (int i = 0; i < inputs->n; i++) {
    const gr_program_input *in = &inputs->items[i];
    if (in->field >= 0) continue;
    const void *source = in->field == GR_INPUT_MICRO ? &io->values[micro] : &io->numbers[i];
    if (in->field == GR_INPUT_LR) gr_put(&io->numbers[i], in->type.dtype, 0, values->lr);
    if (in->field <= GR_INPUT_SET)
      gr_put(&io->numbers[i], in->type.dtype, 0, values->set[GR_INPUT_SET - in->field]);
    GR_TRY(gr_exec_write(r->exec, &io->inputs[i], source));
  }
  return GR_OK;
}

// ---- After it has run ---------------------------------------------------------------------------

static gr_status read_scalar(gr_rank *r, scalar *s) {
  return s->tensor.address ? gr_exec_read(r->exec, &s->tensor, &s->to) : GR_OK;
}

static double value_of(const scalar *s) {
  return s->tensor.address ? gr_get(&s->to, s->tensor.type.dtype, 0) : (double)NAN;
}

gr_status gr_run_read_results(gr_rank *r, const gr_program *p, gr_step_results *out) {
  gr_program_io *io = io_of(r, p);
  for (int i = 0; i < io->n_metrics; i++) {
    GR_TRY(read_scalar(r, &io->metrics[i].sum));
    GR_TRY(read_scalar(r, &io->metrics[i].weight));
  }
  for (int i = 0; i < io->n_norms; i++) GR_TRY(read_scalar(r, &io->norm[i]));
  GR_TRY(read_scalar(r, &io->grad_norm));
  GR_TRY(read_scalar(r, &io->loss_scale));
  GR_TRY(read_scalar(r, &io->ok));
  GR_TRY(gr_exec_wait(r->exec));
  for (int i = 0; i < io->n_norms; i++) io->norms[i].value = value_of(&io->norm[i]);
  *out = (gr_step_results){.grad_norm = value_of(&io->grad_norm),
                           .has_grad_norm = io->grad_norm.tensor.address != NULL,
                           .norms = io->norms,
                           .n_norms = io->n_norms,
                           .loss_scale = value_of(&io->loss_scale),
                           .ok = !io->ok.tensor.address || value_of(&io->ok) != 0};
  for (int i = 0; i < io->n_metrics && i < GR_MAX_METRICS; i++)
    out->metrics.items[out->metrics.n++] = (gr_metric){
        io->metrics[i].name, value_of(&io->metrics[i].sum), value_of(&io->metrics[i].weight)};
  return GR_OK;
}
