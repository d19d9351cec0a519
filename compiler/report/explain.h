// explain.h - plan reports: text and Graphviz.
#pragma once
#include <stdio.h>
#include "base/text.h"
#include "compiler/report/figures.h"

// Prints parameters, passes, memory by kind with the node at the peak, and every collective with
// the reason for it.
void gr_plan_explain(FILE *, const gr_plan_figures *);
// Prints what is proved of the plan, on what that rests, and what is not (claims.def).
void gr_plan_certify(FILE *, const gr_plan_figures *);
// Prints of a plan for GPUs what the largest program of each kind would do on one: launches, bytes,
// operations, and an estimate of its time on each target.
void gr_plan_predict(FILE *, const gr_plan_figures *);
enum { GR_PLAN_FILE_VERSION = 1 };
// Appends the same facts as JSON, which a plan file has (docs/formats.md): sizes, programs with
// their collectives, predicted times, states with their layouts, and the certificate.
void gr_plan_json(gr_text *, const gr_plan_figures *);
// Prints a program's graph in Graphviz's DOT language.
void gr_plan_dot(FILE *, const gr_program *);
// The program that is drawn: the first one that trains.
const gr_program *gr_plan_drawn(const gr_plan *);
// Appends its graph as a tensorflow.GraphDef, for TensorBoard.
void gr_plan_graph_def(gr_text *, const gr_program *);
