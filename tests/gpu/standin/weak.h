// weak.h - memory that blocks of a launch see differently (weak.c).
#pragma once
#include "tests/gpu/standin/abi.h"

// Before a launch of `blocks` blocks that run at the same time on a device's memory, whose kernel
// calls that engine. 0 blocks: the memory is the same for all.
void weak_begin(standin_engine *, const char *memory, size_t bytes, int blocks);
// Before a block runs; -1: none does.
void weak_switch(int block);
// After the launch.
void weak_end(void);
