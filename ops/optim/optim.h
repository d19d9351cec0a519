// optim.h - the attributes of the optimizers, for the pass that emits them. Learning rate, step,
// gradient scale and the skip flag are operands: what may change during a run is never an
// attribute.
//
//   sgd       w, g, lr, scale, ok              -> w'
//             w, g, lr, scale, ok, m           -> w', m'
//   adam      w, g, m, v, lr, step, scale, ok  -> w', m', v'    (adamw alike)
//
// g is multiplied by scale first; where ok is 0 all states keep their values. step is the number
// of steps done before this one. All may run in place.
#pragma once

typedef struct gr_optim_sgd {
  double momentum;      // used where there is an m
  double weight_decay;  // L2: added to the gradient
} gr_optim_sgd;

typedef struct gr_optim_adam {
  double beta1, beta2, eps;
  double weight_decay;  // adam: L2, added to the gradient; adamw: decoupled
} gr_optim_adam;
