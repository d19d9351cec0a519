// statistics.h - means and deviations that are computed from training samples, and are stored as
// text in checkpoints.
#pragma once
#include <stdbool.h>

// What values with this mean are divided by: their deviation, or 1 where they differ no more than
// the last bits of the mean do. Sums are to be of differences from one of the values, which are 0
// where all are the same.
double gr_statistics_divisor(double mean, double deviation);
// Reads a finite number after blanks, and moves *text behind it. False: there is none.
bool gr_statistics_read(const char **text, double *out);
