// memory.c - static buffer assignment: the offset of every value of a program.
//
// A result reuses the memory of an operand that nothing reads later, if the op allows it. The next
// value of a state is written in the state's own memory if nothing reads the state after that, so
// that nothing is copied when the step ends. The remaining live ranges are packed (memory_fit.c).
// On GPUs inputs have a second place, which is reserved at all times: the next ones are uploaded to
// it while the program runs, and are copied from it when the program starts again.
#include "compiler/plan/memory.h"
#include "compiler/plan/calls.h"
#include "compiler/plan/launch_groups.h"
#include "compiler/plan/memory_fit.h"
#include "compiler/plan/names.h"
#include "ops/ops.h"

typedef struct planner {
  gr_arena *arena;  // of the frames
  gr_arena *work;   // of what ends with the plan of the program's memory
  gr_scratch_sizes *scratch_sizes;
  const gr_graph *g;
  gr_plan_frame *f;
  const uint32_t *last;        // by value
  gr_launch_groups groups;     // candidates: all that they access is live as long as they are
  size_t *scratch_bytes;       // by node
  bool *double_buffered;       // by value of a body: the next value of a double-buffered carry. Its
                               // memory and the carry's swap each step, so nothing else may use it
  uint32_t *alias_root;        // by value: the value whose memory it reuses, initially itself
  gr_live_range *live_ranges;  // live ranges to pack, and where to write their offsets
  size_t **out_offsets;
  uint32_t n_live_ranges;
} planner;

static size_t rounded(size_t bytes) {
  return (bytes + GR_PLAN_ALIGN - 1) / GR_PLAN_ALIGN * GR_PLAN_ALIGN;
}

static bool is_body(const planner *p) { return p->f->stacked != NULL; }

// ---- Memory reuse --------------------------------------------------------------------

static void write_nexts_in_states(planner *p) {
  bool *claimed = GR_NEW(p->work, bool, p->g->n_values);
  for (uint32_t i = 1; i < p->g->leaves_end; i++) {
    uint32_t next = p->g->values[i].next.id;
    if (p->g->values[i].role != GR_STATE || claimed[next]) continue;
    if (!gr_memory_may_become(p->g, p->last, i)) continue;
    claimed[next] = p->f->in_states[next] = true;
    p->f->offset[next] = p->f->offset[i];
  }
}

static bool has_own_memory(const planner *p, uint32_t v) {
  return p->g->values[v].role == GR_TEMP && !p->f->in_states[v] &&
         !(is_body(p) && p->f->stacked[v]);
}

static void reuse_operands(planner *p, uint32_t i) {
  const gr_node *n = &p->g->nodes[i];
  for (int k = 0; k < n->n_out; k++)
    for (int j = 0; j < n->n_in && has_own_memory(p, gr_out(n, k).id); j++) {
      if (p->double_buffered[gr_out(n, k).id]) continue;
      uint32_t operand = n->in[j].id;
      if (has_own_memory(p, operand) && p->last[operand] == i && gr_memory_may_reuse(p->g, n, k, j))
        p->alias_root[gr_out(n, k).id] = p->alias_root[operand];
    }
}

// ---- Live ranges --------------------------------------------------------------------------

static gr_live_range *add_live_range(planner *p, uint32_t first, uint32_t last, size_t bytes,
                                     size_t *out_offset) {
  gr_live_range *l = &p->live_ranges[p->n_live_ranges];
  *l = (gr_live_range){.first = first, .last = last, .bytes = rounded(bytes)};
  p->out_offsets[p->n_live_ranges++] = out_offset;
  return l;
}

static void add_value_ranges(planner *p) {
  const gr_graph *g = p->g;
  gr_live_range **of = GR_NEW(p->work, gr_live_range *, g->n_values);
  for (uint32_t i = 1; i < g->n_values; i++) {
    const gr_value *v = &g->values[i];
    bool input = v->role == GR_INPUT && !is_body(p);
    if (!input && !has_own_memory(p, i)) continue;
    uint32_t root = p->alias_root[i], last = p->groups.last[p->last[i]];
    if (!of[root])
      of[root] = add_live_range(p, input || p->double_buffered[i] ? 0 : p->groups.first[v->node],
                                last, gr_type_bytes(&v->type), &p->f->offset[root]);
    if (last > of[root]->last) of[root]->last = last;
  }
}

static void add_scratch_ranges(planner *p) {
  for (uint32_t i = 0; i < p->g->n_nodes; i++) {
    const gr_node *n = &p->g->nodes[i];
    if (p->f->body[i] && p->f->body[i]->bytes)
      add_live_range(p, i, i, p->f->body[i]->bytes, &p->f->body_at[i]);
    size_t bytes = p->scratch_bytes[i] = gr_node_scratch(p->scratch_sizes, p->g, n);
    uint32_t first = p->groups.first[i], last = p->groups.last[i];
    if (bytes) add_live_range(p, first, last, bytes, &p->f->scratch[i]);
  }
}

static void pack(planner *p) {
  uint32_t most = p->g->n_values + 2 * p->g->n_nodes;
  p->live_ranges = GR_NEW(p->work, gr_live_range, most);
  p->out_offsets = GR_NEW(p->work, size_t *, most);
  add_value_ranges(p);
  add_scratch_ranges(p);
  p->f->bytes = gr_live_range_pack(p->work, p->live_ranges, p->n_live_ranges, p->g->n_nodes,
                                   &p->f->lower_bound, &p->f->peak_node);
  for (uint32_t i = 0; i < p->n_live_ranges; i++) *p->out_offsets[i] = p->live_ranges[i].offset;
  for (uint32_t i = 1; i < p->g->n_values; i++)
    if (p->alias_root[i] != i) p->f->offset[i] = p->f->offset[p->alias_root[i]];
}

static void place_uploads(planner *p) {
  p->f->upload = GR_NEW(p->arena, size_t, p->g->n_values);
  for (uint32_t i = 1; i < p->g->n_values; i++) {
    if (!gr_plan_uploads(p->f, i)) continue;
    p->f->upload[i] = p->f->upload_bytes;
    p->f->upload_bytes += rounded(gr_type_bytes(&p->g->values[i].type));
  }
}

// ---- Frames -------------------------------------------------------------------------

static void plan(const planner *outer, const gr_graph *, gr_plan_frame *);

static void plan_bodies(planner *p) {
  for (uint32_t i = 0; i < p->g->n_nodes; i++) {
    if (p->g->nodes[i].op != &gr_op_scan) continue;
    const gr_scan *s = p->g->nodes[i].attr;
    const gr_graph *body = s->body;
    gr_plan_frame *b = p->f->body[i] = GR_NEW(p->arena, gr_plan_frame, 1);
    b->gpu = p->f->gpu;
    b->stacked = GR_NEW(p->arena, int, body->n_values);
    for (uint32_t j = body->n_results; j--;)  // the first of several wins, the others are copied
      if (gr_at(body, body->results[j])->role == GR_TEMP)
        b->stacked[body->results[j].id] = (int)j + 1;
    plan(p, body, b);
    gr_memory_choose_carries(p->arena, s, b);
  }
}

static void make_frame(gr_arena *a, const gr_graph *g, gr_plan_frame *f) {
  f->g = g;
  if (!f->offset) f->offset = GR_NEW(a, size_t, g->n_values);
  if (!f->in_states) f->in_states = GR_NEW(a, bool, g->n_values);
  if (!f->state_of) f->state_of = GR_NEW(a, uint32_t, g->n_values);
  f->scratch = GR_NEW(a, size_t, g->n_nodes + 1);
  f->body_at = GR_NEW(a, size_t, g->n_nodes + 1);
  f->body = GR_NEW(a, gr_plan_frame *, g->n_nodes + 1);
}

// outer: of the graph that g is a body in; or with arenas and tables alone.
static void plan(const planner *outer, const gr_graph *g, gr_plan_frame *f) {
  gr_arena *work = outer->work;
  make_frame(outer->arena, g, f);
  planner p = {.arena = outer->arena,
               .work = work,
               .scratch_sizes = outer->scratch_sizes,
               .g = g,
               .f = f,
               .last = gr_memory_last_use(work, g)};
  p.alias_root = GR_NEW(work, uint32_t, g->n_values);
  p.double_buffered = GR_NEW(work, bool, g->n_values);
  p.scratch_bytes = GR_NEW(work, size_t, g->n_nodes + 1);
  gr_launch_groups_find(work, g, f->gpu && !is_body(&p), &p.groups);
  for (uint32_t i = 1; i < g->n_values; i++) {
    p.alias_root[i] = i;
    p.double_buffered[g->values[i].next.id] = is_body(&p);
  }
  plan_bodies(&p);
  if (!is_body(&p)) write_nexts_in_states(&p);
  for (uint32_t i = 0; i < g->n_nodes; i++) reuse_operands(&p, i);
  pack(&p);
  if (!is_body(&p) && f->gpu) place_uploads(&p);
  if (!is_body(&p)) gr_launch_groups_choose(p.arena, &p.groups, p.scratch_bytes, f);
}

void gr_memory_plan(gr_arena *arena, const gr_plan_state *states, const gr_map *by_name,
                    const gr_graph *g, bool gpu, gr_plan_frame *out) {
  *out = (gr_plan_frame){.gpu = gpu};
  out->offset = GR_NEW(arena, size_t, g->n_values);
  out->in_states = GR_NEW(arena, bool, g->n_values);
  out->state_of = GR_NEW(arena, uint32_t, g->n_values);
  for (uint32_t i = 1, next = 0, s; i < g->leaves_end; i++) {
    const gr_value *v = &g->values[i];
    if (v->role != GR_STATE || !gr_find_next(by_name, v->name, &next, &s)) continue;
    out->offset[i] = states[s].offset;
    out->in_states[i] = true;
    out->state_of[i] = s + 1;
  }
  gr_arena *work = gr_arena_create();
  gr_scratch_sizes sizes = gr_scratch_sizes_make(work, gpu);
  plan(&(planner){.arena = arena, .work = work, .scratch_sizes = &sizes}, g, out);
  gr_arena_destroy(work);
}
