// parent.h - whether the launcher that has started this rank still lives, when that is torchrun,
// srun or an mpirun that graphrun did not start.
//
// Its processes are the ancestors of this one up to the first whose environment does not have this
// rank's number: those before it are scripts that it has started for the rank.
#pragma once
#include <stdbool.h>

// Begins to watch them. variable: the one with this rank's number, such as "RANK".
void gr_launch_parent_watch(const char *variable);
// Whether one of them has ended. False where none is watched.
bool gr_launch_parent_is_gone(void);
