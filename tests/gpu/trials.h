// trials.h - calls of ops on the device cuda that are compared with the reference kernels on the
// CPU.
#pragma once
#include "base/arena.h"
#include "runtime/device/device.h"
#include "tests/ops/bench.h"

// Where values are: in memory of their own; or results in operands, if the op allows that; or each
// in the second slice of a stack, which may begin between multiples of 16 bytes; or results alone
// are, as what a loop yields is.
typedef enum way { APART, IN_PLACE, SLICED, YIELDED } way;

// A case, with a block of the device's memory for each operand and result: what a kernel touches
// beside them is found.
typedef struct trial {
  use u;
  int at_case;
  way way;
  bool refused;
  gr_device_kernel kernel;
  gr_launch where;
  gr_device_block in[GR_MAX_ARGS], out[GR_MAX_ARGS], scratch;
  void *made[GR_MAX_ARGS];  // the results
} trial;

extern const char *only;  // ops, with commas between them, or NULL
extern gr_device *device;
extern trial *trials;
extern int n_trials;
extern way tried;        // of the trials that are added
extern gr_arena *arena;  // of attributes and types

// Opens the device, without trials; skips the test where there is none.
void open_device(void);
// Adds a trial of a case; NULL if inference fails.
trial *add(const gr_op *, const gr_case *, int at_case);
// Adds a case as f32, f64, bf16 and f16, as far as it can be; `then`, or NULL, is called for each.
void add_case(const gr_op *, const gr_case *, int at_case, void (*then)(trial *));
// Compiles the kernels; runs a trial; frees the device memory of one; closes the device.
void begin(void);
// Runs the kernel of a trial on values in the device's memory, and fetches its results.
void run(trial *);
// Frees the device memory of a trial.
void release(trial *);
// Closes the device, and frees what the trials have.
void end(void);
// Runs and compares all trials, and closes the device.
void run_all(void);
