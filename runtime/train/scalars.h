// scalars.h - the scalars of a checkpoint. Each part of a run lists those that are its own in a
// table; contents.c writes and reads the rows of all tables, in the order of their places.
#pragma once
#include "runtime/train/rank/rank.h"

// The scalar that marks an exit checkpoint: one that is saved only because the run is stopped.
#define GR_RUN_EXIT_CHECKPOINT "run.passing"
// The identity of the run that wrote it (identity.h), and how many steps that was to have.
#define GR_RUN_IDENTITY "run.identity"
#define GR_RUN_TOTAL_STEPS "run.total_steps"

// What is written, and what the functions of rows need to know.
typedef struct gr_scalars_out {
  const gr_rank *rank;
  gr_arena *arena;       // of the scalars
  int64_t step;          // of the checkpoint
  const char *hooks;     // the states of scripts as text, or NULL
  bool exit_checkpoint;  // saved only because the run was stopped
  gr_scalar *items;
  int n, most;
} gr_scalars_out;
// Appends an integer; its name is borrowed, as below.
void gr_scalars_put_int(gr_scalars_out *, const char *name, int64_t);
// Appends a float, which is restored bit for bit.
void gr_scalars_put_float(gr_scalars_out *, const char *name, double);
// Appends a text, which is borrowed, too.
void gr_scalars_put_text(gr_scalars_out *, const char *name, const char *text);
// Each metric as "PREFIX.NAME", or without a prefix, ""; its value.
void gr_scalars_put_metrics(gr_scalars_out *, const char *prefix, const gr_metrics *);

typedef struct gr_scalars_in {
  gr_rank *rank;
  gr_checkpoint *checkpoint;
  int64_t total_steps;  // that this run is to have
} gr_scalars_in;
// Whether the checkpoint is the newest of this run, which goes on where it was (resume=auto).
bool gr_scalars_of_same_run(const gr_scalars_in *);
// The scalar of this name and kind, or NULL. A number that is not finite is a text as well.
const gr_scalar *gr_scalars_find(const gr_scalars_in *, const char *name, gr_scalar_kind);
// Appends the metrics "PREFIX.NAME", or of prefix "" all names without a dot, each of weight 1.
void gr_scalars_take_metrics(const gr_scalars_in *, const char *prefix, gr_metrics *);

typedef enum gr_scalar_type {
  GR_SCALARS,
  GR_FIELD_INT,
  GR_FIELD_FLOAT,
  GR_FIELD_FLAG
} gr_scalar_type;

// One scalar, which is a field, or of GR_SCALARS those that functions write and read.
typedef struct gr_scalar_row {
  int place;         // among the rows of all tables, each has another
  const char *name;  // of GR_SCALARS: what it stands for
  gr_scalar_type type;
  void *value;                                        // int64_t, double or bool; or the part itself
  void (*write)(const void *part, gr_scalars_out *);  // NULL: nothing is written
  gr_status (*read)(void *part, const gr_scalars_in *);  // NULL: for users and other programs only
} gr_scalar_row;
// A table that all parts fill; its memory is in the arena.
typedef struct gr_scalar_table {
  gr_arena *arena;
  gr_scalar_row *rows;
  int n;
} gr_scalar_table;
// Appends n rows.
void gr_scalar_table_add(gr_scalar_table *, const gr_scalar_row *, int n);
// Appends the scalars of all rows, in the order of their places.
void gr_scalar_table_write(gr_scalar_table *, gr_scalars_out *);
// Scalars that a checkpoint lacks are left untouched. Stops at the first error of a row.
GR_MUST_USE gr_status gr_scalar_table_read(gr_scalar_table *, const gr_scalars_in *);
