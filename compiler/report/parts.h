// parts.h - sections of the plan report (explain.h).
#pragma once
#include "base/text.h"
#include "compiler/plan/plan.h"

// ---- common.c
// Human-readable quantities, written to buf, which is returned.
const char *gr_bytes_text(double bytes, char buf[32]);  // "12.3 MB"
const char *gr_flops_text(double flops, char buf[32]);  // "12.3 MFLOP"
// Programs differ by bucket: the one of a kind that needs the most memory; NULL: there is none.
const gr_program *gr_plan_largest(const gr_plan *, const char *kind);
// The i-th of the kinds that reports are about, all but init; NULL: there are no more.
const char *gr_plan_kind(const gr_plan *, int i);
// ---- certificate.c
// Appends what gr_plan_certify prints, as an object of JSON.
void gr_plan_put_certificate(gr_text *, const gr_plan *);
// ---- Sections, each in a file of its name (explain_weights, explain_traffic: split.c)
// States and gradients by kind, and which of them are sharded.
void gr_explain_states(FILE *, const gr_plan *);
// The values that are live where a program's memory peaks.
void gr_explain_peak(FILE *, gr_arena *, const gr_program *);
// The layout of each weight, if any is sharded.
void gr_explain_weights(FILE *, const gr_plan *);
// The traffic of a program's collectives by mesh axis.
void gr_explain_traffic(FILE *, const gr_program *);
// Every collective of a program, its bytes, and the reason for it.
void gr_explain_moves(FILE *, gr_arena *, const gr_program *);
