// chunk_loops.h - loops that run in chunks of about the square root of their steps, whose backward
// pass runs each chunk again from the carries that it began with. For recompute.c.
#pragma once
#include "compiler/pass.h"

// A loop of the forward pass and that of its gradients.
typedef struct gr_chunked_loop {
  const gr_node *forward, *backward;
  int n;          // chunks
  gr_val *start;  // n times the carries of the forward loop when it begins that chunk; GR_NONE: 0
} gr_chunked_loop;

typedef struct gr_chunk_loops {
  gr_chunked_loop **of;  // by node: the loop that it is either scan of, or NULL
  bool *local;  // by value: a stack that the backward loop alone reads: there is one for each chunk
  bool *feeds;  // by node of the forward pass: what it makes is read for sequences of loops alone
  double bytes;  // of stacks that are not kept
} gr_chunk_loops;

// Finds the loops of a graph whose forward pass ends with node loss_at, that keep stacks for their
// backward pass alone; backward: by node, whether it is of the backward pass. In the arena.
gr_chunk_loops *gr_chunk_loops_find(gr_arena *, const gr_graph *, uint32_t loss_at,
                                    const bool *backward);
// Emits the forward loop in so many chunks, of all steps but without local yields, on what map[]
// has, and sets map[] for its results. With all chunks it sets loop->start.
void gr_chunk_loops_forward(gr_rewrite *, const gr_chunk_loops *, gr_chunked_loop *, int chunks,
                            gr_val *map);
// Emits the backward loop chunk by chunk, each after the steps of the forward loop again; read: by
// old value, what nodes of the backward pass read. Sets map[] for its results.
void gr_chunk_loops_backward(gr_rewrite *, const gr_chunk_loops *, const gr_chunked_loop *,
                             const gr_val *read);
