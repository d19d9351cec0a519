// rewrite.c - helpers of passes (pass.h): copying from the old graph to the new one.
#include <fnmatch.h>
#include <string.h>
#include "compiler/pass.h"

// Most passes add few nodes, and room that is not used costs nothing, where growing costs a copy.
void gr_reserve(gr_rewrite *rw, uint32_t values, uint32_t nodes) {
  const gr_graph *old = rw->old;
  gr_graph_reserve(rw->b.g, old->n_values + old->n_values / 8 + values,
                   old->n_nodes + old->n_nodes / 8 + nodes);
}

gr_val gr_copy_leaf(gr_rewrite *rw, uint32_t id, const gr_type *type, gr_layout layout) {
  const gr_value *v = &rw->old->values[id];
  if (rw->b.g->n_values == 1) gr_reserve(rw, 0, 0);
  rw->b.loc = v->loc;
  rw->map[id] = gr_leaf(&rw->b, v->role, v->kind, v->name, *type, layout);
  if (v->copies && !rw->b.err) gr_at(rw->b.g, rw->map[id])->copies = v->copies;
  return rw->map[id];
}

void gr_copy_leaves(gr_rewrite *rw) {
  for (uint32_t i = 1; i < rw->old->leaves_end; i++) {
    const gr_value *v = &rw->old->values[i];
    if (v->role != GR_TEMP) gr_copy_leaf(rw, i, &v->type, v->layout);
  }
}

gr_status gr_keep(gr_rewrite *rw) {
  rw->kept = true;
  return GR_OK;
}

gr_val gr_emit_placed(gr_builder *b, const gr_graph *of, const gr_node *n, gr_val *map) {
  gr_val out = gr_emit_copy(b, of, n, map);
  for (int i = 0; gr_is(out) && i < n->n_out; i++)
    gr_at(b->g, map[gr_out(n, i).id])->layout = gr_at(of, gr_out(n, i))->layout;
  return out;
}

gr_val gr_copy_node(gr_rewrite *rw, const gr_node *n) {
  return gr_emit_placed(&rw->b, rw->old, n, rw->map);
}

// Whether the new graph has the leaves of the old one so far, under the same ids.
static bool has_leaves(const gr_rewrite *rw) {
  uint32_t n = rw->b.g->n_values;
  for (uint32_t i = 1; i < n && i < rw->old->n_values; i++)
    if (rw->map[i].id != i || !gr_type_same(&rw->b.g->values[i].type, &rw->old->values[i].type))
      return false;
  return !rw->b.err;
}

void gr_copy_nodes(gr_rewrite *rw) {
  if (has_leaves(rw) && gr_graph_take_nodes(rw->b.g, rw->old)) {
    for (uint32_t i = 1; i < rw->old->n_values; i++) rw->map[i] = (gr_val){i};
    return;
  }
  rw->b.distinct = !rw->b.g->n_nodes;
  for (uint32_t i = 0; i < rw->old->n_nodes && !rw->b.err; i++)
    gr_copy_node(rw, &rw->old->nodes[i]);
  rw->b.distinct = false;
}

void gr_copy_links(gr_rewrite *rw) {
  const gr_graph *old = rw->old;
  rw->b.g->loss = rw->map[old->loss.id];
  rw->b.g->loss_denominator = rw->map[old->loss_denominator.id];
  for (uint32_t i = 0; i < old->n_results; i++)
    gr_result(&rw->b, old->result_names ? old->result_names[i] : NULL, rw->map[old->results[i].id]);
  for (uint32_t i = 1; i < old->leaves_end; i++) {
    const gr_value *v = &old->values[i];
    if (!gr_is(rw->map[i]) || v->role != GR_STATE) continue;
    gr_value *w = gr_at(rw->b.g, rw->map[i]);
    w->grad = rw->map[v->grad.id];
    w->next = rw->map[v->next.id];
  }
}

void gr_map_loop(const gr_loop *l, const gr_graph *old, const gr_node *n, const gr_val *body_map,
                 gr_val *map) {
  const gr_scan *s = n->attr;
  for (int k = 0; k < n->n_out; k++) {
    gr_val before = gr_out(n, k), *now = &map[before.id];
    *now = k < s->n_carry ? gr_loop_last(l, body_map[gr_scan_carry(s, k).id])
                          : gr_loop_stack(l, k - (int)s->n_carry);
    if (gr_is(*now)) gr_at(l->outside->g, *now)->layout = gr_at(old, before)->layout;
  }
}

void gr_emit_loop(gr_builder *b, const gr_graph *of, const gr_node *n, gr_write_body write,
                  gr_val *map) {
  const gr_scan *s = n->attr;
  gr_val in[GR_MAX_ARGS], *inside = GR_NEW(b->g->tables, gr_val, s->body->n_values);
  gr_loop l;
  b->loc = n->loc, b->scope = n->scope;
  for (int k = 0; k < n->n_in; k++) in[k] = map[n->in[k].id];
  gr_loop_leaves(&l, b, s, in, inside);
  write(&l, s, in, inside);
  gr_loop_nexts(&l, s, inside);
  for (uint32_t j = 0; j < s->body->n_results; j++)
    gr_loop_yield(&l, inside[s->body->results[j].id]);
  gr_loop_close(&l);
  gr_map_loop(&l, of, n, inside, map);
}

void gr_rewrite_loop(gr_rewrite *rw, const gr_node *n, gr_write_body write) {
  gr_emit_loop(&rw->b, rw->old, n, write, rw->map);
}

int gr_freezable_of(const gr_optimizer_settings *o, const char *weight) {
  for (int i = 0; i < o->freezable.n; i++)
    if (gr_name_matches(weight, &o->freezable.text[i], 1)) return i;
  return -1;
}

bool gr_is_frozen(const gr_options *o, const char *weight) {
  int i = o->program.frozen ? gr_freezable_of(&o->optimizer, weight) : -1;
  return i >= 0 && o->program.frozen >> i & 1;
}

bool gr_is_trained(const gr_options *o, const gr_value *v) {
  return gr_is_weight(v) && gr_dtypes[v->type.dtype].is_float &&
         !gr_name_matches(v->name, o->optimizer.freeze.text, o->optimizer.freeze.n) &&
         !gr_is_frozen(o, v->name) &&
         (!o->optimizer.only.n ||
          gr_name_matches(v->name, o->optimizer.only.text, o->optimizer.only.n)) &&
         (!o->program.n_trained ||
          gr_name_matches(v->name, o->program.trained, o->program.n_trained));
}

uint32_t gr_part_of(gr_arena *arena, const gr_map *paths, const char *name) {
  uint32_t i;
  for (const char *end = paths ? name : NULL; end && *end; end += *end == '.') {
    end += strcspn(end, ".");
    if (gr_map_find(paths, gr_arena_strndup(arena, name, (size_t)(end - name)), &i)) return i + 1;
  }
  return 0;
}

// Whether the name matches a pattern with one of the alternatives "a,b" of its first braces. A
// pattern that is too long matches nothing.
static bool matches_alternative(const char *name, const char *pattern) {
  enum { MAX_PATTERN = 512 };
  char one[MAX_PATTERN];
  const char *open = strchr(pattern, '{'), *close = open ? strchr(open, '}') : NULL;
  if (!close) return !fnmatch(pattern, name, 0);
  for (const char *word = open + 1; word <= close;) {
    int n = (int)strcspn(word, ",}");
    int len =
        snprintf(one, sizeof one, "%.*s%.*s%s", (int)(open - pattern), pattern, n, word, close + 1);
    if (len < MAX_PATTERN && matches_alternative(name, one)) return true;
    word += n + 1;
  }
  return false;
}

bool gr_name_matches(const char *name, const char *const *patterns, int n) {
  for (int i = 0; i < n; i++)
    if (matches_alternative(name, patterns[i])) return true;
  return false;
}
