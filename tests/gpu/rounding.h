// rounding.h - how far gradients of attention may be apart that round at different places.
#pragma once
#include "tests/ops/bench.h"

// Whether the call is attention_grad in 16 bits, for which gradient_errors says what is near.
bool has_gradient_errors(const use *);
// For each number of the three results, in f64: how far from the CPU's one may be that was made of
// weights and of gradients of scores in the type of the results, as a library's graph has them.
// values_free frees them.
void gradient_errors(const use *, value error[3]);
