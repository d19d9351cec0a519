// reuse.c - builds a further use of a block by emitting again what its first use emitted.
//
// A block sees its operands, its parameters and constants of the program, and nothing else of the
// file. So the same node of the file, with operands of the same types and with equal parameters,
// builds the same nodes: in the 400th iteration of a repeat: as in the first, on other operands and
// under another path. The first use is built from its YAML, and what it emits is noted, calls that
// found an equal node among it. A further use emits the noted calls on its own operands. It creates
// weights of its own; the paths of weights, nodes and random streams begin with its path.
//
// A use is noted only if all that its calls read is an operand, a weight that it creates, the
// counter of steps, or the result of another call. It is not if it sets a buffer, is in a loop or
// in an adapter, or shares weights with what is outside, or reads them as constants.
#include "compiler/model/reuse.h"
#include <assert.h>
#include <string.h>
#include "base/grow.h"
#include "base/hash.h"

enum {
  NONE = 0,      // as an index of values: GR_NONE's
  SLOTS = 1024,  // of uses, which are a few for each block
};

typedef struct range {
  uint32_t first, end;
} range;

struct gr_block_use {
  const gr_conf *conf;  // the node of the file
  const gr_block *block;
  gr_loc loc;  // of the nodes of a built-in block
  const char *path;
  gr_binding *given;  // n operands
  int n;
  gr_arg *arg;  // n_args parameters and sizes of the block
  uint32_t n_args;
  range calls, params, scopes;
  int nodes;     // so many nodes of files, for their limit
  uint32_t set;  // gr_block_uses.set before it
  gr_binding out;
};

struct gr_block_uses {
  gr_emit_log log;             // of the program's graph
  gr_block_use *known[SLOTS];  // by a hash of the node of the file; the last one
  uint32_t *image;             // by value: the one that a further use has in its place
  uint32_t cap;
  const char **path;  // of the weights of a further use
  uint32_t cap_path;
  uint32_t set;  // so many buffers were set
};

void gr_model_open_uses(gr_build_context *a) {
  if (a->request->builds_each) return;
  a->uses = GR_NEW(a->scratch, gr_block_uses, 1);
  a->uses->log.arena = a->scratch;
  a->root.log = &a->uses->log;
}

void gr_model_close_uses(gr_build_context *a) { a->uses = NULL, a->root.log = NULL; }

void gr_model_note_set(gr_build_context *a) {
  if (a->uses) a->uses->set++;
}

// ---- Whether two uses are alike ---------------------------------------------------------

// By its place in the file: the same uses are known in every run.
static gr_block_use **slot_of(gr_build_context *a, const gr_conf *use) {
  const gr_loc *l = &use->items[0]->key_loc;
  return &a->uses->known[gr_hash_mixed((uint64_t)l->line << 16 ^ (uint64_t)l->col) % SLOTS];
}

// Emitting looks at the types of operands, and at what made them.
static bool same_value(const gr_graph *g, gr_val v, gr_val w) {
  const gr_value *x = gr_at(g, v), *y = gr_at(g, w);
  if (x->role != y->role || !gr_type_same(&x->type, &y->type)) return false;
  return x->role != GR_TEMP || g->nodes[x->node].op == g->nodes[y->node].op;
}

static bool same_operand(const gr_graph *g, const gr_binding *x, const gr_binding *y) {
  if (x->absent != y->absent || x->number != y->number || x->n != y->n || x->by != y->by)
    return false;
  for (int i = 0; i < x->n; i++)
    if (!same_value(g, x->v[i], y->v[i])) return false;
  return true;
}

static bool same_arg(const gr_arg *x, const gr_arg *y) {
  if (x->kind != y->kind || x->operand != y->operand) return false;
  switch (x->kind) {
    case GR_ARG_FLOAT:
      return !memcmp(&x->f, &y->f, sizeof x->f);
    case GR_ARG_TEXT:
      return !strcmp(x->text, y->text);
    default:
      return x->i == y->i;
  }
}

// The tensors of the operands, one after the other; returns how many.
static int list_operands(const gr_binding *given, int n, gr_val *out) {
  int count = 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; !given[i].absent && k < given[i].n; k++) out[count++] = given[i].v[k];
  return count;
}

enum { MAX_OPERANDS = GR_MAX_ARGS * GR_MODEL_RESULTS };

// Whether operands that are one value in one use are one value in the other.
static bool same_aliases(const gr_block_use *u, const gr_binding *given) {
  gr_val x[MAX_OPERANDS], y[MAX_OPERANDS];
  int n = list_operands(u->given, u->n, x);
  list_operands(given, u->n, y);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++)
      if ((x[i].id == x[k].id) != (y[i].id == y[k].id)) return false;
  return true;
}

static bool may_be_noted(const gr_build_context *a, const gr_binding *given, int n) {
  bool plain =
      !a->depth && !a->share && !a->weights && *a->path && !a->unnamed && !a->request->n_adapters;
  for (int i = 0; i < n; i++) plain &= !given[i].broken && !given[i].param;
  return plain && a->uses;
}

// A path of the noted use, below that of the further one.
static const char *move_path(gr_build_context *a, const gr_block_use *u, const char *path) {
  size_t n = strlen(u->path);
  if (!path) return NULL;
  assert(!strncmp(path, u->path, n) && (!path[n] || path[n] == '.'));
  return gr_model_join(a, a->path, path + n + (path[n] == '.'));
}

// Sets the paths of the weights of a further use. false: there is a weight of such a path, and the
// error, with all the blocks that it is in, is found by building.
static bool move_params(gr_build_context *a, const gr_block_use *u) {
  for (uint32_t i = u->params.first; i < u->params.end; i++) {
    GR_GROW(a->scratch, a->uses->path, i - u->params.first, a->uses->cap_path);
    const char *path = move_path(a, u, a->params[i].path);
    if (gr_map_find(&a->by_path, path, NULL)) return false;
    a->uses->path[i - u->params.first] = path;
  }
  return true;
}

const gr_block_use *gr_model_known_use(gr_build_context *a, const gr_block *block,
                                       const gr_conf *use, const gr_binding *given, int n) {
  if (!may_be_noted(a, given, n)) return NULL;
  const gr_block_use *u = *slot_of(a, use);
  const gr_frame *f = a->frame;
  const gr_graph *g = a->root.g;
  if (!u || u->conf != use || u->block != block || u->n != n || u->n_args != f->args.n ||
      u->loc.file != a->root.loc.file || u->loc.line != a->root.loc.line ||
      u->loc.col != a->root.loc.col)
    return NULL;
  for (int i = 0; i < n; i++)
    if (!same_operand(g, &u->given[i], &given[i])) return NULL;
  for (uint32_t i = 0; i < u->n_args; i++)
    if (!same_arg(&u->arg[i], &f->arg[i])) return NULL;
  return same_aliases(u, given) && move_params(a, u) ? u : NULL;
}

// ---- Noting a use -----------------------------------------------------------------------

static uint32_t scopes_so_far(const gr_build_context *a) {
  return a->request->scopes ? a->request->scopes->n : 0;
}

gr_block_use *gr_model_open_use(gr_build_context *a, const gr_block *block, const gr_conf *use,
                                const gr_binding *given, int n) {
  const gr_frame *f = a->frame;
  if (!may_be_noted(a, given, n)) return NULL;
  gr_block_use *u = GR_NEW(a->scratch, gr_block_use, 1);
  *u = (gr_block_use){.conf = use,
                      .block = block,
                      .loc = a->root.loc,
                      .path = a->path,
                      .n = n,
                      .arg = GR_NEW(a->scratch, gr_arg, f->args.n),
                      .n_args = f->args.n,
                      .calls = {a->uses->log.n, 0},
                      .params = {a->by_path.n, 0},
                      .scopes = {scopes_so_far(a), 0},
                      .nodes = a->nodes,
                      .set = a->uses->set};
  u->given = GR_NEW(a->scratch, gr_binding, n);
  if (n) memcpy(u->given, given, sizeof *given * (size_t)n);
  if (u->n_args) memcpy(u->arg, f->arg, sizeof *u->arg * u->n_args);
  return u;
}

static void grow_image(gr_build_context *a) {
  gr_block_uses *u = a->uses;
  uint32_t n = a->root.g->n_values;
  if (n <= u->cap) return;
  uint32_t *more = GR_NEW(a->scratch, uint32_t, u->cap = 2 * n);
  u->image = more;  // nothing in it is of use for another call
}

static void set_image(gr_build_context *a, gr_val v, gr_val to) { a->uses->image[v.id] = to.id; }

// What each use sees from outside, or creates for itself: as images of themselves.
static void mark_leaves(gr_build_context *a, const gr_block_use *u) {
  gr_val v[MAX_OPERANDS];
  int n = list_operands(u->given, u->n, v);
  for (int i = 0; i < n; i++) set_image(a, v[i], v[i]);
  for (uint32_t i = u->params.first; i < u->params.end; i++)
    set_image(a, a->params[i].v, a->params[i].v);
  if (gr_is(a->step)) set_image(a, a->step, a->step);
}

static void clear_images(gr_build_context *a, const gr_block_use *u) {
  const gr_graph *g = a->root.g;
  for (uint32_t i = u->calls.first; i < u->calls.end; i++) {
    const gr_node *n = &g->nodes[a->uses->log.call[i].node];
    for (int k = 0; k < n->n_in; k++) set_image(a, n->in[k], GR_NONE);
    for (int k = 0; k < n->n_out; k++) set_image(a, gr_out(n, k), GR_NONE);
  }
  for (int k = 0; k < u->out.n; k++) set_image(a, u->out.v[k], GR_NONE);
}

// Whether it is the stream that the path of a node alone gives.
static bool has_plain_stream(gr_build_context *a, const gr_attr *f, const void *attr,
                             const char *scope) {
  uint64_t stream;
  memcpy(&stream, (const char *)attr + f->offset, sizeof stream);
  return f->default_value && stream == gr_hash_text(gr_model_stream_name(a, f, scope ? scope : ""));
}

static bool has_plain_streams(gr_build_context *a, const gr_op *op, const void *attr,
                              const char *scope) {
  for (const gr_attr *f = op->attrs; f && f->name; f++) {
    if (f->kind == GR_ATTR_STREAM && !has_plain_stream(a, f, attr, scope)) return false;
    if (f->kind != GR_ATTR_GRAPH) continue;
    const gr_graph *body = gr_attr_graph(attr, f);
    for (uint32_t i = 0; i < body->n_nodes; i++)
      if (!has_plain_streams(a, body->nodes[i].op, body->nodes[i].attr, body->nodes[i].scope))
        return false;
  }
  return true;
}

// Whether the calls of a use read nothing else than what a further use has an image of.
static bool is_closed(gr_build_context *a, const gr_block_use *u) {
  const gr_graph *g = a->root.g;
  const uint32_t *image = a->uses->image;
  clear_images(a, u);
  mark_leaves(a, u);
  for (uint32_t i = u->calls.first; i < u->calls.end; i++) {
    const gr_emit_call *c = &a->uses->log.call[i];
    const gr_node *n = &g->nodes[c->node];
    for (int k = 0; k < n->n_in; k++)
      if (image[n->in[k].id] == NONE) return false;
    for (int k = 0; k < n->n_out; k++) set_image(a, gr_out(n, k), gr_out(n, k));
    if (!has_plain_streams(a, n->op, n->attr, c->scope)) return false;
  }
  for (int k = 0; k < u->out.n; k++)
    if (image[u->out.v[k].id] == NONE) return false;
  return !u->out.param && !u->out.depth && !u->out.number && !u->out.absent;
}

void gr_model_close_use(gr_build_context *a, gr_block_use *u, const gr_binding *out) {
  if (!u || u->set != a->uses->set) return;
  u->calls.end = a->uses->log.n, u->params.end = a->by_path.n;
  u->scopes.end = scopes_so_far(a);
  u->nodes = a->nodes - u->nodes;
  u->out = *out;
  grow_image(a);
  if (is_closed(a, u)) *slot_of(a, u->conf) = u;
}

// ---- A further use ----------------------------------------------------------------------

static const void *move_attr(gr_build_context *a, const gr_block_use *u, const gr_op *op,
                             const void *attr, const char *scope);

static void move_body(gr_build_context *a, const gr_block_use *u, gr_graph *body) {
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    gr_node *n = &body->nodes[i];
    n->scope = move_path(a, u, n->scope);
    n->attr = move_attr(a, u, n->op, n->attr, n->scope);
    n->attr_hash = gr_attr_hash(n->op, n->attr);
  }
}

// The attributes of a node whose path is `scope` now: random streams and bodies are its own.
static const void *move_attr(gr_build_context *a, const gr_block_use *u, const gr_op *op,
                             const void *attr, const char *scope) {
  char *copy = NULL;
  for (const gr_attr *f = op->attrs; f && f->name; f++) {
    if (f->kind != GR_ATTR_STREAM && f->kind != GR_ATTR_GRAPH) continue;
    if (!copy) copy = memcpy(gr_arena_take(a->arena, op->attr_size), attr, op->attr_size);
    if (f->kind == GR_ATTR_STREAM) {
      uint64_t stream = gr_model_stream(a, f, scope ? scope : "");
      memcpy(copy + f->offset, &stream, sizeof stream);
    } else {
      gr_graph *body = gr_graph_copy(a->arena, gr_attr_graph(attr, f));
      move_body(a, u, body);
      memcpy(copy + f->offset, &body, sizeof(const gr_graph *));
    }
  }
  return copy ? copy : attr;
}

static void emit_again(gr_build_context *a, const gr_block_use *u, const gr_emit_call *c,
                       const char *scope) {
  gr_builder *b = &a->root;
  const gr_node n = b->g->nodes[c->node];  // the table may move
  gr_val in[GR_MAX_ARGS];
  for (int k = 0; k < n.n_in; k++) in[k] = (gr_val){a->uses->image[n.in[k].id]};
  b->loc = c->loc, b->scope = scope;
  const void *attr = move_attr(a, u, n.op, n.attr, scope);
  gr_val out = attr == n.attr ? gr_emit_same(b, b->g, &n, in) : gr_emit(b, n.op, attr, n.n_in, in);
  for (int k = 0; gr_is(out) && k < n.n_out; k++)
    set_image(a, gr_out(&n, k), (gr_val){out.id + (uint32_t)k});
}

// Creates weights, from the *next-th on, that the noted use created before the value `end`.
static gr_status add_params(gr_build_context *a, const gr_block_use *u, uint32_t *next,
                            uint32_t end) {
  for (; *next < u->params.end && a->params[*next].v.id < end; ++*next) {
    gr_model_param p = a->params[*next];
    gr_val before = p.v;
    gr_binding made;
    p.path = a->uses->path[*next - u->params.first];
    GR_TRY(gr_model_add_param(a, &p, &made));
    set_image(a, before, p.v);
  }
  return GR_OK;
}

static gr_status emit_calls(gr_build_context *a, const gr_block_use *u) {
  gr_builder *b = &a->root;
  const gr_loc loc = b->loc;
  const char *scope = b->scope, *last = NULL, *moved = NULL;
  uint32_t param = u->params.first;
  for (uint32_t i = u->calls.first; i < u->calls.end && !b->err; i++) {
    const gr_emit_call c = a->uses->log.call[i];
    GR_TRY(add_params(a, u, &param, b->g->nodes[c.node].out.id));
    if (c.scope != last) moved = move_path(a, u, last = c.scope);
    emit_again(a, u, &c, moved);
  }
  GR_TRY(add_params(a, u, &param, UINT32_MAX));
  b->loc = loc, b->scope = scope;
  return gr_model_take_error(a);
}

static void add_scopes(gr_build_context *a, const gr_block_use *u) {
  const char *path = a->path;
  for (uint32_t i = u->scopes.first; i < u->scopes.end; i++) {
    const gr_scope s = a->request->scopes->items[i];
    a->path = move_path(a, u, s.path);
    gr_model_scope(a, s.block);
    a->path = path;
  }
}

gr_status gr_model_use_again(gr_build_context *a, const gr_block_use *u, const gr_binding *given,
                             gr_binding *out) {
  gr_val x[MAX_OPERANDS], y[MAX_OPERANDS];
  int n = list_operands(u->given, u->n, x);
  list_operands(given, u->n, y);
  grow_image(a);
  for (int i = 0; i < n; i++) set_image(a, x[i], y[i]);
  if (gr_is(a->step)) set_image(a, a->step, a->step);
  a->nodes += u->nodes;
  if (a->request->built_again) ++*a->request->built_again;
  add_scopes(a, u);
  GR_TRY(emit_calls(a, u));
  *out = u->out;
  for (int i = 0; i < out->n; i++) out->v[i] = (gr_val){a->uses->image[u->out.v[i].id]};
  return GR_OK;
}
