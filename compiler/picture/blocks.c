// blocks.c - the tree of a program's blocks: scopes of the model, and the runs of ops between them;
// which weights each has, and which siblings are equal.
#include <ctype.h>
#include <fnmatch.h>
#include <string.h>
#include "base/grow.h"
#include "base/hash.h"
#include "compiler/picture/parts.h"
#include "ops/ops.h"

// ---- The tree -------------------------------------------------------------------

typedef struct tree {
  gr_picture *p;
  gr_map by_path;   // scopes
  gr_map by_place;  // runs, by scope, place in the YAML and op; the last of them
} tree;

static uint32_t add_block(gr_picture *p, uint32_t parent, const char *path, const char *name) {
  GR_GROW(p->arena, p->block, p->n_blocks, p->cap_blocks);
  uint32_t added = p->n_blocks++;
  p->block[added] = (gr_picture_block){
      .path = path, .name = name, .parent = parent, .shown_as = added, .repetitions = 1};
  gr_picture_block *up = &p->block[parent];
  if (added == parent) return added;
  GR_GROW(p->arena, up->child, up->n_child, up->room);
  up->child[up->n_child++] = added;
  return added;
}

static bool is_asked(const gr_picture *p, const char *path) {
  for (int i = 0; i < p->request->n_expand; i++)
    if (!fnmatch(p->request->expand[i], path, 0)) return true;
  return false;
}

// The block of a scope, which is made, with those around it, if it is not there.
static uint32_t block_of_scope(tree *t, const char *scope) {
  uint32_t found = 0;
  if (!*scope || gr_map_find(&t->by_path, scope, &found)) return found;
  const char *dot = strrchr(scope, '.');
  const char *outer = dot ? gr_arena_strndup(t->p->arena, scope, (size_t)(dot - scope)) : "";
  uint32_t around = block_of_scope(t, outer);
  found = add_block(t->p, around, scope, dot ? dot + 1 : scope);
  t->p->block[found].asked = t->p->block[around].asked || is_asked(t->p, scope);
  for (uint32_t b = found; t->p->block[found].asked && b; b = t->p->block[b].parent)
    t->p->block[b].holds_asked = true;
  gr_map_put(&t->by_path, scope, found);
  return found;
}

// The last run of a scope, if nothing of the scope came after; else a new one. Where a pattern asks
// for every op, each is a run of its own.
static uint32_t open_run(tree *t, uint32_t scope) {
  const gr_picture_block *b = &t->p->block[scope];
  uint32_t last = b->n_child ? b->child[b->n_child - 1] : 0;
  if (last && t->p->block[last].is_run && !b->asked) return last;
  bool asked = b->asked;
  last = add_block(t->p, scope, b->path, "");
  t->p->block[last].is_run = true, t->p->block[last].asked = asked;
  return last;
}

// Run number k of a scope, counted from its end; its first one if it has fewer; a new one if none.
static uint32_t run_from_end(tree *t, uint32_t scope, uint32_t k) {
  const gr_picture_block *b = &t->p->block[scope];
  uint32_t found = 0;
  for (uint32_t i = b->n_child; i--;)
    if (t->p->block[b->child[i]].is_run) {
      found = b->child[i];
      if (!k--) break;
    }
  return found ? found : open_run(t, scope);
}

// The key of an op in by_place; what computes the gradient of "gelu" is "gelu_grad".
static const char *place_of(tree *t, const gr_picture_op *op) {
  const char *end = strstr(op->op->name, "_grad");
  int n = (int)(end ? (size_t)(end - op->op->name) : strlen(op->op->name));
  return gr_arena_printf(t->p->arena, "%s|%d:%d|%.*s", op->scope, op->loc.line, op->loc.col, n,
                         op->op->name);
}

static void place_forward(tree *t) {
  for (uint32_t i = 0; i < t->p->ops.n; i++) {
    gr_picture_op *op = &t->p->ops.op[i];
    if (op->phase != GR_PICTURE_FORWARD || op->op->collective) continue;
    op->block = open_run(t, block_of_scope(t, op->scope));
    gr_map_put(&t->by_place, place_of(t, op), op->block);
  }
}

// The op that a gradient is of is known by its name and place. Else: a scope's runs of the backward
// pass are in the reverse order of those of the forward pass.
static void place_backward(tree *t) {
  gr_picture_ops *ops = &t->p->ops;
  const char *before = NULL;
  gr_map runs = gr_map_make(t->p->arena);
  for (uint32_t i = 0; i < ops->n; i++) {
    gr_picture_op *op = &ops->op[i];
    uint32_t run = 0;
    if (op->phase != GR_PICTURE_BACKWARD || op->op->collective) continue;
    if (strstr(op->op->name, "_grad") && gr_map_find(&t->by_place, place_of(t, op), &op->block))
      continue;
    bool again = gr_map_find(&runs, op->scope, &run);
    if (again && before && strcmp(before, op->scope)) run++;
    gr_map_put(&runs, op->scope, run);
    op->block = run_from_end(t, block_of_scope(t, op->scope), run);
    before = op->scope;
  }
}

// ---- Collectives ----------------------------------------------------------------

// The innermost block whose path is that of a state's name.
static uint32_t block_of_state(const gr_picture *p, const char *state) {
  uint32_t block = 0;
  for (bool deeper = true; deeper;) {
    deeper = false;
    for (uint32_t i = 0; i < p->block[block].n_child && !deeper; i++) {
      const gr_picture_block *b = &p->block[p->block[block].child[i]];
      size_t n = strlen(b->path);
      if (b->is_run || strncmp(state, b->path, n) || state[n] != '.') continue;
      block = p->block[block].child[i], deeper = true;
    }
  }
  return block;
}

// The state that a collective's operand is, or whose gradient its result is; or NULL.
static const char *state_moved(const gr_graph *g, const gr_node *n, const uint32_t *state_of_grad) {
  for (int k = 0; k < n->n_in; k++) {
    const gr_value *source = gr_at(g, gr_cast_from(g, n->in[k]));
    if (source->role == GR_STATE) return source->name;
    uint32_t state = k < n->n_out ? state_of_grad[gr_out(n, k).id] : 0;
    if (state) return g->values[state].name;
  }
  return NULL;
}

static void place_collectives(tree *t) {
  const gr_graph *g = t->p->program->frame.g;
  uint32_t *state_of_grad = GR_NEW(t->p->arena, uint32_t, g->n_values);
  for (uint32_t i = g->n_values; i-- > 1;)
    if (g->values[i].role == GR_STATE) state_of_grad[g->values[i].grad.id] = i;
  for (uint32_t i = 0; i < t->p->ops.n; i++) {
    gr_picture_op *op = &t->p->ops.op[i];
    if (!op->op->collective || op->phase == GR_PICTURE_UPDATE) continue;
    const char *state = state_moved(g, &g->nodes[op->node], state_of_grad);
    uint32_t scope = state ? block_of_state(t->p, state) : 0;
    if (!state && *op->scope) scope = block_of_scope(t, op->scope);
    op->block = run_from_end(t, scope, 0);
  }
}

// ---- Sums, and equal siblings -----------------------------------------------------

// Adds each op of the forward pass to its block, and to those around it, whose paths its scope
// begins with.
static void add_ops(gr_picture *p) {
  for (uint32_t i = 0; i < p->ops.n; i++) {
    const gr_picture_op *op = &p->ops.op[i];
    if (op->phase != GR_PICTURE_FORWARD || op->op->collective) continue;
    for (uint32_t b = op->block;; b = p->block[b].parent) {
      gr_picture_block *block = &p->block[b];
      const char *inner = op->scope + strlen(block->path);
      block->flops += op->flops;
      block->signature = gr_hash_bytes(block->signature, op->op->name, strlen(op->op->name));
      block->signature = gr_hash_bytes(block->signature, inner, strlen(inner));
      if (!b) break;
    }
  }
}

// Adds each weight to the innermost block of its name, and to those around it.
static void add_weights(gr_picture *p) {
  for (uint32_t i = 0; i < p->plan->n_states; i++) {
    const gr_plan_state *s = &p->plan->states[i];
    if (s->kind != GR_KIND_WEIGHT) continue;
    for (uint32_t b = block_of_state(p, s->name);; b = p->block[b].parent) {
      gr_picture_block *block = &p->block[b];
      const char *inner = s->name + strlen(block->path);
      block->weights += (double)gr_type_count(&s->global);
      if (!block->largest || gr_type_count(&s->global) > gr_type_count(&block->largest->global))
        block->largest = s;
      block->signature = gr_hash_bytes(block->signature, inner, strlen(inner));
      block->signature = gr_hash_bytes(block->signature, &s->type, sizeof s->type);
      if (!b) break;
    }
  }
}

static bool is_number(const char *name) {
  for (const char *c = name; *c; c++)
    if (!isdigit((unsigned char)*c)) return false;
  return *name;
}

// Siblings that are named by numbers, follow each other and are equal are drawn as their first.
static void find_repetitions(gr_picture *p, gr_picture_block *around) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < around->n_child; i++) {
    gr_picture_block *b = &p->block[around->child[i]], *f = &p->block[first];
    if (b->holds_asked || !is_number(b->name))
      first = 0;
    else if (first && f->signature == b->signature)
      b->shown_as = first, f->repetitions++;
    else
      first = around->child[i];
  }
}

// Blocks within a repetition are drawn as their counterparts; parents come before their children.
static void map_repetitions(gr_picture *p) {
  for (uint32_t b = 1; b < p->n_blocks; b++) {
    const gr_picture_block *up = &p->block[p->block[b].parent];
    if (up->shown_as == p->block[b].parent) continue;
    const gr_picture_block *drawn = &p->block[up->shown_as];
    uint32_t k = 0;
    while (up->child[k] != b) k++;
    bool there = k < drawn->n_child && !strcmp(p->block[drawn->child[k]].name, p->block[b].name);
    uint32_t as = there ? drawn->child[k] : up->shown_as;
    p->block[b].shown_as = p->block[as].shown_as;
  }
}

void gr_picture_read_blocks(gr_picture *p) {
  tree t = {.p = p, .by_path = gr_map_make(p->arena), .by_place = gr_map_make(p->arena)};
  add_block(p, 0, "", "");
  place_forward(&t);
  place_backward(&t);
  place_collectives(&t);
  for (uint32_t b = 0; b < p->n_blocks; b++) p->block[b].signature = GR_HASH_START;
  add_ops(p);
  add_weights(p);
  for (uint32_t b = 0; b < p->n_blocks; b++) find_repetitions(p, &p->block[b]);
  map_repetitions(p);
}
