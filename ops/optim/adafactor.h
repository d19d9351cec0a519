// adafactor.h - the attributes of adafactor_moment, which adafactor.c emits.
#pragma once
#include <stdint.h>

typedef struct gr_adafactor_moment {
  double beta2_decay;
  int64_t count;  // how many squares each number of x is the sum of; 0: x is the gradient itself
} gr_adafactor_moment;
