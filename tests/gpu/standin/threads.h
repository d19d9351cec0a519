// threads.h - what exec.c tells threads.c, which does nothing but with STANDIN_MEMORY=threads.
#pragma once
#include "tests/gpu/standin/standin.h"

int standin_fiber(void);  // exec.c: the number of the device thread that runs

// Before a launch.
void threads_begin(standin_engine *, const standin_launch *);
// A device thread begins: of a block, with its index there.
void threads_start(int fiber, unsigned block, unsigned index);
// It has passed a barrier of its block.
void threads_pass(int fiber);
// Lanes of a warp, from the thread `first` on, have met in __syncwarp.
void threads_meet(int first, unsigned mask);
