// full_state.c - checkpoints of whole states: distributed.fsdp.state_dict_type=full. Sharded states
// are gathered before each checkpoint, and rank 0 writes them. See states.h.
#include <stdlib.h>
#include <string.h>
#include "runtime/train/saving/states.h"

bool gr_run_is_gathered(const gr_rank *r, const gr_plan_state *s) {
  gr_state_dict_type type = r->spec->set.saving.state_dict_type;
  return (type == gr_state_dict_type_full || type == gr_state_dict_type_full_state_dict) &&
         s->kind != GR_KIND_GRAD_ACCUMULATOR && s->kind != GR_KIND_TABLE &&
         !gr_type_same(&s->type, &s->global);
}

gr_status gr_run_open_full(gr_states *states) {
  gr_rank *r = states->rank;
  const gr_plan *p = r->spec->plan;
  size_t most = 0, all = 0;
  for (uint32_t i = 0; i < p->n_states; i++) {
    const gr_plan_state *s = &p->states[i];
    if (!gr_run_is_gathered(r, s)) continue;
    all += gr_type_bytes(&s->global);
    most = s->bytes > most ? s->bytes : most;
  }
  states->full_bytes = most * (size_t)r->ranks + (r->rank ? 0 : all);
  states->full = malloc(states->full_bytes + 1);
  if (states->full) return GR_OK;
  return gr_hint(gr_fail(GR_ERR_LAUNCH, GR_NOWHERE,
                         "no %.1f MB of memory to bring the weights of all ranks together",
                         (double)states->full_bytes / 1e6),
                 "distributed.fsdp.state_dict_type=sharded needs none");
}

// The memory after the whole states: the slices of one state, from all ranks.
static char *whole_of(const gr_states *states, const gr_plan_state *state) {
  const gr_rank *r = states->rank;
  char *data = states->full;
  const gr_plan *p = r->spec->plan;
  for (const gr_plan_state *s = p->states; s < p->states + p->n_states && s != state; s++)
    if (gr_run_is_gathered(r, s) && !r->rank) data += gr_type_bytes(&s->global);
  return data;
}

gr_tensor_slice gr_run_full_tensor_slice(gr_states *states, const gr_plan_state *s) {
  gr_tensor_slice part = gr_run_tensor_slice(states->rank, s, states->rank->rank);
  return gr_tensor_slice_whole(part.name, part.dtype, part.rank, part.dims, whole_of(states, s));
}

// Copies a rank's slice to its place in the whole tensor, one contiguous run at a time.
static void put_part(const gr_tensor_slice *whole, const gr_tensor_slice *part,
                     const char *source) {
  int last = part->rank - 1;
  int64_t runs = 1, each = gr_tensor_slice_bytes(part);
  if (!each) return;  // only padding
  for (int d = 0; d < last; d++) runs *= part->size[d];
  each /= runs * part->size[last];
  for (int64_t r = 0; r < runs; r++) {
    int64_t rest = r, offset = part->offset[last], stride = whole->dims[last];
    for (int d = last; d--; stride *= whole->dims[d]) {
      offset += (rest % part->size[d] + part->offset[d]) * stride;
      rest /= part->size[d];
    }
    size_t run = (size_t)(part->size[last] * each);
    memcpy((char *)whole->data + offset * each, source + (size_t)r * run, run);
  }
}

gr_status gr_run_gather_full(gr_states *all) {
  gr_rank *r = all->rank;
  const gr_plan *p = r->spec->plan;
  char *parts = whole_of(all, NULL);
  for (const gr_plan_state *s = p->states; s < p->states + p->n_states; s++) {
    if (!gr_run_is_gathered(r, s)) continue;
    gr_exec_tensor t = gr_exec_state(r->exec, s);
    const void *shard;
    GR_TRY(gr_exec_view(r->exec, &t, r->staging, &shard));
    GR_TRY(
        gr_comm_run(r->world, GR_ALL_GATHER, s->type.dtype, gr_type_count(&s->type), shard, parts));
    gr_tensor_slice whole = gr_run_full_tensor_slice(all, s);
    for (int rank = 0; rank < r->ranks && !r->rank; rank++) {
      gr_tensor_slice part = gr_run_tensor_slice(r, s, rank);
      put_part(&whole, &part, parts + (size_t)rank * s->bytes);
    }
  }
  return GR_OK;
}

// Excludes padding: a rank's slice is dense and at the start of its memory.
gr_tensor_slice gr_run_tensor_slice(gr_rank *r, const gr_plan_state *s, int rank) {
  gr_tensor_slice p = {.name = s->name,
                       .dtype = gr_dtypes[s->type.dtype].name,
                       .rank = s->type.rank,
                       .data = gr_exec_state(r->exec, s).address};
  for (int d = 0; d < s->type.rank; d++) p.dims[d] = s->global.dim[d];
  gr_layout_slice(&s->global, &s->layout, &r->spec->plan->mesh, rank, p.offset, p.size);
  return p;
}
