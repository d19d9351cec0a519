// scan_read.h - what Scan and Loop of ONNX share that are read as a scan.
#pragma once
#include "ops/kernels/onnx_read.h"

enum { GR_READ_LOOP_MOST = 64, GR_READ_LOOP_YIELDS = 8 };  // operands; what a scan yields

struct gr_read_loop {
  const gr_onnx_node *node;
  const gr_onnx_graph *body;
  int n_seq, n_carry, n_yield;  // of the node
  // Names in the body: inputs, and outputs.
  const char *seq_name[GR_READ_LOOP_MOST], *carry_name[GR_READ_LOOP_MOST];
  const char *next_name[GR_READ_LOOP_MOST], *yield_name[GR_READ_LOOP_MOST];
  const char *condition;           // of an output, which must be true; NULL: there is none
  int seq[GR_READ_LOOP_MOST];      // vars, with the steps along axis 0
  int init[GR_READ_LOOP_MOST];     // what a carry starts as
  int counter[GR_READ_LOOP_MOST];  // 1 + the sequence that a carry is, 0; `init` is its end then
  bool list[GR_READ_LOOP_MOST];    // the carry is a list, to which each step appends an element
  int64_t out_axis[GR_READ_LOOP_MOST];  // of the steps of yields
  bool reverse;
  // While the body is read.
  int first;                        // its first line
  int slice[GR_READ_LOOP_MOST];     // the leaf of a sequence
  int state[GR_READ_LOOP_MOST];     // of a carry; 0: it never changes, or is one of the others
  int next[GR_READ_LOOP_MOST];      // its next value
  int yield[GR_READ_LOOP_YIELDS];   // what each step gives: a result of the node
  int result[GR_READ_LOOP_YIELDS];  // which one
  int64_t yield_axis[GR_READ_LOOP_YIELDS];
  int n_yields;
};
// Opens the node's body, whose inputs after the first `first` are carries and sequences; before its
// other outputs is a condition if first is not 0. False: an error.
bool gr_read_loop_open(gr_onnx_reading *, gr_read_loop *, int n_carry, int n_seq, int first);
// Adds a sequence while the body is read; returns its slice.
int gr_read_loop_add(gr_onnx_reading *, gr_read_loop *, int seq, const char *name);
// Reads the body and emits the scan.
void gr_read_loop_as_scan(gr_onnx_reading *, gr_read_loop *);
// The name of the body's value that another one is an Identity of.
const char *gr_read_loop_original(const gr_read_loop *, const char *name);
// What the name of a list is bound to in the reading: its elements, along axis 0.
const char *gr_read_list_name(gr_onnx_reading *, const char *name);
// Moves an axis to another place.
int gr_read_move_axis(gr_onnx_reading *, int var, int64_t axis, int to);
