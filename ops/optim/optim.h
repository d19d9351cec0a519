// optim.h - what an optimizer is: an op that describes its states (gr_op.optimizer), which
// docs/add-an-optimizer.md shows. From the description come the states of every weight, their
// shapes, layouts and first values, the nodes that the optimize pass emits, and the names that
// training.optimizer and training.optimizer_params accept.
//
// The operands of an optimizer's op are called, in its formula,
//
//   w, g         a weight and its gradient, which is multiplied by `scale` before it is used
//   lr, step     the learning rate, and how many steps were taken before this one (i32)
//   scale, ok    of the gradient; where ok is 0, weight and states keep their values
//   others       its states, by their names
//
// and its results are the next values of w and of the states, in the order of `states`. lr, step,
// scale and ok are scalars: what may change during a run is an operand, never an attribute. The
// attributes that have a default are the hyper-parameters.
#pragma once
#include "ir/op.h"

// The shape of a state, given that of its weight.
typedef enum gr_optim_shape {
  GR_OPTIM_SAME,     // as the weight
  GR_OPTIM_ROWS,     // without the last dimension: one number per row
  GR_OPTIM_COLUMNS,  // without the second to last dimension: one number per column
  GR_OPTIM_SCALAR,
} gr_optim_shape;

// The weights that have a state.
typedef enum gr_optim_weights {
  GR_OPTIM_ALL,
  GR_OPTIM_VECTORS,   // of at most one dimension
  GR_OPTIM_MATRICES,  // of at least two
} gr_optim_weights;

typedef struct gr_optim_state {
  const char *name, *doc;  // "m": the state of weight "body.bias" is called "body.bias.m"
  gr_optim_shape shape;
  gr_optim_weights of;
  const char *when;     // a hyper-parameter: where it is 0 there is no such state; NULL: always
  const char *initial;  // the hyper-parameter that all its numbers start as; NULL: 0
} gr_optim_state;

enum { GR_MAX_OPTIM_STATES = 4, GR_MAX_OPTIM_PARAMS = 8 };

// The attributes of adam and adamw.
typedef struct gr_adam {
  double beta1, beta2, eps;
  double weight_decay;  // adam: L2, added to the gradient; adamw: decoupled
} gr_adam;

// One weight's update. States that the weight does not have are GR_NONE.
typedef struct gr_optim_update {
  gr_builder *b;
  const gr_op *op;
  const void *attr;
  gr_val w, g, lr, step, scale, ok;
  gr_dtype products;  // training.precision, of the operands of products; f32 where it is not narrow
  gr_val state[GR_MAX_OPTIM_STATES];
  gr_val param[GR_MAX_OPTIM_PARAMS];  // hyper-parameters that are operands, by attribute; GR_NONE
  gr_val next_w, next_state[GR_MAX_OPTIM_STATES];  // what gr_optim_emit sets
} gr_optim_update;

struct gr_optimizer {
  gr_optim_state states[GR_MAX_OPTIM_STATES + 1];  // up to one without a name
  // NULL: one node, whose operands are those that the op's formula names (ops/kernels/formula.h),
  // of the last one if there are several. States that a weight does not have are left out, and the
  // hyper-parameters, PARAM, unless they may be changed while a run goes on: then all of them are
  // operands, f64[], and the attributes do not count. Otherwise emits the nodes: an update that
  // needs sums over a whole weight is made of several, so that each can be split over ranks as its
  // index notation says.
  void (*emit)(gr_optim_update *);
};

// Emits the nodes of an update and sets its next_w and next_state.
void gr_optim_emit(gr_optim_update *);

// Whether hyper-parameter k, an index of op->attrs, may be an operand.
bool gr_optim_is_operand(const gr_op *optimizer, int k);

// The optimizer of that name, or NULL.
const gr_op *gr_optim_find(const char *name);
const char *gr_optim_shape_text(const gr_optim_state *);  // "one number per row"
int gr_optim_count_states(const gr_op *optimizer);        // all that weights may have
// Whether weights of type w have state k of an optimizer with these attributes.
bool gr_optim_has_state(const gr_op *optimizer, const void *attr, int k, const gr_type *w);
// Type and layout of state k of a weight of type w that is placed as l. A dimension that the
// state does not have is not split.
gr_type gr_optim_state_type(const gr_op *optimizer, int k, const gr_type *w);
// `l`: of the weight.
gr_layout gr_optim_state_layout(const gr_op *optimizer, int k, const gr_type *w, gr_layout l);
// What the state called NAME, the end of "WEIGHT.NAME", starts as.
double gr_optim_initial(const gr_op *optimizer, const void *attr, const char *state);
// gr_op.sharding_rules of ops that accumulate: partial sums are, without a reduction, and the last
// operand, the index of a micro-batch, is replicated.
gr_status gr_accumulate_rules(const gr_op_call *, gr_sharding_rule *, int *out_n);
