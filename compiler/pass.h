// pass.h - the interface of passes, and the options of the compiler. pipeline.c has their order.
//
// A pass never changes its input. It walks the old graph front to back and emits the new one;
// map[] maps old values to new ones. A pass that replaces a node need not delete the old one: dce
// drops what is unused. Most passes first decide, in walks that only read the old graph and write
// arrays indexed by its ids, and then emit in one more walk.
//
// After every pass the pipeline verifies the graph (verify.c), so a pass may assume the invariants
// of ir/graph.h and the facts that it needs, and may not leave anything to be repaired later.
#pragma once
#include "compiler/plan/plan.h"
#include "ops/loop/scan.h"
#include "ops/ops.h"

// A layout rule: the placement, on one mesh axis, of weights whose name matches a shell pattern. A
// dimension that the ranks do not divide is an error if the user gave the rule, and is replicated
// if a strategy did. GR_ANY_DIM chooses the dimension that leaves a rank the fewest bytes, padded
// if necessary.
enum { GR_ANY_DIM = -3 };
typedef struct gr_layout_rule {
  const char *pattern, *axis;
  gr_axis_placement placement;
  bool given;  // by the user: must be possible, and overrides the strategy's rules
  gr_loc loc;  // of a given rule
} gr_layout_rule;

// A shell pattern of FSDP units (a wrapping policy): it matches a block's name, the path of a part
// of the model, or a weight's name.
typedef struct gr_wrap {
  const char *pattern;
  gr_loc loc;
} gr_wrap;

// A rule of mixed precision: the dtype in which a node computes whose place in the model, place and
// op, or weight matches a shell pattern. The last rule that matches overrides the op's class.
typedef struct gr_precision_rule {
  const char *pattern;
  gr_dtype dtype;
  gr_loc loc;
} gr_precision_rule;
enum { GR_MAX_PRECISION_RULES = 64 };

// A group of weights with an update of its own: those whose name matches a shell pattern, and that
// of no earlier group.
typedef struct gr_param_group {
  const char *pattern;
  const char *optimizer;  // the name of its op
  const void *attr;       // the op's attributes; NULL: their defaults
  const void *attr_1d;    // those for weights of at most one dimension; NULL: the same
  double lr;              // factor on the learning rate
  double clip;  // largest norm of the group's gradients, 0: any; < 0: clipped with the others
  gr_loc loc;
} gr_param_group;

// When the backward pass gathers the weights of the next unit (FSDP's backward_prefetch): at their
// first use; before the gradients of the current unit are computed; or after that, before these
// are reduce-scattered.
typedef enum gr_prefetch { GR_PREFETCH_NONE, GR_PREFETCH_PRE, GR_PREFETCH_POST } gr_prefetch;

// Which part of a training step a program is. With several micro-batches a step is two programs.
typedef enum gr_step_phase {
  GR_PHASE_WHOLE_STEP,
  GR_PHASE_MICRO_BATCH,
  GR_PHASE_UPDATE
} gr_step_phase;

// What a program does with the averages of weights (training.ema_decay).
typedef enum gr_ema_use {
  GR_EMA_NONE,
  GR_EMA_UPDATE,  // lets them follow the weights that it trains
  GR_EMA_READ,    // reads them in place of these weights
  GR_EMA_BEGIN    // sets them to these weights
} gr_ema_use;

typedef struct gr_options {
  const char *optimizer;          // the name of an optimizer's op: "sgd", "adam"
  const void *optimizer_attr;     // its attributes; NULL: their defaults
  const void *optimizer_attr_1d;  // for weights of at most one dimension; NULL: the same
  const gr_param_group *groups;   // n_groups; the other weights are updated as said above
  int n_groups;
  double clip;      // largest global norm of the gradient; 0: no clipping
  bool adjustable;  // hyper-parameters are inputs of the update (adjust.h)
  bool has_ema;     // trained weights have an average, which decays by ema_decay
  double ema_decay;
  gr_ema_use ema;               // of this program; its `trained` says of which weights
  const char *zero_axis;        // mesh axis the optimizer's states are split over, or NULL
  int micro_batches;            // of a step; 0 or 1: the step is one program
  gr_step_phase step_phase;     // which of the two programs this is, if there are several
  bool gpu;                     // the plan is for GPUs (gr_plan.gpu)
  bool tf32;                    // gr_plan.tf32
  size_t reserved;              // gr_plan.reserved_bytes
  bool scatter;                 // reduce-scatter gradients in every micro-step, to the layout of
                                // the moments: less memory, more communication
  const gr_layout_rule *rules;  // for weights: FSDP and tensor parallelism are rules
  int n_rules;
  const gr_wrap *wrap;  // n_wrap patterns of FSDP units; NULL: the iterations of repeat:
  int n_wrap;
  size_t replicate_below;  // bytes; smaller weights are sharded only by rules with a dimension
  const gr_map *units;     // paths of FSDP units; NULL: there are none
  gr_prefetch prefetch;
  const char *const *freeze;  // patterns of weights that are not trained
  int n_freeze;
  const char *const *freezable;  // n_freezable patterns of weights that hooks freeze and unfreeze
  int n_freezable;
  unsigned frozen;             // of this program: bit i says that freezable[i] is frozen
  const char *const *trained;  // n_trained patterns of those that the program trains; none: all
  int n_trained;
  const char *step;       // the name of the counter of the program's updates; NULL: "step"
  gr_dtype precision;     // of products: GR_F32, GR_BF16 or GR_F16
  gr_dtype reduce_dtype;  // in which ranks send the terms of gradients; they are added in f32
  const gr_precision_rule *precision_rules;
  int n_precision_rules;
  const gr_loss_scale *loss_scale;  // of f16; NULL: the loss is not scaled
  size_t coalesce_bytes;            // limit of a coalesced collective; 0: the pass's default
  const char *dump, *stop_after;    // a pass's name, or NULL; "all" dumps each
  const char *const *without;       // passes to leave out, for tests
  int n_without;
  FILE *dump_to;
  gr_notes *notes;  // filled by gr_compile; or NULL
} gr_options;

typedef struct gr_rewrite {
  const gr_graph *old;
  gr_builder b;
  gr_val *map;  // by old value id
  const gr_options *opt;
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
  bool train_only;   // skipped for eval and init programs
  bool phases_only;  // runs only for the two programs of a step with micro-batches
  bool cpu_only;     // plans for GPUs do without it
  bool gpu_only;     // and plans for CPUs without this
  bool ema_only;     // runs only for programs that use averages of weights
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
// Runs the passes on the model's graph and verifies after each; *out is in the arena and shares
// nothing with the model's graph. Errors of passes are the user's (their YAML line) or GR_ERR_BUG.
GR_MUST_USE gr_status gr_compile(gr_arena *, const gr_graph *model, gr_purpose, const gr_options *,
                                 gr_graph **out);
// Runs one pass by name, for tests; `old` must have the facts that it needs.
GR_MUST_USE gr_status gr_pass_run(gr_arena *, const char *name, const gr_graph *old,
                                  const gr_options *, gr_graph **out);
// Whether anything that a graph computes depends on a batch of the data (dce.c).
bool gr_reads_batch(const gr_graph *);
// Checks the invariants of every graph and those of the facts; GR_ERR_BUG, with the pass at fault.
GR_MUST_USE gr_status gr_graph_verify(const gr_graph *, unsigned facts);

// ---- For passes ---------------------------------------------------------------
// These copy parts of the old graph to the new one and set map[]. A pass copies leaves first, then
// nodes, and links last, since a link may refer to any value.
void gr_copy_leaves(gr_rewrite *);  // all inputs and states
gr_val gr_copy_leaf(gr_rewrite *, uint32_t id, const gr_type *, gr_layout);  // one, with a new type
void gr_copy_nodes(gr_rewrite *);                                            // all nodes
gr_val gr_copy_node(gr_rewrite *, const gr_node *);  // one, on its mapped inputs
void gr_copy_links(gr_rewrite *);  // loss, denominator, results, and grad and next of leaves
// Emits a scan again, on mapped operands, with a body whose nodes `write` emits: it sets map[] for
// the values of the old body. Layouts of the scan's results are kept; `write` sets those of the
// body.
typedef void (*gr_write_body)(gr_loop *, const gr_scan *, const gr_val *operands, gr_val *map);
void gr_rewrite_loop(gr_rewrite *, const gr_node *scan, gr_write_body write);
// Sets map[] for the results of an old scan whose body a closed loop has written again, yield for
// yield, with their layouts; body_map is by value of the old body.
void gr_map_loop(const gr_loop *, const gr_graph *old, const gr_node *scan, const gr_val *body_map,
                 gr_val *map);

// The layout of weight w, by the rules.
gr_layout gr_weight_layout(const gr_mesh *, const gr_value *w, const gr_options *);
// The layout of the gradient and the optimizer states of weight w: that of w, further sharded over
// options.zero_axis.
gr_layout gr_update_layout(const gr_mesh *, const gr_value *w, const gr_options *);
// How a weight is updated: as its group says, or as the options say.
typedef struct gr_update_rule {
  const gr_op *op;   // NULL: there is no optimizer of that name
  const void *attr;  // NULL: the op's defaults
  double lr;         // factor on the learning rate
  int clip_group;    // the group whose gradients are clipped together, or -1: those of the others
} gr_update_rule;
gr_update_rule gr_update_rule_of(const gr_options *, const char *weight, int rank);
// The group that a weight belongs to, or -1.
int gr_param_group_of(const gr_options *, const char *weight);
// The name of the result with the norm of a clip group's gradients, which exists if there are
// several such groups: the factor for its gradients is the first result of the node that makes it.
const char *gr_clip_result(gr_arena *, const gr_options *, int clip_group);

// Whether a state is a weight that the program trains, if its loss depends on it.
bool gr_is_trained(const gr_options *, const gr_value *);

// The first pattern of options.freezable that matches a weight's name, or -1; and whether it is
// frozen in the program.
int gr_freezable_of(const gr_options *, const char *weight);
bool gr_is_frozen(const gr_options *, const char *weight);

// The name of the input for a value that may change (adjust.h), of a group (an index of
// options.groups, or -1).
const char *gr_adjust_input_name(gr_arena *, const gr_options *, const char *key, int group);

// Whether a weight's name matches one of n shell patterns.
bool gr_name_matches(const char *name, const char *const *patterns, int n);

// ---- For the shard pass and its tests -------------------------------------------
// Emits the collectives and slices that convert a value to layout `to`; returns the result.
gr_val gr_relayout(gr_builder *, gr_val, gr_layout to);
