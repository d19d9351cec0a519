// explain.h - a plan for people.
#pragma once
#include <stdio.h>
#include "compiler/plan/plan.h"

// Parameters, passes, memory by kind with the peak's node, collectives and why they are there.
void gr_plan_explain(FILE *, const gr_plan *);
// A program's graph in the DOT language, for Graphviz.
void gr_plan_dot(FILE *, const gr_program *);
