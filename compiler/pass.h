// pass.h - the interface of passes. pipeline.c has their order, options.h what they read.
//
// A pass never changes its input. It walks the old graph front to back and emits the new one;
// map[] maps old values to new ones. A pass that replaces a node need not delete the old one: dce
// drops what is unused. Most passes first decide, in walks that only read the old graph and write
// arrays indexed by its ids, and then emit in one more walk. Such arrays are in `tables` of the new
// graph, which end with it; names, attributes and bodies are in its `arena`.
//
// After every pass the graph must hold (verify.c, gr_compile): a pass may assume the invariants of
// ir/graph.h and the facts that it needs, and may not leave anything to be repaired later.
#pragma once
#include "compiler/options.h"
#include "compiler/plan/calls.h"
#include "compiler/plan/plan.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

typedef struct gr_rewrite {
  const gr_graph *old;
  gr_builder b;
  gr_val *map;  // by old value id
  const gr_options *opt;
  bool kept;  // the new graph is the old one: gr_keep
} gr_rewrite;

typedef gr_status (*gr_pass_fn)(gr_rewrite *);

// Facts about a graph. A pass needs some and establishes others; the pipeline checks the order of
// passes by them, and gr_graph_verify checks that they hold.
enum {
  GR_FACT_GRADS = 1 << 0,         // weights have grad
  GR_FACT_FINITE_CHECK = 1 << 1,  // a finite_check node scales gradients, by 0 to skip the step
  GR_FACT_UPDATES = 1 << 2,       // weights have next
  GR_FACT_LOCAL = 1 << 3,         // types are per rank, layouts are set, and no state that outlives
                                  // the step is Partial
};

typedef struct gr_pass {
  const char *name, *doc;
  unsigned needs, forbids, gives;
  bool train_only;      // skipped for eval and init programs
  bool offload_only;    // runs only where weights are in host memory
  bool phases_only;     // runs only for the two programs of a step with micro-batches
  bool cpu_only;        // plans for GPUs do without it
  bool gpu_only;        // and plans for CPUs without this
  bool ema_only;        // runs only for programs that use averages of weights
  bool recompute_only;  // runs only where training.recompute names parts of the model
  bool virtual_only;    // runs only with training.numerics=canonical
  gr_pass_fn run;
} gr_pass;
extern const gr_pass gr_pipeline[];  // ends with an empty pass

typedef enum gr_purpose {
  GR_TRAIN,
  GR_EVAL,
  GR_INIT,
  GR_REPORT,
  GR_BEGIN_EMA  // sets averages of weights to the weights
} gr_purpose;
// Runs the passes on the model's graph and verifies the result, and the graph after each pass in
// builds with assertions; *out is in the arena and shares nothing with the model's graph. Errors of
// passes are the user's (their YAML line) or GR_ERR_BUG with the pass at fault: where the result
// does not hold, the passes run again with the graph after each verified.
GR_MUST_USE gr_status gr_compile(gr_arena *, const gr_graph *model, gr_purpose, const gr_options *,
                                 gr_graph **out);
// Runs one pass by name, for tests; `old` must have the facts that it needs.
GR_MUST_USE gr_status gr_pass_run(gr_arena *, const char *name, const gr_graph *old,
                                  const gr_options *, gr_graph **out);
// Whether anything that a graph computes depends on a batch of the data (dce.c).
bool gr_reads_batch(const gr_graph *);
// Checks the invariants of every graph and those of the facts: GR_ERR_BUG, or of leaves the user's
// errors.
GR_MUST_USE gr_status gr_graph_verify(const gr_graph *, unsigned facts);
// Of that the part that a model may break, and not passes alone: next values, and names.
GR_MUST_USE gr_status gr_graph_verify_leaves(const gr_graph *, unsigned facts);

// ---- For passes ---------------------------------------------------------------
// These copy parts of the old graph to the new one and set map[]. A pass copies leaves first, then
// nodes, and links last, since a link may refer to any value.
void gr_copy_leaves(gr_rewrite *);  // all inputs and states
// Allocates room for the old graph's values and nodes, an eighth more, and so many besides. A pass
// that adds many calls it first.
void gr_reserve(gr_rewrite *, uint32_t values, uint32_t nodes);
gr_val gr_copy_leaf(gr_rewrite *, uint32_t id, const gr_type *, gr_layout);  // one, with a new type
void gr_copy_nodes(gr_rewrite *);                                            // all nodes
gr_val gr_copy_node(gr_rewrite *, const gr_node *);  // one, on its mapped inputs
// gr_emit_copy, and results have the layouts of the node's.
gr_val gr_emit_placed(gr_builder *, const gr_graph *of, const gr_node *, gr_val *map);
void gr_copy_links(gr_rewrite *);  // loss, denominator, results, and grad and next of leaves
// Instead of all of these: nothing changes, so the new graph is the old one, at no cost.
gr_status gr_keep(gr_rewrite *);
// Emits the nodes of a scan's body, and sets map[] for the values of the old body and the layouts
// of the new ones.
typedef void (*gr_write_body)(gr_loop *, const gr_scan *, const gr_val *operands, gr_val *map);
// Emits a scan again, on mapped operands, with a body whose nodes `write` emits. Layouts of the
// scan's results are kept.
void gr_rewrite_loop(gr_rewrite *, const gr_node *scan, gr_write_body write);
// The same of a scan of another graph `of` that is emitted by a builder, such as a body's; map:
// from values of that graph to those of the builder's.
void gr_emit_loop(gr_builder *, const gr_graph *of, const gr_node *scan, gr_write_body write,
                  gr_val *map);
// Sets map[] for the results of an old scan whose body a closed loop has written again, yield for
// yield, with their layouts; body_map is by value of the old body.
void gr_map_loop(const gr_loop *, const gr_graph *old, const gr_node *scan, const gr_val *body_map,
                 gr_val *map);

// The layout of weight w, by the rules.
gr_layout gr_weight_layout(const gr_mesh *, const gr_value *w, const gr_options *);
// The layout of the gradient and the optimizer states of weight w: that of w, further sharded over
// options.sharding.zero_axis.
gr_layout gr_update_layout(const gr_mesh *, const gr_value *w, const gr_options *);
// How a weight is updated: as its group says, or as the options say.
typedef struct gr_update_rule {
  const gr_op *op;   // NULL: there is no optimizer of that name
  const void *attr;  // NULL: the op's defaults
  double lr;         // factor on the learning rate
  int clip_group;    // the group whose gradients are clipped together, or -1: those of the others
} gr_update_rule;
// The rule for a weight of that rank (number of dimensions): fewer than 2 take the attributes for
// biases and scales, where the optimizer has such.
gr_update_rule gr_update_rule_of(const gr_optimizer_settings *, const char *weight, int rank);
// The group that a weight belongs to, or -1.
int gr_param_group_of(const gr_optimizer_settings *, const char *weight);
// The name of the result with the norm of a clip group's gradients, which exists if there are
// several such groups: the factor for its gradients is the first result of the node that makes it.
const char *gr_clip_result(gr_arena *, const gr_optimizer_settings *, int clip_group);

// Whether a state is a weight that the program trains, if its loss depends on it.
bool gr_is_trained(const gr_options *, const gr_value *);

// The first pattern of training.freezable that matches a weight's name, or -1.
int gr_freezable_of(const gr_optimizer_settings *, const char *weight);
// Whether a weight is frozen in the program: its first pattern's bit is set in
// options.program.frozen.
bool gr_is_frozen(const gr_options *, const char *weight);

// The name of the input for a value that may change (adjust.h), of a group (an index of
// groups, or -1).
const char *gr_adjust_input_name(gr_arena *, const gr_optimizer_settings *, const char *key,
                                 int group);

// 1 + the index of the shortest path in `paths` that is `name` or a part of the model around it;
// 0: none is, or `name` or `paths` is NULL. Paths and names have dots: "layers.3.attention".
uint32_t gr_part_of(gr_arena *, const gr_map *paths, const char *name);

// Whether a weight's name matches one of n shell patterns.
bool gr_name_matches(const char *name, const char *const *patterns, int n);

// ---- For the shard pass and its tests -------------------------------------------
// Emits the collectives and slices that convert a value to layout `to`; returns the result.
gr_val gr_relayout(gr_builder *, gr_val, gr_layout to);
