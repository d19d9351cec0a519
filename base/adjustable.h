// adjustable.h - a number that hooks may change while a run goes on (compiler/adjust.h lists them).
#pragma once
#include <stdbool.h>

enum { GR_MAX_ADJUSTABLE = 128 };

typedef struct gr_adjustable {
  const char *key;         // "weight_decay"
  const char *group;       // the pattern of its group of weights; NULL: of the weights in none
  bool freezes;            // whether the weights of `group` are frozen: 1, or 0
  const char *input;       // the program's input: "set.weight_decay", "set.weight_decay.actor.*"
  double initial;          // what the configuration says
  double lowest, highest;  // the range of its values
  bool above_lowest, below_highest;  // without lowest, without highest
  const char *fixed;                 // why it cannot change, or NULL
} gr_adjustable;
