// source.h - ops without operands: their shape is an attribute.
#pragma once
#include "ops/cpu.h"

gr_status gr_source_shape(gr_site *, const gr_ints *shape, gr_dtype);

// Calls at(rng, attr, index) for each element, on all threads; each is drawn by its own index.
typedef double (*gr_draw)(const gr_rng *, const void *attr, uint64_t index);
void gr_source_draw(const gr_launch *, const gr_rng *, gr_draw);
