// explain.h - plan reports: text and Graphviz.
#pragma once
#include <stdio.h>
#include "base/text.h"
#include "compiler/plan/plan.h"
#include "ops/kernels/gemm.h"

// Prints parameters, passes, memory by kind with the node at the peak, and every collective with
// the reason for it.
void gr_plan_explain(FILE *, const gr_plan *);
// Prints what is proved of the plan, on what that rests, and what is not (claims.def).
void gr_plan_certify(FILE *, const gr_plan *);
// Prints what the largest program of each kind would do on a GPU: launches, bytes, operations, and
// an estimate of its time on several chips. It needs none.
void gr_plan_predict(FILE *, const gr_plan *);
// Estimates the seconds that one thread of a CPU with that unit takes for a step of a plan that
// trains, on the largest batch, by constants: for comparing two plans of a model. False: there are
// none for what the plan has.
bool gr_plan_cpu_seconds(const gr_plan *, gr_bf16_unit, int micro_batches, double *out);
// Appends the same facts as JSON: sizes, programs with their collectives, states with their
// layouts, and the certificate.
void gr_plan_json(gr_text *, const gr_plan *);
// Prints a program's graph in Graphviz's DOT language.
void gr_plan_dot(FILE *, const gr_program *);
// The program that is drawn: the first one that trains.
const gr_program *gr_plan_drawn(const gr_plan *);
// Appends its graph as a tensorflow.GraphDef, for TensorBoard.
void gr_plan_graph_def(gr_text *, const gr_program *);
