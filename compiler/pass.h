// pass.h - how passes look, and the order they run in (pipeline.c).
//
// A pass never changes its input. It walks the old graph front to back and emits
// the new one; map[] takes old values to new. What nothing needs any more is left
// behind by the copy, so a pass that replaces a node need not delete the old one.
#pragma once
#include "compiler/plan/plan.h"
#include "ops/ops.h"

// A pinned layout: weights whose name matches (shell pattern) lie so on one mesh axis. A dimension
// that the ranks do not divide is an error where the user gave the rule, and stays whole where a
// strategy did; GR_ANY_DIM is the one that leaves a rank the least, padded if need be.
enum { GR_ANY_DIM = -3 };
typedef struct gr_layout_rule {
  const char *pattern, *axis;
  gr_axis_placement placement;
  bool given;  // by the user: it must be possible, and the strategy's give way
  gr_loc loc;  // where, if so
} gr_layout_rule;

// A pattern (shell) of what FSDP takes as a unit: a block's name, the path of a part of the model,
// or a weight's name.
typedef struct gr_wrap {
  const char *pattern;
  gr_loc loc;
} gr_wrap;

// When the weights of the next unit of the backward pass are gathered: at its first use; before
// the gradients of the unit at hand are computed; or after that, before they are scattered.
typedef enum gr_prefetch { GR_PREFETCH_NONE, GR_PREFETCH_PRE, GR_PREFETCH_POST } gr_prefetch;

// Which part of a training step a program is. A step in several micro-steps is two programs.
typedef enum gr_step_phase {
  GR_PHASE_WHOLE_STEP,
  GR_PHASE_MICRO_BATCH,
  GR_PHASE_UPDATE
} gr_step_phase;

typedef struct gr_options {
  const char *optimizer;       // an op of ops.def that is one: "sgd", "adam"
  const void *optimizer_attr;  // its attributes; NULL: their defaults
  double clip;                  // largest global norm of the gradient; 0: no clipping
  const char *zero_axis;        // mesh axis the optimizer's states are split over, or NULL
  int micro_batches;            // micro-steps of a step; up to 1: the step is one program
  gr_step_phase step_phase;     // if there are several
  bool scatter;                 // then gradients lie as moments do between micro-steps
  const gr_layout_rule *rules;  // of weights: FSDP and tensor parallel are rules
  int n_rules;
  const gr_wrap *wrap;  // n_wrap patterns of what is a unit; NULL: the iterations of repeat:
  int n_wrap;
  size_t
      replicate_below;  // bytes: smaller weights are not split, but for rules that name a dimension
  const gr_map *units;  // paths of blocks whose weights move together; NULL: none
  gr_prefetch prefetch;
  const char *const *freeze;  // patterns of weights that are not trained
  int n_freeze;
  size_t coalesce_bytes;          // bytes up to which collectives are joined; 0: as is usual
  const char *dump, *stop_after;  // a pass's name, or NULL; "all" dumps each
  const char *const *without;     // passes to leave out, for tests
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

// What is true of a graph. A pass needs some facts and makes others true or false;
// the pipeline checks the order, gr_graph_verify checks the facts.
enum {
  GR_FACT_GRADS = 1 << 0,         // weights have grad
  GR_FACT_FINITE_CHECK = 1 << 1,  // there is a guard: what gradients are multiplied by, or zero
  GR_FACT_UPDATES = 1 << 2,       // weights have next
  GR_FACT_LOCAL = 1 << 3,  // types are per rank, layouts are set, no P reaches a state that lasts
};

typedef struct gr_pass {
  const char *name, *doc;
  unsigned needs, forbids, gives;
  bool train_only;   // eval and init programs do without it
  bool phases_only;  // and so does a training step that is one program
  gr_pass_fn run;
} gr_pass;
extern const gr_pass gr_pipeline[];  // ends with an empty pass

typedef enum gr_purpose { GR_TRAIN, GR_EVAL, GR_INIT } gr_purpose;
// Runs the passes on the model's graph; *out shares nothing with it.
GR_MUST_USE gr_status gr_compile(gr_arena *, const gr_graph *model, gr_purpose, const gr_options *,
                                 gr_graph **out);
// One pass alone, by name, for tests: `old` must be as its needs say.
GR_MUST_USE gr_status gr_pass_run(gr_arena *, const char *name, const gr_graph *old,
                                  const gr_options *, gr_graph **out);
GR_MUST_USE gr_status gr_graph_verify(const gr_graph *, unsigned facts);

// ---- For passes ---------------------------------------------------------------
void gr_copy_nodes(gr_rewrite *);   // all of them, as they are
void gr_copy_leaves(gr_rewrite *);  // inputs and states, types and layouts unchanged
gr_val gr_copy_leaf(gr_rewrite *, uint32_t id, const gr_type *, gr_layout);
gr_val gr_copy_node(gr_rewrite *, const gr_node *);  // the node, on mapped inputs; maps its outputs
void gr_copy_links(gr_rewrite *);  // loss, norm, results, grads and nexts, through map

// How weight w lies, by the rules.
gr_layout gr_weight_layout(const gr_mesh *, const gr_value *w, const gr_options *);
// How the gradient and the optimizer's states of weight w lie: as w does, and split over
// options.zero_axis.
gr_layout gr_update_layout(const gr_mesh *, const gr_value *w, const gr_options *);
// Does a weight's name match one of the patterns?
bool gr_name_matches(const char *name, const char *const *patterns, int n);

// ---- For the shard pass and its tests -------------------------------------------
gr_val gr_relayout(gr_builder *, gr_val, gr_layout to);  // by collectives
