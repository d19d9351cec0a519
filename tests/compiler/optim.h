// optim.h - an optimizer's attributes from text, for tests.
#pragma once
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "ops/optim/optim.h"

// "beta1=0.8 eps=1e-3": the defaults of the optimizer, but for these. Owned by the arena.
static inline const void *optim_attr(gr_arena *arena, const char *optimizer, const char *params) {
  const gr_op *op = gr_optim_find(optimizer);
  void *attr = gr_arena_alloc(arena, op->attr_size);
  gr_attr_defaults(op, attr);
  while (*params) {
    size_t name = strcspn(params, "="), end = strcspn(params, " ");
    const char *value = gr_arena_strndup(arena, params + name + 1, end - name - 1);
    const gr_attr *a = op->attrs;
    while (a->name && (strlen(a->name) != name || strncmp(a->name, params, name))) a++;
    gr_status bad = gr_attr_parse(op, a, value, GR_NOWHERE, attr);
    if (bad) gr_status_print(stderr, bad), abort();
    params += end + strspn(params + end, " ");
  }
  return attr;
}
