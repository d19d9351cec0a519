// sharding.h - derives what the compiler reads of sharding (gr_sharding_settings) from
// distributed.mesh, .strategy, .layout and .fsdp: the mesh, and rules of layout.
#pragma once
#include "compiler/pass.h"
#include "compose/tree/conf.h"

// Derives the settings from the keys, whose fields are set. ranks: their number; 0: not known yet.
// enabled: distributed.enabled. GR_ERR_CONFIG, with a location, if mesh, strategy and number of
// ranks contradict each other.
GR_MUST_USE gr_status gr_sharding_read(gr_arena *, gr_conf *, bool enabled, int ranks,
                                       gr_sharding_settings *);
// An error for each rule of distributed.layout that matches no weight of the plan.
GR_MUST_USE gr_status gr_sharding_check(gr_arena *, const gr_sharding_settings *, const gr_plan *);
