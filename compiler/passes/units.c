// units.c - assigns weights to FSDP units (units.h).
#include "compiler/passes/units.h"
#include "ops/ops.h"

static const size_t most_loose = 4 << 20;  // bytes of weights outside of units, gathered together

typedef struct unit {
  int64_t group[GR_MOVES];  // 0: none yet
  bool backward;            // the last gather was for the backward pass
  size_t bytes;
} unit;

struct gr_units {
  const gr_graph *g;
  const gr_options *opt;
  uint32_t *of;  // by value, of states: 1 + index into all; 0: not met yet
  unit *all;
  uint32_t n;
  uint32_t loose;    // 1 + the unit that weights outside of units join at present
  uint32_t current;  // 1 + the unit whose weights were used last
  gr_map by_path;
  int64_t n_groups;
};

gr_units *gr_units_open(gr_arena *arena, const gr_graph *g, const gr_options *o) {
  gr_units *u = GR_NEW(arena, gr_units, 1);
  *u = (gr_units){.g = g, .opt = o, .by_path = gr_map_make(arena)};
  u->of = GR_NEW(arena, uint32_t, g->n_values);
  u->all = GR_NEW(arena, unit, g->n_values);
  return u;
}

// The path of a weight's unit, or NULL.
static const char *path_of(const gr_units *u, const char *name) {
  uint32_t i = gr_part_of(u->by_path.arena, u->opt->sharding.units, name);
  return i ? u->opt->sharding.units->keys[i - 1] : NULL;
}

static uint32_t find(gr_units *u, uint32_t id) {
  const gr_value *v = &u->g->values[id];
  const char *path = path_of(u, v->name);
  size_t bytes = gr_type_bytes(&v->type);
  uint32_t i = u->n;
  if (path && gr_map_find(&u->by_path, path, &i)) return i;
  size_t most = u->opt->debug.coalesce_bytes ? u->opt->debug.coalesce_bytes : most_loose;
  if (!path && u->loose && u->all[u->loose - 1].bytes + bytes <= most) return u->loose - 1;
  if (path) gr_map_put(&u->by_path, path, i);
  if (!path) u->loose = i + 1;
  return u->n++;
}

static uint32_t unit_of(gr_units *u, uint32_t id) {
  if (!u->of[id]) {
    uint32_t i = find(u, id);
    u->of[id] = i + 1;
    u->all[i].bytes += gr_type_bytes(&u->g->values[id].type);
  }
  if (u->of[id] != u->loose) u->loose = 0;
  return u->of[id];
}

gr_val gr_units_state(const gr_graph *g, gr_val v) {
  v = gr_cast_from(g, v);
  return gr_at(g, v)->role == GR_STATE ? v : GR_NONE;
}

uint32_t gr_units_loss(const gr_graph *g) {
  bool any = false;
  for (uint32_t i = 1; i < g->leaves_end; i++) any |= gr_is(g->values[i].grad);
  const gr_value *loss = gr_at(g, g->loss);
  return any && gr_is(g->loss) && loss->role == GR_TEMP ? loss->node : UINT32_MAX;
}

bool gr_units_only_states(const gr_graph *g, const gr_node *n, uint32_t loss_at) {
  bool all = n->n_in > 0 && n->op != &gr_op_cast && (uint32_t)(n - g->nodes) <= loss_at;
  for (int k = 0; k < n->n_in; k++) all &= gr_is(gr_units_state(g, n->in[k]));
  return all;
}

int64_t gr_units_group(gr_units *u, uint32_t id, gr_move what, bool backward) {
  uint32_t i = unit_of(u, id);
  unit *x = &u->all[i - 1];
  bool gathers = what == GR_MOVE_GATHER;
  bool again = gathers && backward && !x->backward && u->current != i;
  if (!x->group[what] || again) {
    x->group[what] = ++u->n_groups;
    if (gathers) x->backward = backward;
  }
  if (gathers) u->current = i;
  return x->group[what];
}
