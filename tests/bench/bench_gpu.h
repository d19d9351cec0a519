// bench_gpu.h - what the files of bench_gpu share.
#pragma once
#include "base/base.h"

// Prints an error and ends the process with its exit code.
void bench_must(gr_status);
// Prints {"gpus": [...]}: what the driver says about the GPUs that this process may use.
void bench_machine(void);
// The memory that all processes use on the GPU of this thread's context, in bytes; 0: not known.
double bench_used_bytes(void);
// Prints the rates of copies of `megabytes` within the device, and of products of two square
// matrices, in each dtype.
void bench_ceilings(int matrix, int megabytes);
