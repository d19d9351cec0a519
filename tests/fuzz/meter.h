// meter.h - how many bytes of memory a fuzz target has allocated at most, by whichever library.
#pragma once
#include <stdbool.h>
#include <stddef.h>

void fuzz_meter_begin(void);   // counts from here on
size_t fuzz_meter_peak(void);  // the most that was in use at one time since then
bool fuzz_meter_counts(void);  // false: this build's allocator cannot be counted
