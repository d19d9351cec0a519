// parts.h - sections of the plan report (explain.h).
#pragma once
#include "base/shown.h"
#include "compiler/plan/calls.h"
#include "compiler/report/figures.h"

// ---- common.c
// Programs differ by bucket: the one of a kind that needs the most memory; NULL: there is none.
const gr_program *gr_plan_largest(const gr_plan *, const char *kind);
// The i-th of the kinds that reports are about, all but init; NULL: there are no more.
const char *gr_plan_kind(const gr_plan *, int i);
// Whether the byte `source_byte` of a value and the byte `target_byte` of another have one place.
bool gr_plan_is_copied_in_place(const gr_plan_frame *, uint32_t source, size_t source_byte,
                                uint32_t target, size_t target_byte);
// ---- predict.c, predict_cpu.c
// What is counted of a call, whichever node makes it.
typedef struct gr_call_figures {
  int64_t flops;
  double bytes;             // of its operands and results
  const double *cpu[2][2];  // gr_cpu_seconds by target, of each in_place and far; NULL: not yet
  const struct gr_described *gpu, *parts;  // NULL: not described yet; parts: of a fused node, all
} gr_call_figures;
typedef struct gr_tally {  // what a program's nodes are added to
  gr_arena *arena;
  gr_calls calls;
  gr_call_figures **of;  // by index of the call
  uint32_t n, cap;
  const gr_target *targets;
  int n_targets;
  bool tf32;  // products of vendor libraries are in TF32
  gr_program_figures *out;
  double linked;                   // bytes that the node reads, or writes, in host memory
  double seconds[GR_MAX_TARGETS];  // of kernels
} gr_tally;
// Those of the call that a node makes; what is not known yet is found where it is needed.
gr_call_figures *gr_call_figures_of(gr_tally *, const gr_graph *, const gr_node *);
// Adds `runs` runs of a node on a GPU, and takes away what launching nodes `first` to first + n - 1
// together saves. The frame is that of the graph; NULL: it is a body.
void gr_predict_gpu(gr_tally *, const gr_plan_frame *, const gr_graph *, const gr_node *,
                    double runs);
void gr_predict_group(gr_tally *, const gr_graph *, uint32_t first, uint32_t n);  // after its nodes
// Of one thread of a CPU; in_place: its result has the place of its first operand; far: operands
// are not in the caches near the thread.
double gr_cpu_seconds(const gr_target *, const gr_op_call *, bool in_place, bool far);
// ---- peak.c: by pass, the bytes that are live where a program's memory peaks; what is left of the
// arena is the last. Returns their number.
int gr_peak_makers(gr_arena *, const gr_program *, const gr_bytes_of **out);
// ---- certificate.c
// Appends what gr_plan_certify prints, as an object of JSON.
void gr_plan_put_certificate(gr_text *, const gr_plan *);
// ---- Sections, each in a file of its name (gr_explain_weights: split.c)
// States and gradients by kind, and which of them are sharded.
void gr_explain_states(FILE *, const gr_plan_figures *);
// The values that are live where a program's memory peaks.
void gr_explain_peak(FILE *, gr_arena *, const gr_program_figures *);
// Behind its name: where a node is in the model, and its line.
void gr_put_place(FILE *, const gr_node *);
// The layout of each weight, if any is sharded.
void gr_explain_weights(FILE *, const gr_plan *);
// Every collective of a program, its bytes, and the reason for it.
void gr_explain_moves(FILE *, gr_arena *, const gr_program_figures *);
