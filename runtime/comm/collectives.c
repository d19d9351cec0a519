// collectives.c - the list of libraries of collectives for devices. See collectives.h.
#include "runtime/comm/collectives.h"
#include <assert.h>
#include <string.h>

#define GR_COLLECTIVES(name) extern const gr_collectives gr_collectives_##name;
#include "runtime/comm/collectives.def"
#undef GR_COLLECTIVES

static const gr_collectives *const libraries[] = {
#define GR_COLLECTIVES(name) &gr_collectives_##name,
#include "runtime/comm/collectives.def"
#undef GR_COLLECTIVES
    NULL};

const gr_collectives *gr_collectives_of(const gr_device_ops *d) {
  const gr_collectives *const *library = libraries;
  if (!d || !d->collectives) return NULL;
  while (*library && strcmp((*library)->name, d->collectives)) library++;
  assert(*library && "the device's library of collectives is in collectives.def");
  return *library;
}
