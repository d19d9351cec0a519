// parts.h - the parts of the plan report (explain.h).
#pragma once
#include "compiler/plan/plan.h"

const char *gr_bytes_text(double bytes, char buf[32]);  // "12.3 MB"
const char *gr_flops_text(double flops, char buf[32]);  // "12.3 MFLOP"
// States and gradients by kind, and which of them ranks share.
void gr_explain_states(FILE *, const gr_plan *);
// What holds the memory where a program needs most.
void gr_explain_peak(FILE *, gr_arena *, const gr_program *);
// How each weight lies on the mesh, where any is split.
void gr_explain_weights(FILE *, const gr_plan *);
// What the collectives of a program move, by axis of the mesh.
void gr_explain_traffic(FILE *, const gr_program *);
// Every collective of a program, its bytes, and why it is there.
void gr_explain_moves(FILE *, gr_arena *, const gr_program *);
