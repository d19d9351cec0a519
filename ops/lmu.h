// lmu.h - the state space of a Legendre memory unit (Voelker, Kajic, Eliasmith, "Legendre memory
// units: continuous-time representation in recurrent neural networks", 2019), held for one step
// of time 1: m[t] = A m[t-1] + B u[t].
//
//   d m / dt = a m + b u,   a[i,j] = r[i] * (i < j ? -1 : (-1)^(i-j+1)),   b[i] = r[i] (-1)^i,
//   r[i] = (2i + 1) / theta;      exp([[a, b], [0, 0]]) = [[A, B], [0, 1]]
#pragma once
#include <stddef.h>
#include <stdint.h>

// Doubles of working memory for the above.
size_t gr_lmu_scratch(int64_t order);

// Writes [[A, B], [0, 1]] as [order+1, order+1] doubles, within `scratch`, and returns it.
const double *gr_lmu_held(int64_t order, double theta, double *scratch);
