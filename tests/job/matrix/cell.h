// cell.h - one cell of the matrix: a model, planned by a job and trained for a few steps on ranks
// that are threads of this process, with what is counted meanwhile.
#pragma once
#include "job/figures.h"

enum { CELL_STEPS = 4, CELL_RANKS = 4, CELL_NAME = 128 };

typedef struct cell {
  const char *model;  // the name of its file
  const char *strategy, *precision;
  int ranks, accumulate;
  bool recompute;
  bool plain;  // reference kernels only
} cell;

typedef struct cell_run {
  gr_job job;  // planned; closed by cell_close
  const gr_plan_figures *figures;
  double loss[CELL_STEPS];
  double sent[GR_MAX_MESH];  // bytes that rank 0 sent in a step, by ring algorithms, by mesh axis
  size_t allocated;          // bytes that rank 0's executor took from the device
  size_t touched;            // and what of its block of values the programs wrote
  bool alike;                // all ranks have the same losses
  bool inside;               // nothing was written beyond a block
} cell_run;

// Plans and trains it. An error is one of planning: the cell is refused. Exits on others.
gr_status cell_train(const cell *, cell_run *out);
void cell_close(cell_run *);  // also after an error
// In words.
const char *cell_name(const cell *, char out[CELL_NAME]);
// The most bytes that a rank sends over an axis of the mesh in a step, by the textbook (book.c).
double cell_book(const cell *, const cell_run *, int axis);
