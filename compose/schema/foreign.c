// foreign.c - what takes the place of keys of other trainers. See schema.h.
#include <string.h>
#include "compose/schema/schema.h"

// Keys of other trainers for which no single key stands here.
static const char *const replacements[][2] = {
    {"amp", "training.mixed_precision=true, or training.precision=bf16 or fp16"},
    {"scheduler",
     "a schedule of the learning rate is a hook: hooks=[hooks/cosine.lua]; "
     "training.warmup_steps warms up; docs/hooks.md lists others"},
    {"early_stopping",
     "it is a hook: hooks=[hooks/early_stop.lua], with hooks_params.metric, "
     "hooks_params.patience and hooks_params.min_delta"},
};

// Whether a part of a path, between dots, is the word, or ends in it: lr_scheduler.
static bool has_part(const char *path, const char *word) {
  size_t len = strlen(word);
  for (size_t n; *path; path += n + (path[n] == '.')) {
    n = strcspn(path, ".");
    bool ends = n >= len && !strncmp(path + n - len, word, len);
    if (ends && (n == len || path[n - len - 1] == '_')) return true;
  }
  return false;
}

const char *gr_schema_replacement(const char *path) {
  for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++)
    if (has_part(path, replacements[i][0])) return replacements[i][1];
  return NULL;
}
